/* SPDX-License-Identifier: BSD-2-Clause */
/* Events that had not ended: counted, the longest ones kept, by name, in no sum. */
#include "sim.h"
#include "sink_fixture.h"

#include "model/snapshot.h"
#include "sink/summary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum {
	COMP = 1,
	LABEL = 7,
	TID = 9
};

static struct model *model_with_names(const struct model_config *config)
{
	struct model *m = model_new(config);
	u32 group = 1;

	assert_non_null(m);
	sim_start(m, "test");
	sim_define(m, SIM_PID, VMSPAN_DEF_GROUP, 1, VMSPAN_ADDON, "x", NULL, 0);
	sim_define(m, SIM_PID, VMSPAN_DEF_COMPARTMENT, COMP, 0, "outer", &group, 1);
	sim_define(m, SIM_PID, VMSPAN_DEF_LABEL, LABEL, 0, "turn", NULL, 0);
	return m;
}

static struct item open_for(u64 ns)
{
	return (struct item){ .type = ITEM_UNFINISHED,
			      .unfinished = { .pid = SIM_PID,
					      .tid = TID,
					      .registry = SIM_REGISTRY,
					      .why = UNFINISHED_TRACE,
					      .event = true,
					      .label = LABEL,
					      .begin_ns = 2000,
					      .until_ns = 2000 + ns,
					      .depth = 2,
					      .stay_count = 2,
					      .stay = { COMP, VMSPAN_ID_GC },
					      .stay_ns = { 2000, 2000 + ns / 2 } } };
}

static void it_has_the_names_of_where_it_was(void **state)
{
	const struct model_config config = { .cycles_hz = 1000000000 };
	struct model *m = model_with_names(&config);
	struct item it = open_for(100);
	const struct model_unfinished *u;
	struct snapshot *s;

	(void)state;
	assert_int_equal(model_item(m, &it), 0);
	s = snapshot_take(m);
	model_free(m);
	assert_non_null(s);
	assert_int_equal(s->unfinished_count, 1);
	assert_int_equal(s->unfinished_kept, 1);
	u = s->unfinished;
	assert_string_equal(u->label, "turn");
	assert_string_equal(u->group, "addon:x");
	assert_int_equal(u->for_ns, 100);
	assert_string_equal(u->stay[0].name, "outer");
	assert_string_equal(u->stay[1].name, "(collection)");
	assert_int_equal(u->stay[1].for_ns, 50);
	assert_int_equal(s->events.count, 0);
	assert_int_equal(s->ledger.event_wall_ns, 0);
	snapshot_free(s);
}

static void the_longest_are_kept_longest_first(void **state)
{
	const struct model_config config = { .cycles_hz = 1000000000 };
	struct model *m = model_with_names(&config);
	struct snapshot *before, *s, *since;
	struct item it;
	u64 i;

	(void)state;
	for (i = 1; i <= 100; i++) {
		it = open_for(i * 37 % 101); /* each of 1 to 100, in some order */
		assert_int_equal(model_item(m, &it), 0);
	}
	before = snapshot_take(m);
	it = open_for(1000);
	assert_int_equal(model_item(m, &it), 0);
	s = snapshot_take(m);
	assert_non_null(before);
	assert_non_null(s);
	assert_int_equal(s->unfinished_count, 101);
	assert_int_equal(s->unfinished[0].for_ns, 1000);
	for (i = 1; i < s->unfinished_kept; i++)
		assert_int_equal(s->unfinished[i].for_ns, 101 - i);
	since = snapshot_delta(s, before);
	assert_non_null(since);
	assert_int_equal(since->unfinished_count, 1);
	assert_int_equal(since->unfinished_kept, 1);
	assert_int_equal(since->unfinished[0].for_ns, 1000);
	snapshot_free(since);
	snapshot_free(s);
	snapshot_free(before);
	model_free(m);
}

static void one_of_another_time_is_not_told(void **state)
{
	const struct model_config config = { .cycles_hz = 1000000000, .from_ns = 5000 };
	struct model *m = model_with_names(&config);
	struct item it = open_for(100);
	struct snapshot *s;

	(void)state;
	assert_int_equal(model_item(m, &it), 0);
	s = snapshot_take(m);
	assert_non_null(s);
	assert_int_equal(s->unfinished_count, 0);
	snapshot_free(s);
	model_free(m);
}

static void a_sentence_says_it(void **state)
{
	struct model_unfinished u[2] = { { .for_ns = 5010000000, .group = "addon:x" },
					 { .for_ns = 1, .group = "" } };
	struct snapshot s = { .unfinished = u };
	struct out o;
	char *text;

	(void)state;
	out_open_memory(&o);
	summary_unfinished(&o, &s);
	s.unfinished_count = s.unfinished_kept = 1;
	summary_unfinished(&o, &s);
	s.unfinished_count = 2;
	summary_unfinished(&o, &s);
	u[0].group = "";
	summary_unfinished(&o, &s);
	text = fixture_text(&o);
	assert_string_equal(text, "; 1 event had not ended: 5.01 s so far in addon:x"
				  "; 2 events had not ended: at most 5.01 s so far in addon:x"
				  "; 2 events had not ended: at most 5.01 s so far");
	free(text);
	/* And of those that go on. */
	s = (struct snapshot){ .open = u };
	out_open_memory(&o);
	summary_open(&o, &s);
	s.open_count = s.open_kept = 1;
	u[0].group = "addon:x";
	summary_open(&o, &s);
	s.open_count = 2;
	summary_open(&o, &s);
	text = fixture_text(&o);
	assert_string_equal(text, "; 1 event goes on: 5.01 s so far in addon:x"
				  "; 2 events go on: at most 5.01 s so far in addon:x");
	free(text);
}

static void what_makes_no_sense_is_no_item(void **state)
{
	struct item_unfinished good = open_for(100).unfinished, bad;

	(void)state;
	assert_true(unfinished_is_sound(&good));
	bad = good, bad.why = (enum unfinished_why)0;
	assert_false(unfinished_is_sound(&bad));
	bad = good, bad.why = (enum unfinished_why)5;
	assert_false(unfinished_is_sound(&bad));
	bad = good, bad.begin_ns = bad.until_ns + 1;
	assert_false(unfinished_is_sound(&bad));
	bad = good, bad.stay_count = UNFINISHED_STAYS + 1;
	assert_false(unfinished_is_sound(&bad));
	bad = good, bad.depth = 1;
	assert_false(unfinished_is_sound(&bad));
	bad = good, bad.stay_ns[0] = bad.begin_ns - 1;
	assert_false(unfinished_is_sound(&bad));
	bad = good, bad.stay_ns[1] = bad.until_ns + 1;
	assert_false(unfinished_is_sound(&bad));
	bad = good, bad.stay_ns[0] = bad.stay_ns[1] + 1;
	assert_false(unfinished_is_sound(&bad));
	bad = good, bad.stay_count = 0;
	assert_true(unfinished_is_sound(&bad));
	bad.event = false;
	assert_false(unfinished_is_sound(&bad));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_the_names_of_where_it_was),
		cmocka_unit_test(the_longest_are_kept_longest_first),
		cmocka_unit_test(one_of_another_time_is_not_told),
		cmocka_unit_test(a_sentence_says_it),
		cmocka_unit_test(what_makes_no_sense_is_no_item),
	};

	return cmocka_run_group_tests_name("unfinished", tests, NULL, NULL);
}
