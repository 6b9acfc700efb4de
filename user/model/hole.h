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

/* Of `all` cycles without a CPU in an event that ran for `ran` cycles and whose stays
 * had this room, those that are known to lie in one stay: all or none. */
u64 hole_find(u64 all, u64 ran, const struct hole_room *room, u64 hole_cycles);

#endif
