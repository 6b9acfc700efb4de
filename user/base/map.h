/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash map from u64 to u64: open addressing, linear probing, at most 3/4
 * full. Not for keys an attacker chooses freely without `map_seed`.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/types.h"

struct map {
	struct map_slot {
		u64 key, value;
		bool used;
	} * slots;
	size_t cap, len;
	u64 seed; /* set from getrandom(2) on first use */
};

/* The value's place, or NULL. Stays valid until the next map_put/map_del. */
u64 *map_get(const struct map *m, u64 key);
/* Sets key to value. 0 or -ENOMEM. */
int map_put(struct map *m, u64 key, u64 value);
/* Removes key; true if it was there. */
bool map_del(struct map *m, u64 key);
/* Iterates: *at starts as 0. False at the end. The map must not change. */
bool map_next(const struct map *m, size_t *at, u64 *key, u64 *value);
/* Puts all of `from` into `to`. 0 or -ENOMEM, and a part may be there. */
int map_copy(struct map *to, const struct map *from);
/* Empties it. Keeps the memory, unless it is far more than was used. */
void map_clear(struct map *m);
void map_free(struct map *m);

#endif
