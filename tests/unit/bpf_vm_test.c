/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel side of stock VMs: what finds no room is counted, what is known apart stays so. */
#include "bpf_vm_host.h"

static int machine(void **state)
{
	machine_make();
	host.more = more;
	return 0;
}

/* ---- Calls ---- */

static struct call_text text_of(const char *file, const char *scope, const char *function)
{
	struct call_text c;

	memset(&c, 0, sizeof(c));
	c.file_len = read_counted(c.file, VM_FILE, (__u64)file, strlen(file));
	c.scope_len = read_counted(c.scope, VM_SCOPE, (__u64)scope, strlen(scope));
	c.function_len = read_counted(c.function, VM_FUNCTION, (__u64)function, strlen(function));
	return c;
}

static void functions_are_told_apart_by_each_of_their_names(void **state)
{
	const struct call_text calls[] = {
		text_of("/app/shop.php", "Cart", "save"), text_of("/app/shop.php", "Order", "save"),
		text_of("/app/shop.php", "Cart", "load"), text_of("/app/cart.php", "Cart", "save"),
		text_of("/app/shop.php", "", "save"),
	};
	const struct call_text same = text_of("/app/shop.php", "Cart", "save");
	__u32 i, k;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		for (k = 0; k < i; k++)
			assert_true(call_hash(&calls[i]) != call_hash(&calls[k]));
	assert_true(call_hash(&same) == call_hash(&calls[0]));
}

static void a_function_that_finds_no_room_is_a_loss(void **state)
{
	const struct call_text c = text_of("/app/shop.php", "Cart", "save");
	struct ids ids = { TRACED, TRACED };

	assert_true(tell_call(ids, 7, &c));
	assert_int_equal(((const struct wire_call *)host.record)->id, 7);
	assert_int_equal(host.counted[COUNT_VM_LOST], 0);
	host.ring_full = true;
	assert_false(tell_call(ids, 8, &c));
	assert_int_equal(host.counted[COUNT_VM_LOST], 1);
}

static struct watch watch;
static struct watch_stack watch_stack;

static void under_way(const __u32 *ids, __u32 n)
{
	__u32 i;

	memset(&watch, 0, sizeof(watch));
	watch.calls = 1;
	for (i = 0; i < n; i++)
		push(&watch, &watch_stack, ids[i], 0, 0);
	assert_int_equal(watch.depth, n);
}

/* Outside of events, where nothing is recorded, too: what it called has ended with it. */
static void a_call_that_ends_takes_with_it_what_it_called(void **state)
{
	static const __u32 ids[] = { 1, 2, 1, 3, 4 };

	under_way(ids, 5);
	calls_left(&watch, &watch_stack, 1);
	assert_int_equal(watch.depth, 2);
	calls_left(&watch, &watch_stack, 5);
	assert_int_equal(watch.depth, 2);
	calls_left(&watch, &watch_stack, 1);
	assert_int_equal(watch.depth, 0);
	calls_left(&watch, &watch_stack, 1);
	assert_int_equal(watch.depth, 0);
	/* One that found no place ends first. */
	under_way(ids, 5);
	watch.deep_open = 1;
	calls_left(&watch, &watch_stack, 4);
	assert_int_equal(watch.depth, 5);
	assert_int_equal(watch.deep_open, 0);
	assert_int_equal(watch.used, 0);
}

/* Finalizers are called in collections, and may be left by an exception. */
static void a_collection_among_calls_ends_once(void **state)
{
	static const __u32 open[] = { 1, VMSPAN_ID_GC, 2 };

	under_way(open, 2);
	gc_leave(&watch, &watch_stack, 9000, false);
	assert_int_equal(watch.depth, 1);
	assert_int_equal(watch.batch.repaired, 0);
	under_way(open, 3);
	gc_leave(&watch, &watch_stack, 9000, false);
	assert_int_equal(watch.depth, 1);
	assert_int_equal(watch.batch.repaired, 1);
	assert_int_equal(watch.used - watch.extra, 2);
	/* It has ended with a call below it. */
	gc_leave(&watch, &watch_stack, 9000, false);
	assert_int_equal(watch.depth, 1);
	assert_int_equal(watch.used - watch.extra, 2);
}

/* ---- Events ---- */

static void set_limit(__u32 argument, __u64 limit)
{
#ifdef __x86_64__
	*(argument == 3 ? &host.registers.dx : &host.registers.r8) = limit;
#else
	host.registers.user_regs.regs[argument - 1] = limit;
#endif
}

