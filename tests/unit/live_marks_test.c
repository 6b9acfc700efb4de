/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks on their way to items, whichever way they come: each is taken once, what is missing
 * is told, and nothing of a target's is believed. The target is this process. */
#include "marks_rig.h"

static void each_mark_is_taken_once(void **state)
{
	struct rig *g = rig_open();

	(void)state;
	spans(g, 10);
	hand_over(g);
	assert_int_equal(g->spans, 10);
	arrive(g, 0, g->ring->head.head); /* a handler has done the same */
	assert_int_equal(g->spans, 10);
	spans(g, 5);
	arrive(g, 160, g->ring->head.head); /* and here in part */
	assert_int_equal(g->spans, 15);
	spans(g, 7);
	assert_int_equal(live_rings_read(&g->l, &g->p, g->r), 0);
	assert_int_equal(g->spans, 22);
	assert_int_equal(live_rings_read(&g->l, &g->p, g->r), 0);
	hand_over(g);
	assert_int_equal(g->spans, 22);
	no_loss(g);
	rig_close(g);
}

static void what_did_not_come_is_missing(void **state)
{
	struct rig *g = rig_open();

	(void)state;
	spans(g, 10);
	hand_over(g);
	spans(g, 20);
	g->ring->head.handed = g->ring->head.head; /* found no room */
	spans(g, 3);
	hand_over(g);
	assert_int_equal(g->spans, 13);
	assert_int_equal(g->gaps, 40);
	/* Nor is it taken from the ring afterwards: it has been counted as lost. */
	spans(g, 2);
	g->ring->head.handed = g->ring->head.head;
	assert_int_equal(live_rings_read(&g->l, &g->p, g->r), 0);
	assert_int_equal(g->spans, 13);
	rig_close(g);
}

static void what_was_overwritten_is_missing(void **state)
{
	struct rig *g = rig_open();
	u64 old;

	(void)state;
	spans(g, 10);
	hand_over(g);
	old = g->ring->head.head;
	spans(g, MARKS / 2 + 4); /* eight marks more than there is room for */
	arrive(g, old, g->ring->head.head);
	assert_int_equal(g->spans, 10 + MARKS / 2);
	assert_int_equal(g->gaps, 8);
	rig_close(g);
}

/* The ring stays when a thread ends. Who takes it over hands over what is left in it, and the
 * end of the process does once more. */
static void the_marks_of_a_thread_that_has_ended_are_taken_once(void **state)
{
	struct vmspan_ring first;
	struct rig *g = rig_open();

	(void)state;
	spans(g, 10);
	hand_over(g);
	spans(g, 4);
	first = g->ring->head;
	assert_int_equal(live_rings_thread_end(&g->l, &g->p, g->r, TID, clock_mono_ns(), ""), 0);
	assert_int_equal(g->spans, 14);
	assert_int_equal(g->r->rings.len, 0); /* nothing of it is kept */
	assert_int_equal(arrive_as(g, first.handed, (u32)(first.head - first.handed), &first, true),
			 0);
	assert_int_equal(g->spans, 14);
	no_loss(g);
	g->ring->head.handed = g->ring->head.head;
	new_thread(g, 2);
	spans(g, 1);
	hand_over(g);
	assert_int_equal(g->spans, 15);
	no_loss(g);
	rig_close(g);
}

/* Where the ring has gone over to another thread by then, the rest of the first is on its way. */
static void a_ring_that_was_taken_over_is_left_to_the_next(void **state)
{
	struct vmspan_ring first;
	struct rig *g = rig_open();

	(void)state;
	spans(g, 10);
	hand_over(g);
	spans(g, 4);
	first = g->ring->head;
	g->ring->head.handed = g->ring->head.head;
	new_thread(g, 2);
	g->seq_next = 10;
	spans(g, 3);
	assert_int_equal(live_rings_thread_end(&g->l, &g->p, g->r, TID, clock_mono_ns(), ""), 0);
	assert_int_equal(g->spans, 10);
	assert_int_equal(arrive_as(g, first.handed, (u32)(first.head - first.handed), &first, true),
			 0);
	assert_int_equal(g->spans, 14);
	no_loss(g);
	rig_close(g);
}

/* The kernel side tells of the end of a thread. */
static void ends(struct rig *g, u32 tid, u64 mono_ns)
{
	const struct wire_life w = { .h = { .kind = WIRE_THREAD_EXIT, .pid = g->p.pid, .tid = tid },
				     .mono_ns = mono_ns,
				     .comm = "worker" };

	assert_int_equal(live_record(&g->l, &w, sizeof(w)), 0);
}

