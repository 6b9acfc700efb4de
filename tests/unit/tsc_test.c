/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters of the CPUs: what is certain of them, and when they are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "attach/clock.h"
#include "attach/tsc_sync.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

static struct tsc_bound nothing(void)
{
	return (struct tsc_bound){ INT64_MIN, INT64_MAX };
}

static void test_one_exchange_bounds_both_ways(void **state)
{
	struct tsc_bound b = nothing();

	(void)state;
	tsc_bound_add(&b, 1000, 1040, 1100);
	assert_int_equal(b.least, -60);
	assert_int_equal(b.most, 40);
}

static void test_more_exchanges_only_tighten(void **state)
{
	struct tsc_bound b = nothing();

	(void)state;
	tsc_bound_add(&b, 1000, 1040, 1100);
	tsc_bound_add(&b, 2000, 2500, 9000);
	assert_int_equal(b.least, -60);
	assert_int_equal(b.most, 40);
	tsc_bound_add(&b, 3000, 3010, 3020);
	assert_int_equal(b.least, -10);
	assert_int_equal(b.most, 10);
}

static void test_time_that_goes_back_is_proof(void **state)
{
	struct tsc_bound b = nothing();

	(void)state;
	tsc_bound_add(&b, 1000, 400, 1100);
	assert_true(b.most < 0);
	b = nothing();
	tsc_bound_add(&b, UINT64_MAX - 5, 3, 10); /* the counter wraps */
	assert_int_equal(b.least, -7);
	assert_int_equal(b.most, 9);
}

/* 1 GHz, and off on one CPU. */
static s64 skew;
static u64 skewed(u32 cpu)
{
	return clock_mono_ns() + (cpu ? (u64)skew : 0);
}

static int cpus_here(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

static int measured(struct tsc_sync *s, tsc_counter counter, u64 hz)
{
	int r = -ENODATA, tries;

	/* Both sides must run at the same time; a busy machine may not let them. */
	for (tries = 0; tries < 100 && (r == -ENODATA || s->unmeasured); tries++)
		r = tsc_sync_measure(s, counter, hz);
	return r;
}

static void check_skew(s64 ns)
{
	struct err e = { 0 };
	struct tsc_sync s = { 0 };
	int tries = 0;

	skew = ns;
	/* If others had the CPU in every exchange, less is certain. */
	do {
		assert_int_equal(measured(&s, skewed, 1000000000), 0);
	} while (s.apart_ns < 500000 && ++tries < 50);
	assert_true(s.error_ns >= (u64)(ns < 0 ? -ns : ns));
	assert_true(s.apart_ns <= (u64)(ns < 0 ? -ns : ns));
	assert_true(s.apart_ns > (u64)(ns < 0 ? -ns : ns) / 2);
	assert_true(s.worst[0] == 0 || s.worst[1] == 0);
	assert_true(tsc_sync_refuses(&s, &e));
	assert_non_null(strstr(e.what, "disagree"));
}

static void test_a_skew_is_found_and_refused(void **state)
{
	(void)state;
	if (cpus_here() < 2) {
		print_message("skip: one CPU only\n");
		skip();
	}
	check_skew(1000000);
	check_skew(-1000000);
}

static void test_equal_clocks_are_never_refused(void **state)
{
	struct err e = { 0 };
	struct tsc_sync s = { 0 };

	(void)state;
	if (cpus_here() < 2) {
		print_message("skip: one CPU only\n");
		skip();
	}
	skew = 0;
	assert_int_equal(measured(&s, skewed, 1000000000), 0);
	assert_int_equal(s.apart_ns, 0);
	assert_true(s.cpus >= 2);
	assert_false(tsc_sync_refuses(&s, &e));
}

static u64 cpu_used_ns(void)
{
	struct timespec ts;

	assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts), 0);
	return (u64)ts.tv_sec * NSEC_PER_SEC + (u64)ts.tv_nsec;
}

static void test_it_is_bounded_and_goes_home(void **state)
{
	cpu_set_t before, after;
	struct tsc_sync s;
	u64 begin = cpu_used_ns();

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	tsc_sync_measure(&s, NULL, clock_hz(CLOCK_TSC));
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_true(CPU_EQUAL(&before, &after));
	/* 50 ms on two CPUs. By the clock it is more where others have them too. */
	assert_true(cpu_used_ns() - begin < NSEC_PER_SEC);
}

static void test_one_cpu_has_nothing_to_compare(void **state)
{
	cpu_set_t before, one;
	struct err e = { 0 };
	struct tsc_sync s;
	int i = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	while (!CPU_ISSET(i, &before))
		i++;
	CPU_ZERO(&one);
	CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(tsc_sync_measure(&s, NULL, 1000000000), 0);
	assert_int_equal(s.cpus, 1);
	assert_false(tsc_sync_refuses(&s, &e));
	sched_setaffinity(0, sizeof(before), &before);
}

static void test_the_step_is_what_most_are_multiples_of(void **state)
{
	u64 apart[64];
	u32 i;

	(void)state;
	for (i = 0; i < 64; i++)
		apart[i] = 26 * (1 + i * i % 41);
	assert_int_equal(clock_step_of(apart, 64), 26);
	for (i = 0; i < 64; i += 9) /* a second reading within one step */
		apart[i] = 1;
	assert_int_equal(clock_step_of(apart, 64), 26);
	apart[1] = 0;
	assert_int_equal(clock_step_of(apart, 64), 1); /* too many are none */
	for (i = 0; i < 64; i++)
		apart[i] = 30 + i * i % 41;
	assert_int_equal(clock_step_of(apart, 64), 1);
	/* A counter slower than it is read says nothing. */
	memset(apart, 0, sizeof(apart));
	assert_int_equal(clock_step_of(apart, 64), 1);
	assert_int_equal(clock_step(CLOCK_MONO), 1);
	assert_in_range(clock_step(CLOCK_TSC), 1, CLOCK_STEP_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_exchange_bounds_both_ways),
		cmocka_unit_test(test_more_exchanges_only_tighten),
		cmocka_unit_test(test_time_that_goes_back_is_proof),
		cmocka_unit_test(test_a_skew_is_found_and_refused),
		cmocka_unit_test(test_equal_clocks_are_never_refused),
		cmocka_unit_test(test_it_is_bounded_and_goes_home),
		cmocka_unit_test(test_one_cpu_has_nothing_to_compare),
		cmocka_unit_test(test_the_step_is_what_most_are_multiples_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
