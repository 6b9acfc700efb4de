/* SPDX-License-Identifier: BSD-2-Clause */
/* The executable files a process has mapped. */
#ifndef PROBE_MAPS_H
#define PROBE_MAPS_H

#include "base/err.h"

/* A mapping of a file with the right to execute. */
struct map_entry {
	u64 start, end; /* addresses */
	u64 pgoff; /* offset in the file, bytes */
	u64 dev, inode; /* as the kernel prints them: not always stat(2)'s */
	char *path; /* owned; as the target sees it, "(deleted)" included */
};

struct maps {
	struct map_entry *entries; /* in the order of addresses */
	u32 count;
};

/* Reads /proc/PID/maps, at most MAPS_MAX of its lines. 0, negative errno. */
#define MAPS_MAX 262144
int maps_read(u32 pid, struct maps *m);
void maps_free(struct maps *m);
/*
 * Opens the mapped file itself, deleted or in another mount namespace
 * included: through map_files, else /proc/PID/exe, else /proc/PID/root. A
 * descriptor or negative errno (-EINVAL: not a regular file).
 */
int maps_open(u32 pid, const struct map_entry *e);
/* Has the process lost its memory since its map was read? Its files cannot be opened any more then, which looks like a
 * permission that is missing. */
bool maps_gone(u32 pid);
/* What to do about a file that maps_open() had no permission for: a sentence. */
const char *maps_denied(const char *path);

#endif
