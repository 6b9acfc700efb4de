/* SPDX-License-Identifier: BSD-2-Clause */
/* The child process that pages wait for: it stands for a disk or a remote service. */
#ifndef HOST_HELPER_H
#define HOST_HELPER_H

#include "tools/host/world.h"

enum {
	HELPER_MAX = 4096
};

void helper_start(struct helper *h);
/* Sends n <= HELPER_MAX bytes, waits, and receives as many into p. A marked blocking call. */
void helper_echo(struct world *w, char *p, size_t n);
void helper_stop(struct helper *h);

/*
 * To be called first in every child: it dies with the parent, whose pid was
 * `parent` before the fork.
 */
void die_with(pid_t parent);
/* waitpid that does not give up at a signal. The status, as waitpid has it. */
int reap(pid_t pid);

#endif
