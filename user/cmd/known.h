/* SPDX-License-Identifier: BSD-2-Clause */
/* The names that definitions give; the last one of an id holds. */
#ifndef CMD_KNOWN_H
#define CMD_KNOWN_H

#include "base/map.h"
#include "model/item.h"

struct known_name {
	u8 type; /* VMSPAN_DEF_* */
	u32 id;
	const char *kind; /* of a group: "addon", ...; else what it is */
	char *name; /* owned; any bytes, `len` of them */
	size_t len;
};

/* All zero: empty. */
struct known_names {
	struct known_name *list; /* owned, in order of arrival */
	u32 count;
	struct map spaces; /* hash of (pid, registry) -> number */
	struct map index; /* space, type and id -> place + 1 */
};

/* Takes the definitions out of checked records; ids belong to (pid, registry).
 * 0 or -ENOMEM. */
int known_add(struct known_names *k, u32 pid, u64 registry, const void *data, u32 bytes);
/* Names of a type, each once, however many registries have it. */
u32 known_count(const struct known_names *k, u8 type);
void known_each(const struct known_names *k, u8 type,
		void (*fn)(void *ctx, const struct known_name *n), void *ctx);
void known_free(struct known_names *k);

#endif
