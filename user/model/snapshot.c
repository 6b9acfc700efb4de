/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/snapshot.h"
#include "model/model_priv.h"

#include <stdlib.h>
#include <string.h>

void snapshot_free(struct snapshot *s)
{
	u32 i;

	if (!s)
		return;
	for (i = 0; i < s->group_count; i++)
		hist_free(&s->groups[i].stats.hist);
	for (i = 0; i < s->child_count; i++)
		hist_free(&s->children[i].stats.hist);
	free(s->groups);
	free(s->children);
	free(s->processes);
	free(s->notes);
	free(s->waits);
	free(s->unfinished);
	free(s->open);
	intern_free(s->names);
	free(s);
}

/* A copy of the string that lives as long as the snapshot. */
static const char *keep(struct snapshot *s, const char *text)
{
	s64 id = intern_put(s->names, text, strlen(text));

	return id < 0 ? NULL : intern_get(s->names, (u32)id, NULL);
}

static bool keep_container(struct snapshot *s, struct snapshot_container *c)
{
	if (!c->runtime)
		return true;
	c->runtime = keep(s, c->runtime);
	c->id = keep(s, c->id);
	c->name = keep(s, c->name);
	return c->runtime && c->id && c->name;
}

static struct snapshot_container container_of_proc(const struct registry_set *set,
						   const struct proc *p)
{
	const char *text[VMSPAN_CONTAINER_TEXTS];
	u32 i;

	for (i = 0; i < VMSPAN_CONTAINER_TEXTS; i++)
		text[i] = p->container[i] ? registry_name(set, p->container[i] - 1) : "";
	return (struct snapshot_container){
		.runtime = *text[VMSPAN_CONTAINER_RUNTIME - 1] ? text[VMSPAN_CONTAINER_RUNTIME - 1]
							       : NULL,
		.id = text[VMSPAN_CONTAINER_ID - 1],
		.name = text[VMSPAN_CONTAINER_NAME - 1],
	};
}

static int take_processes(struct snapshot *s, const struct registry_set *set,
			  const struct open_all *open)
{
	u32 i, at = 0;

	s->processes = calloc(set->proc_len + 1, sizeof(*s->processes));
	if (!s->processes)
		return -1;
	for (i = 0; i < set->proc_len; i++) {
		const struct proc *p = set->procs[i];
		struct snapshot_process *sp = &s->processes[i];

		*sp = (struct snapshot_process){
			.pid = p->pid,
			.ppid = p->ppid,
			.id = p->id,
			.name = keep(s, registry_name(set, p->name)),
			.vm = keep(s, registry_name(set, p->vm)),
			.container = container_of_proc(set, p),
			.container_number = proc_container(p),
			.sum = p->sum,
			.ended = p->ended,
			.events = p->events,
			.gc = p->gc,
			.ledger = p->ledger,
		};
		if (!sp->name || !sp->vm || !keep_container(s, &sp->container))
			return -1;
		for (; at < open->sum_len && open->sums[at].process == i; at++) {
			event_stats_add(&sp->events, &open->sums[at].sum->events);
			gc_stats_add(&sp->gc, &open->sums[at].sum->gc);
			ledger_add(&sp->ledger, &open->sums[at].sum->ledger);
		}
		event_stats_add(&s->events, &sp->events);
		gc_stats_add(&s->gc, &sp->gc);
		ledger_add(&s->ledger, &sp->ledger);
	}
	s->process_count = set->proc_len;
	return 0;
}

static int take_notes(struct snapshot *s, const struct registry_set *set)
{
	u32 i, k, n = 0;

	for (i = 0; i < set->proc_len; i++)
		n += set->procs[i]->note_len;
	s->notes = calloc(n + 1, sizeof(*s->notes));
	if (!s->notes)
		return -1;
	s->left_out = set->left_out;
	for (i = 0; i < set->proc_len; i++)
		s->left_out += proc_left_out(set->procs[i]);
	for (i = 0; i < set->proc_len; i++)
		for (k = 0; k < set->procs[i]->note_len; k++) {
			const struct proc_note *from = &set->procs[i]->notes[k];
			struct snapshot_note *to = &s->notes[s->note_count];

			if (!from->text)
				continue;
			to->process = i;
			to->left_out = from->left_out;
			to->remark = from->remark;
			to->text = keep(s, registry_name(set, from->text - 1));
			to->advice =
				from->advice ? keep(s, registry_name(set, from->advice - 1)) : "";
			if (!to->text || !to->advice)
				return -1;
			s->note_count++;
		}
	return 0;
}

