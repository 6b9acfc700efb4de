/* SPDX-License-Identifier: BSD-2-Clause */
/* CPU time by a clock that goes on at ticks and switches alone, as marks by traps have it. */
#include "sim.h"

#include "model/snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

/* One event of `ns`, whose thread's clock went on by `cpu_ns`, up to a tick old or exact. */
static void event_of(struct sim *s, u64 begin, u64 ns, u64 cpu_ns, bool coarse)
{
	struct vmspan_event *e;

	sim_event(s, begin);
	sim_event_end(s, begin + ns);
	e = (void *)s->data[s->at[s->records - 1]];
	e->cpu_ns_end = cpu_ns;
	if (coarse)
		e->h.depth |= VMSPAN_F_COARSE;
}

/* Of a thread's time that goes on at ticks alone, an event that is shorter has none or too much: the
 * sum is right. */
static void short_events_have_the_time_of_their_ticks(void **state)
{
	const struct model_config config = { .cycles_hz = NSEC_PER_SEC };
	struct snapshot *snap;
	struct model *m;
	struct sim *s;
	u64 i, coarse;

	(void)state;
	for (coarse = 0; coarse < 2; coarse++) {
		m = model_new(&config);
		s = sim_of(1, 200);
		assert_non_null(m);
		sim_start(m, "test");
		for (i = 0; i < 120; i++)
			event_of(s, 1000 + i * 200000, 100000, i % 40 ? 0 : 4000000, coarse);
		sim_feed(s, m, 10);
		assert_int_equal(model_finish(m), 0);
		snap = snapshot_take(m);
		assert_non_null(snap);
		/* An exact one may not have more than there was. */
		assert_int_equal(snap->events.cpu_ns, coarse ? 120 * 100000 : 3 * 100000);
		snapshot_free(snap);
		model_free(m);
		free(s);
	}
}

/* A thread whose CPU time its clock and, in exact mode, the scheduler's record tell. */
struct timed {
	struct model *m;
	struct sim *s, *sched;
	struct snapshot *snap; /* at the end */
};

static void timed_open(struct timed *t, bool exact)
{
	t->m = model_make(&(struct model_config){ .nested = NESTED_SUSPEND, .exact = exact });
	t->s = sim_new(1);
	t->s->tid = 1;
	t->sched = sim_of(1, 8);
	sim_off(t->sched, 900, 900, VMSPAN_OFF_START);
}

/* Of the group in whose compartment it was. */
static const struct group_stats *timed_end(struct timed *t, bool exact)
{
	if (exact)
		sim_feed_sched(t->sched, t->m);
	sim_feed(t->s, t->m, t->s->records);
	assert_int_equal(model_finish(t->m), 0);
	t->snap = snapshot_take(t->m);
	assert_non_null(t->snap);
	return &snapshot_group(t->snap, "addon:a")->stats;
}

static void timed_close(struct timed *t)
{
	snapshot_free(t->snap);
	model_free(t->m);
	free(t->sched);
	free(t->s);
}

/*
 * What is told too little of an event in it, it has too much, and may have; the scheduler's record knows
 * better. Here 90 us of CPU time that nobody read a clock for, in a stay that waits for 500 us of its 2000.
 */
static void an_event_has_what_is_told_too_little_of_one_in_it(void **state)
{
	const u64 us = 1000;
	struct vmspan_event *inner;
	u32 exact;

	(void)state;
	for (exact = 0; exact < 2; exact++) {
		const struct group_stats *a;
		struct timed t;

		timed_open(&t, exact);
		sim_off(t.sched, 1500 * us, 2000 * us, VMSPAN_OFF_SLEEPING);
		sim_event(t.s, 1000);
		sim_enter(t.s, 1000, 1, VMSPAN_SPAN);
		sim_event(t.s, 1000 * us);
		sim_event_end(t.s, 1090 * us);
		inner = last_event(t.s);
		inner->cpu_ns_end = inner->cpu_ns_begin;
		inner->h.depth |= VMSPAN_F_COARSE;
		t.s->off += 500 * us;
		sim_leave(t.s, 2001 * us);
		sim_event_end(t.s, 2001 * us);
		a = timed_end(&t, exact);
		assert_int_equal(t.snap->events.incomplete, 0);
		assert_int_equal(t.snap->repairs.stolen_ns, 0);
		assert_int_equal(a->cpu_ns, (exact ? 1410 : 1500) * us);
		assert_int_equal(a->cpu_margin_ns, exact ? 0 : 90 * us);
		timed_close(&t);
	}
}

/* How little an event in it says of its CPU time hides no more of what a hypervisor took than that. */
static void a_short_event_in_it_hides_no_stolen_time(void **state)
{
	const u64 us = 1000;
	struct vmspan_event *e;
	u32 nested;

	(void)state;
	for (nested = 0; nested < 3; nested++) {
		const struct group_stats *a;
		struct timed t;

		timed_open(&t, true);
		sim_event(t.s, 1000);
		sim_enter(t.s, 1000, 1, VMSPAN_SPAN);
		if (nested) {
			sim_event(t.s, 50000 * us);
			sim_event_end(t.s, 50010 * us);
			last_event(t.s)->h.depth |= nested == 2 ? VMSPAN_F_COARSE : 0;
		}
		sim_leave(t.s, 100001 * us);
		sim_event_end(t.s, 100001 * us);
		e = last_event(t.s);
		e->cpu_ns_end = e->cpu_ns_begin + 60000 * us;
		a = timed_end(&t, true);
		assert_int_equal(t.snap->events.incomplete, 1);
		assert_int_equal(t.snap->events.missing[MISSING_CPU], 1);
		assert_in_range(t.snap->repairs.stolen_ns, 39900 * us, 40100 * us);
		assert_in_range(a->cpu_ns, 59900 * us, 60100 * us);
		timed_close(&t);
	}
}

