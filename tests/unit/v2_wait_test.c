/* SPDX-License-Identifier: BSD-2-Clause */
/* What is loaded under a trace waits until it is traced, with all of its probes: the tracer is made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

static long made_up_syscall(long number, ...);

#define VMSPAN_PROBES
#define syscall(...) made_up_syscall(__VA_ARGS__)
#include "user/sdk/vmspan.h"
#undef syscall

/* What the tracer has done each time that the program asks whether it lives. */
static struct {
	vmspan_u16 armed[4], probes[4];
	int answer; /* of kill(), an errno */
	unsigned int asked;
	/* What it is told of. */
	long magic;
	const void *copy;
	long on;
} tracer;

static long made_up_syscall(long number, ...)
{
	long a, b, c, d, e, f = 0;
	va_list args;

	va_start(args, number);
	a = va_arg(args, long);
	b = va_arg(args, long);
	c = va_arg(args, long);
	d = va_arg(args, long);
	e = va_arg(args, long);
	if (number == SYS_mmap) /* nothing else has so many */
		f = va_arg(args, long);
	va_end(args);
	/* However long a busy machine takes for it: no time goes by. */
	if (number == SYS_clock_gettime)
		return 0;
	if (number == SYS_prctl && a == PR_SET_NAME) {
		tracer.magic = c;
		tracer.copy = (const void *)d;
		tracer.on = e;
	}
	if (number != SYS_kill)
		return syscall(number, a, b, c, d, e, f);
	if (tracer.asked < 4) {
		*(volatile vmspan_u16 *)&vmspan_registry_2.semaphore = tracer.armed[tracer.asked];
		*(volatile vmspan_u16 *)&vmspan_registry_2.probes_semaphore =
			tracer.probes[tracer.asked];
	}
	tracer.asked++;
	errno = tracer.answer;
	return tracer.answer ? -1 : 0;
}

static void load(void)
{
	vmspan_registry_2.loaded = 0;
	vmspan_loaded_2();
}

static unsigned int asked(void)
{
	tracer.asked = 0;
	vmspan_registry_2.semaphore = vmspan_registry_2.probes_semaphore = 0;
	load();
	vmspan_registry_2.semaphore = vmspan_registry_2.probes_semaphore = 0;
	return tracer.asked;
}

static void it_waits_until_all_of_its_probes_are_attached(void **state)
{
	(void)state;
	assert_int_equal(setenv("VMSPAN_WAIT", "4321", 1), 0);
	memcpy(tracer.armed, (vmspan_u16[]){ 0, 0, 1, 1 }, sizeof(tracer.armed));
	assert_int_equal(asked(), 3);
	memset(tracer.armed, 0, sizeof(tracer.armed));
	memcpy(tracer.probes, (vmspan_u16[]){ 1, 5, 8, 9 }, sizeof(tracer.probes));
	assert_int_equal(asked(), 4);
	/* Where there is more than one tracer, it is one of them. */
	memcpy(tracer.probes, (vmspan_u16[]){ 1, 10, 10, 10 }, sizeof(tracer.probes));
	assert_int_equal(asked(), 2);
	memset(tracer.probes, 0, sizeof(tracer.probes));
	/* Another user's may not be sent signals; one that is gone comes no more. */
	tracer.answer = EPERM;
	memcpy(tracer.armed, (vmspan_u16[]){ 0, 0, 1, 1 }, sizeof(tracer.armed));
	assert_int_equal(asked(), 3);
	tracer.answer = ESRCH;
	assert_int_equal(asked(), 1);
	assert_int_equal(unsetenv("VMSPAN_WAIT"), 0);
	assert_int_equal(asked(), 0);
}

/* With all of the probes of either method; and whether it waits for that. */
static void it_says_where_it_is_and_whether_its_marks_are_on(void **state)
{
	static const struct {
		vmspan_u16 armed, probes;
		long says;
		int answer;
		bool started, late;
	} cases[] = {
		{ 0, 0, 0, .started = false },
		{ 1, 0, VMSPAN_LOADED_ON, .started = false },
		{ 0, 8, 0, .started = false },
		{ 0, 9, VMSPAN_LOADED_ON, .started = false },
		{ 3, 8, VMSPAN_LOADED_ON, .started = false },
		{ 0, 0, VMSPAN_LOADED_WAITS, .started = true },
		{ 0, 0, VMSPAN_LOADED_WAITS, EPERM, .started = true },
		{ 0, 0, 0, ESRCH, .started = true },
		{ 0, 0, 0, .started = true, .late = true },
	};
	struct vmspan_process *p = vmspan__process();
	size_t i;

	(void)state;
	assert_non_null(p);
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(cases[i].started ? setenv("VMSPAN_WAIT", "4321", 1)
						  : unsetenv("VMSPAN_WAIT"),
				 0);
		p->late = cases[i].late;
		/* It comes when it is asked for the second time: what is asked first says how it is. */
		memset(&tracer, 0, sizeof(tracer));
		tracer.on = -1;
		tracer.answer = cases[i].answer;
		memcpy(tracer.armed, (vmspan_u16[]){ 0, 1, 1, 1 }, sizeof(tracer.armed));
		vmspan_registry_2.semaphore = cases[i].armed;
		vmspan_registry_2.probes_semaphore = cases[i].probes;
		load();
		/* Which it is, in its upper half. */
		assert_int_equal(tracer.on, (long)vmspan_registry_2.loaded << 32 | cases[i].says);
		assert_int_not_equal(vmspan_registry_2.loaded, 0);
		assert_int_equal(tracer.magic, VMSPAN_MAGIC);
		assert_ptr_equal(tracer.copy, &vmspan_registry_2);
		assert_int_equal(tracer.asked, cases[i].late || !cases[i].started     ? 0
					       : cases[i].says == VMSPAN_LOADED_WAITS ? 2
										      : 1);
	}
	vmspan_registry_2.semaphore = vmspan_registry_2.probes_semaphore = 0;
	assert_int_equal(unsetenv("VMSPAN_WAIT"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_waits_until_all_of_its_probes_are_attached),
		cmocka_unit_test(it_says_where_it_is_and_whether_its_marks_are_on),
	};

	return cmocka_run_group_tests_name("v2_wait", tests, NULL, NULL);
}