/* Another thread has taken the ring over, and says so. */
static void is_there(struct rig *g, u32 tid)
{
	struct wire_marks *w = on_its_way(g, g->ring->head.head, 0, &g->ring->head, false);

	w->h.tid = tid;
	assert_int_equal(map_put(&g->p.threads, tid, 1), 0);
	assert_int_equal(live_marks(&g->l, &w->h, sizeof(*w)), 0);
	free(w);
}

/* Who hears of its end forgets what it was in: so that comes behind all of its marks. */
static void a_thread_ends_when_all_of_it_has_come(void **state)
{
	struct vmspan_ring first;
	struct rig *g = rig_open();

	(void)state;
	spans(g, 1);
	hand_over(g);
	ends(g, OWN_TID, 5); /* another one, whose marks nobody has seen */
	assert_int_equal(g->ends, 1);
	/* What it has left is read there and then. */
	spans(g, 2);
	ends(g, TID, 6);
	assert_int_equal(g->ends, 2);
	assert_int_equal(g->spans_at_end, 3);
	rig_close(g);

	g = rig_open();
	mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
	spans(g, 1);
	hand_over(g);
	spans(g, 4);
	first = g->ring->head;
	g->ring->head.handed = g->ring->head.head;
	new_thread(g, 2);
	ends(g, TID, 5000); /* late: another has the ring, and has handed over the rest */
	assert_int_equal(g->ends, 0);
	assert_int_equal(arrive_as(g, first.handed, (u32)(first.head - first.handed), &first, true),
			 0);
	assert_int_equal(g->ends, 0);
	assert_int_equal(g->spans, 5);
	is_there(g, TID + 1);
	assert_int_equal(g->ends, 1);
	assert_int_equal(g->spans_at_end, 5);
	assert_int_equal(g->end_ns, 5000);
	assert_string_equal(g->end_name, "worker");
	/* It was in an event, at its own end and no later. */
	assert_int_equal(g->unfinished, 1);
	assert_int_equal(g->last_unfinished.why, UNFINISHED_THREAD);
	assert_int_equal(g->last_unfinished.until_ns, 5000);
	rig_close(g);
}

/* The process may be gone by then, with its memory: the rest is what the kernel side has sent of it. */
static void a_thread_whose_process_is_gone_ended_as_a_thread(void **state)
{
	struct vmspan_ring first;
	struct rig *g = rig_open();

	(void)state;
	mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
	hand_over(g);
	spans(g, 4);
	first = g->ring->head;
	g->ring->head.magic = 0;
	ends(g, TID, 5000);
	assert_int_equal(g->ends, 0);
	assert_int_equal(arrive_as(g, first.handed, (u32)(first.head - first.handed), &first, true),
			 0);
	assert_int_equal(g->spans, 4);
	g->l.tails = true;
	assert_int_equal(live_unfinished(&g->l, &g->p, UNFINISHED_PROCESS, 9000), 0);
	assert_int_equal(g->unfinished, 1);
	assert_int_equal(g->last_unfinished.why, UNFINISHED_THREAD);
	assert_int_equal(g->last_unfinished.until_ns, 5000);
	rig_close(g);
}

/* How many events are told of as not ended, if the trace ends now. */
static u32 told_of(struct rig *g)
{
	u32 before = g->unfinished;

	assert_int_equal(live_unfinished(&g->l, &g->p, UNFINISHED_TRACE, clock_mono_ns()), 0);
	return g->unfinished - before;
}

/* Else the end may be among what is missing: that it is missing, is told. */
static void an_event_is_open_only_where_all_has_come(void **state)
{
	struct rig *g = rig_open();
	u64 lost;

	(void)state;
	spans(g, 1);
	hand_over(g);
	assert_int_equal(told_of(g), 0);
	mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
	mark(g, VMSPAN_MARK_ENTER, 5);
	hand_over(g);
	assert_int_equal(told_of(g), 1);
	/* A hand-over that found no room, and none after it. */
	mark(g, VMSPAN_MARK_LEAVE, 5);
	mark(g, VMSPAN_MARK_EVENT_END, 0);
	lost = g->ring->head.handed = g->ring->head.head;
	assert_int_equal(told_of(g), 0);
	/* With one after it. */
	spans(g, 1);
	hand_over(g);
	assert_true(g->ring->head.head > lost);
	assert_int_equal(told_of(g), 0);
	/* The next is known again. */
	mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
	hand_over(g);
	assert_int_equal(told_of(g), 1);
	/* What others have it do once the trace has ended is not of it. */
	g->l.detached = true;
	g->l.last.cycles = 1000 + g->ring->head.head - 1;
	mark(g, VMSPAN_MARK_EVENT_END, 0);
	assert_int_equal(told_of(g), 1);
	g->l.last.cycles++;
	assert_int_equal(told_of(g), 0);
	g->ring->head.handed = g->ring->head.head;
	assert_int_equal(live_rings_doubt(&g->l, &g->p), 0);
	g->l.last.cycles--;
	assert_int_equal(told_of(g), 0);
	rig_close(g);
}

