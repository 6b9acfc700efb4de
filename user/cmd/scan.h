/* SPDX-License-Identifier: BSD-2-Clause */
/* All processes here that can be traced. */
#ifndef CMD_SCAN_H
#define CMD_SCAN_H

#include "base/err.h"
#include "model/snapshot.h"
#include "probe/container.h"

struct scan_process {
	u32 pid;
	char name[32]; /* as it gave it to itself: any bytes */
	const char *profile, *path; /* path: any bytes */
	struct snapshot_container container; /* for the duration of the call */
};

/* The container of a process with its name; its texts are in `to`. */
struct snapshot_container scan_container(u32 pid, struct container *to);
/* Calls fn for each, in the order of /proc. How many there were; none is an
 * error (EXIT_NOTHING) with words. */
int scan_processes(void (*fn)(void *ctx, const struct scan_process *p), void *ctx, struct err *e);

#endif
