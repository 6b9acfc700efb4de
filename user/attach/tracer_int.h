/* SPDX-License-Identifier: BSD-2-Clause */
/* The tracer's inside, for user/attach/ alone. */
#ifndef ATTACH_TRACER_INT_H
#define ATTACH_TRACER_INT_H

#include "attach/tracer.h"
#include "attach/tsc.h"
#include "attach/vm_timers.h"
#include "base/buf.h"

#include <bpf/libbpf.h>

#include "vmspan.skel.h"

/* What sites hand over, as the kernel side's table has it: described once however many links have it. */
struct vm_args {
	int fd; /* of the table; borrowed */
	struct vm_args_set *sets; /* owned, or NULL: see vm_sites.c */
};

/* A link of libbpf's (a perf event), or a descriptor (uprobe_multi). */
struct site_link {
	struct bpf_link *link; /* owned, or NULL */
	int fd; /* owned, or -1 */
	struct vm_args *args; /* `sets` are of it */
	u16 *sets; /* owned: one a site */
	u32 set_count;
};
/* Takes what it is given, also when there is no memory: then NULL with errno. */
struct site_link *site_link_new(struct bpf_link *link, int fd);

struct tracer {
	struct vmspan_bpf *skel;
	struct tsc tsc;
	u64 ring_bytes;
	bool has_life, ends, has_tsc, direct, children, exact, calls, names, groups, exec;
	struct err no_exact; /* why exact mode, which was asked for, is not on */
	bool has_multi; /* the kernel has uprobe_multi links: armed_multi is loaded */
	bool multi; /* the carrier is loaded for one; perf events are not permitted */
	bool vm_multi; /* so are the programs at probes of stock VMs */
	struct vm_args vm_args;
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
/* The same for each thread of the machine, and adds what the program writes, some more than `most` bytes at most. -errno. */
int tracer_read_tasks(struct bpf_program *p, struct buf *to, size_t most);

#endif
