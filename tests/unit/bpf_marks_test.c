/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks on their way and at the end of a thread: whose they are, and what cannot be had is counted. */
#include "bpf_host.h"

#define LICENSE license_of_life
#include "bpf/life.bpf.c"
#undef LICENSE

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct sched sched; /* of host.thread */

static void *more(void *map, const void *key)
{
	return map == &scheds ? &sched : NULL;
}

/* The other thread runs. */
static int machine(void **state)
{
	machine_make();
	memset(&sched, 0, sizeof(sched));
	sched.started = 1;
	host.more = more;
	host.current = &host.other;
	return 0;
}

/* Only until it has memory of its own, and of a clone(2) without it never. */
static void what_a_child_in_its_parent_s_memory_hands_over_is_the_parent_s(void **state)
{
	struct mm_struct mm = {}, own = {};
	struct task_struct child = {
		.pid = TRACED + 1, .tgid = TRACED + 1, .real_parent = &host.thread, .mm = &mm
	};

	host.thread.mm = &mm;
	host.current = &host.thread;
	assert_int_equal(memory_ids().tgid, TRACED);
	host.current = &child;
	assert_int_equal(memory_ids().tgid, TRACED + 1);
	child.vfork_done = (struct completion *)&mm;
	assert_int_equal(memory_ids().tgid, TRACED);
	assert_int_equal(memory_ids().tid, TRACED);
	child.mm = &own;
	assert_int_equal(memory_ids().tgid, TRACED + 1);
}

/* ---- States, of version 1 ---- */

static void threads_that_cannot_be_read_are_a_loss(void **state)
{
	static struct abi1_thread threads[2];
	struct tail w = { .at = (__u64)&threads[0], .left = wake_bytes };

	threads[0] = (struct abi1_thread){ .next = (__u64)&threads[1] };
	host.bad = &threads[1];
	assert_int_equal(one_thread(0, &w), 0);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 0);
	assert_int_equal(one_thread(1, &w), 1);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 1);
	/* That is how a list ends. */
	w.at = 0;
	assert_int_equal(one_thread(2, &w), 1);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 1);
}

/* A thread in another PID namespace calls itself by another number. */
static void who_reads_itself_is_called_what_the_tracer_calls_it(void **state)
{
	static struct abi1_thread thread = {
		.magic = VMSPAN_MAGIC, .tid = 17, .slots = 10, .room = 8
	};
	const struct wire_head *told = (const void *)host.record;
	struct tail w = {
		.at = (__u64)&thread,
		.pid = TRACED,
		.tid = TRACED + 7,
		.only = 17,
		.left = wake_bytes,
	};

	assert_int_equal(one_thread(0, &w), 1);
	assert_int_equal(told->kind, WIRE_TAIL);
	assert_int_equal(told->tid, TRACED + 7);
	/* Of others nothing else is known. */
	w.at = (__u64)&thread;
	w.only = 0;
	assert_int_equal(one_thread(0, &w), 0);
	assert_int_equal(told->tid, 17);
}

/* Of what a killed process's threads have gathered. Of a slot that is more of the one before it, none. */
static void a_state_that_finds_no_room_is_a_loss(void **state)
{
	static const __u32 slots[] = { 7, 40, 100, VMSPAN_BATCH_SLOTS };
	static struct abi1_thread thread;
	struct tail w = { .pid = TRACED };
	__u32 i, records = 0;

	for (i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		thread = (struct abi1_thread){ .magic = VMSPAN_MAGIC,
					       .tid = 17,
					       .slots = VMSPAN_BATCH_SLOTS,
					       .room = VMSPAN_BATCH_SLOTS - slots[i],
					       .extra = 2 };
		/* The ring buffer has none, or the process has filled it already. */
		w.at = (__u64)&thread;
		w.left = ~0ull;
		host.ring_full = true;
		assert_int_equal(one_thread(0, &w), 0);
		w.at = (__u64)&thread;
		w.left = 1;
		host.ring_full = false;
		assert_int_equal(one_thread(0, &w), 0);
		records += 2 * (slots[i] - 2);
		assert_int_equal(host.counted[COUNT_RING_FULL_BATCHES], 2 * (i + 1));
		assert_int_equal(host.counted[COUNT_RING_FULL_RECORDS], records);
		/* Memory that is not there. */
		w.at = (__u64)&thread;
		w.left = ~0ull;
		host.bad = (char *)&thread + offsetof(struct abi1_thread, batch);
		assert_int_equal(one_thread(0, &w), 0);
		host.bad = NULL;
		assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], i + 1);
		assert_int_equal(host.counted[COUNT_READ_FAULT_RECORDS], records / 2);
	}
	assert_int_equal(host.records, 0);
}

