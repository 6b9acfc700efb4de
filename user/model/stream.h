/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stream of one thread: puts its batches in the order of their sequence
 * numbers, finds the gaps, and keeps the thread's open events.
 */
#ifndef MODEL_STREAM_H
#define MODEL_STREAM_H

#include "model/sample.h"
#include "model/snapshot.h"
#include "model/turn.h"

/* A batch that came early waits until this many more have come. */
#define STREAM_HELD 8
/* Open events of a thread; a forged stream may not open more. */
#define STREAM_TURNS (VMSPAN_EVENT_MAX + 4)

struct held {
	struct item_batch batch;
	void *data; /* owned copy */
};

/* What a thread's open event comes to so far. */
struct open_sum {
	struct model_unfinished what;
	u64 end; /* cycles: of what is open */
	u32 off; /* struct item_open */
	u32 held_by; /* sampled: compartment in which most of it was seen; 0: none */
	bool rest; /* its event's clock says how long it had no CPU at its end; else its own VMSPAN_AWAY */
	struct event_stats events;
	struct gc_stats gc;
	struct ledger ledger;
	struct open_row {
		u32 row; /* of the process */
		struct group_stats stats;
	} * rows; /* owned */
	u32 row_len, row_cap;
	struct map row_of; /* row -> index in rows */
};

/* Spans were left out; no number shows which. */
enum stream_flaw {
	FLAW_NONE,
	FLAW_UNDER_WAY, /* before this batch: of what was open then */
	FLAW_BATCH, /* between the last batch and this one: of anything in it */
};

struct stream {
	struct model_thread pub;
	struct proc *proc;
	struct registry *registry;
	struct sched *sched; /* its thread's, of the process; NULL: none yet */
	bool started;
	u64 first, next; /* first sequence number seen; the one due */
	u64 gap_end; /* sequence number behind the last gap */
	u64 gap_cycles; /* records up to here may be missing */
	bool gap_open; /* the next record's end bounds the gap */
	u64 last_end; /* cycles of the newest record */
	u64 cpu_carry; /* see struct turn */
	u32 too_deep, unmatched, repaired, in_mark; /* last totals */
	enum stream_flaw flaw;
	bool under_way; /* something of the thread's is open */
	struct held held[STREAM_HELD]; /* ascending seq */
	u32 held_len;
	struct turn *turns[STREAM_TURNS]; /* open, in order of opening */
	u32 turn_len;
	struct sampler *sampler; /* owned; NULL: no samples came */
	struct open_sum *open; /* owned; NULL: nothing has been open for long */
};

typedef int (*batch_fn)(void *ctx, struct stream *st, const struct item_batch *b);

/*
 * Hands the batch to fn when its turn has come, and those that waited for it.
 * Adds the number of records found missing to *missing. 0, -ENOMEM, or what
 * fn returned.
 */
int stream_order(struct stream *st, const struct item_batch *b, batch_fn fn, void *ctx,
		 u64 *missing);
/* Nothing more will come: hands out what waits. */
int stream_drain(struct stream *st, batch_fn fn, void *ctx, u64 *missing);
void stream_free(void *stream);
/* open.c: what was told of its open event is not so any more. */
void open_free(struct stream *st);

#endif
