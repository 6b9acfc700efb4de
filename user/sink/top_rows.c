/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of the live table: groups, alone or below what they belong to. */
#include "sink/containers.h"
#include "sink/top_int.h"
#include "sink/words.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ids of rows: a group's, a group's in a process, a process's, a kind's, a
 * thread's must differ and last. */
enum row_space {
	SPACE_GROUP = 1,
	SPACE_CHILD,
	SPACE_PROCESS,
	SPACE_KIND,
	SPACE_THREAD,
	SPACE_CONTAINER,
	SPACE_PART, /* of a group, in a container */
};

static u64 row_id(enum row_space space, u64 a, u64 b)
{
	return (u64)space << 60 | (a & 0xfffffff) << 32 | (b & 0xffffffff);
}

static int compare_rows(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;
	int order;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? 1 : -1;
	if (x->tie != y->tie)
		return x->tie < y->tie ? 1 : -1;
	order = strcmp(x->item.name, y->item.name);
	return order ? order : (x->id > y->id) - (x->id < y->id);
}

static int compare_reversed(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	/* The order of parents, and parents before children, stay. */
	return x->parent != y->parent || x->depth != y->depth ? compare_rows(a, b)
							      : compare_rows(b, a);
}

static void sort_rows(struct top_rows *r, const struct composer *c)
{
	qsort(r->list, r->count, sizeof(*r->list),
	      c->st->view.reverse ? compare_reversed : compare_rows);
}

static bool running(const struct composer *c, const char *group)
{
	u32 i;

	for (i = 0; i < c->f->running_count; i++)
		if (!strcmp(c->f->running[i].group, group))
			return true;
	return false;
}

/* A group that did nothing in the interval is not worth a line. */
static bool worth(const struct composer *c, const struct snapshot_group *g,
		  const struct group_stats *s)
{
	return group_matches(g->name, c->st->view.glob) &&
	       (!c->interval || s->ticks || s->wall_ns || running(c, g->name));
}

/* Equal ones are in the order of their wall time, but not those by name. */
static u64 tie_of(const struct composer *c, const struct group_stats *s)
{
	return c->st->view.sort && !strcmp(c->st->view.sort, "name") ? 0 : s->wall_ns;
}

static struct top_row *add_row(struct top_rows *r, const struct composer *c, u64 id,
			       const char *name, const struct group_stats *stats)
{
	struct top_row *row = &r->list[r->count++];

	*row = (struct top_row){
		.id = id,
		.key = sort_key_of(c->st->view.sort, stats),
		.tie = tie_of(c, stats),
		.item = { .name = name, .stats = stats, .history = UINT64_MAX },
	};
	return row;
}

static int make_room(struct top_rows *r, size_t rows, size_t sums)
{
	r->list = calloc(rows + sums + 1, sizeof(*r->list));
	r->sums = calloc(sums + 1, sizeof(*r->sums));
	r->sum_count = sums;
	r->names = calloc(sums + 1, sizeof(*r->names));
	return r->list && r->sums && r->names ? 0 : -ENOMEM;
}

/* A group's row; NULL when it is not worth one. */
static struct top_row *add_group(struct top_rows *r, const struct composer *c,
				 const struct snapshot_group *g)
{
	struct top_row *row;

	if (!worth(c, g, &g->stats))
		return NULL;
	row = add_row(r, c, row_id(SPACE_GROUP, 0, g->id), g->name, &g->stats);
	row->group = g->name;
	row->item.history = g->id;
	return row;
}

static void add_groups(struct top_rows *r, const struct composer *c)
{
	u32 i;

	for (i = 0; i < c->s->group_count; i++)
		add_group(r, c, &c->s->groups[i]);
}

static int flat(struct top_rows *r, const struct composer *c)
{
	if (make_room(r, c->s->group_count, 0))
		return -ENOMEM;
	add_groups(r, c);
	sort_rows(r, c);
	if (c->st->view.limit && c->st->view.limit < r->count)
		r->count = c->st->view.limit;
	return 0;
}

struct parent {
	u64 key, wall;
	u32 index;
};

static int compare_parents(const void *a, const void *b)
{
	const struct parent *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? 1 : -1;
	if (x->wall != y->wall)
		return x->wall < y->wall ? 1 : -1;
	return x->index < y->index ? -1 : 1;
}

