/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The marks of a thread -> the records of its stream: which stays and events there were,
 * how they nest, and what was never left. The target keeps no state of this; the marks of a
 * thread, in order, are all there is.
 *
 * No I/O, no clock. One thread. Marks come from the target: nothing of them is believed.
 */
#ifndef SOURCE_MARKS_H
#define SOURCE_MARKS_H

#include "base/buf.h"
#include "base/wire.h"

/* CLOCK_MONOTONIC, ns, at a reading of the counter. */
typedef u64 (*marks_ns_fn)(void *ctx, u64 cycles);

struct marks_open {
	u64 begin; /* cycles */
	u64 value; /* of a collection: bytes before; of a blocking call: the process */
	u32 id; /* compartment, or VMSPAN_ID_* */
	u32 label;
	u32 reentered;
	u16 cpu;
	bool lacks; /* marks made in it */
};

struct marks_event {
	u64 begin; /* cycles */
	u64 mono, cpu_ns;
	u64 away_ns; /* the thread's, when it began */
	u64 unread_ns; /* so long before it the thread's clock had been told */
	u64 first; /* number of its first record */
	u32 iteration, label;
	u32 base; /* stays that were open when it began */
	u32 too_deep_open; /* when it began */
	u16 cpu;
	bool lacks; /* marks made in it */
};

struct marks {
	/* What has been made and not been taken: `records` of them in whole slots, the first is
	 * number `seq` of the thread's. */
	struct buf out;
	u32 records;
	u64 seq;
	/* Totals of the thread, as struct vmspan_batch has them. */
	u32 too_deep, unmatched, repaired;
	u32 no_ids; /* marks whose id is none of a compartment's */
	u64 clocks; /* times that it has looked at its clock */
	/* Ends of events whose begins have not come, though no mark was missing; cycles of the last one. */
	u32 begun_before;
	u64 begun_before_end;
	/* The thread tells of each time that it had no CPU. To be set before its first mark. */
	bool switches;
	/*
	 * Its first marks may lie in an event that had begun before: until one begins or ends nobody knows. To be
	 * set before its first mark. What is made meanwhile may be left in `out`: if the event ends, only the
	 * points of it stay there.
	 */
	bool unplaced;
	u32 misplaced; /* ends in begun_before whose stays had been taken by then, as outside of any event */
	/* ---- The rest is marks.c's. ---- */
	marks_ns_fn ns;
	void *ns_ctx;
	struct marks_open *open; /* owned; `depth` of them, room for open_max */
	struct marks_event *event; /* the same */
	u32 depth, open_max, too_deep_open;
	u32 events, event_max, events_over;
	u32 iteration_last;
	struct vmspan_mark held; /* the last one, whose value is to come; type 0: none */
	struct vmspan_mark end; /* before that, of an event: its clock may come; type 0: none */
	u64 last, before; /* cycles of the newest mark, and of the one before it */
	u64 switch_cycles, switch_mono, switch_cpu_ns; /* when the thread's clock was told last */
	u64 away_ns; /* without a CPU, as its switches say */
	u64 known; /* cycles: since then each switch has been told of; ~0: never */
	u16 cpu;
	bool cpu_known; /* it was told */
	bool begun; /* the newest mark is an event's begin */
	bool doubtful; /* marks are missing since the open event began */
	bool gapped; /* some are, at all */
	bool outside,
		outside_taken; /* spans outside of any event: made since the last was taken; taken */
};

void marks_init(struct marks *m, marks_ns_fn ns, void *ctx);
void marks_free(struct marks *m);
/* Another one that has the same open, and has made what has not been taken. 0, or -ENOMEM. */
int marks_fork(struct marks *to, const struct marks *from);
/*
 * The thread's next `n` marks. The last one is kept where its value is still to come; so is an event's
 * end if `more_comes`, which may be the thread's clock at that end. 0, or -ENOMEM.
 * Time never goes back: a mark that is older than the one before it counts as of that time.
 */
int marks_take(struct marks *m, const struct vmspan_mark *in, u32 n, bool more_comes);

/* A thread as others see it. */
struct marks_seen_at {
	u64 cycles; /* when */
	bool known; /* the rest is */
	u64 cpu_ns; /* its clock */
	u64 late_ns; /* at most so much later it may be */
};
/*
 * All that is open ends, as if the thread itself had said so just now, on the CPU where it was last
 * seen. Of a copy (marks_fork()), which then tells what it comes to so far. 0, or -ENOMEM.
 */
int marks_close(struct marks *m, const struct marks_seen_at *now);
/* Since when, cycles, the thread is in an event, or in a compartment outside of any; 0: in none, or that
 * may have ended. */
u64 marks_open_since(const struct marks *m);

/*
 * Before the next one `n` marks are missing (0: the thread made some that nobody was to have); what was made of those before has been taken. So many
 * numbers are left out. Stays that were open are forgotten: when they ended nobody knows. An event
 * goes on until its end, or until another begins, and its records say that some are missing.
 */
void marks_gap(struct marks *m, u64 n);
/* Some that were made until now are lost, nobody knows where: what is open says that it lacks them. (What has
 * ended since the last records were taken has a place with them.) */
void marks_lost(struct marks *m);
/* The thread does not tell of its switches, nor will it. */
void marks_untold(struct marks *m);
/* The records have been taken: the next are numbered on. */
void marks_taken(struct marks *m);

#endif
