/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that tests write, below TMPDIR; nothing of them is left, however a test ends. */
#ifndef TEMP_H
#define TEMP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TEMP_PATH 256

static inline const char *temp_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && *folder ? folder : "/tmp";
}

/* A template for mkstemp and mkdtemp. */
static inline void temp_template(char path[TEMP_PATH])
{
	snprintf(path, TEMP_PATH, "%s/vmspan-test-XXXXXX", temp_folder());
}

/*
 * An empty file for reading and writing that has no name. `path`, if not NULL,
 * becomes a way to open it anew, for as long as the descriptor returned is open.
 * -1: it cannot be made, errno.
 */
static inline int temp_file(char path[TEMP_PATH])
{
	char name[TEMP_PATH];
	int fd;

	temp_template(name);
	fd = mkstemp(name);
	if (fd < 0)
		return -1;
	unlink(name);
	if (path)
		snprintf(path, TEMP_PATH, "/proc/self/fd/%d", fd);
	return fd;
}

#endif
