/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes the canonical stream apart and hands each record to its place. */
#include "model/model.h"
#include "model/model_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct model *model_new(const struct model_config *config)
{
	struct model *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->config = *config;
	m->hole_cycles = config->cycles_hz ? config->cycles_hz / (NSEC_PER_SEC / HOLE_NS) : HOLE_NS;
	if (registry_init(&m->set, config->own_groups)) {
		free(m);
		return NULL;
	}
	return m;
}

void model_free(struct model *m)
{
	if (!m)
		return;
	registry_free(&m->set, stream_free);
	clock_free(&m->clock);
	while (m->spare_len) {
		turn_free(m->spare[--m->spare_len]);
		free(m->spare[m->spare_len]);
	}
	free(m->shares);
	free(m->event_waits);
	wait_rows_free(&m->waits);
	unfinished_free(&m->unfinished);
	free(m);
}

int model_own(struct model *m, const char *glob, bool on)
{
	return registry_own(&m->set, glob, on);
}

void model_observe(struct model *m, const struct model_observer *ops, void *ctx)
{
	m->observer = ops;
	m->observer_ctx = ctx;
}

const struct model_observer *model_observer(const struct model *m, void **ctx)
{
	*ctx = m->observer_ctx;
	return m->observer;
}

u64 model_begin(const struct model *m)
{
	return m->begin_ns;
}

bool model_in_range(const struct model *m, u64 ns)
{
	u64 at = ns > m->begin_ns ? ns - m->begin_ns : 0;

	return at >= m->config.from_ns && (!m->config.to_ns || at < m->config.to_ns);
}

/* ---------------------------------------------------------- Open events -- */

struct turn *model_turn_of(struct model *m, struct stream *st, u32 iteration)
{
	struct turn *t;
	u32 i;

	for (i = st->turn_len; i--;)
		if (st->turns[i]->iteration == iteration)
			return st->turns[i];
	/* Only a forged stream gets here: the innermost then takes it all. */
	if (st->turn_len == STREAM_TURNS)
		return st->turns[STREAM_TURNS - 1];
	t = m->spare_len ? m->spare[--m->spare_len] : calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	turn_reset(t, iteration, ++m->uid, m->hole_cycles);
	st->turns[st->turn_len++] = t;
	return t;
}

/* One event at a time keeps the places of its sums in the rows. */
static int turn_leave(struct model *m)
{
	int rc = m->active ? turn_park(m->active) : 0;

	m->active = NULL;
	return rc;
}

/* Makes the event the active one. NULL without memory. */
static struct turn *turn_enter(struct model *m, struct stream *st, u32 iteration)
{
	if (turn_leave(m))
		return NULL;
	m->active = model_turn_of(m, st, iteration);
	return m->active;
}

/* The event is over. */
void model_turn_done(struct model *m, struct stream *st, struct turn *t)
{
	u32 index = 0;

	if (m->active == t)
		m->active = NULL;
	while (st->turns[index] != t)
		index++;
	memmove(st->turns + index, st->turns + index + 1,
		(--st->turn_len - index) * sizeof(st->turns[0]));
	/* A huge event's memory is not kept for small ones. */
	if (m->spare_len < ARRAY_SIZE(m->spare) && t->share_cap <= 1024) {
		m->spare[m->spare_len++] = t;
		return;
	}
	turn_free(t);
	free(t);
}

/*
 * Event `iteration` (0: a stay outside of all events) has ended inside `parent`, so every
 * event that began after it, and if nothing is around it every other one, has ended too:
 * their own records are missing.
 */
static int settle_orphans(struct model *m, struct stream *st, u32 iteration, u32 parent,
			  bool outermost)
{
	u32 i;
	int rc;

	for (i = st->turn_len; i--;) {
		struct turn *t = st->turns[i];

		if (!t->iteration ? !outermost : parent && t->iteration <= iteration)
			continue;
		rc = t->closed ? model_settle(m, st, t, NULL, MISSING_RECORDS) : 0;
		if (rc)
			return rc;
		model_turn_done(m, st, t);
	}
	return 0;
}

