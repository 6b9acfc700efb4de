/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two other methods on the same records.
 *
 * "Original" are the rules of Firefox's Performance Stats Monitor: a stopwatch
 * that ends on another CPU than it began on measures nothing; one around which
 * a nested loop ran is dropped; a group's share of its event's CPU time is that
 * of its cycles in those of all scripts, cut off to whole microseconds. The
 * event's clock is read at the first script of an iteration, and a nested loop
 * begins a new one.
 *
 * "Sampled" is a profiler: every millisecond, the innermost span of each thread
 * gets a millisecond, and one of CPU time if the thread has a CPU then.
 */
#include "original.h"

#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct stay {
	u64 begin, end;
	u32 id, iteration;
	u16 cpu_begin, cpu_end;
};

struct stays {
	struct stay *at;
	size_t len, cap;
};

struct lane {
	u32 tid, pid;
	struct stays open; /* of events that have not ended */
	struct stays all; /* all there ever were */
	u64 nested_end, nested_parent; /* the last nested event of an iteration */
};

struct records {
	u64 cycles_hz;
	struct map lanes; /* pid, registry's thread -> struct lane * */
	struct map off; /* pid, tid -> struct stays * */
	struct other sum;
};

static int add(struct stays *s, const struct stay *v)
{
	if (s->len == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 256;
		struct stay *p = realloc(s->at, cap * sizeof(*p));

		if (!p)
			return -ENOMEM;
		s->at = p;
		s->cap = cap;
	}
	s->at[s->len++] = *v;
	return 0;
}

static int outer_first(const void *a, const void *b)
{
	const struct stay *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end;
}

static void *slot(struct map *m, u64 key, size_t size)
{
	u64 *at = map_get(m, key);
	void *p;

	if (at)
		return (void *)(uintptr_t)*at;
	p = calloc(1, size);
	if (p && map_put(m, key, (u64)(uintptr_t)p)) {
		free(p);
		return NULL;
	}
	return p;
}

static u64 watch(const struct stay *s)
{
	return s->cpu_begin == s->cpu_end && s->end > s->begin ? s->end - s->begin : 0;
}

/* Commits one iteration: its stopwatches are s[0 ... n), outer ones first. */
static void commit(struct records *r, const struct stay *s, size_t n, const struct vmspan_event *e)
{
	u64 cycles[OTHER_GROUPS] = { 0 }, group_end[OTHER_GROUPS] = { 0 }, all = 0, all_end = 0;
	double cpu = (double)(e->cpu_ns_end - e->cpu_ns_begin);
	size_t i;

	if (!n || e->end <= e->begin)
		return;
	cpu *= (double)(e->end - s[0].begin) / (double)(e->end - e->begin);
	for (i = 0; i < n; i++) {
		u32 id = s[i].id;

		if (s[i].begin >= all_end) {
			all += watch(&s[i]);
			all_end = s[i].end;
		}
		if (id < OTHER_GROUPS && s[i].begin >= group_end[id]) {
			cycles[id] += watch(&s[i]);
			group_end[id] = s[i].end;
		}
	}
	for (i = 0; all && i < OTHER_GROUPS; i++) {
		r->sum.original[i] +=
			(double)((u64)(cpu * (double)cycles[i] / (double)all) / 1000 * 1000);
		r->sum.original_wall[i] += (double)cycles[i] *
					   (double)(e->mono_end - e->mono_begin) /
					   (double)(e->end - e->begin);
	}
}

static int take_event(struct records *r, struct lane *l, const struct vmspan_event *e)
{
	u64 from = l->nested_parent == e->h.id ? l->nested_end : 0;
	struct stays mine = { 0 };
	size_t i, keep = 0;
	int rc = 0;

	for (i = 0; i < l->open.len; i++) {
		const struct stay *s = &l->open.at[i];

		if (s->iteration != e->h.id)
			l->open.at[keep++] = *s;
		else if (s->begin >= from && !rc)
			rc = add(&mine, s);
	}
	l->open.len = keep;
	if (mine.len)
		qsort(mine.at, mine.len, sizeof(*mine.at), outer_first);
	if (!rc)
		commit(r, mine.at, mine.len, e);
	free(mine.at);
	if (e->parent) {
		l->nested_parent = e->parent;
		l->nested_end = e->end;
	}
	r->sum.events++;
	return rc;
}

