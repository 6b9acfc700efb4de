/* SPDX-License-Identifier: BSD-2-Clause */
/* An event's sums of cycles become time. */
#include "model/hole.h"
#include "model/scale.h"
#include "model/turn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

	cycles_add(incomplete ? &t->lost : &t->gc, t->unsure_gc);
	cycles_add(incomplete ? &t->lost : &t->blocked, t->unsure_blocked);
	t->unsure_gc = t->unsure_blocked = 0;
	for (i = 0; i < t->comp_len; i++) {
		struct turn_comp *tc = &t->comps[i];

		/* Of what changed CPU it is in the ledger as such. */
		if (!incomplete)
			cycles_add(&tc->moved, tc->moved_unsure);
		cycles_add(incomplete ? &t->lost : &t->self, tc->unsure);
		if (!incomplete)
			cycles_add(&tc->self, tc->unsure);
		tc->unsure = 0;
	}
}

/* Cycles of an event's `own` -> ns of its wall, and out of the rest that they are a part of. */
static u64 part_of(u64 *rest, u64 cycles, u64 own, u64 wall)
{
	u64 ns = min_u64(scale(min_u64(cycles, own), wall, own), *rest);

	*rest -= ns;
	return ns;
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
	*discarded = all > own || t->slept;
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
	if (own && !*discarded && t->off) {
		u64 rest = l->preempted_ns;

		for (i = VMSPAN_OFF_PREEMPTED; t->exact && i < VMSPAN_OFF_REASONS; i++)
			l->native_off_ns[i] =
				scale(min_u64(t->native_off.cycles[i], own), wall, own);
		l->stopped_ns = part_of(&rest, t->off_by.cycles[VMSPAN_OFF_STOPPED], own, wall);
		l->frozen_ns = part_of(&rest, t->off_by.cycles[VMSPAN_OFF_FROZEN], own, wall);
		l->throttled_ns = part_of(&rest, t->off_by.cycles[VMSPAN_OFF_THROTTLED], own, wall);
		/* Nobody else had the CPU: what rounding leaves is theirs. */
		if (rest && !t->off_by.cycles[VMSPAN_OFF_PREEMPTED])
			*(l->stopped_ns  ? &l->stopped_ns
			  : l->frozen_ns ? &l->frozen_ns
					 : &l->throttled_ns) += rest;
	}
	for (i = 0; i < t->comp_len; i++) {
		t->comps[i].self_ns = out[PARTS + i];
		l->self_ns += out[PARTS + i];
	}
	return 0;
}

/* Adds what a compartment was off the CPU to one of its groups. */
static void share_off(struct share *sh, const struct turn_comp *tc, u64 own, u64 wall)
{
	u32 i;

	for (i = VMSPAN_OFF_PREEMPTED; i < VMSPAN_OFF_REASONS; i++)
		sh->off_ns[i] += scale(min_u64(tc->off.cycles[i], own), wall, own);
}

/* A stay that changed CPU had this time of its own. */
static void lack_self(const struct turn *t, const struct share *sh, u64 ns)
{
	struct lack *l = share_lack(t, sh);

	if (l)
		lack_uncharged(l)->self_ns += ns;
}

/* Adds what each compartment has of its own to its groups. */
static void shares_self(struct turn *t, u64 own, u64 wall, bool off)
{
	u32 i, k;

	for (i = 0; i < t->comp_len; i++) {
		const struct turn_comp *tc = &t->comps[i];

		for (k = 0; k < tc->share_count; k++) {
			struct share *sh = &t->shares[tc->shares[k]];

			sh->self_ns += tc->self_ns;
			if (tc->moved && own)
				lack_self(t, sh, scale(min_u64(tc->moved, own), wall, own));
			if (off)
				share_off(sh, tc, own, wall);
		}
	}
}