/* The place of each of the n parents, whose figures are in r->sums. */
static u32 *rank_parents(const struct top_rows *r, const struct composer *c, u32 n)
{
	struct parent *list = calloc((size_t)n + 1, sizeof(*list));
	u32 *rank = calloc((size_t)n + 1, sizeof(*rank)), i;

	for (i = 0; list && rank && i < n; i++)
		list[i] = (struct parent){ sort_key_of(c->st->view.sort, &r->sums[i]),
					   tie_of(c, &r->sums[i]), i };
	if (!list || !rank) {
		free(list);
		free(rank);
		return NULL;
	}
	qsort(list, n, sizeof(*list), compare_parents);
	for (i = 0; i < n; i++)
		rank[list[i].index] = c->st->view.reverse ? n - 1 - i : i;
	free(list);
	return rank;
}

/* Parents without a child to show go. */
static void drop_empty(struct top_rows *r)
{
	u32 i, n = 0;

	for (i = 0; i < r->count; i++) {
		bool empty = !r->list[i].depth && (i + 1 == r->count || !r->list[i + 1].depth);

		if (!empty)
			r->list[n++] = r->list[i];
	}
	r->count = n;
}

/* All that some processes did. */
static struct group_stats all_of(const struct event_stats *e, const struct ledger *l)
{
	struct group_stats all = {
		.events = e->count,
		.wall_ns = e->wall_ns,
		.self_ns = l->self_ns,
		.cpu_ns = e->cpu_ns,
		.blocked_ns = l->blocked_ns,
		.gc_ns = l->gc_ns,
		.max_ns = e->max_ns,
		.incomplete = e->incomplete,
	};

	memcpy(all.durations, e->durations, sizeof(all.durations));
	return all;
}

static struct top_row *add_child(struct top_rows *r, const struct composer *c,
				 const struct snapshot_group *g, const struct snapshot_child *ch)
{
	/* An only child's histogram is its group's. */
	const struct group_stats *stats = g->children == 1 ? &g->stats : &ch->stats;
	struct top_row *row;

	if (!worth(c, g, stats))
		return NULL;
	row = add_row(r, c, row_id(SPACE_CHILD, c->s->processes[ch->process].id, g->id), g->name,
		      stats);
	row->depth = row->item.depth = 1;
	row->group = g->name;
	/* The sparkline is of all processes together. */
	if (g->children == 1)
		row->item.history = g->id;
	return row;
}

/* Of a label without room its end is left, which tells one of Kubernetes' from the next. `cap` has room for the
 * mark. */
static void put_label(char *to, size_t cap, const struct snapshot_container *c)
{
	static const char cut[] = "\xe2\x80\xa6"; /* an ellipsis */
	char label[CONTAINER_LABEL_MAX];
	size_t len = strlen(container_label(c, label)), from = 0;

	if (len >= cap)
		from = len - (cap - sizeof(cut));
	while (label[from] && from && !text_utf8_len(label + from, len - from))
		from++;
	snprintf(to, cap, "%s%s", from ? cut : "", label + from);
}

static void process_name(char to[80], const struct snapshot_process *p)
{
	char name[31];
	int n = snprintf(to, 80, "%u %s%s%s", p->pid,
			 text_clean(name, sizeof(name), p->name, strlen(p->name)),
			 p->ended ? " (ended)" : "", p->container.runtime ? " in " : "");

	put_label(to + n, 80 - (size_t)n, &p->container);
}

static int by_process(struct top_rows *r, const struct composer *c)
{
	const struct snapshot *s = c->s;
	u32 *rank, i, k;

	if (make_room(r, s->child_count, s->process_count))
		return -ENOMEM;
	for (i = 0; i < s->process_count; i++)
		r->sums[i] = all_of(&s->processes[i].events, &s->processes[i].ledger);
	rank = rank_parents(r, c, s->process_count);
	if (!rank)
		return -ENOMEM;
	for (i = 0; i < s->process_count; i++) {
		const struct snapshot_process *p = &s->processes[i];
		struct top_row *row;

		process_name(r->names[i], p);
		row = add_row(r, c, row_id(SPACE_PROCESS, 0, p->id), r->names[i], &r->sums[i]);
		row->parent = rank[i];
	}
	for (i = 0; i < s->group_count; i++)
		for (k = 0; k < s->groups[i].children; k++) {
			const struct snapshot_group *g = &s->groups[i];
			const struct snapshot_child *ch = &s->children[g->first_child + k];
			struct top_row *row = add_child(r, c, g, ch);

			if (row)
				row->parent = rank[ch->process];
		}
	free(rank);
	sort_rows(r, c);
	drop_empty(r);
	r->title = "PROCESS / GROUP";
	return 0;
}

