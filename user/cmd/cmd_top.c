/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/config.h"
#include "cmd/recorder.h"
#include "cmd/session.h"
#include "cmd/window.h"
#include "sink/top.h"
#include "sink/words.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The ring is mapped twice, so it is most of the memory of a small trace. It
 * is drained some 20 times a second: that is enough for 2 M spans/s. */
#define TOP_RING_BYTES (4ull << 20)
/* A stay that lasts longer than this is said to run. */
#define RUNNING_LEAST_NS (250 * NSEC_PER_MSEC)
#define RUNNING_MAX 128

struct top_run {
	struct session session;
	const struct options *options;
	struct top_state state;
	struct top_page page;
	struct top_screen *screen; /* NULL: batch or JSON */
	struct out out;
	struct json json;
	struct window window;
	struct history *history;
	struct recent *recent;
	struct recorder recorder;
	struct model_unfinished longest; /* total.unfinished */
	u64 start_ns, last_ns; /* of the trace, of the last frame */
	/* What is on the screen, to draw it again when a key changes it. */
	struct snapshot *shown;
	struct snapshot total; /* its figures before the window was cut; borrows from it */
	u64 elapsed_ns, window_ns; /* window_ns: it was cut to this */
	struct top_running running[RUNNING_MAX];
	u32 running_count;
	u32 parts_off; /* bits by enum model_part: that a key has let go of */
	char focus[sizeof(((struct top_state *)0)->detail)];
	bool ended;
};

/* ---- What is shown ---- */

static void look_at_running(struct top_run *r)
{
	struct live_stay stays[RUNNING_MAX];
	u32 n = live_running(r->session.source, RUNNING_LEAST_NS, stays, RUNNING_MAX), i;

	r->running_count = 0;
	for (i = 0; i < n; i++) {
		const char *group = model_group_of(r->session.model, stays[i].pid,
						   stays[i].registry, stays[i].compartment);

		if (group)
			r->running[r->running_count++] = (struct top_running){
				.group = group,
				.pid = stays[i].pid,
				.tid = stays[i].tid,
				.for_ns = stays[i].for_ns,
				.innermost = stays[i].innermost,
			};
	}
}

/* Takes the snapshot over as what is shown. */
static int cut_window(struct top_run *r, struct snapshot *s, u64 now)
{
	u64 span = r->state.window_ns;
	int rc = 0;

	snapshot_free(r->shown);
	r->shown = s;
	r->total = *s;
	r->total.groups = NULL;
	r->total.children = NULL;
	r->total.group_count = r->total.child_count = 0;
	/* What is cut off takes its place in the list. */
	r->total.unfinished_kept = min_u64(s->unfinished_kept, 1);
	r->total.unfinished = &r->longest;
	if (s->unfinished_kept)
		r->longest = s->unfinished[0];
	r->window_ns = span;
	if (span == TOP_SINCE_START)
		r->elapsed_ns = now - r->start_ns;
	else
		rc = window_cut(&r->window, s, now, span, &r->elapsed_ns);
	return rc;
}

/* A frame: what was before is cut from it, and it becomes the moment that the
 * next one is compared with. */
static int take_frame(struct top_run *r, struct snapshot *s, bool show)
{
	u64 now = now_ns();
	u32 groups = s->group_count;
	struct buf packed = { 0 };
	int rc = snapshot_pack(s, &packed);

	/* A display that is paused stays as it is, the sparklines too. */
	if (!rc && show && r->history)
		rc = history_add(r->history, s, now - r->last_ns);
	if (show)
		r->last_ns = now;
	if (!rc && show)
		rc = cut_window(r, s, now);
	else
		snapshot_free(s);
	if (!rc)
		rc = window_add(&r->window, &packed, groups, now, r->state.window_ns);
	buf_free(&packed);
	return rc;
}

