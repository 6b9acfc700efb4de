/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/alert_nest.h"
#include "base/map.h"
#include "model/scale.h"

#include <stdlib.h>
#include <string.h>

struct nest {
	const struct tree *tree; /* whose names and times these are */
	bool sampled;
	u32 looks, omitted; /* of stacks */
	u32 count;
	struct map number_of; /* name, the model's own: the same text is the same pointer */
	u64 *seen_ns; /* by group: in its outermost stays */
	u64 *inside_ns; /* [in * count + of]: inside of `of`, with `in` the inner one of both */
};

/* Of a group, on the way from a root to a node. Depths begin with 1. */
struct place {
	u32 group;
	u32 last; /* depth of its innermost node */
	u32 before; /* the same before the node that is entered; 0: it was not on the way */
};

/* The groups that are on the way, without order. */
struct way {
	struct nest *nest;
	struct place places[NEST_GROUPS];
	u32 count;
};

/* A node's group, and the depth that it was last at before that node, or 0. */
struct entry {
	u32 group, last;
};

static int number(struct nest *n, const char *group)
{
	u64 key = (u64)(uintptr_t)group;

	if (!group || !*group || n->count == NEST_GROUPS || map_get(&n->number_of, key))
		return 0;
	return map_put(&n->number_of, key, n->count++);
}

static u32 number_of(const struct nest *n, const char *group)
{
	const u64 *at = map_get(&n->number_of, (u64)(uintptr_t)group);

	return at ? (u32)*at : NEST_NONE;
}

static int number_nodes(struct nest *n, const struct tree_node *node)
{
	u32 i;

	for (; node; node = node->next) {
		for (i = 0; i < node->group_count; i++)
			if (number(n, node->groups[i]))
				return -1;
		if (number_nodes(n, node->child))
			return -1;
	}
	return 0;
}

static int number_stacks(struct nest *n, const struct stacks *s)
{
	u32 i, k;

	for (i = 0; i < s->len; i++)
		for (k = 0; k < s->list[i].depth; k++)
			if (number(n, s->list[i].groups[k]))
				return -1;
	return 0;
}

static struct place *place_of(struct way *w, u32 group)
{
	u32 i;

	for (i = 0; i < w->count; i++)
		if (w->places[i].group == group)
			return &w->places[i];
	return NULL;
}

/* False: it is of the same node already. */
static bool way_in(struct way *w, struct entry *e, u32 depth)
{
	struct place *p = place_of(w, e->group);

	e->last = p ? p->last : 0;
	if (e->last == depth)
		return false;
	if (!p) {
		p = &w->places[w->count++];
		p->group = e->group;
	}
	p->before = e->last;
	p->last = depth;
	return true;
}

/* Backwards, so that what came last is at the end. */
static void way_out(struct way *w, const struct entry *e)
{
	if (e->last)
		place_of(w, e->group)->last = e->last;
	else
		w->count--;
}

static void change(u64 *sum, bool was, bool is, u64 ns)
{
	if (is && !was)
		*sum += ns;
	/* Of forged times a part may be more than the whole. */
	if (was && !is)
		*sum -= min_u64(*sum, ns);
}

/* All groups of a node are on the way: of those and each other one, who is the inner one now
 * that its time goes by? Those of one node are so both. */
static void add_time(const struct way *w, const struct entry *e, u32 depth, u64 ns)
{
	struct nest *n = w->nest;
	u32 i;

	n->seen_ns[e->group] += e->last ? 0 : ns;
	for (i = 0; i < w->count; i++) {
		const struct place *x = &w->places[i];
		bool here = x->last == depth;
		u32 last = here ? x->before : x->last;

		if (x->group == e->group)
			continue;
		change(&n->inside_ns[(size_t)e->group * n->count + x->group],
		       e->last && last && e->last >= last, true, ns);
		if (!here)
			change(&n->inside_ns[(size_t)x->group * n->count + e->group],
			       e->last && last >= e->last, false, ns);
	}
}

static void add_nodes(struct way *w, const struct tree_node *node, u32 depth)
{
	for (; node; node = node->next) {
		struct entry own[TREE_GROUPS];
		u32 count = 0, i;

		for (i = 0; node->type == VMSPAN_SPAN && i < node->group_count; i++) {
			own[count].group = number_of(w->nest, node->groups[i]);
			if (own[count].group != NEST_NONE && way_in(w, &own[count], depth))
				count++;
		}
		for (i = 0; i < count; i++)
			add_time(w, &own[i], depth, node->total_ns);
		add_nodes(w, node->child, depth + 1);
		while (count)
			way_out(w, &own[--count]);
	}
}

/* Of a stack whose outer frames are left out: either group may be there. */
static void add_cut(const struct way *w, u64 ns)
{
	struct nest *n = w->nest;
	bool here[NEST_GROUPS] = { false };
	u32 i, of;

	for (i = 0; i < w->count; i++)
		here[w->places[i].group] = true;
	for (i = 0; i < w->count; i++)
		for (of = 0; of < n->count; of++)
			if (!here[of])
				n->inside_ns[(size_t)w->places[i].group * n->count + of] += ns;
}

