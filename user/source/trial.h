/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a call takes when nobody traces it, from the three parts of a trial. Pure.
 *
 * Nobody sees a call that is not traced. But most programs make system calls as they
 * work, and those are seen at next to no cost. With half of the probes and with all,
 * calls are counted too: a number of a system call that is made once in as many calls
 * both times, although the program is at different speeds, goes with the work and not
 * with the clock, so it tells how many calls there were when none was counted.
 *
 * A program without such system calls has the cost of half of the probes taken off,
 * which is known but for some percent. Of short calls that leaves only a bound.
 */
#ifndef SOURCE_TRIAL_H
#define SOURCE_TRIAL_H

#include "source/live_trial.h"

#define TRIAL_WORKS 512

struct trial_part {
	u64 wall_ns, cpu_ns; /* cpu: of all targets */
	u64 calls; /* returns that were seen */
	u64 end_ns; /* that the programs at them took */
	u64 work[TRIAL_WORKS]; /* system calls, by number */
};

/* trap_ns: what a trap costs without a program. */
void trial_price(const struct trial_part *none, const struct trial_part *half,
		 const struct trial_part *all, u64 trap_ns, struct call_price *to);

#endif