/* Does what ends here lack spans that were left out? */
static bool lacks_spans(struct stream *st, bool outermost)
{
	bool lacks = st->flaw != FLAW_NONE;

	if (outermost && st->flaw == FLAW_UNDER_WAY)
		st->flaw = FLAW_NONE;
	st->under_way = !outermost;
	return lacks;
}

/* -------------------------------------------------------------- Records -- */

/* The first record behind a gap: whatever it shows ended after the gap. */
static void close_gap(struct stream *st, u64 end)
{
	if (st->gap_open) {
		st->gap_cycles = end;
		st->gap_open = false;
	}
	st->last_end = end;
}

static void count_gc(struct model *m, struct stream *st, const struct vmspan_gc *gc)
{
	struct gc_stats *g = m->sum ? &m->sum->gc : &st->proc->gc;
	u64 begin = clock_ns(&m->clock, gc->begin), end = clock_ns(&m->clock, gc->end);
	u64 ns = end > begin ? end - begin : 0;

	if (!model_in_range(m, begin))
		return;
	g->count += !(gc->h.depth & VMSPAN_F_PART);
	g->total_ns += ns;
	g->max_ns = max_u64(g->max_ns, ns);
	if (gc->bytes_before > gc->bytes_after)
		g->freed_bytes += gc->bytes_before - gc->bytes_after;
}

/* Is all that the scheduler did to the thread meanwhile known? */
static bool covered(const struct model *m, const struct stream *st, u64 begin, u64 end)
{
	return st->sched && st->sched->from <= begin &&
	       !part_lacks(&m->parts, TRACE_BLOCKING, begin, end);
}

/* What it says of an event that has ended. The scheduler's record is not about stock VMs. */
static enum missing missing_of(const struct model *m, const struct stream *st, const struct turn *t,
			       bool records, u64 begin, u64 end)
{
	u32 parts = stream_is_stock(st) ? ~(1u << TRACE_BLOCKING) : ~0u;

	return records                                    ? MISSING_RECORDS
	       : parts_lack(&m->parts, parts, begin, end) ? MISSING_PART
	       : stream_is_exact(m, st) && !t->exact      ? MISSING_SWITCHES
							  : MISSING_NOTHING;
}

/* The root of what ran outside any event has closed: an event of its own. */
static int settle_root(struct model *m, struct stream *st, struct turn *t,
		       const struct vmspan_span *s)
{
	bool lacks =
		lacks_spans(st, true) || s->begin <= st->gap_cycles || s->h.depth & VMSPAN_F_LACKS;
	int rc;

	t->exact = covered(m, st, s->begin, s->end);
	rc = model_settle(m, st, t, NULL, missing_of(m, st, t, lacks, s->begin, s->end));
	if (st->sched)
		sched_forget(st->sched, s->end);
	model_turn_done(m, st, t);
	return rc ? rc : settle_orphans(m, st, 0, 0, true);
}

/* What has run outside of events, and is not over; or NULL. */
static struct turn *outside(const struct stream *st)
{
	u32 i;

	for (i = 0; i < st->turn_len; i++)
		if (!st->turns[i]->iteration)
			return st->turns[i];
	return NULL;
}

/* A collection or call outside of everything, in which no stay ran: it is no event, and events in it
 * have had nothing around them. */
static int take_nothing(struct model *m, struct stream *st, const struct vmspan_span *s,
			struct turn *ran)
{
	u64 cycles = s->end > s->begin ? s->end - s->begin : 0;
	const struct stay stay = { .fate = SPAN_KEPT, .cycles = cycles, .self = cycles };

	if (ran)
		model_turn_done(m, st, ran);
	return m->observer && m->observer->span ? show_span(m, st, s, NULL, &stay) : 0;
}

/* What began before the trace is of no event. Nor is what has run since, in an event, or in a root outside of any. */
static int take_old(struct model *m, struct stream *st, u32 iteration, bool whole)
{
	u32 i;

	m->repairs.before_attach++;
	for (i = 0; whole && i < st->turn_len; i++)
		if (st->turns[i]->iteration == iteration) {
			model_turn_done(m, st, st->turns[i]);
			break;
		}
	return 0;
}

