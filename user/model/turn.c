/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/turn.h"
#include "model/scale.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more entry of an array that doubles. */
static int grow(void *array, u32 len, u32 *cap, size_t size)
{
	void **at = array, *p;
	u32 want;

	if (len < *cap)
		return 0;
	want = *cap ? *cap * 2 : 8;
	p = realloc(*at, want * size);
	if (!p)
		return -ENOMEM;
	memset((char *)p + *cap * size, 0, (want - *cap) * size);
	*at = p;
	*cap = want;
	return 0;
}

void turn_reset(struct turn *t, u32 iteration, u64 uid)
{
	struct turn keep = *t;

	map_clear(&keep.share_of);
	map_clear(&keep.comp_of);
	*t = (struct turn){
		.uid = uid,
		.iteration = iteration,
		.pend = keep.pend,
		.pend_cap = keep.pend_cap,
		.shares = keep.shares,
		.share_cap = keep.share_cap,
		.comps = keep.comps,
		.comp_cap = keep.comp_cap,
		.share_of = keep.share_of,
		.comp_of = keep.comp_of,
		.scratch = keep.scratch,
		.scratch_cap = keep.scratch_cap,
	};
}

void turn_free(struct turn *t)
{
	u32 i;

	for (i = 0; i < t->share_cap; i++)
		free(t->shares[i].outer);
	free(t->shares);
	free(t->pend);
	free(t->comps);
	free(t->scratch);
	map_free(&t->share_of);
	map_free(&t->comp_of);
	*t = (struct turn){ 0 };
}

/* Sums of forged cycles stop at the largest number instead of wrapping, so
 * that the check against the event's own cycles finds them. */
static void add(u64 *to, u64 n)
{
	if (__builtin_add_overflow(*to, n, to))
		*to = UINT64_MAX;
}

