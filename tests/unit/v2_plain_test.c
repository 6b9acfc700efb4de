/* SPDX-License-Identifier: BSD-2-Clause */
/* The SDK without rseq: as with musl, under valgrind, or where another has the thread. */
#ifndef __x86_64__
#include <stdio.h>
int main(void)
{
	return puts("skip v2_plain - the stand-in for a tracer knows x86-64 only") < 0;
}
#else
#include <time.h>

static int made_up_clock(clockid_t id, struct timespec *ts);

#define VMSPAN__CLOCK(id, ts) made_up_clock(id, ts)
#define VMSPAN_RING 4096
#include "each_nth.h"
#include "v2_tracer.h"

#include <sched.h>

enum {
	A = 1001,
	B
};

static u64 thread_ns;
static bool
	clock_interrupts; /* whoever reads it, loses the CPU: as where system calls are traced */

/* The thread's clock: each reading is one more. */
static int made_up_clock(clockid_t id, struct timespec *ts)
{
	if (clock_interrupts)
		rseq_played.section = 0;
	if (id != CLOCK_THREAD_CPUTIME_ID)
		return (int)syscall(SYS_clock_gettime, id, ts);
	*ts = (struct timespec){ .tv_nsec = (long)thread_ns++ };
	return 0;
}

static int without_rseq(void **state)
{
	int r = tracer_setup(state);

	vmspan_registry_2.rseq = 0;
	return r;
}

static void marks_come_as_with_it(void **state)
{
	(void)state;
	tracer_on();
	for (u32 i = 0; i < 1000; i++) { /* several rings */
		vmspan_event_begin(0);
		vmspan_enter(A);
		vmspan_gc_begin(1, 2);
		vmspan_gc_end(3);
		vmspan_leave(A);
		vmspan_event_end();
	}
	collect();
	assert_int_equal(seen_count, 3000);
	for (u32 i = 0; i < 3000; i += 3) {
		assert_int_equal(seen[i]->type, VMSPAN_GC);
		expect_span(i + 1, A, 0, 0);
		expect_event(i + 2, 0, 2);
	}
	assert_int_equal(own_ring()->flags, VMSPAN_RING_PLAIN);
	assert_int_equal(own_ring()->lost, 0);
}

static void an_event_has_the_readings_of_its_two_ends(void **state)
{
	const struct vmspan_event *e;
	u64 before;

	(void)state;
	tracer_on();
	before = thread_ns;
	vmspan_event_begin(0);
	vmspan_enter(A);
	vmspan_leave(A);
	thread_ns += 1000000;
	vmspan_event_end();
	assert_int_equal(thread_ns, before + 1000002);
	collect();
	e = expect_event(1, 0, 1);
	assert_in_range(e->cpu_ns_begin, before, before + (e->begin >> 1));
	assert_true(e->cpu_ns_end >= before + 1000001);
}

static void a_stay_has_the_cpus_it_was_on(void **state)
{
	const struct vmspan_span *span;
	cpu_set_t home, one;
	vmspan_u16 cpus[16];
	u32 n = 0;

	(void)state;
	tracer_on();
	assert_int_equal(sched_getaffinity(0, sizeof(home), &home), 0);
	for (vmspan_u16 cpu = 0; cpu < CPU_SETSIZE && n < 16; cpu++) {
		if (!CPU_ISSET(cpu, &home))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
		if (n)
			vmspan_leave(A);
		vmspan_enter(B);
		vmspan_leave(B);
		vmspan_enter(A);
		cpus[n++] = cpu;
	}
	assert_int_equal(sched_setaffinity(0, sizeof(home), &home), 0);
	collect();
	assert_int_equal(seen_count, 2 * n - 1);
	for (u32 i = 0; i < n; i++) {
		span = (const struct vmspan_span *)seen[2 * i];
		assert_int_equal(span->h.id, B);
		assert_int_equal(span->cpu_begin, cpus[i]);
		assert_int_equal(span->cpu_end, cpus[i]);
		if (!i)
			continue;
		span = (const struct vmspan_span *)seen[2 * i - 1];
		assert_int_equal(span->cpu_begin, cpus[i - 1]);
		assert_int_equal(span->cpu_end, cpus[i]);
	}
}

static void handler(greg_t *ip)
{
	(void)ip;
	vmspan_enter(B);
	vmspan_leave(B);
}

enum {
	PEER = 2
};

/* Of the size of the mark that it interrupts, with the same value as lay there before. */
static void handler_with_a_value(greg_t *ip)
{
	(void)ip;
	vmspan_block_begin(1, PEER);
	vmspan_block_end();
}

static bool one_mark(const void *arg)
{
	(void)arg;
	tracer_on();
	vmspan_enter(A);
	step_to_begin();
	vmspan_value(2, 2);
	step_to_end();
	vmspan_leave(A);
	collect();
	assert_int_equal(own_ring()->lost, 0);
	assert_int_equal(seen_of[VMSPAN_VALUE], 1);
	assert_int_equal(seen_of[VMSPAN_SPAN], step.done ? 2 : 1);
	return step.done;
}

