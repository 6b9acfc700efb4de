/* SPDX-License-Identifier: BSD-2-Clause */
/* The SDK where a signal handler forks, at any instruction of a mark, and returns to it in the
 * child: there rings are zeroes, also the one that is being written to. */
#ifndef __x86_64__
#include <stdio.h>
int main(void)
{
	return puts("skip v2_fork - the stand-in for a tracer knows x86-64 only") < 0;
}
#else
#define VMSPAN_RING 4096
#define VMSPAN__NAPS 20
#include "v2_tracer.h"

#include <sys/wait.h>

enum {
	A = 1001,
	B,
	CHILDS
};

/* A fork takes milliseconds, and ten times as long with sanitizers. */
#ifdef __SANITIZE_ADDRESS__
#define STRIDE 101
#else
#define STRIDE 23
#endif

/* Such a child ends with the test runner's memory unfreed: no leak of ours. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

static pid_t child; /* 0: in it */
static bool forked;

static void handler_that_forks(greg_t *ip)
{
	*ip = (greg_t)rseq_interrupt((u64)*ip);
	forked = true;
	child = fork();
	if (!child)
		alarm(60); /* one that hangs ends */
}

/* Of what follows in the child each mark is there, and its thread is its own. */
static void in_the_child(void)
{
	struct vmspan_ring *g;

	for (u32 i = 0; i < 300; i++) { /* more than a ring */
		vmspan_enter(CHILDS);
		vmspan_leave(CHILDS);
	}
	vmspan_flush();
	g = own_ring();
	_exit(!g || g->tid != (u32)getpid() || g->lost || process()->lost_threads ? 2 : 0);
}

struct piece {
	void (*before)(void), (*marks)(void);
	u32 spans; /* of the parent's, in all */
};
/* Children, and those of them in which the value was that the fork had interrupted. */
static u32 children, made_again;

