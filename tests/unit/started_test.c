/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process was told as it was started. Its environment is made here. */
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
#include "probe/started.c"
#undef fopen

/* As the kernel has it: a variable after the other, each with its terminator. */
#define NUMBER(text) \
	(environment = (text), environment_size = sizeof(text), started_number(4711, "SWITCH"))

static void a_variable_is_known_by_all_of_its_name(void **state)
{
	(void)state;
	assert_int_equal(NUMBER("SWITCH=1"), 1);
	assert_int_equal(NUMBER("A=b\0SWITCH=1\0C=d"), 1);
	assert_int_equal(NUMBER("SWITCH=0"), 0);
	assert_int_equal(NUMBER("SWITCH="), 0);
	assert_int_equal(NUMBER("A=b"), 0);
	/* Others, whose names go on, or begin earlier. */
	assert_int_equal(NUMBER("SWITCH_2=1"), 0);
	assert_int_equal(NUMBER("SWITCHX1"), 0);
	assert_int_equal(NUMBER("A_SWITCH=1"), 0);
	assert_int_equal(NUMBER("SWITCH=1\0SWITCH_LOG=x"), 1);
	assert_int_equal(NUMBER("SWITCH=-17x"), -17);
	assert_int_equal(NUMBER("SWITCH=2\0SWITCH=3"), 2); /* as getenv(3) */
	assert_int_equal(NUMBER("SWITCH_LOG=0\0SWITCH=1\0SWITCHES=0"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_variable_is_known_by_all_of_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
