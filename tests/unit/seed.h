/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What random tests draw: the same in every run, or, with a number N > 0 in VMSPAN_TEST_SEED,
 * others. A failure comes again with the same number. For tests whose claim holds for
 * whatever is drawn; one that holds with some chance keeps its seed.
 */
#ifndef TESTS_SEED_H
#define TESTS_SEED_H

#include "base/types.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* The number, or 0 if there is none; printed once. */
static inline u64 seed_given(void)
{
	const char *text = getenv("VMSPAN_TEST_SEED");
	u64 seed = text ? strtoull(text, NULL, 0) : 0;
	static bool said;

	if (!said)
		printf("# seed %" PRIu64 "\n", seed);
	said = true;
	return seed;
}

/* Begins random() for case n of a test. */
static inline void seed_random(unsigned int n)
{
	/* An odd number far from any n: cases of near seeds are not each other's. */
	srandom(n + (unsigned int)seed_given() * 2654435761u);
}

#endif