/* What is in no container: all but what is in one. */
static struct group_stats in_none(const struct snapshot *s)
{
	struct event_stats events = { 0 };
	struct ledger ledger = { 0 };
	u32 i;

	for (i = 0; i < s->process_count; i++)
		if (!s->processes[i].container_number) {
			event_stats_add(&events, &s->processes[i].events);
			ledger_add(&ledger, &s->processes[i].ledger);
		}
	return all_of(&events, &ledger);
}

/* Adds the parts of a group to the sums behind `from`, one for each container that it has some in; `part` has UINT32_MAX
 * for each container, before and after. How many, or -ENOMEM. */
static int add_parts(struct top_rows *r, const struct snapshot *s, const struct snapshot_group *g,
		     const u32 *of, u32 from, u32 *part, u32 *container)
{
	u32 i, n = 0;
	int rc = 0;

	for (i = 0; i < g->children && !rc; i++) {
		const struct snapshot_child *ch = &s->children[g->first_child + i];
		u32 in = of[ch->process];

		if (part[in] == UINT32_MAX) {
			part[in] = n;
			container[n++] = in;
		}
		/* An only child's histogram is its group's. */
		rc = group_stats_add(&r->sums[from + part[in]],
				     g->children == 1 ? &g->stats : &ch->stats);
	}
	for (i = 0; i < n; i++)
		part[container[i]] = UINT32_MAX;
	return rc ? rc : (int)n;
}

static int add_containers(struct top_rows *r, const struct composer *c,
			  const struct container_sums *sums, u32 *part, u32 *container)
{
	const struct snapshot *s = c->s;
	u32 n = sums->count, i, at = n + 1, *rank;
	int k, parts;

	for (i = 0; i < n; i++) {
		put_label(r->names[i], sizeof(r->names[i]), &sums->list[i].container);
		r->sums[i] = all_of(&sums->list[i].events, &sums->list[i].ledger);
	}
	snprintf(r->names[n], sizeof(r->names[n]), "(none)");
	r->sums[n] = in_none(s);
	rank = rank_parents(r, c, n + 1);
	if (!rank)
		return -ENOMEM;
	for (i = 0; i <= n; i++) {
		u64 number = i < n ? sums->list[i].number : 0;

		add_row(r, c, row_id(SPACE_CONTAINER, number >> 32, number), r->names[i],
			&r->sums[i])
			->parent = rank[i];
		part[i] = UINT32_MAX;
	}
	for (i = 0, parts = 0; i < s->group_count && parts >= 0; i++) {
		const struct snapshot_group *g = &s->groups[i];

		parts = add_parts(r, s, g, sums->of, at, part, container);
		for (k = 0; k < parts; k++, at++) {
			struct top_row *row;
			u32 number;

			if (!worth(c, g, &r->sums[at]))
				continue;
			number = container[k] < n ? (u32)sums->list[container[k]].number : 0;
			row = add_row(r, c, row_id(SPACE_PART, number, g->id), g->name,
				      &r->sums[at]);
			row->parent = rank[container[k]];
			row->depth = row->item.depth = 1;
			row->group = g->name;
		}
	}
	free(rank);
	return parts < 0 ? parts : 0;
}

static int by_container(struct top_rows *r, const struct composer *c)
{
	const struct snapshot *s = c->s;
	struct container_sums sums;
	u32 *room;
	int rc = container_sums_take(&sums, s);

	if (rc)
		return rc;
	room = calloc(2 * ((size_t)sums.count + 1), sizeof(*room));
	if (!room || make_room(r, s->child_count, (size_t)sums.count + 1 + s->child_count))
		rc = -ENOMEM;
	else
		rc = add_containers(r, c, &sums, room, room + sums.count + 1);
	free(room);
	container_sums_free(&sums);
	if (rc)
		return rc;
	sort_rows(r, c);
	drop_empty(r);
	r->title = "CONTAINER / GROUP";
	return 0;
}

/* A service is many processes that do the same: who of them does it. */
static int by_group(struct top_rows *r, const struct composer *c)
{
	const struct snapshot *s = c->s;
	u32 i, k, n;

	if (make_room(r, s->group_count + s->child_count, s->process_count))
		return -ENOMEM;
	for (i = 0; i < s->process_count; i++)
		process_name(r->names[i], &s->processes[i]);
	add_groups(r, c);
	/* Where a group has come in the order is the place of its processes. */
	sort_rows(r, c);
	for (i = 0, n = r->count; i < n; i++) {
		const struct group_stats *stats = r->list[i].item.stats;
		const struct snapshot_group *g =
			(const void *)((const char *)stats -
				       offsetof(struct snapshot_group, stats));

		r->list[i].parent = i;
		for (k = 0; k < g->children; k++) {
			const struct snapshot_child *ch = &s->children[g->first_child + k];
			struct top_row *row = add_child(r, c, g, ch);

			if (!row)
				continue;
			row->parent = i;
			row->item.name = r->names[ch->process];
		}
	}
	sort_rows(r, c);
	r->title = "GROUP / PROCESS";
	return 0;
}

