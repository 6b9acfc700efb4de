/* SPDX-License-Identifier: BSD-2-Clause */
/* Version 1 of the SDK under threads, forks and signals: nothing lost, doubled or torn. */
#ifndef __x86_64__
#include <stdio.h>
int main(void)
{
	return puts("skip sdk threads - the stand-in for a tracer knows x86-64 only") < 0;
}
#else
#include "sdk_tracer.h"

#include <errno.h>
#include <sys/time.h>
#include <sys/wait.h>

enum {
	A = 1001,
	B,
	C
};

static void spans(u32 n)
{
	for (u32 i = 0; i < n; i++) {
		vmspan_enter(A);
		vmspan_leave(A);
	}
}

/* Runs f on a thread of its own, to its end. */
static void on_thread(void *(*f)(void *), void *arg)
{
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, f, arg), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
}

static u32 states(u32 *live)
{
	const struct vmspan_thread *t;
	u32 n = 0;

	*live = 0;
	for (u64 at = vmspan_registry_1.threads; at; at = t->next, n++) {
		t = (const struct vmspan_thread *)(size_t)at;
		*live += t->tid != 0;
	}
	return n;
}

static void *seventeen_spans(void *arg)
{
	spans(17);
	*(struct vmspan_thread **)arg = vmspan_self_1;
	return NULL;
}

static void a_thread_hands_over_at_its_end_and_leaves_its_state_to_the_next(void **state)
{
	struct vmspan_thread *first, *second;
	u32 before, live, thread;

	(void)state;
	tracer_on();
	spans(1);
	on_thread(seventeen_spans, &first);
	assert_int_equal(tracer->shots, 1);
	assert_int_equal(shot_batch(0)->records, 17);
	assert_int_equal(shot_batch(0)->seq, 0);
	thread = shot_batch(0)->thread;
	before = states(&live);
	assert_int_equal(live, 1);
	on_thread(seventeen_spans, &second);
	assert_ptr_equal(first, second);
	assert_int_equal(states(&live), before);
	assert_int_equal(shot_batch(1)->records, 17);
	assert_int_equal(shot_batch(1)->seq, 0); /* a new thread: from the start */
	assert_int_equal(shot_batch(1)->thread, thread + 1);
	assert_int_equal(shot_batch(1)->unmatched, 0);
	collect();
	assert_int_equal(seen_count, 35);
}

static void *mark_when_ended(void *arg)
{
	(void)arg;
	spans(1);
	return NULL;
}

static void mark_in_destructor(void *arg)
{
	(void)arg;
	spans(3);
}

static void *with_destructor(void *arg)
{
	pthread_setspecific(*(pthread_key_t *)arg, arg);
	return mark_when_ended(NULL);
}

static void marks_by_other_destructors_at_a_thread_end_are_kept(void **state)
{
	pthread_key_t key; /* made after the SDK's own, so its destructor runs later */

	(void)state;
	tracer_on();
	spans(1);
	assert_int_equal(pthread_key_create(&key, mark_in_destructor), 0);
	on_thread(with_destructor, &key);
	pthread_key_delete(key);
	collect();
	assert_int_equal(seen_count, 5);
}

enum {
	MANY = 64,
	TURNS = 10,
	PER_TURN = 37
};
static pthread_barrier_t together;

static void *many(void *arg)
{
	pthread_barrier_wait(&together);
	for (int turn = 0; turn < TURNS; turn++) {
		vmspan_event_begin(0);
		spans(PER_TURN);
		vmspan_label("made by a thread");
		vmspan_event_end();
	}
	spans(5); /* what its end must hand over */
	*(u32 *)arg = vmspan_self_1->batch.thread;
	return NULL;
}