/* The thread that has taken the ring over hands over what is left in it, and says that it is there. */
static void takes_over(struct rig *g, u32 number)
{
	struct vmspan_ring before = g->ring->head;

	if (before.head > before.handed)
		assert_int_equal(arrive_as(g, before.handed, (u32)(before.head - before.handed),
					   &before, true),
				 0);
	g->ring->head.handed = before.head;
	new_thread(g, number);
	assert_int_equal(arrive_as(g, g->ring->head.head, 0, &g->ring->head, false), 0);
}

/* Also of those that have handed nothing over themselves, or whose end is heard of late. */
static void of_threads_that_come_and_go_nothing_stays(void **state)
{
	struct rig *g = rig_open();
	u32 i;

	(void)state;
	for (i = 1; i < 100; i++) {
		spans(g, 2);
		if (i % 3)
			hand_over(g);
		if (i % 2)
			assert_int_equal(
				live_rings_thread_end(&g->l, &g->p, g->r, TID, clock_mono_ns(), ""),
				0);
		takes_over(g, i + 1);
		assert_int_equal(
			live_rings_thread_end(&g->l, &g->p, g->r, TID + 1, clock_mono_ns(), ""), 0);
		assert_int_equal(g->spans, 2 * i);
		assert_int_equal(g->r->rings.len, 1);
		assert_int_equal(g->r->tids.len, 1);
		assert_int_equal(g->r->places.len, 1);
	}
	no_loss(g);
	rig_close(g);
}

/* A thread that is seen before it hands anything over can be seen to end. */
static void a_thread_from_before_the_trace_is_known(void **state)
{
	struct rig *g = rig_open();
	u32 same;

	(void)state;
	for (same = 0; same < 2; same++) {
		g->process->pid = g->p.pid + !same;
		g->p.rings_begun = false;
		live_rings_begin(&g->l, &g->p, g->r);
		assert_int_equal(g->r->tids.len, same);
	}
	assert_int_equal(live_rings_thread_end(&g->l, &g->p, g->r, OWN_TID, clock_mono_ns(), ""),
			 0);
	assert_int_equal(g->r->rings.len, 0);
	rig_close(g);
}

/* However many have ended meanwhile. */
static void who_has_ended_is_remembered_for_long(void **state)
{
	struct vmspan_ring first;
	struct rig *g = rig_open();
	u32 i;

	(void)state;
	hand_over(g);
	spans(g, 4);
	first = g->ring->head;
	assert_int_equal(live_rings_thread_end(&g->l, &g->p, g->r, TID, clock_mono_ns(), ""), 0);
	for (i = 2; g->r->ended.len < 131072; i++)
		assert_int_equal(map_put(&g->r->ended, i, 0), 0);
	new_thread(g, i);
	g->ring->head.handed = g->ring->head.head;
	hand_over(g);
	assert_int_equal(live_rings_thread_end(&g->l, &g->p, g->r, TID, clock_mono_ns(), ""), 0);
	assert_int_equal(g->r->ended.len, 1);
	assert_int_equal(arrive_as(g, 0, 128, &first, true), 0);
	assert_int_equal(g->spans, 4);
	rig_close(g);
}

/* What is marked for another tracer, which keeps the marks on, is not of this trace. What it has had
 * handed over since is in the ring still, or nobody knows whose it was. */
