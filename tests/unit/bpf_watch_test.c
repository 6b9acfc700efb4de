/* SPDX-License-Identifier: BSD-2-Clause */
/* The direct stopwatch: what finds no place on a thread's stack is counted. */
#include "bpf_host.h"

#include "bpf/stopwatch.bpf.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct watch watch;
static struct watch_stack watch_stack;

static void *more(void *map, const void *key)
{
	if (map == &watch_stacks)
		return &watch_stack;
	return map == &watches ? &watch : NULL;
}

static void a_turn_too_many_is_a_loss(void **state)
{
	const struct watch *w = &watch;
	__u32 i, many = 3;

	machine_make();
	host.more = more;
	for (i = 0; i < WATCH_TURNS + many; i++)
		assert_int_equal(____watch_ev_begin(&host.registers, 0), 0);
	assert_int_equal(w->turns, WATCH_TURNS);
	assert_int_equal(w->batch.too_deep, many);
	/* They end in turn, and those that found a place are all there. */
	for (i = 0; i < WATCH_TURNS + many; i++)
		assert_int_equal(watch_ev_end(&host.registers), 0);
	assert_int_equal(w->turns, 0);
	assert_int_equal(w->turns_over, 0);
	assert_int_equal(w->batch.seq + w->used - w->extra, WATCH_TURNS);
	assert_int_equal(w->batch.too_deep, many);
}

/* A program may say what it likes; by these ids the stack knows a collection and a blocking call. */
static void no_compartment_is_taken_for_a_collection(void **state)
{
	const struct watch *w = &watch;

	memset(&watch, 0, sizeof(watch));
	machine_make();
	host.more = more;
	assert_int_equal(____watch_enter(&host.registers, 1), 0);
	assert_int_equal(____watch_enter(&host.registers, VMSPAN_ID_GC), 0);
	assert_int_equal(____watch_enter(&host.registers, 1ull << 32 | 2), 0);
	assert_int_equal(w->depth, 1);
	assert_int_equal(host.counted[COUNT_MARK_LOST], 2);
	push(&watch, &watch_stack, VMSPAN_ID_BLOCK, 0, 0);
	assert_int_equal(____watch_leave(&host.registers, VMSPAN_ID_BLOCK), 0);
	assert_int_equal(w->depth, 2);
	assert_int_equal(host.counted[COUNT_MARK_LOST], 3);
}

static const struct vmspan_event *event_handed_over(void)
{
	const struct wire_head *h = (const void *)host.record;
	const struct vmspan_batch *b = (const void *)(h + 1);
	const struct vmspan_event *e = (const void *)(b + 1);

	assert_int_equal(e->h.type, VMSPAN_EVENT);
	return e;
}

/* The event in which a mark could not be made says so, and no other; a label that is a number of 64 bits
 * is none. */
static void an_event_says_that_a_mark_of_it_is_lost(void **state)
{
	static const struct {
		__u64 label, enters;
		bool lacks;
	} cases[] = { { 9, 1, false },
		      { 9, VMSPAN_ID_MARKS, true },
		      { 0x700000000009, 1, false },
		      { 9, 1ull << 40, true } };
	size_t i;

	memset(&watch, 0, sizeof(watch));
	machine_make();
	host.more = more;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct vmspan_event *e;

		assert_int_equal(____watch_ev_begin(&host.registers, cases[i].label), 0);
		/* The stay itself is handed over at a time of its own. */
		assert_int_equal(____watch_enter(&host.registers, cases[i].enters), 0);
		watch.depth = 0;
		assert_int_equal(watch_ev_end(&host.registers), 0);
		e = event_handed_over();
		assert_int_equal(e->label, cases[i].label >> 32 ? 0 : cases[i].label);
		assert_int_equal(!!(e->h.depth & VMSPAN_F_LACKS), cases[i].lacks);
	}
}

