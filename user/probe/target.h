/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a registry in a target's memory, which may be hostile and changes
 * while it is read: every length is bounded, every walk counted.
 */
#ifndef PROBE_TARGET_H
#define PROBE_TARGET_H

#include "base/err.h"
#include "base/wire.h"

/* All n bytes, or negative errno. */
int target_read(u32 pid, u64 address, void *to, size_t n);
/* The head. -EBADMSG: there is no registry; -ENOTSUP: one of another ABI,
 * *head is filled. */
int target_registry(u32 pid, u64 address, struct vmspan_registry *head);

/* How far a definition log has been read. All zero: nothing yet. */
struct log_cursor {
	u64 block, used;
	u32 blocks;
	u64 bytes;
	bool broken; /* it makes no sense: not read any more */
};

/* Takes whole slots of a log, unchecked. Non-zero ends the walk. */
typedef int (*log_fn)(void *ctx, const void *data, u32 bytes);

/*
 * Reads what has been added since. 0, also when the memory cannot be read
 * (any more); -EBADMSG when the log turns out to be broken; what fn returned.
 */
int target_log_read(u32 pid, u64 registry, struct log_cursor *c, log_fn fn, void *ctx);

#endif
