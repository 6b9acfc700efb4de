/* SPDX-License-Identifier: BSD-2-Clause */
/* What the live view keeps beside snapshots: the worst events of late, threads, callers and callees. */
#include "sink/recent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define MS NSEC_PER_MSEC

static const struct model_thread thread = { 42, 44, 1, "main", "host", false };

static void span(struct recent *r, const char *group, u16 depth, u64 begin, u64 end)
{
	const struct model_span s = { .thread = &thread,
				      .type = VMSPAN_SPAN,
				      .group = group,
				      .depth = depth,
				      .begin_ns = begin,
				      .end_ns = end };

	assert_int_equal(recent_spans_observer.span(r, &s), 0);
}

static void event(struct recent *r, const char *group, u64 wall, u64 end, u32 iteration)
{
	const struct model_share share = { .group = group, .wall_ns = wall };
	const struct model_event e = { .thread = &thread,
				       .label = "input",
				       .iteration = iteration,
				       .end_ns = end,
				       .ledger.event_wall_ns = wall,
				       .shares = &share,
				       .share_count = 1 };

	assert_int_equal(recent_spans_observer.event(r, &e), 0);
}

static void calls_are_between_a_span_and_those_right_inside(void **state)
{
	struct recent_edge e[RECENT_EDGES];
	struct recent *r = recent_new();

	(void)state;
	recent_focus(r, "b");
	/* a( b( c( d ) c ) b ), then b from the event loop. */
	span(r, "d", 3, 30, 40);
	span(r, "c", 2, 20, 50);
	span(r, "c", 2, 60, 65);
	span(r, "b", 1, 10, 70);
	span(r, "b", 1, 80, 90);
	span(r, "a", 0, 0, 100);
	span(r, "b", 0, 110, 117);
	event(r, "b", 200, 200, 1);
	assert_int_equal(recent_callers(r, e), 2);
	assert_string_equal(e[0].group, "a");
	assert_int_equal(e[0].calls, 2);
	assert_int_equal(e[0].wall_ns, 60 + 10);
	assert_null(e[1].group);
	assert_int_equal(e[1].wall_ns, 7);
	assert_int_equal(recent_callees(r, e), 1);
	assert_string_equal(e[0].group, "c");
	assert_int_equal(e[0].calls, 2);
	assert_int_equal(e[0].wall_ns, 30 + 5);
	/* Another group begins anew. */
	recent_focus(r, "c");
	assert_int_equal(recent_callers(r, e), 0);
	assert_int_equal(recent_callees(r, e), 0);
	recent_focus(r, NULL);
	span(r, "c", 0, 0, 100);
	event(r, "c", 200, 200, 2);
	assert_int_equal(recent_callers(r, e), 0);
	recent_free(r);
}

/* A group that calls itself is neither its caller nor its callee. */
static void a_group_is_not_its_own_callee(void **state)
{
	struct recent_edge e[RECENT_EDGES];
	struct recent *r = recent_new();

	(void)state;
	recent_focus(r, "b");
	span(r, "c", 2, 20, 30);
	span(r, "b", 1, 10, 40);
	span(r, "b", 0, 0, 50);
	event(r, "b", 50, 50, 1);
	assert_int_equal(recent_callers(r, e), 1);
	assert_null(e[0].group);
	assert_int_equal(e[0].wall_ns, 50);
	assert_int_equal(recent_callees(r, e), 1);
	assert_string_equal(e[0].group, "c");
	recent_free(r);
}

/* What a nested event ran is inside of a span of the event around it. */
static void a_nested_event_does_not_end_the_one_around_it(void **state)
{
	const struct model_event nested = { .thread = &thread, .iteration = 2, .parent = 1 };
	struct recent_edge e[RECENT_EDGES];
	struct recent *r = recent_new();

	(void)state;
	recent_focus(r, "b");
	span(r, "b", 1, 10, 40);
	assert_int_equal(recent_spans_observer.event(r, &nested), 0);
	span(r, "a", 0, 0, 50);
	event(r, "a", 50, 50, 1);
	assert_int_equal(recent_callers(r, e), 1);
	assert_string_equal(e[0].group, "a");
	recent_free(r);
}

