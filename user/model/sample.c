/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/sample_priv.h"
#include "base/array.h"
#include "model/scale.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void samples_clear(struct samples *s)
{
	map_clear(&s->row_of);
	map_clear(&s->self_of);
	map_clear(&s->held_by);
	s->row_len = 0;
	s->hits = s->gc_hits = s->unknown = 0;
	s->off_ns = s->gc_ns = s->gc_off_ns = 0;
}

static void samples_free(struct samples *s)
{
	map_free(&s->row_of);
	map_free(&s->self_of);
	map_free(&s->held_by);
	free(s->rows);
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	samples_free(&s->now);
	samples_free(&s->pool);
	free(s);
}

static int samples_copy(struct samples *to, const struct samples *from)
{
	*to = (struct samples){ .stamp = from->stamp,
				.hits = from->hits,
				.gc_hits = from->gc_hits,
				.unknown = from->unknown,
				.off_ns = from->off_ns,
				.gc_ns = from->gc_ns,
				.gc_off_ns = from->gc_off_ns };
	if (map_copy(&to->row_of, &from->row_of) || map_copy(&to->self_of, &from->self_of) ||
	    map_copy(&to->held_by, &from->held_by) ||
	    array_room(to->rows, to->row_cap, from->row_len))
		return -ENOMEM;
	if (from->row_len)
		memcpy(to->rows, from->rows, from->row_len * sizeof(*to->rows));
	to->row_len = from->row_len;
	return 0;
}

struct sampler *sampler_copy(const struct sampler *from)
{
	struct sampler *to = malloc(sizeof(*to));

	if (!to)
		return NULL;
	*to = (struct sampler){ .iteration = from->iteration, .period_ns = from->period_ns };
	if (!samples_copy(&to->now, &from->now))
		return to;
	sampler_free(to);
	return NULL;
}

struct sample_row *samples_row(struct samples *s, u32 row)
{
	u64 *at = map_get(&s->row_of, row);

	if (at)
		return &s->rows[*at];
	if (array_room(s->rows, s->row_cap, s->row_len + 1))
		return NULL;
	if (map_put(&s->row_of, row, s->row_len))
		return NULL;
	s->rows[s->row_len] = (struct sample_row){ .row = row };
	return &s->rows[s->row_len++];
}

static int add_to(struct map *of, u32 comp, u64 n)
{
	u64 *at = map_get(of, comp);

	if (!at)
		return map_put(of, comp, n);
	*at += n;
	return 0;
}

int samples_add(struct samples *to, const struct samples *from)
{
	u64 key, hits;
	size_t at = 0;
	u32 i;

	for (i = 0; i < from->row_len; i++) {
		const struct sample_row *f = &from->rows[i];
		struct sample_row *r = samples_row(to, f->row);

		if (!r)
			return -ENOMEM;
		r->hits += f->hits;
		r->gc_hits += f->gc_hits;
		r->off_ns += f->off_ns;
		r->gc_ns += f->gc_ns;
		r->gc_off_ns += f->gc_off_ns;
		r->events += f->events;
		r->incomplete += f->incomplete;
	}
	while (map_next(&from->self_of, &at, &key, &hits))
		if (add_to(&to->self_of, (u32)key, hits))
			return -ENOMEM;
	to->hits += from->hits;
	to->gc_hits += from->gc_hits;
	to->unknown += from->unknown;
	to->off_ns += from->off_ns;
	to->gc_ns += from->gc_ns;
	to->gc_off_ns += from->gc_off_ns;
	return 0;
}

static struct sampler *sampler_of(struct stream *st)
{
	if (!st->sampler)
		st->sampler = calloc(1, sizeof(*st->sampler));
	return st->sampler;
}

struct event_stats *sample_events(struct model *m, const struct stream *st)
{
	return m->sum ? &m->sum->events : &st->proc->events;
}

/* ---- A sample ---- */

enum sample_what {
	WHAT_RUNS,
	WHAT_COLLECTS,
	WHAT_WAITS,
	WHAT_WAITS_COLLECTING, /* its time is that of the collection */
};

static bool collecting(enum sample_what what)
{
	return what == WHAT_COLLECTS || what == WHAT_WAITS_COLLECTING;
}

