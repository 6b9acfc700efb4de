/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sums of one event while its records come in, and their settlement into
 * time. Rules: LEDGER.md.
 *
 * Records of a thread come in the order in which they were completed: what
 * lies inside a span comes before it, and its depth tells what is inside.
 * That is enough to sum in one pass with memory for the groups touched and the
 * open depths only, however many spans an event has:
 *
 * - `pend` holds, by depth, the sums of the closed stays that still wait for
 *   the stay around them. Depths increase towards the top.
 * - each group has a stack of its outermost closed stays so far. A span that
 *   closes takes in those that began after it did (rule 1: A>B>A charges A
 *   once). Two neighbours that any later span must take in together are merged,
 *   so the stack is about as deep as the thread's at most.
 */
#ifndef MODEL_TURN_H
#define MODEL_TURN_H

#include "model/hole.h"
#include "model/model.h"
#include "model/parts.h"
#include "model/registry.h"
#include "model/sched.h"

/* What lies inside something, in cycles. */
struct inside {
	u64 cycles, nested, blocked, gc;
	u64 off, preempted; /* off the CPU for any reason; off_kept() of it */
	struct hole_room room; /* where the scheduler's record does not tell */
};

struct pend {
	u16 depth;
	u64 seq; /* turn.closed when it last grew */
	u64 end; /* cycles: of the last stay in it */
	struct inside in;
};

/* An outermost stay of a group, or several merged. */
struct outer {
	u64 begin, seq;
	u64 charged, blocked, gc, cpu, preempted, ticks;
	struct hole_room room;
	u16 depth;
};

struct share {
	u32 row;
	u64 stayed, moved, stale;
	struct outer *outer; /* kept from event to event */
	u32 outer_len, outer_cap;
	struct lack *lack; /* the same; of this event where share_lack() says so */
	/* settled: their sum, the sums of outer[] in cycles, and ns */
	u64 spans, ticks, charged, blocked, gc, cpu, preempted;
	struct hole_room room;
	u64 wall_ns, self_ns, cpu_ns, cpu_margin_ns, blocked_ns, gc_ns, preempted_ns;
	u64 off_ns[VMSPAN_OFF_REASONS];
};

struct turn_comp {
	u32 id;
	u64 self; /* cycles */
	u64 unsure; /* the same, of spans that may lack something inside */
	u64 moved, moved_unsure; /* the same two, of spans that changed CPU */
	u64 self_ns; /* settled */
	struct off_sum off; /* of its own */
	u8 share_count;
	u32 shares[VMSPAN_GROUPS_MAX + 2];
};

struct turn {
	u64 uid; /* unique in the model */
	u32 iteration;
	u64 cpu_off_ns; /* event_cpu_off() */
	u64 nested_off_ns; /* so far the CPU time of the events in it may be off */
	bool goes_on; /* what its thread's clock says now is an estimate */
	u64 cpu_carry; /* of the thread's events before, what none of them can have had */
	bool slept; /* the machine did, in it: its cycles are not those of its time */
	u64 hole_cycles; /* HOLE_NS */
	u64 closed; /* records taken in */
	struct pend *pend;
	u32 pend_len, pend_cap;
	struct share *shares;
	u32 share_len, share_cap;
	struct turn_comp *comps;
	u32 comp_len, comp_cap;
	/* Row, compartment id -> index, of those put away by turn_park(). */
	struct map share_of, comp_of;
	u32 share_parked, comp_parked;
	u64 self, gc, blocked, preempted, moved, stale, lost; /* cycles, exclusive */
	u64 off; /* cycles off the CPU, whatever they count as */
	struct hole_room room;
	struct off_sum native_off; /* of them: in no stay */
	struct off_sum off_by; /* of them: by reason */
	bool exact; /* all of it is covered by the scheduler's record */
	bool kept_moved; /* a stay in it that changed CPU was kept */
	bool told; /* its thread has told of each time that it had no CPU */
	/* Of stays that may have been open while records were lost. The event's
	 * own record tells, at the end: lost if it has a gap, else as usual. */
	u64 unsure_gc, unsure_blocked;
	u64 orphans; /* cycles of stays whose surroundings were lost */
	u64 nested; /* cycles of nested events */
	u64 nested_wall_ns, nested_cpu_ns;
	u64 last_end;
	struct turn_waits waits; /* exact mode: on whom */
	u64 *scratch;
	u32 scratch_cap;
};

/* How far the event's CPU time may be off, in ns; UINT64_MAX: as far as it was long. */
static inline u64 event_cpu_off(const struct vmspan_event *e)
{
	if (!(e->h.depth & VMSPAN_F_COARSE))
		return 0;
	return e->h.depth & VMSPAN_F_UNREAD ? 2 * VMSPAN_UNREAD_NS : UINT64_MAX;
}

