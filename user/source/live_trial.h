/* SPDX-License-Identifier: BSD-2-Clause */
/* What measuring every call costs a program, by trying it for a second. */
#ifndef SOURCE_LIVE_TRIAL_H
#define SOURCE_LIVE_TRIAL_H

#include "source/live.h"

struct call_price {
	u64 calls, wall_ns; /* in the part with all probes */
	u64 traced_ns; /* CPU time of the targets a call, measured */
	u64 bare_ns; /* the same without the trace, worked out; 0: too little to tell */
	u64 trap_ns; /* one trap, on ourselves */
	bool least; /* bare_ns is less than can be told: this is its upper bound */
};

/*
 * Traces the targets of `config` (calls: set) for a part of a second with half
 * of the probes, then for the rest with all. How much less half costs is known:
 * one trap and the programs' time, which the kernel measures. So what a call
 * takes without any is known too, although nobody saw one. 0 or negative errno.
 */
int live_trial(const struct live_config *config, struct call_price *to, struct err *err);

#endif
