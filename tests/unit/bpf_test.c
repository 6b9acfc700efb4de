/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel side cannot do or know is counted, and is nobody else's. */
#include "bpf_host.h"

#define LICENSE license_of_sched
#include "bpf/sched.bpf.c"
#undef LICENSE
#define LICENSE license_of_life
#include "bpf/life.bpf.c"
#undef LICENSE

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct sched sched; /* of host.thread */

static struct leaving leaving; /* the same */
static bool executes_now; /* a program with marks, when its record is asked for */

static void *more(void *map, const void *key)
{
	static __u32 no_interrupts;

	if (executes_now && map == &scheds)
		host.process.flags &= ~TRACED_STOCK;
	return map == &interrupts ? (void *)&no_interrupts
	       : map == &scheds   ? (void *)&sched
	       : map == &leavings ? (void *)&leaving
				  : NULL;
}

/* The other thread runs. */
static int machine(void **state)
{
	machine_make();
	memset(&sched, 0, sizeof(sched));
	memset(&leaving, 0, sizeof(leaving));
	executes_now = false;
	sched.started = 1;
	host.more = more;
	host.current = &host.other;
	return 0;
}

/* ---- The clock ---- */

static void a_clock_that_cannot_be_read_is_a_lost_mark(void **state)
{
	assert_int_equal(cycles_now(), 1005000);
	assert_int_equal(host.counted[COUNT_MARK_LOST], 0);
	host.tsc_error = -2;
	assert_int_equal(cycles_now(), 0);
	assert_int_equal(host.counted[COUNT_MARK_LOST], 1);
	host.tsc_error = 0;
	host.tsc_offset = 0; /* the CPU came later */
	assert_int_equal(cycles_now(), 0);
	assert_int_equal(host.counted[COUNT_MARK_LOST], 2);
}

/* ---- Births ---- */

static void a_child_that_finds_no_room_is_a_loss(void **state)
{
	struct task_struct child = { .pid = TRACED + 1, .tgid = TRACED + 1 };
	unsigned long long args[] = { (__u64)&host.thread, (__u64)&child };
	const struct wire_life *told = (const void *)host.record;

	assert_int_equal(life_fork(args), 0);
	assert_int_equal(told->h.kind, WIRE_FORK);
	assert_int_equal(told->other, TRACED + 1);
	assert_int_equal(host.counted[COUNT_LIFE_LOST], 0);
	memset(host.record, 0, sizeof(host.record));
	host.tables_full = true;
	assert_int_equal(life_fork(args), 0);
	assert_int_equal(told->h.kind, 0);
	assert_int_equal(host.counted[COUNT_LIFE_LOST], 1);
}

/* Of an exec the kernel tells which of the threads it was. */
static void who_executes_is_told(void **state)
{
	const struct wire_life *told = (const void *)host.record;
	unsigned long long args[] = { (__u64)&host.thread, TRACED, 0 };

	(void)state;
	assert_int_equal(life_exec(args), 0);
	assert_int_equal(told->h.kind, WIRE_EXEC);
	assert_int_equal(told->other, 0);
	args[1] = TRACED + 1;
	assert_int_equal(life_exec(args), 0);
	assert_int_equal(told->other, 1);
}

/* ---- Ends ---- */

static struct {
	struct signal_struct signal; /* of its process */
	struct task_struct second; /* thread of it */
	__u32 kinds[8], count; /* of records */
	bool met;
} ends;

/* Another thread begins and leaves while one tells of itself. */
static void both_leave(void)
{
	unsigned long long args[] = { (__u64)&ends.second };

	ends.kinds[ends.count++ % 8] = ((const struct wire_head *)host.record)->kind;
	if (ends.met)
		return;
	ends.met = true;
	ends.signal.live.counter = 0;
	assert_int_equal(life_exit(args), 0);
}

