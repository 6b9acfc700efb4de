/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The default mode beside the rules of Firefox's monitor, on one and the same random
 * schedule: events of several shapes, a thread that loses its CPU at random moments of
 * its CPU time, for long or short, and comes back on another CPU or not. What each
 * group really used is known.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "each_nth.h"
#include "sim.h"
#include "tests/bench/original.c"

#define GROUPS 4 /* compartment g is of group g alone; 0: native */
#define BLOCKS 40 /* of events, whose errors are compared to tell what chance does */
#define BLOCK_EVENTS 100
#define BLOCK_RECORDS 12000 /* at most, of a block */

/* An event: so many rounds through the groups, a piece of native time behind each stay. */
struct shape {
	const char *name;
	double us[GROUPS + 1];
	int rounds;
	bool varied; /* lengths differ by times, not by quarters */
};

static const struct shape shapes[] = {
	{ "stays of 0.15 to 0.7 ms", { 25, 450, 700, 150, 0 }, 1, false },
	{ "the same, no native time", { 0, 450, 700, 150, 50 }, 1, false },
	{ "one long stay, short ones", { 35, 2000, 500, 200, 100 }, 1, false },
	{ "one a little above a hole", { 10, 1200, 300, 200, 100 }, 1, false },
	{ "long stays", { 0, 3000, 2500, 2000, 1500 }, 1, false },
	{ "long events", { 0, 2000, 500, 400, 300 }, 6, false },
	{ "bursts of 2 us", { 0.1, 2, 2, 2, 2 }, 25, false },
	{ "varied", { 10, 500, 500, 500, 500 }, 2, true },
	{ "varied and long", { 0, 2000, 1000, 500, 100 }, 2, true },
	{ "mostly native", { 1000, 100, 200, 300, 50 }, 1, false },
};

/* Who else wants the CPU. */
struct load {
	const char *name;
	double per_ms; /* how often it is lost in a ms of CPU time */
	double brief; /* of these: briefly */
	double brief_us[2], long_us[2];
	double moves; /* of these: back on another CPU */
	/* Known to err by as much, of the events' CPU time: an event loses its CPU several
	 * times, and only if that was in one stay is it found. */
	double worse;
};

static const struct load loads[] = {
	{ "idle", .002, .8, { 20, 200 }, { 1000, 4000 }, 0, 0 },
	{ "slices of 3 ms", .33, 0, { 0, 0 }, { 3000, 4000 }, 0, 0 },
	{ "slices of 4 to 12 ms", .2, 0, { 0, 0 }, { 4000, 12000 }, 0, 0 },
	{ "slices of 1 to 3 ms", .3, 0, { 0, 0 }, { 1000, 3000 }, 0, 0 },
	{ "many short ones", .25, 1, { 100, 400 }, { 0, 0 }, 0, 0 },
	{ "both", .4, .7, { 50, 500 }, { 2000, 6000 }, 0, 0 },
	{ "slices and other CPUs", .33, 0, { 0, 0 }, { 3000, 4000 }, .3, 0 },
	{ "a storm of short ones", 2, 1, { 100, 400 }, { 0, 0 }, 0, .02 },
	{ "a storm of slices", 1, 0, { 0, 0 }, { 4000, 4000 }, 0, .03 },
};

static double uniform(void)
{
	return ((double)random() + 0.5) / 2147483648.0;
}

static double between(const double range[2])
{
	return range[0] + (range[1] - range[0]) * uniform();
}

static double exponential(double mean)
{
	return -mean * log(uniform());
}

/* A thread at work, and what it used: ns. */
struct work {
	struct sim *s;
	const struct shape *shape;
	const struct load *load;
	u64 now;
	double cpu, next; /* of its own time: so far, and when it loses the CPU next */
	double used[GROUPS + 1], moved[GROUPS + 1], all;
};

/* Runs for `ns`, and for as long as it takes. */
static void run(struct work *w, u64 ns)
{
	double end = w->cpu + (double)ns;

	while (end > w->next) {
		const struct load *l = w->load;
		u64 away = (u64)(1000 * between(uniform() < l->brief ? l->brief_us : l->long_us));

		w->now += away;
		w->s->off += away;
		w->s->cpu ^= uniform() < l->moves;
		w->next += exponential(1e6 / l->per_ms);
	}
	w->now += ns;
	w->cpu = end;
}

