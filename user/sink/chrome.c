/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/chrome.h"
#include "base/array.h"
#include "base/map.h"
#include "sink/complete.h"
#include "sink/figures.h"
#include "sink/flows.h"
#include "sink/nesting.h"
#include "sink/slices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Viewers read numbers as doubles: beyond this an integer must be a string. */
#define EXACT_MAX (1ull << 53)
/* Nothing begins at 0: some viewers take that for "no time". */
#define TIME_FIRST_NS 1000
/* A second thread with the same ids (a reused tid, a second registry in one
 * thread) gets a track of its own; Linux tids are below this. */
#define TRACK_STEP 10000000u

struct chrome_thread {
	u32 pid, tid;
	u32 track; /* "tid" in the file */
	char *name; /* owned; the last it had */
	struct nesting nesting;
};

struct chrome_process {
	u32 pid;
	char *name; /* owned; the last it had */
};

struct chrome {
	struct json json;
	struct export_config config;
	struct map threads; /* model_thread.id -> index into thread */
	struct map tracks; /* pid << 32 | track -> 1 */
	struct map processes; /* pid -> index into process */
	struct chrome_thread *thread;
	u32 thread_count, thread_cap;
	struct chrome_process *process;
	u32 process_count, process_cap;
	struct flows flows;
	u64 flow; /* id of the last */
	u64 async; /* id of the last interval off its thread's track */
	u64 cut, refused, clamped;
};

static void key_time(struct json *j, const char *key, u64 ns)
{
	json_key(j, key);
	json_decimal(j, ns, 3);
}

static void key_exact(struct json *j, const char *key, u64 v)
{
	char text[24];

	if (v <= EXACT_MAX) {
		json_key_u64(j, key, v);
		return;
	}
	snprintf(text, sizeof(text), "%" PRIu64, v);
	json_key_string(j, key, text);
}

/* Time in the file, in ns. */
static u64 file_time(struct chrome *c, u64 ns)
{
	if (ns < c->config.start_ns) {
		c->clamped++;
		ns = c->config.start_ns;
	}
	return ns - c->config.start_ns + TIME_FIRST_NS;
}

/* A trace event up to its arguments, a line each. */
static void begin_event(struct chrome *c, const char *phase, u32 pid, u32 track)
{
	struct json *j = &c->json;

	out_write(j->out, "\n", 1);
	json_object(j);
	json_key_string(j, "ph", phase);
	json_key_u64(j, "pid", pid);
	json_key_u64(j, "tid", track);
}

static void put_metadata(struct chrome *c, const char *what, u32 pid, u32 track, const char *name,
			 u64 index)
{
	struct json *j = &c->json;

	begin_event(c, "M", pid, track);
	json_key_string(j, "name", what);
	json_key_object(j, "args");
	if (name)
		json_key_string(j, "name", name);
	else
		json_key_u64(j, "sort_index", index);
	json_end_object(j);
	json_end_object(j);
}

static int set_name(char **at, const char *name)
{
	char *copy;

	if (*at && (!name || !name[0] || !strcmp(*at, name)))
		return 0;
	copy = strdup(name ? name : "");
	if (!copy)
		return -ENOMEM;
	free(*at);
	*at = copy;
	return 0;
}

static int name_process(struct chrome *c, u32 pid, const char *name)
{
	u64 *known = map_get(&c->processes, pid);
	struct chrome_process *p;

	if (known)
		return set_name(&c->process[*known].name, name);
	if (array_room(c->process, c->process_cap, c->process_count + 1) ||
	    map_put(&c->processes, pid, c->process_count))
		return -ENOMEM;
	p = &c->process[c->process_count++];
	*p = (struct chrome_process){ .pid = pid };
	return set_name(&p->name, name);
}

static int new_thread(struct chrome *c, const struct model_thread *t, u64 *index)
{
	u64 key, track = t->tid;

	if (array_room(c->thread, c->thread_cap, c->thread_count + 1))
		return -ENOMEM;
	for (;; track += TRACK_STEP) {
		key = (u64)t->pid << 32 | (u32)track;
		if (!map_get(&c->tracks, key))
			break;
	}
	*index = c->thread_count;
	if (map_put(&c->tracks, key, 1) || map_put(&c->threads, t->id, *index))
		return -ENOMEM;
	c->thread[c->thread_count++] =
		(struct chrome_thread){ .pid = t->pid, .tid = t->tid, .track = (u32)track };
	return 0;
}

