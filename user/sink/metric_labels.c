/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/metric_labels.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/intern.h"
#include "sink/metrics_form.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Who takes a label from another has been charged so many times as much, and a millisecond more:
 * so two that are about equal do not take turns. */
#define HEAVIER 2
#define HEAVIER_NS NSEC_PER_MSEC

/* The name of all others, whoever else is called so. */
#define OTHER 0

struct name {
	const char *kind;
	struct label_cell *own; /* owned: counted under its label; NULL: it has had none */
	u64 singly[LABEL_COUNTS]; /* since the round before: labels_count() */
	u64 weight, gauge;
	u64 alive_ns; /* when it went on last, or was first seen */
	u64 named_ns; /* when it had a label last */
	u32 sources; /* in this round */
	bool alive; /* one of them goes on */
	bool named; /* has a label */
};

struct source {
	u64 key, pool;
	u32 heir_part, cell, name;
	u32 round; /* the last one that it was in */
	u64 now[LABEL_COUNTS],
		last[LABEL_COUNTS]; /* in this round, and counted by the one before */
	struct hist hist_now, hist_last;
};

struct labels {
	struct label_rules rules;
	struct intern *texts;
	struct name *names; /* by number of the text */
	u32 len, cap;
	struct source *sources;
	u32 source_len, source_cap;
	struct map source_of; /* key -> place in sources */
	u32 round, named;
	u64 left; /* new labels, as ns of an hour */
	u64 half, ns; /* of the last round */
	bool has_other;
	struct label *shown;
	u32 shown_len, shown_cap;
	u32 *order; /* scratch: names */
	u32 order_cap;
	struct buf text; /* scratch */
};

/* ns of LABEL_HOUR_NS that one new label takes. */
static u64 price(const struct labels *l)
{
	return LABEL_HOUR_NS / l->rules.limit;
}

static void own_free(const struct labels *l, struct name *n)
{
	u32 i;

	for (i = 0; n->own && i < l->rules.cells; i++)
		hist_free(&n->own[i].hist);
	free(n->own);
	n->own = NULL;
}

static void source_free(struct source *s)
{
	hist_free(&s->hist_now);
	hist_free(&s->hist_last);
}

void labels_free(struct labels *l)
{
	u32 i;

	if (!l)
		return;
	for (i = 0; i < l->len; i++)
		own_free(l, &l->names[i]);
	for (i = 0; i < l->source_len; i++)
		source_free(&l->sources[i]);
	intern_free(l->texts);
	map_free(&l->source_of);
	buf_free(&l->text);
	free(l->names);
	free(l->sources);
	free(l->shown);
	free(l->order);
	free(l);
}

/* As it is told: of two that would be the same series, one is the other. -ENOMEM. */
static s64 number_of(struct labels *l, const char *name)
{
	size_t len = strlen(name), from, to;
	s64 id;

	buf_clear(&l->text);
	for (; len; name += from, len -= from) {
		const char *c = metrics_char(name, len, &from, &to);

		buf_put(&l->text, c, to);
	}
	if (l->text.failed)
		return -ENOMEM;
	id = intern_put(l->texts, l->text.len ? (const char *)l->text.data : "", l->text.len);
	if (id < 0 || array_room(l->names, l->cap, (u32)id + 1))
		return -ENOMEM;
	for (; l->len <= id; l->len++)
		l->names[l->len] = (struct name){ 0 };
	return id;
}

struct labels *labels_new(const struct label_rules *rules)
{
	struct labels *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->rules = *rules;
	l->left = LABEL_HOUR_NS;
	l->texts = intern_new();
	if (!l->texts || number_of(l, LABEL_OTHER) != OTHER)
		goto fail;
	l->names[OTHER].kind = LABEL_OTHER;
	l->names[OTHER].own = calloc(rules->cells, sizeof(struct label_cell));
	if (l->names[OTHER].own)
		return l;
fail:
	labels_free(l);
	return NULL;
}

void labels_begin(struct labels *l)
{
	u32 i;

	l->round++;
	for (i = 0; i < l->len; i++) {
		l->names[i].sources = 0;
		l->names[i].alive = false;
		if (l->rules.adds || i == OTHER)
			l->names[i].gauge = 0;
	}
}

static void add_gauge(const struct labels *l, struct name *to, u64 gauge)
{
	to->gauge = l->rules.adds ? to->gauge + gauge : max_u64(to->gauge, gauge);
}

static u64 key_of(u64 id, u32 part)
{
	return id << 32 | part;
}

static struct source *source_at(struct labels *l, const struct label_source *from)
{
	u64 key = key_of(from->id, from->part), *at = map_get(&l->source_of, key);
	struct source *s;

	if (!at) {
		if (array_room(l->sources, l->source_cap, l->source_len + 1) ||
		    map_put(&l->source_of, key, l->source_len))
			return NULL;
		l->sources[l->source_len++] = (struct source){ .key = key };
	}
	s = &l->sources[at ? *at : l->source_len - 1];
	if (s->round == l->round)
		return s;
	s->round = l->round;
	memset(s->now, 0, sizeof(s->now));
	hist_free(&s->hist_now);
	return s;
}

