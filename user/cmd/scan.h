/* SPDX-License-Identifier: BSD-2-Clause */
/* All processes here that can be traced. */
#ifndef CMD_SCAN_H
#define CMD_SCAN_H

#include "base/err.h"

struct scan_process {
	u32 pid;
	char name[32]; /* as it gave it to itself: any bytes */
	const char *profile, *path; /* path: any bytes */
};

/* Calls fn for each, in the order of /proc. How many there were; none is an
 * error (EXIT_NOTHING) with words. */
int scan_processes(void (*fn)(void *ctx, const struct scan_process *p), void *ctx, struct err *e);

#endif
