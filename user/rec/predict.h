/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How one number is coded: as its distance from what numbers in the same place
 * were before, in a code as long as those distances were. The same code writes
 * and reads, so both sides learn alike. FORMAT.md, "Numbers", is its
 * specification; every constant here is part of the format.
 */
#ifndef REC_PREDICT_H
#define REC_PREDICT_H

#include "base/varint.h"
#include "rec/bits.h"

/* What is known about the numbers of one place. */
struct place {
	s64 mean; /* in 1/16 */
	u32 size; /* mean bit length of the distances, in 1/16 */
	u32 count; /* numbers seen, up to PLACE_SEEN */
};

enum {
	PLACE_SEEN = 8,
	PLACE_SIZE_FIRST = 12 * 16, /* before anything is known */
	PLACE_K_MAX = 30,
	PLACE_LINEAR = 3, /* steps of the same width */
	PLACE_STEP_MAX = 28, /* K + steps <= BITS_MAX */
};

/* Writing or reading, the same functions serve both. */
struct coder {
	struct bits_out out;
	struct bits_in in;
};

/* Of v < 2^63. */
static inline unsigned int bit_length(u64 v)
{
	return 63 - (unsigned int)__builtin_clzll(v * 2 + 1);
}

/*
 * The code of z is `step` zeros, a one, and how far z is into that step. Steps
 * are 2^k wide; from PLACE_LINEAR on each is twice as wide as the one before:
 * short for what is usual, and still short for what is far off.
 */
static inline unsigned int step_bits(unsigned int step, unsigned int k)
{
	return step < PLACE_LINEAR ? k : k + step - PLACE_LINEAR + 1;
}

static inline u64 step_first(unsigned int step, unsigned int k)
{
	if (step < PLACE_LINEAR)
		return (u64)step << k;
	return ((2ull << (step - PLACE_LINEAR)) + PLACE_LINEAR - 2) << k;
}

/* From PLACE_STEP_MAX on, z follows the zeros as it is. True for that. */
static inline __attribute__((always_inline)) bool step_put(struct bits_out *b, u64 z,
							   unsigned int k)
{
	u64 q = z >> k, rest;
	unsigned int step = (unsigned int)q, bits;

	if (q >= PLACE_LINEAR)
		step = PLACE_LINEAR + 62 - (unsigned int)__builtin_clzll(q - (PLACE_LINEAR - 2));
	if (step >= PLACE_STEP_MAX) {
		bits_put(b, 0, PLACE_STEP_MAX);
		bits_put_word(b, z);
		return true;
	}
	rest = z - step_first(step, k);
	bits = step_bits(step, k);
	if (step + 1 + bits <= BITS_MAX) {
		bits_put(b, (rest << 1 | 1) << step, step + 1 + bits);
	} else {
		bits_put(b, 1ull << step, step + 1);
		bits_put(b, rest, bits);
	}
	return false;
}

static inline __attribute__((always_inline)) u64 step_get(struct bits_in *b, unsigned int k,
							  bool *escaped)
{
	u64 word = bits_peek(b);
	unsigned int step, bits;

	*escaped = !(word & ((1ull << PLACE_STEP_MAX) - 1));
	if (*escaped) {
		bits_get(b, PLACE_STEP_MAX);
		return bits_get_word(b);
	}
	step = (unsigned int)__builtin_ctzll(word);
	bits = step_bits(step, k);
	if (step + 1 + bits <= BITS_MAX && b->end - b->at >= step + 1 + bits) {
		b->at += step + 1 + bits;
		word = word >> (step + 1) & ((1ull << bits) - 1);
	} else {
		bits_get(b, step + 1);
		word = bits_get(b, bits);
	}
	return word + step_first(step, k);
}

/* The number that is expected: the mean, to the nearest. */
static inline u64 place_mean(const struct place *p)
{
	return (u64)((s64)((u64)p->mean + 8) >> 4);
}

/* The bits of a distance that is no larger than usual. */
static inline unsigned int place_k(const struct place *p)
{
	unsigned int k = p->size / 16u;

	return k > PLACE_K_MAX ? PLACE_K_MAX : k;
}

/* Later ones move the mean by no more than is usual, however far off they are. */
static inline __attribute__((always_inline)) void place_learn(struct place *p, s64 distance,
							      unsigned int length, unsigned int k)
{
	s64 limit = (s64)1 << k, by = distance;

	by = by > limit ? limit : by;
	by = by < -limit ? -limit : by;
	if (p->count == PLACE_SEEN) {
		by *= 2;
	} else {
		by *= p->count < 4 ? 8 : 4;
		p->count++;
	}
	p->mean = (s64)((u64)p->mean + (u64)by);
	p->size += length * 2 - (p->size + 7) / 8;
}

static inline void place_begin(struct place *p, s64 distance, unsigned int length)
{
	p->mean = (s64)((u64)p->mean + (u64)distance * 16);
	p->size += length * 8 - (p->size + 1) / 2;
	p->count = 1;
}

/* Where nothing is known of a place yet, its kind lends what is known of it. */
static __attribute__((noinline, unused)) void place_borrow(struct place *p, struct place *kind)
{
	if (!kind->count)
		kind->size = PLACE_SIZE_FIRST;
	*p = *kind;
	p->count = 0;
}

/* The first number of a place; its kind learns from it. */
static __attribute__((noinline, unused)) void
place_first(struct place *p, struct place *kind, s64 distance, unsigned int length, unsigned int k)
{
	place_begin(p, distance, length);
	if (kind->count)
		place_learn(kind, distance, length, k);
	else
		place_begin(kind, distance, length);
}

/* One number at place p. */
static inline __attribute__((always_inline)) void
code_number(struct coder *c, const bool writing, struct place *p, struct place *kind, u64 *v)
{
	unsigned int k;
	bool escaped;
	s64 distance;
	u64 z, mean;

	if (!p->count)
		place_borrow(p, kind);
	k = place_k(p);
	mean = place_mean(p);
	if (writing) {
		distance = (s64)(*v - mean);
		z = zigzag(distance);
		escaped = step_put(&c->out, z, k);
	} else {
		z = step_get(&c->in, k, &escaped);
		distance = unzigzag(z);
		*v = mean + (u64)distance;
	}
	/* What is so far off says nothing about the next. */
	if (escaped)
		return;
	if (p->count)
		place_learn(p, distance, bit_length(z), k);
	else
		place_first(p, kind, distance, bit_length(z), k);
}

#endif
