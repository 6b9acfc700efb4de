/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What threads have gathered and not handed over when their process is killed,
 * calls _exit or executes another program: nobody in it gets to run any more,
 * but its memory is still there. The thread states are found as user space
 * finds them, by the registry's list.
 *
 * The process's memory is there at sched_process_exit from Linux 6.16 on, and
 * sched_prepare_exec is there from 6.10 on; before, these records are lost.
 *
 * The registry, the list and the states are the target's: every read may fault,
 * every size is clamped, every walk counted, and what is sent of one process fits into the
 * ring buffer once.
 */
#ifndef BPF_TAIL_H
#define BPF_TAIL_H

#include "bpf/marks.bpf.h"

/* Thread states are used again, so these are threads at one time. */
#define TAIL_THREADS 4096
/* A ring takes two: its marks, and the way to the next. */
#define TAIL_STEPS (2 * TAIL_THREADS)

/* Of a thread's state and of a registry, up to what is of no concern here. */
#define TAIL_HEAD offsetof(struct abi1_thread, reserved)
#define TAIL_REGISTRY offsetof(struct abi1_registry, log_tail)

struct tail {
	__u64 at; /* the state, or the ring, to look at */
	__u64 session;
	__u64 from; /* of the ring: marks below have been sent */
	__u32 pid; /* as user space knows the process */
	__u32 only; /* thread, as it sees itself; 0: all of them */
	__u32 tid; /* of that one, as user space knows it */
	__u32 self; /* the process, as it sees itself */
	__u64 seen; /* one of the list */
	__u64 left; /* bytes that may still be sent */
};

/*
 * Of the steps of a walk, those that are powers of two are remembered (R. P. Brent, "An improved Monte
 * Carlo factorization algorithm", BIT 20, 1980). What step it is, the verifier does not know, so that
 * it does not go through them one by one.
 */
static __always_inline void tail_step(struct tail *w, __u32 i)
{
	if (!(i & (i - 1)))
		w->seen = w->at;
}

/* On to the next. True: the list leads back into itself, and all that is in it has been seen. */
static __always_inline bool tail_next(struct tail *w, __u64 next)
{
	__u64 at = w->at;

	w->at = next;
	return next && (next == w->seen || next == at);
}

/* May so much be sent? Else it is counted: the ring buffer would have had no room for it. */
static __always_inline bool tail_spend(struct tail *w, __u32 bytes)
{
	if (bytes > w->left)
		return false;
	w->left -= bytes;
	return true;
}

/* `room` is a constant at every call, as in flush.bpf.c. */
static __always_inline void send(const struct tail *w, __u32 tid, const void *batch, __u32 bytes,
				 __u32 records, const __u32 room)
{
	struct wire_head *h = bpf_ringbuf_reserve(&ring, sizeof(*h) + room, 0);
	struct vmspan_batch *b;

	if (!h) {
		count(COUNT_RING_FULL_BATCHES, 1);
		count(COUNT_RING_FULL_RECORDS, records);
		return;
	}
	barrier_var(bytes);
	if (bytes > room || bpf_probe_read_user(h + 1, at_most(bytes, room), batch)) {
		bpf_ringbuf_discard(h, BPF_RB_NO_WAKEUP);
		count(COUNT_READ_FAULT_BATCHES, 1);
		count(COUNT_READ_FAULT_RECORDS, records);
		return;
	}
	/* The thread fills these in when it hands over. */
	b = (struct vmspan_batch *)(h + 1);
	b->bytes = bytes;
	b->records = records;
	b->pad = !w->only;
	h->kind = WIRE_TAIL;
	h->bytes = bytes;
	h->pid = w->pid;
	h->tid = w->only ? w->tid : tid;
	bpf_ringbuf_submit(h, wake_flags(false));
}

