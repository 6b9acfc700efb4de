/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/turn.h"
#include "model/scale.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What the usual span does not need stays out of its registers' way. */
#define NOINLINE __attribute__((noinline))

/* Doubles an array; what is new is zero. */
static NOINLINE int array_double(void **array, u32 *cap, size_t size)
{
	u32 want = *cap ? *cap * 2 : 8;
	void *p = realloc(*array, want * size);

	if (!p)
		return -ENOMEM;
	memset((char *)p + *cap * size, 0, (want - *cap) * size);
	*array = p;
	*cap = want;
	return 0;
}

/* Room for one more entry. */
static inline int grow(void *array, u32 len, u32 *cap, size_t size)
{
	return len < *cap ? 0 : array_double(array, cap, size);
}

void turn_reset(struct turn *t, u32 iteration, u64 uid, u64 hole_cycles)
{
	struct turn keep = *t;

	map_clear(&keep.share_of);
	map_clear(&keep.comp_of);
	*t = (struct turn){
		.uid = uid,
		.iteration = iteration,
		.hole_cycles = hole_cycles,
		.pend = keep.pend,
		.pend_cap = keep.pend_cap,
		.shares = keep.shares,
		.share_cap = keep.share_cap,
		.comps = keep.comps,
		.comp_cap = keep.comp_cap,
		.share_of = keep.share_of,
		.comp_of = keep.comp_of,
		.waits = { keep.waits.at, 0, keep.waits.cap, 0 },
		.scratch = keep.scratch,
		.scratch_cap = keep.scratch_cap,
	};
}

void turn_free(struct turn *t)
{
	u32 i;

	for (i = 0; i < t->share_cap; i++) {
		free(t->shares[i].outer);
		lack_free(t->shares[i].lack);
	}
	free(t->shares);
	free(t->pend);
	free(t->comps);
	free(t->scratch);
	free(t->waits.at);
	map_free(&t->share_of);
	map_free(&t->comp_of);
	*t = (struct turn){ 0 };
}

static void inside_add(struct inside *to, const struct inside *in)
{
	cycles_add(&to->cycles, in->cycles);
	/* Most stays have none of the others. */
	if (!(in->nested | in->blocked | in->gc | in->off | in->room.count))
		return;
	cycles_add(&to->nested, in->nested);
	cycles_add(&to->blocked, in->blocked);
	cycles_add(&to->gc, in->gc);
	cycles_add(&to->off, in->off);
	cycles_add(&to->preempted, in->preempted);
	hole_add(&to->room, &in->room);
}

/*
 * What a stay at `depth` that began at `begin` takes in. Deeper stays that
 * ended before it began lost the stay around them; they stay in the event.
 */
static struct inside pend_take(struct turn *t, u16 depth, u64 begin)
{
	struct inside in = { 0 };

	while (t->pend_len && t->pend[t->pend_len - 1].depth > depth) {
		const struct pend *p = &t->pend[--t->pend_len];

		if (p->end <= begin && p->in.cycles)
			cycles_add(&t->orphans, p->in.cycles);
		else
			inside_add(&in, &p->in);
	}
	return in;
}

/* Leaves a closed stay for the one around it. */
static int pend_leave(struct turn *t, u16 depth, u64 end, const struct inside *in)
{
	struct pend *p = t->pend_len ? &t->pend[t->pend_len - 1] : NULL;

	t->closed++;
	t->last_end = end;
	if (!p || p->depth != depth) {
		if (grow(&t->pend, t->pend_len, &t->pend_cap, sizeof(*t->pend)))
			return -ENOMEM;
		p = &t->pend[t->pend_len++];
		*p = (struct pend){ .depth = depth };
	}
	p->seq = t->closed;
	p->end = end;
	inside_add(&p->in, in);
	return 0;
}

/* When something shallower than `depth` was last closed. */
static u64 shallower_seq(const struct turn *t, u16 depth)
{
	u32 i = t->pend_len;

	while (i && t->pend[i - 1].depth >= depth)
		i--;
	return i ? t->pend[i - 1].seq : 0;
}

/* Where the group's sums are in this event; its row remembers it for the event
 * that is active. */
