/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host's own book of what it did, one a thread. It follows the rules that
 * the SDK documents and the tracer applies, from the calls alone: it never
 * looks at the SDK's data, so that a test may compare the two.
 */
#ifndef HOST_LEDGER_H
#define HOST_LEDGER_H

#include "base/types.h"
#include "base/wire.h"

/* What gets charged. `index` is its place in the ledgers; 0 is the top group. */
struct group {
	u32 id; /* as the SDK numbers it */
	u32 index;
	enum vmspan_kind kind;
	char name[VMSPAN_NAME_MAX + 1];
};

struct compartment {
	u32 id;
	u32 count;
	const struct group *groups[VMSPAN_GROUPS_MAX];
	struct realm *realm; /* where its code runs; several may share one */
	struct page *page; /* whose frame it is, or NULL */
};

/* Counts of a thread, a process or the whole; one table for all that is done with them. */
#define LEDGER_COUNTS(X) \
	X(events)        \
	X(nested)        \
	X(spans)         \
	X(gc)            \
	X(freed_bytes)   \
	X(blocks)        \
	X(inputs)        \
	X(frames)        \
	X(values)        \
	X(definitions)   \
	X(too_deep)      \
	X(repaired)      \
	X(unmatched)

struct ledger_counts {
#define X(name) u64 name;
	LEDGER_COUNTS(X)
#undef X
};

struct ledger_group {
	u64 ticks, events, spans, stale;
};

struct ledger_open {
	const struct compartment *c; /* NULL: a collection or a blocking call */
	u32 mark; /* VMSPAN_ID_GC, VMSPAN_ID_BLOCK or 0 */
	u32 reentered;
	u32 level; /* of the event it was opened in */
	bool stale;
};

/* How often a group is open in the event `serial`. */
struct ledger_state {
	u64 serial;
	u32 open;
};

struct ledger_level {
	u64 serial; /* of the event open here */
	u32 base; /* stays open when it began */
	u32 too_deep_open; /* stays beyond the limit open when it began */
	struct ledger_state *state; /* by group index */
	u32 states;
};

struct ledger {
	struct ledger_counts counts;
	struct ledger_group *groups; /* by group index */
	u32 group_count;
	u64 serial;
	u32 depth, too_deep_open, level; /* level: events open */
	struct ledger_open open[VMSPAN_DEPTH_MAX];
	struct ledger_level levels[VMSPAN_EVENT_MAX];
};

void ledger_free(struct ledger *l);

/* Events nest; the stays open around a nested one become stale. */
void ledger_event_begin(struct ledger *l);
void ledger_event_end(struct ledger *l);
/* Only inside an event: the host makes no span outside one. */
void ledger_enter(struct ledger *l, const struct compartment *c);
void ledger_leave(struct ledger *l, const struct compartment *c);
/* mark: VMSPAN_ID_GC or VMSPAN_ID_BLOCK. freed: bytes, of a collection. */
void ledger_stay_begin(struct ledger *l, u32 mark);
void ledger_stay_end(struct ledger *l, u32 mark, u64 freed);
/* Adds what `from` counted, n times. */
void ledger_add(struct ledger *to, const struct ledger *from, u64 n);
/* Records that the SDK must have made for this. */
u64 ledger_records(const struct ledger_counts *c);

#endif