static struct chrome_thread *find_thread(struct chrome *c, const struct model_thread *t)
{
	u64 *known = map_get(&c->threads, t->id), index = known ? *known : 0;
	struct chrome_thread *th;

	if (!known && (name_process(c, t->pid, t->process) || new_thread(c, t, &index)))
		return NULL;
	th = &c->thread[index];
	return set_name(&th->name, t->name) ? NULL : th;
}

/* At the end, when the last names are known: viewers keep the first they see. */
static void put_names(struct chrome *c)
{
	u32 i;

	for (i = 0; i < c->process_count; i++) {
		const struct chrome_process *p = &c->process[i];

		put_metadata(c, "process_name", p->pid, 0, p->name[0] ? p->name : "process", 0);
		put_metadata(c, "process_sort_index", p->pid, 0, NULL, i);
	}
	for (i = 0; i < c->thread_count; i++) {
		const struct chrome_thread *t = &c->thread[i];

		put_metadata(c, "thread_name", t->pid, t->track, t->name[0] ? t->name : "thread",
			     0);
		put_metadata(c, "thread_sort_index", t->pid, t->track, NULL,
			     t->tid == t->pid ? 0 : i + 1);
	}
}

/* Head of an interval: X where it nests, else b with its e written first. */
static int begin_interval(struct chrome *c, const struct model_thread *t, const char *cat,
			  const char *name, u64 begin_ns, u64 end_ns)
{
	struct chrome_thread *th = find_thread(c, t);
	u64 begin = file_time(c, begin_ns), end = file_time(c, end_ns);
	struct json *j = &c->json;
	int verdict;

	if (!th)
		return -ENOMEM;
	verdict = nesting_add(&th->nesting, &begin, end);
	if (verdict < 0)
		return verdict;
	if (!name || !name[0])
		name = "(unnamed)";
	c->cut += verdict == NESTING_CUT;
	if (verdict == NESTING_REFUSED) {
		c->refused++;
		begin_event(c, "e", t->pid, th->track);
		json_key_string(j, "cat", cat);
		json_key_u64(j, "id", ++c->async);
		json_key_string(j, "name", name);
		key_time(j, "ts", max_u64(begin + 1, end));
		json_end_object(j);
		begin_event(c, "b", t->pid, th->track);
		json_key_string(j, "cat", cat);
		json_key_u64(j, "id", c->async);
	} else {
		begin_event(c, "X", t->pid, th->track);
		json_key_string(j, "cat", cat);
	}
	json_key_string(j, "name", name);
	key_time(j, "ts", begin);
	if (verdict != NESTING_REFUSED)
		key_time(j, "dur", end - begin);
	return 0;
}

static void key_if(struct json *j, const char *key, u64 v)
{
	if (v)
		key_exact(j, key, v);
}

static void put_ledger(struct json *j, const struct ledger *l)
{
	key_if(j, "self_ns", l->self_ns);
	key_if(j, "gc_ns", l->gc_ns);
	key_if(j, "blocked_ns", l->blocked_ns);
	key_if(j, "native_ns", l->native_ns);
	key_if(j, "moved_ns", l->moved_ns);
	key_if(j, "stale_ns", l->stale_ns);
	key_if(j, "lost_ns", l->lost_ns);
	key_if(j, "preempted_ns", l->preempted_ns);
	key_if(j, "stopped_ns", l->stopped_ns);
	key_if(j, "frozen_ns", l->frozen_ns);
	key_if(j, "throttled_ns", l->throttled_ns);
}

static void put_counter(struct chrome *c, const struct model_thread *t, const char *name, u64 ns,
			s64 value)
{
	struct json *j = &c->json;
	char text[400];

	/* A counter is its process's; other threads may have one of that name. */
	if (t->tid != t->pid) {
		snprintf(text, sizeof(text), "%s (%u)", name, t->tid);
		name = text;
	}
	begin_event(c, "C", t->pid, t->tid);
	json_key_string(j, "cat", "value");
	json_key_string(j, "name", name);
	key_time(j, "ts", file_time(c, ns));
	json_key_object(j, "args");
	json_key_i64(j, "value", value);
	json_end_object(j);
	json_end_object(j);
}