static int charge_rows(struct samples *s, const struct comp *c, enum sample_what what, u64 weight)
{
	u32 i;

	for (i = 0; i < c->row_count; i++) {
		struct sample_row *r = samples_row(s, c->rows[i]);

		if (!r)
			return -ENOMEM;
		/* However often it is on the stack, once a sample. */
		if (r->stamp == s->stamp)
			continue;
		r->stamp = s->stamp;
		if (what == WHAT_RUNS)
			r->hits++;
		else if (what == WHAT_COLLECTS)
			r->gc_hits++;
		else if (what == WHAT_WAITS)
			r->off_ns += weight;
		if (collecting(what))
			r->gc_ns += weight;
		if (what == WHAT_WAITS_COLLECTING)
			r->gc_off_ns += weight;
	}
	return 0;
}

/* The frame whose compartment the self time goes to, or UINT32_MAX. */
static u32 choose_self(const struct model *m, const struct registry *r,
		       const struct vmspan_sample *s)
{
	u32 n = s->h.depth & VMSPAN_DEPTH_MASK, inner = UINT32_MAX, outer = UINT32_MAX, i;

	for (i = 0; i < n; i++) {
		const struct frame_def *f = registry_frame(r, s->frames[i]);

		if (!f)
			continue;
		if (inner == UINT32_MAX)
			inner = i;
		if (f->named)
			outer = i;
	}
	return m->config.outermost && outer != UINT32_MAX ? outer : inner;
}

static int charge(struct model *m, struct stream *st, struct samples *s,
		  const struct vmspan_sample *r, enum sample_what what)
{
	u32 n = r->h.depth & VMSPAN_DEPTH_MASK, self = choose_self(m, st->registry, r), i;
	int rc = 0;

	s->stamp++;
	for (i = 0; i < n && !rc; i++) {
		const struct frame_def *f = registry_frame(st->registry, r->frames[i]);
		struct comp *c;

		if (!f)
			continue;
		c = registry_comp(&m->set, st->proc, st->registry, f->comp);
		if (!c)
			return -ENOMEM;
		rc = charge_rows(s, c, what, r->weight);
		if (!rc && i == self && what == WHAT_RUNS)
			rc = add_to(&s->self_of, f->comp, 1);
		if (!rc && i == self)
			rc = add_to(&s->held_by, f->comp, r->weight);
	}
	if (what == WHAT_RUNS) {
		s->hits++;
		s->unknown += self == UINT32_MAX;
	} else if (what == WHAT_COLLECTS) {
		s->gc_hits++;
	} else if (what == WHAT_WAITS) {
		s->off_ns += r->weight;
	}
	if (collecting(what))
		s->gc_ns += r->weight;
	if (what == WHAT_WAITS_COLLECTING)
		s->gc_off_ns += r->weight;
	return rc;
}

static int show_sample(struct model *m, struct stream *st, const struct vmspan_sample *s)
{
	const char *frames[VMSPAN_DEPTH_MAX], *groups[VMSPAN_DEPTH_MAX];
	u32 n = s->h.depth & VMSPAN_DEPTH_MASK, i, count = 0;
	struct model_sample out;

	if (!m->observer || !m->observer->sample)
		return 0;
	for (i = 0; i < n && count < VMSPAN_DEPTH_MAX; i++) {
		const struct frame_def *f = registry_frame(st->registry, s->frames[i]);
		struct comp *c = f ? registry_comp(&m->set, st->proc, st->registry, f->comp) : NULL;

		frames[count] = f ? registry_name(&m->set, f->name) : "(unknown)";
		groups[count++] = c ? registry_name(&m->set, st->proc->rows[c->rows[0]].name) : "";
	}
	out = (struct model_sample){
		.thread = &st->pub,
		.frames = frames,
		.groups = groups,
		.count = count,
		.time_ns = clock_ns(&m->clock, s->time),
		.weight_ns = s->weight,
		.off = s->flags & VMSPAN_SAMPLE_OFF,
		.gc = s->flags & VMSPAN_SAMPLE_GC,
		.cut = s->flags & VMSPAN_SAMPLE_CUT,
		.iteration = s->iteration,
	};
	return m->observer->sample(m->observer_ctx, &out);
}

int sample_take(struct model *m, struct stream *st, const struct vmspan_sample *s)
{
	bool off = s->flags & VMSPAN_SAMPLE_OFF, gc = s->flags & VMSPAN_SAMPLE_GC;
	enum sample_what what = off && gc ? WHAT_WAITS_COLLECTING
				: off     ? WHAT_WAITS
				: gc      ? WHAT_COLLECTS
					  : WHAT_RUNS;
	struct sampler *sp = sampler_of(st);
	int rc;

	if (!sp)
		return -ENOMEM;
	if (s->time < m->attach_cycles || !model_in_range(m, clock_ns(&m->clock, s->time)))
		return 0;
	if (sp->iteration != s->iteration) {
		samples_clear(&sp->now);
		sp->iteration = s->iteration;
	}
	if (!off)
		sp->period_ns = s->weight;
	rc = charge(m, st, &sp->now, s, what);
	return rc ? rc : show_sample(m, st, s);
}

