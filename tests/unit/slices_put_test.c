/* SPDX-License-Identifier: BSD-2-Clause */
/* What is put aside for an export: slices, values and names, one by one. */
#include "sink/slices.h"
#include "temp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct model_thread thread;
static struct slices s;

static int slices_open(void **state)
{
	const struct export_config config = { .start_ns = 1000, .directory = temp_folder() };

	(void)state;
	thread = (struct model_thread){ .pid = 7, .tid = 8, .id = 1, .name = "t", .process = "p" };
	return slices_init(&s, &config);
}

static int slices_close(void **state)
{
	(void)state;
	slices_release(&s);
	return 0;
}

static struct model_span stay(enum vmspan_type type, u64 begin, u64 end)
{
	return (struct model_span){ .thread = &thread,
				    .type = type,
				    .name = "work",
				    .group = "addon:a",
				    .begin_ns = begin,
				    .end_ns = end,
				    .self_ns = 5,
				    .iteration = 3 };
}

static void put(struct model_span sp)
{
	assert_int_equal(slices_observer.span(&s, &sp), 0);
}

struct told {
	struct slice slices[8];
	struct slice_sample samples[8];
	u32 count;
};

static int tell_slice(void *ctx, const struct slice *one)
{
	struct told *t = ctx;

	assert_true(t->count < 8);
	t->slices[t->count++] = *one;
	return 0;
}

static int tell_sample(void *ctx, const struct slice_sample *one)
{
	struct told *t = ctx;

	assert_true(t->count < 8);
	t->samples[t->count++] = *one;
	return 0;
}

static struct told slices_of(u32 of)
{
	struct told t = { .count = 0 };

	assert_int_equal(slices_each(&s, of, tell_slice, &t), 0);
	return t;
}

static struct told samples_of(u32 counter)
{
	struct told t = { .count = 0 };

	assert_int_equal(slices_samples(&s, counter, tell_sample, &t), 0);
	return t;
}

static void each_kind_keeps_its_own(void **state)
{
	struct model_span sp = stay(VMSPAN_SPAN, 1100, 1200);
	struct model_event e = { .thread = &thread,
				 .label = "turn",
				 .iteration = 3,
				 .parent = 2,
				 .begin_ns = 900, /* before the trace: from its begin on */
				 .end_ns = 1900,
				 .cpu_ns = 70,
				 .stolen_ns = 9,
				 .ledger = { .event_wall_ns = 80 } };
	struct told t;

	(void)state;
	sp.blocked_ns = 11;
	sp.gc_ns = 12;
	sp.fate = SPAN_MOVED;
	put(sp);
	sp = stay(VMSPAN_BLOCK, 1300, 1400);
	sp.peer = 99;
	put(sp);
	sp = stay(VMSPAN_GC, 1500, 1600);
	sp.bytes_before = 100;
	sp.bytes_after = 60;
	put(sp);
	assert_int_equal(slices_observer.event(&s, &e), 0);
	/* What no mark began is none. */
	e.implicit = true;
	assert_int_equal(slices_observer.event(&s, &e), 0);
	t = slices_of(0);
	assert_int_equal(t.count, 4);
	assert_int_equal(t.slices[0].kind, SLICE_SPAN);
	assert_int_equal(t.slices[0].begin, 100);
	assert_int_equal(t.slices[0].end, 200);
	assert_int_equal(t.slices[0].self_ns, 5);
	assert_int_equal(t.slices[0].span.blocked_ns, 11);
	assert_int_equal(t.slices[0].span.gc_ns, 12);
	assert_int_equal(t.slices[0].fate, SPAN_MOVED);
	assert_int_equal(t.slices[1].kind, SLICE_BLOCK);
	assert_int_equal(t.slices[1].block.peer, 99);
	assert_int_equal(t.slices[2].kind, SLICE_GC);
	assert_int_equal(t.slices[2].gc.bytes_before, 100);
	assert_int_equal(t.slices[2].gc.bytes_after, 60);
	assert_int_equal(t.slices[3].kind, SLICE_EVENT);
	assert_int_equal(t.slices[3].begin, 0);
	assert_int_equal(t.slices[3].end, 900);
	assert_int_equal(t.slices[3].event.cpu_ns, 70);
	assert_int_equal(t.slices[3].event.stolen_ns, 9);
	assert_int_equal(t.slices[3].event.parent, 2);
	assert_int_equal(s.end, 900);
}

