/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What lies inside what. Records come when they complete, so a record that
 * completes above others holds them. FORMAT.md, "Fields", is the specification.
 */
#ifndef REC_NEST_H
#define REC_NEST_H

#include "rec/records.h"

static inline u32 depth_of(u64 shape)
{
	return (u32)(shape >> 16) & VMSPAN_DEPTH_MASK;
}

/* Where a record lies among those before it. */
struct stay {
	u32 level; /* spans at depth d lie inside events that began at depth d */
	u32 inner; /* records inside it */
	u32 open_len; /* levels that stay open */
	bool parent; /* something has completed above its level since */
	u64 first; /* then: where the first of that began */
};

static inline __attribute__((always_inline)) struct stay stay_of(const struct records_thread *t,
								 u64 shape, const bool span)
{
	bool event = !span && (shape & 0xff) == VMSPAN_EVENT;
	struct stay s = { .level = depth_of(shape) * 2 + !event,
			  .inner = t->loose,
			  .open_len = t->open_len };

	for (; s.open_len && t->open[s.open_len - 1].level > s.level; s.parent = true) {
		s.first = t->open[--s.open_len].begin;
		s.inner += t->open[s.open_len].count;
	}
	return s;
}

/* From now on the record stands for what lies inside it. */
static inline __attribute__((always_inline)) void
stay_done(struct records_thread *t, const struct stay *s, u64 begin, u64 end)
{
	u32 len = s->open_len;

	t->end = end;
	t->loose = 0;
	if (len && t->open[len - 1].level == s->level) {
		t->open[len - 1].count += s->inner + 1;
	} else {
		if (len == RECORDS_OPEN)
			len = 0;
		t->open[len++] = (struct records_open){ s->level, s->inner + 1, begin };
	}
	t->open_len = (u16)len;
}

#endif