/* What a thread that is still there reads of the others would be another process's. */
static void nothing_of_a_process_comes_behind_its_end(void **state)
{
	unsigned long long args[] = { (__u64)&host.thread };
	int before;

	/* Both see that nobody goes on; then the second alone does. */
	for (before = 0; before < 2; before++) {
		memset(&ends, 0, sizeof(ends));
		memset(&leaving, 0, sizeof(leaving));
		ends.second = (struct task_struct){ .pid = TRACED + 1,
						    .tgid = TRACED,
						    .group_leader = &host.thread,
						    .signal = &ends.signal };
		host.thread.signal = &ends.signal;
		ends.signal.live.counter = before;
		host.taken = both_leave;
		assert_int_equal(life_exit(args), 0);
		assert_int_equal(ends.count, 3);
		assert_int_equal(ends.kinds[0], WIRE_THREAD_EXIT);
		assert_int_equal(ends.kinds[1], WIRE_THREAD_EXIT);
		assert_int_equal(ends.kinds[2], WIRE_EXIT);
		/* Nor of one that comes now. */
		assert_int_equal(life_exit(args), 0);
		assert_int_equal(ends.count, 3);
	}
}

/* The last is on its way, and nobody has read yet what all have left. */
static void nobody_goes_on(void)
{
	ends.signal.live.counter = 0;
}

static void the_end_of_a_process_waits_for_who_reads_what_is_left(void **state)
{
	unsigned long long args[] = { (__u64)&host.thread };

	memset(&ends, 0, sizeof(ends));
	host.thread.signal = &ends.signal;
	ends.signal.live.counter = 1;
	host.taken = nobody_goes_on;
	assert_int_equal(life_exit(args), 0);
	assert_int_equal(host.records, 1);
	assert_int_equal(host.deleted, 0);
	assert_int_equal(life_exit(args), 0); /* the last */
	assert_int_equal(host.records, 3);
	assert_int_equal(((const struct wire_head *)host.record)->kind, WIRE_EXIT);
}

/* ---- Switches ---- */

static void switched(struct task_struct *from, struct task_struct *to)
{
	unsigned long long args[] = { 1, (__u64)from, (__u64)to };

	host.tsc += 100;
	assert_int_equal(sched_switch(args), 0);
}

static void woken(void)
{
	unsigned long long args[] = { (__u64)&host.thread };

	assert_int_equal(sched_waking(args), 0);
}

/* The newest record of the thread's. */
static const struct vmspan_span *newest(void)
{
	return &sched.out[0].records[sched.used[0] - 1];
}

static void who_has_woken_a_thread_is_waited_for_once(void **state)
{
	switched(&host.thread, &host.other);
	woken();
	switched(&host.other, &host.thread);
	assert_int_equal(sched.used[0], 2);
	assert_int_equal(newest()->h.type, VMSPAN_OFF);
	assert_int_equal(newest()->end - newest()->begin, 100);
	assert_int_equal(newest()->iteration, 200);
	assert_string_equal(((const struct vmspan_wake *)(newest() - 1))->comm, "other");
	switched(&host.thread, &host.other); /* a timer ends it */
	switched(&host.other, &host.thread);
	assert_int_equal(sched.used[0], 3);
	assert_int_equal(newest()->h.type, VMSPAN_OFF);
	assert_int_equal(newest()->iteration, 0);
}

/* Why it leaves its CPU, by how it is then. */
static void why_a_thread_has_no_cpu(void **state)
{
	const struct {
		__u32 state, flags, reason;
		bool preempt, throttled;
	} cases[] = {
		{ .reason = VMSPAN_OFF_PREEMPTED },
		{ 1, .reason = VMSPAN_OFF_PREEMPTED, .preempt = true },
		{ 4, .reason = VMSPAN_OFF_PREEMPTED, .preempt = true },
		{ .reason = VMSPAN_OFF_THROTTLED, .throttled = true },
		{ 1, .reason = VMSPAN_OFF_SLEEPING },
		{ 2, .reason = VMSPAN_OFF_UNINTERRUPTIBLE },
		{ 0x104, .reason = VMSPAN_OFF_STOPPED }, /* killable too, as the kernel has it */
		{ 8, .reason = VMSPAN_OFF_STOPPED },
		{ 0x8000, .reason = VMSPAN_OFF_FROZEN },
		{ 2, .flags = 0x10000, .reason = VMSPAN_OFF_FROZEN },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned long long args[] = { cases[i].preempt, (__u64)&host.thread,
					      (__u64)&host.other };

		host.thread.__state = cases[i].state;
		host.thread.flags = cases[i].flags;
		host.thread.throttled = cases[i].throttled;
		assert_int_equal(sched_switch(args), 0);
		assert_int_equal(sched.reason, cases[i].reason);
		switched(&host.other, &host.thread);
	}
}