static __always_inline void hand_over(struct tail *w, const struct abi1_thread *t, __u64 at)
{
	const void *batch = (const void *)(at + offsetof(struct abi1_thread, batch));
	__u32 used, bytes;

	if (t->slots > VMSPAN_BATCH_SLOTS || t->room >= t->slots)
		return;
	used = t->slots - t->room;
	if (t->extra >= used)
		return;
	bytes = VMSPAN_BATCH_HEADER + used * VMSPAN_SLOT;
	if (!tail_spend(w, bytes)) {
		count(COUNT_RING_FULL_BATCHES, 1);
		count(COUNT_RING_FULL_RECORDS, used - t->extra);
		return;
	}
	/* What the scheduler did is known to the thread itself alone. */
	if (exact && w->only && !sched_hand_over((__u64)batch, false)) {
		count(COUNT_RING_FULL_BATCHES, 1);
		count(COUNT_RING_FULL_RECORDS, used - t->extra);
		return;
	}
	if (bytes <= WIRE_SMALL)
		send(w, t->tid, batch, bytes, used - t->extra, WIRE_SMALL);
	else if (bytes <= WIRE_MIDDLE)
		send(w, t->tid, batch, bytes, used - t->extra, WIRE_MIDDLE);
	else if (bytes <= WIRE_LARGE)
		send(w, t->tid, batch, bytes, used - t->extra, WIRE_LARGE);
	else
		send(w, t->tid, batch, bytes, used - t->extra, WIRE_FULL);
}

static long one_thread(__u32 i, struct tail *w)
{
	__u64 head[TAIL_HEAD / sizeof(__u64)], at = w->at;
	const struct abi1_thread *t = (const void *)head;

	if (!at)
		return 1;
	tail_step(w, i);
	if (bpf_probe_read_user(head, sizeof(head), (const void *)at)) {
		count(COUNT_READ_FAULT_BATCHES, 1);
		w->at = 0;
		return 1;
	}
	if (t->magic == VMSPAN_MAGIC && t->tid && t->session == w->session &&
	    (!w->only || t->tid == w->only)) {
		hand_over(w, t, at);
		if (w->only)
			return 1;
	}
	return tail_next(w, t->next);
}

/* A step: a ring, or as much of it as is sent at once. */
static long one_ring(__u32 i, struct tail *w)
{
	const struct vmspan_ring *at = (const void *)(w->at + VMSPAN_RING_AT);
	struct ids ids = { .tgid = w->pid, .tid = w->tid };
	struct vmspan_ring g;
	__u64 from, left;
	__u32 bytes;

	if (!w->at)
		return 1;
	tail_step(w, i);
	if (bpf_probe_read_user(&g, sizeof(g), at)) {
		count(COUNT_READ_FAULT_BATCHES, 1);
		w->at = 0;
		return 1;
	}
	from = w->from > g.handed ? w->from : g.handed;
	left = g.head - from;
	if (g.magic != VMSPAN_MAGIC || g.mask >= WIRE_RING_MAX || (w->only && g.tid != w->only) ||
	    from >= g.head || left > g.mask + 1 || left % sizeof(struct vmspan_mark)) {
		w->from = 0;
		return tail_next(w, g.next);
	}
	bytes = left < VMSPAN_FLUSH_MAX ? left : VMSPAN_FLUSH_MAX;
	if (!tail_spend(w, bytes)) {
		marks_lost(COUNT_RING_FULL_BATCHES, COUNT_RING_FULL_RECORDS, left);
		w->from = 0;
		return tail_next(w, g.next);
	}
	marks_send(ids, at, bytes, from, !w->only);
	w->from = from + bytes;
	return 0;
}

static __always_inline void tail_rings(struct tail *w, __u64 noted)
{
	const struct vmspan_process *p = (const void *)(noted & ~(TRACED_MARKS | TRACED_INHERITED));
	__u32 magic, pid;
	__u64 first;

	/* It is never unmapped. But into its first page user space writes, of a process that it has heard of, and
	 * where that still is the parent's too, it cannot be read for a moment. All that is needed lies in another. */
	if (!bpf_probe_read_user(&magic, sizeof(magic), &p->magic) && magic != VMSPAN_MAGIC)
		return;
	if (bpf_probe_read_user(&pid, sizeof(pid), &p->pid) ||
	    bpf_probe_read_user(&first, sizeof(first), &p->rings)) {
		/* It is wiped in a child, and not there before that marks. */
		if (!(noted & TRACED_INHERITED))
			count(COUNT_READ_FAULT_BATCHES, 1);
		return;
	}
	/* A child made by vfork has its parent's memory, not its threads. */
	if (pid != w->self)
		return;
	/* (As the first step does: the verifier then has half the states to look at.) */
	w->at = w->seen = first;
	w->from = 0;
	bpf_loop(TAIL_STEPS, one_ring, w, 0);
	/* There are more, or what is there makes no sense. */
	if (w->at)
		count(COUNT_READ_FAULT_BATCHES, 1);
}

