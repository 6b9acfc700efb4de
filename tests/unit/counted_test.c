/* SPDX-License-Identifier: BSD-2-Clause */
/* What is lost, discarded or in doubt is counted by its cause, and marks the
 * events that it may have touched (user/model/LEDGER.md). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "counted_rig.h"

#include "sink/complete.h"

static void the_longest_event_stays_the_longest(void **state)
{
	const struct snapshot *snap;
	struct rig r;

	(void)state;
	rig_open(&r);
	plain_event(r.s, 1000, 700, 1);
	plain_event(r.s, 2000, 300, 1);
	snap = rig_look(&r, 0, 4);
	assert_int_equal(snap->events.max_ns, 700);
	assert_int_equal(stats(snap, "addon:a")->max_ns, 700);
	rig_close(&r);
}

/* A loop that waits for its next event has no CPU meanwhile, and is in no event. */
static void an_absence_outside_of_events_is_no_event(void **state)
{
	const struct snapshot *snap;
	struct rig r;

	(void)state;
	rig_open(&r);
	r.s->told = true;
	sim_enter(r.s, 1000, 1, VMSPAN_BLOCK);
	sim_away(r.s, 1100, 1900);
	sim_leave(r.s, 2000);
	plain_event(r.s, 3000, 500, 1);
	snap = rig_look(&r, 0, r.s->records);
	assert_int_equal(snap->events.count, 1);
	assert_int_equal(snap->events.implicit, 0);
	assert_int_equal(snap->events.incomplete, 0);
	assert_int_equal(snap->events.wall_ns, 500);
	assert_int_equal(snap->events.cpu_ns, 500);
	/* Nor is it of what the program has said. */
	assert_int_equal(snap->records, r.s->records - 1);
	rig_close(&r);
}

/* An event that lacks records is marked, in its groups too, and only there. */
static void a_gap_marks_event_and_groups(void **state)
{
	const struct snapshot *snap;
	struct rig r;

	(void)state;
	rig_open(&r);
	plain_event(r.s, 1000, 500, 1);
	sim_event(r.s, 2000);
	sim_enter(r.s, 2000, 1, VMSPAN_SPAN); /* lost: record 2 */
	sim_leave(r.s, 2100);
	sim_enter(r.s, 2200, 2, VMSPAN_SPAN);
	sim_leave(r.s, 2300);
	sim_event_end(r.s, 2500);
	rig_look(&r, 0, 2);
	rig_look(&r, 3, 5);
	assert_int_equal(model_finish(r.m), 0);
	snap = rig_look(&r, 0, 0);
	assert_int_equal(snap->losses.records[LOSS_SEQUENCE_GAP], 1);
	assert_int_equal(snap->events.incomplete, 1);
	assert_int_equal(stats(snap, "addon:a")->incomplete, 0);
	assert_int_equal(stats(snap, "addon:b")->incomplete, 1);
	rig_close(&r);
}

/* What is missing by the numbers is as much as the numbers say; what of it has a cause is
 * told under that one, and not once more as a gap. */
static void a_gap_that_has_a_cause_is_told_once(void **state)
{
	static const enum loss_cause causes[] = { LOSS_RING_FULL, LOSS_READ_FAULT, LOSS_NO_SCHED };
	const struct snapshot *snap;
	struct rig r;
	u32 i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(causes); i++) {
		struct item loss = { .type = ITEM_LOSS, .loss = { causes[i], 2, 1, false } };

		rig_open(&r);
		for (k = 1; k <= 4; k++)
			plain_event(r.s, k * 1000, 500, 1);
		rig_look(&r, 0, 2);
		rig_look(&r, 5, 8);
		assert_int_equal(model_finish(r.m), 0);
		snap = rig_look(&r, 0, 0);
		assert_int_equal(snap->losses.records[LOSS_SEQUENCE_GAP], 3);
		assert_int_equal(model_item(r.m, &loss), 0);
		snap = rig_look(&r, 0, 0);
		assert_int_equal(snap->losses.records[causes[i]], 2);
		assert_int_equal(snap->losses.batches[causes[i]], 1);
		assert_int_equal(snap->losses.records[LOSS_SEQUENCE_GAP], 1);
		rig_close(&r);
	}
}

