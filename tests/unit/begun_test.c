/* SPDX-License-Identifier: BSD-2-Clause */
/* What a thread does in an event that had begun before its marks were turned on is in no figure; nor
 * is it taken for events of its own. The target is this process, which was there. */
#include "marks_rig.h"

#include "source/live_mark_rings.h"

/* No time goes by but what a test lets go by. */
static u64 mono_ns = NSEC_PER_SEC;

static u64 made_clock(void)
{
	return mono_ns;
}

#define clock_mono_ns made_clock
#include "source/live_begun.c"
#undef clock_mono_ns

#define HELD_MARKS \
	(2 * (32u << 10) / VMSPAN_SLOT) /* of so many spans all are held back, of more none */

static struct rig *rig_of_before(void)
{
	struct rig *g = rig_open();

	g->p.on.mono_ns = 1;
	g->p.on.boot_ns = UINT64_MAX;
	return g;
}

static struct ring_reader *reader_of(const struct rig *g)
{
	const u64 *at = map_get(&g->r->rings, g->ring->head.thread);

	assert_non_null(at);
	return (struct ring_reader *)(uintptr_t)*at;
}

/* Spans of a thread, handed over as often as its ring is full. */
static void many(struct rig *g, u32 marks)
{
	for (; marks; marks -= min_u64(marks, MARKS)) {
		spans(g, (u32)min_u64(marks, MARKS) / 2);
		hand_over(g);
	}
}

static void event(struct rig *g)
{
	mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
	spans(g, 1);
	mark(g, VMSPAN_MARK_EVENT_END, 0);
}

static void what_remains_of_it_is_in_no_figure(void **state)
{
	u32 pieces;

	(void)state;
	for (pieces = 0; pieces < 2; pieces++) {
		struct rig *g = rig_of_before();

		mark(g, VMSPAN_MARK_LEAVE, 5); /* it was in there */
		spans(g, 3);
		if (pieces)
			hand_over(g);
		assert_int_equal(g->spans, 0);
		mark(g, VMSPAN_MARK_INPUT, 0); /* a point in time is none of an event's */
		mark(g, VMSPAN_MARK_ENTER, 6);
		if (pieces)
			hand_over(g);
		mark(g, VMSPAN_MARK_EVENT_END, 0);
		hand_over(g);
		assert_int_equal(g->spans, 1);
		assert_int_equal(g->unmatched, 0);
		assert_int_equal(g->p.begun_before, 1);
		/* What it had not left is left. */
		assert_int_equal(reader_of(g)->m.depth, 0);
		event(g);
		spans(g, 2);
		hand_over(g);
		assert_int_equal(g->spans, 1 + 2 + 2);
		assert_int_equal(g->l.rings_held, 0);
		no_loss(g);
		rig_close(g);
	}
}

static void the_next_one_says_that_there_was_none(void **state)
{
	static const u32 by[] = { VMSPAN_MARK_EVENT_BEGIN, VMSPAN_MARK_UNWIND };
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(by); i++) {
		struct rig *g = rig_of_before();

		spans(g, 2);
		hand_over(g);
		assert_int_equal(g->spans, 0);
		assert_int_equal(g->l.rings_held, 1);
		mark(g, by[i], 0);
		hand_over(g);
		assert_int_equal(g->spans, 2);
		assert_int_equal(g->l.rings_held, 0);
		spans(g, 1);
		hand_over(g);
		assert_int_equal(g->spans, 3);
		no_loss(g);
		rig_close(g);
	}
}

/* Who begins one in another has said that there was none: the outer one's end is the proof that this was
 * wrong. */
static void what_was_told_of_too_early_is_a_loss(void **state)
{
	u32 pieces;

	(void)state;
	for (pieces = 0; pieces < 2; pieces++) {
		struct rig *g = rig_of_before();

		spans(g, 2);
		event(g);
		if (pieces)
			hand_over(g);
		mark(g, VMSPAN_MARK_EVENT_END, 0);
		hand_over(g);
		assert_int_equal(g->spans, 2 + 2);
		assert_int_equal(g->records[LOSS_MARKS_OFF], 1);
		/* Nothing was outside of any since. */
		event(g);
		mark(g, VMSPAN_MARK_EVENT_END, 0);
		hand_over(g);
		assert_int_equal(g->records[LOSS_MARKS_OFF], 1);
		spans(g, 1);
		mark(g, VMSPAN_MARK_EVENT_END, 0);
		hand_over(g);
		assert_int_equal(g->records[LOSS_MARKS_OFF], 2);
		assert_int_equal(g->p.begun_before, 3);
		rig_close(g);
	}
	/* Nothing was outside of it either: collections and calls are no events. */
	struct rig *g = rig_of_before();

	mark(g, VMSPAN_MARK_GC_BEGIN, 0);
	mark(g, VMSPAN_MARK_GC_END, 0);
	event(g);
	hand_over(g);
	mark(g, VMSPAN_MARK_EVENT_END, 0);
	hand_over(g);
	no_loss(g);
	rig_close(g);
}

