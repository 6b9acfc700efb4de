/* SPDX-License-Identifier: BSD-2-Clause */
/* The moments a live view subtracts: the last interval's, and those of a
 * window that slides. They are kept packed. */
#ifndef CMD_WINDOW_H
#define CMD_WINDOW_H

#include "base/buf.h"
#include "model/snapshot.h"

#define WINDOW_STEPS 10

struct window {
	struct moment {
		u64 ns; /* CLOCK_MONOTONIC */
		struct buf packed;
	} last, list[WINDOW_STEPS + 2]; /* list: oldest first */
	u32 count;
	u64 span_ns; /* of the window that is kept; 0: none */
};

/* A moment that a later one may be compared with: what snapshot_pack() made
 * of it, which is taken over. groups: how many it has. span_ns: of the window
 * wanted from now on; 0 or UINT64_MAX: none. 0 or -ENOMEM. */
int window_add(struct window *w, struct buf *packed, u32 groups, u64 now, u64 span_ns);
/*
 * total becomes what happened in the last interval (span_ns 0) or in the last
 * span_ns, or since there is data for it; *elapsed_ns says how long that is.
 */
int window_cut(const struct window *w, struct snapshot *total, u64 now, u64 span_ns,
	       u64 *elapsed_ns);
void window_release(struct window *w);

#endif