/* What was lost before an interval is not lost in it, nor twice at its end. */
static void an_interval_has_its_own_losses(void **state)
{
	struct snapshot *then, *delta;
	struct buf packed = { 0 };
	struct rig r;
	u32 i;

	(void)state;
	rig_open(&r);
	for (i = 0; i < LOSS_CAUSES; i++) {
		struct item loss = { .type = ITEM_LOSS, .loss = { (enum loss_cause)i, 5, 2, 0 } };

		assert_int_equal(model_item(r.m, &loss), 0);
	}
	then = snapshot_take(r.m);
	assert_non_null(then);
	assert_int_equal(snapshot_pack(then, &packed), 0);
	for (i = 0; i < LOSS_CAUSES; i++) {
		struct item loss = { .type = ITEM_LOSS, .loss = { (enum loss_cause)i, 3, 1, 0 } };

		assert_int_equal(model_item(r.m, &loss), 0);
	}
	delta = snapshot_delta(rig_look(&r, 0, 0), then);
	assert_non_null(delta);
	assert_int_equal(snapshot_since(r.snap, &packed), 0);
	for (i = 0; i < LOSS_CAUSES; i++) {
		assert_int_equal(delta->losses.records[i], 3);
		assert_int_equal(delta->losses.batches[i], 1);
		assert_int_equal(r.snap->losses.records[i], 3);
		assert_int_equal(r.snap->losses.batches[i], 1);
	}
	snapshot_free(delta);
	snapshot_free(then);
	buf_free(&packed);
	rig_close(&r);
}

/* Two add-ons of a name are charged as one; when one of them takes another name, what was
 * charged so far stays where it was, and the other keeps its name. */
static void one_of_two_groups_of_a_name_takes_another(void **state)
{
	const struct snapshot *snap;
	struct rig r;
	u32 one = 11, two = 12;

	(void)state;
	rig_open(&r);
	sim_define(r.m, SIM_PID, VMSPAN_DEF_GROUP, one, VMSPAN_ADDON, "twin", NULL, 0);
	sim_define(r.m, SIM_PID, VMSPAN_DEF_GROUP, two, VMSPAN_ADDON, "twin", NULL, 0);
	sim_define(r.m, SIM_PID, VMSPAN_DEF_COMPARTMENT, 21, 0, "one", &one, 1);
	sim_define(r.m, SIM_PID, VMSPAN_DEF_COMPARTMENT, 22, 0, "two", &two, 1);
	plain_event(r.s, 1000, 10, 21);
	plain_event(r.s, 2000, 20, 22);
	plain_event(r.s, 3000, 30, 21);
	plain_event(r.s, 4000, 40, 22);
	snap = rig_look(&r, 0, 4);
	assert_int_equal(stats(snap, "addon:twin")->wall_ns, 30);
	sim_define(r.m, SIM_PID, VMSPAN_DEF_GROUP, one, VMSPAN_ADDON, "other", NULL, 0);
	snap = rig_look(&r, 4, 8);
	assert_int_equal(stats(snap, "addon:twin")->wall_ns, 70);
	assert_int_equal(stats(snap, "addon:other")->wall_ns, 30);
	/* It is now alone with its name, which goes with it. */
	sim_define(r.m, SIM_PID, VMSPAN_DEF_GROUP, one, VMSPAN_ADDON, "third", NULL, 0);
	snap = rig_look(&r, 0, 0);
	assert_null(snapshot_group(snap, "addon:other"));
	assert_int_equal(stats(snap, "addon:third")->wall_ns, 30);
	rig_close(&r);
}

