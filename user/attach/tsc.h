/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The TSC for BPF programs: one msr/tsc perf event a CPU. An event counts from
 * its own start, so each CPU has its own offset to the TSC.
 */
#ifndef ATTACH_TSC_H
#define ATTACH_TSC_H

#include "base/err.h"

struct tsc {
	int *fds; /* by CPU number; -1: the CPU is off-line */
	u64 *offsets; /* by CPU number: TSC - count; 0: not known */
	int cpus; /* possible CPUs */
};

/* Opens and calibrates. -ENODEV: this machine has no such event. */
int tsc_open(struct tsc *t);
void tsc_close(struct tsc *t);

#endif
