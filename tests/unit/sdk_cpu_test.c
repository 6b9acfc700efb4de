/* SPDX-License-Identifier: BSD-2-Clause */
/* CPU numbers of version 1 of the SDK, with rseq and without. */
#ifndef __x86_64__
#include <stdio.h>
int main(void)
{
	return puts("skip sdk_cpu - the stand-in for a tracer knows x86-64 only") < 0;
}
#else
#include "sdk_tracer.h"

#include <sched.h>
#include <sys/wait.h>

enum {
	A = 1001,
	B
};

static void the_cpu_number_comes_from_rseq_where_libc_has_it(void **state)
{
	(void)state;
	tracer_on();
	vmspan_enter(A);
	vmspan_leave(A);
	if (!&__rseq_size || !__rseq_size) {
		print_message("skip: this libc does not register rseq\n");
		skip();
	}
	assert_int_not_equal(vmspan_self_1->cpu, 0);
}

/* As with a libc that has no rseq, and under emulators. */
static void without_rseq_the_cpu_number_is_this_machines_all_the_same(void **state)
{
	const struct vmspan_span *span;
	cpu_set_t home, one;
	vmspan_u16 cpus[16];
	u32 spans = 0;

	(void)state;
	tracer_on();
	vmspan_enter(A);
	vmspan_leave(A);
	vmspan_self_1->cpu = 0;
	assert_int_equal(sched_getaffinity(0, sizeof(home), &home), 0);
	for (vmspan_u16 cpu = 0; cpu < CPU_SETSIZE && spans < sizeof(cpus) / sizeof(cpus[0]);
	     cpu++) {
		if (!CPU_ISSET(cpu, &home))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
		vmspan_enter(B);
		vmspan_leave(B);
		cpus[spans++] = cpu;
	}
	assert_int_equal(sched_setaffinity(0, sizeof(home), &home), 0);
	collect();
	assert_int_equal(seen_count, 1 + spans);
	for (u32 i = 0; i < spans; i++) {
		span = (const struct vmspan_span *)seen[1 + i];
		assert_int_equal(span->cpu_begin, cpus[i]);
		assert_int_equal(span->cpu_end, cpus[i]);
	}
}

static u32 on_others;

/* Not each machine has rdtscp, or another memory node than its first: a CPU that has both, by what it does in place of
 * the two instructions. */
static void on_another_node(int sig, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	static const unsigned char rdtscp[] = { 0x0f, 0x01, 0xf9 }, cpuid[] = { 0x0f, 0xa2 };
	const void *next = (const void *)(size_t)r[REG_RIP];

	if (!memcmp(next, cpuid, sizeof(cpuid))) {
		r[REG_RAX] = r[REG_RBX] = r[REG_RCX] = 0;
		r[REG_RDX] = 1 << 27;
		r[REG_RIP] += (greg_t)sizeof(cpuid);
	} else if (!memcmp(next, rdtscp, sizeof(rdtscp))) {
		u64 tsc = __builtin_ia32_rdtsc();

		r[REG_RAX] = (greg_t)(tsc & UINT32_MAX);
		r[REG_RDX] = (greg_t)(tsc >> 32);
		r[REG_RCX] = 5 << 12 | 7;
		r[REG_RIP] += (greg_t)sizeof(rdtscp);
		on_others++;
	}
	tracer_trap(sig, info, context);
}

static bool step_on(greg_t *ip)
{
	(void)ip;
	return true;
}

/* Whether the CPU has the instruction is asked once: in a child, or others would think that it has. */
static void span_on_another_node(void)
{
	struct sigaction sa = { .sa_sigaction = on_another_node,
				.sa_flags = SA_SIGINFO | SA_NODEFER };
	const struct vmspan_span *span;

	tracer_on();
	vmspan_enter(A);
	vmspan_leave(A);
	vmspan_self_1->cpu = 0;
	if (sigaction(SIGTRAP, &sa, NULL))
		_exit(1);
	step_begin(step_on);
	vmspan_enter(B);
	vmspan_leave(B);
	step_end();
	collect();
	span = (const struct vmspan_span *)seen[1];
	_exit(!on_others                                   ? 2
	      : span->h.id != B                            ? 3
	      : span->cpu_begin != 7 || span->cpu_end != 7 ? 4
							   : 0);
}

static void the_node_of_the_memory_is_no_part_of_the_cpu_number(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (!child)
		span_on_another_node();
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_node_of_the_memory_is_no_part_of_the_cpu_number),
		cmocka_unit_test(the_cpu_number_comes_from_rseq_where_libc_has_it),
		cmocka_unit_test(without_rseq_the_cpu_number_is_this_machines_all_the_same),
	};

	return cmocka_run_group_tests_name("sdk_cpu", tests, tracer_setup, NULL);
}
#endif
