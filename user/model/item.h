/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The canonical stream: what a source (live or a recording) hands to the
 * model and to the recorder. Neither can tell where it comes from.
 *
 * Items of one thread arrive in any order; their `seq` numbers say the true
 * one. Pointers in an item are borrowed for the duration of the call.
 */
#ifndef MODEL_ITEM_H
#define MODEL_ITEM_H

#include "base/types.h"
#include "base/wire.h"

enum item_type {
	ITEM_CLOCK = 1, /* simultaneous readings of the clocks */
	ITEM_PROCESS = 2, /* a process is seen, forked, execs, ends */
	ITEM_THREAD = 3, /* a thread's name, or its end */
	ITEM_DEFS = 4, /* definitions read from a registry */
	ITEM_BATCH = 5, /* records of one thread */
	ITEM_LOSS = 6, /* something was lost on the way here */
	ITEM_UNFINISHED = 7, /* an event that had not ended when no more was heard of it */
	ITEM_COST = 8, /* what the targets have spent on being traced */
	ITEM_OPEN = 9, /* an event that has not ended; live, and in no recording */
};

struct item_clock {
	u64 cycles; /* of the source's counter (struct source_info) */
	u64 mono_ns; /* CLOCK_MONOTONIC */
	u64 real_ns; /* CLOCK_REALTIME, since the epoch */
};

enum process_change {
	PROCESS_SEEN = 1, /* was there when tracing began, or was started by us */
	PROCESS_FORK = 2, /* pid is new, a child of ppid */
	PROCESS_EXEC = 3, /* all it was is gone, but for its pid */
	PROCESS_EXIT = 4,
};

struct item_process {
	enum process_change change;
	u32 pid, ppid;
	u64 mono_ns;
	const char *name, *vm; /* zero-terminated; vm: profile name, may be "" */
};

struct item_thread {
	u32 pid, tid;
	bool ended;
	u64 mono_ns;
	const char *name; /* "" when not known */
};

/*
 * Definitions: struct vmspan_def records, whole slots. The ids belong to
 * (pid, registry). The same definition may come twice.
 */
struct item_defs {
	u32 pid;
	u64 registry;
	const void *data;
	u32 bytes;
};

/*
 * The registry of streams that come from the scheduler, not from the target:
 * their records are VMSPAN_OFF and VMSPAN_WAKE. Registries of targets lie at multiples of
 * VMSPAN_REGISTRY_ALIGN. Where too_deep of a batch is more than before, something
 * was lost before its end, whether the numbers show it or not.
 */
#define ITEM_SCHED_REGISTRY 1 /* = WIRE_SCHED_REGISTRY */
/* That of definitions and streams that the tracer makes. */
#define ITEM_TRACER_REGISTRY 2
/* How many others a process may have. */
#define ITEM_REGISTRIES 62

/*
 * Records of one thread; (pid, registry, thread) names the thread's stream.
 * `data` holds `records` records in `bytes` bytes and has passed
 * batch_check(). The counters are totals since the thread's start.
 */
struct item_batch {
	u32 pid, tid;
	u64 registry;
	u32 thread;
	u64 seq;
	u32 records, bytes;
	const void *data; /* 8-byte aligned */
	u32 too_deep, unmatched, repaired, in_mark;
};

/* Causes of loss that a source knows. One table of names: model/loss.c. */
enum loss_cause {
	LOSS_RING_FULL,
	LOSS_READ_FAULT,
	LOSS_SEQUENCE_GAP, /* records missing for no cause known; model only */
	LOSS_UNMATCHED, /* leaves without an enter; model only */
	LOSS_TRUNCATED, /* a recording is cut or damaged */
	LOSS_SCHED, /* scheduler records (exact mode) */
	LOSS_NO_SCHED, /* what came without those (exact mode) */
	LOSS_TOO_DEEP, /* stays nested deeper than anybody keeps */
	LOSS_NOT_MADE, /* marks: inside another mark, a thread without room for them, numbers that are none */
	LOSS_MALFORMED, /* what makes no sense */
	LOSS_LIMIT, /* processes, threads, registries, names: more than are kept */
	LOSS_MARKS_OFF, /* in a process that ran: so many times; how many records nobody knows */
	LOSS_NAMES, /* of groups: of so many programs */
	LOSS_OTHER, /* a later version knows which */
	LOSS_CAUSES,
};

