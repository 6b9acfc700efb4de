/* SPDX-License-Identifier: BSD-2-Clause */
/* Starting a command under the trace: it is forked, waits, and executes when everything is ready. One thread. */
#ifndef SOURCE_LIVE_COMMAND_H
#define SOURCE_LIVE_COMMAND_H

#include "base/err.h"

#include <stdbool.h>

struct command {
	int pid; /* 0: none */
	int go; /* write end: releases it; -1: released */
	int result; /* read end: errno of exec, or its end */
	int status; /* as wait(2) has it; -1: not known */
};

/* Forks a process that waits to exec argv; `followed`: its children are traced; *fd is the file it will exec. */
int command_start(struct command *c, char *const *argv, bool followed, int *fd, char **path,
		  struct err *err);
/* Lets it exec. 0, or the negative errno of exec with *err. */
int command_go(struct command *c, char *const *argv, struct err *err);
/* Collects its status; waits for it if `wait`. */
void command_reap(struct command *c, bool wait);
/* A command that has not been released is ended; others run on. */
void command_free(struct command *c);

#endif
