/* SPDX-License-Identifier: BSD-2-Clause */
/* Labels: bounded, the heaviest have them, who has ended gives them up, and each thing is counted once. */
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

static struct labels *labels_of(u32 limit)
{
	struct labels *l =
		labels_new(&(struct label_rules){ .limit = limit, .totals = TOTALS, .cells = 1 });

	assert_non_null(l);
	labels_begin(l);
	return l;
}

static void add_source(struct labels *l, const struct label_source *s, u64 wall, u64 events)
{
	assert_int_equal(labels_add(l, s, (u64[]){ wall, events }, NULL, wall), 0);
}

/* Of those that never end the name says which one it is. */
static u64 id_of(const char *name)
{
	u64 id = 0;

	while (*name)
		id = id * 31 + (u8)*name++;
	return id % (1ull << 32);
}

/* The group has come to so much, and to as many events. */
static void add(struct labels *l, const char *name, u64 wall, u64 events)
{
	add_source(l, &(struct label_source){ .id = id_of(name), .name = name, .kind = "addon" },
		   wall, events);
}

static void add_ended(struct labels *l, const char *name, u64 wall, u64 events)
{
	add_source(l, &(struct label_source){ .id = id_of(name), .name = name, .ended = true },
		   wall, events);
}

static void end_round(struct labels *l, u64 ns)
{
	assert_int_equal(labels_round(l, ns, NULL), 0);
	labels_begin(l);
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
	return label(l, name)->cells->counts[0];
}

static void who_was_charged_most_lately_has_a_label(void **state)
{
	struct labels *l = labels_of(2);

	(void)state;
	add(l, "small", 1 * MS, 1);
	add(l, "large", 900 * MS, 1);
	add(l, "middle", 500 * MS, 1);
	end_round(l, 1 * MINUTE);
	assert_int_equal(counted(l, "large"), 900 * MS);
	assert_int_equal(counted(l, "middle"), 500 * MS);
	assert_int_equal(counted(l, LABEL_OTHER), 1 * MS);
	assert_null(label(l, "small"));
	/* An hour later the small one is the one that runs: what it was charged before stays where it
	 * was counted. */
	add(l, "small", 801 * MS, 9);
	add(l, "large", 900 * MS, 1);
	add(l, "middle", 500 * MS, 1);
	end_round(l, 61 * MINUTE);
	assert_int_equal(counted(l, "small"), 800 * MS);
	assert_int_equal(label(l, "small")->cells->counts[1], 8);
	assert_int_equal(counted(l, "large"), 900 * MS);
	assert_int_equal(counted(l, LABEL_OTHER), 1 * MS);
	assert_null(label(l, "middle"));
	/* The one that had to make room comes back, and goes on where it was. */
	add(l, "small", 801 * MS, 9);
	add(l, "large", 900 * MS, 1);
	add(l, "middle", 9500 * MS, 5);
	end_round(l, 121 * MINUTE);
	assert_int_equal(counted(l, "middle"), 9500 * MS);
	assert_int_equal(label(l, "middle")->cells->counts[1], 5);
	assert_int_equal(counted(l, LABEL_OTHER), 1 * MS);
	labels_free(l);
}

/* Two that are about equal do not take turns, and a little that is new moves nobody. */
static void who_is_hardly_heavier_waits(void **state)
{
	struct labels *l = labels_of(1);

	(void)state;
	add(l, "a", 100 * MS, 1);
	add(l, "b", 90 * MS, 1);
	end_round(l, 1);
	add(l, "a", 100 * MS, 1);
	add(l, "b", 201 * MS, 1); /* twice as much and a millisecond */
	end_round(l, 2);
	assert_non_null(label(l, "a"));
	add(l, "a", 100 * MS, 1);
	add(l, "b", 202 * MS, 1);
	end_round(l, 3);
	/* It is a new one, and there was one within the hour. */
	assert_non_null(label(l, "a"));
	add(l, "a", 100 * MS, 1);
	add(l, "b", 203 * MS, 1);
	end_round(l, LABEL_HOUR_NS + 3);
	assert_null(label(l, "a"));
	assert_int_equal(counted(l, "b"), 1 * MS);
	assert_int_equal(counted(l, LABEL_OTHER), 202 * MS);
	labels_free(l);
}