static void what_others_trace_after_the_end_is_theirs(void **state)
{
	struct vmspan_registry copy = { .magic = VMSPAN_MAGIC, .abi = VMSPAN_ABI, .semaphore = 1 };
	u32 handed;

	(void)state;
	for (handed = 0; handed < 2; handed++) {
		struct rig *g = rig_open();

		assert_int_equal(
			map_put(&g->p.copies, (u64)(uintptr_t)&copy, (u64)(uintptr_t)g->process),
			0);
		spans(g, 10);
		hand_over(g);
		spans(g, 3);
		g->l.detached = true;
		g->l.last.cycles = 1000 + g->ring->head.head - 16;
		spans(g, 5);
		if (handed)
			g->ring->head.handed = g->ring->head.head - 32;
		assert_int_equal(live_rings_read(&g->l, &g->p, g->r), 0);
		assert_int_equal(g->spans, 13);
		no_loss(g);
		spans(g, MARKS);
		g->ring->head.handed = g->ring->head.head;
		if (handed)
			spans(g, 1);
		assert_int_equal(live_rings_read(&g->l, &g->p, g->r), 0);
		assert_int_equal(g->spans, 13);
		assert_int_equal(g->batches[LOSS_READ_FAULT], 1);
		assert_int_equal(g->records[LOSS_READ_FAULT], 0);
		map_free(&g->p.copies);
		rig_close(g);
	}
}

/* A thread in another PID namespace has two numbers. It is known by the tracer's, also where
 * others read what it has left. */
static void a_thread_is_called_what_the_tracer_calls_it(void **state)
{
	struct rig *g = rig_open();

	(void)state;
	spans(g, 1);
	hand_over(g);
	assert_int_equal(g->tid, TID);
	spans(g, 2);
	assert_int_equal(live_rings_read(&g->l, &g->p, g->r), 0);
	assert_int_equal(g->spans, 3);
	assert_int_equal(g->tid, TID);
	spans(g, 1);
	assert_int_equal(arrive_as(g, 96, 32, &g->ring->head, true), 0);
	assert_int_equal(g->spans, 4);
	assert_int_equal(g->tid, TID);
	/* Another one may have the number that it gives itself. */
	assert_int_equal(live_rings_thread_end(&g->l, &g->p, g->r, OWN_TID, clock_mono_ns(), ""),
			 0);
	assert_int_equal(g->r->rings.len, 1);
	assert_int_equal(live_rings_thread_end(&g->l, &g->p, g->r, TID, clock_mono_ns(), ""), 0);
	assert_int_equal(g->r->rings.len, 0);
	rig_close(g);
}

static void who_is_first_seen_by_others_is_called_what_it_calls_itself(void **state)
{
	struct rig *g = rig_open();

	(void)state;
	spans(g, 1);
	assert_int_equal(live_rings_read(&g->l, &g->p, g->r), 0);
	assert_int_equal(g->tid, OWN_TID);
	assert_int_equal(g->r->tids.len, 0);
	spans(g, 1);
	hand_over(g);
	assert_int_equal(g->tid, TID);
	assert_int_equal(g->spans, 2);
	rig_close(g);
}

static void what_was_marked_before_the_trace_is_not_of_it(void **state)
{
	struct rig *g = rig_open();

	(void)state;
	spans(g, 10);
	g->ring->head.limit = sizeof(g->ring->marks);
	live_rings_begin(&g->l, &g->p, g->r);
	assert_int_equal(g->process->session, 1);
	assert_int_equal(g->ring->head.limit,
			 g->ring->head.head); /* the next mark goes the slow way */
	is_outside(g);
	spans(g, 3);
	hand_over(g); /* all of it: the thread knows of no trace */
	assert_int_equal(g->spans, 3);
	no_loss(g);
	rig_close(g);
}

/* In exact mode the spans of a thread that somebody else has read lack what the scheduler did. */
static void marks_without_the_schedulers_record_are_a_loss(void **state)
{
	struct rig *g = rig_open();

	(void)state;
	spans(g, 10);
	assert_int_equal(arrive_as(g, 0, 320, &g->ring->head, true), 0);
	assert_int_equal(g->spans, 10);
	g->l.s.info.exact = true;
	spans(g, 5);
	assert_int_equal(arrive_as(g, 320, 160, &g->ring->head, true), 0);
	assert_int_equal(g->spans, 10);
	assert_int_equal(g->records[LOSS_NO_SCHED], 10);
	assert_int_equal(g->batches[LOSS_NO_SCHED], 1);
	/* The thread has handed over the others itself: what comes again is no loss. */
	spans(g, 4);
	hand_over(g);
	assert_int_equal(g->spans, 14);
	spans(g, 1);
	assert_int_equal(arrive_as(g, 480, 160, &g->ring->head, true), 0);
	assert_int_equal(g->spans, 14);
	assert_int_equal(g->records[LOSS_NO_SCHED], 12);
	assert_int_equal(arrive_as(g, 480, 160, &g->ring->head, true), 0);
	assert_int_equal(g->records[LOSS_NO_SCHED], 12);
	spans(g, 1);
	hand_over(g);
	assert_int_equal(g->spans, 15);
	assert_int_equal(g->gaps, 12);
	rig_close(g);
}

