/* SPDX-License-Identifier: BSD-2-Clause */
/* The SDK and the reader of its marks, on one thread: which records marks make, to the record. */
#ifndef __x86_64__
#include <stdio.h>
int main(void)
{
	return puts("skip v2_marks - the stand-in for a tracer knows x86-64 only") < 0;
}
#else
#include "v2_tracer.h"

enum {
	A = 1001,
	B,
	C
};

static void a_mark_without_a_tracer_does_nothing(void **state)
{
	(void)state;
	vmspan_event_begin(0);
	vmspan_enter(A);
	vmspan_gc_begin(0, 1);
	vmspan_gc_end(0);
	vmspan_value(1, 2);
	vmspan_leave(A);
	vmspan_event_end();
	vmspan_flush();
	assert_int_equal(tracer->shots, 0);
	assert_null(own_ring()); /* not even memory was taken */
	assert_int_equal(process()->rings, 0);
}

static void a_span_follows_the_spans_inside_it_and_the_event_its_spans(void **state)
{
	const struct vmspan_span *a, *b;
	const struct vmspan_event *e;

	(void)state;
	tracer_on();
	vmspan_event_begin(7);
	vmspan_enter(A);
	vmspan_enter(B);
	vmspan_leave(B);
	vmspan_leave(A);
	vmspan_event_end();
	collect();
	assert_int_equal(seen_count, 3);
	expect_span(0, B, 1, 0);
	expect_span(1, A, 0, 0);
	e = expect_event(2, 0, 2);
	b = (const struct vmspan_span *)seen[0];
	a = (const struct vmspan_span *)seen[1];
	assert_true(a->begin <= b->begin && b->begin <= b->end && b->end <= a->end);
	assert_true(e->begin <= a->begin && a->end <= e->end);
	assert_true(e->mono_begin <= e->mono_end && e->cpu_ns_begin <= e->cpu_ns_end);
	assert_int_equal(a->iteration, e->h.id);
	assert_int_equal(b->iteration, e->h.id);
	assert_int_equal(e->label, 7);
	assert_int_equal(e->parent, 0);
	assert_int_equal(own_ring()->tid, getpid());
}

static void iterations_count_from_one_by_thread(void **state)
{
	(void)state;
	tracer_on();
	for (int i = 0; i < 3; i++) {
		vmspan_event_begin(0);
		vmspan_event_end();
	}
	collect();
	assert_int_equal(seen_count, 3);
	for (u32 i = 1; i < 3; i++)
		assert_int_equal(seen[i]->id, seen[0]->id + i);
}

static void a_b_a_is_three_spans(void **state)
{
	(void)state;
	tracer_on();
	vmspan_enter(A);
	vmspan_enter(B);
	vmspan_enter(A);
	vmspan_leave(A);
	vmspan_leave(B);
	vmspan_leave(A);
	collect();
	assert_int_equal(seen_count, 3);
	expect_span(0, A, 2, 0);
	expect_span(1, B, 1, 0);
	expect_span(2, A, 0, 0);
	assert_int_equal(((const struct vmspan_span *)seen[0])->iteration, 0);
}

static void reentry_of_the_top_is_not_a_span(void **state)
{
	(void)state;
	tracer_on();
	for (int i = 0; i < 70000; i++)
		vmspan_enter(A);
	vmspan_enter(B);
	vmspan_leave(B);
	for (int i = 0; i < 70000; i++)
		vmspan_leave(A);
	collect();
	assert_int_equal(seen_count, 2);
	expect_span(0, B, 1, 0);
	expect_span(1, A, 0, 0);
	assert_int_equal(COUNTED(unmatched), 0);
	assert_int_equal(COUNTED(repaired), 0);
}

static void a_stay_that_was_entered_twice_ends_at_its_last_leave(void **state)
{
	(void)state;
	tracer_on();
	vmspan_enter(A);
	vmspan_enter(A);
	vmspan_leave(A);
	vmspan_enter(B);
	vmspan_leave(B);
	vmspan_leave(A);
	collect();
	assert_int_equal(seen_count, 2);
	expect_span(0, B, 1, 0);
	expect_span(1, A, 0, 0);
}