/* Nor do many, each as long as it likes: a clock is unread for so long at the ends of each. */
static void many_events_in_it_hide_little_stolen_time(void **state)
{
	const u64 us = 1000, many = 100, own = 500000, hidden = many * 300;
	/* Of the latter all is hidden. */
	const u64 cases[] = { 400000, 20000 };
	u32 c;

	(void)state;
	for (c = 0; c < ARRAY_SIZE(cases); c++) {
		const u64 stolen = cases[c], shown = stolen - min_u64(stolen, hidden);
		const struct group_stats *a;
		struct vmspan_event *e;
		struct timed t;
		u64 at = 1000, i;

		timed_open(&t, true);
		sim_event(t.s, at);
		sim_enter(t.s, at, 1, VMSPAN_SPAN);
		for (i = 0; i < many; i++) {
			sim_event(t.s, at);
			at += 5000 * us;
			sim_event_end(t.s, at);
			last_event(t.s)->h.depth |= VMSPAN_F_COARSE | VMSPAN_F_UNREAD;
		}
		at += own * us;
		sim_leave(t.s, at);
		sim_event_end(t.s, at);
		e = last_event(t.s);
		e->cpu_ns_end -= stolen * us;
		a = timed_end(&t, true);
		assert_int_equal(t.snap->events.incomplete, !!shown);
		assert_in_range(t.snap->repairs.stolen_ns, shown * us, (shown ? stolen : 0) * us);
		/* What is hidden may be the group's, and is in its margin. */
		assert_in_range((own - stolen) * us, a->cpu_ns - a->cpu_margin_ns, a->cpu_ns);
		timed_close(&t);
	}
}

/*
 * A clock that was told a little before both ends of an event shows what was stolen of it but for that,
 * whatever the scheduler took besides; one of long before, or of ticks, shows nothing.
 */
static void a_clock_of_a_little_before_shows_what_was_stolen(void **state)
{
	const u64 us = 1000;
	const struct {
		u32 flags;
		u64 off_us, stolen_us;
		bool shown;
	} cases[] = {
		{ VMSPAN_F_COARSE | VMSPAN_F_UNREAD, 0, 1000, true },
		{ VMSPAN_F_COARSE | VMSPAN_F_UNREAD, 800, 1000, true },
		/* As much may its clock be wrong by, and the two by 0.1 ms and a hundredth. */
		{ VMSPAN_F_COARSE | VMSPAN_F_UNREAD, 0, 440, false },
		{ VMSPAN_F_COARSE | VMSPAN_F_UNREAD, 0, 441, true },
		{ VMSPAN_F_COARSE, 0, 1000, false },
	};
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const u64 on = 4000 - cases[i].off_us, stolen = cases[i].stolen_us;
		const u64 cpu = on - (cases[i].shown ? stolen : 0);
		const struct group_stats *a;
		struct vmspan_event *e;
		struct timed t;

		timed_open(&t, true);
		if (cases[i].off_us)
			sim_off(t.sched, 2000 * us, (2000 + cases[i].off_us) * us,
				VMSPAN_OFF_PREEMPTED);
		sim_event(t.s, 1000 * us);
		sim_enter(t.s, 1000 * us, 1, VMSPAN_SPAN);
		sim_leave(t.s, 5000 * us);
		sim_event_end(t.s, 5000 * us);
		e = last_event(t.s);
		e->cpu_ns_end = e->cpu_ns_begin + (on - stolen) * us;
		e->h.depth |= cases[i].flags;
		a = timed_end(&t, true);
		assert_int_equal(t.snap->events.incomplete, cases[i].shown);
		assert_int_equal(t.snap->repairs.stolen_ns, cases[i].shown ? stolen * us : 0);
		assert_int_equal(t.snap->events.cpu_ns, cpu * us);
		assert_int_equal(a->cpu_ns, cpu * us);
		timed_close(&t);
	}
}

/* So much, and no more, is in the margin of its groups where no scheduler's record knows better. */
static void a_clock_of_a_little_before_has_a_small_margin(void **state)
{
	const u64 us = 1000;
	u32 little;

	(void)state;
	for (little = 0; little < 2; little++) {
		const struct group_stats *a;
		struct vmspan_event *e;
		struct timed t;

		timed_open(&t, false);
		sim_event(t.s, 1000 * us);
		sim_enter(t.s, 1000 * us, 1, VMSPAN_SPAN);
		sim_leave(t.s, 5000 * us);
		sim_event_end(t.s, 5000 * us);
		e = last_event(t.s);
		e->cpu_ns_end = e->cpu_ns_begin + 3000 * us;
		e->h.depth |= VMSPAN_F_COARSE | (little ? VMSPAN_F_UNREAD : 0);
		a = timed_end(&t, false);
		assert_int_equal(t.snap->events.incomplete, 0);
		assert_int_equal(t.snap->events.cpu_ns, 3000 * us);
		assert_int_equal(a->cpu_ns, 3000 * us);
		assert_int_equal(a->cpu_margin_ns, (little ? 300 : 3000) * us);
		timed_close(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_events_have_the_time_of_their_ticks),
		cmocka_unit_test(an_event_has_what_is_told_too_little_of_one_in_it),
		cmocka_unit_test(a_short_event_in_it_hides_no_stolen_time),
		cmocka_unit_test(many_events_in_it_hide_little_stolen_time),
		cmocka_unit_test(a_clock_of_a_little_before_shows_what_was_stolen),
		cmocka_unit_test(a_clock_of_a_little_before_has_a_small_margin),
	};

	return cmocka_run_group_tests_name("coarse", tests, NULL, NULL);
}
