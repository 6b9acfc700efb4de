/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Everything that may end a wait for data, behind one descriptor: signals,
 * timers, keys. It is what source_poll() takes as stop_fd. One at a time in a
 * process, since signals are the process's.
 */
#ifndef CMD_WAKE_H
#define CMD_WAKE_H

#include "base/err.h"

enum wake_bit {
	WAKE_STOP = 1 << 0, /* SIGINT, SIGTERM, SIGHUP */
	WAKE_RESIZE = 1 << 1, /* SIGWINCH */
	WAKE_KEY = 1 << 2, /* standard input can be read, or has ended */
	WAKE_FD = 1 << 3, /* a descriptor of wake_on_fd() */
	WAKE_TIMER = 1 << 4, /* + the timer's number */
	WAKE_DUMP = 1 << 8, /* SIGUSR2, after wake_on_dump() */
};

#define WAKE_TIMERS 3

struct wake {
	int epoll;
	int signals; /* read end of the pipe of the signal handlers */
	int timers[WAKE_TIMERS];
};

/* Catches the signals. When hard is set, another SIGINT, SIGTERM or SIGHUP, a second or more after the
 * first, ends the process at once, with a word on standard error and status EXIT_FAILED. */
int wake_open(struct wake *w, bool hard, struct err *e);
/* Nothing would be lost any more: another signal to stop breaks nothing off. */
void wake_all_written(void);
/* SIGUSR2 wakes too, from now on; until then it ends the process, as it does by itself. */
void wake_on_dump(void);
/* Keys wake too, from now on. */
int wake_on_keys(struct wake *w, struct err *e);
/* Wakes while the descriptor can be read, until it is closed. Harmless when it
 * does already. */
int wake_on_fd(struct wake *w, int fd, struct err *e);
/* first 0: disarms. every 0: once. */
void wake_arm(struct wake *w, unsigned int timer, u64 first_ns, u64 every_ns);
/* What has happened since the last call; does not wait. */
unsigned int wake_take(struct wake *w);
/* Waits for something. */
void wake_wait(struct wake *w);
void wake_close(struct wake *w);

/* CLOCK_MONOTONIC. */
u64 now_ns(void);

#endif
