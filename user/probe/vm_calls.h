/* SPDX-License-Identifier: BSD-2-Clause */
/* Do a stock VM's probes at calls fire, and what does it take? */
#ifndef PROBE_VM_CALLS_H
#define PROBE_VM_CALLS_H

#include "probe/vm.h"

struct vm_calls {
	/* Offsets in the file. switch_offset: a semaphore that has to be up, or
	 * 0; quiet_offset: code that ran when the file was loaded, and runs no
	 * more: a breakpoint there carries the semaphore. */
	u64 switch_offset, quiet_offset;
};

/* 0, or -ENOTSUP with the reason and what to do. */
int vm_calls_check(u32 pid, const struct vm_target *t, struct vm_calls *c, struct err *err);

#endif
