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

#include "sim.h"

/* The tree of a thread, as the marks were made. */
struct node {
	u64 begin, end;
	u8 type; /* 0: event */
	u32 comp;
	bool moved;
	int parent; /* index; -1: none */
	int event; /* index of the event it is in */
	bool nested_inside; /* an event lies in it */
};

struct tree {
	struct node n[4096];
	int len;
};

struct answer {
	u64 wall[10], self[10], ticks[10], spans[10], blocked[10], gc[10], moved[10], stale[10];
	struct ledger l;
	u64 events;
};

static bool in_group(u32 comp, u32 g)
{
	return comp == g || (comp == 9 && g <= 2) || g == 0; /* 0: top */
}

/* The innermost thing at every moment: each node's time without children. */
static u64 node_self(const struct tree *t, int i)
{
	u64 self = t->n[i].end - t->n[i].begin;
	int k;

	for (k = 0; k < t->len; k++)
		if (t->n[k].parent == i)
			self -= t->n[k].end - t->n[k].begin;
	return self;
}

static bool inside(const struct tree *t, int i, int of)
{
	for (; i >= 0; i = t->n[i].parent)
		if (i == of)
			return true;
	return false;
}

/* Is node i an outermost (kept) stay of group g in its event? */
static bool outermost(const struct tree *t, int i, u32 g, bool kept, enum nested_mode mode)
{
	int p = t->n[i].parent;

	for (; p >= 0 && t->n[p].event == t->n[i].event && t->n[p].type; p = t->n[p].parent) {
		const struct node *n = &t->n[p];

		if (n->type != VMSPAN_SPAN || !in_group(n->comp, g))
			continue;
		if (!kept || (!n->moved && !(n->nested_inside && mode == NESTED_DROP)))
			return false;
	}
	return true;
}

/* Time of a kind of nodes (type; 0: events) under node i, not in events. */
static u64 under(const struct tree *t, int i, u8 type)
{
	u64 sum = 0;
	int k, p;

	for (k = 0; k < t->len; k++) {
		if (k == i || t->n[k].type != type || !inside(t, k, i))
			continue;
		for (p = t->n[k].parent; p != i && t->n[p].type; p = t->n[p].parent)
			;
		if (p == i)
			sum += type ? node_self(t, k) : t->n[k].end - t->n[k].begin;
	}
	return sum;
}

static void slow_answer(const struct tree *t, enum nested_mode mode, struct answer *a)
{
	int i;
	u32 g;

	memset(a, 0, sizeof(*a));
	for (i = 0; i < t->len; i++) {
		const struct node *n = &t->n[i];
		u64 self = node_self(t, i);
		bool stale = n->nested_inside && mode == NESTED_DROP;

		a->l.event_wall_ns += n->type ? 0 : n->end - n->begin - under(t, i, 0);
		a->events += !n->type;
		if (!n->type)
			a->l.native_ns += self;
		else if (n->type == VMSPAN_GC)
			a->l.gc_ns += self;
		else if (n->type == VMSPAN_BLOCK)
			a->l.blocked_ns += self;
		else if (stale)
			a->l.stale_ns += self;
		else if (n->moved)
			a->l.moved_ns += self;
		else
			a->l.self_ns += self;
		for (g = 0; g < 10 && n->type == VMSPAN_SPAN; g++) {
			if (!in_group(n->comp, g))
				continue;
			a->spans[g]++;
			a->stale[g] += stale;
			a->moved[g] += !stale && n->moved;
			a->ticks[g] += outermost(t, i, g, false, mode);
			if (stale || n->moved)
				continue;
			a->self[g] += self;
			if (!outermost(t, i, g, true, mode))
				continue;
			a->wall[g] += n->end - n->begin - under(t, i, 0);
			a->blocked[g] += under(t, i, VMSPAN_BLOCK);
			a->gc[g] += under(t, i, VMSPAN_GC);
		}
	}
}

/* Random nested marks for one thread; both the stream and the tree. */
struct maker {
	struct sim *s;
	struct tree *t;
	u64 now;
	int top, event;
	u32 depth;
};

static u64 later(struct maker *mk)
{
	return mk->now += 1 + (u64)random() % 1000;
}

static int maker_open(struct maker *mk, u8 type, u32 comp)
{
	int i = mk->t->len++;

	mk->t->n[i] = (struct node){ .begin = mk->now,
				     .type = type,
				     .comp = comp,
				     .parent = mk->top,
				     .event = type ? mk->event : i };
	mk->top = i;
	return i;
}

static void make_inside(struct maker *mk, u32 nesting);

