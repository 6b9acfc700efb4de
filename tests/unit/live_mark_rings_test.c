/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks that stay in the rings of threads that hang, sleep or idle: they are read while the trace
 * goes on, none is lost by that or taken twice, and what is open in them is known. And what a
 * tracer says to its target. */
#include "marks_rig.h"

/* A thread that marks while its ring is read; a clock that somebody else's work moves on. */
static int racing_read(u32 pid, u64 at, void *to, size_t bytes);
static u64 made_clock(void);
#define target_read racing_read
#define clock_mono_ns made_clock
#include "source/live_mark_rings.c"
#undef target_read
#undef clock_mono_ns

static struct {
	u64 marks; /* when so much of them has been read ... */
	void (*fn)(struct rig *g); /* ... this happens, once */
	struct rig *g;
} race;
static u64 stepping; /* ns: of each look at it; 0: it is the real one */

static int racing_read(u32 pid, u64 at, void *to, size_t bytes)
{
	int r = target_read(pid, at, to, bytes);
	void (*fn)(struct rig * g) = race.fn;

	if (fn && at == race.marks) {
		race.fn = NULL;
		fn(race.g);
	}
	return r;
}

static u64 made_clock(void)
{
	static u64 now;

	return stepping ? (now += stepping) : clock_mono_ns();
}

/* ---- While the trace goes on ---- */

static int look(struct rig *g)
{
	return live_rings_look(&g->l, live_rings_next(&g->l));
}

static void what_a_thread_keeps_is_read_while_the_trace_goes_on(void **state)
{
	struct rig *g = rig_open();
	u64 next;

	(void)state;
	g->l.rings_ns = UINT64_MAX;
	spans(g, 3);
	hand_over(g);
	next = live_rings_next(&g->l);
	assert_true(next < UINT64_MAX);
	spans(g, 4);
	assert_int_equal(live_rings_look(&g->l, next - 1), 0); /* it is too early */
	assert_int_equal(g->spans, 3);
	assert_int_equal(live_rings_look(&g->l, next), 0);
	assert_int_equal(g->spans, 7);
	assert_true(live_rings_next(&g->l) > next);
	assert_int_equal(look(g), 0);
	hand_over(g); /* of the same again */
	assert_int_equal(g->spans, 7);
	mark(g, VMSPAN_MARK_ENTER, 5);
	assert_int_equal(look(g), 0);
	assert_int_equal(g->spans, 7);
	mark(g, VMSPAN_MARK_LEAVE, 5);
	assert_int_equal(look(g), 0);
	assert_int_equal(g->spans, 8);
	no_loss(g);
	rig_close(g);
}

/* What has been handed over may be in the ring buffer still: it is not lost before that has been
 * drained. */
static void what_is_on_its_way_is_waited_for(void **state)
{
	struct rig *g = rig_open();
	struct vmspan_ring then;

	(void)state;
	spans(g, 3);
	hand_over(g);
	spans(g, 4);
	then = g->ring->head;
	g->ring->head.handed = then.head;
	g->reserved = 100;
	spans(g, 1);
	assert_int_equal(look(g), 0);
	assert_int_equal(g->spans, 3);
	g->reserved = 200;
	g->drained = 99;
	assert_int_equal(look(g), 0);
	assert_int_equal(g->spans, 3);
	assert_int_equal(arrive_as(g, then.handed, (u32)(then.head - then.handed), &then, false),
			 0);
	assert_int_equal(g->spans, 7);
	assert_int_equal(look(g), 0);
	assert_int_equal(g->spans, 8);
	no_loss(g);
	rig_close(g);
}

static void what_found_no_room_is_waited_for_once(void **state)
{
	struct rig *g = rig_open();

	(void)state;
	spans(g, 3);
	hand_over(g);
	spans(g, 4);
	g->ring->head.handed = g->ring->head.head;
	g->reserved = 100;
	assert_int_equal(look(g), 0);
	g->drained = 100;
	spans(g, 1);
	g->ring->head.handed = g->ring->head.head; /* and again: that may be on its way */
	g->reserved = 150;
	assert_int_equal(look(g), 0);
	assert_int_equal(g->spans, 3);
	g->drained = 150;
	spans(g, 2);
	assert_int_equal(look(g), 0);
	assert_int_equal(g->spans, 5);
	assert_int_equal(g->gaps, 10);
	rig_close(g);
}

