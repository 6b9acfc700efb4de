/* SPDX-License-Identifier: BSD-2-Clause */
/* The interface of libvmspan.h: options, snapshots, alerts. */
#include "lib/trace_int.h"

#include "sink/complete.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Opening ---- */

static struct libvmspan_options options_of(const struct libvmspan_options *o)
{
	struct libvmspan_options all = LIBVMSPAN_OPTIONS_INIT;

	if (o)
		memcpy(&all, o, min_u64(o->size, sizeof(all)));
	return all;
}

static struct libvmspan *open_it(const char *path, const struct libvmspan_options *given,
				 char *error, size_t cap)
{
	struct libvmspan_options o = options_of(given);
	const struct trace_config c = {
		.path = path,
		.live = { .pids = o.pids,
			  .pid_count = o.pid_count,
			  .ring_bytes = o.ring_bytes,
			  .no_children = o.no_children,
			  .exact = o.exact,
			  .without = o.without },
		.model = { .nested = o.suspend ? NESTED_SUSPEND : NESTED_DROP,
			   .keep_moved = o.keep_moved,
			   .own_groups = o.own_groups },
		.alerts = true,
		.alert = { .threshold_ns = o.threshold_ns },
	};
	struct libvmspan *t = NULL;
	struct err e = { 0 };

	if (!path && (!o.pid_count || !o.pids))
		err_set(&e, -EINVAL, "no process to attach to");
	else
		t = trace_open(&c, &e);
	if (!t && error && cap)
		snprintf(error, cap, "%s%s%s", e.what, *e.hint ? "; " : "", e.hint);
	return t;
}

struct libvmspan *libvmspan_attach(const struct libvmspan_options *o, char *error, size_t cap)
{
	return open_it(NULL, o, error, cap);
}

struct libvmspan *libvmspan_replay(const char *path, const struct libvmspan_options *o, char *error,
				   size_t cap)
{
	return open_it(path, o, error, cap);
}

/* ---- Snapshots ---- */

static struct libvmspan_snapshot *wrap(struct snapshot *s, const struct report_source *head)
{
	struct libvmspan_snapshot *w = s ? calloc(1, sizeof(*w)) : NULL;

	if (!w) {
		snapshot_free(s);
		return NULL;
	}
	w->s = s;
	w->head = *head;
	/* Strings of the trace, which may go before. */
	w->head.file = w->head.note = NULL;
	return w;
}

struct libvmspan_snapshot *libvmspan_snapshot(struct libvmspan *t)
{
	return wrap(snapshot_take(t->model), &t->head);
}

const struct snapshot *trace_figures(const struct libvmspan_snapshot *s)
{
	return s->s;
}

struct libvmspan_snapshot *libvmspan_subtract(const struct libvmspan_snapshot *now,
					      const struct libvmspan_snapshot *then)
{
	/* What was before the beginning is no figure. */
	if (then && then->s->end_ns > now->s->end_ns)
		return NULL;
	return wrap(snapshot_delta(now->s, then ? then->s : NULL), &now->head);
}

int libvmspan_own(struct libvmspan *t, const char *glob, int on)
{
	return glob_check(glob) ? -EINVAL : model_own(t->model, glob, on);
}

int libvmspan_part(struct libvmspan *t, unsigned int parts, int on)
{
	int i, rc = 0;

	if (parts >> TRACE_PARTS)
		return -EINVAL;
	for (i = 0; t->live && i < TRACE_PARTS; i++) {
		if (!(parts & 1u << i))
			continue;
		if (on)
			live_part_get(t->source, (enum model_part)i);
		else if (live_part_put(t->source, (enum model_part)i))
			rc = -ENOENT;
	}
	return rc;
}

void libvmspan_snapshot_free(struct libvmspan_snapshot *s)
{
	if (s)
		snapshot_free(s->s);
	free(s);
}

void libvmspan_totals(const struct libvmspan_snapshot *w, struct libvmspan_totals *to, size_t size)
{
	const struct snapshot *s = w->s;
	struct libvmspan_totals t = {
		.events = s->events.count,
		.wall_ns = s->events.wall_ns,
		.cpu_ns = s->events.cpu_ns,
		.incomplete = s->events.incomplete,
		.spans = s->spans,
		.collections = s->gc.count,
		.collection_ns = s->gc.total_ns,
		.self_ns = s->ledger.self_ns,
		.gc_ns = s->ledger.gc_ns,
		.blocked_ns = s->ledger.blocked_ns,
		.native_ns = s->ledger.native_ns,
		.moved_ns = s->ledger.moved_ns,
		.stale_ns = s->ledger.stale_ns,
		.lost_ns = s->ledger.lost_ns,
		.processes = s->process_count,
		.groups = s->group_count,
		.left_out = s->left_out,
		.complete = snapshot_complete(s),
	};
	u32 i;

	for (i = 0; i < LOSS_CAUSES; i++)
		t.lost_records += s->losses.records[i];
	memset(to, 0, size);
	memcpy(to, &t, min_u64(size, sizeof(t)));
}

