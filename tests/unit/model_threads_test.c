/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of a model: their names, and what becomes of their records when they end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim.h"

static struct model *m;
static char told[256]; /* names as they are told to an observer, and of whom events are */

static int hear_thread(void *ctx, const struct model_thread *t)
{
	size_t n = strlen(told);

	(void)ctx;
	snprintf(told + n, sizeof(told) - n, "%u=%s ", t->tid, t->name);
	return 0;
}

static int hear_event(void *ctx, const struct model_event *e)
{
	size_t n = strlen(told);

	(void)ctx;
	snprintf(told + n, sizeof(told) - n, "%s:%u ", e->thread->name, e->iteration);
	return 0;
}

static int model_open(void **state)
{
	static const struct model_observer observer = { .thread = hear_thread,
							.event = hear_event };

	(void)state;
	told[0] = 0;
	m = model_make(&(struct model_config){ 0 });
	model_observe(m, &observer, NULL);
	return 0;
}

static int model_close(void **state)
{
	(void)state;
	model_free(m);
	return 0;
}

static void thread(u32 tid, const char *name, bool ended)
{
	const struct item it = {
		.type = ITEM_THREAD,
		.thread = { .pid = SIM_PID, .tid = tid, .ended = ended, .name = name }
	};

	assert_int_equal(model_item(m, &it), 0);
}

/* An event of three records from its begin on. */
static void make_event(struct sim *s, u64 begin)
{
	sim_event(s, begin);
	sim_enter(s, begin + 10, 1, VMSPAN_SPAN);
	sim_leave(s, begin + 20);
	sim_enter(s, begin + 30, 2, VMSPAN_SPAN);
	sim_leave(s, begin + 50);
	sim_event_end(s, begin + 100);
}

static void records(const struct sim *s, u32 from, u32 to)
{
	assert_int_equal(sim_batch(s, m, SIM_PID, from, to), 0);
}

static void a_name_is_known_before_and_changes_after(void **state)
{
	struct sim *s = sim_of(1, 9);

	(void)state;
	make_event(s, 1000);
	make_event(s, 2000);
	make_event(s, 3000);
	thread(1, "first", false);
	assert_string_equal(told, "");
	records(s, 0, 3);
	thread(1, "second", false);
	thread(1, "second", false);
	records(s, 3, 6);
	/* Without a name it keeps its own. */
	thread(1, "", false);
	records(s, 6, 9);
	assert_string_equal(told, "first:1 1=second second:2 second:3 ");
	free(s);
}

/* Numbers are used again: the next thread of one has no name of the last one's. */
static void a_name_ends_with_its_thread(void **state)
{
	struct sim *one = sim_of(1, 3), *two = sim_of(2, 6), *next = sim_of(1, 3);

	(void)state;
	make_event(one, 1000);
	make_event(two, 1000);
	make_event(two, 3000);
	make_event(next, 2000);
	thread(1, "one", false);
	thread(2, "two", false);
	records(one, 0, 3);
	records(two, 0, 3);
	thread(1, "", true);
	records(next, 0, 3);
	/* Others go on as they are. */
	records(two, 3, 6);
	assert_string_equal(told, "one:1 two:1 :1 two:2 ");
	free(one);
	free(two);
	free(next);
}

/* A batch that waits for one before it is taken in when its thread ends, and what lacks is counted. */
static void what_waits_is_taken_in_at_the_end(void **state)
{
	struct sim *s = sim_of(1, 6), *other = sim_of(2, 6);
	struct snapshot *snap;

	(void)state;
	make_event(s, 1000);
	make_event(s, 2000);
	make_event(other, 1000);
	make_event(other, 2000);
	records(s, 0, 2);
	records(other, 0, 2);
	/* One record is missing: who knows whether it is still on its way? */
	records(s, 3, 6);
	records(other, 3, 6);
	assert_string_equal(told, "");
	thread(1, "", true);
	/* Of the first event the end is what is missing: what it had is told of without. */
	assert_string_equal(told, ":2 :1 ");
	snap = snapshot_take(m);
	assert_int_equal(snap->losses.records[LOSS_SEQUENCE_GAP], 1);
	snapshot_free(snap);
	/* The other one's comes. */
	records(other, 2, 3);
	assert_string_equal(told, ":2 :1 :1 :2 ");
	snap = snapshot_take(m);
	assert_int_equal(snap->losses.records[LOSS_SEQUENCE_GAP], 1);
	assert_int_equal(snap->events.count, 4);
	snapshot_free(snap);
	free(s);
	free(other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, model_open, model_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_name_is_known_before_and_changes_after),
		TEST(a_name_ends_with_its_thread),
		TEST(what_waits_is_taken_in_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
