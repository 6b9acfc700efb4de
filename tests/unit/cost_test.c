/* SPDX-License-Identifier: BSD-2-Clause */
/* What being traced has taken: of totals each view has the part that is its own. */
#include "sim.h"
#include "sink_fixture.h"

#include "model/snapshot.h"
#include "sink/summary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void say(struct model *m, u64 marks, u64 traps, u64 cpu_ns, u64 clock)
{
	struct item it = { .type = ITEM_COST, .cost = { marks, traps, cpu_ns } };

	assert_int_equal(model_item(m, &it), 0);
	if (!clock)
		return;
	it = (struct item){ .type = ITEM_CLOCK, .clock = { clock, clock, clock } };
	assert_int_equal(model_item(m, &it), 0);
}

/* Five seconds; each second of them a hundred marks, ten traps and a thousand ns more than the one before. */
static struct snapshot *of_range(u64 from, u64 to, u64 had_gone)
{
	struct model_config config = { .cycles_hz = NSEC_PER_SEC,
				       .from_ns = from * NSEC_PER_SEC,
				       .to_ns = to * NSEC_PER_SEC };
	struct model *m = model_new(&config);
	struct snapshot *s;
	u64 i, n = 0;

	assert_non_null(m);
	sim_start(m, "test");
	say(m, had_gone, had_gone, had_gone, 0);
	for (i = 1; i <= 5; i++) {
		n += i;
		say(m, had_gone + 100 * n, had_gone + 10 * n, had_gone + 1000 * n,
		    i * NSEC_PER_SEC + 1);
	}
	s = snapshot_take(m);
	model_free(m);
	assert_non_null(s);
	return s;
}

static void is(struct snapshot *s, u64 n)
{
	assert_int_equal(s->cost.marks, 100 * n);
	assert_int_equal(s->cost.traps, 10 * n);
	assert_int_equal(s->cost.cpu_ns, 1000 * n);
	snapshot_free(s);
}

static void of_a_range_its_part_is_told(void **state)
{
	(void)state;
	is(of_range(0, 0, 0), 1 + 2 + 3 + 4 + 5);
	is(of_range(2, 0, 0), 3 + 4 + 5);
	is(of_range(0, 2, 0), 1 + 2);
	is(of_range(1, 3, 0), 2 + 3);
	is(of_range(9, 0, 0), 0);
}

/* Where a recording begins in the middle. */
static void what_had_gone_before_is_not(void **state)
{
	(void)state;
	is(of_range(0, 0, 5000), 1 + 2 + 3 + 4 + 5);
	is(of_range(1, 3, 5000), 2 + 3);
}

static void since_a_moment(void **state)
{
	const struct model_config config = { .cycles_hz = NSEC_PER_SEC };
	struct model *m = model_new(&config);
	struct snapshot *then, *now, *since;
	struct buf packed = { 0 };

	(void)state;
	assert_non_null(m);
	sim_start(m, "test");
	say(m, 0, 0, 0, 2);
	say(m, 300, 30, 3000, 3);
	then = snapshot_take(m);
	say(m, 500, 50, 5000, 4);
	now = snapshot_take(m);
	assert_non_null(then);
	assert_non_null(now);
	since = snapshot_delta(now, then);
	assert_non_null(since);
	is(since, 2);
	assert_int_equal(snapshot_pack(then, &packed), 0);
	assert_int_equal(snapshot_since(now, &packed), 0);
	is(now, 2);
	/* One that goes back takes nothing away. */
	say(m, 1, 1, 1, 5);
	now = snapshot_take(m);
	assert_non_null(now);
	since = snapshot_delta(now, then);
	assert_non_null(since);
	is(since, 0);
	snapshot_free(now);
	snapshot_free(then);
	buf_free(&packed);
	model_free(m);
}

static void a_sentence_says_it(void **state)
{
	static const struct item_cost costs[] = {
		{ 0, 0, 0 }, { 1234567, 312, 26100000 }, { 1, 0, 40 }, { 0, 1, 1200 }
	};
	struct out o;
	char *text;
	u32 i;

	(void)state;
	out_open_memory(&o);
	for (i = 0; i < 4; i++) {
		struct snapshot s = { .cost = costs[i] };

		assert_int_equal(summary_cost(&o, &s), i > 0);
		out_puts(&o, ";");
	}
	text = fixture_text(&o);
	assert_string_equal(text,
			    ";marking took about 26.1 ms of CPU time: 1,234,567 marks, 312 traps;"
			    "marking took about 40 ns of CPU time: 1 mark;"
			    "marking took about 1.20 us of CPU time: 1 trap;");
	free(text);
}