/*
 * Rows of one name are one group, and those of one process one child. First
 * the groups and how many children each can have, then the children in place.
 */
static int take_groups(struct snapshot *s, const struct registry_set *set,
		       const struct open_all *open, struct map *group_of)
{
	u32 i, k, rows = 0, at = 0, opened = 0;

	for (i = 0; i < set->proc_len; i++)
		rows += set->procs[i]->row_len;
	s->groups = calloc(rows + 1, sizeof(*s->groups));
	s->children = calloc(rows + 1, sizeof(*s->children));
	if (!s->groups || !s->children)
		return -1;
	for (i = 0; i < set->proc_len; i++)
		for (k = 0; k < set->procs[i]->row_len; k++) {
			const struct row *row = &set->procs[i]->rows[k];
			struct snapshot_group *g;
			u64 *index;

			if (!open_rows_at(open, &opened, i, k) && !row->stats.events)
				continue;
			index = map_get(group_of, row->name);
			if (index) {
				s->groups[*index].children++;
				continue;
			}
			if (map_put(group_of, row->name, s->group_count))
				return -1;
			g = &s->groups[s->group_count++];
			g->id = row->name;
			g->name = keep(s, registry_name(set, row->name));
			g->kind = kind_name(row->kind);
			g->children = 1;
			if (!g->name)
				return -1;
		}
	for (i = 0; i < s->group_count; i++) {
		s->groups[i].first_child = at;
		at += s->groups[i].children;
		s->groups[i].children = 0;
	}
	s->child_count = at;
	return 0;
}

/* Is there room for one child alone? Then it is the group once more. */
static bool only_row(const struct snapshot *s, const struct snapshot_group *g)
{
	u32 next = g + 1 < s->groups + s->group_count ? g[1].first_child : s->child_count;

	return next - g->first_child == 1;
}

/* Adds figures of a row to its child and its group; `only`: that child is the group once more. */
static int add_stats(struct snapshot_group *g, struct snapshot_child *c,
		     const struct group_stats *stats, bool only)
{
	struct group_stats part = *stats;

	if (only)
		part.hist = (struct hist){ 0 };
	return group_stats_add(&c->stats, &part) ?: group_stats_add(&g->stats, stats);
}

static int take_children(struct snapshot *s, const struct registry_set *set,
			 const struct open_all *open, const struct map *group_of)
{
	u32 i, k, n, at = 0;

	for (i = 0; i < set->proc_len; i++)
		for (k = 0; k < set->procs[i]->row_len; k++) {
			const struct row *row = &set->procs[i]->rows[k];
			struct snapshot_group *g;
			struct snapshot_child *c;
			bool only;

			n = open_rows_at(open, &at, i, k);
			if (!n && !row->stats.events)
				continue;
			g = &s->groups[*map_get(group_of, row->name)];
			c = &s->children[g->first_child + g->children];
			only = only_row(s, g);
			if (g->children && c[-1].process == i) {
				c--;
			} else {
				c->process = i;
				c->row = k;
				g->children++;
			}
			if (add_stats(g, c, &row->stats, only))
				return -1;
			for (; n; n--)
				if (add_stats(g, c, open->rows[at - n].stats, only))
					return -1;
		}
	return 0;
}

static bool keep_wait(struct snapshot *s, struct model_wait *w)
{
	w->group = keep(s, w->group);
	w->peer_process = keep(s, w->peer_process);
	w->peer_group = keep(s, w->peer_group);
	return w->group && w->peer_process && w->peer_group;
}

