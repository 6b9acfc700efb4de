/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/complete.h"
#include "sink/firefox_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT_VERSION 63 /* the first with counters that describe themselves */
#define GECKO_VERSION 30 /* of the format before processing; only its presence counts */
/* A longer turn of the loop is one that people notice. */
#define JANK_NS (50 * NSEC_PER_MSEC)
#define EXACT_MAX (1ull << 53) /* the loader's numbers are doubles */

static void key_ms(struct json *j, const char *key, u64 ns)
{
	json_key(j, key);
	json_decimal(j, ns, MS_DIGITS);
}

/* Zero is left out: it is most of them. */
static void key_ms_if(struct json *j, const char *key, u64 ns)
{
	if (ns)
		key_ms(j, key, ns);
}

/* ----------------------------------------------------------- Markers ----- */

static u32 name_id(struct firefox *f, const char *text)
{
	s64 id = intern_put(f->slices.names, text, strlen(text));

	if (id < 0) {
		f->rc = (int)id;
		return 0;
	}
	return (u32)id;
}

static bool is_empty(const struct firefox *f, u32 name)
{
	return !slices_name(&f->slices, name)[0];
}

static u32 marker_name(struct firefox *f, const struct slice *s, enum firefox_marker m)
{
	static const char *const words[] = {
		[FIREFOX_SPAN] = "(unnamed)",      [FIREFOX_GC] = "Collection",
		[FIREFOX_BLOCK] = "Blocking call", [FIREFOX_EVENT] = "Event",
		[FIREFOX_INPUT] = "Input",         [FIREFOX_FRAME] = "Frame",
		[FIREFOX_JANK] = "Jank",
	};

	if (m == FIREFOX_SPAN && !is_empty(f, s->group))
		return s->group;
	/* The chart has a row for each name: few, and none that a label may have. */
	if (m == FIREFOX_EVENT && !is_empty(f, s->name))
		return s->name;
	return name_id(f, words[m]);
}

static void put_common(struct json *j, const struct slice *s)
{
	if (s->iteration)
		json_key_u64(j, "iteration", s->iteration);
	if (slice_instant(s))
		return;
	json_key_u64(j, "cpu", s->cpu_begin);
	if (s->cpu_end != s->cpu_begin)
		json_key_u64(j, "cpuEnd", s->cpu_end);
	if (s->fate != SPAN_KEPT)
		json_key_string(j, "fate", fate_name((enum span_fate)s->fate));
	if (s->repaired)
		json_key_string(j, "repaired", "its end was never marked");
}

static void key_bytes(struct json *j, const char *key, u64 bytes)
{
	json_key_u64(j, key, min_u64(bytes, EXACT_MAX));
}

static void put_gc(struct firefox *f, const struct slice *s)
{
	struct json *j = &f->json;
	u64 before = s->gc.bytes_before, after = s->gc.bytes_after;

	if (!is_empty(f, s->name))
		json_key_u64(j, "reason", s->name);
	put_common(j, s);
	if (!before && !after)
		return;
	key_bytes(j, "before", before);
	key_bytes(j, "after", after);
	key_bytes(j, "freed", before - min_u64(before, after));
}

static void put_block(struct firefox *f, const struct slice *s)
{
	struct json *j = &f->json;
	u64 *known = map_get(&f->slices.process_of, s->block.peer);
	char text[24];

	if (!is_empty(f, s->name))
		json_key_u64(j, "call", s->name);
	put_common(j, s);
	if (!s->block.peer)
		return;
	snprintf(text, sizeof(text), "%" PRIu64, s->block.peer);
	json_key_string(j, "peer", text);
	if (known)
		json_key_u64(j, "peerName", f->slices.processes[*known].name);
}