/* So does a stay that is in no event. */
static void a_stay_outside_says_that_a_mark_in_it_is_lost(void **state)
{
	static const struct {
		__u64 enters;
		bool lacks;
	} cases[] = { { 2, false }, { VMSPAN_ID_MARKS, true }, { 2, false } };
	const struct vmspan_span *s = (const void *)watch.records;
	size_t i;

	memset(&watch, 0, sizeof(watch));
	machine_make();
	host.more = more;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(____watch_enter(&host.registers, 1), 0);
		assert_int_equal(____watch_enter(&host.registers, cases[i].enters), 0);
		assert_int_equal(____watch_leave(&host.registers, cases[i].enters), 0);
		assert_int_equal(____watch_leave(&host.registers, 1), 0);
		s += !cases[i].lacks;
		assert_int_equal(s->h.id, 1);
		assert_int_equal(s->h.depth, cases[i].lacks ? VMSPAN_F_LACKS : 0);
		s++;
	}
}

/* Of marks that were too deep the next batch tells; if none comes, it is said all the same, and once. */
static void what_is_too_deep_at_an_end_is_counted(void **state)
{
	struct bpf_iter__task all = { .task = &host.thread };
	__u32 batch;

	for (batch = 0; batch < 2; batch++) {
		memset(&watch, 0, sizeof(watch));
		machine_make();
		host.more = more;
		while (watch.batch.too_deep < 3)
			assert_int_equal(____watch_enter(&host.registers, 1 + watch.depth), 0);
		while (batch && watch.deep_open)
			assert_int_equal(____watch_leave(&host.registers, 1), 0);
		if (batch)
			assert_int_equal(____watch_leave(&host.registers, watch.depth), 0);
		assert_int_equal(watch_tail(&all), 0);
		assert_int_equal(host.counted[COUNT_TOO_DEEP], batch ? 0 : 3);
		assert_int_equal(host.counted[COUNT_MARK_LOST], 0);
	}
}

/* The records of the newest one, as what they say is open; how many stays. */
static __u32 unended(__u32 why, bool event, __u32 depth)
{
	const struct wire_head *h = (const void *)host.record;
	const struct vmspan_batch *b = (const void *)(h + 1);
	const struct vmspan_span *s = (const void *)(b + 1);
	const struct vmspan_event *e = (const void *)(b + 1);
	__u32 bytes = b->bytes - sizeof(*b), i;

	assert_int_equal(h->kind, WIRE_UNENDED);
	assert_int_equal(b->pad, why);
	assert_int_equal(b->too_deep, depth);
	assert_int_equal(e->h.type == VMSPAN_EVENT, event);
	if (event) {
		assert_int_equal(e->label, 9);
		s = (const void *)(e + 1);
		bytes -= sizeof(*e);
	}
	for (i = 0; i < bytes / sizeof(*s); i++) {
		assert_int_equal(s[i].h.type, VMSPAN_SPAN);
		/* The innermost ones, outermost first. */
		assert_int_equal(s[i].h.id, 100 + depth - bytes / sizeof(*s) + i);
	}
	return bytes / sizeof(*s);
}

static void enters(__u32 from, __u32 n)
{
	while (n--)
		assert_int_equal(____watch_enter(&host.registers, 100 + from++), 0);
}

/* What a thread is in as it ends, or executes another program, or as the trace ends. */
static void what_is_open_at_an_end_is_told(void **state)
{
	struct bpf_iter__task all = { .task = &host.thread };
	__u64 exec[] = { (__u64)&host.thread };
	struct signal_struct others = { 0 };
	__u32 n;

	memset(&watch, 0, sizeof(watch));
	machine_make();
	host.thread.signal = &others;
	host.more = more;
	/* A stay around it has been open for longer, and is not in it. */
	enters(50, 1);
	assert_int_equal(____watch_ev_begin(&host.registers, 9), 0);
	enters(0, 3);
	assert_int_equal(watch_tail(&all), 0);
	assert_int_equal(unended(UNENDED_TRACE, true, 3), 3);
	n = host.records;
	assert_int_equal(watch_tail(&all), 0);
	assert_int_equal(host.records, n);
	/* Without an event; of many the innermost. */
	enters(0, UNENDED_STAYS + 4);
	others.live.counter = 1;
	assert_int_equal(watch_exit(exec), 0);
	assert_int_equal(unended(UNENDED_THREAD, false, UNENDED_STAYS + 4), UNENDED_STAYS);
	enters(0, 1);
	others.live.counter = 0;
	assert_int_equal(watch_exit(exec), 0);
	assert_int_equal(unended(UNENDED_PROCESS, false, 1), 1);
	enters(0, 1);
	assert_int_equal(watch_exec(exec), 0);
	assert_int_equal(unended(UNENDED_EXEC, false, 1), 1);
	/* It is in nothing: what it has made, and no more. */
	enters(0, 1);
	assert_int_equal(____watch_leave(&host.registers, 100), 0);
	n = host.records;
	assert_int_equal(watch_tail(&all), 0);
	assert_int_equal(host.records, n + 1);
	assert_int_equal(((const struct wire_head *)host.record)->kind, WIRE_BATCH);
}