static struct share *share_of(struct turn *t, struct row *rows, u32 row, u32 *index)
{
	struct row *r = &rows[row];
	struct share *sh;
	u64 *at;

	if (r->turn_uid != t->uid) {
		at = map_get(&t->share_of, row);
		if (!at) {
			if (grow(&t->shares, t->share_len, &t->share_cap, sizeof(*t->shares)))
				return NULL;
			sh = &t->shares[t->share_len];
			*sh = (struct share){ .row = row,
					      .outer = sh->outer,
					      .outer_cap = sh->outer_cap,
					      .lack = sh->lack };
		}
		r->turn_share = at ? (u32)*at : t->share_len++;
		r->turn_uid = t->uid;
	}
	*index = r->turn_share;
	return &t->shares[*index];
}

/* The same for a compartment that the event has not entered since it became
 * active. */
static NOINLINE struct turn_comp *comp_enter(struct turn *t, struct comp *c, u32 id,
					     struct row *rows)
{
	struct turn_comp *tc;
	u64 *at;
	u32 i;

	at = map_get(&t->comp_of, id);
	if (at && t->comps[*at].share_count == c->row_count) {
		tc = &t->comps[*at];
	} else {
		if (grow(&t->comps, t->comp_len, &t->comp_cap, sizeof(*t->comps)))
			return NULL;
		tc = &t->comps[t->comp_len++];
		*tc = (struct turn_comp){ .id = id, .share_count = c->row_count };
	}
	for (i = 0; i < c->row_count; i++)
		if (!share_of(t, rows, c->rows[i], &tc->shares[i]))
			return NULL;
	c->turn_uid = t->uid;
	c->turn_comp = (u32)(tc - t->comps);
	return tc;
}

int turn_park(struct turn *t)
{
	for (; t->comp_parked < t->comp_len; t->comp_parked++)
		if (map_put(&t->comp_of, t->comps[t->comp_parked].id, t->comp_parked))
			return -ENOMEM;
	for (; t->share_parked < t->share_len; t->share_parked++)
		if (map_put(&t->share_of, t->shares[t->share_parked].row, t->share_parked))
			return -ENOMEM;
	return 0;
}

/* The usual span of a group: nothing lies in it, and the stay before it is
 * taken in by whatever will take in this one. */
static inline bool share_beside(struct share *sh, const struct vmspan_span *s, u16 depth,
				u64 cycles, u64 seq, u64 shallower)
{
	struct outer *top;

	if (!sh->outer_len)
		return false;
	top = &sh->outer[sh->outer_len - 1];
	if (top->begin >= s->begin || top->depth < depth || top->seq <= shallower)
		return false;
	top->charged += cycles;
	top->cpu += cycles;
	top->ticks++;
	top->depth = depth;
	top->seq = seq;
	return true;
}

bool turn_together(const struct turn *t, u64 seq_1, u16 depth_1, u64 seq_2, u16 depth_2)
{
	u16 below =
		depth_2; /* of depths below this the stays around the later one are still open */
	u32 i;

	for (i = 0; i < t->pend_len && t->pend[i].depth < below; i++)
		if (t->pend[i].seq > seq_2)
			below = t->pend[i].depth;
	if (below > depth_1)
		return false;
	for (i = 0; i < t->pend_len && t->pend[i].depth < below; i++)
		if (t->pend[i].seq > seq_1)
			return false;
	return true;
}

/* Of a group that is called again and again, each time by another stay, all that is past is one. */
static void share_merge(const struct turn *t, struct share *sh)
{
	struct outer *top = &sh->outer[sh->outer_len - 1], *to = top - 1;

	if (!turn_together(t, to->seq, to->depth, top->seq, top->depth))
		return;
	to->charged += top->charged;
	to->blocked += top->blocked;
	to->gc += top->gc;
	to->cpu += top->cpu;
	to->preempted += top->preempted;
	hole_add(&to->room, &top->room);
	to->ticks += top->ticks;
	to->depth = to->depth < top->depth ? to->depth : top->depth;
	to->seq = top->seq;
	sh->outer_len--;
}

