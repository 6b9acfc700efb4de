/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks at a loop whose turns keep step with the timer (attach/vm_timers.h): the share
 * they tell, and the 95 % interval that is told with it. Time is simulated.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attach/vm_timers.h"
#include "base/array.h"
#include "model/sample.h"

enum {
	SECONDS = 10,
	RUNS = 100, /* of each loop */
};

static u64 next(u64 *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 20;
}

struct seen {
	u64 looks, heavy, all; /* all: of the time, the waiting included */
};

/* A loop with turns of `turn_ns`: one half it waits, six parts of ten of the other it
 * runs what is looked for. The reader comes by a little late each time. */
static struct seen look(u64 turn_ns, u32 hz, bool vary, u64 *random)
{
	const u64 end = SECONDS * NSEC_PER_SEC, every = vm_timers_every(hz), runs = turn_ns / 2;
	u64 period = vary ? vm_timers_period(hz, next(random)) : NSEC_PER_SEC / hz;
	u64 phase = next(random) % turn_ns, varied = every, now = next(random) % period;
	struct seen s = { 0 };

	while (now < end) {
		if (vary && now > varied) {
			period = vm_timers_period(hz, next(random));
			now = varied + period;
			varied += every + next(random) % (2 * NSEC_PER_MSEC);
		}
		s.all++;
		if ((now + phase) % turn_ns < runs) {
			s.looks++;
			s.heavy += (now + phase) % turn_ns < runs * 6 / 10;
		}
		now += period;
	}
	return s;
}

/* In how many runs the interval holds the share. */
static u32 held(u64 turn_ns, u32 hz, bool vary, u64 *random)
{
	u32 low, high, i, n = 0;

	for (i = 0; i < RUNS; i++) {
		struct seen s = look(turn_ns, hz, vary, random);

		sample_interval(s.heavy, s.looks, &low, &high);
		n += low <= 600000 && high >= 600000;
	}
	return n;
}

/* Turns of a twentieth of a period to three periods. */
static const u32 twentieths[] = { 1, 2, 4, 10, 20, 30, 40, 41, 50, 60 };

static void shares_of_loops_in_step_are_within_their_interval(void **state)
{
	u64 random = 1;
	u32 all = 0, n, i, k;
	const u32 hz[] = { 99, 999 };

	(void)state;
	for (k = 0; k < ARRAY_SIZE(hz); k++)
		for (i = 0; i < ARRAY_SIZE(twentieths); i++) {
			n = held(NSEC_PER_SEC / hz[k] * twentieths[i] / 20, hz[k], true, &random);
			/* 95 are expected; of 100 runs each that is 5.5 times their deviation. */
			assert_in_range(n, 83, RUNS);
			all += n;
		}
	assert_in_range(all, 93 * RUNS * ARRAY_SIZE(hz) * ARRAY_SIZE(twentieths) / 100,
			RUNS * ARRAY_SIZE(hz) * ARRAY_SIZE(twentieths));
}

/* Or the test above would prove nothing. */
static void with_one_period_they_are_not(void **state)
{
	u64 random = 1;

	(void)state;
	assert_int_equal(held(2 * NSEC_PER_SEC / 999, 999, false, &random), 0);
}

static void as_many_looks_as_asked_for(void **state)
{
	const u32 hz[] = { 10, 99, 999, 10000 };
	u64 random = 1, sum;
	u32 i, k;

	(void)state;
	for (k = 0; k < ARRAY_SIZE(hz); k++) {
		for (sum = i = 0; i < RUNS; i++)
			sum += look(3000000, hz[k], true, &random).all;
		assert_in_range(sum, hz[k] * SECONDS * RUNS * 98ull / 100,
				hz[k] * SECONDS * RUNS * 102ull / 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_of_loops_in_step_are_within_their_interval),
		cmocka_unit_test(with_one_period_they_are_not),
		cmocka_unit_test(as_many_looks_as_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
