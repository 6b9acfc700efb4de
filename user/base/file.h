/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole reads and writes at an offset of a file; signals do not cut them short.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/types.h"

#include <sys/types.h>

#define FILE_PLACE_MAX 4096

/* All of it or a negative errno. */
int file_write(int fd, const void *p, size_t n, u64 offset);
/* Bytes read, fewer than n only at the end of the file, or negative errno. */
ssize_t file_read(int fd, void *p, size_t n, u64 offset);

/*
 * Where a file is to be written that somebody names: behind the links at `path` itself, as long as these are ours or
 * root's, or the kernel's in /proc (what those lead to may have no name: then `to` is the link). So what is opened or replaced there with O_NOFOLLOW is what we
 * or root have named, whoever else may write in that folder. 0 or negative errno: -ELOOP, a link of somebody else's, or
 * too many. There need be nothing.
 */
int file_place(const char *path, char to[FILE_PLACE_MAX]);
/* In words: strerror(), but of what those refuse. rc: negative errno. */
const char *file_why(int rc);
/* It, opened; what is made is for its owner alone (0600). A descriptor or negative errno. */
int file_open_place(const char *path, int flags);

/*
 * Files that others name, for reading. A descriptor, or negative errno; -EINVAL: it is no regular file. Nothing
 * else is opened, whoever exchanges the file meanwhile: opening a device may act on it. Needs /proc.
 */
int file_open_regular(const char *path);
/* The same from a folder on; `resolve` says where the path may lead: RESOLVE_* of openat2(2). */
int file_open_regular_in(const char *folder, const char *path, u64 resolve);

#endif
