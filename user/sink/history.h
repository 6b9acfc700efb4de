/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The self time of every group in the latest intervals, for a sparkline a row.
 * 80 bytes a group.
 */
#ifndef SINK_HISTORY_H
#define SINK_HISTORY_H

#include "base/out.h"
#include "model/snapshot.h"

#define HISTORY_LEN 32 /* intervals kept */

struct history;

struct history *history_new(void);
void history_free(struct history *h);
/* total: since the start. elapsed_ns: since the last call. 0 or -ENOMEM. */
int history_add(struct history *h, const struct snapshot *total, u64 elapsed_ns);
/* Prints the newest `columns` intervals of a group, oldest first, in blocks of
 * eight heights, or in ASCII. Scaled to the group's own largest. */
void history_put(const struct history *h, u64 group, unsigned int columns, bool ascii,
		 struct out *o);

#endif
