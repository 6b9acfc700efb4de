/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What inputs came to, counted and told at the end: `reached WHAT TIMES`. A fuzzer whose
 * inputs are all turned away at the door finds nothing; tests/fuzz/run wants as many as
 * tests/fuzz/coverage says.
 */
#ifndef FUZZ_REACHED_H
#define FUZZ_REACHED_H

#include <stdio.h>

struct reached {
	const char *what; /* one word */
	unsigned long long times;
	struct reached *next;
};

static struct reached *reached_first;

static inline void reach(struct reached *r)
{
	if (r->times++)
		return;
	r->next = reached_first;
	reached_first = r;
}

__attribute__((destructor)) static void reached_tell(void)
{
	const struct reached *r;

	for (r = reached_first; r; r = r->next)
		fprintf(stderr, "reached %s %llu\n", r->what, r->times);
}

#endif
