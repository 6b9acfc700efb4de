/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who wants to hear of alerts. An observer listens to everything or to the
 * groups that match a glob, whether such a group exists yet, still, or ever.
 */
#ifndef SINK_LISTEN_H
#define SINK_LISTEN_H

#include "base/types.h"

struct alert;
struct alert_batch;
struct listeners;

struct alert_observer {
	/* One alert; borrowed for the call. */
	int (*alert)(void *ctx, const struct alert *a);
	/* An event that goes on has held its loop for long; borrowed for the call. Of each such event
	 * and group once, and once more where it is to blame only later; it is none of the alerts,
	 * of which there is one when it ends. */
	int (*open)(void *ctx, const struct alert *a);
	/* After all alerts of a batch of which this observer got one, and for
	 * an observer of everything after every batch. Any may be NULL. */
	int (*batch)(void *ctx, const struct alert_batch *b);
};

struct listeners *listeners_new(void);
void listeners_free(struct listeners *l);
/*
 * Adds an observer; glob NULL: of everything. Both are borrowed until it is
 * removed, the glob is copied. *id names it, from 1, never reused. -EINVAL: no
 * glob (see glob_check()); -EEXIST: the same observer of the same glob with the
 * same context is there; -ENOMEM.
 */
int listen_add(struct listeners *l, const char *glob, const struct alert_observer *o, void *ctx,
	       u64 *id);
/* -ENOENT: there is none of that id (any more). The others go on. May be
 * called by an observer, of itself and of others. */
int listen_remove(struct listeners *l, u64 id);
u32 listen_count(const struct listeners *l);

/*
 * Hands a batch to everybody: each alert first to the observers of everything,
 * then to those of its group. An observer that fails does not keep the others
 * from hearing; the first failure is returned.
 */
int listen_deliver(struct listeners *l, const struct alert_batch *b);

/* The same of an event that goes on: to observers that have `open`. */
int listen_open(struct listeners *l, const struct alert *a);

/* Is it a glob that can match anything? 0, or -EINVAL for an empty one, an
 * open bracket, a lone backslash at the end. */
int glob_check(const char *glob);

#endif