/* A span, a collection or a blocking call. */
static int take_stay(struct model *m, struct stream *st, const struct vmspan_span *s)
{
	struct turn_rules rules;
	bool span = s->h.type == VMSPAN_SPAN;
	struct comp *c = NULL;
	struct stay stay = { .fate = SPAN_KEPT };
	struct turn *t;
	int rc;

	if (s->begin < m->attach_cycles)
		return take_old(m, st, 0, !s->iteration && !(s->h.depth & VMSPAN_DEPTH_MASK));
	close_gap(st, s->end);
	if (s->h.depth & VMSPAN_F_REPAIRED)
		m->repairs.repaired++;
	if (s->h.type == VMSPAN_GC)
		count_gc(m, st, (const void *)s);
	if (!span && !s->iteration && !(s->h.depth & VMSPAN_DEPTH_MASK)) {
		t = outside(st);
		if (!t || !t->share_len)
			return take_nothing(m, st, s, t);
	}
	st->under_way = true;
	t = m->active && m->active->iteration == s->iteration ? m->active
							      : turn_enter(m, st, s->iteration);
	if (!t)
		return -ENOMEM;
	rules = (struct turn_rules){ m->config.nested, m->config.keep_moved,
				     st->gap_cycles,   st->sched,
				     &m->parts,        st->proc->rows };
	if (span) {
		m->spans += !(s->h.depth & VMSPAN_F_PART);
		c = registry_comp(&m->set, st->proc, st->registry, s->h.id);
		if (!c)
			return -ENOMEM;
		/* A compartment seen for the first time may have moved the rows. */
		rules.rows = st->proc->rows;
		rc = turn_span(t, &rules, s, c, &stay);
	} else {
		rc = turn_stay(t, &rules, s, &stay);
	}
	if (rc)
		return rc;
	if (stay.fate == SPAN_BAD)
		m->repairs.discarded_shares++;
	if (m->observer && m->observer->span)
		rc = show_span(m, st, s, c, &stay);
	if (rc || t->iteration || (s->h.depth & VMSPAN_DEPTH_MASK))
		return rc;
	return settle_root(m, st, t, s);
}

/* In exact mode the scheduler's record tells that, and why. Else the CPU time of what runs outside of
 * events is not known. */
static int take_away(struct model *m, struct stream *st, const struct vmspan_span *s)
{
	u16 depth = s->h.depth & VMSPAN_DEPTH_MASK;
	struct turn *t;

	if (s->begin < m->attach_cycles)
		return 0;
	close_gap(st, s->end);
	if (stream_is_exact(m, st) && m->sum)
		return open_away(m, st, s);
	if (stream_is_exact(m, st) || s->end < s->begin || !s->iteration)
		return 0;
	t = m->active && m->active->iteration == s->iteration ? m->active
							      : turn_enter(m, st, s->iteration);
	return t ? turn_away(t, depth, s->end, s->end - s->begin) : -ENOMEM;
}

/* Nothing of the thread's is open around it, neither an event nor a stay. */
static bool outermost(const struct vmspan_event *e)
{
	return !e->parent && !(e->h.depth & VMSPAN_DEPTH_MASK);
}

/* Leaves an event that has ended to the one it ran in, if any. */
static int nest(struct model *m, struct stream *st, const struct vmspan_event *e)
{
	u16 depth = e->h.depth & VMSPAN_DEPTH_MASK;
	struct turn *outer;

	if (outermost(e))
		return 0;
	outer = model_turn_of(m, st, e->parent);
	if (!outer)
		return -ENOMEM;
	return turn_nested(outer, depth, e->begin, e->end, e->mono_end - e->mono_begin,
			   e->cpu_ns_end - e->cpu_ns_begin, event_cpu_off(e));
}