/* An alert may come before its group has any figure. */
static void what_is_counted_singly_is_counted_once(void **state)
{
	struct labels *l = labels_of(1);
	u32 i;

	(void)state;
	assert_int_equal(labels_count(l, "a", TOTALS), 0);
	add(l, "a", 100 * MS, 1);
	add(l, "b", 10 * MS, 1);
	for (i = 1; i < 4; i++) {
		assert_int_equal(labels_count(l, "a", TOTALS), 0);
		assert_int_equal(labels_count(l, "b", TOTALS + 1), 0);
		end_round(l, i);
		assert_int_equal(label(l, "a")->cells->counts[TOTALS], 1 + i);
		assert_int_equal(label(l, LABEL_OTHER)->cells->counts[TOTALS + 1], i);
	}
	labels_free(l);
}

static void groups_of_one_name_are_one(void **state)
{
	struct labels *l = labels_of(2);

	(void)state;
	add(l, "a", 10 * MS, 1);
	add(l, "a", 30 * MS, 2);
	end_round(l, 1);
	assert_int_equal(counted(l, "a"), 40 * MS);
	assert_int_equal(label(l, "a")->gauge, 30 * MS);
	assert_null(label(l, LABEL_OTHER));
	labels_free(l);
}

/* ---- Who has ended ---- */

static void who_has_ended_gives_its_label_to_the_first_that_goes_on(void **state)
{
	struct labels *l = labels_of(1);
	u64 ns = 2 * LABEL_HOUR_NS;

	(void)state;
	add(l, "worker", 9000 * MS, 5);
	end_round(l, LABEL_HOUR_NS);
	add(l, "worker", 9000 * MS, 5);
	add(l, "next", 1 * MS, 1);
	end_round(l, ns);
	/* Its last figures are told, and it might be restarted. */
	add_ended(l, "worker", 9500 * MS, 6);
	add(l, "next", 2 * MS, 2);
	end_round(l, ns + LABEL_ENDED_NS - 1);
	assert_int_equal(counted(l, "worker"), 9500 * MS);
	assert_null(label(l, "next"));
	/* Who does nothing does not want it. */
	add_ended(l, "worker", 9500 * MS, 6);
	add(l, "idle", 0, 0);
	end_round(l, ns + LABEL_ENDED_NS);
	assert_non_null(label(l, "worker"));
	add_ended(l, "worker", 9500 * MS, 6);
	add(l, "next", 3 * MS, 3);
	add(l, "idle", 0, 0);
	end_round(l, ns + LABEL_ENDED_NS + 1);
	assert_null(label(l, "worker"));
	assert_int_equal(counted(l, "next"), 3 * MS);
	assert_int_equal(counted(l, LABEL_OTHER), 2 * MS);
	labels_free(l);
}

/* However heavy: what it leaves behind is of no use to who looks for the one that is slow now. */
static void who_has_ended_takes_no_label_from_who_goes_on(void **state)
{
	struct labels *l = labels_of(1);
	u32 i;

	(void)state;
	add(l, "steady", 1 * MS, 1);
	end_round(l, 1);
	for (i = 1; i < 100; i++) {
		add(l, "steady", 1 * MS, 1);
		add_ended(l, "short", i * NSEC_PER_SEC, i);
		end_round(l, i * LABEL_HOUR_NS);
	}
	assert_int_equal(counted(l, "steady"), 1 * MS);
	assert_int_equal(counted(l, LABEL_OTHER), 99 * NSEC_PER_SEC);
	labels_free(l);
}

static void who_has_ended_has_a_label_that_nobody_wants(void **state)
{
	struct labels *l = labels_of(2);
	u32 i;

	(void)state;
	for (i = 1; i < 100; i++) {
		add(l, "steady", i * MS, i);
		add_ended(l, "short", 9 * MS, 1);
		end_round(l, i * LABEL_HOUR_NS);
		assert_int_equal(counted(l, "short"), 9 * MS);
	}
	assert_null(label(l, LABEL_OTHER));
	labels_free(l);
}

