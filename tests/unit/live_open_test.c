/* SPDX-License-Identifier: BSD-2-Clause */
/* What threads are in for long is told while they are in it, by their rings. */
#include "marks_rig.h"

struct told {
	struct item_open last;
	struct vmspan_event event; /* the last record of it */
	u32 rounds, count; /* count: of this round */
	u64 takes_ns; /* so long for each */
};

static struct told told;

static int take_open(void *ctx, const struct item *it)
{
	const struct item_batch *b = &it->open.batch;
	u64 end = clock_mono_ns() + told.takes_ns;

	if (it->type == ITEM_OPEN && !b->pid) {
		told.rounds++;
		told.count = 0;
	} else if (it->type == ITEM_OPEN) {
		told.count++;
		told.last = it->open;
		assert_int_equal(batch_check(b->data, b->bytes, b->records), 0);
		if (b->bytes >= sizeof(told.event))
			memcpy(&told.event, (const u8 *)b->data + b->bytes - sizeof(told.event),
			       sizeof(told.event));
		while (clock_mono_ns() < end)
			;
	}
	return take(ctx, it);
}

static struct rig *rig_that_goes_on(void)
{
	struct rig *g = rig_open();

	memset(&told, 0, sizeof(told));
	g->l.started = true;
	return g;
}

/* How many go on, as they are told. */
static u32 open_now(struct rig *g)
{
	u32 rounds = told.rounds;

	assert_int_equal(live_tell_open(&g->l.s, take_open, g), 0);
	assert_int_equal(told.rounds, rounds + 1);
	g->l.fn = take;
	return told.count;
}

static void look(struct rig *g)
{
	g->l.rings_ns = 0;
	assert_int_equal(live_rings_look(&g->l, UINT64_MAX - 1), 0);
}

static void what_has_been_open_for_long_is_told(void **state)
{
	struct rig *g = rig_that_goes_on();
	u64 before;

	(void)state;
	mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
	mark(g, VMSPAN_MARK_ENTER, 5);
	hand_over(g);
	assert_int_equal(open_now(g), 1);
	assert_int_equal(told.last.batch.pid, g->p.pid);
	assert_int_equal(told.last.batch.tid, TID);
	assert_int_equal(told.last.batch.thread, 1);
	assert_int_equal(told.last.batch.records, 2);
	assert_int_equal(told.last.batch.seq, g->seq_next);
	assert_int_equal(told.last.what.stay_count, 1);
	assert_int_equal(told.last.what.stay[0], 5);
	assert_true(told.last.what.event);
	assert_int_equal(told.last.what.why, 0);
	assert_int_equal(told.event.h.type, VMSPAN_EVENT);
	assert_true(told.event.end >= told.event.begin);
	before = told.event.end;
	/* Marks that nobody has taken are in it, and stay where they are. */
	mark(g, VMSPAN_MARK_ENTER, 6);
	assert_int_equal(open_now(g), 1);
	assert_int_equal(told.last.batch.records, 3);
	assert_true(told.event.end > before);
	assert_int_equal(g->spans, 0);
	/* Its end is a record, and there is no more to tell. */
	mark(g, VMSPAN_MARK_EVENT_END, 0);
	assert_int_equal(open_now(g), 0);
	look(g);
	assert_int_equal(g->spans, 3);
	assert_int_equal(open_now(g), 0);
	rig_close(g);
}

/* All that a time may take is over with the first: the next begins anew. */
static void who_hangs_is_told_each_time_however_busy_the_machine_is(void **state)
{
	struct rig *g = rig_that_goes_on();
	u32 i;

	(void)state;
	mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
	hand_over(g);
	told.takes_ns = 60 * NSEC_PER_MSEC;
	for (i = 0; i < 3; i++)
		assert_int_equal(open_now(g), 1);
	rig_close(g);
}

