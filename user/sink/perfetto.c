/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Perfetto's own format: track events in protobuf. A slice is a begin and an
 * end, and the two must come in the order of time where they share a moment,
 * so the trace is put aside first.
 */
#include "base/text.h"
#include "base/array.h"
#include "sink/complete.h"
#include "sink/perfetto_names.h"
#include "sink/perfetto_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of tracks, unique in the trace and small, as every event has one. */
enum track_type {
	TRACK_OF_PROCESS = 1,
	TRACK_OF_THREAD,
	TRACK_OF_COUNTER,
	TRACK_ASTRAY,
};

static u64 uuid(enum track_type type, u64 index)
{
	return index * 4 + type;
}

#define PACKET_NAMES 256 /* names in one packet */
/* More arrows than this no one can look at; each takes memory. */
#define FLOWS_MAX (1u << 16)

/* ----------------------------------------------------------- Packets ----- */

size_t perfetto_packet(struct perfetto *p)
{
	size_t at;

	buf_clear(&p->packet);
	at = proto_begin(&p->packet, TRACE_PACKET);
	proto_u64(&p->packet, PACKET_SEQUENCE, 1);
	return at;
}

int perfetto_packet_end(struct perfetto *p, size_t at)
{
	proto_end(&p->packet, at);
	if (p->packet.failed)
		return -ENOMEM;
	out_write(p->out, p->packet.data, p->packet.len);
	return p->out->error;
}

static void put_clock(struct buf *b, u64 id, u64 ns)
{
	size_t at = proto_begin(b, SNAPSHOT_CLOCKS);

	proto_u64(b, CLOCK_ID, id);
	proto_u64(b, CLOCK_TIMESTAMP, ns);
	proto_end(b, at);
}

/* Without it every event is lost: nothing else says what clock 3 is. */
static int put_clocks(struct perfetto *p)
{
	struct buf *b = &p->packet;
	size_t at = perfetto_packet(p), in;

	proto_u64(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_CLEARED);
	in = proto_begin(b, PACKET_CLOCK_SNAPSHOT);
	put_clock(b, CLOCK_MONOTONIC_ID, p->config.start_ns);
	put_clock(b, CLOCK_REALTIME_ID, p->config.start_real_ns);
	proto_u64(b, SNAPSHOT_PRIMARY, CLOCK_MONOTONIC_ID);
	proto_end(b, in);
	in = proto_begin(b, PACKET_DEFAULTS);
	proto_u64(b, PACKET_CLOCK_ID, CLOCK_MONOTONIC_ID);
	proto_end(b, in);
	return perfetto_packet_end(p, at);
}

void perfetto_text(struct buf *b, unsigned int field, const char *text)
{
	char clean[NAME_BYTES];

	text_clean(clean, sizeof(clean), text, strlen(text));
	proto_bytes(b, field, clean, strlen(clean));
}

static void put_entry(struct buf *b, unsigned int table, u64 iid, const char *text)
{
	size_t at = proto_begin(b, table);

	proto_u64(b, ENTRY_IID, iid);
	perfetto_text(b, ENTRY_TEXT, text);
	proto_end(b, at);
}

static u64 category_iid(const struct perfetto *p, const struct slice *s)
{
	static const char *const fixed[SLICE_KINDS] = {
		[SLICE_GC] = "gc",       [SLICE_BLOCK] = "blocked", [SLICE_EVENT] = "event",
		[SLICE_INPUT] = "input", [SLICE_FRAME] = "frame",
	};
	const char *name = fixed[s->kind];
	char kind[16];
	u64 i;

	if (!name)
		name = group_kind(slices_name(&p->slices, s->group), kind);
	for (i = ARRAY_SIZE(categories); --i;)
		if (!strcmp(categories[i], name))
			break;
	return i + 1;
}

/* All names the packets behind will refer to by number. */
static int put_names(struct perfetto *p)
{
	struct buf *b = &p->packet;
	u32 i = 0, k, count = intern_count(p->slices.names);
	bool first = true;
	int rc = 0;

	while (!rc && (first || i < count)) {
		size_t at = perfetto_packet(p), in;
		u32 until = (u32)min_u64(count, (u64)i + PACKET_NAMES);

		proto_u64(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS);
		in = proto_begin(b, PACKET_INTERNED);
		for (k = 0; first && k < ARRAY_SIZE(categories); k++)
			put_entry(b, INTERNED_CATEGORIES, k + 1, categories[k]);
		for (k = 1; first && k < ARGUMENTS; k++)
			put_entry(b, INTERNED_ARGUMENTS, k, argument_names[k]);
		for (k = i; k < until; k++)
			put_entry(b, INTERNED_NAMES, k + 1, slices_name(&p->slices, k));
		for (k = i; k < until; k++)
			put_entry(b, INTERNED_STRINGS, k + 1, slices_name(&p->slices, k));
		proto_end(b, in);
		rc = perfetto_packet_end(p, at);
		i = until;
		first = false;
	}
	return rc;
}

