/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records: what the tracer makes of a thread's marks, of the scheduler's news and of looks at
 * stacks. They travel in streams (model/item.h) and lie in recordings (rec/FORMAT.md).
 * Little-endian, naturally aligned, no pointers, no padding. The BPF programs make some
 * of them themselves; definitions are as the SDK writes them.
 */
#ifndef BASE_RECORD_H
#define BASE_RECORD_H

#ifndef VMSPAN_WIRE_ONLY
#define VMSPAN_WIRE_ONLY
#endif
#include "../sdk/vmspan.h"

enum {
	VMSPAN_SLOT = 32, /* every record is a whole number of slots */
	VMSPAN_BATCH_SLOTS = 256, /* at most */
	VMSPAN_BATCH_HEADER = 64,
	VMSPAN_BATCH_BYTES = VMSPAN_BATCH_HEADER + VMSPAN_BATCH_SLOTS * VMSPAN_SLOT,
	VMSPAN_DEPTH_MAX = 256, /* frames of a thread's stack */
	VMSPAN_EVENT_MAX = 32, /* nested event loops of a thread */
};

enum vmspan_type { /* enum vmspan_definition besides */
	VMSPAN_SPAN = 1, /* struct vmspan_span */
	VMSPAN_EVENT = 2, /* struct vmspan_event */
	VMSPAN_GC = 3, /* struct vmspan_gc */
	VMSPAN_BLOCK = 4, /* struct vmspan_block */
	VMSPAN_INPUT = 5, /* struct vmspan_point */
	VMSPAN_FRAME = 6, /* struct vmspan_point */
	VMSPAN_VALUE = 7, /* struct vmspan_point */
	VMSPAN_SAMPLE = 9, /* struct vmspan_sample; made by the tracer */
	VMSPAN_OFF = 8, /* struct vmspan_span; made by the tracer's kernel side */
	VMSPAN_WAKE = 10, /* struct vmspan_wake; made by the tracer's kernel side */
	VMSPAN_AWAY = 11, /* struct vmspan_span; made by the tracer */
	VMSPAN_DEF_FRAME = 19, /* struct vmspan_def; made by the tracer */
	VMSPAN_DEF_NOTE = 20, /* struct vmspan_def; made by the tracer */
	VMSPAN_DEF_PART = 21, /* struct vmspan_def; made by the tracer */
	VMSPAN_DEF_CONTAINER =
		22, /* struct vmspan_def; made by the tracer; id: enum vmspan_container */
	VMSPAN_DEF_LAST = VMSPAN_DEF_CONTAINER,
};

/* What is told of the container that a process runs in. */
enum vmspan_container {
	VMSPAN_CONTAINER_RUNTIME = 1,
	VMSPAN_CONTAINER_ID = 2,
	VMSPAN_CONTAINER_NAME = 3,
	VMSPAN_CONTAINER_TEXTS = 3,
};

/* Flags of a note: what it tells of was asked for, and is not traced, in whole or in part; nothing is wrong with what it
 * tells of. */
#define VMSPAN_NOTE_LEFT_OUT 1u
#define VMSPAN_NOTE_REMARK 2u

/*
 * Every record begins with a struct vmspan_head: type, size in slots, how many stays are open
 * around it | VMSPAN_F_*, and the id of a compartment, iteration, label or definition. A
 * reader skips a type it does not know by `slots`. Records of one thread are in the order in
 * which they were completed: a span follows the spans inside it, an event its spans.
 */

#define VMSPAN_DEPTH_MASK 0x07ffu
/* Of an event, or a stay outside of any: marks that were made in it are lost. */
#define VMSPAN_F_LACKS 0x0800u
#define VMSPAN_F_REPAIRED 0x8000u /* closed by whoever makes the records: its leave never came */
#define VMSPAN_F_PART 0x2000u /* of a collection or span that was told of before */
/* Of an event: its CPU times are up to a tick old, or its thread's clock had been told long before: by
 * more than a hundredth of it they may be off. */
#define VMSPAN_F_COARSE 0x1000u
/* Of such an event: its thread's clock had been told no longer before either end than VMSPAN_UNREAD_NS. */
#define VMSPAN_F_UNREAD 0x8000u
#define VMSPAN_UNREAD_NS 150000
#define VMSPAN_F_SAMPLED 0x4000u /* of an event: samples tell what ran in it */
/* Of an event: each time that its thread had no CPU is told by a VMSPAN_AWAY. Else they are told in
 * part, or not at all. */
#define VMSPAN_F_SWITCHES 0x2000u

/* One stay in a compartment. id: compartment. */
struct vmspan_span {
	struct vmspan_head h;
	vmspan_u64 begin, end; /* cycles */
	vmspan_u16 cpu_begin, cpu_end;
	vmspan_u32 iteration; /* of the event it ran in; 0: outside any */
};

/*
 * A thread was off the CPU (VMSPAN_OFF): a struct vmspan_span whose depth is
 * an enum vmspan_off, whose id is the system call it was in (~0: none or not
 * known) and whose iteration is the process that woke it (0: not known). The
 * first of a thread is VMSPAN_OFF_START: from its time on none is missing.
 */