/* For what events lack data is said of each cause, and of how many. */
static void why_events_lack_data_is_said(void **state)
{
	static const struct {
		u64 missing[MISSING_CAUSES], stolen;
		const char *said;
	} cases[] = {
		{ { [MISSING_RECORDS] = 9 }, 0, "records of them are missing" },
		{ { [MISSING_PART] = 9 }, 0, "a part of the trace was off in them" },
		{ { [MISSING_SWITCHES] = 9 }, 0, "the scheduler's record does not cover them" },
		{ { [MISSING_SENSE] = 9 }, 0, "times of them make no sense" },
		{ { [MISSING_CPU] = 9 }, 0, "a hypervisor took CPU time from them" },
		{ { [MISSING_CPU] = 9 }, 7, "a hypervisor took 7 ns of their CPU time" },
		{ { [MISSING_RECORDS] = 1,
		    [MISSING_PART] = 2,
		    [MISSING_SWITCHES] = 3,
		    [MISSING_CPU] = 1,
		    [MISSING_SENSE] = 2 },
		  7,
		  "records of 1 are missing; a part of the trace was off in 2; the scheduler's "
		  "record does not cover 3; times of 2 make no sense; a hypervisor took 7 ns of "
		  "their CPU time" },
	};
	char want[400];
	struct out o;
	char *text;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct snapshot s = { .events = { .count = 20, .incomplete = 9 },
				      .repairs = { .stolen_ns = cases[i].stolen,
						   .stolen_lacks_ns = cases[i].stolen } };

		memcpy(s.events.missing, cases[i].missing, sizeof(s.events.missing));
		out_open_memory(&o);
		summary_complete(&o, &s);
		text = fixture_text(&o);
		snprintf(want, sizeof(want), "INCOMPLETE: 9 of 20 events lack data (%s)",
			 cases[i].said);
		assert_string_equal(text, want);
		free(text);
	}
}

/* Where events lack data for what was stolen, that is the cause; else it is worth a word from a thousandth of them on. */
static void what_is_lacking_and_what_was_stolen_is_said(void **state)
{
	static const struct {
		u64 stolen, lacks, incomplete, lost;
		u32 left_out;
		const char *said;
	} cases[] = {
		{ 0, 0, 0, 0, 0, "complete" },
		{ 1000, 0, 0, 0, 0, "complete" },
		{ 1001, 0, 0, 0, 0, "complete (a hypervisor took 1.00 us of CPU time)" },
		{ 7, 7, 1, 0, 0,
		  "INCOMPLETE: 1 of 1 events lack data (a hypervisor took 7 ns of their CPU "
		  "time)" },
		{ 2007, 7, 1, 3, 0,
		  "INCOMPLETE: 1 of 1 events lack data (a hypervisor took 7 ns of their CPU time), "
		  "3 records lost; a hypervisor took 2.00 us of CPU time" },
		/* They lack it for another reason. */
		{ 7, 0, 1, 0, 0, "INCOMPLETE: 1 of 1 events lack data" },
		{ 1001, 0, 1, 0, 0,
		  "INCOMPLETE: 1 of 1 events lack data; a hypervisor took 1.00 us of CPU time" },
		{ 1001, 0, 0, 1, 0,
		  "INCOMPLETE: 1 record lost; a hypervisor took 1.00 us of CPU time" },
		{ 0, 0, 0, 0, 1, "INCOMPLETE: 1 process left out, in whole or in part" },
		{ 1001, 0, 0, 2, 3,
		  "INCOMPLETE: 2 records lost, 3 processes left out, in whole or in part; "
		  "a hypervisor took 1.00 us of CPU time" },
	};
	struct out o;
	char *text;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct snapshot s = { .events = { .count = 1,
						  .wall_ns = 1000000,
						  .incomplete = cases[i].incomplete },
				      .repairs = { .stolen_ns = cases[i].stolen,
						   .stolen_lacks_ns = cases[i].lacks },
				      .losses.records[0] = cases[i].lost,
				      .left_out = cases[i].left_out };

		out_open_memory(&o);
		summary_complete(&o, &s);
		text = fixture_text(&o);
		assert_string_equal(text, cases[i].said);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_range_its_part_is_told),
		cmocka_unit_test(what_had_gone_before_is_not),
		cmocka_unit_test(since_a_moment),
		cmocka_unit_test(a_sentence_says_it),
		cmocka_unit_test(why_events_lack_data_is_said),
		cmocka_unit_test(what_is_lacking_and_what_was_stolen_is_said),
	};

	return cmocka_run_group_tests_name("cost", tests, NULL, NULL);
}
