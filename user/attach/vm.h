/* SPDX-License-Identifier: BSD-2-Clause */
/* The programs of stock VMs: timer, scheduler, event loops, probes. */
#ifndef ATTACH_VM_H
#define ATTACH_VM_H

#include "attach/tracer.h"
#include "base/buf.h"
#include "probe/vm_calls.h"

#define VM_HZ 99
#define VM_HZ_MAX 10000

/* Before the load: nothing of it is wanted. 0 or negative errno. */
int vm_leave_out(struct tracer *t);
/* Before the load: which programs are wanted. */
int vm_configure(struct tracer *t, u32 hz, bool calls);
/*
 * Processes' births and ends, before the programs of tracer_watch_life(), or
 * the news of a process's end would come before its last records. 0 or negative
 * errno.
 */
int vm_watch_life(struct tracer *t, struct err *err);
/*
 * Before a VM is traced, each time: watches the scheduler; with `walk` starts
 * the timers of all CPUs, with `loops` the system calls in which event loops wait
 * are watched. What runs already is left alone: a machine without such a VM
 * pays for nothing. 0 or negative errno.
 */
int vm_start(struct tracer *t, u32 hz, bool loops, bool walk, struct err *err);
/* A look at a stack on that CPU was taken in. */
void vm_looked(struct tracer *t, u32 cpu);
/* After records were taken in: the timers' periods are drawn anew (vm_timers.h). */
void vm_vary(struct tracer *t, u64 now_ns);
/* The timers go, until vm_start() wants them again; true: there were some. */
bool vm_stop_walks(struct tracer *t);
/* The scheduler and the loops are not watched either. */
bool vm_pause(struct tracer *t);
/* Of a thread without a loop, from the next look at it on: where its waits are that end its stays on the CPU. */
void vm_want_waits(struct tracer *t, u32 tid, bool wanted);
/* Collections that are under way will have no end. */
void vm_forget_gc(struct tracer *t);
/* The same of sweeping alone. */
void vm_forget_sweeps(struct tracer *t);
/* Nothing of it runs any more. */
void vm_stop(struct tracer *t);

/* Adds a process to those that are walked. 0 or negative errno. */
int vm_trace(struct tracer *t, u32 pid, const struct vm_proc *p, struct err *err);
void vm_untrace(struct tracer *t, u32 pid);
/* Where threads have come whose state could not be made, it is. For each round of the reader.
 * 0 or negative errno: the next one tries again. */
int vm_look_again(struct tracer *t);
/* Adds what threads are in to `to`: a struct wire_open each, and a struct wire_turn as it would be told of if it ended
 * now, without texts that are not there. Of what began after `before_ns` (CLOCK_MONOTONIC) stays on the CPU alone. -errno. */
int vm_open_turns(struct tracer *t, u64 before_ns, struct buf *to);
/* The trace ends, now, at once in all processes: probes take long to take away. After vm_stop(), what threads
 * are in goes out, with TURN_GOES_ON. */
void vm_end(struct tracer *t);
/* Must a process's probes be linked to in all that run the file? Once then, and not for each process. */
bool vm_links_all(const struct tracer *t, u32 pid);
/* The probe of a role: in one process, or (pid 0) in all that run the file.
 * NULL with *err filled. */
struct site_link *vm_site(struct tracer *t, u32 pid, const struct vm_target *v, enum vm_role role,
			  struct err *err);

/* What makes the probes at calls fire, of those of vm_site(). */
struct site_link *vm_switch(struct tracer *t, u32 pid, const struct vm_target *v,
			    const struct vm_calls *c, struct err *err);
/* How often the programs of those probes ran so far, and for how long; the
 * kernel counts while vm_count_runs() is held open. 0 or negative errno. */
struct vm_runs {
	u64 begins, ends, begin_ns, end_ns;
};
int vm_runs(const struct tracer *t, struct vm_runs *to);
int vm_count_runs(void); /* a descriptor or negative errno */

/*
 * A measure of work that needs no probe at a call: the system calls of all traced
 * VMs, by number. Counted from the first on, until vm_stop(). 0 or negative errno.
 */
int vm_count_work(struct tracer *t, struct err *err);
void vm_work(const struct tracer *t, u64 to[CALLS]);

#endif
