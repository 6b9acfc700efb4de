/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What to attach to in a process or a file: the mapped files that have the
 * probes of a profile.
 */
#ifndef PROBE_PLAN_H
#define PROBE_PLAN_H

#include "base/map.h"
#include "probe/maps.h"
#include "probe/profile.h"

/* What the instruction at a site is; 0xcc means that somebody traces it. */
enum site_kind {
	SITE_NONE,
	SITE_NOP, /* one byte (x86-64), or the one of aarch64 */
	SITE_NOP5,
	SITE_NOP10,
	SITE_OTHER,
};

struct plan_site {
	u64 address, offset; /* as linked; in the file. offset 0: no such probe */
	u64 semaphore, semaphore_offset; /* 0: none */
	enum site_kind kind;
};

/* A C library has no more namespaces to load a file into (dlmopen(3)). */
#define PLAN_PLACES 16

/* The probes one file has. */
struct plan_probes {
	const struct profile *profile; /* NULL: none */
	char build_id[65];
	struct plan_site sites[ROLE_COUNT];
};

struct plan_dso {
	int fd; /* owned; the file itself, whatever its name now means */
	u64 dev, inode; /* by fstat */
	char *path; /* owned; as the target sees it */
	u64 bias; /* run-time minus linked addresses; 0 for a file */
	u64 places[PLAN_PLACES]; /* every such `bias`: it may be loaded more than once */
	u32 place_count;
	u64 registry; /* run-time address, 0: none or not known yet */
	struct plan_probes probes;
};

struct plan {
	struct plan_dso *dsos;
	u32 count;
	u32 files; /* looked into */
	u32 unreadable; /* that could not be */
	u32 denied; /* of those, for lack of rights */
	struct err left_out; /* those, in words and without a code, for who traces what there is */
};

/* Remembers files by device and inode, so that each is parsed once. */
struct plan_cache {
	struct map known; /* hash of identity -> index + 1 */
	struct plan_cache_entry *entries;
	u32 count;
};
void plan_cache_free(struct plan_cache *c);

/*
 * Looks through the executable files pid has mapped. -ENOENT with words when
 * none has a profile's probes; -ESRCH, -EACCES, ...; on error the plan has no
 * file. `c` may be NULL.
 */
int plan_process(u32 pid, struct plan_cache *c, struct plan *p, struct err *err);
/* The same for one file. The descriptor is borrowed. */
int plan_file(int fd, const char *path, struct plan_cache *c, struct plan *p, struct err *err);
void plan_free(struct plan *p);

/* Where the file's copy of the SDK is, as linked. 0: it has none. */
u64 plan_copy(const struct plan_dso *d);
/* True when marks can be carried in batches, and one by one. */
bool plan_has_flush(const struct plan_dso *d);
bool plan_has_direct(const struct plan_dso *d);

const char *site_kind_name(enum site_kind kind);
enum site_kind site_kind_at(int fd, u64 offset);

#endif
