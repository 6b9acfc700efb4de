/* SPDX-License-Identifier: BSD-2-Clause */
/* Rings of marks as their reader knows them: for live_marks.c, live_mark_rings.c and live_begun.c alone. */
#ifndef SOURCE_LIVE_MARK_RINGS_H
#define SOURCE_LIVE_MARK_RINGS_H

#include "source/live_int.h"
#include "source/marks.h"

/* Threads of a process that are followed at one time; a hostile one could name any number. */
#define RINGS_MAX 16384
/* And that have ended: how far theirs were read is remembered. */
#define ENDED_MAX 131072

/* How often rings are read while a trace goes on, and for how long at one time; rarer where that
 * takes long. */
#define RINGS_LOOK_NS (250 * NSEC_PER_MSEC)
#define RINGS_LOOK_MAX_NS (20 * NSEC_PER_MSEC)

/* A thread of the target, as its marks tell of it. */
struct ring_reader {
	struct marks m;
	u64 at; /* address of its ring */
	u64 seen; /* position: marks below have been taken, or were before the trace */
	/* So far it had handed over at a look that did not find all of it seen, or 0; and where the
	 * ring buffer ended then. */
	u64 missing, missing_end;
	/* Marks that it could not make: those of before the trace and those of which an item of their
	 * own has told, and those behind them of which a batch has. */
	u32 lost_before, lost_told;
	u32 unmatched_told, too_deep_told, no_ids_told; /* of the counts in m */
	u32 begun_before_told, misplaced_told; /* the same */
	/* CLOCK_MONOTONIC: since when records are held back of a thread that may be in an event from before the trace;
	 * 0: none are. */
	u64 held_ns;
	bool held_enough; /* none are to be any more */
	u64 seq_told; /* numbers up to here */
	/* CLOCK_MONOTONIC: the thread has ended, which is told of once all of its marks have come; 0: it has
	 * not. And its name by then. */
	u64 over_ns;
	bool last; /* of its process: what it is in ends with that */
	char over_name[16];
	/* The thread, as the tracer sees it; until that is known, as it sees itself. */
	u32 tid;
};

/* How marks have come. */
struct handover {
	u32 tid; /* the thread's own, which the tracer sees so; 0: others have read them */
	bool no_sched; /* in exact mode: what the scheduler did to them is not known */
	bool more_comes; /* behind them, at once */
};

/* Does the head of a ring make sense? */
bool mark_ring_is_one(const struct vmspan_ring *g);
/* Marks that the thread could not make, but for `lost_before`. A count that goes back is none. */
u32 mark_ring_lost(const struct ring_reader *t, const struct vmspan_ring *g);
/* The oldest position that is still in it. */
static inline u64 mark_ring_oldest(const struct vmspan_ring *g)
{
	return g->head > g->mask + 1 ? g->head - g->mask - 1 : 0;
}
/* Do these marks end where the thread's clock is about to be told? VMSPAN_MARK_FILL may have come. */
static inline bool mark_ring_clock_comes(const struct vmspan_ring *g, u64 end)
{
	return end - g->clock_at <= sizeof(struct vmspan_mark);
}
/* The reader of a thread, made on first sight; tid as in struct handover. NULL: there are too many, or
 * there is no memory. */
struct ring_reader *mark_ring_reader_of(struct live *l, struct process *p, struct registry *r,
					const struct vmspan_ring *g, u32 tid);
/* Which is then forgotten: its marks up to `seen` come no second time. */
void mark_ring_reader_end(struct registry *r, u32 thread);
/* Takes marks from a position on, of a ring with such a head; `bytes` of them. 0, or l->failed. */
int mark_ring_take(struct live *l, struct process *p, struct registry *r,
		   const struct vmspan_ring *g, struct handover by, u64 from,
		   const struct vmspan_mark *marks, u32 bytes);
/* No more comes of a thread for now: what was kept for that is taken as it is. 0, or l->failed. */
int mark_ring_end(struct live *l, struct process *p, struct registry *r, u32 thread,
		  struct ring_reader *t);
/* The same for good, or what comes does not follow on it: nothing is held back either. 0, or l->failed. */
int mark_ring_let_go(struct live *l, struct process *p, struct registry *r, u32 thread,
		     struct ring_reader *t);
/* What has been made of its marks, and could not be marked, unless it is held back. 0, or l->failed. */
int mark_ring_tell(struct live *l, struct process *p, struct registry *r,
		   const struct vmspan_ring *g, struct ring_reader *t);
/* The same; what it could not mark is told as it was. */
int mark_ring_tell_made(struct live *l, struct process *p, struct registry *r, u32 thread,
			struct ring_reader *t);
/* What its thread is in, as of `until_ns` (CLOCK_MONOTONIC), and will not be heard to leave. 0, or
 * l->failed. */
int mark_ring_unfinished(struct live *l, struct process *p, struct registry *r,
			 const struct ring_reader *t, enum unfinished_why why, u64 until_ns);
/* The ring of a thread that is known, as it is now. False: it is that no more, or cannot be read. */
bool mark_ring_head(const struct process *p, u64 thread, const struct ring_reader *t,
		    struct vmspan_ring *g);
/* A copy of a thread's marks as of the head, with those that have not been taken: the caller's. False:
 * they cannot be read. */
bool mark_ring_now(const struct process *p, const struct ring_reader *t,
		   const struct vmspan_ring *g, struct marks *m);
/* The outermost that is open, as of `until_ns`; whose it is is not filled in. There is something. */
void mark_ring_is_in(struct item_unfinished *u, const struct marks *m, u64 until_ns);
/* ---- live_begun.c ---- */

/* Was it there before its marks were turned on, and may have been in an event then? */
bool mark_ring_was_there(const struct process *p, u32 tid);
/* Are the records that have been made of its marks to be told of later, when it is known where they belong? */
bool mark_ring_holds_back(struct live *l, struct ring_reader *t);
/* It has ended events of which no begin has come: said where that was before its marks were turned on. `all`: of its
 * marks since then none is missing. 0, or l->failed. */
int mark_ring_begun_before(struct live *l, struct process *p, struct ring_reader *t, bool all);

/* ---- live_mark_rings.c ---- */

/* Does the kernel side know no more of the block, and was it not read before that? Then it is not known what its threads
 * made last. */
bool mark_rings_are_missed(const struct process *p, const struct registry *r);
/* The last thread of a process has ended, under that name: it is told of behind what the end of the process tells. */
void live_rings_thread_over(const struct registry *r, u32 tid, u64 mono_ns, const char *name);
/* Its threads are told how soon to hand over: as is usual, at the end of each event, or of one that
 * somebody waits for. */
void mark_rings_ask(const struct live *l, const struct process *p, struct registry *r);

#endif
