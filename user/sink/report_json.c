/* SPDX-License-Identifier: BSD-2-Clause */
/* The report as JSON, schema 1. SCHEMA.md describes every key. */
#include "model/sample.h"
#include "sink/complete.h"
#include "sink/containers.h"
#include "sink/figures.h"
#include "sink/sink.h"
#include "sink/waits.h"

#include <errno.h>
#include <stdlib.h>

static void key_text(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	if (s)
		json_string(j, s);
	else
		json_null(j);
}

static void put_source(struct json *j, const struct snapshot *s, const struct report_source *src)
{
	json_key_object(j, "source");
	json_key_string(j, "kind", src->kind);
	key_text(j, "file", src->file);
	json_key_u64(j, "duration_ns", s->end_ns > s->begin_ns ? s->end_ns - s->begin_ns : 0);
	json_key_string(j, "method", src->method);
	json_key_u64(j, "tsc_hz", src->cycles_hz);
	json_key_string(j, "migrated", src->migrated);
	json_key_string(j, "nested", src->nested);
	key_text(j, "note", src->note);
	json_key_u64(j, "begin_ns", s->begin_ns);
	json_end_object(j);
}

/* Only where there are any. */
static void put_notes(struct json *j, const struct snapshot *s, u32 process)
{
	u32 i, n = 0;

	for (i = 0; i < s->note_count; i++) {
		if (s->notes[i].process != process)
			continue;
		if (!n++)
			json_key_array(j, "notes");
		json_object(j);
		json_key_string(j, "text", s->notes[i].text);
		json_key_string(j, "advice", s->notes[i].advice);
		if (s->notes[i].left_out)
			json_key_bool(j, "left_out", true);
		json_end_object(j);
	}
	if (n)
		json_end_array(j);
}

/* Only where something was switched off. */
static void put_parts(struct json *j, const struct snapshot *s)
{
	u32 i, n = 0;

	for (i = 0; i < TRACE_PARTS; i++) {
		if (!s->parts[i].ns && !s->parts[i].now)
			continue;
		if (!n++)
			json_key_array(j, "not_measured");
		json_object(j);
		json_key_string(j, "part", part_names[i]);
		json_key_u64(j, "ns", s->parts[i].ns);
		json_key_bool(j, "now", s->parts[i].now);
		json_end_object(j);
	}
	if (n)
		json_end_array(j);
}

