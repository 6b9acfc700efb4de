/* SPDX-License-Identifier: BSD-2-Clause */
/* LEDGER.md, "Sampled events": shares by samples, sums to the nanosecond. */
#include "sample_rig.h"

/* Rule: a long event is shared by its own samples. */
static void test_long_event(void **state)
{
	struct model *m = start(false);
	struct sim *s = sim_new(1);
	struct snapshot *snap;
	u32 i;

	(void)state;
	for (i = 0; i < 10; i++)
		look(s, MS + i * PERIOD, PERIOD, 0, 1, i < 7 ? HEAVY : LIGHT, 0);
	event(s, MS, MS + 100 * MS, 1);
	snap = finish(m, s);
	assert_int_equal(group(snap, "package:heavy")->self_ns, 70 * MS);
	assert_int_equal(group(snap, "package:light")->self_ns, 30 * MS);
	assert_int_equal(group(snap, "package:heavy")->max_ns, 70 * MS);
	assert_int_equal(group(snap, "package:heavy")->cpu_ns, 70 * MS);
	assert_int_equal(group(snap, "package:heavy")->self_samples, 7);
	assert_int_equal(snap->events.samples, 10);
	snapshot_free(snap);
}

/* Rule: however often a group is on the stack, it has one sample: twice within a frame of
 * itself it is still there once. */
static void test_recursion(void **state)
{
	struct model *m = start(false);
	struct sim *s = sim_new(1);
	struct snapshot *snap;
	u32 i;

	(void)state;
	for (i = 0; i < 10; i++)
		look(s, MS + i * PERIOD, PERIOD, 0, 1, HEAVY, i < 4 ? HEAVY : LIGHT);
	event(s, MS, MS + 100 * MS, 1);
	snap = finish(m, s);
	assert_int_equal(group(snap, "package:heavy")->samples, 10);
	assert_int_equal(group(snap, "package:heavy")->ticks, 10);
	assert_int_equal(group(snap, "package:heavy")->wall_ns, 100 * MS);
	assert_int_equal(group(snap, "package:light")->samples, 6);
	assert_int_equal(group(snap, "package:light")->wall_ns, 60 * MS);
	assert_int_equal(group(snap, "package:light")->self_ns, 0);
	snapshot_free(snap);
}

/* Rule: short events share the samples of all of them, so none of their time
 * is missing and long ones among them are not favoured. */
static void test_short_events(void **state)
{
	struct model *m = start(false);
	struct sim *s = sim_new(1);
	struct snapshot *snap;
	u32 i;

	(void)state;
	for (i = 1; i <= 1000; i++) {
		u64 begin = i * MS;

		if (i % 10 == 0)
			look(s, begin + 1, PERIOD, 0, i, i % 40 ? HEAVY : LIGHT, 0);
		event(s, begin, begin + MS, i);
	}
	snap = finish(m, s);
	assert_int_equal(snap->events.count, 1000);
	assert_int_equal(snap->ledger.event_wall_ns, 1000 * MS);
	assert_int_equal(snap->ledger.self_ns, 1000 * MS);
	assert_in_range(group(snap, "package:heavy")->self_ns, 745 * MS, 755 * MS);
	assert_int_equal(group(snap, "package:heavy")->self_ns +
				 group(snap, "package:light")->self_ns,
			 1000 * MS);
	assert_int_equal(group(snap, "package:heavy")->max_ns, 0);
	snapshot_free(snap);
}

/* Rule: whose nanosecond is left over when a time is shared is one question for
 * the self time and another for the wall: the wall is never the smaller. */
static void test_wall_holds_self(void **state)
{
	static const char *const names[] = { "package:heavy", "package:light", "package:(stdlib)" };
	struct model *m = start(false);
	struct sim *s = sim_new(1);
	struct snapshot *snap;
	u64 sum = 0;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		look(s, 2 * MS + i * PERIOD, PERIOD, 0, 1, HEAVY + i, 0);
	event(s, MS, 101 * MS, 1);
	snap = finish(m, s);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		const struct group_stats *g = group(snap, names[i]);

		assert_int_equal(g->wall_ns, g->self_ns);
		sum += g->wall_ns;
	}
	assert_int_equal(sum, 100 * MS);
	snapshot_free(snap);
}