/* ------------------------------------------------------------ Tracks ----- */

static int put_process(struct perfetto *p, u32 index)
{
	const struct slice_process *pr = &p->slices.processes[index];
	const char *name = slices_name(&p->slices, pr->name);
	struct buf *b = &p->packet;
	size_t at = perfetto_packet(p), in = proto_begin(b, PACKET_TRACK), deep;

	proto_u64(b, TRACK_UUID, uuid(TRACK_OF_PROCESS, index));
	deep = proto_begin(b, TRACK_PROCESS);
	proto_u64(b, PROCESS_PID, pr->pid);
	perfetto_text(b, PROCESS_NAME, name[0] ? name : "process");
	proto_end(b, deep);
	proto_end(b, in);
	return perfetto_packet_end(p, at);
}

/* twin: a thread of these ids was there before (a reused tid, a second
 * registry): it may not have its track. */
static int put_thread(struct perfetto *p, u32 index, bool twin)
{
	const struct slice_thread *t = &p->slices.threads[index];
	const char *name = slices_name(&p->slices, t->name);
	struct buf *b = &p->packet;
	size_t at = perfetto_packet(p), in = proto_begin(b, PACKET_TRACK), deep;

	if (!name[0])
		name = "thread";
	proto_u64(b, TRACK_UUID, uuid(TRACK_OF_THREAD, index));
	proto_u64(b, TRACK_PARENT, uuid(TRACK_OF_PROCESS, t->process));
	perfetto_text(b, TRACK_NAME, name);
	if (!twin) {
		deep = proto_begin(b, TRACK_THREAD);
		proto_u64(b, THREAD_PID, t->pid);
		proto_u64(b, THREAD_TID, t->tid);
		perfetto_text(b, THREAD_NAME, name);
		proto_end(b, deep);
	}
	proto_end(b, in);
	return perfetto_packet_end(p, at);
}

static int put_counter_track(struct perfetto *p, u32 index)
{
	const struct slice_counter *c = &p->slices.counters[index];
	const struct slice_thread *t = &p->slices.threads[c->thread];
	const char *label = slices_name(&p->slices, c->name);
	struct buf *b = &p->packet;
	size_t at = perfetto_packet(p), in = proto_begin(b, PACKET_TRACK), deep;
	char text[400];

	snprintf(text, sizeof(text), t->tid == t->pid ? "%s" : "%s (%u)", label, t->tid);
	proto_u64(b, TRACK_UUID, uuid(TRACK_OF_COUNTER, index));
	proto_u64(b, TRACK_PARENT, uuid(TRACK_OF_PROCESS, t->process));
	perfetto_text(b, TRACK_NAME, text);
	deep = proto_begin(b, TRACK_COUNTER);
	proto_u64(b, COUNTER_UNIT, c->heap ? UNIT_BYTES : UNIT_COUNT);
	proto_end(b, deep);
	proto_end(b, in);
	return perfetto_packet_end(p, at);
}

static int put_track(struct perfetto *p, u64 track, u64 parent, const char *name)
{
	struct buf *b = &p->packet;
	size_t at = perfetto_packet(p), in = proto_begin(b, PACKET_TRACK);

	proto_u64(b, TRACK_UUID, track);
	if (parent)
		proto_u64(b, TRACK_PARENT, parent);
	perfetto_text(b, TRACK_NAME, name);
	proto_end(b, in);
	return perfetto_packet_end(p, at);
}

/* ------------------------------------------------------------ Events ----- */

static size_t event_begin(struct perfetto *p, u64 time, u64 track, u64 type, size_t *packet)
{
	struct buf *b = &p->packet;
	size_t in;

	*packet = perfetto_packet(p);
	proto_u64(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS);
	proto_u64(b, PACKET_TIMESTAMP, p->config.start_ns + time);
	in = proto_begin(b, PACKET_TRACK_EVENT);
	proto_u64(b, EVENT_TYPE, type);
	proto_u64(b, EVENT_TRACK, track);
	return in;
}

