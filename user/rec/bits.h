/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run of bits, least significant first, in bytes. The writer's caller makes
 * sure of the space; the reader is bounded: bits behind the end are zero and
 * set `bad`.
 */
#ifndef REC_BITS_H
#define REC_BITS_H

#include "base/types.h"

#include <endian.h>
#include <string.h>

enum {
	BITS_MAX = 56, /* of one call: what a 64-bit word holds at any bit offset */
	BITS_PAD = 8, /* readable, and writable, bytes that must lie behind a run */
};

struct bits_out {
	u8 *at;
	u64 word; /* bits not yet stored */
	unsigned int held; /* their number, < 64 */
};

/* Stores the whole bytes of what is held. */
static inline void bits_store(struct bits_out *b)
{
	u64 le = htole64(b->word);

	memcpy(b->at, &le, sizeof(le));
	b->at += b->held >> 3;
	b->word >>= b->held & ~7u;
	b->held &= 7;
}

static inline void bits_put(struct bits_out *b, u64 v, unsigned int n)
{
	if (b->held + n > 63)
		bits_store(b);
	b->word |= v << b->held;
	b->held += n;
}

static inline void bits_put_word(struct bits_out *b, u64 v)
{
	bits_put(b, v & 0xffffffff, 32);
	bits_put(b, v >> 32, 32);
}

/* Fills the last byte with zeros. Returns the end of the run. */
static inline u8 *bits_end(struct bits_out *b)
{
	bits_store(b);
	if (b->held)
		*b->at++ = (u8)b->word;
	b->word = b->held = 0;
	return b->at;
}

struct bits_in {
	const u8 *data;
	u64 at, end; /* in bits */
	bool bad;
};

static inline u64 bits_peek(struct bits_in *b)
{
	u64 le;

	memcpy(&le, b->data + (b->at >> 3), sizeof(le));
	return le64toh(le) >> (b->at & 7);
}

static inline u64 bits_get(struct bits_in *b, unsigned int n)
{
	u64 v;

	if (b->end - b->at < n) {
		b->bad = true;
		b->at = b->end;
		return 0;
	}
	v = bits_peek(b) & ((1ull << n) - 1);
	b->at += n;
	return v;
}

static inline u64 bits_get_word(struct bits_in *b)
{
	u64 low = bits_get(b, 32);

	return low | bits_get(b, 32) << 32;
}

#endif
