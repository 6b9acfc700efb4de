/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The scheduler record of traced threads: state and hand-over. */
#ifndef BPF_SCHED_H
#define BPF_SCHED_H

#include "bpf/emit.bpf.h"

/* The scheduler record is wanted. Defined in flush.bpf.c. */
extern const volatile bool exact;

enum {
	SCHED_SLOTS = 14 /* a full batch is a WIRE_SMALL */
};

struct sched_batch {
	struct vmspan_batch head; /* the records follow it at once */
	struct vmspan_span records[SCHED_SLOTS];
};

/*
 * One a thread, in task storage. sched_switch appends to out[active], with
 * the run queue locked. The thread itself hands over, preemptibly: it first
 * turns to the other batch, so that a switch in the middle of the copy does not
 * append to what is being copied.
 */
struct sched {
	struct sched_batch out[2];
	__u32 used[2];
	__u32 active;
	__u32 started; /* 0: all else is void */
	__u64 seq; /* of the next record */
	__u32 lost; /* how often something was that seq may not show */
	__u32 told; /* of them: a batch has said it */
	__u64 off; /* cycles: off the CPU since then; 0: on it */
	__u32 off_cpu, reason, call;
	__u32 waker; /* process that has woken it; 0: not known */
	struct vmspan_wake wake; /* more of it */
	__u64 batch; /* address of the SDK's in the target; 0: none seen */
	__u64 registry; /* of that batch */
	struct ids ids;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sched);
} scheds SEC(".maps") __weak;

/*
 * Sends one of the batches and empties it. Its too_deep says how often something
 * was lost before its end that no number shows. False: it found no room.
 */
static __always_inline bool sched_send(struct sched *s, __u32 which)
{
	struct sched_batch *b = &s->out[which & 1];
	__u32 used = s->used[which & 1];
	struct wire_head *h;

	b->head.records = used;
	b->head.bytes = VMSPAN_BATCH_HEADER + used * VMSPAN_SLOT;
	b->head.too_deep = s->lost;
	s->used[which & 1] = 0;
	h = bpf_ringbuf_reserve(&ring, sizeof(*h) + sizeof(*b), 0);
	if (!h) {
		count(COUNT_SCHED_LOST, used);
		s->lost++;
		return false;
	}
	s->told = b->head.too_deep;
	/* The whole of it: a constant size needs no proof. */
	bpf_probe_read_kernel(h + 1, sizeof(*b), b);
	h->kind = WIRE_SCHED;
	h->bytes = VMSPAN_BATCH_HEADER + used * VMSPAN_SLOT;
	h->pid = s->ids.tgid;
	h->tid = s->ids.tid;
	/* Nobody waits for these: the spans they belong to come behind. */
	bpf_ringbuf_submit(h, BPF_RB_NO_WAKEUP);
	return true;
}

/*
 * Called by the thread itself, which hands over `batch`. False: what the
 * scheduler did to its spans has found no room, so they must not go out either,
 * or they would pass for whole.
 */
static __always_inline bool sched_hand_over(struct task_struct *task,
					    const struct vmspan_batch *batch)
{
	struct sched *s = bpf_task_storage_get(&scheds, task, 0, 0);
	__u64 seq;
	__u32 was;

	if (!s)
		return true;
	if (s->batch != (__u64)batch &&
	    !bpf_probe_read_user(&s->registry, sizeof(s->registry), &batch->registry))
		s->batch = (__u64)batch;
	was = s->active & 1;
	/* Before the turn: a switch behind it takes the same number. */
	seq = s->seq;
	if (!s->used[was] && s->told == s->lost)
		return true;
	s->active = was ^ 1;
	barrier();
	if (!s->used[was])
		s->out[was].head.seq = seq;
	return sched_send(s, was);
}

#endif
