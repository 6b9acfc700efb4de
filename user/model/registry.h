/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who is who: processes, their registries, groups, compartments and labels.
 * Everything here is named by the target, so every table has a limit; what is
 * beyond it goes to the row `tenant:(other)`.
 */
#ifndef MODEL_REGISTRY_H
#define MODEL_REGISTRY_H

#include "base/intern.h"
#include "base/map.h"
#include "model/model.h"
#include "model/stats.h"

/* Ids of one registry, of each type. The last compartment stands for all beyond, and cannot be defined. */
#define REGISTRY_ID_MAX (1u << 20)
#define REGISTRY_MAX (ITEM_REGISTRIES + 2) /* registries (DSOs) of one process, and the tracer's */
#define ROW_MAX (1u << 18) /* rows of one process */
#define THREAD_NAMES_MAX (1u << 16) /* of one process */
#define ENDED_MAX 4096 /* ended processes kept apart */
#define CONTAINERS_MAX 4096 /* whose ended processes are summed up apart */
#define ROW_NONE UINT32_MAX

/* A group in a process: the place where its figures add up. */
struct row {
	u32 name; /* intern id of "kind:name" */
	u8 kind;
	u32 refs; /* group ids that mean this row */
	/* Where the event that is active keeps its sums. */
	u32 turn_share;
	u64 turn_uid;
	struct group_stats stats;
};

/* A compartment as defined, and the rows it charges, worked out when used. */
struct comp {
	u32 name; /* intern id */
	u32 groups[VMSPAN_GROUPS_MAX];
	u8 group_count;
	u8 row_count;
	u32 rows[VMSPAN_GROUPS_MAX + 2]; /* groups, own group, top */
	u32 generation; /* of the registry when rows were worked out */
	/* Where the event that is active keeps its sums. */
	u64 turn_uid;
	u32 turn_comp;
};

struct group_def {
	u32 row; /* ROW_NONE: not defined */
	bool inactive;
};

/* A frame of stacks that were looked at. */
struct frame_def {
	u32 comp; /* compartment id */
	u32 name; /* intern id */
	bool named; /* its group is one by name, no fallback */
};

struct registry {
	u64 address;
	u32 generation; /* grows with every definition of a group */
	struct group_def *groups;
	struct comp **comps;
	u32 *labels; /* intern id + 1; 0: not defined */
	u32 group_len, comp_len, label_len;
	struct map frame_of; /* frame id -> index in frames */
	struct frame_def *frames; /* owned */
	u32 frame_len, frame_cap;
	struct map threads; /* thread number -> struct stream * */
	struct sampler *left; /* owned: short sampled events of threads that have ended; or NULL */
};

/* What is not as it should be with a process, and what to do about it. */
struct proc_note {
	u32 id; /* odd; 0: free */
	u32 text, advice; /* intern ids + 1; text 0: taken back */
	bool left_out, remark; /* VMSPAN_NOTE_* */
};
#define NOTES_MAX 32 /* of a process; more are not kept */

struct proc {
	u32 pid, ppid;
	u64 id; /* unique in the model, from 1 */
	u32 name, vm; /* intern ids */
	bool ended;
	bool sum; /* "(ended)": of those that ended in its container, or in none, and are not kept apart */
	struct proc *parent; /* of a fork, for definitions not yet seen */
	struct row *rows;
	u32 row_len, row_cap;
	u32 top; /* row of the top group */
	struct map row_of; /* intern id of "kind:name" -> row */
	struct registry *registries[REGISTRY_MAX];
	u32 registry_len;
	struct map thread_names; /* tid -> owned char * */
	struct map scheds; /* tid -> struct sched * */
	u32 container[VMSPAN_CONTAINER_TEXTS]; /* intern ids + 1; 0: not known */
	struct proc_note *notes; /* owned */
	u32 note_len;
	struct event_stats events;
	struct gc_stats gc;
	struct ledger ledger;
	u32 opens; /* of its streams: with struct open_sum */
};

/* Own groups that are asked for, so often. */
struct own_glob {
	char *glob; /* owned */
	u32 users;
};

struct registry_set {
	struct intern *names;
	struct proc **procs; /* in order of first sight */
	u32 proc_len, proc_cap;
	u32 ended; /* of procs */
	u32 left_out; /* processes with a note of that, of those not kept apart */
	u64 id_last;
	struct map sums; /* proc_container() -> struct proc *, the sum of those not kept apart */
	struct map by_pid; /* pid -> the latest struct proc * */
	bool own_groups;
	struct own_glob *own; /* owned: in groups that match, besides */
	u32 own_len;
};

int registry_init(struct registry_set *s, bool own_groups);
/* See model_own(). */
int registry_own(struct registry_set *s, const char *glob, bool on);
void registry_free(struct registry_set *s, void (*free_stream)(void *));

/* ---- process_notes.c ---- */

/* Take definitions of the tracer's. 0 or -ENOMEM. */
int registry_note(struct registry_set *s, struct proc *p, const struct vmspan_def *d);
int registry_container(struct registry_set *s, struct proc *p, const struct vmspan_def *d);
/* Is it, or a part of it, not traced though it was asked for? */
bool proc_left_out(const struct proc *p);
/* A number of the container that it runs in, for good; 0: in none that is known. */
u64 proc_container(const struct proc *p);

/* ---- registry.c ---- */

/* Applies a change of a process. 0 or -ENOMEM. */
int registry_process(struct registry_set *s, const struct item_process *p);
/* Adds the oldest ended processes to the "(ended)" of their containers when there are
 * more than ENDED_MAX, so that memory does not grow with processes that came and went.
 * 0 or -ENOMEM. */
int registry_fold(struct registry_set *s, void (*free_stream)(void *));
/* The live process of a pid, made up if it was never announced. NULL without
 * memory. */
struct proc *registry_proc(struct registry_set *s, u32 pid);
/* A part of the stream is missing, and of the scheduler's records nobody can tell how
 * many were in it, of any process. */
void registry_sched_lost(struct registry_set *s);
/* Its registry at this address; a forked child starts with its parent's
 * definitions. NULL without memory or beyond REGISTRY_MAX. */
struct registry *registry_at(struct registry_set *s, struct proc *p, u64 address);
/* Applies one definition, which has passed batch_check(). */
int registry_define(struct registry_set *s, struct proc *p, struct registry *r,
		    const struct vmspan_def *d);
/* The compartment, with its rows worked out; an id never defined becomes
 * "(unknown)". NULL without memory. */
struct comp *registry_comp_slow(struct registry_set *s, struct proc *p, struct registry *r, u32 id);
static inline struct comp *registry_comp(struct registry_set *s, struct proc *p, struct registry *r,
					 u32 id)
{
	struct comp *c = id < r->comp_len ? r->comps[id] : NULL;

	return c && c->generation == r->generation ? c : registry_comp_slow(s, p, r, id);
}
/* A label's text, "" for 0 and for ids never defined. */
const char *registry_label(const struct registry_set *s, const struct registry *r, u32 id);
/* A frame; NULL for one that was never defined. */
const struct frame_def *registry_frame(const struct registry *r, u32 id);
const char *registry_name(const struct registry_set *s, u32 intern_id);

#endif
