/* SPDX-License-Identifier: BSD-2-Clause */
/* What the page keeps of a trace. For html*.c only. */
#ifndef SINK_HTML_INT_H
#define SINK_HTML_INT_H

#include "base/intern.h"
#include "base/map.h"
#include "sink/html.h"

/* Limits that do not depend on the use of the page. */
#define HTML_STRINGS_MAX 65536u /* names; those beyond are "(other)" */
#define HTML_THREADS_MAX 1024u /* threads whose events are under way */
#define HTML_LANES_MAX 64u /* threads the timeline shows; the last is "others" */
#define HTML_NODES_OPEN 8192u /* spans of one event before the short ones go */
#define HTML_PENDING_MAX 4096u /* groups waiting for their callers, of a thread */
#define HTML_EDGES_MAX 16384u
#define HTML_SERIES_MAX 32u
#define HTML_POINTS_MAX 8192u /* of a series */
#define HTML_GCS_MAX 8192u

#define HTML_NONE UINT32_MAX

/* Names by number. The first ones are fixed: see html_names.c. */
enum html_fixed_name {
	NAME_OTHER,
	NAME_LOOP,
	NAME_NATIVE,
	NAME_GC,
	NAME_BLOCKED,
	NAME_LOST,
	NAME_EMPTY,
	NAME_UNNAMED,
	NAME_HEAP,
};

struct html_names {
	struct intern *table;
	u64 refused;
};

int html_names_init(struct html_names *n);
/* The number of a name; NULL is "". NAME_OTHER when the table is full. */
u32 html_name(struct html_names *n, const char *s);

/* ---- The spans of an event (html_tree.c) ---- */

struct html_node {
	u64 begin_ns, end_ns;
	u64 child_ns; /* inside spans, calls, collections and nested events */
	u64 before, after; /* gc: bytes; block: before is the peer */
	u32 name, group;
	u16 depth, cpu_begin, cpu_end;
	u8 type, fate;
	bool repaired;
};

/* Closed stays whose caller has not closed yet, summed by group. */
struct html_pending {
	u64 begin_ns; /* of the earliest */
	u64 ns, calls;
	u32 group; /* HTML_NONE: a nested event, no call */
	u32 iteration;
	u16 depth;
};

struct html_thread {
	u64 id; /* of the model */
	u32 lane;
	struct html_node *nodes; /* in the order of their ends */
	u32 node_len, node_cap;
	u32 pruned; /* nodes of the event under way that were dropped */
	u64 prune_ns; /* all that were dropped are at most this long */
	struct html_pending *pending;
	u32 pending_len, pending_cap;
};

/* ---- Who calls whom (html_edges.c) ---- */

struct html_edge {
	u32 from, to;
	u64 calls, ns;
};

struct html_edges {
	struct map index; /* from << 32 | to */
	struct html_edge *edge;
	u32 len, cap;
	u64 folded; /* calls counted under "(other)" */
};

int html_edges_add(struct html_edges *e, u32 from, u32 to, u64 calls, u64 ns);
void html_edges_release(struct html_edges *e);

/* A span has closed: takes what it called, waits for its caller. */
int html_pending_span(struct html_thread *t, struct html_edges *e, const struct model_span *s,
		      u32 group, u64 *child_ns);
/* An event has ended: what waits is called by the event loop. */
int html_pending_event(struct html_thread *t, struct html_edges *e, const struct model_event *ev);

/* ---- Events (html_events.c) ---- */

struct html_event {
	u64 serial, begin_ns, end_ns, cpu_ns;
	struct ledger ledger;
	u32 label, group, lane, iteration, parent;
	u16 cpu_begin, cpu_end;
	bool implicit;
	enum missing missing;
	u32 node_len, pruned;
	u64 prune_ns;
	struct html_node *nodes; /* owned; sorted: a caller before its calls */
};

