/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a reader needs to know to begin in the middle of a stream: the latest
 * clocks, the processes and threads that live, all definitions in force. All
 * of it is named by the target, so all of it is bounded.
 */
#ifndef REC_STATE_H
#define REC_STATE_H

#include "model/item.h"

enum {
	STATE_REGISTRY_BYTES = 16 << 20, /* definitions of one registry */
	STATE_ALL_BYTES = 64 << 20, /* of all of them */
	STATE_REGISTRIES = 64, /* of one process */
	STATE_PROCESSES = 1 << 16,
	STATE_THREADS = 1 << 16,
	STATE_NAME = 255, /* bytes of a process's or thread's name that are kept */
	STATE_PIECE = 4096, /* bytes of definitions in one item, at most */
};

struct state;

struct state *state_new(void);
void state_free(struct state *s);
/* Takes note of an item of the stream. 0 or -ENOMEM. */
int state_note(struct state *s, const struct item *it);
/* The latest clocks, all 0 before the first. */
const struct item_clock *state_clock(const struct state *s);
/* Definitions kept, in bytes. */
u64 state_bytes(const struct state *s);
/* Definitions not kept because there were too many, ever. */
u64 state_dropped(const struct state *s);
/*
 * Hands out the state as items; processes that have ended with their end, for
 * the last time: batches of them may still be on the way. fn returns 0, a
 * negative errno, or 1: there is no room, which for definitions is counted and
 * for the rest ignored. What is missing is said by a last ITEM_LOSS.
 */
int state_emit(struct state *s, item_fn fn, void *ctx);

#endif