static void inside_add(struct inside *to, const struct inside *in)
{
	add(&to->cycles, in->cycles);
	/* Most stays have none of the others. */
	if (!(in->nested | in->blocked | in->gc | in->off))
		return;
	add(&to->nested, in->nested);
	add(&to->blocked, in->blocked);
	add(&to->gc, in->gc);
	add(&to->off, in->off);
	add(&to->preempted, in->preempted);
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
			add(&t->orphans, p->in.cycles);
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

static struct share *share_of(struct turn *t, u32 row, u32 *index)
{
	u64 *at = map_get(&t->share_of, row);
	struct share *sh;

	if (!at) {
		if (grow(&t->shares, t->share_len, &t->share_cap, sizeof(*t->shares)) ||
		    map_put(&t->share_of, row, t->share_len))
			return NULL;
		sh = &t->shares[t->share_len];
		*sh = (struct share){ .row = row, .outer = sh->outer, .outer_cap = sh->outer_cap };
		*index = t->share_len++;
		return sh;
	}
	*index = (u32)*at;
	return &t->shares[*index];
}

/* Where the compartment's sums are in this event; cached in the compartment. */
static struct turn_comp *comp_of(struct turn *t, struct comp *c, u32 id)
{
	struct turn_comp *tc;
	u64 *at;
	u32 i;

	if (c->turn_uid == t->uid)
		return &t->comps[c->turn_comp];
	at = map_get(&t->comp_of, id);
	if (at && t->comps[*at].share_count == c->row_count) {
		tc = &t->comps[*at];
	} else {
		if (grow(&t->comps, t->comp_len, &t->comp_cap, sizeof(*t->comps)) ||
		    map_put(&t->comp_of, id, t->comp_len))
			return NULL;
		tc = &t->comps[t->comp_len++];
		*tc = (struct turn_comp){ .id = id, .share_count = c->row_count };
	}
	for (i = 0; i < c->row_count; i++)
		if (!share_of(t, c->rows[i], &tc->shares[i]))
			return NULL;
	c->turn_uid = t->uid;
	c->turn_comp = (u32)(tc - t->comps);
	return tc;
}

static u64 less(u64 from, u64 a, u64 b)
{
	from -= min_u64(from, a);
	return from - min_u64(from, b);
}

/*
 * A span of the group has closed: it becomes the group's outermost stay
 * instead of those inside it. A span that is not `valid` measures nothing
 * itself; what was measured inside it stands.
 */
static int share_close(struct share *sh, const struct vmspan_span *s, u16 depth, bool valid,
		       const struct inside *in, u64 seq, u64 shallower)
{
	u64 ticks = !(s->h.depth & VMSPAN_F_PART);
	struct outer o = { .begin = s->begin, .seq = seq, .depth = depth, .ticks = ticks },
		     within = { 0 };
	struct outer *top = sh->outer_len ? &sh->outer[sh->outer_len - 1] : NULL;

	/* The usual case: a stay without anything inside, next to others. */
	if (valid && top && top->begin < s->begin && top->depth >= depth && top->seq > shallower &&
	    !(in->nested | in->blocked | in->gc | in->off)) {
		sh->charged += in->cycles;
		sh->cpu += in->cycles;
		sh->ticks += ticks;
		top->charged += in->cycles;
		top->cpu += in->cycles;
		top->ticks += ticks;
		top->depth = depth;
		top->seq = seq;
		return 0;
	}
	while (sh->outer_len && sh->outer[sh->outer_len - 1].begin >= s->begin) {
		top = &sh->outer[--sh->outer_len];
		within.charged += top->charged;
		within.blocked += top->blocked;
		within.gc += top->gc;
		within.cpu += top->cpu;
		within.preempted += top->preempted;
		within.ticks += top->ticks;
	}
	o.charged = valid ? less(in->cycles, in->nested, in->preempted) : within.charged;
	o.blocked = valid ? in->blocked : within.blocked;
	o.gc = valid ? in->gc : within.gc;
	o.cpu = valid ? less(in->cycles, in->nested, in->off) : within.cpu;
	o.preempted = valid ? in->preempted : within.preempted;
	sh->charged += o.charged - within.charged;
	sh->blocked += o.blocked - within.blocked;
	sh->gc += o.gc - within.gc;
	sh->cpu += o.cpu - within.cpu;
	sh->preempted += o.preempted - within.preempted;
	sh->ticks += o.ticks;
	sh->ticks -= within.ticks;
	top = sh->outer_len ? &sh->outer[sh->outer_len - 1] : NULL;
	/* Nothing shallower was closed in between, so the same stays are open
	 * around both: whoever takes in one will take in the other. */
	if (top && top->depth >= depth && top->seq > shallower) {
		top->charged += o.charged;
		top->blocked += o.blocked;
		top->gc += o.gc;
		top->cpu += o.cpu;
		top->preempted += o.preempted;
		top->ticks += o.ticks;
		top->depth = depth;
		top->seq = seq;
		return 0;
	}
	if (grow(&sh->outer, sh->outer_len, &sh->outer_cap, sizeof(*sh->outer)))
		return -ENOMEM;
	sh->outer[sh->outer_len++] = o;
	return 0;
}

/* Duration and self time of a stay around `in`; BAD if they make no sense. */
static bool stay_cycles(const struct vmspan_span *s, const struct inside *in, u64 *cycles)
{
	*cycles = s->end - s->begin;
	if (s->end >= s->begin && *cycles >= in->cycles)
		return true;
	*cycles = in->cycles;
	return false;
}

/* Takes off-CPU time out of the `self` cycles of a stay; its waiting is
 * blocked time, and what others took is nobody's. */
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
	add(&t->off, total);
	waited = total - off->cycles[VMSPAN_OFF_PREEMPTED];
	*self -= total;
	add(&t->preempted, off->cycles[VMSPAN_OFF_PREEMPTED]);
	add(&t->blocked, waited);
	add(&in->preempted, off->cycles[VMSPAN_OFF_PREEMPTED]);
	add(&in->blocked, waited);
	add(&in->off, total);
}

