/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * By which numbers a process and its threads know themselves: those of their own PID namespace. The
 * kernel tells them in the reader's /proc, so nothing of the process's view of files is asked, which
 * may be without a /proc, or show another's.
 */
#ifndef PROBE_THREADS_H
#define PROBE_THREADS_H

#include "base/map.h"

/* Of the process `pid`; 0: it is gone. */
u32 threads_own_number(u32 pid);
/* Of all its threads, as keys of *to, which is empty. 0 or negative errno; map_free() it in either case. */
int threads_numbers(u32 pid, struct map *to);

#endif
