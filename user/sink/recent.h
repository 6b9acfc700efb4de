/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the live view shows beyond a snapshot: the worst turns of late of a
 * group, the threads, and, for one group at a time, who calls it and whom it
 * calls. Everything here is bounded, whatever the target does.
 */
#ifndef SINK_RECENT_H
#define SINK_RECENT_H

#include "model/model.h"
#include "model/stats.h"

#define RECENT_EVENTS 5 /* kept of a group */
#define RECENT_LEAST_NS (100000ull) /* shorter shares of a turn are not kept */
#define RECENT_EDGES 64 /* other groups, each way */

struct recent_event {
	u64 wall_ns; /* of the group in the event */
	u64 event_ns; /* of the whole event */
	u64 end_ns; /* CLOCK_MONOTONIC */
	u32 pid, tid, iteration;
	const char *label; /* of the model: lives as long */
};

struct recent_thread {
	u64 id; /* unique in the model */
	u32 pid, tid;
	char name[32], process[32];
	/* Of its events: self is the sum over all groups. No ticks, no spans,
	 * no histogram. */
	struct group_stats total, before; /* before: at the last recent_tick() */
	u64 interval_max_ns;
};

/* Calls between the focused group and another: spans of one right inside
 * spans of the other. */
struct recent_edge {
	const char *group; /* of the model; NULL: the event loop itself */
	u64 calls, wall_ns;
};

struct recent;

struct recent *recent_new(void);
void recent_free(struct recent *r);
/* Observers of a model, with ctx the struct recent. The second takes every
 * span, for recent_callers(); the first costs nothing a span. */
extern const struct model_observer recent_events_observer, recent_spans_observer;
/* A display interval is over. */
void recent_tick(struct recent *r);
/* From now on calls from and to this group are counted; NULL: of none. */
void recent_focus(struct recent *r, const char *group);

/* The worst first; returns how many. */
unsigned int recent_worst(const struct recent *r, const char *group,
			  struct recent_event to[RECENT_EVENTS]);
u32 recent_thread_count(const struct recent *r);
const struct recent_thread *recent_thread_at(const struct recent *r, u32 i);
/* The largest first, wall time of the inner spans. Returns how many. */
unsigned int recent_callers(const struct recent *r, struct recent_edge to[RECENT_EDGES]);
unsigned int recent_callees(const struct recent *r, struct recent_edge to[RECENT_EDGES]);

#endif