/* It is not held back for ever: of a program without events nothing would be seen. */
static void what_is_too_much_or_too_long_is_told(void **state)
{
	struct rig *g = rig_of_before();

	(void)state;
	many(g, HELD_MARKS);
	assert_int_equal(g->spans, 0);
	spans(g, 1);
	hand_over(g);
	assert_int_equal(g->spans, HELD_MARKS / 2 + 1);
	assert_int_equal(g->l.rings_held, 0);
	spans(g, 1);
	hand_over(g);
	assert_int_equal(g->spans, HELD_MARKS / 2 + 2);
	no_loss(g);
	mark(g, VMSPAN_MARK_EVENT_END, 0);
	hand_over(g);
	assert_int_equal(g->records[LOSS_MARKS_OFF], 1);
	rig_close(g);

	for (u32 exact = 0; exact < 2; exact++) {
		g = rig_of_before();
		g->l.s.info.exact = exact;
		spans(g, 2);
		hand_over(g);
		spans(g, 1); /* in exact mode these come with what the scheduler did to them */
		g->l.rings_ns = 0;
		assert_int_equal(live_rings_look(&g->l, 0), 0);
		assert_int_equal(g->spans, 0);
		mono_ns += 250 * NSEC_PER_MSEC - 1;
		g->l.rings_ns = 0;
		assert_int_equal(live_rings_look(&g->l, 0), 0);
		assert_int_equal(g->spans, 0);
		mono_ns++;
		assert_true(live_rings_next(&g->l) != UINT64_MAX);
		assert_int_equal(live_rings_look(&g->l, live_rings_next(&g->l)), 0);
		assert_int_equal(g->spans, 3 - exact);
		assert_int_equal(live_rings_next(&g->l) == UINT64_MAX, exact);
		no_loss(g);
		rig_close(g);
	}
}

static void more_threads_than_are_held_back_are_not(void **state)
{
	struct rig *g = rig_of_before();

	(void)state;
	g->l.rings_held = 1023;
	spans(g, 1);
	hand_over(g);
	assert_int_equal(g->spans, 0);
	assert_int_equal(g->l.rings_held, 1024);
	rig_close(g);

	g = rig_of_before();
	g->l.rings_held = 1024;
	spans(g, 1);
	hand_over(g);
	assert_int_equal(g->spans, 1);
	assert_int_equal(g->l.rings_held, 1024);
	rig_close(g);
}

/* ---- When nothing more comes that would say ---- */

static void at_the_end_it_is_told(void **state)
{
	enum {
		THREAD,
		PROCESS,
		PAUSE,
		GAP,
		TAKEN_OVER,
		WAYS
	};
	u32 way;

	(void)state;
	for (way = 0; way < WAYS; way++) {
		struct rig *g = rig_of_before();
		struct vmspan_ring *h = &g->ring->head;

		g->l.tails = true;
		spans(g, 2);
		mark(g, VMSPAN_MARK_ENTER, 6);
		hand_over(g);
		assert_int_equal(g->spans, 0);
		if (way == THREAD) {
			assert_int_equal(
				live_rings_thread_end(&g->l, &g->p, g->r, TID, clock_mono_ns(), ""),
				0);
		} else if (way == PROCESS) {
			assert_int_equal(
				live_unfinished(&g->l, &g->p, UNFINISHED_PROCESS, clock_mono_ns()),
				0);
		} else if (way == PAUSE) {
			assert_int_equal(live_rings_doubt(&g->l, &g->p), 0);
		} else if (way == GAP) {
			h->head += sizeof(struct vmspan_mark);
			h->handed = h->head;
			spans(g, 1);
			hand_over(g);
			assert_int_equal(g->gaps, 1);
		} else {
			new_thread(g, 2);
			g->seq_next = 0;
			mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
			hand_over(g);
		}
		assert_int_equal(g->spans, 2 + (way == GAP));
		assert_int_equal(g->unfinished,
				 way == THREAD || way == PROCESS || way == TAKEN_OVER);
		assert_int_equal(g->l.rings_held, 0);
		if (way == PAUSE) {
			/* Meanwhile an event may have begun. */
			spans(g, 1);
			hand_over(g);
			mark(g, VMSPAN_MARK_EVENT_END, 0);
			hand_over(g);
			assert_int_equal(g->spans, 2);
			no_loss(g);
		}
		rig_close(g);
	}
}

