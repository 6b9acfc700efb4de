/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is a group slow, or was it the circumstances? The decision that weeds out
 * false positives before somebody is told that an add-on is slow. It sees
 * batches of alerts and what the caller knows of the machine; it reads no
 * clock. The rules are in ALERTS.md.
 */
#ifndef SINK_VERDICT_H
#define SINK_VERDICT_H

#include "sink/alert.h"

struct verdict_config {
	/* 0: the default, which is behind each. */
	u64 jank_ns; /* 256 ms: the least that counts */
	u32 occurrences; /* 3: more than so many since the last notice */
	u64 spacing_ns; /* 6 h between two notices of a group */
	u64 freeze_ns; /* 5 s: a freeze counts at once ... */
	u64 freeze_spacing_ns; /* 2 min: ... unless the last notice is younger */
	u64 forget_ns; /* 5 min without jank reset the count */
	u64 idle_ns; /* 3 s without input: nobody is waiting */
	u64 warm_up_ns; /* 60 s from the start of the process */
	u32 crowd; /* 5: more janky groups at once, and the system is to blame */
	u32 pressure; /* 40 % of time that some task waited for a CPU */
	u32 reports; /* 1: notices of a batch, the longest first */
	const char *const *ignore; /* globs, borrowed; NULL-terminated or NULL */
};

/* What the caller knows when a batch is delivered. */
struct verdict_context {
	bool pressure_known;
	unsigned int pressure; /* percent: PSI, "some" of cpu */
	unsigned int running, cpus; /* runnable tasks; 0: not known */
	/* CLOCK_MONOTONIC at which the process began; 0: not known. */
	u64 (*started_ns)(void *ctx, u32 pid);
	/* Its last input before `ns`; 0: it has never had one. */
	u64 (*input_ns)(void *ctx, u32 pid, u64 ns);
	void *ctx;
};

enum verdict_reason {
	VERDICT_SLOW, /* told */
	VERDICT_FREEZE, /* told: one was long enough */
	VERDICT_IDLE, /* nobody was using it */
	VERDICT_BUSY, /* the system was busy */
	VERDICT_WARM_UP, /* the process has just begun */
	VERDICT_SHORT, /* not long enough to matter */
	VERDICT_IGNORED, /* on the ignore list */
	VERDICT_INNER, /* another group is the cause */
	VERDICT_SYSTEM, /* the thread was off the CPU */
	VERDICT_SELDOM, /* not often enough yet */
	VERDICT_TOLD, /* told not long ago */
	VERDICT_NOT_WORST, /* another one of the batch is told */
	VERDICT_REASONS,
};

struct verdict {
	u64 alert; /* its id */
	enum verdict_reason reason;
	u32 occurrences; /* since the last notice, this one included */
	u64 since_told_ns; /* 0: never told */
	unsigned int pressure; /* as given */
	u32 janky; /* groups of the batch */
};

struct verdicts;

struct verdicts *verdicts_new(const struct verdict_config *config);
void verdicts_free(struct verdicts *v);
/*
 * Decides on a batch. *out: an array of b->count, in the order of its alerts;
 * owned by v, valid until the next call. 0 or -ENOMEM.
 */
int verdicts_batch(struct verdicts *v, const struct alert_batch *b, const struct verdict_context *c,
		   const struct verdict **out);

/* Is it a notice? */
static inline bool verdict_told(const struct verdict *v)
{
	return v->reason == VERDICT_SLOW || v->reason == VERDICT_FREEZE;
}

/* "slow", "idle", ...: as in JSON. */
const char *verdict_name(enum verdict_reason r);
/* Why, in words. */
const char *verdict_words(enum verdict_reason r);

#endif
