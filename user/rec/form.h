/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much of a record is as expected, and what its times are in steps of the
 * counter. FORMAT.md, "Which shape" and "Times", is the specification.
 */
#ifndef REC_FORM_H
#define REC_FORM_H

#include "rec/nest.h"

/* How much of a record is what was expected. */
enum form {
	FORM_PLAIN, /* all but its times, and they are whole */
	FORM_AHEAD, /* the same, but that a reading is a cycle ahead of its step */
	FORM_MOVED, /* it runs elsewhere, in something else, or by another counter */
	FORM_RAW, /* it is not coded */
};

static inline __attribute__((always_inline)) void form_put(struct bits_out *b, enum form form)
{
	static const u8 bits[] = { 1, 2, 4, 0 }, count[] = { 1, 2, 3, 3 };

	bits_put(b, bits[form], count[form]);
}

static inline __attribute__((always_inline)) enum form form_get(struct bits_in *b)
{
	return bits_get(b, 1)   ? FORM_PLAIN
	       : bits_get(b, 1) ? FORM_AHEAD
	       : bits_get(b, 1) ? FORM_MOVED
				: FORM_RAW;
}

/* What tells the times of a record, in steps. */
struct times {
	u64 v[2];
	s64 rest[2]; /* cycles that each time is ahead of its step */
	bool whole; /* no rests */
};

static inline __attribute__((always_inline)) struct times stay_times(const struct steps *steps,
								     const struct records_thread *t,
								     const struct stay *s,
								     u64 begin, u64 end)
{
	struct times n = { 0 };
	bool first = steps_whole(steps, s->parent ? s->first - begin : begin - t->end, &n.v[0]);

	n.whole = steps_whole(steps, end - (s->parent ? t->end : begin), &n.v[1]) && first;
	return n;
}

/* Of a stay that is not whole. */
static inline __attribute__((always_inline)) struct times stay_rests(const struct steps *steps,
								     const struct records_thread *t,
								     const struct stay *s,
								     u64 begin, u64 end)
{
	struct times n = { 0 };
	u64 v[2];

	if (s->parent)
		n.rest[0] = -steps_nearest(steps, s->first - begin, &v[0]);
	else
		n.rest[0] = steps_nearest(steps, begin - t->end, &v[0]);
	n.rest[1] =
		steps_nearest(steps, end - (s->parent ? t->end : begin - (u64)n.rest[0]), &v[1]);
	n.v[0] = v[0];
	n.v[1] = v[1];
	return n;
}

/*
 * A reading that comes right behind another is a cycle ahead of its step, for
 * no two are equal. 1: the first is, 2: the second, 3: both; 0: it is more
 * than that.
 */
static inline __attribute__((always_inline)) u32 times_ahead(const struct times *n)
{
	return (u64)n->rest[0] <= 1 && (u64)n->rest[1] <= 1 ? (u32)n->rest[0] | (u32)n->rest[1] << 1
							    : 0;
}

#endif
