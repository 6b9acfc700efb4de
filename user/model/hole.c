/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/hole.h"

struct hole hole_find(u64 all, const struct hole_room *room, u64 hole_cycles)
{
	u64 over = min_u64(all, room->over);
	u64 rest = all - over;

	/* Less than a hole, or more than there is room for: many small ones. */
	if (!all || all < hole_cycles || !room->count ||
	    rest > (unsigned __int128)room->count * hole_cycles)
		return (struct hole){ 0 };
	return (struct hole){ all, over, rest, *room };
}

static u64 scale_up(u64 part, u64 amount, u64 total)
{
	return amount - scale(total - min_u64(part, total), amount, total);
}

u64 hole_of(const struct hole *h, const struct hole_room *room)
{
	u64 over = h->room.over ? scale_up(room->over, h->by_over, h->room.over) : 0;

	return over + scale_up(room->count, h->by_count, h->room.count);
}
