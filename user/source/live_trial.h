/* SPDX-License-Identifier: BSD-2-Clause */
/* What measuring every call costs a program, by trying it for a second. */
#ifndef SOURCE_LIVE_TRIAL_H
#define SOURCE_LIVE_TRIAL_H

#include "source/live.h"

struct call_price {
	u64 calls, wall_ns; /* in the part with all probes */
	u64 traced_ns; /* CPU time of the targets a call, measured */
	u64 bare_ns; /* the same without the trace; 0: too little to tell */
	bool least; /* bare_ns is less than can be told: this is its upper bound */
};

/*
 * Traces the targets of `config` (calls: set) without a probe at their calls, then with
 * half of them, then with all, for a part of a second each. What a call takes without
 * any is had in one of two ways (trial.h). -EINTR when stop_fd can be read; 0 or another
 * negative errno.
 */
int live_trial(const struct live_config *config, int stop_fd, struct call_price *to,
	       struct err *err);

#endif
