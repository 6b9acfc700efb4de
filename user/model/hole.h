/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time in which an event's thread had no CPU, where no record of the scheduler
 * says in which stays that was. LEDGER.md, "4. Cycles to time", has the rule and why.
 */
#ifndef MODEL_HOLE_H
#define MODEL_HOLE_H

#include "model/scale.h"

/* Whoever takes a CPU from a thread that wants it keeps it for this long. */
#define HOLE_NS NSEC_PER_MSEC

/* Stays that had more than HOLE_NS of their own. */
struct hole_room {
	u64 over; /* cycles: what each had beyond HOLE_NS, summed */
	u64 count;
};

/* Cycles. */
struct hole {
	u64 all; /* 0: shared by length, as if every stay had had its part of it */
	u64 by_over, by_count; /* of them: by what the stays had beyond; the same each */
	struct hole_room room; /* of the event */
};

/* Adds a stay with these cycles of its own to the room. */
static inline void hole_stay(struct hole_room *r, u64 self, u64 hole_cycles)
{
	if (self > hole_cycles) {
		cycles_add(&r->over, self - hole_cycles);
		r->count++;
	}
}

static inline void hole_add(struct hole_room *to, const struct hole_room *r)
{
	cycles_add(&to->over, r->over);
	to->count += r->count;
}

/* Where `all` cycles are missing of an event whose stays had this room. */
struct hole hole_find(u64 all, const struct hole_room *room, u64 hole_cycles);
/* What stays that had this room of the event's lack; rounded up. h->all > 0. */
u64 hole_of(const struct hole *h, const struct hole_room *room);

#endif