/* Who goes on is no lighter than who does not. */
static void who_goes_on_makes_no_room_while_another_has_ended(void **state)
{
	struct labels *l = labels_of(2);

	(void)state;
	add(l, "worker", 9000 * MS, 1);
	add(l, "steady", 1 * MS, 1);
	end_round(l, 1);
	add_ended(l, "worker", 9500 * MS, 1);
	add(l, "steady", 2 * MS, 1);
	add(l, "next", 2 * MS, 1);
	end_round(l, LABEL_HOUR_NS);
	assert_null(label(l, "worker"));
	assert_int_equal(counted(l, "steady"), 2 * MS);
	assert_int_equal(counted(l, "next"), 2 * MS);
	assert_int_equal(counted(l, LABEL_OTHER), 500 * MS);
	labels_free(l);
}

static void who_is_restarted_keeps_its_label(void **state)
{
	const struct label_source old = { .id = 1, .name = "worker", .ended = true };
	struct label_source new = { .id = 2, .name = "worker" };
	struct labels *l = labels_of(1);
	u32 i;

	(void)state;
	add(l, "worker", 1, 1);
	end_round(l, 1);
	for (i = 1; i < 50; i++) {
		add_source(l, &new, i * MS, i);
		add_source(l, &old, 9 * MS, 1);
		add(l, "next", i, i);
		/* Every other time the one has ended and the next is not there yet. */
		new.ended = i & 1;
		end_round(l, i * (LABEL_ENDED_NS - 1));
		assert_int_equal(counted(l, "worker"), (9 + i) * MS + 1);
	}
	labels_free(l);
}

/* What has ended is summed up some day, and its figures are in the sum then. */
static void what_is_summed_up_is_counted_once(void **state)
{
	struct label_source one = { .id = 1, .part = 1, .name = "a", .pool = 7, .heir_part = 5 },
			    other = { .id = 2, .name = "b", .pool = 8 },
			    sum = { .id = 3, .part = 5, .ended = true, .pool = 7 },
			    rest = { .id = 4, .ended = true };
	struct labels *l = labels_of(2);
	struct map heirs = { 0 };

	(void)state;
	assert_int_equal(map_put(&heirs, 7, 3) | map_put(&heirs, 0, 4), 0);
	add_source(l, &one, 10 * MS, 1);
	add_source(l, &other, 100 * MS, 2);
	end_round(l, 1);
	assert_null(label(l, LABEL_OTHER));
	/* Both did more before they ended; of the one nobody keeps a sum of its own. */
	add_source(l, &sum, 13 * MS, 2);
	add_source(l, &rest, 104 * MS, 5);
	assert_int_equal(labels_round(l, 2, &heirs), 0);
	assert_int_equal(counted(l, "a"), 10 * MS);
	assert_int_equal(counted(l, "b"), 100 * MS);
	assert_int_equal(counted(l, LABEL_OTHER), 7 * MS);
	assert_int_equal(label(l, LABEL_OTHER)->cells->counts[1], 4);
	/* The next of that name begins anew. */
	labels_begin(l);
	one.id = 5;
	add_source(l, &one, 2 * MS, 1);
	add_source(l, &sum, 13 * MS, 2);
	add_source(l, &rest, 104 * MS, 5);
	assert_int_equal(labels_round(l, 3, &heirs), 0);
	assert_int_equal(counted(l, "a"), 12 * MS);
	assert_int_equal(counted(l, LABEL_OTHER), 7 * MS);
	map_free(&heirs);
	labels_free(l);
}

/* A container gets its name when it is known, or another one. */
static void who_is_renamed_goes_on_under_the_new_name(void **state)
{
	struct label_source s = { .id = 1, .name = "0123456789ab" };
	struct labels *l = labels_of(2);

	(void)state;
	add_source(l, &s, 10 * MS, 1);
	end_round(l, 1);
	s.name = "web";
	add_source(l, &s, 15 * MS, 2);
	end_round(l, 2);
	assert_int_equal(counted(l, "0123456789ab"), 10 * MS);
	assert_int_equal(counted(l, "web"), 5 * MS);
	labels_free(l);
}