static void what_has_just_begun_is_not_told(void **state)
{
	struct rig *g = rig_that_goes_on();

	(void)state;
	mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
	/* Far from now: however late the look, it is younger than what is told of. */
	g->ring->marks[0].cycles = clock_cycles() + (1ull << 60);
	hand_over(g);
	assert_int_equal(open_now(g), 0);
	rig_close(g);
}

/* A compartment around the loop: that has been open for longer. */
static void what_is_around_an_event_is_what_goes_on(void **state)
{
	struct rig *g = rig_that_goes_on();

	(void)state;
	mark(g, VMSPAN_MARK_ENTER, 4);
	mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
	g->ring->marks[1].cycles = clock_cycles();
	mark(g, VMSPAN_MARK_ENTER, 5);
	g->ring->marks[2].cycles = clock_cycles();
	hand_over(g);
	assert_int_equal(open_now(g), 1);
	assert_false(told.last.what.event);
	assert_int_equal(told.last.what.depth, 2);
	assert_int_equal(told.last.what.stay[0], 4);
	assert_int_equal(told.last.batch.records, 3);
	rig_close(g);
}

/* There nothing is taken from the ring, but what is in it is known. */
static void in_exact_mode_it_is_told_and_left(void **state)
{
	struct rig *g = rig_that_goes_on();

	(void)state;
	spans(g, 1);
	hand_over(g);
	mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
	spans(g, 2);
	mark(g, VMSPAN_MARK_ENTER, 5);
	g->l.s.info.exact = true;
	assert_int_equal(open_now(g), 1);
	assert_int_equal(g->spans, 1);
	assert_int_equal(told.last.batch.seq, 1);
	assert_int_equal(told.last.batch.records, 4);
	rig_close(g);
}

/* What it is in may have ended where marks are missing. */
static void what_may_have_ended_is_not_told(void **state)
{
	struct rig *g = rig_that_goes_on();
	u64 from;

	(void)state;
	mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
	hand_over(g);
	assert_int_equal(open_now(g), 1);
	from = g->ring->head.head;
	spans(g, MARKS);
	arrive(g, from + MARKS * sizeof(struct vmspan_mark), g->ring->head.head);
	g->ring->head.handed = g->ring->head.head;
	assert_int_equal(open_now(g), 0);
	rig_close(g);
}

/* Nobody is traced then, and nothing goes on; and what has ended is told otherwise. */
static void while_turns_are_off_nothing_goes_on(void **state)
{
	struct rig *g = rig_that_goes_on();

	(void)state;
	mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
	hand_over(g);
	g->l.parts[TRACE_TURNS].on = false;
	assert_int_equal(open_now(g), 0);
	g->l.parts[TRACE_TURNS].on = true;
	assert_int_equal(open_now(g), 1);
	g->l.detached = true;
	assert_int_equal(live_tell_open(&g->l.s, take_open, g), 0);
	assert_int_equal(told.rounds, 2);
	rig_close(g);
}

/* What a thread says its number is may be anybody's. */
static void who_was_not_seen_by_the_tracer_is_not_told_of(void **state)
{
	struct rig *g = rig_that_goes_on();

	(void)state;
	mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
	assert_int_equal(arrive_as(g, 0, sizeof(struct vmspan_mark), &g->ring->head, true), 0);
	assert_int_equal(open_now(g), 0);
	rig_close(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_been_open_for_long_is_told),
		cmocka_unit_test(who_hangs_is_told_each_time_however_busy_the_machine_is),
		cmocka_unit_test(what_has_just_begun_is_not_told),
		cmocka_unit_test(what_is_around_an_event_is_what_goes_on),
		cmocka_unit_test(in_exact_mode_it_is_told_and_left),
		cmocka_unit_test(what_may_have_ended_is_not_told),
		cmocka_unit_test(while_turns_are_off_nothing_goes_on),
		cmocka_unit_test(who_was_not_seen_by_the_tracer_is_not_told_of),
	};

	return cmocka_run_group_tests_name("live_open", tests, NULL, NULL);
}
