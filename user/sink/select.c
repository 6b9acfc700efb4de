/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/select.h"
#include "base/array.h"
#include "base/text.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

void select_init(struct select *s, const struct select_config *config)
{
	*s = (struct select){ .config = *config };
}

void select_release(struct select *s)
{
	free(s->slow);
	free(s->cuts);
	map_free(&s->cut_of);
	free(s->shares);
	free(s->waits);
	*s = (struct select){ 0 };
}

/* ------------------------------------------------------- Single tests ----- */

static bool wants_pid(const struct select *s, u32 pid)
{
	u32 i;

	for (i = 0; i < s->config.pid_count; i++)
		if (s->config.pids[i] == pid)
			return true;
	return !s->config.pid_count;
}

static bool wants_thread(const struct select *s, const struct model_thread *t)
{
	u64 tid;

	if (!wants_pid(s, t->pid))
		return false;
	if (!s->config.thread)
		return true;
	if (!text_parse_u64(s->config.thread, UINT32_MAX, &tid))
		return t->tid == tid;
	return !fnmatch(s->config.thread, t->name ? t->name : "", 0);
}

static bool wants_group(const struct select *s, const char *group)
{
	return !s->config.glob || s->config.whole_turns ||
	       group_matches(group ? group : "", s->config.glob);
}

static bool wants_any_group(const struct select *s, const struct model_event *e)
{
	u32 i;

	for (i = 0; s->config.glob && i < e->share_count; i++)
		if (group_matches(e->shares[i].group, s->config.glob))
			return true;
	return !s->config.glob;
}