static int chrome_span(void *ctx, const struct model_span *s)
{
	const char *name = s->name && s->name[0] ? s->name : NULL, *cat;
	struct chrome *c = ctx;
	struct json *j = &c->json;
	char kind[16];
	int rc;

	if (s->type == VMSPAN_GC) {
		cat = "gc";
		name = name ? name : "collection";
	} else if (s->type == VMSPAN_BLOCK) {
		cat = "blocked";
		name = name ? name : "blocking call";
	} else {
		cat = group_kind(s->group, kind);
	}
	rc = begin_interval(c, s->thread, cat, name, s->begin_ns, s->end_ns);
	if (rc)
		return rc;
	json_key_object(j, "args");
	if (s->group && s->group[0])
		json_key_string(j, "group", s->group);
	json_key_u64(j, "iteration", s->iteration);
	json_key_u64(j, "cpu", s->cpu_begin);
	if (s->cpu_end != s->cpu_begin)
		json_key_u64(j, "cpu_end", s->cpu_end);
	if (s->fate != SPAN_KEPT)
		json_key_string(j, "fate", fate_name(s->fate));
	if (s->repaired)
		json_key_bool(j, "repaired", true);
	key_exact(j, "self_ns", s->self_ns);
	if (s->type == VMSPAN_GC) {
		key_exact(j, "bytes_before", s->bytes_before);
		key_exact(j, "bytes_after", s->bytes_after);
	} else if (s->type == VMSPAN_BLOCK) {
		key_exact(j, "peer", s->peer);
	} else {
		key_if(j, "blocked_ns", s->blocked_ns);
		key_if(j, "gc_ns", s->gc_ns);
	}
	json_end_object(j);
	json_end_object(j);
	if (s->type == VMSPAN_GC && (s->bytes_before || s->bytes_after)) {
		put_counter(c, s->thread, "gc heap", s->begin_ns, (s64)s->bytes_before);
		put_counter(c, s->thread, "gc heap", s->end_ns, (s64)s->bytes_after);
	}
	rc = flows_span(&c->flows, s);
	return rc ? rc : j->out->error;
}

static int chrome_event(void *ctx, const struct model_event *e)
{
	struct chrome *c = ctx;
	struct json *j = &c->json;
	int rc;

	if (e->implicit)
		return 0;
	rc = begin_interval(c, e->thread, "event", e->label && e->label[0] ? e->label : "event",
			    e->begin_ns, e->end_ns);
	if (rc)
		return rc;
	json_key_object(j, "args");
	json_key_u64(j, "iteration", e->iteration);
	if (e->parent)
		json_key_u64(j, "parent", e->parent);
	key_exact(j, "wall_ns", e->ledger.event_wall_ns);
	key_exact(j, "cpu_ns", e->cpu_ns);
	key_if(j, "stolen_ns", e->stolen_ns);
	put_ledger(j, &e->ledger);
	if (e->missing)
		json_key_string(j, "incomplete", missing_text(e->missing));
	json_end_object(j);
	json_end_object(j);
	rc = flows_event(&c->flows, e);
	return rc ? rc : j->out->error;
}

static int chrome_mark(void *ctx, const struct model_mark *m)
{
	bool input = m->type == VMSPAN_INPUT;
	const char *what = input ? "input" : "frame";
	struct chrome *c = ctx;
	struct chrome_thread *th = find_thread(c, m->thread);
	struct json *j = &c->json;

	if (!th)
		return -ENOMEM;
	if (m->type == VMSPAN_VALUE) {
		put_counter(c, m->thread, m->label && m->label[0] ? m->label : "value", m->time_ns,
			    m->value);
		return j->out->error;
	}
	begin_event(c, "i", m->thread->pid, th->track);
	json_key_string(j, "cat", what);
	json_key_string(j, "name", m->label && m->label[0] ? m->label : what);
	key_time(j, "ts", file_time(c, m->time_ns));
	json_key_string(j, "s", "t");
	json_key_object(j, "args");
	json_key_u64(j, "iteration", m->iteration);
	json_end_object(j);
	json_end_object(j);
	return j->out->error;
}

static void put_flow_end(struct chrome *c, const char *phase, const struct flow_end *end, u64 ns)
{
	u64 *index = map_get(&c->threads, end->thread);
	struct json *j = &c->json;

	begin_event(c, phase, end->pid, index ? c->thread[*index].track : 0);
	json_key_string(j, "cat", "flow");
	json_key_string(j, "name", "waits for");
	json_key_u64(j, "id", c->flow);
	key_time(j, "ts", file_time(c, ns));
	if (phase[0] == 'f')
		json_key_string(j, "bp", "e");
	json_end_object(j);
}

