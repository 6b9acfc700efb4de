/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/window.h"

#include <string.h>

/* Beyond so many groups moments are kept further apart. */
#define GROUPS_MANY 2000

static void drop_first(struct window *w)
{
	struct buf reuse = w->list[0].packed;

	memmove(w->list, w->list + 1, --w->count * sizeof(w->list[0]));
	buf_free(&reuse);
	w->list[w->count].packed = (struct buf){ 0 };
}

static int slide(struct window *w, u32 groups)
{
	u64 step = w->span_ns / (groups > GROUPS_MANY ? 2 : WINDOW_STEPS), now = w->last.ns;
	struct moment *m;

	/* The first one is the newest that is old enough. */
	while (w->count > 1 && w->list[1].ns + w->span_ns <= now)
		drop_first(w);
	if (w->count && w->list[w->count - 1].ns + step > now)
		return 0;
	if (w->count == ARRAY_SIZE(w->list))
		drop_first(w);
	m = &w->list[w->count++];
	*m = (struct moment){ .ns = now };
	return buf_put(&m->packed, w->last.packed.data, w->last.packed.len);
}

int window_add(struct window *w, struct buf *packed, u32 groups, u64 now, u64 span_ns)
{
	if (span_ns == UINT64_MAX)
		span_ns = 0;
	if (span_ns != w->span_ns) {
		while (w->count)
			drop_first(w);
		w->span_ns = span_ns;
		/* The interval that is over belongs to it already. */
		if (span_ns && w->last.packed.len) {
			w->list[w->count++] = w->last;
			w->last.packed = (struct buf){ 0 };
		}
	}
	buf_free(&w->last.packed);
	w->last = (struct moment){ .ns = now, .packed = *packed };
	*packed = (struct buf){ 0 };
	return span_ns ? slide(w, groups) : 0;
}

int window_cut(const struct window *w, struct snapshot *total, u64 now, u64 span_ns,
	       u64 *elapsed_ns)
{
	const struct moment *m = span_ns && w->count ? &w->list[0] : &w->last;

	*elapsed_ns = now - m->ns;
	return m->packed.len ? snapshot_since(total, &m->packed) : 0;
}

void window_release(struct window *w)
{
	while (w->count)
		drop_first(w);
	buf_free(&w->last.packed);
}