static void the_worst_events_of_late_are_kept(void **state)
{
	struct recent_event worst[RECENT_EVENTS];
	struct recent *r = recent_new();
	u32 i;

	(void)state;
	for (i = 1; i <= 100; i++)
		event(r, "b", (i * 37 % 101) * MS, i * NSEC_PER_SEC, i);
	event(r, "b", RECENT_LEAST_NS - 1, 101 * NSEC_PER_SEC, 101);
	assert_int_equal(recent_worst(r, "b", worst), RECENT_EVENTS);
	for (i = 0; i < RECENT_EVENTS; i++)
		assert_int_equal(worst[i].wall_ns, (100 - i) * MS);
	assert_int_equal(recent_worst(r, "other", worst), 0);
	/* Ten minutes later all of them give way. */
	for (i = 0; i < RECENT_EVENTS; i++)
		event(r, "b", (i + 1) * MS, (700 + i) * NSEC_PER_SEC, 200 + i);
	assert_int_equal(recent_worst(r, "b", worst), RECENT_EVENTS);
	assert_int_equal(worst[0].wall_ns, RECENT_EVENTS * MS);
	/* The thread has them all. */
	assert_int_equal(recent_thread_count(r), 1);
	assert_int_equal(recent_thread_at(r, 0)->total.events, 101 + RECENT_EVENTS);
	assert_int_equal(recent_thread_at(r, 0)->total.max_ns, 100 * MS);
	recent_free(r);
}

static void a_thread_has_the_sums_of_its_events(void **state)
{
	struct model_event e = { .thread = &thread,
				 .label = "input",
				 .end_ns = 100 * MS,
				 .cpu_ns = 5 * MS,
				 .ledger = { .event_wall_ns = 8 * MS,
					     .self_ns = 4 * MS,
					     .gc_ns = 2 * MS,
					     .blocked_ns = MS } };
	const struct group_stats *f;
	struct recent *r = recent_new();
	u32 i;

	(void)state;
	for (i = 0; i < 5; i++) {
		e.missing = i >= 2 ? MISSING_RECORDS : MISSING_NOTHING;
		assert_int_equal(recent_spans_observer.event(r, &e), 0);
	}
	assert_int_equal(recent_thread_count(r), 1);
	f = &recent_thread_at(r, 0)->total;
	assert_int_equal(f->events, 5);
	assert_int_equal(f->incomplete, 3);
	assert_int_equal(f->wall_ns, 40 * MS);
	assert_int_equal(f->self_ns, 20 * MS);
	assert_int_equal(f->cpu_ns, 25 * MS);
	assert_int_equal(f->gc_ns, 10 * MS);
	assert_int_equal(f->blocked_ns, 5 * MS);
	assert_int_equal(f->max_ns, 8 * MS);
	/* Longer than 1, 2 and 4 ms, and of 8 ms exactly. */
	for (i = 0; i < JANK_BUCKETS; i++)
		assert_int_equal(f->durations[i], i < 3 ? 5 : 0);
	/* What an interval had is what came since the one before. */
	assert_int_equal(recent_thread_at(r, 0)->interval_max_ns, 8 * MS);
	recent_tick(r);
	assert_int_equal(recent_thread_at(r, 0)->before.events, 5);
	assert_int_equal(recent_thread_at(r, 0)->interval_max_ns, 0);
	e.ledger.event_wall_ns = 3 * MS;
	assert_int_equal(recent_spans_observer.event(r, &e), 0);
	assert_int_equal(recent_thread_at(r, 0)->before.events, 5);
	assert_int_equal(recent_thread_at(r, 0)->interval_max_ns, 3 * MS);
	assert_int_equal(f->max_ns, 8 * MS);
	recent_free(r);
}

/* Whatever the target does: 8,192 groups and 4,096 threads are kept, the first ones. */
static void what_is_kept_of_late_is_bounded(void **state)
{
	enum {
		GROUPS = 8192,
		THREADS = 4096,
		MORE = 100
	};
	static char names[GROUPS + MORE][8];
	struct recent_event worst[RECENT_EVENTS];
	struct recent *r = recent_new();
	u32 i;

	(void)state;
	for (i = 0; i < GROUPS + MORE; i++) {
		snprintf(names[i], sizeof(names[i]), "%u", i);
		event(r, names[i], MS, NSEC_PER_SEC, i);
	}
	assert_int_equal(recent_worst(r, names[GROUPS - 1], worst), 1);
	assert_int_equal(recent_worst(r, names[GROUPS], worst), 0);
	assert_int_equal(recent_worst(r, names[GROUPS + MORE - 1], worst), 0);
	for (i = 0; i < THREADS + MORE; i++) {
		const struct model_thread other = { .id = 100 + i, .name = "w", .process = "p" };
		const struct model_event e = { .thread = &other, .label = "" };

		assert_int_equal(recent_events_observer.event(r, &e), 0);
	}
	assert_int_equal(recent_thread_count(r), THREADS);
	recent_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_between_a_span_and_those_right_inside),
		cmocka_unit_test(a_group_is_not_its_own_callee),
		cmocka_unit_test(a_nested_event_does_not_end_the_one_around_it),
		cmocka_unit_test(the_worst_events_of_late_are_kept),
		cmocka_unit_test(a_thread_has_the_sums_of_its_events),
		cmocka_unit_test(what_is_kept_of_late_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