/* Before Linux 6.18 the run queue knows, which a real-time thread is not in. */
static void no_quota_keeps_a_real_time_thread_off(void **state)
{
	const struct {
		__u32 reason;
		int prio, groups;
	} cases[] = {
		{ VMSPAN_OFF_PREEMPTED, 120, 0 }, { VMSPAN_OFF_THROTTLED, 120, 1 },
		{ VMSPAN_OFF_THROTTLED, 100, 2 }, { VMSPAN_OFF_PREEMPTED, 99, 1 },
		{ VMSPAN_OFF_PREEMPTED, -1, 1 },
	};
	size_t i;

	host.lacks = "t->throttled";
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		host.thread.prio = cases[i].prio;
		host.cfs.throttle_count = cases[i].groups;
		switched(&host.thread, &host.other);
		assert_int_equal(sched.reason, cases[i].reason);
		switched(&host.other, &host.thread);
	}
}

static void nobody_waits_for_a_thread_of_the_kernels(void **state)
{
	host.other.flags = FLAG_KTHREAD;
	switched(&host.thread, &host.other);
	woken();
	switched(&host.other, &host.thread);
	assert_int_equal(sched.used[0], 1);
	assert_int_equal(newest()->iteration, 0);
}

/* A batch that fills while the thread hands over the other one is dropped: what it held is
 * counted, and the next batch says that something is missing. */
static void what_is_dropped_in_a_hand_over_is_told(void **state)
{
	__u32 i, most = SCHED_SLOTS - SCHED_LATE - 2;

	sched.handing = 1;
	for (i = 0; i <= most; i++) {
		switched(&host.thread, &host.other);
		switched(&host.other, &host.thread);
	}
	assert_int_equal(sched.used[0], most + 1);
	assert_int_equal(sched.lost, 0);
	switched(&host.thread, &host.other);
	switched(&host.other, &host.thread);
	assert_int_equal(sched.used[0], 1);
	assert_int_equal(sched.lost, 1);
	assert_int_equal(host.counted[COUNT_SCHED_LOST], most + 1);
	sched.handing = 0;
	assert_true(sched_send(&sched, 0));
	assert_int_equal(sched.out[0].head.too_deep, 1);
}

/* Two threads may switch all the time within an event that has no end yet. */
static void a_reader_that_sleeps_is_woken_for_switches_too(void **state)
{
	__u32 i;

	last_wake = bpf_ktime_get_ns() - WAKE_NS;
	for (i = 0; i < 2; i++) {
		switched(&host.thread, &host.other);
		switched(&host.other, &host.thread);
		assert_true(sched_send(&sched, i));
		assert_int_equal(host.submitted, i ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP);
	}
}

/* ---- Switches that nobody saw ---- */

/* The thread leaves CPU 0 at 100 us by its run queue's clock, 1000 cycles before `now`. */
static void leaves_cpu_0(void)
{
	host.thread.sched_info.pcount = 5;
	host.run_queue.clock = 100000;
	switched(&host.thread, &host.other);
	assert_int_equal(sched.off, 1005100);
	host.tsc += 1000;
}

/* It came back `times`, the last time at `arrival` by the clock of the CPU that it is on now. */
static void came_back(__u32 cpu, __u32 times, __u64 arrival)
{
	host.cpu = cpu;
	host.thread.sched_info.pcount += times;
	host.thread.sched_info.last_arrival = arrival;
}

/* Who leaves has the clock by which it came before it, whichever CPU's that is. */
static void who_leaves_again_had_come_when_its_run_queue_says(void **state)
{
	__u32 cpu;

	for (cpu = 0; cpu < 2; cpu++) {
		machine(state);
		leaves_cpu_0();
		came_back(cpu, 1, 7000200);
		host.run_queue.clock = 7000500; /* 300 ns after it came */
		switched(&host.thread, &host.other);
		assert_int_equal(sched.lost, 0);
		assert_int_equal(sched.used[0], 1);
		assert_int_equal(newest()->begin, 1005100);
		assert_int_equal(newest()->end, 1006200 - 300);
		assert_int_equal(newest()->cpu_end, cpu);
	}
}

