/* SPDX-License-Identifier: BSD-2-Clause */
/* Cycles to time by shares, in integers. */
#ifndef MODEL_SCALE_H
#define MODEL_SCALE_H

#include "base/types.h"

/* Sums of forged cycles stop at the largest number instead of wrapping, so
 * that the check against the event's own cycles finds them. */
static inline void cycles_add(u64 *to, u64 n)
{
	if (__builtin_add_overflow(*to, n, to))
		*to = UINT64_MAX;
}

/* Without both, but not below 0. */
static inline u64 cycles_less(u64 from, u64 a, u64 b)
{
	from -= min_u64(from, a);
	return from - min_u64(from, b);
}

/* floor(part * amount / total); total > 0, part <= total. */
u64 scale(u64 part, u64 amount, u64 total);

/*
 * Splits `amount` over the n parts, whose sum is `total` > 0: out[i] is
 * floor(part[i] * amount / total), and what the floors leave goes one by one
 * to the largest remainders (equal ones: the first). The sum of out is
 * `amount`. `rest` is scratch of n entries.
 */
void apportion(const u64 *part, u32 n, u64 total, u64 amount, u64 *out, u64 *rest);

#endif