static void of_a_killed_thread_its_own_state_is_handed_over_alone(void **state)
{
	static struct abi1_thread threads[3];
	static struct abi1_registry registry = { .magic = VMSPAN_MAGIC, .pid = 17 };
	const struct wire_head *told = (const void *)host.record;
	struct tail w = { .pid = TRACED, .self = 17, .tid = TRACED + 7, .only = 18, .left = ~0ull };
	__u32 i;

	for (i = 0; i < 3; i++)
		threads[i] = (struct abi1_thread){
			.magic = VMSPAN_MAGIC,
			.tid = 17 + i,
			.slots = 10,
			.room = 8,
			.next = i < 2 ? (__u64)&threads[i + 1] : 0,
		};
	registry.threads = (__u64)&threads[0];
	host.process.registries[0] = (__u64)&registry;
	assert_int_equal(one_registry(0, &w), 0);
	assert_int_equal(host.records, 1);
	assert_int_equal(told->kind, WIRE_TAIL);
	assert_int_equal(told->tid, TRACED + 7);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 0);
}

/* ---- Marks ---- */

static struct vmspan_mark marks[4];
static struct vmspan_ring ring_head;
/* Of host.thread: 17 as it sees itself. */
static struct {
	struct pid head;
	struct upid more;
} number;

static void a_thread_with_a_ring(void)
{
	struct upid *at = number.head.numbers;

	at[1].nr = 17;
	number.head.level = 1;
	host.thread.thread_pid = &number.head;
	host.current = &host.thread;
	ring_head = (struct vmspan_ring){ .base = (__u64)marks,
					  .mask = sizeof(marks) - 1,
					  .head = sizeof(marks),
					  .tid = 17,
					  .process = 0x5000 };
}

static void marks_of_another_thread_are_said_to_be_that(void **state)
{
	const struct wire_marks *told = (const void *)host.record;
	struct ids ids = { TRACED, TRACED };
	__u32 tid;

	a_thread_with_a_ring();
	for (tid = 17; tid < 19; tid++) {
		ring_head.tid = tid;
		sched.batch = 0;
		assert_int_equal(carry_marks(ids, &host.process, &ring_head, 32, 16), 0);
		assert_int_equal(told->h.kind, WIRE_MARKS);
		assert_int_equal(told->from, 16);
		assert_int_equal(told->bytes, 32);
		assert_int_equal(told->foreign, tid != 17);
		assert_int_equal(told->h.tid, tid == 17 ? TRACED : 0);
		/* What the scheduler did is its own alone. */
		assert_int_equal(sched.batch, tid == 17 ? (__u64)&ring_head : 0);
	}
	/* Its head cannot be read. */
	host.bad = &ring_head.tid;
	ring_head.tid = 17;
	assert_int_equal(carry_marks(ids, &host.process, &ring_head, 32, 16), 0);
	assert_int_equal(told->foreign, 1);
}

/* The thread's clock may stand behind it. */
static void the_end_of_an_event_that_somebody_waits_for_wakes_the_reader(void **state)
{
	static const struct {
		__u32 types[4];
		__u64 begin;
		bool wakes;
	} cases[] = {
		{ { 0, 0, 0, VMSPAN_MARK_EVENT_END }, 900, true },
		{ { 0, 0, 0, VMSPAN_MARK_EVENT_END }, 901, false },
		{ { 0, 0, 0, VMSPAN_MARK_EVENT_BEGIN }, 900, false },
		{ { 0, VMSPAN_MARK_EVENT_END, VMSPAN_MARK_CLOCK, VMSPAN_MARK_MORE }, 900, true },
		{ { 0, VMSPAN_MARK_EVENT_END, VMSPAN_MARK_CLOCK, VMSPAN_MARK_MORE }, 901, false },
		{ { 0, VMSPAN_MARK_INPUT, VMSPAN_MARK_CLOCK, VMSPAN_MARK_MORE }, 900, false },
	};
	struct ids ids = { TRACED, TRACED };
	__u32 i, k;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		a_thread_with_a_ring();
		ring_head.event_begin = cases[i].begin;
		for (k = 0; k < 4; k++)
			marks[k] =
				(struct vmspan_mark){ .cycles = 1000, .type = cases[i].types[k] };
		host.counted[COUNT_WAKEUPS] = 0;
		assert_int_equal(carry_marks(ids, &host.process, &ring_head, sizeof(marks), 0), 0);
		assert_int_equal(host.counted[COUNT_WAKEUPS], cases[i].wakes);
	}
	memset(marks, 0, sizeof(marks));
}

