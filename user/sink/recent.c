/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/recent.h"
#include "base/array.h"
#include "base/map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS_MAX 8192
#define THREADS_MAX 4096
#define PENDING_MAX 1024 /* spans of a thread that nothing has enclosed yet */
/* What is this old gives way to anything newer. */
#define LATE_NS (300 * NSEC_PER_SEC)

struct group_events {
	u32 count;
	struct recent_event events[RECENT_EVENTS]; /* in no order */
};

/* A span whose caller has not ended yet. */
struct pending {
	const char *group;
	u64 wall_ns;
	u16 depth;
};

struct thread_spans {
	struct pending *list; /* owned; depths do not fall */
	u32 count, cap;
};

struct edges {
	struct recent_edge list[RECENT_EDGES];
	u32 count;
};

struct recent {
	struct map groups; /* const char * -> struct group_events *, owned */
	struct map thread_of; /* thread id -> index + 1 */
	struct recent_thread **threads; /* owned */
	u32 thread_count, thread_cap;
	/* The focused group's. */
	char *focus; /* owned */
	struct map spans; /* thread id -> struct thread_spans *, owned */
	struct edges callers, callees;
};

struct recent *recent_new(void)
{
	return calloc(1, sizeof(struct recent));
}

static void drop_spans(struct recent *r)
{
	u64 key, value;
	size_t at = 0;

	while (map_next(&r->spans, &at, &key, &value)) {
		struct thread_spans *s = (struct thread_spans *)(uintptr_t)value;

		free(s->list);
		free(s);
	}
	map_free(&r->spans);
}

void recent_free(struct recent *r)
{
	u64 key, value;
	size_t at = 0;
	u32 i;

	if (!r)
		return;
	while (map_next(&r->groups, &at, &key, &value))
		free((void *)(uintptr_t)value);
	map_free(&r->groups);
	for (i = 0; i < r->thread_count; i++)
		free(r->threads[i]);
	free(r->threads);
	map_free(&r->thread_of);
	drop_spans(r);
	free(r->focus);
	free(r);
}

/* ---- Worst events ---- */

/* The model keeps each name once, so its address stands for it. */
static struct group_events *group_of(struct recent *r, const char *group)
{
	u64 key = (u64)(uintptr_t)group, *at = map_get(&r->groups, key);
	struct group_events *g;

	if (at)
		return (struct group_events *)(uintptr_t)*at;
	if (r->groups.len == GROUPS_MAX)
		return NULL;
	g = calloc(1, sizeof(*g));
	if (g && map_put(&r->groups, key, (u64)(uintptr_t)g)) {
		free(g);
		g = NULL;
	}
	return g;
}

/* Which one a new event replaces: the oldest of those gone by, else the least. */
static struct recent_event *weakest(struct group_events *g, u64 now)
{
	struct recent_event *w = &g->events[0];
	u32 i;

	for (i = 1; i < g->count; i++) {
		struct recent_event *e = &g->events[i];
		bool old = e->end_ns + LATE_NS < now, w_old = w->end_ns + LATE_NS < now;

		if (old != w_old ? old : old ? e->end_ns < w->end_ns : e->wall_ns < w->wall_ns)
			w = e;
	}
	return w;
}

static void keep_event(struct recent *r, const struct model_event *e, const struct model_share *s)
{
	struct group_events *g;
	struct recent_event *to;

	if (s->wall_ns < RECENT_LEAST_NS)
		return;
	g = group_of(r, s->group);
	if (!g)
		return;
	if (g->count < RECENT_EVENTS) {
		to = &g->events[g->count++];
	} else {
		to = weakest(g, e->end_ns);
		if (to->wall_ns >= s->wall_ns && to->end_ns + LATE_NS >= e->end_ns)
			return;
	}
	*to = (struct recent_event){
		.wall_ns = s->wall_ns,
		.event_ns = e->ledger.event_wall_ns,
		.end_ns = e->end_ns,
		.pid = e->thread->pid,
		.tid = e->thread->tid,
		.iteration = e->iteration,
		.label = e->label,
	};
}

static int worse_event(const void *a, const void *b)
{
	const struct recent_event *x = a, *y = b;

	return (x->wall_ns < y->wall_ns) - (x->wall_ns > y->wall_ns);
}

unsigned int recent_worst(const struct recent *r, const char *group,
			  struct recent_event to[RECENT_EVENTS])
{
	u64 key, value;
	size_t at = 0;

	while (r && map_next(&r->groups, &at, &key, &value)) {
		const struct group_events *g = (const struct group_events *)(uintptr_t)value;

		if (strcmp((const char *)(uintptr_t)key, group) != 0)
			continue;
		memcpy(to, g->events, g->count * sizeof(*to));
		qsort(to, g->count, sizeof(*to), worse_event);
		return g->count;
	}
	return 0;
}

/* ---- Threads ---- */

static struct recent_thread *thread_of(struct recent *r, const struct model_thread *t)
{
	u64 *at = map_get(&r->thread_of, t->id);
	struct recent_thread *n;

	if (at)
		return r->threads[*at - 1];
	if (r->thread_count == THREADS_MAX)
		return NULL;
	if (array_room(r->threads, r->thread_cap, r->thread_count + 1))
		return NULL;
	n = calloc(1, sizeof(*n));
	if (!n || map_put(&r->thread_of, t->id, r->thread_count + 1)) {
		free(n);
		return NULL;
	}
	n->id = t->id;
	n->pid = t->pid;
	n->tid = t->tid;
	r->threads[r->thread_count++] = n;
	return n;
}