/* What of the event's off-CPU time no stay in it has taken is native. */
static int take_native_off(const struct model *m, struct stream *st, struct turn *t,
			   const struct vmspan_event *e)
{
	struct off_sum off;

	if (!st->sched)
		return 0;
	t->exact = covered(m, st, e->begin, e->end);
	if (sched_take(st->sched, e->begin, e->end, &off, t->exact ? &t->waits : NULL))
		return -ENOMEM;
	waits_own(&t->waits, 0, WAIT_NATIVE);
	if (t->exact)
		turn_off(t, &off);
	if (outermost(e))
		sched_forget(st->sched, e->end);
	return 0;
}

static int take_event(struct model *m, struct stream *st, const struct vmspan_event *e, u64 seq)
{
	u64 first = seq - e->records;
	bool lacks = first > seq || first < st->first || first < st->gap_end;
	enum missing missing;
	struct turn *t;
	int rc;

	if (e->begin < m->attach_cycles)
		return take_old(m, st, e->h.id, true);
	close_gap(st, e->end);
	/* Forged or broken clocks: nothing of it can be believed. */
	if (e->end < e->begin || e->mono_end < e->mono_begin || !e->h.id) {
		m->repairs.discarded_shares++;
		return 0;
	}
	t = model_turn_of(m, st, e->h.id);
	if (!t || take_native_off(m, st, t, e))
		return -ENOMEM;
	t->told = !stream_is_exact(m, st) && e->h.depth & VMSPAN_F_SWITCHES;
	lacks |= lacks_spans(st, outermost(e)) || e->h.depth & VMSPAN_F_LACKS;
	missing = missing_of(m, st, t, lacks, e->begin, e->end);
	if (e->h.depth & VMSPAN_F_SAMPLED)
		rc = sample_event(m, st, t, e, missing);
	else
		rc = model_settle(m, st, t, e, missing);
	if (rc)
		return rc;
	model_turn_done(m, st, t);
	rc = settle_orphans(m, st, e->h.id, e->parent, outermost(e));
	return rc ? rc : nest(m, st, e);
}

/* The streams of the scheduler's record have no other records. */
static int take_sched(struct stream *st, const struct vmspan_span *r)
{
	if (r->h.type == VMSPAN_WAKE) {
		sched_woken(st->sched, (const void *)r);
		return 0;
	}
	if (st->gap_open) {
		sched_gap(st->sched, r->end);
		st->gap_open = false;
	}
	return r->h.type == VMSPAN_OFF ? sched_add(st->sched, r) : 0;
}

static int take_record(struct model *m, struct stream *st, const struct vmspan_head *h, u64 seq)
{
	switch (h->type) {
	case VMSPAN_SPAN:
	case VMSPAN_GC:
	case VMSPAN_BLOCK:
		return take_stay(m, st, (const void *)h);
	case VMSPAN_EVENT:
		return take_event(m, st, (const void *)h, seq);
	case VMSPAN_AWAY:
		m->records--; /* nor are the scheduler's counted among the program's */
		return take_away(m, st, (const void *)h);
	case VMSPAN_SAMPLE:
		st->pub.stock = true;
		return sample_take(m, st, (const void *)h);
	case VMSPAN_INPUT:
	case VMSPAN_FRAME:
	case VMSPAN_VALUE:
		return show_mark(m, st, (const void *)h);
	case VMSPAN_DEF_GROUP:
	case VMSPAN_DEF_COMPARTMENT:
	case VMSPAN_DEF_LABEL:
	case VMSPAN_DEF_FRAME:
	case VMSPAN_DEF_NOTE:
		return registry_define(&m->set, st->proc, st->registry, (const void *)h);
	}
	return 0; /* of a newer target */
}

/* A target's counter that goes back counts nothing. */
static u64 counted(u32 before, u32 now)
{
	return now > before ? now - before : 0;
}

