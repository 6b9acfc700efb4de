/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The only contract between the BPF programs and user space: what lies in the
 * ring buffer, and the counters. Plain fixed-width records, no pointers.
 * Included by both sides; batches themselves are as in user/base/record.h.
 */
#ifndef BPF_WIRE_H
#define BPF_WIRE_H

#ifndef VMSPAN_WIRE_ONLY
#define VMSPAN_WIRE_ONLY
#endif
#include "../user/base/abi1.h"

enum wire_kind {
	WIRE_BATCH = 1, /* payload: struct vmspan_batch and its records */
	WIRE_FORK = 2, /* struct wire_life: pid is the parent, other the child */
	WIRE_EXEC = 3, /* struct wire_life */
	WIRE_EXIT = 4, /* struct wire_life: the process has ended */
	WIRE_THREAD_EXIT = 5, /* struct wire_life: one thread has ended */
	WIRE_LOADED = 7, /* struct wire_life: the SDK has been loaded into it */
	WIRE_TAIL = 9, /* as WIRE_BATCH, read from a process that ends; may repeat
			* one; head.pad: another thread has read it */
	WIRE_CHANGED = 8, /* struct wire_life: it has another name or control group */
	/* Of stock VMs; see vm.h. */
	WIRE_VM_FRAME = 16, /* struct wire_frame */
	WIRE_VM_SAMPLE = 17, /* struct wire_sample */
	WIRE_VM_TURN = 18, /* struct wire_turn */
	WIRE_VM_GC = 19, /* struct wire_stay */
	WIRE_VM_CALL = 20, /* struct wire_call */
	WIRE_VM_CALLS = 21, /* as WIRE_BATCH, made in the kernel: stays in functions */
	WIRE_VM_WAIT = 22, /* struct wire_stay: off its CPU, in a statement */
	WIRE_MARKS = 10, /* struct wire_marks */
	WIRE_DEFINITION = 11, /* struct wire_definition */
	WIRE_SCHED = 6, /* as WIRE_BATCH, made in the kernel: VMSPAN_OFF and _WAKE */
	WIRE_UNBEGUN = 13, /* struct wire_life: a thread has ended an event that it had not begun */
	WIRE_UNENDED =
		12, /* as WIRE_BATCH: the event, if any, and the innermost stays in it that a thread is in, as
			    * if they ended; head.pad: enum unended_why, head.too_deep: how many stays */
};

/* What does end there. */
enum unended_why {
	UNENDED_TRACE = 1,
	UNENDED_THREAD = 2,
	UNENDED_PROCESS = 3,
	UNENDED_EXEC = 4, /* the program */
};
#define UNENDED_STAYS 16

/* What a WIRE_SCHED batch names as its registry; no target's lies there. */
#define WIRE_SCHED_REGISTRY 1
/* The same of a WIRE_VM_CALLS batch. */
#define WIRE_CALLS_REGISTRY 2

/* Head of every ring buffer record. */
struct wire_head {
	vmspan_u32 kind; /* enum wire_kind */
	vmspan_u32 bytes; /* of the payload that is valid */
	vmspan_u32 pid; /* tgid, in the initial namespace */
	vmspan_u32 tid;
};

struct wire_life {
	struct wire_head h;
	vmspan_u64 mono_ns;
	/* Fork: the child's tgid; end of a thread: 1 if the process ends with it; exec: 1 if another
	 * thread than the first executed it, and has taken that one's place; end of an event: 1 if it has left
	 * compartments since the last such end that it had entered outside of any event; loaded: VMSPAN_LOADED_*,
	 * of `copy`. */
	vmspan_u32 other;
	/* End of an event: so many records of the thread were taken for some of its, and are told nowhere. */
	vmspan_u32 left_out;
	/* Loaded: the address of its struct vmspan_registry, and which of all that ever lay there it is (`loaded`
	 * in that); 0: it does not say, or it was no SDK at all. */
	vmspan_u64 copy;
	vmspan_u32 which;
	vmspan_u32 pad;
	char comm[16];
};

/* Marks of a thread's ring; they follow. */
struct wire_marks {
	struct wire_head h;
	vmspan_u64 from; /* position of the first */
	vmspan_u32 bytes; /* of them */
	vmspan_u32 foreign; /* another thread has read them; h.tid is 0 */
	struct vmspan_ring ring; /* its head, read before them */
};

