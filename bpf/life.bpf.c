/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Births and deaths of traced processes. A child is put into `traced` by the
 * program itself, before the child runs, so none of its batches is missed.
 * The order of records in the ring buffer is the true one.
 *
 * Optional ("?"): without BTF tracepoints children are not followed.
 */
#include "bpf/emit.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline void emit_life(__u32 kind, struct ids ids, __u32 other,
				      struct task_struct *t, bool now)
{
	struct wire_life *l = bpf_ringbuf_reserve(&ring, sizeof(*l), 0);

	if (!l) {
		count(COUNT_LIFE_LOST, 1);
		return;
	}
	l->h.kind = kind;
	l->h.bytes = sizeof(*l) - sizeof(l->h);
	l->h.pid = ids.tgid;
	l->h.tid = ids.tid;
	l->mono_ns = bpf_ktime_get_ns();
	l->other = other;
	l->pad = 0;
	bpf_core_read(l->comm, sizeof(l->comm), &t->comm);
	bpf_ringbuf_submit(l, wake_flags(now));
}

SEC("?tp_btf/sched_process_fork")
int BPF_PROG(life_fork, struct task_struct *parent, struct task_struct *child)
{
	struct ids ids = task_ids(parent), born;
	__u32 *flags = bpf_map_lookup_elem(&traced, &ids.tgid), copy;

	if (!flags || !(*flags & TRACED_CHILDREN) || child->pid != child->tgid)
		return 0;
	born = task_ids(child);
	copy = *flags;
	if (bpf_map_update_elem(&traced, &born.tgid, &copy, BPF_ANY)) {
		count(COUNT_LIFE_LOST, 1);
		return 0;
	}
	emit_life(WIRE_FORK, ids, born.tgid, child, true);
	return 0;
}

/* Before user space knows of it: its children must not be missed. */
static __always_inline bool is_told_of(struct ids ids)
{
	__u32 flags = sweep_flags;

	if (bpf_map_lookup_elem(&traced, &ids.tgid))
		return true;
	if (!flags || !ids.tgid)
		return false;
	bpf_map_update_elem(&traced, &ids.tgid, &flags, BPF_NOEXIST);
	return true;
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(life_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	struct ids ids = task_ids(task);

	if (is_told_of(ids))
		emit_life(WIRE_EXEC, ids, 0, task, true);
	return 0;
}

/*
 * A thread that gives itself the name it has: the SDK's way to say that a file
 * with it has been mapped. dlopen(3) gives no other sign.
 */
SEC("?tp_btf/task_rename")
int BPF_PROG(life_loaded, struct task_struct *task, const char *comm)
{
	struct ids ids = task_ids(task);
	__u64 was[2] = {}, is[2] = {};

	bpf_probe_read_kernel_str(was, sizeof(was), &task->comm);
	bpf_probe_read_kernel_str(is, sizeof(is), comm);
	if (was[0] == is[0] && was[1] == is[1] && is_told_of(ids))
		emit_life(WIRE_LOADED, ids, 0, task, true);
	return 0;
}

/*
 * signal->live counts the threads that have not begun to exit; it is lowered
 * before this tracepoint. Two last threads may both see 0: deleting the key
 * succeeds for one of them.
 */
SEC("?tp_btf/sched_process_exit")
int BPF_PROG(life_exit, struct task_struct *task)
{
	struct ids ids = task_ids(task);

	if (!bpf_map_lookup_elem(&traced, &ids.tgid))
		return 0;
	emit_life(WIRE_THREAD_EXIT, ids, 0, task, false);
	if (task->signal->live.counter == 0 && !bpf_map_delete_elem(&traced, &ids.tgid))
		emit_life(WIRE_EXIT, ids, 0, task, true);
	return 0;
}
