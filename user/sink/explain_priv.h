/* SPDX-License-Identifier: BSD-2-Clause */
/* What explain.c gathers and explain_print.c prints. */
#ifndef SINK_EXPLAIN_PRIV_H
#define SINK_EXPLAIN_PRIV_H

#include "base/map.h"
#include "sink/explain.h"

#define FATES (SPAN_BAD + 1)

/* Stays of one name at one place of the tree. */
struct node {
	struct node *child, *next; /* in order of first end */
	const char *name, *group; /* of the model's table of names */
	u32 type; /* enum vmspan_type; VMSPAN_EVENT: a nested event */
	u32 iteration; /* of a nested event */
	u64 count, ns, max_ns, off_ns;
	u64 fate[FATES]; /* stays by what became of them */
	u64 repaired, freed_bytes, peer;
	u64 cpus; /* bit by CPU; 63: that one or a higher one */
};

struct kept {
	u64 order; /* of arrival */
	u32 pid, tid;
	char *thread, *process; /* owned */
	struct model_event e; /* its pointers are not valid, but for label */
	struct model_share *shares; /* owned */
	struct model_wait *waits; /* owned; their names are the model's */
	struct node *tree;
	u64 omitted; /* spans beyond EXPLAIN_NODES */
};

struct explain {
	u32 iteration, limit;
	u64 begin_ns; /* of the first event seen */
	u64 arrived;
	struct kept *kept;
	u32 kept_len;
	u64 left_out; /* events beyond EXPLAIN_EVENTS */
	struct map threads; /* model_thread.id -> struct pending * */
};

#endif
