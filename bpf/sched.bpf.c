/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When threads of traced processes were off the CPU, why, and who woke them.
 *
 * A switch between untraced threads costs two look-ups that find no storage.
 * A traced one is recorded when the thread comes back; a batch of records goes
 * out when it is full, or right before the thread hands over its own spans, so
 * that what the scheduler did to a span is known before the span.
 *
 * Optional ("?"): loaded for exact mode.
 */
#include "bpf/clock.bpf.h"
#include "bpf/peer.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Bits of task_struct.__state; part of what /proc and tracepoints show. */
#define STATE_INTERRUPTIBLE 1
#define STATE_STOPPED 4
#define STATE_TRACED 8
#define STATE_FROZEN 0x8000 /* Linux 6.1 */
#define FLAG_FROZEN 0x10000 /* of task_struct.flags, before that */

#ifdef __TARGET_ARCH_x86
#define CALL_FUTEX 202
#else
#define CALL_FUTEX 98
#endif

static __always_inline int interrupt(__u32 what, bool begins)
{
	__u32 key = 0, *now = bpf_map_lookup_elem(&interrupts, &key);

	if (now)
		*now = begins ? *now | what : *now & ~what;
	return 0;
}

#define INTERRUPT(name, what, begins)           \
	SEC("?tp_btf/" #name)                   \
	int name(void *ctx)                     \
	{                                       \
		return interrupt(what, begins); \
	}
INTERRUPT(irq_handler_entry, INTERRUPT_HARD, true)
INTERRUPT(irq_handler_exit, INTERRUPT_HARD, false)
INTERRUPT(softirq_entry, INTERRUPT_SOFT, true)
INTERRUPT(hrtimer_expire_entry, INTERRUPT_TIMER, true)
INTERRUPT(hrtimer_expire_exit, INTERRUPT_TIMER, false)

SEC("?tp_btf/softirq_exit")
int softirq_exit(void *ctx)
{
	struct flights *f = flights_here();

	if (f)
		f->now.pid = 0;
	return interrupt(INTERRUPT_SOFT, false);
}

/* Before 5.14 (2f064a59a11f) the field was called `state`. */
struct task_struct___old {
	volatile long state;
} __attribute__((preserve_access_index));

static __always_inline __u32 state_of(struct task_struct *t)
{
	struct task_struct___old *old = (void *)t;

	if (bpf_core_field_exists(t->__state))
		return BPF_CORE_READ(t, __state);
	return BPF_CORE_READ(old, state);
}

/* The system call the thread is in; ~0 in none. */
static __always_inline __u32 call_of(struct task_struct *t)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(t);

	return (__u32)PT_REGS_SYSCALL_OF(regs);
}

/* futex, futex_waitv, futex_wait. */
static __always_inline bool is_futex(__u32 call)
{
	return call == CALL_FUTEX || call == 449 || call == 455;
}

#define PRIOS_REALTIME 100 /* below, as the kernel counts them: less is more urgent */

/*
 * Its cgroup has used up its quota. From Linux 6.18 on each thread is held back as it
 * returns to its program, and says so. Before, all run queues of the cgroup are, also while threads wait
 * in them: what these have waited for is told by how it was as they left their CPU. No quota holds a
 * real-time thread back, though it still knows the run queue that it would be in.
 */
static __always_inline bool is_throttled(struct task_struct *t)
{
	if (bpf_core_field_exists(t->throttled))
		return t->throttled;
	return bpf_core_field_exists(t->se.cfs_rq->throttle_count) && t->prio >= PRIOS_REALTIME &&
	       t->se.cfs_rq->throttle_count;
}

/*
 * By the freezer of cgroup 1 and of suspend, or of cgroup 2, whose bit is also set while a thread is
 * stopped and while it waits for a child of vfork(2).
 */
static __always_inline bool is_frozen(struct task_struct *t, __u32 state)
{
	return state & STATE_FROZEN || t->flags & FLAG_FROZEN ||
	       (state & STATE_INTERRUPTIBLE && bpf_core_field_exists(t->frozen) &&
		BPF_CORE_READ_BITFIELD_PROBED(t, frozen));
}

