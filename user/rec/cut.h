/* SPDX-License-Identifier: BSD-2-Clause */
/* A part of a recording as a recording of its own. */
#ifndef REC_CUT_H
#define REC_CUT_H

#include "base/err.h"
#include "model/item.h"

/*
 * Writes what the recording `from` holds of begin_ns ... end_ns
 * (CLOCK_MONOTONIC; to the clock items around them, so a bit more) to `to`,
 * with all definitions that are needed to read it. `from` may be under way, or
 * a ring. What was lost before the part is not of it. `open`: what goes on at its end, which the part
 * has as not ended; borrowed. 0 or negative errno with *err filled; then `to` is removed.
 */
int rec_cut(const char *from, const char *to, u64 begin_ns, u64 end_ns,
	    const struct item_unfinished *open, u32 open_count, struct err *err);

#endif