int labels_add(struct labels *l, const struct label_source *from, const u64 *counts,
	       const struct hist *hist, u64 gauge)
{
	s64 name = from->name ? number_of(l, from->name) : OTHER;
	struct source *s = name < 0 ? NULL : source_at(l, from);
	struct name *n;
	u32 i;

	if (!s || (hist && hist_merge(&s->hist_now, hist)))
		return -ENOMEM;
	s->name = (u32)name;
	s->pool = from->pool;
	s->heir_part = from->heir_part;
	s->cell = from->cell;
	for (i = 0; i < l->rules.totals; i++)
		s->now[i] += counts[i];
	n = &l->names[name];
	n->sources++;
	n->alive |= !from->ended;
	if (name != OTHER)
		n->kind = from->kind;
	add_gauge(l, n, gauge);
	return 0;
}

int labels_count(struct labels *l, const char *name, u32 at)
{
	s64 id = number_of(l, name);

	if (id < 0)
		return -ENOMEM;
	l->names[id].singly[at]++;
	return 0;
}

/* ---- Sources that are gone ---- */

static struct source *heir_of(struct labels *l, const struct source *s, const struct map *heirs)
{
	const u64 *id = heirs ? map_get(heirs, s->pool) : NULL, *at;

	if (heirs && !id)
		id = map_get(heirs, 0);
	at = id ? map_get(&l->source_of, key_of(*id, s->heir_part)) : NULL;
	return at && l->sources[*at].round == l->round ? &l->sources[*at] : NULL;
}

static void source_drop(struct labels *l, u32 at)
{
	struct source *s = &l->sources[at];

	source_free(s);
	map_del(&l->source_of, s->key);
	*s = l->sources[--l->source_len];
	if (at < l->source_len)
		*map_get(&l->source_of, s->key) = at;
}

/* What was counted of them was counted of their heirs. */
static int bury(struct labels *l, const struct map *heirs)
{
	u32 i = 0, k;

	while (i < l->source_len) {
		struct source *s = &l->sources[i], *heir;

		if (s->round == l->round) {
			i++;
			continue;
		}
		heir = heir_of(l, s, heirs);
		if (heir && hist_merge(&heir->hist_last, &s->hist_last))
			return -ENOMEM;
		for (k = 0; heir && k < LABEL_COUNTS; k++)
			heir->last[k] += s->last[k];
		source_drop(l, i);
	}
	return 0;
}

/* ---- Who has a label ---- */

static u64 growth(const struct source *s, u32 k)
{
	return s->now[k] - min_u64(s->now[k], s->last[k]);
}

static void weigh(struct labels *l, u64 ns)
{
	u64 halves = ns / LABEL_HALF_NS - l->half;
	u32 i;

	l->half = ns / LABEL_HALF_NS;
	l->left = min_u64(l->left + (ns - min_u64(ns, l->ns)), LABEL_HOUR_NS);
	l->ns = max_u64(l->ns, ns);
	for (i = 0; i < l->len; i++) {
		struct name *n = &l->names[i];

		n->weight = halves < 64 ? n->weight >> halves : 0;
		if (n->alive || !n->alive_ns)
			n->alive_ns = l->ns;
	}
	for (i = 0; i < l->source_len; i++) {
		const struct source *s = &l->sources[i];

		if (s->cell == l->rules.weighs)
			l->names[s->name].weight += growth(s, 0);
	}
}

/* It had its time, and whoever goes on comes before it. */
static bool is_over(const struct labels *l, const struct name *n)
{
	return !n->alive && l->ns - n->alive_ns >= LABEL_ENDED_NS;
}

static int first_served(const void *a, const void *b, void *labels)
{
	const struct labels *l = labels;
	u32 i = *(const u32 *)a, k = *(const u32 *)b;
	const struct name *x = &l->names[i], *y = &l->names[k];

	if (is_over(l, x) != is_over(l, y))
		return is_over(l, x) ? 1 : -1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return i < k ? -1 : 1;
}

/* 0: it has one; -EAGAIN: not yet, as there were too many new ones; -ENOMEM. */
static int give(struct labels *l, struct name *n)
{
	if (!n->own) {
		if (l->left < price(l))
			return -EAGAIN;
		n->own = calloc(l->rules.cells, sizeof(*n->own));
		if (!n->own)
			return -ENOMEM;
		l->left -= price(l);
	}
	n->named = true;
	l->named++;
	return 0;
}

static bool must_yield(const struct labels *l, const struct name *light, const struct name *to)
{
	if (is_over(l, light))
		return to->weight > 0;
	return to->weight > HEAVIER * light->weight + HEAVIER_NS;
}