static void an_event_counts_its_records_across_batches(void **state)
{
	(void)state;
	tracer_on();
	vmspan_value(1, 1); /* before it: not its own */
	vmspan_event_begin(0);
	for (int i = 0; i < 307; i++) {
		vmspan_enter(A);
		if (i % 10 == 0) {
			vmspan_gc_begin(0, 0);
			vmspan_gc_end(0);
		}
		vmspan_leave(A);
	}
	vmspan_input(1);
	vmspan_frame(1);
	vmspan_event_end();
	collect();
	assert_int_equal(seen_count, 1 + 307 + 31 + 2 + 1);
	expect_event(seen_count - 1, 0, 307 + 31 + 2);
}

static void a_nested_event_has_its_parent_and_its_own_base(void **state)
{
	const struct vmspan_event *in, *out;

	(void)state;
	tracer_on();
	vmspan_event_begin(0);
	vmspan_enter(A);
	vmspan_event_begin(0);
	vmspan_enter(B);
	vmspan_leave(B);
	vmspan_event_end();
	vmspan_enter(C);
	vmspan_leave(C);
	vmspan_leave(A);
	vmspan_event_end();
	collect();
	assert_int_equal(seen_count, 5);
	expect_span(0, B, 1, 0);
	in = expect_event(1, 1, 1);
	expect_span(2, C, 1, 0);
	expect_span(3, A, 0, 0);
	out = expect_event(4, 0, 4);
	assert_int_equal(in->h.id, out->h.id + 1);
	assert_int_equal(in->parent, out->h.id);
	assert_int_equal(out->parent, 0);
	assert_int_equal(((const struct vmspan_span *)seen[0])->iteration, in->h.id);
	assert_int_equal(((const struct vmspan_span *)seen[2])->iteration, out->h.id);
}

static void a_nested_event_enters_the_outer_compartment_anew(void **state)
{
	(void)state;
	tracer_on();
	vmspan_event_begin(0);
	vmspan_enter(A);
	vmspan_event_begin(0);
	vmspan_enter(A); /* no re-entry: it is another turn */
	vmspan_leave(A);
	vmspan_event_end();
	vmspan_leave(A);
	vmspan_event_end();
	collect();
	assert_int_equal(seen_count, 4);
	expect_span(0, A, 1, 0);
	expect_event(1, 1, 1);
	expect_span(2, A, 0, 0);
	expect_event(3, 0, 3);
	assert_int_equal(COUNTED(unmatched), 0);
}

static void a_leave_inside_an_event_does_not_reach_what_was_entered_before_it(void **state)
{
	(void)state;
	tracer_on();
	vmspan_enter(A);
	vmspan_event_begin(0);
	vmspan_leave(A);
	vmspan_enter(B);
	vmspan_leave(A);
	vmspan_leave(B);
	vmspan_event_end();
	vmspan_leave(A);
	collect();
	assert_int_equal(seen_count, 3);
	expect_span(0, B, 1, 0);
	expect_event(1, 1, 1);
	expect_span(2, A, 0, 0);
	assert_int_equal(COUNTED(unmatched), 2);
	assert_int_equal(COUNTED(repaired), 0);
}

/* Nor does one behind an event that was nested in it. */
static void a_leave_behind_a_nested_event_reaches_no_further(void **state)
{
	(void)state;
	tracer_on();
	vmspan_enter(A);
	vmspan_event_begin(0);
	vmspan_event_begin(0);
	vmspan_event_end();
	vmspan_leave(A);
	vmspan_enter(A); /* no re-entry: it is the event's */
	vmspan_leave(A);
	vmspan_event_end();
	vmspan_leave(A);
	collect();
	assert_int_equal(seen_count, 4);
	expect_event(0, 1, 0);
	expect_span(1, A, 1, 0);
	expect_event(2, 1, 2);
	expect_span(3, A, 0, 0);
	assert_int_equal(COUNTED(unmatched), 1);
	assert_int_equal(COUNTED(repaired), 0);
}

static void events_nested_deeper_than_kept_are_counted_and_balanced(void **state)
{
	(void)state;
	tracer_on();
	for (int i = 0; i < VMSPAN_EVENT_MAX + 5; i++)
		vmspan_event_begin(0);
	for (int i = 0; i < VMSPAN_EVENT_MAX + 5; i++)
		vmspan_event_end();
	collect();
	assert_int_equal(seen_of[VMSPAN_EVENT], VMSPAN_EVENT_MAX);
	assert_int_equal(COUNTED(too_deep), 5);
	assert_int_equal(COUNTED(events), 0);
	expect_event(seen_count - 1, 0, VMSPAN_EVENT_MAX - 1);
}

