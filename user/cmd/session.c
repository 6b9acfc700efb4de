/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/session.h"
#include "cmd/calls_price.h"
#include "sink/words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int open_it(struct session *s, const struct options *o, const struct trace_config *c,
		   bool hard_stop, struct err *e)
{
	struct trace_config config = *c;
	int rc;

	*s = (struct session){ .alerts = s->alerts };
	/* Signals first: one that comes while attaching ends it in order. */
	rc = wake_open(&s->wake, hard_stop, e);
	if (rc)
		return rc;
	s->waking = true;
	if (!c->path && c->live.calls) {
		rc = calls_price(o, &c->live, &s->wake, e);
		if (rc)
			return rc;
	}
	if (s->alerts) {
		config.alerts = true;
		config.alert = *s->alerts;
	}
	s->trace = trace_open(&config, e);
	if (!s->trace)
		return e->code ? e->code : err_set(e, -EIO, "cannot open the trace");
	s->source = trace_source(s->trace);
	s->model = trace_model(s->trace);
	s->head = *trace_head(s->trace);
	return 0;
}

static int measure_own(struct session *s, const struct options *o, struct err *e)
{
	u32 i;

	for (i = 0; i < o->own.count; i++)
		if (model_own(s->model, o->own.glob[i], true))
			return err_set(e, -ENOMEM, "out of memory");
	return 0;
}

/* What was asked for and cannot be had is said, and what is had instead; and what that costs. */
static void say_what_is_missing(const struct source *source)
{
	const struct err *why = live_no_exact(source);
	u32 trap_ns = live_trap_ns(source);
	char trap[TEXT_NS_MAX];

	if (trap_ns)
		fprintf(stderr,
			"vmspan: note: marks are traps here: each takes the program some %s of "
			"its CPU time, and a span is two\n",
			time_text(trap, trap_ns));
	if (why)
		fprintf(stderr,
			"vmspan: note: --exact is not possible here: %s\n"
			"  Going on without it. %s\n",
			why->what, why->hint);
}

int session_live(struct session *s, const struct options *o, bool hard_stop, struct err *e)
{
	const struct trace_config config = {
		.live = { .pids = o->target.pids,
			  .pid_count = o->target.count,
			  .sweep = o->target.sweep,
			  .command = o->rest_count ? o->rest : NULL,
			  .ring_bytes = o->target.buffer_bytes,
			  .method = o->target.method,
			  .no_children = o->target.no_children,
			  .wait = o->target.wait,
			  .hz = o->target.hz,
			  .exact = o->target.exact,
			  .calls = o->target.calls,
			  .without = o->target.without },
		.model = o->model,
	};

	int rc = open_it(s, o, &config, hard_stop, e);

	if (rc)
		return rc;
	s->live = true;
	say_what_is_missing(s->source);
	if (o->target.count && !live_attached(s->source))
		fprintf(stderr, "vmspan: note: there is nothing to trace yet; waiting until it is "
				"loaded\n");
	return measure_own(s, o, e);
}

void session_say_not_exact(struct session *s)
{
	if (s->said_not_exact || !live_not_about(s->source))
		return;
	s->said_not_exact = true;
	fprintf(stderr, "vmspan: note: --exact is for programs with vmspan.h: stock VMs are traced "
			"as without it\n");
}

int session_replay(struct session *s, const struct options *o, const char *path, struct err *e)
{
	const struct trace_config config = { .path = path, .model = o->model };

	int rc = open_it(s, o, &config, true, e);

	return rc ? rc : measure_own(s, o, e);
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

static int count_records(void *ctx, const struct item *it)
{
	if (it->type == ITEM_BATCH)
		((struct progress *)ctx)->records += it->batch.records;
	return 0;
}

int session_drain(struct session *s, bool quiet, struct err *e)
{
	struct progress p = { .on = !quiet && isatty(STDERR_FILENO) };
	const struct trace_tap tap = { .item = count_records, .ctx = &p }, none = { 0 };
	int rc;

	if (p.on)
		trace_tap(s->trace, &tap);
	do {
		rc = trace_poll(s->trace, -1, s->wake.epoll, e);
		show_progress(&p);
		if (rc > 0 && wake_take(&s->wake) & WAKE_STOP)
			rc = -EINTR;
	} while (rc > 0);
	trace_tap(s->trace, &none);
	if (p.shown)
		fprintf(stderr, "\r\033[K");
	s->head.note = trace_head(s->trace)->note;
	return rc;
}

struct snapshot *session_snapshot(struct session *s, struct err *e)
{
	struct snapshot *snap;
	int rc = trace_tell_open(s->trace);

	if (rc) {
		err_set(e, rc, "the trace has ended early: %s", strerror(-rc));
		return NULL;
	}
	snap = snapshot_take(s->model);

	/* A sweep may have come upon a VM whose stacks are looked at. */
	s->head.method = s->source->info.sampled ? "sampled" : "exact";
	if (!snap)
		err_set(e, -ENOMEM, "out of memory");
	return snap;
}

/* A trace that does not end is not what anybody expects who has seen its figures. */
static void say_left(const struct session *s)
{
	u32 left = s->live ? live_left(s->source) : 0;
	u64 seconds = left * LIVE_LEFT_NS / NSEC_PER_SEC;

	if (seconds >= 2)
		fprintf(stderr,
			"vmspan: note: all is written; to detach %u probes of processes that have "
			"ended "
			"takes some %" PRIu64 " s more\n",
			left, seconds);
}

void session_close(struct session *s)
{
	say_left(s);
	wake_all_written();
	libvmspan_free(s->trace);
	if (s->waking)
		wake_close(&s->wake);
	*s = (struct session){ 0 };
}

char *session_until(const struct options *o, char to[SESSION_UNTIL_MAX])
{
	char time[TEXT_NS_MAX];

	if (o->pace.duration_ns)
		snprintf(to, SESSION_UNTIL_MAX, "^C or %s have gone by",
			 text_ns(time, o->pace.duration_ns));
	else
		strcpy(to, "^C");
	return to;
}
