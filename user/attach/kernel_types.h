/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel's own description of its types (BTF) tells of it. That is some 5 MB: they are
 * read once in a process, at the first question, and only the answers are kept. Any thread may ask.
 */
#ifndef ATTACH_KERNEL_TYPES_H
#define ATTACH_KERNEL_TYPES_H

#include "base/types.h"

#include <stdbool.h>

/* The tracepoints that vmspan can do without, or has to explain its lack of. */
#define KERNEL_TRACEPOINTS(X)               \
	X(SCHED_SWITCH, sched_switch)       \
	X(SCHED_WAKING, sched_waking)       \
	X(FORK, sched_process_fork)         \
	X(PREPARE_EXEC, sched_prepare_exec) \
	X(IRQ, irq_handler_entry)           \
	X(SOFTIRQ, softirq_entry)           \
	X(HRTIMER, hrtimer_expire_entry)    \
	X(NET_QUEUE, net_dev_queue)         \
	X(NET_RECEIVE, netif_receive_skb)

enum kernel_tracepoint {
#define X(id, name) KERNEL_TP_##id,
	KERNEL_TRACEPOINTS(X)
#undef X
	KERNEL_TP_COUNT
};

struct kernel_types {
	int error; /* 0, or -errno: there is no description, and nothing below is known */
	u32 count; /* of types */
	bool has[KERNEL_TP_COUNT]; /* programs can be attached to it */
	/* Does a process still have its memory where its end can be watched (sched_process_exit)?
	 * From Linux 6.16 on; the tracepoint got a third argument in the same change. */
	bool exit_has_memory;
	/* Does a run queue have a place for what a hypervisor stole? In kernels built with
	 * CONFIG_PARAVIRT_TIME_ACCOUNTING. */
	bool has_run_queue, run_queue_has_steal;
};

/* Of the running kernel. Never NULL. */
const struct kernel_types *kernel_types(void);
bool kernel_has_tracepoint(enum kernel_tracepoint tp);
const char *kernel_tracepoint_name(enum kernel_tracepoint tp);

#endif