static void spans_deeper_than_kept_are_counted_and_balanced(void **state)
{
	enum {
		N = VMSPAN_DEPTH_MAX + 47
	};
	(void)state;
	tracer_on();
	for (u32 i = 0; i < N; i++)
		vmspan_enter(i % 2 ? A : B);
	for (u32 i = N; i-- > 0;)
		vmspan_leave(i % 2 ? A : B);
	collect();
	assert_int_equal(seen_of[VMSPAN_SPAN], VMSPAN_DEPTH_MAX);
	for (u32 i = 0; i < VMSPAN_DEPTH_MAX; i++) {
		u32 d = VMSPAN_DEPTH_MAX - 1 - i;
		expect_span(i, d % 2 ? A : B, d, 0);
	}
	assert_int_equal(COUNTED(too_deep), 47);
	assert_int_equal(COUNTED(unmatched), 0);
	assert_int_equal(COUNTED(repaired), 0);
	assert_int_equal(COUNTED(depth), 0);
}

static void an_event_leaves_the_overflow_of_the_one_around_it(void **state)
{
	enum {
		N = VMSPAN_DEPTH_MAX + 5
	};

	(void)state;
	tracer_on();
	vmspan_event_begin(0);
	for (u32 i = 0; i < N; i++)
		vmspan_enter(i % 2 ? A : B);
	vmspan_event_begin(0);
	vmspan_enter(C);
	vmspan_enter(A); /* never left: the event's end forgets it */
	vmspan_event_end();
	for (u32 i = N; i-- > 0;)
		vmspan_leave(i % 2 ? A : B);
	vmspan_event_end();
	collect();
	assert_int_equal(seen_of[VMSPAN_SPAN], VMSPAN_DEPTH_MAX);
	expect_event(seen_count - 1, 0, VMSPAN_DEPTH_MAX + 1);
	assert_int_equal(COUNTED(unmatched), 0);
	assert_int_equal(COUNTED(repaired), 0);
}

static void a_leave_without_an_enter_is_ignored_and_counted(void **state)
{
	(void)state;
	tracer_on();
	vmspan_event_begin(0);
	vmspan_leave(B);
	vmspan_enter(A);
	vmspan_leave(B);
	vmspan_gc_end(0);
	vmspan_block_end();
	vmspan_leave(A);
	vmspan_event_end();
	vmspan_event_end();
	vmspan_value(1, 1);
	collect();
	assert_int_equal(seen_count, 3);
	expect_span(0, A, 0, 0);
	expect_event(1, 0, 1);
	/* Not the second end: it may be of an event from before the tracer. */
	assert_int_equal(COUNTED(unmatched), 4);
}

static void skipped_leaves_are_repaired_by_the_next_that_matches(void **state)
{
	(void)state;
	tracer_on();
	vmspan_event_begin(0);
	vmspan_enter(A);
	vmspan_enter(B);
	vmspan_gc_begin(9, 100);
	vmspan_enter(C);
	vmspan_leave(A); /* as a longjmp to A's frame does */
	vmspan_event_end();
	collect();
	assert_int_equal(seen_count, 5);
	expect_span(0, C, 3, VMSPAN_F_REPAIRED);
	assert_int_equal(seen[1]->type, VMSPAN_GC);
	assert_int_equal(seen[1]->depth, 2 | VMSPAN_F_REPAIRED);
	assert_int_equal(seen[1]->id, 9);
	expect_span(2, B, 1, VMSPAN_F_REPAIRED);
	expect_span(3, A, 0, 0);
	expect_event(4, 0, 4);
	assert_int_equal(COUNTED(repaired), 3);
}

static void skipped_leaves_are_repaired_by_the_end_of_the_event(void **state)
{
	(void)state;
	tracer_on();
	vmspan_event_begin(0);
	vmspan_enter(A);
	for (u32 i = 0; i < VMSPAN_DEPTH_MAX; i++) /* too deep by one */
		vmspan_enter(B + i % 2);
	vmspan_event_end();
	collect();
	assert_int_equal(seen_count, VMSPAN_DEPTH_MAX + 1);
	expect_span(VMSPAN_DEPTH_MAX - 1, A, 0, VMSPAN_F_REPAIRED);
	expect_event(seen_count - 1, 0, VMSPAN_DEPTH_MAX);
	assert_int_equal(COUNTED(repaired), VMSPAN_DEPTH_MAX);
	assert_int_equal(COUNTED(too_deep_open), 0);
}