/* Rule: what a hypervisor took is in no CPU time, is told beside it, and makes nothing incomplete. */
static void test_stolen(void **state)
{
	struct model *m = start(false);
	struct sim *s = sim_new(1);
	struct vmspan_event *e;
	struct snapshot *snap;
	u32 i;

	(void)state;
	for (i = 0; i < 10; i++)
		look(s, 10 * MS * i + 5 * MS, PERIOD, 0, 1, HEAVY, 0);
	e = sim_record(s, VMSPAN_EVENT, 3, VMSPAN_F_SAMPLED, 1);
	e->begin = e->mono_begin = MS;
	e->end = e->mono_end = 101 * MS;
	e->cpu_ns_end = 70 * MS;
	e->stolen_ns = 20 * MS;
	/* No more than it can have been. */
	e = sim_record(s, VMSPAN_EVENT, 3, VMSPAN_F_SAMPLED, 2);
	e->begin = e->mono_begin = 200 * MS;
	e->end = e->mono_end = 201 * MS;
	e->cpu_ns_begin = 70 * MS;
	e->cpu_ns_end = 71 * MS;
	e->stolen_ns = 1ull << 60;
	snap = finish(m, s);
	assert_int_equal(snap->repairs.stolen_ns, 20 * MS);
	assert_int_equal(snap->events.cpu_ns, 71 * MS);
	assert_int_equal(snap->events.incomplete, 0);
	snapshot_free(snap);
}

/* Rule: time off the CPU is measured, not sampled; it is blocked time of every
 * group on the stack, and nobody's self. */
static void test_waiting(void **state)
{
	struct model *m = start(false);
	struct sim *s = sim_new(1);
	struct snapshot *snap;

	(void)state;
	look(s, 2 * MS, PERIOD, 0, 1, HEAVY, 0);
	look(s, 70 * MS, 60 * MS, VMSPAN_SAMPLE_OFF, 1, STDLIB, LIGHT);
	event(s, MS, 101 * MS, 1);
	snap = finish(m, s);
	assert_int_equal(snap->ledger.blocked_ns, 60 * MS);
	assert_int_equal(group(snap, "package:light")->blocked_ns, 60 * MS);
	assert_int_equal(group(snap, "package:light")->wall_ns, 60 * MS);
	assert_int_equal(group(snap, "package:light")->self_ns, 0);
	assert_int_equal(group(snap, "package:heavy")->self_ns, 40 * MS);
	snapshot_free(snap);
}

/* Rule: so it is in a short event, whose running is shared by others' samples. */
static void test_short_wait(void **state)
{
	struct model *m = start(false);
	struct sim *s = sim_new(1);
	struct vmspan_event *e;
	struct snapshot *snap;

	(void)state;
	look(s, 70 * MS, 60 * MS, VMSPAN_SAMPLE_OFF, 1, LIGHT, 0);
	e = sim_record(s, VMSPAN_EVENT, 3, VMSPAN_F_SAMPLED, 1);
	e->begin = e->mono_begin = MS;
	e->end = e->mono_end = 72 * MS;
	e->cpu_ns_end = 11 * MS;
	look(s, 73 * MS, PERIOD, 0, 2, HEAVY, 0);
	event(s, 72 * MS, 81 * MS, 2);
	snap = finish(m, s);
	assert_int_equal(snap->ledger.blocked_ns, 60 * MS);
	assert_int_equal(group(snap, "package:light")->blocked_ns, 60 * MS);
	assert_int_equal(group(snap, "package:light")->max_ns, 60 * MS);
	assert_int_equal(group(snap, "package:heavy")->self_ns, 20 * MS);
	assert_int_equal(snap->events.count, 2);
	snapshot_free(snap);
}