/* A definition in a process; a struct vmspan_def follows. */
struct wire_definition {
	struct wire_head h;
	vmspan_u64 process; /* address of its struct vmspan_process */
	vmspan_u32 bytes;
	vmspan_u32 pad;
};
#define WIRE_DEFINITION_MAX 320

/* Values of the map of traced processes. A child gets its parent's. */
enum traced_flag {
	TRACED_PROCESS = 1, /* always set */
	TRACED_CHILDREN = 2, /* those it forks are traced too */
	TRACED_BORN = 4, /* it has been traced since its fork */
	TRACED_STOCK = 8, /* it runs a stock VM: the scheduler's record is not about its threads */
	TRACED_THERE =
		16, /* it was there when its conventional probes were attached, and may have been in an event */
};
/* Conventional probes are attached and detached one by one: what comes of some says nothing without the others. */
enum traced_arming {
	ARMING_DONE = 0,
	ARMING_FIRST = 1, /* its trace begins with the last of them */
	ARMING_MORE = 2, /* it goes on meanwhile: its marks are lost */
	ARMING_LAST = 3, /* it has ended: what its threads are in stays as it is */
};
/* In the cookie of a conventional probe: it says how far from it the file's copy of the SDK lies. Else it is twice the
 * number by which a file without one is known. */
#define WIRE_COOKIE_COPY 1ull
#define TRACED_REGISTRIES 8
/* In the address of a process's block of marks, see traced_process: that it is one; and that the process has it from
 * its parent, and has made no marks in it: then it need not be there. */
#define TRACED_MARKS 1ull
#define TRACED_INHERITED 2ull
struct traced_process {
	vmspan_u32 flags; /* enum traced_flag */
	vmspan_u32 arming; /* enum traced_arming */
	/* Addresses of their struct abi1_registry, or of a struct vmspan_process | TRACED_MARKS; 0: no more. */
	vmspan_u64 registries[TRACED_REGISTRIES];
};

/* Addresses of each struct vmspan_registry whose marks are on in a process; 0: none. A child gets its
 * parent's. */
struct traced_armed {
	vmspan_u64 at[TRACED_REGISTRIES];
};

/* A batch is copied once, into the smallest of these that holds it. */
enum {
	WIRE_SMALL = VMSPAN_BATCH_HEADER + 14 * VMSPAN_SLOT,
	WIRE_MIDDLE = VMSPAN_BATCH_HEADER + 46 * VMSPAN_SLOT,
	WIRE_LARGE = VMSPAN_BATCH_HEADER + 126 * VMSPAN_SLOT,
	WIRE_FULL = VMSPAN_BATCH_BYTES,
};

/* No ring of marks has more bytes. */
#define WIRE_RING_MAX (256u << 10)

/* The same of marks: bytes of them. */
enum {
	WIRE_MARKS_SMALL = 1024,
	WIRE_MARKS_MIDDLE = 4096,
	WIRE_MARKS_FULL = VMSPAN_FLUSH_MAX,
};

/*
 * Counters, one per-CPU array entry each; totals since load. Units: batches
 * and records; of rings, hand-overs and marks. A batch that is lost is counted
 * under both of its causes' entries (LOST_x_BATCHES, LOST_x_RECORDS).
 */
enum wire_counter {
	COUNT_RING_FULL_BATCHES, /* no room in the ring buffer */
	COUNT_RING_FULL_RECORDS,
	COUNT_READ_FAULT_BATCHES, /* target memory could not be read */
	COUNT_READ_FAULT_RECORDS,
	COUNT_MALFORMED, /* batches whose size or head made no sense */
	COUNT_WAKEUPS, /* times the reader was woken */
	COUNT_LIFE_LOST, /* fork, exec, exit records without room */
	COUNT_MARK_LOST, /* direct method: marks without state or clock, or whose number is no id */
	COUNT_TOO_DEEP, /* the same: stays too deep that no batch tells of */
	COUNT_WALK_FAULTS, /* stacks of stock VMs that could not be read, or made no sense */
	COUNT_VM_LOST, /* records of stock VMs without room or state */
	COUNT_DISARMED, /* processes whose marks were off at their end */
	COUNT_ARMING, /* marks that came at ARMING_MORE */
	COUNT_SCHED_LOST, /* scheduler records without room, and switches found to be unseen */
	COUNT_MAX,
};

#endif