/* A loop whose tasks fail, each in an event of its own. */
static void events_that_were_left_end_where_that_is_caught(void **state)
{
	static jmp_buf caught;
	static int i, left;

	(void)state;
	tracer_on();
	left = 0;
	for (i = 0; i < 3000; i++) {
		if (setjmp(caught)) {
			left++;
			vmspan_unwind(0);
			continue;
		}
		vmspan_event_begin(0);
		vmspan_enter(A);
		if (i % 50 == 0)
			longjmp(caught, 1);
		vmspan_leave(A);
		vmspan_event_end();
	}
	collect();
	assert_int_equal(left, 60);
	assert_int_equal(seen_of[VMSPAN_EVENT], 3000);
	assert_int_equal(seen_of[VMSPAN_SPAN], 3000);
	expect_span(0, A, 0, VMSPAN_F_REPAIRED);
	expect_event(1, 0, 1);
	expect_span(2, A, 0, 0);
	expect_event(3, 0, 1);
	assert_int_equal(COUNTED(repaired), 60);
	assert_int_equal(COUNTED(too_deep), 0);
	assert_int_equal(COUNTED(events), 0);
}

/* The loop that catches it is itself in two events, and in a compartment. */
static void events_around_the_one_that_catches_go_on(void **state)
{
	(void)state;
	tracer_on();
	vmspan_event_begin(1);
	vmspan_enter(A);
	vmspan_event_begin(2);
	vmspan_enter(B);
	vmspan_event_begin(3);
	vmspan_enter(C);
	vmspan_event_begin(4);
	vmspan_unwind(2);
	vmspan_leave(B);
	vmspan_event_end();
	vmspan_leave(A);
	vmspan_event_end();
	collect();
	assert_int_equal(seen_count, 7);
	assert_int_equal(expect_event(0, 3, 0)->label, 4);
	expect_span(1, C, 2, VMSPAN_F_REPAIRED);
	assert_int_equal(expect_event(2, 2, 2)->label, 3);
	expect_span(3, B, 1, 0);
	assert_int_equal(expect_event(4, 1, 4)->label, 2);
	expect_span(5, A, 0, 0);
	assert_int_equal(expect_event(6, 0, 6)->label, 1);
	assert_int_equal(COUNTED(repaired), 1);
}

static void who_unwinds_all_is_in_nothing(void **state)
{
	(void)state;
	tracer_on();
	vmspan_unwind(0);
	vmspan_enter(A);
	vmspan_unwind(1); /* there is none: so nothing was left */
	vmspan_enter(B);
	vmspan_unwind(0);
	vmspan_enter(C);
	vmspan_leave(C);
	collect();
	assert_int_equal(seen_count, 3);
	expect_span(0, B, 1, VMSPAN_F_REPAIRED);
	expect_span(1, A, 0, VMSPAN_F_REPAIRED);
	expect_span(2, C, 0, 0);
	assert_int_equal(COUNTED(unmatched), 0);
}

static void events_deeper_than_kept_unwind_too(void **state)
{
	int i;

	(void)state;
	tracer_on();
	for (i = 0; i < VMSPAN_EVENT_MAX + 5; i++)
		vmspan_event_begin(0);
	vmspan_unwind(VMSPAN_EVENT_MAX + 7);
	vmspan_unwind(VMSPAN_EVENT_MAX + 2);
	for (i = 0; i < 2; i++)
		vmspan_event_end();
	collect();
	assert_int_equal(seen_of[VMSPAN_EVENT], 0);
	vmspan_event_end(); /* of the innermost that is kept */
	collect();
	assert_int_equal(seen_of[VMSPAN_EVENT], 1);
	vmspan_unwind(3);
	collect();
	assert_int_equal(seen_of[VMSPAN_EVENT], VMSPAN_EVENT_MAX - 3);
	for (i = 0; i < 3; i++)
		vmspan_event_end();
	collect();
	assert_int_equal(seen_of[VMSPAN_EVENT], VMSPAN_EVENT_MAX);
	assert_int_equal(COUNTED(too_deep), 5);
	assert_int_equal(COUNTED(events), 0);
}

