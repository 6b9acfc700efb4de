/* SPDX-License-Identifier: BSD-2-Clause */
/* The SDK under threads, forks and signals: each mark is there once, in order. */
#ifndef __x86_64__
#include <stdio.h>
int main(void)
{
	return puts("skip v2_threads - the stand-in for a tracer knows x86-64 only") < 0;
}
#else
#define VMSPAN_RING 4096 /* full soon */
#include "v2_tracer.h"

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

static u32 rings(void)
{
	u32 n = 0;

	for (u64 at = process()->rings; at; at = vmspan__ring_at(at)->next)
		n++;
	return n;
}

/* Records of a thread, by its number. */
static u32 seen_by(u32 thread)
{
	u32 n = 0;

	for (u32 i = 0; i < seen_count; i++)
		n += seen_thread[i] == thread;
	return n;
}

struct told {
	const struct vmspan_ring *ring;
	u32 thread;
};

static void *seventeen_spans(void *arg)
{
	struct told *t = arg;

	spans(17);
	t->ring = own_ring();
	t->thread = t->ring->thread;
	return NULL;
}

static void a_thread_leaves_its_marks_and_its_ring_to_the_next(void **state)
{
	struct told first, second;
	u32 before;

	(void)state;
	tracer_on();
	spans(1);
	on_thread(seventeen_spans, &first);
	assert_int_equal(first.ring->head - first.ring->handed, 17 * 2 * 16 + 32);
	before = rings();
	on_thread(seventeen_spans, &second);
	assert_int_not_equal(first.thread, second.thread);
	collect();
	assert_int_equal(seen_count, 35);
	assert_int_equal(seen_by(first.thread), 17);
	assert_int_equal(seen_by(second.thread), 17);
	/* Where libc puts the next thread where the one before was. */
	assert_true(first.ring != second.ring || rings() == before);
	assert_true(first.ring != second.ring || first.ring->start == first.ring->handed);
}

static void mark_in_destructor(void *arg)
{
	(void)arg;
	spans(3);
}

static void *with_destructor(void *arg)
{
	pthread_setspecific(*(pthread_key_t *)arg, arg);
	spans(1);
	return NULL;
}

static void marks_by_destructors_at_a_thread_end_are_kept(void **state)
{
	pthread_key_t key;

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
	spans(5); /* what it does not hand over */
	*(u32 *)arg = own_ring()->thread;
	pthread_barrier_wait(&together); /* else the next may get its ring */
	return NULL;
}

static void sixty_four_threads_at_once_lose_nothing(void **state)
{
	pthread_t thread[MANY];
	u32 number[MANY];

	(void)state;
	tracer_on();
	assert_int_equal(pthread_barrier_init(&together, NULL, MANY), 0);
	for (u32 i = 0; i < MANY; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, many, &number[i]), 0);
	for (u32 i = 0; i < MANY; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	pthread_barrier_destroy(&together);
	collect();
	assert_int_equal(seen_by(0), MANY * TURNS); /* definitions */
	for (u32 i = 0; i < MANY; i++) {
		u32 last = 0;

		assert_int_equal(seen_by(number[i]), TURNS * (PER_TURN + 1) + 5);
		for (u32 k = 0; k < seen_count; k++)
			if (seen_thread[k] == number[i] && seen[k]->type == VMSPAN_EVENT)
				assert_int_equal(expect_event(k, 0, PER_TURN)->h.id, ++last);
		assert_int_equal(last, TURNS);
	}
}

/* ---- Forks ---- */

/* In a forked child, where cmocka's assertions must not be used. */
#define CHILD(c)                                    \
	do {                                        \
		if (!(c))                           \
			_exit(__LINE__ % 200 + 50); \
	} while (0)

/* A child that dies in fork() itself does so: cmocka's handler would wait there for a lock that it
 * has from its parent. And one that hangs ends. */
static pid_t fork_to_die(void)
{
	const struct sigaction none = { .sa_handler = SIG_DFL };
	struct sigaction was;
	pid_t pid;

	assert_int_equal(sigaction(SIGSEGV, &none, &was), 0);
	pid = fork();
	if (pid)
		assert_int_equal(sigaction(SIGSEGV, &was, NULL), 0);
	else
		alarm(30);
	return pid;
}

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
	CHILD(!process()->rings && !process()->thread_last && !process()->lock);
	spans(2);
	CHILD(rings() == 1 && own_ring()->thread == 1);
	CHILD(own_ring()->tid == (u32)getpid() && process()->pid == (u32)getpid());
	CHILD(vmspan_label("made by the child") > 0);
	vmspan_leave(B); /* entered by the parent: not the child's */
	vmspan_flush();
}