static void count_event(struct recent_thread *t, const struct model_event *e)
{
	const struct ledger *l = &e->ledger;
	u64 limit = NSEC_PER_MSEC;
	unsigned int i;

	/* A thread may be named after its first event. */
	snprintf(t->name, sizeof(t->name), "%s", e->thread->name);
	snprintf(t->process, sizeof(t->process), "%s", e->thread->process);
	t->total.events++;
	t->total.wall_ns += l->event_wall_ns;
	t->total.self_ns += l->self_ns;
	t->total.cpu_ns += e->cpu_ns;
	t->total.gc_ns += l->gc_ns;
	t->total.blocked_ns += l->blocked_ns;
	t->total.incomplete += e->missing != MISSING_NOTHING;
	t->total.max_ns = max_u64(t->total.max_ns, l->event_wall_ns);
	t->interval_max_ns = max_u64(t->interval_max_ns, l->event_wall_ns);
	for (i = 0; i < JANK_BUCKETS && l->event_wall_ns > limit; i++, limit *= 2)
		t->total.durations[i]++;
}

u32 recent_thread_count(const struct recent *r)
{
	return r ? r->thread_count : 0;
}

const struct recent_thread *recent_thread_at(const struct recent *r, u32 i)
{
	return r->threads[i];
}

void recent_tick(struct recent *r)
{
	u32 i;

	for (i = 0; i < r->thread_count; i++) {
		r->threads[i]->before = r->threads[i]->total;
		r->threads[i]->interval_max_ns = 0;
	}
}

/* ---- Callers and callees ---- */

void recent_focus(struct recent *r, const char *group)
{
	drop_spans(r);
	r->callers.count = r->callees.count = 0;
	free(r->focus);
	r->focus = group ? strdup(group) : NULL;
}

static struct thread_spans *spans_of(struct recent *r, u64 thread)
{
	u64 *at = map_get(&r->spans, thread);
	struct thread_spans *s;

	if (at)
		return (struct thread_spans *)(uintptr_t)*at;
	if (r->spans.len == THREADS_MAX)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (s && map_put(&r->spans, thread, (u64)(uintptr_t)s)) {
		free(s);
		s = NULL;
	}
	return s;
}

static void count_edge(struct edges *e, const char *group, u64 wall_ns)
{
	struct recent_edge *x = NULL;
	u32 i;

	for (i = 0; i < e->count && !x; i++)
		if (e->list[i].group == group ||
		    (group && e->list[i].group && !strcmp(e->list[i].group, group)))
			x = &e->list[i];
	if (!x && e->count < RECENT_EDGES) {
		x = &e->list[e->count++];
		*x = (struct recent_edge){ .group = group };
	}
	if (x) {
		x->calls++;
		x->wall_ns += wall_ns;
	}
}

/* caller NULL: nothing of ours, it was called by the event loop. */
static void count_call(struct recent *r, const char *caller, const struct pending *callee)
{
	bool from = caller && !strcmp(caller, r->focus), to = !strcmp(callee->group, r->focus);

	if (to && !from)
		count_edge(&r->callers, caller, callee->wall_ns);
	if (from && !to)
		count_edge(&r->callees, callee->group, callee->wall_ns);
}

static const char *span_group(const struct model_span *s)
{
	if (s->type == VMSPAN_GC)
		return "(gc)";
	return s->type == VMSPAN_BLOCK ? "(blocked)" : s->group;
}

static void add_pending(struct thread_spans *t, const struct model_span *s)
{
	/* Siblings without end: those beyond are left out of the calls. */
	if (t->count == PENDING_MAX)
		return;
	if (array_room(t->list, t->cap, t->count + 1))
		return;
	t->list[t->count++] = (struct pending){ span_group(s), s->end_ns - s->begin_ns, s->depth };
}

/* Spans come inner before outer: what lies deeper and waits was inside. */
static int take_span(void *ctx, const struct model_span *s)
{
	struct recent *r = ctx;
	struct thread_spans *t = r->focus ? spans_of(r, s->thread->id) : NULL;

	if (!t)
		return 0;
	while (t->count && t->list[t->count - 1].depth > s->depth)
		count_call(r, span_group(s), &t->list[--t->count]);
	add_pending(t, s);
	return 0;
}

static void end_turn(struct recent *r, u64 thread)
{
	struct thread_spans *t = spans_of(r, thread);

	while (t && t->count)
		count_call(r, NULL, &t->list[--t->count]);
}

static int take_event(void *ctx, const struct model_event *e)
{
	struct recent *r = ctx;
	struct recent_thread *t = thread_of(r, e->thread);
	u32 i;

	for (i = 0; i < e->share_count; i++)
		keep_event(r, e, &e->shares[i]);
	if (t)
		count_event(t, e);
	/* Spans of a nested event lie in a span of the outer one. */
	if (r->focus && !e->parent)
		end_turn(r, e->thread->id);
	return 0;
}

static int larger_edge(const void *a, const void *b)
{
	const struct recent_edge *x = a, *y = b;

	return (x->wall_ns < y->wall_ns) - (x->wall_ns > y->wall_ns);
}

static unsigned int sorted(const struct edges *e, struct recent_edge to[RECENT_EDGES])
{
	memcpy(to, e->list, e->count * sizeof(*to));
	qsort(to, e->count, sizeof(*to), larger_edge);
	return e->count;
}

unsigned int recent_callers(const struct recent *r, struct recent_edge to[RECENT_EDGES])
{
	return sorted(&r->callers, to);
}

unsigned int recent_callees(const struct recent *r, struct recent_edge to[RECENT_EDGES])
{
	return sorted(&r->callees, to);
}

const struct model_observer recent_events_observer = { .event = take_event };
const struct model_observer recent_spans_observer = { .span = take_span, .event = take_event };
