/* SPDX-License-Identifier: BSD-2-Clause */
/* Comparing snapshots: chance is not told, growth is. And conditions. */
#include "sink_fixture.h"
#include "sink/compare.h"
#include "sink/condition.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static u32 seed;

static u32 draw(u32 below)
{
	seed = seed * 1664525 + 1013904223;
	return (u32)(((u64)seed * below) >> 32);
}

/* n events around `middle` ns, a quarter either way; each `every`th takes
 * 100 ms (0: none). */
static struct fixture *noisy(u64 middle, u32 n, u32 every)
{
	struct fixture *f = fixture_new(1);
	struct group_stats *s = &f->s.groups[0].stats;
	u32 i;

	f->s.groups[f->s.group_count++] = (struct snapshot_group){ .id = 1, .name = "addon:a" };
	for (i = 1; i <= n; i++) {
		u64 ns = every && i % every == 0 ? 100 * MS
						 : middle * 3 / 4 + draw((u32)(middle / 2));

		assert_int_equal(hist_add(&s->hist, ns), 0);
		s->events++;
		s->wall_ns += ns;
		s->max_ns = max_u64(s->max_ns, ns);
		s->durations[6] += ns > 64 * MS;
	}
	return f;
}

static enum change compared(struct fixture *a, struct fixture *b)
{
	struct view v = { 0 };
	struct comparison of = { .before.s = &a->s, .after.s = &b->s };
	enum change c;

	assert_int_equal(compare(&of, &v), 0);
	assert_int_equal(of.count, 1);
	c = of.rows[0].change;
	compare_free(&of);
	fixture_free(a);
	fixture_free(b);
	return c;
}

/* |z| >= 3 comes once in 370 by chance: of 200 pairs more than seven have it once in ten
 * million draws. */
static void noise_is_not_told(void **state)
{
	u32 i, told = 0;

	(void)state;
	for (i = 1; i <= 200; i++) {
		struct fixture *a, *b;

		seed = i;
		a = noisy(MS, 200, 0);
		b = noisy(MS, 200, 0);
		told += compared(a, b) != CHANGE_SAME;
	}
	assert_true(told <= 7);
}

static void growth_is_told_both_ways(void **state)
{
	(void)state;
	seed = 1;
	assert_int_equal(compared(noisy(MS, 400, 0), noisy(MS * 11 / 10, 400, 0)), CHANGE_SLOWER);
	assert_int_equal(compared(noisy(MS * 11 / 10, 400, 0), noisy(MS, 400, 0)), CHANGE_FASTER);
	/* Real, but too little to matter. */
	assert_int_equal(compared(noisy(MS, 50000, 0), noisy(MS * 102 / 100, 50000, 0)),
			 CHANGE_SAME);
	/* Too few to tell. */
	assert_int_equal(compared(noisy(MS, 7, 0), noisy(MS * 9, 7, 0)), CHANGE_SAME);
}

/* One event in fifty does not move the ranks; it is what people feel. */
static void more_long_events_are_told(void **state)
{
	(void)state;
	seed = 1;
	assert_int_equal(compared(noisy(MS, 2000, 0), noisy(MS, 2000, 50)), CHANGE_SLOWER);
	assert_int_equal(compared(noisy(MS, 2000, 50), noisy(MS, 2000, 50)), CHANGE_SAME);
}

/* Two long ones of ten, after five of two thousand: that a build fails for that is chance. */
static void a_handful_of_events_has_no_share_of_long_ones(void **state)
{
	(void)state;
	seed = 1;
	assert_int_equal(compared(noisy(MS, 2000, 400), noisy(MS, 10, 5)), CHANGE_SAME);
	assert_int_equal(compared(noisy(MS, 10, 5), noisy(MS, 2000, 400)), CHANGE_SAME);
}

/* Most events a fifth longer, but fewer of the long ones: who reads "slower" beside a mean
 * that fell believes neither. */
static void what_took_less_in_all_is_not_slower(void **state)
{
	(void)state;
	seed = 1;
	assert_int_equal(compared(noisy(MS, 200, 0), noisy(MS * 12 / 10, 200, 0)), CHANGE_SLOWER);
	assert_int_equal(compared(noisy(MS, 200, 50), noisy(MS * 12 / 10, 200, 100)), CHANGE_SAME);
	assert_int_equal(compared(noisy(MS * 12 / 10, 200, 100), noisy(MS, 200, 50)), CHANGE_SAME);
}

