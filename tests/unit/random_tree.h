/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random nested marks of a thread, as a stream and as a tree; and a slow model
 * that answers from the tree.
 */
#ifndef TESTS_RANDOM_TREE_H
#define TESTS_RANDOM_TREE_H

#include "seed.h"
#include "sim.h"

#include <stdio.h>

/* The tree of a thread, as the marks were made. */
struct node {
	u64 begin, end;
	u8 type; /* 0: event */
	u32 comp;
	bool moved;
	int parent; /* index; -1: none */
	int event; /* index of the event it is in */
	bool nested_inside; /* an event lies in it */
	u64 off[VMSPAN_OFF_REASONS]; /* exact mode: of its own, by reason */
};

struct tree {
	struct node n[4096];
	int len;
};

struct answer {
	u64 wall[10], self[10], ticks[10], spans[10], blocked[10], gc[10], moved[10], stale[10];
	u64 cpu[10], preempted[10];
	struct ledger l;
	u64 events;
};

static bool in_group(u32 comp, u32 g)
{
	return comp == g || (comp == 9 && g <= 2) || g == 0; /* 0: top */
}

/* Nodes are in the order in which they began, so those inside of one follow it at once. */
static bool inside(const struct tree *t, int i, int of)
{
	for (; i >= 0 && i < t->len; i = t->n[i].parent)
		if (i == of)
			return true;
	return false;
}

/* The innermost thing at every moment: each node's time without children. */
static u64 node_self(const struct tree *t, int i)
{
	u64 self = t->n[i].end - t->n[i].begin;
	int k;

	for (k = i + 1; inside(t, k, i); k++)
		if (t->n[k].parent == i)
			self -= t->n[k].end - t->n[k].begin;
	return self;
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

static u64 node_waited(const struct node *n)
{
	return n->off[VMSPAN_OFF_SLEEPING] + n->off[VMSPAN_OFF_IO] +
	       n->off[VMSPAN_OFF_UNINTERRUPTIBLE] + n->off[VMSPAN_OFF_LOCK];
}

/* It would have run. */
static u64 node_kept(const struct node *n)
{
	return n->off[VMSPAN_OFF_PREEMPTED] + n->off[VMSPAN_OFF_STOPPED] +
	       n->off[VMSPAN_OFF_FROZEN] + n->off[VMSPAN_OFF_THROTTLED];
}

/* Time of a kind of nodes (type; 0: events) under node i, not in events. */
static u64 under(const struct tree *t, int i, u8 type)
{
	u64 sum = 0;
	int k, p;

	for (k = i + 1; inside(t, k, i); k++) {
		if (t->n[k].type != type)
			continue;
		for (p = t->n[k].parent; p != i && t->n[p].type; p = t->n[p].parent)
			;
		if (p == i)
			sum += type ? node_self(t, k) - node_waited(&t->n[k]) - node_kept(&t->n[k])
				    : t->n[k].end - t->n[k].begin;
	}
	return sum;
}

/* Off-CPU time in node i and what is in it, nested events apart. */
static u64 off_under(const struct tree *t, int i, bool kept)
{
	u64 sum = 0;
	int k, p;

	for (k = i; inside(t, k, i); k++) {
		for (p = k; p != i && t->n[p].type; p = t->n[p].parent)
			;
		if (p == i)
			sum += kept ? node_kept(&t->n[k]) : node_waited(&t->n[k]);
	}
	return sum;
}

/* Events proper, and stays outside of any. */
static bool is_event(const struct node *n)
{
	return !n->type || n->parent < 0;
}

static inline void slow_answer(const struct tree *t, enum nested_mode mode, struct answer *a)
{
	int i;
	u32 g;

	memset(a, 0, sizeof(*a));
	for (i = 0; i < t->len; i++) {
		const struct node *n = &t->n[i];
		u64 waited = node_waited(n), preempted = node_kept(n);
		u64 self = node_self(t, i) - waited - preempted;
		bool stale = n->nested_inside && mode == NESTED_DROP;

		if (is_event(n)) {
			a->l.event_wall_ns += n->end - n->begin - under(t, i, 0);
			a->events++;
		}
		a->l.preempted_ns += preempted;
		a->l.stopped_ns += n->off[VMSPAN_OFF_STOPPED];
		a->l.frozen_ns += n->off[VMSPAN_OFF_FROZEN];
		a->l.throttled_ns += n->off[VMSPAN_OFF_THROTTLED];
		a->l.native_ns += preempted;
		a->l.blocked_ns += waited;
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
			a->preempted[g] += off_under(t, i, true);
			a->wall[g] += n->end - n->begin - under(t, i, 0) - off_under(t, i, true);
			a->cpu[g] += n->end - n->begin - under(t, i, 0) - off_under(t, i, true) -
				     off_under(t, i, false);
			a->blocked[g] += under(t, i, VMSPAN_BLOCK) + off_under(t, i, false);
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
	struct sim *sched; /* exact mode: the scheduler's record, or NULL */
};

/* The next moment; the thread may lose the CPU on the way there. */
static u64 later(struct maker *mk)
{
	u64 step = 4 + (u64)random() % 1000, off = 1 + (u64)random() % (step - 2);
	u32 reason = 1 + (u32)random() % (VMSPAN_OFF_REASONS - 1);

	if (mk->sched && random() % 3 == 0) {
		sim_off(mk->sched, mk->now + 1, mk->now + 1 + off, reason);
		mk->s->off += off;
		if (mk->top >= 0)
			mk->t->n[mk->top].off[reason] += off;
	}
	return mk->now += step;
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
	mk->t->n[i].moved = cpu != mk->s->cpu && !mk->sched;
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

static inline struct tree *random_tree(struct sim *s, struct sim *sched, unsigned int seed)
{
	struct tree *t = calloc(1, sizeof(*t));
	struct maker mk = { .s = s, .t = t, .now = 1000, .top = -1, .event = -1, .sched = sched };

	seed_random(seed);
	if (sched)
		sim_off(sched, 900, 900, VMSPAN_OFF_START);
	while (t->len < 150)
		if (random() % 6)
			make_event(&mk, 0);
		else
			make_stay(&mk, VMSPAN_SPAN, 0);
	return t;
}

static inline struct tree *random_stream(struct sim *s, unsigned int seed)
{
	return random_tree(s, NULL, seed);
}

#define SAME(what, have, want)                                                               \
	do {                                                                                 \
		if ((u64)(have) != (u64)(want))                                              \
			fail_msg("seed %u, %s: have %" PRIu64 ", want %" PRIu64, seed, what, \
				 (u64)(have), (u64)(want));                                  \
	} while (0)

static inline void compare(unsigned int seed, const struct snapshot *snap, const struct answer *a,
			   bool exact)
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
		sg = snapshot_group(snap, name);
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
		if (exact) {
			SAME("cpu", st->cpu_ns, a->cpu[g]);
			if (!st->open.events)
				SAME("how far that may be off", st->cpu_margin_ns, 0);
			SAME("preempted", st->preempted_ns, a->preempted[g]);
		}
	}
}

#endif
