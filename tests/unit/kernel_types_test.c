/* SPDX-License-Identifier: BSD-2-Clause */
/* What the running kernel's types tell, against what libbpf finds in them, and its version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attach/kernel_types.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <sys/utsname.h>

static void tracepoints_are_those_that_libbpf_finds(void **state)
{
	enum kernel_tracepoint tp;

	(void)state;
	for (tp = 0; tp < KERNEL_TP_COUNT; tp++) {
		int id = libbpf_find_vmlinux_btf_id(kernel_tracepoint_name(tp), BPF_TRACE_RAW_TP);

		if (kernel_has_tracepoint(tp) != (id > 0))
			fail_msg("%s: %d", kernel_tracepoint_name(tp), id);
	}
	/* Each kernel with BTF that vmspan runs on has these. */
	if (!kernel_types()->error)
		assert_true(kernel_has_tracepoint(KERNEL_TP_SCHED_SWITCH) &&
			    kernel_has_tracepoint(KERNEL_TP_FORK));
}

static void all_types_have_been_read(void **state)
{
	struct btf *btf = btf__load_vmlinux_btf();

	(void)state;
	assert_int_equal(!btf, kernel_types()->error != 0);
	assert_int_equal(btf ? btf__type_cnt(btf) : 0, kernel_types()->count);
	assert_int_equal(btf != NULL, kernel_types()->has_run_queue);
	btf__free(btf);
}

/* The third argument came with Linux 6.16. */
static void memory_at_the_end_is_had_from_6_16_on(void **state)
{
	unsigned int major, minor;
	struct utsname u;

	(void)state;
	assert_int_equal(uname(&u), 0);
	assert_int_equal(sscanf(u.release, "%u.%u", &major, &minor), 2);
	assert_int_equal(kernel_types()->exit_has_memory,
			 !kernel_types()->error && (major > 6 || (major == 6 && minor >= 16)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tracepoints_are_those_that_libbpf_finds),
		cmocka_unit_test(all_types_have_been_read),
		cmocka_unit_test(memory_at_the_end_is_had_from_6_16_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