/* Read from its ring as it ends, it is called what the tracer calls it; and a list that is longer
 * than can be walked, or leads nowhere, is a loss. */
static void rings_at_an_end_are_read_or_lost(void **state)
{
	static char memory[VMSPAN_RING_AT + sizeof(struct vmspan_ring)] __attribute__((aligned(8)));
	static struct vmspan_process process = { .magic = VMSPAN_MAGIC, .pid = 17 };
	const struct wire_marks *told = (const void *)host.record;
	struct tail w = {
		.at = (__u64)memory,
		.pid = TRACED,
		.tid = TRACED + 7,
		.only = 17,
		.self = 17,
		.left = wake_bytes,
	};

	a_thread_with_a_ring();
	ring_head.magic = VMSPAN_MAGIC;
	memcpy(memory + VMSPAN_RING_AT, &ring_head, sizeof(ring_head));
	assert_int_equal(one_ring(0, &w), 0);
	assert_int_equal(told->h.kind, WIRE_MARKS);
	assert_int_equal(told->h.tid, TRACED + 7);
	assert_int_equal(told->foreign, 0);
	assert_int_equal(w.from, sizeof(marks));
	assert_int_equal(one_ring(1, &w), 0);
	assert_int_equal(w.at, 0);
	assert_int_equal(one_ring(2, &w), 1);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 0);
	w.at = (__u64)memory;
	host.bad = memory + VMSPAN_RING_AT;
	assert_int_equal(one_ring(0, &w), 1);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 1);
	assert_int_equal(w.at, 0);
	tail_rings(&w, (__u64)&process | TRACED_MARKS);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 1);
	process.rings = (__u64)memory;
	tail_rings(&w, (__u64)&process | TRACED_MARKS);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 2);
}

/* A page of what is always there may be unreadable for a moment. What is needed is read without it, or counted. */
static void rings_at_an_end_are_found_without_the_first_page(void **state)
{
	static char memory[VMSPAN_RING_AT + sizeof(struct vmspan_ring)] __attribute__((aligned(8)));
	static struct vmspan_process process = { .magic = VMSPAN_MAGIC, .pid = 17 };
	const void *const needed[] = { &process.pid, &process.rings };
	struct tail w = { .pid = TRACED, .self = 17, .left = wake_bytes };
	__u32 i;

	a_thread_with_a_ring();
	ring_head.magic = VMSPAN_MAGIC;
	memcpy(memory + VMSPAN_RING_AT, &ring_head, sizeof(ring_head));
	process.rings = (__u64)memory;
	host.bad = &process.magic;
	tail_rings(&w, (__u64)&process | TRACED_MARKS);
	assert_int_equal(host.records, 1);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 0);
	for (i = 0; i < 2; i++) {
		host.bad = needed[i];
		tail_rings(&w, (__u64)&process | TRACED_MARKS);
		assert_int_equal(host.records, 1);
		assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], i + 1);
	}
	/* What is none is no loss, nor is what is another's. */
	host.bad = NULL;
	w.self = 18;
	tail_rings(&w, (__u64)&process | TRACED_MARKS);
	w.self = 17;
	process.magic++;
	tail_rings(&w, (__u64)&process | TRACED_MARKS);
	assert_int_equal(host.records, 1);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 2);
}

/* A child has the blocks of its parent, with pages that are not there before it marks there. */
static void a_child_that_makes_no_marks_loses_none(void **state)
{
	static struct vmspan_process process = { .magic = VMSPAN_MAGIC, .pid = 17 };
	static struct vmspan_process another = { .magic = VMSPAN_MAGIC, .pid = 17 };
	struct task_struct child = { .pid = TRACED + 1, .tgid = TRACED + 1 };
	unsigned long long birth[] = { (__u64)&host.thread, (__u64)&child };
	struct tail w = { .pid = TRACED, .self = 17, .left = wake_bytes };

	host.process.registries[0] = (__u64)&process | TRACED_MARKS;
	host.process.registries[1] = (__u64)&another | TRACED_MARKS;
	host.process.registries[2] = 0x4000; /* of version 1 */
	host.bad = &process.pid;
	/* Whoever has them itself: from before the trace, too. */
	one_registry(0, &w);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 1);
	assert_int_equal(life_fork(birth), 0);
	assert_int_equal(host.process.registries[0], (__u64)&process | TRACED_MARKS);
	host.process = host.updated;
	assert_int_equal(host.process.registries[2], 0x4000);
	one_registry(0, &w);
	host.bad = &another.pid;
	one_registry(1, &w);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 1);
	/* It marks, in one of them. */
	a_thread_with_a_ring();
	ring_head.process = (__u64)&process;
	carry_marks(task_ids(&host.thread), &host.process, &ring_head, 0, 0);
	one_registry(1, &w);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 1);
	host.bad = &process.pid;
	one_registry(0, &w);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 2);
	assert_int_equal(host.process.registries[0], (__u64)&process | TRACED_MARKS);
}

