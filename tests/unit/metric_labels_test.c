/* SPDX-License-Identifier: BSD-2-Clause */
/* Labels of groups: bounded, the heaviest have them, and each thing is counted once. */
#include "seed.h"
#include "sink/metric_labels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS NSEC_PER_MSEC
#define MINUTE (60 * NSEC_PER_SEC)
#define TOTALS 2

/* The group has come to so much, and to as many events. */
static void add(struct labels *l, const char *name, u64 wall, u64 events)
{
	assert_int_equal(labels_add(l, name, "addon", (u64[]){ wall, events }, wall), 0);
}

static const struct label *label(const struct labels *l, const char *name)
{
	const struct label *list;
	u32 n = labels_shown(l, &list), i;

	for (i = 0; i < n; i++)
		if (!strcmp(list[i].name, name))
			return &list[i];
	return NULL;
}

static u64 counted(const struct labels *l, const char *name)
{
	assert_non_null(label(l, name));
	return label(l, name)->counts[0];
}

static void who_was_charged_most_lately_has_a_label(void **state)
{
	struct labels *l = labels_new(2, TOTALS);

	(void)state;
	add(l, "small", 1 * MS, 1);
	add(l, "large", 900 * MS, 1);
	add(l, "middle", 500 * MS, 1);
	assert_int_equal(labels_round(l, 1 * MINUTE), 0);
	assert_int_equal(counted(l, "large"), 900 * MS);
	assert_int_equal(counted(l, "middle"), 500 * MS);
	assert_int_equal(counted(l, LABEL_OTHER), 1 * MS);
	assert_null(label(l, "small"));
	/* An hour later the small one is the one that runs: what it was charged before stays where it
	 * was counted. */
	add(l, "small", 801 * MS, 9);
	add(l, "large", 900 * MS, 1);
	add(l, "middle", 500 * MS, 1);
	assert_int_equal(labels_round(l, 61 * MINUTE), 0);
	assert_int_equal(counted(l, "small"), 800 * MS);
	assert_int_equal(label(l, "small")->counts[1], 8);
	assert_int_equal(counted(l, "large"), 900 * MS);
	assert_int_equal(counted(l, LABEL_OTHER), 1 * MS);
	assert_null(label(l, "middle"));
	/* The one that had to make room comes back, and goes on where it was. */
	add(l, "small", 801 * MS, 9);
	add(l, "large", 900 * MS, 1);
	add(l, "middle", 9500 * MS, 5);
	assert_int_equal(labels_round(l, 121 * MINUTE), 0);
	assert_int_equal(counted(l, "middle"), 9500 * MS);
	assert_int_equal(label(l, "middle")->counts[1], 5);
	assert_int_equal(counted(l, LABEL_OTHER), 1 * MS);
	labels_free(l);
}

/* Two that are about equal do not take turns, and a little that is new moves nobody. */
static void who_is_hardly_heavier_waits(void **state)
{
	struct labels *l = labels_new(1, TOTALS);

	(void)state;
	add(l, "a", 100 * MS, 1);
	add(l, "b", 90 * MS, 1);
	assert_int_equal(labels_round(l, 1), 0);
	add(l, "a", 100 * MS, 1);
	add(l, "b", 201 * MS, 1); /* twice as much and a millisecond */
	assert_int_equal(labels_round(l, 2), 0);
	assert_non_null(label(l, "a"));
	add(l, "a", 100 * MS, 1);
	add(l, "b", 202 * MS, 1);
	assert_int_equal(labels_round(l, 3), 0);
	/* It is a new one, and there was one within the hour. */
	assert_non_null(label(l, "a"));
	add(l, "a", 100 * MS, 1);
	add(l, "b", 203 * MS, 1);
	assert_int_equal(labels_round(l, LABEL_HOUR_NS + 3), 0);
	assert_null(label(l, "a"));
	assert_int_equal(counted(l, "b"), 1 * MS);
	assert_int_equal(counted(l, LABEL_OTHER), 202 * MS);
	labels_free(l);
}

