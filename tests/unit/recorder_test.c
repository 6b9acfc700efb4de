/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recordings that top starts, one after the other. What it runs is itself: here that is
 * this program, which ends at once, well for process 1 and badly for any other.
 */
#include "cmd/output.c"
#include "cmd/recorder.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "descriptors.h"

/* One that has ended: what is said to who stops it (process 1), or to who asks. */
static bool record(u32 pid, char why[256])
{
	struct recorder r = { 0 };
	struct err e = { 0 };
	siginfo_t info;

	assert_int_equal(recorder_start(&r, "target", &pid, 1, &e), 0);
	assert_int_equal(waitid(P_PID, (id_t)r.pid, &info, WEXITED | WNOWAIT), 0);
	if (pid == 1)
		return recorder_stop(&r, why, 256);
	assert_true(recorder_ended(&r, why, 256));
	assert_int_equal(r.pid, 0);
	return false;
}

static void a_recording_that_is_over_leaves_nothing_open(void **state)
{
	unsigned int before = open_descriptors();
	char why[256];

	(void)state;
	assert_true(record(1, why));
	assert_string_equal(why, "recorded to ./target-1.vmspan");
	assert_false(record(2, why));
	assert_string_equal(why, "the recording failed: process 2 is none");
	assert_int_equal(open_descriptors(), before);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recording_that_is_over_leaves_nothing_open),
	};

	if (argc > 5 && !strcmp(argv[5], "1"))
		return EXIT_DONE;
	if (argc > 5) {
		fprintf(stderr, "vmspan: process %s is none\nmore words\n", argv[5]);
		return EXIT_FAILED;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