/*
 * A span of the group has closed: it becomes the group's outermost stay
 * instead of those inside it. A span that is not `valid` measures nothing
 * itself; what was measured inside it stands.
 */
static int share_close(const struct turn *t, struct share *sh, const struct vmspan_span *s,
		       u16 depth, bool valid, const struct inside *in, u64 seq, u64 shallower)
{
	/* A stay is counted in the event that it began in. */
	u64 ticks = !(s->h.depth & VMSPAN_F_PART);
	struct outer o = { .begin = s->begin, .seq = seq, .depth = depth, .ticks = ticks },
		     within = { 0 };
	struct outer *top;

	while (sh->outer_len && sh->outer[sh->outer_len - 1].begin >= s->begin) {
		top = &sh->outer[--sh->outer_len];
		within.charged += top->charged;
		within.blocked += top->blocked;
		within.gc += top->gc;
		within.cpu += top->cpu;
		within.preempted += top->preempted;
		hole_add(&within.room, &top->room);
	}
	o.charged = valid ? cycles_less(in->cycles, in->nested, in->preempted) : within.charged;
	o.blocked = valid ? in->blocked : within.blocked;
	o.gc = valid ? in->gc : within.gc;
	o.cpu = valid ? cycles_less(in->cycles, in->nested, in->off) : within.cpu;
	o.preempted = valid ? in->preempted : within.preempted;
	o.room = valid ? in->room : within.room;
	top = sh->outer_len ? &sh->outer[sh->outer_len - 1] : NULL;
	/* Nothing shallower was closed in between, so the same stays are open
	 * around both: whoever takes in one will take in the other. */
	if (top && top->depth >= depth && top->seq > shallower) {
		top->charged += o.charged;
		top->blocked += o.blocked;
		top->gc += o.gc;
		top->cpu += o.cpu;
		top->preempted += o.preempted;
		hole_add(&top->room, &o.room);
		top->ticks += o.ticks;
		top->depth = depth;
		top->seq = seq;
		return 0;
	}
	if (sh->outer_len >= TURN_MERGE_FROM)
		share_merge(t, sh);
	if (grow(&sh->outer, sh->outer_len, &sh->outer_cap, sizeof(*sh->outer)))
		return -ENOMEM;
	sh->outer[sh->outer_len++] = o;
	return 0;
}

/* Takes off-CPU time out of the `self` cycles of a stay; its waiting is
 * blocked time, and what it was kept off is nobody's. */
static void take_off(struct turn *t, struct off_sum *off, u64 *self, struct inside *in)
{
	u64 total = off_total(off), waited;
	u32 i;

	/* The clocks of the two records differ by a little. */
	for (i = VMSPAN_OFF_PREEMPTED; i < VMSPAN_OFF_REASONS && total > *self; i++) {
		u64 less = min_u64(off->cycles[i], total - *self);

		off->cycles[i] -= less;
		total -= less;
	}
	cycles_add(&t->off, total);
	waited = total - off_kept(off);
	*self -= total;
	cycles_add(&t->preempted, off_kept(off));
	cycles_add(&t->blocked, waited);
	cycles_add(&in->preempted, off_kept(off));
	cycles_add(&in->blocked, waited);
	off_add(&t->off_by, off);
	cycles_add(&in->off, total);
}

/* What every stay has: the stays in it, its cycles, its time off the CPU. */
struct measured {
	struct inside in; /* itself included */
	struct off_sum off; /* its own */
	bool exact; /* the scheduler's record covers it */
};

/* Fills both; the fate is SPAN_KEPT, or SPAN_BAD if its times make no sense.
 * 0 or -ENOMEM. */
