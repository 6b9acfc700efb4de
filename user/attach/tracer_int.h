/* SPDX-License-Identifier: BSD-2-Clause */
/* The tracer's inside, for user/attach/ alone. */
#ifndef ATTACH_TRACER_INT_H
#define ATTACH_TRACER_INT_H

#include "attach/tracer.h"
#include "attach/tsc.h"
#include "attach/vm_timers.h"

#include <bpf/libbpf.h>

#include "vmspan.skel.h"

struct tracer {
	struct vmspan_bpf *skel;
	struct tsc tsc;
	u64 ring_bytes;
	bool has_life, tails, has_tsc, direct, children, exact, calls, names, groups, exec;
	struct err no_exact; /* why exact mode, which was asked for, is not on */
	bool has_multi; /* the kernel has uprobe_multi links: armed_multi is loaded */
	bool multi; /* the carrier is loaded for one; perf events are not permitted */
	/* See vm.c: births and ends; scheduler and loops. */
	struct vm_links {
		struct bpf_link **links; /* owned */
		u32 count;
	} vm_life, vm_run;
	struct vm_timers vm_timers;
	bool vm_running, vm_loops, vm_walks; /* what vm_start() has started */
	bool sched_on; /* the scheduler is being recorded */
	u32 sched_times; /* how often that has begun */
};

/* Runs an iterator's program for each thread of the process, where the kernel cannot do that
 * for each thread of the machine; pid 0: for these. -errno. */
int tracer_each_task(struct bpf_program *p, u32 pid);

#endif
