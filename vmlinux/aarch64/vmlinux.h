/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#include "../vmlinux-common.h"

struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
} __attribute__((preserve_access_index));

/* The context of a uprobe program; it begins with the user registers. */
struct pt_regs {
	struct user_pt_regs user_regs;
	int syscallno;
} __attribute__((preserve_access_index));

/* The system call a thread is in, of its saved registers. */
#define PT_REGS_SYSCALL_OF(regs) BPF_CORE_READ(regs, syscallno)

#endif
