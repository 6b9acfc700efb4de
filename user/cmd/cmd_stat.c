/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/session.h"
#include "cmd/watch_notes.h"
#include "sink/stat.h"

#include <errno.h>
#include <unistd.h>

struct stat_run {
	struct session session;
	const struct options *options;
	struct out out;
	struct json json;
	bool headed;
	u32 left_out; /* processes, as far as it was said */
	struct watch_notes notes;
};

/* Why figures are not complete. */
static int say_left_out(struct stat_run *r, const struct snapshot *s)
{
	if (s->left_out <= r->left_out)
		return 0;
	r->left_out = s->left_out;
	return watch_notes_say(&r->notes, s);
}

static int show(void *ctx, const struct live_frame *f, struct err *e)
{
	struct stat_run *r = ctx;

	session_say_not_exact(&r->session);
	if (r->options->output.json) {
		r->session.head.interval_ns = f->interval_ns;
		r->session.head.histograms = true;
		report_json(&r->json, f->total, &r->session.head, &r->options->view);
		json_line(&r->json);
	} else {
		if (!r->headed)
			stat_head(&r->out);
		r->headed = true;
		stat_line(&r->out, f->delta, f->total, f->elapsed_ns, f->interval_ns);
		if (say_left_out(r, f->total))
			return err_set(e, -ENOMEM, "no memory");
	}
	/* The error is told when the output is finished. */
	return out_flush(&r->out) ? 1 : 0;
}

int cmd_stat(int argc, char **argv)
{
	static const struct live_ops ops = { .frame = show };
	struct stat_run r = { 0 };
	struct options o;
	struct err e = { 0 };
	int status = options_parse(command_find("stat"), argc, argv, &o);

	if (status != OPTIONS_RUN)
		return status;
	status = EXIT_DONE;
	r.options = &o;
	out_open_fd(&r.out, STDOUT_FILENO);
	json_open(&r.json, &r.out);
	if (!session_live(&r.session, &o, false, &e))
		session_run(&r.session, &o, &ops, &r, &e);
	session_close(&r.session);
	watch_notes_free(&r.notes);
	if (e.code)
		status = say_error(&e);
	return finish_output(&r.out, "standard output", status);
}
