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

/*
 * The counter that is measured: 1 GHz, and off on all CPUs but the first. What has been read of it
 * says what the answer must be, to the cycle: its readings are ordered as the exchanges are.
 */
static struct {
	u32 first, other;
	s64 skew;
	u64 before, answer; /* of the exchange that runs; 0: none yet */
	u64 there, back; /* the shortest ways, of all exchanges */
} seen;

static u64 skewed(u32 cpu)
{
	u64 now = clock_mono_ns();

	if (cpu != seen.first) {
		/* The first turn of a CPU moves the other side there. */
		if (cpu != seen.other)
			seen.before = 0;
		seen.other = cpu;
		seen.answer = now;
		return now + (u64)seen.skew;
	}
	if (seen.before && seen.answer) {
		seen.there = min_u64(seen.there, seen.answer - seen.before);
		seen.back = min_u64(seen.back, now - seen.answer);
	}
	seen.before = now;
	seen.answer = 0;
	return now;
}

static int cpus_here(u32 *first)
{
	cpu_set_t set;

	*first = 0;
	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	while (!CPU_ISSET(*first, &set))
		(*first)++;
	return CPU_COUNT(&set);
}

static void two_cpus_or_skip(void)
{
	if (cpus_here(&seen.first) >= 2)
		return;
	print_message("skip: one CPU only\n");
	skip();
}

#define SKEW_NS 1000000

/* A busy machine may keep the sides from running at the same time: less is certain then. */
static void measure(struct tsc_sync *s, s64 skew)
{
	int r, tries;

	for (tries = 0; tries < 100; tries++) {
		seen.skew = skew;
		seen.other = UINT32_MAX;
		seen.before = 0;
		seen.there = seen.back = UINT64_MAX;
		r = tsc_sync_measure(s, skewed, NSEC_PER_SEC);
		if (seen.there >= SKEW_NS / 2 || seen.back >= SKEW_NS / 2)
			continue;
		assert_int_equal(r, 0);
		assert_in_range(s->cpus, 2, CPU_SETSIZE);
		return;
	}
	fail_msg("in %d tries others had a CPU in every exchange", tries);
}

static void check_skew(s64 skew)
{
	struct err e = { 0 };
	struct tsc_sync s = { 0 };

	measure(&s, skew);
	assert_int_equal(s.apart_ns, SKEW_NS - (skew > 0 ? seen.back : seen.there));
	if (s.cpus == 2)
		assert_int_equal(s.error_ns, SKEW_NS + (skew > 0 ? seen.there : seen.back));
	assert_true(s.error_ns >= SKEW_NS);
	assert_true(s.worst[0] == seen.first || s.worst[1] == seen.first);
	assert_true(tsc_sync_refuses(&s, "Without.", &e));
	assert_non_null(strstr(e.what, "disagree"));
}

static void test_a_skew_is_found_and_refused(void **state)
{
	(void)state;
	two_cpus_or_skip();
	check_skew(SKEW_NS);
	check_skew(-SKEW_NS);
}

static void test_equal_clocks_are_never_refused(void **state)
{
	struct err e = { 0 };
	struct tsc_sync s = { 0 };

	(void)state;
	two_cpus_or_skip();
	measure(&s, 0);
	assert_int_equal(s.apart_ns, 0);
	assert_false(tsc_sync_refuses(&s, "Without.", &e));
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

/* A trace asks for it several times as it begins. Two measurements differ by the last reading of a clock at least. */
static void test_the_rate_is_measured_once(void **state)
{
	u64 hz = clock_hz(CLOCK_TSC);
	int i;

	(void)state;
	assert_in_range(hz, 1000 * 1000, UINT64_C(20) * NSEC_PER_SEC);
	for (i = 0; i < 3; i++)
		assert_true(clock_hz(CLOCK_TSC) == hz);
	assert_true(clock_hz(CLOCK_MONO) == NSEC_PER_SEC);
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
	assert_false(tsc_sync_refuses(&s, "Without.", &e));
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
		cmocka_unit_test(test_the_rate_is_measured_once),
		cmocka_unit_test(test_one_cpu_has_nothing_to_compare),
		cmocka_unit_test(test_the_step_is_what_most_are_multiples_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
