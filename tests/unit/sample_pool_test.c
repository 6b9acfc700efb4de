/* SPDX-License-Identifier: BSD-2-Clause */
/* LEDGER.md, "Sampled events": events that share their looks, and threads that share what they leave. */
#include "sample_rig.h"

/* Rule: of pooled events a group was in those that it was seen in, running or waiting, and the program in all. */
static void test_pooled_events(void **state)
{
	struct model *m = start(false);
	struct sim *s = sim_new(1);
	struct snapshot *snap;
	u32 i;

	(void)state;
	for (i = 1; i <= 3; i++) {
		u64 begin = i * 50 * MS;

		look(s, begin + 1, PERIOD, 0, i, HEAVY, 0);
		look(s, begin + PERIOD, PERIOD, 0, i, HEAVY, i == 1 ? LIGHT : 0);
		event(s, begin, begin + 3 * PERIOD, i);
	}
	snap = finish(m, s);
	assert_int_equal(group(snap, "package:heavy")->samples, 6);
	assert_int_equal(group(snap, "package:heavy")->events, 3);
	assert_int_equal(group(snap, "package:light")->events, 1);
	snapshot_free(snap);

	/* Five requests that each wait, one of them for long, and run for so long that some are seen more than once, and
	 * one is not. */
	m = start(false);
	s = sim_new(1);
	for (i = 1; i <= 5; i++) {
		u64 begin = i * 200 * MS, off = i == 3 ? 115 * MS : 15 * MS;
		u32 looks = i == 5 ? 0 : i;

		look(s, begin + 2 * MS + off, off, VMSPAN_SAMPLE_OFF, i, HEAVY, 0);
		while (looks--)
			look(s, begin + 3 * MS + off, PERIOD, 0, i, i == 2 ? LIGHT : HEAVY, 0);
		waited(s, begin, begin + 20 * MS + off, off, i);
	}
	event(s, 1300 * MS, 1301 * MS, 6); /* of which nothing is known */
	snap = finish(m, s);
	assert_int_equal(snap->events.count, 6);
	assert_int_equal(group(snap, "package:heavy")->events, 5);
	assert_int_equal(group(snap, "package:light")->events, 1);
	assert_int_equal(group(snap, "top:test")->events, 6);
	snapshot_free(snap);
}

static void thread_ends(struct model *m, u32 tid)
{
	const struct item it = { .type = ITEM_THREAD,
				 .thread = {
					 .pid = SIM_PID, .tid = tid, .name = "", .ended = true } };

	assert_int_equal(model_item(m, &it), 0);
}

/* Forty threads run for 2.5 ms each, and ten of them are seen. */
static void forty_threads(struct model *m, bool they_end)
{
	u32 i;

	for (i = 0; i < 40; i++) {
		struct sim *s = sim_new(i + 1);
		u64 begin = i * 100 * MS + MS;

		if (i % 4 == 1)
			look(s, begin + MS, PERIOD, 0, 1, i < 28 ? HEAVY : LIGHT, 0);
		event(s, begin, begin + 5 * MS / 2, 1);
		sim_feed(s, m, 64);
		free(s);
		if (they_end)
			thread_ends(m, i + 1);
	}
}

/* Rule: what threads ran in which nobody looked at them is shared by the looks at others of their process. */
static void test_threads_share_what_they_leave(void **state)
{
	u32 they_end;

	(void)state;
	for (they_end = 0; they_end < 2; they_end++) {
		struct model *m = start(false);
		struct snapshot *snap;

		forty_threads(m, they_end);
		/* It is not kept back for ever. */
		snap = snapshot_take(m);
		assert_int_equal(snap->events.count, they_end ? 40 : 0);
		snapshot_free(snap);
		snap = finish(m, sim_new(41));
		assert_int_equal(snap->events.count, 40);
		assert_int_equal(snap->events.samples, 10);
		assert_int_equal(snap->ledger.event_wall_ns, 100 * MS);
		assert_int_equal(snap->ledger.lost_ns, 0);
		assert_int_equal(group(snap, "package:heavy")->self_samples, 7);
		assert_int_equal(group(snap, "package:light")->self_samples, 3);
		assert_int_equal(group(snap, "top:test")->events, 40);
		assert_int_equal(group(snap, "package:heavy")->self_ns, 70 * MS);
		assert_int_equal(group(snap, "package:light")->self_ns, 30 * MS);
		snapshot_free(snap);
	}
}

static void process_is(struct model *m, enum process_change change)
{
	const struct item it = {
		.type = ITEM_PROCESS,
		.process = { .pid = SIM_PID, .change = change, .name = "test", .vm = "" }
	};

	assert_int_equal(model_item(m, &it), 0);
}