static void make_event(struct maker *mk, u32 nesting)
{
	int outer = mk->event, p, i;

	later(mk);
	sim_event(mk->s, mk->now);
	i = maker_open(mk, 0, 0);
	mk->event = i;
	for (p = mk->t->n[i].parent; p >= 0; p = mk->t->n[p].parent)
		mk->t->n[p].nested_inside = true;
	make_inside(mk, nesting);
	later(mk);
	sim_event_end(mk->s, mk->now);
	mk->t->n[i].end = mk->now;
	mk->top = mk->t->n[i].parent;
	mk->event = outer;
}

static void make_stay(struct maker *mk, u8 type, u32 nesting)
{
	/* Never the compartment on top: the SDK merges that. */
	u32 comp = 1 + (u32)random() % 9;
	u16 cpu = mk->s->cpu;
	int i;

	if (type == VMSPAN_SPAN && mk->top >= 0 && mk->t->n[mk->top].type == VMSPAN_SPAN &&
	    mk->t->n[mk->top].comp == comp)
		comp = comp % 9 + 1;
	later(mk);
	sim_enter(mk->s, mk->now, type == VMSPAN_SPAN ? comp : 0, type);
	i = maker_open(mk, type, comp);
	make_inside(mk, nesting);
	if (random() % 16 == 0)
		mk->s->cpu = (u16)(random() % 4);
	later(mk);
	sim_leave(mk->s, mk->now);
	mk->t->n[i].end = mk->now;
	mk->t->n[i].moved = cpu != mk->s->cpu;
	mk->top = mk->t->n[i].parent;
}

static void make_inside(struct maker *mk, u32 nesting)
{
	u32 n = (u32)random() % 4;

	if (++mk->depth < 12)
		while (n-- && mk->t->len < 400) {
			long what = random() % 20;

			if (what == 0 && nesting < 4)
				make_event(mk, nesting + 1);
			else if (what == 1)
				make_stay(mk, VMSPAN_GC, nesting);
			else if (what == 2)
				make_stay(mk, VMSPAN_BLOCK, nesting);
			else
				make_stay(mk, VMSPAN_SPAN, nesting);
		}
	mk->depth--;
}

static struct tree *random_stream(struct sim *s, unsigned int seed)
{
	struct tree *t = calloc(1, sizeof(*t));
	struct maker mk = { .s = s, .t = t, .now = 1000, .top = -1, .event = -1 };

	srandom(seed);
	while (t->len < 150)
		make_event(&mk, 0);
	return t;
}

#define SAME(what, have, want)                                                               \
	do {                                                                                 \
		if ((u64)(have) != (u64)(want))                                              \
			fail_msg("seed %u, %s: have %" PRIu64 ", want %" PRIu64, seed, what, \
				 (u64)(have), (u64)(want));                                  \
	} while (0)

static void compare(unsigned int seed, const struct snapshot *snap, const struct answer *a)
{
	static const struct group_stats none;
	u32 g;

	SAME("events", snap->events.count, a->events);
	SAME("incomplete", snap->events.incomplete, 0);
	SAME("wall", snap->ledger.event_wall_ns, a->l.event_wall_ns);
	SAME("self", snap->ledger.self_ns, a->l.self_ns);
	SAME("gc", snap->ledger.gc_ns, a->l.gc_ns);
	SAME("blocked", snap->ledger.blocked_ns, a->l.blocked_ns);
	SAME("native", snap->ledger.native_ns, a->l.native_ns);
	SAME("moved", snap->ledger.moved_ns, a->l.moved_ns);
	SAME("stale", snap->ledger.stale_ns, a->l.stale_ns);
	SAME("lost", snap->ledger.lost_ns, 0);
	for (g = 0; g <= 8; g++) {
		char name[16] = "top:test";
		const struct snapshot_group *sg;
		const struct group_stats *st;

		if (g)
			snprintf(name, sizeof(name), "addon:%c", 'a' + g - 1);
		sg = sim_group(snap, name);
		st = sg ? &sg->stats : &none;
		SAME(name, st->spans, a->spans[g]);
		SAME("ticks", st->ticks, a->ticks[g]);
		SAME("moved spans", st->moved, a->moved[g]);
		SAME("stale spans", st->stale, a->stale[g]);
		SAME("stayed", st->stayed, a->spans[g] - a->moved[g] - a->stale[g]);
		SAME("self", st->self_ns, a->self[g]);
		SAME("charged", st->wall_ns, a->wall[g]);
		SAME("gc in it", st->gc_ns, a->gc[g]);
		SAME("blocked in it", st->blocked_ns, a->blocked[g]);
	}
}

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
		compare(seed, snap, &a);
		snapshot_free(snap);
		model_free(m);
		free(t);
		free(s);
	}
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
		cmocka_unit_test(random_streams),
		cmocka_unit_test(random_losses),
		cmocka_unit_test(processes_merge),
		cmocka_unit_test(random_forgeries),
	};

	return cmocka_run_group_tests_name("model_random", tests, NULL, NULL);
}
