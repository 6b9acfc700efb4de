/* SPDX-License-Identifier: BSD-2-Clause */
/* How a process was started, as it has that in its memory: which is its own to change. */
#ifndef PROBE_STARTED_H
#define PROBE_STARTED_H

#include "base/types.h"

/* Strings of /proc/PID/NAME ("cmdline", "environ"), each terminated, and an empty one; the first 256 KB.
 * Freed by the caller. NULL: no memory; what cannot be read has no string. */
char *started_strings(u32 pid, const char *name);
/* The number that a variable of its environment begins with. 0: it is not set, or to none. */
long started_number(u32 pid, const char *variable);

#endif