/* Clocks that contradict each other do not make an interval of less than nothing. */
static void who_came_before_it_left_was_never_away(void **state)
{
	leaves_cpu_0();
	came_back(1, 1, 7000000);
	host.run_queue.clock = 7009000;
	switched(&host.thread, &host.other);
	assert_int_equal(sched.lost, 0);
	assert_int_equal(newest()->begin, 1005100);
	assert_int_equal(newest()->end, 1005100);
}

/* The thread itself, of no records. */
static bool hands_over(void)
{
	const struct vmspan_batch none = { 0 };
	struct task_struct *was = host.current;
	bool sent;

	host.current = &host.thread;
	sent = sched_hand_over((uintptr_t)&none, false);
	host.current = was;
	return sent;
}

/* Who hands over cannot read that clock: it is known by its leave, from the same CPU. */
static void who_hands_over_had_come_by_the_clock_that_it_left_by(void **state)
{
	__u32 cpu;

	for (cpu = 0; cpu < 2; cpu++) {
		machine(state);
		leaves_cpu_0();
		came_back(cpu, 1, 100400);
		assert_true(hands_over());
		assert_int_equal(sched.lost, cpu);
		assert_int_equal(host.counted[COUNT_SCHED_LOST], cpu);
		assert_int_equal(sched.off, sched.taken);
		if (cpu)
			continue;
		assert_int_equal(sched.late[0].begin, 1005100);
		assert_int_equal(sched.late[0].end, 1005100 + 400);
	}
}

/* It left and came, and nobody saw either: its own count says so, once. */
static void who_hands_over_knows_how_often_it_was_given_a_cpu(void **state)
{
	__u32 i;

	leaves_cpu_0();
	switched(&host.other, &host.thread);
	host.thread.sched_info.pcount++; /* as the kernel does behind that */
	assert_true(hands_over());
	assert_int_equal(sched.lost, 0);
	host.thread.sched_info.pcount++;
	for (i = 0; i < 2; i++) {
		assert_true(hands_over());
		assert_int_equal(sched.lost, 1);
		assert_int_equal(host.counted[COUNT_SCHED_LOST], 1);
	}
}

/* More than one arrival, or one that the kernel did not count: nobody knows when it was. */
static void other_switches_that_nobody_saw_are_a_loss(void **state)
{
	static const __u32 times[] = { 0, 2 };
	__u32 i;

	for (i = 0; i < 2; i++) {
		machine(state);
		leaves_cpu_0();
		came_back(0, times[i], 100400);
		host.run_queue.clock = 100500;
		switched(&host.thread, &host.other);
		assert_int_equal(sched.used[0], 0);
		assert_int_equal(sched.lost, 1);
		assert_int_equal(host.counted[COUNT_SCHED_LOST], 1);
	}
}

/* ---- Stock VMs ---- */

static void look_through(int (*program)(struct bpf_iter__task *ctx))
{
	struct bpf_iter__task ctx = { .task = &host.thread };

	assert_int_equal(program(&ctx), 0);
}

static void runs_another(void)
{
	unsigned long long args[] = { (__u64)&host.thread };

	assert_int_equal(sched_exec(args), 0);
}

static __u32 in_and_out(void)
{
	__u32 before = sched.used[0];

	switched(&host.thread, &host.other);
	switched(&host.other, &host.thread);
	return sched.used[0] - before;
}

/* User space says what is one. */
static void threads_of_a_stock_vm_are_left(void **state)
{
	look_through(sched_leave);
	assert_int_equal(in_and_out(), 1);
	host.process.flags |= TRACED_STOCK;
	assert_int_equal(in_and_out(), 1);
	look_through(sched_leave);
	assert_int_equal(in_and_out(), 0);
	look_through(sched_present);
	assert_int_equal(in_and_out(), 0);
	/* Nothing of what was gathered goes out, and no switch is a loss. */
	host.thread.sched_info.pcount += 9;
	assert_int_equal(in_and_out(), 0);
	look_through(sched_rest);
	assert_int_equal(host.records, 0);
	assert_int_equal(host.counted[COUNT_SCHED_LOST], 0);
}

