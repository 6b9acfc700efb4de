/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of recordings that nobody has named, and what of HTTP is chosen from. */
#include "cmd/http_accept.c"
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

static void the_type_that_is_wanted_most_is_given(void **state)
{
	static const char *const types[] = { "application/openmetrics-text; version=1.0.0",
					     "application/vnd.google.protobuf; "
					     "proto=io.prometheus.client.MetricFamily; "
					     "encoding=delimited",
					     NULL };
	static const char proto[] = "application/vnd.google.protobuf;"
				    "proto=io.prometheus.client.MetricFamily;encoding=delimited";
	char both[400];

	(void)state;
	assert_int_equal(http_choose(NULL, types), 0);
	assert_int_equal(http_choose("", types), 0);
	assert_int_equal(http_choose("text/html", types), 0);
	assert_int_equal(http_choose("application/openmetrics-text", types), 0);
	assert_int_equal(http_choose(proto, types), 1);
	snprintf(both, sizeof(both), "application/openmetrics-text;q=0.4, %s;q=0.5", proto);
	assert_int_equal(http_choose(both, types), 1);
	snprintf(both, sizeof(both), "%s;q=0.5,application/openmetrics-text;q=0.6", proto);
	assert_int_equal(http_choose(both, types), 0);
	snprintf(both, sizeof(both), "%s;q=0,application/openmetrics-text;q=0.001", proto);
	assert_int_equal(http_choose(both, types), 0);
	/* Another message, or another way to put it, is another type. */
	assert_int_equal(http_choose("application/vnd.google.protobuf;proto=other;q=1,"
				     "application/openmetrics-text;q=0.1",
				     types),
			 0);
	assert_int_equal(http_choose("application/vnd.google.protobuf;q=1,"
				     "application/openmetrics-text;q=0.1",
				     types),
			 0);
	/* Case and blanks say nothing. */
	snprintf(both, sizeof(both), " APPLICATION/vnd.google.protobuf ; %s",
		 strchr(proto, ';') + 1);
	assert_int_equal(http_choose(both, types), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recording_is_named_after_its_target),
		cmocka_unit_test(the_type_that_is_wanted_most_is_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
