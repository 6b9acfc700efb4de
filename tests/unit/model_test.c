/* SPDX-License-Identifier: BSD-2-Clause */
/* The model's rules (user/model/LEDGER.md), a test each. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "seed.h"
#include "sim.h"
#include "model/clock.h"
#include "model/scale.h"

/* Rule 7: exactly 1000 us leaves bucket 0 unchanged, 1 ns more does not. */
static void bucket_is_strict(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(1);
	struct snapshot *snap;
	u64 t = 1000;
	u32 i;

	(void)state;
	for (i = 0; i < JANK_BUCKETS; i++) {
		u64 limit = NSEC_PER_MSEC << i;

		sim_event(s, t);
		sim_enter(s, t, 1, VMSPAN_SPAN);
		sim_leave(s, t + limit);
		sim_event_end(s, t + limit);
		t += limit + 1;
		sim_event(s, t);
		sim_enter(s, t, 1, VMSPAN_SPAN);
		sim_leave(s, t + limit + 1);
		sim_event_end(s, t + limit + 1);
		t += limit + 2;
	}
	sim_feed(s, m, 100);
	snap = snapshot_take(m);
	for (i = 0; i < JANK_BUCKETS; i++) {
		/* All events of longer limits, and of this one the longer. */
		assert_int_equal(snapshot_group(snap, "addon:a")->stats.durations[i],
				 2 * (JANK_BUCKETS - 1 - i) + 1);
		assert_int_equal(snap->events.durations[i], 2 * (JANK_BUCKETS - 1 - i) + 1);
	}
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* Rule 4: the sum of the parts is the event, whatever the rate. */
static void shares_sum(void **state)
{
	u64 part[50], out[50], rest[50];
	u32 round, i;

	(void)state;
	seed_random(7);
	for (round = 0; round < 20000; round++) {
		u32 n = 1 + (u32)random() % 50;
		u64 total = 0, sum = 0, amount = (u64)random() >> (random() % 31);

		if (round % 3 == 0)
			amount <<= 30; /* beyond 64 bits in between */
		for (i = 0; i < n; i++)
			total += part[i] = (u64)random() >> (random() % 31);
		if (!total)
			continue;
		apportion(part, n, total, amount, out, rest);
		for (i = 0; i < n; i++) {
			u64 low = scale(part[i], amount, total);

			assert_true(out[i] == low || out[i] == low + 1);
			if (!part[i])
				assert_int_equal(out[i], 0);
			sum += out[i];
		}
		assert_int_equal(sum, amount);
	}
}

/* Rule 4: cycles of any rate become the event's time, CPU time its share. */
static void cycles_become_time(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(1);
	struct vmspan_event *e;
	struct snapshot *snap;

	(void)state;
	sim_event(s, 1000);
	sim_enter(s, 1000, 1, VMSPAN_SPAN);
	sim_leave(s, 2000);
	sim_enter(s, 2000, 2, VMSPAN_SPAN);
	sim_leave(s, 3000);
	sim_enter(s, 3000, 3, VMSPAN_SPAN);
	sim_leave(s, 4000);
	sim_event_end(s, 4000);
	e = (void *)s->data[s->at[s->records - 1]];
	e->mono_begin = 1000;
	e->mono_end = 2000; /* 3 cycles a ns */
	e->cpu_ns_begin = 0;
	e->cpu_ns_end = 500;
	sim_feed(s, m, 100);
	snap = snapshot_take(m);
	assert_int_equal(snap->ledger.event_wall_ns, 1000);
	assert_int_equal(snap->ledger.self_ns, 1000);
	/* 333.3 each: the nanosecond left over goes to the first. */
	assert_int_equal(snapshot_group(snap, "addon:a")->stats.self_ns, 334);
	assert_int_equal(snapshot_group(snap, "addon:b")->stats.self_ns, 333);
	assert_int_equal(snapshot_group(snap, "addon:c")->stats.self_ns, 333);
	assert_int_equal(snapshot_group(snap, "addon:c")->stats.cpu_ns, 166);
	assert_int_equal(snapshot_group(snap, "top:test")->stats.cpu_ns, 500);
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* Rule 4: forged cycles discard the event's shares and are counted. */
static void forged_shares(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(1);
	struct vmspan_span *sp;
	struct snapshot *snap;

	(void)state;
	sim_event(s, 1000);
	sim_enter(s, 1100, 1, VMSPAN_SPAN);
	sim_leave(s, 1200);
	sp = (void *)s->data[s->at[0]];
	sp->end = 900000;
	sim_event_end(s, 2000);
	sim_feed(s, m, 100);
	snap = snapshot_take(m);
	assert_int_equal(snap->repairs.discarded_shares, 1);
	assert_int_equal(snap->ledger.lost_ns, 1000);
	assert_int_equal(ledger_sum(&snap->ledger), 1000);
	assert_int_equal(snap->events.incomplete, 1);
	assert_int_equal(snapshot_group(snap, "addon:a")->stats.wall_ns, 0);
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* A span from before the trace is dropped and counted. */
static void before_attach(void **state)
{
	struct model *m = model_new(&(struct model_config){ 0 });
	struct item it = { .type = ITEM_CLOCK, .clock = { 5000, 5000, 1 } };
	struct sim *s = sim_new(1);
	struct snapshot *snap;

	(void)state;
	assert_int_equal(model_item(m, &it), 0);
	sim_enter(s, 4000, 1, VMSPAN_SPAN);
	sim_event(s, 6000);
	sim_enter(s, 6100, 2, VMSPAN_SPAN);
	sim_leave(s, 6200);
	sim_event_end(s, 6300);
	sim_leave(s, 7000);
	sim_feed(s, m, 100);
	snap = snapshot_take(m);
	assert_int_equal(snap->repairs.before_attach, 1);
	assert_int_equal(snap->events.count, 1);
	assert_int_equal(snap->spans, 1);
	assert_int_equal(snap->ledger.self_ns, 100);
	assert_int_equal(snap->ledger.native_ns, 200);
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* Own groups of compartments are inactive unless asked for. */
static void own_groups(void **state)
{
	int on;

	(void)state;
	for (on = 0; on < 2; on++) {
		struct model *m = model_make(&(struct model_config){ .own_groups = on });
		struct sim *s = sim_new(1);
		struct snapshot *snap;

		sim_event(s, 1000);
		sim_enter(s, 1100, 9, VMSPAN_SPAN);
		sim_leave(s, 1200);
		sim_event_end(s, 2000);
		sim_feed(s, m, 100);
		snap = snapshot_take(m);
		assert_int_equal(snap->group_count, on ? 4 : 3);
		assert_int_equal(!!snapshot_group(snap, "compartment:both"), on);
		snapshot_free(snap);
		model_free(m);
		free(s);
	}
}

/* A stay that goes on in the next event is counted once and charged in both. */
static void parts_count_once(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(1);
	const struct snapshot_group *g;
	struct snapshot *snap;
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		u64 t = 1000 * ((u64)i + 1);
		struct vmspan_head *h;

		sim_event(s, t);
		/* What lies inside, and what went on beside it. */
		sim_enter(s, t + 10, 1, VMSPAN_SPAN);
		sim_leave(s, t + 20);
		sim_enter(s, t + 100, 2, VMSPAN_SPAN);
		h = (void *)s->data[s->slots];
		sim_leave(s, t + 400);
		h->depth |= i ? VMSPAN_F_PART : 0;
		sim_event_end(s, t + 500);
	}
	sim_feed(s, m, 100);
	snap = snapshot_take(m);
	g = snapshot_group(snap, "addon:b");
	assert_non_null(g);
	assert_int_equal(g->stats.spans, 1);
	assert_int_equal(g->stats.ticks, 1);
	assert_int_equal(g->stats.stayed, 1);
	assert_int_equal(g->stats.events, 3);
	assert_int_equal(g->stats.wall_ns, 900);
	assert_int_equal(snapshot_group(snap, "addon:a")->stats.spans, 3);
	assert_int_equal(snap->spans, 4);
	assert_int_equal(ledger_sum(&snap->ledger), snap->ledger.event_wall_ns);
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* A renamed group keeps what was charged; its old name is gone. */
static void renamed_group(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(1);
	struct snapshot *snap;

	(void)state;
	sim_event(s, 1000);
	sim_enter(s, 1100, 1, VMSPAN_SPAN);
	sim_leave(s, 1200);
	sim_event_end(s, 2000);
	sim_event(s, 3000);
	sim_enter(s, 3100, 1, VMSPAN_SPAN);
	sim_leave(s, 3200);
	sim_event_end(s, 4000);
	sim_batch(s, m, SIM_PID, 0, 2);
	sim_define(m, SIM_PID, VMSPAN_DEF_GROUP, 1, VMSPAN_PAGE, "title", NULL, 0);
	sim_batch(s, m, SIM_PID, 2, 4);
	snap = snapshot_take(m);
	assert_null(snapshot_group(snap, "addon:a"));
	assert_int_equal(snapshot_group(snap, "page:title")->stats.wall_ns, 200);
	assert_string_equal(snapshot_group(snap, "page:title")->kind, "page");
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* Rule 7: one row over several processes; a forked child knows its parent's
 * definitions; a child's value never exceeds its parent's. */
static void several_processes(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(1);
	const struct snapshot_group *g;
	struct item it = { .type = ITEM_PROCESS };
	struct snapshot *snap;
	u32 i;

	(void)state;
	for (i = 1; i <= 3; i++) {
		it.process =
			(struct item_process){ PROCESS_FORK, SIM_PID + i, SIM_PID, 1, "child", "" };
		assert_int_equal(model_item(m, &it), 0);
	}
	sim_event(s, 1000);
	sim_enter(s, 1100, 1, VMSPAN_SPAN);
	sim_leave(s, 1200);
	sim_event_end(s, 2000);
	for (i = 0; i <= 3; i++)
		assert_int_equal(sim_batch(s, m, SIM_PID + i, 0, 2), 0);
	snap = snapshot_take(m);
	assert_int_equal(snap->process_count, 4);
	g = snapshot_group(snap, "addon:a");
	assert_int_equal(g->stats.wall_ns, 400);
	assert_int_equal(g->children, 4);
	for (i = 0; i < 4; i++)
		assert_int_equal(snap->children[g->first_child + i].stats.wall_ns, 100);
	assert_int_equal(snapshot_group(snap, "top:child")->children, 3);
	assert_string_equal(snap->processes[2].vm, "sdk");
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* Rule 8: totals never decrease, and now - then is what came between. */
static void same_figures(const struct snapshot *a, const struct snapshot *b)
{
	const size_t figures = offsetof(struct group_stats, hist);
	u32 i, k;

	assert_memory_equal(&a->events, &b->events, sizeof(a->events));
	assert_memory_equal(&a->gc, &b->gc, sizeof(a->gc));
	assert_memory_equal(&a->ledger, &b->ledger, sizeof(a->ledger));
	assert_memory_equal(&a->losses, &b->losses, sizeof(a->losses));
	assert_memory_equal(&a->repairs, &b->repairs, sizeof(a->repairs));
	assert_int_equal(a->spans, b->spans);
	assert_int_equal(a->records, b->records);
	assert_int_equal(a->begin_ns, b->begin_ns);
	assert_int_equal(a->group_count, b->group_count);
	assert_int_equal(a->child_count, b->child_count);
	for (i = 0; i < a->process_count; i++)
		assert_memory_equal(&a->processes[i].events, &b->processes[i].events,
				    sizeof(struct event_stats));
	for (i = 0; i < a->child_count; i++)
		assert_memory_equal(&a->children[i].stats, &b->children[i].stats, figures);
	for (i = 0; i < a->group_count; i++) {
		const struct hist *x = &a->groups[i].stats.hist, *y = &b->groups[i].stats.hist;

		assert_memory_equal(&a->groups[i].stats, &b->groups[i].stats, figures);
		assert_int_equal(x->total, y->total);
		assert_int_equal(x->len, y->len);
		for (k = 0; k < x->len; k++)
			assert_int_equal(x->counts[k], y->counts[k]);
	}
}

static void snapshots_subtract(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct snapshot *then, *now, *delta, *same;
	struct sim *s = sim_new(1);
	struct buf packed = { 0 };
	size_t whole;
	u32 i;

	(void)state;
	for (i = 0; i < 10; i++) {
		u64 t = 1000 + i * 1000;

		sim_event(s, t);
		sim_enter(s, t + 100, 1 + i % 3, VMSPAN_SPAN);
		sim_leave(s, t + 200 + i);
		sim_event_end(s, t + 900);
	}
	assert_int_equal(sim_batch(s, m, SIM_PID, 0, 8), 0);
	then = snapshot_take(m);
	same = snapshot_take(m);
	delta = snapshot_delta(same, then);
	for (i = 0; i < delta->group_count; i++) {
		assert_int_equal(delta->groups[i].stats.wall_ns, 0);
		assert_int_equal(delta->groups[i].stats.hist.total, 0);
	}
	assert_int_equal(delta->events.count, 0);
	snapshot_free(delta);
	snapshot_free(same);
	assert_int_equal(sim_batch(s, m, SIM_PID, 8, 20), 0);
	now = snapshot_take(m);
	delta = snapshot_delta(now, then);
	assert_int_equal(then->events.count, 4);
	assert_int_equal(delta->events.count, 6);
	assert_int_equal(snapshot_group(delta, "addon:a")->stats.ticks, 2); /* events 6 and 9 */
	assert_int_equal(snapshot_group(delta, "addon:a")->stats.wall_ns, 106 + 109);
	assert_int_equal(snapshot_group(delta, "addon:a")->stats.hist.total, 2);
	assert_int_equal(ledger_sum(&delta->ledger), delta->ledger.event_wall_ns);
	/* What is packed subtracts the same. */
	assert_int_equal(snapshot_pack(then, &packed), 0);
	same = snapshot_take(m);
	assert_int_equal(snapshot_since(same, &packed), 0);
	same_figures(same, delta);
	snapshot_free(same);
	/* Cut anywhere it is no such thing, and hurts nobody. */
	for (whole = packed.len; packed.len--;) {
		same = snapshot_take(m);
		assert_int_equal(snapshot_since(same, &packed), -EBADMSG);
		snapshot_free(same);
	}
	assert_true(whole < 100 * (size_t)then->group_count + 200);
	buf_free(&packed);
	snapshot_free(delta);
	snapshot_free(now);
	snapshot_free(then);
	model_free(m);
	free(s);
}

/* Rule 6: batches in any order give the same figures. */
static void order_by_number(void **state)
{
	static const u32 orders[][6] = { { 0, 1, 2, 3, 4, 5 },
					 { 0, 2, 1, 4, 3, 5 },
					 { 0, 5, 4, 3, 2, 1 },
					 { 0, 3, 3, 1, 2, 4 } };
	u32 i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		struct model *m = model_make(&(struct model_config){ 0 });
		struct sim *s = sim_new(1);
		struct snapshot *snap;

		for (k = 0; k < 6; k++) {
			sim_event(s, 1000 + k * 1000);
			sim_enter(s, 1100 + k * 1000, 1, VMSPAN_SPAN);
			sim_leave(s, 1200 + k * 1000);
			sim_event_end(s, 1900 + k * 1000);
		}
		for (k = 0; k < 6; k++)
			assert_int_equal(
				sim_batch(s, m, SIM_PID, orders[i][k] * 2, orders[i][k] * 2 + 2),
				0);
		assert_int_equal(model_finish(m), 0);
		snap = snapshot_take(m);
		assert_int_equal(snap->events.count, i == 3 ? 5 : 6);
		assert_int_equal(snap->events.incomplete, 0);
		assert_int_equal(snap->losses.records[LOSS_SEQUENCE_GAP], 0);
		assert_int_equal(snap->ledger.self_ns, i == 3 ? 500 : 600);
		snapshot_free(snap);
		model_free(m);
		free(s);
	}
}

/* Without samples nothing changes: two snapshots are the same. */
static void no_samples_no_change(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct snapshot *snap = snapshot_take(m);

	(void)state;
	assert_int_equal(snap->group_count, 0);
	assert_int_equal(snap->events.count, 0);
	snapshot_free(snap);
	model_free(m);
}

/* Events of 900 ns that begin 1000, 2000, ... 5000 ns into the trace: how many are in
 * the range. */
static u64 events_in(u64 from_ns, u64 to_ns)
{
	struct model *m = model_make(&(struct model_config){ .from_ns = from_ns, .to_ns = to_ns });
	struct sim *s = sim_new(1);
	struct snapshot *snap;
	u64 count;
	u32 i;

	for (i = 0; i < 5; i++) {
		sim_event(s, 1001 + i * 1000);
		sim_enter(s, 1101 + i * 1000, 1, VMSPAN_SPAN);
		sim_leave(s, 1201 + i * 1000);
		sim_event_end(s, 1901 + i * 1000);
	}
	sim_feed(s, m, 3);
	snap = snapshot_take(m);
	count = snap->events.count;
	/* Whole: nothing of an event is cut off. */
	assert_int_equal(snap->events.wall_ns, count * 900);
	snapshot_free(snap);
	model_free(m);
	free(s);
	return count;
}

/* The range of --from and --to: events that begin in it, at its first moment too, but not at
 * its last; one that an edge cuts is in or out as a whole. */
static void time_range(void **state)
{
	(void)state;
	assert_int_equal(events_in(1500, 3000), 1);
	assert_int_equal(events_in(2000, 4000), 2);
	assert_int_equal(events_in(2000, 2001), 1);
	assert_int_equal(events_in(1001, 2000), 0);
	assert_int_equal(events_in(4500, 0), 1);
}

/* The clock map is monotone, continuous, and keeps to the readings. */
static void clock_is_monotone(void **state)
{
	struct clock_map c = { 0 };
	u64 cycles = 1000000, ns = 5000000, last = 0, i;

	(void)state;
	srandom(3);
	for (i = 0; i < 20000; i++) {
		u64 step = 1000000 + (u64)random() % 1000000, at, k;

		assert_int_equal(clock_add(&c, cycles, ns, 2450000000ull), 0);
		for (k = 0; k < 4; k++) {
			at = clock_ns(&c, cycles + step * k / 4);
			assert_true(at >= last);
			last = at;
		}
		cycles += step * 600;
		/* 2.45 GHz, with readings that are up to 200 ns off. */
		ns += (u64)((double)(step * 600) / 2.45) + (u64)random() % 200;
		ns -= 100;
	}
	{
		u64 mapped = clock_ns(&c, cycles), off = mapped > ns ? mapped - ns : ns - mapped;

		assert_true(off < 2000);
	}
	clock_free(&c);
}

/* A time made cycles is the same time to the model, now and after more readings;
 * only where the map jumps it may not be. */
static void clock_goes_back_and_forth(void **state)
{
	struct clock_map c = { 0 };
	u64 cycles = 1000000, ns = 5000000, last = 0, i;

	(void)state;
	srandom(5);
	assert_int_equal(clock_cycles_of(&c, 77), 77);
	for (i = 0; i < 3000; i++) {
		u64 step = 1000000 + (u64)random() % 1000000, at, k, made[4];

		assert_int_equal(clock_add(&c, cycles, ns, 2450000000ull), 0);
		/* Up to the next reading and what it may be off by. */
		for (k = 0; k < 4; k++) {
			at = clock_ns(&c, cycles) + step * 220 / 3 * k;
			made[k] = clock_cycles_of(&c, at);
			assert_true(made[k] >= last);
			last = made[k];
			assert_in_range(clock_ns(&c, made[k]), at - 1, at + 1);
		}
		if (i < 100)
			for (at = 1000; at < cycles; at += cycles / 7)
				assert_in_range(clock_cycles_of(&c, clock_ns(&c, at)), at - 4,
						at + 4);
		cycles += step * 600;
		ns += (u64)((double)(step * 600) / 2.45) + (u64)random() % 200 - 100;
		/* The machine slept: nothing lies in between, and nothing runs backwards. */
		if (i % 100 == 99) {
			ns += 5 * NSEC_PER_MSEC;
			assert_int_equal(clock_add(&c, cycles, ns, 2450000000ull), 0);
			assert_int_equal(clock_cycles_of(&c, ns - 2 * NSEC_PER_MSEC), cycles);
		}
	}
	clock_free(&c);
}

/* A long event's memory does not grow with its spans. */
static void long_event_is_bounded(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct vmspan_span batch[128] = { 0 };
	struct item it = { .type = ITEM_BATCH };
	struct snapshot *snap;
	u32 round, i;
	u64 t = 1000;

	(void)state;
	for (round = 0; round < 2000; round++) {
		for (i = 0; i < 128; i++) {
			/* b in a, a in c: every third a parent of the two before. */
			batch[i] = (struct vmspan_span){
				{ VMSPAN_SPAN, 1, (u16)(2 - i % 3), i % 3 + 1 },
				t + 10 - 3 * (i % 3),
				t + 20 + i % 3,
				0,
				0,
				1
			};
			t += i % 3 == 2 ? 100 : 0;
		}
		it.batch = (struct item_batch){ .pid = SIM_PID,
						.tid = 1,
						.registry = SIM_REGISTRY,
						.thread = 1,
						.seq = round * 126ull,
						.records = 126,
						.bytes = 126 * 32,
						.data = batch };
		assert_int_equal(model_item(m, &it), 0);
	}
	it.batch.seq = 2000 * 126ull;
	{
		struct vmspan_event e = { .h = { VMSPAN_EVENT, 3, 0, 1 },
					  .begin = 900,
					  .end = t + 1000,
					  .mono_begin = 900,
					  .mono_end = t + 1000,
					  .records = 2000 * 126 };

		it.batch.records = 1;
		it.batch.bytes = sizeof(e);
		it.batch.data = &e;
		assert_int_equal(model_item(m, &it), 0);
	}
	snap = snapshot_take(m);
	assert_int_equal(snap->spans, 252000);
	assert_int_equal(snap->events.incomplete, 0);
	assert_int_equal(ledger_sum(&snap->ledger), t + 100);
	assert_int_equal(snapshot_group(snap, "addon:c")->stats.ticks, 84000);
	assert_int_equal(snap->repairs.discarded_shares, 0);
	snapshot_free(snap);
	model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bucket_is_strict),
		cmocka_unit_test(shares_sum),
		cmocka_unit_test(cycles_become_time),
		cmocka_unit_test(forged_shares),
		cmocka_unit_test(before_attach),
		cmocka_unit_test(own_groups),
		cmocka_unit_test(parts_count_once),
		cmocka_unit_test(renamed_group),
		cmocka_unit_test(several_processes),
		cmocka_unit_test(snapshots_subtract),
		cmocka_unit_test(order_by_number),
		cmocka_unit_test(no_samples_no_change),
		cmocka_unit_test(time_range),
		cmocka_unit_test(clock_is_monotone),
		cmocka_unit_test(clock_goes_back_and_forth),
		cmocka_unit_test(long_event_is_bounded),
	};

	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