/* Rule: what no sample represents is lost, what has no frame is native. */
static void test_unknown(void **state)
{
	struct model *m = start(false);
	struct sim *s = sim_new(1);
	struct snapshot *snap;

	(void)state;
	event(s, MS, 3 * MS, 1);
	snap = finish(m, s);
	assert_int_equal(snap->ledger.lost_ns, 2 * MS);
	snapshot_free(snap);

	m = start(false);
	s = sim_new(1);
	look(s, 2 * MS, PERIOD, 0, 1, 0, 0);
	look(s, 3 * MS, PERIOD, 0, 1, HEAVY, 0);
	event(s, MS, 41 * MS, 1);
	snap = finish(m, s);
	assert_int_equal(snap->ledger.native_ns, 20 * MS);
	assert_int_equal(snap->ledger.self_ns, 20 * MS);
	snapshot_free(snap);
}

/* Rule: a collection's time is its own; a sample in it tells whose wall it is. */
static void test_collection(void **state)
{
	struct model *m = start(false);
	struct sim *s = sim_new(1);
	struct snapshot *snap;

	(void)state;
	look(s, 2 * MS, PERIOD, 0, 1, HEAVY, 0);
	look(s, 20 * MS, PERIOD, VMSPAN_SAMPLE_GC, 1, LIGHT, 0);
	collection(s, 0, 10 * MS, 40 * MS);
	collection(s, VMSPAN_F_PART, 50 * MS, 60 * MS);
	event(s, MS, 101 * MS, 1);
	snap = finish(m, s);
	assert_int_equal(snap->gc.count, 1);
	assert_int_equal(snap->gc.total_ns, 40 * MS);
	assert_int_equal(snap->ledger.gc_ns, 40 * MS);
	assert_int_equal(group(snap, "package:light")->gc_ns, 40 * MS);
	assert_int_equal(group(snap, "package:heavy")->self_ns, 60 * MS);
	snapshot_free(snap);
}

/* Rule: a long event is settled by itself, also where all that anybody saw of it were collections. */
static void test_collections_alone(void **state)
{
	struct model *m = start(false);
	struct sim *s = sim_new(1);
	const struct group_stats *g;
	struct snapshot *snap;
	u32 i;

	(void)state;
	for (i = 0; i < 40; i++)
		look(s, 2 * MS + i * PERIOD, PERIOD, VMSPAN_SAMPLE_GC, 1, i < 30 ? HEAVY : LIGHT,
		     0);
	collection(s, 0, 2 * MS, 398 * MS);
	event(s, MS, 401 * MS, 1);
	snap = finish(m, s);
	g = group(snap, "package:heavy");
	assert_int_equal(g->gc_ns, 297 * MS);
	assert_int_equal(g->max_ns, 297 * MS);
	assert_int_equal(g->cpu_ns, 297 * MS);
	/* What ran besides nobody saw. */
	assert_int_equal(snap->ledger.lost_ns, 4 * MS);
	snapshot_free(snap);
}

/* Rule: CPU time is that of all that was seen to use it, whether it ran or collected, and no more than there
 * was. */
static void test_cpu_of_collections(void **state)
{
	u32 cut;

	(void)state;
	for (cut = 0; cut < 2; cut++) {
		struct model *m = start(false);
		struct sim *s = sim_new(1);
		const u64 end = 2 * MS + 320 * MS / (cut ? 2 : 1);
		struct snapshot *snap;
		u32 i;

		for (i = 0; i < 40; i++)
			look(s, 2 * MS + i * PERIOD, PERIOD, i < 32 ? VMSPAN_SAMPLE_GC : 0, 1,
			     i < 32 ? LIGHT : HEAVY, 0);
		collection(s, 0, 2 * MS, end);
		event(s, MS, 401 * MS, 1);
		snap = finish(m, s);
		assert_int_equal(group(snap, "package:heavy")->cpu_ns, 80 * MS);
		assert_int_equal(group(snap, "package:heavy")->gc_ns, 0);
		/* Of four in five looks, and it collected for two in five of the time. */
		assert_int_equal(group(snap, "package:light")->cpu_ns, (cut ? 160 : 320) * MS);
		assert_int_equal(group(snap, "package:light")->wall_ns, (cut ? 160 : 320) * MS);
		snapshot_free(snap);
	}
}

