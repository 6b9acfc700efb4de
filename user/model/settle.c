/* SPDX-License-Identifier: BSD-2-Clause */
/* An event has ended: its sums become time and go into the rows. */
#include "model/model_priv.h"

#include <errno.h>
#include <stdlib.h>

/* Strictly more than 1, 2, 4 ... 512 ms, each bucket including the longer. */
static void count_duration(u64 durations[JANK_BUCKETS], u64 ns)
{
	unsigned int i;

	for (i = 0; i < JANK_BUCKETS && ns > NSEC_PER_MSEC << i; i++)
		durations[i]++;
}

static int row_add(struct row *row, const struct share *sh, bool incomplete)
{
	struct group_stats *st = &row->stats;
	u32 i;

	st->ticks += sh->ticks;
	st->events++;
	st->spans += sh->spans;
	st->stayed += sh->stayed;
	st->moved += sh->moved;
	st->stale += sh->stale;
	st->wall_ns += sh->wall_ns;
	st->self_ns += sh->self_ns;
	st->cpu_ns += sh->cpu_ns;
	st->blocked_ns += sh->blocked_ns;
	st->gc_ns += sh->gc_ns;
	st->preempted_ns += sh->preempted_ns;
	for (i = VMSPAN_OFF_PREEMPTED; i < VMSPAN_OFF_REASONS; i++)
		st->off_ns[i] += sh->off_ns[i];
	st->max_ns = max_u64(st->max_ns, sh->wall_ns);
	st->incomplete += incomplete;
	count_duration(st->durations, sh->wall_ns);
	return hist_add(&st->hist, sh->wall_ns);
}

static int show_event(struct model *m, const struct stream *st, const struct turn *t,
		      struct model_event *e)
{
	const struct proc *p = st->proc;
	u32 i;

	if (t->share_len > m->share_cap) {
		struct model_share *s = realloc(m->shares, t->share_len * 2 * sizeof(*s));

		if (!s)
			return -ENOMEM;
		m->shares = s;
		m->share_cap = t->share_len * 2;
	}
	for (i = 0; i < t->share_len; i++) {
		const struct share *sh = &t->shares[i];

		m->shares[i] = (struct model_share){
			.group = registry_name(&m->set, p->rows[sh->row].name),
			.ticks = sh->ticks,
			.spans = sh->spans,
			.wall_ns = sh->wall_ns,
			.self_ns = sh->self_ns,
			.cpu_ns = sh->cpu_ns,
			.blocked_ns = sh->blocked_ns,
			.gc_ns = sh->gc_ns,
			.preempted_ns = sh->preempted_ns,
		};
	}
	e->shares = m->shares;
	e->share_count = t->share_len;
	return m->observer->event(m->observer_ctx, e);
}

int model_settle(struct model *m, struct stream *st, struct turn *t, const struct vmspan_event *e,
		 bool incomplete)
{
	u64 cycles = e ? e->end - e->begin : turn_roots(t);
	u64 begin = e ? e->begin : t->last_end - cycles;
	u64 begin_ns = clock_ns(&m->clock, begin), end_ns = clock_ns(&m->clock, begin + cycles);
	struct proc *p = st->proc;
	struct settlement s;
	struct event_stats *ev = &p->events;
	u32 i;
	int rc;

	if (!model_in_range(m, begin_ns))
		return 0;
	rc = turn_settle(t, cycles, e ? e->mono_end - e->mono_begin : end_ns - begin_ns,
			 e ? e->cpu_ns_end - e->cpu_ns_begin : 0, incomplete, &s);
	if (rc)
		return rc;
	if (s.discarded) {
		m->repairs.discarded_shares++;
		incomplete = true;
	}
	if (s.stolen_ns) {
		m->repairs.stolen_ns += s.stolen_ns;
		incomplete = true;
	}
	ev->count++;
	ev->implicit += !t->iteration;
	ev->wall_ns += s.ledger.event_wall_ns;
	ev->cpu_ns += s.cpu_ns;
	ev->incomplete += incomplete;
	ev->max_ns = max_u64(ev->max_ns, s.ledger.event_wall_ns);
	count_duration(ev->durations, s.ledger.event_wall_ns);
	ledger_add(&p->ledger, &s.ledger);
	for (i = 0; i < t->share_len; i++)
		if (row_add(&p->rows[t->shares[i].row], &t->shares[i], incomplete))
			return -ENOMEM;
	if (!m->observer || !m->observer->event)
		return 0;
	return show_event(m, st, t,
			  &(struct model_event){
				  .thread = &st->pub,
				  .label = e ? registry_label(&m->set, st->registry, e->label) : "",
				  .iteration = t->iteration,
				  .parent = e ? e->parent : 0,
				  .implicit = !t->iteration,
				  .incomplete = incomplete,
				  .begin_ns = begin_ns,
				  .end_ns = end_ns,
				  .cpu_ns = s.cpu_ns,
				  .cpu_begin = e ? e->cpu_begin : 0,
				  .cpu_end = e ? e->cpu_end : 0,
				  .ledger = s.ledger,
			  });
}
