/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/ndjson.h"
#include "sink/complete.h"
#include "sink/figures.h"
#include "sink/slices.h"
#include "sink/waits.h"

#include <stdlib.h>
#include <string.h>

/* Of the lines; grows when a key changes its meaning or goes away. */
#define NDJSON_SCHEMA 1

struct ndjson {
	struct json json;
	u64 start_ns;
	u64 lines;
};

static u64 since(const struct ndjson *x, u64 ns)
{
	return ns > x->start_ns ? ns - x->start_ns : 0;
}

static struct json *line_begin(struct ndjson *x, const char *type, const struct model_thread *t)
{
	struct json *j = &x->json;

	json_object(j);
	json_key_string(j, "type", type);
	json_key_u64(j, "pid", t->pid);
	json_key_u64(j, "tid", t->tid);
	json_key_string(j, "process", t->process ? t->process : "");
	json_key_string(j, "thread", t->name ? t->name : "");
	return j;
}

static int line_end(struct ndjson *x)
{
	json_end_object(&x->json);
	json_line(&x->json);
	x->lines++;
	return x->json.out->error;
}

static void put_times(struct ndjson *x, u64 begin_ns, u64 end_ns, u16 cpu_begin, u16 cpu_end)
{
	struct json *j = &x->json;
	u64 begin = since(x, begin_ns), end = max_u64(begin, since(x, end_ns));

	json_key_u64(j, "begin_ns", begin);
	json_key_u64(j, "end_ns", end);
	json_key_u64(j, "duration_ns", end - begin);
	json_key_u64(j, "cpu_begin", cpu_begin);
	json_key_u64(j, "cpu_end", cpu_end);
}

static int ndjson_span(void *ctx, const struct model_span *s)
{
	bool gc = s->type == VMSPAN_GC, block = s->type == VMSPAN_BLOCK;
	struct ndjson *x = ctx;
	struct json *j = line_begin(x, gc ? "gc" : block ? "block" : "span", s->thread);

	json_key_u64(j, "iteration", s->iteration);
	json_key_string(j, "name", s->name ? s->name : "");
	if (!gc && !block)
		json_key_string(j, "group", s->group ? s->group : "");
	put_times(x, s->begin_ns, s->end_ns, s->cpu_begin, s->cpu_end);
	json_key_u64(j, "depth", s->depth);
	json_key_string(j, "fate", fate_name(s->fate));
	json_key_bool(j, "repaired", s->repaired);
	json_key_u64(j, "self_ns", s->self_ns);
	if (gc) {
		json_key_u64(j, "bytes_before", s->bytes_before);
		json_key_u64(j, "bytes_after", s->bytes_after);
	} else if (block) {
		json_key_u64(j, "peer", s->peer);
	} else {
		json_key_u64(j, "blocked_ns", s->blocked_ns);
		json_key_u64(j, "gc_ns", s->gc_ns);
	}
	return line_end(x);
}

static void put_share(struct json *j, const struct model_share *sh)
{
	json_object(j);
	json_key_string(j, "group", sh->group);
	json_key_u64(j, "ticks", sh->ticks);
	json_key_u64(j, "spans", sh->spans);
	json_key_u64(j, "wall_ns", sh->wall_ns);
	json_key_u64(j, "self_ns", sh->self_ns);
	json_key_u64(j, "cpu_ns", sh->cpu_ns);
	json_key_u64(j, "blocked_ns", sh->blocked_ns);
	json_key_u64(j, "gc_ns", sh->gc_ns);
	json_key_u64(j, "preempted_ns", sh->preempted_ns);
	if (sh->uncharged.wall_ns)
		json_key_u64(j, "uncharged_ns", sh->uncharged.wall_ns);
	if (sh->cpu_margin_ns)
		json_key_u64(j, "cpu_margin_ns", sh->cpu_margin_ns);
	json_end_object(j);
}

static int ndjson_event(void *ctx, const struct model_event *e)
{
	const struct ledger *l = &e->ledger;
	struct ndjson *x = ctx;
	struct json *j = line_begin(x, "event", e->thread);
	u32 i;

	json_key_u64(j, "iteration", e->iteration);
	json_key_u64(j, "parent", e->parent);
	json_key_string(j, "label", e->label ? e->label : "");
	json_key_bool(j, "implicit", e->implicit);
	json_key_bool(j, "incomplete", e->missing);
	if (e->missing)
		json_key_string(j, "missing", missing_name(e->missing));
	put_times(x, e->begin_ns, e->end_ns, e->cpu_begin, e->cpu_end);
	json_key_u64(j, "wall_ns", l->event_wall_ns);
	json_key_u64(j, "cpu_ns", e->cpu_ns);
	if (e->stolen_ns)
		json_key_u64(j, "stolen_ns", e->stolen_ns);
	ledger_json(j, l);
	kept_json(j, l);
	json_key_array(j, "groups");
	for (i = 0; i < e->share_count; i++)
		put_share(j, &e->shares[i]);
	json_end_array(j);
	if (e->wait_count)
		waits_json(j, e->waits, e->wait_count);
	return line_end(x);
}

static int ndjson_mark(void *ctx, const struct model_mark *m)
{
	static const char *const types[] = {
		[VMSPAN_INPUT] = "input",
		[VMSPAN_FRAME] = "frame",
		[VMSPAN_VALUE] = "value",
	};
	struct ndjson *x = ctx;
	struct json *j = line_begin(x, types[m->type], m->thread);

	json_key_u64(j, "iteration", m->iteration);
	json_key_string(j, "label", m->label ? m->label : "");
	json_key_u64(j, "time_ns", since(x, m->time_ns));
	if (m->type == VMSPAN_VALUE)
		json_key_i64(j, "value", m->value);
	return line_end(x);
}

static void *ndjson_begin(struct out *out, const struct export_config *config, struct model *m)
{
	static const struct model_observer observer = {
		.span = ndjson_span,
		.event = ndjson_event,
		.mark = ndjson_mark,
	};
	struct ndjson *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->start_ns = config->start_ns;
	json_open(&x->json, out);
	json_object(&x->json);
	json_key_string(&x->json, "type", "trace");
	json_key_u64(&x->json, "schema", NDJSON_SCHEMA);
	json_key_string(&x->json, "tool", "vmspan " VMSPAN_VERSION);
	json_key_u64(&x->json, "start_mono_ns", config->start_ns);
	json_key_u64(&x->json, "start_real_ns", config->start_real_ns);
	line_end(x);
	model_observe(m, &observer, x);
	return x;
}

static int ndjson_end(void *ctx, const struct snapshot *s, const struct report_source *src)
{
	struct ndjson *x = ctx;
	struct json *j = &x->json;

	json_object(j);
	json_key_string(j, "type", "end");
	json_key_u64(j, "lines", x->lines + 1);
	json_key_bool(j, "complete", snapshot_complete(s));
	json_key_string(j, "method", src->method);
	json_key_string(j, "nested", src->nested);
	json_key_u64(j, "events_incomplete", s->events.incomplete);
	losses_json(j, &s->losses);
	json_key(j, "note");
	if (src->note)
		json_string(j, src->note);
	else
		json_null(j);
	line_end(x);
	return 0;
}

const struct exporter ndjson_exporter = {
	.name = "ndjson",
	.suffix = ".ndjson",
	.about = "a JSON object a line, for jq, DuckDB, ClickHouse (user/sink/NDJSON.md)",
	.begin = ndjson_begin,
	.end = ndjson_end,
	.free = free,
};