/* Two snapshots of many groups at a time would be one too many. */
static void release_frame(void *ctx)
{
	struct top_run *r = ctx;

	if (r->state.paused)
		return;
	snapshot_free(r->shown);
	r->shown = NULL;
}

/* Another window was asked for: it is shown at once, as of now. */
/* Takes up the window that was asked for, if it is another. */
static int change_window(struct top_run *r, struct err *e)
{
	struct snapshot *s;

	if (r->state.window_ns == r->window_ns || r->state.paused)
		return 0;
	release_frame(r);
	s = session_snapshot(&r->session, e);
	return s ? cut_window(r, s, now_ns()) : e->code;
}

static void figures_of(const struct top_run *r, struct top_figures *f)
{
	*f = (struct top_figures){
		.total = r->window_ns == TOP_SINCE_START ? r->shown : &r->total,
		.delta = r->window_ns == TOP_SINCE_START ? NULL : r->shown,
		.elapsed_ns = r->elapsed_ns,
		.ended = r->ended,
		.history = r->history,
		.recent = r->recent,
		.running = r->running,
		.running_count = r->running_count,
		.recording = r->recorder.pid ? r->recorder.path : NULL,
	};
}

/* ---- The screen ---- */

/* Callers are counted for one group, while its detail is open: that takes
 * every span. */
static void follow_detail(struct top_run *r)
{
	if (!strcmp(r->focus, r->state.detail))
		return;
	strcpy(r->focus, r->state.detail);
	recent_focus(r->recent, r->focus[0] ? r->focus : NULL);
	model_observe(r->session.model,
		      r->focus[0] ? &recent_spans_observer : &recent_events_observer, r->recent);
}

static int redraw(struct top_run *r)
{
	struct top_figures f;
	unsigned int width, height;
	int rc;

	if (!r->shown)
		return 0;
	figures_of(r, &f);
	top_screen_size(r->screen, &width, &height);
	rc = top_compose(&r->page, &r->state, &f, width, height);
	follow_detail(r);
	if (!rc)
		top_screen_draw(r->screen, &r->page);
	return rc;
}

static void toggle_recording(struct top_run *r)
{
	struct top_state *st = &r->state;
	u32 pids[OPTION_PIDS_MAX], n = 0, i;
	const char *name = "process";
	struct err e = { 0 };

	if (r->recorder.pid) {
		recorder_stop(&r->recorder, st->notice, sizeof(st->notice));
		return;
	}
	for (i = 0; i < r->total.process_count && n < OPTION_PIDS_MAX; i++) {
		if (r->total.processes[i].ended || r->total.processes[i].sum)
			continue;
		name = n ? name : r->total.processes[i].name;
		pids[n++] = r->total.processes[i].pid;
	}
	if (recorder_start(&r->recorder, name, pids, n, &e))
		snprintf(st->notice, sizeof(st->notice), "%.150s", e.what);
	else
		snprintf(st->notice, sizeof(st->notice), "recording to %.100s until R or the end",
			 r->recorder.path);
}

static int toggle_own(struct top_run *r)
{
	struct top_state *st = &r->state;
	char glob[2 * sizeof(st->own_of)], name[96];
	int rc;

	glob_quote(glob, sizeof(glob), st->own_of);
	name_text(name, sizeof(name), st->own_of);
	st->own_of[0] = 0;
	rc = model_own(r->session.model, glob, false);
	if (!rc) {
		snprintf(st->notice, sizeof(st->notice),
			 "compartments of %s are no longer measured by themselves", name);
		return 0;
	}
	rc = model_own(r->session.model, glob, true);
	snprintf(st->notice, sizeof(st->notice), "compartments of %s are measured by themselves",
		 name);
	return rc;
}

