/* SPDX-License-Identifier: BSD-2-Clause */
/* The decision whether a group is slow, with virtual time. */
#include "sink/verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MS NSEC_PER_MSEC
#define SEC NSEC_PER_SEC
#define HOUR (3600 * SEC)

static u64 started, input;

static u64 get_started(void *ctx, u32 pid)
{
	(void)ctx;
	(void)pid;
	return started;
}

static u64 get_input(void *ctx, u32 pid, u64 ns)
{
	(void)ctx;
	(void)pid;
	return input <= ns ? input : 0;
}

static struct verdict_context calm(void)
{
	started = 1;
	input = 0;
	return (struct verdict_context){ .pressure_known = true,
					 .pressure = 5,
					 .started_ns = get_started,
					 .input_ns = get_input };
}

static struct alert jank(const char *group, u64 end, u64 total)
{
	struct alert a = { .id = 1, .group = group, .process = "p", .total_ns = total };

	a.event.begin_ns = end - total;
	a.event.end_ns = end;
	return a;
}

/* The verdict on a batch of one. */
static struct verdict one(struct verdicts *v, const struct alert *a, struct verdict_context c)
{
	struct alert_batch b = { .alerts = &a, .count = 1 };
	const struct verdict *out = NULL;

	assert_int_equal(verdicts_batch(v, &b, &c, &out), 0);
	assert_int_equal(out->alert, a->id);
	return *out;
}

static struct verdicts *make(void)
{
	struct verdict_config c = { 0 };
	struct verdicts *v = verdicts_new(&c);

	assert_non_null(v);
	return v;
}

/* n janks of the group, a second apart from `at` on; the last one's verdict. */
static enum verdict_reason many(struct verdicts *v, const char *group, u64 at, u32 n)
{
	enum verdict_reason r = VERDICT_SHORT;
	u32 i;

	for (i = 0; i < n; i++) {
		struct alert a = jank(group, at + i * SEC, 300 * MS);

		r = one(v, &a, calm()).reason;
	}
	return r;
}

static void more_than_three_times_is_slow(void **state)
{
	struct verdicts *v = make();
	u32 i;

	(void)state;
	for (i = 1; i <= 5; i++) {
		struct alert a = jank("addon:a", (100 + i) * SEC, 256 * MS);
		struct verdict d = one(v, &a, calm());

		assert_int_equal(d.occurrences, i < 5 ? i : 1);
		assert_int_equal(d.reason, i == 4 ? VERDICT_SLOW : VERDICT_SELDOM);
	}
	verdicts_free(v);
}

static void less_than_256_ms_does_not_count(void **state)
{
	struct verdicts *v = make();
	u32 i;

	(void)state;
	for (i = 0; i < 10; i++) {
		struct alert a = jank("addon:a", (100 + i) * SEC, 256 * MS - 1);

		assert_int_equal(one(v, &a, calm()).reason, VERDICT_SHORT);
	}
	verdicts_free(v);
}

static void notices_are_six_hours_apart(void **state)
{
	struct verdicts *v = make();

	(void)state;
	assert_int_equal(many(v, "addon:a", 100 * SEC, 4), VERDICT_SLOW);
	assert_int_equal(many(v, "addon:a", 103 * SEC + 6 * HOUR - 10 * SEC, 5), VERDICT_TOLD);
	assert_int_equal(many(v, "addon:a", 103 * SEC + 6 * HOUR + SEC, 1), VERDICT_SLOW);
	/* Another group is told for itself. */
	assert_int_equal(many(v, "addon:b", 110 * SEC + 6 * HOUR, 4), VERDICT_SLOW);
	verdicts_free(v);
}

/* In the original this never happened. */
static void five_quiet_minutes_reset_the_count(void **state)
{
	struct verdicts *v = make();
	struct alert a;

	(void)state;
	assert_int_equal(many(v, "addon:a", 100 * SEC, 3), VERDICT_SELDOM);
	a = jank("addon:a", 102 * SEC + 300 * SEC, 300 * MS);
	assert_int_equal(one(v, &a, calm()).reason, VERDICT_SLOW); /* just in time */
	assert_int_equal(many(v, "addon:b", 1000 * SEC, 3), VERDICT_SELDOM);
	a = jank("addon:b", 1002 * SEC + 300 * SEC + 1, 300 * MS);
	assert_int_equal(one(v, &a, calm()).occurrences, 1);
	verdicts_free(v);
}

