/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model: turns the canonical stream into figures by the rules of
 * LEDGER.md. It does no I/O, reads no clock and knows no libbpf. One thread.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "model/item.h"
#include "model/stats.h"

enum nested_mode {
	NESTED_DROP, /* a nested loop makes the outer stopwatches stale */
	NESTED_SUSPEND, /* it pauses them */
};

struct model_config {
	enum nested_mode nested;
	/* What changed CPU counts as all others do: the counters of the CPUs agree. */
	bool keep_moved;
	bool outermost; /* of sampled stacks, the outermost named group is charged */
	bool own_groups; /* measure the compartments' own groups too */
	/* Only events that begin in [from, to) ns after the stream's first
	 * clock item count; to = 0: no end. */
	u64 from_ns, to_ns;
	/* Observers are shown the spans of all times: which belong to those
	 * events they find out by themselves (sink/select.h). */
	bool all_spans;
	u64 cycles_hz; /* struct source_info; 0: cycles are ns */
	bool exact; /* struct source_info: events without it are incomplete */
};

struct model;

struct model *model_new(const struct model_config *config);
void model_free(struct model *m);
/* An item_fn: ctx is the model. 0, -ENOMEM, or an observer's error. */
int model_item(void *m, const struct item *it);
/* CLOCK_MONOTONIC of the first clock item: where from_ns counts from. */
u64 model_begin(const struct model *m);
/* The end of the stream: what waited for missing records is settled. */
int model_finish(struct model *m);

/*
 * From now on the own groups of compartments in the groups that match the glob
 * are measured (on), or not any more. Counted: what two have asked for ends when
 * both have let go. 0, -ENOMEM, or -ENOENT: nobody has asked for it.
 */
int model_own(struct model *m, const char *glob, bool on);

/* "kind:name" of the first group a compartment charges; NULL when it was never
 * defined. The string lives as long as the model. For stays under way. */
const char *model_group_of(const struct model *m, u32 pid, u64 registry, u32 compartment);

/* ---- For sinks that want single spans and events (exporters) ---- */

/* What became of a span. */
enum span_fate {
	SPAN_KEPT,
	SPAN_MOVED, /* began and ended on different CPUs */
	SPAN_STALE, /* a nested event loop ran inside it */
	SPAN_LOST, /* records inside it are missing; its self time is lost */
	SPAN_BAD, /* its cycles make no sense */
};

struct model_thread {
	u32 pid, tid;
	u64 id; /* unique in the model */
	const char *name; /* thread name or "" */
	const char *process;
	bool stock; /* of a stock VM: whatever the trace has of the scheduler, nothing of it is about this */
};

/* All times are CLOCK_MONOTONIC ns by the stream's clock items, monotone in
 * cycles, so nesting survives the conversion. */
struct model_span {
	const struct model_thread *thread;
	enum vmspan_type type; /* span, gc or block */
	enum span_fate fate;
	const char *name; /* compartment, or the label of the gc or call */
	const char *group; /* "kind:name" of its first active group */
	const char *const *groups; /* of all of them, and of its own group if that is measured */
	u32 group_count;
	u64 begin_ns, end_ns;
	/* Of its duration: what is in no stay inside it; what lies inside
	 * blocking calls and collections in it, at any depth. */
	u64 self_ns, blocked_ns, gc_ns;
	/* Its thread had no CPU, at any depth: in exact mode, or as far as the thread tells. */
	u64 off_ns;
	u16 cpu_begin, cpu_end, depth;
	bool repaired;
	u32 iteration;
	u64 bytes_before, bytes_after; /* gc */
	u64 peer; /* block */
};

struct model_share {
	const char *group; /* "kind:name" */
	u64 ticks, spans, wall_ns, self_ns, cpu_ns, blocked_ns, gc_ns, preempted_ns;
	u64 cpu_margin_ns; /* as group_stats has it */
	u64 off_ns[VMSPAN_OFF_REASONS]; /* of its own, by reason; exact mode */
	struct model_uncharged uncharged; /* in none of the others */
};

struct model_event {
	const struct model_thread *thread;
	const char *label; /* or "" */
	u32 iteration, parent;
	bool implicit;
	enum missing missing; /* MISSING_NOTHING: it is complete */
	bool open; /* it goes on: these are its figures so far. Exact mode: without waits. */
	u64 begin_ns, end_ns; /* elapsed; wall is less by nested events */
	u64 cpu_ns;
	u64 stolen_ns; /* a hypervisor had the CPU: exact mode and sampled events; see LEDGER.md */
	u16 cpu_begin, cpu_end;
	struct ledger ledger; /* event_wall_ns is its wall */
	const struct model_share *shares; /* one a group charged */
	u32 share_count;
	const struct model_wait *waits; /* exact mode; names live as long as the model */
	u32 wait_count;
};

struct model_mark {
	const struct model_thread *thread;
	enum vmspan_type type; /* input, frame or value */
	const char *label;
	s64 value;
	u64 time_ns;
	u32 iteration;
};

/* A stack that was looked at, innermost frame first. */
struct model_sample {
	const struct model_thread *thread;
	const char *const *frames; /* "function (file)" */
	const char *const *groups; /* "kind:name" of each */
	u32 count;
	u64 time_ns;
	u64 weight_ns; /* that it stands for */
	bool off; /* the thread waited; else it ran */
	bool gc; /* in a collection */
	bool cut; /* outer frames are left out */
	u32 iteration;
};

/* Any may be NULL. A negative return ends model_item() with it. Pointers are
 * borrowed for the call. Spans of an event come before the event. */
struct model_observer {
	int (*span)(void *ctx, const struct model_span *s);
	int (*event)(void *ctx, const struct model_event *e);
	int (*mark)(void *ctx, const struct model_mark *mk);
	int (*process)(void *ctx, const struct item_process *p);
	int (*sample)(void *ctx, const struct model_sample *s);
	/* A thread that has been shown has another name now. */
	int (*thread)(void *ctx, const struct model_thread *t);
	/* Events that go on (model/open.c), with the same context: at each look as if they ended
	 * now (model_event.open), behind their spans that have not been shown; and with them those that
	 * have ended in between, which will be shown as all others. Threads are borrowed for the call
	 * here. NULL: they are not shown. */
	const struct model_observer *open;
};
void model_observe(struct model *m, const struct model_observer *ops, void *ctx);
/* What observes it now, or NULL. */
const struct model_observer *model_observer(const struct model *m, void **ctx);

#endif
