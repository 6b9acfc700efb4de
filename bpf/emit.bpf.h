/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What every program needs: counting, waking, whose task this is. */
#ifndef BPF_EMIT_H
#define BPF_EMIT_H

#include "bpf/maps.bpf.h"

/*
 * The first thing in every program at a user probe. Kernels from 6.13 on run
 * programs with 64 bytes of stack or more on a stack a CPU has for the program,
 * not on the task's. Programs at user probes may be preempted, so another task
 * may run the same program on the same CPU and write over those variables: the
 * kernel then oopses, as 7.2 does within a second of two busy processes. A
 * program in which there is a tail call is left on the task's stack. This one
 * is never made, which the verifier knows, and it leaves the call out. `none` is
 * one of NO_PROGRAMS.
 */
static __always_inline void stay_on_own_stack(void *ctx, void *none)
{
	if (tail_calls)
		bpf_tail_call(ctx, none, 0);
}

/* The reader is woken this long after it was last woken, if there is data. */
#define WAKE_NS 50000000ull
/*
 * A ring that is filled far wakes it at once, but not again before this: the
 * reader is on its way. A wake-up is an interrupt on the target's CPU; on a
 * virtual machine it takes 6 us, more than all else about a batch.
 */
#define WAKE_AGAIN_NS 200000ull

/*
 * Atomic although the map is per CPU: programs on uprobes may be preempted
 * (migration alone is off), so two of them can be inside one CPU's entry.
 */
static __always_inline void count(__u32 what, __u64 n)
{
	__u64 *c;

	/* Of nothing the compiler would make an atomic or, and Linux 5.10 refuse the program. */
	if (!n)
		return;
	c = bpf_map_lookup_elem(&counters, &what);
	if (c)
		__sync_fetch_and_add(c, n);
}

/*
 * Flags for what nobody waits for, in any context. Without the wake-up a reader
 * that sleeps would find out about a full ring from nobody: what is lost for
 * want of room wakes no one.
 */
static __always_inline __u64 fill_flags(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < wake_bytes ? BPF_RB_NO_WAKEUP
									: BPF_RB_FORCE_WAKEUP;
}

/*
 * Flags for bpf_ringbuf_submit. Must be asked for after the reserve: a reader
 * that sees nothing reserved and has been quiet for WAKE_NS may then sleep
 * without a limit, since the next record is sure to wake it.
 */
static __always_inline __u64 wake_flags(bool now)
{
	__u64 t = bpf_ktime_get_ns(), since = t - last_wake;

	if (!now && since < WAKE_NS &&
	    (since < WAKE_AGAIN_NS || bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < wake_bytes))
		return BPF_RB_NO_WAKEUP;
	last_wake = t;
	count(COUNT_WAKEUPS, 1);
	return BPF_RB_FORCE_WAKEUP;
}

/* PID namespaces nest at most 32 deep; a tracer further down than this
 * traces nothing. */
#define NS_LEVELS 8

/* The number of `p` in the reader's namespace, or 0 where it has none. */
static __always_inline __u32 ns_number(struct pid *p)
{
	__u32 level = BPF_CORE_READ(p, level);
	int i;

	for (i = 0; i < NS_LEVELS; i++) {
		struct upid u = {};

		if (i > level)
			return 0;
		bpf_core_read(&u, sizeof(u), &p->numbers[i]);
		if (BPF_CORE_READ(u.ns, ns.inum) == ns_inum)
			return u.nr;
	}
	return 0;
}

/* The number by which a task knows itself. */
static __always_inline __u32 own_number(struct pid *p)
{
	__u32 level = BPF_CORE_READ(p, level);
	struct upid u = {};

	if (level > 32)
		return 0;
	bpf_core_read(&u, sizeof(u), &p->numbers[level]);
	return u.nr;
}

struct ids {
	__u32 tgid, tid;
};

static __always_inline struct ids task_ids(struct task_struct *t)
{
	struct ids ids;

	if (!ns_inum) {
		ids.tgid = BPF_CORE_READ(t, tgid);
		ids.tid = BPF_CORE_READ(t, pid);
	} else {
		ids.tgid = ns_number(BPF_CORE_READ(t, signal, pids[PIDTYPE_TGID]));
		ids.tid = ns_number(BPF_CORE_READ(t, thread_pid));
	}
	return ids;
}

static __always_inline struct ids current_ids(void)
{
	__u64 both;
	struct ids ids;

	if (ns_inum)
		return task_ids((struct task_struct *)bpf_get_current_task());
	both = bpf_get_current_pid_tgid();
	ids.tgid = both >> 32;
	ids.tid = (__u32)both;
	return ids;
}

/*
 * Whose the memory is. A child made by vfork(2) runs in its parent's, until it executes a program
 * or ends: what it hands over is what the parent has gathered.
 */
static __always_inline struct ids memory_ids(void)
{
	/* Linux 5.10 has no other that the programs could look at by themselves. */
	struct task_struct *t = (struct task_struct *)bpf_get_current_task(), *parent;

	if (!BPF_CORE_READ(t, vfork_done))
		return current_ids();
	parent = BPF_CORE_READ(t, real_parent);
	return BPF_CORE_READ(t, mm) == BPF_CORE_READ(parent, mm) ? task_ids(parent) : current_ids();
}

/*
 * n, and no more than `most`. Up to Linux 6.1 and later the verifier forgets what a comparison has said
 * of a number that the compiler keeps on the stack: this leaves it none but a register.
 */
static __always_inline __u64 at_most(__u64 n, const __u64 most)
{
#ifdef __bpf__
	asm volatile("if %0 <= %1 goto +1\n%0 = %1" : "+r"(n) : "i"(most));
	return n;
#else
	return n < most ? n : most;
#endif
}

/* Reserved and filled but for the name. */
static __always_inline struct wire_life *life_record(__u32 kind, struct ids ids, __u32 other)
{
	struct wire_life *l = bpf_ringbuf_reserve(&ring, sizeof(*l), 0);

	if (!l) {
		count(COUNT_LIFE_LOST, 1);
		return NULL;
	}
	__builtin_memset(l, 0, sizeof(*l));
	l->h.kind = kind;
	l->h.bytes = sizeof(*l) - sizeof(l->h);
	l->h.pid = ids.tgid;
	l->h.tid = ids.tid;
	l->mono_ns = bpf_ktime_get_ns();
	l->other = other;
	return l;
}

#endif
