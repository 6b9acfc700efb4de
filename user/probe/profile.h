/* SPDX-License-Identifier: BSD-2-Clause */
/* VM profiles: by which names the probes of a VM are known. */
#ifndef PROBE_PROFILE_H
#define PROBE_PROFILE_H

#include "base/err.h"

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

struct profile {
	char name[PROFILE_NAME_MAX], provider[PROFILE_NAME_MAX];
	bool registry; /* the semaphore of `armed` begins a vmspan_registry */
	char probes[ROLE_COUNT][PROFILE_NAME_MAX]; /* "": there is none */
};

/* "armed", "flush", "enter", ... */
const char *role_name(enum probe_role role);
/* The role of a probe in a profile, or -ENOENT. */
int profile_role(const struct profile *p, const char *provider, const char *probe);

/*
 * Reads a profile. `where` names it in errors, which show the bad line. 0 or
 * -EINVAL.
 */
int profile_parse(const char *text, const char *where, struct profile *p, struct err *err);
/* The profiles built in: *list is owned by the module, filled once. The
 * count, or negative errno. */
int profile_builtin(const struct profile **list, struct err *err);

#endif