static void arg(struct buf *b, enum argument name, unsigned int field, u64 v)
{
	size_t at = proto_begin(b, EVENT_ARGUMENT);

	proto_u64(b, ARGUMENT_NAME, name);
	proto_u64(b, field, v);
	proto_end(b, at);
}

static void arg_if(struct buf *b, enum argument name, u64 v)
{
	if (v)
		arg(b, name, ARGUMENT_U64, v);
}

static void arg_text(struct buf *b, enum argument name, const char *text)
{
	size_t at = proto_begin(b, EVENT_ARGUMENT);

	proto_u64(b, ARGUMENT_NAME, name);
	proto_bytes(b, ARGUMENT_TEXT, text, strlen(text));
	proto_end(b, at);
}

static void put_event_args(struct buf *b, const struct slice *s)
{
	const struct ledger *l = &s->event.ledger;

	arg(b, ARG_WALL, ARGUMENT_U64, l->event_wall_ns);
	arg(b, ARG_CPU_NS, ARGUMENT_U64, s->event.cpu_ns);
	arg_if(b, ARG_STOLEN, s->event.stolen_ns);
	arg_if(b, ARG_SELF, l->self_ns);
	arg_if(b, ARG_GC, l->gc_ns);
	arg_if(b, ARG_BLOCKED, l->blocked_ns);
	arg_if(b, ARG_NATIVE, l->native_ns);
	arg_if(b, ARG_MOVED, l->moved_ns);
	arg_if(b, ARG_STALE, l->stale_ns);
	arg_if(b, ARG_LOST, l->lost_ns);
	arg_if(b, ARG_PREEMPTED, l->preempted_ns);
	arg_if(b, ARG_STOPPED, l->stopped_ns);
	arg_if(b, ARG_FROZEN, l->frozen_ns);
	arg_if(b, ARG_THROTTLED, l->throttled_ns);
	arg_if(b, ARG_PARENT, s->event.parent);
	if (s->event.top_ns) {
		arg(b, ARG_TOP, ARGUMENT_STRING, (u64)s->group + 1);
		arg(b, ARG_TOP_SELF, ARGUMENT_U64, s->event.top_ns);
	}
	if (s->missing)
		arg_text(b, ARG_INCOMPLETE, missing_text((enum missing)s->missing));
}

static void put_args(struct perfetto *p, const struct slice *s)
{
	struct buf *b = &p->packet;

	arg_if(b, ARG_ITERATION, s->iteration);
	if (slice_instant(s))
		return;
	arg(b, ARG_CPU, ARGUMENT_U64, s->cpu_begin);
	if (s->cpu_end != s->cpu_begin)
		arg(b, ARG_CPU_END, ARGUMENT_U64, s->cpu_end);
	if (s->fate != SPAN_KEPT)
		arg_text(b, ARG_FATE, fate_name((enum span_fate)s->fate));
	if (s->repaired)
		arg(b, ARG_REPAIRED, ARGUMENT_BOOL, 1);
	if (s->kind == SLICE_SPAN) {
		if (slices_name(&p->slices, s->group)[0])
			arg(b, ARG_GROUP, ARGUMENT_STRING, (u64)s->group + 1);
		arg(b, ARG_SELF, ARGUMENT_U64, s->self_ns);
		arg_if(b, ARG_BLOCKED, s->span.blocked_ns);
		arg_if(b, ARG_GC, s->span.gc_ns);
	} else if (s->kind == SLICE_GC) {
		arg(b, ARG_BEFORE, ARGUMENT_U64, s->gc.bytes_before);
		arg(b, ARG_AFTER, ARGUMENT_U64, s->gc.bytes_after);
	} else if (s->kind == SLICE_BLOCK) {
		arg_if(b, ARG_PEER, s->block.peer);
	} else if (s->kind == SLICE_EVENT) {
		put_event_args(b, s);
	}
}

static int flow_order(const void *x, const void *y)
{
	const struct flow *a = x, *b = y;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return (int)a->kind - (int)b->kind;
}

