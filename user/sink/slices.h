/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace put aside by thread, for formats that want it in another order
 * than it comes in: whole columns, or begins and ends in the order of time.
 * Names are kept once; everything else goes to a spool.
 */
#ifndef SINK_SLICES_H
#define SINK_SLICES_H

#include "base/intern.h"
#include "base/map.h"
#include "base/spool.h"
#include "sink/export.h"

enum slice_kind {
	SLICE_SPAN,
	SLICE_GC,
	SLICE_BLOCK,
	SLICE_EVENT,
	SLICE_INPUT, /* an instant, as the next */
	SLICE_FRAME,
	SLICE_KINDS
};

/* Names are ids of struct slices.names. */
struct slice {
	u64 begin, end; /* ns since the start of the trace */
	u64 self_ns; /* not of events */
	u32 name; /* compartment, reason, label; may be that of "" */
	u32 group; /* span: its group; event: the group with most self time */
	u32 iteration;
	u16 cpu_begin, cpu_end;
	u8 kind; /* enum slice_kind */
	u8 fate; /* enum span_fate */
	bool repaired;
	u8 missing; /* event: enum missing */
	u16 depth;
	bool astray; /* ends before what came before it: stands on no stack */
	union { /* how much of it is kept depends on `kind` */
		struct {
			u64 blocked_ns, gc_ns;
		} span;
		struct {
			u64 bytes_before, bytes_after;
		} gc;
		struct {
			u64 peer;
		} block;
		struct {
			u64 cpu_ns, stolen_ns, top_ns; /* top: self time of `group` */
			struct ledger ledger;
			u32 parent;
		} event;
	};
};

struct slice_thread {
	u32 pid, tid;
	u32 process; /* index */
	u32 name; /* the last it had */
	u32 stream; /* of struct slice */
	bool stock; /* struct model_thread */
	u64 last_end;
	u64 astray;
};

struct slice_process {
	u32 pid;
	u32 name;
	u32 threads;
};

/* A counter of a thread: samples {time, value} in order of time. */
struct slice_counter {
	u32 thread; /* index */
	u32 name;
	bool heap; /* heap bytes as collections saw them, else a named value */
	u32 stream; /* of struct slice_sample */
	u64 last;
};

struct slice_sample {
	u64 time;
	s64 value;
};

struct slices {
	struct spool *spool;
	struct intern *names;
	struct slice_thread *threads;
	struct slice_process *processes;
	struct slice_counter *counters;
	struct samples *samples; /* of sampled stacks, or NULL: not wanted (samples.h) */
	u32 thread_count, process_count, counter_count;
	u64 end; /* of the last of all */
	u64 cut; /* slices cut or left out to nest, by slices_walk() */
	/* private */
	u64 start_ns;
	u32 thread_cap, process_cap, counter_cap;
	u32 walk_stream;
	struct map thread_of; /* model_thread.id -> index */
	struct map process_of; /* pid -> index */
	struct map counter_of; /* thread << 32 | name, heap ones with bit 63 */
};

/* Returns 0 or -ENOMEM; slices_release() is right after both. */
int slices_init(struct slices *s, const struct export_config *config);
void slices_release(struct slices *s);
/* Its ctx is a struct slices. */
extern const struct model_observer slices_observer;

const char *slices_name(const struct slices *s, u32 id);

/* For what is put aside beside the slices. All: 0 or negative errno. */
int slices_put_name(struct slices *s, const char *text, u32 *id); /* NULL: "" */
/* Index of a thread, which gets a place on first sight. */
int slices_thread(struct slices *s, const struct model_thread *t, u32 *index);
u64 slices_time(const struct slices *s, u64 ns); /* -> ns since the start of the trace */

/* "addon" of "addon:tracker"; "span" when it has none. cap >= 16. */
const char *group_kind(const char *group, char kind[16]);
/* "kept", "moved", ... */
const char *fate_name(enum span_fate fate);

/* Indexes of the threads as people look for them: by process in order of
 * first sight, its main thread first. To free(); NULL without memory. */
u32 *slices_order(const struct slices *s);

typedef int (*slice_fn)(void *ctx, const struct slice *s);
/* The thread's slices as they came: each after what lies inside it. */
int slices_each(struct slices *s, u32 thread, slice_fn fn, void *ctx);
typedef int (*sample_fn)(void *ctx, const struct slice_sample *s);
int slices_samples(struct slices *s, u32 counter, sample_fn fn, void *ctx);

/* begin: the slice; end: only its kind and its end hold. An instant has only
 * a begin. */
typedef int (*slice_edge_fn)(void *ctx, const struct slice *s, bool begin);
/* Begins and ends in the order of time, strictly nested; slices that are
 * astray are left out. */
int slices_walk(struct slices *s, u32 thread, slice_edge_fn fn, void *ctx);

static inline bool slice_instant(const struct slice *s)
{
	return s->kind == SLICE_INPUT || s->kind == SLICE_FRAME;
}

#endif
