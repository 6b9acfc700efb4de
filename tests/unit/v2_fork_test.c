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
	rseq_interrupt(ip);
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
	n = step_everywhere(getenv("VMSPAN_TEST_ALL") ? 1 : STRIDE, handler_that_forks, one_fork,
			    &piece);
	assert_true(n > 10);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_mark_of_a_thread),      cmocka_unit_test(a_mark),
		cmocka_unit_test(a_mark_of_an_interrupted_thread), cmocka_unit_test(an_event),
		cmocka_unit_test(where_the_ring_is_full),          cmocka_unit_test(without_rseq),
	};

	return cmocka_run_group_tests_name("v2 fork", tests, tracer_setup, NULL);
}
#endif
