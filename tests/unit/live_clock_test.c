/* SPDX-License-Identifier: BSD-2-Clause */
/* An event's end whose thread is about to tell its clock: it is kept for that, and never lost. The
 * target is this process. */
#include "marks_rig.h"
#include "source/marks.h"

/* An event, and where the thread's clock is to come: it hands over before it can tell it. */
static void event(struct rig *g)
{
	mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
	mark(g, VMSPAN_MARK_EVENT_END, 0);
	g->ring->head.clock_at = g->ring->head.head;
}

static void clock_comes(struct rig *g)
{
	mark(g, VMSPAN_MARK_CLOCK, 0);
	mark(g, VMSPAN_MARK_MORE, 0);
}

static void an_end_waits_for_the_clock(void **state)
{
	struct rig *g = rig_open();

	(void)state;
	event(g);
	hand_over(g);
	assert_int_equal(g->spans, 0);
	clock_comes(g);
	hand_over(g);
	assert_int_equal(g->spans, 1);
	/* Where the ring ends what belongs together begins the next lap. */
	event(g);
	mark(g, VMSPAN_MARK_FILL, 0);
	hand_over(g);
	assert_int_equal(g->spans, 1);
	clock_comes(g);
	hand_over(g);
	assert_int_equal(g->spans, 2);
	/* Nobody waits where nothing comes. */
	event(g);
	g->ring->head.clock_at = 0;
	hand_over(g);
	assert_int_equal(g->spans, 3);
	event(g);
	spans(g, 1);
	hand_over(g);
	assert_int_equal(g->spans, 5);
	no_loss(g);
	rig_close(g);
}

/* What is longer is handed over in parts, one right behind the other. */
static void an_end_waits_for_the_next_part(void **state)
{
	struct rig *g = rig_open();
	struct vmspan_ring head;

	(void)state;
	g->ring->marks[0] = (struct vmspan_mark){ .cycles = 1000, .type = VMSPAN_MARK_EVENT_BEGIN };
	g->ring->marks[MARKS - 1] =
		(struct vmspan_mark){ .cycles = 2000, .type = VMSPAN_MARK_EVENT_END };
	head = g->ring->head;
	head.mask = 2 * VMSPAN_FLUSH_MAX - 1;
	head.head = VMSPAN_FLUSH_MAX + 32;
	head.clock_at = VMSPAN_FLUSH_MAX;
	assert_int_equal(arrive_as(g, 0, VMSPAN_FLUSH_MAX, &head, false), 0);
	assert_int_equal(g->spans, VMSPAN_FLUSH_MAX / sizeof(g->ring->marks) - 1);
	head.clock_at = 0;
	g->ring->marks[0].type = VMSPAN_MARK_CLOCK;
	g->ring->marks[1].type = VMSPAN_MARK_MORE;
	assert_int_equal(arrive_as(g, VMSPAN_FLUSH_MAX, 32, &head, false), 0);
	assert_int_equal(g->spans, VMSPAN_FLUSH_MAX / sizeof(g->ring->marks));
	no_loss(g);
	rig_close(g);
}

static void the_trace_ends(struct rig *g)
{
	assert_int_equal(live_rings_read(&g->l, &g->p, g->r), 0);
}

static void its_memory_is_gone_as_the_trace_ends(struct rig *g)
{
	g->process->rings = 0;
	the_trace_ends(g);
}

static void the_thread_ends(struct rig *g)
{
	assert_int_equal(live_rings_thread_end(&g->l, &g->p, g->r, TID, clock_mono_ns(), ""), 0);
}

static void the_thread_ends_in_exact_mode(struct rig *g)
{
	g->l.s.info.exact = g->l.tails = true;
	the_thread_ends(g);
}

static void the_process_ends(struct rig *g)
{
	g->l.tails = true;
	assert_int_equal(live_rings_process_end(&g->l, &g->p), 0);
}

static void another_thread_takes_its_ring(struct rig *g)
{
	new_thread(g, 2);
	g->seq_next = 0;
	assert_int_equal(arrive_as(g, g->ring->head.head, 0, &g->ring->head, false), 0);
}

static void the_next_marks_are_lost(struct rig *g)
{
	spans(g, 2);
	g->ring->head.handed = g->ring->head.head;
	mark(g, VMSPAN_MARK_INPUT, 1);
	hand_over(g);
	assert_int_equal(g->gaps, 4);
	g->gaps = 0;
	g->spans--; /* the input */
}

