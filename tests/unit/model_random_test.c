/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random streams against a slow model that knows the whole tree, with records
 * taken out, in several processes, and forged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "random_tree.h"

static int check_event(void *ctx, const struct model_event *e)
{
	u32 i;

	(void)ctx;
	assert_int_equal(ledger_sum(&e->ledger), e->ledger.event_wall_ns);
	for (i = 0; i < e->share_count; i++) {
		const struct model_share *sh = &e->shares[i];

		assert_true(sh->wall_ns >= sh->self_ns + sh->gc_ns + sh->blocked_ns);
		assert_true(sh->wall_ns <= e->ledger.event_wall_ns);
		assert_true(sh->cpu_ns <= e->cpu_ns);
	}
	return 0;
}

static const struct model_observer check_ops = { .event = check_event };

static void random_streams(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 400; seed++) {
		struct model_config config = { .nested = seed % 2 ? NESTED_DROP : NESTED_SUSPEND };
		struct model *m = model_make(&config);
		struct sim *s = sim_new(1);
		struct tree *t = random_stream(s, seed);
		struct snapshot *snap;
		struct answer a;

		model_observe(m, &check_ops, NULL);
		sim_feed(s, m, 1 + seed % 40);
		snap = snapshot_take(m);
		slow_answer(t, config.nested, &a);
		compare(seed, snap, &a, false);
		snapshot_free(snap);
		model_free(m);
		free(t);
		free(s);
	}
}

/* Exact mode: nothing is discarded for having moved, nobody pays for the time
 * of others, and CPU time is what it was. The records come before the spans,
 * as far before as they like. */
static void random_switches(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 400; seed++) {
		struct model_config config = { .nested = seed % 2 ? NESTED_DROP : NESTED_SUSPEND,
					       .exact = true };
		struct model *m = model_make(&config);
		struct sim *s = sim_new(1), *sched = sim_new(1);
		struct tree *t = random_tree(s, sched, seed);
		u32 step = 1 + seed % 40, i, done = 0;
		struct snapshot *snap;
		struct answer a;

		model_observe(m, &check_ops, NULL);
		for (i = 0; i < s->records; i += step) {
			u32 to = (u32)min_u64(i + step, s->records), upto = done;
			const struct vmspan_span *last = (void *)s->data[s->at[to - 1]];

			/* All that began before the batch ends, and some more. */
			while (upto < sched->records &&
			       ((struct vmspan_span *)sched->data[upto])->begin < last->end)
				upto++;
			upto = (u32)min_u64(upto + seed % 5, sched->records);
			sim_sched_batch(sched, m, done, upto);
			done = upto;
			assert_int_equal(sim_batch(s, m, SIM_PID, i, to), 0);
		}
		snap = snapshot_take(m);
		slow_answer(t, config.nested, &a);
		compare(seed, snap, &a, true);
		SAME("preempted in all", snap->ledger.preempted_ns, a.l.preempted_ns);
		SAME("records", snap->records, s->records);
		snapshot_free(snap);
		model_free(m);
		free(t);
		free(sched);
		free(s);
	}
}

/* Scheduler records that are missing make events incomplete, not wrong: what
 * is known stays as it is, and the sum holds. */
static void lost_switches(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 100; seed++) {
		struct model *m = model_make(&(struct model_config){ .exact = true });
		struct sim *s = sim_new(1), *sched = sim_new(1);
		struct tree *t = random_tree(s, sched, seed);
		struct snapshot *snap;
		u32 lost = 1 + seed % (sched->records - 2);

		model_observe(m, &check_ops, NULL);
		sim_sched_batch(sched, m, 0, lost);
		sim_sched_batch(sched, m, lost + 1, sched->records);
		/* The gap shows when no earlier batch comes any more. */
		assert_int_equal(model_finish(m), 0);
		sim_feed(s, m, 10);
		snap = snapshot_take(m);
		assert_true(snap->events.incomplete > 0);
		SAME("sum", ledger_sum(&snap->ledger), snap->ledger.event_wall_ns);
		SAME("records", snap->records, s->records);
		snapshot_free(snap);
		model_free(m);
		free(t);
		free(sched);
		free(s);
	}
}

/* Asked for and not there: every event lacks data, and moved spans are
 * discarded as in default mode. */
static void no_switches_at_all(void **state)
{
	struct model *m = model_make(&(struct model_config){ .exact = true });
	struct sim *s = sim_new(1);
	struct tree *t = random_stream(s, 11);
	unsigned int seed = 11;
	struct snapshot *snap;
	struct answer a;

	(void)state;
	sim_feed(s, m, 10);
	snap = snapshot_take(m);
	slow_answer(t, NESTED_DROP, &a);
	SAME("incomplete", snap->events.incomplete, snap->events.count);
	SAME("moved", snap->ledger.moved_ns, a.l.moved_ns);
	SAME("sum", ledger_sum(&snap->ledger), snap->ledger.event_wall_ns);
	snapshot_free(snap);
	model_free(m);
	free(t);
	free(s);
}

