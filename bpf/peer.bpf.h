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

/* The compartment a thread of version 1 is in: of the stack that it keeps in its memory. */
static __always_inline __u32 compartment_by_stack(__u64 batch)
{
	const struct abi1_thread *t;
	__u32 depth, id, i;

	t = (const void *)(batch - __builtin_offsetof(struct abi1_thread, batch));
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

/* Marks that are looked back at. */
#define PEER_MARKS 64

struct look_back {
	struct vmspan_ring g;
	__u32 left; /* stays that have ended since */
	__u32 id;
};

static long one_back(__u32 i, struct look_back *b)
{
	__u64 at = b->g.head - (i + 1) * sizeof(struct vmspan_mark);
	struct vmspan_mark m;

	if (b->g.head - b->g.start <= i * sizeof(m) ||
	    bpf_probe_read_user(&m, sizeof(m), (const void *)(b->g.base + (at & b->g.mask))))
		return 1;
	if (m.type == VMSPAN_MARK_LEAVE)
		b->left++;
	if (m.type != VMSPAN_MARK_ENTER)
		return 0;
	if (b->left) {
		b->left--;
		return 0;
	}
	b->id = m.id;
	return 1;
}

/* The same by the newest marks: what was entered last and not left. 0: not among them, or the
 * kernel cannot look (bpf_loop(): Linux 5.17). */
static __always_inline __u32 compartment_by_marks(__u64 head)
{
	struct look_back b = {};

	if (!bpf_core_enum_value_exists(enum bpf_func_id___tail, BPF_FUNC_loop___tail) ||
	    bpf_probe_read_user(&b.g, sizeof(b.g), (const void *)head))
		return 0;
	bpf_loop(PEER_MARKS, one_back, &b, 0);
	return b.id;
}

/*
 * The compartment the running thread is in. What its memory says there is its own affair: it may
 * give itself another of its names, and nobody else's.
 */
static __always_inline __u32 compartment_of(const struct sched *s)
{
	if (!s->batch)
		return 0;
	return s->rings ? compartment_by_marks(s->batch) : compartment_by_stack(s->batch);
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