static int take_waits(struct snapshot *s, const struct model *m)
{
	u32 i;

	s->waits = calloc(m->waits.len + 1, sizeof(*s->waits));
	if (!s->waits)
		return -1;
	for (i = 0; i < m->waits.len; i++) {
		s->waits[i] = wait_shown(&m->set, &m->waits.rows[i]);
		if (!keep_wait(s, &s->waits[i]))
			return -1;
	}
	s->wait_count = m->waits.len;
	return 0;
}

static int longer_first(const void *a, const void *b)
{
	u64 x = ((const struct model_unfinished *)a)->for_ns;
	u64 y = ((const struct model_unfinished *)b)->for_ns;

	return x < y ? 1 : x > y ? -1 : 0;
}

static int keep_unfinished(struct snapshot *s, const struct model_unfinished *from,
			   struct model_unfinished *to)
{
	u32 i;

	*to = *from;
	to->label = keep(s, from->label);
	to->group = keep(s, from->group);
	if (!to->label || !to->group)
		return -1;
	for (i = 0; i < to->stay_count; i++) {
		to->stay[i].name = keep(s, from->stay[i].name);
		if (!to->stay[i].name)
			return -1;
	}
	return 0;
}

static int take_unfinished(struct snapshot *s, const struct model_unfinished *from, u32 n)
{
	s->unfinished = calloc(n + 1, sizeof(*s->unfinished));
	if (!s->unfinished)
		return -1;
	for (; s->unfinished_kept < n; s->unfinished_kept++)
		if (keep_unfinished(s, &from[s->unfinished_kept],
				    &s->unfinished[s->unfinished_kept]))
			return -1;
	qsort(s->unfinished, n, sizeof(*s->unfinished), longer_first);
	return 0;
}

/* The longest ones; `open` is sorted by that. */
static int take_open(struct snapshot *s, struct open_all *open)
{
	u32 n = (u32)min_u64(open->sum_len, UNFINISHED_KEPT);

	open_longest_first(open);
	s->open = calloc(n + 1, sizeof(*s->open));
	if (!s->open)
		return -1;
	for (; s->open_kept < n; s->open_kept++)
		if (keep_unfinished(s, &open->sums[s->open_kept].sum->what, &s->open[s->open_kept]))
			return -1;
	s->open_count = open->sum_len;
	return 0;
}

struct snapshot *snapshot_take(const struct model *m)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	struct map group_of = { 0 };
	struct open_all open = { 0 };
	u64 known, *gap;
	u32 i;

	if (!s)
		return NULL;
	s->names = intern_new();
	s->begin_ns = m->begin_ns;
	s->end_ns = m->end_ns;
	s->losses = m->losses;
	/* What the numbers miss and no cause explains. */
	known = m->losses.records[LOSS_RING_FULL] + m->losses.records[LOSS_READ_FAULT] +
		m->losses.records[LOSS_NO_SCHED];
	gap = &s->losses.records[LOSS_SEQUENCE_GAP];
	*gap += m->missing - min_u64(m->missing, known);
	s->repairs = m->repairs;
	for (i = 0; i < TRACE_PARTS; i++)
		s->parts[i] = part_off(&m->parts, (enum model_part)i, &m->clock, m->end_ns);
	s->unfinished_count = m->unfinished.count;
	s->cost = m->cost;
	cost_subtract(&s->cost, &m->cost_before);
	s->spans = m->spans;
	s->records = m->records;
	s->inputs = m->inputs;
	s->frames = m->frames;
	if (!s->names || open_collect(&m->set, &open) || take_processes(s, &m->set, &open) ||
	    take_notes(s, &m->set) || take_groups(s, &m->set, &open, &group_of) ||
	    take_children(s, &m->set, &open, &group_of) || take_waits(s, m) ||
	    take_unfinished(s, m->unfinished.at, m->unfinished.len) || take_open(s, &open)) {
		snapshot_free(s);
		s = NULL;
	}
	open_all_free(&open);
	map_free(&group_of);
	return s;
}

