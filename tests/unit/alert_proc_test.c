/* SPDX-License-Identifier: BSD-2-Clause */
/* Inputs and frames that alerts ask about, by process. */
#include "sink/alert.h"
#include "sink/alert_proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS NSEC_PER_MSEC

static void put(struct marks_seen *m, u32 pid, enum vmspan_type type, u64 ns)
{
	const struct model_thread thread = { .pid = pid, .tid = pid, .id = pid };
	const struct model_mark mark = { .thread = &thread, .type = type, .time_ns = ns };

	assert_int_equal(marks_seen_add(m, &mark), 0);
}

static void the_last_input_is_the_one_before(void **state)
{
	struct marks_seen *m = marks_seen_new();

	(void)state;
	assert_int_equal(marks_seen_input(m, 1, UINT64_MAX), 0);
	put(m, 1, VMSPAN_INPUT, 500);
	put(m, 1, VMSPAN_INPUT, 300);
	put(m, 1, VMSPAN_FRAME, 350);
	put(m, 1, VMSPAN_VALUE, 360);
	put(m, 2, VMSPAN_INPUT, 400);
	assert_int_equal(marks_seen_input(m, 1, 299), 0);
	assert_int_equal(marks_seen_input(m, 1, 300), 300);
	assert_int_equal(marks_seen_input(m, 1, 499), 300);
	assert_int_equal(marks_seen_input(m, 1, 500), 500);
	assert_int_equal(marks_seen_input(m, 2, 1000), 400);
	assert_int_equal(marks_seen_input(m, 3, 1000), 0);
	marks_seen_free(m);
}

/* From a while before the event to its end. */
static void input_is_a_reason_before_and_in_an_event(void **state)
{
	struct marks_seen *m = marks_seen_new();
	const u64 at = 1000 * MS;

	(void)state;
	put(m, 1, VMSPAN_INPUT, at);
	assert_int_equal(marks_seen_reasons(m, 1, at - 1, at, at + MS), ALERT_IN_INPUT);
	assert_int_equal(marks_seen_reasons(m, 1, at - MS, at - 1, at + MS), 0);
	assert_int_equal(
		marks_seen_reasons(m, 1, at + ALERT_INPUT_NS, at + 1000 * MS, at + 2000 * MS),
		ALERT_IN_INPUT);
	assert_int_equal(
		marks_seen_reasons(m, 1, at + ALERT_INPUT_NS + 1, at + 1000 * MS, at + 2000 * MS),
		0);
	assert_int_equal(marks_seen_reasons(m, 2, at, at + MS, at + MS), 0);
	/* The begin of the clock is no earlier than 0. */
	put(m, 3, VMSPAN_INPUT, 1);
	assert_int_equal(marks_seen_reasons(m, 3, 2, 3, 4), ALERT_IN_INPUT);
	marks_seen_free(m);
}

/* A frame that is too late may come behind the event. */
static void a_late_frame_is_a_reason_until_the_alert_is_given(void **state)
{
	struct marks_seen *m = marks_seen_new();
	const u64 late = 1000 * MS + ALERT_FRAME_NS;

	(void)state;
	put(m, 1, VMSPAN_FRAME, 1000 * MS);
	assert_int_equal(marks_seen_reasons(m, 1, 900 * MS, 2000 * MS, 2000 * MS), 0);
	put(m, 1, VMSPAN_FRAME, late);
	put(m, 1, VMSPAN_FRAME, late + ALERT_FRAME_NS - 1);
	assert_int_equal(marks_seen_reasons(m, 1, 900 * MS, late - 2, late - 1), 0);
	assert_int_equal(marks_seen_reasons(m, 1, 900 * MS, late - 2, late), ALERT_IN_ANIMATION);
	assert_int_equal(marks_seen_reasons(m, 1, late, late, late), ALERT_IN_ANIMATION);
	assert_int_equal(marks_seen_reasons(m, 1, late + 1, late + 500 * MS, late + 500 * MS), 0);
	marks_seen_free(m);
}

/* Those of processes that have ended make room, and no others. */
static void of_the_ended_so_many_are_kept(void **state)
{
	struct marks_seen *m = marks_seen_new();
	u32 pid;

	(void)state;
	put(m, 1, VMSPAN_INPUT, 100);
	put(m, 2, VMSPAN_INPUT, 100);
	marks_seen_end(m, 2);
	/* It has come back: another of that number. */
	put(m, 2, VMSPAN_INPUT, 200);
	marks_seen_end(m, 99);
	for (pid = 10; pid < 10 + 1023; pid++) {
		put(m, pid, VMSPAN_INPUT, pid);
		marks_seen_end(m, pid);
	}
	assert_int_equal(marks_seen_input(m, 10, 5000), 10);
	put(m, 5000, VMSPAN_INPUT, 5000);
	marks_seen_end(m, 5000);
	for (pid = 10; pid < 10 + 1023; pid++)
		assert_int_equal(marks_seen_input(m, pid, 5000), 0);
	assert_int_equal(marks_seen_input(m, 5000, 5000), 0);
	assert_int_equal(marks_seen_input(m, 1, 5000), 100);
	assert_int_equal(marks_seen_input(m, 2, 5000), 200);
	marks_seen_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_input_is_the_one_before),
		cmocka_unit_test(input_is_a_reason_before_and_in_an_event),
		cmocka_unit_test(a_late_frame_is_a_reason_until_the_alert_is_given),
		cmocka_unit_test(of_the_ended_so_many_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