/* Rings in a list of the target's making, each with as many marks as it holds. */
static struct {
	char head[VMSPAN_RING_AT];
	struct vmspan_ring ring;
	char data[64];
} list[8] __attribute__((aligned(8)));

static struct tail rings_forged(struct vmspan_process *process, const __u32 *next, __u32 n)
{
	__u32 i;

	a_thread_with_a_ring();
	ring_head.magic = VMSPAN_MAGIC;
	for (i = 0; i < n; i++) {
		list[i].ring = ring_head;
		list[i].ring.next = next[i] < n ? (__u64)&list[next[i]] : 0;
	}
	*process =
		(struct vmspan_process){ .magic = VMSPAN_MAGIC, .pid = 17, .rings = (__u64)list };
	return (struct tail){ .pid = TRACED, .self = 17, .left = 4 * wake_bytes };
}

/* However it does: what is in it is sent three times at most, and the trace says that the list
 * made no sense. */
static void a_list_that_leads_back_into_itself_ends(void **state)
{
	static const struct {
		__u32 rings, next[8];
	} cases[] = {
		{ 1, { 0 } },
		{ 2, { 1, 0 } },
		{ 3, { 1, 2, 2 } },
		{ 8, { 1, 2, 3, 4, 5, 6, 7, 0 } },
		{ 8, { 1, 2, 3, 4, 5, 6, 7, 6 } },
		{ 8, { 1, 2, 3, 4, 5, 6, 7, 3 } },
		{ 8, { 1, 2, 3, 4, 5, 6, 7, 7 } },
	};
	struct vmspan_process process;
	struct tail w;
	__u32 i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		machine(NULL);
		w = rings_forged(&process, cases[i].next, cases[i].rings);
		tail_rings(&w, (__u64)&process | TRACED_MARKS);
		assert_true(host.records >= cases[i].rings);
		assert_true(host.records <= 3 * cases[i].rings);
		assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 1);
	}
}

static void states_that_lead_back_end_too(void **state)
{
	static struct abi1_thread threads[2];
	static struct abi1_registry registry = { .magic = VMSPAN_MAGIC, .pid = 17 };
	struct tail w = { .pid = TRACED, .self = 17, .left = 4 * wake_bytes };
	__u32 i;

	for (i = 0; i < 2; i++)
		threads[i] = (struct abi1_thread){
			.magic = VMSPAN_MAGIC,
			.tid = 17 + i,
			.slots = 10,
			.room = 8,
			.next = (__u64)&threads[!i],
		};
	registry.threads = (__u64)&threads[0];
	host.process.registries[0] = (__u64)&registry;
	one_registry(0, &w);
	assert_true(host.records >= 2 && host.records <= 6);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 1);
}

/* A list that ends is read to its end: each ring once. */
static void a_list_of_many_rings_is_read_once(void **state)
{
	static const __u32 next[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct vmspan_process process;
	struct tail w = rings_forged(&process, next, 8);

	tail_rings(&w, (__u64)&process | TRACED_MARKS);
	assert_int_equal(host.records, 8);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 0);
	assert_int_equal(host.counted[COUNT_RING_FULL_BATCHES], 0);
}

