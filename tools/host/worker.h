/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Worker threads: each has a heap and jobs of its own. A job is one event of
 * the worker. Which jobs there are is the main thread's choice alone, so the
 * work of a worker does not depend on timing.
 */
#ifndef HOST_WORKER_H
#define HOST_WORKER_H

#include <pthread.h>

#include "tools/host/world.h"

struct job {
	double argument, answer;
	u64 busy_turns; /* not 0: load mode, this many turns */
	u32 worker;
	bool done;
	struct job *next;
};

struct worker {
	struct world *world;
	struct vm vm; /* the worker thread's, once it runs */
	struct ledger ledger; /* the main thread's again after workers_drain */
	struct compartment *script;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct job *first, *last;
	u32 number, pending;
	bool quit, started;
};

/* Definitions and heaps, in the main thread: options->workers of them. */
struct worker *workers_new(struct world *w);
/* Returns when all threads run. */
void workers_start(struct world *w);
/* Returns when no job is left. */
void workers_drain(struct world *w);
void workers_stop(struct world *w);
void workers_free(struct world *w);

/* The job is the caller's again after worker_await, which gives the answer. */
struct job *worker_post(struct world *w, u32 worker, double argument);
void worker_post_busy(struct world *w, u32 worker, struct job *job);
double worker_await(struct world *w, struct job *job);

#endif