static void groups_on_one_side_only(void **state)
{
	struct fixture *a = fixture_demo(), *b = fixture_new(1);
	struct view v = { .glob = "addon:*" };
	struct comparison c = { .before = { &a->s, "old" }, .after = { &b->s, "new" } };
	struct out o;
	struct json j;
	char *text;

	(void)state;
	fixture_group(b, "addon:new", "addon", 3, MS);
	fixture_group(b, "page:new", "page", 3, MS); /* the glob leaves it out */
	assert_int_equal(compare(&c, &v), 0);
	assert_int_equal(c.count, 2);
	assert_string_equal(c.rows[0].name, "addon:new");
	assert_int_equal(c.rows[0].change, CHANGE_NEW);
	assert_string_equal(c.rows[1].name, "addon:tracker");
	assert_int_equal(c.rows[1].change, CHANGE_GONE);
	out_open_memory(&o);
	json_open(&j, &o);
	compare_json(&j, &c);
	text = fixture_text(&o);
	assert_non_null(strstr(text, "\"name\":\"addon:new\",\"change\":\"new\""));
	assert_non_null(strstr(text, "\"before\":null"));
	dump("comparison", text);
	free(text);
	compare_free(&c);
	fixture_free(a);
	fixture_free(b);
}

/* Every figure below its own title, of its own side; a quantile is its bucket's edge. */
static void the_table_has_both_sides(void **state)
{
	static const char want[] =
		"old -> new: nothing is slower\n\n"
		"GROUP          CHANGE       MEAN      AFTER        P50      AFTER        P99      "
		"AFTER   >64ms   AFTER\n"
		"addon:new      new             -    1.00 ms          -    1.00 ms          -    "
		"1.00 ms       0       0\n"
		"page:shop      same      2.00 ms    21.0 ms    2.00 ms    8.13 ms    2.00 ms    "
		"70.0 ms       0       1\n"
		"addon:tracker  gone       200 ms          -     200 ms          -     200 ms      "
		"    "
		"-       3       0\n"
		"\ntime by event; \"same\" is also what may be chance\n";
	struct fixture *a = fixture_demo(), *b = fixture_new(2);
	struct snapshot_group *g;
	struct view v = { 0 };
	struct comparison c = { .before = { &a->s, "old" }, .after = { &b->s, "new" } };
	struct out o;
	char *text;

	(void)state;
	fixture_group(b, "addon:new", "addon", 3, MS);
	g = fixture_group(b, "page:shop", "page", 4, 8 * MS);
	assert_int_equal(hist_add(&g->stats.hist, 70 * MS), 0);
	g->stats.events = 5;
	g->stats.wall_ns = 105 * MS;
	g->stats.max_ns = 70 * MS;
	g->stats.durations[6] = 1;
	assert_int_equal(compare(&c, &v), 0);
	assert_int_equal(c.count, 3);
	out_open_memory(&o);
	compare_text(&o, &c);
	text = fixture_text(&o);
	assert_string_equal(text, want);
	free(text);
	compare_free(&c);
	fixture_free(a);
	fixture_free(b);
}

/* What is not shown is counted all the same, and what lacks something says so. */
static void what_is_left_out_is_told(void **state)
{
	struct fixture *a = fixture_new(1), *b = fixture_new(1);
	struct view v = { .limit = 1 };
	struct comparison c = { .before = { &a->s, "old" }, .after = { &b->s, "new" } };
	struct snapshot_group *g;
	struct out o;
	struct json j;
	char *text;
	u32 i;

	(void)state;
	for (i = 0; i < 2; i++) {
		fixture_group(a, i ? "addon:b" : "addon:a", "addon", 1000, MS);
		g = fixture_group(b, i ? "addon:b" : "addon:a", "addon", 1000, 100 * MS);
		g->stats.durations[6] = 1000;
	}
	b->s.losses.records[LOSS_RING_FULL] = 7;
	assert_int_equal(compare(&c, &v), 0);
	assert_int_equal(c.shown, 1);
	assert_int_equal(c.slower, 2);
	out_open_memory(&o);
	compare_text(&o, &c);
	text = fixture_text(&o);
	assert_int_equal(strncmp(text,
				 "old -> new: 2 groups slower\n"
				 "new: INCOMPLETE: 7 records lost\n\nGROUP",
				 66),
			 0);
	assert_non_null(strstr(text, "1 of 2 groups shown\n"));
	free(text);
	out_open_memory(&o);
	json_open(&j, &o);
	compare_json(&j, &c);
	text = fixture_text(&o);
	assert_non_null(strstr(text, "\"before_complete\":true,\"after_complete\":false,"));
	assert_non_null(strstr(text, "\"slower\":2}"));
	free(text);
	compare_free(&c);
	fixture_free(a);
	fixture_free(b);
}

