/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/stats.h"

/*
 * Each struct's summable fields once; every operation walks the list.
 * X(field): `to->field op from->field`. Counts of events are apart.
 */
#define GROUP_FIELDS(X)                       \
	X(ticks)                              \
	X(spans)                              \
	X(wall_ns)                            \
	X(self_ns)                            \
	X(cpu_ns)                             \
	X(cpu_margin_ns)                      \
	X(blocked_ns)                         \
	X(gc_ns)                              \
	X(uncharged_ns)                       \
	X(preempted_ns)                       \
	X(off_ns[VMSPAN_OFF_PREEMPTED])       \
	X(off_ns[VMSPAN_OFF_SLEEPING])        \
	X(off_ns[VMSPAN_OFF_IO])              \
	X(off_ns[VMSPAN_OFF_UNINTERRUPTIBLE]) \
	X(off_ns[VMSPAN_OFF_LOCK])            \
	X(off_ns[VMSPAN_OFF_STOPPED])         \
	X(off_ns[VMSPAN_OFF_FROZEN])          \
	X(off_ns[VMSPAN_OFF_THROTTLED])       \
	X(stayed)                             \
	X(moved)                              \
	X(stale)                              \
	X(samples)                            \
	X(self_samples)
#define EVENT_FIELDS(X) \
	X(wall_ns)      \
	X(cpu_ns)       \
	X(samples)
#define GC_FIELDS(X) \
	X(count)     \
	X(total_ns)  \
	X(freed_bytes)
#define LEDGER_FIELDS(X)                             \
	X(self_ns)                                   \
	X(gc_ns)                                     \
	X(blocked_ns)                                \
	X(native_ns)                                 \
	X(moved_ns)                                  \
	X(stale_ns)                                  \
	X(lost_ns)                                   \
	X(preempted_ns)                              \
	X(stopped_ns)                                \
	X(frozen_ns)                                 \
	X(throttled_ns)                              \
	X(unseen_ns)                                 \
	X(native_stock_ns)                           \
	X(native_off_ns[VMSPAN_OFF_PREEMPTED])       \
	X(native_off_ns[VMSPAN_OFF_SLEEPING])        \
	X(native_off_ns[VMSPAN_OFF_IO])              \
	X(native_off_ns[VMSPAN_OFF_UNINTERRUPTIBLE]) \
	X(native_off_ns[VMSPAN_OFF_LOCK])            \
	X(native_off_ns[VMSPAN_OFF_STOPPED])         \
	X(native_off_ns[VMSPAN_OFF_FROZEN])          \
	X(native_off_ns[VMSPAN_OFF_THROTTLED])       \
	X(event_wall_ns)
#define ADD(field) to->field += from->field;
/* What is open is in the figures as if it had ended now; what becomes of it may be less. */
#define SUBTRACT(field) to->field -= min_u64(from->field, to->field);

void durations_count(u64 durations[JANK_BUCKETS], u64 ns)
{
	unsigned int i;

	for (i = 0; i < JANK_BUCKETS && ns > NSEC_PER_MSEC << i; i++)
		durations[i]++;
}

void open_count(struct open_counts *open, u64 ns, bool incomplete, u64 margin_ns)
{
	open->events++;
	open->cpu_margin_ns += margin_ns;
	open->incomplete += incomplete;
	open->max_ns = max_u64(open->max_ns, ns);
	durations_count(open->longer, ns);
}

void missing_count(struct event_stats *e, enum missing missing, bool open)
{
	if (!missing)
		return;
	e->incomplete++;
	e->missing[missing]++;
	if (open)
		e->open_missing[missing]++;
}

static void durations_add(u64 to[JANK_BUCKETS], const u64 from[JANK_BUCKETS])
{
	unsigned int i;

	for (i = 0; i < JANK_BUCKETS; i++)
		to[i] += from[i];
}

static void open_add(struct open_counts *to, const struct open_counts *from)
{
	to->events += from->events;
	to->implicit += from->implicit;
	to->incomplete += from->incomplete;
	to->max_ns = max_u64(to->max_ns, from->max_ns);
	to->cpu_margin_ns += from->cpu_margin_ns;
	durations_add(to->longer, from->longer);
}

/* Those that had ended. */
static void count_subtract(u64 *to, u64 from, u64 open)
{
	*to -= min_u64(from - open, *to);
}

static void durations_subtract(u64 to[JANK_BUCKETS], const u64 from[JANK_BUCKETS],
			       const u64 open[JANK_BUCKETS])
{
	unsigned int i;

	for (i = 0; i < JANK_BUCKETS; i++)
		count_subtract(&to[i], from[i], open[i]);
}