static void put_flows(struct perfetto *p, const struct slice *s)
{
	struct flow key = { .thread = p->thread, .kind = s->kind, .begin = s->begin };
	u32 low = 0, high = p->flow_count;

	while (low < high) {
		u32 mid = low + (high - low) / 2;

		if (flow_order(&p->flows[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < p->flow_count && !flow_order(&p->flows[low], &key); low++)
		proto_fixed64(&p->packet, EVENT_FLOW, p->flows[low].id);
}

static int put_begin(struct perfetto *p, const struct slice *s, u64 track)
{
	struct buf *b = &p->packet;
	size_t at, in = event_begin(p, s->begin, track,
				    slice_instant(s) ? TYPE_INSTANT : TYPE_BEGIN, &at);
	u32 name = slices_name(&p->slices, s->name)[0] ? s->name : p->words[s->kind];

	proto_u64(b, EVENT_CATEGORY, category_iid(p, s));
	proto_u64(b, EVENT_NAME, (u64)name + 1);
	put_args(p, s);
	if (p->flow_count && (s->kind == SLICE_BLOCK || s->kind == SLICE_EVENT))
		put_flows(p, s);
	proto_end(b, in);
	return perfetto_packet_end(p, at);
}

static int put_end(struct perfetto *p, u64 time, u64 track)
{
	size_t at, in = event_begin(p, time, track, TYPE_END, &at);

	proto_end(&p->packet, in);
	return perfetto_packet_end(p, at);
}

static int walk_edge(void *ctx, const struct slice *s, bool begin)
{
	struct perfetto *p = ctx;

	return begin ? put_begin(p, s, p->track) : put_end(p, s->end, p->track);
}

/* A track each: nothing is known of how they nest. */
static int astray_slice(void *ctx, const struct slice *s)
{
	struct perfetto *p = ctx;
	u64 track = uuid(TRACK_ASTRAY, p->astray);
	int rc;

	if (!s->astray)
		return 0;
	p->astray++;
	rc = put_track(p, track, uuid(TRACK_OF_THREAD, p->thread), "out of order");
	if (!rc)
		rc = put_begin(p, s, track);
	return rc || slice_instant(s) ? rc : put_end(p, s->end, track);
}

static int counter_sample(void *ctx, const struct slice_sample *s)
{
	struct perfetto *p = ctx;
	size_t at, in = event_begin(p, s->time, p->track, TYPE_COUNTER, &at);

	proto_i64(&p->packet, EVENT_VALUE, s->value);
	proto_end(&p->packet, in);
	return perfetto_packet_end(p, at);
}

/* -------------------------------------------------------------- Flows ----- */

static void add_flow(struct perfetto *p, const struct flow_end *end, u8 kind, u64 id)
{
	u64 *thread = map_get(&p->slices.thread_of, end->thread), start = p->config.start_ns;

	if (thread)
		p->flows[p->flow_count++] =
			(struct flow){ (u32)*thread, kind,
				       end->slice > start ? end->slice - start : 0, id };
}

static int found_flow(void *ctx, const struct flow_end *call, const struct flow_end *event)
{
	struct perfetto *p = ctx;
	u64 id = p->flow_count / 2 + 1;

	if (p->flow_count + 2 > 2 * FLOWS_MAX) {
		p->flows_over++;
		return 0;
	}
	if (array_room(p->flows, p->flow_cap, p->flow_count + 2))
		return -ENOMEM;
	add_flow(p, call, call->event ? SLICE_EVENT : SLICE_BLOCK, id);
	add_flow(p, event, SLICE_EVENT, id);
	return 0;
}

/* A track of its own at the top, with one mark: an empty one is not shown. */
static int put_flows_over(struct perfetto *p)
{
	u64 track = uuid(TRACK_ASTRAY, p->astray++);
	char text[80];
	size_t at, in;
	int rc;

	snprintf(text, sizeof(text), "%" PRIu64 " arrows left out", p->flows_over);
	rc = put_track(p, track, 0, text);
	if (rc)
		return rc;
	in = event_begin(p, 0, track, TYPE_INSTANT, &at);
	perfetto_text(&p->packet, EVENT_TEXT, text);
	proto_end(&p->packet, in);
	return perfetto_packet_end(p, at);
}

/* ----------------------------------------------------------- Exporter ----- */

static int take_span(void *ctx, const struct model_span *s)
{
	struct perfetto *p = ctx;
	int rc = slices_observer.span(&p->slices, s);

	return rc ? rc : flows_span(&p->finder, s);
}

static int take_event(void *ctx, const struct model_event *e)
{
	struct perfetto *p = ctx;
	int rc = slices_observer.event(&p->slices, e);

	return rc ? rc : flows_event(&p->finder, e);
}

static int take_mark(void *ctx, const struct model_mark *m)
{
	return slices_observer.mark(&((struct perfetto *)ctx)->slices, m);
}

static int take_sample(void *ctx, const struct model_sample *m)
{
	return slices_observer.sample(&((struct perfetto *)ctx)->slices, m);
}

static int take_process(void *ctx, const struct item_process *pr)
{
	return slices_observer.process(&((struct perfetto *)ctx)->slices, pr);
}

static int take_thread(void *ctx, const struct model_thread *t)
{
	return slices_observer.thread(&((struct perfetto *)ctx)->slices, t);
}

static int name_kinds(struct perfetto *p)
{
	static const char *const words[SLICE_KINDS] = {
		[SLICE_SPAN] = "(unnamed)",      [SLICE_GC] = "collection",
		[SLICE_BLOCK] = "blocking call", [SLICE_EVENT] = "event",
		[SLICE_INPUT] = "input",         [SLICE_FRAME] = "frame",
	};
	u32 i;

	for (i = 0; i < SLICE_KINDS; i++) {
		s64 id = intern_put(p->slices.names, words[i], strlen(words[i]));

		if (id < 0)
			return (int)id;
		p->words[i] = (u32)id;
	}
	return 0;
}

static void perfetto_free(void *x)
{
	struct perfetto *p = x;

	if (!p)
		return;
	slices_release(&p->slices);
	flows_release(&p->finder);
	buf_free(&p->packet);
	free(p->flows);
	free(p);
}

static void *perfetto_begin(struct out *out, const struct export_config *config, struct model *m)
{
	static const struct model_observer observer = {
		.span = take_span,
		.event = take_event,
		.mark = take_mark,
		.sample = take_sample,
		.process = take_process,
		.thread = take_thread,
	};
	struct perfetto *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->out = out;
	p->config = *config;
	flows_init(&p->finder, found_flow, p);
	if (slices_init(&p->slices, config) || samples_want(&p->slices) || name_kinds(p)) {
		perfetto_free(p);
		return NULL;
	}
	model_observe(m, &observer, p);
	return p;
}

static int put_tracks(struct perfetto *p, const u32 *order)
{
	struct slices *s = &p->slices;
	struct map seen = { 0 };
	u32 i;
	int rc = 0;

	for (i = 0; !rc && i < s->process_count; i++)
		rc = put_process(p, i);
	for (i = 0; !rc && i < s->thread_count; i++) {
		const struct slice_thread *t = &s->threads[order[i]];
		u64 key = (u64)t->pid << 32 | t->tid;

		rc = put_thread(p, order[i], map_get(&seen, key));
		if (!rc)
			rc = map_put(&seen, key, 1);
	}
	map_free(&seen);
	for (i = 0; !rc && i < s->counter_count; i++)
		rc = put_counter_track(p, i);
	return rc;
}

static int perfetto_end(void *x, const struct snapshot *snap, const struct report_source *src)
{
	struct perfetto *p = x;
	struct slices *s = &p->slices;
	u32 i, *order = slices_order(s);
	int rc;

	(void)snap;
	(void)src;
	if (!order)
		return -ENOMEM;
	if (p->flow_count)
		qsort(p->flows, p->flow_count, sizeof(*p->flows), flow_order);
	rc = put_clocks(p);
	if (!rc)
		rc = put_names(p);
	if (!rc)
		rc = put_tracks(p, order);
	for (i = 0; !rc && i < s->thread_count; i++) {
		p->thread = order[i];
		p->track = uuid(TRACK_OF_THREAD, p->thread);
		rc = slices_walk(s, p->thread, walk_edge, p);
		if (!rc && s->threads[p->thread].astray)
			rc = slices_each(s, p->thread, astray_slice, p);
	}
	for (i = 0; !rc && i < s->counter_count; i++) {
		p->track = uuid(TRACK_OF_COUNTER, i);
		rc = slices_samples(s, i, counter_sample, p);
	}
	if (!rc && p->flows_over)
		rc = put_flows_over(p);
	if (!rc)
		rc = perfetto_samples(p);
	free(order);
	return rc;
}

const struct exporter perfetto_exporter = {
	.name = "perfetto",
	.suffix = ".perfetto-trace",
	.about = "Perfetto's own format, for ui.perfetto.dev: half the size of chrome's",
	.begin = perfetto_begin,
	.end = perfetto_end,
	.free = perfetto_free,
	.limit_bytes = 2ull << 30,
	.limit_why =
		"ui.perfetto.dev keeps it in the memory of a browser tab, which is 4 GB at most",
};
