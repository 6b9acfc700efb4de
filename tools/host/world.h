/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All there is in one process: pages with their frames, add-ons, tenants, the
 * heap of the main thread, its event loop, the workers and the helper.
 */
#ifndef HOST_WORLD_H
#define HOST_WORLD_H

#include <sys/types.h>

#include "tools/host/loop.h"
#include "tools/host/names.h"
#include "tools/host/options.h"
#include "tools/host/vm.h"

enum {
	PAGE_FRAMES_MAX = 6,
	DIALOGS_MAX = 3
};

struct page {
	struct group *group;
	struct compartment *frames[PAGE_FRAMES_MAX]; /* [0]: the page itself */
	struct compartment *content; /* an add-on's script in the page, or NULL */
	u32 frame_count;
	char title[NAME_SIZE]; /* what it is renamed to when it has loaded */
	char name[NAME_SIZE];
	u32 worker; /* which one it posts to */
};

/* A child process that sends back what it is sent. */
struct helper {
	pid_t pid;
	int to, from;
};

struct world {
	const struct options *options;
	u32 process; /* 0: the main process */
	struct marks marks;
	struct ledger ledger; /* of the main thread */
	struct vm vm; /* of the main thread */
	struct page *pages;
	struct group **addons;
	struct compartment **tenants;
	u32 tenant_next; /* the next one to touch */
	struct loop loop;
	u64 turn;
	u32 dialogs; /* open */
	struct worker *workers;
	struct helper helper;
};

/* Defines everything and loads every script. Starts no thread and no process. */
struct world *world_new(const struct options *o, u32 process);
/* Starts the workers and the helper, in the process that will run the world. */
void world_start(struct world *w);
/* From now on definitions are part of the stream. */
void world_run(struct world *w);
/* Ends threads and helper. Call after the expectation is taken. */
void world_stop(struct world *w);
void world_free(struct world *w);

/* A script opens another frame of its page; false: it has enough. */
bool world_open_frame(struct world *w, struct page *p);

#endif
