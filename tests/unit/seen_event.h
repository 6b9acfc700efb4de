/* SPDX-License-Identifier: BSD-2-Clause */
/* The figures of every event, to compare two ways that they took. */
#ifndef TESTS_SEEN_EVENT_H
#define TESTS_SEEN_EVENT_H

#include "model/model.h"

/* What an event came to, whatever order its groups are in. */
struct seen_event {
	bool complete;
	u64 digest;
};

struct seen_events {
	struct seen_event by_iteration[4096];
	struct seen_event implicit[4096]; /* by their end, which is unlike any other's */
	u64 implicit_end[4096];
	u32 implicit_len;
	u32 pid; /* only of this process; 0: all */
};

static inline u64 digest_event(const struct model_event *e)
{
	u64 sum = e->ledger.self_ns * 3 + e->ledger.gc_ns * 5 + e->ledger.blocked_ns * 7 +
		  e->ledger.native_ns * 11 + e->ledger.moved_ns * 13 + e->ledger.stale_ns * 17 +
		  e->ledger.lost_ns * 19 + e->ledger.event_wall_ns * 23 +
		  e->ledger.preempted_ns * 29 + e->cpu_ns * 31 + e->begin_ns * 37;
	u32 i;

	for (i = 0; i < e->share_count; i++) {
		const struct model_share *s = &e->shares[i];
		u64 own = s->wall_ns * 3 + s->self_ns * 5 + s->cpu_ns * 7 + s->blocked_ns * 11 +
			  s->gc_ns * 13 + s->preempted_ns * 17 + s->ticks * 19 + s->spans * 23 +
			  s->uncharged.wall_ns * 29 + s->uncharged.self_ns * 31 +
			  s->uncharged.cpu_ns * 37 + s->uncharged.blocked_ns * 41 +
			  s->uncharged.gc_ns * 43;
		const char *c;

		for (c = s->group; *c; c++)
			own = (own ^ (u8)*c) * 0x9e3779b97f4a7c15ull;
		sum += own;
	}
	return sum;
}

static inline void seen_add(struct seen_events *seen, const struct model_event *e)
{
	const struct seen_event one = { !e->missing, digest_event(e) };

	if (e->thread->pid != seen->pid)
		return;
	if (!e->implicit && e->iteration < ARRAY_SIZE(seen->by_iteration)) {
		seen->by_iteration[e->iteration] = one;
	} else if (e->implicit && seen->implicit_len < ARRAY_SIZE(seen->implicit)) {
		seen->implicit_end[seen->implicit_len] = e->end_ns;
		seen->implicit[seen->implicit_len++] = one;
	}
}

static inline bool seen_same(const struct seen_event *part, const struct seen_event *whole)
{
	return whole->complete && whole->digest == part->digest;
}

struct seen_sums {
	u32 complete, incomplete;
	bool wrong; /* one passes for complete and is not what it was in the whole */
};

/* Adds up what became of the events of `whole` when parts of it were missing. */
static inline void seen_compare(const struct seen_events *part, const struct seen_events *whole,
				struct seen_sums *sums)
{
	u32 i, k = 0;

	for (i = 1; i < ARRAY_SIZE(part->by_iteration); i++) {
		const struct seen_event *e = &part->by_iteration[i];

		sums->complete += e->complete;
		sums->incomplete += !e->complete && e->digest;
		sums->wrong |= e->complete && !seen_same(e, &whole->by_iteration[i]);
	}
	for (i = 0; i < part->implicit_len; i++) {
		const struct seen_event *e = &part->implicit[i];

		sums->complete += e->complete;
		sums->incomplete += !e->complete;
		if (!e->complete)
			continue;
		while (k < whole->implicit_len && whole->implicit_end[k] < part->implicit_end[i])
			k++;
		sums->wrong |= k == whole->implicit_len ||
			       whole->implicit_end[k] != part->implicit_end[i] ||
			       !seen_same(e, &whole->implicit[k]);
	}
}

#endif