/* A look whether something is there is no wait; for ever, and until a time that cannot be read, is. */
static void a_call_that_may_not_wait_is_none(void **state)
{
	static __u64 none[2], soon[2] = { 0, 1 }, later[2] = { 1, 0 };
	static const struct {
		__u32 call;
		__u64 limit;
		const void *time;
		bool at_once;
	} cases[] = {
		{ LOOP_POLL | WAIT_MS_3, 0, NULL, true },
		{ LOOP_POLL | WAIT_MS_3, 1, NULL, false },
		{ LOOP_POLL | WAIT_MS_3, (__u32)-1, NULL, false },
		/* An int; what is above it says nothing. */
		{ LOOP_POLL | WAIT_MS_3, 1ull << 32, NULL, true },
		{ LOOP_POLL | WAIT_TIME_3, 0, NULL, false },
		{ LOOP_POLL | WAIT_TIME_3, 0, none, true },
		{ LOOP_POLL | WAIT_TIME_5, 0, none, true },
		{ LOOP_POLL | WAIT_TIME_5, 0, soon, false },
		{ LOOP_POLL | WAIT_TIME_5, 0, later, false },
		{ LOOP_EPOLL, 0, NULL, false },
	};
	size_t i;

	machine_make();
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_limit((cases[i].call & WAIT_LIMIT) == WAIT_TIME_5 ? 5 : 3,
			  cases[i].time ? (__u64)cases[i].time : cases[i].limit);
		assert_int_equal(returns_at_once(&host.registers, cases[i].call), cases[i].at_once);
	}
	set_limit(5, (__u64)none);
	host.bad = none;
	assert_false(returns_at_once(&host.registers, LOOP_POLL | WAIT_TIME_5));
}

static void an_event_that_finds_no_room_is_a_loss(void **state)
{
	static struct vm_thread t;
	struct ids ids = { TRACED, TRACED };
	__u32 with_text;

	for (with_text = 0; with_text < 2; with_text++) {
		machine(NULL);
		t.open = 1;
		t.text_len = with_text * 3;
		turn_close(&t, &host.thread, ids, 5);
		assert_int_equal(((const struct wire_turn *)host.record)->h.kind, WIRE_VM_TURN);
		assert_int_equal(host.counted[COUNT_VM_LOST], 0);
		t.open = 1;
		host.ring_full = true;
		turn_close(&t, &host.thread, ids, 6);
		assert_int_equal(t.open, 0);
		assert_int_equal(host.counted[COUNT_VM_LOST], 1);
	}
}

/* A server's title is over its arguments. */
static bool idle_in_transaction(const char *title)
{
	static struct vm_thread t;
	struct mm_struct mm = { .arg_start = (unsigned long)title };

	host.thread.mm = &mm;
	t.title_len = strlen(title);
	return in_transaction(&t);
}

static void a_title_says_whether_a_transaction_is_open(void **state)
{
	assert_true(idle_in_transaction("postgres: u d [local] idle in transaction"));
	assert_true(idle_in_transaction("postgres: u d [local] idle in transaction (aborted)"));
	assert_false(idle_in_transaction("postgres: u d [local] idle"));
	assert_false(idle_in_transaction("postgres: u d [local] SELECT"));
	assert_false(idle_in_transaction("idle"));
}

/* ---- Births ---- */

static void a_child_that_finds_no_room_is_a_loss(void **state)
{
	struct task_struct child = { .pid = TRACED + 1, .tgid = TRACED + 1 };
	unsigned long long args[] = { (__u64)&host.thread, (__u64)&child };

	assert_int_equal(vm_fork(args), 0);
	assert_int_equal(host.counted[COUNT_LIFE_LOST], 0);
	host.tables_full = true;
	assert_int_equal(vm_fork(args), 0);
	assert_int_equal(host.counted[COUNT_LIFE_LOST], 1);
	/* A thread needs no place of its own. */
	child.tgid = TRACED;
	assert_int_equal(vm_fork(args), 0);
	assert_int_equal(host.counted[COUNT_LIFE_LOST], 1);
}

static struct vm_thread state;

static void *with_state(void *map, const void *key)
{
	return map == &vm_threads ? &state : more(map, key);
}

/* Memory must not be asked for with a run queue locked, nor in an interrupt: a thread's state is
 * made where it is born, or for those that are there. */
