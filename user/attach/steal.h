/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CPU time that a hypervisor takes from this machine while it wants to run, by the
 * kernel's own count in /proc/stat. A machine that is idle loses nothing, so what was
 * stolen is set against what was wanted: used and stolen.
 */
#ifndef ATTACH_STEAL_H
#define ATTACH_STEAL_H

#include "base/types.h"

/* Ticks of /proc's clock. The kernel counts finer and shows full ticks, so a
 * difference of n is more than n - 1 and less than n + 1. */
struct steal_cpu {
	u32 cpu;
	u64 used, stolen;
};

/* Of more CPUs than these only the sum is known. */
#define STEAL_CPUS 1024

struct steal_count {
	u64 used, stolen; /* of all CPUs, those that have gone included */
	u32 cpu_count;
	struct steal_cpu cpus[STEAL_CPUS]; /* ascending; those that could be read */
};

/*
 * The lines of CPUs at the beginning of /proc/stat; a line without an end counts as
 * cut off. 0, -EINVAL: not such a text, -ENODATA: it has no column for stolen time.
 */
int steal_parse(const char *text, size_t len, struct steal_count *c);
/* The same of a file, of which 256 KB are read at most. Other negative errno. */
int steal_read(const char *path, struct steal_count *c);

/*
 * What was counted from one reading to the next; d may be `from`. CPUs that are not in
 * both, or whose counts have gone back, are left out. -ERANGE: the sums have gone back,
 * as when a machine is moved or restored.
 */
int steal_between(const struct steal_count *from, const struct steal_count *to,
		  struct steal_count *d);

/*
 * Is it certain that a hundredth or more of what was wanted was stolen? That is as much
 * as --exact may be wrong by in an event's CPU time (BENCHMARKS.md), and the part of an
 * event up to which a difference of its clocks passes as their error; less is hidden
 * behind either. A single tick is certain of nothing.
 */
bool steal_matters(u64 used, u64 stolen);
/* The CPU from which certainly a hundredth was stolen, and certainly twice as large a part
 * as from all the others; NULL: there is none. */
const struct steal_cpu *steal_worst(const struct steal_count *d);

enum steal_answer {
	STEAL_UNKNOWN,
	STEAL_NO,
	STEAL_YES,
};

struct steal_host {
	enum steal_answer is_virtual; /* is this a virtual machine? */
	enum steal_answer tells; /* does its hypervisor say what it takes? */
	enum steal_answer clock_without; /* do CPU clocks of threads leave it out? */
};

/* The four registers that CPUID gives. */
typedef void (*steal_cpuid)(u32 leaf, u32 regs[4]);

/* What the kernel makes of it: has it the code to leave stolen time out of the clocks of
 * threads, and what is on its command line? */
struct steal_kernel {
	enum steal_answer accounts;
	const char *command_line;
};
/* cpuid NULL: there is no such thing. */
void steal_host(struct steal_host *h, steal_cpuid cpuid, const struct steal_kernel *k);

/* What doctor knows of it. */
struct steal_look {
	struct steal_host host;
	u64 hz; /* ticks a second */
	u64 boot_ns, window_ns;
	int boot_error, window_error; /* 0, or why the figures are not known */
	struct steal_count boot, window;
};

void steal_look_begin(struct steal_look *l);
/* Waits until at least so long has passed since then. */
void steal_look_end(struct steal_look *l, u64 least_ns);

/* Ticks in ns; UINT64_MAX where it is more. */
u64 steal_ns(u64 ticks, u64 hz);

#endif