/* The heaviest get what is free, then what the lightest have; those that have ended, only what is free. */
static int share_out(struct labels *l)
{
	u32 i, last, n = 0;
	int rc = 0;

	if (array_room(l->order, l->order_cap, l->len))
		return -ENOMEM;
	for (i = OTHER + 1; i < l->len; i++)
		if (l->names[i].sources || l->names[i].named)
			l->order[n++] = i;
	if (n)
		qsort_r(l->order, n, sizeof(*l->order), first_served, l);
	for (i = 0, last = n; i < n && rc != -ENOMEM; i++) {
		struct name *to = &l->names[l->order[i]], *light;

		if (to->named)
			continue;
		if (l->named < l->rules.limit) {
			rc = give(l, to);
			continue;
		}
		if (!to->alive)
			continue;
		while (last && !l->names[l->order[last - 1]].named)
			last--;
		light = last ? &l->names[l->order[last - 1]] : NULL;
		if (!light || !must_yield(l, light, to))
			break;
		rc = give(l, to);
		if (rc)
			continue;
		light->named = false;
		l->named--;
	}
	return rc == -ENOMEM ? rc : 0;
}

/* ---- What is counted under each ---- */

static int count_hist(struct source *s, struct label_cell *to)
{
	if (s->hist_now.total != s->hist_last.total) {
		hist_subtract(&s->hist_now, &s->hist_last);
		if (hist_merge(&s->hist_last, &s->hist_now) || hist_merge(&to->hist, &s->hist_now))
			return -ENOMEM;
	}
	hist_free(&s->hist_now);
	return 0;
}

static int count_sources(struct labels *l)
{
	u32 i, k;

	for (i = 0; i < l->source_len; i++) {
		struct source *s = &l->sources[i];
		bool named = l->names[s->name].named;
		struct label_cell *to = &l->names[named ? s->name : OTHER].own[s->cell];

		l->has_other |= !named;
		for (k = 0; k < l->rules.totals; k++) {
			to->counts[k] += growth(s, k);
			s->last[k] = max_u64(s->last[k], s->now[k]);
		}
		if (count_hist(s, to))
			return -ENOMEM;
	}
	return 0;
}

static void count_names(struct labels *l)
{
	struct name *other = &l->names[OTHER];
	u32 i, k;

	for (i = 0; i < l->len; i++) {
		struct name *n = &l->names[i];

		for (k = l->rules.totals; k < LABEL_COUNTS; k++) {
			(n->named ? n : other)->own->counts[k] += n->singly[k];
			l->has_other |= !n->named && n->singly[k];
			n->singly[k] = 0;
		}
		if (n->named)
			n->named_ns = l->ns;
		else if (i != OTHER && n->sources)
			add_gauge(l, other, n->gauge);
	}
}

/* ---- Names that are gone ---- */

static void forget(struct labels *l)
{
	u32 i;

	for (i = OTHER + 1; i < l->len; i++) {
		struct name *n = &l->names[i];

		if (!n->sources && !n->named && l->ns - n->named_ns > LABEL_KEPT_NS)
			own_free(l, n);
	}
}

static bool is_kept(const struct name *n)
{
	return n->sources || n->own;
}

/* When there are more of them than others. Sources are told their names in each round. */
static int tidy(struct labels *l)
{
	struct intern *texts;
	u32 i, kept = 0;

	for (i = 0; i < l->len; i++)
		kept += is_kept(&l->names[i]);
	if (l->len <= 2 * kept + 64)
		return 0;
	texts = intern_new();
	for (i = 0; texts && i < l->len; i++) {
		size_t len;
		const char *text = intern_get(l->texts, i, &len);

		if (is_kept(&l->names[i]) && intern_put(texts, text, len) < 0)
			break;
	}
	if (!texts || i < l->len) {
		intern_free(texts);
		return -ENOMEM;
	}
	for (i = 0, kept = 0; i < l->len; i++)
		if (is_kept(&l->names[i]))
			l->names[kept++] = l->names[i];
	l->len = kept;
	intern_free(l->texts);
	l->texts = texts;
	return 0;
}

/* ---- Rounds ---- */

static void show(struct labels *l, u32 name)
{
	const struct name *n = &l->names[name];

	l->shown[l->shown_len++] = (struct label){ .name = intern_get(l->texts, name, NULL),
						   .kind = n->kind,
						   .cells = n->own,
						   .gauge = n->gauge };
}

int labels_round(struct labels *l, u64 ns, const struct map *heirs)
{
	u32 i;

	if (array_room(l->shown, l->shown_cap, l->len + 1) || bury(l, heirs))
		return -ENOMEM;
	weigh(l, ns);
	if (share_out(l) || count_sources(l))
		return -ENOMEM;
	count_names(l);
	forget(l);
	if (tidy(l))
		return -ENOMEM;
	l->shown_len = 0;
	for (i = OTHER + 1; i < l->len; i++)
		if (l->names[i].named)
			show(l, i);
	if (l->has_other)
		show(l, OTHER);
	return 0;
}

u32 labels_shown(const struct labels *l, const struct label **list)
{
	*list = l->shown;
	return l->shown_len;
}

u32 labels_kept(const struct labels *l)
{
	return l->len + l->source_len;
}
