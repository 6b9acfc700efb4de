/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command of `watch --exec CMD`: one run an alert, the alert as JSON on
 * its standard input. No shell and nothing from the target is in its
 * arguments. Never two at once: alerts wait, up to a limit. One that hangs is
 * killed.
 */
#ifndef CMD_WATCH_EXEC_H
#define CMD_WATCH_EXEC_H

#include "cmd/wake.h"

#define EXEC_LIMIT_NS (10 * NSEC_PER_SEC)
#define EXEC_QUEUE 64

struct exec_counts {
	u64 runs; /* ended */
	u64 failed; /* of them: could not start, a status other than 0, killed */
	u64 killed; /* of those: they took too long */
	u64 dropped; /* alerts: too many were waiting, or the end did not wait */
};

struct exec;

/* command: words separated by blanks, no quotes. limit_ns 0: default. Fails
 * when there is no such program. */
struct exec *exec_open(const char *command, u64 limit_ns, struct err *err);
/* Runs it with `len` bytes on its standard input, now or when those before
 * have ended. */
void exec_run(struct exec *x, const void *text, size_t len);
/* Becomes readable when the run has ended; -1: none is under way. Another
 * descriptor after each exec_poll() and exec_run(). */
int exec_fd(const struct exec *x);
/* When exec_poll() is wanted, CLOCK_MONOTONIC; 0: not. */
u64 exec_due(const struct exec *x);
/* Takes note of a run that has ended or hangs, and starts the next. */
void exec_poll(struct exec *x);
/* How many runs are under way or wait. */
u32 exec_left(const struct exec *x);
/* Waits for all of them; each below the limit. -EINTR: somebody has asked w to stop:
 * what ran is killed, what waited is dropped, and counted. */
int exec_wait(struct exec *x, struct wake *w);
void exec_counts(const struct exec *x, struct exec_counts *c);
/* Kills what runs. */
void exec_free(struct exec *x);

#endif