/* It had marks all the same: what happened to it meanwhile nobody has seen. */
static void who_was_left_hands_nothing_over_as_whole(void **state)
{
	(void)state;
	host.thread.sched_info.pcount = 5; /* else it is not known how often it had a CPU */
	in_and_out();
	host.process.flags |= TRACED_STOCK;
	look_through(sched_leave);
	/* While that part of the trace is off it is nobody's loss. */
	sched_watch = 0;
	assert_true(hands_over());
	assert_int_equal(sched.lost, 0);
	sched_watch = 1;
	/* Once said, it holds. */
	assert_true(hands_over());
	assert_true(hands_over());
	assert_int_equal(sched.lost, 1);
	assert_int_equal(host.counted[COUNT_SCHED_LOST], 1);
	assert_int_equal(host.records, 1);
	/* Begun, and left once more. What happened meanwhile has been said. */
	host.process.flags = TRACED_PROCESS;
	host.thread.sched_info.pcount += 9;
	look_through(sched_present);
	assert_int_equal(sched.started, 1);
	in_and_out();
	assert_int_equal(sched.lost, 1);
	host.process.flags |= TRACED_STOCK;
	look_through(sched_leave);
	assert_true(hands_over());
	assert_int_equal(sched.lost, 2);
}

/* Another CPU is about to begin it: nothing is lost, and what is made there is left alone. */
static void who_is_being_begun_hands_over_as_who_is_not(void **state)
{
	(void)state;
	memset(&sched, 0, sizeof(sched));
	assert_true(hands_over());
	assert_int_equal(sched.lost, 0);
	assert_int_equal(sched.active, 0);
	assert_int_equal(host.counted[COUNT_SCHED_LOST], 0);
	assert_int_equal(host.records, 0);
}

/* What it has of the VM's time is not the program's. */
static void what_was_gathered_before_an_exec_is_not_the_next_program_s(void **state)
{
	(void)state;
	host.process.flags |= TRACED_STOCK;
	in_and_out();
	runs_another();
	assert_int_equal(sched.started, 1);
	assert_int_equal(sched.used[0], 1);
	assert_int_equal(newest()->h.depth, VMSPAN_OFF_START);
}

/* And it is known that what came before is not all. */
static void who_executes_something_else_is_begun_anew(void **state)
{
	__u32 sent;

	for (sent = 0; sent < 2; sent++) {
		machine(state);
		host.thread.sched_info.pcount = 5;
		in_and_out();
		host.thread.sched_info.pcount++;
		if (sent)
			assert_true(sched_send(&sched, 0));
		in_and_out();
		host.process.flags |= TRACED_STOCK;
		look_through(sched_leave);
		in_and_out();
		host.thread.sched_info.pcount += 7;
		sched.waker = 200;
		runs_another();
		assert_int_equal(host.process.flags & TRACED_STOCK, 0);
		assert_int_equal(sched.started, 1);
		assert_int_equal(sched.used[0], 1);
		assert_int_equal(newest()->h.depth, VMSPAN_OFF_START);
		assert_int_equal(newest()->end, host.tsc + host.tsc_offset);
		assert_int_equal(sched.sent, sent ? 2 : 0);
		assert_int_equal(in_and_out(), 1);
		assert_int_equal(host.counted[COUNT_SCHED_LOST], 0);
	}
}

/* Whichever thread had it executed: it has the first one's number then, as its program's first thread. */
static void what_a_program_executes_is_known_from_its_first_moment(void **state)
{
	(void)state;
	host.thread.pid = TRACED + 1;
	sched.started = 0;
	look_through(sched_present);
	in_and_out();
	assert_int_equal(sched.ids.tid, TRACED + 1);
	host.thread.pid = TRACED;
	runs_another();
	assert_int_equal(sched.ids.tid, TRACED);
	assert_int_equal(sched.used[0], 1);
	assert_int_equal(newest()->h.depth, VMSPAN_OFF_START);
	assert_int_equal(newest()->end, host.tsc + host.tsc_offset);
	assert_int_equal(in_and_out(), 1);
	assert_int_equal(host.counted[COUNT_SCHED_LOST], 0);
}

