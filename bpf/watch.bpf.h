/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* State of the direct stopwatch, one a thread, in task storage. */
#ifndef BPF_WATCH_H
#define BPF_WATCH_H

#include "bpf/emit.bpf.h"

enum {
	WATCH_SLOTS = 46, /* a full batch is a WIRE_MIDDLE */
	WATCH_DEPTH = VMSPAN_DEPTH_MAX,
	WATCH_TURNS = VMSPAN_EVENT_MAX,
};

/* An open stay. In 28 bytes: see below. */
struct watch_open {
	__u64 begin;
	__u64 aux; /* gc: bytes before; block: peer; a call: where its names are */
	__u32 id; /* compartment or VMSPAN_ID_* */
	__u32 label;
	__u16 cpu, reentered;
} __attribute__((packed, aligned(4)));

/*
 * A thread is in one program at a time (its own trap, or its exit), so its
 * storage needs no lock, where a per-CPU buffer would: see flush.bpf.c. In two pieces: from Linux
 * 7.0 on one may have 8 KB at most, with some 100 bytes of the kernel's (kmalloc_nolock()).
 */
struct watch {
	struct vmspan_batch batch; /* the records follow it at once */
	__u64 records[WATCH_SLOTS * VMSPAN_SLOT / 8];
	__u32 used, extra; /* slots used; of those, beyond one a record */
	__u32 depth, turns; /* open[1 ... depth] are open */
	__u32 deep_open, turns_over; /* opens that found no place; see too_deep_here() */
	__u32 iteration, iteration_last;
	__u32 started; /* 0: all else is void */
	__u32 calls; /* stays are calls: `reentered` says that a part was told of */
	struct ids ids;
	__u64 flush_at; /* cycles */
	__u32 lost; /* marks that it could not make */
	__u32 lost_outside; /* such, and those too deep, before the outermost stay, where that is in no event */
	__u32 too_deep_told; /* of those too deep, in a batch */
	__u32 unplaced; /* nobody knows yet whether its marks are in an event from before: they are not told if they are */
	__u32 outside; /* records of compartments outside of any event, since the last end of one that was not begun */
	__u32 lost_before[WATCH_TURNS]; /* such, and those too deep, before each event */
	struct abi1_turn turn[WATCH_TURNS];
};

struct watch_stack {
	struct watch_open open[WATCH_DEPTH + 1];
};
_Static_assert(sizeof(struct watch) < 7900 && sizeof(struct watch_stack) < 7900, "task storage");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct watch);
} watches SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct watch_stack);
} watch_stacks SEC(".maps") __weak;

#endif