static void put_event(struct firefox *f, const struct slice *s)
{
	const struct ledger *l = &s->event.ledger;
	struct json *j = &f->json;

	json_key_u64(j, "iteration", s->iteration);
	if (s->event.top_ns) {
		json_key_u64(j, "top", s->group);
		key_ms(j, "topSelf", s->event.top_ns);
	}
	key_ms(j, "wall", l->event_wall_ns);
	key_ms(j, "cpu", s->event.cpu_ns);
	key_ms_if(j, "stolen", s->event.stolen_ns);
	key_ms_if(j, "self", l->self_ns);
	key_ms_if(j, "gc", l->gc_ns);
	key_ms_if(j, "blocked", l->blocked_ns);
	key_ms_if(j, "native", l->native_ns);
	key_ms_if(j, "moved", l->moved_ns);
	key_ms_if(j, "stale", l->stale_ns);
	key_ms_if(j, "lost", l->lost_ns);
	key_ms_if(j, "preempted", l->preempted_ns);
	key_ms_if(j, "stopped", l->stopped_ns);
	key_ms_if(j, "frozen", l->frozen_ns);
	key_ms_if(j, "throttled", l->throttled_ns);
	if (s->event.parent)
		json_key_u64(j, "parent", s->event.parent);
	if (s->missing)
		json_key_string(j, "incomplete", missing_text(s->missing));
}

static void put_data(struct firefox *f, const struct slice *s, enum firefox_marker m)
{
	struct json *j = &f->json;

	json_object(j);
	json_key_string(j, "type", firefox_type(m));
	switch (m) {
	case FIREFOX_SPAN:
		json_key_u64(j, "in", s->name);
		put_common(j, s);
		key_ms(j, "self", s->self_ns);
		key_ms_if(j, "blocked", s->span.blocked_ns);
		key_ms_if(j, "gc", s->span.gc_ns);
		break;
	case FIREFOX_GC:
		put_gc(f, s);
		break;
	case FIREFOX_BLOCK:
		put_block(f, s);
		break;
	case FIREFOX_EVENT:
		put_event(f, s);
		break;
	case FIREFOX_JANK:
		json_key_u64(j, "iteration", s->iteration);
		if (s->event.top_ns) {
			json_key_u64(j, "top", s->group);
			key_ms(j, "topSelf", s->event.top_ns);
		}
		break;
	case FIREFOX_INPUT:
	case FIREFOX_FRAME:
	case FIREFOX_MARKERS:
		if (!is_empty(f, s->name))
			json_key_u64(j, "label", s->name);
		put_common(j, s);
		break;
	}
	json_end_object(j);
}

enum column {
	COLUMN_NAME,
	COLUMN_START,
	COLUMN_END,
	COLUMN_PHASE,
	COLUMN_CATEGORY,
	COLUMN_DATA,
	COLUMNS
};

static const char *const column_names[COLUMNS] = { "name",  "startTime", "endTime",
						   "phase", "category",  "data" };

struct column_walk {
	struct firefox *f;
	enum column column;
};

static void put_cell(struct firefox *f, enum column column, const struct slice *s,
		     enum firefox_marker m)
{
	struct json *j = &f->json;

	f->row++;
	switch (column) {
	case COLUMN_NAME:
		json_u64(j, marker_name(f, s, m));
		break;
	case COLUMN_START:
		json_decimal(j, s->begin, MS_DIGITS);
		break;
	case COLUMN_END:
		if (slice_instant(s))
			json_null(j);
		else
			json_decimal(j, s->end, MS_DIGITS);
		break;
	case COLUMN_PHASE:
		json_u64(j, slice_instant(s) ? 0 : 1);
		break;
	case COLUMN_CATEGORY:
		json_u64(j, firefox_category(m, slices_name(&f->slices, s->group)));
		break;
	case COLUMN_DATA:
		put_data(f, s, m);
		break;
	case COLUMNS:
		break;
	}
}