static void sixty_four_threads_at_once_lose_nothing(void **state)
{
	u32 number[MANY], live;
	pthread_t thread[MANY];

	(void)state;
	tracer_on();
	assert_int_equal(pthread_barrier_init(&together, NULL, MANY), 0);
	for (u32 i = 0; i < MANY; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, many, &number[i]), 0);
	for (u32 i = 0; i < MANY; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	pthread_barrier_destroy(&together);
	collect();
	assert_int_equal(seen_count, MANY * (TURNS * (PER_TURN + 2) + 5));
	for (u32 i = 0; i < MANY; i++) {
		collect_of((u32)getpid(), number[i]);
		assert_int_equal(seen_count, TURNS * (PER_TURN + 2) + 5);
		for (u32 t = 0; t < TURNS; t++) {
			const struct vmspan_event *e =
				expect_event((t + 1) * (PER_TURN + 2) - 1, 0, PER_TURN + 1);
			assert_int_equal(e->h.id, t + 1);
		}
	}
	states(&live);
	assert_int_equal(live, 1);
}

/* In a forked child, where cmocka's assertions must not be used. */
#define CHILD(c)                                    \
	do {                                        \
		if (!(c))                           \
			_exit(__LINE__ % 200 + 50); \
	} while (0)

static void join_child(pid_t pid)
{
	int status = -1;

	assert_true(pid > 0);
	while (waitpid(pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void child_of_fork(void)
{
	const struct vmspan_thread *t;
	u32 live;

	memset(tracer_next, 0, sizeof(tracer_next));
	spans(2);
	t = vmspan_self_1;
	CHILD(t->depth == 0 && t->turns == 0);
	CHILD(t->batch.seq == 0 && t->batch.tid == (u32)getpid());
	CHILD(vmspan_registry_1.pid == (u32)getpid());
	CHILD(states(&live) == 1 && live == 1);
	CHILD(vmspan_label("made by the child") > 0);
	vmspan_leave(B); /* entered by the parent: not the child's */
	vmspan_flush();
}

static void a_forked_child_starts_afresh_and_its_parent_goes_on(void **state)
{
	u32 live, number;
	pid_t pid;

	(void)state;
	tracer_on();
	vmspan_event_begin(0);
	vmspan_enter(B);
	spans(5);
	number = vmspan_self_1->batch.thread;
	pid = fork();
	if (!pid) {
		child_of_fork();
		_exit(0);
	}
	join_child(pid);
	collect_of((u32)pid, 0);
	assert_int_equal(seen_count, 3); /* none of the parent's five */
	expect_span(0, A, 0, 0);
	assert_int_equal(seen[2]->type, VMSPAN_DEF_LABEL);
	assert_int_not_equal(shot_batch(0)->thread, number);
	vmspan_leave(B);
	vmspan_event_end();
	collect();
	assert_int_equal(seen_count, 7);
	expect_span(5, B, 0, 0);
	expect_event(6, 0, 6);
	assert_int_equal(vmspan_self_1->batch.thread, number);
	assert_int_equal(vmspan_registry_1.pid, getpid());
	states(&live);
	assert_int_equal(live, 1);
}

/* Such a child ends with the test runner's memory unfreed: no leak of ours. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

static void *fork_on_thread(void *arg)
{
	vmspan_enter(B);
	spans(3);
	*(pid_t *)arg = fork();
	if (!*(pid_t *)arg) {
		child_of_fork();
		/* The key's destructor must not touch the wiped state: end as a thread does. */
		return NULL;
	}
	vmspan_leave(B);
	return NULL;
}

static void a_thread_that_forks_and_its_child_both_end_well(void **state)
{
	pid_t pid = 0, tester = getpid();

	(void)state;
	tracer_on();
	spans(1);
	fflush(NULL);
	on_thread(fork_on_thread, &pid);
	if (getpid() != tester)
		_exit(1); /* the child has one thread, which has ended */
	join_child(pid);
	collect_of((u32)pid, 0);
	assert_int_equal(seen_count, 3);
	collect();
	assert_int_equal(seen_count, 5);
}

static void a_child_forked_while_the_registry_was_being_taken_does_not_hang(void **state)
{
	u32 own = vmspan_registry_1.pid;
	pid_t pid;

	(void)state;
	tracer_on();
	vmspan_registry_1.pid = own | VMSPAN__OWNING; /* as another thread would have it */
	vmspan_registry_1.lock = 1;
	pid = fork();
	if (!pid) {
		child_of_fork();
		_exit(0);
	}
	vmspan_registry_1.lock = 0;
	vmspan_registry_1.pid = own;
	join_child(pid);
}

static void a_child_forked_inside_a_mark_drops_the_wiped_state(void **state)
{
	pid_t pid;
	u32 room;

	(void)state;
	tracer_on();
	spans(1);
	pid = fork();
	if (!pid) {
		child_of_fork();
		_exit(0);
	}
	join_child(pid);
	/* As a signal handler that forks: both processes then end the mark. */
	struct vmspan_thread *t = vmspan__take(&room);
	pid = fork();
	vmspan__done(t, room);
	if (!pid) {
		child_of_fork();
		_exit(0);
	}
	join_child(pid);
	collect_of((u32)pid, 0);
	assert_int_equal(seen_count, 3);
	collect();
	assert_int_equal(seen_count, 1);
}

/* ------------------------------------------------------------- Signals -- */

enum {
	HANDLER = 0x7fff0001
};

/* What a handler does: marks of every size. Five records. */
static void handler_marks(void)
{
	vmspan_event_begin(0);
	vmspan_enter(HANDLER);
	vmspan_gc_begin(HANDLER, 1);
	vmspan_gc_end(0);
	vmspan_value(HANDLER, 1);
	vmspan_leave(HANDLER);
	vmspan_event_end();
}
enum {
	HANDLER_MARKS = 7
};

static void handler(greg_t *ip)
{
	(void)ip;
	handler_marks();
}

/* Every mark there is, once. Records: 2 spans, gc, block, value, label, event. */
static void mark(u32 i)
{
	switch (i) {
	case 0:
		return vmspan_event_begin(0);
	case 1:
		return vmspan_enter(A);
	case 2:
		return vmspan_enter(B);
	case 3:
		return vmspan_leave(B);
	case 4:
		return vmspan_gc_begin(0, 1);
	case 5:
		return vmspan_gc_end(0);
	case 6:
		return vmspan_block_begin(0, 1);
	case 7:
		return vmspan_block_end();
	case 8:
		return vmspan_value(1, 1);
	case 9:
		vmspan_label("interrupted");
		return;
	case 10:
		return vmspan_leave(A);
	case 11:
		return vmspan_event_end();
	}
}
enum {
	MARKS = 12,
	MARKS_RECORDS = 7
};

struct interrupted {
	u32 which; /* mark */
	u32 fill; /* records in the batch before */
};

/*
 * All marks, one of them interrupted. The interrupted marks must all be there, and the
 * handler's own all be there or all counted as made inside a mark.
 */
static bool all_marks(const void *arg)
{
	const struct interrupted *m = arg;
	const u32 which = m->which, fill = m->fill;
	u32 own = 0, theirs = 0;

	tracer_on();
	for (u32 i = 0; i < fill; i++)
		vmspan_value(2, 0);
	tracer_base = vmspan_self_1->batch;
	for (u32 i = 0; i < MARKS; i++) {
		if (i == which)
			step_to_begin();
		mark(i);
		if (i == which)
			step_to_end();
	}
	vmspan_value(3, 0);
	collect();
	for (u32 i = 0; i < seen_count; i++)
		if (seen[i]->id == HANDLER && seen[i]->type < VMSPAN_DEF_GROUP)
			theirs++;
		else
			own++;
	if (theirs) { /* its event's record has another id */
		assert_int_equal(theirs, 3);
		assert_int_equal(own, fill + MARKS_RECORDS + 1 + 1);
	} else {
		assert_int_equal(own, fill + MARKS_RECORDS + 1);
	}
	assert_int_equal(COUNTED(in_mark), step.done && !theirs ? HANDLER_MARKS : 0);
	assert_int_equal(COUNTED(unmatched), 0);
	assert_int_equal(COUNTED(repaired), 0);
	assert_int_equal(COUNTED(too_deep), 0);
	assert_int_equal(vmspan_self_1->depth, 0);
	assert_int_equal(vmspan_self_1->turns, 0);
	return step.done;
}

static void a_signal_before_any_instruction_of_a_mark_tears_nothing(void **state)
{
	(void)state;
	tracer_on();
	spans(1);
	for (u32 which = 0; which < MARKS; which++) {
		/* With an empty batch, where the session is new, and with a full one. */
		assert_true(step_everywhere(STEP_STRIDE, handler, all_marks,
					    &(struct interrupted){ which, 0 }) > 10);
		assert_true(step_everywhere(STEP_STRIDE, handler, all_marks,
					    &(struct interrupted){ which, 128 - 3 - which / 2 }) >
			    10);
	}
}

static void *first_marks(void *arg)
{
	(void)arg;
	/* The thread's first: takes the lock, memory and a key. */
	step_to_begin();
	vmspan_label("first");
	spans(1);
	step_to_end();
	/* On a slow machine the batch above goes out for its age: this one has what the
	 * handler counted behind that. */
	spans(1);
	return NULL;
}

static bool thread_starts(const void *arg)
{
	u32 live, in_mark;

	(void)arg;
	tracer_on();
	on_thread(first_marks, NULL);
	collect();
	/* The three of the thread itself, and the handler's four or its seven counted. */
	in_mark = shot_batch(tracer->shots - 1)->in_mark;
	assert_int_equal(tracer->count[VMSPAN_DEF_LABEL], 1);
	assert_int_equal(seen_count, !step.done || in_mark ? 3 : 3 + 4);
	assert_int_equal(in_mark, step.done && seen_count == 3 ? HANDLER_MARKS : 0);
	states(&live);
	assert_int_equal(live, 1);
	return step.done;
}

static void a_signal_before_any_instruction_of_a_thread_start_does_not_hang(void **state)
{
	(void)state;
	tracer_on();
	spans(1);
	assert_true(step_everywhere(STEP_STRIDE, handler, thread_starts, NULL) > 100);
}

static _Atomic u32 storms;

static void storm(int sig)
{
	(void)sig;
	storms++;
	vmspan_value(HANDLER, 1);
}

static void a_storm_of_signals_is_recorded_or_counted_to_the_last(void **state)
{
	const struct itimerval fast = { { 0, 100 }, { 0, 100 } }, none = { { 0, 0 }, { 0, 0 } };
	struct sigaction sa = { .sa_handler = storm }, old;
	u32 rounds = 0;

	(void)state;
	tracer_on();
	vmspan_value(HANDLER, 1); /* so the thread has its state */
	tracer_base = vmspan_self_1->batch;
	assert_int_equal(sigaction(SIGALRM, &sa, &old), 0);
	storms = 0;
	assert_int_equal(setitimer(ITIMER_REAL, &fast, NULL), 0);
	for (; storms < 500; rounds++) {
		vmspan_event_begin(0);
		spans(300);
		vmspan_event_end();
	}
	assert_int_equal(setitimer(ITIMER_REAL, &none, NULL), 0);
	vmspan_value(1, 1);
	vmspan_flush();
	assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
	assert_int_equal(tracer->bad, 0);
	assert_int_equal(tracer->count[VMSPAN_SPAN], 300ull * rounds);
	assert_int_equal(tracer->count[VMSPAN_EVENT], rounds);
	assert_int_equal(tracer->count[VMSPAN_VALUE] - 2 + vmspan_self_1->batch.in_mark -
				 tracer_base.in_mark,
			 storms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_hands_over_at_its_end_and_leaves_its_state_to_the_next),
		cmocka_unit_test(marks_by_other_destructors_at_a_thread_end_are_kept),
		cmocka_unit_test(sixty_four_threads_at_once_lose_nothing),
		cmocka_unit_test(a_forked_child_starts_afresh_and_its_parent_goes_on),
		cmocka_unit_test(a_thread_that_forks_and_its_child_both_end_well),
		cmocka_unit_test(a_child_forked_while_the_registry_was_being_taken_does_not_hang),
		cmocka_unit_test(a_child_forked_inside_a_mark_drops_the_wiped_state),
		cmocka_unit_test(a_signal_before_any_instruction_of_a_mark_tears_nothing),
		cmocka_unit_test(a_signal_before_any_instruction_of_a_thread_start_does_not_hang),
		cmocka_unit_test(a_storm_of_signals_is_recorded_or_counted_to_the_last),
	};

	return cmocka_run_group_tests_name("sdk threads", tests, tracer_setup, NULL);
}
#endif