/* The intervals of a stay, if the record covers it. */
static bool sched_of(const struct turn_rules *rules, const struct vmspan_span *s,
		     struct off_sum *off)
{
	if (!rules->sched)
		return false;
	*off = sched_take(rules->sched, s->begin, s->end);
	return rules->sched->from <= s->begin;
}

int turn_span(struct turn *t, const struct turn_rules *rules, const struct vmspan_span *s,
	      struct comp *c, struct stay *out)
{
	u16 depth = s->h.depth & VMSPAN_DEPTH_MASK;
	struct inside in = pend_take(t, depth, s->begin);
	struct turn_comp *tc = comp_of(t, c, s->h.id);
	struct off_sum off = { { 0 } };
	/* Where the scheduler's record tells where it was, nothing is discarded. */
	bool exact = sched_of(rules, s, &off);
	bool moved = s->cpu_begin != s->cpu_end && !exact, valid;
	bool stale = in.nested && rules->nested == NESTED_DROP;
	u64 cycles, self, shallower, seq = t->closed + 1;
	/* A stay is counted in the event that it began in. */
	u64 once = !(s->h.depth & VMSPAN_F_PART);
	u32 i;

	if (!tc)
		return -ENOMEM;
	out->fate = stale ? SPAN_STALE : moved ? SPAN_MOVED : SPAN_KEPT;
	if (!stay_cycles(s, &in, &cycles))
		out->fate = SPAN_BAD;
	else if (out->fate == SPAN_KEPT && s->begin <= rules->gap_cycles)
		out->fate = SPAN_LOST;
	self = cycles - in.cycles;
	in.cycles = cycles;
	if (exact)
		take_off(t, &off, &self, &in);
	out->cycles = cycles;
	out->self = self;
	out->blocked = in.blocked;
	out->gc = in.gc;
	switch (out->fate) {
	case SPAN_KEPT:
		add(&tc->self, self);
		add(&t->self, self);
		for (i = VMSPAN_OFF_PREEMPTED; exact && i < VMSPAN_OFF_REASONS; i++)
			tc->off.cycles[i] += off.cycles[i];
		break;
	case SPAN_MOVED:
		add(&t->moved, self);
		break;
	case SPAN_STALE:
		add(&t->stale, self);
		break;
	case SPAN_LOST:
		add(&tc->unsure, self);
		break;
	case SPAN_BAD:
		add(&t->lost, self);
		break;
	}
	valid = out->fate == SPAN_KEPT || out->fate == SPAN_LOST;
	shallower = shallower_seq(t, depth);
	for (i = 0; i < tc->share_count; i++) {
		struct share *sh = &t->shares[tc->shares[i]];

		sh->spans += once;
		if (stale)
			sh->stale += once;
		else if (moved)
			sh->moved += once;
		else
			sh->stayed += once;
		if (share_close(sh, s, depth, valid, &in, seq, shallower))
			return -ENOMEM;
	}
	return pend_leave(t, depth, s->end, &in);
}

int turn_stay(struct turn *t, const struct turn_rules *rules, const struct vmspan_span *s,
	      struct stay *out)
{
	u16 depth = s->h.depth & VMSPAN_DEPTH_MASK;
	struct inside in = pend_take(t, depth, s->begin);
	struct off_sum off = { { 0 } };
	bool exact = sched_of(rules, s, &off);
	u64 cycles, self;

	/* A blocked thread is expected to wake up elsewhere: no CPU rule here. */
	out->fate = s->begin <= rules->gap_cycles ? SPAN_LOST : SPAN_KEPT;
	if (!stay_cycles(s, &in, &cycles))
		out->fate = SPAN_BAD;
	self = cycles - in.cycles;
	in.cycles = cycles;
	if (exact)
		take_off(t, &off, &self, &in);
	out->cycles = cycles;
	out->self = self;
	out->blocked = in.blocked;
	out->gc = in.gc;
	if (out->fate == SPAN_BAD) {
		add(&t->lost, self);
	} else if (s->h.type == VMSPAN_GC) {
		add(out->fate == SPAN_LOST ? &t->unsure_gc : &t->gc, self);
		add(&in.gc, self);
	} else {
		add(out->fate == SPAN_LOST ? &t->unsure_blocked : &t->blocked, self);
		add(&in.blocked, self);
	}
	return pend_leave(t, depth, s->end, &in);
}

