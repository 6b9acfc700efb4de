/* SPDX-License-Identifier: BSD-2-Clause */
/* OpenMetrics: labels are bounded and harmless, counters never fall. */
#include "sink/openmetrics.h"
#include "sink_fixture.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static char *page(struct metrics *m, const struct fixture *f)
{
	struct out o;

	out_open_memory(&o);
	assert_int_equal(metrics_page(m, &f->s, &o), 0);
	return fixture_text(&o);
}

static u32 count(const char *text, const char *what)
{
	u32 n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void figures_are_those_of_the_snapshot(void **state)
{
	struct metrics *m = metrics_new(0);
	struct fixture *f = fixture_demo();
	char *text = page(m, f);

	(void)state;
	assert_non_null(strstr(text, "\nvmspan_group_wall_seconds_total{group=\"addon:tracker\","
				     "kind=\"addon\"} 0.600000000\n"));
	assert_non_null(strstr(text, "\nvmspan_group_events_total{group=\"page:shop\","
				     "kind=\"page\"} 5\n"));
	assert_non_null(strstr(text, "\nvmspan_ledger_seconds_total{part=\"gc\"} 0.100000000\n"));
	assert_non_null(strstr(text, "\nvmspan_processes 1\n"));
	assert_string_equal(text + strlen(text) - 6, "# EOF\n");
	free(text);
	fixture_free(f);
	metrics_free(m);
}

/* le is "not longer", durations are "strictly longer": exactly 2 ms is in 2 ms. */
static void buckets_are_cumulative_and_inclusive(void **state)
{
	struct metrics *m = metrics_new(0);
	struct fixture *f = fixture_demo(); /* shop: 5 events of exactly 2 ms */
	char *text;

	(void)state;
	f->s.children[0].stats.durations[0] = 5;
	text = page(m, f);
	assert_non_null(strstr(text, "kind=\"page\",le=\"0.001\"} 0\n"));
	assert_non_null(strstr(text, "kind=\"page\",le=\"0.002\"} 5\n"));
	assert_non_null(strstr(text, "kind=\"page\",le=\"+Inf\"} 5\n"));
	free(text);
	fixture_free(f);
	metrics_free(m);
}

static void names_beyond_the_limit_are_one_and_none_is_taken_away(void **state)
{
	struct metrics *m = metrics_new(2);
	struct fixture *f = fixture_new(4), *later = fixture_new(4);
	char *text;

	(void)state;
	fixture_group(f, "addon:small", "addon", 1, 1 * MS);
	fixture_group(f, "addon:large", "addon", 1, 9 * MS);
	fixture_group(f, "addon:middle", "addon", 1, 5 * MS);
	f->s.process_count = later->s.process_count = 1;
	f->s.processes[0] = later->s.processes[0] =
		(struct snapshot_process){ .pid = 1, .id = 1, .name = "p", .vm = "" };
	text = page(m, f);
	assert_non_null(strstr(text, "group_wall_seconds_total{group=\"addon:large\""));
	assert_non_null(strstr(text, "group_wall_seconds_total{group=\"addon:middle\""));
	assert_null(strstr(text, "addon:small"));
	assert_non_null(strstr(text, "group_wall_seconds_total{group=\"(other)\","
				     "kind=\"(other)\"} 0.001000000\n"));
	free(text);
	/* The small one has outgrown them all: it stays in (other). */
	fixture_group(later, "addon:small", "addon", 1, 99 * MS);
	fixture_group(later, "addon:large", "addon", 1, 9 * MS);
	fixture_group(later, "addon:middle", "addon", 1, 5 * MS);
	text = page(m, later);
	assert_non_null(strstr(text, "group_wall_seconds_total{group=\"(other)\","
				     "kind=\"(other)\"} 0.099000000\n"));
	assert_int_equal(count(text, "vmspan_group_wall_seconds_total{"), 3);
	free(text);
	fixture_free(f);
	fixture_free(later);
	metrics_free(m);
}

static void names_of_the_target_stay_within_their_quotes(void **state)
{
	struct out o;
	char *text;

	(void)state;
	out_open_memory(&o);
	metrics_label(&o, "a\"} 1\n# EOF\\\xff\033z\xc3\xa4");
	text = fixture_text(&o);
	assert_string_equal(text, "a\\\"} 1\xef\xbf\xbd# EOF\\\\\xef\xbf\xbd\xef\xbf\xbdz\xc3\xa4");
	free(text);
}

static void alerts_are_counted_by_group_and_reason(void **state)
{
	struct metrics *m = metrics_new(0);
	struct fixture *f = fixture_demo();
	char *text;

	(void)state;
	metrics_alert(m, "addon:tracker", ALERT_SLOWDOWN | ALERT_IN_INPUT);
	metrics_alert(m, "addon:tracker", ALERT_SLOWDOWN);
	text = page(m, f);
	assert_non_null(strstr(text, "group_alerts_total{group=\"addon:tracker\",kind=\"addon\"} "
				     "2\n"));
	assert_non_null(strstr(text, "alerts_total{reason=\"SLOWDOWN\"} 2\n"));
	assert_non_null(strstr(text, "alerts_total{reason=\"IN_INPUT\"} 1\n"));
	assert_non_null(strstr(text, "alerts_total{reason=\"IN_ANIMATION\"} 0\n"));
	free(text);
	fixture_free(f);
	metrics_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_are_those_of_the_snapshot),
		cmocka_unit_test(buckets_are_cumulative_and_inclusive),
		cmocka_unit_test(names_beyond_the_limit_are_one_and_none_is_taken_away),
		cmocka_unit_test(names_of_the_target_stay_within_their_quotes),
		cmocka_unit_test(alerts_are_counted_by_group_and_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
