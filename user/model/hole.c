/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/hole.h"

u64 hole_find(u64 all, const struct hole_room *room, u64 hole_cycles)
{
	/* Less than a hole, or more than fits: many small ones, anywhere. */
	if (all < hole_cycles || room->count != 1 || all - min_u64(all, room->over) > hole_cycles)
		return 0;
	return all;
}
