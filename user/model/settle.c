/* SPDX-License-Identifier: BSD-2-Clause */
/* An event has ended: its sums become time and go into the rows. */
#include "model/model_priv.h"
#include "base/array.h"
#include "model/scale.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int share_add(struct group_stats *st, const struct turn *t, const struct share *sh,
		     bool incomplete, bool open)
{
	struct lack *lack = share_lack(t, sh);
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
	st->cpu_margin_ns += sh->cpu_margin_ns;
	st->blocked_ns += sh->blocked_ns;
	st->gc_ns += sh->gc_ns;
	st->uncharged_ns += lack ? lack_uncharged(lack)->wall_ns : 0;
	st->preempted_ns += sh->preempted_ns;
	for (i = VMSPAN_OFF_PREEMPTED; i < VMSPAN_OFF_REASONS; i++)
		st->off_ns[i] += sh->off_ns[i];
	st->max_ns = max_u64(st->max_ns, sh->wall_ns);
	st->incomplete += incomplete;
	durations_count(st->durations, sh->wall_ns);
	if (open) {
		open_count(&st->open, sh->wall_ns, incomplete, sh->cpu_margin_ns);
		return 0;
	}
	return hist_add(&st->hist, sh->wall_ns);
}

/* What the process of a wake-up is called; 0: nobody knows. */
static int peer_process(struct model *m, const struct peer *p, u32 *name)
{
	const u64 *at = map_get(&m->set.by_pid, p->pid);
	s64 id;

	if (at) {
		*name = ((const struct proc *)(uintptr_t)*at)->name;
		return 0;
	}
	id = intern_put(m->set.names, p->comm, strnlen(p->comm, sizeof(p->comm)));
	*name = (u32)id;
	return id < 0 ? -ENOMEM : 0;
}

/* Adds an event's wait to the sums: its row. NULL without memory. */
static struct wait_row *wait_add(struct model *m, const struct proc *p, const struct turn_wait *w,
				 u64 ns)
{
	const char *group = model_group_of(m, w->peer.pid, w->peer.registry, w->peer.comp);
	struct wait_row key = { .pid = p->pid, .process = p->name, .peer_pid = w->peer.pid }, *row;
	const char *own = w->owner >= WAIT_NATIVE ? "(native)" : NULL;
	s64 owner = own ? intern_put(m->set.names, own, strlen(own)) : p->rows[w->owner].name;
	s64 peer = intern_put(m->set.names, group ? group : "", group ? strlen(group) : 0);

	if (owner < 0 || peer < 0)
		return NULL;
	key.group = (u32)owner;
	key.peer_group = (u32)peer;
	/* No more names of processes that are not traced than there are rows. */
	if (m->waits.len < WAITS_MAX && peer_process(m, &w->peer, &key.peer_process))
		return NULL;
	row = wait_row_of(&m->waits, &key);
	if (row) {
		row->ns += ns;
		row->count += w->count;
	}
	return row;
}

struct model_wait wait_shown(const struct registry_set *set, const struct wait_row *row)
{
	/* The row of what found no room has no names. */
	bool named = row->peer_pid;

	return (struct model_wait){
		.pid = row->pid,
		.group = named ? registry_name(set, row->group) : "(other)",
		.peer_pid = row->peer_pid,
		.peer_process = named ? registry_name(set, row->peer_process) : "",
		.peer_group = named ? registry_name(set, row->peer_group) : "",
		.ns = row->ns,
		.count = row->count,
	};
}

static int settle_waits(struct model *m, const struct proc *p, const struct turn *t,
			const struct settlement *s, struct model_event *e)
{
	u32 i;

	if (!t->waits.len || s->discarded || !s->own)
		return 0;
	if (array_room(m->event_waits, m->event_wait_cap, t->waits.len))
		return -ENOMEM;
	for (i = 0; i < t->waits.len; i++) {
		const struct turn_wait *w = &t->waits.at[i];
		u64 ns = scale(min_u64(w->cycles, s->own), s->ledger.event_wall_ns, s->own);
		const struct wait_row *row = wait_add(m, p, w, ns);

		if (!row)
			return -ENOMEM;
		m->event_waits[i] = wait_shown(&m->set, row);
		m->event_waits[i].ns = ns;
		m->event_waits[i].begin_ns = clock_ns(&m->clock, w->begin);
		m->event_waits[i].count = w->count;
	}
	e->waits = m->event_waits;
	e->wait_count = t->waits.len;
	return 0;
}

static int show_event(struct model *m, const struct stream *st, const struct turn *t,
		      struct model_event *e)
{
	const struct proc *p = st->proc;
	u32 i;

