/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording that a live view starts and stops: `vmspan record` as a process
 * of its own. Two tracers of one target do not disturb each other, and the
 * recording holds what every recording holds.
 */
#ifndef CMD_RECORDER_H
#define CMD_RECORDER_H

#include "cmd/output.h"

struct recorder {
	int pid; /* 0: none runs */
	int words; /* read end of its stderr */
	char path[OUTPUT_PATH_MAX];
};

/* Begins to record the processes to a file named after the first, in the
 * current folder; one that exists is left alone. 0, or an error in *err. */
int recorder_start(struct recorder *r, const char *name, const u32 *pids, u32 count,
		   struct err *err);
/* Has it ended by itself? Then says why in `why`, and it is over. */
bool recorder_ended(struct recorder *r, char *why, size_t cap);
/* Ends it and waits until the file is whole. True if it is; else `why`. */
bool recorder_stop(struct recorder *r, char *why, size_t cap);

#endif