/* Each key is one user, who comes or goes. */
static void switch_parts(struct top_run *r)
{
	static const char *const what[TRACE_PARTS] = {
		[TRACE_TURNS] = "turns",
		[TRACE_BLOCKING] = "what keeps threads off the CPU",
		[TRACE_GC] = "collections",
		[TRACE_SAMPLES] = "stacks",
	};
	static const char *const lack[TRACE_PARTS] = {
		[TRACE_BLOCKING] = "what keeps threads off the CPU takes --exact",
		[TRACE_GC] = "collections come with the turns here: they cost nothing apart",
		[TRACE_SAMPLES] = "nothing is sampled here",
	};
	struct source *s = r->session.source;
	struct top_state *st = &r->state;
	int i;

	for (i = 0; i < TRACE_PARTS; i++) {
		if (!(st->parts & 1u << i))
			continue;
		if (!live_part_has(s, (enum model_part)i)) {
			snprintf(st->notice, sizeof(st->notice), "%s", lack[i] ? lack[i] : what[i]);
		} else if (r->parts_off & 1u << i) {
			r->parts_off &= ~(1u << i);
			live_part_get(s, (enum model_part)i);
			snprintf(st->notice, sizeof(st->notice), "measuring %s again", what[i]);
		} else {
			r->parts_off |= 1u << i;
			live_part_put(s, (enum model_part)i);
			snprintf(st->notice, sizeof(st->notice),
				 "%s: not measured until the same key", what[i]);
		}
	}
	st->parts = 0;
}

static void parts_failed(struct top_run *r)
{
	const struct err *e;
	int i;

	for (i = 0; i < TRACE_PARTS; i++) {
		e = live_part_failed(r->session.source, (enum model_part)i);
		if (!e || r->parts_off & 1u << i)
			continue;
		r->parts_off |= 1u << i;
		snprintf(r->state.notice, sizeof(r->state.notice), "not measured: %.140s", e->what);
	}
}

static void save_columns(struct top_run *r)
{
	struct top_state *st = &r->state;
	struct err e = { 0 };
	char path[4096];
	struct out list;

	out_open_memory(&list);
	table_choice_print(&st->columns, &list);
	out_write(&list, "", 1);
	if (list.error ||
	    config_save(r->options, "top", "columns", (const char *)list.buf.data, path, &e))
		snprintf(st->notice, sizeof(st->notice), "not saved: %.140s", e.what);
	else
		snprintf(st->notice, sizeof(st->notice), "columns are kept in %.130s", path);
	out_close(&list);
}

static int handle_input(void *ctx, unsigned int bits, struct err *e)
{
	struct top_run *r = ctx;
	struct top_state *st = &r->state;
	int rc = 0;
	u32 key;

	if (bits & WAKE_RESIZE)
		top_screen_resize(r->screen);
	while ((key = top_screen_key(r->screen)) != TOP_KEY_NONE && !st->quit) {
		unsigned int x, y;

		if (key == TOP_KEY_MOUSE) {
			enum top_click click = top_screen_mouse(r->screen, &x, &y);

			top_mouse(st, &r->page, click, x, y);
		} else {
			top_key(st, key);
		}
		/* Each is answered before the next: rows may have moved. */
		rc = change_window(r, e);
		if (!rc && (st->move || st->find || st->open || st->own))
			rc = redraw(r);
		if (rc)
			return rc;
	}
	if (st->own_of[0])
		rc = toggle_own(r);
	if (rc)
		return rc;
	if (st->parts)
		switch_parts(r);
	if (st->record)
		toggle_recording(r);
	if (st->save)
		save_columns(r);
	st->record = st->save = false;
	if (st->quit)
		return 1;
	rc = change_window(r, e);
	return rc ? rc : redraw(r);
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
	bool show = !r->state.paused || f->ended;
	int rc;

	r->ended = f->ended;
	if (show)
		look_at_running(r);
	parts_failed(r);
	recorder_ended(&r->recorder, r->state.notice, sizeof(r->state.notice));
	rc = take_frame(r, f->own, show);
	if (!rc)
		rc = redraw(r);
	recent_tick(r->recent);
	if (rc || !f->ended || r->options->pace.count)
		return rc;
	return wait_for_quit(r, e);
}