/* ---- Settling ---- */

struct group_stats *sample_stats(struct model *m, const struct stream *st, u32 row)
{
	return m->sum ? open_row(m->sum, row) : &st->proc->rows[row].stats;
}

int sample_count(struct model *m, const struct stream *st, const struct event_stats *e)
{
	struct group_stats *top = sample_stats(m, st, st->proc->top);

	event_stats_add(sample_events(m, st), e);
	if (top) {
		top->events += e->count;
		top->incomplete += e->incomplete;
	}
	return top ? 0 : -ENOMEM;
}

/* A compartment, and how often it was the innermost. */
struct self {
	u64 comp, hits;
};

static int by_comp(const void *a, const void *b)
{
	const struct self *x = a, *y = b;

	return x->comp < y->comp ? -1 : x->comp > y->comp;
}

/* In the order of their numbers: that of a map is another one each time, and who has the ns that do not divide
 * must not hang on it. */
static void list_selves(const struct samples *s, struct self *to)
{
	size_t at = 0, n = 0;

	while (map_next(&s->self_of, &at, &to[n].comp, &to[n].hits))
		n++;
	qsort(to, n, sizeof(*to), by_comp);
}

static int charge_self(struct model *m, struct stream *st, const struct self *of, u64 ns)
{
	struct comp *c = registry_comp(&m->set, st->proc, st->registry, (u32)of->comp);
	u32 k;

	for (k = 0; c && k < c->row_count; k++) {
		struct group_stats *g = sample_stats(m, st, c->rows[k]);

		if (!g)
			return -ENOMEM;
		g->self_ns += ns;
		g->self_samples += of->hits;
	}
	return 0;
}

/* The ledger, and each compartment's self time into its rows. */
static int share_self(struct model *m, struct stream *st, const struct samples *s,
		      const struct measured *t, u64 active, struct ledger *l)
{
	u32 n = (u32)s->self_of.len + 1, i;
	struct self *self = calloc(n, sizeof(*self));
	u64 *part = calloc(3 * (size_t)n, sizeof(*part)), *out;
	int rc = self && part ? 0 : -ENOMEM;

	*l = (struct ledger){ .gc_ns = t->gc, .blocked_ns = t->off, .event_wall_ns = t->wall };
	if (!rc) {
		out = part + n;
		list_selves(s, self);
		for (i = 0; i < n - 1; i++)
			part[i] = self[i].hits;
		part[i] = s->unknown;
		if (s->hits)
			apportion(part, n, s->hits, active, out, out + n);
		else
			l->lost_ns = l->unseen_ns = active;
		for (i = 0; i < n - 1 && !rc; i++) {
			l->self_ns += out[i];
			rc = charge_self(m, st, &self[i], out[i]);
		}
		l->native_ns = l->native_stock_ns = out[n - 1];
	}
	free(part);
	free(self);
	return rc;
}

/* What of one event is known to be a group's, for the observer. */
static int show_share(struct model *m, const struct stream *st, const struct model_share *share,
		      u32 row)
{
	struct model_share *s;

	if (!m->observer || !m->observer->event)
		return 0;
	if (array_room(m->shares, m->share_cap, m->share_len + 1))
		return -ENOMEM;
	s = &m->shares[m->share_len++];
	*s = *share;
	s->group = registry_name(&m->set, st->proc->rows[row].name);
	return 0;
}

