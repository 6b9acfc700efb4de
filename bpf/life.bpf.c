/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Births and deaths of traced processes. A child is put into `traced` by the
 * program itself, before the child runs, so none of its batches is missed.
 * The order of records in the ring buffer is the true one.
 *
 * Optional ("?"): without BTF tracepoints children are not followed.
 */
#include "bpf/tail.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline void emit_life(__u32 kind, struct ids ids, __u32 other,
				      struct task_struct *t, bool now)
{
	struct wire_life *l = life_record(kind, ids, other);

	if (!l)
		return;
	bpf_core_read(l->comm, sizeof(l->comm), &t->comm);
	bpf_ringbuf_submit(l, wake_flags(now));
}

SEC("?tp_btf/sched_process_fork")
int BPF_PROG(life_fork, struct task_struct *parent, struct task_struct *child)
{
	struct ids ids = task_ids(parent), born;
	struct traced_process *p = bpf_map_lookup_elem(&traced, &ids.tgid), copy;
	struct traced_armed *a;
	__u32 i;

	if (!p || !(p->flags & TRACED_CHILDREN) || child->pid != child->tgid)
		return 0;
	born = task_ids(child);
	copy = *p;
	copy.flags |= TRACED_BORN;
	copy.flags &= ~TRACED_THERE;
	copy.arming = ARMING_DONE;
#pragma unroll
	for (i = 0; i < TRACED_REGISTRIES; i++)
		if (copy.registries[i] & TRACED_MARKS)
			copy.registries[i] |= TRACED_INHERITED;
	if (bpf_map_update_elem(&traced, &born.tgid, &copy, BPF_ANY)) {
		count(COUNT_LIFE_LOST, 1);
		return 0;
	}
	a = bpf_map_lookup_elem(&marks_armed, &ids.tgid);
	if (a)
		bpf_map_update_elem(&marks_armed, &born.tgid, a, BPF_ANY);
	emit_life(WIRE_FORK, ids, born.tgid, child, true);
	return 0;
}

/* Before user space knows of it: its children must not be missed. */
static __always_inline bool is_told_of(struct ids ids)
{
	struct traced_process p = { .flags = sweep_flags };

	if (bpf_map_lookup_elem(&traced, &ids.tgid))
		return true;
	if (!p.flags || !ids.tgid)
		return false;
	bpf_map_update_elem(&traced, &ids.tgid, &p, BPF_NOEXIST);
	return true;
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(life_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	struct ids ids = task_ids(task);
	struct traced_process *p;

	if (!is_told_of(ids))
		return 0;
	/* What was there, is not any more: where its successor's is, that will say. */
	p = bpf_map_lookup_elem(&traced, &ids.tgid);
	if (p)
		__builtin_memset(p->registries, 0, sizeof(p->registries));
	bpf_map_delete_elem(&marks_armed, &ids.tgid);
	emit_life(WIRE_EXEC, ids, old_pid != task->pid, task, true);
	return 0;
}

/* The kernel names a thread anew in each exec, which is told besides. */
static __always_inline bool executes(struct task_struct *task)
{
	return bpf_core_field_exists(task->in_execve) && BPF_CORE_READ_BITFIELD(task, in_execve);
}

#ifdef __TARGET_ARCH_x86
#define CALL_PRCTL 157
#else
#define CALL_PRCTL 167
#endif

/* Linux 5.15. */
enum bpf_func_id___regs {
	BPF_FUNC_task_pt_regs___regs = 175
};

/* What the SDK says of itself with it: see vmspan_loaded_2(). */
static __always_inline void read_copy(struct wire_life *l, struct task_struct *task)
{
	struct pt_regs *regs;

	/* Another may name it, while it is in any system call. */
	if (!bpf_core_enum_value_exists(enum bpf_func_id___regs, BPF_FUNC_task_pt_regs___regs) ||
	    (__u32)bpf_get_current_pid_tgid() != (__u32)task->pid)
		return;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	if ((__u32)PT_REGS_SYSCALL_OF(regs) != CALL_PRCTL ||
	    PT_REGS_CALL_THIRD(regs) != VMSPAN_MAGIC)
		return;
	l->copy = PT_REGS_CALL_FOURTH(regs);
	l->other = (__u32)PT_REGS_CALL_FIFTH(regs);
	l->which = PT_REGS_CALL_FIFTH(regs) >> 32;
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
	struct wire_life *l;

	bpf_probe_read_kernel_str(was, sizeof(was), &task->comm);
	bpf_probe_read_kernel_str(is, sizeof(is), comm);
	if (was[0] != is[0] || was[1] != is[1] || executes(task) || !is_told_of(ids))
		return 0;
	l = life_record(WIRE_LOADED, ids, 0);
	if (!l)
		return 0;
	__builtin_memcpy(l->comm, is, sizeof(l->comm));
	read_copy(l, task);
	bpf_ringbuf_submit(l, wake_flags(true));
	return 0;
}

/*
 * What a sweep goes by may change without an exec. Of those that are traced
 * nothing more is asked: a trace does not end because its target is renamed.
 */
static __always_inline int tell_change(struct ids ids, struct task_struct *task, const char *comm)
{
	struct wire_life *l;

	if (bpf_map_lookup_elem(&traced, &ids.tgid) || !is_told_of(ids))
		return 0;
	l = life_record(WIRE_CHANGED, ids, 0);
	if (!l)
		return 0;
	bpf_probe_read_kernel_str(l->comm, sizeof(l->comm), comm ? comm : task->comm);
	bpf_ringbuf_submit(l, wake_flags(true));
	return 0;
}

/* Its first thread, and of no kernel thread. */
static __always_inline bool is_process(struct task_struct *task)
{
	return task->pid == task->tgid && BPF_CORE_READ(task, mm);
}

/* A process has its first thread's name; an exec tells of itself. */
SEC("?tp_btf/task_rename")
int BPF_PROG(life_renamed, struct task_struct *task, const char *comm)
{
	if (!is_process(task))
		return 0;
	return executes(task) ? 0 : tell_change(task_ids(task), task, comm);
}

/* Of a process its first thread is told, after it has been moved. */
SEC("?tp_btf/cgroup_attach_task")
int BPF_PROG(life_moved, struct cgroup *to, const char *path, struct task_struct *task, bool whole)
{
	if (!is_process(task))
		return 0;
	return tell_change(task_ids(task), task, NULL);
}

/* Another thread executes a program: this one's memory lives on, unreachable. */
static __always_inline bool is_swept_away(struct task_struct *task)
{
	return bpf_core_field_exists(task->signal->group_exec_task) &&
	       task->signal->group_exec_task;
}

/* Of a process, at its first thread. */
struct leaving {
	__u32 inside; /* so many of its threads are in thread_exit(); or LEAVING_TOLD and more: its end is told */
	__u32 read; /* one of them has read what all have left */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct leaving);
} leavings SEC(".maps") __weak;