static bool one_value(const void *arg)
{
	(void)arg;
	tracer_on();
	while (own_ring()->head % 32)
		vmspan_input(1);
	/* More than a lap of them: wherever it goes, one of this value was there. */
	for (u32 i = 0; i < 2 * VMSPAN_RING / 32; i++)
		vmspan_value(2, PEER);
	step_to_begin();
	vmspan_value(2, 777);
	step_to_end();
	collect();
	assert_int_equal(seen_of[VMSPAN_BLOCK], step.done);
	for (u32 i = 0; i < seen_count; i++) {
		if (seen[i]->type == VMSPAN_BLOCK)
			assert_int_equal(((const struct vmspan_block *)seen[i])->peer, PEER);
	}
	return step.done;
}

static void a_handlers_value_stays_its_own(void **state)
{
	(void)state;
	tracer_on();
	vmspan_value(1, 1);
	step_everywhere(EACH_NTH(11), handler_with_a_value, one_value, NULL);
}

/* Each is there once, in order of time. */
static void a_handler_marks_within_a_mark(void **state)
{
	(void)state;
	tracer_on();
	vmspan_value(1, 1);
	step_everywhere(EACH_NTH(11), handler, one_mark, NULL);
}

static bool one_full_ring(const void *arg)
{
	(void)arg;
	tracer_on();
	while (own_ring()->limit - own_ring()->head != 16)
		vmspan_input(0);
	step_to_begin();
	vmspan_value(2, 2); /* two places: the last one is filled */
	step_to_end();
	collect();
	assert_int_equal(own_ring()->lost, 0);
	assert_int_equal(seen_of[VMSPAN_VALUE], 1);
	assert_int_equal(seen_of[VMSPAN_SPAN], step.done);
	return step.done;
}

static void a_handler_marks_within_one_at_the_end_of_the_ring(void **state)
{
	(void)state;
	tracer_on();
	vmspan_value(1, 1);
	step_everywhere(EACH_NTH(11), handler, one_full_ring, NULL);
}

static sigjmp_buf out;

static void handler_that_jumps(greg_t *ip)
{
	(void)ip;
	siglongjmp(out, 1);
}

/* A mark that its handler may leave. */
static void mark_until_left(void)
{
	if (!sigsetjmp(out, 1)) {
		step_to_begin();
		vmspan_value(2, 2);
	}
	step_to_end();
}

static bool one_left(const void *arg)
{
	(void)arg;
	tracer_on();
	mark_until_left();
	vmspan_enter(A);
	vmspan_leave(A);
	collect();
	assert_int_equal(own_ring()->lost, 0);
	assert_in_range(seen_of[VMSPAN_VALUE], !step.done, 1);
	assert_int_equal(seen_of[VMSPAN_SPAN], 1);
	return step.done;
}

/* A handler that never comes back to a mark leaves nothing in the way of the next. */
static void a_mark_that_is_left_is_not_in_the_way(void **state)
{
	(void)state;
	tracer_on();
	vmspan_value(1, 1);
	step_everywhere(EACH_NTH(11), handler_that_jumps, one_left, NULL);
}

static bool is_listed(const struct vmspan_ring *g)
{
	u64 at = process()->rings;

	while (at && vmspan__ring_at(at) != g)
		at = vmspan__ring_at(at)->next;
	return at;
}

static bool first_left(const void *arg)
{
	(void)arg;
	memset(process()->table, 0, sizeof(process()->table));
	process()->rings = 0;
	tracer_on();
	mark_until_left();
	vmspan_value(2, 2);
	assert_true(is_listed(own_ring()));
	return step.done;
}

/* Nor to a thread's first mark: a tracer finds the ring all the same. */
static void a_ring_whose_making_is_left_can_be_found(void **state)
{
	(void)state;
	tracer_on();
	assert_true(step_everywhere(EACH_NTH(11), handler_that_jumps, first_left, NULL) > 50);
}

/* Another user of rseq leaves its own section there, at each of our marks: the kernel
 * says nothing more about the thread to us. */
static void where_another_has_rseq_it_is_done_without(void **state)
{
	static struct vmspan_section other __attribute__((aligned(32)));
	cpu_set_t home, one;
	u32 reads;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(home), &home), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	rseq_play(0);
	tracer_on();
	own_ring()->flags = 0;
	for (u32 i = 0; i < 2 * VMSPAN__FOREIGN; i++) {
		reads = (u32)thread_ns;
		rseq_played.section = (u64)(size_t)&other;
		vmspan_enter(A);
		rseq_played.section = (u64)(size_t)&other;
		vmspan_leave(A);
		/* More where the ring is full; and one where the CPU is asked for otherwise. */
		if (i < VMSPAN__FOREIGN / 2 - 1)
			assert_true(thread_ns - reads >= 2);
		if (i > VMSPAN__FOREIGN / 2)
			assert_int_equal(thread_ns, reads);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(home), &home), 0);
	assert_int_equal(own_ring()->flags, VMSPAN_RING_PLAIN);
	collect();
	assert_int_equal(seen_count, 2 * VMSPAN__FOREIGN);
}

