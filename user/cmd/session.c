/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/session.h"
#include "cmd/calls_price.h"
#include "source/live.h"
#include "source/replay.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int make_model(struct session *s, const struct options *o, struct err *e)
{
	const struct source_info *info = &s->source->info;
	struct model_config config = o->model;

	config.cycles_hz = info->cycles_hz;
	config.exact = info->exact;
	s->model = model_new(&config);
	if (!s->model)
		return err_set(e, -ENOMEM, "out of memory");
	s->head.method = info->sampled ? "sampled" : "exact";
	s->head.nested = o->model.nested == NESTED_SUSPEND ? "suspend" : "drop";
	s->head.migrated = info->exact ? "split" : "discard";
	s->head.cycles_hz = info->cycles_hz;
	return 0;
}

/* What was asked for and cannot be had is said, and what is had instead. */
static void say_what_is_missing(const struct source *source)
{
	const struct err *why = live_no_exact(source);

	if (why)
		fprintf(stderr,
			"vmspan: note: --exact is not possible here: %s\n"
			"  Going on without it. %s\n",
			why->what, why->hint);
}

int session_live(struct session *s, const struct options *o, bool hard_stop, struct err *e)
{
	struct live_config config = {
		.pids = o->target.pids,
		.pid_count = o->target.count,
		.sweep = o->target.sweep,
		.command = o->rest_count ? o->rest : NULL,
		.ring_bytes = o->target.buffer_bytes,
		.alert_ns = o->target.alert_ns,
		.method = o->target.method,
		.no_children = o->target.no_children,
		.hz = o->target.hz,
		.exact = o->target.exact,
		.calls = o->target.calls,
	};
	int rc;

	*s = (struct session){ .head.kind = "live" };
	/* Signals first: one that comes while attaching ends it in order. */
	rc = wake_open(&s->wake, hard_stop, e);
	if (rc)
		return rc;
	s->waking = true;
	if (config.calls) {
		rc = calls_price(o, &config, e);
		if (rc)
			return rc;
	}
	s->source = live_open(&config, e);
	if (!s->source)
		return e->code ? e->code : err_set(e, -EIO, "cannot attach");
	say_what_is_missing(s->source);
	return make_model(s, o, e);
}

int session_replay(struct session *s, const struct options *o, const char *path, struct err *e)
{
	int rc;

	*s = (struct session){ .head = { .kind = "recording", .file = path } };
	rc = wake_open(&s->wake, true, e);
	if (rc)
		return rc;
	s->waking = true;
	s->source = replay_open(path, e);
	if (!s->source)
		return e->code ? e->code : err_set(e, -EIO, "cannot read %s", path);
	return make_model(s, o, e);
}

/* How far a long read has come; a line that is rewritten in place. */
struct progress {
	bool on, shown;
	u64 records, next_ns;
};

static void show_progress(struct progress *p)
{
	u64 now;

	if (!p->on)
		return;
	now = now_ns();
	if (now < p->next_ns)
		return;
	if (p->next_ns) {
		fprintf(stderr, "\r%" PRIu64 " records read", p->records);
		p->shown = true;
	}
	p->next_ns = now + NSEC_PER_SEC / 2;
}

struct drain {
	struct model *model;
	struct progress progress;
};

static int drain_item(void *ctx, const struct item *it)
{
	struct drain *d = ctx;

	if (it->type == ITEM_BATCH)
		d->progress.records += it->batch.records;
	return model_item(d->model, it);
}

int session_drain(struct session *s, bool quiet, struct err *e)
{
	struct drain d = { .model = s->model, .progress.on = !quiet && isatty(STDERR_FILENO) };
	int rc;

	do {
		rc = source_poll(s->source, -1, s->wake.epoll, drain_item, &d, e);
		show_progress(&d.progress);
		if (rc > 0 && wake_take(&s->wake) & WAKE_STOP)
			rc = -EINTR;
	} while (rc > 0);
	if (d.progress.shown)
		fprintf(stderr, "\r\033[K");
	if (rc)
		return rc;
	s->head.note = replay_note(s->source);
	return model_finish(s->model);
}

struct snapshot *session_snapshot(struct session *s, struct err *e)
{
	struct snapshot *snap = snapshot_take(s->model);

	/* A sweep may have come upon a VM whose stacks are looked at. */
	s->head.method = s->source->info.sampled ? "sampled" : "exact";
	if (!snap)
		err_set(e, -ENOMEM, "out of memory");
	return snap;
}

void session_close(struct session *s)
{
	model_free(s->model);
	source_free(s->source);
	if (s->waking)
		wake_close(&s->wake);
	*s = (struct session){ 0 };
}
