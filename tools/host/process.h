/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Content processes. Each runs a world of its own and talks to the main
 * process over a socket: it says `R` when it is ready, is told `G` to go,
 * sends its expectation, and ends when the socket is closed. The main
 * process's signal to stop is passed on.
 */
#ifndef HOST_PROCESS_H
#define HOST_PROCESS_H

#include "tools/host/expect.h"
#include "tools/host/world.h"

/*
 * Starts them all, or with --fork-in-run makes their worlds here. Before any
 * thread is started. Returns how many definitions that took in this process.
 */
u64 processes_start(const struct options *o, char **argv);
/* Returns when all that were started are ready. */
void processes_ready(void);
void processes_go(void);
/* --fork-in-run: forks those whose turn it is. Only between the turns of `main`. */
void processes_fork_due(const struct world *main, u64 turn);
/* Asks all to stop after the current turn. */
void processes_stop(void);
/* Waits for the expectations: all[0...] is filled in. Returns how many there are. */
size_t processes_collect(struct expect *all);
/* Ends and reaps them. 0, or 1 if one failed. */
int processes_quit(void);

/* The whole life of a content process that was exec'ed. */
int process_main(const struct options *o);

#endif
