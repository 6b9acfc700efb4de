/* SPDX-License-Identifier: BSD-2-Clause */
/* Events that have not ended: in the figures as if they ended now, until they have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "open_rig.h"

static const struct group_stats *stats_of(const struct snapshot *s, const char *name)
{
	const struct snapshot_group *g = snapshot_group(s, name);

	assert_non_null(g);
	return &g->stats;
}

/* An event in which b ran for 100 in a, which goes on. Has been fed. */
static struct sim *hanging(struct model *m)
{
	struct sim *s = sim_new(7);

	sim_event(s, 1000);
	sim_enter(s, 1500, 1, VMSPAN_SPAN);
	sim_enter(s, 2000, 2, VMSPAN_SPAN);
	sim_leave(s, 2100);
	sim_feed(s, m, 1);
	return s;
}

static void its_time_so_far_is_in_all_figures(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = hanging(m);
	const struct group_stats *a, *b;
	struct snapshot *snap;

	(void)state;
	tell_open(s, m, 1000, 5000);
	snap = snapshot_take(m);
	assert_non_null(snap);
	a = stats_of(snap, "addon:a");
	b = stats_of(snap, "addon:b");
	assert_int_equal(snap->spans, 1);
	assert_int_equal(snap->records, 1);
	assert_int_equal(snap->events.count, 1);
	assert_int_equal(snap->events.open.events, 1);
	assert_int_equal(snap->events.max_ns, 4000);
	assert_int_equal(snap->events.cpu_ns, 4000);
	assert_int_equal(snap->ledger.event_wall_ns, 4000);
	assert_int_equal(snap->ledger.native_ns, 500);
	assert_int_equal(snap->ledger.self_ns, 3500);
	assert_int_equal(snap->processes[0].ledger.self_ns, 3500);
	assert_int_equal(a->wall_ns, 3500);
	assert_int_equal(a->self_ns, 3400);
	assert_int_equal(a->max_ns, 3500);
	assert_int_equal(a->events, 1);
	assert_int_equal(a->open.events, 1);
	assert_int_equal(a->open.max_ns, 3500);
	assert_int_equal(b->self_ns, 100);
	assert_int_equal(snap->children[snap->groups[0].first_child].stats.wall_ns,
			 snap->groups[0].stats.wall_ns);
	/* How long it takes is not known. */
	assert_int_equal(a->hist.total, 0);
	/* And what it is in. */
	assert_int_equal(snap->open_count, 1);
	assert_int_equal(snap->open_kept, 1);
	assert_int_equal(snap->open[0].why, 0);
	assert_int_equal(snap->open[0].for_ns, 4000);
	assert_string_equal(snap->open[0].group, "addon:a");
	assert_int_equal(snap->open[0].stay[0].for_ns, 3500);
	assert_int_equal(snap->unfinished_count, 0);
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* Records that have come are counted, those that would come are not. */
static void the_trace_itself_has_nothing_of_it(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = hanging(m);
	struct snapshot *before = snapshot_take(m), *after;

	(void)state;
	s->open[0].begin = 0; /* before the trace: would be counted as such */
	tell_open(s, m, 1000, 5000);
	after = snapshot_take(m);
	assert_int_equal(after->spans, before->spans);
	assert_int_equal(after->records, before->records);
	assert_int_equal(after->repairs.before_attach, before->repairs.before_attach);
	snapshot_free(before);
	snapshot_free(after);
	model_free(m);
	free(s);
}

static void each_interval_has_its_part(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = hanging(m);
	struct snapshot *at[4], *since;
	struct buf packed = { 0 };
	u32 i;

	(void)state;
	at[0] = snapshot_take(m);
	tell_open(s, m, 1000, 5000);
	at[1] = snapshot_take(m);
	tell_open(s, m, 1000, 9000);
	at[2] = snapshot_take(m);
	sim_leave(s, 9500);
	sim_event_end(s, 10000);
	assert_int_equal(sim_batch(s, m, SIM_PID, 1, s->records), 0);
	at[3] = snapshot_take(m);
	for (i = 1; i < 4; i++) {
		static const u64 wall[] = { 0, 4000, 4000, 1000 }, a[] = { 0, 3400, 4000, 500 };

		since = snapshot_delta(at[i], at[i - 1]);
		assert_non_null(since);
		assert_int_equal(since->ledger.event_wall_ns, wall[i]);
		assert_int_equal(ledger_sum(&since->ledger), wall[i]);
		assert_int_equal(stats_of(since, "addon:a")->self_ns, a[i]);
		/* It is one of the events of each. */
		assert_int_equal(since->events.count, 1);
		assert_int_equal(since->events.open.events, i < 3);
		assert_int_equal(stats_of(since, "addon:a")->events, 1);
		snapshot_free(since);
	}
	assert_int_equal(at[3]->events.count, 1);
	assert_int_equal(at[3]->events.open.events, 0);
	assert_int_equal(at[3]->open_count, 0);
	assert_int_equal(stats_of(at[3], "addon:a")->hist.total, 1);
	/* The same in little memory. */
	assert_int_equal(snapshot_pack(at[1], &packed), 0);
	assert_int_equal(snapshot_since(at[2], &packed), 0);
	assert_int_equal(at[2]->ledger.event_wall_ns, 4000);
	assert_int_equal(at[2]->events.count, 1);
	assert_int_equal(stats_of(at[2], "addon:a")->events, 1);
	assert_int_equal(stats_of(at[2], "addon:a")->self_ns, 4000);
	buf_free(&packed);
	for (i = 0; i < 4; i++)
		snapshot_free(at[i]);
	model_free(m);
	free(s);
}

/* It changed CPU before its end: what it had so far is nobody's now. */
static void what_becomes_another_term_leaves_no_negative_time(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = hanging(m);
	struct snapshot *before, *after, *since;

	(void)state;
	tell_open(s, m, 1000, 5000);
	before = snapshot_take(m);
	s->cpu = 3;
	sim_leave(s, 5500);
	sim_event_end(s, 6000);
	assert_int_equal(sim_batch(s, m, SIM_PID, 1, s->records), 0);
	after = snapshot_take(m);
	assert_int_equal(after->ledger.moved_ns, 3900);
	assert_int_equal(after->ledger.self_ns, 100);
	since = snapshot_delta(after, before);
	assert_int_equal(since->ledger.event_wall_ns, 1000);
	assert_int_equal(ledger_sum(&since->ledger), 1000);
	assert_int_equal(since->ledger.self_ns, 0);
	assert_int_equal(since->ledger.moved_ns, 500);
	assert_int_equal(stats_of(since, "addon:a")->wall_ns, 0);
	assert_int_equal(stats_of(since, "addon:a")->uncharged_ns, 500);
	snapshot_free(since);
	snapshot_free(before);
	snapshot_free(after);
	model_free(m);
	free(s);
}

enum ended {
	BY_THREAD,
	BY_PROCESS,
	UNFINISHED,
	TOLD_ANEW,
	ENDED
};

/* Then it is in no figure any more. */
static void it_goes_with_its_thread(void **state)
{
	enum ended how;

	(void)state;
	for (how = BY_THREAD; how < ENDED; how++) {
		struct model *m = model_make(&(struct model_config){ 0 });
		struct sim *s = hanging(m);
		struct item it = { 0 };
		struct snapshot *snap;

		tell_open(s, m, 1000, 5000);
		if (how == BY_THREAD)
			it = (struct item){ .type = ITEM_THREAD,
					    .thread = { SIM_PID, 7, true, 6000, "" } };
		else if (how == BY_PROCESS)
			it = (struct item){ .type = ITEM_PROCESS,
					    .process = { PROCESS_EXIT, SIM_PID, 1, 6000, "", "" } };
		else if (how == UNFINISHED)
			it = (struct item){ .type = ITEM_UNFINISHED,
					    .unfinished = { .pid = SIM_PID,
							    .tid = 7,
							    .registry = SIM_REGISTRY,
							    .why = UNFINISHED_TRACE,
							    .event = true,
							    .begin_ns = 1000,
							    .until_ns = 6000 } };
		else
			it = (struct item){ .type = ITEM_OPEN };
		assert_int_equal(model_item(m, &it), 0);
		snap = snapshot_take(m);
		assert_int_equal(snap->open_count, 0);
		assert_int_equal(snap->events.count, 0);
		assert_int_equal(snap->ledger.event_wall_ns, 0);
		assert_int_equal(snap->unfinished_count, how == UNFINISHED);
		snapshot_free(snap);
		model_free(m);
		free(s);
	}
}

/* Records before those that would end it were lost: it lacks them. */
static void what_is_missing_before_it_is_missing(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = hanging(m);
	struct buf packed = { 0 };
	struct snapshot *snap;

	(void)state;
	tell_open(s, m, 1000, 5000);
	sim_enter(s, 5100, 3, VMSPAN_SPAN);
	sim_leave(s, 5200);
	tell_open(s, m, 1000, 6000);
	snap = snapshot_take(m);
	assert_int_equal(snap->ledger.event_wall_ns, 5000);
	assert_int_equal(snap->ledger.lost_ns, 4900);
	assert_int_equal(snap->events.incomplete, 1);
	assert_int_equal(snap->events.open.incomplete, 1);
	assert_int_equal(snap->events.missing[MISSING_RECORDS], 1);
	assert_int_equal(snap->events.open_missing[MISSING_RECORDS], 1);
	assert_int_equal(snapshot_pack(snap, &packed), 0);
	snapshot_free(snap);
	/* It is one of any time in which it goes on. */
	tell_open(s, m, 1000, 6000);
	snap = snapshot_take(m);
	assert_int_equal(snapshot_since(snap, &packed), 0);
	assert_int_equal(snap->events.incomplete, 1);
	assert_int_equal(snap->events.missing[MISSING_RECORDS], 1);
	snapshot_free(snap);
	buf_free(&packed);
	assert_int_equal(sim_batch(s, m, SIM_PID, 1, s->records), 0);
	tell_open(s, m, 1000, 6000);
	snap = snapshot_take(m);
	assert_int_equal(snap->ledger.lost_ns, 0);
	assert_int_equal(snap->events.incomplete, 0);
	assert_int_equal(stats_of(snap, "addon:c")->self_ns, 100);
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* It has lasted for longer than so long already, and does so in each time. */
static void it_is_one_of_the_long_ones(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(7);
	struct snapshot *at[3], *since;
	u32 i;

	(void)state;
	sim_event(s, 1000);
	sim_enter(s, 1000, 1, VMSPAN_SPAN);
	at[0] = snapshot_take(m);
	tell_open(s, m, 1000, 100 * NSEC_PER_MSEC);
	at[1] = snapshot_take(m);
	tell_open(s, m, 1000, 200 * NSEC_PER_MSEC);
	at[2] = snapshot_take(m);
	for (i = 1; i < 3; i++) {
		since = snapshot_delta(at[i], at[i - 1]);
		assert_int_equal(since->events.durations[6], 1); /* 64 ms */
		assert_int_equal(since->events.durations[7], i - 1); /* 128 ms */
		assert_int_equal(stats_of(since, "addon:a")->durations[6], 1);
		assert_int_equal(stats_of(since, "addon:a")->open.max_ns,
				 i * 100 * NSEC_PER_MSEC - 1000);
		snapshot_free(since);
	}
	for (i = 0; i < 3; i++)
		snapshot_free(at[i]);
	model_free(m);
	free(s);
}

/* The records of the thread that come next may hold what was told: it is in no figure twice. */
static void what_comes_is_not_counted_twice(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(7);
	struct snapshot *snap;

	(void)state;
	sim_event(s, 1000);
	sim_event(s, 2000);
	sim_enter(s, 2000, 1, VMSPAN_SPAN);
	tell_open(s, m, 1000, 5000);
	/* The inner one ends, the outer one goes on. */
	sim_leave(s, 6000);
	sim_event_end(s, 6000);
	sim_feed(s, m, 10);
	snap = snapshot_take(m);
	assert_int_equal(snap->events.count, 1);
	assert_int_equal(stats_of(snap, "addon:a")->wall_ns, 4000);
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* What had ended and has not come is no open event. */
static void what_has_ended_is_not_open(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(7), *c;
	struct item it = { .type = ITEM_OPEN };
	struct snapshot *snap;

	(void)state;
	sim_event(s, 1000);
	sim_event_end(s, 2000);
	sim_event(s, 3000);
	sim_event_end(s, 9000);
	c = s;
	it.open.batch = sim_item(c, SIM_PID, 0, c->records).batch;
	it.open.what = event_of(7, 3000, 9000);
	assert_int_equal(model_item(m, &it), 0);
	snap = snapshot_take(m);
	assert_int_equal(snap->events.count, 2);
	assert_int_equal(snap->events.open.events, 1);
	assert_int_equal(snap->events.wall_ns, 7000);
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* A thread that waits in an announced call outside of events is in none. */
static void what_is_no_event_does_not_go_on(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(7);
	struct snapshot *snap;

	(void)state;
	sim_enter(s, 1000, 0, VMSPAN_BLOCK);
	tell_open(s, m, 1000, 5000);
	snap = snapshot_take(m);
	assert_int_equal(snap->open_count, 0);
	assert_int_equal(snap->events.count, 0);
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* Two threads of a process in one group: both are in its row. */
static void open_events_of_one_group_add_up(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = hanging(m), *other = sim_new(8);
	const struct group_stats *a;
	struct snapshot *snap, *copy;

	(void)state;
	sim_event(other, 3000);
	sim_enter(other, 3000, 1, VMSPAN_SPAN);
	tell_open(s, m, 1000, 5000);
	tell_open(other, m, 3000, 5000);
	snap = snapshot_take(m);
	a = stats_of(snap, "addon:a");
	assert_int_equal(a->events, 2);
	assert_int_equal(a->open.events, 2);
	assert_int_equal(a->self_ns, 5400);
	assert_int_equal(a->max_ns, 3500);
	assert_int_equal(snap->open_count, 2);
	/* The longest first, also in a copy. */
	assert_int_equal(snap->open[0].tid, 7);
	assert_int_equal(snap->open[1].tid, 8);
	copy = snapshot_delta(snap, NULL);
	snapshot_free(snap);
	assert_int_equal(copy->open_kept, 2);
	assert_string_equal(copy->open[1].group, "addon:a");
	snapshot_free(copy);
	model_free(m);
	free(s);
	free(other);
}

/* In exact mode the scheduler's record of it comes late: until then the thread's own clock says
 * that it slept, for all the time since it was told last, or that others ran, if it would, or that
 * it was stopped; and what
 * changed CPU is not discarded. */
static void exact_by_its_clock(u64 slept, u64 known, u32 why)
{
	const bool waits = why == VMSPAN_OFF_SLEEPING;
	struct model *m = model_make(&(struct model_config){ .exact = true });
	struct sim *s, *c, *sched = sim_of(1, 16);
	struct item it = { .type = ITEM_OPEN };
	struct snapshot *snap;
	u64 i;

	sim_off(sched, 900, 900, VMSPAN_OFF_START);
	for (i = 0; i < known / 100; i++)
		sim_off(sched, 2200 + 200 * i, 2300 + 200 * i, VMSPAN_OFF_IO);
	((struct vmspan_head *)sched->data[0])->type = VMSPAN_OFF;
	s = hanging(m);
	s->tid = 1; /* as the scheduler's record has it */
	sim_feed(s, m, 1);
	if (known)
		sim_feed_sched(sched, m);
	s->open[0].cpu = 3;
	c = closing(s, 5000);
	((struct vmspan_span *)c->data[0])->cpu_begin = 3;
	((struct vmspan_span *)c->data[0])->cpu_end = 1;
	it.open.what = event_of(1, 1000, 5000);
	it.open.off = why;
	memmove(c->data[1], c->data[0], c->slots * VMSPAN_SLOT);
	*(struct vmspan_span *)c->data[0] = (struct vmspan_span){
		.h = { VMSPAN_AWAY, 1, 1, 0 }, .begin = 5000 - slept, .end = 5000, .iteration = 1
	};
	((struct vmspan_event *)c->data[2])->records++;
	((struct vmspan_event *)c->data[2])->cpu_ns_end -= slept;
	it.open.batch = sim_item(c, SIM_PID, 0, c->records).batch;
	it.open.batch.records++;
	it.open.batch.bytes += VMSPAN_SLOT;
	assert_int_equal(model_item(m, &it), 0);
	snap = snapshot_take(m);
	assert_int_equal(snap->events.incomplete, 0);
	assert_int_equal(snap->events.cpu_ns, 4000 - slept);
	assert_int_equal(snap->ledger.blocked_ns, waits ? slept : known);
	assert_int_equal(snap->ledger.preempted_ns, waits ? 0 : slept - known);
	assert_int_equal(snap->ledger.stopped_ns, why == VMSPAN_OFF_STOPPED ? slept - known : 0);
	assert_int_equal(snap->ledger.moved_ns, 0);
	assert_int_equal(stats_of(snap, "addon:a")->cpu_ns, 3500 - slept);
	assert_int_equal(stats_of(snap, "addon:a")->self_ns, 3400 - slept);
	assert_int_equal(stats_of(snap, "addon:a")->off_ns[VMSPAN_OFF_IO], known);
	assert_int_equal(stats_of(snap, "addon:a")->off_ns[why], slept - known);
	snapshot_free(snap);
	model_free(m);
	free(s);
	free(c);
	free(sched);
}

static void in_exact_mode_it_is_by_the_threads_own_clock(void **state)
{
	(void)state;
	exact_by_its_clock(1000, 0, VMSPAN_OFF_SLEEPING);
	exact_by_its_clock(1000, 0, VMSPAN_OFF_PREEMPTED);
	exact_by_its_clock(1000, 0, VMSPAN_OFF_STOPPED);
	/* Some of it has come; also where what is told of all would overlap that. */
	exact_by_its_clock(1000, 300, VMSPAN_OFF_SLEEPING);
	exact_by_its_clock(1800, 1000, VMSPAN_OFF_SLEEPING);
	exact_by_its_clock(1800, 1000, VMSPAN_OFF_PREEMPTED);
	exact_by_its_clock(300, 300, VMSPAN_OFF_SLEEPING);
}

/* Outside of events there is no clock to go by, but what the thread says itself. */
static void a_stay_outside_of_events_waits_in_exact_mode(void **state)
{
	struct model *m = model_make(&(struct model_config){ .exact = true });
	struct sim *s = sim_new(1), *sched = sim_of(1, 16), *c;
	struct item it = { .type = ITEM_OPEN, .open.off = VMSPAN_OFF_SLEEPING };
	const struct group_stats *a;
	struct snapshot *snap;

	(void)state;
	sim_off(sched, 900, 900, VMSPAN_OFF_START);
	((struct vmspan_head *)sched->data[0])->type = VMSPAN_OFF;
	sim_feed_sched(sched, m);
	sim_enter(s, 1000, 1, VMSPAN_SPAN);
	c = closing(s, 5000);
	memmove(c->data[1], c->data[0], c->slots * VMSPAN_SLOT);
	*(struct vmspan_span *)c->data[0] =
		(struct vmspan_span){ .h = { VMSPAN_AWAY, 1, 1, 0 }, .begin = 2000, .end = 5000 };
	it.open.what = event_of(1, 1000, 5000);
	it.open.what.event = false;
	it.open.batch = sim_item(c, SIM_PID, 0, c->records).batch;
	it.open.batch.records++;
	it.open.batch.bytes += VMSPAN_SLOT;
	assert_int_equal(model_item(m, &it), 0);
	snap = snapshot_take(m);
	a = stats_of(snap, "addon:a");
	assert_int_equal(a->wall_ns, 4000);
	assert_int_equal(a->self_ns, 1000);
	assert_int_equal(a->blocked_ns, 3000);
	assert_int_equal(a->cpu_ns, 1000);
	assert_true(a->cpu_margin_ns >= 3000); /* it says so, and may be wrong */
	snapshot_free(snap);
	model_free(m);
	free(s);
	free(c);
	free(sched);
}

/* Of what goes on CPU time is an estimate; so is each difference in which it is. */
static void the_margin_of_what_goes_on_is_in_the_difference(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = hanging(m);
	struct snapshot *before, *after, *since;

	(void)state;
	tell_open(s, m, 1000, 5000);
	before = snapshot_take(m);
	assert_int_equal(stats_of(before, "addon:a")->cpu_margin_ns, 3500);
	sim_leave(s, 5500);
	sim_event_end(s, 6000);
	assert_int_equal(sim_batch(s, m, SIM_PID, 1, s->records), 0);
	after = snapshot_take(m);
	assert_int_equal(stats_of(after, "addon:a")->cpu_margin_ns, 0);
	since = snapshot_delta(after, before);
	assert_int_equal(stats_of(since, "addon:a")->cpu_margin_ns, 7000);
	snapshot_free(since);
	snapshot_free(before);
	snapshot_free(after);
	model_free(m);
	free(s);
}

/* What had ended and has not come is in the distributions; where it never comes, nothing is below 0. */
static void what_never_comes_leaves_no_negative_counts(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(7);
	struct item it = { .type = ITEM_OPEN };
	struct snapshot *before, *after, *since;
	const struct hist *h;
	u32 i;

	(void)state;
	sim_event(s, 1000);
	sim_enter(s, 1000, 1, VMSPAN_SPAN);
	sim_leave(s, 2000);
	sim_event_end(s, 2000);
	sim_event(s, 3000);
	sim_event_end(s, 9000);
	it.open.batch = sim_item(s, SIM_PID, 0, s->records).batch;
	it.open.what = event_of(7, 3000, 9000);
	assert_int_equal(model_item(m, &it), 0);
	before = snapshot_take(m);
	assert_int_equal(stats_of(before, "addon:a")->hist.total, 1);
	it = (struct item){ .type = ITEM_OPEN };
	assert_int_equal(model_item(m, &it), 0);
	/* Shorter and longer ones, and none in its place. */
	for (i = 1; i < 3; i++) {
		sim_event(s, 10000 * i);
		sim_enter(s, 10000 * i, 1, VMSPAN_SPAN);
		sim_leave(s, 10000 * i + i * i * 500);
		sim_event_end(s, 10000 * i + i * i * 500);
	}
	assert_int_equal(sim_batch(s, m, SIM_PID, 3, s->records), 0);
	after = snapshot_take(m);
	since = snapshot_delta(after, before);
	h = &stats_of(since, "addon:a")->hist;
	assert_int_equal(h->total, 2);
	for (i = 0; i < h->len; i++)
		assert_true(h->counts[i] <= 1);
	snapshot_free(since);
	snapshot_free(before);
	snapshot_free(after);
	model_free(m);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_time_so_far_is_in_all_figures),
		cmocka_unit_test(the_trace_itself_has_nothing_of_it),
		cmocka_unit_test(each_interval_has_its_part),
		cmocka_unit_test(what_becomes_another_term_leaves_no_negative_time),
		cmocka_unit_test(it_goes_with_its_thread),
		cmocka_unit_test(what_is_missing_before_it_is_missing),
		cmocka_unit_test(it_is_one_of_the_long_ones),
		cmocka_unit_test(what_comes_is_not_counted_twice),
		cmocka_unit_test(what_has_ended_is_not_open),
		cmocka_unit_test(what_is_no_event_does_not_go_on),
		cmocka_unit_test(open_events_of_one_group_add_up),
		cmocka_unit_test(in_exact_mode_it_is_by_the_threads_own_clock),
		cmocka_unit_test(a_stay_outside_of_events_waits_in_exact_mode),
		cmocka_unit_test(the_margin_of_what_goes_on_is_in_the_difference),
		cmocka_unit_test(what_never_comes_leaves_no_negative_counts),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
