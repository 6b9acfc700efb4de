/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events that are too short to be shared by their own samples: those of a thread share theirs, and what a thread leaves
 * behind at its end is shared with what others of its process have left.
 */
#include "model/sample_priv.h"

#include <errno.h>
#include <stdlib.h>

/* They wait so long for samples of others to share. */
#define POOL_NS (250 * NSEC_PER_MSEC)
/* Longer ones may have been shown while they went on, and are not to be gone until that. */
#define COUNTED_NS (100 * NSEC_PER_MSEC)

static bool holds(const struct sampler *sp)
{
	return sp->held.count + sp->counted;
}

/* `counted`: the event is, in all figures, from now on. incomplete: it lacks data. */
static int pool_add(struct model *m, struct stream *st, bool counted, bool incomplete)
{
	struct samples *from = &st->sampler->now, *to = &st->sampler->pool;
	struct group_stats *g;
	u32 i;

	if (samples_add(to, from))
		return -ENOMEM;
	for (i = 0; i < from->row_len; i++) {
		u32 row = from->rows[i].row;

		if (!counted) {
			samples_row(to, row)->events++;
			samples_row(to, row)->incomplete += incomplete;
			continue;
		}
		g = sample_stats(m, st, row);
		if (!g)
			return -ENOMEM;
		if (row == st->proc->top)
			continue;
		g->events++;
		g->incomplete += incomplete;
	}
	return 0;
}

/* What a short event waited is known by itself: only its running is pooled. */
static int settle_waits(struct model *m, struct stream *st, u64 waited)
{
	struct sampler *sp = st->sampler;
	struct samples *s = &sp->now;
	struct measured t = { .wall = waited };
	struct samples waits = *s;
	struct ledger l;
	int rc;
	u32 i;

	/* Without hits: its rows are charged for nothing but waiting. */
	waits.hits = waits.gc_hits = waits.gc_ns = waits.unknown = 0;
	waits.self_of = waits.held_by = (struct map){ 0 };
	waits.waits_only = true;
	rc = t.wall ? samples_settle(m, st, &waits, t, false, &l) : 0;
	for (i = 0; i < s->row_len; i++)
		s->rows[i].off_ns = 0;
	s->off_ns = 0;
	return rc;
}

/* What it waited has been settled. */
static void hold(struct model *m, struct stream *st, const struct event_stats *one, u64 waited)
{
	struct event_stats counted = *one, *held = &st->sampler->held;

	if (one->max_ns < COUNTED_NS) {
		event_stats_add(held, one);
		held->wall_ns -= waited;
		sample_events(m, st)->wall_ns += waited;
		return;
	}
	counted.wall_ns = waited;
	counted.cpu_ns = 0;
	sample_count(m, st, &counted); /* there is the row */
	held->wall_ns += one->wall_ns - waited;
	held->cpu_ns += one->cpu_ns;
	st->sampler->counted++;
}

int pool_event(struct model *m, struct stream *st, const struct event_stats *one, u64 gc_ns,
	       u64 waited_ns, u64 begin_ns)
{
	struct sampler *sp = st->sampler;
	int rc;

	if (!holds(sp))
		sp->pool_begin_ns = begin_ns;
	rc = settle_waits(m, st, waited_ns);
	if (!rc)
		rc = pool_add(m, st, one->max_ns >= COUNTED_NS, one->incomplete);
	samples_clear(&sp->now);
	hold(m, st, one, waited_ns);
	sp->pool_gc_ns += gc_ns;
	return rc;
}

static int flush(struct model *m, struct stream *st)
{
	struct sampler *sp = st->sampler;
	struct measured t = { .wall = sp->held.wall_ns,
			      .cpu = sp->held.cpu_ns,
			      .gc = sp->pool_gc_ns,
			      .events = sp->held.count + sp->counted };
	struct ledger l;
	int rc;

	rc = samples_settle(m, st, &sp->pool, t, false, &l);
	sp->held.samples = sp->pool.hits;
	if (!rc)
		rc = sample_count(m, st, &sp->held);
	sp->held = (struct event_stats){ 0 };
	sp->counted = sp->pool_gc_ns = 0;
	samples_clear(&sp->pool);
	return rc;
}

int pool_settle(struct model *m, struct stream *st, u64 now_ns)
{
	const struct sampler *sp = st->sampler;

	return sp->pool.hits && now_ns >= sp->pool_begin_ns + POOL_NS ? flush(m, st) : 0;
}

/* ---- What threads leave ---- */

/* What is left is shared as if one thread had done it all. */
static struct stream left_stream(struct proc *p, struct registry *r)
{
	return (struct stream){ .proc = p, .registry = r, .sampler = r->left };
}

int sample_leave(struct model *m, struct stream *st, bool all)
{
	struct sampler *sp = st->sampler, *to;
	struct stream left;

	if (!sp || !holds(sp))
		return 0;
	/* By its CPU time, as of one event. */
	if (sp->pool.hits && sp->held.cpu_ns >= OWN_PERIODS * sp->period_ns)
		return flush(m, st);
	if (!st->registry->left)
		st->registry->left = calloc(1, sizeof(*to));
	to = st->registry->left;
	if (!to || samples_add(&to->pool, &sp->pool))
		return -ENOMEM;
	if (!holds(to))
		to->pool_begin_ns = sp->pool_begin_ns;
	event_stats_add(&to->held, &sp->held);
	to->counted += sp->counted;
	to->pool_gc_ns += sp->pool_gc_ns;
	sp->held = (struct event_stats){ 0 };
	sp->counted = sp->pool_gc_ns = 0;
	samples_clear(&sp->pool);
	if (all)
		return 0;
	left = left_stream(st->proc, st->registry);
	return pool_settle(m, &left, max_u64(sp->pool_begin_ns, to->pool_begin_ns));
}

int sample_settle_left(struct model *m, struct proc *p, u64 now_ns)
{
	struct stream left;
	int rc = 0;
	u32 i;

	for (i = 0; i < p->registry_len && !rc; i++) {
		left = left_stream(p, p->registries[i]);
		if (left.sampler)
			rc = pool_settle(m, &left, now_ns);
	}
	return rc;
}

int sample_rest(struct model *m, struct proc *p)
{
	struct stream left;
	int rc = 0;
	u32 i;

	for (i = 0; i < p->registry_len && !rc; i++) {
		left = left_stream(p, p->registries[i]);
		if (left.sampler && holds(left.sampler))
			rc = flush(m, &left);
	}
	return rc;
}
