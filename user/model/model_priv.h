/* SPDX-License-Identifier: BSD-2-Clause */
/* The model's inside: for the files of user/model/ alone. */
#ifndef MODEL_PRIV_H
#define MODEL_PRIV_H

#include "model/clock.h"
#include "model/parts.h"
#include "model/snapshot.h"
#include "model/stream.h"

/* The longest ones; of the others only how many there were. */
#define UNFINISHED_KEPT 64
struct unfinished_list {
	struct model_unfinished at[UNFINISHED_KEPT]; /* their strings are owned */
	u32 len;
	u64 count; /* all */
};

struct model {
	struct model_config config;
	struct registry_set set;
	struct clock_map clock;
	struct parts parts; /* what was not measured, and when */
	bool clock_seen;
	u64 attach_cycles; /* of the first clock item, or of when turns were switched on
			    * again: spans are not older */
	u64 begin_ns, end_ns; /* of the first and the last clock item */
	u64 hole_cycles; /* HOLE_NS */
	u64 uid; /* of the last turn */
	u64 thread_id; /* of the last thread */
	struct turn *active; /* of this batch, or NULL: see turn_park() */
	struct turn *spare[8]; /* turns for reuse */
	u32 spare_len;
	const struct model_observer *observer;
	void *observer_ctx;
	struct model_share *shares; /* scratch for the observer */
	u32 share_cap, share_len; /* share_len: of a sampled event */
	struct wait_rows waits;
	struct model_wait *event_waits; /* scratch for the observer */
	u32 event_wait_cap;
	struct unfinished_list unfinished;
	struct open_sum *sum; /* where what is open is summed just now; NULL: nothing is */
	/* The newest of the range, and the newest from before it, or the first. */
	struct item_cost cost, cost_before;
	bool cost_known;
	struct loss_stats losses;
	u64 missing; /* records, by sequence numbers */
	struct repair_stats repairs;
	u64 spans, records, inputs, frames;
};

/* Its records are the tracer's own, of a stock VM: they know themselves when it had no CPU, and the scheduler's
 * record, if there is one, is not about them. */
static inline bool stream_is_stock(const struct stream *st)
{
	return st->registry->address == ITEM_TRACER_REGISTRY;
}
/* Is all that the scheduler did to its thread to be known? */
static inline bool stream_is_exact(const struct model *m, const struct stream *st)
{
	return m->config.exact && !stream_is_stock(st);
}

/* Is an event or a mark that begins at these ns within the chosen range? */
bool model_in_range(const struct model *m, u64 ns);
/* Adds an event that has ended to the figures, and shows it to the observer.
 * `e` is NULL for an event whose record is missing, or that never was one. */
int model_settle(struct model *m, struct stream *st, struct turn *t, const struct vmspan_event *e,
		 enum missing missing);

/* A row of waits with its names, which live as long as the model. */
struct model_wait wait_shown(const struct registry_set *set, const struct wait_row *row);

/* A batch whose turn it is: a batch_fn, with the model as context. */
int model_batch(void *ctx, struct stream *st, const struct item_batch *b);

/* Its records, one after the other. */
int model_records(struct model *m, struct stream *st, const struct item_batch *b);
/* The stream of a batch, made on first sight. NULL: no memory, or more registries than anybody has. */
struct stream *model_stream(struct model *m, const struct item_batch *b);
/* Finds its thread's scheduler's record, or makes it for the stream that brings it. 0 or -ENOMEM. */
int model_stream_sched(struct stream *st, const struct item_batch *b);
/* A stream's open event, begun on first sight. NULL without memory. */
struct turn *model_turn_of(struct model *m, struct stream *st, u32 iteration);
/* It is over. */
void model_turn_done(struct model *m, struct stream *st, struct turn *t);

/* ---- thread.c ---- */

int model_thread_item(struct model *m, const struct item_thread *it);
/* Settles what waits of a thread (0: of all of the process) and forgets it. */
int model_threads_end(struct model *m, struct proc *p, u32 tid);

/* ---- unfinished.c ---- */

/* Counts one, and keeps it if it is one of the longest. 0, or -ENOMEM. */
int model_unfinished(struct model *m, const struct item_unfinished *it);
/* One with its names, into an empty place. 0, or -ENOMEM and what there is is to be cleared. */
int unfinished_fill(const struct model *m, const struct item_unfinished *it,
		    struct model_unfinished *u);
void unfinished_clear(struct model_unfinished *u);
void unfinished_free(struct unfinished_list *l);

/* ---- open.c ---- */

/* Works out what a thread's open event comes to; of pid 0: none is known any more. 0, -ENOMEM. */
int model_open(struct model *m, const struct item_open *it);
void open_forget_all(const struct model *m);
/* Where a row's part of it goes. NULL without memory. */
struct group_stats *open_row(struct open_sum *sum, u32 row);
/* Exact mode: a thread whose open event is summed says that it had no CPU. 0 or -ENOMEM. */
int open_away(const struct model *m, struct stream *st, const struct vmspan_span *s);

/* All that is open, by process and row. `stats` and sums are the streams'. */
struct open_all {
	struct open_in {
		u32 process; /* its index */
		const struct open_sum *sum;
	} * sums; /* owned */
	struct open_at {
		u32 process, row;
		const struct group_stats *stats;
	} * rows; /* owned */
	u32 sum_len, sum_cap, row_len, row_cap;
};
/* 0, or -ENOMEM; to be freed in any case. */
int open_collect(const struct registry_set *set, struct open_all *to);
void open_all_free(struct open_all *o);
/* From *at, which goes on: how many are of this row. To be asked for processes and rows in order; those
 * found lie before *at. */
u32 open_rows_at(const struct open_all *o, u32 *at, u32 process, u32 row);
void open_longest_first(struct open_all *o);

/* ---- cost.c ---- */

void model_cost(struct model *m, const struct item_cost *c);
/* Below nothing it stays. */
void cost_subtract(struct item_cost *c, const struct item_cost *then);

/* ---- lookup.c ---- */

/* As defined so far; NULL or "": not at all. */
const char *model_compartment(const struct model *m, u32 pid, u64 address, u32 compartment);
const char *model_label(const struct model *m, u32 pid, u64 address, u32 label);

/* ---- show.c ---- */

/* Shows a stay to the observer, which wants spans. 0, or what it returned. */
int show_span(struct model *m, struct stream *st, const struct vmspan_span *s, const struct comp *c,
	      const struct stay *stay);
/* Counts a mark, and shows it to an observer that wants it. */
int show_mark(struct model *m, struct stream *st, const struct vmspan_point *mk);

/* ---- snapshot.c ---- */

/* The process of this id; UINT32_MAX: there is none. */
u32 snapshot_process_at(const struct snapshot *s, u64 id);
/*
 * Where in s the processes of an earlier snapshot are: themselves, or where they have ended since and are not kept
 * apart any more, the sum that they were added to. UINT32_MAX: nowhere. Owned by the caller; NULL: no memory.
 */
u32 *snapshot_places(const struct snapshot *s, const struct snapshot *then);
/* What the group has in the process at this place; NULL: nothing. */
struct snapshot_child *snapshot_child_at(struct snapshot *s, const struct snapshot_group *g,
					 u32 process);
/* All but the groups: d -= then, whose processes are at `places`. */
void snapshot_subtract_totals(struct snapshot *d, const struct snapshot *then, const u32 *places);

#endif
