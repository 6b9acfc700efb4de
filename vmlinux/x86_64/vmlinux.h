/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#include "../vmlinux-common.h"

/* A task's saved registers: what holds arguments, and where it is. */
struct pt_regs {
	unsigned long r13;
	unsigned long r10;
	unsigned long r8;
	unsigned long ax;
	unsigned long di;
	unsigned long si;
	unsigned long dx;
	unsigned long ip;
	unsigned long sp;
	unsigned long bp;
	unsigned long orig_ax;
} __attribute__((preserve_access_index));

/* The system call a thread is in, of its saved registers. */
#define PT_REGS_SYSCALL_OF(regs) BPF_CORE_READ(regs, orig_ax)
/* Its arguments. */
#define PT_REGS_CALL_THIRD(regs) BPF_CORE_READ(regs, dx)
#define PT_REGS_CALL_FOURTH(regs) BPF_CORE_READ(regs, r10)
#define PT_REGS_CALL_FIFTH(regs) BPF_CORE_READ(regs, r8)

#endif
