/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters do not count every cycle: a TSC may move on by 26 of them each 10 ns.
 * Differences of times are told in such steps; what is no whole number of them is
 * told as the nearest and a rest. FORMAT.md, "Times", is the specification.
 */
#ifndef REC_STEPS_H
#define REC_STEPS_H

#include "base/types.h"

enum {
	STEPS_MAX = 1 << 16
};

struct steps {
	u64 step; /* 1 ... STEPS_MAX */
	u64 most; /* the largest number of them */
	u64 inverse; /* of the step's odd part, modulo 2^64 */
	u32 shift; /* its other part is 2^shift */
	bool ns; /* a step takes some ns, so clocks are told in steps, too */
	double per_ns;
};

static inline void steps_init(struct steps *s, u64 ns_per_cycle, u64 step)
{
	u64 odd, x, ns = (step * ns_per_cycle) >> 32;

	*s = (struct steps){ .step = step, .most = UINT64_MAX / step };
	s->shift = (u32)__builtin_ctzll(step);
	/* Newton: each round doubles the low bits that are right, 3 at first. */
	odd = step >> s->shift;
	for (x = odd; x * odd != 1;)
		x *= 2 - x * odd;
	s->inverse = x;
	s->ns = ns_per_cycle < 1ull << 40 && ns > 1;
	s->per_ns = s->ns ? 4294967296.0 / ((double)ns_per_cycle * (double)step) : 0;
}

/* Is v a whole number of steps? If so, *steps. */
static inline bool steps_whole(const struct steps *s, u64 v, u64 *steps)
{
	u64 x = v * s->inverse;

	*steps = x >> s->shift | x << (-s->shift & 63);
	return *steps <= s->most;
}

/* The nearest number of steps, and the rest, which v has more. */
static __attribute__((noinline, unused)) s64 steps_nearest(const struct steps *s, u64 v, u64 *steps)
{
	s64 step = (s64)s->step, q = (s64)v / step, rest = (s64)v % step;

	if (rest * 2 > step || rest * 2 < -step) {
		q += rest > 0 ? 1 : -1;
		rest += rest > 0 ? -step : step;
	}
	*steps = (u64)q;
	return rest;
}

/* The number of steps that takes about so long. Only a writer asks. */
static inline u64 steps_of_ns(const struct steps *s, s64 ns)
{
	double n = (double)ns * s->per_ns;

	return (u64)(s64)(n + (n < 0 ? -0.5 : 0.5));
}

#endif