static void a_forked_child_starts_afresh_and_its_parent_goes_on(void **state)
{
	u32 number, before;
	pid_t pid;

	(void)state;
	tracer_on();
	vmspan_event_begin(0);
	vmspan_enter(B);
	spans(5);
	number = own_ring()->thread;
	before = rings();
	pid = fork_to_die();
	if (!pid) {
		child_of_fork();
		_exit(0);
	}
	join_child(pid);
	collect_of((u32)pid);
	assert_int_equal(seen_count, 3); /* none of the parent's five */
	assert_int_equal(seen[0]->type, VMSPAN_DEF_LABEL); /* is told at once */
	expect_span(1, A, 0, 0);
	vmspan_leave(B);
	vmspan_event_end();
	collect();
	assert_int_equal(seen_count, 7);
	expect_span(5, B, 0, 0);
	expect_event(6, 0, 6);
	assert_int_equal(own_ring()->thread, number);
	assert_int_equal(process()->pid, getpid());
	assert_int_equal(rings(), before);
}

/* Such a child ends with the test runner's memory unfreed: no leak of ours. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

/* The kernel reads the section that the thread was in when it forked: in both processes. */
static void a_child_lives_where_its_parent_has_just_marked(void **state)
{
	(void)state;
	rseq_play(vmspan__rseq_offset);
	tracer_on();
	for (u32 i = 0; i < 200; i++) {
		pid_t pid;

		spans(1);
		pid = fork_to_die();
		if (!pid) {
			spans(1);
			_exit(rings() == 1 ? 0 : 1);
		}
		join_child(pid);
	}
	rseq_play(0);
}

static void *fork_on_thread(void *arg)
{
	vmspan_enter(B);
	spans(3);
	*(pid_t *)arg = fork_to_die();
	if (!*(pid_t *)arg) {
		child_of_fork();
		return NULL; /* ends as a thread does */
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
	collect_of((u32)pid);
	assert_int_equal(seen_count, 3);
	collect();
	assert_int_equal(seen_count, 5);
}

static void a_child_forked_while_something_was_being_defined_does_not_hang(void **state)
{
	pid_t pid;

	(void)state;
	tracer_on();
	process()->lock = 1; /* as another thread would have it */
	pid = fork_to_die();
	if (!pid) {
		child_of_fork();
		_exit(0);
	}
	process()->lock = 0;
	join_child(pid);
}

/* ---- Signals ---- */

enum {
	HANDLER = 0x7fff0001
};

/* What a handler does: marks of every kind. Four records. */
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
	HANDLER_RECORDS = 4
};