int turn_nested(struct turn *t, u16 depth, u64 begin, u64 end, u64 wall_ns, u64 cpu_ns)
{
	struct inside in = { .cycles = end - begin, .nested = end - begin };

	/* Of its spans nothing may wait here: they are of its own event. */
	add(&t->nested, in.cycles);
	add(&t->nested_wall_ns, wall_ns);
	add(&t->nested_cpu_ns, cpu_ns);
	return pend_leave(t, depth, end, &in);
}

void turn_off(struct turn *t, const struct off_sum *off)
{
	u64 total = off_total(off);

	add(&t->off, total);
	add(&t->preempted, off->cycles[VMSPAN_OFF_PREEMPTED]);
	add(&t->blocked, total - off->cycles[VMSPAN_OFF_PREEMPTED]);
}

u64 turn_roots(const struct turn *t)
{
	u64 sum = t->orphans;
	u32 i;

	for (i = 0; i < t->pend_len; i++)
		add(&sum, t->pend[i].in.cycles);
	return sum;
}

/* The parts of the ledger that are not compartments, in this order. */
enum {
	PART_GC,
	PART_BLOCKED,
	PART_NATIVE,
	PART_PREEMPTED,
	PART_MOVED,
	PART_STALE,
	PART_LOST,
	PARTS
};

/* Now it is known whether records of this event are missing. */
static void turn_decide(struct turn *t, bool incomplete)
{
	u32 i;

	add(incomplete ? &t->lost : &t->gc, t->unsure_gc);
	add(incomplete ? &t->lost : &t->blocked, t->unsure_blocked);
	t->unsure_gc = t->unsure_blocked = 0;
	for (i = 0; i < t->comp_len; i++) {
		struct turn_comp *tc = &t->comps[i];

		add(incomplete ? &t->lost : &t->self, tc->unsure);
		if (!incomplete)
			add(&tc->self, tc->unsure);
		tc->unsure = 0;
	}
}

/* Cycles -> ns for every part. */
static int turn_apportion(struct turn *t, u64 own, u64 wall, bool incomplete, struct ledger *l,
			  bool *discarded)
{
	u32 n = PARTS + t->comp_len, i;
	unsigned __int128 all = (unsigned __int128)t->self + t->gc + t->blocked + t->preempted +
				t->moved + t->stale + t->lost;
	u64 used = (u64)all;
	u64 *part, *out;

	if (n > t->scratch_cap) {
		u64 *p = realloc(t->scratch, (size_t)n * 2 * 3 * sizeof(*p));

		if (!p)
			return -ENOMEM;
		t->scratch = p;
		t->scratch_cap = n * 2;
	}
	part = t->scratch;
	out = part + t->scratch_cap;
	*discarded = all > own;
	if (*discarded || !own) {
		memset(out, 0, n * sizeof(*out));
		out[*discarded || incomplete ? PART_LOST : PART_NATIVE] = wall;
	} else {
		part[PART_GC] = t->gc;
		part[PART_BLOCKED] = t->blocked;
		part[PART_NATIVE] = incomplete ? 0 : own - used;
		part[PART_PREEMPTED] = t->preempted;
		part[PART_MOVED] = t->moved;
		part[PART_STALE] = t->stale;
		part[PART_LOST] = t->lost + (incomplete ? own - used : 0);
		for (i = 0; i < t->comp_len; i++)
			part[PARTS + i] = t->comps[i].self;
		apportion(part, n, own, wall, out, out + t->scratch_cap);
	}
	*l = (struct ledger){
		.gc_ns = out[PART_GC],
		.blocked_ns = out[PART_BLOCKED],
		.native_ns = out[PART_NATIVE] + out[PART_PREEMPTED],
		.preempted_ns = out[PART_PREEMPTED],
		.moved_ns = out[PART_MOVED],
		.stale_ns = out[PART_STALE],
		.lost_ns = out[PART_LOST],
		.event_wall_ns = wall,
	};
	for (i = 0; i < t->comp_len; i++) {
		t->comps[i].self_ns = out[PARTS + i];
		l->self_ns += out[PARTS + i];
	}
	return 0;
}

