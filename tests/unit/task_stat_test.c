/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel says of a thread whose name looks like what it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/task_stat.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void check_parent(u32 tid)
{
	char line[TASK_STAT_MAX], state = 0;
	const char *stat = task_stat((u32)getpid(), tid, line);
	int parent = 0;

	assert_non_null(stat);
	assert_int_equal(sscanf(stat, "%c %d", &state, &parent), 2);
	assert_int_equal(state, 'R');
	assert_int_equal(parent, getppid());
}

static void a_name_is_stepped_over_whatever_is_in_it(void **state)
{
	static const char *const names[] = { "plain", "x) S 1\nfoo", ")))",
					     "\n",    "a b ) R 2",   ") S 1 1 1 1 1" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(prctl(PR_SET_NAME, names[i]), 0);
		check_parent(0);
		check_parent((u32)getpid());
	}
}

static void who_is_not_there_has_none(void **state)
{
	char line[TASK_STAT_MAX];

	(void)state;
	assert_null(task_stat(1u << 30, 0, line));
	assert_null(task_stat((u32)getpid(), 1u << 30, line));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_stepped_over_whatever_is_in_it),
		cmocka_unit_test(who_is_not_there_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