/* Thousands come that had no label and are gone: nothing is kept of them, nor for ever of who had one. */
static void who_is_gone_takes_no_memory(void **state)
{
	struct labels *l = labels_of(1);
	char name[16];
	u32 i, least, ns = 0;

	(void)state;
	add(l, "first", 500 * NSEC_PER_SEC, 1);
	end_round(l, ++ns);
	least = labels_kept(l);
	for (i = 0; i < 50000; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		add_ended(l, name, 1, 1);
		if (i % 10)
			continue;
		add(l, "first", 500 * NSEC_PER_SEC, 1);
		end_round(l, ++ns);
		assert_true(labels_kept(l) < 200);
	}
	add(l, "first", 500 * NSEC_PER_SEC, 1);
	end_round(l, ++ns);
	assert_int_equal(counted(l, "first"), 500 * NSEC_PER_SEC);
	assert_int_equal(counted(l, LABEL_OTHER), 50000);
	/* One that goes on takes it; the first is remembered for a day. */
	add(l, "second", 1 * MS, 1);
	end_round(l, LABEL_HOUR_NS + ns);
	assert_null(label(l, "first"));
	add(l, "second", 1 * MS, 1);
	add_source(l, &(struct label_source){ .id = 1, .name = "first" }, 4 * MS, 1);
	end_round(l, LABEL_KEPT_NS + 1 + ns);
	assert_int_equal(counted(l, "first"), 500 * NSEC_PER_SEC + 4 * MS);
	for (i = 0; i < 100; i++) {
		add(l, "second", (5 + i) * MS, 1);
		end_round(l, LABEL_KEPT_NS + (1 + i) * LABEL_HOUR_NS);
	}
	add(l, "second", 105 * MS, 1);
	add_source(l, &(struct label_source){ .id = 1, .name = "first" }, 220 * MS, 1);
	end_round(l, 6 * LABEL_KEPT_NS);
	assert_int_equal(counted(l, "first"), 220 * MS);
	assert_true(labels_kept(l) <= least + 200);
	labels_free(l);
}

/* ---- Series of a label ---- */

static u64 entries(const struct label *l, u32 cell)
{
	u64 low, high, n = 0;
	u32 i;

	for (i = 0; i < l->cells[cell].hist.len; i++)
		n += hist_bucket(&l->cells[cell].hist, i, &low, &high);
	assert_int_equal(n, l->cells[cell].hist.total);
	return n;
}

static void each_cell_has_its_own(void **state)
{
	const struct label_rules rules = { .limit = 1, .totals = 1, .cells = 3, .weighs = 2 };
	struct label_source s = { .id = 1, .name = "a" }, gone = { .id = 2, .name = "a" },
			    b = { .id = 3, .name = "b" }, sum = { .id = 4, .ended = true };
	struct labels *l = labels_new(&rules);
	struct hist short_ones = { 0 }, long_ones = { 0 };
	struct map heirs = { 0 };
	u32 i;

	(void)state;
	assert_non_null(l);
	assert_int_equal(map_put(&heirs, 0, 4), 0);
	assert_int_equal(hist_add_many(&short_ones, 100, 3), 0);
	assert_int_equal(hist_add_many(&long_ones, 1 * MS, 2), 0);
	for (i = 0; i < 3; i++) {
		labels_begin(l);
		/* Two groups of one kind are one cell. */
		s.cell = s.part = 1;
		assert_int_equal(labels_add(l, &s, (u64[]){ 3 }, &short_ones, 0), 0);
		assert_int_equal(labels_add(l, &s, (u64[]){ 4 }, &long_ones, 0), 0);
		s.cell = s.part = 2;
		assert_int_equal(labels_add(l, &s, (u64[]){ 5 }, &long_ones, 0), 0);
		gone.cell = gone.heir_part = sum.cell = sum.part = 1;
		assert_int_equal(labels_add(l, i ? &sum : &gone, (u64[]){ 6 }, &short_ones, 0), 0);
		/* Of which no cell is weighed. */
		assert_int_equal(labels_add(l, &b, (u64[]){ 500 * MS }, &short_ones, 0), 0);
		assert_int_equal(labels_round(l, 1 + i, &heirs), 0);
		assert_int_equal(counted(l, "a"), 0);
		assert_int_equal(label(l, "a")->cells[1].counts[0], 13);
		assert_int_equal(label(l, "a")->cells[2].counts[0], 5);
		assert_int_equal(entries(label(l, "a"), 0), 0);
		assert_int_equal(entries(label(l, "a"), 1), 8);
		assert_int_equal(entries(label(l, "a"), 2), 2);
		assert_int_equal(counted(l, LABEL_OTHER), 500 * MS);
		assert_int_equal(entries(label(l, LABEL_OTHER), 0), 3);
		assert_int_equal(entries(label(l, LABEL_OTHER), 1), 0);
	}
	labels_begin(l);
	assert_int_equal(hist_add_many(&long_ones, 2 * MS, 1), 0);
	assert_int_equal(labels_add(l, &s, (u64[]){ 6 }, &long_ones, 0), 0);
	assert_int_equal(labels_round(l, 1 + i, &heirs), 0);
	assert_int_equal(entries(label(l, "a"), 2), 3);
	map_free(&heirs);
	hist_free(&short_ones);
	hist_free(&long_ones);
	labels_free(l);
}