/* The smallest value that so many of a thousand do not exceed: of few values never one less. */
static void a_quantile_is_not_rounded_down(void **state)
{
	static const struct {
		u32 values, permille, rank;
	} of[] = { { 1, 1, 1 },     { 1, 500, 1 },  { 1, 999, 1 },   { 3, 500, 2 },
		   { 3, 990, 3 },   { 10, 500, 5 }, { 10, 501, 6 },  { 10, 900, 9 },
		   { 10, 990, 10 }, { 15, 1, 1 },   { 15, 1000, 15 } };
	u32 i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(of); i++) {
		struct hist h = { 0 };

		/* Below 16 each value has a bucket of its own. */
		for (k = 1; k <= of[i].values; k++)
			assert_int_equal(hist_add(&h, k), 0);
		assert_int_equal(hist_quantile(&h, of[i].permille), of[i].rank);
		hist_free(&h);
	}
}

/* A collection or a call that may lie across the gap is in doubt as a span is:
 * what is missing may have been inside it. */
static void a_gap_puts_waiting_in_doubt(void **state)
{
	static const u8 types[] = { VMSPAN_GC, VMSPAN_BLOCK };
	const struct snapshot *snap;
	struct rig r;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		rig_open(&r);
		plain_event(r.s, 100, 100, 2);
		rig_look(&r, 0, 2);
		sim_event(r.s, 1000);
		sim_enter(r.s, 1000, 0, types[i]);
		sim_enter(r.s, 1100, 1, VMSPAN_SPAN); /* lost: record 2 */
		sim_leave(r.s, 1200);
		sim_enter(r.s, 1300, 1, VMSPAN_SPAN);
		sim_leave(r.s, 1400);
		sim_leave(r.s, 1600);
		sim_event_end(r.s, 2000);
		rig_look(&r, 3, 6);
		assert_int_equal(model_finish(r.m), 0);
		snap = rig_look(&r, 0, 0);
		assert_int_equal(snap->events.incomplete, 1);
		assert_int_equal(snap->ledger.gc_ns + snap->ledger.blocked_ns, 0);
		assert_int_equal(snap->ledger.lost_ns, 1000);
		rig_close(&r);
	}
}

/* An event that began before the first batch seen of its thread lacks what was
 * in the batches before. */
static void an_event_from_before_the_first_batch_lacks_data(void **state)
{
	const struct snapshot *snap;
	struct rig r;

	(void)state;
	rig_open(&r);
	r.s->seq_first = 50;
	sim_event(r.s, 1000);
	r.s->turn[0].first -= 3; /* three records of it are in a batch before */
	sim_enter(r.s, 1100, 1, VMSPAN_SPAN);
	sim_leave(r.s, 1200);
	sim_event_end(r.s, 2000);
	plain_event(r.s, 3000, 10, 1);
	snap = rig_look(&r, 0, 4);
	assert_int_equal(snap->events.count, 2);
	assert_int_equal(snap->events.incomplete, 1);
	assert_int_equal(snap->losses.records[LOSS_SEQUENCE_GAP], 0);
	rig_close(&r);
}

/* What the SDK had to drop is a loss by its cause; too deep or inside of a
 * mark, it makes the event incomplete, and the events around it. */
static void what_the_sdk_dropped_is_a_loss(void **state)
{
	const struct snapshot *snap;
	struct rig r;

	(void)state;
	rig_open(&r);
	plain_event(r.s, 1000, 100, 1);
	rig_look(&r, 0, 2);
	r.s->unmatched = 3;
	plain_event(r.s, 2000, 100, 1);
	snap = rig_look(&r, 2, 4);
	assert_int_equal(snap->losses.records[LOSS_UNMATCHED], 3);
	assert_int_equal(snap->events.incomplete, 0);
	r.s->too_deep = 5;
	plain_event(r.s, 3000, 100, 1);
	snap = rig_look(&r, 4, 6);
	assert_int_equal(snap->losses.records[LOSS_TOO_DEEP], 5);
	assert_int_equal(snap->events.incomplete, 1);
	r.s->in_mark = 7;
	sim_event(r.s, 4000);
	sim_enter(r.s, 4000, 1, VMSPAN_SPAN);
	plain_event(r.s, 4100, 100, 2); /* runs inside of the other one */
	sim_leave(r.s, 4300);
	sim_event_end(r.s, 4300);
	rig_look(&r, 6, 10);
	plain_event(r.s, 5000, 100, 1);
	snap = rig_look(&r, 10, 12);
	assert_int_equal(snap->losses.records[LOSS_TOO_DEEP], 5);
	assert_int_equal(snap->losses.records[LOSS_NOT_MADE], 7);
	/* The two that may have lost something; none of those after. */
	assert_int_equal(snap->events.incomplete, 1 + 2);
	assert_int_equal(snap->events.count, 6);
	rig_close(&r);
}

