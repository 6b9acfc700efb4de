/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole reads and writes at an offset of a file; signals do not cut them short.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/types.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

#define FILE_PLACE_MAX 4096

/* All of it or a negative errno. */
int file_write(int fd, const void *p, size_t n, u64 offset);
/* Bytes read, fewer than n only at the end of the file, or negative errno. */
ssize_t file_read(int fd, void *p, size_t n, u64 offset);

/*
 * Where a file is to be written that somebody names: behind the links at `path` itself, as long as these are ours or
 * root's, or the kernel's in /proc, which lead to what has been handed over (that may have no name: then `to` is the link).
 * So what is opened or replaced there with O_NOFOLLOW is what we or root have named, whoever else may write in that folder.
 * There need be nothing. 0, 1: by the kernel's; or negative errno: -ELOOP, a link of somebody else's, or too many.
 */
int file_place(const char *path, char to[FILE_PLACE_MAX]);
/* A file that was made a moment ago, and by nobody else. */
struct file_made {
	u64 device, inode; /* inode 0: none was */
};
/*
 * It, opened. What O_CREAT makes, or finds that is ours, is for its owner alone (0600), where its file system has modes. A
 * regular file of somebody else's is refused (-FILE_OTHERS), unless it was handed over or is the one that was made. (Some
 * file systems give what one makes to somebody else.) made may be NULL. A descriptor or negative errno.
 */
#define FILE_OTHERS EOWNERDEAD /* of no use to open() */
int file_open_place(const char *path, int flags, const struct file_made *made);
/* In words: strerror(), but of what those refuse. rc: negative errno. */
const char *file_why(int rc);

/*
 * Files that others name, for reading. A descriptor, or negative errno; -EINVAL: it is no regular file. Nothing
 * else is opened, whoever exchanges the file meanwhile: opening a device may act on it. Needs /proc.
 */
int file_open_regular(const char *path);
/* The same from a folder on; `resolve` says where the path may lead: RESOLVE_* of openat2(2). */
int file_open_regular_in(const char *folder, const char *path, u64 resolve);

#endif
