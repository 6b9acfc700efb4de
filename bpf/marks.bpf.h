/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Marks on their way: from a thread's ring in the target into the ring buffer. Nothing from the
 * target is trusted: the reader looks again at all that is copied here.
 */
#ifndef BPF_MARKS_H
#define BPF_MARKS_H

#include "bpf/sched.bpf.h"

static __always_inline void marks_lost(__u32 batches, __u32 records, __u32 bytes)
{
	count(batches, 1);
	count(records, bytes / sizeof(struct vmspan_mark));
}

/* Is the last of them the end of an event that took as long as somebody waits for? When that
 * began, the head says. The thread's clock may follow it. A forged one wakes the reader, and
 * nothing more. */
static __always_inline bool marks_alert(const struct wire_marks *w, const void *end)
{
	struct vmspan_mark m;

	if (!alert_cycles || bpf_probe_read_kernel(&m, sizeof(m), (const char *)end - sizeof(m)))
		return false;
	if (m.type == VMSPAN_MARK_MORE && w->bytes >= 3 * sizeof(m) &&
	    bpf_probe_read_kernel(&m, sizeof(m), (const char *)end - 3 * sizeof(m)))
		return false;
	return m.type == VMSPAN_MARK_EVENT_END && m.cycles - w->ring.event_begin >= alert_cycles;
}

/* Are these marks of another thread? Who takes a ring over hands over what is left in it. */
static __always_inline bool marks_foreign(const struct vmspan_ring *r)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u32 tid;

	return bpf_probe_read_user(&tid, sizeof(tid), &r->tid) ||
	       tid != own_number(BPF_CORE_READ(task, thread_pid));
}

/* `room` is a constant at every call: the verifier wants one. */
static __always_inline int marks_copy(struct ids ids, const struct vmspan_ring *r, __u32 bytes,
				      __u64 from, bool foreign, const __u32 room)
{
	struct wire_marks *w = bpf_ringbuf_reserve(&ring, sizeof(*w) + room, 0);
	bool read, wiped;

	if (!w) {
		marks_lost(COUNT_RING_FULL_BATCHES, COUNT_RING_FULL_RECORDS, bytes);
		return 0;
	}
	barrier_var(bytes);
	read = bytes <= room && !bpf_probe_read_user(&w->ring, sizeof(w->ring), r);
	/* By a fork in a handler, as the parent handed over, which it goes on with. */
	wiped = read && !w->ring.base;
	if (!read || wiped ||
	    bpf_probe_read_user(w + 1, at_most(bytes, room),
				(const void *)(w->ring.base + (from & w->ring.mask)))) {
		bpf_ringbuf_discard(w, fill_flags());
		if (!wiped)
			marks_lost(COUNT_READ_FAULT_BATCHES, COUNT_READ_FAULT_RECORDS, bytes);
		return 0;
	}
	w->h.kind = WIRE_MARKS;
	w->h.bytes = sizeof(*w) - sizeof(w->h) + bytes;
	w->h.pid = ids.tgid;
	w->h.tid = foreign ? 0 : ids.tid;
	w->from = from;
	w->bytes = bytes;
	w->foreign = foreign;
	bpf_ringbuf_submit(w, wake_flags(marks_alert(w, (const char *)(w + 1) + bytes)));
	return 0;
}

static __always_inline int marks_send(struct ids ids, const struct vmspan_ring *r, __u32 bytes,
				      __u64 from, bool foreign)
{
	/* What the scheduler did to these spans has to be known before them. */
	if (exact && !foreign && !sched_hand_over((__u64)r, true)) {
		marks_lost(COUNT_RING_FULL_BATCHES, COUNT_RING_FULL_RECORDS, bytes);
		return 0;
	}
	/* That a thread is there: as many at once as there are threads. */
	if (!bytes)
		return marks_copy(ids, r, 0, from, foreign, 0);
	if (bytes <= WIRE_MARKS_SMALL)
		return marks_copy(ids, r, bytes, from, foreign, WIRE_MARKS_SMALL);
	if (bytes <= WIRE_MARKS_MIDDLE)
		return marks_copy(ids, r, bytes, from, foreign, WIRE_MARKS_MIDDLE);
	return marks_copy(ids, r, bytes, from, foreign, WIRE_MARKS_FULL);
}

/* Where the marks of a process are to be found at its end. One whose only library with marks comes and
 * goes has another place each time: the oldest gives way. */
static __always_inline void marks_note(struct traced_process *p, __u64 process)
{
	__u64 next = process | TRACED_MARKS, now;
	__u32 i;

	for (i = 0; i < TRACED_REGISTRIES; i++) {
		if ((p->registries[i] & ~TRACED_INHERITED) == next) {
			p->registries[i] = next;
			return;
		}
	}
	/* Kernels up to 6.1 and later want a loop to be closed by a jump, which the compiler does not do
	 * with this one. */
#pragma unroll
	for (i = 0; i < TRACED_REGISTRIES; i++) {
		now = p->registries[i];
		/* Those of version 1 stay: user space alone finds them. */
		if (!next || (now && !(now & TRACED_MARKS)))
			continue;
		p->registries[i] = next;
		next = now;
	}
}

static __always_inline int carry_marks(struct ids ids, struct traced_process *p,
				       const struct vmspan_ring *r, __u32 bytes, __u64 from)
{
	__u64 process;

	if (!bytes && !bpf_probe_read_user(&process, sizeof(process), &r->process) && process)
		marks_note(p, process);
	if (bytes > VMSPAN_FLUSH_MAX || bytes % sizeof(struct vmspan_mark)) {
		count(COUNT_MALFORMED, 1);
		return 0;
	}
	return marks_send(ids, r, bytes, from, marks_foreign(r));
}

#endif
