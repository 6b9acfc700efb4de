/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/threads.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A kernel without PID namespaces has no such line: there is but one number. 0: there is no such file.
 * `nested`, where it is asked: the number in the reader's /proc is another's view, whatever it is. */
static u32 number_in(const char *path, u32 reader_has, bool *nested)
{
	u32 number = reader_has;
	char line[512]; /* NSpid: namespaces nest at most 32 deep */
	const char *last;
	FILE *f = fopen(path, "re");

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "NSpid:", 6))
			continue;
		last = strrchr(line, '\t');
		number = last ? (u32)strtoul(last, NULL, 10) : 0;
		if (nested)
			*nested = last && last != strchr(line, '\t');
		break;
	}
	fclose(f);
	return number;
}

u32 threads_own_number(u32 pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	return number_in(path, pid, NULL);
}

/* Where it is not, each of its threads has the number that the reader's /proc has it by, and is not asked: of ten
 * thousand that takes long. */
static bool is_nested(u32 pid)
{
	bool nested = false;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	return !number_in(path, pid, &nested) || nested;
}

int threads_numbers(u32 pid, struct map *to)
{
	bool nested = is_nested(pid);
	char path[64];
	struct dirent *e;
	int r = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	d = opendir(path);
	if (!d)
		return -errno;
	while (!r && (e = readdir(d))) {
		u32 tid = (u32)strtoul(e->d_name, NULL, 10), number;

		snprintf(path, sizeof(path), "/proc/%u/task/%u/status", pid, tid);
		number = tid && nested ? number_in(path, tid, NULL) : tid;
		if (number)
			r = map_put(to, number, tid);
	}
	closedir(d);
	return r;
}
