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
/* Its arguments. */
#define PT_REGS_CALL_THIRD(regs) BPF_CORE_READ(regs, user_regs.regs[2])
#define PT_REGS_CALL_FOURTH(regs) BPF_CORE_READ(regs, user_regs.regs[3])
#define PT_REGS_CALL_FIFTH(regs) BPF_CORE_READ(regs, user_regs.regs[4])

#endif
