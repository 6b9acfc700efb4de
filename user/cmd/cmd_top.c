/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/session.h"
#include "sink/top.h"

#include <errno.h>
#include <unistd.h>

struct top_run {
	struct session session;
	const struct options *options;
	struct top_state state;
	struct top_page page;
	struct top_screen *screen; /* NULL: batch or JSON */
	struct out out;
	struct json json;
	/* What is on the screen, to draw it again when a key changes it. */
	struct snapshot *total, *delta;
	u64 elapsed_ns, interval_ns;
	bool ended;
};

static int draw(struct top_run *r, const struct top_figures *figures)
{
	unsigned int width, height;
	int rc;

	top_screen_size(r->screen, &width, &height);
	rc = top_compose(&r->page, &r->state, figures, width, height);
	if (!rc)
		top_screen_draw(r->screen, &r->page);
	return rc;
}

static int redraw(struct top_run *r)
{
	struct top_figures f = { .total = r->total, .delta = r->delta, .ended = r->ended };

	if (!r->total)
		return 0;
	f.elapsed_ns = r->state.cumulative ? r->elapsed_ns : r->interval_ns;
	return draw(r, &f);
}

/* Keeps copies: the frame is gone when the next key comes. */
static int keep(struct top_run *r, const struct live_frame *f)
{
	struct snapshot *total = snapshot_delta(f->total, NULL);
	struct snapshot *delta = snapshot_delta(f->delta, NULL);

	if (!total || !delta) {
		snapshot_free(total);
		snapshot_free(delta);
		return -ENOMEM;
	}
	snapshot_free(r->total);
	snapshot_free(r->delta);
	r->total = total;
	r->delta = delta;
	r->elapsed_ns = f->elapsed_ns;
	r->interval_ns = f->interval_ns;
	return 0;
}

static int handle_input(void *ctx, unsigned int bits, struct err *e)
{
	struct top_run *r = ctx;
	u32 key;

	(void)e;
	if (bits & WAKE_RESIZE)
		top_screen_resize(r->screen);
	while ((key = top_screen_key(r->screen)) != TOP_KEY_NONE)
		top_key(&r->state, key);
	return r->state.quit ? 1 : redraw(r);
}

/* The last figures stay on the screen until somebody has seen them. */
static int wait_for_quit(struct top_run *r, struct err *e)
{
	int rc = 0;

	while (!rc) {
		unsigned int bits;

		wake_wait(&r->session.wake);
		bits = wake_take(&r->session.wake);
		if (bits & WAKE_STOP)
			break;
		if (bits & (WAKE_KEY | WAKE_RESIZE))
			rc = handle_input(r, bits, e);
	}
	return rc < 0 ? rc : 1;
}

static int show_screen(void *ctx, const struct live_frame *f, struct err *e)
{
	struct top_run *r = ctx;
	int rc = 0;

	r->ended = f->ended;
	if (!r->state.paused || f->ended)
		rc = keep(r, f);
	if (!rc)
		rc = redraw(r);
	if (rc || !f->ended || r->options->pace.count)
		return rc;
	return wait_for_quit(r, e);
}

static int show_batch(void *ctx, const struct live_frame *f, struct err *e)
{
	struct top_run *r = ctx;
	struct top_figures figures = {
		.total = f->total,
		.delta = f->delta,
		.elapsed_ns = f->interval_ns,
		.ended = f->ended,
	};
	int rc = top_compose(&r->page, &r->state, &figures, terminal_width(), 0);

	(void)e;
	if (rc)
		return rc;
	out_write(&r->out, r->page.text.buf.data, r->page.text.buf.len);
	out_puts(&r->out, "\n");
	return out_flush(&r->out) ? 1 : 0;
}

static int show_json(void *ctx, const struct live_frame *f, struct err *e)
{
	struct top_run *r = ctx;

	(void)e;
	r->session.head.interval_ns = f->interval_ns;
	report_json(&r->json, f->total, &r->session.head, &r->state.view);
	json_line(&r->json);
	return out_flush(&r->out) ? 1 : 0;
}

static int open_screen(struct top_run *r, struct err *e)
{
	struct live_frame first = { .interval_ns = 0 };
	struct snapshot *none;
	int rc;

	r->screen = top_screen_open(terminal_color(), e);
	if (!r->screen)
		return e->code;
	rc = wake_on_keys(&r->session.wake, e);
	if (rc)
		return rc;
	/* Until the first interval is over: what is traced, and no figures. */
	rc = source_poll(r->session.source, 0, -1, model_item, r->session.model, e);
	if (rc < 0)
		return rc;
	none = session_snapshot(&r->session, e);
	if (!none)
		return e->code;
	first.total = first.delta = none;
	rc = keep(r, &first);
	snapshot_free(none);
	return rc ? err_set(e, rc, "out of memory") : redraw(r);
}

static int run(struct top_run *r, struct err *e)
{
	const struct options *o = r->options;
	bool screen = !o->output.json && !o->output.batch && isatty(STDOUT_FILENO) &&
		      isatty(STDIN_FILENO);
	struct live_ops ops = {
		.frame = o->output.json ? show_json
			 : screen       ? show_screen
					: show_batch,
		.input = screen ? handle_input : NULL,
	};
	int rc = session_live(&r->session, o, false, e);

	if (!rc && screen)
		rc = open_screen(r, e);
	if (!rc)
		rc = session_run(&r->session, o, &ops, r, e);
	top_screen_close(r->screen);
	return rc;
}

int cmd_top(int argc, char **argv)
{
	struct top_run r = { 0 };
	struct options o;
	struct err e = { 0 };
	int status = options_parse(command_find("top"), argc, argv, &o);

	if (status != OPTIONS_RUN)
		return status;
	r.options = &o;
	r.state.view = o.view;
	top_page_init(&r.page);
	out_open_fd(&r.out, STDOUT_FILENO);
	json_open(&r.json, &r.out);
	run(&r, &e);
	status = e.code ? say_error(&e) : EXIT_DONE;
	session_close(&r.session);
	snapshot_free(r.total);
	snapshot_free(r.delta);
	top_page_release(&r.page);
	return finish_output(&r.out, "standard output", status);
}
