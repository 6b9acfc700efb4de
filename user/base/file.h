/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole reads and writes at an offset of a file; signals do not cut them short.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/types.h"

#include <sys/types.h>

/* All of it or a negative errno. */
int file_write(int fd, const void *p, size_t n, u64 offset);
/* Bytes read, fewer than n only at the end of the file, or negative errno. */
ssize_t file_read(int fd, void *p, size_t n, u64 offset);

/*
 * Files that others name, for reading. A descriptor, or negative errno; -EINVAL: it is no regular file. Nothing
 * else is opened, whoever exchanges the file meanwhile: opening a device may act on it. Needs /proc.
 */
int file_open_regular(const char *path);
/* The same from a folder on; `resolve` says where the path may lead: RESOLVE_* of openat2(2). */
int file_open_regular_in(const char *folder, const char *path, u64 resolve);

#endif