static __always_inline __u32 reason_of(struct task_struct *t, bool preempt, __u32 call)
{
	__u32 state = state_of(t);

	if (preempt || !state)
		return is_throttled(t) ? VMSPAN_OFF_THROTTLED : VMSPAN_OFF_PREEMPTED;
	if (state & (STATE_STOPPED | STATE_TRACED))
		return VMSPAN_OFF_STOPPED;
	if (is_frozen(t, state))
		return VMSPAN_OFF_FROZEN;
	if (BPF_CORE_READ_BITFIELD_PROBED(t, in_iowait))
		return VMSPAN_OFF_IO;
	if (is_futex(call))
		return VMSPAN_OFF_LOCK;
	return state & STATE_INTERRUPTIBLE ? VMSPAN_OFF_SLEEPING : VMSPAN_OFF_UNINTERRUPTIBLE;
}

/* Not sent while the thread hands the other one over: their numbers would cross. */
static __always_inline void drop(struct sched *s, __u32 which)
{
	count(COUNT_SCHED_LOST, s->used[which & 1]);
	__sync_fetch_and_add(&s->lost, 1);
	s->used[which & 1] = 0;
}

/* The interval from s->off to `end`. */
static __always_inline void append(struct sched *s, __u64 end)
{
	__u32 which = s->active & 1, at = s->used[which];
	struct vmspan_span *records = s->out[which].records;

	/* It may take two. */
	if (at > SCHED_SLOTS - SCHED_LATE - 2) {
		if (s->handing)
			drop(s, which);
		else
			sched_send(s, which);
		at = 0;
	}
	s->used[which] = at + sched_fill(s, &records[at], &records[at + 1], end);
}

/* From here on nothing the scheduler does to the thread is missed. */
static __always_inline int begin(struct task_struct *t)
{
	struct ids ids = task_ids(t);
	struct sched *s;
	int i;

	s = bpf_task_storage_get(&scheds, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!s || s->started)
		return 0;
	for (i = 0; i < 2; i++) {
		s->out[i].head.magic = VMSPAN_BATCH_MAGIC;
		s->out[i].head.abi = ABI1;
		s->out[i].head.registry = WIRE_SCHED_REGISTRY;
		s->out[i].head.thread = ids.tid;
		s->out[i].head.tid = ids.tid;
	}
	/* Once more, of a thread that was left meanwhile: no switch since is a loss, and the numbers show
	 * that something is not there. */
	s->used[0] = s->used[1] = 0;
	s->sent += s->sent != 0;
	s->watch = s->waker = 0;
	s->batch = 0;
	s->ids = ids;
	s->call = ~0u;
	s->off_cpu = bpf_get_smp_processor_id();
	s->reason = VMSPAN_OFF_START;
	s->off = cycles_now();
	append(s, s->off);
	s->off = 0;
	s->left = 0;
	s->started = 1;
	return 0;
}

/* The clock of the run queue of t's CPU, which the kernel has just set. 0: not known. */
static __always_inline __u64 run_queue_ns(struct task_struct *t)
{
	return bpf_core_field_exists(t->se.cfs_rq) ? t->se.cfs_rq->rq->clock : 0;
}

/* The thread loses its CPU. `now` is 0 on a CPU that came up later: of that no time is known. */
static __always_inline void leaves(struct sched *s, struct task_struct *t, bool preempt, __u64 now)
{
	__u64 came, now_ns = run_queue_ns(t);

	if (sched_is_off(s)) {
		came = now ? sched_came(s, t, now, now_ns) : 0;
		if (came)
			append(s, came);
		else
			sched_lose(s);
		s->repaired = s->off;
	} else if (!sched_saw_all(s, t, 1)) {
		sched_lose(s);
	}
	s->call = call_of(t);
	s->reason = reason_of(t, preempt, s->call);
	s->off_cpu = bpf_get_smp_processor_id();
	s->waker = 0;
	s->off = now;
	if (!now)
		__sync_fetch_and_add(&s->lost, 1);
	s->off_ns = now_ns;
	s->given = sched_given(t);
	s->maybe_uncounted = preempt && state_of(t);
	s->watch = sched_watch;
}

/* It is given one. The kernel has not counted that yet. */
static __always_inline void comes(struct sched *s, struct task_struct *t, __u64 now)
{
	if (sched_is_off(s)) {
		if (!sched_saw_all(s, t, 0))
			sched_lose(s);
		else if (now)
			append(s, now);
		else
			__sync_fetch_and_add(&s->lost, 1);
		s->given = sched_given(t);
	}
	s->off = 0;
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct sched *s = bpf_task_storage_get(&scheds, prev, 0, 0);
	__u64 now = 0;

	if (s && s->started) {
		now = cycles_now();
		leaves(s, prev, preempt, now);
	}
	s = bpf_task_storage_get(&scheds, next, 0, 0);
	if (s && s->started && s->off) {
		if (!now)
			now = cycles_now();
		comes(s, next, now);
	}
	return 0;
}

