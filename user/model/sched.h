/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a thread was off the CPU: the intervals wait here until the stay that
 * they lie in has closed. A thread makes no marks while it is off, so each
 * interval lies in exactly one innermost stay.
 */
#ifndef MODEL_SCHED_H
#define MODEL_SCHED_H

#include "base/types.h"
#include "model/scale.h"
#include "model/wait.h"

/* Intervals kept for stays that have not closed; the older ones are given up
 * and what they would have been part of is not covered. */
#define SCHED_WAITING (1u << 14)

struct off {
	u64 begin, end; /* cycles */
	u32 reason; /* enum vmspan_off */
	struct peer peer; /* that ended it */
};

/* Off-CPU cycles by reason. */
struct off_sum {
	u64 cycles[VMSPAN_OFF_REASONS];
};

struct sched {
	u64 from; /* cycles: from here on every interval is known; ~0: never */
	/* Ascending; [0, past) lie before the end of the newest closed stay. */
	struct off *offs;
	u32 len, cap, past;
	struct peer waker; /* of the interval to come; pid is not in it */
};

struct sched *sched_new(void);
void sched_free(void *sched);
/* One more that knows the same; of NULL, one to which nothing has happened. NULL without memory. */
struct sched *sched_copy(const struct sched *s);
/* Takes a VMSPAN_OFF record. 0 or -ENOMEM. */
int sched_add(struct sched *s, const struct vmspan_span *r);
/* Takes the VMSPAN_WAKE record before it. */
void sched_woken(struct sched *s, const struct vmspan_wake *r);
/* Something was lost, nobody knows when: what comes next is known again. */
void sched_lost(struct sched *s);
/* Records up to these cycles are missing. */
void sched_gap(struct sched *s, u64 cycles);
/*
 * A stay [begin, end) has closed: adds up the intervals in it that no stay
 * inside it has taken, and forgets them. Stays close in the order of `end`.
 * Those that a peer ended go to `waits` too, unless it is NULL. 0 or -ENOMEM.
 */
int sched_take(struct sched *s, u64 begin, u64 end, struct off_sum *sum, struct turn_waits *waits);
/* An outermost event has ended: what was before it concerns nobody. */
void sched_forget(struct sched *s, u64 end);

static inline u64 off_total(const struct off_sum *o)
{
	u64 sum = 0;
	u32 i;

	for (i = VMSPAN_OFF_PREEMPTED; i < VMSPAN_OFF_REASONS; i++)
		sum += o->cycles[i];
	return sum;
}

static inline void off_add(struct off_sum *to, const struct off_sum *o)
{
	u32 i;

	for (i = VMSPAN_OFF_PREEMPTED; i < VMSPAN_OFF_REASONS; i++)
		cycles_add(&to->cycles[i], o->cycles[i]);
}

/* Not of its own doing: it would have run. All else it waits for. */
static inline bool off_is_kept(u32 reason)
{
	return reason == VMSPAN_OFF_PREEMPTED || reason == VMSPAN_OFF_STOPPED ||
	       reason == VMSPAN_OFF_FROZEN || reason == VMSPAN_OFF_THROTTLED;
}

static inline u64 off_kept(const struct off_sum *o)
{
	return o->cycles[VMSPAN_OFF_PREEMPTED] + o->cycles[VMSPAN_OFF_STOPPED] +
	       o->cycles[VMSPAN_OFF_FROZEN] + o->cycles[VMSPAN_OFF_THROTTLED];
}

#endif
