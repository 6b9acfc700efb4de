/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/task_stat.h"

#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

bool task_has_ended(u32 pid, u32 tid)
{
	char line[TASK_STAT_MAX];
	const char *stat = task_stat(pid, tid, line);

	return !stat || *stat == 'Z' || *stat == 'X';
}

u32 task_living(u32 pid)
{
	char path[32];
	struct dirent *e;
	u32 found = pid;
	DIR *d;

	if (!task_has_ended(pid, pid))
		return pid;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	d = opendir(path);
	while (d && found == pid && (e = readdir(d))) {
		u32 tid = (u32)strtoul(e->d_name, NULL, 10);

		if (tid && !task_has_ended(pid, tid))
			found = tid;
	}
	if (d)
		closedir(d);
	return found;
}

bool task_is_over(u32 pid)
{
	return task_living(pid) == pid && task_has_ended(pid, pid);
}

u32 task_parent(u32 pid)
{
	char line[TASK_STAT_MAX];
	const char *stat = task_stat(pid, 0, line);
	unsigned int parent;

	return stat && sscanf(stat, "%*c %u", &parent) == 1 ? parent : 0;
}
