/* SPDX-License-Identifier: BSD-2-Clause */
/* The SDK: when marks are handed over, and what else a thread tells of itself. */
#ifndef __x86_64__
#include <stdio.h>
int main(void)
{
	return puts("skip v2_hand_over - the stand-in for a tracer knows x86-64 only") < 0;
}
#else
#include "v2_tracer.h"

enum {
	A = 1001,
	B,
	C
};

/* A mark before which nothing more is to be said: the thread is where it was. */
static u64 settled(void)
{
	vmspan_enter(A);
	vmspan_leave(A);
	return own_ring()->head;
}

static void a_ring_is_handed_over_when_it_is_full(void **state)
{
	u32 n = 0, shots;
	u64 head;

	(void)state;
	tracer_on();
	settled();
	vmspan_flush();
	head = own_ring()->head;
	assert_int_equal(own_ring()->handed, head);
	shots = tracer->shots;
	while (own_ring()->head % VMSPAN_RING) {
		vmspan_enter(A);
		n++;
	}
	assert_int_equal(tracer->shots, shots);
	vmspan_enter(A);
	assert_int_equal(tracer->shots, shots + 1);
	assert_int_equal(tracer->shot[shots].from, head);
	assert_int_equal(tracer->shot[shots].from + tracer->shot[shots].bytes, own_ring()->handed);
	assert_int_equal(own_ring()->handed % VMSPAN_RING, 0);
	assert_int_equal(own_ring()->head, own_ring()->handed + sizeof(struct vmspan_mark));
	for (u32 i = 0; i <= n; i++)
		vmspan_leave(A);
	collect();
	assert_int_equal(seen_count, 2);
	expect_span(1, A, 0, 0);
}

static u32 faults, shots_at_fault;

static void page_comes_back(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	faults++;
	shots_at_fault = tracer->shots;
	mprotect((void *)((size_t)info->si_addr & ~(size_t)4095), 4096, PROT_READ | PROT_WRITE);
}

/* A probe reads what is in memory, and waits for nothing. */
static void what_was_swapped_out_is_in_memory_before_it_is_handed_over(void **state)
{
	struct sigaction a = { .sa_sigaction = page_comes_back, .sa_flags = SA_SIGINFO }, was;
	u32 shots;

	(void)state;
	tracer_on();
	settled();
	vmspan_flush();
	while (own_ring()->head % VMSPAN_RING)
		vmspan_input(0);
	shots = tracer->shots;
	faults = 0;
	assert_int_equal(sigaction(SIGSEGV, &a, &was), 0);
	assert_int_equal(mprotect((void *)(size_t)own_ring()->base, VMSPAN_RING, PROT_NONE), 0);
	vmspan_input(0);
	assert_int_equal(sigaction(SIGSEGV, &was, NULL), 0);
	assert_int_equal(tracer->shots, shots + 1);
	assert_int_equal(faults, VMSPAN_RING / 4096);
	assert_int_equal(shots_at_fault, shots);
}

static void a_mark_with_a_value_is_never_cut_in_two(void **state)
{
	(void)state;
	tracer_on();
	for (u32 odd = 0; odd < 2; odd++) {
		settled();
		while ((own_ring()->head + (odd ? 16 : 32)) % VMSPAN_RING)
			vmspan_input(2);
		vmspan_value(3, (vmspan_i64)(700 + odd));
		vmspan_value(3, (vmspan_i64)(800 + odd));
	}
	collect();
	assert_int_equal(seen_of[VMSPAN_VALUE], 4);
	for (u32 i = 0, n = 0; i < seen_count; i++)
		if (seen[i]->type == VMSPAN_VALUE) {
			const struct vmspan_point *v = (const struct vmspan_point *)seen[i];

			assert_int_equal(v->h.id, 3);
			assert_int_equal(v->value, (n % 2 ? 800 : 700) + n / 2);
			n++;
		}
}

static void the_end_of_an_event_hands_over_what_has_waited_too_long(void **state)
{
	u32 shots;

	(void)state;
	tracer_on();
	settled();
	vmspan_flush();
	shots = tracer->shots;
	vmspan_event_begin(0);
	vmspan_enter(A);
	vmspan_leave(A);
	vmspan_event_end();
	assert_int_equal(tracer->shots, shots);
	process()->latency = 0; /* as if its time had passed */
	vmspan_event_begin(0);
	vmspan_enter(A);
	vmspan_leave(A);
	assert_int_equal(tracer->shots, shots);
	vmspan_event_end();
	assert_int_equal(tracer->shots, shots + 1);
	assert_int_equal(own_ring()->handed, own_ring()->head);
}

static void the_end_of_an_event_follows_what_was_handed_over_of_it(void **state)
{
	u32 shots;

	(void)state;
	tracer_on();
	vmspan_event_begin(0);
	vmspan_event_begin(0);
	vmspan_event_end();
	vmspan_flush();
	shots = tracer->shots;
	vmspan_event_end();
	assert_int_equal(tracer->shots, shots + 1);
	vmspan_event_begin(0);
	vmspan_event_end();
	assert_int_equal(tracer->shots, shots + 1);
	collect();
	assert_int_equal(seen_count, 3);
}

