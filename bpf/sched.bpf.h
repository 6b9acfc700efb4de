/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The scheduler record of traced threads: state and hand-over. */
#ifndef BPF_SCHED_H
#define BPF_SCHED_H

#include "bpf/clock.bpf.h"

/* The scheduler record is wanted. Defined in flush.bpf.c. */
extern const volatile bool exact;
/* Which time it is that the programs below are attached, counted from 1; 0: they are not, or
 * not all yet. Set by user space. Defined in flush.bpf.c. */
extern __u32 sched_watch;

/* Linux 5.17: without it nothing is looked for in lists of the target's. */
enum bpf_func_id___tail {
	BPF_FUNC_loop___tail = 181
};

enum {
	SCHED_SLOTS = 14, /* a full batch is a WIRE_SMALL */
	SCHED_LATE = 2 /* of them: kept for an interval whose end was not seen */
};

struct sched_batch {
	struct vmspan_batch head; /* the records follow it at once */
	struct vmspan_span records[SCHED_SLOTS];
};

/*
 * One a thread, in task storage. sched_switch appends to out[active], with
 * the run queue locked. The thread itself hands over, preemptibly: it first
 * turns to the other batch, so that a switch in the middle of the copy does not
 * append to what is being copied. Meanwhile sched_switch sends nothing: batches are
 * numbered when they are sent, by one party at a time.
 *
 * Not every switch is seen. Linux 6.18 has been observed not to trace those away from
 * threads of process 1, so that whoever came next came unseen. The kernel's own account
 * of the thread (task_struct.sched_info) shows it: it counts how often the thread was given
 * a CPU, and has the time of the last. An interval of which only the end is missing is
 * ended by that; whatever else went unseen is a loss.
 */
struct sched {
	struct sched_batch out[2];
	struct vmspan_span late[SCHED_LATE]; /* of a hand-over, on their way */
	__u32 used[2];
	__u32 active;
	__u32 started; /* 0: all else but this is void: */
	__u32 left; /* 1: it was started, and is a stock VM's; 2: and has handed over since */
	__u32 handing; /* the thread hands over */
	__u32 watch; /* sched_watch when the thread was last looked at */
	__u64 sent; /* number of the next batch's first record */
	__u32 lost; /* how often something was that no number may show */
	__u32 told; /* of them: a batch has said it */
	__u64 off; /* cycles: off the CPU since then, unless it came back unseen; 0: on it */
	__u64 off_ns; /* the same by the clock of its run queue; 0: not known */
	__u64 given; /* how often it had been given a CPU by then; 0: not known */
	/* It was preempted on its way to sleep: whether the kernel counts the next time depends on
	 * whether it moves the thread meanwhile (sched_info_depart() in its sources). */
	__u32 maybe_uncounted;
	/* Which `off` was ended without its end having been seen. See sched_take_late(). */
	__u64 taken; /* by the thread */
	__u64 repaired; /* by sched_switch */
	__u32 off_cpu, reason, call;
	__u32 waker; /* process that has woken it; 0: not known */
	struct vmspan_wake wake; /* more of it */
	__u64 batch; /* address in the target of its batch, or of its ring's head; 0: none seen */
	__u64 registry; /* of that: whose ids those are */
	__u32 rings; /* it is the latter */
	struct ids ids;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sched);
} scheds SEC(".maps") __weak;

/* How often the kernel has given the thread a CPU; 0: not known. */
static __always_inline __u64 sched_given(struct task_struct *t)
{
	return bpf_core_field_exists(t->sched_info) ? t->sched_info.pcount : 0;
}

/* Is that `times` more often than by its last leave, so that nothing went unseen? */
static __always_inline bool sched_saw_all(const struct sched *s, struct task_struct *t, __u32 times)
{
	__u64 given = sched_given(t);

	return !given || !s->given || given == s->given + times ||
	       (s->maybe_uncounted && given == s->given);
}

/* Off the CPU as far as was seen. */
static __always_inline bool sched_is_off(const struct sched *s)
{
	return s->off && s->off != s->taken;
}

/* Something went unseen. While the programs are away that is nobody's loss. */
static __always_inline void sched_lose(struct sched *s)
{
	if (!sched_watch || s->watch != sched_watch)
		return;
	count(COUNT_SCHED_LOST, 1);
	__sync_fetch_and_add(&s->lost, 1);
}

/*
 * When the thread, seen to leave at s->off and not to come back, was given its CPU; 0: not
 * known. The kernel has the time by the clock of that CPU's run queue. `now_ns` is that clock
 * at `now`; 0: it cannot be read, and the one of the CPU that the thread left has to do, if it is the
 * same. Where the kernel does not trust its counter, the clocks of two run queues may be
 * milliseconds apart.
 */
static __always_inline __u64 sched_came(const struct sched *s, struct task_struct *t, __u64 now,
					__u64 now_ns)
{
	__u64 came, ns, ago;

	/* Else this is the time of an earlier one. */
	if (!bpf_core_field_exists(t->sched_info) || !s->given || sched_given(t) != s->given + 1)
		return 0;
	ns = t->sched_info.last_arrival;
	if (now_ns >= ns) {
		ago = cycles_of(now_ns - ns);
		return ago < now - s->off ? now - ago : s->off;
	}
	if (now_ns || !s->off_ns || ns < s->off_ns || s->off_cpu != bpf_get_smp_processor_id())
		return 0;
	came = s->off + cycles_of(ns - s->off_ns);
	return came < now ? came : now;
}

