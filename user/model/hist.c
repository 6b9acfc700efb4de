/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/hist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Bucket of a value: below 16 its own; else 16 a power of two, so the width
 * of a bucket is 1/16 of its lower edge. 64-bit values need 976 buckets.
 */
#define SUB_BITS 4
#define SUB (1u << SUB_BITS)

static unsigned int bucket_of(u64 v)
{
	unsigned int log;

	if (v < SUB)
		return (unsigned int)v;
	log = 63 - (unsigned int)__builtin_clzll(v);
	return ((log - SUB_BITS + 1) << SUB_BITS) + (unsigned int)(v >> (log - SUB_BITS)) - SUB;
}

static u64 bucket_low(unsigned int b)
{
	unsigned int row = b >> SUB_BITS;

	return row ? (u64)(SUB + (b & (SUB - 1))) << (row - 1) : b;
}

static u64 bucket_high(unsigned int b)
{
	unsigned int row = b >> SUB_BITS;

	return bucket_low(b) + (row > 1 ? (1ull << (row - 1)) - 1 : 0);
}

/* Makes buckets first ... last present. */
static int hist_cover(struct hist *h, unsigned int first, unsigned int last)
{
	unsigned int from = h->len ? h->first : first, to = h->len ? h->first + h->len - 1u : last;
	u32 *counts;

	if (h->len && first >= from && last <= to)
		return 0;
	if (first < from)
		from = first;
	if (last > to)
		to = last;
	/* Whole rows, so that a slowly widening range reallocates rarely. */
	from &= ~(SUB - 1);
	to |= SUB - 1;
	counts = calloc(to - from + 1, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	if (h->len)
		memcpy(counts + (h->first - from), h->counts, h->len * sizeof(*counts));
	free(h->counts);
	h->counts = counts;
	h->first = (u16)from;
	h->len = (u16)(to - from + 1);
	return 0;
}

int hist_add(struct hist *h, u64 ns)
{
	unsigned int b = bucket_of(ns);

	if (b < h->first || b >= (unsigned int)h->first + h->len) {
		if (hist_cover(h, b, b))
			return -ENOMEM;
	}
	if (h->counts[b - h->first] != UINT32_MAX)
		h->counts[b - h->first]++;
	h->total++;
	return 0;
}

int hist_add_many(struct hist *h, u64 ns, u32 n)
{
	unsigned int b = bucket_of(ns);
	u32 *c;

	if (hist_cover(h, b, b))
		return -ENOMEM;
	c = &h->counts[b - h->first];
	*c = (u32)min_u64((u64)*c + n, UINT32_MAX);
	h->total += n;
	return 0;
}

int hist_merge(struct hist *to, const struct hist *from)
{
	unsigned int i;

	if (!from->len)
		return 0;
	if (hist_cover(to, from->first, from->first + from->len - 1u))
		return -ENOMEM;
	for (i = 0; i < from->len; i++) {
		u32 *c = &to->counts[from->first + i - to->first];

		*c = (u32)min_u64((u64)*c + from->counts[i], UINT32_MAX);
	}
	to->total += from->total;
	return 0;
}

void hist_subtract(struct hist *to, const struct hist *from)
{
	u64 gone = from->total;
	unsigned int i, b;

	for (i = 0; i < from->len; i++) {
		b = from->first + i;
		if (b >= to->first && b < (unsigned int)to->first + to->len) {
			u32 *c = &to->counts[b - to->first];
			u32 less = *c < from->counts[i] ? *c : from->counts[i];

			/* Entries that never came after all are in none of the two. */
			gone -= from->counts[i] - less;
			*c -= less;
		}
	}
	to->total -= min_u64(gone, to->total);
}

int hist_copy(struct hist *to, const struct hist *from)
{
	*to = (struct hist){ 0 };
	return hist_merge(to, from);
}

u64 hist_quantile(const struct hist *h, unsigned int permille)
{
	u64 want = (h->total * permille + 999) / 1000, seen = 0;
	unsigned int i;

	if (!want)
		want = 1;
	for (i = 0; i < h->len; i++) {
		seen += h->counts[i];
		if (seen >= want)
			return bucket_high(h->first + i);
	}
	return 0;
}

u32 hist_bucket(const struct hist *h, unsigned int i, u64 *low, u64 *high)
{
	if (i >= h->len)
		return 0;
	*low = bucket_low(h->first + i);
	*high = bucket_high(h->first + i);
	return h->counts[i];
}

void hist_free(struct hist *h)
{
	free(h->counts);
	*h = (struct hist){ 0 };
}
