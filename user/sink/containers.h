/* SPDX-License-Identifier: BSD-2-Clause */
/* Containers in words and in JSON; of what is traced and of what could be. */
#ifndef SINK_CONTAINERS_H
#define SINK_CONTAINERS_H

#include "base/json.h"
#include "model/snapshot.h"

/* "podman:web", fit for a terminal; where no name is known with the first digits of the id, cut at the end; "": none.
 * Returns `to`. */
#define CONTAINER_LABEL_MAX 256
const char *container_label(const struct snapshot_container *c, char to[CONTAINER_LABEL_MAX]);
/* The key "container" of a process; nothing where there is none. */
void container_json(struct json *j, const struct snapshot_container *c);
/* "runtime", "id" and "name" alone. */
void container_keys(struct json *j, const struct snapshot_container *c);

/* What the processes of a container add up to, those that have ended too. */
struct container_sum {
	struct snapshot_container container; /* as it was last called */
	u64 number; /* the same in all snapshots of one model */
	u32 processes; /* that have not ended */
	struct event_stats events;
	struct gc_stats gc;
	struct ledger ledger;
};

struct container_sums {
	struct container_sum *list; /* owned; in order of first sight */
	u32 count;
	u32 *of; /* owned; of each process of the snapshot: its place in the list, or `count` where it is in none */
};

/* 0 or -ENOMEM. The texts are the snapshot's. */
int container_sums_take(struct container_sums *c, const struct snapshot *s);
void container_sums_free(struct container_sums *c);

#endif
