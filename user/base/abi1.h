/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a program built with version 1 of the SDK has in its memory: there the target itself makes
 * spans and events, of a stack that each thread keeps, and hands over batches of
 * records. Targets are traced as they were built.
 */
#ifndef BASE_ABI1_H
#define BASE_ABI1_H

#include "record.h"

#define ABI1 1

/*
 * The registry begins with the semaphores, so the semaphore address in any of
 * our ELF notes, rounded down to VMSPAN_REGISTRY_ALIGN, finds it, in a
 * stripped binary too. Nothing in it moves or is
 * freed, so a tracer may read it with process_vm_readv at any time. Pointers
 * are stored as 64-bit numbers.
 */
struct abi1_registry {
	vmspan_u16 semaphore; /* kept by the kernel: tracers attached */
	vmspan_u16 probes_semaphore; /* the same for the conventional probes */
	vmspan_u32 magic; /* VMSPAN_MAGIC */
	vmspan_u32 abi;
	vmspan_u32 pid; /* process that uses it, as getpid() sees it */
	vmspan_u64 session; /* a tracer that can, sets it before it attaches */
	vmspan_u64 log; /* first struct vmspan_log: all definitions so far */
	vmspan_u64 threads; /* first struct abi1_thread */
	vmspan_u64 log_tail; /* from here on: the SDK's own */
	vmspan_u32 lock;
	vmspan_u32 thread_last;
	vmspan_u32 group_last;
	vmspan_u32 compartment_last;
	vmspan_u32 label_last;
	vmspan_u32 key, key_valid;
	vmspan_u32 loaded; /* 1: vmspan_loaded_1() has run */
	vmspan_u64 reserved[6];
};

/* An open stay, on a thread's stack. */
struct abi1_open {
	vmspan_u64 begin;
	vmspan_u32 id; /* compartment or VMSPAN_ID_* */
	vmspan_u16 cpu, reentered;
	vmspan_u64 aux; /* gc: bytes before; block: peer */
	vmspan_u32 label, pad;
};

/* An open event. */
struct abi1_turn {
	vmspan_u64 begin, mono, cpu_ns, first; /* first: seq when it began */
	vmspan_u32 iteration, label;
	vmspan_u16 base, cpu; /* base: frames open when it began */
	vmspan_u32 too_deep_open; /* when it began */
};

/*
 * State of a live thread; a tracer may read it to see what still runs.
 * `ready`: 0 while a mark is being made, and in a forked child, whose copy the
 * kernel wipes. A mark clears it before it looks at anything else, so a signal
 * handler either made its whole mark before that or stays out.
 */
struct abi1_thread {
	vmspan_u32 ready;
	vmspan_u32 room; /* slots still free in the batch, >= 1 between marks */
	vmspan_u32 depth; /* open[1 ... depth] are open; open[0] is a guard */
	vmspan_u32 base; /* of the innermost open event: marks do not reach below */
	vmspan_u64 cpu; /* address of rseq's cpu_id, or 0: use rdtscp or getcpu() */
	vmspan_u64 flush_at; /* cycles: a leave after this flushes */
	vmspan_u64 session; /* the registry's, when this state began to be true */
	vmspan_u32 iteration; /* of the innermost open event, or 0 */
	vmspan_u32 too_deep_open;
	vmspan_u32 magic;
	vmspan_u32 tid; /* 0: free for a new thread */
	vmspan_u64 next; /* next thread */
	vmspan_u64 flush_cycles;
	vmspan_u32 turns; /* open events */
	vmspan_u32 turns_over; /* open events beyond VMSPAN_EVENT_MAX */
	vmspan_u32 iteration_last;
	vmspan_u32 extra; /* slots in the batch beyond one a record */
	vmspan_u32 slots; /* of the batch: handed over when so many are used */
	vmspan_u32 pad;
	vmspan_u64 reserved[4];
	struct abi1_turn turn[VMSPAN_EVENT_MAX];
	struct abi1_open open[VMSPAN_DEPTH_MAX + 1];
	struct vmspan_batch batch;
	vmspan_u64 records[VMSPAN_BATCH_SLOTS * VMSPAN_SLOT / 8];
};

#endif