	if (array_room(m->shares, m->share_cap, t->share_len))
		return -ENOMEM;
	for (i = 0; i < t->share_len; i++) {
		const struct share *sh = &t->shares[i];
		struct lack *lack = share_lack(t, sh);

		m->shares[i] = (struct model_share){
			.group = registry_name(&m->set, p->rows[sh->row].name),
			.ticks = sh->ticks,
			.spans = sh->spans,
			.wall_ns = sh->wall_ns,
			.self_ns = sh->self_ns,
			.cpu_ns = sh->cpu_ns,
			.cpu_margin_ns = sh->cpu_margin_ns,
			.blocked_ns = sh->blocked_ns,
			.gc_ns = sh->gc_ns,
			.preempted_ns = sh->preempted_ns,
		};
		if (lack)
			m->shares[i].uncharged = *lack_uncharged(lack);
		memcpy(m->shares[i].off_ns, sh->off_ns, sizeof(sh->off_ns));
	}
	e->shares = m->shares;
	e->share_count = t->share_len;
	return m->observer->event(m->observer_ctx, e);
}

/* The counter ran on for longer than the clock has time for: the machine slept,
 * and nobody can tell which stay of the event the sleep lies in. */
static bool clock_stood(const struct model *m, u64 cycles, u64 ns)
{
	u64 hz = m->config.cycles_hz ? m->config.cycles_hz : NSEC_PER_SEC;
	u64 ran = scale(cycles, NSEC_PER_SEC, hz);

	return ran / 8 > ns && ran - ns > NSEC_PER_SEC;
}

int model_settle(struct model *m, struct stream *st, struct turn *t, const struct vmspan_event *e,
		 enum missing missing)
{
	u64 cycles = e ? e->end - e->begin : turn_roots(t);
	u64 begin = e ? e->begin : t->last_end - cycles;
	u64 begin_ns = clock_ns(&m->clock, begin), end_ns = clock_ns(&m->clock, begin + cycles);
	struct proc *p = st->proc;
	struct settlement s;
	struct event_stats *ev = m->sum ? &m->sum->events : &p->events;
	bool open = m->sum && m->sum->end == begin + cycles;
	struct model_event shown;
	u32 i;
	int rc;

	if (!model_in_range(m, begin_ns))
		return 0;
	t->cpu_off_ns = e ? event_cpu_off(e) : 0;
	t->goes_on = open && (!e || !t->exact || t->cpu_off_ns);
	t->cpu_carry = st->cpu_carry;
	t->slept = e && clock_stood(m, cycles, e->mono_end - e->mono_begin);
	rc = turn_settle(t, cycles, e ? e->mono_end - e->mono_begin : end_ns - begin_ns,
			 e ? e->cpu_ns_end - e->cpu_ns_begin : 0, missing, &s);
	if (rc)
		return rc;
	if (t->cpu_off_ns)
		st->cpu_carry = t->cpu_carry;
	if (s.discarded) {
		m->repairs.discarded_shares++;
		missing = missing ? missing : MISSING_SENSE;
	}
	if (stream_is_stock(st))
		s.ledger.native_stock_ns = s.ledger.native_ns;
	/* Of what goes on the thread's clock is an estimate. */
	if (s.stolen_ns && !m->sum) {
		m->repairs.stolen_ns += s.stolen_ns;
		m->repairs.stolen_lacks_ns += s.stolen_ns;
		missing = missing ? missing : MISSING_CPU;
	}
	ev->count++;
	ev->implicit += !t->iteration;
	ev->wall_ns += s.ledger.event_wall_ns;
	ev->cpu_ns += s.cpu_ns;
	missing_count(ev, missing, open);
	ev->max_ns = max_u64(ev->max_ns, s.ledger.event_wall_ns);
	durations_count(ev->durations, s.ledger.event_wall_ns);
	if (open) {
		open_count(&ev->open, s.ledger.event_wall_ns, missing, 0);
		ev->open.implicit += !t->iteration;
	}
	ledger_add(m->sum ? &m->sum->ledger : &p->ledger, &s.ledger);
	for (i = 0; i < t->share_len; i++) {
		u32 row = t->shares[i].row;
		struct group_stats *to = m->sum ? open_row(m->sum, row) : &p->rows[row].stats;

		if (!to || share_add(to, t, &t->shares[i], missing, open))
			return -ENOMEM;
	}
	shown = (struct model_event){
		.thread = &st->pub,
		.label = e ? registry_label(&m->set, st->registry, e->label) : "",
		.iteration = t->iteration,
		.parent = e ? e->parent : 0,
		.implicit = !t->iteration,
		.missing = missing,
		.open = open,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.cpu_ns = s.cpu_ns,
		.stolen_ns = m->sum ? 0 : s.stolen_ns,
		.cpu_begin = e ? e->cpu_begin : 0,
		.cpu_end = e ? e->cpu_end : 0,
		.ledger = s.ledger,
	};
	/* Whom what goes on waits for, nobody knows yet. */
	rc = m->sum ? 0 : settle_waits(m, p, t, &s, &shown);
	if (rc || !m->observer || !m->observer->event)
		return rc;
	return show_event(m, st, t, &shown);
}