static int stay_measure(struct turn *t, const struct turn_rules *rules, const struct vmspan_span *s,
			u16 depth, struct measured *m, struct stay *out)
{
	u64 cycles = s->end - s->begin;

	m->in = pend_take(t, depth, s->begin);
	m->exact = rules->sched && rules->sched->from <= s->begin &&
		   !part_lacks(rules->parts, TRACE_BLOCKING, s->begin, s->end);
	if (rules->sched &&
	    sched_take(rules->sched, s->begin, s->end, &m->off, m->exact ? &t->waits : NULL))
		return -ENOMEM;
	out->fate = SPAN_KEPT;
	if (s->end < s->begin || cycles < m->in.cycles) {
		out->fate = SPAN_BAD;
		cycles = m->in.cycles;
	}
	out->cycles = cycles;
	out->self = cycles - m->in.cycles;
	m->in.cycles = cycles;
	if (m->exact) {
		take_off(t, &m->off, &out->self, &m->in);
	} else if (out->self > t->hole_cycles && s->h.type != VMSPAN_BLOCK) {
		hole_stay(&t->room, out->self, t->hole_cycles);
		hole_stay(&m->in.room, out->self, t->hole_cycles);
	}
	out->blocked = m->in.blocked;
	out->gc = m->in.gc;
	out->off = m->in.off;
	return 0;
}

static NOINLINE int span_around(struct turn *t, const struct turn_rules *rules,
				const struct vmspan_span *s, struct turn_comp *tc, u16 depth,
				struct stay *out)
{
	u64 shallower, seq = t->closed + 1;
	u64 once = !(s->h.depth & VMSPAN_F_PART);
	bool moved, stale, valid;
	struct measured m;
	u32 i;

	if (stay_measure(t, rules, s, depth, &m, out))
		return -ENOMEM;
	/* Where the scheduler's record tells where it was, nothing is discarded. */
	moved = s->cpu_begin != s->cpu_end && !m.exact;
	t->kept_moved |= moved && rules->keep_moved;
	moved &= !rules->keep_moved;
	stale = m.in.nested && rules->nested == NESTED_DROP;
	if (out->fate != SPAN_BAD)
		out->fate = stale                           ? SPAN_STALE
			    : moved                         ? SPAN_MOVED
			    : s->begin <= rules->gap_cycles ? SPAN_LOST
							    : SPAN_KEPT;
	switch (out->fate) {
	case SPAN_KEPT:
		cycles_add(&tc->self, out->self);
		cycles_add(&t->self, out->self);
		if (m.exact)
			off_add(&tc->off, &m.off);
		break;
	case SPAN_MOVED:
		cycles_add(&t->moved, out->self);
		cycles_add(s->begin <= rules->gap_cycles ? &tc->moved_unsure : &tc->moved,
			   out->self);
		break;
	case SPAN_STALE:
		cycles_add(&t->stale, out->self);
		break;
	case SPAN_LOST:
		cycles_add(&tc->unsure, out->self);
		break;
	case SPAN_BAD:
		cycles_add(&t->lost, out->self);
		break;
	}
	valid = out->fate == SPAN_KEPT || out->fate == SPAN_LOST;
	shallower = shallower_seq(t, depth);
	for (i = 0; i < tc->share_count; i++) {
		struct share *sh = &t->shares[tc->shares[i]];

		if (stale)
			sh->stale += once;
		else if (moved)
			sh->moved += once;
		else
			sh->stayed += once;
		if ((out->fate == SPAN_MOVED || share_lack(t, sh)) &&
		    lack_close(t, sh, s, out->fate, &m.in, seq, shallower))
			return -ENOMEM;
		if (share_close(t, sh, s, depth, valid, &m.in, seq, shallower))
			return -ENOMEM;
	}
	return pend_leave(t, depth, s->end, &m.in);
}

/* Nothing lies in the span, nothing has happened to it nor can have, and another
 * of its depth has closed before it. */
static bool span_plain(const struct turn *t, const struct turn_rules *rules,
		       const struct vmspan_span *s, u16 depth)
{
	return t->pend_len && t->pend[t->pend_len - 1].depth == depth && !rules->sched &&
	       !(s->h.depth & VMSPAN_F_PART) && s->cpu_begin == s->cpu_end && s->end >= s->begin &&
	       s->end - s->begin <= t->hole_cycles && s->begin > rules->gap_cycles;
}

/* The same as what turn_span() does to all others, for most of them. */
static int span_beside(struct turn *t, const struct vmspan_span *s, struct turn_comp *tc, u16 depth,
		       struct stay *out)
{
	struct inside in = { .cycles = s->end - s->begin };
	u64 shallower = t->pend_len > 1 ? t->pend[t->pend_len - 2].seq : 0;
	struct pend *p = &t->pend[t->pend_len - 1];
	u64 seq = ++t->closed;
	u32 i;

