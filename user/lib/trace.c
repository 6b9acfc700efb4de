/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening, taking in, ending. */
#include "lib/trace_int.h"

#include "source/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static u64 mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * NSEC_PER_SEC + (u64)t.tv_nsec;
}

static void fill_head(struct libvmspan *t, const struct trace_config *c)
{
	const struct source_info *i = &t->source->info;

	t->head = (struct report_source){
		.kind = t->live ? "live" : "recording",
		.file = c->path,
		.method = i->sampled ? "sampled" : "exact",
		.nested = c->model.nested == NESTED_SUSPEND ? "suspend" : "drop",
		.migrated = i->exact              ? "split"
			    : c->model.keep_moved ? "keep"
						  : "discard",
		.cycles_hz = i->cycles_hz,
	};
}

static int open_parts(struct libvmspan *t, const struct trace_config *c, struct err *err)
{
	struct live_config live = c->live;
	struct model_config model = c->model;

	if (c->alerts) {
		t->alerts = alerts_new(&c->alert);
		if (!t->alerts)
			return err_set(err, -ENOMEM, "out of memory");
		live.alert_ns = alerts_lowest(t->alerts);
	}
	t->live = !c->path;
	live.keep_moved = c->model.keep_moved;
	t->source = t->live ? live_open(&live, err) : replay_open(c->path, err);
	if (!t->source)
		return err->code ? err->code : err_set(err, -EIO, "cannot open the trace");
	model.cycles_hz = t->source->info.cycles_hz;
	model.exact = t->source->info.exact;
	t->model = model_new(&model);
	if (!t->model)
		return err_set(err, -ENOMEM, "out of memory");
	t->real_offset = (s64)(t->source->info.start_real_ns - t->source->info.start_mono_ns);
	fill_head(t, c);
	if (t->alerts) {
		alerts_exact(t->alerts, t->source->info.exact);
		model_observe(t->model, &alerts_observer, t->alerts);
	}
	return 0;
}

struct libvmspan *trace_open(const struct trace_config *c, struct err *err)
{
	struct libvmspan *t = calloc(1, sizeof(*t));

	if (!t) {
		err_set(err, -ENOMEM, "out of memory");
		return NULL;
	}
	t->owner = (u32)getpid();
	if (!open_parts(t, c, err))
		return t;
	libvmspan_free(t);
	return NULL;
}

static void listening_free(struct listening **list)
{
	struct listening *l;

	while ((l = *list)) {
		*list = l->next;
		free(l);
	}
}

void libvmspan_free(struct libvmspan *t)
{
	if (!t)
		return;
	alerts_free(t->alerts);
	model_free(t->model);
	/* To take down what the kernel side has, in a forked child, would end the parent's trace. */
	if (t->owner == (u32)getpid())
		source_free(t->source);
	listening_free(&t->listening);
	free(t->json);
	free(t);
}

struct source *trace_source(const struct libvmspan *t)
{
	return t->source;
}

struct model *trace_model(const struct libvmspan *t)
{
	return t->model;
}

struct alerts *trace_alerts(const struct libvmspan *t)
{
	return t->alerts;
}

const struct report_source *trace_head(const struct libvmspan *t)
{
	return &t->head;
}

void trace_tap(struct libvmspan *t, const struct trace_tap *tap)
{
	t->tap = *tap;
}

s64 trace_real_offset(const struct libvmspan *t)
{
	return t->real_offset;
}

/* ---- Taking in ---- */

static int advance(struct libvmspan *t, u64 ns)
{
	int rc = t->alerts ? alerts_advance(t->alerts, ns) : 0;

	if (!rc && t->tap.advanced)
		t->tap.advanced(t->tap.ctx, ns);
	return rc;
}

static int take(void *ctx, const struct item *it)
{
	struct libvmspan *t = ctx;
	int rc = 0;

	if (it->type == ITEM_CLOCK)
		t->real_offset = (s64)(it->clock.real_ns - it->clock.mono_ns);
	if (t->tap.item)
		rc = t->tap.item(t->tap.ctx, it);
	if (!rc)
		rc = model_item(t->model, it);
	if (!rc && it->type == ITEM_CLOCK && it->clock.mono_ns > ALERT_LATENCY_NS)
		rc = advance(t, it->clock.mono_ns - ALERT_LATENCY_NS);
	return rc;
}

int trace_stop(struct libvmspan *t, struct err *err)
{
	int rc;

	if (t->ended)
		return 0;
	t->ended = true;
	rc = source_stop(t->source, take, t, err);
	if (!rc && !t->live)
		t->head.note = replay_note(t->source);
	if (!rc)
		rc = model_finish(t->model);
	return rc || !t->alerts ? rc : alerts_flush(t->alerts);
}

int trace_poll(struct libvmspan *t, int timeout_ms, int stop_fd, struct err *err)
{
	int more;

	if (t->ended)
		return 0;
	more = source_poll(t->source, timeout_ms, stop_fd, take, t, err);
	return more ? more : trace_stop(t, err);
}

int trace_tell_open(struct libvmspan *t)
{
	int rc = t->live && !t->ended ? live_tell_open(t->source, take, t) : 0;

	return rc || !t->alerts ? rc : alerts_looked(t->alerts);
}

int trace_advance(struct libvmspan *t)
{
	return t->live && !t->ended ? advance(t, mono_ns() - ALERT_LATENCY_NS) : 0;
}

u64 trace_due(const struct libvmspan *t)
{
	u64 due = t->live && t->alerts ? alerts_due(t->alerts) : 0;

	return due ? due + ALERT_LATENCY_NS : 0;
}

/* ---- The same for others ---- */

/* Not longer than until a pending alert is due. */
static int wait_ms(const struct libvmspan *t, int timeout_ms)
{
	u64 due = trace_due(t), now, ms;

	if (!due)
		return timeout_ms;
	now = mono_ns();
	ms = due > now ? (due - now) / NSEC_PER_MSEC + 1 : 0;
	return timeout_ms < 0 || ms < (u64)timeout_ms ? (int)ms : timeout_ms;
}

/* What a listener has asked for instead of `rc`. */
static int told(struct libvmspan *t, int rc)
{
	int asked = t->told;

	t->told = 0;
	return rc < 0 || !asked ? rc : asked;
}

static int refuse_child(struct libvmspan *t)
{
	return err_set(&t->err, -ECHILD, "the trace is of the process that opened it");
}

int libvmspan_poll_until(struct libvmspan *t, int timeout_ms, int stop_fd)
{
	int rc;

	t->err = (struct err){ 0 };
	if (t->owner != (u32)getpid())
		return refuse_child(t);
	rc = trace_poll(t, wait_ms(t, timeout_ms), stop_fd, &t->err);
	if (rc <= 0)
		return told(t, rc);
	rc = trace_advance(t);
	return told(t, rc ? rc : 1);
}

int libvmspan_poll(struct libvmspan *t, int timeout_ms)
{
	return libvmspan_poll_until(t, timeout_ms, -1);
}

int libvmspan_look(struct libvmspan *t)
{
	int rc;

	t->err = (struct err){ 0 };
	if (t->owner != (u32)getpid())
		return refuse_child(t);
	rc = trace_tell_open(t);
	if (rc < 0)
		err_set(&t->err, rc, "the trace has ended early: %s", strerror(-rc));
	return told(t, rc);
}

int libvmspan_stop(struct libvmspan *t)
{
	t->err = (struct err){ 0 };
	if (t->owner != (u32)getpid())
		return refuse_child(t);
	return told(t, trace_stop(t, &t->err));
}

const char *libvmspan_error(const struct libvmspan *t)
{
	return t->err.what;
}
