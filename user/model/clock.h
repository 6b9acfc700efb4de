/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From cycles to CLOCK_MONOTONIC ns, by the stream's simultaneous readings.
 *
 * The map is monotone and never revised: a value once given stays, because a
 * span may have been shown already. A reading that differs from the map is
 * approached by changing the rate from there on; only a lead of more than
 * 1 ms makes the map jump, forward. Where the counter has run on for a second
 * or more while the clock stood, the machine slept: from there on the map is
 * ahead of the clock by as long, for it cannot go back.
 */
#ifndef MODEL_CLOCK_H
#define MODEL_CLOCK_H

#include "base/types.h"

#define CLOCK_KNOTS 4096 /* newest kept; 17 minutes at 4 readings a second */

struct clock_knot {
	u64 cycles, ns;
	u64 rate; /* ns a cycle behind it, 32.32 fixed point */
	u64 ahead; /* of CLOCK_MONOTONIC, which stood while the machine slept */
};

struct clock_map {
	struct clock_knot *knots; /* owned; ring of CLOCK_KNOTS once full */
	u32 len, cap;
	u64 last_cycles, last_ns; /* the newest reading itself */
	u64 ahead; /* of the newest knot */
};

/* Adds a reading; hz is the nominal rate, used until a second one has come.
 * Readings that go back are ignored. 0 or -ENOMEM. */
int clock_add(struct clock_map *c, u64 cycles, u64 ns, u64 hz);
/* Before the first reading: the cycles themselves. */
u64 clock_ns(const struct clock_map *c, u64 cycles);
/* The way back: the cycles of a time, to within the length of one. A later reading
 * changes no answer for a time up to it, unless the map jumps there. */
u64 clock_cycles_of(const struct clock_map *c, u64 ns);
void clock_free(struct clock_map *c);

#endif
