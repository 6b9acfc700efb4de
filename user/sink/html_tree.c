/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The spans of the events under way, by thread. When an event has too many,
 * its shortest half goes: a span is no longer than the one it is in, so what
 * stays is still a tree.
 */
#include "sink/html_int.h"
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A thread may keep this much memory for its next event. */
#define NODES_CAP_IDLE 512u

static u64 node_ns(const struct html_node *n)
{
	return n->end_ns > n->begin_ns ? n->end_ns - n->begin_ns : 0;
}

static int compare_ns(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

/* Drops all that are no longer than the median. */
static int prune(struct html_page *p, struct html_thread *t)
{
	u64 *ns = malloc(t->node_len * sizeof(*ns)), limit;
	u32 i, kept = 0;

	if (!ns)
		return -ENOMEM;
	for (i = 0; i < t->node_len; i++)
		ns[i] = node_ns(&t->nodes[i]);
	qsort(ns, t->node_len, sizeof(*ns), compare_ns);
	limit = ns[t->node_len / 2];
	free(ns);
	for (i = 0; i < t->node_len; i++)
		if (node_ns(&t->nodes[i]) > limit)
			t->nodes[kept++] = t->nodes[i];
	t->pruned += t->node_len - kept;
	t->prune_ns = max_u64(t->prune_ns, limit);
	p->nodes_open -= t->node_len - kept;
	t->node_len = kept;
	return 0;
}

int html_tree_span(struct html_page *p, struct html_thread *t, const struct html_node *n)
{
	bool crowded = p->nodes_open >= HTML_NODES_OPEN_ALL && t->node_len > 1;

	if ((t->node_len >= HTML_NODES_OPEN || crowded) && prune(p, t))
		return -ENOMEM;
	if (t->prune_ns && node_ns(n) <= t->prune_ns) {
		t->pruned++;
		return 0;
	}
	if (array_room(t->nodes, t->node_cap, t->node_len + 1))
		return -ENOMEM;
	t->nodes[t->node_len++] = *n;
	p->nodes_open++;
	return 0;
}

/* A caller before what it called; the longer first where both began at once. */
static int compare_nodes(const void *a, const void *b)
{
	const struct html_node *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

int html_tree_event(struct html_page *p, struct html_thread *t, const struct model_event *ev,
		    struct html_event *e, bool keep)
{
	u32 first = 0, count;
	int rc = 0;

	if (ev->parent)
		for (first = t->node_len; first && t->nodes[first - 1].begin_ns >= ev->begin_ns;)
			first--;
	count = t->node_len - first;
	if (keep && count) {
		e->nodes = malloc(count * sizeof(*e->nodes));
		if (e->nodes) {
			memcpy(e->nodes, t->nodes + first, count * sizeof(*e->nodes));
			qsort(e->nodes, count, sizeof(*e->nodes), compare_nodes);
			e->node_len = count;
		} else {
			rc = -ENOMEM;
		}
	}
	e->pruned = t->pruned;
	e->prune_ns = t->prune_ns;
	p->nodes_open -= count;
	t->node_len = first;
	if (first)
		return rc;
	t->pruned = 0;
	t->prune_ns = 0;
	if (t->node_cap > NODES_CAP_IDLE) {
		free(t->nodes);
		t->nodes = NULL;
		t->node_cap = 0;
	}
	return rc;
}