/* A signal, as a profiler's, whose handler uses rseq: the kernel still says all to us between. */
static void another_user_of_rseq_now_and_then_changes_nothing(void **state)
{
	static struct vmspan_section other __attribute__((aligned(32)));

	(void)state;
	rseq_play(0);
	tracer_on();
	vmspan_input(1);
	own_ring()->flags = own_ring()->foreign = 0;
	for (u32 i = 0; i < 2 * VMSPAN__FOREIGN; i++) {
		rseq_played.section = (u64)(size_t)&other;
		for (u32 k = 0; k < 50; k++) {
			vmspan_enter(A);
			vmspan_leave(A);
		}
	}
	assert_int_equal(own_ring()->flags, 0);
	collect();
	assert_int_equal(seen_of[VMSPAN_SPAN], 50 * 2 * VMSPAN__FOREIGN);
}

/* Libc's struct rseq is there, but the kernel no longer knows of it: nothing that happens to the
 * thread is told there. */
static void where_the_kernel_does_not_know_of_it_it_is_done_without(void **state)
{
	(void)state;
	rseq_play(0);
	tracer_on();
	vmspan_value(1, 1);
	own_ring()->flags = 0;
	rseq_played.cpu = (u32)-1;
	for (u32 i = 0; i < 3; i++) {
		vmspan_enter(A);
		vmspan_leave(A);
		assert_int_equal(own_ring()->flags, VMSPAN_RING_PLAIN);
	}
	rseq_played.cpu = 0;
	collect();
	assert_int_equal(seen_of[VMSPAN_SPAN], 3);
}

/* Under strace, or in a sandbox that looks at each system call: marks come, and soon. */
static void where_each_reading_of_the_clock_interrupts_all_is_marked(void **state)
{
	u64 reads;

	(void)state;
	rseq_play(0);
	tracer_on();
	vmspan_value(1, 1);
	clock_interrupts = true;
	reads = thread_ns;
	for (u32 i = 0; i < 100; i++) {
		rseq_played.section = 0;
		vmspan_enter(A);
		rseq_played.section = 0;
		vmspan_leave(A);
	}
	clock_interrupts = false;
	assert_int_equal(own_ring()->lost, 0);
	assert_true(thread_ns - reads <= 5 * 200);
	collect();
	assert_int_equal(seen_of[VMSPAN_SPAN], 100);
}

/* A thread where another was, whose rseq has been another's since before its first mark. */
static void who_follows_a_thread_is_asked_for_its_number(void **state)
{
	static struct vmspan_section other __attribute__((aligned(32)));
	struct vmspan_ring *g;
	u32 before;

	(void)state;
	rseq_play(0);
	tracer_on();
	vmspan_value(1, 1);
	g = own_ring();
	before = g->thread;
	g->tid++;
	g->lost = 7;
	g->cpu = 3;
	rseq_played.section = (u64)(size_t)&other;
	vmspan_enter(A);
	vmspan_leave(A);
	assert_ptr_equal(own_ring(), g);
	assert_int_equal(g->tid, getpid());
	assert_int_not_equal(g->thread, before);
	assert_int_equal(g->lost, 0);
	collect();
	assert_int_equal(seen_of[VMSPAN_SPAN], 1);
	assert_int_not_equal(seen_thread[seen_count - 1], before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_come_as_with_it),
		cmocka_unit_test(an_event_has_the_readings_of_its_two_ends),
		cmocka_unit_test(a_stay_has_the_cpus_it_was_on),
		cmocka_unit_test(a_handler_marks_within_a_mark),
		cmocka_unit_test(a_handler_marks_within_one_at_the_end_of_the_ring),
		cmocka_unit_test(a_handlers_value_stays_its_own),
		cmocka_unit_test(a_mark_that_is_left_is_not_in_the_way),
		cmocka_unit_test(a_ring_whose_making_is_left_can_be_found),
		cmocka_unit_test(where_another_has_rseq_it_is_done_without),
		cmocka_unit_test(another_user_of_rseq_now_and_then_changes_nothing),
		cmocka_unit_test(where_the_kernel_does_not_know_of_it_it_is_done_without),
		cmocka_unit_test(where_each_reading_of_the_clock_interrupts_all_is_marked),
		cmocka_unit_test(who_follows_a_thread_is_asked_for_its_number),
	};

	return cmocka_run_group_tests_name("v2 plain", tests, without_rseq, NULL);
}
#endif