static struct wire_marks *sent;

/* It fills its ring, hands it over, and goes on. */
static void runs_on(struct rig *g)
{
	struct vmspan_ring *h = &g->ring->head;

	spans(g, (u32)(sizeof(g->ring->marks) - h->head) / 32);
	sent = on_its_way(g, 0, (u32)h->head, h, false);
	h->handed = h->head;
	spans(g, 20);
}

/* It is on its way then: nothing of it is lost. */
static void what_is_overwritten_while_it_is_read_comes_by_itself(void **state)
{
	struct rig *g = rig_open();

	(void)state;
	arrive(g, 0, 0);
	spans(g, 100);
	race.g = g;
	race.marks = g->ring->head.base;
	race.fn = runs_on;
	assert_int_equal(look(g), 0);
	assert_int_equal(g->spans, 0);
	assert_int_equal(live_marks(&g->l, &sent->h, sizeof(*sent) + sent->bytes), 0);
	free(sent);
	assert_int_equal(g->spans, MARKS / 2);
	assert_int_equal(look(g), 0);
	assert_int_equal(g->spans, MARKS / 2 + 20);
	no_loss(g);
	rig_close(g);
}

/* Others wait while rings are read: a look ends after a while, and the next goes on there. */
static void a_look_ends_in_time_and_the_next_goes_on(void **state)
{
	struct ring *rings = calloc(5, sizeof(*rings));
	struct rig *g = rig_open();
	u32 i, sum = 0;

	(void)state;
	assert_non_null(rings);
	spans(g, 1);
	for (i = 0; i < 5; i++) {
		rings[i] = *g->ring;
		rings[i].head.base = (u64)(uintptr_t)rings[i].marks;
		rings[i].head.thread = i + 2;
		assert_int_equal(arrive_as(g, 0, 0, &rings[i].head, true), 0);
	}
	stepping = RINGS_LOOK_MAX_NS / 2;
	for (i = 0; i < 3; i++) {
		g->seq_next = 0;
		assert_int_equal(look(g), 0);
		assert_in_range(g->spans, sum + 1, sum + 2);
		sum = g->spans;
	}
	stepping = 0;
	while (g->l.rings_seen)
		assert_int_equal(look(g), 0);
	assert_int_equal(g->spans, 5);
	free(rings);
	rig_close(g);
}

/* There a thread has to hand over what the scheduler did to it; and where turns are off, nothing is
 * wanted. */
static void in_exact_mode_threads_are_waited_for(void **state)
{
	struct rig *g = rig_open();

	(void)state;
	spans(g, 3);
	hand_over(g);
	spans(g, 1);
	g->l.s.info.exact = true;
	assert_int_equal(live_rings_next(&g->l), UINT64_MAX);
	assert_int_equal(live_rings_look(&g->l, UINT64_MAX - 1), 0);
	assert_int_equal(g->spans, 3);
	g->l.s.info.exact = false;
	g->l.parts[TRACE_TURNS].on = false;
	assert_int_equal(look(g), 0);
	assert_int_equal(g->spans, 3);
	g->l.parts[TRACE_TURNS].on = true;
	assert_int_equal(look(g), 0);
	assert_int_equal(g->spans, 4);
	rig_close(g);
}

static void a_ring_with_another_thread_is_not_looked_at(void **state)
{
	struct rig *g = rig_open();

	(void)state;
	spans(g, 3);
	hand_over(g);
	new_thread(g, 2);
	spans(g, 1);
	assert_int_equal(look(g), 0);
	assert_int_equal(g->spans, 3);
	rig_close(g);
}

/* ---- Of which the kernel side knows no more ---- */

/* So many blocks that are newer. */
static void newer(struct rig *g, u32 n)
{
	while (n--)
		assert_non_null(live_registry_at(&g->p, 0x1000 * (1 + g->p.registry_count), false));
	g->r = &g->p.registries[0];
}

static void block_of(struct rig *g, bool exact)
{
	g->l.tails = true;
	g->l.s.info.exact = exact;
	spans(g, 3);
	hand_over(g);
	spans(g, 4);
}