/* An alert may come before its group has any figure. */
static void what_is_counted_singly_is_counted_once(void **state)
{
	struct labels *l = labels_new(1, TOTALS);
	u32 i;

	(void)state;
	assert_int_equal(labels_count(l, "a", TOTALS), 0);
	add(l, "a", 100 * MS, 1);
	add(l, "b", 10 * MS, 1);
	for (i = 1; i < 4; i++) {
		assert_int_equal(labels_count(l, "a", TOTALS), 0);
		assert_int_equal(labels_count(l, "b", TOTALS + 1), 0);
		assert_int_equal(labels_round(l, i), 0);
		assert_int_equal(label(l, "a")->counts[TOTALS], 1 + i);
		assert_int_equal(label(l, LABEL_OTHER)->counts[TOTALS + 1], i);
	}
	labels_free(l);
}

static void groups_of_one_name_are_one(void **state)
{
	struct labels *l = labels_new(2, TOTALS);

	(void)state;
	add(l, "a", 10 * MS, 1);
	add(l, "a", 30 * MS, 2);
	assert_int_equal(labels_round(l, 1), 0);
	assert_int_equal(counted(l, "a"), 40 * MS);
	assert_int_equal(label(l, "a")->max_ns, 30 * MS);
	assert_null(label(l, LABEL_OTHER));
	labels_free(l);
}

/* ---- Whoever comes and goes ---- */

#define GROUPS 300
#define LIMIT 10
#define ROUNDS 2000

struct world {
	char names[GROUPS + 1][16];
	u64 totals[GROUPS]; /* what each has come to */
	u64 seen[GROUPS + 1]; /* what its label said last; the last is "(other)" */
	bool ever[GROUPS];
};

static u32 number_of(const struct world *w, const char *name)
{
	u32 i = 0;

	while (strcmp(w->names[i], name))
		i++;
	return i;
}

/* What all labels have counted since the last round; none has fallen. */
static u64 read_labels(struct world *w, const struct labels *l)
{
	const struct label *list;
	u32 n = labels_shown(l, &list), i;
	u64 sum = 0;

	assert_true(n <= LIMIT + 1);
	for (i = 0; i < n; i++) {
		u32 at = number_of(w, list[i].name);

		assert_true(list[i].counts[0] >= w->seen[at]);
		sum += list[i].counts[0] - w->seen[at];
		w->seen[at] = list[i].counts[0];
		if (at < GROUPS)
			w->ever[at] = true;
	}
	return sum;
}

/* Prometheus adds up what it sees: each nanosecond is there once, and there are no more names than
 * an hour has room for. */
static void all_is_counted_once_whoever_comes_and_goes(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct labels *l = labels_new(LIMIT, TOTALS);
	u64 ns = 0, sum;
	u32 round, i, k, ever = 0;

	(void)state;
	assert_true(w && l);
	seed_random(1);
	for (i = 0; i < GROUPS; i++)
		snprintf(w->names[i], sizeof(w->names[i]), "g%u", i);
	strcpy(w->names[GROUPS], LABEL_OTHER);
	for (round = 0; round < ROUNDS; round++) {
		u32 busy = (u32)random() % GROUPS;

		ns += (u64)random() % (30 * NSEC_PER_SEC);
		sum = 0;
		for (k = 0; k < 20; k++) {
			u64 more = (u64)random() % (k ? 10 * MS : 1000 * MS);

			i = k ? (u32)random() % GROUPS : busy - busy % 50;
			w->totals[i] += more;
			sum += more;
		}
		for (i = 0; i < GROUPS; i++)
			if (w->totals[i])
				add(l, w->names[i], w->totals[i], 1);
		assert_int_equal(labels_round(l, ns), 0);
		assert_int_equal(read_labels(w, l), sum);
	}
	for (i = 0; i < GROUPS; i++)
		ever += w->ever[i];
	assert_true(ever > LIMIT);
	assert_true(ever <= LIMIT + ns / (LABEL_HOUR_NS / LIMIT) + 1);
	labels_free(l);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_was_charged_most_lately_has_a_label),
		cmocka_unit_test(who_is_hardly_heavier_waits),
		cmocka_unit_test(what_is_counted_singly_is_counted_once),
		cmocka_unit_test(groups_of_one_name_are_one),
		cmocka_unit_test(all_is_counted_once_whoever_comes_and_goes),
	};

	return cmocka_run_group_tests_name("metric_labels", tests, NULL, NULL);
}