/* Rule: at the end of a process, or of its program, nothing is kept back. */
static void test_a_process_leaves_nothing(void **state)
{
	static const enum process_change changes[] = { PROCESS_EXIT, PROCESS_EXEC };
	u32 i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct model *m = start(false);
		struct sim *s = sim_new(1);
		struct snapshot *snap;

		look(s, 10 * MS, PERIOD, 0, 1, HEAVY, 0);
		event(s, 9 * MS, 11 * MS, 1);
		sim_feed(s, m, 64);
		free(s);
		process_is(m, changes[i]);
		snap = snapshot_take(m);
		assert_int_equal(snap->events.count, 1);
		assert_int_equal(group(snap, "package:heavy")->self_ns, 2 * MS);
		snapshot_free(snap);
		model_free(m);
	}
}

/* Rule: what a thread leaves has its collections, and the events that were counted before. */
static void test_all_of_what_a_thread_leaves_is_counted(void **state)
{
	struct model *m = start(false);
	struct sim *s = sim_new(1);
	struct snapshot *snap;

	(void)state;
	/* A long wait, which has been counted, and 4 ms of a collection in what it ran. */
	look(s, 115 * MS, 110 * MS, VMSPAN_SAMPLE_OFF, 1, HEAVY, 0);
	collection(s, 0, 116 * MS, 120 * MS);
	waited(s, 5 * MS, 125 * MS, 110 * MS, 1);
	sim_feed(s, m, 64);
	free(s);
	s = sim_new(2);
	look(s, 150 * MS, PERIOD, 0, 1, LIGHT, 0);
	event(s, 149 * MS, 151 * MS, 1);
	sim_feed(s, m, 64);
	free(s);
	snap = finish(m, sim_new(3));
	assert_int_equal(snap->events.count, 2);
	assert_int_equal(snap->ledger.event_wall_ns, 122 * MS);
	assert_int_equal(snap->ledger.gc_ns, 4 * MS);
	assert_int_equal(snap->ledger.blocked_ns, 110 * MS);
	assert_int_equal(snap->events.cpu_ns, 12 * MS);
	assert_int_equal(group(snap, "package:light")->self_ns, 8 * MS);
	snapshot_free(snap);
}

/* Rule: time without a look is said to be that, and of what is counted as lost nothing else is. */
static void test_nobody_looked(void **state)
{
	struct model *m = start(false);
	struct sim *s = sim_new(1);
	struct snapshot *snap;

	(void)state;
	event(s, 10 * MS, 15 * MS, 1);
	snap = finish(m, s);
	assert_int_equal(snap->ledger.lost_ns, 5 * MS);
	assert_int_equal(snap->ledger.unseen_ns, 5 * MS);
	snapshot_free(snap);
}

/* Rule: where short events lack data, so do the groups that were seen in them, and the program in all. */
static void test_pooled_events_that_lack_data(void **state)
{
	struct model *m = start(false);
	struct sim *s = sim_new(1);
	struct snapshot *snap;
	u32 i;

	(void)state;
	for (i = 1; i <= 4; i++) {
		u64 begin = i * 50 * MS;

		look(s, begin + PERIOD, PERIOD, 0, i, i == 1 ? LIGHT : HEAVY, 0);
		event(s, begin, begin + 2 * PERIOD, i);
		last_event(s)->h.depth |= i <= 2 ? VMSPAN_F_LACKS : 0;
	}
	/* One that had waited for long has been counted when it is settled. */
	look(s, 500 * MS, 110 * MS, VMSPAN_SAMPLE_OFF, 5, HEAVY, 0);
	waited(s, 380 * MS, 510 * MS, 110 * MS, 5);
	last_event(s)->h.depth |= VMSPAN_F_LACKS;
	snap = finish(m, s);
	assert_int_equal(snap->events.count, 5);
	assert_int_equal(snap->events.incomplete, 3);
	assert_int_equal(group(snap, "package:heavy")->incomplete, 2);
	assert_int_equal(group(snap, "package:light")->incomplete, 1);
	assert_int_equal(group(snap, "top:test")->incomplete, 3);
	snapshot_free(snap);
}

