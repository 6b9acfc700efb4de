/* SPDX-License-Identifier: BSD-2-Clause */
/* Version 1 of the SDK where the system is not as usual: its answers are made up here, and so is the
 * moment at which it kills a thread. */
#ifndef __x86_64__
#include <stdio.h>
int main(void)
{
	return puts("skip sdk_system - the stand-in for a tracer knows x86-64 only") < 0;
}
#else
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int made_up_clock(clockid_t id, struct timespec *ts);
static long made_up_syscall(long number, ...);

#define clock_gettime(id, ts) made_up_clock(id, ts)
#define syscall(...) made_up_syscall(__VA_ARGS__)
#include "sdk_tracer.h"
#undef clock_gettime
#undef syscall

#include <errno.h>

enum {
	A = 1001
};

/* ---- Clocks ---- */

static struct {
	u64 now; /* ns */
	u32 reads; /* of CLOCK_MONOTONIC */
	u32 interrupted; /* so many of the next ones */
} clocks;

static int made_up_clock(clockid_t id, struct timespec *ts)
{
	*ts = (struct timespec){ 0, 0 };
	if (id != CLOCK_MONOTONIC)
		return 0;
	clocks.reads++;
	ts->tv_nsec = (long)(clocks.now += 1000);
	if (clocks.interrupted) {
		u64 begin = vmspan__cycles();

		clocks.interrupted--;
		while (vmspan__cycles() - begin <= VMSPAN__READ_CYCLES)
			;
	}
	return 0;
}

/* Everything in an event is scaled by its two moments: by the readings that nothing came
 * between, and where something always comes, by the last of a few. */
static void a_moment_that_was_interrupted_is_read_again(void **state)
{
	const struct vmspan_event *e;

	(void)state;
	tracer_on();
	clocks.now = clocks.reads = 0;
	clocks.interrupted = 2;
	vmspan_event_begin(0);
	/* The third is interrupted only where the machine is busy. */
	assert_true(clocks.reads == 3 || clocks.reads == 4);
	assert_int_equal(vmspan_self_1->turn[0].mono, clocks.now);
	clocks.reads = 0;
	clocks.interrupted = 100;
	vmspan_event_end();
	assert_int_equal(clocks.reads, 4);
	clocks.interrupted = 0;
	collect();
	assert_int_equal(seen_count, 1);
	e = expect_event(0, 0, 0);
	assert_int_equal(e->mono_end, clocks.now);
}

/* How long marks may wait is counted in the cycles that an event took. */
static void an_event_tells_how_fast_the_counter_is(void **state)
{
	const struct vmspan_event *e;

	(void)state;
	tracer_on();
	clocks.now = 0;
	vmspan_event_begin(0);
	clocks.now += 5000000;
	vmspan_event_end();
	collect();
	e = expect_event(0, 0, 0);
	assert_int_equal((e->mono_end - e->mono_begin) / 1000000, 5);
	assert_int_equal(vmspan_self_1->flush_cycles, (e->end - e->begin) * VMSPAN__FLUSH_MS / 5);
}

/* ---- The end of a thread ---- */

static u64 handed_from; /* the number of the batch's first record */
static u32 torn;

/* What the end of a process finds, where the thread is killed here. */
static bool killed_here(greg_t *ip)
{
	(void)ip;
	torn += vmspan_self_1->batch.seq != handed_from && vmspan_self_1->room != VMSPAN__SLOTS;
	return true;
}

/* Records that were handed over must not be found once more, with the next numbers. */
static void a_batch_is_empty_before_the_next_has_its_number(void **state)
{
	(void)state;
	tracer_on();
	for (u32 i = 0; i < 5; i++)
		vmspan_value(A, i);
	handed_from = vmspan_self_1->batch.seq;
	torn = 0;
	step_begin(killed_here);
	vmspan_flush();
	step_end();
	assert_int_equal(vmspan_self_1->batch.seq, handed_from + 5);
	assert_int_equal(vmspan_self_1->room, VMSPAN__SLOTS);
	assert_int_equal(torn, 0);
}

/* ---- Waiting for a tracer ---- */

static struct {
	int answer; /* of kill(), an errno */
	u32 asked;
} tracer_process;

/* The tracer attaches when the program has asked three times whether it lives. */
static long made_up_syscall(long number, ...)
{
	long a, b, c;
	va_list args;

	va_start(args, number);
	a = va_arg(args, long);
	b = va_arg(args, long);
	c = va_arg(args, long);
	va_end(args);
	if (number != SYS_kill)
		return syscall(number, a, b, c);
	if (++tracer_process.asked == 3)
		*(volatile vmspan_u16 *)&vmspan_registry_1.semaphore = 1;
	errno = tracer_process.answer;
	return tracer_process.answer ? -1 : 0;
}

static u32 asked_until_traced(int answer)
{
	tracer_off();
	tracer_process.answer = answer;
	tracer_process.asked = 0;
	vmspan_registry_1.loaded = 0;
	vmspan_loaded_1();
	return tracer_process.asked;
}

/* A tracer that may not be sent signals, since it is another user's, lives. */
static void a_program_waits_as_long_as_its_tracer_lives(void **state)
{
	(void)state;
	assert_int_equal(setenv("VMSPAN_WAIT", "4321", 1), 0);
	assert_int_equal(asked_until_traced(0), 3);
	assert_int_equal(asked_until_traced(EPERM), 3);
	assert_int_equal(asked_until_traced(ESRCH), 1);
	assert_int_equal(unsetenv("VMSPAN_WAIT"), 0);
	assert_int_equal(asked_until_traced(0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_moment_that_was_interrupted_is_read_again),
		cmocka_unit_test(an_event_tells_how_fast_the_counter_is),
		cmocka_unit_test(a_batch_is_empty_before_the_next_has_its_number),
		cmocka_unit_test(a_program_waits_as_long_as_its_tracer_lives),
	};

	return cmocka_run_group_tests_name("sdk_system", tests, tracer_setup, NULL);
}
#endif