/* Of what is around the event that ends, nothing has been handed over: nor is there anything to hand over. */
static void events_in_an_event_do_not_make_its_end_a_hand_over(void **state)
{
	u32 shots, deep, i;

	(void)state;
	for (deep = 2; deep <= 4; deep++) {
		tracer_on();
		vmspan_event_begin(0);
		vmspan_event_end();
		shots = tracer->shots;
		for (i = 0; i < deep; i++)
			vmspan_event_begin(0);
		for (i = 0; i < deep; i++)
			vmspan_event_end();
		/* An end too many is none. */
		vmspan_event_end();
		assert_int_equal(tracer->shots, shots);
		/* What was handed over of the one around it is known when that ends. */
		vmspan_event_begin(0);
		vmspan_flush();
		shots = tracer->shots;
		vmspan_event_begin(0);
		vmspan_event_end();
		assert_int_equal(tracer->shots, shots);
		vmspan_event_end();
		assert_int_equal(tracer->shots, shots + 1);
	}
}

/* Of the newest marks in the ring, the n-th from the end. */
static u32 type_before_head(u32 n)
{
	const struct vmspan_ring *g = own_ring();

	return ((const struct vmspan_mark *)(size_t)(g->base + ((g->head - n * 16) & g->mask)))
		->type;
}

/* Both ends of an event tell the thread's clock if that is old. */
static void a_clock_that_has_not_been_told_for_long_is_told_at_both_ends_of_an_event(void **state)
{
	u32 events = 0;
	u64 head;

	(void)state;
	tracer_on();
	vmspan_event_begin(0);
	vmspan_event_end();
	own_ring()->clock_every = INT64_MAX;
	head = own_ring()->head;
	vmspan_event_begin(0);
	vmspan_event_end();
	assert_int_equal(own_ring()->head, head + 2 * sizeof(struct vmspan_mark));
	own_ring()->clock_every = 0;
	head = own_ring()->head;
	vmspan_event_begin(0);
	assert_int_equal(own_ring()->head, head + 3 * sizeof(struct vmspan_mark));
	assert_int_equal(type_before_head(3), VMSPAN_MARK_EVENT_BEGIN);
	assert_int_equal(type_before_head(2), VMSPAN_MARK_CLOCK);
	assert_int_equal(type_before_head(1), VMSPAN_MARK_MORE);
	vmspan_input(1); /* nothing else does */
	assert_int_equal(own_ring()->head, head + 4 * sizeof(struct vmspan_mark));
	vmspan_event_end();
	assert_int_equal(own_ring()->head, head + 7 * sizeof(struct vmspan_mark));
	assert_int_equal(type_before_head(3), VMSPAN_MARK_EVENT_END);
	assert_int_equal(type_before_head(2), VMSPAN_MARK_CLOCK);
	/* What the head was behind the end. */
	assert_int_equal(own_ring()->clock_at, head + 5 * sizeof(struct vmspan_mark));
	/* A thread that was interrupted has told of it already. */
	head = own_ring()->head;
	rseq_played.section = 0;
	own_ring()->clock_every = INT64_MAX;
	vmspan_event_begin(0);
	assert_int_equal(own_ring()->head, head + 3 * sizeof(struct vmspan_mark));
	assert_int_equal(type_before_head(3), VMSPAN_MARK_SWITCH);
	vmspan_event_end();
	collect();
	assert_int_equal(COUNTED(events), 0);
	for (u32 i = 0; i < seen_count; i++)
		events += seen[i]->type == VMSPAN_EVENT;
	assert_int_equal(events, 4);
}

static void a_new_tracer_in_the_middle_of_a_turn_sees_only_its_own_time(void **state)
{
	(void)state;
	tracer_on();
	vmspan_event_begin(0);
	vmspan_enter(A);
	vmspan_enter(B);
	vmspan_leave(B);
	tracer_off(); /* died: its marks are still in the ring, A and the turn are open */
	vmspan_leave(A);
	vmspan_enter(C);
	tracer_on();
	vmspan_leave(C); /* entered while nobody traced */
	vmspan_enter(B);
	vmspan_leave(B);
	vmspan_event_end(); /* begun under the tracer that died */
	vmspan_event_begin(0);
	vmspan_enter(A);
	vmspan_leave(A);
	vmspan_event_end();
	collect();
	assert_int_equal(seen_count, 3);
	expect_span(0, B, 0, 0);
	assert_int_equal(((const struct vmspan_span *)seen[0])->iteration, 0);
	expect_span(1, A, 0, 0);
	expect_event(2, 0, 1);
	assert_int_equal(COUNTED(unmatched), 0);
	assert_int_equal(COUNTED(repaired), 0);
	assert_true(COUNTED(cpu_known)); /* the first mark of a session says where it was made */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ring_is_handed_over_when_it_is_full),
		cmocka_unit_test(what_was_swapped_out_is_in_memory_before_it_is_handed_over),
		cmocka_unit_test(a_mark_with_a_value_is_never_cut_in_two),
		cmocka_unit_test(the_end_of_an_event_hands_over_what_has_waited_too_long),
		cmocka_unit_test(the_end_of_an_event_follows_what_was_handed_over_of_it),
		cmocka_unit_test(events_in_an_event_do_not_make_its_end_a_hand_over),
		cmocka_unit_test(
			a_clock_that_has_not_been_told_for_long_is_told_at_both_ends_of_an_event),
		cmocka_unit_test(a_new_tracer_in_the_middle_of_a_turn_sees_only_its_own_time),
	};

	return cmocka_run_group_tests_name("v2 hand-over", tests, tracer_setup, NULL);
}
#endif