/* Rule: what is waited in a collection is that of the collection. */
static void test_a_wait_in_a_collection(void **state)
{
	u32 shared;

	(void)state;
	for (shared = 0; shared < 2; shared++) {
		struct model *m = start(false);
		struct sim *s = sim_new(1);
		struct snapshot *snap;
		u32 i;

		/* 50 ms of code, a collection of as much, with a page fault of 30 ms in it. */
		for (i = 0; i < 5; i++)
			look(s, MS + i * PERIOD, PERIOD, 0, 1, HEAVY, 0);
		look(s, 90 * MS, 30 * MS, VMSPAN_SAMPLE_OFF | VMSPAN_SAMPLE_GC, 1, HEAVY, 0);
		collection(s, 0, 51 * MS, 101 * MS);
		waited(s, MS, 101 * MS, shared ? 70 * MS : 30 * MS, 1);
		snap = finish(m, s);
		assert_int_equal(snap->ledger.gc_ns, 50 * MS);
		assert_int_equal(snap->ledger.blocked_ns, 0);
		assert_int_equal(snap->ledger.self_ns, 50 * MS);
		assert_int_equal(group(snap, "package:heavy")->blocked_ns, 0);
		/* Nobody looked at it while it ran: it was on the stack all the same. */
		assert_int_equal(group(snap, "package:heavy")->gc_ns, 50 * MS);
		assert_int_equal(group(snap, "package:heavy")->wall_ns, 100 * MS);
		assert_int_equal(group(snap, "package:heavy")->max_ns, shared ? 0 : 100 * MS);
		snapshot_free(snap);
	}
}

/* Rule: a collection is its groups' by how long each was seen in it, running or waiting. */
static void test_a_collection_is_shared_by_time(void **state)
{
	struct model *m = start(false);
	struct sim *s = sim_new(1);
	struct snapshot *snap;
	u32 i;

	(void)state;
	for (i = 0; i < 5; i++)
		look(s, MS + i * PERIOD, PERIOD, 0, 1, HEAVY, 0);
	look(s, 60 * MS, PERIOD, VMSPAN_SAMPLE_GC, 1, LIGHT, 0);
	look(s, 95 * MS, 30 * MS, VMSPAN_SAMPLE_OFF | VMSPAN_SAMPLE_GC, 1, HEAVY, 0);
	collection(s, 0, 51 * MS, 101 * MS);
	waited(s, MS, 101 * MS, 30 * MS, 1);
	snap = finish(m, s);
	assert_int_equal(snap->ledger.gc_ns, 50 * MS);
	assert_int_equal(group(snap, "package:heavy")->gc_ns, 37500000);
	assert_int_equal(group(snap, "package:light")->gc_ns, 12500000);
	snapshot_free(snap);
}

/* Rule: of an event in which no collection is known, what was waited was waited. */
static void test_a_wait_in_a_collection_that_is_not_known(void **state)
{
	struct model *m = start(false);
	struct sim *s = sim_new(1);
	struct snapshot *snap;
	u32 i;

	(void)state;
	for (i = 0; i < 7; i++)
		look(s, MS + i * PERIOD, PERIOD, 0, 1, HEAVY, 0);
	look(s, 101 * MS, 30 * MS, VMSPAN_SAMPLE_OFF | VMSPAN_SAMPLE_GC, 1, LIGHT, 0);
	waited(s, MS, 101 * MS, 30 * MS, 1);
	snap = finish(m, s);
	assert_int_equal(snap->ledger.blocked_ns, 30 * MS);
	assert_int_equal(snap->ledger.self_ns, 70 * MS);
	assert_int_equal(group(snap, "package:light")->blocked_ns, 30 * MS);
	assert_int_equal(group(snap, "package:light")->gc_ns, 0);
	snapshot_free(snap);
}

/* Rule: a thread that ran for four periods is shared by its own looks, whatever others did. */
static void test_a_thread_that_ran_for_long_keeps_its_own(void **state)
{
	struct model *m = start(false);
	struct sim *s = sim_new(1);
	struct snapshot *snap;
	u32 i;

	(void)state;
	for (i = 0; i < 10; i++) {
		u64 begin = i * 10 * MS + MS;

		if (i % 2)
			look(s, begin + MS, PERIOD, 0, i + 1, LIGHT, 0);
		event(s, begin, begin + 5 * MS, i + 1);
	}
	sim_feed(s, m, 64);
	free(s);
	s = sim_new(2);
	look(s, 150 * MS, PERIOD, 0, 1, HEAVY, 0);
	event(s, 149 * MS, 151 * MS, 1);
	sim_feed(s, m, 64);
	free(s);
	snap = finish(m, sim_new(3));
	assert_int_equal(group(snap, "package:light")->self_ns, 50 * MS);
	assert_int_equal(group(snap, "package:heavy")->self_ns, 2 * MS);
	snapshot_free(snap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pooled_events),
		cmocka_unit_test(test_threads_share_what_they_leave),
		cmocka_unit_test(test_a_process_leaves_nothing),
		cmocka_unit_test(test_all_of_what_a_thread_leaves_is_counted),
		cmocka_unit_test(test_nobody_looked),
		cmocka_unit_test(test_pooled_events_that_lack_data),
		cmocka_unit_test(test_a_wait_in_a_collection),
		cmocka_unit_test(test_a_collection_is_shared_by_time),
		cmocka_unit_test(test_a_wait_in_a_collection_that_is_not_known),
		cmocka_unit_test(test_a_thread_that_ran_for_long_keeps_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
