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

#include "each_nth.h"
#include "random_tree.h"
#include "seen_event.h"

/* Sanitizers look at memory, and take ten times as long. Cases go by the seed's last bits: odd. */
#define SEED_STEP EACH_NTH(3)
#define RECORDS 2048 /* more than any stream here has */

/* Seeds 1 ... last, then one that once found something, then 0. */
static unsigned int seed_after(unsigned int seed, unsigned int last, unsigned int found)
{
	return seed + SEED_STEP <= last ? seed + SEED_STEP : seed <= last ? found : 0;
}

static int check_event(void *ctx, const struct model_event *e)
{
	u32 i;

	(void)ctx;
	assert_int_equal(ledger_sum(&e->ledger), e->ledger.event_wall_ns);
	for (i = 0; i < e->share_count; i++) {
		const struct model_share *sh = &e->shares[i];
		const struct model_uncharged *u = &sh->uncharged;

		assert_true(sh->wall_ns >= sh->self_ns + sh->gc_ns + sh->blocked_ns);
		assert_true(sh->wall_ns <= e->ledger.event_wall_ns);
		assert_true(sh->cpu_ns <= e->cpu_ns);
		assert_true(sh->cpu_ns <= sh->wall_ns + sh->preempted_ns);
		assert_true(sh->wall_ns + u->wall_ns >= sh->self_ns + u->self_ns + sh->gc_ns +
								u->gc_ns + sh->blocked_ns +
								u->blocked_ns);
		assert_true(sh->wall_ns + u->wall_ns <= e->ledger.event_wall_ns);
		assert_true(u->cpu_ns <= u->wall_ns);
		assert_true(sh->cpu_ns + u->cpu_ns <= e->cpu_ns);
		assert_true(e->ledger.moved_ns || (!u->wall_ns && !u->self_ns));
	}
	return 0;
}

static const struct model_observer check_ops = { .event = check_event };

static int see_event(void *ctx, const struct model_event *e)
{
	seen_add(ctx, e);
	return check_event(NULL, e);
}

static const struct model_observer see_ops = { .event = see_event };