/* What can be added: a turn counts for every group that ran in it. */
static void add_sums(struct group_stats *to, const struct group_stats *s)
{
	to->ticks += s->ticks;
	to->spans += s->spans;
	to->self_ns += s->self_ns;
	to->stayed += s->stayed;
	to->moved += s->moved;
	to->stale += s->stale;
	to->incomplete += s->incomplete;
}

/* The number of a kind among those seen; kinds are a handful. */
static u32 kind_index(const char **kinds, u32 *n, u32 max, const char *kind)
{
	u32 i;

	for (i = 0; i < *n; i++)
		if (!strcmp(kinds[i], kind))
			return i;
	if (*n < max)
		kinds[(*n)++] = kind;
	return *n - 1;
}

static int by_kind(struct top_rows *r, const struct composer *c)
{
	const struct snapshot *s = c->s;
	const char *kinds[16];
	u32 n = 0, i, *rank;

	if (make_room(r, s->group_count, ARRAY_SIZE(kinds)))
		return -ENOMEM;
	for (i = 0; i < s->group_count; i++) {
		const struct snapshot_group *g = &s->groups[i];
		u32 kind = kind_index(kinds, &n, ARRAY_SIZE(kinds), g->kind);

		if (worth(c, g, &g->stats))
			add_sums(&r->sums[kind], &g->stats);
	}
	rank = rank_parents(r, c, n);
	if (!rank)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		struct top_row *row =
			add_row(r, c, row_id(SPACE_KIND, 0, i + 1), kinds[i], &r->sums[i]);

		row->parent = rank[i];
		row->item.summed = true;
	}
	for (i = 0; i < s->group_count; i++) {
		const struct snapshot_group *g = &s->groups[i];
		struct top_row *row = add_group(r, c, g);

		if (!row)
			continue;
		row->parent = rank[kind_index(kinds, &n, ARRAY_SIZE(kinds), g->kind)];
		row->depth = row->item.depth = 1;
	}
	free(rank);
	sort_rows(r, c);
	drop_empty(r);
	r->title = "KIND / GROUP";
	return 0;
}

/* What a thread did in the last interval, or since the start: its turns are
 * kept for no other window. */
static void thread_figures(struct group_stats *to, const struct recent_thread *t, bool interval)
{
	*to = t->total;
	if (!interval)
		return;
	group_stats_subtract(to, &t->before);
	to->max_ns = t->interval_max_ns;
}

static int by_thread(struct top_rows *r, const struct composer *c)
{
	const struct recent *recent = c->f->recent;
	u32 n = recent_thread_count(recent), i;

	r->title = c->st->window_ns ? "THREAD, ALL" : "THREAD";
	if (make_room(r, 0, n))
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		const struct recent_thread *t = recent_thread_at(recent, i);

		thread_figures(&r->sums[i], t, !c->st->window_ns);
		snprintf(r->names[i], sizeof(r->names[i]), "%u %s", t->tid,
			 t->name[0] ? t->name : t->process);
		if (!r->sums[i].events || !group_matches(r->names[i], c->st->view.glob))
			continue;
		add_row(r, c, row_id(SPACE_THREAD, 0, t->id), r->names[i], &r->sums[i])
			->item.turns_only = true;
	}
	sort_rows(r, c);
	return 0;
}

int top_rows_make(struct top_rows *r, const struct composer *c)
{
	static int (*const make[TOP_TREES])(struct top_rows * r, const struct composer *c) = {
		[TOP_FLAT] = flat,         [TOP_BY_PROCESS] = by_process,
		[TOP_BY_KIND] = by_kind,   [TOP_BY_GROUP] = by_group,
		[TOP_THREADS] = by_thread, [TOP_BY_CONTAINER] = by_container,
	};

	*r = (struct top_rows){ 0 };
	return make[c->st->tree](r, c);
}

void top_rows_free(struct top_rows *r)
{
	size_t i;

	for (i = 0; r->sums && i < r->sum_count; i++)
		hist_free(&r->sums[i].hist);
	free(r->list);
	free(r->sums);
	free(r->names);
}