/* How far the SDK's own counters have moved on. */
static void take_counters(struct model *m, struct stream *st, const struct item_batch *b)
{
	u64 deep, in_mark;

	if (b->seq == st->first && b->seq) {
		/* The thread was traced before: its past is not our loss. */
		st->too_deep = b->too_deep;
		st->unmatched = b->unmatched;
		st->in_mark = b->in_mark;
	}
	deep = counted(st->too_deep, b->too_deep);
	in_mark = counted(st->in_mark, b->in_mark);
	if (deep || in_mark)
		st->flaw = FLAW_BATCH;
	m->losses.records[LOSS_TOO_DEEP] += deep;
	m->losses.records[LOSS_NOT_MADE] += in_mark;
	m->losses.records[LOSS_UNMATCHED] += counted(st->unmatched, b->unmatched);
	st->too_deep = b->too_deep;
	st->unmatched = b->unmatched;
	st->in_mark = b->in_mark;
}

int model_records(struct model *m, struct stream *st, const struct item_batch *b)
{
	const u8 *p = b->data, *end = p + b->bytes;
	bool sched = b->registry == ITEM_SCHED_REGISTRY;
	u64 seq = b->seq;
	int rc = 0;

	for (; !rc && p < end; seq++) {
		const struct vmspan_head *h = (const void *)p;

		p += (size_t)h->slots * VMSPAN_SLOT;
		rc = sched ? take_sched(st, (const void *)h) : take_record(m, st, h, seq);
	}
	/* Streams come and go between batches, and their events with them. */
	return turn_leave(m) ?: rc;
}

int model_batch(void *ctx, struct stream *st, const struct item_batch *b)
{
	bool sched = b->registry == ITEM_SCHED_REGISTRY;
	struct model *m = ctx;
	int rc;

	/* What was told of it may be in these records. */
	open_free(st);
	if (!sched) {
		take_counters(m, st, b);
		m->records += b->records;
	}
	rc = model_records(m, st, b);
	/* What is under way may have lost its spans before this batch. One of counts alone says so of what
	 * the next one holds. */
	if (b->records)
		st->flaw = st->flaw && st->under_way ? FLAW_UNDER_WAY : FLAW_NONE;
	if (sched && b->too_deep != st->too_deep) {
		st->too_deep = b->too_deep;
		sched_lost(st->sched);
	}
	return rc;
}

/* ---------------------------------------------------------------- Items -- */

struct stream *model_stream(struct model *m, const struct item_batch *b)
{
	struct proc *p = registry_proc(&m->set, b->pid);
	struct registry *r = p ? registry_at(&m->set, p, b->registry) : NULL;
	struct stream *st;
	u64 *at;

	if (!r)
		return NULL;
	at = map_get(&r->threads, b->thread);
	if (at)
		return (struct stream *)(uintptr_t)*at;
	st = calloc(1, sizeof(*st));
	if (!st)
		return NULL;
	at = map_get(&p->thread_names, b->tid);
	st->proc = p;
	st->registry = r;
	st->pub = (struct model_thread){
		.pid = b->pid,
		.tid = b->tid,
		.id = ++m->thread_id,
		.name = strdup(at ? (const char *)(uintptr_t)*at : ""),
		.process = registry_name(&m->set, p->name),
		.stock = stream_is_stock(st),
	};
	if (!st->pub.name || map_put(&r->threads, b->thread, (u64)(uintptr_t)st)) {
		stream_free(st);
		return NULL;
	}
	return st;
}

/* The scheduler's record of the stream's thread; made for the stream that
 * brings it. */
int model_stream_sched(struct stream *st, const struct item_batch *b)
{
	u64 *at = map_get(&st->proc->scheds, b->tid);
	struct sched *s;

	if (stream_is_stock(st))
		return 0;
	if (at) {
		st->sched = (struct sched *)(uintptr_t)*at;
		return 0;
	}
	if (b->registry != ITEM_SCHED_REGISTRY)
		return 0;
	s = sched_new();
	if (!s || map_put(&st->proc->scheds, b->tid, (u64)(uintptr_t)s)) {
		sched_free(s);
		return -ENOMEM;
	}
	st->sched = s;
	return 0;
}

