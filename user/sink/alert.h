/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Alerts: a group was charged too much in one event. An observer of the model;
 * it reads no clock. Time is that of the stream: the ends of events, and what
 * alerts_advance() is told, so a recording gives the alerts that were given
 * live. ALERTS.md has the rules.
 */
#ifndef SINK_ALERT_H
#define SINK_ALERT_H

#include "base/json.h"
#include "model/model.h"
#include "sink/alert_tree.h"
#include "sink/listen.h"

#define ALERT_THRESHOLD_NS (64 * NSEC_PER_MSEC)
#define ALERT_BUFFER_NS (100 * NSEC_PER_MSEC)
/* A live event is here at most this long after its end. */
#define ALERT_LATENCY_NS (60 * NSEC_PER_MSEC)
#define ALERT_INPUT_NS (150 * NSEC_PER_MSEC)
#define ALERT_FRAME_NS (256 * NSEC_PER_MSEC)
/* What goes on is told of when a group has held its loop for so long, if its threshold is not longer: most
 * of what is shorter has ended before anybody could look. */
#define ALERT_OPEN_NS NSEC_PER_SEC
/* What has stood still for so long is told of whatever the thread waits for. */
#define ALERT_FREEZE_NS (5 * NSEC_PER_SEC)
#define ALERT_HISTORY 16
/* Groups by process; what is beyond is counted and not watched. */
#define ALERT_GROUPS (1u << 16)

enum alert_reason {
	ALERT_SLOWDOWN = 1, /* always */
	ALERT_IN_ANIMATION = 2, /* a frame came 256 ms or more after the one before */
	ALERT_IN_INPUT = 4, /* a user input came within 150 ms before, or during */
};

/* Why the charged time reached the threshold. */
enum alert_cause {
	CAUSE_OWN, /* the group's doing */
	CAUSE_INNER, /* but for a group it called it would not have */
	CAUSE_SYSTEM, /* but for time off the CPU, blocked apart, it would not have */
	ALERT_CAUSES,
};

/* One event of the group's recent past. */
struct alert_past {
	u64 end_ns, total_ns;
};

/* All ns; strings borrowed from the model unless said otherwise. */
struct alert {
	u64 id; /* from 1, in order of raising; 0: of an event that goes on */
	bool open; /* the event goes on: its figures so far */
	const char *group; /* "kind:name", bytes as the target wrote them */
	const char *process;
	u32 pid, tid;
	char thread[32];
	unsigned int reasons; /* enum alert_reason */
	enum alert_cause cause;
	const char *inner; /* CAUSE_INNER: the group; else NULL */
	bool stands_in; /* of `inner` no alert tells that it was its doing; this is to say so */
	bool notable; /* to be shown to who has not asked for all: own, standing in, or a standstill */
	bool again; /* open: it was told of before, and was not notable then */
	/* The longest of its events since the last alert, and what of it is
	 * the group's. Spans that changed CPU count as all others do. */
	u64 total_ns, threshold_ns;
	u64 uncharged_ns; /* of total_ns: charged to nobody, for spans changed CPU */
	u64 self_ns, gc_ns, blocked_ns, cpu_ns;
	u64 cpu_margin_ns; /* of cpu_ns, as struct group_stats has it */
	/* Exact mode: it was kept off the CPU, not in total_ns; and of self_ns: off
	 * the CPU, by enum vmspan_off. */
	u64 preempted_ns, off_ns[VMSPAN_OFF_REASONS];
	struct model_wait wait; /* the longest of its own for one peer; count 0: none */
	u64 ticks, spans;
	u64 highest_blocked_ns; /* in one event, since the last alert */
	u32 occurrences; /* events at or over the threshold in this batch */
	struct {
		u32 iteration;
		const char *label;
		u64 begin_ns, end_ns, cpu_ns; /* cpu_ns 0: not known */
		bool implicit;
		enum missing missing;
		u16 cpu_begin, cpu_end;
		struct ledger ledger;
	} event;
	struct tree *tree; /* owned reference; NULL: no memory */
	/* What is known of the group, this event included. */
	u64 group_events, group_wall_ns, group_alerts;
	struct alert_past past[ALERT_HISTORY]; /* oldest first */
	u32 past_count;
	u64 raised_ns; /* end of the event that raised it */
};

struct alert_batch {
	const struct alert *const *alerts;
	u32 count;
	u64 begin_ns, end_ns; /* of the buffer: one burst is one batch */
};

/* For the groups that match; the first that does decides. */
struct alert_rule {
	const char *glob; /* borrowed */
	u64 threshold_ns; /* 0: the general one */
	bool ignore; /* no alerts */
};

struct alert_config {
	u64 threshold_ns, buffer_ns; /* 0: default */
	const struct alert_rule *rules; /* borrowed */
	u32 rule_count;
};

struct alert_counts {
	u64 events; /* seen */
	u64 raised, delivered; /* alerts */
	u64 batches;
	u64 repeated; /* events at or over the threshold while one was pending */
	u64 unwatched; /* shares of groups beyond ALERT_GROUPS */
	u64 open; /* times a group was told of in an event that goes on */
};

struct alerts;

/* Must be freed before the model it observes. */
struct alerts *alerts_new(const struct alert_config *config);
void alerts_free(struct alerts *a);
/* To be given to model_observe() with the alerts as context. */
extern const struct model_observer alerts_observer;
/* The stream has the scheduler's record: time it was kept off the CPU is not charged,
 * so CAUSE_SYSTEM cannot be. */
void alerts_exact(struct alerts *a, bool exact);
struct listeners *alerts_listeners(struct alerts *a);
/* All that goes on has been shown by the model: what is to be told of it is. 0, or what an observer
 * returned first. */
int alerts_looked(struct alerts *a);
/* Everything that ended before `ns` has been seen: what is due is delivered.
 * 0, or what an observer returned. */
int alerts_advance(struct alerts *a, u64 ns);
/* When alerts_advance() is wanted next, in ns of the stream; 0: not. */
u64 alerts_due(const struct alerts *a);
/* Delivers what is pending: the end of the stream. */
int alerts_flush(struct alerts *a);
void alerts_counts(const struct alerts *a, struct alert_counts *c);
/* The last user input of the process at or before ns; 0: none was seen. */
u64 alerts_input(const struct alerts *a, u32 pid, u64 ns);
/* The shortest threshold any group may have. */
u64 alerts_lowest(const struct alerts *a);

/* ---- Words for an alert: alert_words.c ---- */

/* "addon:tracker held page:shop's loop for 214 ms, 61 % of it in a
 * collection". Cut to fit, safe for a terminal. Returns dst. */
char *alert_sentence(char *dst, size_t cap, const struct alert *a);
/* "SLOWDOWN IN_INPUT" */
#define ALERT_REASONS_MAX 40
char *alert_reasons(char dst[ALERT_REASONS_MAX], unsigned int reasons);
const char *alert_cause_name(enum alert_cause c);
/* The tree for people, indented; at most `lines` lines. */
void alert_tree_text(struct out *o, const struct alert *a, unsigned int lines);

/* What the caller knows besides. */
struct alert_extra {
	u64 real_ns; /* CLOCK_REALTIME of the event's end; 0: not known */
	const char *dump; /* path the recording around it will have, or NULL */
};

/* One object as in ALERTS.md, without a line end. */
void alert_json(struct json *j, const struct alert *a, const struct alert_extra *x);

#endif
