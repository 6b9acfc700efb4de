/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The figures of a group, of a process, of the whole. All are totals that
 * never decrease, but for what is open; the difference of two states is a state.
 */
#ifndef MODEL_STATS_H
#define MODEL_STATS_H

#include "model/hist.h"
#include "model/item.h"

#define JANK_BUCKETS 10 /* events strictly longer than 1, 2, 4 ... 512 ms */

/* Why an event lacks data: the first of these that holds. */
enum missing {
	MISSING_NOTHING,
	MISSING_RECORDS, /* some of it, or of marks made in it, are lost */
	MISSING_PART, /* a part of the trace was switched off in it */
	MISSING_SWITCHES, /* exact mode: the scheduler's record does not cover it */
	MISSING_SENSE, /* times of it cannot be */
	MISSING_CPU, /* exact mode: a hypervisor took CPU time, from which group nobody knows */
	MISSING_CAUSES,
};

/* Of the events that are counted, those that have not ended: each is one of any time in which it goes
 * on. They are in the sums and in the longest, not in the histogram. */
struct open_counts {
	u64 events, implicit, incomplete;
	u64 longer[JANK_BUCKETS]; /* of `durations` */
	u64 max_ns; /* so far */
	u64 cpu_margin_ns; /* of a group: of its own */
};

/*
 * What a group would have been charged besides, if its spans that changed CPU counted as all others
 * do: ns. self_ns may be in the wall_ns that it was charged: of a span inside another of the group.
 */
struct model_uncharged {
	u64 wall_ns, self_ns, cpu_ns, blocked_ns, gc_ns;
	u64 cpu_margin_ns; /* of its cpu_ns and what it is charged, together */
};

struct group_stats {
	u64 ticks; /* stopwatches: outermost entries */
	u64 events; /* events in which it had a stopwatch */
	u64 spans; /* = stayed + moved + stale */
	u64 wall_ns; /* charged: inside its stopwatches */
	u64 self_ns; /* one of its compartments was the innermost */
	u64 cpu_ns; /* its share of the events' thread CPU time */
	u64 cpu_margin_ns; /* which may be so much too large or too small, at most; 0: it is known */
	u64 blocked_ns; /* of wall: inside announced blocking calls */
	u64 gc_ns; /* of wall: inside collections */
	u64 uncharged_ns; /* not in wall: struct model_uncharged's */
	/* Exact mode: it was kept off the CPU (not in wall), and own time off it by
	 * reason while one of its compartments was the innermost. */
	u64 preempted_ns;
	u64 off_ns[VMSPAN_OFF_REASONS];
	u64 max_ns; /* largest wall in one event */
	u64 durations[JANK_BUCKETS]; /* of wall by event, cumulative */
	u64 stayed, moved, stale; /* spans: kept, changed CPU, nested loop */
	u64 incomplete; /* of events: those that lack data */
	struct open_counts open;
	u64 samples, self_samples; /* on the stack, innermost; sampled events */
	struct hist hist; /* of wall by event */
};

/*
 * For every event and so for every sum of events, to the nanosecond:
 * self + gc + blocked + native + moved + stale + lost = event_wall.
 */
struct ledger {
	u64 self_ns, gc_ns, blocked_ns, native_ns, moved_ns, stale_ns, lost_ns;
	u64 event_wall_ns;
	/* Of native, exact mode only: the thread was kept off the CPU. Of that: by a signal or a debugger,
	 * by a cgroup's freezer, by its quota; else others had the CPU. */
	u64 preempted_ns, stopped_ns, frozen_ns, throttled_ns;
	/* Of lost: of sampled events, in which no look stands for it. */
	u64 unseen_ns;
	/* Of native: of stock VMs, of which nobody says how much of it had no CPU. */
	u64 native_stock_ns;
	/* Exact mode: off the CPU by reason while no compartment was in. What is
	 * waited is in blocked_ns, the rest in preempted_ns. */
	u64 native_off_ns[VMSPAN_OFF_REASONS];
};

struct event_stats {
	u64 count; /* implicit ones included */
	u64 implicit; /* spans outside any event: each root is one */
	u64 wall_ns, cpu_ns;
	u64 incomplete; /* the sum of missing[] */
	u64 missing[MISSING_CAUSES]; /* of MISSING_NOTHING: 0 */
	struct open_counts open;
	u64 open_missing[MISSING_CAUSES]; /* of those that go on */
	u64 samples; /* of sampled events */
	u64 max_ns;
	u64 durations[JANK_BUCKETS];
};

struct gc_stats {
	u64 count, total_ns, max_ns, freed_bytes;
};

struct loss_stats {
	u64 records[LOSS_CAUSES];
	u64 batches[LOSS_CAUSES];
};

/* What the SDK or the model did to make sense of odd marks. Not losses. */
struct repair_stats {
	u64 repaired; /* spans closed because their leave never came */
	u64 before_attach; /* spans dropped: they began before the trace */
	u64 stolen_ns; /* a hypervisor had the CPU: exact mode, and sampled events */
	u64 stolen_lacks_ns; /* of it, in events that are incomplete for it: exact mode */
	u64 discarded_shares; /* spans whose cycles made no sense */
};

/* Time in which a group waited for what somebody else then did. */
struct model_wait {
	u32 pid; /* whose group */
	const char *group; /* "kind:name", or "(native)" */
	u32 peer_pid; /* 0: the sum of those that found no room */
	const char *peer_process; /* its name; "" where it is not known */
	const char *peer_group; /* the peer was in it when it did; "" not known */
	u64 ns, count;
	u64 begin_ns; /* of one event's: when the first began */
};

/* An event of so long, in each bucket that it is longer than. */
void durations_count(u64 durations[JANK_BUCKETS], u64 ns);
/* One that goes on: how long it takes is not known, but that it is so long. */
void open_count(struct open_counts *open, u64 ns, bool incomplete, u64 margin_ns);
/* An event that is counted lacks data for this, if it does; open: it goes on. */
void missing_count(struct event_stats *e, enum missing missing, bool open);

/* to += from, to -= from (an earlier state; max and open stay those of `to`, whose events are those that
 * ended since, and the open ones). The group forms handle the histogram too: 0 or -ENOMEM. */
int group_stats_add(struct group_stats *to, const struct group_stats *from);
void group_stats_subtract(struct group_stats *to, const struct group_stats *from);
int group_stats_copy(struct group_stats *to, const struct group_stats *from);
void event_stats_add(struct event_stats *to, const struct event_stats *from);
void event_stats_subtract(struct event_stats *to, const struct event_stats *from);
void gc_stats_add(struct gc_stats *to, const struct gc_stats *from);
void gc_stats_subtract(struct gc_stats *to, const struct gc_stats *from);
void ledger_add(struct ledger *to, const struct ledger *from);
void ledger_subtract(struct ledger *to, const struct ledger *from);
/* The left side of the ledger's equation. */
u64 ledger_sum(const struct ledger *l);

#endif
