/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which head comes next. A head but for what changes with each record is its
 * shape; shapes are numbered as they come, and what followed the two before,
 * or the one before, is expected again. FORMAT.md, "Which shape", is the
 * specification.
 */
#ifndef REC_SHAPE_H
#define REC_SHAPE_H

#include "base/wire.h"
#include "rec/predict.h"

enum {
	SHAPES = 4096, /* remembered in a chunk */
	SHAPES_FAR = 4096,
	SHAPES_NEAR = 1024,
	SHAPES_AFTER = 14, /* remembered of what followed one */
};

struct shapes {
	u32 len;
	u64 shape[SHAPES];
	u16 at[SHAPES * 2]; /* hash table: number */
	u64 far[SHAPES_FAR]; /* 0: none, and no record has that */
	/* Numbers: index in shape[] + 1; 0: none. */
	u16 near[SHAPES_NEAR][SHAPES_AFTER + 1]; /* what comes often moves to the front */
};

/* size: a power of two, 2 at least. */
static inline u32 shape_hash(u64 v, u32 size)
{
	return (u32)((v * 0x9e3779b97f4a7c15ull) >> (64 - __builtin_ctz(size)));
}

/* What is expected behind the two latest. */
static inline u64 *shape_far(struct shapes *s, const u64 recent[2])
{
	return &s->far[shape_hash(recent[0] * 31 + recent[1], SHAPES_FAR)];
}

/* What else is, behind the latest. */
static inline u16 *shape_near(struct shapes *s, const u64 recent[2])
{
	return s->near[shape_hash(recent[0], SHAPES_NEAR)];
}

static inline u16 *shape_slot(struct shapes *s, u64 shape)
{
	u32 size = ARRAY_SIZE(s->at), i = shape_hash(shape, size);

	while (s->at[i] && s->shape[s->at[i] - 1] != shape)
		i = (i + 1) & (size - 1);
	return &s->at[i];
}

/* Its number, a new one if it has none; 0 when there are too many. */
static inline u16 shape_add(struct shapes *s, u64 shape)
{
	u16 *slot = shape_slot(s, shape);

	if (!*slot && s->len < SHAPES) {
		s->shape[s->len] = shape;
		*slot = (u16)++s->len;
	}
	return *slot;
}

/* From one that was not the far guess. It moves ahead of one that came less. */
static inline void shape_learn(u16 *near, u16 number)
{
	u32 i = 0;

	if (!number)
		return;
	while (i < SHAPES_AFTER - 1 && near[i] && near[i] != number)
		i++;
	if (i && near[i] == number) {
		near[i] = near[i - 1];
		i--;
	}
	near[i] = number;
}

/* The first two bits that tell a shape that was not expected. */
enum {
	SHAPE_FIRST, /* of those that followed */
	SHAPE_SECOND,
	SHAPE_LISTED, /* then 0 and its number less 1, or 1 and the shape */
	SHAPE_LATER, /* then 0: the third, or 1 and two or three bits */
};

static inline void shape_put(struct shapes *s, struct bits_out *b, const u16 *near, u64 shape)
{
	u16 number = *shape_slot(s, shape);
	u32 i;

	for (i = 0; number && i < SHAPES_AFTER && near[i] != number; i++)
		;
	if (!number) {
		bits_put(b, SHAPE_LISTED | 4, 3);
		bits_put_word(b, shape);
	} else if (i < 2) {
		bits_put(b, i, 2);
	} else if (i == 2) {
		bits_put(b, SHAPE_LATER, 3);
	} else if (i < 7) {
		bits_put(b, SHAPE_LATER | 4 | (i - 3) << 4, 6);
	} else if (i < SHAPES_AFTER) {
		bits_put(b, SHAPE_LATER | 12 | (i - 7) << 4, 7);
	} else {
		bits_put(b, SHAPE_LISTED, 3);
		bits_put(b, number - 1u, bit_length(s->len));
	}
}

/* The far guess after all, but a time is ahead of its step. */
static inline void shape_put_far(struct bits_out *b)
{
	bits_put(b, SHAPE_LATER | 12 | (SHAPES_AFTER - 7) << 4, 7);
}

/* True: it was shape_put_far(), *shape is left as it is. */
static inline bool shape_get(struct shapes *s, struct bits_in *b, const u16 *near, u64 *shape)
{
	u64 at = bits_get(b, 2);

	if (at == SHAPE_LISTED) {
		if (bits_get(b, 1)) {
			*shape = bits_get_word(b);
			return false;
		}
		at = bits_get(b, bit_length(s->len));
	} else {
		if (at == SHAPE_LATER) {
			at = 2;
			if (bits_get(b, 1))
				at = bits_get(b, 1) ? 7 + bits_get(b, 3) : 3 + bits_get(b, 2);
		}
		if (at == SHAPES_AFTER)
			return true;
		at = near[at] - 1u;
	}
	b->bad |= at >= s->len;
	*shape = at < s->len ? s->shape[at] : 0;
	return false;
}

#endif