static void the_scheduler_and_the_timer_make_no_state(void **s)
{
	struct task_struct child = { .pid = TRACED + 1, .tgid = TRACED };
	struct bpf_iter__task present = { .task = &host.thread };
	unsigned long long in[] = { 0, (__u64)&host.other, (__u64)&host.thread };
	unsigned long long out[] = { 0, (__u64)&host.thread, (__u64)&host.other };
	unsigned long long born[] = { (__u64)&host.thread, (__u64)&child };

	host.current = &host.thread;
	proc.flags = VM_WALK | VM_BURSTS;
	vm_unmade = 0;
	assert_int_equal(walk_switch(in), 0);
	assert_int_equal(walk_tick(NULL), 0);
	assert_int_equal(walk_switch(out), 0);
	assert_int_equal(host.made, 0);
	/* User space is told to look. Until it has for the first time, it is no loss. */
	assert_int_equal(vm_unmade, 1);
	proc.flags |= VM_LOOKED;
	assert_int_equal(walk_switch(in), 0);
	assert_int_equal(host.counted[COUNT_VM_LOST], 1);
	host.counted[COUNT_VM_LOST] = vm_unmade = 0;
	host.thread.flags = FLAG_IO_WORKER;
	assert_int_equal(walk_switch(in), 0);
	assert_int_equal(host.counted[COUNT_VM_LOST] + vm_unmade, 0);
	host.thread.flags = 0;
	assert_int_equal(host.counted[COUNT_VM_LOST], 0);
	/* It is asked for twice: the first may have met another who asks. */
	assert_int_equal(vm_fork(born), 0);
	assert_int_equal(host.made, 2);
	assert_int_equal(vm_present(&present), 0);
	assert_int_equal(host.made, 4);
	/* That there is no memory is a loss. */
	assert_int_equal(host.counted[COUNT_VM_LOST], 2);
	/* Of others there is none. */
	present.task = &host.other;
	assert_int_equal(vm_present(&present), 0);
	born[0] = (__u64)&host.other;
	assert_int_equal(vm_fork(born), 0);
	assert_int_equal(host.made, 4);
	/* With it the thread has a stay on the CPU. */
	memset(&state, 0, sizeof(state));
	host.more = with_state;
	assert_int_equal(walk_switch(in), 0);
	assert_int_equal(state.open, 1);
}

/* What a thread is in as the trace ends, and how long of that it had no CPU; its stay on one just ends. */
static void what_goes_on_as_the_trace_ends_is_told(void **s)
{
	static const struct {
		__u16 kind, ended;
		__u64 off_at, off_ns;
	} cases[] = {
		{ TURN_LOOP, TURN_GOES_ON, 0, 7 },
		{ TURN_REQUEST, TURN_GOES_ON, 900, 57 },
		{ TURN_IDLE, TURN_GOES_ON, 970, 7 },
		{ TURN_BURST, 0, 0, 7 },
	};
	const struct wire_turn *r = (const void *)host.record;
	struct bpf_iter__task all = { .task = &host.thread };
	size_t i;

	host.more = with_state;
	rest_ns = 950;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(&state, 0, sizeof(state));
		state.open = 1;
		state.turn_kind = cases[i].kind;
		state.turn_begin = 500;
		state.off_before = 3;
		state.off_total = 10;
		state.off_at = cases[i].off_at;
		assert_int_equal(vm_rest(&all), 0);
		assert_int_equal(r->h.kind, WIRE_VM_TURN);
		assert_int_equal(r->kind, cases[i].kind);
		assert_int_equal(r->ended, cases[i].ended);
		assert_int_equal(r->begin, 500);
		assert_int_equal(r->end, 950);
		assert_int_equal(r->off_ns, cases[i].off_ns);
		assert_int_equal(host.records, i + 1);
	}
	/* Another CPU began it as the trace ended. */
	state.open = 1;
	state.turn_begin = 951;
	assert_int_equal(vm_rest(&all), 0);
	assert_int_equal(r->end, 951);
	assert_int_equal(host.records, ++i);
	/* It is in nothing; nobody knows it. */
	assert_int_equal(vm_rest(&all), 0);
	all.task = &host.other;
	assert_int_equal(vm_rest(&all), 0);
	all.task = NULL;
	assert_int_equal(vm_rest(&all), 0);
	assert_int_equal(host.records, i);
}

/* A wait is told of as it begins, with the event it is in, and as it ends: whether the event ends there, user
 * space decides by its stack. */