static void the_oldest_block_is_read_before_it_is_forgotten(void **state)
{
	int exact;

	(void)state;
	for (exact = 0; exact < 2; exact++) {
		struct rig *g = rig_open();

		block_of(g, exact);
		newer(g, TRACED_REGISTRIES - 2);
		assert_int_equal(live_rings_read_out(&g->l, &g->p), 0);
		assert_int_equal(g->spans, 3);
		newer(g, 1);
		assert_int_equal(live_rings_read_out(&g->l, &g->p), 0);
		/* What the scheduler did to them, nobody says. */
		assert_int_equal(g->spans, exact ? 3 : 7);
		assert_int_equal(g->records[LOSS_NO_SCHED], exact ? 8 : 0);
		newer(g, TRACED_REGISTRIES);
		assert_int_equal(live_rings_process_end(&g->l, &g->p), 0);
		assert_int_equal(g->batches[LOSS_READ_FAULT], 0);
		rig_close(g);
	}
}

static void a_look_for_it_is_due_at_once(void **state)
{
	int exact;

	(void)state;
	for (exact = 0; exact < 2; exact++) {
		struct rig *g = rig_open();

		g->l.rings_ns = UINT64_MAX;
		block_of(g, exact);
		newer(g, TRACED_REGISTRIES - 2);
		live_rings_left(&g->l, &g->p);
		assert_true(live_rings_next(&g->l) > 0);
		newer(g, 1);
		live_rings_left(&g->l, &g->p);
		assert_int_equal(live_rings_next(&g->l), 0);
		assert_int_equal(live_rings_look(&g->l, 1), 0);
		assert_int_equal(g->spans, exact ? 3 : 7);
		/* It is read no more. */
		assert_int_equal(live_rings_next(&g->l) == UINT64_MAX, exact);
		rig_close(g);
	}
}

static void what_is_forgotten_unread_is_missing_at_the_end(void **state)
{
	u32 n;

	(void)state;
	for (n = TRACED_REGISTRIES - 1; n <= TRACED_REGISTRIES; n++) {
		struct rig *g = rig_open();

		block_of(g, false);
		newer(g, n);
		assert_int_equal(live_rings_process_end(&g->l, &g->p), 0);
		assert_int_equal(g->batches[LOSS_READ_FAULT], n == TRACED_REGISTRIES);
		assert_int_equal(g->spans, 3);
		rig_close(g);
	}
}

/* It may have ended in what was not read. */
static void an_event_of_a_forgotten_block_may_have_ended(void **state)
{
	u32 n, read;

	(void)state;
	for (n = TRACED_REGISTRIES - 1; n <= TRACED_REGISTRIES; n++)
		for (read = 0; read < 2; read++) {
			struct rig *g = rig_open();

			g->l.tails = true;
			mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
			spans(g, 3);
			hand_over(g);
			newer(g, n);
			if (read)
				assert_int_equal(live_rings_read_out(&g->l, &g->p), 0);
			assert_int_equal(live_unfinished(&g->l, &g->p, UNFINISHED_PROCESS, 9000),
					 0);
			assert_int_equal(g->unfinished, read || n < TRACED_REGISTRIES);
			rig_close(g);
		}
}

/* In a namespace of dlmopen(3); and a child on its parent's links may use any. */
static void a_block_in_use_may_have_more_at_the_end(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		bool exact = i & 1, child = i & 2;
		struct rig *g = rig_open();
		struct vmspan_registry copy = {
			.magic = VMSPAN_MAGIC,
			.abi = VMSPAN_ABI,
			.process = (u64)(uintptr_t)g->process,
		};
		struct attachment a = { .copy_seen = (u64)(uintptr_t)&copy };

		g->p.attachments = child ? NULL : &a;
		g->p.unlinked = child;
		block_of(g, exact);
		newer(g, TRACED_REGISTRIES);
		assert_int_equal(live_rings_read_out(&g->l, &g->p), 0);
		/* In exact mode its threads hand it over with what the scheduler did. */
		assert_int_equal(g->spans, exact ? 3 : 7);
		assert_int_equal(g->records[LOSS_NO_SCHED], 0);
		assert_int_equal(live_rings_process_end(&g->l, &g->p), 0);
		assert_int_equal(g->batches[LOSS_READ_FAULT], 1);
		rig_close(g);
	}
}