/* Ids ascend: processes are in the order of first sight. UINT32_MAX: there is none. */
u32 snapshot_process_at(const struct snapshot *s, u64 id)
{
	u32 lo = 0, hi = s->process_count;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (s->processes[mid].id == id)
			return mid;
		if (s->processes[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return UINT32_MAX;
}

static u32 sum_at(const struct snapshot *s, u64 container)
{
	u32 i = s->process_count;

	while (i-- && !(s->processes[i].sum && s->processes[i].container_number == container))
		;
	/* Where there are too many containers, in that of those in none. */
	return i == UINT32_MAX && container ? sum_at(s, 0) : i;
}

u32 *snapshot_places(const struct snapshot *s, const struct snapshot *then)
{
	u32 *places = calloc(then->process_count + 1, sizeof(*places)), i;

	for (i = 0; places && i < then->process_count; i++) {
		const struct snapshot_process *p = &then->processes[i];

		places[i] = snapshot_process_at(s, p->id);
		if (places[i] == UINT32_MAX)
			places[i] = sum_at(s, p->container_number);
	}
	return places;
}

struct snapshot_child *snapshot_child_at(struct snapshot *s, const struct snapshot_group *g,
					 u32 process)
{
	u32 lo = g->first_child, hi = lo + g->children;

	/* They are in the order of the processes. */
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (s->children[mid].process == process)
			return &s->children[mid];
		if (s->children[mid].process < process)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* Those that came since. */
static void subtract_unfinished(struct snapshot *d, u64 before)
{
	u32 i, n = 0;

	for (i = 0; i < d->unfinished_kept; i++)
		if (d->unfinished[i].number > before)
			d->unfinished[n++] = d->unfinished[i];
	d->unfinished_kept = n;
	d->unfinished_count -= min_u64(before, d->unfinished_count);
}

void snapshot_subtract_totals(struct snapshot *d, const struct snapshot *then, const u32 *places)
{
	u32 i;

	subtract_unfinished(d, then->unfinished_count);
	cost_subtract(&d->cost, &then->cost);

	event_stats_subtract(&d->events, &then->events);
	gc_stats_subtract(&d->gc, &then->gc);
	ledger_subtract(&d->ledger, &then->ledger);
	for (i = 0; i < LOSS_CAUSES; i++) {
		/* The unexplained gap may shrink when its cause is reported. */
		d->losses.records[i] -= min_u64(then->losses.records[i], d->losses.records[i]);
		d->losses.batches[i] -= min_u64(then->losses.batches[i], d->losses.batches[i]);
	}
	for (i = 0; i < TRACE_PARTS; i++)
		d->parts[i].ns -= min_u64(then->parts[i].ns, d->parts[i].ns);
	d->repairs.repaired -= then->repairs.repaired;
	d->repairs.before_attach -= then->repairs.before_attach;
	d->repairs.stolen_ns -= then->repairs.stolen_ns;
	d->repairs.stolen_lacks_ns -= then->repairs.stolen_lacks_ns;
	d->repairs.discarded_shares -= then->repairs.discarded_shares;
	d->spans -= then->spans;
	d->records -= then->records;
	d->inputs -= then->inputs;
	d->frames -= then->frames;
	d->begin_ns = then->end_ns;
	for (i = 0; i < then->process_count; i++) {
		const struct snapshot_process *old = &then->processes[i];
		struct snapshot_process *p;

		if (places[i] == UINT32_MAX)
			continue;
		p = &d->processes[places[i]];
		event_stats_subtract(&p->events, &old->events);
		gc_stats_subtract(&p->gc, &old->gc);
		ledger_subtract(&p->ledger, &old->ledger);
	}
}

static void delta_group(struct snapshot *d, struct snapshot_group *g, const struct snapshot *then,
			const struct snapshot_group *before, const u32 *places)
{
	u32 i;

	group_stats_subtract(&g->stats, &before->stats);
	for (i = 0; i < before->children; i++) {
		const struct snapshot_child *old = &then->children[before->first_child + i];
		struct snapshot_child *c = snapshot_child_at(d, g, places[old->process]);

		/* An only child's histogram is its group's. */
		if (c)
			group_stats_subtract(&c->stats,
					     before->children == 1 ? &before->stats : &old->stats);
	}
}

/* A deep copy, so that the parts can be changed and freed alone. */
static struct snapshot *snapshot_copy(const struct snapshot *s)
{
	struct snapshot *d = malloc(sizeof(*d));
	u32 i;

	if (!d)
		return NULL;
	*d = *s;
	d->group_count = d->child_count = d->process_count = 0;
	d->note_count = d->wait_count = d->unfinished_kept = d->open_kept = 0;
	d->unfinished = NULL;
	d->waits = calloc(s->wait_count + 1, sizeof(*d->waits));
	d->open = calloc(s->open_kept + 1, sizeof(*d->open));
	d->names = intern_new();
	d->notes = calloc(s->note_count + 1, sizeof(*d->notes));
	d->processes = calloc(s->process_count + 1, sizeof(*d->processes));
	d->groups = calloc(s->group_count + 1, sizeof(*d->groups));
	d->children = calloc(s->child_count + 1, sizeof(*d->children));
	if (!d->names || !d->notes || !d->processes || !d->groups || !d->children || !d->waits ||
	    !d->open)
		goto fail;
	for (i = 0; i < s->process_count; i++) {
		d->processes[i] = s->processes[i];
		d->processes[i].name = keep(d, s->processes[i].name);
		d->processes[i].vm = keep(d, s->processes[i].vm);
		if (!d->processes[i].name || !d->processes[i].vm ||
		    !keep_container(d, &d->processes[i].container))
			goto fail;
	}
	d->process_count = s->process_count;
	for (; d->note_count < s->note_count; d->note_count++) {
		struct snapshot_note *n = &d->notes[d->note_count];

		*n = s->notes[d->note_count];
		n->text = keep(d, n->text);
		n->advice = keep(d, n->advice);
		if (!n->text || !n->advice)
			goto fail;
	}
	for (; d->group_count < s->group_count; d->group_count++) {
		struct snapshot_group *g = &d->groups[d->group_count];

		*g = s->groups[d->group_count];
		g->name = keep(d, g->name);
		if (group_stats_copy(&g->stats, &s->groups[d->group_count].stats) || !g->name)
			goto fail;
	}
	for (; d->wait_count < s->wait_count; d->wait_count++) {
		d->waits[d->wait_count] = s->waits[d->wait_count];
		if (!keep_wait(d, &d->waits[d->wait_count]))
			goto fail;
	}
	for (; d->child_count < s->child_count; d->child_count++) {
		struct snapshot_child *c = &d->children[d->child_count];

		c->process = s->children[d->child_count].process;
		c->row = s->children[d->child_count].row;
		if (group_stats_copy(&c->stats, &s->children[d->child_count].stats))
			goto fail;
	}
	if (take_unfinished(d, s->unfinished, s->unfinished_kept))
		goto fail;
	for (; d->open_kept < s->open_kept; d->open_kept++)
		if (keep_unfinished(d, &s->open[d->open_kept], &d->open[d->open_kept]))
			goto fail;
	return d;
fail:
	snapshot_free(d);
	return NULL;
}

const struct snapshot_group *snapshot_group(const struct snapshot *s, const char *name)
{
	u32 i;

	for (i = 0; i < s->group_count; i++)
		if (!strcmp(s->groups[i].name, name))
			return &s->groups[i];
	return NULL;
}

struct snapshot *snapshot_delta(const struct snapshot *now, const struct snapshot *then)
{
	struct snapshot *d = snapshot_copy(now);
	struct map index = { 0 };
	u32 *places, i;
	int rc = 0;

	if (!d || !then)
		return d;
	places = snapshot_places(d, then);
	for (i = 0; i < then->group_count && !rc; i++)
		rc = map_put(&index, then->groups[i].id, i);
	if (!places || rc) {
		snapshot_free(d);
		map_free(&index);
		free(places);
		return NULL;
	}
	snapshot_subtract_totals(d, then, places);
	/* Places in the list stay. */
	for (i = 0; i < then->wait_count && i < d->wait_count; i++) {
		d->waits[i].ns -= then->waits[i].ns;
		d->waits[i].count -= then->waits[i].count;
	}
	for (i = 0; i < d->group_count; i++) {
		u64 *at = map_get(&index, d->groups[i].id);

		if (at)
			delta_group(d, &d->groups[i], then, &then->groups[*at], places);
	}
	map_free(&index);
	free(places);
	return d;
}
