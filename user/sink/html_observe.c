/* SPDX-License-Identifier: BSD-2-Clause */
/* The page as an observer of the model. */
#include "sink/html_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct html_limits html_export_limits = {
	.events = 30000,
	.nodes = 100000,
	.buckets = 65536,
	.groups = 2000,
};

/* Sent again every second: an eighth of it. */
const struct html_limits html_live_limits = {
	.events = 4000,
	.nodes = 12000,
	.buckets = 8192,
	.groups = 300,
};

/* A thread whose state is not in use, for another one. */
static struct html_thread *recycle(struct html_page *p)
{
	u32 i;

	for (i = 0; i < p->thread_len; i++) {
		struct html_thread *t = &p->thread[i];

		if (t->node_len || t->pending_len)
			continue;
		map_del(&p->threads, t->id);
		return t;
	}
	return NULL;
}

static u32 lane_of(struct html_page *p, const struct model_thread *t)
{
	u64 *known = map_get(&p->lanes_of, t->id);
	u32 lane;

	if (known)
		return (u32)*known;
	lane = html_lanes_new(&p->lanes, t, &p->names);
	if (!p->lanes.others && map_put(&p->lanes_of, t->id, lane))
		p->threads_refused++;
	return lane;
}

/* The thread's state; NULL with *rc 0 when too many are under way. */
static struct html_thread *find_thread(struct html_page *p, const struct model_thread *mt, int *rc)
{
	u64 *known = map_get(&p->threads, mt->id);
	struct html_thread *t;

	*rc = 0;
	if (known)
		return &p->thread[*known];
	if (!p->thread) {
		p->thread = calloc(HTML_THREADS_MAX, sizeof(*p->thread));
		if (!p->thread) {
			*rc = -ENOMEM;
			return NULL;
		}
	}
	t = p->thread_len < HTML_THREADS_MAX ? &p->thread[p->thread_len++] : recycle(p);
	if (!t) {
		p->threads_refused++;
		return NULL;
	}
	t->id = mt->id;
	t->lane = lane_of(p, mt);
	*rc = map_put(&p->threads, mt->id, (u64)(t - p->thread));
	return *rc ? NULL : t;
}

static int take_gc(struct html_page *p, const struct model_span *s, u32 name)
{
	struct html_gc gc = {
		.begin_ns = html_time(p, s->begin_ns),
		.end_ns = html_time(p, s->end_ns),
		.before = s->bytes_before,
		.after = s->bytes_after,
		.label = name,
		.pid = s->thread->pid,
	};

	return html_heap_gc(&p->heap, &gc);
}

static int page_span(void *ctx, const struct model_span *s)
{
	struct html_page *p = ctx;
	struct html_thread *t;
	struct html_node n = {
		.begin_ns = s->begin_ns,
		.end_ns = max_u64(s->begin_ns, s->end_ns),
		.before = s->type == VMSPAN_BLOCK ? s->peer : s->bytes_before,
		.after = s->bytes_after,
		.name = html_name(&p->names, s->name),
		.depth = s->depth,
		.cpu_begin = s->cpu_begin,
		.cpu_end = s->cpu_end,
		.type = (u8)s->type,
		.fate = (u8)s->fate,
		.repaired = s->repaired,
	};
	int rc = 0;

	n.group = s->type == VMSPAN_GC      ? NAME_GC
		  : s->type == VMSPAN_BLOCK ? NAME_BLOCKED
					    : html_name(&p->names, s->group);
	if (s->type == VMSPAN_GC)
		rc = take_gc(p, s, n.name);
	/* A collection or call outside of everything is in no event. */
	if (rc || (s->type != VMSPAN_SPAN && !s->iteration && !s->depth))
		return rc;
	t = find_thread(p, s->thread, &rc);
	if (!t)
		return rc;
	rc = html_pending_span(t, &p->edges, s, n.group, &n.child_ns);
	return rc ? rc : html_tree_span(p, t, &n);
}

/* Groups that hold what others hold too say nothing about where time went. */
static bool general(const char *group)
{
	return !strncmp(group, "top:", 4) || !strncmp(group, "compartment:", 12);
}

/* What most of the event's time went to. */
static u32 event_group(struct html_page *p, const struct model_event *e)
{
	const struct ledger *l = &e->ledger;
	const struct {
		u64 ns;
		u32 name;
	} other[] = {
		{ l->native_ns, NAME_NATIVE },
		{ l->gc_ns, NAME_GC },
		{ l->blocked_ns, NAME_BLOCKED },
		{ l->moved_ns + l->stale_ns + l->lost_ns, NAME_LOST },
	};
	const struct model_share *best = NULL;
	u64 most;
	u32 i, name;

	for (i = 0; i < e->share_count; i++) {
		const struct model_share *s = &e->shares[i];

		if (s->self_ns && !general(s->group) && (!best || s->self_ns > best->self_ns))
			best = s;
	}
	most = best ? best->self_ns : 0;
	name = best ? html_name(&p->names, best->group) : NAME_NATIVE;
	for (i = 0; i < ARRAY_SIZE(other); i++) {
		if (other[i].ns > most) {
			most = other[i].ns;
			name = other[i].name;
		}
	}
	return name;
}

