/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A consistent copy of all figures at one moment: what the sinks read.
 * Rows are in the order of first sight; sinks sort copies of pointers.
 */
#ifndef MODEL_SNAPSHOT_H
#define MODEL_SNAPSHOT_H

#include "base/buf.h"
#include "base/kind.h"
#include "model/item.h"
#include "model/parts.h"
#include "model/stats.h"

/* The container that a process runs in. */
struct snapshot_container {
	const char *runtime; /* "podman"; NULL: it runs in none */
	const char *id, *name; /* of any bytes; "": not known */
};

struct snapshot_process {
	u32 pid, ppid;
	u64 id; /* unique: a reused pid has another */
	const char *name, *vm;
	struct snapshot_container container;
	u64 container_number; /* the same in all snapshots of one model; 0: in none */
	bool ended;
	bool sum; /* of those that ended in its container, or in none, and are not kept apart; its pid is 0 */
	struct event_stats events;
	struct gc_stats gc;
	struct ledger ledger;
};

/* A group in one process. */
struct snapshot_child {
	u32 process; /* index into processes */
	u32 row; /* its number in the process, whatever the group is called: the same in all snapshots of one model */
	struct group_stats stats; /* an only child may have no histogram: see its group's */
};

/* A group over all processes. */
struct snapshot_group {
	u64 id; /* stable over snapshots of one model */
	const char *name; /* "kind:name", bytes as the target wrote them */
	const char *kind; /* "addon", ... */
	struct group_stats stats; /* sum of the children */
	u32 first_child, children; /* in snapshot.children */
};

/* Of a process: what is not as it should be, and what to do ("": nothing). */
struct snapshot_note {
	u32 process; /* index into processes */
	const char *text, *advice;
	bool left_out; /* why the process, or a part of it, is not traced */
	bool remark; /* nothing is wrong */
};

/* An event that had not ended when no more was heard of it, or has not yet, or stays outside of any. */
struct model_unfinished {
	u64 number; /* in order of arrival, from 1; of what is open 0 */
	u32 pid, tid;
	enum unfinished_why why; /* 0: it goes on */
	bool event; /* else stays alone */
	const char *label; /* of the event; "" */
	const char *group; /* "kind:name" of the innermost stay; "": in none */
	u64 begin_ns, for_ns; /* CLOCK_MONOTONIC; so far */
	u32 depth, stay_count; /* open stays; those kept, the innermost ones, outermost first */
	struct {
		const char *name; /* of the compartment */
		u64 for_ns;
	} stay[UNFINISHED_STAYS];
};

struct snapshot {
	u64 begin_ns, end_ns; /* CLOCK_MONOTONIC of the first and last data */
	struct snapshot_process *processes;
	u32 process_count;
	struct snapshot_group *groups;
	u32 group_count;
	struct snapshot_child *children;
	u32 child_count;
	struct snapshot_note *notes;
	u32 note_count;
	/* Processes that were asked for, and of which all or a part is not traced. Notes say why, of those that are kept
	 * apart. */
	u32 left_out;
	struct model_wait *waits; /* exact mode; in order of first sight */
	u32 wait_count;
	struct model_unfinished *unfinished; /* the longest ones, longest first */
	u32 unfinished_kept;
	u64 unfinished_count; /* all; in no other figure */
	/* Live: what had not ended just now, and is in all sums as if it had: the longest ones,
	 * longest first. So figures may go back a little: what changes CPU before its end is charged to
	 * nobody. */
	struct model_unfinished *open;
	u32 open_kept;
	u64 open_count; /* all */
	struct item_cost cost; /* of being traced, as far as it is known */
	struct event_stats events;
	struct gc_stats gc;
	struct ledger ledger;
	struct loss_stats losses;
	struct repair_stats repairs;
	struct part_off parts[TRACE_PARTS]; /* how long each was switched off */
	u64 spans, records; /* received */
	u64 inputs, frames; /* marks received */
	struct intern *names; /* owns all strings above */
};

struct model;

/* A snapshot of the model now; NULL without memory. Freed by the caller. */
struct snapshot *snapshot_take(const struct model *m);
/* now - then, row by row (by group and process id): what happened between, and at least nothing.
 * `then` may be NULL. max_ns is that of `now`, and so is what is open. NULL without memory. */
struct snapshot *snapshot_delta(const struct snapshot *now, const struct snapshot *then);
void snapshot_free(struct snapshot *s);
/* The group of that name, or NULL. Looks at all of them. */
const struct snapshot_group *snapshot_group(const struct snapshot *s, const char *name);

/*
 * The same in little memory, for views that keep many moments, without waits:
 * the totals of s are packed behind `to` (some 50 bytes a group); later a snapshot of the
 * same model becomes what happened since. 0, -ENOMEM, or -EBADMSG when
 * `packed` is no such thing, and s is then partly subtracted.
 */
int snapshot_pack(const struct snapshot *s, struct buf *to);
int snapshot_since(struct snapshot *s, const struct buf *packed);

#endif
