/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/hole.h"

/*
 * The same answer whichever stay it was that lost the CPU, or the stays that are hit
 * more often, the long ones, would be found out and the others not, and every sum
 * would err to one side. Hence the upper bounds: had the stay run for a hole's length
 * besides, it would have been long enough for any other stay's hole too; and an event
 * that ran for longer than it was away was rather away several times.
 */
u64 hole_find(u64 all, u64 ran, const struct hole_room *room, u64 hole_cycles)
{
	if (all < hole_cycles || all < ran || room->count != 1)
		return 0;
	return all >= room->over && all - room->over <= hole_cycles ? all : 0;
}
