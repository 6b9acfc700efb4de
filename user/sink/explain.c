/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stays come in the order of their ends, so what lies inside a stay is known
 * when it closes: it takes the deeper trees of its event that still wait.
 */
#include "sink/explain_priv.h"
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Trees that wait for the stay around them, or for their event. */
struct pending {
	struct root {
		struct node *node;
		u32 iteration;
		u16 depth;
	} * roots;
	u32 len, cap;
	u32 nodes;
	u64 omitted;
};

static u32 node_free(struct node *n)
{
	u32 freed = 0;

	while (n) {
		struct node *next = n->next;

		freed += 1 + node_free(n->child);
		free(n);
		n = next;
	}
	return freed;
}

static u32 node_count(const struct node *n)
{
	u32 count = 0;

	for (; n; n = n->next)
		count += 1 + node_count(n->child);
	return count;
}

static bool same(const struct node *a, const struct node *b)
{
	return a->type == b->type && a->type != VMSPAN_EVENT && !strcmp(a->name, b->name) &&
	       !strcmp(a->group, b->group);
}

/* Adds the list `from` to the list *to; equals become one. */
static u32 merge_list(struct node **to, struct node *from);

static u32 merge(struct node *to, struct node *from)
{
	u32 freed, i;

	to->count += from->count;
	to->ns += from->ns;
	to->off_ns += from->off_ns;
	to->max_ns = max_u64(to->max_ns, from->max_ns);
	to->repaired += from->repaired;
	to->freed_bytes += from->freed_bytes;
	to->cpus |= from->cpus;
	if (to->peer != from->peer)
		to->peer = 0;
	for (i = 0; i < FATES; i++)
		to->fate[i] += from->fate[i];
	freed = merge_list(&to->child, from->child);
	free(from);
	return freed + 1;
}

static u32 merge_list(struct node **to, struct node *from)
{
	u32 freed = 0;

	while (from) {
		struct node *next = from->next, **at = to;

		while (*at && !same(*at, from))
			at = &(*at)->next;
		from->next = NULL;
		if (*at)
			freed += merge(*at, from);
		else
			*at = from;
		from = next;
	}
	return freed;
}

static struct pending *pending_of(struct explain *x, u64 thread)
{
	u64 *at = map_get(&x->threads, thread);
	struct pending *p;

	if (at)
		return (struct pending *)(uintptr_t)*at;
	p = calloc(1, sizeof(*p));
	if (p && map_put(&x->threads, thread, (u64)(uintptr_t)p)) {
		free(p);
		return NULL;
	}
	return p;
}

/* Takes what waits deeper than `depth` in the event (depth -1: all of it). */
static struct node *take(struct pending *p, u32 iteration, int depth)
{
	struct node *list = NULL;
	u32 i, keep = 0;

	for (i = 0; i < p->len; i++) {
		struct root *r = &p->roots[i];

		if (r->iteration == iteration && r->depth > depth)
			p->nodes -= merge_list(&list, r->node);
		else
			p->roots[keep++] = *r;
	}
	p->len = keep;
	return list;
}

static int leave(struct pending *p, struct node *n, u32 iteration, u16 depth)
{
	struct root *r;
	u32 i;

	for (i = p->len; i--;) {
		r = &p->roots[i];
		if (r->iteration == iteration && r->depth == depth && same(r->node, n)) {
			p->nodes -= merge(r->node, n);
			return 0;
		}
	}
	if (array_room(p->roots, p->cap, p->len + 1)) {
		node_free(n);
		return -ENOMEM;
	}
	p->roots[p->len++] = (struct root){ n, iteration, depth };
	return 0;
}

static u64 cpu_bit(u16 cpu)
{
	return 1ull << min_u64(cpu, 63);
}

static int on_span(void *ctx, const struct model_span *s)
{
	u64 ns = s->end_ns - min_u64(s->begin_ns, s->end_ns); /* a forged one ends first */
	struct pending *p = pending_of(ctx, s->thread->id);
	struct node *n, *inside;

	if (!p)
		return -ENOMEM;
	inside = take(p, s->iteration, s->depth);
	if (p->nodes >= EXPLAIN_NODES) {
		p->omitted++;
		p->nodes -= node_free(inside);
		return 0;
	}
	n = malloc(sizeof(*n));
	if (!n) {
		node_free(inside);
		return -ENOMEM;
	}
	*n = (struct node){
		.child = inside,
		.name = s->name,
		.group = s->group,
		.type = s->type,
		.count = 1,
		.ns = ns,
		.off_ns = s->off_ns,
		.max_ns = ns,
		.repaired = s->repaired,
		.freed_bytes = s->bytes_before - min_u64(s->bytes_before, s->bytes_after),
		.peer = s->peer,
		.cpus = cpu_bit(s->cpu_begin) | cpu_bit(s->cpu_end),
	};
	n->fate[s->fate]++;
	p->nodes++;
	return leave(p, n, s->iteration, s->depth);
}

