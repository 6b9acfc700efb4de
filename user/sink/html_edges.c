/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which group calls which, and for how long. Spans come in the order of their
 * ends: what a span called has closed before it and waits here, summed by
 * group, until a span closes that began before it.
 */
#include "sink/html_int.h"
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Siblings looked at for one of the same group. */
#define MERGE_WINDOW 16

int html_edges_add(struct html_edges *e, u32 from, u32 to, u64 calls, u64 ns)
{
	u64 *at = map_get(&e->index, (u64)from << 32 | to);

	if (!at && e->len >= HTML_EDGES_MAX) {
		from = to = NAME_OTHER;
		e->folded += calls;
		at = map_get(&e->index, (u64)from << 32 | to);
	}
	if (!at) {
		if (array_room(e->edge, e->cap, e->len + 1))
			return -ENOMEM;
		if (map_put(&e->index, (u64)from << 32 | to, e->len))
			return -ENOMEM;
		e->edge[e->len++] = (struct html_edge){ from, to, calls, ns };
		return 0;
	}
	e->edge[*at].calls += calls;
	e->edge[*at].ns += ns;
	return 0;
}

void html_edges_release(struct html_edges *e)
{
	map_free(&e->index);
	free(e->edge);
	*e = (struct html_edges){ 0 };
}

/* Takes what began at or after begin_ns: called by `from`. */
static int take(struct html_thread *t, struct html_edges *e, u64 begin_ns, u32 from, u64 *ns)
{
	int rc = 0;

	while (t->pending_len && t->pending[t->pending_len - 1].begin_ns >= begin_ns) {
		const struct html_pending *p = &t->pending[--t->pending_len];

		*ns += p->ns;
		if (p->group != HTML_NONE && from != HTML_NONE && !rc)
			rc = html_edges_add(e, from, p->group, p->calls, p->ns);
	}
	return rc;
}

static int leave(struct html_thread *t, const struct html_pending *n)
{
	u32 i, seen;

	/* Siblings: the same depth, and nothing shallower has closed since. */
	for (i = t->pending_len, seen = 0; i-- && seen < MERGE_WINDOW; seen++) {
		struct html_pending *p = &t->pending[i];

		if (p->depth != n->depth || p->iteration != n->iteration)
			break;
		if (p->group == n->group) {
			p->ns += n->ns;
			p->calls += n->calls;
			return 0;
		}
	}
	if (t->pending_len == HTML_PENDING_MAX) {
		struct html_pending *last = &t->pending[t->pending_len - 1];

		last->ns += n->ns;
		last->calls += n->calls;
		if (last->group != n->group)
			last->group = NAME_OTHER;
		return 0;
	}
	if (array_room(t->pending, t->pending_cap, t->pending_len + 1))
		return -ENOMEM;
	t->pending[t->pending_len++] = *n;
	return 0;
}

int html_pending_span(struct html_thread *t, struct html_edges *e, const struct model_span *s,
		      u32 group, u64 *child_ns)
{
	struct html_pending n = {
		.begin_ns = s->begin_ns,
		.ns = s->end_ns > s->begin_ns ? s->end_ns - s->begin_ns : 0,
		.calls = 1,
		.group = group,
		.iteration = s->iteration,
		.depth = s->depth,
	};
	int rc;

	*child_ns = 0;
	rc = take(t, e, s->begin_ns, group, child_ns);
	return rc ? rc : leave(t, &n);
}

int html_pending_event(struct html_thread *t, struct html_edges *e, const struct model_event *ev)
{
	struct html_pending n = {
		.begin_ns = ev->begin_ns,
		.ns = ev->end_ns > ev->begin_ns ? ev->end_ns - ev->begin_ns : 0,
		.group = HTML_NONE,
		.iteration = ev->iteration,
		.depth = UINT16_MAX,
	};
	u64 ignored = 0;
	int rc = take(t, e, ev->parent ? ev->begin_ns : 0, NAME_LOOP, &ignored);

	/* The span it ran in is not the caller of its time. */
	if (!rc && ev->parent)
		rc = leave(t, &n);
	return rc;
}