/* Outside of events a batch holds many stays, and any of them may lack what was dropped;
 * and so may the one under way at its end, which comes later. */
static void outside_of_events_any_may_lack_what_was_dropped(void **state)
{
	const struct snapshot *snap;
	struct rig r;
	u32 i;

	(void)state;
	rig_open(&r);
	sim_enter(r.s, 900, 1, VMSPAN_SPAN);
	sim_leave(r.s, 950);
	rig_look(&r, 0, 1);
	r.s->too_deep = 1;
	for (i = 1; i < 4; i++) {
		sim_enter(r.s, 1000 * i, 1, VMSPAN_SPAN);
		sim_leave(r.s, 1000 * i + 100);
	}
	sim_enter(r.s, 5000, 1, VMSPAN_SPAN);
	sim_enter(r.s, 5100, 2, VMSPAN_SPAN);
	sim_leave(r.s, 5200);
	snap = rig_look(&r, 1, 5);
	assert_int_equal(snap->events.count, 4);
	assert_int_equal(snap->events.incomplete, 3);
	sim_leave(r.s, 5300);
	sim_enter(r.s, 6000, 1, VMSPAN_SPAN);
	sim_leave(r.s, 6100);
	snap = rig_look(&r, 5, 7);
	assert_int_equal(snap->events.implicit, 6);
	assert_int_equal(snap->events.incomplete, 4);
	rig_close(&r);
}

/* A batch may bring counts alone, before the event that lacks what they count has any record. */
static void counts_that_come_alone_are_of_what_follows(void **state)
{
	const struct snapshot *snap;
	struct item alone;
	struct rig r;

	(void)state;
	rig_open(&r);
	plain_event(r.s, 1000, 100, 1);
	rig_look(&r, 0, 2);
	r.s->too_deep = 3;
	alone = sim_item(r.s, SIM_PID, 0, 0);
	alone.batch.seq += 2;
	assert_int_equal(model_item(r.m, &alone), 0);
	plain_event(r.s, 2000, 100, 1);
	snap = rig_look(&r, 2, 4);
	assert_int_equal(snap->losses.records[LOSS_TOO_DEEP], 3);
	assert_int_equal(snap->events.incomplete, 1);
	plain_event(r.s, 3000, 100, 1);
	snap = rig_look(&r, 4, 6);
	assert_int_equal(snap->events.incomplete, 1);
	rig_close(&r);
}

/* A thread that somebody else traced before comes with that trace's losses. */
static void losses_of_a_trace_before_are_not_ours(void **state)
{
	const struct snapshot *snap;
	struct rig r;

	(void)state;
	rig_open(&r);
	r.s->seq_first = 1000;
	r.s->too_deep = 5;
	r.s->unmatched = 3;
	r.s->in_mark = 2;
	plain_event(r.s, 1000, 100, 1);
	snap = rig_look(&r, 0, 2);
	assert_int_equal(lost_records(&snap->losses), 0);
	assert_int_equal(snap->events.incomplete, 0);
	rig_close(&r);
}

/* A stay cannot be shorter than those inside it: it is discarded, theirs
 * stand, and the event's own time is kept. */