/* A slice that ends together with the one before may hold it; one that ends earlier stands on no stack. */
static void what_ends_earlier_is_astray(void **state)
{
	struct told t;

	(void)state;
	put(stay(VMSPAN_SPAN, 1100, 1200));
	put(stay(VMSPAN_SPAN, 1050, 1200));
	put(stay(VMSPAN_SPAN, 1050, 1199));
	/* A forged one ends before it begins. */
	put(stay(VMSPAN_SPAN, 1300, 1250));
	t = slices_of(0);
	assert_false(t.slices[0].astray || t.slices[1].astray || t.slices[3].astray);
	assert_true(t.slices[2].astray);
	assert_int_equal(t.slices[3].end, 300);
	assert_int_equal(s.threads[0].astray, 1);
	assert_int_equal(s.end, 300);
}

/* Bytes that collections saw, before and behind each, beside a value of that name. */
static void values_are_in_order_of_time(void **state)
{
	struct model_mark m = { .thread = &thread,
				.type = VMSPAN_VALUE,
				.label = "gc heap",
				.value = -3,
				.time_ns = 1700 };
	struct model_span sp = stay(VMSPAN_GC, 1500, 1600);
	struct told t;

	(void)state;
	sp.bytes_before = 100;
	sp.bytes_after = 60;
	put(sp);
	sp = stay(VMSPAN_GC, 1610, 1620);
	put(sp); /* nobody says how large it was */
	assert_int_equal(slices_observer.mark(&s, &m), 0);
	m.time_ns = 1650;
	m.value = 4;
	assert_int_equal(slices_observer.mark(&s, &m), 0);
	m.label = "";
	assert_int_equal(slices_observer.mark(&s, &m), 0);
	assert_int_equal(s.counter_count, 3);
	assert_true(s.counters[0].heap);
	t = samples_of(0);
	assert_int_equal(t.count, 2);
	assert_int_equal(t.samples[0].time, 500);
	assert_int_equal(t.samples[0].value, 100);
	assert_int_equal(t.samples[1].time, 600);
	assert_int_equal(t.samples[1].value, 60);
	assert_false(s.counters[1].heap);
	t = samples_of(1);
	assert_int_equal(t.count, 2);
	assert_int_equal(t.samples[0].time, 700);
	assert_int_equal(t.samples[0].value, -3);
	assert_int_equal(t.samples[1].time, 700);
	assert_int_equal(t.samples[1].value, 4);
	assert_string_equal(slices_name(&s, s.counters[2].name), "value");
	assert_int_equal(s.end, 700);
}

static void names_are_the_last_ones(void **state)
{
	struct item_process p = { .change = PROCESS_EXEC, .pid = 7, .name = "new", .vm = "" };

	(void)state;
	/* Of what shows nothing no place is made. */
	assert_int_equal(slices_observer.process(&s, &p), 0);
	assert_int_equal(slices_observer.thread(&s, &thread), 0);
	assert_int_equal(s.process_count, 0);
	assert_int_equal(s.thread_count, 0);
	put(stay(VMSPAN_SPAN, 1100, 1200));
	assert_string_equal(slices_name(&s, s.processes[0].name), "p");
	assert_int_equal(slices_observer.process(&s, &p), 0);
	assert_string_equal(slices_name(&s, s.processes[0].name), "new");
	p.change = PROCESS_EXIT;
	p.name = "gone";
	assert_int_equal(slices_observer.process(&s, &p), 0);
	assert_string_equal(slices_name(&s, s.processes[0].name), "new");
	thread.name = "worker";
	assert_int_equal(slices_observer.thread(&s, &thread), 0);
	assert_string_equal(slices_name(&s, s.threads[0].name), "worker");
	/* Another thread of it has the name that the process has by then, but no empty one takes it away. */
	thread.id = 2;
	thread.tid = 9;
	thread.process = "later";
	put(stay(VMSPAN_SPAN, 1100, 1200));
	assert_string_equal(slices_name(&s, s.processes[0].name), "later");
	thread.id = 3;
	thread.process = "";
	put(stay(VMSPAN_SPAN, 1100, 1200));
	assert_string_equal(slices_name(&s, s.processes[0].name), "later");
	assert_int_equal(s.process_count, 1);
	assert_int_equal(s.processes[0].threads, 3);
}

static void a_groups_kind_is_what_stands_before_the_colon(void **state)
{
	char kind[16];

	(void)state;
	assert_string_equal(group_kind("addon:a:b", kind), "addon");
	assert_string_equal(group_kind("123456789012345:x", kind), "123456789012345");
	assert_string_equal(group_kind("1234567890123456:x", kind), "span");
	assert_string_equal(group_kind("none", kind), "span");
	assert_string_equal(group_kind(":x", kind), "span");
	assert_string_equal(group_kind(NULL, kind), "span");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, slices_open, slices_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_kind_keeps_its_own),
		TEST(what_ends_earlier_is_astray),
		TEST(values_are_in_order_of_time),
		TEST(names_are_the_last_ones),
		TEST(a_groups_kind_is_what_stands_before_the_colon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
