/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks that could not be made: whoever tells of them, however, their event lacks something. */
#include "marks_rig.h"

#include "model/model.h"
#include "model/snapshot.h"

static struct model *model;

static int feed(void *ctx, const struct item *it)
{
	(void)ctx;
	return model_item(model, it);
}

static struct rig *open_rig(bool exact)
{
	const struct model_config config = { .cycles_hz = NSEC_PER_SEC };
	const struct item clock = { .type = ITEM_CLOCK, .clock = { 1, 1, 1 } };
	struct rig *g = rig_open();

	model = model_new(&config);
	assert_non_null(model);
	assert_int_equal(model_item(model, &clock), 0);
	clock_add(&g->l.clocks, 1, 1, NSEC_PER_SEC);
	g->l.s.info.exact = exact;
	g->l.fn = feed;
	return g;
}

/* What the figures say, and the end of it. */
static void told_as(struct rig *g, enum loss_cause cause, u64 events, u64 incomplete, u64 lost)
{
	struct snapshot *s;

	assert_int_equal(model_finish(model), 0);
	s = snapshot_take(model);
	assert_non_null(s);
	assert_int_equal(s->events.count, events);
	assert_int_equal(s->events.incomplete, incomplete);
	assert_int_equal(s->losses.records[cause], lost);
	snapshot_free(s);
	model_free(model);
	rig_close(g);
}

static void told(struct rig *g, u64 events, u64 incomplete, u64 lost)
{
	told_as(g, LOSS_NOT_MADE, events, incomplete, lost);
}

static int look(struct rig *g)
{
	return live_rings_look(&g->l, live_rings_next(&g->l));
}

static void valued(struct rig *g, u32 type, u32 id, u64 value)
{
	mark(g, type, id);
	g->ring->marks[(g->ring->head.head & g->ring->head.mask) / sizeof(struct vmspan_mark)] =
		(struct vmspan_mark){ .cycles = value, .type = VMSPAN_MARK_MORE };
	g->ring->head.head += sizeof(struct vmspan_mark);
}

static void events(struct rig *g, u32 n)
{
	while (n--) {
		mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
		spans(g, 1);
		mark(g, VMSPAN_MARK_EVENT_END, 0);
	}
}

/* Whether a look between two hand-overs tells of them, or the second. */
static void an_event_lacks_what_a_look_finds_lost_in_it(void **state)
{
	u32 looks;

	(void)state;
	for (looks = 0; looks < 3; looks++) {
		struct rig *g = open_rig(false);
		u32 i;

		events(g, 1);
		hand_over(g);
		mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
		spans(g, 1);
		hand_over(g);
		g->ring->head.lost += 4;
		for (i = 0; i < looks; i++)
			assert_int_equal(look(g), 0);
		spans(g, 1);
		mark(g, VMSPAN_MARK_EVENT_END, 0);
		hand_over(g);
		told(g, 2, 1, 4);
	}
}

/* Where the scheduler's record is wanted, and what was handed over last came without it. */
static void what_is_lost_is_told_where_no_record_can_be_believed(void **state)
{
	struct rig *g = open_rig(true);

	(void)state;
	events(g, 2);
	g->ring->head.lost += 4;
	arrive_as(g, 0, (u32)g->ring->head.head, &g->ring->head, true);
	assert_int_equal(live_rings_process_end(&g->l, &g->p), 0);
	told(g, 0, 0, 4);
}

/* The first hand-over of the thread did not come. */
static void what_was_lost_before_anything_came_is_told(void **state)
{
	struct rig *g = open_rig(false);
	u64 from;

	(void)state;
	events(g, 2);
	from = g->ring->head.head;
	events(g, 2);
	g->ring->head.lost += 4;
	arrive(g, from, g->ring->head.head);
	g->ring->head.lost += 3;
	events(g, 1);
	g->ring->head.handed = g->ring->head.head - 64;
	hand_over(g);
	told(g, 3, 3, 7);
}