/* Two series of the same labels are an error of the page. */
static void names_that_are_told_alike_are_one(void **state)
{
	struct labels *l = labels_of(3);
	const struct label *list;

	(void)state;
	add(l, "a\xff", 1 * MS, 1);
	add(l, "a\xfe", 2 * MS, 1);
	add(l, LABEL_OTHER, 4 * MS, 1);
	assert_int_equal(labels_count(l, "a\x01", TOTALS), 0);
	end_round(l, 1);
	assert_int_equal(labels_shown(l, &list), 2);
	assert_int_equal(counted(l, "a\xef\xbf\xbd"), 3 * MS);
	assert_int_equal(label(l, "a\xef\xbf\xbd")->cells->counts[TOTALS], 1);
	assert_int_equal(counted(l, LABEL_OTHER), 4 * MS);
	labels_free(l);
}

static void gauges_are_of_now(void **state)
{
	const struct label_rules rules = { .limit = 1, .totals = 1, .cells = 1, .adds = true };
	struct label_source s[] = { { .id = 1, .name = "a" },
				    { .id = 2, .name = "a" },
				    { .id = 3, .name = "b" },
				    { .id = 4, .name = "c" } };
	struct labels *l = labels_new(&rules);
	u32 round, i;

	(void)state;
	assert_non_null(l);
	for (round = 1; round < 3; round++) {
		labels_begin(l);
		for (i = 0; i < ARRAY_SIZE(s); i++)
			assert_int_equal(labels_add(l, &s[i], (u64[]){ i < 2 }, NULL, round), 0);
		assert_int_equal(labels_round(l, round, NULL), 0);
		assert_int_equal(label(l, "a")->gauge, 2 * round);
		assert_int_equal(label(l, LABEL_OTHER)->gauge, 2 * round);
	}
	labels_free(l);
}

/* A page that could not be written is asked for again. */
static void a_round_that_was_not_ended_counts_for_nothing(void **state)
{
	struct labels *l = labels_of(1);

	(void)state;
	add(l, "a", 5 * MS, 1);
	add(l, "gone", 5 * MS, 1);
	labels_begin(l);
	add(l, "a", 6 * MS, 1);
	end_round(l, 1);
	assert_int_equal(counted(l, "a"), 6 * MS);
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

		assert_true(list[i].cells->counts[0] >= w->seen[at]);
		sum += list[i].cells->counts[0] - w->seen[at];
		w->seen[at] = list[i].cells->counts[0];
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
	struct labels *l = labels_of(LIMIT);
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
		end_round(l, ns);
		assert_int_equal(read_labels(w, l), sum);
	}
	for (i = 0; i < GROUPS; i++)
		ever += w->ever[i];
	assert_true(ever > LIMIT);
	assert_true(ever <= LIMIT + ns / (LABEL_HOUR_NS / LIMIT) + 1);
	labels_free(l);
	free(w);
}