static int column_slice(void *ctx, const struct slice *s)
{
	static const enum firefox_marker markers[SLICE_KINDS] = {
		[SLICE_SPAN] = FIREFOX_SPAN,   [SLICE_GC] = FIREFOX_GC,
		[SLICE_BLOCK] = FIREFOX_BLOCK, [SLICE_EVENT] = FIREFOX_EVENT,
		[SLICE_INPUT] = FIREFOX_INPUT, [SLICE_FRAME] = FIREFOX_FRAME,
	};
	struct column_walk *w = ctx;

	put_cell(w->f, w->column, s, markers[s->kind]);
	if (s->kind == SLICE_EVENT && s->event.ledger.event_wall_ns > JANK_NS)
		put_cell(w->f, w->column, s, FIREFOX_JANK);
	return w->f->rc ? w->f->rc : w->f->json.out->error;
}

static void put_markers(struct firefox *f, s64 thread)
{
	struct column_walk w = { .f = f };
	struct json *j = &f->json;

	json_key_object(j, "markers");
	for (f->row = 0; w.column < COLUMNS; w.column++) {
		f->row = 0;
		json_key_array(j, column_names[w.column]);
		if (thread >= 0 && !f->rc)
			f->rc = slices_each(&f->slices, (u32)thread, column_slice, &w);
		json_end_array(j);
	}
	json_key_u64(j, "length", f->row);
	json_end_object(j);
}

/* ----------------------------------------------------------- Threads ----- */

static void key_pid(struct json *j, u32 pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", pid);
	json_key_string(j, "pid", text);
}

static void put_thread(struct firefox *f, const char *process, const char *name, u32 pid, u32 tid,
		       s64 thread)
{
	struct json *j = &f->json;

	out_write(j->out, "\n", 1);
	json_object(j);
	json_key_string(j, "name", name);
	json_key_bool(j, "isMainThread", pid == tid);
	json_key_string(j, "processType", "default");
	json_key_string(j, "processName", process);
	key_pid(j, pid);
	json_key_u64(j, "tid", tid);
	json_key_u64(j, "processStartupTime", 0);
	json_key(j, "processShutdownTime");
	json_null(j);
	json_key_u64(j, "registerTime", 0);
	json_key(j, "unregisterTime");
	json_null(j);
	key_empty(j, "pausedRanges");
	json_key_bool(j, "showMarkersInTimeline", true);
	firefox_samples(f, thread);
	put_markers(f, thread);
	json_end_object(j);
}

static void put_threads(struct firefox *f, const u32 *order)
{
	const struct slices *s = &f->slices;
	u32 i;

	json_key_array(&f->json, "threads");
	for (i = 0; i < s->thread_count; i++) {
		const struct slice_thread *t = &s->threads[order[i]];
		const char *name = slices_name(s, t->name);

		put_thread(f, slices_name(s, s->processes[t->process].name),
			   name[0] ? name : "thread", t->pid, t->tid, order[i]);
	}
	/* The loader refuses a profile without threads. */
	if (!s->thread_count)
		put_thread(f, "nothing recorded", "nothing recorded", 0, 0, -1);
	json_end_array(&f->json);
}

/* ---------------------------------------------------------- Counters ----- */

struct counter_walk {
	struct json *json;
	bool times;
	s64 last;
};

/* The loader knows nothing but differences, in doubles. */
static s64 counter_value(s64 v)
{
	if (v > (s64)EXACT_MAX)
		return (s64)EXACT_MAX;
	return v < -(s64)EXACT_MAX ? -(s64)EXACT_MAX : v;
}

static int counter_sample(void *ctx, const struct slice_sample *s)
{
	struct counter_walk *w = ctx;
	s64 v = counter_value(s->value);

	if (w->times)
		json_decimal(w->json, s->time, MS_DIGITS);
	else
		json_i64(w->json, v - w->last);
	w->last = v;
	return w->json->out->error;
}

static void put_row(struct json *j, const char *source, const char *unit, const char *label)
{
	json_object(j);
	json_key_string(j, "type", "value");
	json_key_string(j, "source", source);
	json_key_object(j, "format");
	json_key_string(j, "unit", unit);
	json_end_object(j);
	json_key_string(j, "label", label);
	json_end_object(j);
}