static void waits_are_told_of_as_they_begin_and_end(void **s)
{
	const struct wire_sample *r = (const void *)host.record;
	const struct wire_stay *e = (const void *)host.record;
	struct ids ids = { TRACED, TRACED };

	host.more = with_state;
	proc.flags = VM_WALK;
	memset(&state, 0, sizeof(state));
	state.turn_kind = TURN_LOOP;
	state.turn_cpu = 5;
	state.turn_begin = 500;
	state.off_before = 3;
	state.off_total = 10;
	state.iteration = 4;
	host.cpu = 1;
	/* Outside of events nothing is. */
	leaves(&host.thread, false, 900);
	comes(&host.thread, 950);
	assert_int_equal(host.records, 0);
	state.open = 1;
	state.off_total = 10;
	host.thread.__state = 0x8001; /* what may be frozen, too */
	leaves(&host.thread, false, 1000);
	assert_int_equal(host.records, 1);
	assert_int_equal(r->h.kind, WIRE_VM_SAMPLE);
	assert_int_equal(r->h.pid, ids.tgid);
	assert_int_equal(r->flags, SAMPLE_OFF | SAMPLE_SLEEPS);
	assert_int_equal(r->time, 1000);
	assert_int_equal(r->weight, 0);
	assert_int_equal(r->iteration, 4);
	assert_int_equal(r->cpu, 1);
	assert_int_equal(r->turn_cpu, 5);
	assert_int_equal(r->turn_begin, 500);
	assert_int_equal(r->off_ns, 7);
	host.cpu = 2;
	comes(&host.thread, 1700);
	assert_int_equal(host.records, 2);
	assert_int_equal(e->h.kind, WIRE_VM_WAIT);
	assert_int_equal(e->begin, 1000);
	assert_int_equal(e->end, 1700);
	assert_int_equal(e->iteration, 4);
	assert_int_equal(e->cpu_end, 2);
	assert_int_equal(state.off_total, 710);
	/* For a disk, say. */
	host.thread.__state = 2;
	leaves(&host.thread, false, 1800);
	assert_int_equal(r->flags, SAMPLE_OFF);
	comes(&host.thread, 1800);
	host.records = 2;
	/* Whoever's CPU is taken waits for nothing. */
	leaves(&host.thread, true, 2000);
	comes(&host.thread, 2100);
	assert_int_equal(host.records, 2);
	assert_int_equal(state.off_total, 810);
	/* Calls are measured without stacks. */
	proc.flags = VM_CALLS;
	leaves(&host.thread, false, 3000);
	comes(&host.thread, 3100);
	assert_int_equal(host.records, 2);
}

static __u32 wanted; /* of the thread, by user space */

static void *with_wanted(void *map, const void *key)
{
	return map == &vm_wanted ? *(const __u32 *)key == TRACED ? &wanted : NULL
				 : with_state(map, key);
}

static void look(__u32 wants)
{
	wanted = wants;
	host.more = with_wanted;
	assert_int_equal(walk_tick(NULL), 0);
	host.more = with_state;
}

/* Where user space wants to know it, the waits between a thread's stays on the CPU are told of too: behind the stay that
 * each ends. */