static void kept_free(struct kept *k)
{
	free(k->thread);
	free(k->process);
	free(k->shares);
	free(k->waits);
	node_free(k->tree);
}

/* Where the event goes in x->kept; UINT32_MAX: nowhere. */
static u32 place(struct explain *x, const struct model_event *e)
{
	u32 i, least = 0;

	if (x->iteration && e->iteration != x->iteration)
		return UINT32_MAX;
	if (x->kept_len < x->limit)
		return x->kept_len++;
	if (x->iteration) {
		x->left_out++;
		return UINT32_MAX;
	}
	for (i = 1; i < x->kept_len; i++)
		if (x->kept[i].e.ledger.event_wall_ns < x->kept[least].e.ledger.event_wall_ns)
			least = i;
	if (x->kept[least].e.ledger.event_wall_ns >= e->ledger.event_wall_ns)
		return UINT32_MAX;
	kept_free(&x->kept[least]);
	return least;
}

static int keep(struct explain *x, const struct model_event *e, struct node *tree, u64 omitted)
{
	u32 at = place(x, e);
	struct kept *k;

	if (at == UINT32_MAX) {
		node_free(tree);
		return 0;
	}
	k = &x->kept[at];
	*k = (struct kept){
		.order = x->arrived,
		.pid = e->thread->pid,
		.tid = e->thread->tid,
		.thread = strdup(e->thread->name),
		.process = strdup(e->thread->process),
		.e = *e,
		.shares = calloc(e->share_count + 1, sizeof(*k->shares)),
		.waits = calloc(e->wait_count + 1, sizeof(*k->waits)),
		.tree = tree,
		.omitted = omitted,
	};
	if (!k->thread || !k->process || !k->shares || !k->waits)
		return -ENOMEM;
	if (e->share_count)
		memcpy(k->shares, e->shares, e->share_count * sizeof(*k->shares));
	if (e->wait_count)
		memcpy(k->waits, e->waits, e->wait_count * sizeof(*k->waits));
	return 0;
}

static int on_event(void *ctx, const struct model_event *e)
{
	struct explain *x = ctx;
	struct pending *p = pending_of(x, e->thread->id);
	struct node *tree, *n;
	u64 omitted;
	int rc;

	if (!p)
		return -ENOMEM;
	if (!x->arrived++ || e->begin_ns < x->begin_ns)
		x->begin_ns = e->begin_ns;
	tree = take(p, e->iteration, -1);
	omitted = p->omitted;
	p->omitted = 0;
	p->nodes -= node_count(tree);
	rc = keep(x, e, tree, omitted);
	if (rc || !e->parent)
		return rc;
	/* In the event around it, it is one node. */
	n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	*n = (struct node){ .name = e->label,
			    .group = "",
			    .type = VMSPAN_EVENT,
			    .iteration = e->iteration,
			    .count = 1,
			    .ns = e->end_ns - e->begin_ns,
			    .max_ns = e->end_ns - e->begin_ns,
			    .cpus = cpu_bit(e->cpu_begin) | cpu_bit(e->cpu_end) };
	n->fate[SPAN_KEPT] = 1;
	p->nodes++;
	return leave(p, n, e->parent, UINT16_MAX);
}

struct explain *explain_new(struct model *m, u32 iteration, u32 slowest)
{
	static const struct model_observer ops = { .span = on_span, .event = on_event };
	struct explain *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->iteration = iteration;
	x->limit = iteration ? EXPLAIN_EVENTS : (u32)min_u64(slowest, EXPLAIN_EVENTS);
	x->kept = calloc(x->limit, sizeof(*x->kept));
	if (!x->kept) {
		free(x);
		return NULL;
	}
	model_observe(m, &ops, x);
	return x;
}

void explain_free(struct explain *x)
{
	u64 key, value;
	size_t at = 0;
	u32 i;

	if (!x)
		return;
	for (i = 0; i < x->kept_len; i++)
		kept_free(&x->kept[i]);
	while (map_next(&x->threads, &at, &key, &value)) {
		struct pending *p = (struct pending *)(uintptr_t)value;

		while (p->len)
			node_free(p->roots[--p->len].node);
		free(p->roots);
		free(p);
	}
	map_free(&x->threads);
	free(x->kept);
	free(x);
}

u32 explain_count(const struct explain *x)
{
	return x->kept_len;
}
