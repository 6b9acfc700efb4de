/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/scale.h"

/* A 64-bit division is several times faster than a 128-bit one, and nearly
 * every event fits: 2^31 cycles by 2^33 ns is a second. */
static u64 muldiv(u64 part, u64 amount, u64 total, u64 *rest)
{
	unsigned __int128 wide = (unsigned __int128)part * amount;

	/* Most parts of most events are nothing. */
	if (!part)
		return *rest = 0;
	if (wide >> 64) {
		*rest = (u64)(wide % total);
		return (u64)(wide / total);
	}
	*rest = (u64)wide % total;
	return (u64)wide / total;
}

u64 scale(u64 part, u64 amount, u64 total)
{
	u64 rest;

	return muldiv(part, amount, total, &rest);
}

/* The value at rank `want` from the top of rest[0..n): quickselect on a copy
 * would need memory; n is small but for huge events, so a binary search over
 * the value range counts instead: 64 passes at most, no allocation. */
static u64 rest_threshold(const u64 *rest, u32 n, u64 total, u64 want)
{
	u64 lo = 0, hi = total;

	/* Largest t with count(rest >= t) >= want. */
	while (hi - lo > 1) {
		u64 mid = lo + (hi - lo) / 2, count = 0;
		u32 i;

		for (i = 0; i < n; i++)
			count += rest[i] >= mid;
		if (count >= want)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

void apportion(const u64 *part, u32 n, u64 total, u64 amount, u64 *out, u64 *rest)
{
	u64 left = amount, least;
	u32 i, best;

	for (i = 0; i < n; i++) {
		out[i] = muldiv(part[i], amount, total, &rest[i]);
		left -= out[i];
	}
	if (left * n <= 256) {
		for (; left; left--) {
			best = 0;
			for (i = 1; i < n; i++)
				if (rest[i] > rest[best])
					best = i;
			out[best]++;
			rest[best] = 0;
		}
		return;
	}
	least = rest_threshold(rest, n, total, left);
	for (i = 0; i < n && left; i++)
		if (rest[i] > least) {
			out[i]++;
			left--;
		}
	for (i = 0; i < n && left; i++)
		if (rest[i] == least) {
			out[i]++;
			left--;
		}
}