/* Adds what a compartment has of its own to one of its groups. */
static void share_self(struct share *sh, const struct turn_comp *tc, u64 own, u64 wall)
{
	u32 i;

	sh->self_ns += tc->self_ns;
	for (i = VMSPAN_OFF_PREEMPTED; own && i < VMSPAN_OFF_REASONS; i++)
		sh->off_ns[i] += scale(min_u64(tc->off.cycles[i], own), wall, own);
}

/* Less than this the two clocks may differ by: their reads, interrupts. */
#define STOLEN_NS 100000

static u64 stolen(const struct turn *t, u64 own, u64 wall, u64 cpu)
{
	u64 on;

	if (!t->exact || !own || !cpu)
		return 0;
	on = wall - scale(min_u64(t->off, own), wall, own);
	return on > cpu + STOLEN_NS + wall / 100 ? on - cpu : 0;
}

int turn_settle(struct turn *t, u64 cycles, u64 wall_ns, u64 cpu_ns, bool incomplete,
		struct settlement *out)
{
	u64 own = cycles - min_u64(cycles, t->nested);
	u64 wall = wall_ns - min_u64(wall_ns, t->nested_wall_ns);
	u64 cpu = min_u64(cpu_ns - min_u64(cpu_ns, t->nested_cpu_ns), wall);
	/* The thread's own clock also counts the way into and out of a switch. */
	u64 on = own - min_u64(own, t->off), active;
	u32 i, k;
	int rc;

	turn_decide(t, incomplete);
	active = own - min_u64(own, t->blocked);
	rc = turn_apportion(t, own, wall, incomplete, &out->ledger, &out->discarded);
	if (rc)
		return rc;
	out->cpu_ns = cpu;
	out->stolen_ns = stolen(t, own, wall, cpu);
	for (i = 0; i < t->share_len; i++) {
		t->shares[i].self_ns = 0;
		memset(t->shares[i].off_ns, 0, sizeof(t->shares[i].off_ns));
	}
	for (i = 0; i < t->comp_len; i++)
		for (k = 0; k < t->comps[i].share_count; k++)
			share_self(&t->shares[t->comps[i].shares[k]], &t->comps[i],
				   out->discarded ? 0 : own, wall);
	for (i = 0; i < t->share_len; i++) {
		struct share *sh = &t->shares[i];
		u64 inside;

		sh->gc_ns = sh->blocked_ns = sh->wall_ns = sh->cpu_ns = sh->preempted_ns = 0;
		if (out->discarded || !own)
			continue;
		sh->gc_ns = scale(min_u64(sh->gc, own), wall, own);
		sh->blocked_ns = scale(min_u64(sh->blocked, own), wall, own);
		sh->preempted_ns = scale(min_u64(sh->preempted, own), wall, own);
		inside = sh->self_ns + sh->gc_ns + sh->blocked_ns;
		/* Rounding may give a part a ns more than the whole has. */
		sh->wall_ns = max_u64(scale(min_u64(sh->charged, own), wall, own), inside);
		if (t->exact && on)
			sh->cpu_ns = scale(min_u64(sh->cpu, on), cpu, on);
		else if (active)
			sh->cpu_ns = scale(
				min_u64(sh->charged - min_u64(sh->charged, sh->blocked), active),
				cpu, active);
	}
	return 0;
}