/* From the call to what its peer did meanwhile. */
static int chrome_flow(void *ctx, const struct flow_end *call, const struct flow_end *event)
{
	struct chrome *c = ctx;

	c->flow++;
	put_flow_end(c, "s", call, call->begin);
	put_flow_end(c, "f", event, max_u64(event->begin, call->begin));
	return c->json.out->error;
}

static int chrome_thread_name(void *ctx, const struct model_thread *t)
{
	struct chrome *c = ctx;
	u64 *known = map_get(&c->threads, t->id);

	return known ? set_name(&c->thread[*known].name, t->name) : 0;
}

static int chrome_process(void *ctx, const struct item_process *p)
{
	struct chrome *c = ctx;

	/* Only those that show something get a place. */
	if (p->change == PROCESS_EXIT || !p->name || !map_get(&c->processes, p->pid))
		return 0;
	return name_process(c, p->pid, p->name);
}

static void *chrome_begin(struct out *out, const struct export_config *config, struct model *m)
{
	static const struct model_observer observer = {
		.span = chrome_span,
		.event = chrome_event,
		.mark = chrome_mark,
		.process = chrome_process,
		.thread = chrome_thread_name,
	};
	struct chrome *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->config = *config;
	flows_init(&c->flows, chrome_flow, c);
	json_open(&c->json, out);
	json_object(&c->json);
	json_key_string(&c->json, "displayTimeUnit", "ns");
	json_key_array(&c->json, "traceEvents");
	model_observe(m, &observer, c);
	return c;
}

/* What a reader must know to trust the file, or not. */
static void put_about(struct chrome *c, const char *key, const struct snapshot *s,
		      const struct report_source *src)
{
	struct json *j = &c->json;

	json_key_object(j, key);
	json_key_string(j, "tool", "vmspan");
	/* CLOCK_MONOTONIC where ts is 0. */
	json_key(j, "t0_ns");
	json_i64(j, (s64)(c->config.start_ns - TIME_FIRST_NS));
	json_key_u64(j, "tsc_hz", src->cycles_hz);
	json_key_string(j, "method", src->method);
	json_key_string(j, "nested", src->nested);
	json_key_bool(j, "complete", snapshot_complete(s));
	json_key_u64(j, "events_incomplete", s->events.incomplete);
	losses_json(j, &s->losses);
	/* CLOCK_REALTIME at the start of the trace, where ts is 1. */
	key_exact(j, "start_real_ns", c->config.start_real_ns);
	json_key_u64(j, "intervals_cut", c->cut);
	json_key_u64(j, "intervals_async", c->refused);
	json_key_u64(j, "times_clamped", c->clamped);
	if (src->note)
		json_key_string(j, "note", src->note);
	json_end_object(j);
}

static int chrome_end(void *x, const struct snapshot *s, const struct report_source *src)
{
	struct chrome *c = x;

	put_names(c);
	out_write(c->json.out, "\n", 1);
	json_end_array(&c->json);
	put_about(c, "otherData", s, src);
	put_about(c, "metadata", s, src);
	json_end_object(&c->json);
	json_line(&c->json);
	return 0;
}

static void chrome_free(void *x)
{
	struct chrome *c = x;
	u32 i;

	if (!c)
		return;
	for (i = 0; i < c->thread_count; i++) {
		nesting_release(&c->thread[i].nesting);
		free(c->thread[i].name);
	}
	for (i = 0; i < c->process_count; i++)
		free(c->process[i].name);
	free(c->process);
	free(c->thread);
	flows_release(&c->flows);
	map_free(&c->threads);
	map_free(&c->tracks);
	map_free(&c->processes);
	free(c);
}

const struct exporter chrome_exporter = {
	.name = "chrome",
	.suffix = ".trace.json",
	.about = "Chrome Trace Event JSON, for Perfetto and chrome://tracing",
	.begin = chrome_begin,
	.end = chrome_end,
	.free = chrome_free,
	.limit_bytes = 2ull << 30,
	.limit_why = "ui.perfetto.dev keeps it in the memory of a browser tab, 4 GB at most; "
		     "-f perfetto is half the size",
};