static void a_thread_of_a_forgotten_block_hands_nothing_over_at_its_end(void **state)
{
	struct rig *g = rig_open();

	(void)state;
	block_of(g, true);
	newer(g, TRACED_REGISTRIES);
	assert_int_equal(live_rings_thread_end(&g->l, &g->p, g->r, TID, 5000, "gone"), 0);
	assert_int_equal(g->spans, 3);
	assert_int_equal(g->records[LOSS_NO_SCHED], 8);
	assert_int_equal(live_rings_process_end(&g->l, &g->p), 0);
	assert_int_equal(g->batches[LOSS_READ_FAULT], 0);
	rig_close(g);
}

/* ---- What is open ---- */

static u32 running(struct rig *g, u64 least_ns, struct live_stay to[8])
{
	memset(to, 0, 8 * sizeof(*to));
	return live_running(&g->l.s, least_ns, to, 8);
}

/* Of marks that have come, and of those in the ring; which stay where they are. */
static void what_is_open_is_known_by_all_marks(void **state)
{
	struct rig *g = rig_open();
	struct live_stay at[8];

	(void)state;
	mark(g, VMSPAN_MARK_ENTER, 5);
	mark(g, VMSPAN_MARK_ENTER, 6);
	hand_over(g);
	assert_int_equal(running(g, 0, at), 2);
	assert_int_equal(at[0].compartment, 5);
	assert_int_equal(at[0].depth, 0);
	assert_int_equal(at[0].tid, OWN_TID);
	assert_int_equal(at[0].pid, g->p.pid);
	assert_int_equal(at[0].registry, (u64)(uintptr_t)g->process);
	assert_false(at[0].innermost);
	assert_int_equal(at[1].compartment, 6);
	assert_int_equal(at[1].depth, 1);
	assert_true(at[1].innermost);
	mark(g, VMSPAN_MARK_LEAVE, 6);
	mark(g, VMSPAN_MARK_ENTER, 7);
	assert_int_equal(running(g, 0, at), 2);
	assert_int_equal(at[1].compartment, 7);
	mark(g, VMSPAN_MARK_GC_BEGIN, 0);
	assert_int_equal(running(g, 0, at), 2); /* a collection is no group's */
	assert_true(at[1].innermost);
	mark(g, VMSPAN_MARK_LEAVE, 5);
	assert_int_equal(running(g, 0, at), 0);
	assert_int_equal(g->spans, 0);
	hand_over(g);
	assert_int_equal(g->spans, 4);
	no_loss(g);
	rig_close(g);
}

/* Stays are told that are as old. Those inside of a younger one are younger yet. */
static void what_is_open_is_as_old_as_was_asked_for(void **state)
{
	struct rig *g = rig_open();
	struct live_stay at[8];
	u64 now = clock_cycles();

	(void)state;
	mark(g, VMSPAN_MARK_ENTER, 5);
	mark(g, VMSPAN_MARK_ENTER, 6);
	g->ring->marks[0].cycles = now / 2;
	g->ring->marks[1].cycles = now;
	hand_over(g);
	assert_int_equal(running(g, now / 4, at), 1);
	assert_int_equal(at[0].compartment, 5);
	assert_true(at[0].innermost);
	assert_true(at[0].for_ns >= now / 4);
	assert_int_equal(running(g, 2 * now, at), 0);
	rig_close(g);
}

/* What lies further back than the ring is long is not known, and what was open then neither. */
static void what_was_overwritten_is_not_open(void **state)
{
	struct rig *g = rig_open();
	struct live_stay at[8];

	(void)state;
	mark(g, VMSPAN_MARK_ENTER, 9);
	hand_over(g);
	spans(g, MARKS / 2 + 1);
	mark(g, VMSPAN_MARK_ENTER, 7);
	assert_int_equal(running(g, 0, at), 1);
	assert_int_equal(at[0].compartment, 7);
	new_thread(g, 2);
	assert_int_equal(running(g, 0, at), 0);
	rig_close(g);
}