/* Records taken out at random: the ledger still sums for every event, nothing
 * is charged more than was made, and the losses are what was taken out. */
static void random_losses(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 300; seed++) {
		struct model *m = model_make(&(struct model_config){ 0 });
		struct sim *s = sim_new(1);
		struct tree *t = random_stream(s, seed);
		struct snapshot *snap;
		struct answer a;
		u32 i, taken = 0, last = s->records - 1;

		model_observe(m, &check_ops, NULL);
		for (i = 0; i <= last; i++) {
			if (i && i < last && random() % 10 == 0) {
				taken++;
				continue;
			}
			assert_int_equal(sim_batch(s, m, SIM_PID, i, i + 1), 0);
		}
		assert_int_equal(model_finish(m), 0);
		snap = snapshot_take(m);
		slow_answer(t, NESTED_DROP, &a);
		SAME("losses", snap->losses.records[LOSS_SEQUENCE_GAP], taken);
		SAME("records", snap->records, s->records - taken);
		SAME("sum", ledger_sum(&snap->ledger), snap->ledger.event_wall_ns);
		assert_true(snap->events.count <= a.events);
		assert_true(snap->ledger.self_ns <= a.l.self_ns + a.l.stale_ns);
		if (taken)
			assert_true(snap->events.incomplete > 0);
		snapshot_free(snap);
		model_free(m);
		free(t);
		free(s);
	}
}

/* Rule 7: the parts by process merge to the whole. */
static void processes_merge(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 50; seed++) {
		struct model *whole = model_make(&(struct model_config){ 0 });
		struct item it = { .type = ITEM_PROCESS };
		struct sim *s = sim_new(1);
		struct tree *t = random_stream(s, seed);
		struct snapshot *snap;
		u32 i, p, k;

		for (p = 0; p < 3; p++) {
			it.process = (struct item_process){ PROCESS_FORK, SIM_PID + p + 1,
							    SIM_PID,      1,
							    "test",       "" };
			assert_int_equal(model_item(whole, &it), 0);
		}
		for (i = 0; i < s->records; i += 7)
			for (p = 0; p < 3; p++)
				assert_int_equal(sim_batch(s, whole, SIM_PID + 1 + p, i,
							   (u32)min_u64(i + 7, s->records)),
						 0);
		snap = snapshot_take(whole);
		for (i = 0; i < snap->group_count; i++) {
			const struct snapshot_group *g = &snap->groups[i];
			struct group_stats sum = { 0 };

			for (k = 0; k < g->children; k++)
				group_stats_add(&sum, &snap->children[g->first_child + k].stats);
			SAME(g->name, sum.wall_ns, g->stats.wall_ns);
			SAME(g->name, sum.self_ns, g->stats.self_ns);
			SAME(g->name, sum.ticks, g->stats.ticks);
			SAME(g->name, hist_quantile(&sum.hist, 990),
			     hist_quantile(&g->stats.hist, 990));
			SAME(g->name, snap->children[g->first_child].stats.wall_ns * 3,
			     g->stats.wall_ns);
			for (k = 1; k < JANK_BUCKETS; k++)
				assert_true(g->stats.durations[k] <= g->stats.durations[k - 1]);
			hist_free(&sum.hist);
		}
		snapshot_free(snap);
		model_free(whole);
		free(t);
		free(s);
	}
}

/* Forged streams: any bytes that pass the check, in any order. */
static void random_forgeries(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 200; seed++) {
		struct model *m = model_make(&(struct model_config){ 0 });
		struct sim *s = sim_new(1);
		struct tree *t = random_stream(s, seed);
		struct snapshot *snap;
		u32 i, k;

		model_observe(m, &check_ops, NULL);
		for (k = 0; k < 200; k++) {
			struct vmspan_head *h = (void *)s->data[s->at[(u32)random() % s->records]];
			u32 word = 1 + (u32)random() % (h->slots * 8u - 1);

			/* Anything but type and slots. */
			((u32 *)h)[word] ^= 1u << (random() % 32);
			if (random() % 4 == 0)
				h->depth = (u16)random();
		}
		for (i = 0; i < s->records; i++)
			assert_int_equal(sim_batch(s, m, SIM_PID, i, i + 1), 0);
		assert_int_equal(model_finish(m), 0);
		snap = snapshot_take(m);
		SAME("sum", ledger_sum(&snap->ledger), snap->ledger.event_wall_ns);
		snapshot_free(snap);
		model_free(m);
		free(t);
		free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_streams),   cmocka_unit_test(random_switches),
		cmocka_unit_test(lost_switches),    cmocka_unit_test(no_switches_at_all),
		cmocka_unit_test(random_losses),    cmocka_unit_test(processes_merge),
		cmocka_unit_test(random_forgeries),
	};

	return cmocka_run_group_tests_name("model_random", tests, NULL, NULL);
}