static void random_streams(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 400; seed += SEED_STEP) {
		struct model_config config = { .nested = seed % 2 ? NESTED_DROP : NESTED_SUSPEND };
		struct model *m = model_make(&config);
		struct sim *s = sim_of(1, RECORDS);
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

#define SHARES 16384

/* The shares of all events, in their order. */
struct seen_shares {
	struct model_share list[SHARES];
	u32 count;
};

static int see_shares(void *ctx, const struct model_event *e)
{
	struct seen_shares *to = ctx;

	assert_true(to->count + e->share_count <= SHARES);
	if (e->share_count)
		memcpy(&to->list[to->count], e->shares, e->share_count * sizeof(*e->shares));
	to->count += e->share_count;
	return check_event(NULL, e);
}

static const struct model_observer share_ops = { .event = see_shares };

static void shares_of(const struct model_config *config, const struct sim *s, unsigned int seed,
		      struct seen_shares *to)
{
	struct model *m = model_make(config);

	to->count = 0;
	model_observe(m, &share_ops, to);
	sim_feed(s, m, 1 + seed % 40);
	model_free(m);
}

/* What is not charged for a change of CPU is what --keep-moved charges besides. */
static void uncharged_is_what_keeping_adds(void **state)
{
	static struct seen_shares dropped, kept;
	u64 uncharged = 0;
	unsigned int seed;
	u32 i;

	(void)state;
	for (seed = 1; seed <= 400; seed += SEED_STEP) {
		struct model_config config = { .nested = seed % 2 ? NESTED_DROP : NESTED_SUSPEND };
		struct sim *s = sim_of(1, RECORDS);
		struct tree *t = random_stream(s, seed);

		shares_of(&config, s, seed, &dropped);
		config.keep_moved = true;
		shares_of(&config, s, seed, &kept);
		SAME("shares", dropped.count, kept.count);
		for (i = 0; i < kept.count; i++) {
			const struct model_share *d = &dropped.list[i], *k = &kept.list[i];

			SAME("wall", d->wall_ns + d->uncharged.wall_ns, k->wall_ns);
			SAME("self", d->self_ns + d->uncharged.self_ns, k->self_ns);
			SAME("blocked", d->blocked_ns + d->uncharged.blocked_ns, k->blocked_ns);
			SAME("gc", d->gc_ns + d->uncharged.gc_ns, k->gc_ns);
			SAME("cpu", d->uncharged.cpu_ns,
			     d->uncharged.wall_ns
				     ? min_u64(k->cpu_ns - min_u64(k->cpu_ns, d->cpu_ns),
					       d->uncharged.wall_ns)
				     : 0);
			SAME("nothing", k->uncharged.wall_ns, 0);
			uncharged += d->uncharged.wall_ns;
		}
		free(t);
		free(s);
	}
	assert_true(uncharged);
}

/* Exact mode: nothing is discarded for having moved, nobody pays for the time
 * of others, and CPU time is what it was. The records come before the spans,
 * as far before as they like. */
static void random_switches(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 400; seed += SEED_STEP) {
		struct model_config config = { .nested = seed % 2 ? NESTED_DROP : NESTED_SUSPEND,
					       .exact = true };
		struct model *m = model_make(&config);
		struct sim *s = sim_of(1, RECORDS), *sched = sim_of(1, RECORDS);
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
		SAME("stopped in all", snap->ledger.stopped_ns, a.l.stopped_ns);
		SAME("frozen in all", snap->ledger.frozen_ns, a.l.frozen_ns);
		SAME("throttled in all", snap->ledger.throttled_ns, a.l.throttled_ns);
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
	for (seed = 1; seed <= 100; seed += SEED_STEP) {
		struct model *m = model_make(&(struct model_config){ .exact = true });
		struct sim *s = sim_of(1, RECORDS), *sched = sim_of(1, RECORDS);
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
	struct sim *s = sim_of(1, RECORDS);
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

/* Records taken out at random: an event that passes for complete has every figure it
 * would have had, the ledger sums for every other one too, nothing is charged more than
 * was made, and the losses are what was taken out. */
static void random_losses(void **state)
{
	static struct seen_events whole, thin;
	struct seen_sums sums = { 0 };
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 300; seed += SEED_STEP) {
		struct model *m = model_make(&(struct model_config){ 0 });
		struct model *all = model_make(&(struct model_config){ 0 });
		struct sim *s = sim_of(1, RECORDS);
		struct tree *t = random_stream(s, seed);
		struct snapshot *snap;
		struct answer a;
		u32 i, taken = 0, last = s->records - 1;

		memset(&whole, 0, sizeof(whole));
		memset(&thin, 0, sizeof(thin));
		whole.pid = thin.pid = SIM_PID;
		model_observe(all, &see_ops, &whole);
		model_observe(m, &see_ops, &thin);
		sim_feed(s, all, 10);
		for (i = 0; i <= last; i++) {
			if (i && i < last && random() % 10 == 0) {
				taken++;
				continue;
			}
			assert_int_equal(sim_batch(s, m, SIM_PID, i, i + 1), 0);
		}
		assert_int_equal(model_finish(m), 0);
		seen_compare(&thin, &whole, &sums);
		SAME("wrong", sums.wrong, false);
		snap = snapshot_take(m);
		slow_answer(t, NESTED_DROP, &a);
		SAME("losses", snap->losses.records[LOSS_SEQUENCE_GAP], taken);
		SAME("records", snap->records, s->records - taken);
		SAME("sum", ledger_sum(&snap->ledger), snap->ledger.event_wall_ns);
		assert_true(snap->events.count <= a.events);
		assert_true(snap->ledger.self_ns <= a.l.self_ns + a.l.stale_ns);
		snapshot_free(snap);
		model_free(m);
		model_free(all);
		free(t);
		free(s);
	}
	/* There was something of both to look at. */
	assert_true(sums.complete > 1000 / SEED_STEP && sums.incomplete > 1000 / SEED_STEP);
}

/* Rule 7: the parts by process merge to the whole. */
static void processes_merge(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 50; seed += SEED_STEP) {
		struct model *whole = model_make(&(struct model_config){ 0 });
		struct item it = { .type = ITEM_PROCESS };
		struct sim *s = sim_of(1, RECORDS);
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
	for (seed = 1; seed; seed = seed_after(seed, 200, 102311)) {
		struct model *m = model_make(&(struct model_config){ 0 });
		struct sim *s = sim_of(1, RECORDS);
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

/* Records of the scheduler's [from, to), or nothing, and how often it lost some. */
static void sched_part(const struct sim *sched, struct model *m, u32 from, u32 to, u32 lost)
{
	struct item it = { .type = ITEM_BATCH };

	it.batch = (struct item_batch){ .pid = SIM_PID,
					.tid = 1,
					.registry = ITEM_SCHED_REGISTRY,
					.thread = 1,
					.seq = from,
					.records = to - from,
					.bytes = (to - from) * VMSPAN_SLOT,
					.data = sched->data[from],
					.too_deep = lost };
	assert_int_equal(model_item(m, &it), 0);
}

/* How a stream is mistreated, in percent of its batches. */
struct thinning {
	u32 spans, switches, swapped;
};

/*
 * Hands both streams over as the kernel side does: what the scheduler did to the
 * spans before them, and where that was lost, that it was. Returns how many
 * records of spans are missing.
 */
static u32 feed_thinned(const struct sim *s, const struct sim *sched, struct model *m, u32 step,
			const struct thinning *how)
{
	u32 i, done = 0, lost = 0, missing = 0, held = UINT32_MAX;

	for (i = 0; i < s->records; i += step) {
		u32 to = (u32)min_u64(i + step, s->records), upto = done;
		const struct vmspan_span *last = (void *)s->data[s->at[to - 1]];
		/* The first and the last show what lies between. */
		bool inner = i && to < s->records;

		while (upto < sched->records &&
		       ((struct vmspan_span *)sched->data[upto])->begin < last->end)
			upto++;
		if (done && upto > done && (u32)random() % 100 < how->switches)
			sched_part(sched, m, upto, upto, ++lost);
		else
			sched_part(sched, m, done, upto, lost);
		done = upto;
		if (inner && (u32)random() % 100 < how->spans) {
			missing += to - i;
			continue;
		}
		/* On another CPU's way: it comes after the next. */
		if (held == UINT32_MAX && inner && (u32)random() % 100 < how->swapped) {
			held = i;
			continue;
		}
		assert_int_equal(sim_batch(s, m, SIM_PID, i, to), 0);
		if (held != UINT32_MAX)
			assert_int_equal(sim_batch(s, m, SIM_PID, held, held + step), 0);
		held = UINT32_MAX;
	}
	assert_int_equal(model_finish(m), 0);
	return missing;
}

/*
 * Exact mode, with parts of both streams lost and the rest out of order: an
 * event that passes for complete has every figure it would have had; whatever
 * else there is sums; the losses are what was taken out.
 */
static void thinned_is_incomplete_not_wrong(void **state)
{
	static struct seen_events whole, thin;
	struct seen_sums sums = { 0 };
	unsigned int seed;

	(void)state;
	for (seed = 1; seed; seed = seed_after(seed, 300, 103868)) {
		const struct thinning how = { seed % 3 ? 10 : 0, seed % 4 ? 15 : 0,
					      seed % 5 ? 20 : 0 };
		struct model_config config = { .nested = seed % 2 ? NESTED_DROP : NESTED_SUSPEND,
					       .exact = true };
		struct sim *s = sim_of(1, RECORDS), *sched = sim_of(1, RECORDS);
		struct tree *t = random_tree(s, sched, seed);
		struct model *a = model_make(&config), *b = model_make(&config);
		u32 step = 1 + seed % 7, missing;
		struct snapshot *snap;

		memset(&whole, 0, sizeof(whole));
		memset(&thin, 0, sizeof(thin));
		whole.pid = thin.pid = SIM_PID;
		model_observe(a, &see_ops, &whole);
		model_observe(b, &see_ops, &thin);
		feed_thinned(s, sched, a, step, &(struct thinning){ 0 });
		missing = feed_thinned(s, sched, b, step, &how);
		seen_compare(&thin, &whole, &sums);
		SAME("wrong", sums.wrong, false);
		snap = snapshot_take(b);
		SAME("losses", snap->losses.records[LOSS_SEQUENCE_GAP], missing);
		SAME("records", snap->records, s->records - missing);
		SAME("sum", ledger_sum(&snap->ledger), snap->ledger.event_wall_ns);
		snapshot_free(snap);
		model_free(a);
		model_free(b);
		free(t);
		free(sched);
		free(s);
	}
	/* There was something of both to look at. */
	assert_true(sums.complete > 500 && sums.incomplete > 500);
}

/* Records of `s` as another process's, with any numbers and times it likes. */
static void feed_forged(struct sim *s, struct model *m, u32 pid)
{
	struct item it = { .type = ITEM_BATCH };
	u32 i, k;

	for (k = 0; k < 300; k++) {
		struct vmspan_head *h = (void *)s->data[s->at[(u32)random() % s->records]];
		u32 word = 1 + (u32)random() % (h->slots * 8u - 1);

		((u32 *)h)[word] ^= 1u << (random() % 32);
	}
	for (i = 0; i < s->records; i++) {
		u32 end = i + 1 < s->records ? s->at[i + 1] : s->slots;

		it.batch = (struct item_batch){
			.pid = pid,
			.tid = 1 + (u32)random() % 2, /* as the other's threads */
			.registry = SIM_REGISTRY,
			.thread = 1 + (u32)random() % 2,
			.seq = random() % 4 ? i : (u64)random() << (random() % 33),
			.records = 1,
			.bytes = (end - s->at[i]) * VMSPAN_SLOT,
			.data = s->data[s->at[i]],
			.too_deep = random() % 10 ? 0 : (u32)random(),
		};
		assert_int_equal(model_item(m, &it), 0);
	}
}

/* Rule 7 and the trust in nobody: whatever one process says of itself, no figure
 * of another's changes, event by event. */
static void a_forger_is_alone(void **state)
{
	static struct seen_events alone, beside;
	unsigned int seed;
	u32 i, round;

	(void)state;
	for (seed = 1; seed <= 100; seed += SEED_STEP) {
		struct sim *s = sim_of(1, RECORDS), *sched = sim_of(1, RECORDS),
			   *other = sim_of(2, RECORDS);
		struct tree *t = random_tree(s, sched, seed),
			    *u = random_stream(other, seed + 1000);
		struct event_stats events[2];
		struct ledger ledgers[2];

		memset(&alone, 0, sizeof(alone));
		memset(&beside, 0, sizeof(beside));
		alone.pid = beside.pid = SIM_PID;
		for (round = 0; round < 2; round++) {
			struct model *m = model_make(&(struct model_config){ .exact = true });
			struct item it = { .type = ITEM_PROCESS };
			struct snapshot *snap;

			it.process = (struct item_process){ PROCESS_FORK, SIM_PID + 1, SIM_PID, 1,
							    "forger",     "" };
			assert_int_equal(model_item(m, &it), 0);
			model_observe(m, &see_ops, round ? &beside : &alone);
			sim_feed_sched(sched, m);
			sim_feed(s, m, s->records / 2);
			if (round)
				feed_forged(other, m, SIM_PID + 1);
			assert_int_equal(model_finish(m), 0);
			snap = snapshot_take(m);
			events[round] = snap->processes[0].events;
			ledgers[round] = snap->processes[0].ledger;
			assert_int_equal(snap->processes[0].pid, SIM_PID);
			if (round)
				assert_true(snap->records > s->records);
			snapshot_free(snap);
			model_free(m);
		}
		assert_memory_equal(&events[0], &events[1], sizeof(events[0]));
		assert_memory_equal(&ledgers[0], &ledgers[1], sizeof(ledgers[0]));
		for (i = 0; i < ARRAY_SIZE(alone.by_iteration); i++)
			SAME("the other's event", beside.by_iteration[i].digest,
			     alone.by_iteration[i].digest);
		free(t);
		free(u);
		free(sched);
		free(other);
		free(s);
	}
}

static int earlier(const void *a, const void *b)
{
	const struct vmspan_span *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The scheduler's record of a thread that is off its CPU in announced calls and
 * never else. */
static struct sim *off_in_calls(const struct tree *t)
{
	struct sim *sched = sim_of(1, RECORDS);
	int i, k;

	sim_off(sched, 900, 900, VMSPAN_OFF_START);
	for (i = 0; i < t->len; i++) {
		u64 at = t->n[i].begin;

		if (t->n[i].type != VMSPAN_BLOCK)
			continue;
		for (k = i + 1; k < t->len; k++) {
			if (t->n[k].parent != i)
				continue;
			if (t->n[k].begin > at)
				sim_off(sched, at, t->n[k].begin, VMSPAN_OFF_SLEEPING);
			at = t->n[k].end;
		}
		if (t->n[i].end > at)
			sim_off(sched, at, t->n[i].end, VMSPAN_OFF_SLEEPING);
	}
	qsort(sched->data[1], sched->records - 1, VMSPAN_SLOT, earlier);
	return sched;
}

/* Where nobody moves a thread or takes its CPU, exact mode and the default have
 * the same figures, event by event, to the nanosecond. */
static void modes_agree_when_quiet(void **state)
{
	static struct seen_events exact, plain;
	unsigned int seed;
	u32 i, seen = 0;

	(void)state;
	for (seed = 1; seed <= 200; seed += SEED_STEP) {
		enum nested_mode nested = seed % 2 ? NESTED_DROP : NESTED_SUSPEND;
		struct sim *s = sim_of(1, RECORDS), *sched;
		struct tree *t = random_stream(s, seed);
		struct model *a, *b;

		for (i = 0; i < s->records; i++) {
			struct vmspan_span *r = (void *)s->data[s->at[i]];

			if (r->h.type == VMSPAN_SPAN)
				r->cpu_begin = r->cpu_end = 0;
		}
		sched = off_in_calls(t);
		memset(&exact, 0, sizeof(exact));
		memset(&plain, 0, sizeof(plain));
		exact.pid = plain.pid = SIM_PID;
		a = model_make(&(struct model_config){ .nested = nested, .exact = true });
		b = model_make(&(struct model_config){ .nested = nested });
		model_observe(a, &see_ops, &exact);
		model_observe(b, &see_ops, &plain);
		sim_feed_sched(sched, a);
		sim_feed(s, a, 10);
		sim_feed(s, b, 10);
		for (i = 0; i < ARRAY_SIZE(exact.by_iteration); i++) {
			seen += exact.by_iteration[i].complete;
			assert_int_equal(exact.by_iteration[i].complete,
					 plain.by_iteration[i].complete);
			SAME("an event", exact.by_iteration[i].digest,
			     plain.by_iteration[i].digest);
		}
		model_free(a);
		model_free(b);
		free(t);
		free(sched);
		free(s);
	}
	assert_true(seen > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_streams),
		cmocka_unit_test(uncharged_is_what_keeping_adds),
		cmocka_unit_test(random_switches),
		cmocka_unit_test(lost_switches),
		cmocka_unit_test(no_switches_at_all),
		cmocka_unit_test(random_losses),
		cmocka_unit_test(processes_merge),
		cmocka_unit_test(random_forgeries),
		cmocka_unit_test(thinned_is_incomplete_not_wrong),
		cmocka_unit_test(a_forger_is_alone),
		cmocka_unit_test(modes_agree_when_quiet),
	};

	return cmocka_run_group_tests_name("model_random", tests, NULL, NULL);
}