/* From then on; what went unseen before it was of the other program. */
static void what_goes_unseen_of_a_program_is_a_loss_of_it_alone(void **state)
{
	(void)state;
	host.thread.sched_info.pcount = 5;
	in_and_out();
	sched.lost = 3;
	sched.told = 2;
	host.thread.sched_info.pcount = 9;
	runs_another();
	assert_int_equal(sched.lost, 0);
	assert_int_equal(sched.told, 0);
	assert_int_equal(in_and_out(), 1);
	assert_int_equal(host.counted[COUNT_SCHED_LOST], 0);
	host.thread.sched_info.pcount = 12;
	runs_another();
	host.thread.sched_info.pcount = 13; /* it has left and come back */
	in_and_out();
	assert_int_equal(host.counted[COUNT_SCHED_LOST], 1);
	assert_int_equal(sched.lost, 1);
}

/* The program that it executes is not to be left. */
static void who_executes_as_it_is_left_is_begun(void **state)
{
	(void)state;
	host.process.flags |= TRACED_STOCK;
	executes_now = true;
	look_through(sched_leave);
	assert_int_equal(sched.started, 1);
	assert_int_equal(sched.left, 0);
}

static void threads_of_a_stock_vm_are_not_begun_but_its_children_are(void **state)
{
	struct task_struct *child = &host.thread;
	struct task_struct parent = { .pid = TRACED, .tgid = TRACED };
	unsigned long long args[] = { (__u64)&parent, (__u64)child };
	__u32 stock, thread;

	for (stock = 0; stock < 2; stock++)
		for (thread = 0; thread < 2; thread++) {
			sched.started = 0;
			host.process.flags = TRACED_CHILDREN | (stock ? TRACED_STOCK : 0);
			child->pid = TRACED + 1;
			child->tgid = thread ? TRACED : TRACED + 1;
			assert_int_equal(sched_born(args), 0);
			assert_int_equal(sched.started, !(stock && thread));
		}
}

#define TEST(name) cmocka_unit_test_setup(name, machine)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_clock_that_cannot_be_read_is_a_lost_mark),
		TEST(a_child_that_finds_no_room_is_a_loss),
		TEST(who_executes_is_told),
		TEST(nothing_of_a_process_comes_behind_its_end),
		TEST(the_end_of_a_process_waits_for_who_reads_what_is_left),
		TEST(who_has_woken_a_thread_is_waited_for_once),
		TEST(why_a_thread_has_no_cpu),
		TEST(no_quota_keeps_a_real_time_thread_off),
		TEST(nobody_waits_for_a_thread_of_the_kernels),
		TEST(what_is_dropped_in_a_hand_over_is_told),
		TEST(a_reader_that_sleeps_is_woken_for_switches_too),
		TEST(who_leaves_again_had_come_when_its_run_queue_says),
		TEST(who_came_before_it_left_was_never_away),
		TEST(who_hands_over_had_come_by_the_clock_that_it_left_by),
		TEST(who_hands_over_knows_how_often_it_was_given_a_cpu),
		TEST(other_switches_that_nobody_saw_are_a_loss),
		TEST(threads_of_a_stock_vm_are_left),
		TEST(who_was_left_hands_nothing_over_as_whole),
		TEST(who_is_being_begun_hands_over_as_who_is_not),
		TEST(what_was_gathered_before_an_exec_is_not_the_next_program_s),
		TEST(who_executes_something_else_is_begun_anew),
		TEST(what_a_program_executes_is_known_from_its_first_moment),
		TEST(what_goes_unseen_of_a_program_is_a_loss_of_it_alone),
		TEST(who_executes_as_it_is_left_is_begun),
		TEST(threads_of_a_stock_vm_are_not_begun_but_its_children_are),
	};

	return cmocka_run_group_tests_name("bpf", tests, NULL, NULL);
}