/* Its begin may have been before the trace: then what was recorded as outside of any event was not. */
static void an_end_without_a_begin_is_told(void **state)
{
	const struct wire_life *w = (const void *)host.record;
	__u32 i, n;

	memset(&watch, 0, sizeof(watch));
	machine_make();
	host.more = more;
	for (i = 0; i < 4; i++) {
		if (i == 1)
			assert_int_equal(____watch_gc_begin(&host.registers, 0, 0), 0);
		else
			enters(0, 1);
		if (i == 1)
			assert_int_equal(____watch_gc_end(&host.registers, 0), 0);
		else
			assert_int_equal(____watch_leave(&host.registers, 100), 0);
		/* One that is in an event was begun with it. */
		if (i == 3) {
			assert_int_equal(watch_ev_end(&host.registers), 0);
			assert_int_equal(____watch_ev_begin(&host.registers, 9), 0);
			enters(0, 1);
			assert_int_equal(____watch_leave(&host.registers, 100), 0);
			assert_int_equal(watch_ev_end(&host.registers), 0);
		}
		n = host.records;
		assert_int_equal(watch_ev_end(&host.registers), 0);
		assert_int_equal(host.records, n + 1);
		assert_int_equal(w->h.kind, WIRE_UNBEGUN);
		assert_int_equal(w->h.bytes, sizeof(*w) - sizeof(w->h));
		assert_int_equal(w->h.tid, watch.ids.tid);
		assert_int_equal(w->h.pid, watch.ids.tgid);
		assert_int_equal(w->other, i == 0 || i == 2);
	}
	host.ring_full = true;
	assert_int_equal(watch_ev_end(&host.registers), 0);
	assert_int_equal(host.counted[COUNT_LIFE_LOST], 1);
	host.ring_full = false;
}

/* What a thread that was there before has made in it by then is in no figure, where it has not been handed over. */
static void what_is_done_in_an_event_from_before_is_left_out(void **state)
{
	enum {
		HELD,
		HANDED_OVER,
		POINT,
		BEGUN,
		YOUNG,
		WAYS
	};
	const struct wire_life *w = (const void *)host.record;
	__u32 way;

	for (way = 0; way < WAYS; way++) {
		memset(&watch, 0, sizeof(watch));
		machine_make();
		host.more = more;
		host.process.flags = way == YOUNG ? 0 : TRACED_THERE;
		enters(0, 2);
		assert_int_equal(____watch_leave(&host.registers, 101), 0);
		if (way == HANDED_OVER)
			watch_flush(&watch);
		if (way == POINT)
			assert_int_equal(____watch_mark(&host.registers, VMSPAN_INPUT, 0, 0), 0);
		if (way == BEGUN) {
			assert_int_equal(____watch_ev_begin(&host.registers, 9), 0);
			watch.turns = 0;
		}
		assert_int_equal(watch_ev_end(&host.registers), 0);
		assert_int_equal(w->h.kind, WIRE_UNBEGUN);
		assert_int_equal(w->other, way != HELD);
		assert_int_equal(w->left_out, way == HELD);
		assert_int_equal(watch.used, way == HELD || way == HANDED_OVER ? 0
					     : way == POINT                    ? 2
									       : 1);
		/* What it had not left is left. */
		assert_int_equal(watch.depth, way != HELD);
	}
}