/*
 * Somebody is about to wake p: what p waited for came from there. Not from the
 * running thread in an interrupt, which strikes whoever runs: but one that delivers
 * a packet may know who has sent it.
 */
SEC("?tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *p)
{
	struct sched *s = bpf_task_storage_get(&scheds, p, 0, 0);
	__u32 in = interrupted();
	struct flights *f;
	struct peer by;

	if (!s || !s->off)
		return 0;
	if (!in) {
		__builtin_memset(&by, 0, sizeof(by));
		peer_current(&by);
		if (!by.pid)
			return 0;
		s->waker = by.pid;
		s->wake = by.wake;
		return 0;
	}
	f = in == INTERRUPT_SOFT ? flights_here() : NULL;
	if (!f || !f->now.pid)
		return 0;
	s->waker = f->now.pid;
	s->wake = f->now.wake;
	return 0;
}

/* A new thread of a traced process, or a new process of one. Attached before
 * life_fork, which may still have to enter the child: the parent says it. A child
 * of a stock VM's may execute a program with marks. */
SEC("?tp_btf/sched_process_fork")
int BPF_PROG(sched_born, struct task_struct *parent, struct task_struct *child)
{
	struct ids ids = task_ids(parent);
	struct traced_process *p = bpf_map_lookup_elem(&traced, &ids.tgid);

	if (!p || (child->pid == child->tgid && !(p->flags & TRACED_CHILDREN)))
		return 0;
	if (child->pid != child->tgid && p->flags & TRACED_STOCK)
		return 0;
	return begin(child);
}

/* What executes is another program, which another thread may have had executed: what is known of the one before
 * is of no event of this one. What a stock VM executes may be a program with marks. */
SEC("?tp_btf/sched_process_exec")
int BPF_PROG(sched_exec, struct task_struct *task)
{
	struct ids ids = task_ids(task);
	struct traced_process *p = bpf_map_lookup_elem(&traced, &ids.tgid);
	struct sched *s;
	__u64 given;

	if (!p)
		return 0;
	/* Others write the flags too: not without need. */
	if (p->flags & TRACED_STOCK)
		p->flags &= ~TRACED_STOCK;
	s = bpf_task_storage_get(&scheds, task, 0, 0);
	if (s) {
		s->started = 0;
		s->lost = s->told = 0;
	}
	begin(task);
	s = bpf_task_storage_get(&scheds, task, 0, 0);
	/* It has its CPU: from this moment on what goes unseen is a loss. */
	if (s) {
		given = sched_given(task);
		s->given = given ? given - 1 : 0;
		s->maybe_uncounted = 0;
		s->watch = sched_watch;
	}
	return 0;
}

/* Run by user space for the threads that are there already. */
SEC("?iter/task")
int sched_present(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct traced_process *p;
	struct ids ids;

	if (!task)
		return 0;
	ids = task_ids(task);
	p = bpf_map_lookup_elem(&traced, &ids.tgid);
	return p && !(p->flags & TRACED_STOCK) ? begin(task) : 0;
}

/* Run by user space for the threads of a process that has been found to run a stock VM. What is gathered of
 * them is of no event. */
SEC("?iter/task")
int sched_leave(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct traced_process *p;
	struct sched *s;
	struct ids ids;

	if (!task)
		return 0;
	ids = task_ids(task);
	p = bpf_map_lookup_elem(&traced, &ids.tgid);
	if (!p || !(p->flags & TRACED_STOCK))
		return 0;
	s = bpf_task_storage_get(&scheds, task, 0, 0);
	if (s && s->started) {
		s->left = 1;
		barrier();
		s->started = 0;
		barrier();
		/* It may have executed a program with marks meanwhile. */
		if (!(p->flags & TRACED_STOCK))
			return begin(task);
	}
	return 0;
}

/*
 * Run by user space when no thread hands anything over any more: what the scheduler did since
 * they last did. Of one that is off its CPU nothing is known yet, and no mark lies behind that.
 */
SEC("?iter/task")
int sched_rest(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct sched *s = task ? bpf_task_storage_get(&scheds, task, 0, 0) : NULL;

	if (s && s->started)
		sched_send_all(s, 0);
	return 0;
}