static int slow_order(const void *x, const void *y)
{
	const struct slow_event *a = x, *b = y;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* Is it within one of the slowest events? Those of a thread are disjoint. */
static bool wants_time(const struct select *s, u64 thread, u64 begin, u64 end)
{
	u32 low = 0, high = s->slow_count;

	if (!s->config.slowest)
		return true;
	while (low < high) {
		u32 mid = low + (high - low) / 2;
		const struct slow_event *e = &s->slow[mid];

		if (e->thread < thread || (e->thread == thread && e->begin <= begin))
			low = mid + 1;
		else
			high = mid;
	}
	return low && s->slow[low - 1].thread == thread && end <= s->slow[low - 1].end;
}

/* ------------------------------------------------------------- Range ----- */

static bool ranged(const struct select_config *c)
{
	return c->from_ns || c->to_ns;
}

bool select_searches(const struct select_config *config)
{
	return config->slowest || ranged(config);
}

static u64 range_time(const struct select *s, u64 ns)
{
	u64 begin = model_begin(s->model);

	return ns > begin ? ns - begin : 0;
}

static bool in_range(const struct select *s, u64 ns)
{
	u64 at = range_time(s, ns);

	return at >= s->config.from_ns && (!s->config.to_ns || at < s->config.to_ns);
}

/* Remembers the event if it is under way at an end of the range. */
static int search_cut(struct select *s, const struct model_event *e)
{
	u64 begin = range_time(s, e->begin_ns), end = range_time(s, e->end_ns);
	const struct select_config *c = &s->config;
	u64 key = e->thread->id << 32 | e->iteration;

	if (!(begin < c->from_ns && end >= c->from_ns) && !(begin < c->to_ns && end >= c->to_ns))
		return 0;
	if (array_room(s->cuts, s->cut_cap, s->cut_count + 1))
		return -ENOMEM;
	s->cuts[s->cut_count] = (struct cut_event){ e->thread->id, e->begin_ns, e->end_ns,
						    in_range(s, e->begin_ns) };
	return map_put(&s->cut_of, key, s->cut_count++);
}

/* Is it of an event that begins in the range? Collections count by themselves,
 * as in a report. */
static bool wants_begin(const struct select *s, const struct model_span *sp)
{
	const struct cut_event *c = NULL;
	u64 *known;
	u32 i;

	if (!ranged(&s->config))
		return true;
	if (sp->type != VMSPAN_GC && sp->iteration) {
		known = map_get(&s->cut_of, sp->thread->id << 32 | sp->iteration);
		c = known ? &s->cuts[*known] : NULL;
	} else if (sp->type != VMSPAN_GC) {
		/* Outside of events, each root is one. */
		for (i = 0; i < s->cut_count && !c; i++)
			if (s->cuts[i].thread == sp->thread->id &&
			    s->cuts[i].begin <= sp->begin_ns && sp->end_ns <= s->cuts[i].end)
				c = &s->cuts[i];
	}
	return c ? c->in : in_range(s, sp->begin_ns);
}

/* ---------------------------------------------------- Slowest events ----- */

static u64 length(const struct slow_event *e)
{
	return e->end - e->begin;
}

/* The heap's root is the shortest of the longest. */
static void sift_down(struct slow_event *h, u32 n)
{
	u32 at = 0, child;

	for (; (child = 2 * at + 1) < n; at = child) {
		struct slow_event swap = h[at];

		if (child + 1 < n && length(&h[child + 1]) < length(&h[child]))
			child++;
		if (length(&h[at]) <= length(&h[child]))
			break;
		h[at] = h[child];
		h[child] = swap;
	}
}

static void sift_up(struct slow_event *h, u32 at)
{
	for (; at && length(&h[(at - 1) / 2]) > length(&h[at]); at = (at - 1) / 2) {
		struct slow_event swap = h[at];

		h[at] = h[(at - 1) / 2];
		h[(at - 1) / 2] = swap;
	}
}

static int search_event(void *ctx, const struct model_event *e)
{
	struct select *s = ctx;
	struct slow_event slow = { e->thread->id, e->begin_ns, max_u64(e->begin_ns, e->end_ns) };

	if (ranged(&s->config) && search_cut(s, e))
		return -ENOMEM;
	/* One that is nested comes with the one around it. */
	if (!s->config.slowest || e->parent || !in_range(s, e->begin_ns) ||
	    !wants_thread(s, e->thread) || !wants_any_group(s, e))
		return 0;
	if (s->slow_count == s->config.slowest) {
		if (length(&slow) > length(&s->slow[0])) {
			s->slow[0] = slow;
			sift_down(s->slow, s->slow_count);
		}
		return 0;
	}
	if (array_room(s->slow, s->slow_cap, s->slow_count + 1))
		return -ENOMEM;
	s->slow[s->slow_count++] = slow;
	sift_up(s->slow, s->slow_count - 1);
	return 0;
}

void select_search(struct select *s, struct model *m)
{
	static const struct model_observer observer = { .event = search_event };

	s->model = m;
	model_observe(m, &observer, s);
}

void select_found(struct select *s)
{
	if (s->slow_count)
		qsort(s->slow, s->slow_count, sizeof(*s->slow), slow_order);
}

/* --------------------------------------------------------- The stage ----- */

static bool wants_stay(const struct select *s, const struct model_thread *t, u64 begin, u64 end)
{
	u64 ns = end > begin ? end - begin : 0;

	return wants_thread(s, t) && ns >= s->config.min_duration_ns &&
	       wants_time(s, t->id, begin, end);
}

static int take_span(void *ctx, const struct model_span *sp)
{
	struct select *s = ctx;

	if (!wants_group(s, sp->group) || !wants_begin(s, sp) ||
	    !wants_stay(s, sp->thread, sp->begin_ns, sp->end_ns)) {
		s->left_out++;
		return 0;
	}
	s->passed++;
	return s->inner->span ? s->inner->span(s->inner_ctx, sp) : 0;
}

static int narrow_waits(struct select *s, struct model_event *e)
{
	u32 i, n = 0;

	if (array_room(s->waits, s->wait_cap, e->wait_count))
		return -ENOMEM;
	for (i = 0; i < e->wait_count; i++)
		if (wants_group(s, e->waits[i].group))
			s->waits[n++] = e->waits[i];
	e->waits = s->waits;
	e->wait_count = n;
	return 0;
}

/* The event with the shares and waits of wanted groups only. */
static int narrow(struct select *s, struct model_event *e)
{
	u32 i, n = 0;

	if (array_room(s->shares, s->share_cap, e->share_count))
		return -ENOMEM;
	for (i = 0; i < e->share_count; i++)
		if (wants_group(s, e->shares[i].group))
			s->shares[n++] = e->shares[i];
	e->shares = s->shares;
	e->share_count = n;
	return narrow_waits(s, e);
}

static int take_event(void *ctx, const struct model_event *e)
{
	struct select *s = ctx;
	struct model_event copy = *e;
	int rc;

	if ((!s->config.whole_turns && !wants_any_group(s, e)) ||
	    !wants_stay(s, e->thread, e->begin_ns, e->end_ns)) {
		s->left_out++;
		return 0;
	}
	s->passed++;
	if (!s->inner->event)
		return 0;
	rc = s->config.glob && !s->config.whole_turns ? narrow(s, &copy) : 0;
	return rc ? rc : s->inner->event(s->inner_ctx, &copy);
}

static int take_mark(void *ctx, const struct model_mark *m)
{
	struct select *s = ctx;

	if (!s->inner->mark || !wants_thread(s, m->thread) ||
	    !wants_time(s, m->thread->id, m->time_ns, m->time_ns))
		return 0;
	return s->inner->mark(s->inner_ctx, m);
}

/* With a choice of groups: stacks that one of them is on. */
static int take_sample(void *ctx, const struct model_sample *m)
{
	struct select *s = ctx;
	u32 i;

	if (!s->inner->sample || !wants_thread(s, m->thread) ||
	    !wants_time(s, m->thread->id, m->time_ns, m->time_ns))
		return 0;
	for (i = 0; s->config.glob && !s->config.whole_turns && i < m->count; i++)
		if (wants_group(s, m->groups[i]))
			break;
	if (s->config.glob && !s->config.whole_turns && i == m->count)
		return 0;
	return s->inner->sample(s->inner_ctx, m);
}

static int take_process(void *ctx, const struct item_process *p)
{
	struct select *s = ctx;

	return s->inner->process && wants_pid(s, p->pid) ? s->inner->process(s->inner_ctx, p) : 0;
}

static int take_thread(void *ctx, const struct model_thread *t)
{
	struct select *s = ctx;

	return s->inner->thread && wants_pid(s, t->pid) ? s->inner->thread(s->inner_ctx, t) : 0;
}

void select_attach(struct select *s, struct model *m)
{
	static const struct model_observer observer = {
		.span = take_span,
		.event = take_event,
		.mark = take_mark,
		.sample = take_sample,
		.process = take_process,
		.thread = take_thread,
	};

	s->model = m;
	s->inner = model_observer(m, &s->inner_ctx);
	if (s->inner)
		model_observe(m, &observer, s);
}