static int open_screen(struct top_run *r, struct err *e)
{
	struct snapshot *none;
	int rc;

	r->screen = top_screen_open(terminal_color(), e);
	if (!r->screen)
		return e->code;
	r->state.color = top_screen_color(r->screen);
	r->state.ascii = top_screen_ascii(r->screen);
	r->history = history_new();
	r->recent = recent_new();
	if (!r->history || !r->recent)
		return err_set(e, -ENOMEM, "out of memory");
	model_observe(r->session.model, &recent_events_observer, r->recent);
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
	rc = take_frame(r, none, true);
	return rc ? err_set(e, rc, "out of memory") : redraw(r);
}

/* ---- Batch and JSON ---- */

static int show_batch(void *ctx, const struct live_frame *f, struct err *e)
{
	struct top_run *r = ctx;
	struct top_figures figures;
	int rc;

	(void)e;
	r->ended = f->ended;
	look_at_running(r);
	rc = take_frame(r, f->own, true);
	if (rc)
		return rc;
	figures_of(r, &figures);
	rc = top_compose(&r->page, &r->state, &figures, terminal_width(), 0);
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
	snapshot_free(f->own);
	return out_flush(&r->out) ? 1 : 0;
}

/* ---- */

static int run(struct top_run *r, struct err *e)
{
	const struct options *o = r->options;
	bool screen = !o->output.json && !o->output.batch && isatty(STDOUT_FILENO) &&
		      isatty(STDIN_FILENO);
	struct live_ops ops = {
		.owns = true,
		.release = release_frame,
		.frame = o->output.json ? show_json
			 : screen       ? show_screen
					: show_batch,
		.input = screen ? handle_input : NULL,
	};
	int rc = session_live(&r->session, o, false, e);

	r->start_ns = r->last_ns = r->window.last.ns = now_ns();
	if (!rc && screen)
		rc = open_screen(r, e);
	if (!rc)
		rc = session_run(&r->session, o, &ops, r, e);
	top_screen_close(r->screen);
	return rc;
}

/* What was begun with R is completed, and said now that the screen is back. */
static void end_recording(struct top_run *r)
{
	char words[sizeof(r->state.notice)] = "";

	if (!r->recorder.pid)
		return;
	recorder_stop(&r->recorder, words, sizeof(words));
	fprintf(stderr, "%s\n", words);
}

int cmd_top(int argc, char **argv)
{
	struct top_run *r;
	struct options o;
	struct err e = { 0 };
	int status = options_parse(command_find("top"), argc, argv, &o);

	if (status != OPTIONS_RUN)
		return status;
	r = calloc(1, sizeof(*r));
	if (!r) {
		err_set(&e, -ENOMEM, "out of memory");
		return say_error(&e);
	}
	/* Snapshots of many groups come and go: they are given back, and what
	 * of them is not touched takes no memory. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	if (!o.target.buffer_bytes)
		o.target.buffer_bytes = TOP_RING_BYTES;
	r->options = &o;
	r->parts_off = o.target.without;
	r->state.view = o.view;
	r->state.columns = o.screen.columns;
	r->state.window_ns = o.screen.window_ns;
	r->state.warn_ns = o.screen.warn_ns;
	r->state.bad_ns = o.screen.bad_ns;
	top_page_init(&r->page);
	out_open_fd(&r->out, STDOUT_FILENO);
	json_open(&r->json, &r->out);
	run(r, &e);
	end_recording(r);
	status = e.code ? say_error(&e) : EXIT_DONE;
	session_close(&r->session);
	snapshot_free(r->shown);
	window_release(&r->window);
	history_free(r->history);
	recent_free(r->recent);
	top_page_release(&r->page);
	status = finish_output(&r->out, "standard output", status);
	free(r);
	return status;
}
