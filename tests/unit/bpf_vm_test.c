/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel side of stock VMs: what finds no room is counted, what is known apart stays so. */
#include "bpf_host.h"

#define LICENSE license_of_stopwatch
#include "bpf/stopwatch.bpf.c"
#undef LICENSE
#define LICENSE license_of_calls
#define leave leave_call
#include "bpf/calls.bpf.c"
#undef leave
#undef LICENSE
#define LICENSE license_of_statement
#include "bpf/statement.bpf.c"
#undef LICENSE
#define LICENSE license_of_walk
#include "bpf/walk.bpf.c"
#undef LICENSE

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct vm_proc proc;

static void *more(void *map, const void *key)
{
	return map == &vm_procs && *(const __u32 *)key == TRACED ? &proc : NULL;
}

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

/* ---- Threads of the VM's ---- */

enum {
	NATIVE_ID = 8,
	NEXT = 0
};

static struct {
	__u64 next, native_id;
} py[1000];

static void call_host_thread(__u32 tid)
{
	static struct {
		struct pid pid;
		struct upid more;
	} number;

	number.pid.level = 0;
	number.pid.numbers[0].nr = (int)tid;
	host.thread.thread_pid = &number.pid;
	memset(&state, 0, sizeof(state));
}

/* How many looks a thread takes to be found; 0: it is not. */
static __u32 looks(__u32 tid, __u32 limit)
{
	static __u64 runtime[1], interpreter[1];
	struct walk w = { .p = &proc };
	__u32 n;

	call_host_thread(tid);
	runtime[0] = (__u64)interpreter;
	interpreter[0] = (__u64)py;
	proc.root = (__u64)runtime;
	memset(proc.off, 0, sizeof(proc.off));
	proc.off[OFF_thread_native_id] = NATIVE_ID;
	proc.off[OFF_thread_next] = NEXT;
	for (n = 1; n <= limit; n++) {
		w.tid = TRACED;
		py_start(&w, &state, &host.thread);
		assert_int_equal(w.tid, TRACED);
		if (state.root)
			return n;
	}
	return 0;
}

/* The scheduler waits for a look. A list that leads back into itself has an end too. */
static void of_many_threads_some_are_looked_at_at_once(void **s)
{
	__u32 i, reads;

	for (i = 0; i < 1000; i++) {
		py[i].next = i < 999 ? (__u64)&py[i + 1] : 0;
		py[i].native_id = 5000 + i;
	}
	assert_int_equal(looks(5000, 9), 1);
	assert_int_equal(looks(5000 + LOOK_AT_ONCE - 1, 9), 1);
	assert_int_equal(looks(5000 + LOOK_AT_ONCE, 9), 2);
	assert_int_equal(looks(5999, 9), 4);
	assert_int_equal(looks(4999, 4), 0);
	assert_int_equal(state.misses, 1);
	assert_int_equal(state.looked, 0);
	py[999].next = (__u64)&py[0];
	reads = host.reads;
	assert_int_equal(looks(4999, 1), 0);
	assert_true(host.reads - reads < 3 * LOOK_AT_ONCE);
	assert_int_equal(looks(4999, LOOK_THREADS / LOOK_AT_ONCE - 1), 0);
	assert_int_equal(state.misses, 0);
	assert_int_equal(looks(4999, LOOK_THREADS / LOOK_AT_ONCE), 0);
	assert_int_equal(state.misses, 1);
}

static void of_a_jvm_s_threads_too(void **s)
{
	static struct {
		__u64 os;
	} threads[600];
	static __u32 tids[600];
	static __u64 array[600];
	static struct {
		__u64 threads, length;
	} list = { (__u64)array, 600 };
	static const __u64 *root = (const __u64 *)&list;
	struct walk w = { .p = &proc, .thread = &state, .task = &host.thread };
	__u32 i, n;

	memset(proc.off, 0, sizeof(proc.off));
	proc.jvm.threads = (__u64)&root;
	proc.off[OFF_list_length] = 8;
	for (i = 0; i < 600; i++) {
		tids[i] = 5000 + i;
		threads[i].os = (__u64)&tids[i];
		array[i] = (__u64)&threads[i];
	}
	/* The youngest are looked at first. */
	call_host_thread(5599);
	assert_int_equal(jvm_thread(&w), (__u64)&threads[599]);
	call_host_thread(5000);
	for (n = 1; n < 9 && !jvm_thread(&w); n++)
		assert_int_equal(state.misses, 0);
	assert_int_equal(n, 3);
	assert_int_equal(state.root, (__u64)&threads[0]);
	call_host_thread(4999);
	for (n = 1; n < 9 && !state.misses; n++)
		assert_int_equal(jvm_thread(&w), 0);
	assert_int_equal(n, 4);
	assert_int_equal(state.looked, 0);
	/* The list has been made anew, and is shorter. */
	call_host_thread(5300);
	state.looked = 512;
	list.length = 400;
	assert_int_equal(jvm_thread(&w), 0);
	assert_int_equal(state.looked, 0);
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
		TEST(of_many_threads_some_are_looked_at_at_once),
		TEST(of_a_jvm_s_threads_too),
	};

	return cmocka_run_group_tests_name("bpf_vm", tests, NULL, NULL);
}
