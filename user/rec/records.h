/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of threads <-> bits. What has been seen in this chunk predicts what
 * comes: a record like the one expected costs a bit and its times. FORMAT.md,
 * "Records", is the specification.
 */
#ifndef REC_RECORDS_H
#define REC_RECORDS_H

#include "base/wire.h"
#include "rec/shape.h"
#include "rec/steps.h"

enum {
	RECORDS_THREADS = 1024, /* of one chunk */
	RECORDS_PLACES = 4096,
	RECORDS_OPEN = 32, /* levels of nesting followed in a thread */
	RECORDS_LOOPS = 16, /* depths whose nested loops are followed */
	RECORDS_AFTER = 256,
};

/* As a number of records to read: up to the first event, and that too. */
#define RECORDS_TURN UINT32_MAX

/* A thread's latest: where the next record is expected to begin. */
struct records_thread {
	u32 pid, tid, thread;
	u32 too_deep, unmatched, repaired, in_mark;
	u64 registry, seq; /* seq: expected of the next batch */
	u64 end, mono, cpu_ns; /* of the latest record, of the latest event */
	u64 mono_cycles; /* cycles at `mono` */
	u64 recent[2]; /* shapes of the latest records, newest first */
	u32 iteration, iteration_last; /* expected; the largest event's */
	u32 loose; /* records that have no times, since the latest that has */
	u32 open_len;
	u16 cpu;
	/* Of events at each depth, the one they lay in; 0: not known. */
	u32 parent[RECORDS_LOOPS];
	/* The place that learns what comes after the latest event; 0: none. */
	u32 after, after_parent;
	struct records_open {
		u32 level;
		u32 count; /* records at this level and inside them */
		u64 begin; /* of the first record at this level */
	} open[RECORDS_OPEN + 1]; /* from 1 on; levels are above 0 */
};

/* All that coding remembers; forgotten at the start of each chunk. */
struct records {
	u64 mono_mult; /* ns per cycle, 32.32 */
	struct steps steps;
	u32 thread_len;
	struct shapes shapes;
	struct place places[RECORDS_PLACES];
	struct place kinds[32];
	u8 after[RECORDS_AFTER]; /* 1: after such an event comes one beside it */
	u16 thread_at[RECORDS_THREADS * 2]; /* hash table: index + 1 */
	struct records_thread threads[RECORDS_THREADS];
};

/* step: what times differ by is mostly a multiple of it; 1 ... STEPS_MAX. */
void records_reset(struct records *r, u64 mono_mult, u64 step);
/* The thread's place, or NULL when it is not known in this chunk. */
struct records_thread *records_find(struct records *r, u32 pid, u32 tid, u64 registry, u32 thread);
/* Adds one; NULL when there are RECORDS_THREADS. */
struct records_thread *records_add(struct records *r, u32 pid, u32 tid, u64 registry, u32 thread);

/* Bytes that records_write() may need for a batch. */
size_t records_bound(u32 records, u32 bytes);
/* Writes `records` records, which have passed batch_check(), at `out`. Returns
 * the end of what was written. */
u8 *records_write(struct records *r, struct records_thread *t, u8 *out, const void *data,
		  u32 records);
/*
 * Reads *records records (set to their number) out of in[0 ... len) (BITS_PAD more bytes must be
 * readable) into data, which holds `size` bytes. *bytes: how many there are;
 * *used: how many of `in` they took. 0 or -EBADMSG. They are as they were written; if a stranger wrote them,
 * batch_check() has to say what they are.
 */
int records_read(struct records *r, struct records_thread *t, const u8 *in, size_t len, void *data,
		 u32 size, u32 *records, u32 *bytes, size_t *used);

#endif