/* What goes on is told of with all that has been held back. */
static void a_copy_has_what_is_held_back(void **state)
{
	struct rig *g = rig_of_before();
	struct vmspan_ring head;
	struct marks m;

	(void)state;
	mark(g, VMSPAN_MARK_ENTER, 6);
	spans(g, 2);
	hand_over(g);
	spans(g, 1);
	assert_true(mark_ring_head(&g->p, 1, reader_of(g), &head));
	assert_true(mark_ring_now(&g->p, reader_of(g), &head, &m));
	assert_int_equal(m.records, 3);
	assert_int_equal(m.out.len, 3 * VMSPAN_SLOT);
	assert_int_equal(m.seq, 0);
	assert_int_equal(reader_of(g)->m.records, 2);
	marks_free(&m);
	rig_close(g);
}

/* ---- Where there can have been none ---- */

static void who_began_under_the_trace_is_in_none_from_before(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct rig *g = rig_of_before();

		if (i == 0)
			g->p.on.boot_ns = 1; /* it began later */
		else if (i == 1)
			g->p.exec_ns = 1; /* it is another program since */
		else
			g->p.on.mono_ns = 0; /* a child, on from its birth */
		spans(g, 2);
		hand_over(g);
		assert_int_equal(g->spans, 2);
		mark(g, VMSPAN_MARK_EVENT_END, 0);
		hand_over(g);
		no_loss(g);
		assert_int_equal(g->p.begun_before, i == 1);
		rig_close(g);
	}
}

/* That is known of all of its marks alone. */
static void where_marks_are_missing_nothing_is_said(void **state)
{
	struct rig *g = rig_of_before();

	(void)state;
	spans(g, 2);
	event(g);
	hand_over(g);
	g->ring->head.lost++;
	mark(g, VMSPAN_MARK_EVENT_END, 0);
	hand_over(g);
	assert_int_equal(g->records[LOSS_MARKS_OFF], 0);
	assert_int_equal(g->p.begun_before, 0);
	rig_close(g);
}

/* Of conventional probes the kernel side says so. */
static void the_kernel_side_says_it_too(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < 4; i++) {
		struct rig *g = rig_of_before();
		struct wire_life w = { .h = { .kind = WIRE_UNBEGUN,
					      .bytes = sizeof(w) - sizeof(w.h),
					      .pid = g->p.pid,
					      .tid = TID },
				       .mono_ns = 5,
				       .other = i != 1 };

		if (i == 2)
			g->p.exec_ns = 1;
		if (i == 3)
			g->p.on.mono_ns = 6;
		assert_int_equal(live_record(&g->l, &w, sizeof(w)), 0);
		assert_int_equal(g->records[LOSS_MARKS_OFF], i == 0);
		assert_int_equal(g->p.begun_before, i != 3);
		w.other = 0;
		/* One that began under the trace has begun none before it, so what was left out for that is missing. */
		w.left_out = 7;
		assert_int_equal(live_record(&g->l, &w, sizeof(w)), 0);
		assert_int_equal(g->records[LOSS_UNMATCHED], 0);
		g->p.on.boot_ns = 1;
		assert_int_equal(live_record(&g->l, &w, sizeof(w)), 0);
		assert_int_equal(g->records[LOSS_UNMATCHED], 7);
		w.h.pid++; /* nobody knows that one */
		assert_int_equal(live_record(&g->l, &w, sizeof(w)), 0);
		assert_int_equal(g->records[LOSS_MARKS_OFF], i == 0);
		rig_close(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_remains_of_it_is_in_no_figure),
		cmocka_unit_test(the_next_one_says_that_there_was_none),
		cmocka_unit_test(what_was_told_of_too_early_is_a_loss),
		cmocka_unit_test(what_is_too_much_or_too_long_is_told),
		cmocka_unit_test(more_threads_than_are_held_back_are_not),
		cmocka_unit_test(at_the_end_it_is_told),
		cmocka_unit_test(a_copy_has_what_is_held_back),
		cmocka_unit_test(who_began_under_the_trace_is_in_none_from_before),
		cmocka_unit_test(where_marks_are_missing_nothing_is_said),
		cmocka_unit_test(the_kernel_side_says_it_too),
	};

	return cmocka_run_group_tests_name("events from before the trace", tests, NULL, NULL);
}