static void take_def(struct records *r, const struct vmspan_def *d)
{
	if (d->h.type != VMSPAN_DEF_COMPARTMENT || d->h.id >= OTHER_GROUPS)
		return;
	memcpy(r->sum.name[d->h.id], d->groups + d->count, d->name_len < 63 ? d->name_len : 63);
}

static int take(struct records *r, const struct item_batch *b, const struct vmspan_head *h)
{
	bool sched = b->registry == ITEM_SCHED_REGISTRY;
	u64 key = (u64)b->pid << 32 | (sched ? b->tid : b->thread);
	const struct vmspan_span *s = (const void *)h;
	struct stay v = { 0 };
	struct lane *l;

	if (h->type == VMSPAN_SPAN || h->type == VMSPAN_OFF)
		v =
			(struct stay){ s->begin,     s->end,       h->id,
				       s->iteration, s->cpu_begin, s->cpu_end };
	if (sched) {
		struct stays *off = slot(&r->off, key, sizeof(*off));

		return !off ? -ENOMEM : h->type == VMSPAN_OFF ? add(off, &v) : 0;
	}
	take_def(r, (const void *)h);
	l = slot(&r->lanes, key, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->pid = b->pid;
	l->tid = b->tid;
	if (h->type == VMSPAN_EVENT)
		return take_event(r, l, (const void *)h);
	if (h->type != VMSPAN_SPAN)
		return 0;
	return add(&l->open, &v) || add(&l->all, &v) ? -ENOMEM : 0;
}

int records_item(void *ctx, const struct item *it)
{
	struct item_batch defs = { 0 };
	const struct item_batch *b = &it->batch;
	struct records *r = ctx;
	const u8 *p, *end;
	int rc = 0;

	if (it->type == ITEM_DEFS) {
		defs.data = it->defs.data;
		defs.bytes = it->defs.bytes;
		defs.pid = it->defs.pid;
		b = &defs;
	} else if (it->type != ITEM_BATCH) {
		return 0;
	}
	for (p = b->data, end = p + b->bytes; !rc && p < end;) {
		const struct vmspan_head *h = (const void *)p;

		p += (size_t)h->slots * VMSPAN_SLOT;
		rc = take(r, b, h);
	}
	return rc;
}

/* Samples a lane at every millisecond of the machine's counter. */
static void sample(struct records *r, struct lane *l)
{
	u64 *at = map_get(&r->off, (u64)l->pid << 32 | l->tid), ms = r->cycles_hz / 1000, t;
	struct stays none = { 0 }, *off = at ? (struct stays *)(uintptr_t)*at : &none;
	size_t i = 0, k = 0, n;

	if (!l->all.len || !ms)
		return;
	qsort(l->all.at, l->all.len, sizeof(*l->all.at), outer_first);
	if (off->len)
		qsort(off->at, off->len, sizeof(*off->at), outer_first);
	for (t = (l->all.at[0].begin / ms + 1) * ms; i < l->all.len; t += ms) {
		u32 id = 0;

		while (k < off->len && off->at[k].end <= t)
			k++;
		while (i < l->all.len && l->all.at[i].end <= t)
			i++;
		for (n = i; n < l->all.len && l->all.at[n].begin <= t; n++)
			if (l->all.at[n].end > t)
				id = l->all.at[n].id;
		if (!id || id >= OTHER_GROUPS)
			continue;
		r->sum.sampled_wall[id] += 1e6;
		if (k == off->len || off->at[k].begin > t)
			r->sum.sampled[id] += 1e6;
	}
}

void records_result(struct records *r, struct other *out)
{
	u64 key, value;
	size_t at = 0;

	while (map_next(&r->lanes, &at, &key, &value))
		sample(r, (struct lane *)(uintptr_t)value);
	*out = r->sum;
}

struct records *records_new(u64 cycles_hz)
{
	struct records *r = calloc(1, sizeof(*r));

	if (r)
		r->cycles_hz = cycles_hz;
	return r;
}

void records_free(struct records *r)
{
	u64 key, value;
	size_t at;

	if (!r)
		return;
	for (at = 0; map_next(&r->lanes, &at, &key, &value);) {
		struct lane *l = (struct lane *)(uintptr_t)value;

		free(l->open.at);
		free(l->all.at);
		free(l);
	}
	for (at = 0; map_next(&r->off, &at, &key, &value);) {
		free(((struct stays *)(uintptr_t)value)->at);
		free((void *)(uintptr_t)value);
	}
	map_free(&r->lanes);
	map_free(&r->off);
	free(r);
}
