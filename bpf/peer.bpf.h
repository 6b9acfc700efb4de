/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * By whose doing something happens: the running thread's, unless an interrupt has
 * struck it; or, where the kernel delivers a packet that stays on this machine, the
 * thread's that has sent it.
 */
#ifndef BPF_PEER_H
#define BPF_PEER_H

#include "bpf/sched.bpf.h"

/* Of task_struct.flags: a thread of the kernel's own. */
#define FLAG_KTHREAD 0x00200000

/*
 * What interrupts this CPU now: enum interrupt. Whoever runs then has nothing to
 * do with what the interrupt wakes. The kernel's own count of this is a symbol
 * that not every kernel lets programs find. Set and cleared, not counted: one
 * that is missed does no lasting harm.
 */
enum interrupt {
	INTERRUPT_HARD = 1,
	INTERRUPT_SOFT = 2,
	INTERRUPT_TIMER = 4
};

struct peer {
	__u32 pid; /* of the process; 0: not known */
	struct vmspan_wake wake;
};

enum {
	FLIGHTS = 16
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} interrupts SEC(".maps") __weak;

/* Packets on their way to this machine itself, by address: it stays on its CPU, and
 * a few at most are on their way at a time. */
struct flights {
	struct flight {
		__u64 packet; /* 0: none */
		struct peer from;
	} at[FLIGHTS];
	struct peer now; /* of the one that is being delivered */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct flights);
} flights SEC(".maps") __weak;

/* Bits of enum interrupt. */
static __always_inline __u32 interrupted(void)
{
	__u32 key = 0, *now = bpf_map_lookup_elem(&interrupts, &key);

	return now ? *now : INTERRUPT_HARD;
}

static __always_inline struct flights *flights_here(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&flights, &key);
}

/*
 * The compartment the running thread is in, of the stack that the SDK keeps in
 * the target's memory. What it says there is its own affair: it may give itself
 * another of its names, and nobody else's.
 */
static __always_inline __u32 compartment_of(const struct sched *s)
{
	const struct vmspan_thread *t;
	__u32 depth, id, i;

	if (!s->batch)
		return 0;
	t = (const void *)(s->batch - __builtin_offsetof(struct vmspan_thread, batch));
	if (bpf_probe_read_user(&depth, sizeof(depth), &t->depth))
		return 0;
	/* The innermost may be a collection or an announced call. */
	for (i = 0; i < 3; i++, depth--) {
		if (!depth || depth > VMSPAN_DEPTH_MAX ||
		    bpf_probe_read_user(&id, sizeof(id), &t->open[depth].id))
			return 0;
		if (id < VMSPAN_ID_MARKS)
			return id;
	}
	return 0;
}

/* The running thread; nobody, if it is the kernel's own. */
static __always_inline void peer_current(struct peer *p)
{
	struct task_struct *by = bpf_get_current_task_btf();
	struct sched *s;

	p->pid = 0;
	if (BPF_CORE_READ(by, flags) & FLAG_KTHREAD)
		return;
	s = bpf_task_storage_get(&scheds, by, 0, 0);
	p->pid = current_ids().tgid;
	p->wake.h.type = VMSPAN_WAKE;
	p->wake.h.slots = 1;
	p->wake.h.id = s ? compartment_of(s) : 0;
	p->wake.registry = s ? s->registry : 0;
	BPF_CORE_READ_INTO(&p->wake.comm, by, group_leader, comm);
}

#endif
