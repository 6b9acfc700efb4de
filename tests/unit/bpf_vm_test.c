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

/* ---- Events ---- */

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

#define TEST(name) cmocka_unit_test_setup(name, machine)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_are_told_apart_by_each_of_their_names),
		TEST(a_function_that_finds_no_room_is_a_loss),
		TEST(an_event_that_finds_no_room_is_a_loss),
		TEST(a_title_says_whether_a_transaction_is_open),
		TEST(a_child_that_finds_no_room_is_a_loss),
	};

	return cmocka_run_group_tests_name("bpf_vm", tests, NULL, NULL);
}
