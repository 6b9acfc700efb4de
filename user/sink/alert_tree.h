/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who called whom in one event, summed by path. Spans come as they close, what
 * is inside before what is around, so the tree grows from its leaves: closed
 * stays wait by depth until the stay around them closes.
 *
 * A target decides how many names there are, so a tree has a limit; what is
 * beyond it stays in its parent's total and is counted.
 */
#ifndef SINK_ALERT_TREE_H
#define SINK_ALERT_TREE_H

#include "model/model.h"
#include "sink/alert_stacks.h"

#define TREE_NODES 512 /* of one event */
#define TREE_SIBLINGS 64 /* that are compared when one more comes */
#define TREE_CPUS 16
#define TREE_GROUPS (VMSPAN_GROUPS_MAX + 1) /* of one compartment, its own one included */

struct tree_node {
	const char *name, *group; /* borrowed from the model */
	const char *groups[TREE_GROUPS]; /* all of its compartment, the same; group is the first */
	u32 group_count;
	u64 peer; /* of a blocking call: the process waited for, or 0 */
	u64 total_ns; /* everything inside included */
	u64 longest_ns; /* of its stays */
	u64 off_ns; /* exact mode, of total_ns: without a CPU */
	u32 count; /* stays */
	u32 discarded; /* of them: changed CPU, stale, lost */
	enum vmspan_type type;
	struct tree_node *child, *next;
};

/* A finished tree; shared by the alerts of one event. */
struct tree {
	u32 refs;
	struct tree_node *roots; /* longest first, at every level */
	u32 nodes, omitted; /* omitted: stays for which there was no room */
	u16 cpus[TREE_CPUS]; /* seen, in order of first sight */
	u32 cpu_count;
	bool more_cpus;
	struct stacks stacks; /* sampled events: heaviest first */
};

struct trees;

struct trees *trees_new(void);
void trees_free(struct trees *t);
/* A stay has ended. 0 or -ENOMEM. */
int trees_span(struct trees *t, const struct model_span *s);
/* A stack was looked at in an event. 0 or -ENOMEM. */
int trees_sample(struct trees *t, const struct model_sample *s);
/*
 * What one event has closed so far, once more, from other trees; nothing where it is here already,
 * or has closed nothing. Without the stacks that were looked at. 0 or -ENOMEM.
 */
int trees_copy(struct trees *to, const struct trees *from, const struct model_thread *thread,
	       u32 iteration);
/* An event has ended: with `keep` its tree (refs 1), else NULL, as without
 * memory. */
struct tree *trees_event(struct trees *t, const struct model_event *e, bool keep);
/* The process has ended: forgets what its threads had open. */
void trees_process(struct trees *t, u32 pid);
void tree_unref(struct tree *t);
/* Time of a node that is not in its children. */
u64 tree_self(const struct tree_node *n);

#endif