static void put_display(struct json *j, bool heap, const char *label)
{
	const char *unit = heap ? "bytes" : "number";

	json_key_object(j, "display");
	json_key_string(j, "graphType", "line-accumulated");
	json_key_string(j, "unit", heap ? "bytes" : "");
	json_key_string(j, "color", heap ? "orange" : "blue");
	json_key(j, "markerSchemaLocation");
	json_null(j);
	json_key_u64(j, "sortWeight", heap ? 20 : 50);
	json_key_string(j, "label", label);
	json_key_array(j, "tooltipRows");
	put_row(j, "accumulated", unit, heap ? "heap at this time" : "value at this time");
	put_row(j, "count-range", unit, "range in view");
	json_end_array(j);
	json_end_object(j);
}

static void put_counter(struct firefox *f, u32 index, const u32 *order)
{
	const struct slice_counter *c = &f->slices.counters[index];
	const struct slice_thread *t = &f->slices.threads[c->thread];
	const char *label = slices_name(&f->slices, c->name);
	struct counter_walk w = { .json = &f->json, .times = true };
	struct json *j = &f->json;
	char text[400];
	u32 at = 0;

	while (order[at] != c->thread)
		at++;
	/* Other threads of the process may have one of that name. */
	snprintf(text, sizeof(text), t->tid == t->pid ? "%s" : "%s (%u)", label, t->tid);
	json_object(j);
	json_key_string(j, "name", text);
	json_key_string(j, "category", c->heap ? "Memory" : "Value");
	json_key_string(j, "description",
			c->heap ? "Heap before and after each collection" : "A named value");
	key_pid(j, t->pid);
	json_key_u64(j, "mainThreadIndex", at);
	put_display(j, c->heap, text);
	json_key_object(j, "samples");
	/* The loader takes the first difference for unknown: it is a dummy. */
	json_key_array(j, "time");
	json_decimal(j, 0, MS_DIGITS);
	if (!f->rc)
		f->rc = slices_samples(&f->slices, index, counter_sample, &w);
	json_end_array(j);
	json_key_array(j, "count");
	json_u64(j, 0);
	w = (struct counter_walk){ .json = j };
	if (!f->rc)
		f->rc = slices_samples(&f->slices, index, counter_sample, &w);
	json_end_array(j);
	json_key_u64(j, "length", spool_count(f->slices.spool, c->stream) + 1);
	json_end_object(j);
	json_end_object(j);
}

/* -------------------------------------------------------------- Rest ----- */

static void put_fact(struct json *j, const char *label, const char *format, u64 v, const char *text)
{
	json_object(j);
	json_key_string(j, "label", label);
	json_key_string(j, "format", format);
	if (text)
		json_key_string(j, "value", text);
	else
		json_key_u64(j, "value", min_u64(v, EXACT_MAX));
	json_end_object(j);
}

/* What a reader must know to trust the figures, or not. */
static void put_facts(struct json *j, const struct snapshot *s, const struct report_source *src)
{
	unsigned int i;

	json_key_array(j, "extra");
	json_object(j);
	json_key_string(j, "label", "Recording");
	json_key_array(j, "entries");
	put_fact(j, "complete", "string", 0, snapshot_complete(s) ? "yes" : "no");
	put_fact(j, "method", "string", 0, src->method);
	put_fact(j, "nested loops", "string", 0, src->nested);
	put_fact(j, "cycles a second", "integer", src->cycles_hz, NULL);
	put_fact(j, "events incomplete", "integer", s->events.incomplete, NULL);
	for (i = 0; i < LOSS_CAUSES; i++)
		if (s->losses.records[i])
			put_fact(j, loss_name(i), "integer", s->losses.records[i], NULL);
	if (src->note)
		put_fact(j, "note", "string", 0, src->note);
	json_end_array(j);
	json_end_object(j);
	json_end_array(j);
}

