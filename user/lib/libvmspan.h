/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libvmspan: traces and recordings of vmspan for other programs. Small on
 * purpose; README.md has an example.
 *
 * Threads: a trace and what comes from it belong to one thread at a time.
 * Several traces may be open at once. Errors: functions that return int return
 * 0 or a positive count, or a negative errno; libvmspan_error() has the words.
 * Strings are bytes as the target wrote them: they may hold anything but 0.
 *
 * Stable: structs that the caller fills begin with their size, and structs that
 * the library fills only grow at their end. Compile with the header, link with
 * that or a later library of the same LIBVMSPAN_ABI.
 */
#ifndef LIBVMSPAN_H
#define LIBVMSPAN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LIBVMSPAN_ABI 1

struct libvmspan; /* a trace or an opened recording */
struct libvmspan_snapshot;

struct libvmspan_options {
	size_t size; /* sizeof(struct libvmspan_options) */
	const uint32_t *pids; /* to attach to */
	uint32_t pid_count;
	uint32_t no_children; /* 1: do not follow forks */
	uint64_t ring_bytes; /* of the kernel's buffer; 0: default */
	uint64_t threshold_ns; /* of alerts; 0: 64 ms */
	uint32_t own_groups; /* 1: measure every compartment's own group too */
	uint32_t suspend; /* 1: a nested loop pauses the stopwatches around it */
	uint32_t
		exact; /* 1: with the scheduler's record; stock VMs among pids are traced as without */
	uint32_t without; /* LIBVMSPAN_TURNS ...: not measured until libvmspan_part() asks */
	uint32_t keep_moved; /* 1: what changed CPU is charged too; 0: discarded and counted */
};