/* The other figures of a group. */
static int share_row(struct model *m, struct stream *st, const struct samples *s,
		     const struct sample_row *r, const struct measured *t, u64 active, u64 self,
		     bool incomplete)
{
	struct group_stats *g = sample_stats(m, st, r->row);
	u64 off = s->off_ns ? scale(min_u64(r->off_ns, s->off_ns), t->off, s->off_ns) : 0;
	u64 gc = s->gc_ns ? scale(min_u64(r->gc_ns, s->gc_ns), t->gc, s->gc_ns) : 0;
	u64 runs = s->hits ? scale(min_u64(r->hits, s->hits), active, s->hits) : 0;
	u64 wall = max_u64(runs, self) + off + gc;
	/* Who collects has the CPU too. */
	u64 looks = r->hits + r->gc_hits, all = s->hits + s->gc_hits;
	u64 cpu = all ? min_u64(scale(min_u64(looks, all), t->cpu, all), wall) : 0;

	if (!g)
		return -ENOMEM;
	/* Rows that only ran are settled with the pool. */
	if (s->waits_only && !off)
		return 0;
	if (!s->waits_only) {
		g->samples += r->hits;
		g->ticks += r->hits;
	}
	g->wall_ns += wall;
	g->blocked_ns += off;
	g->gc_ns += gc;
	g->cpu_ns += cpu;
	if (r->row != st->proc->top) {
		g->events += t->events ? r->events : !s->waits_only;
		g->incomplete += t->events ? r->incomplete : incomplete;
	}
	if (t->events)
		return 0;
	/* Of one event by itself its length is known. */
	g->max_ns = max_u64(g->max_ns, wall);
	durations_count(g->durations, wall);
	if (t->open)
		open_count(&g->open, wall, incomplete, 0);
	else if (hist_add(&g->hist, wall))
		return -ENOMEM;
	return show_share(m, st,
			  &(struct model_share){ .ticks = s->waits_only ? 0 : r->hits,
						 .wall_ns = wall,
						 .self_ns = self,
						 .cpu_ns = cpu,
						 .blocked_ns = off,
						 .gc_ns = gc },
			  r->row);
}

int samples_settle(struct model *m, struct stream *st, const struct samples *s, struct measured t,
		   bool incomplete, struct ledger *l)
{
	struct group_stats *g;
	u64 active, *before;
	int rc = 0;
	u32 i;

	t.gc = min_u64(t.gc, t.wall);
	t.off = min_u64(s->off_ns, t.wall - t.gc);
	active = t.wall - t.gc - t.off;
	before = calloc(s->row_len + 1u, sizeof(*before));
	if (!before)
		return -ENOMEM;
	for (i = 0; i < s->row_len && !rc; i++) {
		g = sample_stats(m, st, s->rows[i].row);
		if (g)
			before[i] = g->self_ns;
		else
			rc = -ENOMEM;
	}
	if (!rc)
		rc = share_self(m, st, s, &t, active, l);
	for (i = 0; i < s->row_len && !rc; i++) {
		g = sample_stats(m, st, s->rows[i].row);
		rc = share_row(m, st, s, &s->rows[i], &t, active, g->self_ns - before[i],
			       incomplete);
	}
	if (!rc)
		ledger_add(m->sum ? &m->sum->ledger : &st->proc->ledger, l);
	free(before);
	return rc;
}

static int show_event(struct model *m, struct stream *st, const struct vmspan_event *e,
		      enum missing missing, const struct measured *t, const struct ledger *l)
{
	struct model_event out = {
		.thread = &st->pub,
		.label = registry_label(&m->set, st->registry, e->label),
		.iteration = e->h.id,
		.missing = missing,
		.open = t->open,
		.begin_ns = clock_ns(&m->clock, e->begin),
		.end_ns = clock_ns(&m->clock, e->end),
		.cpu_ns = t->cpu,
		.stolen_ns = t->stolen,
		.cpu_begin = e->cpu_begin,
		.cpu_end = e->cpu_end,
		.shares = m->shares,
		.share_count = m->share_len,
	};

	if (!m->observer || !m->observer->event)
		return 0;
	if (l)
		out.ledger = *l;
	else
		/* Whose the time was is known of many such events, not of one. */
		out.ledger = (struct ledger){ .gc_ns = t->gc,
					      .blocked_ns = t->off,
					      .native_ns = t->wall - t->gc - t->off,
					      .event_wall_ns = t->wall };
	return m->observer->event(m->observer_ctx, &out);
}

/* The compartment that most time was seen in, with what it waited for; 0: none. */
static u32 most_of(const struct samples *s)
{
	u64 key, ns, most = 0, best = 0;
	size_t at = 0;

	while (map_next(&s->held_by, &at, &key, &ns))
		if (ns > most || (ns == most && key < best)) {
			most = ns;
			best = key;
		}
	return (u32)best;
}

/* No collection is known of the event: whatever was waited in one was waited. */
static void wait_for_all(struct samples *s)
{
	u32 i;

	for (i = 0; i < s->row_len; i++) {
		s->rows[i].off_ns += s->rows[i].gc_off_ns;
		s->rows[i].gc_ns = s->rows[i].gc_off_ns = 0;
	}
	s->off_ns += s->gc_off_ns;
	s->gc_ns = s->gc_off_ns = 0;
}