enum vmspan_off {
	VMSPAN_OFF_START = 0, /* begin = end */
	VMSPAN_OFF_PREEMPTED = 1, /* runnable: others had the CPU */
	VMSPAN_OFF_SLEEPING = 2, /* waits, and signals may wake it */
	VMSPAN_OFF_IO = 3, /* waits for a device */
	VMSPAN_OFF_UNINTERRUPTIBLE = 4, /* waits otherwise: page fault, mutex */
	VMSPAN_OFF_LOCK = 5, /* waits in a futex: a lock, a condition, a join */
	VMSPAN_OFF_STOPPED = 6, /* by a signal or a debugger */
	VMSPAN_OFF_FROZEN = 7, /* by a cgroup's freezer */
	VMSPAN_OFF_THROTTLED = 8, /* its cgroup has used up its quota of CPU time */
	VMSPAN_OFF_REASONS = 9,
};

/*
 * The thread itself has found out that it was off the CPU (VMSPAN_AWAY): a struct vmspan_span.
 * Why it was, it does not know. That was since the mark before and not after `end`, for `end` -
 * `begin` cycles in all; so it lies in the innermost stay of those open then, of which
 * there are h.depth.
 */

/*
 * Who woke the thread (VMSPAN_WAKE): of the VMSPAN_OFF that follows at once,
 * whose iteration is the process. id: the compartment it was in; 0: none, or
 * not known.
 */
struct vmspan_wake {
	struct vmspan_head h;
	vmspan_u64 registry; /* of the compartment */
	char comm[16]; /* of the process; zero-filled, all of it may be used */
};

/*
 * One turn of an event loop. id: iteration, counted from 1 by thread.
 * h.depth: frames open when it began (0 unless the loop is nested).
 */
struct vmspan_event {
	struct vmspan_head h;
	vmspan_u64 begin, end; /* cycles */
	vmspan_u64 mono_begin, mono_end; /* CLOCK_MONOTONIC, ns */
	vmspan_u64 cpu_ns_begin, cpu_ns_end; /* CLOCK_THREAD_CPUTIME_ID, ns */
	vmspan_u16 cpu_begin, cpu_end;
	vmspan_u32 parent; /* iteration of the event it is nested in, or 0 */
	vmspan_u32 label; /* what kind of turn, or 0 */
	vmspan_u32 records; /* records completed in it, itself not counted */
	vmspan_u64
		stolen_ns; /* VMSPAN_F_SAMPLED: of it a hypervisor had the CPU, as its CPU times know */
	vmspan_u64 reserved[2];
};

/* One garbage collection. id: label of its reason, or 0. */
struct vmspan_gc {
	struct vmspan_head h;
	vmspan_u64 begin, end;
	vmspan_u16 cpu_begin, cpu_end;
	vmspan_u32 iteration;
	vmspan_u64 bytes_before, bytes_after; /* of the heap; 0 where unknown */
	vmspan_u64 reserved[2];
};

/* One blocking call. id: label of its kind, or 0. */
struct vmspan_block {
	struct vmspan_head h;
	vmspan_u64 begin, end;
	vmspan_u16 cpu_begin, cpu_end;
	vmspan_u32 iteration;
	vmspan_u64 peer; /* process waited for, or 0 */
	vmspan_u64 reserved[3];
};

/* A user input, a frame shown, a named value. id: label. */
struct vmspan_point {
	struct vmspan_head h;
	vmspan_u64 time; /* cycles */
	vmspan_i64 value;
	vmspan_u16 cpu, pad;
	vmspan_u32 iteration;
};

/*
 * A thread's stack, found by looking (VMSPAN_SAMPLE): h.depth frames, innermost
 * first, by the ids of VMSPAN_DEF_FRAME. The weight is the time it stands for:
 * of VMSPAN_SAMPLE_OFF the time the thread then spent off the CPU, else that
 * between two looks.
 */
#define VMSPAN_SAMPLE_OFF 1u /* it waited; else it ran */
#define VMSPAN_SAMPLE_GC 2u /* in a collection */
#define VMSPAN_SAMPLE_CUT 4u /* outer frames are left out */
#define VMSPAN_SAMPLE_FAULT 8u /* frames further out could not be read */
struct vmspan_sample {
	struct vmspan_head h;
	vmspan_u64 time; /* cycles */
	vmspan_u64 weight; /* ns */
	vmspan_u16 cpu, flags;
	vmspan_u32 iteration; /* of the event it lies in; 0: outside any */
	vmspan_u32 frames[];
};

/*
 * Head of a batch; the records follow. `seq` is the number of the batch's
 * first record among all records of this thread; the next batch of the thread
 * begins at seq + records. The four counters are totals since the thread's
 * start.
 */
#define VMSPAN_BATCH_MAGIC 0x62707376u /* "vspb" */
struct vmspan_batch {
	vmspan_u32 magic; /* VMSPAN_BATCH_MAGIC */
	vmspan_u16 abi, pad;
	vmspan_u32 bytes; /* of head and records */
	vmspan_u32 records;
	vmspan_u64 seq;
	vmspan_u64 registry; /* address of the struct vmspan_registry */
	vmspan_u32 thread; /* number of the thread in its registry, from 1 */
	vmspan_u32 tid; /* as gettid() sees it */
	vmspan_u32 too_deep; /* spans not kept: deeper than VMSPAN_DEPTH_MAX */
	vmspan_u32 unmatched; /* leaves without an enter: ignored */
	vmspan_u32 repaired; /* enters without a leave: closed by whoever makes the records */
	vmspan_u32 in_mark; /* marks that could not be made */
	vmspan_u64 reserved;
};

/* Ids at and above this are not compartments but marks on the same stack. */
#define VMSPAN_ID_MARKS 0xfffffff0u
#define VMSPAN_ID_GC 0xfffffffeu
#define VMSPAN_ID_BLOCK 0xfffffffdu

#endif
