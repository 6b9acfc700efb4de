/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stock VMs: a thread's event begins and ends. */
#ifndef BPF_TURN_H
#define BPF_TURN_H

#include "bpf/walk.bpf.h"
#include "bpf/watch.bpf.h"

/* A stay on the CPU is handed over in pieces of this. */
#define BURST_NS 100000000ull

/* Not where the scheduler is at work, nor in an interrupt: this asks for memory. */
static __always_inline struct vm_thread *thread_make(struct task_struct *task)
{
	struct vm_thread *t =
		bpf_task_storage_get(&vm_threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	/* The thread itself and user space's look at all may both have asked at once: one is refused. */
	if (!t)
		t = bpf_task_storage_get(&vm_threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t)
		count(COUNT_VM_LOST, 1);
	return t;
}

/* The current thread, if it is one of a traced VM. In a system call or a probe. */
static __always_inline struct vm_thread *thread_of(struct ids *ids, const struct vm_proc **p)
{
	*ids = current_ids();
	*p = bpf_map_lookup_elem(&vm_procs, &ids->tgid);
	if (!*p)
		return NULL;
	return thread_make(bpf_get_current_task_btf());
}

/* The same anywhere. */
static __always_inline struct vm_thread *thread_known(struct ids *ids, const struct vm_proc **p)
{
	*ids = current_ids();
	*p = bpf_map_lookup_elem(&vm_procs, &ids->tgid);
	return *p ? bpf_task_storage_get(&vm_threads, bpf_get_current_task_btf(), NULL, 0) : NULL;
}

/*
 * Every call is measured: the stopwatch tells what ran, and nobody looks at
 * stacks. Defined in calls.bpf.c, as what opens and closes the calls under way
 * together with an event.
 */
extern const volatile bool exact_calls;
int calls_resume(struct watch *w, struct watch_stack *k, __u32 iteration, __u64 now);
int calls_cut(struct watch *w, struct watch_stack *k, __u64 now);
int calls_waited(struct watch *w, __u64 begin, __u64 end);

/* What goes with calls_of(). */
static __always_inline struct watch_stack *stack_of(struct task_struct *task)
{
	return bpf_task_storage_get(&watch_stacks, task, NULL, 0);
}

static __always_inline struct watch *calls_of(struct task_struct *task)
{
	struct watch *w;

	if (!exact_calls)
		return NULL;
	w = bpf_task_storage_get(&watches, task, NULL, 0);
	return w && w->started ? w : NULL;
}

/* ---- Stolen time ---- */

/* The kernel notices at its next tick, or switch, what a hypervisor has taken: a tick is 10 ms at most. What comes to
 * light so long after an event may be of it. */
#define STEAL_LATE_NS 10000000ull

/* What a hypervisor had taken of the task's CPU when the kernel last looked, and 1; 0: it does not say. */
static __always_inline __u64 steal_told(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->se.cfs_rq) ||
	    !bpf_core_field_exists(((struct rq *)0)->prev_steal_time_rq))
		return 0;
	return BPF_CORE_READ(task, se.cfs_rq, rq, prev_steal_time_rq) + 1;
}

/* Raised by user space where threads begin to be followed through the scheduler, and where that ends: between, they may
 * have moved to CPUs of other accounts. */
extern __u32 follow_epoch;

/* The task has its CPU: what has been taken of that since it got it, or was asked last. */
static __always_inline void steal_take(struct vm_thread *t, struct task_struct *task, __u64 now)
{
	__u64 told = steal_told(task);

	if (t->off_at)
		return;
	if (t->steal_seen && t->steal_epoch == follow_epoch && told > t->steal_seen &&
	    (t->open || now - t->turn_end < STEAL_LATE_NS))
		t->stolen += told - t->steal_seen;
	t->steal_seen = told;
	t->steal_epoch = follow_epoch;
}