/* The longest events; the longest of these with their spans. */
struct html_events {
	struct html_event *event;
	u32 len, cap;
	u32 keep; /* of events; up to twice as many are held */
	u64 node_keep, nodes; /* of spans; the same */
	u64 floor_ns, tree_floor_ns; /* no longer than this may be missing */
	u64 dropped, trees_dropped;
};

/* Moves *e in; the nodes are taken, or freed. */
int html_events_add(struct html_events *l, struct html_event *e);
/* Down to what is kept, in order of time. */
void html_events_trim(struct html_events *l);
void html_events_release(struct html_events *l);

/* ---- Lanes of the timeline (html_lanes.c) ---- */

struct html_bucket {
	u64 busy_ns; /* in events */
	u64 max_ns; /* the longest event that touches it */
	u64 weight; /* of the vote for group */
	u32 group; /* most of the time, by majority vote */
	u32 count; /* events that begin in it */
};

struct html_lane {
	u32 pid, tid;
	u32 process, name; /* names */
	struct html_bucket *bucket; /* owned */
	u32 len, cap;
	u64 events;
};

/* All lanes have buckets of the same width, which doubles as time goes on. */
struct html_lanes {
	struct html_lane lane[HTML_LANES_MAX];
	u32 count;
	u64 width_ns;
	bool others; /* the last lane holds several threads */
};

#define HTML_WIDTH_FIRST 1024ull /* ns */
#define HTML_BUCKETS_MAX 4096u

/* The lane of a new thread. */
u32 html_lanes_new(struct html_lanes *l, const struct model_thread *t, struct html_names *names);
/* An event from begin to end, ns since the start of the page. */
int html_lanes_add(struct html_lanes *l, u32 lane, u64 begin, u64 end, u32 group);
/* Merges neighbours of all lanes until there are at most `max` in all. */
void html_lanes_fit(struct html_lanes *l, u32 max);
/* Joins b into a. */
void html_bucket_join(struct html_bucket *a, const struct html_bucket *b);
void html_lanes_release(struct html_lanes *l);

/* ---- Values over time, collections (html_series.c) ---- */

struct html_point {
	u64 time_ns;
	s64 value;
};

struct html_series {
	u32 pid, label;
	struct html_point *point; /* owned */
	u32 len, cap;
	bool thinned;
};

struct html_gc {
	u64 begin_ns, end_ns, before, after;
	u32 label, pid;
};

struct html_heap {
	struct html_series series[HTML_SERIES_MAX];
	u32 count;
	u64 series_refused;
	struct html_gc *gc;
	u32 gc_len, gc_cap;
	u64 gc_dropped;
};

int html_heap_point(struct html_heap *h, u32 pid, u32 label, u64 time_ns, s64 value);
int html_heap_gc(struct html_heap *h, const struct html_gc *gc);
/* Orders everything by time. */
void html_heap_sort(struct html_heap *h);
void html_heap_release(struct html_heap *h);

/* ---- The page ---- */

struct html_page {
	struct html_config config;
	struct html_names names;
	struct map threads; /* model_thread.id -> index into thread */
	struct map lanes_of; /* model_thread.id -> lane */
	struct html_thread *thread;
	u32 thread_len;
	u64 threads_refused; /* events of threads that could not be followed */
	u64 nodes_open; /* of all threads */
	struct html_edges edges;
	struct html_events events;
	struct html_lanes lanes;
	struct html_heap heap;
	u64 serial;
	u64 left_out; /* events in which no chosen group ran */
	bool sampled; /* which groups ran in an event may not be known */
};

/* Spans of all threads that wait for the end of their events. */
#define HTML_NODES_OPEN_ALL (1u << 19)

int html_tree_span(struct html_page *p, struct html_thread *t, const struct html_node *n);
/* Takes the event's nodes off the thread: into e, or away. */
int html_tree_event(struct html_page *p, struct html_thread *t, const struct model_event *ev,
		    struct html_event *e, bool keep);

/* 0 of the page is config.start_ns; nothing is before it. */
static inline u64 html_time(const struct html_page *p, u64 ns)
{
	return ns > p->config.start_ns ? ns - p->config.start_ns : 0;
}

#endif