int group_stats_add(struct group_stats *to, const struct group_stats *from)
{
	GROUP_FIELDS(ADD)
	to->events += from->events;
	to->incomplete += from->incomplete;
	open_add(&to->open, &from->open);
	to->max_ns = max_u64(to->max_ns, from->max_ns);
	durations_add(to->durations, from->durations);
	return hist_merge(&to->hist, &from->hist);
}

void group_stats_subtract(struct group_stats *to, const struct group_stats *from)
{
	/* What was open may have been charged, and is not, or the other way round. */
	u64 charged = from->wall_ns - min_u64(from->wall_ns, to->wall_ns);
	u64 uncharged = from->uncharged_ns - min_u64(from->uncharged_ns, to->uncharged_ns);

	GROUP_FIELDS(SUBTRACT)
	to->wall_ns -= min_u64(to->wall_ns, uncharged);
	to->uncharged_ns -= min_u64(to->uncharged_ns, charged);
	/* What went on was an estimate then, and is another now: neither takes from the other. */
	to->cpu_margin_ns += 2 * from->open.cpu_margin_ns;
	count_subtract(&to->events, from->events, from->open.events);
	count_subtract(&to->incomplete, from->incomplete, from->open.incomplete);
	durations_subtract(to->durations, from->durations, from->open.longer);
	hist_subtract(&to->hist, &from->hist);
}

int group_stats_copy(struct group_stats *to, const struct group_stats *from)
{
	*to = *from;
	return hist_copy(&to->hist, &from->hist);
}

void event_stats_add(struct event_stats *to, const struct event_stats *from)
{
	unsigned int i;

	EVENT_FIELDS(ADD)
	for (i = 0; i < MISSING_CAUSES; i++) {
		to->missing[i] += from->missing[i];
		to->open_missing[i] += from->open_missing[i];
	}
	to->count += from->count;
	to->implicit += from->implicit;
	to->incomplete += from->incomplete;
	open_add(&to->open, &from->open);
	to->max_ns = max_u64(to->max_ns, from->max_ns);
	durations_add(to->durations, from->durations);
}

void event_stats_subtract(struct event_stats *to, const struct event_stats *from)
{
	unsigned int i;

	EVENT_FIELDS(SUBTRACT)
	for (i = 0; i < MISSING_CAUSES; i++)
		count_subtract(&to->missing[i], from->missing[i], from->open_missing[i]);
	count_subtract(&to->count, from->count, from->open.events);
	count_subtract(&to->implicit, from->implicit, from->open.implicit);
	count_subtract(&to->incomplete, from->incomplete, from->open.incomplete);
	durations_subtract(to->durations, from->durations, from->open.longer);
}

void gc_stats_add(struct gc_stats *to, const struct gc_stats *from)
{
	GC_FIELDS(ADD)
	to->max_ns = max_u64(to->max_ns, from->max_ns);
}

void gc_stats_subtract(struct gc_stats *to, const struct gc_stats *from)
{
	GC_FIELDS(SUBTRACT)
}

void ledger_add(struct ledger *to, const struct ledger *from)
{
	LEDGER_FIELDS(ADD)
}

void ledger_subtract(struct ledger *to, const struct ledger *from)
{
	u64 *const terms[] = { &to->moved_ns,   &to->stale_ns, &to->lost_ns, &to->native_ns,
			       &to->blocked_ns, &to->gc_ns,    &to->self_ns };
	u64 over;
	u32 i;

	LEDGER_FIELDS(SUBTRACT)
	/* What was one term's while it was open and became another's was in the time before. */
	over = ledger_sum(to) - min_u64(ledger_sum(to), to->event_wall_ns);
	for (i = 0; i < ARRAY_SIZE(terms); i++) {
		u64 less = min_u64(over, *terms[i]);

		*terms[i] -= less;
		over -= less;
	}
	to->unseen_ns = min_u64(to->unseen_ns, to->lost_ns);
	to->preempted_ns = min_u64(to->preempted_ns, to->native_ns);
	to->native_stock_ns = min_u64(to->native_stock_ns, to->native_ns - to->preempted_ns);
	to->stopped_ns = min_u64(to->stopped_ns, to->preempted_ns);
	to->frozen_ns = min_u64(to->frozen_ns, to->preempted_ns - to->stopped_ns);
	to->throttled_ns =
		min_u64(to->throttled_ns, to->preempted_ns - to->stopped_ns - to->frozen_ns);
}

u64 ledger_sum(const struct ledger *l)
{
	return l->self_ns + l->gc_ns + l->blocked_ns + l->native_ns + l->moved_ns + l->stale_ns +
	       l->lost_ns;
}