static void a_stay_shorter_than_what_is_in_it_is_discarded(void **state)
{
	const struct snapshot *snap;
	struct vmspan_span *around;
	struct rig r;

	(void)state;
	rig_open(&r);
	sim_event(r.s, 1000);
	sim_enter(r.s, 1100, 1, VMSPAN_SPAN);
	sim_enter(r.s, 1200, 2, VMSPAN_SPAN);
	sim_leave(r.s, 1700);
	sim_leave(r.s, 1800);
	sim_event_end(r.s, 2000);
	around = (void *)r.s->data[r.s->at[1]];
	around->end = 1150;
	snap = rig_look(&r, 0, 3);
	assert_int_equal(snap->repairs.discarded_shares, 1);
	assert_int_equal(snap->ledger.event_wall_ns, 1000);
	assert_int_equal(stats(snap, "addon:b")->self_ns, 500);
	assert_int_equal(stats(snap, "addon:a")->self_ns, 0);
	rig_close(&r);
}

/* A stay that ended the moment another one began is not in it. */
static void what_ended_when_it_began_is_not_in_it(void **state)
{
	const struct snapshot *snap;
	struct vmspan_span *s;
	struct rig r;

	(void)state;
	rig_open(&r);
	sim_event(r.s, 1000);
	sim_enter(r.s, 1100, 2, VMSPAN_SPAN);
	sim_leave(r.s, 1200);
	s = (void *)r.s->data[r.s->at[0]];
	s->h.depth = 1; /* the stay around it was never closed */
	sim_enter(r.s, 1200, 1, VMSPAN_SPAN);
	sim_leave(r.s, 1300);
	sim_event_end(r.s, 2000);
	snap = rig_look(&r, 0, 3);
	assert_int_equal(stats(snap, "addon:a")->self_ns, 100);
	assert_int_equal(stats(snap, "addon:a")->wall_ns, 100);
	assert_int_equal(stats(snap, "addon:b")->self_ns, 100);
	rig_close(&r);
}

/* A heap that is larger after the collection has freed nothing; one that goes
 * on in the next event is one. */
static void collections_are_counted_once_and_free_what_they_free(void **state)
{
	static const struct {
		u64 before, after;
		u16 part;
	} gcs[] = { { 5000, 2000, 0 }, { 1000, 4000, 0 }, { 3000, 2000, VMSPAN_F_PART } };
	const struct snapshot *snap;
	struct vmspan_gc *gc;
	struct rig r;
	u32 i;

	(void)state;
	rig_open(&r);
	for (i = 0; i < ARRAY_SIZE(gcs); i++) {
		sim_event(r.s, 1000 * (i + 1));
		sim_enter(r.s, 1000 * (i + 1), 0, VMSPAN_GC);
		gc = (void *)r.s->data[r.s->slots];
		sim_leave(r.s, 1000 * (i + 1) + 100);
		gc->bytes_before = gcs[i].before;
		gc->bytes_after = gcs[i].after;
		gc->h.depth |= gcs[i].part;
		sim_event_end(r.s, 1000 * (i + 1) + 200);
	}
	snap = rig_look(&r, 0, 2 * i);
	assert_int_equal(snap->gc.count, 2);
	assert_int_equal(snap->gc.total_ns, 300);
	assert_int_equal(snap->gc.freed_bytes, 3000 + 1000);
	assert_int_equal(snap->ledger.gc_ns, 300);
	rig_close(&r);
}

/* A hypervisor that takes the CPU is nobody's doing in here: its time is counted, and
 * the event not believed to be whole, whether or not it lacks anything else. */