static int item_batch(struct model *m, const struct item_batch *b)
{
	struct stream *st = model_stream(m, b);
	bool sched = b->registry == ITEM_SCHED_REGISTRY;
	u64 ignored = 0;
	int rc;

	if (!st) {
		/* More registries than anybody has: count what is left out. */
		m->losses.records[LOSS_LIMIT] += b->records;
		m->losses.batches[LOSS_LIMIT]++;
		return 0;
	}
	if (!st->sched && model_stream_sched(st, b))
		return -ENOMEM;
	if (!sched)
		return stream_order(st, b, model_batch, m, &m->missing);
	/* The kernel side hands these over in order: to wait for one that is
	 * missing would let the spans behind it pass for whole. They are counted
	 * where they were lost. */
	rc = stream_order(st, b, model_batch, m, &ignored);
	return rc ? rc : stream_drain(st, model_batch, m, &ignored);
}

static int item_defs(struct model *m, const struct item_defs *d)
{
	struct proc *p = registry_proc(&m->set, d->pid);
	struct registry *r = p ? registry_at(&m->set, p, d->registry) : NULL;
	const u8 *at = d->data, *end = at + d->bytes;
	int rc = 0;
	u64 on;

	while (r && !rc && at < end) {
		const struct vmspan_def *def = (const void *)at;

		at += (size_t)def->h.slots * VMSPAN_SLOT;
		if (def->h.type != VMSPAN_DEF_PART)
			rc = registry_define(&m->set, p, r, def);
		else if (d->registry == ITEM_TRACER_REGISTRY &&
			 parts_take(&m->parts, def, &m->clock, &on) == TRACE_TURNS)
			m->attach_cycles = max_u64(m->attach_cycles, on);
	}
	return rc;
}

static int item_clock(struct model *m, const struct item_clock *c)
{
	int rc = 0;
	u32 i;

	if (!m->clock_seen) {
		m->clock_seen = true;
		m->attach_cycles = c->cycles;
		m->begin_ns = c->mono_ns;
	}
	m->end_ns = max_u64(m->end_ns, c->mono_ns);
	for (i = 0; i < m->set.proc_len && !rc; i++)
		rc = m->set.procs[i]->ended
			     ? sample_rest(m, m->set.procs[i]) /* of what came behind its end */
			     : sample_settle_left(m, m->set.procs[i], c->mono_ns);
	return rc ? rc : clock_add(&m->clock, c->cycles, c->mono_ns, m->config.cycles_hz);
}

static int item_process(struct model *m, const struct item_process *it)
{
	int rc = 0;

	if (it->change == PROCESS_EXIT || it->change == PROCESS_EXEC) {
		struct proc *p = registry_proc(&m->set, it->pid);

		rc = p ? model_threads_end(m, p, 0) : -ENOMEM;
	}
	if (!rc)
		rc = registry_process(&m->set, it);
	if (!rc)
		rc = registry_fold(&m->set, stream_free);
	if (!rc && m->observer && m->observer->process)
		rc = m->observer->process(m->observer_ctx, it);
	return rc;
}

int model_item(void *ctx, const struct item *it)
{
	struct model *m = ctx;

	switch (it->type) {
	case ITEM_CLOCK:
		return item_clock(m, &it->clock);
	case ITEM_PROCESS:
		return item_process(m, &it->process);
	case ITEM_THREAD:
		return model_thread_item(m, &it->thread);
	case ITEM_DEFS:
		return item_defs(m, &it->defs);
	case ITEM_BATCH:
		return item_batch(m, &it->batch);
	case ITEM_LOSS:
		m->losses.records[it->loss.cause] += it->loss.records;
		m->losses.batches[it->loss.cause] += it->loss.batches;
		if (it->loss.all)
			registry_sched_lost(&m->set);
		return 0;
	case ITEM_UNFINISHED:
		return model_unfinished(m, &it->unfinished);
	case ITEM_COST:
		model_cost(m, &it->cost);
		return 0;
	case ITEM_OPEN:
		return model_open(m, &it->open);
	}
	return 0;
}
