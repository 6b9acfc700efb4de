/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What every program needs: counting, waking, whose task this is. */
#ifndef BPF_EMIT_H
#define BPF_EMIT_H

#include "bpf/maps.bpf.h"

/* The reader is woken this long after it was last woken, if there is data. */
#define WAKE_NS 50000000ull

/*
 * Atomic although the map is per CPU: programs on uprobes may be preempted
 * (migration alone is off), so two of them can be inside one CPU's entry.
 */
static __always_inline void count(__u32 what, __u64 n)
{
	__u64 *c = bpf_map_lookup_elem(&counters, &what);

	if (c)
		__sync_fetch_and_add(c, n);
}

/*
 * Flags for bpf_ringbuf_submit. Must be asked for after the reserve: a reader
 * that sees nothing reserved and has been quiet for WAKE_NS may then sleep
 * without a limit, since the next record is sure to wake it.
 */
static __always_inline __u64 wake_flags(bool now)
{
	__u64 t = bpf_ktime_get_ns();

	if (!now && t - last_wake < WAKE_NS &&
	    bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < wake_bytes)
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

#endif