/* Did a chosen group run in it? */
static bool chosen(const struct html_page *p, const struct model_event *e)
{
	u32 i;

	for (i = 0; p->config.glob && i < e->share_count; i++)
		if (group_matches(e->shares[i].group, p->config.glob))
			return true;
	return !p->config.glob || (p->sampled && !e->share_count);
}

static int page_event(void *ctx, const struct model_event *ev)
{
	struct html_page *p = ctx;
	struct html_events *l = &p->events;
	u64 wall = ev->ledger.event_wall_ns;
	struct html_event e = {
		.serial = ++p->serial,
		.begin_ns = html_time(p, ev->begin_ns),
		.end_ns = html_time(p, max_u64(ev->begin_ns, ev->end_ns)),
		.cpu_ns = ev->cpu_ns,
		.ledger = ev->ledger,
		.label = html_name(&p->names, ev->label),
		.group = event_group(p, ev),
		.iteration = ev->iteration,
		.parent = ev->parent,
		.cpu_begin = ev->cpu_begin,
		.cpu_end = ev->cpu_end,
		.implicit = ev->implicit,
		.missing = ev->missing,
	};
	bool shown = chosen(p, ev), tree = !l->tree_floor_ns || wall > l->tree_floor_ns;
	struct html_thread *t;
	int rc;

	t = find_thread(p, ev->thread, &rc);
	if (rc)
		return rc;
	e.lane = t ? t->lane : lane_of(p, ev->thread);
	if (t)
		rc = html_pending_event(t, &p->edges, ev);
	if (!rc && t)
		rc = html_tree_event(p, t, ev, &e, tree && shown);
	p->left_out += !shown;
	if (!rc && shown)
		rc = ev->parent ? 0 /* the event around it is in the lane */
				: html_lanes_add(&p->lanes, e.lane, e.begin_ns, e.end_ns, e.group);
	if (rc) {
		free(e.nodes);
		return rc;
	}
	return shown ? html_events_add(l, &e) : 0;
}

static int page_mark(void *ctx, const struct model_mark *m)
{
	struct html_page *p = ctx;

	if (m->type != VMSPAN_VALUE)
		return 0;
	return html_heap_point(&p->heap, m->thread->pid, html_name(&p->names, m->label),
			       html_time(p, m->time_ns), m->value);
}

/*
 * A look at a stack says who calls whom too: each pair of groups on it that call
 * one another has the time that the look stands for, once.
 */
static int page_sample(void *ctx, const struct model_sample *m)
{
	struct html_page *p = ctx;
	u32 from[VMSPAN_DEPTH_MAX], to[VMSPAN_DEPTH_MAX], n = 0, i = m->count, k,
							  caller = NAME_LOOP;
	int rc = 0;

	p->sampled = true;
	while (!rc && i-- > 0 && n < VMSPAN_DEPTH_MAX) {
		u32 group = html_name(&p->names, m->groups[i]);

		if (group == caller)
			continue;
		for (k = 0; k < n && (from[k] != caller || to[k] != group); k++)
			;
		if (k == n) {
			from[n] = caller;
			to[n++] = group;
			rc = html_edges_add(&p->edges, caller, group, 1, m->weight_ns);
		}
		caller = group;
	}
	return rc;
}

struct html_page *html_new(struct model *m, const struct html_config *config)
{
	static const struct model_observer observer = {
		.span = page_span,
		.event = page_event,
		.mark = page_mark,
		.sample = page_sample,
	};
	struct html_page *p = calloc(1, sizeof(*p));

	if (!p || html_names_init(&p->names)) {
		html_free(p);
		return NULL;
	}
	p->config = *config;
	p->events.keep = config->limits->events;
	p->events.node_keep = config->limits->nodes;
	p->lanes.width_ns = HTML_WIDTH_FIRST;
	model_observe(m, &observer, p);
	return p;
}

void html_free(struct html_page *p)
{
	u32 i;

	if (!p)
		return;
	for (i = 0; i < p->thread_len; i++) {
		free(p->thread[i].nodes);
		free(p->thread[i].pending);
	}
	free(p->thread);
	map_free(&p->threads);
	map_free(&p->lanes_of);
	html_edges_release(&p->edges);
	html_events_release(&p->events);
	html_lanes_release(&p->lanes);
	html_heap_release(&p->heap);
	intern_free(p->names.table);
	free(p);
}
