/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What lies inside what. Records come when they complete, so a record that
 * completes above others holds them. FORMAT.md, "Fields", is the specification.
 */
#ifndef REC_NEST_H
#define REC_NEST_H

#include "rec/records.h"

/* VMSPAN_F_LACKS is a part of it: so the format has it. */
static inline u32 depth_of(u64 shape)
{
	return (u32)(shape >> 16) & (VMSPAN_DEPTH_MASK | VMSPAN_F_LACKS);
}

/* Where a record lies among those before it. */
struct stay {
	u32 level; /* spans at depth d lie inside events that began at depth d */
	u32 inner; /* records inside it */
	struct records_open *below; /* the level that stays open */
	bool parent; /* something has completed above its level since */
	u64 first; /* then: where the first of that began */
};

static inline __attribute__((always_inline)) struct stay stay_of(struct records_thread *t,
								 u64 shape, const bool span)
{
	bool event = !span && (shape & 0xff) == VMSPAN_EVENT;
	struct stay s = { .level = depth_of(shape) * 2 + 1 + !event,
			  .inner = t->loose,
			  .below = &t->open[t->open_len] };

	/* It ends at open[0], whose level is 0. */
	for (; s.below->level > s.level; s.below--) {
		s.parent = true;
		s.first = s.below->begin;
		s.inner += s.below->count;
	}
	return s;
}

/* From now on the record stands for what lies inside it. */
static inline __attribute__((always_inline)) void
stay_done(struct records_thread *t, const struct stay *s, u64 begin, u64 end)
{
	struct records_open *o = s->below;

	t->end = end;
	t->loose = 0;
	if (o->level == s->level) {
		o->count += s->inner + 1;
	} else {
		if (o == &t->open[RECORDS_OPEN])
			o = t->open;
		*++o = (struct records_open){ s->level, s->inner + 1, begin };
	}
	t->open_len = (u32)(o - t->open);
}

#endif