/* In exact mode a thread that ends hands over what it has, where the kernel lets it be read
 * then. Elsewhere it is known what was lost. */
static void the_rest_of_a_thread_in_exact_mode_comes_from_itself_or_is_lost(void **state)
{
	bool tails;

	(void)state;
	for (tails = false;; tails = true) {
		struct vmspan_ring first;
		struct rig *g = rig_open();

		g->l.s.info.exact = true;
		g->l.tails = tails;
		spans(g, 10);
		hand_over(g);
		spans(g, 4);
		first = g->ring->head;
		assert_int_equal(
			live_rings_thread_end(&g->l, &g->p, g->r, TID, clock_mono_ns(), ""), 0);
		assert_int_equal(g->spans, 10);
		assert_int_equal(g->records[LOSS_NO_SCHED], tails ? 0 : 8);
		assert_int_equal(g->r->rings.len, 0);
		/* The next on the ring hands it over again. */
		assert_int_equal(
			arrive_as(g, first.handed, (u32)(first.head - first.handed), &first, true),
			0);
		assert_int_equal(g->spans, 10);
		assert_int_equal(g->records[LOSS_NO_SCHED], tails ? 0 : 8);
		rig_close(g);
		if (tails)
			return;
	}
}

/* The memory of a process may still be there when its last thread is told to have ended. */
static void what_the_last_thread_is_in_ends_with_the_process(void **state)
{
	u32 last;

	(void)state;
	for (last = 0; last < 2; last++) {
		struct rig *g = rig_open();
		struct wire_life w = { .h = { .kind = WIRE_THREAD_EXIT,
					      .bytes = sizeof(w) - sizeof(w.h),
					      .pid = g->p.pid,
					      .tid = TID },
				       .other = last };

		mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
		hand_over(g);
		assert_int_equal(live_record(&g->l, &w, sizeof(w)), 0);
		assert_int_equal(g->unfinished, !last);
		rig_close(g);
	}
}

/* Where nobody reads the memory of a process at its end, that is a loss of each thread that is
 * still there but the first, which hands over as it leaves the program. */
static void what_a_process_takes_with_it_is_a_loss(void **state)
{
	struct rig *g = rig_open();

	(void)state;
	spans(g, 3);
	hand_over(g);
	g->l.tails = true;
	assert_int_equal(live_rings_process_end(&g->l, &g->p), 0);
	no_loss(g);
	g->l.tails = false;
	assert_int_equal(live_rings_process_end(&g->l, &g->p), 0);
	assert_int_equal(g->batches[LOSS_READ_FAULT], 1);
	assert_int_equal(g->records[LOSS_READ_FAULT], 0);
	assert_int_equal(live_rings_thread_end(&g->l, &g->p, g->r, TID, clock_mono_ns(), ""), 0);
	assert_int_equal(live_rings_process_end(&g->l, &g->p), 0);
	assert_int_equal(g->batches[LOSS_READ_FAULT], 1);
	new_thread(g, 2);
	spans(g, 1);
	g->p.pid = TID; /* as the tracer sees the first thread */
	assert_int_equal(map_put(&g->l.processes, TID, (u64)(uintptr_t)&g->p), 0);
	hand_over(g);
	assert_int_equal(live_rings_process_end(&g->l, &g->p), 0);
	assert_int_equal(g->batches[LOSS_READ_FAULT], 1);
	rig_close(g);
}