static void share_sum(struct share *sh)
{
	u32 i;

	sh->charged = sh->blocked = sh->gc = sh->cpu = sh->preempted = sh->ticks = 0;
	sh->room = (struct hole_room){ 0 };
	for (i = 0; i < sh->outer_len; i++) {
		const struct outer *o = &sh->outer[i];

		sh->charged += o->charged;
		sh->blocked += o->blocked;
		sh->gc += o->gc;
		sh->cpu += o->cpu;
		sh->preempted += o->preempted;
		hole_add(&sh->room, &o->room);
		sh->ticks += o->ticks;
	}
	sh->spans = sh->stayed + sh->moved + sh->stale;
}

/* Its wall, and what of it is not its own code, with self_ns known. own 0: nothing of
 * the event is believed. */
static void share_times(struct share *sh, u64 own, u64 wall)
{
	u64 inside = sh->self_ns;

	sh->gc_ns = sh->blocked_ns = sh->wall_ns = sh->preempted_ns = 0;
	sh->cpu_ns = sh->cpu_margin_ns = 0;
	if (!own)
		return;
	/* Around lost or forged records a group's stays may overlap. */
	sh->gc_ns = min_u64(scale(min_u64(sh->gc, own), wall, own), wall - inside);
	inside += sh->gc_ns;
	sh->blocked_ns = min_u64(scale(min_u64(sh->blocked, own), wall, own), wall - inside);
	inside += sh->blocked_ns;
	sh->preempted_ns = scale(min_u64(sh->preempted, own), wall, own);
	/* Rounding may give a part a ns more than the whole has. */
	sh->wall_ns = max_u64(scale(min_u64(sh->charged, own), wall, own), inside);
}

/* Less than this the two clocks may differ by: their reads, interrupts. */
#define STOLEN_NS 100000

static u64 stolen(const struct turn *t, u64 own, u64 wall, u64 cpu)
{
	u64 on, least;

	/* A clock that is a tick old knows nothing of it. */
	if (!t->exact || t->cpu_off_ns == UINT64_MAX || !own || !cpu)
		return 0;
	on = wall - scale(min_u64(t->off, own), wall, own);
	least = STOLEN_NS + wall / 100 + t->cpu_off_ns;
	return on > cpu + least ? on - cpu : 0;
}

/* Where the event had no CPU, if no scheduler's record says it. Cycles. */
struct away {
	u64 moved; /* in stays that changed CPU: who does so has lost one */
	u64 hole; /* in the only stay that is long enough for it */
};

static struct away away_in(const struct turn *t, u64 own, u64 wall, u64 cpu)
{
	struct hole_room room = t->room;
	u64 known, used, all;

	/* Who has moved lost a CPU there, however long the stay was. */
	if (t->exact || t->told || t->off || t->kept_moved || t->nested_off_ns || !cpu ||
	    wall <= cpu || wall - cpu <= t->cpu_off_ns)
		return (struct away){ 0 };
	known = t->blocked + (own - scale(wall - cpu, own, wall));
	all = own - min_u64(own, known);
	if (t->moved)
		return (struct away){ .moved = min_u64(all, t->moved) };
	used = t->self + t->gc + t->blocked + t->moved + t->stale + t->lost;
	/* What was in no stay is one more. */
	hole_stay(&room, own - min_u64(own, used), t->hole_cycles);
	return (struct away){ .hole = hole_find(all, known - min_u64(known, t->blocked), &room,
						t->hole_cycles) };
}

/* The event's CPU time, and what its stays share it by. */
struct cpu_rule {
	u64 cpu; /* ns */
	u64 on; /* cycles that it took */
	bool told; /* each stay knows which of its cycles those are */
	struct away away;
	u64 by_length; /* cycles: the same if all that changed CPU is kept */
	bool known; /* cpu is the event's own */
	u64 off; /* ns without a CPU that have no place, where it is known */
	/* ns: so far it may be off all the same, for what is told too much of an event in it, it has too
	 * little. */
	u64 slack;
};

/* Cycles in which a group may have had the CPU. */
static u64 share_busy(const struct share *sh, const struct cpu_rule *r)
{
	u64 busy = sh->charged - min_u64(sh->charged, sh->blocked);

	if (r->told)
		return sh->cpu;
	return sh->room.count ? busy - min_u64(busy, r->away.hole) : busy;
}

