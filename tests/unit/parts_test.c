/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of a trace that were switched off for a while: which events lack something for it, for
 * how long it was, and what is not believed then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "model/parts.h"
#include "sim.h"

static void say_part(struct model *m, u64 registry, enum model_part part, u64 off, u64 on)
{
	u64 space[PART_DEF_SLOTS * VMSPAN_SLOT / 8];
	struct item it = { .type = ITEM_DEFS };

	part_define((void *)space, part, off, on);
	it.defs = (struct item_defs){ SIM_PID, registry, space, sizeof(space) };
	assert_int_equal(model_item(m, &it), 0);
}

static void is_off(struct model *m, enum model_part part, u64 off, u64 on)
{
	say_part(m, ITEM_TRACER_REGISTRY, part, off, on);
}

static void clock_at(struct model *m, u64 ns)
{
	struct item it = { .type = ITEM_CLOCK, .clock = { ns, ns, ns } };

	assert_int_equal(model_item(m, &it), 0);
}

static void plain_event(struct sim *s, u64 begin, u64 end)
{
	sim_event(s, begin);
	sim_enter(s, begin + 1, 1, VMSPAN_SPAN);
	sim_leave(s, end - 1);
	sim_event_end(s, end);
}

static u64 incomplete(struct model *m, struct sim *s)
{
	struct snapshot *snap;
	u64 n;

	sim_feed(s, m, 64);
	snap = snapshot_take(m);
	assert_non_null(snap);
	n = snap->events.incomplete;
	assert_int_equal(snap->events.missing[MISSING_PART], n);
	snapshot_free(snap);
	model_free(m);
	free(s);
	return n;
}

/* Each event that a gap touches lacks something, at either end too, and no other. */
static void events_that_a_gap_touches_are_incomplete(void **state)
{
	static const struct {
		u64 begin, end;
		bool lacks;
	} events[] = {
		{ 1000, 2000, false }, { 1000, 2001, true },  { 2100, 2200, true },
		{ 2999, 4000, true },  { 3000, 4000, false }, { 1000, 4000, true },
	};
	u32 part, i;

	(void)state;
	/* Turns that were off are no events: see below. */
	for (part = TRACE_BLOCKING; part < TRACE_PARTS; part++)
		for (i = 0; i < ARRAY_SIZE(events); i++) {
			struct model *m = model_make(&(struct model_config){ 0 });
			struct sim *s = sim_new(1);

			is_off(m, (enum model_part)part, 2000, 3000);
			plain_event(s, events[i].begin, events[i].end);
			assert_int_equal(incomplete(m, s), events[i].lacks);
		}
}

static void a_part_that_is_off_still_is_lacking_from_then_on(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(1);

	(void)state;
	is_off(m, TRACE_GC, 2000, UINT64_MAX);
	plain_event(s, 1000, 2000);
	plain_event(s, 5000, 6000);
	plain_event(s, 7000, 8000);
	assert_int_equal(incomplete(m, s), 2);
}

/* Nothing is known of before turns came back: what began then is no event. */
static void turns_that_come_back_begin_anew(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(1);
	struct snapshot *snap;

	(void)state;
	is_off(m, TRACE_TURNS, 2000, UINT64_MAX);
	is_off(m, TRACE_TURNS, 2000, 3000);
	plain_event(s, 2500, 3500);
	plain_event(s, 4000, 4100);
	sim_feed(s, m, 64);
	snap = snapshot_take(m);
	assert_int_equal(snap->events.count, 1);
	assert_int_equal(snap->events.incomplete, 0);
	assert_int_equal(snap->repairs.before_attach, 2);
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* A target cannot say it: only the tracer's own registry counts, and what makes sense. */
static void only_the_tracer_says_it(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(1);

	(void)state;
	say_part(m, SIM_REGISTRY, TRACE_GC, 0, UINT64_MAX);
	is_off(m, TRACE_PARTS, 0, UINT64_MAX);
	is_off(m, TRACE_GC, 3000, 2000);
	plain_event(s, 1000, 4000);
	assert_int_equal(incomplete(m, s), 0);
}

static struct part_off off_of(const struct model *m, enum model_part part)
{
	struct snapshot *snap = snapshot_take(m);
	struct part_off off;

	assert_non_null(snap);
	off = snap->parts[part];
	snapshot_free(snap);
	return off;
}

/* However many gaps there were: their lengths are summed, and what lies before the oldest
 * that is known one by one is in doubt. */
static void time_off_is_summed(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(1);
	u64 t, sum = 0;
	u32 i;

	(void)state;
	for (i = 0; i < 3 * PART_GAPS; i++) {
		t = 1000 * (i + 1);
		is_off(m, TRACE_SAMPLES, t, UINT64_MAX);
		clock_at(m, t + 10 * i);
		assert_true(off_of(m, TRACE_SAMPLES).now);
		assert_int_equal(off_of(m, TRACE_SAMPLES).ns, sum + 10 * i);
		is_off(m, TRACE_SAMPLES, t, t + 10 * i);
		/* It may be said again. */
		is_off(m, TRACE_SAMPLES, t, t + 10 * i);
		sum += 10 * i;
		assert_false(off_of(m, TRACE_SAMPLES).now);
		assert_int_equal(off_of(m, TRACE_SAMPLES).ns, sum);
		assert_int_equal(off_of(m, TRACE_GC).ns, 0);
	}
	plain_event(s, 1500, 1600); /* among those that are one */
	plain_event(s, t - 500, t - 400); /* between two */
	plain_event(s, t + 900, t + 950); /* behind all */
	assert_int_equal(incomplete(m, s), 1);
}

/* Where the scheduler was not recorded all along, what is known of it is not taken for all:
 * the waiting in the event is neither its own nor told of. */
static void without_the_scheduler_an_event_is_not_exact(void **state)
{
	u32 off;

	(void)state;
	for (off = 0; off < 2; off++) {
		struct model *m = model_make(&(struct model_config){ .exact = true });
		struct sim *s = sim_new(1), *sched = sim_new(1);
		struct snapshot *snap;

		sim_off(sched, 1, 1, VMSPAN_OFF_START);
		sim_off(sched, 1500, 1700, VMSPAN_OFF_SLEEPING);
		if (off)
			is_off(m, TRACE_BLOCKING, 1800, 1850);
		sim_event(s, 1000);
		sim_enter(s, 1100, 1, VMSPAN_SPAN);
		sim_leave(s, 1400);
		s->off += 200;
		sim_event_end(s, 2000);
		sim_feed_sched(sched, m);
		sim_feed(s, m, 64);
		snap = snapshot_take(m);
		assert_int_equal(snap->events.count, 1);
		assert_int_equal(snap->events.incomplete, off);
		assert_int_equal(snap->ledger.blocked_ns, off ? 0 : 200);
		assert_int_equal(snap->ledger.self_ns, 300);
		assert_int_equal(ledger_sum(&snap->ledger), 1000);
		snapshot_free(snap);
		model_free(m);
		free(sched);
		free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_that_a_gap_touches_are_incomplete),
		cmocka_unit_test(a_part_that_is_off_still_is_lacking_from_then_on),
		cmocka_unit_test(turns_that_come_back_begin_anew),
		cmocka_unit_test(only_the_tracer_says_it),
		cmocka_unit_test(time_off_is_summed),
		cmocka_unit_test(without_the_scheduler_an_event_is_not_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
