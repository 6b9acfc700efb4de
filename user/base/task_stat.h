/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_TASK_STAT_H
#define BASE_TASK_STAT_H

#include "base/types.h"

#define TASK_STAT_MAX 1024

/*
 * What /proc/PID/stat, or /proc/PID/task/TID/stat (tid not 0), has behind the name, from the third field on
 * (proc(5): the state). A name is its owner's to choose, brackets and ends of lines in it too. Points into
 * `to`; NULL: there is no such thread.
 */
const char *task_stat(u32 pid, u32 tid, char to[TASK_STAT_MAX]);
/* A thread is a zombie, or there is none. Of a process's first, others may go on: see task_living(). */
bool task_has_ended(u32 pid, u32 tid);
/* Of a process; 0: none, or it is gone. */
u32 task_parent(u32 pid);
/*
 * The thread of a process by which its memory and its files are to be asked for: the first, or where that has ended
 * while others go on, which the kernel has as a zombie without either, one of those. Also where the process is gone: pid.
 */
u32 task_living(u32 pid);
/* All of its threads have ended, or there is no such process. */
bool task_is_over(u32 pid);

#endif
