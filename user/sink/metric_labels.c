/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/metric_labels.h"
#include "base/array.h"
#include "base/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Who takes a label from another has been charged so many times as much, and a millisecond more:
 * so two that are about equal do not take turns. */
#define HEAVIER 2
#define HEAVIER_NS NSEC_PER_MSEC

struct group {
	const char *kind; /* NULL: not seen in any round */
	u64 now[LABEL_COUNTS],
		last[LABEL_COUNTS]; /* in this round, and counted by the one before */
	u64 own[LABEL_COUNTS]; /* of them: counted under its own label */
	u64 max_ns, weight;
	bool named; /* has a label */
	bool known; /* has had one */
};

struct labels {
	struct intern *names;
	struct group *groups; /* by number of the name */
	u32 len, cap;
	u32 limit, totals, named;
	u64 left; /* new labels, as ns of an hour */
	u64 half, ns; /* of the last round */
	struct label other;
	bool has_other;
	struct label *shown;
	u32 shown_len, shown_cap;
	u32 *order; /* scratch: groups */
	u32 order_cap;
};

/* ns of LABEL_HOUR_NS that one new label takes. */
static u64 price(const struct labels *l)
{
	return LABEL_HOUR_NS / l->limit;
}

struct labels *labels_new(u32 limit, u32 totals)
{
	struct labels *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->limit = limit;
	l->totals = totals;
	l->left = LABEL_HOUR_NS;
	l->other = (struct label){ .name = LABEL_OTHER, .kind = LABEL_OTHER };
	l->names = intern_new();
	if (l->names)
		return l;
	free(l);
	return NULL;
}

void labels_free(struct labels *l)
{
	if (!l)
		return;
	intern_free(l->names);
	free(l->groups);
	free(l->shown);
	free(l->order);
	free(l);
}

static struct group *group_of(struct labels *l, const char *name)
{
	s64 id = intern_put(l->names, name, strlen(name));

	if (id < 0 || array_room(l->groups, l->cap, (u32)id + 1))
		return NULL;
	for (; l->len <= id; l->len++)
		l->groups[l->len] = (struct group){ 0 };
	return &l->groups[id];
}

int labels_add(struct labels *l, const char *name, const char *kind, const u64 *counts, u64 max_ns)
{
	struct group *g = group_of(l, name);
	u32 i;

	if (!g)
		return -ENOMEM;
	g->kind = kind;
	for (i = 0; i < l->totals; i++)
		g->now[i] += counts[i];
	g->max_ns = max_u64(g->max_ns, max_ns);
	return 0;
}

int labels_count(struct labels *l, const char *name, u32 at)
{
	struct group *g = group_of(l, name);

	if (!g)
		return -ENOMEM;
	g->now[at]++;
	return 0;
}

/* ---- Who has a label ---- */

static void weigh(struct labels *l, u64 ns)
{
	u64 halves = ns / LABEL_HALF_NS - l->half;
	u32 i;

	l->half = ns / LABEL_HALF_NS;
	for (i = 0; i < l->len; i++) {
		struct group *g = &l->groups[i];

		g->weight = halves < 64 ? g->weight >> halves : 0;
		g->weight += g->now[0] - min_u64(g->now[0], g->last[0]);
	}
	l->left = min_u64(l->left + (ns - min_u64(ns, l->ns)), LABEL_HOUR_NS);
	l->ns = max_u64(l->ns, ns);
}

static int heavier_first(const void *a, const void *b, void *groups)
{
	const struct group *of = groups;
	u64 x = of[*(const u32 *)a].weight, y = of[*(const u32 *)b].weight;

	if (x != y)
		return x > y ? -1 : 1;
	return *(const u32 *)a < *(const u32 *)b ? -1 : 1;
}

/* May it have a label, if there is room for it? */
static bool may_have(struct labels *l, const struct group *g)
{
	if (g->known)
		return true;
	if (l->left < price(l))
		return false;
	l->left -= price(l);
	return true;
}

static void give(struct group *g)
{
	g->named = g->known = true;
}

/* The heaviest get what is free, then what the lightest have. */
static int share_out(struct labels *l)
{
	u32 i, last, n = 0;

	if (array_room(l->order, l->order_cap, l->len))
		return -ENOMEM;
	for (i = 0; i < l->len; i++)
		if (l->groups[i].kind)
			l->order[n++] = i;
	if (n)
		qsort_r(l->order, n, sizeof(*l->order), heavier_first, l->groups);
	for (i = 0, last = n; i < n; i++) {
		struct group *g = &l->groups[l->order[i]], *light;

		if (g->named)
			continue;
		if (l->named < l->limit) {
			if (!may_have(l, g))
				continue;
			l->named++;
			give(g);
			continue;
		}
		while (last && !l->groups[l->order[last - 1]].named)
			last--;
		light = last ? &l->groups[l->order[last - 1]] : NULL;
		if (!light || g->weight <= HEAVIER * light->weight + HEAVIER_NS)
			break;
		if (!may_have(l, g))
			continue;
		light->named = false;
		give(g);
	}
	return 0;
}

/* ---- What is counted under each ---- */

static void count_round(struct labels *l)
{
	u32 i, k;

	l->other.max_ns = 0;
	for (i = 0; i < l->len; i++) {
		struct group *g = &l->groups[i];

		for (k = 0; k < LABEL_COUNTS; k++) {
			u64 more = g->now[k] - min_u64(g->now[k], g->last[k]);

			*(g->named ? &g->own[k] : &l->other.counts[k]) += more;
			g->last[k] = max_u64(g->last[k], g->now[k]);
			if (k < l->totals)
				g->now[k] = 0;
		}
		if (g->kind && !g->named) {
			l->has_other = true;
			l->other.max_ns = max_u64(l->other.max_ns, g->max_ns);
		}
	}
}

int labels_round(struct labels *l, u64 ns)
{
	u32 i;

	weigh(l, ns);
	if (share_out(l) || array_room(l->shown, l->shown_cap, l->limit + 1))
		return -ENOMEM;
	count_round(l);
	l->shown_len = 0;
	for (i = 0; i < l->len; i++) {
		const struct group *g = &l->groups[i];
		struct label *to = &l->shown[l->shown_len];

		if (!g->named)
			continue;
		*to = (struct label){ .name = intern_get(l->names, i, NULL),
				      .kind = g->kind,
				      .max_ns = g->max_ns };
		memcpy(to->counts, g->own, sizeof(to->counts));
		l->shown_len++;
	}
	if (l->has_other)
		l->shown[l->shown_len++] = l->other;
	return 0;
}

u32 labels_shown(const struct labels *l, const struct label **list)
{
	*list = l->shown;
	return l->shown_len;
}