static void put_meta(struct firefox *f, const struct snapshot *s, const struct report_source *src)
{
	const struct slices *sl = &f->slices;
	struct json *j = &f->json;
	u64 end = max_u64(sl->end,
			  s->end_ns > f->config.start_ns ? s->end_ns - f->config.start_ns : 0);
	u32 i;

	json_key_object(j, "meta");
	json_key_u64(j, "version", GECKO_VERSION);
	json_key_u64(j, "preprocessedProfileVersion", FORMAT_VERSION);
	json_key_string(j, "importedFrom", "vmspan");
	json_key_string(j, "product",
			sl->process_count ? slices_name(sl, sl->processes[0].name) : "vmspan");
	json_key_u64(j, "interval", 1);
	key_ms(j, "startTime", f->config.start_real_ns);
	json_key_u64(j, "startTimeAsClockMonotonicNanosecondsSinceBoot", f->config.start_ns);
	json_key_u64(j, "profilingStartTime", 0);
	/* It must lie behind everything, or the loader hides what is there. */
	key_ms(j, "profilingEndTime", end + 1);
	json_key_u64(j, "processType", 0);
	json_key_u64(j, "stackwalk", 0);
	json_key_string(j, "toolkit", "");
	json_key_string(j, "platform", "Linux");
	json_key_bool(j, "symbolicated", true);
	json_key_bool(j, "symbolicationNotSupported", true);
	json_key_bool(j, "usesOnlyOneStackType", true);
	json_key_bool(j, "sourceCodeIsNotOnSearchfox", true);
	json_key_bool(j, "keepProfileThreadOrder", true);
	json_key_object(j, "extensions");
	key_empty(j, "id");
	key_empty(j, "name");
	key_empty(j, "baseURL");
	json_key_u64(j, "length", 0);
	json_end_object(j);
	json_key_array(j, "initialVisibleThreads");
	for (i = 0; i < max_u64(sl->thread_count, 1); i++)
		json_u64(j, i);
	json_end_array(j);
	json_key_array(j, "initialSelectedThreads");
	json_u64(j, 0);
	json_end_array(j);
	json_key_array(j, "categories");
	firefox_categories(j);
	firefox_group_categories(f);
	json_end_array(j);
	json_key(j, "markerSchema");
	firefox_schemas(j);
	put_facts(j, s, src);
	json_end_object(j);
}

static void *firefox_begin(struct out *out, const struct export_config *config, struct model *m)
{
	struct firefox *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->config = *config;
	json_open(&f->json, out);
	if (slices_init(&f->slices, config) || samples_want(&f->slices)) {
		slices_release(&f->slices);
		free(f);
		return NULL;
	}
	model_observe(m, &slices_observer, &f->slices);
	return f;
}

static int firefox_end(void *x, const struct snapshot *s, const struct report_source *src)
{
	struct firefox *f = x;
	struct json *j = &f->json;
	u32 i, *order = slices_order(&f->slices);

	if (!order)
		return -ENOMEM;
	f->rc = firefox_find_groups(f);
	json_object(j);
	put_meta(f, s, src);
	key_empty(j, "libs");
	put_threads(f, order);
	json_key_array(j, "counters");
	for (i = 0; i < f->slices.counter_count; i++)
		put_counter(f, i, order);
	json_end_array(j);
	firefox_shared(f);
	json_end_object(j);
	json_line(j);
	free(order);
	return f->rc;
}

static void firefox_free(void *x)
{
	struct firefox *f = x;

	if (!f)
		return;
	slices_release(&f->slices);
	map_free(&f->group_of);
	free(f);
}

const struct exporter firefox_exporter = {
	.name = "firefox",
	.suffix = ".profile.json",
	.about = "Firefox Profiler, for profiler.firefox.com: shows everything",
	.begin = firefox_begin,
	.end = firefox_end,
	.free = firefox_free,
	.limit_bytes = (1ull << 30) - 2,
	.limit_why = "the Firefox Profiler reads it into one string, of at most 1 GB in Firefox "
		     "and 512 MB in Chromium",
};