static void handler(greg_t *ip)
{
	*ip = (greg_t)rseq_interrupt((u64)*ip);
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

enum before {
	NOTHING,
	MOVED, /* to another CPU */
	INTERRUPTED
};
struct interrupted {
	u32 which; /* mark */
	u32 left; /* bytes of the ring that are free before it */
	enum before before; /* what the thread has come through since its last mark */
};

/* With marks, until so many bytes of the ring are left; 0: one mark. */
static void fill(u32 left)
{
	for (vmspan_input(2); left && (own_ring()->head + left) % VMSPAN_RING;)
		vmspan_input(2);
}

/*
 * All marks, one of them interrupted. All are there, in order; the handler's lie between those
 * before and behind it.
 */
static bool all_marks(const void *arg)
{
	const struct interrupted *m = arg;
	u32 own = 0, theirs = 0;

	tracer_on();
	for (u32 i = 0; i < MARKS; i++) {
		if (i == m->which) {
			fill(m->left);
			rseq_played.cpu += m->before == MOVED;
			rseq_played.section *= m->before != INTERRUPTED;
			step_to_begin();
		}
		mark(i);
		if (i == m->which)
			step_to_end();
	}
	collect();
	for (u32 i = 0; i < seen_count; i++) {
		if (seen[i]->type == VMSPAN_INPUT)
			continue;
		if (seen[i]->id == HANDLER && seen[i]->type < VMSPAN_DEF_GROUP)
			theirs++;
		else
			own++;
	}
	/* Its event's record has another id. */
	assert_int_equal(theirs, step.done ? HANDLER_RECORDS - 1 : 0);
	assert_int_equal(own, MARKS_RECORDS + (step.done ? 1 : 0));
	assert_int_equal(own_ring()->lost, 0);
	assert_int_equal(COUNTED(unmatched) + COUNTED(repaired), 0);
	assert_int_equal(COUNTED(depth) + COUNTED(events), 0);
	return step.done;
}

/* Of the marks in `which`, a bit each; or of all, if there is the time. */
static void every_instruction(u32 which, u32 left, enum before before)
{
	for (u32 i = 0; i < MARKS; i++) {
		if (!(which >> i & 1) && !getenv("VMSPAN_TEST_ALL"))
			continue;
		assert_true(step_everywhere(STEP_STRIDE, handler, all_marks,
					    &(struct interrupted){ i, left, before }) > 10);
	}
}

static void a_signal_before_any_instruction_of_a_mark_changes_nothing(void **state)
{
	(void)state;
	every_instruction(~0u, 0, NOTHING);
}

static void nor_before_any_of_a_mark_after_an_interruption(void **state)
{
	(void)state;
	every_instruction(1 << 1 | 1 << 8 | 1 << 11, 0, MOVED);
	every_instruction(1 << 3 | 1 << 7 | 1 << 11, 0, INTERRUPTED);
}

/* The ring ends before the mark, or in the middle of one with a value; or so near that a switch
 * before it does not fit. */
static void nor_where_the_ring_is_full(void **state)
{
	(void)state;
	for (u32 left = 16; left <= 64; left += 16)
		if (left <= 32 || getenv("VMSPAN_TEST_ALL")) {
			every_instruction(1 << 8, left, NOTHING);
			every_instruction(1 << 2, left, MOVED);
		}
	every_instruction(1 << 11, VMSPAN_RING, NOTHING);
	every_instruction(1 << 3, VMSPAN_RING, INTERRUPTED);
}

static bool flush_one(const void *arg)
{
	tracer_on();
	vmspan_enter(A);
	fill(*(const u32 *)arg);
	step_to_begin();
	vmspan_flush();
	step_to_end();
	vmspan_leave(A);
	collect();
	assert_int_equal(seen_of[VMSPAN_SPAN], step.done ? 2 : 1);
	assert_int_equal(COUNTED(depth), 0);
	return step.done;
}

/* A handler that hands over within a hand-over, and goes on at the ring's begin: what was handed
 * over never is less afterwards, or the next piece would reach beyond the end of the ring. */
static void nor_of_a_hand_over_at_the_end_of_a_ring(void **state)
{
	(void)state;
	for (u32 left = 16; left <= 208; left += 16)
		assert_true(step_everywhere(STEP_STRIDE, handler, flush_one, &left) > 10);
}

/* What ends where the ring is full has ended before that is handed over. */
static void a_hand_over_is_not_of_what_ends_there(void **state)
{
	u64 stay_handed;

	(void)state;
	tracer_on();
	vmspan_event_begin(0);
	vmspan_enter(A);
	fill(VMSPAN_RING);
	tracer->handed_at = 0;
	vmspan_leave(A);
	stay_handed = tracer->handed_at;
	fill(VMSPAN_RING);
	tracer->handed_at = 0;
	vmspan_event_end();
	collect();
	assert_int_equal(seen_of[VMSPAN_SPAN] + seen_of[VMSPAN_EVENT], 2);
	for (u32 i = 0; i < seen_count; i++)
		if (seen[i]->type == VMSPAN_SPAN)
			assert_true(((const struct vmspan_span *)seen[i])->end < stay_handed);
		else if (seen[i]->type == VMSPAN_EVENT)
			assert_true(((const struct vmspan_event *)seen[i])->end <
				    tracer->handed_at);
}

static u32 places; /* in the table that are the newest thread's */

static void *first_marks(void *arg)
{
	/* The thread's first: takes memory, and the lock. */
	step_to_begin();
	vmspan_label("first");
	spans(1);
	step_to_end();
	spans(1);
	places = 0;
	for (u32 i = 0; i < VMSPAN_THREADS; i++)
		places += process()->table[i].thread_pointer == vmspan__thread_pointer();
	return arg;
}

static bool thread_starts(const void *takes_over)
{
	if (!takes_over) {
		memset(process()->table, 0, sizeof(process()->table));
		process()->rings = 0;
		spans(1);
	}
	tracer_on();
	on_thread(first_marks, NULL);
	collect();
	/* The three of the thread itself, and the handler's; in one ring, or nobody would hand over the other. */
	assert_true(seen_of[VMSPAN_DEF_LABEL] == 1 && places == 1);
	assert_int_equal(seen_count, 3 + (step.done ? HANDLER_RECORDS : 0));
	return step.done;
}

static void every_instruction_of_a_thread_start(bool takes_over)
{
	tracer_on();
	spans(1);
	assert_true(step_everywhere(STEP_STRIDE, handler, thread_starts, takes_over ? "" : NULL) >
		    100);
}

static void a_signal_before_any_instruction_of_a_thread_start_does_no_harm(void **state)
{
	(void)state;
	every_instruction_of_a_thread_start(false);
}

/* Libc puts each thread where the one before was, whose ring it takes over. */
static void nor_where_a_thread_takes_a_ring_over(void **state)
{
	(void)state;
	every_instruction_of_a_thread_start(true);
}

static void *one_span(void *arg)
{
	spans(1);
	return arg;
}

/* Before its first mark: where a tracer then finds it, whatever becomes of it. */
static void each_thread_says_that_it_is_there(void **state)
{
	u32 i, told = 0, threads[2] = { 0 };

	(void)state;
	rseq_play(vmspan__rseq_offset);
	tracer_on();
	/* Libc puts the second where the first was. */
	on_thread(one_span, NULL);
	on_thread(one_span, NULL);
	for (i = 0; i < tracer->shots; i++) {
		const struct shot *s = &tracer->shot[i];

		if (s->definition || s->bytes)
			continue;
		assert_true(told < 2);
		assert_int_equal(s->from, s->ring.start);
		assert_int_equal(s->ring.head, s->ring.start);
		threads[told++] = s->ring.thread;
	}
	assert_int_equal(told, 2);
	assert_true(threads[0] < threads[1]);
	collect();
	assert_int_equal(seen_count, 2);
}

static _Atomic u32 storms;

static void storm(int sig)
{
	(void)sig;
	storms++;
	vmspan_value(HANDLER, 1);
	vmspan_enter(HANDLER);
	vmspan_leave(HANDLER);
}

/* With the kernel's own hands. */
static void a_storm_of_signals_is_recorded_to_the_last(void **state)
{
	const struct itimerval fast = { { 0, 100 }, { 0, 100 } }, none = { { 0, 0 }, { 0, 0 } };
	struct sigaction sa = { .sa_handler = storm }, old;
	u64 events = 0, spans_seen = 0, values = 0, rounds = 0;
	sigset_t alarm;

	(void)state;
	rseq_play(vmspan__rseq_offset);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	assert_int_equal(sigaction(SIGALRM, &sa, &old), 0);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	storms = 0;
	assert_int_equal(setitimer(ITIMER_REAL, &fast, NULL), 0);
	while (storms < 500) {
		tracer_on();
		sigprocmask(SIG_UNBLOCK, &alarm, NULL);
		for (u32 i = 0; i < 1000; i++, rounds++) {
			vmspan_event_begin(0);
			spans(30);
			vmspan_event_end();
		}
		sigprocmask(SIG_BLOCK, &alarm, NULL);
		collect();
		events += seen_of[VMSPAN_EVENT];
		spans_seen += seen_of[VMSPAN_SPAN];
		values += seen_of[VMSPAN_VALUE];
	}
	assert_int_equal(setitimer(ITIMER_REAL, &none, NULL), 0);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	tracer_off();
	assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
	assert_int_equal(own_ring()->lost, 0);
	assert_int_equal(events, rounds);
	assert_int_equal(spans_seen, 30 * rounds + values);
	assert_in_range(values, 500, storms);
	rseq_play(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_leaves_its_marks_and_its_ring_to_the_next),
		cmocka_unit_test(marks_by_destructors_at_a_thread_end_are_kept),
		cmocka_unit_test(sixty_four_threads_at_once_lose_nothing),
		cmocka_unit_test(a_forked_child_starts_afresh_and_its_parent_goes_on),
		cmocka_unit_test(a_child_lives_where_its_parent_has_just_marked),
		cmocka_unit_test(a_thread_that_forks_and_its_child_both_end_well),
		cmocka_unit_test(a_child_forked_while_something_was_being_defined_does_not_hang),
		cmocka_unit_test(a_signal_before_any_instruction_of_a_mark_changes_nothing),
		cmocka_unit_test(nor_before_any_of_a_mark_after_an_interruption),
		cmocka_unit_test(nor_where_the_ring_is_full),
		cmocka_unit_test(nor_of_a_hand_over_at_the_end_of_a_ring),
		cmocka_unit_test(a_hand_over_is_not_of_what_ends_there),
		cmocka_unit_test(a_signal_before_any_instruction_of_a_thread_start_does_no_harm),
		cmocka_unit_test(nor_where_a_thread_takes_a_ring_over),
		cmocka_unit_test(each_thread_says_that_it_is_there),
		cmocka_unit_test(a_storm_of_signals_is_recorded_to_the_last),
	};

	return cmocka_run_group_tests_name("v2 threads", tests, tracer_setup, NULL);
}
#endif