static bool one_fork(const void *arg)
{
	const struct piece *piece = arg;
	int status = -1;

	tracer_on();
	forked = false;
	child = -1;
	piece->before();
	step_to_begin();
	piece->marks();
	step_to_end();
	if (!child)
		in_the_child();
	if (forked) {
		assert_true(child > 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		collect_of((u32)child);
		assert_true(seen_of[VMSPAN_SPAN] >= 300);
		for (u32 i = 0, n = 0; i < seen_count; i++)
			if (seen[i]->type == VMSPAN_SPAN && seen[i]->id == CHILDS)
				assert_true(++n <= 300);
		assert_in_range(seen_of[VMSPAN_VALUE], 0, 1);
		made_again += seen_of[VMSPAN_VALUE];
		children++;
	}
	collect();
	assert_int_equal(seen_of[VMSPAN_SPAN], piece->spans);
	return step.done;
}

static void span(void)
{
	vmspan_enter(A);
	vmspan_leave(A);
}

/* As if this thread had never marked. */
static void anew(void)
{
	*vmspan__place(process()) = 0;
	process()->rings = 0;
	process()->thread_last = 0;
	memset(tracer_from, 0, sizeof(tracer_from));
	rseq_played.section = 0;
}

static void interrupted(void)
{
	span();
	rseq_played.section = 0;
}

static void event(void)
{
	vmspan_event_begin(0);
	span();
	vmspan_event_end();
}

static void value(void)
{
	vmspan_value(1, 1);
}

static void full(void)
{
	vmspan_input(0);
	while (own_ring()->limit - own_ring()->head > 32)
		vmspan_input(0);
}

static void everywhere(void (*before)(void), void (*marks)(void), u32 spans)
{
	const struct piece piece = { before, marks, spans };
	struct vmspan_process *p = process();
	u32 n;

	p->latency = UINT64_MAX;
	children = made_again = 0;
	n = step_everywhere(getenv("VMSPAN_TEST_ALL") ? 1 : STRIDE, handler_that_forks, one_fork,
			    &piece);
	assert_true(n > 10);
	/* But for the last instructions, where it has been made. */
	if (marks == value)
		assert_true(made_again > children / 2);
}

static void the_first_mark_of_a_thread(void **state)
{
	(void)state;
	rseq_play(0);
	everywhere(anew, span, 1);
}

static void a_mark(void **state)
{
	(void)state;
	rseq_play(0);
	everywhere(span, span, 2);
}

static void a_mark_of_an_interrupted_thread(void **state)
{
	(void)state;
	rseq_play(0);
	everywhere(interrupted, span, 2);
}

static void a_mark_with_a_value_is_made_in_the_child(void **state)
{
	(void)state;
	rseq_play(0);
	everywhere(interrupted, value, 1);
}

static void an_event(void **state)
{
	(void)state;
	rseq_play(0);
	everywhere(span, event, 2);
}

static void where_the_ring_is_full(void **state)
{
	(void)state;
	rseq_play(0);
	everywhere(full, span, 1);
}

static void without_rseq(void **state)
{
	(void)state;
	vmspan_registry_2.rseq = 0;
	everywhere(anew, event, 1);
	everywhere(full, event, 1);
}

static void fork_behind_a_hand_over(void)
{
	tracer_after = NULL;
	child = fork();
	if (!child)
		alarm(60);
}

/* A probe that the kernel serves as a system call: on the way back from it a signal is delivered, and
 * the section of the mark still stands in rseq_cs, in a ring that is wiped. */
static void in_a_hand_over(void **state)
{
	int status = -1;

	(void)state;
	rseq_play(0);
	tracer_on();
	span();
	child = -1;
	tracer_after = fork_behind_a_hand_over;
	vmspan_flush();
	span();
	if (!child)
		in_the_child();
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	collect();
	assert_int_equal(seen_of[VMSPAN_SPAN], 2);
}

/* What it should not do, vfork(2) and mark, does not take its parent's ring away. */
static void a_child_with_its_parents_memory_marks_there(void **state)
{
	struct vmspan_ring *g;
	u32 thread, tid;
	pid_t pid;
	int status = -1;

	(void)state;
	rseq_play(0);
	tracer_on();
	span();
	g = own_ring();
	thread = g->thread;
	tid = g->tid;
	rseq_played.section = 0;
	pid = vfork();
	if (!pid) {
		span();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	rseq_played.section = 0;
	span();
	assert_ptr_equal(own_ring(), g);
	assert_int_equal(g->thread, thread);
	assert_int_equal(g->tid, tid);
	collect();
	assert_int_equal(seen_of[VMSPAN_SPAN], 3);
}

/* By a handler that jumped out of a definition, or a thread that was cancelled there. */
static void a_lock_that_was_left_is_not_waited_for_twice(void **state)
{
	(void)state;
	process()->lock = VMSPAN__LOCKED;
	assert_int_equal(vmspan_label("late"), 0);
	assert_int_equal(process()->lock, VMSPAN__LEFT);
	assert_int_equal(vmspan_label("later"), 0);
	/* Who was only slow gives it back. */
	process()->lock = 0;
	assert_int_not_equal(vmspan_label("in time"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_mark_of_a_thread),
		cmocka_unit_test(a_mark),
		cmocka_unit_test(a_mark_of_an_interrupted_thread),
		cmocka_unit_test(a_mark_with_a_value_is_made_in_the_child),
		cmocka_unit_test(an_event),
		cmocka_unit_test(where_the_ring_is_full),
		cmocka_unit_test(without_rseq),
		cmocka_unit_test(in_a_hand_over),
		cmocka_unit_test(a_child_with_its_parents_memory_marks_there),
		cmocka_unit_test(a_lock_that_was_left_is_not_waited_for_twice),
	};

	return cmocka_run_group_tests_name("v2 fork", tests, tracer_setup, NULL);
}
#endif