static void a_head_that_makes_no_sense_is_a_loss(void **state)
{
	struct rig *g = rig_open();
	struct vmspan_ring bad[10];
	u32 i;

	(void)state;
	spans(g, 10);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		bad[i] = g->ring->head;
	bad[0].magic++;
	bad[1].abi++;
	bad[2].thread = 0;
	bad[3].mask--;
	bad[4].mask = 1 << 20;
	bad[5].head = 300; /* less than it hands over */
	bad[6].start = bad[6].head + 16;
	bad[7].handed = bad[7].head + 16;
	bad[8].start = 8;
	bad[9].mask = 7;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		g->records[LOSS_MALFORMED] = g->batches[LOSS_MALFORMED] = 0;
		assert_int_equal(arrive_as(g, 0, 320, &bad[i], false), 0);
		assert_int_equal(g->records[LOSS_MALFORMED], 20);
		assert_int_equal(g->batches[LOSS_MALFORMED], 1);
	}
	assert_int_equal(arrive_as(g, 8, 304, &g->ring->head, false), 0);
	assert_int_equal(arrive_as(g, 0, 312, &g->ring->head, false), 0);
	assert_int_equal(arrive_as(g, UINT64_MAX - 15, 160, &g->ring->head, false), 0);
	assert_int_equal(g->batches[LOSS_MALFORMED], 4);
	assert_int_equal(g->spans, 0);
	rig_close(g);
}

/* A list of rings that runs in a circle, or leads nowhere, ends. */
static void a_list_without_an_end_is_left(void **state)
{
	struct rig *g = rig_open();

	(void)state;
	spans(g, 10);
	g->ring->head.next = (u64)(uintptr_t)g->ring;
	assert_int_equal(live_rings_read(&g->l, &g->p, g->r), 0);
	assert_int_equal(g->spans, 10);
	g->ring->head.next = 8;
	spans(g, 1);
	assert_int_equal(live_rings_read(&g->l, &g->p, g->r), 0);
	assert_int_equal(g->spans, 11);
	rig_close(g);
}

static int define(struct rig *g, u32 type, u32 slots, u32 bytes)
{
	struct {
		struct wire_definition w;
		struct vmspan_head def;
		char rest[64 - sizeof(struct vmspan_head)];
	} d = { .w = { .h = { .kind = WIRE_DEFINITION, .pid = g->p.pid },
		       .process = (u64)(uintptr_t)g->process,
		       .bytes = bytes },
		.def = { .type = (u8)type, .slots = (u8)slots, .id = 5 } };

	return live_definition(&g->l, &d.w.h, sizeof(d));
}

static void a_definition_is_handed_on(void **state)
{
	struct rig *g = rig_open();

	(void)state;
	assert_int_equal(define(g, VMSPAN_DEF_LABEL, 1, 32), 0);
	assert_int_equal(g->defs, 1);
	no_loss(g);
	assert_int_equal(define(g, VMSPAN_DEF_LABEL, 2, 32), 0); /* longer than it is */
	assert_int_equal(define(g, VMSPAN_DEF_LABEL, 1, 320), 0);
	assert_int_equal(define(g, VMSPAN_SPAN, 1, 32), 0); /* none */
	assert_int_equal(g->defs, 1);
	assert_int_equal(g->batches[LOSS_MALFORMED], 3);
	rig_close(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_mark_is_taken_once),
		cmocka_unit_test(what_did_not_come_is_missing),
		cmocka_unit_test(what_was_overwritten_is_missing),
		cmocka_unit_test(an_event_is_open_only_where_all_has_come),
		cmocka_unit_test(the_marks_of_a_thread_that_has_ended_are_taken_once),
		cmocka_unit_test(a_ring_that_was_taken_over_is_left_to_the_next),
		cmocka_unit_test(a_thread_ends_when_all_of_it_has_come),
		cmocka_unit_test(a_thread_whose_process_is_gone_ended_as_a_thread),
		cmocka_unit_test(of_threads_that_come_and_go_nothing_stays),
		cmocka_unit_test(a_thread_from_before_the_trace_is_known),
		cmocka_unit_test(who_has_ended_is_remembered_for_long),
		cmocka_unit_test(what_others_trace_after_the_end_is_theirs),
		cmocka_unit_test(a_thread_is_called_what_the_tracer_calls_it),
		cmocka_unit_test(who_is_first_seen_by_others_is_called_what_it_calls_itself),
		cmocka_unit_test(what_was_marked_before_the_trace_is_not_of_it),
		cmocka_unit_test(marks_without_the_schedulers_record_are_a_loss),
		cmocka_unit_test(the_rest_of_a_thread_in_exact_mode_comes_from_itself_or_is_lost),
		cmocka_unit_test(what_the_last_thread_is_in_ends_with_the_process),
		cmocka_unit_test(what_a_process_takes_with_it_is_a_loss),
		cmocka_unit_test(a_head_that_makes_no_sense_is_a_loss),
		cmocka_unit_test(a_list_without_an_end_is_left),
		cmocka_unit_test(a_definition_is_handed_on),
	};

	return cmocka_run_group_tests_name("live_marks", tests, NULL, NULL);
}
