/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's part of rseq(2), played: the SDK is shown a struct rseq that the kernel does not know, and
 * what the kernel does to an interrupted thread is done by the test, where it wants it. So no other
 * program's doings show in the marks. A step or a breakpoint is a signal besides, and each would make the
 * kernel begin the mark anew: no instruction behind the first of a sequence would ever be seen.
 */
#ifndef RSEQ_PLAYED_H
#define RSEQ_PLAYED_H

#include "sdk/vmspan.h"

struct rseq_played {
	vmspan_u32 cpu_start, cpu;
	vmspan_u64 section;
	vmspan_u32 rest[4];
};
static __thread struct rseq_played rseq_played __attribute__((aligned(32)));

/* For this thread. `real`: it ends for all, who have the kernel's there again. */
static VMSPAN__UNUSED void rseq_play(vmspan_i64 real)
{
	vmspan_registry_2.rseq =
		real ? real
		     : (vmspan_i64)((vmspan_u64)(size_t)&rseq_played - vmspan__thread_pointer());
}

/* The thread is interrupted at ip, by a signal, or it loses its CPU: where it goes on. */
static VMSPAN__UNUSED vmspan_u64 rseq_interrupt(vmspan_u64 ip)
{
	const struct vmspan_section *s = (const struct vmspan_section *)(size_t)rseq_played.section;

	if (!s)
		return ip;
	rseq_played.section = 0;
	return ip - s->start < s->length ? s->abort : ip;
}

#endif
