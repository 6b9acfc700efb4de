/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/page.h"
#include "cmd/session.h"
#include "sink/html.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void put_report(struct out *out, const struct snapshot *s, const struct session *session,
		       const struct options *o)
{
	struct json j;

	if (!o->output.json) {
		report_text(out, s, &session->head, &o->view, terminal_width(), terminal_color());
		return;
	}
	json_open(&j, out);
	report_json(&j, s, &session->head, &o->view);
	json_line(&j);
}

static int run(struct session *s, const struct options *o, const char *path, struct err *e)
{
	struct snapshot *snap;
	struct out out;
	int rc;

	rc = session_replay(s, o, path, e);
	if (!rc)
		rc = session_drain(s, false, e);
	if (rc)
		return err_set(e, rc, "cannot report %s: %s", path,
			       rc == -EINTR ? "interrupted" : strerror(-rc));
	if (s->head.note)
		fprintf(stderr, "vmspan: note: %s: %s\n", path, s->head.note);
	snap = session_snapshot(s, e);
	if (!snap)
		return e->code;
	out_open_fd(&out, STDOUT_FILENO);
	put_report(&out, snap, s, o);
	snapshot_free(snap);
	return finish_output(&out, "standard output", EXIT_DONE);
}

static int write_page(const struct options *o, const char *path, struct err *e)
{
	struct options page = *o;

	page.output.file = o->output.html;
	return export_run(&html_exporter, &page, path, e) ? EXIT_FAILED : EXIT_DONE;
}

int cmd_report(int argc, char **argv)
{
	const struct command *c = command_find("report");
	struct session s = { 0 };
	struct options o;
	struct err e = { 0 };
	const char *path;
	int status = options_parse(c, argc, argv, &o);

	if (status != OPTIONS_RUN)
		return status;
	path = options_file(&o, c, &e);
	if (!path)
		status = EXIT_USAGE;
	else
		status = o.output.html ? write_page(&o, path, &e) : run(&s, &o, path, &e);
	session_close(&s);
	return e.code ? say_error(&e) : status;
}
