/* SPDX-License-Identifier: BSD-2-Clause */
/* At any time all figures are those of a trace in which all that is open ends then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "each_nth.h"
#include "open_rig.h"
#include "random_tree.h"

#define SEED_STEP EACH_NTH(5)
#define RECORDS 2048 /* more than any stream here has */

/* Who had the thread off its CPU then: the innermost that was open. */
static int off_of(const struct tree *t, const struct vmspan_span *off)
{
	int i, in = -1;

	for (i = 0; i < t->len && t->n[i].begin <= off->begin; i++)
		if (t->n[i].end >= off->end)
			in = i;
	return in;
}

/* The tree as it was at a time: what began later is not there, what was open ends then. The scheduler's
 * record is known until another one. */
static void cut_tree(const struct tree *t, const struct sim *sched, struct tree *to, u64 at,
		     u64 known)
{
	u32 k;
	int i;

	*to = *t;
	for (i = 0; i < t->len && t->n[i].begin < at; i++) {
		memset(to->n[i].off, 0, sizeof(to->n[i].off));
		if (to->n[i].end <= at)
			continue;
		to->n[i].end = at;
		to->n[i].moved = false;
	}
	to->len = i;
	/* Nested events that had not begun. */
	for (i = 0; i < to->len; i++)
		to->n[i].nested_inside = false;
	for (i = 0; i < to->len; i++)
		for (int p = to->n[i].type ? -1 : to->n[i].parent; p >= 0; p = to->n[p].parent)
			to->n[p].nested_inside = true;
	for (k = 0; sched && k < sched->records; k++) {
		const struct vmspan_span *off = (const void *)sched->data[k];

		i = off->end <= at ? off_of(to, off) : -1;
		/* Why it was is in the scheduler's record alone. */
		if (i >= 0 && off->end > off->begin)
			to->n[i].off[off->end <= known ? off->h.depth : VMSPAN_OFF_SLEEPING] +=
				off->end - off->begin;
	}
}

static u64 off_until(const struct sim *sched, u64 at)
{
	u64 sum = 0;
	u32 k;

	for (k = 0; sched && k < sched->records; k++) {
		const struct vmspan_span *off = (const void *)sched->data[k];

		sum += off->end <= at ? off->end - off->begin : 0;
	}
	return sum;
}

/* The thread as it was then, behind its first `done` records. */
static struct sim *thread_then(const struct sim *s, const struct sim *sched, const struct tree *t,
			       u32 done, u64 at, u64 *since)
{
	struct sim *c = sim_of(s->tid, 1);
	int i, k;

	c->records = done;
	c->off = off_until(sched, at);
	for (i = 0; i < t->len && t->n[i].begin < at; i++) {
		const struct node *n = &t->n[i];

		c->iteration_last += !n->type;
		if (n->end <= at)
			continue;
		if (!c->turns && !c->depth)
			*since = n->begin;
		if (n->type) {
			sim_enter(c, n->begin, n->type == VMSPAN_SPAN ? n->comp : 0, n->type);
			continue;
		}
		c->turn[c->turns++] = (struct sim_turn){ .begin = n->begin,
							 .iteration = c->iteration_last,
							 .off = off_until(sched, n->begin),
							 .base = (u16)c->depth };
		for (k = 0; k < t->len; k++)
			c->turn[c->turns - 1].first += t->n[k].end <= n->begin;
	}
	return c;
}

/* At any time all figures are those of a trace in which all that is open ends then, and what is told of
 * it changes nothing of what comes. */
static void at_random_times(unsigned int seed, bool exact)
{
	static struct tree cut;
	struct model_config config = { .nested = seed % 2 ? NESTED_DROP : NESTED_SUSPEND,
				       .exact = exact };
	struct model *m = model_make(&config);
	struct sim *s = sim_of(1, RECORDS), *sched = exact ? sim_of(1, RECORDS) : NULL, *then;
	struct tree *t = random_tree(s, sched, seed);
	u32 done, next, told = 0, upto = 0;
	struct snapshot *snap;
	struct answer a;
	u64 at, since;

	for (done = 0; done < s->records; done = next) {
		next = (u32)min_u64(done + 1 + (u64)random() % 40, s->records);
		/* All records have the same places for their times. */
		at = ((struct vmspan_span *)s->data[s->at[next - 1]])->end;
		while (exact && upto < sched->records &&
		       ((struct vmspan_span *)sched->data[upto])->end <= at)
			upto++;
		if (exact)
			sim_sched_batch(sched, m, told, upto);
		told = upto;
		assert_int_equal(sim_batch(s, m, SIM_PID, done, next), 0);
		then = thread_then(s, sched, t, next, at, &since);
		if (then->turns || then->depth)
			tell_open(then, m, since, at);
		cut_tree(t, sched, &cut, at, at);
		slow_answer(&cut, config.nested, &a);
		snap = snapshot_take(m);
		compare(seed, snap, &a, exact);
		SAME("open", snap->open_count, then->turns || then->depth);
		snapshot_free(snap);
		free(then);
	}
	snap = snapshot_take(m);
	slow_answer(t, config.nested, &a);
	compare(seed, snap, &a, exact);
	snapshot_free(snap);
	model_free(m);
	free(t);
	free(s);
	free(sched);
}