static void ranks_know_order_and_ties(void **state)
{
	struct hist a = { 0 }, b = { 0 };
	double odds;
	u32 i;

	(void)state;
	assert_true(compare_ranks(&a, &b, &odds) == 0);
	for (i = 0; i < 20; i++) {
		assert_int_equal(hist_add(&a, 1000), 0);
		assert_int_equal(hist_add(&b, 1000), 0);
	}
	assert_true(compare_ranks(&a, &b, &odds) == 0 && odds == 0.5);
	for (i = 0; i < 20; i++)
		assert_int_equal(hist_add(&b, 2000), 0);
	/* By hand: U = 600, its mean 400, its variance 2711.9. */
	assert_true(compare_ranks(&a, &b, &odds) > 3.84 && compare_ranks(&a, &b, &odds) < 3.85);
	assert_true(odds == 0.75);
	assert_true(compare_ranks(&b, &a, &odds) < -3.84);
	assert_true(odds == 0.25);
	hist_free(&a);
	hist_free(&b);
}

/* ---- Conditions ---- */

static u32 holds(const char *text, const struct snapshot *s)
{
	struct condition c;
	struct err e = { 0 };
	u32 at = 0, n = 0;
	u64 v;

	assert_int_equal(condition_parse(text, &c, &e), 0);
	while (condition_next(&c, s, &at, &v))
		n++;
	return n;
}

static void conditions_hold_for_the_groups_that_match(void **state)
{
	struct fixture *f = fixture_demo(); /* shop: 5 of 2 ms; tracker: 3 of 200 ms */

	(void)state;
	assert_int_equal(holds("addon:* p99 > 10ms", &f->s), 1);
	assert_int_equal(holds("* max > 10ms", &f->s), 1);
	assert_int_equal(holds("* max >= 2ms", &f->s), 2);
	assert_int_equal(holds("page:* max > 2ms", &f->s), 0);
	assert_int_equal(holds("page:* max <= 2ms", &f->s), 1);
	assert_int_equal(holds("shop events < 6", &f->s), 1);
	assert_int_equal(holds("* jank >= 3", &f->s), 1);
	assert_int_equal(holds("none:* max > 0s", &f->s), 0);
	fixture_free(f);
}

/* What the hint says of jank: longer than 64 ms. */
static void a_condition_on_long_events_leaves_out_shorter_ones(void **state)
{
	struct fixture *f = fixture_new(2);

	(void)state;
	fixture_group(f, "addon:a", "addon", 3, 64 * MS);
	assert_int_equal(holds("* jank > 0", &f->s), 0);
	fixture_group(f, "addon:b", "addon", 4, 64 * MS + 1);
	assert_int_equal(holds("* jank > 0", &f->s), 1);
	assert_int_equal(holds("* jank > 3", &f->s), 1);
	assert_int_equal(holds("* jank > 4", &f->s), 0);
	fixture_free(f);
}

static void conditions_that_make_no_sense_are_refused(void **state)
{
	static const char *const bad[] = { "",
					   "addon:*",
					   "addon:* p99 >",
					   "addon:* p99 10ms",
					   "addon:* p98 > 10ms",
					   "addon:* p99 = 10ms",
					   "addon:* p99 >> 10ms",
					   "addon:* p99 > soon",
					   "addon:* jank > 10ms",
					   "addon:[ p99 > 10ms",
					   "addon:* p99 > 10ms and more" };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct condition c;
		struct err e = { 0 };

		assert_int_equal(condition_parse(bad[i], &c, &e), -EINVAL);
		assert_int_equal(err_status(&e), EXIT_USAGE);
		assert_non_null(strstr(e.what, "--fail-if"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(noise_is_not_told),
		cmocka_unit_test(growth_is_told_both_ways),
		cmocka_unit_test(more_long_events_are_told),
		cmocka_unit_test(a_handful_of_events_has_no_share_of_long_ones),
		cmocka_unit_test(what_took_less_in_all_is_not_slower),
		cmocka_unit_test(groups_on_one_side_only),
		cmocka_unit_test(the_table_has_both_sides),
		cmocka_unit_test(what_is_left_out_is_told),
		cmocka_unit_test(ranks_know_order_and_ties),
		cmocka_unit_test(conditions_hold_for_the_groups_that_match),
		cmocka_unit_test(a_condition_on_long_events_leaves_out_shorter_ones),
		cmocka_unit_test(conditions_that_make_no_sense_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