/* Rule: innermost is who ran; outermost the outermost group that has a name. */
static void test_attribute(void **state)
{
	int outermost;

	(void)state;
	for (outermost = 0; outermost < 2; outermost++) {
		struct model *m = start(outermost);
		struct sim *s = sim_new(1);
		struct snapshot *snap;

		look(s, 2 * MS, PERIOD, 0, 1, STDLIB, HEAVY);
		look(s, 3 * MS, PERIOD, 0, 1, STDLIB, 0);
		event(s, MS, 41 * MS, 1);
		snap = finish(m, s);
		assert_int_equal(group(snap, "package:heavy")->self_ns, outermost ? 20 * MS : 0);
		assert_int_equal(group(snap, "package:heavy")->wall_ns, 20 * MS);
		assert_int_equal(group(snap, "package:(stdlib)")->self_ns,
				 (outermost ? 20 : 40) * MS);
		assert_int_equal(group(snap, "package:(stdlib)")->wall_ns, 40 * MS);
		snapshot_free(snap);
	}
}

/* Rule: Wilson's interval, 95 %. The values are those of the formula. */
static void test_interval(void **state)
{
	static const struct {
		u64 k, n;
		u32 low, high;
	} cases[] = {
		{ 50, 100, 403830, 596170 },   { 0, 100, 0, 36995 },
		{ 100, 100, 963005, 1000000 }, { 600, 1000, 569285, 629924 },
		{ 1, 2, 94529, 905471 },
	};
	u32 low, high;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		sample_interval(cases[i].k, cases[i].n, &low, &high);
		assert_in_range(low + 400, cases[i].low, cases[i].low + 800);
		assert_in_range(high + 400, cases[i].high, cases[i].high + 800);
	}
	sample_interval(0, 0, &low, &high);
	assert_int_equal(low, 0);
	assert_int_equal(high, 1000000);
}

static int take_event(void *ctx, const struct model_event *e)
{
	*(struct ledger *)ctx = e->ledger;
	return 0;
}

/* Rule: of a short event by itself it is told how long it waited; who ran is not known. */
static void test_short_event_alone(void **state)
{
	static const struct model_observer observer = { .event = take_event };
	struct model *m = start(false);
	struct sim *s = sim_new(1);
	struct ledger one = { 0 };

	(void)state;
	model_observe(m, &observer, &one);
	look(s, 40 * MS, 25 * MS, VMSPAN_SAMPLE_OFF, 1, HEAVY, 0);
	event(s, 14 * MS, 14 * MS + 27 * MS, 1);
	snapshot_free(finish(m, s));
	assert_int_equal(one.blocked_ns, 25 * MS);
	assert_int_equal(one.native_ns, 2 * MS);
	assert_int_equal(one.event_wall_ns, 27 * MS);
}

/* Rule: a sample whose frames do not fit its slots is no sample. */
static void test_check(void **state)
{
	u64 room[8] = { 0 };
	struct vmspan_sample *r = (void *)room;

	(void)state;
	r->h = (struct vmspan_head){ VMSPAN_SAMPLE, 2, 8, 0 };
	assert_int_equal(batch_check(r, sizeof(room), 1), 0);
	r->h.depth = 9;
	assert_int_not_equal(batch_check(r, sizeof(room), 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long_event),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_short_events),
		cmocka_unit_test(test_wall_holds_self),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_short_wait),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_collection),
		cmocka_unit_test(test_collections_alone),
		cmocka_unit_test(test_cpu_of_collections),
		cmocka_unit_test(test_attribute),
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_short_event_alone),
		cmocka_unit_test(test_stolen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
