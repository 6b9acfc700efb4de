/* SPDX-License-Identifier: BSD-2-Clause */
/* Profiles of programs with probes of their own: by which names these are known, and what numbers mean. */
#ifndef PROBE_PROFILE_H
#define PROBE_PROFILE_H

#include "base/err.h"
#include "base/map.h"

/* What a probe is for. */
enum probe_role {
	ROLE_ARMED, /* its semaphore turns marks on */
	ROLE_FLUSH, /* carries batches */
	ROLE_ENTER, /* from here on: conventional probes */
	ROLE_LEAVE,
	ROLE_EVENT_BEGIN,
	ROLE_EVENT_END,
	ROLE_GC_BEGIN,
	ROLE_GC_END,
	ROLE_BLOCK_BEGIN,
	ROLE_BLOCK_END,
	ROLE_MARK,
	ROLE_COUNT,
};

#define PROFILE_NAME_MAX 64
#define PROFILE_IDS_MAX 65536 /* of each kind; a number is below PROFILE_ID_END */
#define PROFILE_ID_END ((1u << 20) - 1) /* as of all compartments: model/registry.h */

/* What a number stands for. */
struct profile_id {
	u8 kind; /* enum vmspan_kind of a group; 0: of a label */
	u8 len;
	char name[]; /* not terminated */
};

/* Names of the numbers that probes hand over, where no registry defines them. */
struct profile_ids {
	struct map of; /* number -> struct profile_id *, owned */
};

struct profile {
	char name[PROFILE_NAME_MAX], provider[PROFILE_NAME_MAX];
	bool registry; /* the semaphore of `armed` begins a vmspan_registry */
	char probes[ROLE_COUNT][PROFILE_NAME_MAX]; /* "": there is none */
	struct profile_ids groups, labels;
};

/* "armed", "flush", "enter", ... */
const char *role_name(enum probe_role role);
/* The role of a probe in a profile, or -ENOENT. */
int profile_role(const struct profile *p, const char *provider, const char *probe);
/* What a number stands for, or NULL. */
const struct profile_id *profile_id(const struct profile_ids *ids, u32 id);

/*
 * Reads a profile. `where` names it in errors, which show the bad line. 0,
 * -EINVAL or -ENOMEM; profile_free() frees what was read in any case.
 */
int profile_parse(const char *text, const char *where, struct profile *p, struct err *err);
void profile_free(struct profile *p);
/* One more, tried before those that are built in if it comes before these are asked for. 0 or negative
 * errno. */
int profile_add(const char *text, const char *where, struct err *err);
/* Those there are: *list is owned by the module, and so is what it holds. The count, or negative errno. */
#define PROFILES_MAX 32
int profile_list(const struct profile **list, struct err *err);
/* The place of one in that list, and what has it; NULL: nothing does. */
u32 profile_place(const struct profile *p);
const struct profile *profile_at(u32 place);

#endif
