/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of a trace an export is to hold: one stage between the model and any
 * exporter. It observes the model in the exporter's place and passes on what
 * is wanted. Which events begin between --from and --to is the model's to say;
 * their spans are known here, from a reading before: an event comes after what
 * is in it, so at the ends of the range nothing else tells whose a span is.
 */
#ifndef SINK_SELECT_H
#define SINK_SELECT_H

#include "base/map.h"
#include "sink/export.h"

struct select_config {
	const char *glob; /* groups; NULL: all */
	/* Spans and events of other groups too: the glob is but for `slowest`. */
	bool whole_turns;
	const u32 *pids; /* borrowed */
	u32 pid_count; /* 0: all */
	const char *thread; /* a tid, or a pattern of names; NULL: all */
	u64 min_duration_ns; /* of spans and events */
	u64 from_ns, to_ns; /* as struct model_config has them */
	u32 slowest; /* only the N longest events and what is in them; 0: all */
};

/* The longest events of a trace, found in a reading of their own. */
struct slow_event {
	u64 thread; /* model_thread.id: the same in each reading */
	u64 begin, end; /* ns */
};

/* An event that a range cuts: it and its spans are in, or out, as a whole. */
struct cut_event {
	u64 thread;
	u64 begin, end; /* ns */
	bool in;
};

struct select {
	struct select_config config;
	const struct model_observer *inner;
	void *inner_ctx;
	struct slow_event *slow; /* a heap while they are sought, then sorted */
	u32 slow_count, slow_cap;
	struct cut_event *cuts;
	u32 cut_count, cut_cap;
	struct map cut_of; /* thread << 32 | iteration -> index into cuts */
	const struct model *model; /* observed */
	struct model_share *shares; /* scratch */
	struct model_wait *waits; /* the same */
	u32 share_cap, wait_cap;
	u64 passed, left_out; /* spans and events */
};

void select_init(struct select *s, const struct select_config *config);
void select_release(struct select *s);
/* Does it take a first reading? It is of the whole trace, without a range. */
bool select_searches(const struct select_config *config);
/* First reading: observes m. */
void select_search(struct select *s, struct model *m);
/* Before the second reading. */
void select_found(struct select *s);
/* Takes the place of what observes m now, which gets what is wanted. */
void select_attach(struct select *s, struct model *m);

#endif