/* More was lost: added to what was reported before. */
struct item_loss {
	enum loss_cause cause;
	u64 records;
	u64 batches; /* 0 where it makes no sense; of LOSS_TRUNCATED: 1 where records is not known */
	bool all; /* whatever came at this place of the stream, of whomever */
};

enum unfinished_why {
	UNFINISHED_TRACE = 1, /* the trace ended in it */
	UNFINISHED_THREAD = 2, /* its thread did */
	UNFINISHED_PROCESS = 3,
	UNFINISHED_EXEC = 4, /* another program was executed */
};

/* Stays in it that are named: the innermost ones. */
#define UNFINISHED_STAYS 16

/*
 * An event of which the end was not seen, or stays outside of any. What had ended in it has come as
 * records; what it adds up to nobody knows, so it is in no sum.
 */
struct item_unfinished {
	u32 pid, tid;
	u64 registry;
	enum unfinished_why why;
	bool event; /* else stays alone */
	u32 label; /* 0: none, or not known */
	u64 begin_ns, until_ns; /* CLOCK_MONOTONIC; begin may be before the trace */
	u32 depth; /* stays that were open in it */
	u32 stay_count; /* of them here, outermost first */
	u32 stay[UNFINISHED_STAYS]; /* compartments */
	u64 stay_ns[UNFINISHED_STAYS]; /* since when: CLOCK_MONOTONIC */
};

/*
 * What being traced has taken of the targets' time so far: the marks that they made, each for the
 * price that the tracer has measured when it began. An estimate: what was read is not what was
 * made where some of it is lost, and what --exact takes of each switch and looks at stock VMs are not
 * in it.
 */
struct item_cost {
	u64 marks; /* made in the targets' memory */
	u64 traps; /* probes that were hit: hand-overs, and marks by traps */
	u64 cpu_ns; /* of both */
};

/*
 * What a thread is in now, for long already: what it comes to if all of it ends at `what.until_ns`. The
 * batch has the records that would say so, numbered on from those that have come. First comes
 * one of pid 0: what was told before is void. In `what`, `why` is 0.
 */
struct item_open {
	struct item_batch batch;
	struct item_unfinished what;
	u32 off; /* enum vmspan_off: why it has had no CPU since its last mark, where it has had none */
};

struct item {
	enum item_type type;
	union {
		struct item_clock clock;
		struct item_process process;
		struct item_thread thread;
		struct item_defs defs;
		struct item_batch batch;
		struct item_loss loss;
		struct item_unfinished unfinished;
		struct item_cost cost;
		struct item_open open;
	};
};

/* Takes an item. 0, or a negative errno that ends the stream. */
typedef int (*item_fn)(void *ctx, const struct item *it);

/* From outside: are its numbers and times such that they can be? */
bool unfinished_is_sound(const struct item_unfinished *u);

/* "ring_full", "read_fault", ...: the keys of the report's "losses". */
const char *loss_name(enum loss_cause cause);

/* What is in some records. */
struct batch_sum {
	u32 spans, events, defs;
	u32 compartment_last, label_last; /* the largest ids they name, or 0 */
	bool turn; /* the last of them is their first event */
};

/* Slots of the types whose size is fixed; 0: any. */
extern const u8 record_slots[256];

/*
 * Checks records from outside: sizes, known types' slot counts, names within
 * their records, exactly `records` of them in exactly `bytes`. Unknown types
 * pass. 0 or -EBADMSG. Must be called on everything that becomes an
 * item_batch or (with records = UINT32_MAX: any number) an item_defs.
 */
int batch_check(const void *data, u32 bytes, u32 records);
/* The same, and sums up: one walk over a batch instead of one a question. */
int batch_sum(const void *data, u32 bytes, u32 records, struct batch_sum *sum);

#endif
