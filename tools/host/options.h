/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of the demo host. */
#ifndef HOST_OPTIONS_H
#define HOST_OPTIONS_H

#include "base/types.h"

enum mode {
	MODE_RUN, /* virtual time, as fast as it goes, `turns` events a main thread */
	MODE_BUSY, /* enter and leave at a given rate */
	MODE_DEMO, /* real time until stopped */
};

struct options {
	enum mode mode;
	u64 seed;
	u64 turns; /* UINT64_MAX: until stopped */
	u64 rate; /* spans a second of the whole host; 0: no limit */
	u32 pages, addons, workers, processes, groups, modal, depth;
	const char *expect; /* file, "-": stdout, NULL: nowhere */
	bool wait, exec_children, fork_in_run, long_names, hostile, unbalanced;
	u32 child; /* content process number; 0: the main process */
	int control; /* its end of the control socket, if it was exec'ed */
};

/* Exits by itself on --help (0) and on bad usage (2). */
void options_parse(struct options *o, int argc, char **argv);

#endif