static void collections_calls_and_marks_say_what_they_were_told(void **state)
{
	const struct vmspan_block *b;
	const struct vmspan_point *m;
	const struct vmspan_gc *g;

	(void)state;
	tracer_on();
	vmspan_event_begin(0);
	vmspan_gc_begin(11, 5000000000);
	vmspan_gc_end(4000000000);
	vmspan_block_begin(12, 4321);
	vmspan_block_end();
	vmspan_input(13);
	vmspan_frame(14);
	vmspan_value(15, -6);
	vmspan_event_end();
	collect();
	assert_int_equal(seen_count, 6);
	g = (const struct vmspan_gc *)seen[0];
	assert_int_equal(g->h.type, VMSPAN_GC);
	assert_int_equal(g->h.id, 11);
	assert_int_equal(g->bytes_before, 5000000000);
	assert_int_equal(g->bytes_after, 4000000000);
	assert_true(g->begin <= g->end);
	assert_int_equal(g->iteration, seen[5]->id);
	b = (const struct vmspan_block *)seen[1];
	assert_int_equal(b->h.type, VMSPAN_BLOCK);
	assert_int_equal(b->h.id, 12);
	assert_int_equal(b->peer, 4321);
	assert_int_equal(seen[2]->type, VMSPAN_INPUT);
	assert_int_equal(seen[2]->id, 13);
	assert_int_equal(seen[3]->type, VMSPAN_FRAME);
	assert_int_equal(seen[3]->id, 14);
	m = (const struct vmspan_point *)seen[4];
	assert_int_equal(m->h.type, VMSPAN_VALUE);
	assert_int_equal(m->h.id, 15);
	assert_int_equal(m->value, -6);
	assert_int_equal(m->iteration, seen[5]->id);
	expect_event(5, 0, 5);
}

/* The log as a late tracer reads it: calls visit for every definition. */
static u32 read_log(void (*visit)(const struct vmspan_def *d, u32 i, void *arg), void *arg)
{
	u32 count = 0;

	for (u64 at = process()->log; at;) {
		const struct vmspan_log *l = (const struct vmspan_log *)(size_t)at;
		const char *p = (const char *)l->data, *end = p + l->used;

		assert_true(l->used <= l->size);
		assert_true(sizeof(*l) + l->size <= 64 << 10); /* what is mapped */
		while (p < end) {
			const struct vmspan_def *d = (const struct vmspan_def *)p;

			assert_true(d->h.slots >= 1 && d->h.slots * VMSPAN_SLOT <= end - p);
			assert_true(sizeof(*d) + d->count * 4u + d->name_len <=
				    (size_t)d->h.slots * VMSPAN_SLOT);
			if (visit)
				visit(d, count, arg);
			count++;
			p += d->h.slots * VMSPAN_SLOT;
		}
		at = l->next;
	}
	return count;
}

static void keep_last(const struct vmspan_def *d, u32 i, void *arg)
{
	(void)i;
	*(const struct vmspan_def **)arg = d;
}

static const char *def_name(const struct vmspan_def *d)
{
	return (const char *)(d->groups + d->count);
}

static void a_definition_is_in_the_log_and_while_traced_in_the_stream(void **state)
{
	u32 groups[12], before, late, c, i;
	const struct vmspan_def *d = NULL;
	char longer[400];

	(void)state;
	tracer_off();
	before = read_log(NULL, NULL);
	late = vmspan_label("before the tracer");
	assert_int_not_equal(late, 0);
	tracer_on();
	for (i = 0; i < 12; i++)
		groups[i] = vmspan_group(VMSPAN_ADDON, "g");
	c = vmspan_compartment("frame 1", groups, 12); /* too many: eight are kept */
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = 0;
	vmspan_group_rename(groups[0], VMSPAN_PAGE, longer);
	read_log(keep_last, &d);
	assert_int_equal(read_log(NULL, NULL), before + 15);
	assert_int_equal(d->h.type, VMSPAN_DEF_GROUP);
	assert_int_equal(d->h.id, groups[0]);
	assert_int_equal(d->kind, VMSPAN_PAGE);
	assert_int_equal(d->name_len, VMSPAN_NAME_MAX);
	assert_memory_equal(def_name(d), longer, VMSPAN_NAME_MAX);
	collect();
	assert_int_equal(seen_count, 14);
	for (i = 0; i < 12; i++) {
		assert_int_equal(seen[i]->type, VMSPAN_DEF_GROUP);
		assert_int_equal(seen[i]->id, groups[i]);
	}
	d = (const struct vmspan_def *)seen[12];
	assert_int_equal(d->h.type, VMSPAN_DEF_COMPARTMENT);
	assert_int_equal(d->h.id, c);
	assert_int_equal(d->count, VMSPAN_GROUPS_MAX);
	assert_memory_equal(d->groups, groups, sizeof(u32) * VMSPAN_GROUPS_MAX);
	assert_int_equal(d->name_len, 7);
	assert_memory_equal(def_name(d), "frame 1", 8);
	vmspan_group_rename(0, VMSPAN_PAGE, "nothing"); /* a group that was never made */
	assert_int_equal(read_log(NULL, NULL), before + 15);
}

