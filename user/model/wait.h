/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * On whom threads waited (exact mode): the process that woke a thread, and the
 * group it was in then. First by event, then in all. Only time that was seen to
 * end by somebody's doing is in here; the rest of it has no peer.
 */
#ifndef MODEL_WAIT_H
#define MODEL_WAIT_H

#include "base/map.h"
#include "base/wire.h"

#define WAITS_TURN 1024 /* of one event: further ones are not told apart, nor told */
#define WAITS_MAX 4096 /* of the model: further ones are one row, of peer 0 */

/* As the scheduler's record has it. */
struct peer {
	u32 pid; /* 0: not known */
	u32 comp; /* compartment in the registry; 0: none known */
	u64 registry;
	char comm[16]; /* of the process */
};

/* Whose wait: a row of the process, or one of these. */
#define WAIT_OPEN UINT32_MAX /* the stay around it has not closed */
#define WAIT_NATIVE (UINT32_MAX - 1)

struct turn_wait {
	struct peer peer;
	u32 owner;
	u64 begin; /* cycles: of the first */
	u64 cycles, count;
};

/* Of an event. */
struct turn_waits {
	struct turn_wait *at; /* owned */
	u32 len, cap;
	u32 open; /* of them: WAIT_OPEN */
};

/* Adds one, open. 0 or -ENOMEM. */
int waits_add(struct turn_waits *w, const struct peer *p, u64 begin, u64 end);
/* A stay has closed that began then: those open in it are the owner's. */
void waits_own(struct turn_waits *w, u64 begin, u32 owner);

/* Sums of the same owner and peer. Names: intern ids of the registry set. */
struct wait_row {
	u32 pid, process, group; /* that waited */
	u32 peer_pid, peer_process, peer_group;
	u64 ns, count;
};

struct wait_rows {
	struct wait_row *rows; /* owned; in order of first sight; places stay */
	u32 len, cap;
	struct map at; /* hash of a row's names -> index */
};

/* The row of these names, made if there is none. NULL without memory. */
struct wait_row *wait_row_of(struct wait_rows *w, const struct wait_row *key);
void wait_rows_free(struct wait_rows *w);

#endif
