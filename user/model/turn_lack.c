/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What groups would be charged besides, if their spans that changed CPU counted. Such spans are few: what
 * all others need to know of it is that there is none.
 */
#include "base/array.h"
#include "model/turn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A stay that is not charged, or several merged: the counterpart of struct outer. */
struct lacking {
	u64 begin, seq;
	struct lack_sum sum;
	u16 depth;
};

struct lack {
	u64 uid; /* of the event that it is of */
	struct lacking *at;
	u32 len, cap;
	struct model_uncharged uncharged;
};

struct lack *lack_of(const struct turn *t, const struct share *sh)
{
	return sh->lack->uid == t->uid ? sh->lack : NULL;
}

void lack_free(struct lack *l)
{
	if (l)
		free(l->at);
	free(l);
}

static int begin(const struct turn *t, struct share *sh)
{
	struct lack *l = sh->lack;

	if (!l)
		l = sh->lack = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	if (l->uid == t->uid)
		return 0;
	l->uid = t->uid;
	l->len = 0;
	l->uncharged = (struct model_uncharged){ 0 };
	return 0;
}

static void add(struct lack_sum *to, const struct lack_sum *from)
{
	cycles_add(&to->wall, from->wall);
	cycles_add(&to->blocked, from->blocked);
	cycles_add(&to->gc, from->gc);
	cycles_add(&to->cpu, from->cpu);
}

/* What the stay would be charged beyond what is charged of the group inside of it. */
static struct lack_sum beyond(const struct share *sh, const struct vmspan_span *s,
			      const struct inside *in)
{
	struct lack_sum sum = {
		.wall = cycles_less(in->cycles, in->nested, in->preempted),
		.blocked = in->blocked,
		.gc = in->gc,
		.cpu = cycles_less(in->cycles, in->nested, in->off),
	};
	u32 i;

	for (i = sh->outer_len; i-- && sh->outer[i].begin >= s->begin;) {
		const struct outer *o = &sh->outer[i];

		sum.wall = cycles_less(sum.wall, o->charged, 0);
		sum.blocked = cycles_less(sum.blocked, o->blocked, 0);
		sum.gc = cycles_less(sum.gc, o->gc, 0);
		sum.cpu = cycles_less(sum.cpu, o->cpu, 0);
	}
	return sum;
}

/* As share_merge() does. */
static void merge(const struct turn *t, struct lack *l)
{
	struct lacking *top = &l->at[l->len - 1], *to = top - 1;

	if (!turn_together(t, to->seq, to->depth, top->seq, top->depth))
		return;
	add(&to->sum, &top->sum);
	to->depth = to->depth < top->depth ? to->depth : top->depth;
	to->seq = top->seq;
	l->len--;
}

int lack_close(struct turn *t, struct share *sh, const struct vmspan_span *s, enum span_fate fate,
	       const struct inside *in, u64 seq, u64 shallower)
{
	struct lacking now = { .begin = s->begin,
			       .seq = seq,
			       .depth = s->h.depth & VMSPAN_DEPTH_MASK };
	struct lacking *top;
	struct lack *l;

	if (begin(t, sh))
		return -ENOMEM;
	l = sh->lack;
	while (l->len && l->at[l->len - 1].begin >= s->begin)
		add(&now.sum, &l->at[--l->len].sum);
	/* What counts has all that is inside of it. */
	if (fate == SPAN_KEPT || fate == SPAN_LOST)
		return 0;
	if (fate == SPAN_MOVED)
		now.sum = beyond(sh, s, in);
	if (!(now.sum.wall | now.sum.blocked | now.sum.gc | now.sum.cpu))
		return 0;
	top = l->len ? &l->at[l->len - 1] : NULL;
	/* As share_close() merges. */
	if (top && top->depth >= now.depth && top->seq > shallower) {
		add(&top->sum, &now.sum);
		top->depth = now.depth;
		top->seq = seq;
		return 0;
	}
	if (l->len >= TURN_MERGE_FROM)
		merge(t, l);
	if (array_room(l->at, l->cap, l->len + 1))
		return -ENOMEM;
	l->at[l->len++] = now;
	return 0;
}

int lack_copy(const struct turn *t, struct share *to, const struct lack *from)
{
	struct lack *l;

	if (begin(t, to))
		return -ENOMEM;
	l = to->lack;
	if (array_room(l->at, l->cap, from->len))
		return -ENOMEM;
	if (from->len)
		memcpy(l->at, from->at, from->len * sizeof(*l->at));
	l->len = from->len;
	return 0;
}

struct lack_sum lack_sum(const struct lack *l)
{
	struct lack_sum sum = { 0 };
	u32 i;

	for (i = 0; i < l->len; i++)
		add(&sum, &l->at[i].sum);
	return sum;
}

struct model_uncharged *lack_uncharged(struct lack *l)
{
	return &l->uncharged;
}