struct turn_rules {
	enum nested_mode nested;
	bool keep_moved;
	u64 gap_cycles; /* records are missing up to here; 0: none */
	struct sched *sched; /* the thread's, or NULL */
	const struct parts *parts;
	struct row *rows; /* of the process */
};

/* A settled event. */
struct settlement {
	struct ledger ledger;
	u64 cpu_ns;
	/* Exact mode: what its CPU clock misses and the scheduler does not explain:
	 * a hypervisor took the CPU. Nobody can tell from whom. */
	u64 stolen_ns;
	u64 own; /* cycles that are its own: they took ledger.event_wall_ns */
	bool discarded; /* its parts exceeded it: everything is lost */
};

/*
 * Of two stays that have closed, the later one with seq_2 (turn.closed when it did) at depth_2: is every
 * stay that will take in one of them going to take in the other too?
 */
bool turn_together(const struct turn *t, u64 seq_1, u16 depth_1, u64 seq_2, u16 depth_2);
/* So many stays of a group are not looked through for two that can be one. */
#define TURN_MERGE_FROM 4

/* turn_lack.c: what a group of an event is not charged, since spans changed CPU. */
struct lack *lack_of(const struct turn *t, const struct share *sh);
static inline struct lack *share_lack(const struct turn *t, const struct share *sh)
{
	return sh->lack ? lack_of(t, sh) : NULL; /* NULL: nothing, as nearly always */
}
/* Before a span of the group, which has changed CPU, or has share_lack() around it, closes as
 * share_close() has it. 0 or -ENOMEM. */
int lack_close(struct turn *t, struct share *sh, const struct vmspan_span *s, enum span_fate fate,
	       const struct inside *in, u64 seq, u64 shallower);
int lack_copy(const struct turn *t, struct share *to, const struct lack *from);
void lack_free(struct lack *l);
/* In cycles: like the share's own sums. */
struct lack_sum {
	u64 wall, blocked, gc, cpu;
};
struct lack_sum lack_sum(const struct lack *l);
/* Zero, until turn_settle() has set it. */
struct model_uncharged *lack_uncharged(struct lack *l);

void turn_reset(struct turn *t, u32 iteration, u64 uid, u64 hole_cycles);
void turn_free(struct turn *t);
/* A copy of a parked one, into one that was reset. 0 or -ENOMEM. */
int turn_copy(struct turn *to, const struct turn *from);

/* What became of a stay, in cycles. */
struct stay {
	enum span_fate fate;
	u64 cycles; /* >= self + blocked + gc */
	u64 self; /* not inside another stay of it */
	u64 blocked, gc; /* inside calls and collections in it, at any depth */
	u64 off; /* without a CPU in it, at any depth: in exact mode, or as its thread tells */
};

/*
 * Rows and compartments remember where the sums of one event are: the active
 * one. An event that takes in spans after another has done so must not have
 * been active since, unless it was parked: then what they forgot is looked up.
 * Most events begin and end in one batch and are never parked. 0 or -ENOMEM.
 */
int turn_park(struct turn *t);
/* Takes in a span. 0 or -ENOMEM. */
int turn_span(struct turn *t, const struct turn_rules *rules, const struct vmspan_span *s,
	      struct comp *c, struct stay *out);
/* Takes in a collection or a blocking call (their common head). */
int turn_stay(struct turn *t, const struct turn_rules *rules, const struct vmspan_span *s,
	      struct stay *out);
/* Takes in a nested event that has ended: cycles begin ... end at depth. cpu_off_ns: how far its CPU
 * time, with that of those in it, may be off. */
int turn_nested(struct turn *t, u16 depth, u64 begin, u64 end, u64 wall_ns, u64 cpu_ns,
		u64 cpu_off_ns);
/* The thread was off the CPU for some cycles until `end`, with `depth` stays open. 0 or -ENOMEM. */
int turn_away(struct turn *t, u16 depth, u64 end, u64 cycles);
/* What the thread's own time in the event, outside of every stay, was off. */
void turn_off(struct turn *t, const struct off_sum *off);
/* Cycles of everything taken in at the outermost level. */
u64 turn_roots(const struct turn *t);
/*
 * turn_settle.c: settles the event, which took `cycles` and `wall_ns`, `cpu_ns` of them on a
 * CPU, nested events included. Fills the ns fields of shares and comps.
 * incomplete: records are missing, so native time is not known.
 */
int turn_settle(struct turn *t, u64 cycles, u64 wall_ns, u64 cpu_ns, bool incomplete,
		struct settlement *out);

#endif