/* ---- Processes by chance ---- */

#define PROCESSES 400
#define POOLS 3

struct process {
	struct label_source source;
	u64 total;
};

/* They come, work, end and are summed up in any order; one name has many. */
static void each_is_counted_once_whoever_ends(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct process *p = calloc(PROCESSES, sizeof(*p));
	struct labels *l = labels_of(LIMIT);
	struct process sums[POOLS] = { 0 };
	struct map heirs = { 0 };
	u64 ns = 0, sum, id = 0;
	u32 round, i, n;

	(void)state;
	assert_true(w && p);
	seed_random(2);
	for (i = 0; i < GROUPS; i++)
		snprintf(w->names[i], sizeof(w->names[i]), "p%u", i);
	strcpy(w->names[GROUPS], LABEL_OTHER);
	for (i = 0; i < POOLS; i++) {
		sums[i].source = (struct label_source){ .id = ++id, .ended = true, .pool = i };
		assert_int_equal(map_put(&heirs, i, id), 0);
	}
	for (round = 0; round < ROUNDS; round++) {
		ns += (u64)random() % (60 * NSEC_PER_SEC); /* less than a day in all */
		sum = 0;
		for (n = (u32)random() % 60; n; n--) {
			struct process *one = &p[random() % PROCESSES];
			u64 more = (u64)random() % (20 * MS);

			if (!one->source.id)
				one->source = (struct label_source){
					.id = ++id,
					.name = w->names[random() % GROUPS],
					.pool = (u64)random() % POOLS,
				};
			if (one->source.ended) {
				sums[one->source.pool].total += one->total;
				*one = (struct process){ 0 };
				continue;
			}
			one->total += more;
			sum += more;
			one->source.ended = random() % 3 == 0;
			/* As its last figures are not looked at. */
			if (one->source.ended && random() % 3 == 0) {
				sums[one->source.pool].total += one->total;
				*one = (struct process){ 0 };
			}
		}
		labels_begin(l);
		for (i = 0; i < PROCESSES; i++)
			if (p[i].total)
				add_source(l, &p[i].source, p[i].total, 1);
		for (i = 0; i < POOLS; i++)
			if (sums[i].total)
				add_source(l, &sums[i].source, sums[i].total, 1);
		assert_int_equal(labels_round(l, ns, &heirs), 0);
		assert_int_equal(read_labels(w, l), sum);
		assert_true(labels_kept(l) < 3 * (PROCESSES + GROUPS));
	}
	map_free(&heirs);
	labels_free(l);
	free(p);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_was_charged_most_lately_has_a_label),
		cmocka_unit_test(who_is_hardly_heavier_waits),
		cmocka_unit_test(what_is_counted_singly_is_counted_once),
		cmocka_unit_test(groups_of_one_name_are_one),
		cmocka_unit_test(who_has_ended_gives_its_label_to_the_first_that_goes_on),
		cmocka_unit_test(who_has_ended_takes_no_label_from_who_goes_on),
		cmocka_unit_test(who_has_ended_has_a_label_that_nobody_wants),
		cmocka_unit_test(who_goes_on_makes_no_room_while_another_has_ended),
		cmocka_unit_test(who_is_restarted_keeps_its_label),
		cmocka_unit_test(what_is_summed_up_is_counted_once),
		cmocka_unit_test(who_is_renamed_goes_on_under_the_new_name),
		cmocka_unit_test(who_is_gone_takes_no_memory),
		cmocka_unit_test(each_cell_has_its_own),
		cmocka_unit_test(names_that_are_told_alike_are_one),
		cmocka_unit_test(gauges_are_of_now),
		cmocka_unit_test(a_round_that_was_not_ended_counts_for_nothing),
		cmocka_unit_test(all_is_counted_once_whoever_comes_and_goes),
		cmocka_unit_test(each_is_counted_once_whoever_ends),
	};

	return cmocka_run_group_tests_name("metric_labels", tests, NULL, NULL);
}
