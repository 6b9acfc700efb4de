/* SPDX-License-Identifier: BSD-2-Clause */
/* ULEB128 and zigzag; reading is bounded and refuses more than 64 bits. */
#ifndef BASE_VARINT_H
#define BASE_VARINT_H

#include "base/types.h"

#include <errno.h>

#define VARINT_MAX 10

static inline u64 zigzag(s64 v)
{
	return ((u64)v << 1) ^ (u64)(v >> 63);
}

static inline s64 unzigzag(u64 v)
{
	return (s64)(v >> 1) ^ -(s64)(v & 1);
}

/* Writes at most VARINT_MAX bytes, returns how many. */
static inline size_t varint_put(u8 *p, u64 v)
{
	size_t n = 0;

	while (v >= 0x80) {
		p[n++] = (u8)(v | 0x80);
		v >>= 7;
	}
	p[n++] = (u8)v;
	return n;
}

/* Reads at *p, never at or behind `end`. 0 or -EBADMSG (*p is then undefined). */
static inline int varint_get(const u8 **p, const u8 *end, u64 *v)
{
	const u8 *at = *p;
	u64 r = 0;
	unsigned int shift;

	for (shift = 0; shift < 64 && at < end; shift += 7) {
		u8 b = *at++;

		if (shift == 63 && b > 1)
			return -EBADMSG;
		r |= (u64)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*p = at;
			*v = r;
			return 0;
		}
	}
	return -EBADMSG;
}

#endif
