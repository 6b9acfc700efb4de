/* SPDX-License-Identifier: BSD-2-Clause */
/* What sample.c and sample_pool.c share: samples that belong together, and how times are shared by them. */
#ifndef MODEL_SAMPLE_PRIV_H
#define MODEL_SAMPLE_PRIV_H

#include "model/model_priv.h"
#include "model/sample.h"

/* An event that ran for this many periods is settled by its own samples. Chosen
 * by its CPU time, never by the number of its samples: that would favour events
 * whose groups happened to be seen. Not by its length either: a short one that
 * was preempted would give all of that time to the one group that was seen. */
#define OWN_PERIODS 4

/* What is shared: the times of one event, or of all that are pooled. */
struct measured {
	u64 wall, cpu, stolen, gc, off;
	u64 events; /* pooled ones; 0: one event by itself */
	bool open; /* it goes on */
};

void samples_clear(struct samples *s);
/* What `from` has comes to what `to` has. 0 or -ENOMEM. */
int samples_add(struct samples *to, const struct samples *from);
/* NULL without memory. */
struct sample_row *samples_row(struct samples *s, u32 row);
/* Shares the times by the samples, in all figures but the number of events; *l: in the ledger too. 0 or -ENOMEM. */
int samples_settle(struct model *m, struct stream *st, const struct samples *s, struct measured t,
		   bool incomplete, struct ledger *l);

/* The figures of the trace, or of what goes on. */
struct event_stats *sample_events(struct model *m, const struct stream *st);
/* A row's; NULL without memory. */
struct group_stats *sample_stats(struct model *m, const struct stream *st, u32 row);
/* Into all figures: the program's own group is in each event, seen or not. 0 or -ENOMEM. */
int sample_count(struct model *m, const struct stream *st, const struct event_stats *e);

/* An event that is too short to be shared by its own samples has ended: what it waited is settled, and the rest is
 * pooled with others. 0 or -ENOMEM. */
int pool_event(struct model *m, struct stream *st, const struct event_stats *one, u64 gc_ns,
	       u64 waited_ns, u64 begin_ns);
/* Settles them, if they have waited for long enough. 0 or -ENOMEM. */
int pool_settle(struct model *m, struct stream *st, u64 now_ns);

#endif
