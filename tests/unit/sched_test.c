/* SPDX-License-Identifier: BSD-2-Clause */
/* Intervals off the CPU and the stays they lie in. */
#include "model/sched.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void off(struct sched *s, u64 begin, u64 end)
{
	struct vmspan_span r = { .begin = begin, .end = end };

	r.h.type = VMSPAN_OFF;
	r.h.depth = VMSPAN_OFF_PREEMPTED;
	assert_int_equal(sched_add(s, &r), 0);
}

static u64 taken(struct sched *s, u64 begin, u64 end)
{
	struct off_sum sum;

	assert_int_equal(sched_take(s, begin, end, &sum, NULL), 0);
	return sum.cycles[VMSPAN_OFF_PREEMPTED];
}

/* A long preemption right behind a stay that seems to begin in it was once taken
 * for all of the stay's time. */
static void an_interval_belongs_where_its_greater_part_lies(void **state)
{
	struct sched *s = sched_new();

	(void)state;
	assert_non_null(s);
	off(s, 90, 140); /* begins before the stay by the other clock */
	off(s, 200, 210);
	off(s, 995, 5000); /* behind it */
	assert_int_equal(taken(s, 100, 1000), 60);
	assert_int_equal(taken(s, 50, 6000), 4005);
	assert_int_equal(taken(s, 0, 6000), 0);
	off(s, 6000, 6090);
	off(s, 6950, 7010); /* mostly in the stay that ends at 7000 */
	assert_int_equal(taken(s, 6080, 7000), 60);
	assert_int_equal(taken(s, 5000, 8000), 90);
	sched_free(s);
}

static void what_lies_between_events_is_forgotten(void **state)
{
	struct sched *s = sched_new();

	(void)state;
	assert_non_null(s);
	off(s, 100, 200);
	off(s, 300, 400);
	assert_int_equal(taken(s, 290, 500), 100);
	sched_forget(s, 500);
	assert_int_equal(taken(s, 0, 1000), 0);
	sched_free(s);
}

/* Intervals that no stay takes are given up when there are too many, and stays
 * that began among them are not covered any more. */
static void too_many_intervals_leave_a_gap(void **state)
{
	struct sched *s = sched_new();
	u64 i, half = SCHED_WAITING / 2;

	(void)state;
	assert_non_null(s);
	for (i = 0; i < SCHED_WAITING; i++)
		off(s, 1000 + 10 * i, 1005 + 10 * i);
	assert_int_equal(s->from, 1000);
	assert_int_equal(s->len, SCHED_WAITING);
	off(s, 1000 + 10 * i, 1005 + 10 * i);
	assert_int_equal(s->len, half + 1);
	/* The end of the last one that is gone. */
	assert_int_equal(s->from, 1005 + 10 * (half - 1));
	assert_int_equal(taken(s, 0, 2000 + 10 * i), 5 * (half + 1));
	sched_free(s);
}

/* What cannot be believed is no time, and what it may lie in is not covered. */
static void an_unbelievable_interval_leaves_a_gap(void **state)
{
	static const struct {
		u64 begin, end, from;
		u32 reason;
	} bad[] = {
		{ 400, 350, 400, VMSPAN_OFF_PREEMPTED },
		{ 150, 350, 350, VMSPAN_OFF_PREEMPTED }, /* begins within the one before */
		{ 300, 450, 450, VMSPAN_OFF_REASONS },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct vmspan_span r = { .begin = bad[i].begin, .end = bad[i].end };
		struct sched *s = sched_new();

		assert_non_null(s);
		off(s, 100, 200);
		assert_int_equal(s->from, 100);
		r.h.type = VMSPAN_OFF;
		r.h.depth = (u16)bad[i].reason;
		assert_int_equal(sched_add(s, &r), 0);
		assert_int_equal(s->from, bad[i].from);
		off(s, 500, 510);
		assert_int_equal(s->from, bad[i].from);
		assert_int_equal(taken(s, 0, 1000), 110);
		sched_free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interval_belongs_where_its_greater_part_lies),
		cmocka_unit_test(what_lies_between_events_is_forgotten),
		cmocka_unit_test(too_many_intervals_leave_a_gap),
		cmocka_unit_test(an_unbelievable_interval_leaves_a_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
