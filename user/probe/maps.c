/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/maps.h"

#include "base/file.h"
#include "base/task_stat.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One line; false if it is not an executable mapping of a file. */
static bool parse_line(const char *line, struct map_entry *e, int *path_at)
{
	unsigned int major, minor;
	char perms[8];

	*path_at = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n", &e->start,
		   &e->end, perms, &e->pgoff, &major, &minor, &e->inode, path_at) < 7 ||
	    !*path_at)
		return false;
	e->dev = (u64)major << 32 | minor;
	return perms[2] == 'x' && e->inode && line[*path_at] == '/' && e->end > e->start;
}

static int add(struct maps *m, const struct map_entry *e, const char *path)
{
	struct map_entry *grown;

	if ((m->count & (m->count - 1)) == 0) {
		grown = realloc(m->entries, (m->count ? 2 * m->count : 1) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		m->entries = grown;
	}
	m->entries[m->count] = *e;
	m->entries[m->count].path = strdup(path);
	if (!m->entries[m->count].path)
		return -ENOMEM;
	m->count++;
	return 0;
}

static int read_of(u32 pid, struct maps *m)
{
	char path[32], *line = NULL;
	struct map_entry e;
	size_t cap = 0;
	int at, r = 0;
	u32 lines = 0;
	ssize_t n;
	FILE *f;

	memset(m, 0, sizeof(*m));
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	errno = 0;
	while (!r && lines++ < MAPS_MAX && (n = getline(&line, &cap, f)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = 0;
		if (parse_line(line, &e, &at))
			r = add(m, &e, line + at);
	}
	if (!r && ferror(f))
		r = errno ? -errno : -EIO;
	free(line);
	fclose(f);
	if (r)
		maps_free(m);
	return r;
}

int maps_read(u32 pid, struct maps *m)
{
	int r = read_of(pid, m);
	u32 living;

	if (r || m->count)
		return r;
	living = task_living(pid);
	return living == pid ? 0 : read_of(living, m);
}

void maps_free(struct maps *m)
{
	u32 i;

	for (i = 0; i < m->count; i++)
		free(m->entries[i].path);
	free(m->entries);
	memset(m, 0, sizeof(*m));
}

static int open_of(u32 pid, const struct map_entry *e)
{
	char path[PATH_MAX + 32], target[PATH_MAX];
	int fd, first;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, pid, e->start,
		 e->end);
	first = file_open_regular(path);
	/* It takes CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE, and the folder is its user's alone. */
	if (first >= 0 || first == -EINVAL)
		return first;
	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	n = readlink(path, target, sizeof(target) - 1);
	if (n > 0) {
		target[n] = 0;
		if (!strcmp(target, e->path))
			return file_open_regular(path);
	}
	snprintf(path, sizeof(path), "/proc/%u/root%s", pid, e->path);
	fd = file_open_regular(path);
	return fd >= 0 ? fd : first;
}

int maps_open(u32 pid, const struct map_entry *e)
{
	int fd = open_of(pid, e);
	u32 living;

	if (fd >= 0 || fd == -EINVAL)
		return fd;
	living = task_living(pid);
	return living == pid ? fd : open_of(living, e);
}

bool maps_gone(u32 pid)
{
	struct maps m;
	int r = maps_read(pid, &m);
	bool gone = r == -ESRCH || (!r && !m.count);

	if (!r)
		maps_free(&m);
	return gone;
}

const char *maps_denied(const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t n = strlen(path), end = sizeof(deleted) - 1;

	/* Another file may have its name by now: it is had by its mapping alone. */
	return n >= end && !strcmp(path + n - end, deleted)
		       ? "Run vmspan as root (sudo), or start the program anew: its file is "
			 "deleted or "
			 "replaced. Such a file is opened with CAP_CHECKPOINT_RESTORE, and another "
			 "user's process takes CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH for it too."
		       : "Run vmspan as root (sudo), or give it CAP_SYS_PTRACE; where folders on "
			 "its way are closed to others, CAP_DAC_READ_SEARCH too.";
}