static void a_freeze_is_told_at_once_and_again_after_two_minutes(void **state)
{
	struct verdicts *v = make();
	struct alert a = jank("addon:a", 100 * SEC, 5 * SEC);

	(void)state;
	assert_int_equal(one(v, &a, calm()).reason, VERDICT_FREEZE);
	a = jank("addon:a", 220 * SEC, 5 * SEC);
	assert_int_equal(one(v, &a, calm()).reason, VERDICT_TOLD);
	a = jank("addon:a", 220 * SEC + 1, 5 * SEC);
	assert_int_equal(one(v, &a, calm()).reason, VERDICT_FREEZE);
	verdicts_free(v);
}

static void idle_user_busy_system_and_warm_up_do_not_count(void **state)
{
	struct verdicts *v = make();
	struct alert a = jank("addon:a", 100 * SEC, 10 * SEC);
	struct verdict_context c = calm();

	(void)state;
	input = a.event.begin_ns - 3 * SEC;
	assert_int_equal(one(v, &a, c).reason, VERDICT_IDLE);
	c = calm();
	c.pressure = 40;
	assert_int_equal(one(v, &a, c).reason, VERDICT_BUSY);
	c = calm();
	c.running = 5;
	c.cpus = 2;
	assert_int_equal(one(v, &a, c).reason, VERDICT_BUSY);
	c = calm();
	started = 100 * SEC - 60 * SEC + 1;
	assert_int_equal(one(v, &a, c).reason, VERDICT_WARM_UP);
	/* None of them was counted; each edge just missed is a freeze. */
	c = calm();
	input = a.event.begin_ns - 3 * SEC + 1;
	started = 40 * SEC;
	c.pressure = 39;
	c.running = 4;
	c.cpus = 2;
	assert_int_equal(one(v, &a, c).reason, VERDICT_FREEZE);
	assert_int_equal(one(v, &a, c).occurrences, 1);
	verdicts_free(v);
}

/* With the pressure known, many at once are not taken for a busy system. */
static void a_crowd_means_busy_only_where_pressure_is_not_known(void **state)
{
	static const char *const names[] = { "addon:a", "addon:b", "addon:c",
					     "addon:d", "addon:e", "addon:f" };
	struct verdicts *v = make();
	const struct verdict *out;
	const struct alert *list[6];
	struct alert a[6];
	struct alert_batch b = { .alerts = list, .count = 6 };
	struct verdict_context c = calm();
	u32 i;

	(void)state;
	for (i = 0; i < 6; i++) {
		a[i] = jank(names[i], 100 * SEC, 300 * MS);
		list[i] = &a[i];
	}
	c.pressure_known = false;
	assert_int_equal(verdicts_batch(v, &b, &c, &out), 0);
	assert_int_equal(out[0].reason, VERDICT_BUSY);
	assert_int_equal(out[0].janky, 6);
	b.count = 5;
	assert_int_equal(verdicts_batch(v, &b, &c, &out), 0);
	assert_int_equal(out[0].reason, VERDICT_SELDOM);
	b.count = 6;
	c.pressure_known = true;
	assert_int_equal(verdicts_batch(v, &b, &c, &out), 0);
	assert_int_equal(out[5].reason, VERDICT_SELDOM);
	/* Groups are counted: one that is slow in two processes is one. */
	a[5].group = "addon:b";
	c.pressure_known = false;
	assert_int_equal(verdicts_batch(v, &b, &c, &out), 0);
	assert_int_equal(out[5].janky, 5);
	assert_int_not_equal(out[5].reason, VERDICT_BUSY);
	verdicts_free(v);
}

