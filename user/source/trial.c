/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/trial.h"

#include <math.h>

/* Less than this many calls tell of nothing. */
#define CALLS_MIN 100
/* Of a number of a system call in each part, and of all that are believed. */
#define WORK_MIN 10
#define WORK_ENOUGH 50
/* By how much calls a system call may differ between half and all of the probes, besides
 * what chance does to small counts. By the clock they differ by the speeds: twice. */
#define WORK_APART 0.2
/* A trap differs by so much of a call's time from program to program. */
#define TRAP_APART 10
#define WORK_TRAP_APART 4 /* beyond this the two ways contradict each other */

/* Goes with the work: as many calls to one of them at both speeds. */
static bool goes_with_calls(u64 half, u64 half_calls, u64 all, u64 all_calls)
{
	double apart, chance;

	if (half < WORK_MIN || all < WORK_MIN)
		return false;
	apart = log((double)half_calls / (double)half) - log((double)all_calls / (double)all);
	chance = sqrt(1 / (double)half + 1 / (double)all);
	return fabs(apart) < WORK_APART + fmin(chance, WORK_APART);
}

/* CPU time of a call in `none`, or 0 if no system call goes with the work. */
static u64 by_work(const struct trial_part *none, const struct trial_part *half,
		   const struct trial_part *all)
{
	u64 bare = 0, traced = 0;
	double calls;
	u32 i;

	for (i = 0; i < TRIAL_WORKS; i++) {
		if (none->work[i] < WORK_MIN ||
		    !goes_with_calls(half->work[i], half->calls, all->work[i], all->calls))
			continue;
		bare += none->work[i];
		traced += half->work[i] + all->work[i];
	}
	if (bare < WORK_ENOUGH || traced < WORK_ENOUGH)
		return 0;
	calls = (double)bare * (double)(half->calls + all->calls) / (double)traced;
	return max_u64((u64)((double)none->cpu_ns / calls), 1);
}

void trial_price(const struct trial_part *none, const struct trial_part *half,
		 const struct trial_part *all, u64 trap_ns, struct call_price *to)
{
	u64 with, trap, work;

	*to = (struct call_price){ .calls = all->calls, .wall_ns = all->wall_ns };
	if (all->calls < CALLS_MIN || half->calls < CALLS_MIN)
		return;
	to->traced_ns = all->cpu_ns / all->calls;
	with = half->cpu_ns / half->calls;
	trap = trap_ns + half->end_ns / half->calls;
	to->bare_ns = less_u64(with, trap);
	work = by_work(none, half, all);
	if (work && work < to->bare_ns + with / WORK_TRAP_APART &&
	    work + with / WORK_TRAP_APART > to->bare_ns) {
		to->bare_ns = work;
		return;
	}
	to->least = to->bare_ns < with / 3;
	if (to->least)
		to->bare_ns = max_u64(to->bare_ns + with / TRAP_APART, 1);
}