/* A group's part of it. */
static u64 share_cpu(const struct share *sh, const struct cpu_rule *r)
{
	return r->on ? scale(min_u64(share_busy(sh, r), r->on), r->cpu, r->on) : 0;
}

/*
 * How far that may be off: all the time without a CPU that has no place yet may have been in the
 * group's stays, or none of it. Stays that changed CPU are taken for its place, and may not have been.
 * Where not even the event's CPU time is known, all of the group's time may have been some, or none.
 */
static u64 share_margin(const struct share *sh, const struct cpu_rule *r, u64 own, u64 wall)
{
	u64 busy, least = 0, most;

	if (r->known && !r->off && !r->slack)
		return 0;
	busy = scale(min_u64(r->known ? share_busy(sh, r) : sh->charged, own), wall, own);
	most = busy;
	if (r->known) {
		least = busy - min_u64(busy, r->off + r->slack);
		most = min_u64(busy, r->cpu + r->slack);
	}
	return max_u64(sh->cpu_ns - min_u64(least, sh->cpu_ns), most - min_u64(most, sh->cpu_ns));
}

/*
 * Its part besides, of what it is not charged: as if all that changed CPU were kept, and where the
 * thread had none, nobody knows.
 */
static u64 lack_cpu(const struct share *sh, const struct lack_sum *sum, const struct cpu_rule *r)
{
	u64 all = sh->charged + sum->wall, blocked = sh->blocked + sum->blocked;
	u64 busy = all - min_u64(all, blocked), on = r->told ? r->on : r->by_length;
	u64 cpu;

	if (r->told)
		busy = sh->cpu + sum->cpu;
	cpu = on ? scale(min_u64(busy, on), r->cpu, on) : 0;
	return cpu - min_u64(cpu, sh->cpu_ns);
}

/* How far all its CPU time may be off, that part included: as share_margin(), but where it had none nobody
 * knows. */
static u64 lack_margin(const struct share *sh, const struct lack_sum *sum, const struct cpu_rule *r,
		       u64 cpu, u64 own, u64 wall)
{
	u64 all = sh->charged + sum->wall, blocked = sh->blocked + sum->blocked;
	u64 busy = !r->known ? all : r->told ? sh->cpu + sum->cpu : all - min_u64(all, blocked);
	u64 off = r->off, least = 0, most;

	if (r->known && r->told && !off && !r->slack)
		return 0;
	if (!r->told) {
		off = scale(min_u64(r->by_length, own), wall, own);
		off -= min_u64(off, r->cpu);
	}
	most = busy = scale(min_u64(busy, own), wall, own);
	if (r->known) {
		least = busy - min_u64(busy, off + r->slack);
		most = min_u64(busy, r->cpu + r->slack);
	}
	return max_u64(cpu - min_u64(least, cpu), most - min_u64(most, cpu));
}

/* What it is not charged, with all other times of it known. */
static void lack_times(const struct share *sh, struct lack *l, u64 own, u64 wall,
		       const struct cpu_rule *r)
{
	const struct lack_sum sum = lack_sum(l);
	struct model_uncharged *u = lack_uncharged(l);
	u64 all = scale(min_u64(sh->charged + sum.wall, own), wall, own), room;

	all = max_u64(all, sh->wall_ns);
	room = all - sh->self_ns - sh->gc_ns - sh->blocked_ns;
	u->wall_ns = all - sh->wall_ns;
	u->self_ns = min_u64(u->self_ns, room);
	room -= u->self_ns;
	u->gc_ns = min_u64(scale(min_u64(sum.gc, own), wall, own), room);
	room -= u->gc_ns;
	u->blocked_ns = min_u64(scale(min_u64(sum.blocked, own), wall, own), room);
	u->cpu_ns = min_u64(lack_cpu(sh, &sum, r), u->wall_ns);
	u->cpu_margin_ns = lack_margin(sh, &sum, r, sh->cpu_ns + u->cpu_ns, own, wall);
}

