/* SPDX-License-Identifier: BSD-2-Clause */
/* The live source: attaches to processes and drains the ring buffer. */
#ifndef SOURCE_LIVE_H
#define SOURCE_LIVE_H

#include "source/source.h"

enum live_method {
	METHOD_AUTO, /* flush where the SDK's carrier is found, else direct */
	METHOD_FLUSH, /* batches made in the process */
	METHOD_DIRECT, /* one trap a mark: conventional enter/leave probes */
};

struct live_config {
	const u32 *pids; /* borrowed */
	u32 pid_count;
	char *const *command; /* NULL, or argv to start under the trace */
	u64 ring_bytes; /* 0: LIVE_RING_BYTES; rounded up to a power of two */
	enum live_method method;
	bool no_children; /* do not follow forks */
	u32 hz; /* looks a second at the stacks of stock VMs; 0: 99 */
	bool exact; /* record what the scheduler does to the threads */
};

#define LIVE_RING_BYTES (8ull << 20)

/*
 * Attaches. On return every target is being traced (a command has been
 * started and runs). NULL on failure with *err filled; nothing is left behind.
 */
struct source *live_open(const struct live_config *config, struct err *err);
/* The command's exit status as wait(2) has it, once poll() returned 0; -1 if
 * there was none. */
int live_command_status(const struct source *s);

#endif
