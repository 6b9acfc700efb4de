/* SPDX-License-Identifier: BSD-2-Clause */
/* What the SDK says as it is loaded, in arguments that its system call does not look at: bpf/life.bpf.c. */
#include "bpf_host.h"

#include "bpf/life.bpf.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include <cmocka.h>

static int machine(void **state)
{
	(void)state;
	machine_make();
	return 0;
}

static void in_call(long number, unsigned long third, unsigned long fourth, unsigned long fifth)
{
#ifdef __x86_64__
	host.registers.orig_ax = (unsigned long)number;
	host.registers.dx = third;
	host.registers.r10 = fourth;
	host.registers.r8 = fifth;
#else
	host.registers.syscallno = (int)number;
	host.registers.user_regs.regs[2] = third;
	host.registers.user_regs.regs[3] = fourth;
	host.registers.user_regs.regs[4] = fifth;
#endif
}

/* Others give themselves the name they have, too, or are given it; in an exec newer kernels do not say so. */
static void what_is_loaded_says_where_it_is_and_whether_it_is_on(void **state)
{
	static const struct {
		long call;
		unsigned long third, on;
		bool by_another;
		bool executes;
		const char *lacks;
		const char *name;
		bool told, says;
	} cases[] = {
		{ SYS_prctl, VMSPAN_MAGIC, 0, .name = "same", .told = true, .says = true },
		{ SYS_prctl, VMSPAN_MAGIC, 3, .name = "same", .told = true, .says = true },
		{ SYS_prctl, 0, 1, .name = "same", .told = true },
		{ SYS_write, VMSPAN_MAGIC, 1, .name = "same", .told = true },
		{ SYS_prctl, VMSPAN_MAGIC, 1, true, .name = "same", .told = true },
		/* The kernel names what is executed, too. */
		{ SYS_execve, 0, 0, .executes = true, .name = "same" },
		{ SYS_execve, 0, 0, .executes = true, .lacks = "in_execve", .name = "same",
		  .told = true },
		{ SYS_prctl, VMSPAN_MAGIC, 0, .name = "other" },
	};
	const struct wire_life *told = (const void *)host.record;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		unsigned long long args[] = { (__u64)&host.thread, (__u64)cases[i].name };

		memset(host.record, 0, sizeof(host.record));
		host.lacks = cases[i].lacks;
		host.thread.in_execve = cases[i].executes;
		host.current = cases[i].by_another ? &host.other : &host.thread;
		strcpy(host.thread.comm, "same");
		in_call(cases[i].call, cases[i].third, 0x123456789000,
			0x89abcdefull << 32 | cases[i].on);
		assert_int_equal(life_loaded(args), 0);
		assert_int_equal(told->h.kind, cases[i].told ? WIRE_LOADED : 0);
		assert_int_equal(told->copy, cases[i].says ? 0x123456789000 : 0);
		assert_int_equal(told->which, cases[i].says ? 0x89abcdef : 0);
		assert_int_equal(told->other, cases[i].says ? cases[i].on : 0);
		assert_string_equal(told->comm, cases[i].told ? "same" : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_is_loaded_says_where_it_is_and_whether_it_is_on,
				       machine),
	};

	return cmocka_run_group_tests_name("bpf_loaded", tests, NULL, NULL);
}
