/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/page.h"
#include "cmd/session.h"
#include "cmd/web.h"
#include "sink/html.h"
#include "sink/select.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define IDLE_NS (5 * NSEC_PER_SEC)

struct serve {
	struct session session;
	const struct options *options;
	struct html_docs *docs;
	struct html_page *page;
	struct web *web;
	bool live; /* more may come */
};

static void write_page(void *ctx, struct out *o)
{
	struct serve *v = ctx;
	struct snapshot *s =
		trace_tell_open(v->session.trace) ? NULL : snapshot_take(v->session.model);

	if (!s) {
		o->error = -ENOMEM;
		return;
	}
	html_write(v->page, o, s, &v->session.head, v->live);
	snapshot_free(s);
}

/* Data is made only when somebody looks. */
static int send_update(struct serve *v, const struct snapshot *s)
{
	struct out o;
	int rc;

	if (!web_listeners(v->web)) {
		web_update(v->web, NULL, 0);
		return 0;
	}
	out_open_memory(&o);
	html_data(v->page, &o, s, &v->session.head, v->live);
	rc = o.error ? o.error : o.buf.failed ? -ENOMEM : 0;
	if (!rc)
		web_update(v->web, o.buf.data, o.buf.len);
	out_close(&o);
	return rc;
}

static int on_frame(void *ctx, const struct live_frame *f, struct err *e)
{
	struct serve *v = ctx;
	int rc;

	(void)e;
	session_say_not_exact(&v->session);
	v->live = !f->ended;
	rc = send_update(v, f->total);
	if (f->ended)
		web_end(v->web);
	return rc;
}

static int on_web(void *ctx, unsigned int bits, struct err *e)
{
	struct serve *v = ctx;

	(void)bits;
	(void)e;
	web_run(v->web);
	return 0;
}

/* What there is stays to be looked at until a signal. */
static void stay(struct serve *v)
{
	unsigned int bits;

	/* Connections on which nothing happens are closed now and then. */
	wake_arm(&v->session.wake, 1, IDLE_NS, IDLE_NS);
	do {
		wake_wait(&v->session.wake);
		bits = wake_take(&v->session.wake);
		web_run(v->web);
	} while (!(bits & WAKE_STOP));
}

static int start_page(struct serve *v, struct err *e)
{
	struct html_config config = {
		.limits = v->live ? &html_live_limits : &html_export_limits,
		.start_ns = v->session.source->info.start_mono_ns,
		.glob = v->options->view.glob,
		.docs = v->docs,
	};

	v->page = html_new(v->session.model, &config);
	return v->page ? 0 : err_set(e, -ENOMEM, "out of memory");
}

/* The URL is known before anything is attached or read. */
static int start_web(struct serve *v, struct err *e)
{
	const struct options *o = v->options;
	struct web_config config = { o->web.listen, o->web.allow_remote, write_page, v };

	v->web = web_open(&config, e);
	return v->web ? 0 : e->code;
}

static int say_url(struct serve *v, struct err *e)
{
	struct out o;
	int rc = wake_on_fd(&v->session.wake, web_fd(v->web), e);

	if (rc)
		return rc;
	out_open_fd(&o, STDOUT_FILENO);
	out_printf(&o, "%s\n", web_url(v->web));
	rc = out_close(&o);
	if (rc && rc != -EPIPE)
		err_set_status(e, rc, EXIT_FAILED, "cannot write the URL: %s", strerror(-rc));
	return rc;
}

/* The page of a part of a recording holds what `report --html` of it does. */
static int read_file(struct serve *v, const char *path, struct err *e)
{
	const struct select_config wanted = {
		.glob = v->options->view.glob,
		.whole_turns = html_exporter.whole_turns,
		.from_ns = v->options->model.from_ns,
		.to_ns = v->options->model.to_ns,
	};
	struct options known = *v->options;
	struct select sel;
	int rc = 0;

	select_init(&sel, &wanted);
	if (select_searches(&wanted))
		rc = export_search(v->options, path, &sel, e);
	known.model.all_spans = true;
	if (!rc)
		rc = session_replay(&v->session, &known, path, e);
	if (!rc)
		rc = start_page(v, e);
	if (!rc) {
		select_attach(&sel, v->session.model);
		rc = session_drain(&v->session, false, e);
	}
	select_release(&sel);
	return rc;
}

static int serve_file(struct serve *v, const char *path, struct err *e)
{
	int rc = read_file(v, path, e);

	if (rc)
		return err_set(e, rc, "cannot show %s: %s", path,
			       rc == -EINTR ? "interrupted" : strerror(-rc));
	if (v->session.head.note)
		fprintf(stderr, "vmspan: note: %s: %s\n", path, v->session.head.note);
	rc = say_url(v, e);
	if (!rc) {
		web_end(v->web);
		stay(v);
	}
	return rc;
}

static int serve_live(struct serve *v, struct err *e)
{
	static const struct live_ops ops = { .frame = on_frame, .input = on_web };
	int rc;

	v->live = true;
	rc = session_live(&v->session, v->options, false, e);
	if (!rc)
		rc = start_page(v, e);
	if (!rc)
		rc = say_url(v, e);
	if (!rc)
		rc = session_run(&v->session, v->options, &ops, v, e);
	/* Ended by its targets, not by a signal. */
	if (!rc && !v->live)
		stay(v);
	return rc;
}

int cmd_serve(int argc, char **argv)
{
	struct serve v = { 0 };
	struct options o;
	struct err e = { 0 };
	int rc, status = options_parse(command_find("serve"), argc, argv, &o);

	if (status != OPTIONS_RUN)
		return status;
	v.options = &o;
	rc = docs_load(&v.docs, o.output.docs, &e);
	if (!rc)
		rc = start_web(&v, &e);
	if (!rc)
		rc = o.target.count || options_sweep(&o) ? serve_live(&v, &e)
							 : serve_file(&v, o.rest[0], &e);
	web_close(v.web);
	session_close(&v.session);
	html_free(v.page);
	html_docs_free(v.docs);
	if (rc && !e.code)
		return EXIT_FAILED;
	return e.code ? say_error(&e) : EXIT_DONE;
}