/* Of the event so far: no more than it was on a CPU. */
static __always_inline __u64 stolen_of(const struct vm_thread *t, __u64 now)
{
	__u64 on = now - t->turn_begin - (t->off_total - t->off_before);

	return t->stolen < on ? t->stolen : on;
}

/* ---- Events ---- */

static __always_inline void turn_open(struct vm_thread *t, struct task_struct *task, __u16 kind,
				      __u64 now)
{
	struct watch *w = calls_of(task);

	steal_take(t, task, now);
	t->iteration++;
	t->turn_kind = kind;
	t->turn_cpu = bpf_get_smp_processor_id();
	t->turn_begin = now;
	t->off_before = t->off_total;
	t->text_len = t->title_len = t->ended = 0;
	t->open = 1;
	if (w)
		calls_resume(w, stack_of(task), t->iteration, now);
}

static __always_inline void turn_head(struct wire_turn *r, const struct vm_thread *t,
				      struct ids ids, __u64 now, __u64 stolen)
{
	r->h.kind = WIRE_VM_TURN;
	r->h.pid = ids.tgid;
	r->h.tid = ids.tid;
	r->begin = t->turn_begin;
	r->end = now;
	r->stolen_ns = stolen;
	r->off_ns = t->off_total - t->off_before + r->stolen_ns;
	r->iteration = t->iteration;
	r->cpu_begin = t->turn_cpu;
	r->cpu_end = bpf_get_smp_processor_id();
	r->kind = t->turn_kind;
	r->ended = t->ended;
}

static __always_inline void turn_close(struct vm_thread *t, struct task_struct *task,
				       struct ids ids, __u64 now)
{
	struct watch *w = calls_of(task);
	struct wire_turn *r;
	__u64 stolen;

	steal_take(t, task, now);
	stolen = stolen_of(t, now);
	t->stolen -= stolen;
	t->open = 0;
	t->turn_end = now;
	/* An event follows what is in it. */
	if (w)
		calls_cut(w, stack_of(task), now);
	if (t->text_len) {
		r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
		if (!r)
			goto lost;
		turn_head(r, t, ids, now, stolen);
		r->h.bytes = sizeof(*r) - sizeof(r->h);
		r->text_len = t->text_len;
		r->title_len = t->title_len;
		__builtin_memcpy(r->text, t->text, sizeof(r->text));
		__builtin_memcpy(r->title, t->title, sizeof(r->title));
	} else {
		r = bpf_ringbuf_reserve(&ring, WIRE_TURN_BARE, 0);
		if (!r)
			goto lost;
		turn_head(r, t, ids, now, stolen);
		r->h.bytes = WIRE_TURN_BARE - sizeof(r->h);
		r->text_len = r->title_len = 0;
	}
	bpf_ringbuf_submit(r, wake_flags(false));
	return;
lost:
	count(COUNT_VM_LOST, 1);
}

/* It is told of to nobody, nor is what was stolen from it. */
static __always_inline void turn_forget(struct vm_thread *t, struct task_struct *task, __u64 now)
{
	steal_take(t, task, now);
	t->stolen -= stolen_of(t, now);
	t->open = 0;
	t->turn_end = now;
}

static __always_inline bool has_bursts(const struct vm_proc *p, const struct vm_thread *t)
{
	return p->flags & VM_BURSTS && t->loop == LOOP_NONE;
}

/* ---- Probes that tell of turns ---- */

static __always_inline struct vm_thread *probed(struct pt_regs *ctx, struct ids *ids,
						const struct vm_proc **p)
{
	stay_on_own_stack(ctx, &no_vm_sites);
	return thread_of(ids, p);
}

/* The end of a turn that a probe began; one begun otherwise goes on. */
static __always_inline int turn_end(struct pt_regs *ctx, __u16 kind)
{
	const struct vm_proc *p;
	struct vm_thread *t;
	struct ids ids;

	t = probed(ctx, &ids, &p);
	if (t && t->open && t->turn_kind == kind)
		turn_close(t, bpf_get_current_task_btf(), ids, bpf_ktime_get_ns());
	return 0;
}

#endif