static void it_is_looked_at_when_no_clock_comes(struct rig *g)
{
	assert_int_equal(live_rings_look(&g->l, live_rings_next(&g->l)), 0);
	assert_int_equal(g->spans, 0); /* it may still come */
	g->ring->head.clock_at = 0;
	assert_int_equal(live_rings_look(&g->l, live_rings_next(&g->l)), 0);
}

static void an_end_is_taken_when_no_clock_comes(void **state)
{
	static void (*const ways[])(struct rig *) = {
		the_trace_ends,          its_memory_is_gone_as_the_trace_ends,
		the_thread_ends,         the_thread_ends_in_exact_mode,
		the_process_ends,        another_thread_takes_its_ring,
		the_next_marks_are_lost, it_is_looked_at_when_no_clock_comes,
	};
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		struct rig *g = rig_open();

		event(g);
		hand_over(g);
		assert_int_equal(g->spans, 0);
		ways[i](g);
		assert_int_equal(g->spans, 1);
		no_loss(g);
		rig_close(g);
	}
}

static bool one_is_open(void *ctx, u32 tid, const struct marks *m)
{
	(void)tid;
	*(u32 *)ctx += m->events;
	return true;
}

static void an_event_whose_end_waits_is_not_open(void **state)
{
	struct rig *g = rig_open();
	u32 most = 10, events = 0;

	(void)state;
	mark(g, VMSPAN_MARK_ENTER, 5);
	mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
	hand_over(g);
	live_rings_open(&g->p, g->r, &most, one_is_open, &events);
	assert_int_equal(events, 1);
	mark(g, VMSPAN_MARK_EVENT_END, 0);
	g->ring->head.clock_at = g->ring->head.head;
	hand_over(g);
	events = 0;
	live_rings_open(&g->p, g->r, &most, one_is_open, &events);
	assert_int_equal(events, 0);
	rig_close(g);
}

/* A program that has just begun, or has executed itself, is known by its first ring. */
static void who_is_seen_first_is_asked_to_hand_over_soon(void **state)
{
	struct rig *g = rig_open();

	(void)state;
	g->process->latency = g->process->latency_usual = 50000000;
	g->l.s.info.exact = true;
	assert_int_equal(arrive_as(g, 0, 0, &g->ring->head, false), 0);
	assert_int_equal(g->process->latency, 1);
	g->process->latency = 7; /* another one's wish, which is not asked for again */
	spans(g, 1);
	hand_over(g);
	assert_int_equal(g->process->latency, 7);
	live_rings_end(&g->l, &g->p);
	assert_int_equal(g->process->latency, 50000000);
	rig_close(g);
}

/* What the last one of a process has left comes with the process's end, and may have been kept for the clock of the
 * thread. */
static void the_last_thread_ends_behind_what_its_process_tells(void **state)
{
	struct wire_life w = { .h = { .kind = WIRE_THREAD_EXIT, .tid = TID },
			       .mono_ns = 6000,
			       .other = 1,
			       .comm = "last" };
	struct rig *g = rig_open();

	(void)state;
	w.h.pid = g->p.pid;
	spans(g, 1);
	hand_over(g);
	assert_int_equal(live_record(&g->l, &w, sizeof(w)), 0);
	assert_int_equal(g->ends, 0);
	spans(g, 2);
	mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
	arrive(g, g->ring->head.handed, g->ring->head.head);
	g->l.tails = true;
	assert_int_equal(live_rings_process_end(&g->l, &g->p), 0);
	assert_int_equal(g->ends, 0);
	assert_int_equal(live_unfinished(&g->l, &g->p, UNFINISHED_PROCESS, 9000), 0);
	assert_int_equal(g->ends, 1);
	assert_int_equal(g->spans_at_end, 3);
	assert_int_equal(g->end_ns, 6000);
	assert_string_equal(g->end_name, "last");
	/* It was in an event, until the end of the process. */
	assert_int_equal(g->unfinished, 1);
	assert_int_equal(g->last_unfinished.why, UNFINISHED_PROCESS);
	assert_int_equal(g->last_unfinished.until_ns, 9000);
	rig_close(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_end_waits_for_the_clock),
		cmocka_unit_test(an_end_waits_for_the_next_part),
		cmocka_unit_test(an_end_is_taken_when_no_clock_comes),
		cmocka_unit_test(the_last_thread_ends_behind_what_its_process_tells),
		cmocka_unit_test(an_event_whose_end_waits_is_not_open),
		cmocka_unit_test(who_is_seen_first_is_asked_to_hand_over_soon),
	};

	return cmocka_run_group_tests_name("live_clock", tests, NULL, NULL);
}