static void waits_between_stays_are_told_of_where_they_are_wanted(void **s)
{
	unsigned long long exec = (__u64)&host.thread;
	struct signal_struct process;
	const struct wire_sample *r = (const void *)host.record;
	const struct wire_turn *turn = (const void *)host.record;

	host.current = &host.thread;
	proc.flags = VM_WALK | VM_BURSTS;
	memset(&state, 0, sizeof(state));
	host.more = with_state;
	comes(&host.thread, 100);
	assert_int_equal(state.turn_kind, TURN_BURST);
	leaves(&host.thread, false, 150);
	assert_int_equal(host.records, 1);
	assert_int_equal(turn->h.kind, WIRE_VM_TURN);
	comes(&host.thread, 200);
	look(1);
	assert_int_equal(host.records, 2);
	assert_int_equal(r->turn_kind, TURN_BURST);
	assert_int_equal(r->turn_begin, 200);
	leaves(&host.thread, false, 300);
	assert_int_equal(host.records, 4);
	assert_int_equal(r->h.kind, WIRE_VM_SAMPLE);
	assert_int_equal(r->flags & SAMPLE_OFF, SAMPLE_OFF);
	assert_int_equal(r->turn_kind, TURN_BURST);
	assert_int_equal(r->iteration, state.iteration);
	assert_int_equal(r->time, 300);
	/* Its end is the begin of the stay that follows. */
	comes(&host.thread, 400);
	assert_int_equal(host.records, 4);
	assert_int_equal(state.turn_begin, 400);
	/* What is wanted is taken up once. */
	assert_int_equal(host.deleted, 1);
	assert_int_equal(walk_tick(NULL), 0);
	assert_int_equal(host.deleted, 1);
	look(0);
	assert_int_equal(host.records, 6);
	leaves(&host.thread, false, 500);
	assert_int_equal(host.records, 7);
	assert_int_equal(turn->h.kind, WIRE_VM_TURN);
	/* At a wait, too: of some nobody sees any other. */
	comes(&host.thread, 600);
	wanted = 1;
	host.more = with_wanted;
	leaves(&host.thread, false, 700);
	assert_int_equal(host.records, 9);
	assert_int_equal(host.deleted, 3);
	/* Not by the next thread with its number, nor by the next program. */
	host.more = with_state;
	state.open = 0;
	assert_int_equal(vm_exec(&exec), 0);
	assert_int_equal(state.tells_waits, 0);
	host.deleted = 0;
	host.thread.signal = &process;
	process.live.counter = 1;
	assert_int_equal(vm_exit(&exec), 0);
	assert_int_equal(host.deleted, 1);
}

/* Neither the length of a stay on the CPU nor a wait divides one; one of which no end came does not go on for ever. */
static void a_collection_lies_in_one_event(void **s)
{
	const struct wire_turn *turn = (const void *)host.record;
	__u64 begin = 1000 - 2 * BURST_NS; /* it is 1000 always */

	host.current = &host.thread;
	proc.flags = VM_WALK | VM_BURSTS;
	memset(&state, 0, sizeof(state));
	host.more = with_state;
	comes(&host.thread, begin);
	state.gc.depth = 1;
	state.gc.epoch = gc_epoch;
	state.gc.begin = 1000 - BURST_NS;
	assert_int_equal(walk_tick(NULL), 0);
	assert_int_equal(host.records, 1);
	assert_int_equal(turn->h.kind, WIRE_VM_SAMPLE);
	leaves(&host.thread, false, 2000);
	assert_int_equal(host.records, 1);
	comes(&host.thread, 2300);
	assert_int_equal(state.open, 1);
	assert_int_equal(state.turn_begin, begin);
	/* Too long to be kept whole: what it has had is told of, and the rest piece by piece to its end. */
	state.gc.begin = 1000 - GC_MOST_NS;
	host.records = 0;
	assert_int_equal(walk_tick(NULL), 0);
	assert_int_equal(host.records, 3);
	assert_int_equal(turn->h.kind, WIRE_VM_TURN);
	assert_int_equal(turn->begin, begin);
	assert_int_equal(turn->off_ns, 300);
	/* The next stay is cut as ever. */
	assert_int_equal(state.gc.divided, 1);
	assert_int_equal(state.gc.begin, 1000);
	state.turn_begin = begin;
	assert_int_equal(walk_tick(NULL), 0);
	assert_int_equal(turn->h.kind, WIRE_VM_TURN);
	state.gc.depth = 1;
	state.gc.epoch = gc_epoch + 1; /* of a trace before */
	state.gc.begin = 999;
	leaves(&host.thread, false, 2500);
	assert_int_equal(state.open, 0);
}

/* The trace, the thread or its program may end in one: what it has had by then is told of, and not once more. */
static void a_collection_that_an_event_ends_in_is_told_in_part(void **s)
{
	struct bpf_iter__task all = { .task = &host.thread };
	const struct wire_stay *part = (const void *)host.record;
	struct gc_stay *of[] = { &state.gc, &state.sweep };
	__u32 i;

	for (i = 0; i < 2; i++) {
		host.current = &host.thread;
		proc.flags = VM_WALK | VM_BURSTS;
		memset(&state, 0, sizeof(state));
		host.more = with_state;
		host.records = 0;
		comes(&host.thread, 500);
		of[i]->depth = 1;
		of[i]->epoch = i ? sweep_epoch : gc_epoch;
		of[i]->begin = 600;
		rest_ns = 900;
		gc_cut(&state, of[i], of[i]->epoch, false, (struct ids){ TRACED, TRACED }, 900);
		assert_int_equal(host.records, 1);
		assert_int_equal(part->h.kind, WIRE_VM_GC);
		assert_true(part->begin == 600 && part->end == 900 && part->part == STAY_DIVIDED);
		assert_int_equal(part->iteration, state.iteration);
		assert_int_equal(of[i]->begin, 900);
		/* There is nothing more of it. */
		assert_int_equal(vm_rest(&all), 0);
		assert_int_equal(host.records, 2);
		assert_int_equal(part->h.kind, WIRE_VM_TURN);
		/* With something, that comes first. */
		state.open = 1;
		of[i]->begin = 700;
		host.records = 0;
		assert_int_equal(vm_rest(&all), 0);
		assert_int_equal(host.records, 2);
	}
}