/*
 * The scheduler brings a thread's time up to date at ticks and switches: an event that is
 * shorter has none of it, or that of the last tick. What one cannot have had is the next one's, so
 * that the sum is right.
 */
static u64 own_cpu(struct turn *t, u64 cpu_ns, u64 wall)
{
	u64 cpu = cpu_ns - min_u64(cpu_ns, t->nested_cpu_ns), own;

	if (t->cpu_off_ns)
		cpu += t->cpu_carry;
	own = min_u64(cpu, wall);
	t->cpu_carry = cpu - own;
	return own;
}

/* Exact mode: how an event nested in it shares its CPU time with it the scheduler's record knows better, as far
 * as no clock does. `on`: what the record leaves it. */
static u64 cpu_by_record(u64 cpu, u64 slack, u64 on)
{
	return min_u64(max_u64(on, cpu - min_u64(cpu, slack)), cpu + slack);
}

int turn_settle(struct turn *t, u64 cycles, u64 wall_ns, u64 cpu_ns, bool incomplete,
		struct settlement *out)
{
	u64 own = cycles - min_u64(cycles, t->nested);
	u64 wall = wall_ns - min_u64(wall_ns, t->nested_wall_ns);
	u64 clock = own_cpu(t, cpu_ns, wall), cpu = clock;
	/* The thread's own clock also counts the way into and out of a switch. */
	u64 on = own - min_u64(own, t->off), believed, on_ns;
	struct cpu_rule rule = { .on = on };
	u32 i;
	int rc;

	turn_decide(t, incomplete);
	rc = turn_apportion(t, own, wall, incomplete, &out->ledger, &out->discarded);
	if (rc)
		return rc;
	believed = out->discarded ? 0 : own;
	on_ns = believed ? scale(on, wall, own) : 0;
	if (t->exact && believed && cpu)
		cpu = cpu_by_record(cpu, t->nested_off_ns, on_ns);
	out->stolen_ns = stolen(t, own, wall, cpu);
	/* No clock was read at its ends: the scheduler's records tell. */
	if (t->exact && believed && !out->stolen_ns && (!cpu || t->cpu_off_ns))
		cpu = on_ns;
	rule.cpu = cpu;
	rule.known = cpu && !incomplete && !t->goes_on && (t->exact || t->cpu_off_ns != UINT64_MAX);
	rule.slack = t->nested_off_ns;
	cycles_add(&rule.slack, min_u64(t->cpu_off_ns, wall));
	/* It had no more than the record has, and no less than its clock says for certain. */
	if (t->exact && cpu == on_ns)
		rule.slack = !clock || t->cpu_off_ns
				     ? 0
				     : on_ns - min_u64(on_ns, clock - min_u64(clock, rule.slack));
	rule.told = (t->exact || t->told) && on;
	if (believed && !rule.told) {
		rule.away = away_in(t, own, wall, cpu);
		rule.by_length = own - min_u64(own, t->blocked);
		rule.on = rule.by_length - rule.away.hole - rule.away.moved;
		on = rule.by_length - rule.away.hole;
	}
	if (believed && own)
		rule.off = scale(on, wall, own);
	rule.off -= min_u64(rule.off, cpu);
	out->cpu_ns = cpu;
	out->own = own;
	for (i = 0; i < t->share_len; i++) {
		share_sum(&t->shares[i]);
		t->shares[i].self_ns = 0;
		memset(t->shares[i].off_ns, 0, sizeof(t->shares[i].off_ns));
	}
	shares_self(t, believed, wall, t->off && believed);
	for (i = 0; i < t->share_len; i++) {
		struct share *sh = &t->shares[i];
		struct lack *lack = share_lack(t, sh);

		share_times(sh, believed, wall);
		if (!believed)
			continue;
		/* A call that is announced as blocking may have used the CPU. */
		sh->cpu_ns = min_u64(share_cpu(sh, &rule), sh->wall_ns + sh->preempted_ns);
		sh->cpu_margin_ns = share_margin(sh, &rule, own, wall);
		if (lack)
			lack_times(sh, lack, own, wall, &rule);
	}
	return 0;
}
