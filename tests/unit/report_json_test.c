/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys of a report that most reports have not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sink_fixture.h"

static char *json_of(struct fixture *f)
{
	struct json j;
	struct out o;

	out_open_memory(&o);
	json_open(&j, &o);
	report_json(&j, &f->s, &f->source, &(struct view){ 0 });
	return fixture_text(&o);
}

static void has(struct fixture *f, const char *text)
{
	char *json = json_of(f);

	if (!strstr(json, text))
		fail_msg("%s is not in %s", text, json);
	free(json);
}

static void has_not(struct fixture *f, const char *text)
{
	char *json = json_of(f);

	if (strstr(json, text))
		fail_msg("%s is in %s", text, json);
	free(json);
}

static void notes_are_their_processes(void **state)
{
	struct fixture *f = fixture_demo();
	struct snapshot_note notes[] = {
		{ .process = 0, .text = "first", .advice = "do" },
		{ .process = 1, .text = "second", .advice = "", .left_out = true },
		{ .process = 1, .text = "third", .advice = "" },
	};

	(void)state;
	has_not(f, "\"notes\"");
	f->s.notes = notes;
	f->s.note_count = 3;
	has(f, "\"pid\":42,\"name\":\"host\",\"vm\":\"sdk\",\"ppid\":1,\"ended\":false,\"notes\":["
	       "{\"text\":\"first\",\"advice\":\"do\"}]");
	has(f, "\"pid\":43,\"name\":\"kid\",\"vm\":\"\",\"ppid\":42,\"ended\":true,\"notes\":["
	       "{\"text\":\"second\",\"advice\":\"\",\"left_out\":true},"
	       "{\"text\":\"third\",\"advice\":\"\"}]");
	fixture_free(f);
}

static void parts_that_are_off_are_told(void **state)
{
	struct fixture *f = fixture_demo();

	(void)state;
	has_not(f, "not_measured");
	f->s.parts[TRACE_GC].now = true;
	f->s.parts[TRACE_SAMPLES].ns = 5;
	has(f, "\"not_measured\":[{\"part\":\"gc\",\"ns\":0,\"now\":true},"
	       "{\"part\":\"samples\",\"ns\":5,\"now\":false}]");
	fixture_free(f);
}

/* How sure a sampled share is: its bounds are around it. */
static void a_share_lies_between_its_bounds(void **state)
{
	struct fixture *f = fixture_demo();
	char *json, *at;
	u64 ppm, low, high;

	(void)state;
	has_not(f, "self_share");
	f->s.events.samples = 400;
	f->s.groups[0].stats.samples = 300;
	f->s.groups[0].stats.self_samples = 100;
	json = json_of(f);
	at = strstr(json, "\"samples\":300,\"self_samples\":100,\"self_share\":{\"ppm\":");
	assert_non_null(at);
	at = strstr(at, "\"ppm\":");
	assert_int_equal(sscanf(at,
				"\"ppm\":%" SCNu64 ",\"low_ppm\":%" SCNu64 ",\"high_ppm\":%" SCNu64,
				&ppm, &low, &high),
			 3);
	assert_int_equal(ppm, 250000);
	assert_in_range(low, 200000, 249999);
	assert_in_range(high, 250001, 300000);
	free(json);
	fixture_free(f);
}

/* Of 100 events 95 took 1 ms, 4 took 3 ms and one 8 ms: in buckets of a sixteenth. */
static void quantiles_are_of_their_share(void **state)
{
	struct fixture *f = fixture_new(1);
	struct group_stats *t = &fixture_group(f, "addon:a", "addon", 95, MS)->stats;
	char *json, *at;
	u64 p50, p99;
	u32 i;

	(void)state;
	for (i = 0; i < 4; i++)
		assert_int_equal(hist_add(&t->hist, 3 * MS), 0);
	assert_int_equal(hist_add(&t->hist, 8 * MS), 0);
	t->events = 100;
	t->max_ns = 8 * MS;
	json = json_of(f);
	at = strstr(json, "\"p50_ns\":");
	assert_non_null(at);
	assert_int_equal(sscanf(at, "\"p50_ns\":%" SCNu64 ",\"p99_ns\":%" SCNu64, &p50, &p99), 2);
	assert_in_range(p50, MS, MS + MS / 16);
	assert_in_range(p99, 3 * MS, 3 * MS + MS / 4);
	free(json);
	fixture_free(f);
}

static void native_time_is_divided(void **state)
{
	struct fixture *f = fixture_demo();

	(void)state;
	has(f, "\"native\":{\"on_cpu_ns\":200000000,");
	has_not(f, "stock_ns");
	f->s.ledger.preempted_ns = 30 * MS;
	f->s.ledger.native_stock_ns = 50 * MS;
	has(f, "\"native\":{\"on_cpu_ns\":120000000,\"stock_ns\":50000000,");
	fixture_free(f);
}

static void what_has_not_ended_says_why_or_that_it_goes_on(void **state)
{
	struct fixture *f = fixture_demo();
	struct model_unfinished gone = { .pid = 42,
					 .tid = 44,
					 .why = UNFINISHED_PROCESS,
					 .event = true,
					 .label = "turn",
					 .group = "addon:a",
					 .begin_ns = 6000,
					 .for_ns = 900,
					 .depth = 1,
					 .stay_count = 1,
					 .stay = { { .name = "work", .for_ns = 800 } } };
	struct model_unfinished open = gone;

	(void)state;
	has_not(f, "\"unfinished\"");
	has_not(f, "\"open\"");
	open.why = 0;
	f->s.unfinished = &gone;
	f->s.unfinished_kept = 1;
	f->s.unfinished_count = 3;
	f->s.open = &open;
	f->s.open_kept = f->s.open_count = 1;
	has(f,
	    "\"unfinished\":{\"count\":3,\"longest\":[{\"pid\":42,\"tid\":44,\"ended\":\"process\","
	    "\"event\":true,\"label\":\"turn\",\"group\":\"addon:a\",\"begin_ns\":6000,"
	    "\"so_far_ns\":900,\"depth\":1,\"inside\":[{\"name\":\"work\",\"so_far_ns\":800}]}]}");
	has(f, "\"open\":{\"count\":1,\"longest\":[{\"pid\":42,\"tid\":44,\"event\":true,");
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notes_are_their_processes),
		cmocka_unit_test(parts_that_are_off_are_told),
		cmocka_unit_test(a_share_lies_between_its_bounds),
		cmocka_unit_test(quantiles_are_of_their_share),
		cmocka_unit_test(native_time_is_divided),
		cmocka_unit_test(what_has_not_ended_says_why_or_that_it_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