/* ---- What probes hand over ---- */

static struct probe_args handed;

static void *described(void *map, const void *key)
{
	return map == &vm_args && *(const __u32 *)key == 0 ? &handed : NULL;
}

static struct probe_arg in(__u8 is, __u64 value, __u8 bytes, bool negative)
{
	return (struct probe_arg){ .value = value,
				   .base = PROBE_NO_REGISTER,
				   .index = PROBE_NO_REGISTER,
				   .is = is,
				   .bytes = bytes,
				   .negative = negative };
}

static __u64 hands_over(struct probe_arg a)
{
	handed.of[1] = a;
	return described_arg(&host.registers, 1);
}

static void what_a_probe_hands_over_is_read_as_it_is_described(void **unused)
{
	static const __u32 words[] = { 5, 0x80000001, 7 };
	struct probe_arg a;

	host.more = described;
	host.registers.sp = (unsigned long)words;
	host.registers.r13 = 2;
	host.registers.ax = 0x11111111ffffff80;
	assert_int_equal(hands_over(in(PROBE_ARG_NONE, 3, 8, false)), 0);
	assert_int_equal(hands_over(in(PROBE_ARG_SUM, -3ull, 8, true)), -3);
	a = in(PROBE_ARG_SUM, 0, 8, false);
	a.base = offsetof(struct pt_regs, ax);
	assert_int_equal(hands_over(a), 0x11111111ffffff80);
	a.bytes = 4;
	assert_int_equal(hands_over(a), 0xffffff80);
	a.negative = true;
	assert_int_equal(hands_over(a), -128);
	a.bytes = 1;
	assert_int_equal(hands_over(a), -128);
	/* No more is read than there is. */
	a = in(PROBE_ARG_IN_MEMORY, 4, 4, false);
	a.base = offsetof(struct pt_regs, sp);
	assert_int_equal(hands_over(a), 0x80000001);
	a.value = -4ull;
	a.index = offsetof(struct pt_regs, r13);
	a.shift = 2;
	assert_int_equal(hands_over(a), 0x80000001);
	a.negative = true;
	assert_int_equal(hands_over(a), (__s32)0x80000001);
	host.bad = &words[1];
	assert_int_equal(hands_over(a), 0);
	/* None of another site, and none beyond those that are handed on. */
	a = in(PROBE_ARG_SUM, 9, 8, false);
	assert_int_equal(hands_over(a), 9);
	assert_int_equal(described_arg(&host.registers, 0), 0);
	assert_int_equal(described_arg(&host.registers, PROBE_ARGS), 0);
	a.bytes = 9;
	assert_int_equal(hands_over(a), 0);
	a.bytes = 0;
	assert_int_equal(hands_over(a), 0);
}

#define TEST(name) cmocka_unit_test_setup(name, machine)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_are_told_apart_by_each_of_their_names),
		TEST(a_function_that_finds_no_room_is_a_loss),
		TEST(a_call_that_ends_takes_with_it_what_it_called),
		TEST(a_collection_among_calls_ends_once),
		TEST(a_call_that_may_not_wait_is_none),
		TEST(an_event_that_finds_no_room_is_a_loss),
		TEST(a_title_says_whether_a_transaction_is_open),
		TEST(a_child_that_finds_no_room_is_a_loss),
		TEST(the_scheduler_and_the_timer_make_no_state),
		TEST(what_goes_on_as_the_trace_ends_is_told),
		TEST(waits_are_told_of_as_they_begin_and_end),
		TEST(waits_between_stays_are_told_of_where_they_are_wanted),
		TEST(a_collection_lies_in_one_event),
		TEST(a_collection_that_an_event_ends_in_is_told_in_part),
		TEST(what_a_probe_hands_over_is_read_as_it_is_described),
	};

	return cmocka_run_group_tests_name("bpf_vm", tests, NULL, NULL);
}
