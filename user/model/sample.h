/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events whose groups are known by samples: looks at the thread's stack at
 * regular times. Rules: LEDGER.md, "Sampled events".
 */
#ifndef MODEL_SAMPLE_H
#define MODEL_SAMPLE_H

#include "base/map.h"
#include "model/stats.h"

struct model;
struct proc;
struct stream;
struct turn;

/* A group, in samples. */
struct sample_row {
	u32 row;
	u32 stamp; /* of the sample that last charged it */
	u64 hits, gc_hits; /* samples with it on the stack: running, collecting */
	u64 self_hits; /* it was the innermost */
	u64 off_ns; /* it was on the stack of a thread that waited */
	u64 gc_ns,
		gc_off_ns; /* of one that collected: what those looks stand for; of that: it waited */
	u64 events,
		incomplete; /* of a pool: it was seen in so many; of them: those that lack data */
};

/* Samples that belong together: of one event, or of several short ones. */
struct samples {
	struct sample_row *rows; /* owned */
	u32 row_len, row_cap;
	struct map row_of; /* row -> index */
	struct map self_of; /* compartment id -> samples with it innermost */
	struct map held_by; /* the same -> ns that those stand for, collecting and waiting too */
	u32 stamp;
	u64 hits, gc_hits; /* all of them */
	u64 unknown; /* of hits: without a frame */
	u64 off_ns, gc_ns, gc_off_ns;
	bool waits_only; /* settled for its waiting; what ran is settled later, and the event counted then */
};

/* A stream's. */
struct sampler {
	struct samples now; /* of the event under way */
	u32 iteration; /* that event */
	u64 period_ns; /* between two samples */
	struct samples pool; /* of short events */
	/* Those events, not yet in the figures: of their times what they did not wait, which is. Of those that were long the
	 * times alone, since they have been counted: so many. */
	struct event_stats held;
	u64 counted;
	u64 pool_begin_ns, pool_gc_ns;
};

/* Takes a sample in. 0 or -ENOMEM, or what the observer returned. */
int sample_take(struct model *m, struct stream *st, const struct vmspan_sample *s);
/* An event marked VMSPAN_F_SAMPLED has ended. */
int sample_event(struct model *m, struct stream *st, struct turn *t, const struct vmspan_event *e,
		 enum missing missing);
/* The end of a thread: short events that still wait for more samples share those of other threads of their process
 * that have ended. all: those end too, and sample_rest() follows. 0 or -ENOMEM. */
int sample_leave(struct model *m, struct stream *st, bool all);
/* What threads have left, and has waited for long enough. 0 or -ENOMEM. */
int sample_settle_left(struct model *m, struct proc *p, u64 now_ns);
/* The end of the process, or of the trace: they are settled with what is there. 0 or -ENOMEM. */
int sample_rest(struct model *m, struct proc *p);
void sampler_free(struct sampler *s);
/* The event under way once more, to go on with apart. NULL without memory. */
struct sampler *sampler_copy(const struct sampler *from);

/*
 * The 95 % interval (Wilson) of a share of which k of n samples are known, in
 * millionths. n = 0: 0 ... 1000000.
 */
void sample_interval(u64 k, u64 n, u32 *low, u32 *high);

#endif
