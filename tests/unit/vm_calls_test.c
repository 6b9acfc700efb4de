/* SPDX-License-Identifier: BSD-2-Clause */
/* Was a stock VM started so that it tells of its calls? Its environment is made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const void *environment;
static size_t environment_size;

static FILE *made_environment(const char *path)
{
	assert_string_equal(path, "/proc/4711/environ");
	return fmemopen((void *)(size_t)environment, environment_size, "r");
}

#define fopen(path, mode) made_environment(path)
#include "probe/vm_calls.c"
#undef fopen

/* As the kernel has it: a variable after the other, each with its terminator. */
#define SWITCHED_ON(text) \
	(environment = (text), environment_size = sizeof(text), has_env(4711, "SWITCH"))

static void a_variable_is_known_by_all_of_its_name(void **state)
{
	(void)state;
	assert_true(SWITCHED_ON("SWITCH=1"));
	assert_true(SWITCHED_ON("A=b\0SWITCH=1\0C=d"));
	assert_false(SWITCHED_ON("SWITCH=0"));
	assert_false(SWITCHED_ON("SWITCH="));
	assert_false(SWITCHED_ON("A=b"));
	/* Others, whose names go on, or begin earlier. */
	assert_false(SWITCHED_ON("SWITCH_2=1"));
	assert_false(SWITCHED_ON("SWITCHX1"));
	assert_false(SWITCHED_ON("A_SWITCH=1"));
	assert_true(SWITCHED_ON("SWITCH=1\0SWITCH_LOG=x"));
	assert_true(SWITCHED_ON("SWITCH_LOG=0\0SWITCH=1\0SWITCHES=0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_variable_is_known_by_all_of_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
