/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel types the BPF programs use, and no more; vmlinux/README.md says
 * how they were chosen. Field offsets come from the running kernel's BTF
 * (CO-RE), so only names and types matter here. Values of enumerators are
 * part of the kernel's ABI.
 */
#ifndef VMLINUX_COMMON_H
#define VMLINUX_COMMON_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef int pid_t;
typedef _Bool bool;

enum {
	false = 0,
	true = 1
};

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1
};

enum {
	BPF_F_NO_PREALLOC = 1
};

enum {
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1
};

enum {
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2
};

enum {
	BPF_RB_AVAIL_DATA = 0,
	BPF_RB_RING_SIZE = 1
};

#define BPF_F_CURRENT_CPU 0xffffffffULL

struct bpf_perf_event_value {
	__u64 counter;
	__u64 enabled;
	__u64 running;
};

enum pid_type {
	PIDTYPE_PID = 0,
	PIDTYPE_TGID = 1
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct task_struct;

struct signal_struct {
	atomic_t live;
	struct task_struct *group_exec_task;
	struct pid *pids[4];
};

struct rq {
	__u64 clock;
	__u64 prev_steal_time_rq;
};

struct cfs_rq {
	struct rq *rq;
	int throttle_count; /* groups around it whose quota is used up, itself included */
};

struct sched_entity {
	__u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq;
};

struct sched_info {
	unsigned long pcount;
	unsigned long long last_arrival;
};

struct mm_struct {
	unsigned long arg_start;
};

struct completion;

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	int prio;
	struct mm_struct *mm;
	struct sched_entity se;
	struct sched_info sched_info;
	pid_t pid;
	pid_t tgid;
	struct task_struct *real_parent;
	struct pid *thread_pid;
	struct completion *vfork_done;
	unsigned int in_iowait : 1;
	unsigned int frozen : 1; /* Linux 5.2 */
	_Bool throttled; /* Linux 6.18 */
	unsigned int in_execve : 1;
	char comm[16];
	struct task_struct *group_leader;
	struct signal_struct *signal;
};

struct net_device {
	unsigned int flags;
};

struct sk_buff {
	struct net_device *dev;
};

struct linux_binprm;
struct cgroup;
struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

#endif