static void stay(struct work *w, u32 comp)
{
	double factor = w->shape->varied ? exponential(1) : 0.75 + 0.5 * uniform();
	u64 ns = 1 + (u64)(w->shape->us[comp] * 1000 * factor);
	u16 cpu = w->s->cpu;

	if (comp)
		sim_enter(w->s, w->now, comp, VMSPAN_SPAN);
	run(w, ns);
	if (comp)
		sim_leave(w->s, w->now);
	w->used[comp] += (double)ns;
	w->all += (double)ns;
	if (cpu != w->s->cpu)
		w->moved[comp] += (double)ns;
}

static void event(struct work *w)
{
	u32 comp;
	int i;

	sim_event(w->s, w->now);
	for (i = 0; i < w->shape->rounds; i++)
		for (comp = 1; comp <= GROUPS; comp++) {
			stay(w, comp);
			if (w->shape->us[0] > 0)
				stay(w, 0);
		}
	sim_event_end(w->s, w->now);
	w->now += 1000;
}

/* By group, parts of all CPU time: both methods' errors in a block, summed, and squared. */
struct errors {
	double sum[2][GROUPS + 1], square[2][GROUPS + 1], moved[GROUPS + 1];
};

static void block(const struct shape *shape, const struct load *load, struct errors *e)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct records *r = records_new(NSEC_PER_SEC);
	struct work w = {
		.s = sim_of(1, BLOCK_RECORDS), .shape = shape, .load = load, .now = 2000
	};
	struct snapshot *snap;
	struct other o;
	u32 i, g;
	int k;

	assert_non_null(r);
	w.next = exponential(1e6 / load->per_ms);
	for (i = 0; i < BLOCK_EVENTS; i++)
		event(&w);
	for (i = 0; i < w.s->records; i += 50) {
		struct item it = sim_item(w.s, SIM_PID, i, (u32)min_u64(i + 50, w.s->records));

		assert_int_equal(model_item(m, &it), 0);
		assert_int_equal(records_item(r, &it), 0);
	}
	snap = snapshot_take(m);
	records_result(r, &o);
	assert_int_equal(snap->events.count, BLOCK_EVENTS);
	for (g = 1; g <= GROUPS; g++) {
		const char name[] = { 'a', 'd', 'd', 'o', 'n', ':', (char)('a' + g - 1), 0 };
		double have[2] = { (double)snapshot_group(snap, name)->stats.cpu_ns,
				   o.original[g] };

		for (k = 0; k < 2; k++) {
			double error = (have[k] - w.used[g]) / w.all;

			e->sum[k][g] += error;
			e->square[k][g] += error * error;
		}
		e->moved[g] += w.moved[g] / w.all;
	}
	snapshot_free(snap);
	model_free(m);
	records_free(r);
	free(w.s);
}

/* The square of what chance makes of the mean of all blocks. */
static double variance(const struct errors *e, int method, u32 g)
{
	double mean = e->sum[method][g] / BLOCKS;

	return fmax(0, e->square[method][g] / BLOCKS - mean * mean) / BLOCKS;
}

/* No group has more than it used by more than the other method's largest error, nor
 * less, but for what is discarded because it moved, and shown. What chance makes is 7.7
 * deviations of means of 40, which are seen from these alone: by Student's distribution with 39
 * degrees of freedom one of 360 comparisons is beyond that once in a million draws. */
static void compare(const struct shape *shape, const struct load *load, const struct errors *e)
{
	double largest = 0, chance = 0;
	u32 g;

	for (g = 1; g <= GROUPS; g++) {
		largest = fmax(largest, fabs(e->sum[1][g]) / BLOCKS);
		chance = fmax(chance, variance(e, 0, g) + variance(e, 1, g));
	}
	largest += 7.7 * sqrt(chance) + load->worse;
	for (g = 1; g <= GROUPS; g++) {
		double error = e->sum[0][g] / BLOCKS, moved = e->moved[g] / BLOCKS;

		if (error > largest || -error > largest + moved)
			fail_msg("%s, %s: group %u is off by %.3f %%, may be by %.3f %% (%.3f %% "
				 "moved)",
				 shape->name, load->name, g, error * 100, largest * 100,
				 moved * 100);
	}
}

static void no_worse_than_the_original(void **state)
{
	size_t i, k;
	int n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(shapes); i += EACH_NTH(3))
		for (k = 0; k < ARRAY_SIZE(loads); k++) {
			struct errors e = { 0 };

			srandom((unsigned int)(i * 100 + k + 1));
			for (n = 0; n < BLOCKS; n++)
				block(&shapes[i], &loads[k], &e);
			compare(&shapes[i], &loads[k], &e);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_worse_than_the_original),
	};

	return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