/* Frames are innermost first. */
static void add_stack(struct way *w, const struct stack *k)
{
	u64 ns = k->ran_ns + k->waited_ns;
	u32 i;

	w->count = 0;
	for (i = k->depth; i--;) {
		struct entry e = { .group = number_of(w->nest, k->groups[i]) };

		if (e.group != NEST_NONE && way_in(w, &e, k->depth - i))
			add_time(w, &e, k->depth - i, ns);
	}
	if (k->cut)
		add_cut(w, ns);
}

static int nest_fill(struct nest *n, const struct tree *t)
{
	struct way *w;
	u32 i;

	n->tree = t;
	n->sampled = t->stacks.looks;
	n->looks = t->stacks.looks;
	n->omitted = t->stacks.omitted;
	if (n->sampled ? number_stacks(n, &t->stacks) : number_nodes(n, t->roots))
		return -1;
	n->seen_ns = calloc(n->count + 1, sizeof(u64));
	n->inside_ns = calloc((size_t)n->count * n->count + 1, sizeof(u64));
	w = malloc(sizeof(*w));
	if (!n->seen_ns || !n->inside_ns || !w) {
		free(w);
		return -1;
	}
	w->nest = n;
	w->count = 0;
	if (n->sampled)
		for (i = 0; i < t->stacks.len; i++)
			add_stack(w, &t->stacks.list[i]);
	else
		add_nodes(w, t->roots, 1);
	free(w);
	return 0;
}

struct nest *nest_new(const struct tree *t)
{
	struct nest *n = t ? calloc(1, sizeof(*n)) : NULL;

	if (!n || !nest_fill(n, t))
		return n;
	nest_free(n);
	return NULL;
}

void nest_free(struct nest *n)
{
	if (!n)
		return;
	map_free(&n->number_of);
	free(n->seen_ns);
	free(n->inside_ns);
	free(n);
}

u32 nest_group(const struct nest *n, const char *group, u64 charged_ns)
{
	u32 at = n ? number_of(n, group) : NEST_NONE;

	if (at == NEST_NONE || !n->seen_ns[at])
		return NEST_NONE;
	/* What few looks stand for is not what is charged, but their shares of it are. */
	if (n->sampled ? n->omitted <= n->looks / 8 : n->seen_ns[at] >= charged_ns - charged_ns / 8)
		return at;
	return NEST_NONE;
}

static u64 of_charged(const struct nest *n, u32 group, u64 charged_ns, u64 ns)
{
	return scale(min_u64(ns, n->seen_ns[group]), charged_ns, n->seen_ns[group]);
}

u64 nest_inside(const struct nest *n, u32 in, u64 charged_ns, u32 of)
{
	return of_charged(n, in, charged_ns, n->inside_ns[(size_t)in * n->count + of]);
}

/* ---- Parts ---- */

struct parts {
	const struct nest *nest;
	u32 of;
	const u32 *turns;
	u64 *ns;
};

/* Who has the time of a node: the first of its groups, else who had that of the node around it;
 * NEST_NONE: nobody, or what is asked for has not begun. */
static u32 holder(const struct parts *p, u32 around, const char *const *groups, u32 count)
{
	u32 best = NEST_NONE, i;
	bool begun = around != NEST_NONE || p->of == NEST_NONE;

	for (i = 0; i < count; i++) {
		u32 g = number_of(p->nest, groups[i]);

		if (g == NEST_NONE)
			continue;
		begun |= g == p->of;
		if (p->turns[g] != NEST_NONE && (best == NEST_NONE || p->turns[g] < p->turns[best]))
			best = g;
	}
	return begun && best != NEST_NONE ? best : around;
}

static void parts_of_nodes(const struct parts *p, const struct tree_node *node, u32 around)
{
	for (; node; node = node->next) {
		u32 is = node->type == VMSPAN_SPAN
				 ? holder(p, around, node->groups, node->group_count)
				 : around;

		if (is != around) {
			p->ns[is] += node->total_ns;
			if (around != NEST_NONE)
				p->ns[around] -= min_u64(p->ns[around], node->total_ns);
		}
		parts_of_nodes(p, node->child, is);
	}
}

static void parts_of_stack(const struct parts *p, const struct stack *k)
{
	struct parts all = *p;
	u32 i, is = NEST_NONE;

	for (i = k->depth; i--;)
		is = holder(p, is, &k->groups[i], 1);
	/* What is asked for may be among the outer frames that are left out. */
	if (is == NEST_NONE && k->cut)
		for (all.of = NEST_NONE, i = k->depth; i--;)
			is = holder(&all, is, &k->groups[i], 1);
	if (is != NEST_NONE)
		p->ns[is] += k->ran_ns + k->waited_ns;
}

void nest_parts(const struct nest *n, u32 of, const u32 *turns, u64 *ns)
{
	const struct parts p = { n, of, turns, ns };
	u32 i;

	memset(ns, 0, NEST_GROUPS * sizeof(*ns));
	if (!n->sampled)
		parts_of_nodes(&p, n->tree->roots, NEST_NONE);
	for (i = 0; n->sampled && i < n->tree->stacks.len; i++)
		parts_of_stack(&p, &n->tree->stacks.list[i]);
}

u64 nest_part(const struct nest *n, u32 group, u64 charged_ns, u64 part_ns)
{
	return of_charged(n, group, charged_ns, part_ns);
}