/* ---- The beginning and the end ---- */

/* Marks that could not be made are told once, whoever tells of them: those of the trace. */
static void what_could_not_be_marked_is_told_once(void **state)
{
	struct rig *g = rig_open();

	(void)state;
	g->ring->head.lost = 7;
	g->process->lost_threads = 5;
	live_rings_begin(&g->l, &g->p, g->r);
	is_outside(g);
	spans(g, 3);
	hand_over(g);
	assert_int_equal(g->in_mark, 0);
	g->ring->head.lost += 2;
	spans(g, 3);
	hand_over(g);
	assert_int_equal(g->in_mark, 2);
	/* Nothing is marked any more. */
	g->ring->head.lost += 3;
	g->process->lost_threads += 4;
	assert_int_equal(look(g), 0);
	assert_int_equal(g->in_mark, 2 + 3);
	assert_int_equal(g->records[LOSS_NOT_MADE], 4);
	g->process->lost_threads++;
	assert_int_equal(live_rings_read(&g->l, &g->p, g->r), 0);
	assert_int_equal(g->records[LOSS_NOT_MADE], 5);
	assert_int_equal(live_rings_read(&g->l, &g->p, g->r), 0);
	assert_int_equal(g->records[LOSS_NOT_MADE], 5);
	assert_int_equal(g->in_mark, 2 + 3);
	/* And the batches go on from where they were. */
	g->ring->head.lost++;
	spans(g, 1);
	hand_over(g);
	assert_int_equal(g->in_mark, 2 + 3 + 1);
	/* Nor does the count begin anew where the trace goes on after a pause, */
	g->p.rings_begun = false;
	g->ring->head.lost += 9;
	live_rings_begin(&g->l, &g->p, g->r);
	is_outside(g);
	spans(g, 1);
	hand_over(g);
	assert_int_equal(g->in_mark, 2 + 3 + 1);
	g->ring->head.lost += 2;
	spans(g, 1);
	hand_over(g);
	assert_int_equal(g->in_mark, 2 + 3 + 1 + 2);
	/* or the target counts backwards. */
	g->ring->head.lost -= 11;
	spans(g, 1);
	hand_over(g);
	assert_int_equal(g->in_mark, 2 + 3 + 1 + 2);
	assert_int_equal(look(g), 0);
	assert_int_equal(g->records[LOSS_NOT_MADE], 5);
	rig_close(g);
}

/* A process is armed once for each of its copies of the SDK, one after the other. */
static void a_trace_begins_with_the_first_copy(void **state)
{
	struct rig *g = rig_open();

	(void)state;
	/* There was no ring when it was armed. */
	live_rings_begin(&g->l, &g->p, NULL);
	spans(g, 3);
	live_rings_begin(&g->l, &g->p, g->r);
	hand_over(g);
	assert_int_equal(g->spans, 3);
	assert_int_equal(g->process->session, 0);
	/* The marks went off; what comes until they are on again is not of the trace. */
	mark(g, VMSPAN_MARK_ENTER, 5);
	hand_over(g);
	live_rings_end(&g->l, &g->p);
	spans(g, 3);
	live_rings_begin(&g->l, &g->p, g->r);
	assert_int_equal(g->process->session, 1);
	mark(g, VMSPAN_MARK_LEAVE, 5);
	is_outside(g);
	spans(g, 1);
	hand_over(g);
	assert_int_equal(g->spans, 4);
	no_loss(g);
	rig_close(g);
}

