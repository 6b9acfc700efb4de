/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of some types a client gets, by what it says that it wants. */
#include "cmd/http_accept.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

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

/* Text from before OpenMetrics goes to who asks for that alone, or for that rather. */
static void a_third_type_is_for_who_asks_for_it(void **state)
{
	static const char *const types[] = { "application/openmetrics-text; version=1.0.0",
					     "text/plain; version=0.0.4", NULL };

	(void)state;
	assert_int_equal(http_choose("text/plain", types), 1);
	assert_int_equal(http_choose("text/plain;version=0.0.4;q=0.5,*/*;q=0.1", types), 1);
	assert_int_equal(http_choose("application/openmetrics-text;version=1.0.0;q=0.5,"
				     "text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
				     types),
			 0);
	assert_int_equal(http_choose("*/*", types), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_type_that_is_wanted_most_is_given),
		cmocka_unit_test(a_third_type_is_for_who_asks_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