/* Of probes that are attached one by one the first say nothing. What is open then may have ended when all do. */
static void marks_that_come_too_early_say_nothing(void **state)
{
	struct bpf_iter__task all = { .task = &host.thread };
	__u32 n, thread;

	memset(&watch, 0, sizeof(watch));
	machine_make();
	host.more = more;
	host.process.arming = ARMING_FIRST;
	enters(0, 2);
	assert_int_equal(____watch_ev_begin(&host.registers, 9), 0);
	assert_int_equal(watch.started, 0);
	assert_int_equal(host.counted[COUNT_ARMING], 0);
	host.process.arming = ARMING_DONE;
	enters(0, 2);
	assert_int_equal(____watch_leave(&host.registers, 101), 0);
	assert_int_equal(watch.depth, 1);
	thread = watch.batch.thread;
	/* Another file of its is being attached to: what there was is handed over, and the rest counted. */
	n = host.records;
	host.process.arming = ARMING_MORE;
	assert_int_equal(____watch_leave(&host.registers, 100), 0);
	assert_int_equal(host.records, n + 1);
	assert_int_equal(((const struct wire_head *)host.record)->kind, WIRE_BATCH);
	assert_int_equal(____watch_gc_begin(&host.registers, 0, 0), 0);
	assert_int_equal(host.records, n + 1);
	assert_int_equal(host.counted[COUNT_ARMING], 2);
	host.process.arming = ARMING_DONE;
	enters(0, 1);
	assert_int_equal(watch.depth, 1);
	assert_int_not_equal(watch.batch.thread, thread);
	/* At the end of the trace they are detached one by one: what it was in then is told. */
	n = host.records;
	host.process.arming = ARMING_LAST;
	assert_int_equal(____watch_leave(&host.registers, 100), 0);
	enters(3, 1);
	assert_int_equal(watch.depth, 1);
	assert_int_equal(host.records, n);
	assert_int_equal(host.counted[COUNT_ARMING], 2);
	assert_int_equal(watch_tail(&all), 0);
	assert_int_equal(unended(UNENDED_TRACE, false, 1), 1);
}

static struct __bpf_usdt_spec probe;
static struct vmspan_registry copy;

static void *at_probe(void *map, const void *key)
{
	return map == &__bpf_usdt_specs ? &probe : more(map, key);
}

/* A thread that has made no mark, at a probe of a file with that copy of the SDK. */
static void make_probe(__u32 magic, __u32 abi, __u64 process)
{
	memset(&watch, 0, sizeof(watch));
	machine_make();
	host.more = at_probe;
	PT_REGS_IP(&host.registers) = 0x400100;
	probe.usdt_cookie = ((__u64)&copy - 0x400100) | WIRE_COOKIE_COPY;
	copy = (struct vmspan_registry){ .magic = magic, .abi = abi, .process = process };
}

static void marks_are_of_what_lies_there_now(void **state)
{
	static const struct {
		__u32 magic, abi;
		__u64 process;
		bool bad;
		__u64 registry; /* 1: the copy */
	} cases[] = { { VMSPAN_MAGIC, VMSPAN_ABI, 0x7000, false, 0x7000 | TRACED_MARKS },
		      { VMSPAN_MAGIC, VMSPAN_ABI, 0, false, 1 },
		      { VMSPAN_MAGIC, ABI1, 0x7000, false, 1 },
		      { VMSPAN_MAGIC, VMSPAN_ABI, 0x7000, true, 1 },
		      { 0, VMSPAN_ABI, 0x7000, false, 0 } };
	__u64 way;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_probe(cases[i].magic, cases[i].abi, cases[i].process);
		host.bad = cases[i].bad ? &copy : NULL;
		assert_int_equal(____watch_enter(&host.registers, 1), 0);
		assert_int_equal(watch.batch.registry,
				 cases[i].registry == 1 ? (__u64)&copy : cases[i].registry);
	}
	/* Numbers of two files, of which the first is right; and what has names of its own again. */
	make_probe(VMSPAN_MAGIC, VMSPAN_ABI, 0x7000);
	way = probe.usdt_cookie;
	probe.usdt_cookie = 2 * 17;
	assert_int_equal(____watch_enter(&host.registers, 1), 0);
	assert_int_equal(watch.batch.registry, 17);
	probe.usdt_cookie = 2 * 18;
	assert_int_equal(____watch_leave(&host.registers, 1), 0);
	assert_int_equal(watch.batch.registry, 17);
	probe.usdt_cookie = way;
	assert_int_equal(____watch_enter(&host.registers, 1), 0);
	assert_int_equal(watch.batch.registry, 0x7000 | TRACED_MARKS);
	probe.usdt_cookie = 2 * 18;
	assert_int_equal(____watch_enter(&host.registers, 1), 0);
	assert_int_equal(watch.batch.registry, 18);
}

