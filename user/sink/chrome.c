/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/chrome.h"
#include "base/map.h"
#include "sink/complete.h"
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
	u32 track; /* "tid" in the file */
	u64 name; /* hash of the name the file has, 0: none */
	struct nesting nesting;
};

struct chrome {
	struct json json;
	struct export_config config;
	struct map threads; /* model_thread.id -> index into thread */
	struct map tracks; /* pid << 32 | track -> 1 */
	struct map processes; /* pid -> hash of its name */
	struct chrome_thread *thread;
	u32 thread_count, thread_cap;
	u64 async; /* id of the last interval off its thread's track */
	u64 cut, refused, clamped;
};

static u64 hash_name(const char *s)
{
	u64 h = 0xcbf29ce484222325ull;

	for (; *s; s++)
		h = (h ^ (u8)*s) * 0x100000001b3ull;
	return h ? h : 1;
}

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

static int name_process(struct chrome *c, u32 pid, const char *name)
{
	u64 hash = hash_name(name), *known = map_get(&c->processes, pid);

	if (known && *known == hash)
		return 0;
	put_metadata(c, "process_name", pid, 0, name[0] ? name : "process", 0);
	if (!known)
		put_metadata(c, "process_sort_index", pid, 0, NULL, c->processes.len);
	return map_put(&c->processes, pid, hash);
}

static int new_thread(struct chrome *c, const struct model_thread *t, u64 *index)
{
	u64 key, track = t->tid;

	if (c->thread_count == c->thread_cap) {
		u32 cap = c->thread_cap ? c->thread_cap * 2 : 16;
		struct chrome_thread *p = realloc(c->thread, cap * sizeof(*p));

		if (!p)
			return -ENOMEM;
		c->thread = p;
		c->thread_cap = cap;
	}
	for (;; track += TRACK_STEP) {
		key = (u64)t->pid << 32 | (u32)track;
		if (!map_get(&c->tracks, key))
			break;
	}
	*index = c->thread_count;
	if (map_put(&c->tracks, key, 1) || map_put(&c->threads, t->id, *index))
		return -ENOMEM;
	c->thread[c->thread_count++] = (struct chrome_thread){ .track = (u32)track };
	put_metadata(c, "thread_sort_index", t->pid, (u32)track, NULL,
		     t->tid == t->pid ? 0 : *index + 1);
	return 0;
}

/* The thread's state; its names are in the file then. */
static struct chrome_thread *find_thread(struct chrome *c, const struct model_thread *t)
{
	u64 *known = map_get(&c->threads, t->id), index = known ? *known : 0, hash;
	struct chrome_thread *th;

	if (!known &&
	    (name_process(c, t->pid, t->process ? t->process : "") || new_thread(c, t, &index)))
		return NULL;
	th = &c->thread[index];
	hash = hash_name(t->name ? t->name : "");
	if (th->name != hash) {
		th->name = hash;
		put_metadata(c, "thread_name", t->pid, th->track,
			     t->name && t->name[0] ? t->name : "thread", 0);
	}
	return th;
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
	if (s->type == VMSPAN_GC) {
		key_exact(j, "bytes_before", s->bytes_before);
		key_exact(j, "bytes_after", s->bytes_after);
	} else if (s->type == VMSPAN_BLOCK) {
		key_exact(j, "peer", s->peer);
	}
	json_end_object(j);
	json_end_object(j);
	return j->out->error;
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
	if (e->incomplete)
		json_key_bool(j, "incomplete", true);
	json_end_object(j);
	json_end_object(j);
	return j->out->error;
}

static int chrome_mark(void *ctx, const struct model_mark *m)
{
	bool value = m->type == VMSPAN_VALUE, input = m->type == VMSPAN_INPUT;
	const char *what = value ? "value" : input ? "input" : "frame";
	struct chrome *c = ctx;
	struct chrome_thread *th = find_thread(c, m->thread);
	struct json *j = &c->json;

	if (!th)
		return -ENOMEM;
	begin_event(c, value ? "C" : "i", m->thread->pid, th->track);
	json_key_string(j, "cat", what);
	json_key_string(j, "name", m->label && m->label[0] ? m->label : what);
	key_time(j, "ts", file_time(c, m->time_ns));
	if (!value)
		json_key_string(j, "s", "t");
	json_key_object(j, "args");
	if (value)
		json_key_i64(j, "value", m->value);
	else
		json_key_u64(j, "iteration", m->iteration);
	json_end_object(j);
	json_end_object(j);
	return j->out->error;
}

static int chrome_process(void *ctx, const struct item_process *p)
{
	struct chrome *c = ctx;

	if (p->change == PROCESS_EXIT || !p->name)
		return 0;
	return name_process(c, p->pid, p->name) ? -ENOMEM : c->json.out->error;
}

static void *chrome_begin(struct out *out, const struct export_config *config, struct model *m)
{
	static const struct model_observer observer = {
		.span = chrome_span,
		.event = chrome_event,
		.mark = chrome_mark,
		.process = chrome_process,
	};
	struct chrome *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->config = *config;
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
	unsigned int i;

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
	json_key_object(j, "losses");
	for (i = 0; i < LOSS_CAUSES; i++)
		json_key_u64(j, loss_name(i), s->losses.records[i]);
	json_end_object(j);
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
	for (i = 0; i < c->thread_count; i++)
		nesting_release(&c->thread[i].nesting);
	free(c->thread);
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
};