/* Events as long as somebody waits for are handed over at their end. Several may wait. */
static void who_waits_for_events_says_so_to_the_target(void **state)
{
	static const struct {
		u64 alert_ns; /* of this tracer */
		u64 found; /* in the target */
		bool others; /* trace it too */
		u64 begun, ended;
	} cases[] = {
		{ 0, 50000000, false, 50000000, 50000000 },
		{ 1000000, 50000000, false, 1000000, 50000000 },
		{ 1000000000, 50000000, false, 50000000, 50000000 },
		{ 5000000, 2000000, true, 2000000, 2000000 },
		{ 1000000, 2000000, true, 1000000, 1000000 },
		{ 0, 2000000, true, 2000000, 2000000 },
		/* One that was killed has left it so. */
		{ 0, 2000000, false, 50000000, 50000000 },
		{ 5000000, 2000000, false, 5000000, 50000000 },
	};
	struct vmspan_registry copy = { .magic = VMSPAN_MAGIC, .abi = VMSPAN_ABI };
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rig *g = rig_open();

		assert_int_equal(
			map_put(&g->p.copies, (u64)(uintptr_t)&copy, (u64)(uintptr_t)g->process),
			0);
		copy.semaphore = cases[i].others;
		g->process->latency_usual = 50000000;
		g->process->latency = cases[i].found;
		g->l.alert_ns = cases[i].alert_ns;
		live_rings_begin(&g->l, &g->p, g->r);
		assert_int_equal(g->process->latency, cases[i].begun);
		live_rings_end(&g->l, &g->p);
		assert_int_equal(g->process->latency, cases[i].ended);
		map_free(&g->p.copies);
		rig_close(g);
	}
}

/* No record is made of it, and none may follow. */
static void a_leave_of_nothing_is_told_where_it_is_the_last_mark(void **state)
{
	struct rig *g = rig_open();

	(void)state;
	mark(g, VMSPAN_MARK_ENTER, 1);
	mark(g, VMSPAN_MARK_LEAVE, 2);
	hand_over(g);
	assert_int_equal(g->unmatched, 1);
	assert_int_equal(g->items, 1);
	hand_over(g);
	assert_int_equal(g->items, 1); /* it is told of once */
	mark(g, VMSPAN_MARK_LEAVE, 1);
	hand_over(g);
	assert_int_equal(g->spans, 1);
	assert_int_equal(g->unmatched, 1);
	no_loss(g);
	rig_close(g);
}

/* Nor of marks for which there was no room; and the next thread on the ring counts its own. */
static void marks_that_could_not_be_made_are_told_where_no_record_follows(void **state)
{
	struct rig *g = rig_open();

	(void)state;
	spans(g, 2);
	hand_over(g);
	mark(g, VMSPAN_MARK_ENTER, 5);
	g->ring->head.lost += 3;
	hand_over(g);
	assert_int_equal(g->in_mark, 3);
	assert_int_equal(g->items, 2);
	mark(g, VMSPAN_MARK_ENTER, 6);
	hand_over(g);
	assert_int_equal(g->items, 2); /* it is told of once */
	rig_close(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_leave_of_nothing_is_told_where_it_is_the_last_mark),
		cmocka_unit_test(marks_that_could_not_be_made_are_told_where_no_record_follows),
		cmocka_unit_test(what_a_thread_keeps_is_read_while_the_trace_goes_on),
		cmocka_unit_test(what_is_on_its_way_is_waited_for),
		cmocka_unit_test(what_found_no_room_is_waited_for_once),
		cmocka_unit_test(what_is_overwritten_while_it_is_read_comes_by_itself),
		cmocka_unit_test(a_look_ends_in_time_and_the_next_goes_on),
		cmocka_unit_test(in_exact_mode_threads_are_waited_for),
		cmocka_unit_test(a_ring_with_another_thread_is_not_looked_at),
		cmocka_unit_test(the_oldest_block_is_read_before_it_is_forgotten),
		cmocka_unit_test(a_look_for_it_is_due_at_once),
		cmocka_unit_test(what_is_forgotten_unread_is_missing_at_the_end),
		cmocka_unit_test(an_event_of_a_forgotten_block_may_have_ended),
		cmocka_unit_test(a_block_in_use_may_have_more_at_the_end),
		cmocka_unit_test(a_thread_of_a_forgotten_block_hands_nothing_over_at_its_end),
		cmocka_unit_test(what_is_open_is_known_by_all_marks),
		cmocka_unit_test(what_is_open_is_as_old_as_was_asked_for),
		cmocka_unit_test(what_was_overwritten_is_not_open),
		cmocka_unit_test(what_could_not_be_marked_is_told_once),
		cmocka_unit_test(a_trace_begins_with_the_first_copy),
		cmocka_unit_test(who_waits_for_events_says_so_to_the_target),
	};

	return cmocka_run_group_tests_name("live_mark_rings", tests, NULL, NULL);
}