#define LIBVMSPAN_OPTIONS_INIT                                                 \
	{                                                                      \
		sizeof(struct libvmspan_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
	}

/* Attaches to processes. NULL: `error` (may be NULL) has the words. */
struct libvmspan *libvmspan_attach(const struct libvmspan_options *o, char *error, size_t cap);
/* Opens a recording; pids are not used. options may be NULL. */
struct libvmspan *libvmspan_replay(const char *path, const struct libvmspan_options *o, char *error,
				   size_t cap);
/*
 * Takes in what there is, waiting for it at most timeout_ms (-1: no limit; a
 * recording never waits). 1: there may be more; 0: the end, all is settled.
 * Listeners are called from in here. If one returns other than 0, the call ends with that when
 * what has been read is taken in. A child that was forked since cannot go on with a trace: -ECHILD.
 */
int libvmspan_poll(struct libvmspan *t, int timeout_ms);
/* The same; returns early when stop_fd (-1: none) can be read, for a loop that
 * has more to wait for. */
int libvmspan_poll_until(struct libvmspan *t, int timeout_ms, int stop_fd);
/* Ends a live trace and takes in the rest; pending alerts are told. */
int libvmspan_stop(struct libvmspan *t);
/* What went wrong last; "" if nothing did. Valid until the next call. */
const char *libvmspan_error(const struct libvmspan *t);
void libvmspan_free(struct libvmspan *t);

/* ---- Snapshots: all figures at one moment ---- */

struct libvmspan_group {
	const char *name, *kind; /* "addon:tracker", "addon" */
	uint64_t id; /* stable in snapshots of one trace */
	uint64_t events, ticks, spans;
	uint64_t wall_ns, self_ns, cpu_ns, blocked_ns, gc_ns;
	uint64_t max_ns, p50_ns, p99_ns; /* of wall by event */
	uint64_t durations[10]; /* events longer than 1, 2, 4 ... 512 ms */
	uint64_t incomplete; /* of events: those that lack data */
	/* cpu_ns may be so much too large or too small, at most; 0: it is known. */
	uint64_t cpu_margin_ns;
};

struct libvmspan_totals {
	uint64_t events, wall_ns, cpu_ns, incomplete, spans, collections, collection_ns;
	/* They add up to wall_ns. */
	uint64_t self_ns, gc_ns, blocked_ns, native_ns, moved_ns, stale_ns, lost_ns;
	uint64_t lost_records; /* with what cannot be counted as such: see `losses` of the report */
	uint32_t processes, groups;
	uint32_t left_out; /* of those that were asked for: not traced, or not all of them */
	uint32_t complete; /* 1: nothing lacks, was lost, or was left out */
};

/* NULL: no memory. Lives on when the trace is gone. */
struct libvmspan_snapshot *libvmspan_snapshot(struct libvmspan *t);
/* now - then, of one trace: what happened between. NULL: no memory, or `then` is the later one. */
struct libvmspan_snapshot *libvmspan_subtract(const struct libvmspan_snapshot *now,
					      const struct libvmspan_snapshot *then);
/* `size` is that of the caller's struct; more is not written. */
void libvmspan_totals(const struct libvmspan_snapshot *s, struct libvmspan_totals *to, size_t size);
/* Group i of totals.groups; strings are the snapshot's. 0 or -ENOENT. */
int libvmspan_group(const struct libvmspan_snapshot *s, uint32_t i, struct libvmspan_group *to,
		    size_t size);
/* The report of `vmspan report --json`, to free(); NULL: no memory. */
char *libvmspan_json(const struct libvmspan_snapshot *s);
void libvmspan_snapshot_free(struct libvmspan_snapshot *s);

/*
 * From now on the own groups ("compartment:NAME") of compartments in the groups
 * that match are measured (on), or not any more; counted. -EINVAL: no glob;
 * -ENOENT: nobody has asked for it.
 */
int libvmspan_own(struct libvmspan *t, const char *glob, int on);

/*
 * Parts of a live trace, by need. Opening it asks once for each that `without`
 * leaves in. What nobody asks for is not there: its BPF programs are detached at the
 * next poll, and attached again at the one after somebody has asked. Without turns
 * nothing is measured. Events of a time in which a part was away count as incomplete;
 * the report (libvmspan_json()) says which, and for how long.
 */
enum {
	LIBVMSPAN_TURNS = 1, /* events and spans */
	LIBVMSPAN_BLOCKING = 2, /* what keeps threads off the CPU: `exact`; blocking calls
				 * of programs traced by a trap a mark */
	LIBVMSPAN_GC = 4, /* collections, where they have probes of their own */
	LIBVMSPAN_SAMPLES = 8, /* looks at the stacks of stock VMs */
};
/* on: asks for some of them; else lets go of them. Counted. -ENOENT: nobody has asked
 * for one of these; the others are let go all the same. */
int libvmspan_part(struct libvmspan *t, unsigned int parts, int on);

/* ---- Alerts ---- */

enum {
	LIBVMSPAN_SLOWDOWN = 1,
	LIBVMSPAN_IN_ANIMATION = 2,
	LIBVMSPAN_IN_INPUT = 4,
};

struct libvmspan_alert {
	const char *group, *process;
	uint32_t pid, tid, reasons, occurrences;
	uint64_t total_ns, threshold_ns, self_ns, gc_ns, blocked_ns, cpu_ns;
	uint64_t event_begin_ns, event_end_ns; /* CLOCK_MONOTONIC */
	const char *cause; /* "own", "inner" or "system" */
	const char *sentence; /* safe for a terminal */
	const char *json; /* as user/sink/ALERTS.md has it */
	uint64_t uncharged_ns; /* of total_ns: charged to no group, for its spans changed CPU */
	uint64_t cpu_margin_ns; /* of cpu_ns, as a group's */
	uint32_t
		open; /* 1: the event goes on, and these are its figures so far; see libvmspan_look() */
};

typedef int (*libvmspan_alert_fn)(void *ctx, const struct libvmspan_alert *a);

/* Hears of alerts, which are of events that have ended, and of what libvmspan_look() finds; of the groups that
 * match, of all with glob NULL; whether they exist yet or no longer. The listener's number, > 0; -EINVAL: no glob. Of a live
 * trace each listener asks for LIBVMSPAN_TURNS as long as it is there. May be called,
 * as may libvmspan_unlisten(), by a listener that is being told. */
int64_t libvmspan_listen(struct libvmspan *t, const char *glob, libvmspan_alert_fn fn, void *ctx);
/*
 * Looks what threads of a live trace are in now, of programs with version 2 of the SDK and of stock VMs. Listeners are told,
 * from in here, once, of each group that an event which goes on has held for its threshold or longer, and for a second at
 * least (alert.open); of several threads that of the longest. At its end there is an alert as of any other, but for what
 * a stock VM's pool has done for longer than is kept (docs/STOCK-VMS.md). Once a second is often enough, and costs some
 * microseconds a thread, where stock VMs are traced for each of the machine, and what is kept of their pools is gone
 * through: up to 0.3 s in all. 0, or what a listener returned; a negative errno as of
 * libvmspan_poll().
 */
int libvmspan_look(struct libvmspan *t);
/* -ENOENT: there is no such listener. */
int libvmspan_unlisten(struct libvmspan *t, int64_t listener);

#ifdef __cplusplus
}
#endif

#endif
