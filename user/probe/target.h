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
int target_write(u32 pid, u64 address, const void *from, size_t n);
/*
 * A copy of the SDK: what its semaphore belongs to, whichever version it is of. -EBADMSG: there
 * is none; -ENOTSUP: one of a version that is not known, *head is filled.
 */
int target_registry(u32 pid, u64 address, struct vmspan_registry *head);
/*
 * What defines the ids of a copy of the SDK: the address of its struct vmspan_process, or
 * (*abi1) its own. 0, as target_registry(), or -EAGAIN: it has not begun yet.
 */
int target_definer(u32 pid, u64 copy, u64 *address, bool *abi1);
/* How many groups, compartments and labels it says have been defined. 0 or negative errno. */
int target_defined(u32 pid, u64 address, bool abi1, u32 count[3]);
/* One of version 1. -ENOTSUP: it is of another. */
int target_abi1(u32 pid, u64 address, struct abi1_registry *head);

/* How far a definition log has been read. All zero: nothing yet. */
struct log_cursor {
	u64 block, used;
	u32 blocks;
	u64 bytes;
	bool broken; /* it makes no sense: not read any more */
	bool unread; /* the last reading came upon what could not be read */
};

/* Takes whole slots of a log, unchecked. Non-zero ends the walk. */
typedef int (*log_fn)(void *ctx, const void *data, u32 bytes);

/*
 * Reads what has been added since; `registry` is the address of a struct vmspan_process, or
 * of a struct abi1_registry. 0, also when the memory cannot be read
 * (any more); -EBADMSG when the log turns out to be broken; what fn returned.
 */
int target_log_read(u32 pid, u64 registry, bool abi1, struct log_cursor *c, log_fn fn, void *ctx);

#endif
