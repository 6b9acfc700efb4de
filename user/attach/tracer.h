/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BPF programs of this trace: their life, their maps, their counters. The
 * only user of the skeleton.
 */
#ifndef ATTACH_TRACER_H
#define ATTACH_TRACER_H

#include "base/err.h"
#include "bpf/wire.h"
#include "probe/plan.h"

struct bpf_link;
struct site_link;
struct tracer;

struct tracer_config {
	u64 ring_bytes; /* rounded up to a power of two, at least 8 KB */
	u64 alert_ns; /* an event at least this long wakes the reader at once; 0: none */
	bool direct; /* load the direct stopwatch */
	bool children; /* follow forks */
	bool sweep; /* tell of every process that is executed */
	bool names, groups; /* and of those that take another name, another control group */
	u32 vm_hz; /* load the programs of stock VMs, for so many looks a second; 0: none */
	bool calls; /* with vm_hz: every call of stock VMs */
	bool trial; /* of those: load what vm_count_work() wants */
	bool exact; /* record what the scheduler does to traced threads */
};

/* Loads the programs. NULL with *err filled. */
struct tracer *tracer_open(const struct tracer_config *config, struct err *err);
/* What links the caller made must be gone before. */
void tracer_free(struct tracer *t);

/* False when this kernel cannot tell of forks, execs and exits. */
bool tracer_has_life(const struct tracer *t);
/* What the threads of a process hold is read as they end. */
bool tracer_has_tails(const struct tracer *t);
/* The direct stopwatch measures in TSC cycles; else in ns of CLOCK_MONOTONIC. */
bool tracer_has_tsc(const struct tracer *t);
/* The scheduler is recorded. */
bool tracer_has_sched(const struct tracer *t);
/* Why it is not, although it was asked for; else NULL. */
const struct err *tracer_no_exact(const struct tracer *t);
/*
 * Attaches the programs that record the scheduler; to be called once every
 * process that is there has been given to tracer_trace(), again whenever one
 * is added that is not a child of a traced one. Where that fails the trace goes
 * on without: tracer_no_exact().
 */
void tracer_watch_sched(struct tracer *t);
/* The same programs go, until they are wanted again; true: they were there. What happens
 * to threads meanwhile is no loss; an interval that began before and ended meanwhile, with
 * no other behind it, ends when it did. */
bool tracer_leave_sched(struct tracer *t);
/* Attaches the programs that watch forks, execs and exits. */
int tracer_watch_life(struct tracer *t, struct err *err);
/* The ring buffer's map. */
int tracer_ring_fd(const struct tracer *t);
u64 tracer_ring_bytes(const struct tracer *t);

/* Adds and removes a process. */
int tracer_trace(struct tracer *t, u32 pid, struct err *err);
/* Its parent was traced when it was forked, and its children are. */
bool tracer_traces_since_birth(struct tracer *t, u32 pid);
/* It runs a stock VM: the scheduler's record goes without its threads, until it executes something else. */
void tracer_leave_process(struct tracer *t, u32 pid);
/* It has marks all the same: before they are armed. */
void tracer_join_process(struct tracer *t, u32 pid);
/* Conventional probes of it are about to be attached, or have been: enum traced_arming. */
void tracer_arming(struct tracer *t, u32 pid, u32 arming);
/* Where registries of a traced process are, besides those that are known: what its threads hold when
 * it is killed is found by them. The newest are kept. */
void tracer_registries(struct tracer *t, u32 pid, const u64 *addresses, u32 count);
/* The struct vmspan_registry at an address of a process has its marks on, and keeps them on until
 * tracer_marks_off(), in children too: those that end otherwise are counted. (Of who marks, the kernel
 * side knows it by itself.) */
void tracer_armed(struct tracer *t, u32 pid, u64 address);
/* A process has ended, maybe before that was called. */
void tracer_disarmed(struct tracer *t, u32 pid);
/* Whether the marks of all are about to be turned off: whose are, ends without a loss. */
void tracer_marks_off(struct tracer *t, bool off);
void tracer_untrace(struct tracer *t, u32 pid);
/* Totals since load, summed over the CPUs. 0 or negative errno. */
int tracer_counters(const struct tracer *t, u64 out[COUNT_MAX]);
/* Makes the direct stopwatch hand over what all threads have gathered. Its
 * probes must be gone. */
int tracer_tail(struct tracer *t);
/* Hands over what the scheduler did to threads since they last handed over. Their probes must be
 * gone. */
int tracer_rest(struct tracer *t);

/* ---- Links. NULL with *err filled; errno's in err->code. ---- */

/* The carrier of one file, in all processes. */
struct site_link *site_flush(struct tracer *t, const struct plan_dso *d, struct err *err);
/* Turns the marks of one file in one process on, while the link lives. */
struct site_link *site_armed(struct tracer *t, u32 pid, const struct plan_dso *d, struct err *err);
/* The conventional probe of a role in one file of one process. */
struct site_link *site_direct(struct tracer *t, u32 pid, const struct plan_dso *d,
			      enum probe_role role, struct err *err);
void site_release(struct site_link *link);

#endif
