/* SPDX-License-Identifier: BSD-2-Clause */
/* Why nothing was traced. */
#include <setjmp.h>
#include <stdarg.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "source/live_int.h"

static void the_first_cause_is_the_last_word(void **state)
{
	struct live l = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(live_nothing_traced(&l, &e), -ENOENT);
	assert_int_equal(err_status(&e), EXIT_NOTHING);
	assert_non_null(strstr(e.what, "no process has loaded probes"));
	err_set_status(&l.not_traced, -EACCES, EXIT_PERMISSION, "process 47: no permission");
	err_hint(&l.not_traced, "Be root.");
	e = (struct err){ 0 };
	assert_int_equal(live_nothing_traced(&l, &e), -EACCES);
	assert_int_equal(err_status(&e), EXIT_PERMISSION);
	assert_string_equal(e.what, "process 47: no permission");
	assert_string_equal(e.hint, "Be root.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_cause_is_the_last_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