/* Forged, a ring may be longer than all memory: that is none. */
static void a_process_sends_what_the_ring_buffer_holds_and_no_more(void **state)
{
	static const __u32 next[1] = { 1 };
	struct vmspan_process process;
	struct tail w = rings_forged(&process, next, 1);
	__u32 i;

	list[0].ring.head = WIRE_RING_MAX;
	list[0].ring.mask = WIRE_RING_MAX - 1;
	host.process.registries[0] = (__u64)&process | 1;
	for (i = 0; i < 4; i++) {
		memset(host.counted, 0, sizeof(host.counted));
		w.left = i * VMSPAN_FLUSH_MAX + 1;
		assert_int_equal(one_registry(0, &w), 0);
		/* Of these there is no room for one, here: the rest is not tried. */
		assert_int_equal(host.counted[COUNT_RING_FULL_BATCHES], i + 1);
		assert_int_equal(host.counted[COUNT_RING_FULL_RECORDS],
				 WIRE_RING_MAX / sizeof(struct vmspan_mark));
		assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 0);
		assert_int_equal(w.left, 1);
	}
	list[0].ring.head = list[0].ring.mask = (1ull << 40) - 1;
	w.left = ~0ull;
	assert_int_equal(one_registry(0, &w), 0);
	assert_int_equal(w.left, ~0ull);
}

static void a_new_ring_is_noted(void **state)
{
	struct ids ids = { TRACED, TRACED };
	__u32 i;

	a_thread_with_a_ring();
	assert_int_equal(carry_marks(ids, &host.process, &ring_head, 32, 0), 0);
	assert_int_equal(host.process.registries[0], 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(carry_marks(ids, &host.process, &ring_head, 0, 0), 0);
		assert_int_equal(host.process.registries[0], 0x5001);
		assert_int_equal(host.process.registries[1], 0);
	}
}

/* What only libraries have that come and go: each time it lies somewhere else. */
static void of_many_places_the_oldest_gives_way(void **state)
{
	struct ids ids = { TRACED, TRACED };
	__u64 at;

	a_thread_with_a_ring();
	host.process.registries[2] = 0x1230; /* of version 1: it stays */
	for (at = 0x9000; at < 0x9000 + TRACED_REGISTRIES * 0x1000; at += 0x1000) {
		ring_head.process = at;
		assert_int_equal(carry_marks(ids, &host.process, &ring_head, 0, 0), 0);
		assert_int_equal(host.process.registries[0], at | 1);
		assert_int_equal(host.process.registries[2], 0x1230);
	}
	assert_int_equal(host.process.registries[1], 0xf001);
	assert_int_equal(host.process.registries[TRACED_REGISTRIES - 1], 0xa001);
}

static void marks_of_before_a_fork_are_the_parents(void **state)
{
	const struct wire_marks *told = (const void *)host.record;
	struct ids ids = { TRACED, TRACED };

	a_thread_with_a_ring();
	memset(&ring_head, 0, sizeof(ring_head));
	memset(host.record, 0, sizeof(host.record));
	assert_int_equal(carry_marks(ids, &host.process, &ring_head, 0, 0), 0);
	assert_int_equal(carry_marks(ids, &host.process, &ring_head, 32, 16), 0);
	assert_int_equal(told->h.kind, 0);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 0);
	assert_int_equal(host.process.registries[0], 0);
	/* One that only looks a little like it is not passed over. */
	host.bad = marks;
	ring_head.base = (__u64)marks;
	assert_int_equal(carry_marks(ids, &host.process, &ring_head, 32, 0), 0);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 1);
	assert_int_equal(host.counted[COUNT_READ_FAULT_RECORDS], 2);
}

#define TEST(name) cmocka_unit_test_setup(name, machine)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_a_child_in_its_parent_s_memory_hands_over_is_the_parent_s),
		TEST(threads_that_cannot_be_read_are_a_loss),
		TEST(who_reads_itself_is_called_what_the_tracer_calls_it),
		TEST(a_state_that_finds_no_room_is_a_loss),
		TEST(of_a_killed_thread_its_own_state_is_handed_over_alone),
		TEST(marks_of_another_thread_are_said_to_be_that),
		TEST(the_end_of_an_event_that_somebody_waits_for_wakes_the_reader),
		TEST(rings_at_an_end_are_read_or_lost),
		TEST(rings_at_an_end_are_found_without_the_first_page),
		TEST(a_child_that_makes_no_marks_loses_none),
		TEST(a_list_that_leads_back_into_itself_ends),
		TEST(states_that_lead_back_end_too),
		TEST(a_list_of_many_rings_is_read_once),
		TEST(a_process_sends_what_the_ring_buffer_holds_and_no_more),
		TEST(a_new_ring_is_noted),
		TEST(of_many_places_the_oldest_gives_way),
		TEST(marks_of_before_a_fork_are_the_parents),
	};

	return cmocka_run_group_tests_name("bpf_marks", tests, NULL, NULL);
}