static void put_processes(struct json *j, const struct snapshot *s)
{
	u32 i;

	json_key_array(j, "processes");
	for (i = 0; i < s->process_count; i++) {
		const struct snapshot_process *p = &s->processes[i];

		json_object(j);
		json_key_u64(j, "pid", p->pid);
		json_key_string(j, "name", p->name);
		json_key_string(j, "vm", p->vm);
		json_key_u64(j, "ppid", p->ppid);
		json_key_bool(j, "ended", p->ended);
		put_notes(j, s, i);
		container_json(j, &p->container);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_durations(struct json *j, const u64 durations[JANK_BUCKETS])
{
	unsigned int i;

	json_key_array(j, "durations");
	for (i = 0; i < JANK_BUCKETS; i++)
		json_u64(j, durations[i]);
	json_end_array(j);
}

static void put_events(struct json *j, const struct event_stats *e)
{
	unsigned int i;

	json_key_object(j, "events");
	json_key_u64(j, "count", e->count);
	json_key_u64(j, "wall_ns", e->wall_ns);
	json_key_u64(j, "cpu_ns", e->cpu_ns);
	json_key_u64(j, "incomplete", e->incomplete);
	if (e->incomplete) {
		json_key_object(j, "missing");
		for (i = 0; i < MISSING_CAUSES; i++)
			if (e->missing[i])
				json_key_u64(j, missing_name(i), e->missing[i]);
		json_end_object(j);
	}
	json_key_u64(j, "implicit", e->implicit);
	json_key_u64(j, "max_ns", e->max_ns);
	put_durations(j, e->durations);
	if (e->samples)
		json_key_u64(j, "samples", e->samples);
	if (e->open.events)
		json_key_u64(j, "open", e->open.events);
	json_end_object(j);
}

static void put_children(struct json *j, const struct snapshot *s, const struct snapshot_group *g)
{
	u32 i;

	json_key_array(j, "processes");
	for (i = 0; i < g->children; i++) {
		const struct snapshot_child *c = &s->children[g->first_child + i];

		json_object(j);
		json_key_u64(j, "pid", s->processes[c->process].pid);
		json_key_u64(j, "wall_ns", c->stats.wall_ns);
		json_key_u64(j, "self_ns", c->stats.self_ns);
		json_key_u64(j, "ticks", c->stats.ticks);
		json_end_object(j);
	}
	json_end_array(j);
}

/* How many looks the figures of a sampled group rest on, and how sure its share
 * of the time spent running is. */
static void put_samples(struct json *j, const struct snapshot *s, const struct group_stats *t)
{
	u32 low, high;

	if (!s->events.samples)
		return;
	sample_interval(t->self_samples, s->events.samples, &low, &high);
	json_key_u64(j, "samples", t->samples);
	json_key_u64(j, "self_samples", t->self_samples);
	json_key_object(j, "self_share");
	json_key_u64(j, "ppm", t->self_samples * 1000000 / s->events.samples);
	json_key_u64(j, "low_ppm", low);
	json_key_u64(j, "high_ppm", high);
	json_end_object(j);
}

static void put_histogram(struct json *j, const struct hist *h)
{
	unsigned int i;
	u64 low, high;

	json_key_array(j, "histogram");
	for (i = 0; i < h->len; i++) {
		u32 n = hist_bucket(h, i, &low, &high);

		if (!n)
			continue;
		json_array(j);
		json_u64(j, low);
		json_u64(j, n);
		json_end_array(j);
	}
	json_end_array(j);
}

/* Event time in no compartment: what of it ran, what had no CPU. */
static void put_native(struct json *j, const struct ledger *l)
{
	json_key_object(j, "native");
	json_key_u64(j, "on_cpu_ns", l->native_ns - l->preempted_ns - l->native_stock_ns);
	if (l->native_stock_ns)
		json_key_u64(j, "stock_ns", l->native_stock_ns);
	off_json(j, kept_ns(l->native_off_ns), l->native_off_ns);
	json_end_object(j);
}

static void put_group(struct json *j, const struct snapshot *s, const struct snapshot_group *g,
		      bool histogram)
{
	const struct group_stats *t = &g->stats;
	u32 i;

	json_object(j);
	json_key_string(j, "name", g->name);
	json_key_string(j, "kind", g->kind);
	json_key_array(j, "pids");
	for (i = 0; i < g->children; i++)
		json_u64(j, s->processes[s->children[g->first_child + i].process].pid);
	json_end_array(j);
	json_key_u64(j, "ticks", t->ticks);
	json_key_u64(j, "events", t->events);
	json_key_u64(j, "spans", t->spans);
	json_key_u64(j, "wall_ns", t->wall_ns);
	json_key_u64(j, "self_ns", t->self_ns);
	json_key_u64(j, "cpu_ns", t->cpu_ns);
	json_key_u64(j, "blocked_ns", t->blocked_ns);
	json_key_u64(j, "gc_ns", t->gc_ns);
	json_key_u64(j, "max_ns", t->max_ns);
	json_key_u64(j, "p50_ns", group_quantile(t, 500));
	json_key_u64(j, "p99_ns", group_quantile(t, 990));
	put_durations(j, t->durations);
	json_key_u64(j, "stayed", t->stayed);
	json_key_u64(j, "moved", t->moved);
	json_key_u64(j, "stale", t->stale);
	json_key_bool(j, "complete", group_complete(s, t));
	put_children(j, s, g);
	json_key_u64(j, "incomplete", t->incomplete);
	put_samples(j, s, t);
	off_json(j, t->preempted_ns, t->off_ns);
	if (histogram)
		put_histogram(j, &t->hist);
	if (t->open.events)
		json_key_u64(j, "open", t->open.events);
	if (t->uncharged_ns)
		json_key_u64(j, "uncharged_ns", t->uncharged_ns);
	if (t->cpu_margin_ns)
		json_key_u64(j, "cpu_margin_ns", t->cpu_margin_ns);
	json_end_object(j);
}

static void put_gc(struct json *j, const struct gc_stats *g)
{
	json_key_object(j, "gc");
	json_key_u64(j, "count", g->count);
	json_key_u64(j, "total_ns", g->total_ns);
	json_key_u64(j, "max_ns", g->max_ns);
	json_key_u64(j, "freed_bytes", g->freed_bytes);
	json_end_object(j);
}

static void put_ledger(struct json *j, const struct ledger *l)
{
	json_key_object(j, "ledger");
	ledger_json(j, l);
	json_key_u64(j, "event_wall_ns", l->event_wall_ns);
	kept_json(j, l);
	if (l->unseen_ns)
		json_key_u64(j, "unseen_ns", l->unseen_ns);
	json_end_object(j);
}

/* Batches of which nobody knows how many records they had. */
static void put_uncounted(struct json *j, const struct loss_stats *l)
{
	unsigned int i, n = 0;

	for (i = 0; i < LOSS_CAUSES; i++) {
		if (!lost_unknown(l, i))
			continue;
		if (!n++)
			json_key_object(j, "losses_uncounted");
		json_key_u64(j, loss_name(i), l->batches[i]);
	}
	if (n)
		json_end_object(j);
}

static void put_received(struct json *j, const struct snapshot *s)
{
	json_key_u64(j, "records", s->records);
	json_key_u64(j, "spans", s->spans);
	json_key_u64(j, "inputs", s->inputs);
	json_key_u64(j, "frames", s->frames);
	json_key_object(j, "repairs");
	json_key_u64(j, "repaired", s->repairs.repaired);
	json_key_u64(j, "before_attach", s->repairs.before_attach);
	json_key_u64(j, "discarded_shares", s->repairs.discarded_shares);
	json_key_u64(j, "stolen_ns", s->repairs.stolen_ns);
	json_end_object(j);
}

/* What a thread was in. */
static void put_stays(struct json *j, const struct model_unfinished *u)
{
	u32 i;

	json_key_bool(j, "event", u->event);
	json_key_string(j, "label", u->label);
	json_key_string(j, "group", u->group);
	json_key_u64(j, "begin_ns", u->begin_ns);
	json_key_u64(j, "so_far_ns", u->for_ns);
	json_key_u64(j, "depth", u->depth);
	json_key_array(j, "inside");
	for (i = 0; i < u->stay_count; i++) {
		json_object(j);
		json_key_string(j, "name", u->stay[i].name);
		json_key_u64(j, "so_far_ns", u->stay[i].for_ns);
		json_end_object(j);
	}
	json_end_array(j);
}

/* Only where there is one. */
static void put_not_ended(struct json *j, const char *key, u64 count,
			  const struct model_unfinished *list, u32 kept)
{
	static const char *const why[] = {
		[UNFINISHED_TRACE] = "trace",
		[UNFINISHED_THREAD] = "thread",
		[UNFINISHED_PROCESS] = "process",
		[UNFINISHED_EXEC] = "exec",
	};
	u32 i;

	if (!count)
		return;
	json_key_object(j, key);
	json_key_u64(j, "count", count);
	json_key_array(j, "longest");
	for (i = 0; i < kept; i++) {
		json_object(j);
		json_key_u64(j, "pid", list[i].pid);
		json_key_u64(j, "tid", list[i].tid);
		if (list[i].why)
			json_key_string(j, "ended", why[list[i].why]);
		put_stays(j, &list[i]);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

/* Only where it is known. */
static void put_cost(struct json *j, const struct snapshot *s)
{
	if (!s->cost.cpu_ns)
		return;
	json_key_object(j, "cost");
	json_key_u64(j, "marks", s->cost.marks);
	json_key_u64(j, "traps", s->cost.traps);
	json_key_u64(j, "cpu_ns", s->cost.cpu_ns);
	json_end_object(j);
}

/* Only where there are any. */
static void put_containers(struct json *j, const struct snapshot *s)
{
	struct container_sums sums;
	u32 i;

	if (container_sums_take(&sums, s)) {
		j->out->error = -ENOMEM;
		return;
	}
	if (sums.count)
		json_key_array(j, "containers");
	for (i = 0; i < sums.count; i++) {
		const struct container_sum *c = &sums.list[i];

		json_object(j);
		container_keys(j, &c->container);
		json_key_u64(j, "processes", c->processes);
		put_events(j, &c->events);
		put_gc(j, &c->gc);
		put_ledger(j, &c->ledger);
		json_end_object(j);
	}
	if (sums.count)
		json_end_array(j);
	container_sums_free(&sums);
}

void report_json(struct json *j, const struct snapshot *s, const struct report_source *src,
		 const struct view *v)
{
	const struct snapshot_group **rows;
	u32 i, n;

	rows = view_rows(s, v, &n);
	if (!rows) {
		j->out->error = -ENOMEM;
		return;
	}
	json_object(j);
	json_key_u64(j, "schema", 1);
	json_key_string(j, "tool", "vmspan");
	put_source(j, s, src);
	put_processes(j, s);
	put_events(j, &s->events);
	json_key_array(j, "groups");
	for (i = 0; i < n; i++)
		put_group(j, s, rows[i], src->histograms);
	json_end_array(j);
	put_gc(j, &s->gc);
	put_ledger(j, &s->ledger);
	losses_json(j, &s->losses);
	put_uncounted(j, &s->losses);
	json_key_bool(j, "complete", snapshot_complete(s));
	put_received(j, s);
	waits_json(j, s->waits, s->wait_count);
	put_native(j, &s->ledger);
	if (src->interval_ns)
		json_key_u64(j, "interval_ns", src->interval_ns);
	put_parts(j, s);
	put_not_ended(j, "unfinished", s->unfinished_count, s->unfinished, s->unfinished_kept);
	put_not_ended(j, "open", s->open_count, s->open, s->open_kept);
	put_cost(j, s);
	if (s->left_out)
		json_key_u64(j, "left_out", s->left_out);
	put_containers(j, s);
	json_end_object(j);
	free(rows);
}