#define LEAVING_TOLD (1u << 31)

static __always_inline struct leaving *leaving_of(struct task_struct *task)
{
	struct task_struct *first = task->group_leader;
	struct leaving *v =
		bpf_task_storage_get(&leavings, first, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	/* Of two that make it at once one has it. */
	return v ?: bpf_task_storage_get(&leavings, first, 0, 0);
}

/*
 * signal->live counts the threads that have not begun to exit; it is lowered
 * before this tracepoint. Whoever sees 0 reads what all have left, by the same
 * look as the one that decides on the key: from then on nobody can. Several may
 * see it, and others be here still that have seen more; but of a process nothing
 * may come behind its end: that is told by who leaves last. Where nothing is
 * counted, deleting the key succeeds for one of those who would tell it.
 */
static __always_inline int thread_exit(struct task_struct *task, const bool tails)
{
	struct ids ids = task_ids(task);
	bool last = BPF_CORE_READ(task, signal, live.counter) == 0;
	struct leaving *v = NULL;

	if (!bpf_map_lookup_elem(&traced, &ids.tgid))
		return 0;
	if (tails)
		v = leaving_of(task);
	if (v && __sync_fetch_and_add(&v->inside, 1) & LEAVING_TOLD)
		return 0;
	if (v && last)
		v->read = 1;
	if (tails && task->mm && (exact || is_swept_away(task)))
		tail_walk(false);
	if (tails && task->mm && last) {
		tail_walk(true);
		tail_armed();
	}
	emit_life(WIRE_THREAD_EXIT, ids, last, task, false);
	/* (What it was is asked for, which makes these barriers.) */
	if (v && __sync_fetch_and_add(&v->inside, -1) != 1)
		return 0;
	if (v ? !v->read : !last)
		return 0;
	/* Else another has come meanwhile. */
	if (v && __sync_val_compare_and_swap(&v->inside, 0, LEAVING_TOLD))
		return 0;
	bpf_map_delete_elem(&marks_armed, &ids.tgid);
	if (!bpf_map_delete_elem(&traced, &ids.tgid))
		emit_life(WIRE_EXIT, ids, 0, task, true);
	return 0;
}

/* One of these is loaded. */
SEC("?tp_btf/sched_process_exit")
int BPF_PROG(life_exit, struct task_struct *task)
{
	return thread_exit(task, true);
}

/* Where the memory is gone by then. Before Linux 5.13 a program that has a function to call back is
 * refused, also where nothing calls it; before 5.11 there is no task storage. */
SEC("?tp_btf/sched_process_exit")
int BPF_PROG(life_exit_bare, struct task_struct *task)
{
	return thread_exit(task, false);
}

/* What threads that have ended left behind is gone with the memory, too; in exact mode they have left
 * nothing, and what others have made is known with their own end alone. */
SEC("?tp_btf/sched_prepare_exec")
int BPF_PROG(tail_exec, struct task_struct *task)
{
	tail_walk(!exact);
	tail_armed();
	return 0;
}