/* In the original it was the least janky one that was told. */
static void the_worst_of_a_batch_is_told(void **state)
{
	struct verdicts *v = make();
	struct alert a = jank("addon:a", 100 * SEC, 6 * SEC),
		     w = jank("addon:w", 100 * SEC, 9 * SEC),
		     z = jank("addon:z", 100 * SEC, 5 * SEC);
	const struct alert *list[] = { &a, &w, &z };
	struct alert_batch b = { .alerts = list, .count = 3 };
	struct verdict_context c = calm();
	const struct verdict *out;

	(void)state;
	w.id = 2;
	z.id = 3;
	assert_int_equal(verdicts_batch(v, &b, &c, &out), 0);
	assert_int_equal(out[0].reason, VERDICT_NOT_WORST);
	assert_int_equal(out[1].reason, VERDICT_FREEZE);
	assert_int_equal(out[2].reason, VERDICT_NOT_WORST);
	assert_int_equal(out[1].alert, 2);
	verdicts_free(v);
}

/* Of equals the one that was raised first: the same on every run. */
static void of_equals_the_first_is_told(void **state)
{
	struct verdicts *v = make();
	struct alert a = jank("addon:z", 100 * SEC, 6 * SEC),
		     w = jank("addon:a", 100 * SEC, 6 * SEC);
	const struct alert *list[] = { &a, &w };
	struct alert_batch b = { .alerts = list, .count = 2 };
	struct verdict_context c = calm();
	const struct verdict *out;

	(void)state;
	w.id = 2;
	assert_int_equal(verdicts_batch(v, &b, &c, &out), 0);
	assert_int_equal(out[0].reason, VERDICT_FREEZE);
	assert_int_equal(out[1].reason, VERDICT_NOT_WORST);
	verdicts_free(v);
}

static void causes_and_the_ignore_list(void **state)
{
	static const char *const ignore[] = { "addon:known*", NULL };
	struct verdict_config config = { .ignore = ignore };
	struct verdicts *v = verdicts_new(&config);
	struct alert a = jank("addon:known-slow", 100 * SEC, 10 * SEC);

	(void)state;
	assert_int_equal(one(v, &a, calm()).reason, VERDICT_IGNORED);
	a = jank("page:p", 100 * SEC, 10 * SEC);
	a.cause = CAUSE_INNER;
	assert_int_equal(one(v, &a, calm()).reason, VERDICT_INNER);
	a.cause = CAUSE_SYSTEM;
	assert_int_equal(one(v, &a, calm()).reason, VERDICT_SYSTEM);
	a.cause = CAUSE_OWN;
	assert_int_equal(one(v, &a, calm()).reason, VERDICT_FREEZE);
	verdicts_free(v);
}

static void the_past_is_bounded(void **state)
{
	struct verdicts *v = make();
	char name[32];
	u32 i;

	(void)state;
	for (i = 0; i < 5000; i++) {
		struct alert a;

		snprintf(name, sizeof(name), "addon:%u", i);
		a = jank(name, (100 + i) * SEC, 300 * MS);
		assert_int_equal(one(v, &a, calm()).reason, VERDICT_SELDOM);
	}
	/* What came last is kept. */
	for (i = 4990; i < 5000; i++) {
		struct alert a;

		snprintf(name, sizeof(name), "addon:%u", i);
		a = jank(name, 5101 * SEC, 300 * MS);
		assert_int_equal(one(v, &a, calm()).occurrences, 2);
	}
	verdicts_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_than_three_times_is_slow),
		cmocka_unit_test(less_than_256_ms_does_not_count),
		cmocka_unit_test(notices_are_six_hours_apart),
		cmocka_unit_test(five_quiet_minutes_reset_the_count),
		cmocka_unit_test(a_freeze_is_told_at_once_and_again_after_two_minutes),
		cmocka_unit_test(idle_user_busy_system_and_warm_up_do_not_count),
		cmocka_unit_test(a_crowd_means_busy_only_where_pressure_is_not_known),
		cmocka_unit_test(the_worst_of_a_batch_is_told),
		cmocka_unit_test(of_equals_the_first_is_told),
		cmocka_unit_test(causes_and_the_ignore_list),
		cmocka_unit_test(the_past_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