	*out = (struct stay){ SPAN_KEPT, in.cycles, in.cycles, 0, 0, 0 };
	cycles_add(&tc->self, in.cycles);
	cycles_add(&t->self, in.cycles);
	for (i = 0; i < tc->share_count; i++) {
		struct share *sh = &t->shares[tc->shares[i]];

		sh->stayed++;
		if (!share_beside(sh, s, depth, in.cycles, seq, shallower) &&
		    share_close(t, sh, s, depth, true, &in, seq, shallower))
			return -ENOMEM;
	}
	p->seq = seq;
	p->end = t->last_end = s->end;
	cycles_add(&p->in.cycles, in.cycles);
	return 0;
}

int turn_span(struct turn *t, const struct turn_rules *rules, const struct vmspan_span *s,
	      struct comp *c, struct stay *out)
{
	struct turn_comp *tc = c->turn_uid == t->uid ? &t->comps[c->turn_comp]
						     : comp_enter(t, c, s->h.id, rules->rows);
	u16 depth = s->h.depth & VMSPAN_DEPTH_MASK;

	if (!tc)
		return -ENOMEM;
	if (span_plain(t, rules, s, depth))
		return span_beside(t, s, tc, depth, out);
	if (span_around(t, rules, s, tc, depth, out))
		return -ENOMEM;
	if (t->waits.open)
		waits_own(&t->waits, s->begin, c->rows[0]);
	return 0;
}

int turn_stay(struct turn *t, const struct turn_rules *rules, const struct vmspan_span *s,
	      struct stay *out)
{
	u16 depth = s->h.depth & VMSPAN_DEPTH_MASK;
	struct measured m;

	if (stay_measure(t, rules, s, depth, &m, out))
		return -ENOMEM;
	/* A blocked thread is expected to wake up elsewhere: no CPU rule here. */
	if (out->fate == SPAN_KEPT && s->begin <= rules->gap_cycles)
		out->fate = SPAN_LOST;
	if (out->fate == SPAN_BAD) {
		cycles_add(&t->lost, out->self);
	} else if (s->h.type == VMSPAN_GC) {
		cycles_add(out->fate == SPAN_LOST ? &t->unsure_gc : &t->gc, out->self);
		cycles_add(&m.in.gc, out->self);
	} else {
		cycles_add(out->fate == SPAN_LOST ? &t->unsure_blocked : &t->blocked, out->self);
		cycles_add(&m.in.blocked, out->self);
	}
	return pend_leave(t, depth, s->end, &m.in);
}

int turn_nested(struct turn *t, u16 depth, u64 begin, u64 end, u64 wall_ns, u64 cpu_ns,
		u64 cpu_off_ns)
{
	struct inside in = { .cycles = end - begin, .nested = end - begin };

	/* Of its spans nothing may wait here: they are of its own event. */
	cycles_add(&t->nested, in.cycles);
	cycles_add(&t->nested_wall_ns, wall_ns);
	cycles_add(&t->nested_cpu_ns, cpu_ns);
	cycles_add(&t->nested_off_ns, min_u64(wall_ns, cpu_off_ns));
	return pend_leave(t, depth, end, &in);
}

/* A stay of no length of its own, which the stay around it takes in. */
int turn_away(struct turn *t, u16 depth, u64 end, u64 cycles)
{
	const struct inside in = { .off = cycles };

	cycles_add(&t->off, cycles);
	return pend_leave(t, depth, end, &in);
}

void turn_off(struct turn *t, const struct off_sum *off)
{
	u64 total = off_total(off);

	t->native_off = *off;
	cycles_add(&t->off, total);
	cycles_add(&t->preempted, off_kept(off));
	cycles_add(&t->blocked, total - off_kept(off));
	off_add(&t->off_by, off);
}

u64 turn_roots(const struct turn *t)
{
	u64 sum = t->orphans;
	u32 i;

	for (i = 0; i < t->pend_len; i++)
		cycles_add(&sum, t->pend[i].in.cycles);
	return sum;
}