static void a_thread_of_another_block_begins_anew(void **state)
{
	__u32 thread, there;

	make_probe(VMSPAN_MAGIC, VMSPAN_ABI, 0x7000);
	enters(1, 1);
	assert_int_equal(____watch_leave(&host.registers, 101), 0);
	enters(1, 2);
	thread = watch.batch.thread;
	copy.process = 0x8000;
	enters(3, 1);
	assert_int_equal(watch.batch.registry, 0x8000 | TRACED_MARKS);
	assert_int_not_equal(watch.batch.thread, thread);
	assert_int_equal(watch.depth, 1);
	/* What it was in, it has been lost in. */
	assert_int_equal(host.counted[COUNT_MARK_LOST], 2);
	assert_int_equal(____watch_leave(&host.registers, 103), 0);
	copy.process = 0x7000;
	enters(1, 1);
	assert_int_equal(host.counted[COUNT_MARK_LOST], 2);
	/* Where it is known to be in no event from before, that is known. */
	for (there = 0; there < 2; there++) {
		make_probe(VMSPAN_MAGIC, VMSPAN_ABI, 0x7000);
		host.process.flags |= TRACED_THERE;
		enters(1, 1);
		assert_true(watch.unplaced);
		if (there) {
			assert_int_equal(____watch_ev_begin(&host.registers, 0), 0);
			assert_int_equal(watch_ev_end(&host.registers), 0);
		}
		copy.process = 0x8000;
		enters(1, 1);
		assert_int_equal(!watch.unplaced, there);
	}
}

/* Whose it is may soon be gone. */
static void the_first_record_of_a_thread_is_handed_over_at_once(void **state)
{
	make_probe(VMSPAN_MAGIC, VMSPAN_ABI, 0x7000);
	last_wake = 1000;
	enters(1, 1);
	assert_int_equal(host.records, 0);
	assert_int_equal(____watch_leave(&host.registers, 101), 0);
	assert_int_equal(host.records, 1);
	assert_int_equal(host.submitted, BPF_RB_FORCE_WAKEUP);
	enters(1, 1);
	assert_int_equal(____watch_leave(&host.registers, 101), 0);
	assert_int_equal(host.records, 1);
	host.tsc += 2 * flush_cycles;
	enters(1, 1);
	assert_int_equal(____watch_leave(&host.registers, 101), 0);
	assert_int_equal(host.records, 2);
	assert_int_equal(host.submitted, BPF_RB_NO_WAKEUP);
	/* But not before it is known where it belongs. */
	make_probe(VMSPAN_MAGIC, VMSPAN_ABI, 0x7000);
	host.process.flags |= TRACED_THERE;
	enters(1, 1);
	assert_int_equal(____watch_leave(&host.registers, 101), 0);
	assert_int_equal(host.records, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_too_many_is_a_loss),
		cmocka_unit_test(no_compartment_is_taken_for_a_collection),
		cmocka_unit_test(an_event_says_that_a_mark_of_it_is_lost),
		cmocka_unit_test(a_stay_outside_says_that_a_mark_in_it_is_lost),
		cmocka_unit_test(what_is_too_deep_at_an_end_is_counted),
		cmocka_unit_test(what_is_open_at_an_end_is_told),
		cmocka_unit_test(an_end_without_a_begin_is_told),
		cmocka_unit_test(marks_that_come_too_early_say_nothing),
		cmocka_unit_test(what_is_done_in_an_event_from_before_is_left_out),
		cmocka_unit_test(marks_are_of_what_lies_there_now),
		cmocka_unit_test(a_thread_of_another_block_begins_anew),
		cmocka_unit_test(the_first_record_of_a_thread_is_handed_over_at_once),
	};

	return cmocka_run_group_tests_name("bpf_watch", tests, NULL, NULL);
}