/*
 * A registry of states, or a process with rings. Not in a plain loop: the kernel walks through
 * each round of one when it checks the program, seven times the instructions, 0.3 s. Before
 * Linux 6.13 the frames of this, of what it calls and of its callers may be 512 bytes in all.
 */
static long one_registry(__u32 i, struct tail *w)
{
	struct traced_process *p = bpf_map_lookup_elem(&traced, &w->pid);
	__u64 head[TAIL_REGISTRY / sizeof(__u64)], at;
	const struct abi1_registry *r = (const void *)head;

	if (!p || i >= TRACED_REGISTRIES)
		return 1;
	at = p->registries[i];
	if (!at)
		return 1;
	if (at & TRACED_MARKS) {
		tail_rings(w, at);
		return 0;
	}
	/* A child made by vfork has its parent's memory, not its states. */
	if (bpf_probe_read_user(head, sizeof(head), (const void *)at) || r->magic != VMSPAN_MAGIC ||
	    r->pid != w->self)
		return 0;
	w->at = w->seen = r->threads;
	w->session = r->session;
	bpf_loop(TAIL_THREADS, one_thread, w, 0);
	if (!w->only && w->at)
		count(COUNT_READ_FAULT_BATCHES, 1);
	return 0;
}

/*
 * Who detaches from a file takes the probes out of each process that nobody has asked for by name: also
 * out of another's child that lives on what it has inherited. Its marks are off then, without a word.
 */
static long one_armed(__u32 i, struct tail *w)
{
	struct traced_armed *a = bpf_map_lookup_elem(&marks_armed, &w->pid);
	const struct vmspan_registry *r;
	__u16 semaphore;
	__u32 magic;

	if (!a || i >= TRACED_REGISTRIES)
		return 1;
	r = (const void *)a->at[i];
	if (!r)
		return 0;
	/* Another library may be there by now. */
	if (bpf_probe_read_user(&semaphore, sizeof(semaphore), &r->semaphore) || semaphore ||
	    bpf_probe_read_user(&magic, sizeof(magic), &r->magic) || magic != VMSPAN_MAGIC)
		return 0;
	if (!marks_off) /* by now */
		count(COUNT_DISARMED, 1);
	return 1;
}

/*
 * Before the process loses its memory, by one of its threads. The verifier looks at a global function once, and not for
 * each way that leads to it; what such ones hold is not in their callers' frames.
 */
__weak __noinline int tail_armed(void)
{
	struct tail w = { .pid = task_ids(bpf_get_current_task_btf()).tgid };

	if (!bpf_map_lookup_elem(&marks_armed, &w.pid) ||
	    !bpf_core_enum_value_exists(enum bpf_func_id___tail, BPF_FUNC_loop___tail))
		return 0;
	bpf_loop(TRACED_REGISTRIES, one_armed, &w, 0);
	return 0;
}

/* The number by which the calling process knows itself, or the thread. */
__weak __noinline __u32 tail_own(bool thread)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return own_number(thread ? BPF_CORE_READ(task, thread_pid)
				 : BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]));
}

/* Of all threads of the process that calls, or of the calling one alone. */
__weak __noinline int tail_walk(bool all)
{
	struct ids ids = task_ids(bpf_get_current_task_btf());
	struct tail w = { .pid = ids.tgid, .tid = ids.tid };

	if (!bpf_map_lookup_elem(&traced, &w.pid) ||
	    !bpf_core_enum_value_exists(enum bpf_func_id___tail, BPF_FUNC_loop___tail))
		return 0;
	w.left = bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE);
	w.self = tail_own(false);
	if (!all)
		w.only = tail_own(true);
	bpf_loop(TRACED_REGISTRIES, one_registry, &w, 0);
	return 0;
}

#endif
