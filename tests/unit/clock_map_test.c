/* SPDX-License-Identifier: BSD-2-Clause */
/* From cycles to ns by readings of both. The counter's nominal rate is one cycle a ns. */
#include "model/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS NSEC_PER_MSEC

static struct clock_map c;

static int map_close(void **state)
{
	(void)state;
	clock_free(&c);
	return 0;
}

static void reading(u64 cycles, u64 ns)
{
	assert_int_equal(clock_add(&c, cycles, ns, NSEC_PER_SEC), 0);
}

static void before_the_first_reading_time_is_no_less_than_0(void **state)
{
	(void)state;
	assert_int_equal(clock_ns(&c, 77), 77);
	assert_int_equal(clock_cycles_of(&c, 77), 77);
	reading(1000 * MS, 400 * MS);
	assert_int_equal(clock_ns(&c, 1000 * MS), 400 * MS);
	assert_int_equal(clock_ns(&c, 700 * MS), 100 * MS);
	assert_int_equal(clock_ns(&c, 600 * MS), 0);
	assert_int_equal(clock_ns(&c, 0), 0);
	assert_int_equal(clock_cycles_of(&c, 0), 600 * MS);
	assert_int_equal(clock_cycles_of(&c, 500 * MS), 1100 * MS);
}

/* Readings a moment apart are a moment's noise: they move the map, and not its rate. */
static void readings_close_together_tell_no_rate(void **state)
{
	(void)state;
	reading(0, 0);
	/* Half a ms late: it is made up for in as long as it took, at the nominal rate. */
	reading(MS, MS + MS / 2);
	assert_int_equal(clock_ns(&c, MS), MS);
	assert_in_range(clock_ns(&c, 2 * MS), 2 * MS + MS / 2 - 2, 2 * MS + MS / 2);
}

/* From 10 ms on they do. */
static void readings_far_apart_tell_the_rate(void **state)
{
	(void)state;
	reading(0, 0);
	reading(100 * MS, 100 * MS + MS / 2);
	reading(200 * MS, 201 * MS);
	reading(300 * MS, 301 * MS + MS / 2);
	/* 1.005 ns a cycle. */
	assert_in_range(clock_ns(&c, 400 * MS) - clock_ns(&c, 300 * MS), 100 * MS + MS / 2 - 5,
			100 * MS + MS / 2 + 5);
}

/* However far behind the clock is, the map goes on, at half the clock's pace at least. */
static void a_map_that_is_ahead_does_not_stand_still(void **state)
{
	u64 before, at;

	(void)state;
	reading(0, 0);
	reading(20 * MS, 10 * MS);
	assert_int_equal(clock_ns(&c, 20 * MS), 20 * MS);
	assert_in_range(clock_ns(&c, 40 * MS), 25 * MS - 1, 25 * MS);
	before = clock_ns(&c, 20 * MS);
	for (at = 21; at < 60; at++) {
		assert_true(clock_ns(&c, at * MS) > before);
		before = clock_ns(&c, at * MS);
	}
}

/* A reading whose counter or clock goes back, or stands, is none. */
static void readings_that_go_back_are_none(void **state)
{
	(void)state;
	reading(100 * MS, 100 * MS);
	reading(100 * MS, 180 * MS);
	reading(90 * MS, 190 * MS);
	reading(200 * MS, 99 * MS);
	assert_int_equal(c.len, 1);
	assert_int_equal(clock_ns(&c, 200 * MS), 200 * MS);
}

/* Of more readings than are kept the newest half stays, and its times are what they were. */
static void the_newest_readings_are_kept(void **state)
{
	u64 i, last = 0;

	(void)state;
	for (i = 0; i < CLOCK_KNOTS; i++)
		reading(i * 20 * MS, i * 20 * MS + (i & 1));
	assert_int_equal(c.len, CLOCK_KNOTS);
	for (i = CLOCK_KNOTS / 2; i < CLOCK_KNOTS; i++)
		last ^= clock_ns(&c, i * 20 * MS + 7);
	reading(CLOCK_KNOTS * 20 * MS, CLOCK_KNOTS * 20 * MS);
	assert_int_equal(c.len, CLOCK_KNOTS / 2 + 1);
	assert_int_equal(c.knots[0].cycles, CLOCK_KNOTS / 2 * 20 * MS);
	for (i = CLOCK_KNOTS / 2; i < CLOCK_KNOTS; i++)
		last ^= clock_ns(&c, i * 20 * MS + 7);
	assert_int_equal(last, 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, map_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(before_the_first_reading_time_is_no_less_than_0),
		TEST(readings_close_together_tell_no_rate),
		TEST(readings_far_apart_tell_the_rate),
		TEST(a_map_that_is_ahead_does_not_stand_still),
		TEST(readings_that_go_back_are_none),
		TEST(the_newest_readings_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
