/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the scheduler's record of each thread (exact mode) has come to, so that it can be begun there: from its
 * VMSPAN_OFF_START on none of its records is missing. Who leaves records out puts one in the place of the last of
 * those.
 */
#ifndef REC_SCHED_ENDS_H
#define REC_SCHED_ENDS_H

#include "base/map.h"
#include "model/item.h"

struct sched_end {
	u32 pid, tid, thread;
	u64 next; /* sequence number of the record to come */
	u64 cycles; /* when the last one ended */
	u32 lost; /* item_batch.too_deep: so often something was lost that no number shows */
	bool lacks; /* also by the end of the last batch: what comes behind it is not all */
	bool kept; /* the caller's */
};

struct sched_ends {
	struct sched_end *ends; /* owned */
	u32 len, cap;
	struct map at; /* pid << 32 | thread -> index in ends */
};

/* Is it of a scheduler's record? */
static inline bool sched_is_of(const struct item *it)
{
	return it->type == ITEM_BATCH && it->batch.registry == ITEM_SCHED_REGISTRY;
}

/* That of a batch's thread, made at first sight; it stays valid until the next is made or forgotten. NULL: there is no
 * memory, or (`*rc` = -ENOSPC) there are `most`. */
struct sched_end *sched_end_of(struct sched_ends *s, const struct item_batch *b, u32 most, int *rc);
/* Takes note of a batch of the thread's. */
void sched_end_note(struct sched_end *e, const struct item_batch *b);
/* Hands out a VMSPAN_OFF_START in the place of the last record, unless something was lost there. 0, or what fn
 * returned. */
int sched_end_start(const struct sched_end *e, item_fn fn, void *ctx);
/* Forgets that at an index; the last one is there then. */
void sched_ends_drop(struct sched_ends *s, u32 at);
void sched_ends_forget(struct sched_ends *s, u32 pid);
/* (A thread of the scheduler's record is called by its number.) */
void sched_ends_forget_thread(struct sched_ends *s, u32 pid, u32 tid);
void sched_ends_free(struct sched_ends *s);

#endif
