/* SPDX-License-Identifier: BSD-2-Clause */
/* The live source: attaches to processes and drains the ring buffer. */
#ifndef SOURCE_LIVE_H
#define SOURCE_LIVE_H

#include "model/parts.h"
#include "source/source.h"

enum live_method {
	METHOD_AUTO, /* flush where the SDK's carrier is found, else direct */
	METHOD_FLUSH, /* marks, or batches of version 1, are gathered in the process */
	METHOD_DIRECT, /* one trap a mark: conventional enter/leave probes */
};

/* Targets by what they are. A process is one if any of this holds. */
#define LIVE_NAMES_MAX 32
struct live_sweep {
	bool all; /* every process with probes */
	const char *comms[LIVE_NAMES_MAX]; /* by name; may hold wildcards */
	const char *cgroups[LIVE_NAMES_MAX]; /* by control group, those below it too */
	u32 comm_count, cgroup_count;
};

/* How much of exact calls is armed, to find out what that costs. */
enum live_trial_part {
	TRIAL_NOT, /* all: a trace like any other */
	TRIAL_NONE,
	TRIAL_RETURNS,
	TRIAL_ALL,
};

struct live_config {
	const u32 *pids; /* borrowed */
	u32 pid_count;
	struct live_sweep sweep; /* besides those of pids; strings live as long as the source */
	char *const *command; /* NULL, or argv to start under the trace */
	u64 ring_bytes; /* 0: LIVE_RING_BYTES; rounded up to a power of two */
	u64 alert_ns; /* an event at least this long is handed over at once; 0: none */
	enum live_method method;
	bool no_children; /* do not follow forks */
	bool wait; /* one of pids may have nothing to trace yet: what it loads counts when it does */
	bool calls; /* measure every call of stock VMs; pids alone */
	enum live_trial_part trial; /* with calls: what of their price is tried */
	u32 hz; /* looks a second at the stacks of stock VMs; 0: 99 */
	bool exact; /* record what the scheduler does to the threads */
	bool keep_moved; /* spans that change CPU are used: refuse where its counters disagree */
	u32 without; /* 1 << enum model_part: nobody uses these yet */
};

#define LIVE_RING_BYTES (8ull << 20)

/*
 * Attaches. On return every target is being traced (a command has been
 * started and runs). NULL on failure with *err filled; nothing is left behind.
 */
struct source *live_open(const struct live_config *config, struct err *err);
/* Why there is no scheduler's record, which was asked for; else NULL. The trace
 * is then one of the default mode. */
const struct err *live_no_exact(const struct source *s);
/* Stock VMs that have been attached to so far in a trace with the scheduler's record, which is not about them. */
u32 live_not_about(const struct source *s);
/* About how much of a target's CPU time a mark takes that is a trap, ns. 0: none are, here. */
u32 live_trap_ns(const struct source *s);
/*
 * Parts of the trace by need. live_open() uses each once, but for those of
 * `without`. One that nobody uses is not there: its programs are detached by the
 * next poll and attached again by the one after somebody has come; the items say
 * from when to when it was missing. Without TRACE_TURNS nothing is measured, and
 * the others are away too. Marks of programs with the SDK for collections and
 * blocking calls come with its marks, used or not.
 */
void live_part_get(struct source *s, enum model_part part);
/* -ENOENT: nobody uses it. */
int live_part_put(struct source *s, enum model_part part);
/* Is it there? Not of a trace that has no such part (see live_part_has()). */
bool live_part_on(const struct source *s, enum model_part part);
/* Does anything in this trace belong to the part? */
bool live_part_has(const struct source *s, enum model_part part);
/* Why it is not there although somebody uses it; else NULL. */
const struct err *live_part_failed(const struct source *s, enum model_part part);
/* Processes that are attached to now. */
u32 live_attached(const struct source *s);
/* How often the kernel side has woken the reader so far. 0 or negative errno. */
int live_wakeups(const struct source *s, u64 *n);
/* The command's exit status as wait(2) has it, once poll() returned 0; -1 if
 * there was none. */
int live_command_status(const struct source *s);

/* A probe of a stock VM: how often it was hit; why that may be never, and what to
 * do then (they live as long as the program). */
#define LIVE_HITS_MAX 8
struct live_hits {
	char probe[130]; /* "provider:name" */
	u32 hits;
	const char *why, *advice;
};
/* The probes that are armed in a process and begin something: how many. Hits are of
 * all processes that run the same VM. */
u32 live_vm_hits(const struct source *s, u32 pid, struct live_hits to[LIVE_HITS_MAX]);
/* The CPU time that processes of stock VMs have had since they are traced, in steps of
 * a tick. */
u64 live_vm_used_ns(const struct source *s);

/* Probes of processes that have ended, which source_free() detaches: some LIVE_LEFT_NS each. */
#define LIVE_LEFT_NS (40 * NSEC_PER_MSEC)
u32 live_left(const struct source *s);
/* Hands over all that has ended by now, and at last the clock of now. For who writes down what there is. */
int live_take_all(struct source *s, item_fn fn, void *ctx, struct err *err);
/*
 * Tells fn of what threads of programs with the SDK have been in for 0.1 s or more (ITEM_OPEN), as of now:
 * before figures are shown. Other items may come with it. 0, or what fn returned.
 */
int live_tell_open(struct source *s, item_fn fn, void *ctx);
/* Of all of them, however many there are: for half a second at most. Some may be told of twice. */
int live_tell_all_open(struct source *s, item_fn fn, void *ctx);

/* A stay that has not ended. Its group: model_group_of(). */
struct live_stay {
	u32 pid, tid; /* tid as the process itself sees it */
	u64 registry;
	u32 compartment;
	u32 depth; /* stays around it */
	u64 for_ns; /* since it was entered */
	bool innermost; /* of its thread, collections and blocking calls apart */
};

/*
 * The stays of at least `least_ns` that are under way, read from the targets'
 * memory: at most `max` of them, outer before inner by thread. It is a look at
 * running threads: what ends meanwhile may still be listed. Returns how many.
 */
u32 live_running(const struct source *s, u64 least_ns, struct live_stay *to, u32 max);

#endif
