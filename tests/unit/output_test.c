/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of recordings that nobody has named. */
#include "cmd/output.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_default(const char *name, u32 pid, const char *want)
{
	char path[OUTPUT_PATH_MAX];

	output_default(path, name, pid);
	assert_string_equal(path, want);
}

/* The name is the target's own: it leads nowhere else, is not hidden and is no option. */
static void a_recording_is_named_after_its_target(void **state)
{
	(void)state;
	assert_default("demohost", 12, "./demohost-12.vmspan");
	assert_default("demohost", 0, "./demohost.vmspan");
	assert_default("", 12, "./process-12.vmspan");
	assert_default("../../etc/passwd", 1, "./_._.._etc_passwd-1.vmspan");
	assert_default(".hidden", 1, "./_hidden-1.vmspan");
	assert_default("-o", 1, "./_o-1.vmspan");
	assert_default("a b\tc\nd", 1, "./a_b_c_d-1.vmspan");
	assert_default("Web Content+1", 1, "./Web_Content+1-1.vmspan");
	assert_default("\xc3\xa4;$(id)", 1, "./_____id_-1.vmspan");
	assert_default(
		"0123456789012345678901234567890123456789012345678901234567890123456789", 1,
		"./012345678901234567890123456789012345678901234567890123456789012-1.vmspan");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recording_is_named_after_its_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
