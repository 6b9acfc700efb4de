/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/stats.h"

/*
 * Each struct's summable fields once; every operation walks the list.
 * X(op, field): `to->field op from->field`.
 */
#define GROUP_FIELDS(X, op)                       \
	X(op, ticks)                              \
	X(op, events)                             \
	X(op, spans)                              \
	X(op, wall_ns)                            \
	X(op, self_ns)                            \
	X(op, cpu_ns)                             \
	X(op, blocked_ns)                         \
	X(op, gc_ns)                              \
	X(op, preempted_ns)                       \
	X(op, off_ns[VMSPAN_OFF_PREEMPTED])       \
	X(op, off_ns[VMSPAN_OFF_SLEEPING])        \
	X(op, off_ns[VMSPAN_OFF_IO])              \
	X(op, off_ns[VMSPAN_OFF_UNINTERRUPTIBLE]) \
	X(op, off_ns[VMSPAN_OFF_LOCK])            \
	X(op, stayed)                             \
	X(op, moved)                              \
	X(op, stale)                              \
	X(op, incomplete)                         \
	X(op, samples)                            \
	X(op, self_samples)
#define EVENT_FIELDS(X, op) \
	X(op, count)        \
	X(op, implicit)     \
	X(op, wall_ns)      \
	X(op, cpu_ns)       \
	X(op, incomplete)   \
	X(op, samples)
#define GC_FIELDS(X, op) \
	X(op, count)     \
	X(op, total_ns)  \
	X(op, freed_bytes)
#define LEDGER_FIELDS(X, op)                             \
	X(op, self_ns)                                   \
	X(op, gc_ns)                                     \
	X(op, blocked_ns)                                \
	X(op, native_ns)                                 \
	X(op, moved_ns)                                  \
	X(op, stale_ns)                                  \
	X(op, lost_ns)                                   \
	X(op, preempted_ns)                              \
	X(op, native_off_ns[VMSPAN_OFF_PREEMPTED])       \
	X(op, native_off_ns[VMSPAN_OFF_SLEEPING])        \
	X(op, native_off_ns[VMSPAN_OFF_IO])              \
	X(op, native_off_ns[VMSPAN_OFF_UNINTERRUPTIBLE]) \
	X(op, native_off_ns[VMSPAN_OFF_LOCK])            \
	X(op, event_wall_ns)
#define APPLY(op, field) to->field op from->field;

static void durations_add(u64 to[JANK_BUCKETS], const u64 from[JANK_BUCKETS])
{
	unsigned int i;

	for (i = 0; i < JANK_BUCKETS; i++)
		to[i] += from[i];
}

static void durations_subtract(u64 to[JANK_BUCKETS], const u64 from[JANK_BUCKETS])
{
	unsigned int i;

	for (i = 0; i < JANK_BUCKETS; i++)
		to[i] -= from[i];
}

int group_stats_add(struct group_stats *to, const struct group_stats *from)
{
	GROUP_FIELDS(APPLY, +=)
	to->max_ns = max_u64(to->max_ns, from->max_ns);
	durations_add(to->durations, from->durations);
	return hist_merge(&to->hist, &from->hist);
}

void group_stats_subtract(struct group_stats *to, const struct group_stats *from)
{
	GROUP_FIELDS(APPLY, -=)
	durations_subtract(to->durations, from->durations);
	hist_subtract(&to->hist, &from->hist);
}

int group_stats_copy(struct group_stats *to, const struct group_stats *from)
{
	*to = *from;
	return hist_copy(&to->hist, &from->hist);
}

void event_stats_add(struct event_stats *to, const struct event_stats *from)
{
	EVENT_FIELDS(APPLY, +=)
	to->max_ns = max_u64(to->max_ns, from->max_ns);
	durations_add(to->durations, from->durations);
}

void event_stats_subtract(struct event_stats *to, const struct event_stats *from)
{
	EVENT_FIELDS(APPLY, -=)
	durations_subtract(to->durations, from->durations);
}

void gc_stats_add(struct gc_stats *to, const struct gc_stats *from)
{
	GC_FIELDS(APPLY, +=)
	to->max_ns = max_u64(to->max_ns, from->max_ns);
}

void gc_stats_subtract(struct gc_stats *to, const struct gc_stats *from)
{
	GC_FIELDS(APPLY, -=)
}

void ledger_add(struct ledger *to, const struct ledger *from)
{
	LEDGER_FIELDS(APPLY, +=)
}

void ledger_subtract(struct ledger *to, const struct ledger *from){ LEDGER_FIELDS(APPLY, -=) }

u64 ledger_sum(const struct ledger *l)
{
	return l->self_ns + l->gc_ns + l->blocked_ns + l->native_ns + l->moved_ns + l->stale_ns +
	       l->lost_ns;
}
