/* SPDX-License-Identifier: BSD-2-Clause */
/* What `stat --json` has written, read back: groups and their figures. */
#ifndef CMD_SNAPSHOT_FILE_H
#define CMD_SNAPSHOT_FILE_H

#include "base/err.h"
#include "model/snapshot.h"

/* Does the file begin as such a file does? A recording does not. */
bool snapshot_file_is(const char *path);
/*
 * The last whole line: each holds the totals since the start. The snapshot has
 * groups with names, kinds, totals and histograms; its processes are not read.
 * NULL with *err filled.
 */
struct snapshot *snapshot_file_read(const char *path, struct err *err);

#endif