int libvmspan_group(const struct libvmspan_snapshot *w, uint32_t i, struct libvmspan_group *to,
		    size_t size)
{
	const struct snapshot_group *g;
	struct libvmspan_group out;

	if (i >= w->s->group_count)
		return -ENOENT;
	g = &w->s->groups[i];
	out = (struct libvmspan_group){
		.name = g->name,
		.kind = g->kind,
		.id = g->id,
		.events = g->stats.events,
		.ticks = g->stats.ticks,
		.spans = g->stats.spans,
		.wall_ns = g->stats.wall_ns,
		.self_ns = g->stats.self_ns,
		.cpu_ns = g->stats.cpu_ns,
		.blocked_ns = g->stats.blocked_ns,
		.gc_ns = g->stats.gc_ns,
		.max_ns = g->stats.max_ns,
		.p50_ns = group_quantile(&g->stats, 500),
		.p99_ns = group_quantile(&g->stats, 990),
		.incomplete = g->stats.incomplete,
		.cpu_margin_ns = g->stats.cpu_margin_ns,
	};
	memcpy(out.durations, g->stats.durations, sizeof(out.durations));
	memset(to, 0, size);
	memcpy(to, &out, min_u64(size, sizeof(out)));
	return 0;
}

/* What is in memory, as a string to free. */
static char *text_of(struct out *o)
{
	char *text;

	out_write(o, "", 1);
	text = o->error ? NULL : strdup((const char *)o->buf.data);
	out_close(o);
	return text;
}

char *libvmspan_json(const struct libvmspan_snapshot *w)
{
	const struct view all = { 0 };
	struct json j;
	struct out o;

	out_open_memory(&o);
	json_open(&j, &o);
	report_json(&j, w->s, &w->head, &all);
	return text_of(&o);
}

/* ---- Alerts ---- */

/* Made once, however many listen. NULL: no memory. */
static const char *json_of(struct libvmspan *t, const struct alert *a)
{
	struct alert_extra x = { .real_ns = a->event.end_ns + (u64)t->real_offset };
	struct json j;
	struct out o;

	if (t->json && t->json_of == a->id && !a->open)
		return t->json;
	out_open_memory(&o);
	json_open(&j, &o);
	alert_json(&j, a, &x);
	free(t->json);
	t->json = text_of(&o);
	t->json_of = a->open ? UINT64_MAX : a->id;
	return t->json;
}

static int tell(void *ctx, const struct alert *a)
{
	struct listening *l = ctx;
	struct libvmspan *t = l->trace;
	const char *json = json_of(t, a);
	char sentence[512];
	int rc;

	if (!json)
		return -ENOMEM;
	rc = l->fn(l->ctx, &(struct libvmspan_alert){
				   .group = a->group,
				   .process = a->process,
				   .pid = a->pid,
				   .tid = a->tid,
				   .reasons = a->reasons,
				   .occurrences = a->occurrences,
				   .total_ns = a->total_ns,
				   .threshold_ns = a->threshold_ns,
				   .self_ns = a->self_ns,
				   .gc_ns = a->gc_ns,
				   .blocked_ns = a->blocked_ns,
				   .cpu_ns = a->cpu_ns,
				   .event_begin_ns = a->event.begin_ns,
				   .event_end_ns = a->event.end_ns,
				   .cause = alert_cause_name(a->cause),
				   .sentence = alert_sentence(sentence, sizeof(sentence), a),
				   .json = json,
				   .uncharged_ns = a->uncharged_ns,
				   .cpu_margin_ns = a->cpu_margin_ns,
				   .open = a->open,
			   });
	/* Here `l` may be gone: a listener may take itself back. */

	/* To the end: what comes behind it in a batch would be lost, and nobody would know. */
	if (rc && !t->told)
		t->told = rc;
	return 0;
}

static int tell_open(void *ctx, const struct alert *a)
{
	return a->again ? 0 : tell(ctx, a);
}

int64_t libvmspan_listen(struct libvmspan *t, const char *glob, libvmspan_alert_fn fn, void *ctx)
{
	static const struct alert_observer telling = { .alert = tell, .open = tell_open };
	struct listening *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return -ENOMEM;
	*l = (struct listening){ .trace = t, .fn = fn, .ctx = ctx, .next = t->listening };
	rc = listen_add(alerts_listeners(t->alerts), glob, &telling, l, &l->id);
	if (rc) {
		free(l);
		return rc;
	}
	t->listening = l;
	if (t->live)
		live_part_get(t->source, TRACE_TURNS);
	return (int64_t)l->id;
}

int libvmspan_unlisten(struct libvmspan *t, int64_t listener)
{
	struct listening **at = &t->listening, *l;
	int rc = listener > 0 ? listen_remove(alerts_listeners(t->alerts), (u64)listener) : -ENOENT;

	while (!rc && (l = *at)) {
		if (l->id != (u64)listener) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		free(l);
		break;
	}
	if (!rc && t->live)
		live_part_put(t->source, TRACE_TURNS);
	return rc;
}