/* A hand-over that tells of them, and shows nothing that would have ended in what is open. */
static void what_is_open_lacks_them_though_nothing_shows_it(void **state)
{
	enum {
		SAYS, /* a value */
		WAITS, /* it had no CPU */
		BEGINS, /* right before the hand-over, as those below */
		STAY, /* outside of events */
		NESTED,
		SHAPES
	};
	u32 shape;

	(void)state;
	for (shape = 0; shape < SHAPES; shape++) {
		struct rig *g = open_rig(false);
		u32 begin = shape == STAY ? VMSPAN_MARK_ENTER : VMSPAN_MARK_EVENT_BEGIN;
		u32 end = shape == STAY ? VMSPAN_MARK_LEAVE : VMSPAN_MARK_EVENT_END;
		/* What the hand-over does show is another event, which has ended. */
		bool shows = shape >= BEGINS;
		u32 more = shows + (shape == NESTED);

		g->l.switches = true;
		if (shape == WAITS)
			valued(g, VMSPAN_MARK_SWITCH, 0, 1000);
		if (shows)
			events(g, 1);
		mark(g, begin, 7);
		if (shape == SAYS)
			valued(g, VMSPAN_MARK_VALUE, 3, 17);
		if (shape == WAITS)
			valued(g, VMSPAN_MARK_SWITCH, 0, 1001);
		if (shape == NESTED)
			mark(g, begin, 8);
		g->ring->head.lost += 4;
		hand_over(g);
		spans(g, 1);
		if (shape == NESTED)
			mark(g, end, 8);
		mark(g, end, 7);
		hand_over(g);
		/* The next has all of it. */
		events(g, 1);
		hand_over(g);
		told(g, 2 + more, 1 + more, 4);
	}
}

/* Numbers that the stack uses otherwise. */
static void marks_of_what_is_no_compartment_are_lost(void **state)
{
	struct rig *g = open_rig(false);

	(void)state;
	events(g, 1);
	hand_over(g);
	mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
	mark(g, VMSPAN_MARK_ENTER, VMSPAN_ID_MARKS);
	hand_over(g);
	mark(g, VMSPAN_MARK_LEAVE, VMSPAN_ID_MARKS);
	hand_over(g);
	mark(g, VMSPAN_MARK_EVENT_END, 0);
	hand_over(g);
	events(g, 1);
	hand_over(g);
	told(g, 3, 1, 2);
}

/* What was read without that a record came of it: it marks. */
static void who_has_marked_is_known_to(void **state)
{
	struct rig *g = open_rig(false);

	(void)state;
	live_rings_begin(&g->l, &g->p, g->r);
	mark(g, VMSPAN_MARK_EVENT_BEGIN, 0);
	mark(g, VMSPAN_MARK_ENTER, 5);
	assert_false(g->p.marked);
	assert_int_equal(look(g), 0);
	assert_true(g->p.marked);
	told(g, 0, 0, 0);
}

static struct process *forks(struct rig *g, u32 parent, u64 mono_ns)
{
	/* No process has such numbers. */
	const struct wire_life w = { .h = { .kind = WIRE_FORK, .pid = parent },
				     .mono_ns = mono_ns,
				     .other = 0x7ffffff0 + (u32)g->l.processes.len };

	assert_int_equal(process_fork(&g->l, &w), 0);
	return process_find(&g->l, w.other);
}

/*
 * A child whose marks would be traps has lost those from before it is attached to: which is told once, and of
 * its own children too, whether it could be attached to or not. Of one that was born when all marks were off, nothing.
 */
static void what_children_mark_before_they_are_attached_to_is_lost(void **state)
{
	struct rig *g = open_rig(false);
	struct process *child, *of_child, *late;

	(void)state;
	g->p.by_traps = true;
	child = forks(g, g->p.pid, 10);
	assert_int_equal(process_young(&g->l, child), 0);
	assert_int_equal(process_young(&g->l, child), 0);
	of_child = forks(g, child->pid, 20);
	g->l.marks_off = true;
	g->l.marks_off_at.mono_ns = 30;
	late = forks(g, g->p.pid, 30);
	assert_int_equal(process_young(&g->l, of_child), 0);
	assert_int_equal(process_young(&g->l, late), 0);
	process_free(&g->l, child);
	process_free(&g->l, of_child);
	process_free(&g->l, late);
	told_as(g, LOSS_MARKS_OFF, 0, 0, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_lacks_what_a_look_finds_lost_in_it),
		cmocka_unit_test(what_is_lost_is_told_where_no_record_can_be_believed),
		cmocka_unit_test(what_was_lost_before_anything_came_is_told),
		cmocka_unit_test(what_is_open_lacks_them_though_nothing_shows_it),
		cmocka_unit_test(marks_of_what_is_no_compartment_are_lost),
		cmocka_unit_test(who_has_marked_is_known_to),
		cmocka_unit_test(what_children_mark_before_they_are_attached_to_is_lost),
	};

	return cmocka_run_group_tests_name("lost marks", tests, NULL, NULL);
}
