/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Control groups by what people call them: a path, as /proc/PID/cgroup has it or as a directory below
 * /sys/fs/cgroup; without any '/', the name of a group anywhere in the tree, a systemd unit with or
 * without its suffix, a machine of systemd-nspawn, or a container's id, of which 12 digits are enough; a
 * container's name, or in Kubernetes a pod's, with or without its namespace before it and the container's
 * name behind it. What lies below the group is in it.
 */
#ifndef SOURCE_LIVE_CGROUP_H
#define SOURCE_LIVE_CGROUP_H

#include "base/err.h"

/* Is the process in it now? One that has ended is in none. */
bool cgroup_is(const char *wanted, u32 pid);
/* 0, or with words: -ENOENT, there is none; -E2BIG, there are too many to find it by its name. A misspelt name would
 * be waited for without an end. */
int cgroup_check(const char *wanted, struct err *err);

#endif