struct expected {
	u32 skip, id;
};

static void check_numbered(const struct vmspan_def *d, u32 i, void *arg)
{
	const struct expected *e = arg;
	char name[32];

	if (i < e->skip)
		return;
	snprintf(name, sizeof(name), "label %u", i - e->skip);
	assert_int_equal(d->h.type, VMSPAN_DEF_LABEL);
	assert_int_equal(d->h.id, e->id + i - e->skip);
	assert_int_equal(d->name_len, strlen(name));
	assert_memory_equal(def_name(d), name, strlen(name));
}

static void five_thousand_definitions_are_all_there(void **state)
{
	struct expected e = { .skip = read_log(NULL, NULL), .id = process()->label_last + 1 };
	char name[32];

	(void)state;
	tracer_on();
	for (u32 i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "label %u", i);
		assert_int_equal(vmspan_label(name), e.id + i);
	}
	assert_int_equal(read_log(check_numbered, &e), e.skip + 5000);
	collect();
	assert_int_equal(seen_count, 5000);
	for (u32 i = 0; i < 5000; i++)
		check_numbered((const struct vmspan_def *)seen[i], e.skip + i, &e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mark_without_a_tracer_does_nothing),
		cmocka_unit_test(a_span_follows_the_spans_inside_it_and_the_event_its_spans),
		cmocka_unit_test(iterations_count_from_one_by_thread),
		cmocka_unit_test(a_b_a_is_three_spans),
		cmocka_unit_test(reentry_of_the_top_is_not_a_span),
		cmocka_unit_test(a_stay_that_was_entered_twice_ends_at_its_last_leave),
		cmocka_unit_test(an_event_counts_its_records_across_batches),
		cmocka_unit_test(a_nested_event_has_its_parent_and_its_own_base),
		cmocka_unit_test(a_nested_event_enters_the_outer_compartment_anew),
		cmocka_unit_test(a_leave_inside_an_event_does_not_reach_what_was_entered_before_it),
		cmocka_unit_test(a_leave_behind_a_nested_event_reaches_no_further),
		cmocka_unit_test(events_nested_deeper_than_kept_are_counted_and_balanced),
		cmocka_unit_test(spans_deeper_than_kept_are_counted_and_balanced),
		cmocka_unit_test(an_event_leaves_the_overflow_of_the_one_around_it),
		cmocka_unit_test(a_leave_without_an_enter_is_ignored_and_counted),
		cmocka_unit_test(skipped_leaves_are_repaired_by_the_next_that_matches),
		cmocka_unit_test(skipped_leaves_are_repaired_by_the_end_of_the_event),
		cmocka_unit_test(events_that_were_left_end_where_that_is_caught),
		cmocka_unit_test(events_around_the_one_that_catches_go_on),
		cmocka_unit_test(who_unwinds_all_is_in_nothing),
		cmocka_unit_test(events_deeper_than_kept_unwind_too),
		cmocka_unit_test(collections_calls_and_marks_say_what_they_were_told),
		cmocka_unit_test(a_definition_is_in_the_log_and_while_traced_in_the_stream),
		cmocka_unit_test(five_thousand_definitions_are_all_there),
	};

	return cmocka_run_group_tests_name("v2 marks", tests, tracer_setup, NULL);
}
#endif
