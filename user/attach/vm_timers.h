/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The timers that look at stacks, one a CPU. A timer with one period falls into step
 * with loops whose turns take a multiple of it, and then sees the same part of each
 * turn for seconds: shares by its looks would be off by far more than their interval.
 * So the period of each is drawn anew, again and again, around the one that was asked for.
 */
#ifndef ATTACH_VM_TIMERS_H
#define ATTACH_VM_TIMERS_H

#include "base/err.h"
#include "base/types.h"

struct bpf_program;
struct vm_timer;

struct vm_timers {
	struct vm_timer *list; /* owned */
	u32 count, hz;
	u64 varied_ns; /* when last, of CLOCK_MONOTONIC */
	u64 random;
};

/* Starts `program` on every CPU that is there. 0 or negative errno. */
int vm_timers_start(struct vm_timers *t, struct bpf_program *program, u32 hz, struct err *err);
void vm_timers_stop(struct vm_timers *t);
/* The timer of a CPU has looked at something: it alone needs a new period. */
void vm_timers_looked(struct vm_timers *t, u32 cpu);
/* Draws new periods when it is time to. To be called after records were taken in. */
void vm_timers_vary(struct vm_timers *t, u64 now_ns);

/*
 * A period for timers that stand for hz a second, by a random number: 3/4 to 5/4 of
 * that many. It is drawn once in vm_timers_every() ns; a new period begins afresh, so
 * half of one is lost each time, which a higher rate makes up for.
 */
u64 vm_timers_period(u32 hz, u64 random);
u64 vm_timers_every(u32 hz);

#endif
