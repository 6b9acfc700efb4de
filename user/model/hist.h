/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A log-linear histogram of durations: 16 buckets a power of two, so a
 * quantile is within 1/16 of the truth. Memory grows with the range seen.
 */
#ifndef MODEL_HIST_H
#define MODEL_HIST_H

#include "base/types.h"

struct hist {
	u32 *counts; /* owned: buckets first ... first + len - 1 */
	u16 first, len;
	u64 total;
};

int hist_add(struct hist *h, u64 ns);
int hist_add_many(struct hist *h, u64 ns, u32 n);
int hist_merge(struct hist *to, const struct hist *from);
/* to -= from, where from is an earlier state of the same histogram; no bucket goes below 0. */
void hist_subtract(struct hist *to, const struct hist *from);
int hist_copy(struct hist *to, const struct hist *from);
/* Smallest value v with at least permille/1000 of the entries <= v, taken as
 * the upper edge of its bucket. 0 when empty. */
u64 hist_quantile(const struct hist *h, unsigned int permille);
/* Count of bucket i and its edges [*low, *high] in ns; for drawing. */
u32 hist_bucket(const struct hist *h, unsigned int i, u64 *low, u64 *high);
void hist_free(struct hist *h);

#endif