int sample_event(struct model *m, struct stream *st, struct turn *t, const struct vmspan_event *e,
		 enum missing missing)
{
	struct sampler *sp = sampler_of(st);
	u64 begin_ns = clock_ns(&m->clock, e->begin);
	struct measured x = { .wall = e->mono_end - e->mono_begin,
			      .gc = t->gc + t->unsure_gc,
			      .open = m->sum && m->sum->end == e->end };
	struct event_stats one;
	struct ledger l;
	bool own;
	int rc;

	if (!sp)
		return -ENOMEM;
	if (sp->iteration != e->h.id)
		samples_clear(&sp->now);
	sp->iteration = 0;
	if (!model_in_range(m, begin_ns))
		return 0;
	m->share_len = 0;
	x.gc = min_u64(x.gc, x.wall);
	if (!x.gc)
		wait_for_all(&sp->now);
	x.cpu = e->cpu_ns_end > e->cpu_ns_begin ? e->cpu_ns_end - e->cpu_ns_begin : 0;
	x.cpu = min_u64(x.cpu, x.wall);
	/* Its CPU time is without, so it lacks nothing. */
	x.stolen = min_u64(e->stolen_ns, x.wall - x.cpu);
	if (!m->sum)
		m->repairs.stolen_ns += x.stolen;
	one = (struct event_stats){
		.count = 1, .wall_ns = x.wall, .cpu_ns = x.cpu, .max_ns = x.wall
	};
	missing_count(&one, missing, x.open);
	durations_count(one.durations, x.wall);
	if (x.open) {
		open_count(&one.open, x.wall, missing, 0);
		m->sum->held_by = most_of(&sp->now);
	}
	/* Looks of other times say nothing of one without any. What goes on is settled apart, as it is counted. */
	own = x.open || part_lacks(&m->parts, TRACE_SAMPLES, e->begin, e->end) ||
	      (sp->period_ns && x.cpu >= OWN_PERIODS * sp->period_ns &&
	       (sp->now.hits || sp->now.gc_hits));
	if (own) {
		rc = samples_settle(m, st, &sp->now, x, missing, &l);
		one.samples = sp->now.hits;
		if (!rc)
			rc = sample_count(m, st, &one);
		samples_clear(&sp->now);
		return rc ? rc : show_event(m, st, e, missing, &x, &l);
	}
	x.off = min_u64(sp->now.off_ns, x.wall - x.gc);
	rc = pool_event(m, st, &one, x.gc, x.off, begin_ns);
	if (!rc)
		rc = show_event(m, st, e, missing, &x, NULL);
	if (!rc)
		rc = pool_settle(m, st, begin_ns);
	return rc;
}

/* ---- How sure ---- */

static u64 square_root(unsigned __int128 v)
{
	unsigned __int128 low = 0, high = (unsigned __int128)1 << 63;

	while (low < high) {
		unsigned __int128 mid = (low + high + 1) / 2;

		if (mid * mid <= v)
			low = mid;
		else
			high = mid - 1;
	}
	return (u64)low;
}

/*
 * (k + z2/2 +- z sqrt(k (n - k) / n + z2/4)) / (n + z2), z = 1.96, in
 * thousandths: integers, because the model's answers are the same everywhere.
 */
void sample_interval(u64 k, u64 n, u32 *low, u32 *high)
{
	const u64 z2 = 3842; /* z squared, thousandths */
	u64 root, mid, all;

	*low = 0;
	*high = 1000000;
	if (!n)
		return;
	n = min_u64(n, 1ull << 40);
	k = min_u64(k, n);
	/* Thousandths under the root: times 1000 for a root in thousandths. */
	root = square_root(((unsigned __int128)k * (n - k) * 1000 / n + z2 / 4) * 1000);
	root = (u64)((unsigned __int128)root * 1960 / 1000);
	mid = k * 1000 + z2 / 2;
	all = n * 1000 + z2;
	*low = mid > root ? (u32)((unsigned __int128)(mid - root) * 1000000 / all) : 0;
	*high = (u32)((unsigned __int128)(mid + root) * 1000000 / all);
	/* Rounding must not leave the share itself outside. */
	*low = (u32)min_u64(*low, k * 1000000 / n);
	*high = (u32)min_u64(1000000, max_u64(*high, k * 1000000 / n + 1));
}