static void time_that_a_hypervisor_took_is_counted(void **state)
{
	const u64 ms = NSEC_PER_MSEC;
	struct sim *sched = sim_new(1);
	const struct snapshot *snap;
	struct rig r;
	u32 i;

	(void)state;
	rig_open_exact(&r, sched);
	sim_off(sched, 12 * ms, 14 * ms, VMSPAN_OFF_SLEEPING);
	sim_off(sched, 22 * ms, 23 * ms, VMSPAN_OFF_SLEEPING); /* that is explained */
	sim_feed_sched(sched, r.m);
	for (i = 1; i <= 3; i++) {
		/* The first has all of its CPU time, the others half of it. */
		r.s->cpu_scale = i == 1 ? 100 : 50;
		r.s->off = i == 1 ? 2 * ms : 0;
		sim_event(r.s, 10 * i * ms);
		r.s->off += i == 1 ? 2 * ms : 0;
		sim_enter(r.s, 10 * i * ms, 1, VMSPAN_SPAN);
		sim_leave(r.s, 10 * i * ms + ms);
		sim_enter(r.s, 10 * i * ms + ms, 1, VMSPAN_SPAN);
		sim_leave(r.s, 10 * i * ms + 4 * ms);
		sim_event_end(r.s, 10 * i * ms + 4 * ms);
	}
	snap = rig_look(&r, 0, 3);
	assert_int_equal(snap->repairs.stolen_ns, 0);
	assert_int_equal(snap->events.incomplete, 0);
	snap = rig_look(&r, 3, 6);
	assert_int_equal(snap->repairs.stolen_ns, ms);
	assert_int_equal(snap->repairs.stolen_lacks_ns, ms);
	assert_int_equal(snap->events.incomplete, 1);
	rig_look(&r, 6, 7); /* lost: record 7 */
	rig_look(&r, 8, 9);
	assert_int_equal(model_finish(r.m), 0);
	snap = rig_look(&r, 0, 0);
	assert_int_equal(snap->losses.records[LOSS_SEQUENCE_GAP], 1);
	assert_int_equal(snap->repairs.stolen_ns, 3 * ms);
	assert_int_equal(snap->events.incomplete, 2);
	free(sched);
	rig_close(&r);
}

/* The clocks may differ by 0.1 ms and a hundredth of the event: to the ns. */
static void what_may_be_an_error_of_the_clocks_is_not_stolen(void **state)
{
	const u64 ms = NSEC_PER_MSEC, cpu[] = { 9800000, 9799999, 0 };
	const u64 stolen[] = { 0, 200001, 0 };
	struct sim *sched = sim_new(1);
	const struct snapshot *snap;
	struct vmspan_event *e;
	u64 sum = 0;
	struct rig r;
	u32 i;

	(void)state;
	rig_open_exact(&r, sched);
	sim_feed_sched(sched, r.m);
	for (i = 0; i < ARRAY_SIZE(cpu); i++) {
		sim_event(r.s, 20 * (i + 1) * ms);
		e = (void *)r.s->data[r.s->slots];
		sim_event_end(r.s, 20 * (i + 1) * ms + 10 * ms);
		e->cpu_ns_end = cpu[i];
	}
	for (i = 0; i < ARRAY_SIZE(cpu); i++) {
		snap = rig_look(&r, i, i + 1);
		sum += stolen[i];
		assert_int_equal(snap->repairs.stolen_ns, sum);
		assert_int_equal(snap->events.incomplete, sum != 0);
	}
	free(sched);
	rig_close(&r);
}

/* What is missing ended before the first mark behind it: a stay that begins then may
 * have had it inside, one that begins later has not. */
static void a_gap_reaches_to_the_first_mark_behind_it(void **state)
{
	const struct snapshot *snap;
	struct rig r;

	(void)state;
	rig_open(&r);
	plain_event(r.s, 100, 100, 2);
	sim_event(r.s, 1000);
	sim_enter(r.s, 1000, 1, VMSPAN_SPAN); /* lost: record 2 */
	sim_leave(r.s, 1100);
	sim_enter(r.s, 1200, 2, VMSPAN_SPAN);
	sim_leave(r.s, 1300);
	sim_enter(r.s, 1300, 3, VMSPAN_SPAN);
	sim_leave(r.s, 1400);
	sim_enter(r.s, 1401, 4, VMSPAN_SPAN);
	sim_leave(r.s, 1500);
	sim_event_end(r.s, 2000);
	rig_look(&r, 0, 2);
	rig_look(&r, 3, 7);
	assert_int_equal(model_finish(r.m), 0);
	snap = rig_look(&r, 0, 0);
	assert_int_equal(stats(snap, "addon:c")->self_ns, 0);
	assert_int_equal(stats(snap, "addon:d")->self_ns, 99);
	assert_int_equal(stats(snap, "addon:b")->self_ns, 100); /* the first event's */
	rig_close(&r);
}

