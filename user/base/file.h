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

#endif
