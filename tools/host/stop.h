/* SPDX-License-Identifier: BSD-2-Clause */
/* SIGINT and SIGTERM: a request to end after the current turn. */
#ifndef HOST_STOP_H
#define HOST_STOP_H

#include "base/types.h"

/* Installs the handlers; a forked child calls it again, for a pipe of its own. */
void stop_init(void);
bool stop_requested(void);
/* Until the monotonic time `ns`; returns early when a stop is requested. */
void stop_sleep_until(u64 ns);
/* Until fd can be read (or is closed): true. False: a stop is requested. */
bool stop_wait_fd(int fd);
/* A line from fd without its end; false at the end of input, or when a stop is requested. */
bool stop_read_line(int fd, char *line, size_t size);

#endif