/* The records from `from` to before `to` and, where they are not told of otherwise, the times that the
 * thread had no CPU; then those that end what is open. */
static u32 unhanded(const struct sim *s, const struct sim *sched, u32 from, u32 to, u64 known,
		    u64 at, const struct sim *closing, u8 *out, u32 *bytes)
{
	u32 k = 0, i, n = 0, size;

	*bytes = 0;
	for (i = from; i <= to; i++) {
		const struct vmspan_span *r = i < to ? (const void *)s->data[s->at[i]] : NULL;
		u64 end = r ? r->end : at;

		for (; k < sched->records; k++) {
			const struct vmspan_span *off = (const void *)sched->data[k];

			if (off->end > end)
				break;
			if (off->end <= known || off->end == off->begin)
				continue;
			*(struct vmspan_span *)(out + *bytes) = (struct vmspan_span){
				.h = { VMSPAN_AWAY, 1, 0, 0 }, .begin = off->begin, .end = off->end
			};
			*bytes += VMSPAN_SLOT;
			n++;
		}
		size = r ? r->h.slots * (u32)VMSPAN_SLOT : closing->slots * (u32)VMSPAN_SLOT;
		memcpy(out + *bytes, r ? (const void *)r : closing->data, size);
		*bytes += size;
		n += r ? 1 : closing->records;
	}
	return n;
}

/* In exact mode a thread keeps what it has not handed over, and the scheduler's record of it. */
static void at_random_times_unhanded(unsigned int seed)
{
	static _Alignas(8) u8 space[3 * RECORDS * VMSPAN_SLOT];
	static struct tree cut;
	struct model_config config = { .nested = seed % 2 ? NESTED_DROP : NESTED_SUSPEND,
				       .exact = true };
	struct model *m = model_make(&config);
	struct sim *s = sim_of(1, RECORDS), *sched = sim_of(1, RECORDS), *then, *c;
	struct tree *t = random_tree(s, sched, seed);
	u32 done, next, told = 0, upto = 0;
	u64 at, since, known = 0;
	struct snapshot *snap;
	struct answer a;

	for (done = 0; done < s->records; done = next) {
		struct item it = { .type = ITEM_OPEN, .open.off = VMSPAN_OFF_SLEEPING };

		next = (u32)min_u64(done + 1 + (u64)random() % 40, s->records);
		at = ((struct vmspan_span *)s->data[s->at[next - 1]])->end;
		then = thread_then(s, sched, t, next, at, &since);
		c = closing(then, at);
		if (c->records) {
			struct item_batch *b = &it.open.batch;

			*b = sim_item(c, SIM_PID, 0, c->records).batch;
			b->seq = done;
			b->records = unhanded(s, sched, done, next, known, at, c, space, &b->bytes);
			b->data = space;
			it.open.what = event_of(1, since, at);
			assert_int_equal(model_item(m, &it), 0);
			cut_tree(t, sched, &cut, at, known);
			slow_answer(&cut, config.nested, &a);
			snap = snapshot_take(m);
			compare(seed, snap, &a, true);
			snapshot_free(snap);
		}
		free(c);
		free(then);
		while (upto < sched->records &&
		       ((struct vmspan_span *)sched->data[upto])->end <= at)
			upto++;
		sim_sched_batch(sched, m, told, upto);
		told = upto;
		known = at;
		assert_int_equal(sim_batch(s, m, SIM_PID, done, next), 0);
	}
	snap = snapshot_take(m);
	slow_answer(t, config.nested, &a);
	compare(seed, snap, &a, true);
	snapshot_free(snap);
	model_free(m);
	free(t);
	free(s);
	free(sched);
}

static void random_times_unhanded(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 200; seed += SEED_STEP)
		at_random_times_unhanded(seed);
}

static void random_times(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 200; seed += SEED_STEP)
		at_random_times(seed, false);
}

static void random_times_in_exact_mode(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 200; seed += SEED_STEP)
		at_random_times(seed, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_times),
		cmocka_unit_test(random_times_in_exact_mode),
		cmocka_unit_test(random_times_unhanded),
	};

	return cmocka_run_group_tests_name("open_random", tests, NULL, NULL);
}
