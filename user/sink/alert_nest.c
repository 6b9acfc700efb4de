/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/alert_nest.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

struct nest {
	bool sampled;
	u32 looks, omitted; /* of stacks */
	u32 count;
	struct map number_of; /* name, the model's own: the same text is the same pointer */
	u64 *seen_ns; /* by group: in its outermost stays */
	u64 *inside_ns; /* [in * count + of]: in outermost ones of `in` among those inside `of` */
};

/* Of a group, on the way from a root to a node. */
struct place {
	u32 group;
	u32 first, last; /* depths of its outermost and its innermost node */
};

/* The groups that are on the way, without order. */
struct way {
	struct nest *nest;
	struct place places[NEST_GROUPS];
	u32 count;
};

/* A node's group, and what it was on the way before that node. */
struct entry {
	u32 group, last;
	bool was;
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

static void way_in(struct way *w, struct entry *e, u32 depth)
{
	struct place *p = place_of(w, e->group);

	e->was = p;
	e->last = p ? p->last : 0;
	if (!p) {
		p = &w->places[w->count++];
		*p = (struct place){ e->group, depth, depth };
	}
	p->last = depth;
}

/* Backwards, so that what came last is at the end. */
static void way_out(struct way *w, const struct entry *e)
{
	if (e->was)
		place_of(w, e->group)->last = e->last;
	else
		w->count--;
}

/* Adds a node's time where it is the outermost of its group: in all, and among those inside
 * of each group that is on the way. */
static void add_time(const struct way *w, const struct entry *e, u64 ns)
{
	struct nest *n = w->nest;
	u32 i;

	n->seen_ns[e->group] += e->was ? 0 : ns;
	for (i = 0; i < w->count; i++) {
		const struct place *of = &w->places[i];

		if (of->group != e->group && !(e->was && e->last >= of->first))
			n->inside_ns[(size_t)e->group * n->count + of->group] += ns;
	}
}

static void add_nodes(struct way *w, const struct tree_node *node, u32 depth)
{
	for (; node; node = node->next) {
		struct entry own[TREE_GROUPS];
		u32 count = 0, i;

		for (i = 0; node->type == VMSPAN_SPAN && i < node->group_count; i++) {
			own[count].group = number_of(w->nest, node->groups[i]);
			if (own[count].group == NEST_NONE)
				continue;
			way_in(w, &own[count++], depth);
		}
		for (i = 0; i < count; i++)
			add_time(w, &own[i], node->total_ns);
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

		if (e.group == NEST_NONE)
			continue;
		way_in(w, &e, k->depth - i);
		add_time(w, &e, ns);
	}
	if (k->cut)
		add_cut(w, ns);
}

static int nest_fill(struct nest *n, const struct tree *t)
{
	struct way *w;
	u32 i;

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

u64 nest_inside(const struct nest *n, u32 in, u64 charged_ns, u32 of)
{
	u64 inside = n->inside_ns[(size_t)in * n->count + of];

	return (u64)((double)charged_ns * (double)inside / (double)n->seen_ns[in]);
}
