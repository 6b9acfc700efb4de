/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel side of stock VMs: which of a VM's threads is the one that runs, and where its frames are. */
#include "bpf_host.h"

#include "bpf/turn.bpf.h"
#include "bpf/walk_vm.bpf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct vm_proc proc;
static struct vm_thread state;

static int machine(void **s)
{
	machine_make();
	return 0;
}

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
	proc.kind = VM_CPYTHON;
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

/* Of Ruby's each has its stack, whoever holds the lock; and the process's first one is known even where the VM has
 * another number of it, as in a forked child. */
static void ruby_s_threads_have_stacks_of_their_own(void **s)
{
	enum {
		NODE = 8,
		TID = 24,
		EC = 32,
		MAIN = 16
	};
	static struct {
		__u64 self, next, prev;
		__u32 tid, pad;
		__u64 ec[4];
	} threads[3];
	static struct {
		__u64 next, prev, main;
	} ractor;
	static __u64 stacks[3][8], vm[1], root[1];
	static struct stack to;
	struct walk w = { .p = &proc, .to = &to };
	__u32 i;

	machine_make();
	memset(proc.off, 0, sizeof(proc.off));
	proc.kind = VM_RUBY;
	proc.root = (__u64)root;
	root[0] = (__u64)vm;
	vm[0] = (__u64)&ractor;
	proc.off[OFF_ractor_main] = MAIN;
	proc.off[OFF_thread_node] = NODE;
	proc.off[OFF_thread_tid] = TID;
	proc.off[OFF_thread_ec] = EC;
	/* Of an ec: its stack, how many words that has, where the frames begin. */
	proc.off[OFF_ec_stack_size] = 8;
	proc.off[OFF_ec_cfp] = 16;
	ractor.main = (__u64)&threads[0];
	ractor.prev = (__u64)&threads[2].next;
	ractor.next = (__u64)&threads[0].next;
	for (i = 0; i < 3; i++) {
		threads[i].next = i < 2 ? (__u64)&threads[i + 1].next : (__u64)&ractor;
		threads[i].prev = i > 0 ? (__u64)&threads[i - 1].next : (__u64)&ractor;
		threads[i].tid = 5000 + i;
	}
	/* Each ec lies in its thread here; the pointer to it is its first word. */
	for (i = 0; i < 3; i++) {
		static __u64 ecs[3][3];

		ecs[i][0] = (__u64)stacks[i];
		ecs[i][1] = 8;
		ecs[i][2] = (__u64)&stacks[i][i + 1];
		threads[i].ec[0] = (__u64)ecs[i];
	}
	host.thread.tgid = TRACED;
	for (i = 1; i < 3; i++) {
		call_host_thread(5000 + i);
		host.thread.pid = TRACED + 1;
		assert_true(rb_start(&w, &state, &host.thread));
		assert_int_equal(w.at, (__u64)&stacks[i][i + 1]);
		assert_int_equal(w.end, (__u64)&stacks[i][8]);
		assert_int_equal(state.root, (__u64)&threads[i]);
	}
	assert_int_equal(to.flags, 0);
	/* None of Ruby's has no frames; that all were looked at is told with it. */
	call_host_thread(4999);
	assert_false(rb_start(&w, &state, &host.thread));
	assert_int_equal(state.misses, 1);
	assert_int_equal(to.flags, SAMPLE_LEFT);
	to.flags = 0;
	state.misses = 3; /* not now */
	assert_false(rb_start(&w, &state, &host.thread));
	assert_int_equal(to.flags, 0);
	/* One that has ended keeps its number, and the next one that gets the same thread of the kernel's has it too. */
	call_host_thread(5001);
	host.thread.pid = TRACED + 1;
	assert_true(rb_start(&w, &state, &host.thread));
	assert_int_equal(state.root, (__u64)&threads[1]);
	threads[0].next = (__u64)&threads[2].next;
	threads[2].prev = (__u64)&threads[0].next;
	threads[2].tid = 5001;
	assert_true(rb_start(&w, &state, &host.thread));
	assert_int_equal(state.root, (__u64)&threads[2]);
	threads[0].next = (__u64)&threads[1].next;
	threads[2].prev = (__u64)&threads[1].next;
	host.thread.pid = TRACED;
	call_host_thread(9999);
	assert_true(rb_start(&w, &state, &host.thread));
	assert_int_equal(w.at, (__u64)&stacks[0][1]);
	/* Newer ones have the number elsewhere. */
	{
		static struct {
			__u32 pad, tid;
		} native = { 0, 6001 };

		host.thread.pid = TRACED + 1;
		proc.off[OFF_thread_native] = EC + 8;
		proc.off[OFF_thread_tid] = 4;
		threads[1].ec[1] = (__u64)&native;
		call_host_thread(6001);
		assert_true(rb_start(&w, &state, &host.thread));
		assert_int_equal(w.at, (__u64)&stacks[1][2]);
	}
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
		TEST(of_many_threads_some_are_looked_at_at_once),
		TEST(ruby_s_threads_have_stacks_of_their_own),
		TEST(of_a_jvm_s_threads_too),
	};

	return cmocka_run_group_tests_name("bpf_threads", tests, NULL, NULL);
}