/* Fills an interval and who has ended it; how many slots that is. */
static __always_inline __u32 sched_fill(const struct sched *s, struct vmspan_span *wake,
					struct vmspan_span *r, __u64 end)
{
	/* The one that wakes a thread does so before it comes back. */
	if (s->waker)
		*(struct vmspan_wake *)wake = s->wake;
	else
		r = wake;
	r->h.type = VMSPAN_OFF;
	r->h.slots = 1;
	r->h.depth = s->reason;
	r->h.id = s->call;
	r->begin = s->off;
	r->end = end;
	r->cpu_begin = s->off_cpu;
	r->cpu_end = bpf_get_smp_processor_id();
	r->iteration = s->waker;
	return s->waker ? 2 : 1;
}

/*
 * Sends one of the batches and empties it. Its too_deep says how often something
 * was lost before its end that no number shows. False: it found no room.
 */
static __always_inline bool sched_send(struct sched *s, __u32 which)
{
	struct sched_batch *b = &s->out[which & 1];
	__u32 used = s->used[which & 1];
	struct wire_head *h;

	b->head.seq = s->sent;
	b->head.records = used;
	b->head.bytes = VMSPAN_BATCH_HEADER + used * VMSPAN_SLOT;
	b->head.too_deep = s->lost;
	s->used[which & 1] = 0;
	s->sent += used;
	h = bpf_ringbuf_reserve(&ring, sizeof(*h) + sizeof(*b), 0);
	if (!h) {
		count(COUNT_SCHED_LOST, used);
		__sync_fetch_and_add(&s->lost, 1);
		return false;
	}
	s->told = b->head.too_deep;
	/* The whole of it: a constant size needs no proof. */
	bpf_probe_read_kernel(h + 1, sizeof(*b), b);
	h->kind = WIRE_SCHED;
	h->bytes = VMSPAN_BATCH_HEADER + used * VMSPAN_SLOT;
	h->pid = s->ids.tgid;
	h->tid = s->ids.tid;
	/* Nobody waits for these: the spans they belong to come behind. But those may be long in coming,
	 * and the reader asleep. */
	bpf_ringbuf_submit(h, wake_flags(false));
	return true;
}

/* The thread, which is on a CPU, has lost track of its switches. */
static __always_inline void sched_resume(struct sched *s, struct task_struct *t)
{
	__u64 given = sched_given(t);

	sched_lose(s);
	s->given = given ? given - 1 : 0;
}

/*
 * The thread itself looks whether it has come back unseen. How many slots of `late` the
 * interval takes. It may lose its CPU at any point here, and sched_switch then finds the
 * same. Both may have read the interval, but one of them records it: the thread says that it
 * has taken it before it looks whether sched_switch already has.
 */
static __always_inline __u32 sched_take_late(struct sched *s, struct task_struct *t)
{
	__u64 off = s->off, came;
	__u32 n;

	if (!sched_is_off(s))
		return 0;
	came = sched_came(s, t, cycles_now(), 0);
	n = sched_fill(s, &s->late[0], &s->late[1], came);
	barrier();
	s->taken = off;
	barrier();
	if (s->repaired == off)
		return 0;
	if (came)
		return n;
	sched_resume(s, t);
	return 0;
}

/* Does the thread itself miss switches that nobody saw at all? */
static __always_inline void sched_check(struct sched *s, struct task_struct *t)
{
	__u64 given = s->given;
	bool saw_all = sched_saw_all(s, t, 1);

	barrier();
	/* Else it has just been seen to leave and to come. */
	if (!saw_all && s->given == given)
		sched_resume(s, t);
	s->watch = sched_watch;
}

/* Turns to the other batch and sends the one that was being filled, with `late` slots of what
 * the thread has found itself. False: it found no room. */
static __always_inline bool sched_send_all(struct sched *s, __u32 late)
{
	__u32 was = s->active & 1, used;
	bool sent;

	if (!s->used[was] && !late && s->told == s->lost)
		return true;
	s->handing = 1;
	barrier();
	s->active = was ^ 1;
	barrier();
	used = s->used[was];
	if (late && used <= SCHED_SLOTS - SCHED_LATE) {
		s->out[was].records[used] = s->late[0];
		s->out[was].records[used + 1] = s->late[1];
		s->used[was] = used + late;
	}
	sent = sched_send(s, was);
	barrier();
	s->handing = 0;
	return sent;
}

/*
 * Called by the thread itself, which hands over what is at `what`: a batch, or (marks) the head of a ring.
 * False: what the scheduler did to its spans has found no room, so they must not go out either,
 * or they would pass for whole. Global, so that the verifier looks at it once.
 */
__weak __noinline bool sched_hand_over(__u64 what, bool marks)
{
	const void *registry = marks ? (const void *)&((const struct vmspan_ring *)what)->process
				     : &((const struct vmspan_batch *)what)->registry;
	struct task_struct *task;
	struct sched *s;
	__u32 late = 0;

	/* Older kernels look at it also where nobody calls it, and have not what it needs. */
	if (!exact)
		return true;
	task = bpf_get_current_task_btf();
	s = bpf_task_storage_get(&scheds, task, 0, 0);
	if (!s)
		return true;
	if (s->started) {
		if (s->batch != what &&
		    !bpf_probe_read_user(&s->registry, sizeof(s->registry), registry)) {
			s->batch = what;
			s->rings = marks;
		}
		/* Before the turn: what is missed of these spans must not go out behind them. */
		late = sched_take_late(s, task);
		sched_check(s, task);
	} else if (s->left == 1 && sched_watch) {
		/* Who was left, as one of a stock VM's, and has marks all the same: what happened to it meanwhile
		 * nobody has seen. Once said, that holds until it is begun anew. */
		s->left = 2;
		count(COUNT_SCHED_LOST, 1);
		__sync_fetch_and_add(&s->lost, 1);
	} else {
		return true;
	}
	return sched_send_all(s, late);
}

#endif
