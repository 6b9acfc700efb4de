/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/task_stat.h"

#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *task_stat(u32 pid, u32 tid, char to[TASK_STAT_MAX])
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), tid ? "/proc/%u/task/%u/stat" : "/proc/%u/stat", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	n = file_read(fd, to, TASK_STAT_MAX - 1, 0);
	close(fd);
	if (n <= 0)
		return NULL;
	to[n] = 0;
	to = strrchr(to, ')');
	return to && to[1] == ' ' ? to + 2 : NULL;
}

u32 task_parent(u32 pid)
{
	char line[TASK_STAT_MAX];
	const char *stat = task_stat(pid, 0, line);
	unsigned int parent;

	return stat && sscanf(stat, "%*c %u", &parent) == 1 ? parent : 0;
}
