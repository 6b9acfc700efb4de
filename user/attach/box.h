/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this process itself runs in: a container, and a filter of system calls (seccomp). A filter's
 * refusal looks like the kernel's: without this, a call that is refused would be taken for one that the
 * kernel does not have. Any thread.
 */
#ifndef ATTACH_BOX_H
#define ATTACH_BOX_H

#include "base/types.h"

/* System calls that tracing takes. Bits. */
enum box_call {
	BOX_BPF = 1,
	BOX_PERF_EVENT_OPEN = 2,
	BOX_PROCESS_VM_READV = 4,
	BOX_PROCESS_VM_WRITEV = 8,
};

/* Those that a filter refuses for certain. */
u32 box_refused(void);
/* There is a filter, and whether it refuses bpf(2) nobody knows: without CAP_BPF the kernel does. */
bool box_unsure(void);
/* bpf(2) answers nothing here, whoever refuses it: what the kernel has cannot be found out. */
bool box_bpf_closed(void);
/* Ours is not the first user namespace: no capability of it counts for bpf(2). */
bool box_user_namespace(void);
/* "bpf(2), perf_event_open(2)" of box_refused()'s bits. */
#define BOX_CALLS_MAX 96
void box_calls(u32 calls, char to[BOX_CALLS_MAX]);
/* What to do about refused calls: a sentence. */
const char *box_allow(void);
/* What to do about missing capabilities, where that is another thing in a container than a command: a
 * sentence; else NULL. */
const char *box_give(bool sys_admin_too);
/* As its own manual calls it; NULL: none that is known. */
const char *box_container(void);

#endif