/* Behind a hole in a recording the scheduler's records are missing too, and nothing else
 * says so. */
static void a_hole_in_a_recording_leaves_no_event_exact(void **state)
{
	struct item hole = { .type = ITEM_LOSS, .loss = { LOSS_TRUNCATED, 0, 1, false } };
	struct sim *sched = sim_new(1);
	struct rig r;
	u32 i;

	(void)state;
	rig_open_exact(&r, sched);
	sim_feed_sched(sched, r.m);
	for (i = 1; i <= 3; i++)
		plain_event(r.s, i * 1000, 500, 1);
	assert_int_equal(rig_look(&r, 0, 2)->events.incomplete, 0);
	assert_int_equal(model_item(r.m, &hole), 0); /* of one thread alone */
	assert_int_equal(rig_look(&r, 2, 4)->events.incomplete, 0);
	hole.loss.all = true;
	assert_int_equal(model_item(r.m, &hole), 0);
	assert_int_equal(rig_look(&r, 4, 6)->events.incomplete, 1);
	free(sched);
	rig_close(&r);
}

static void an_interval_has_its_own_marks(void **state)
{
	static const u8 types[] = { VMSPAN_INPUT, VMSPAN_INPUT, VMSPAN_FRAME, VMSPAN_INPUT,
				    VMSPAN_FRAME, VMSPAN_FRAME, VMSPAN_FRAME };
	struct snapshot *then, *delta;
	struct buf packed = { 0 };
	struct rig r;
	u32 i;

	(void)state;
	rig_open(&r);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct vmspan_point *m = sim_record(r.s, types[i], 1, 0, 0);

		m->time = 1000 + i;
	}
	rig_look(&r, 0, 3);
	then = snapshot_take(r.m);
	assert_non_null(then);
	assert_int_equal(snapshot_pack(then, &packed), 0);
	delta = snapshot_delta(rig_look(&r, 3, ARRAY_SIZE(types)), then);
	assert_non_null(delta);
	assert_int_equal(snapshot_since(r.snap, &packed), 0);
	assert_int_equal(then->inputs, 2);
	assert_int_equal(then->frames, 1);
	assert_int_equal(delta->inputs, 1);
	assert_int_equal(delta->frames, 3);
	assert_int_equal(r.snap->inputs, 1);
	assert_int_equal(r.snap->frames, 3);
	snapshot_free(delta);
	snapshot_free(then);
	buf_free(&packed);
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_longest_event_stays_the_longest),
		cmocka_unit_test(an_absence_outside_of_events_is_no_event),
		cmocka_unit_test(a_gap_marks_event_and_groups),
		cmocka_unit_test(a_gap_that_has_a_cause_is_told_once),
		cmocka_unit_test(an_interval_has_its_own_losses),
		cmocka_unit_test(one_of_two_groups_of_a_name_takes_another),
		cmocka_unit_test(a_quantile_is_not_rounded_down),
		cmocka_unit_test(a_gap_puts_waiting_in_doubt),
		cmocka_unit_test(an_event_from_before_the_first_batch_lacks_data),
		cmocka_unit_test(what_the_sdk_dropped_is_a_loss),
		cmocka_unit_test(outside_of_events_any_may_lack_what_was_dropped),
		cmocka_unit_test(counts_that_come_alone_are_of_what_follows),
		cmocka_unit_test(losses_of_a_trace_before_are_not_ours),
		cmocka_unit_test(a_stay_shorter_than_what_is_in_it_is_discarded),
		cmocka_unit_test(what_ended_when_it_began_is_not_in_it),
		cmocka_unit_test(time_that_a_hypervisor_took_is_counted),
		cmocka_unit_test(what_may_be_an_error_of_the_clocks_is_not_stolen),
		cmocka_unit_test(a_gap_reaches_to_the_first_mark_behind_it),
		cmocka_unit_test(collections_are_counted_once_and_free_what_they_free),
		cmocka_unit_test(a_hole_in_a_recording_leaves_no_event_exact),
		cmocka_unit_test(an_interval_has_its_own_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
