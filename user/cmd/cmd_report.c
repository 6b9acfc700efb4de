/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/page.h"
#include "cmd/report_check.h"
#include "cmd/session.h"
#include "sink/explain.h"
#include "sink/html.h"

#include <errno.h>
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

/* Single events instead of sums. */
static int run_explain(struct session *s, const struct options *o, struct explain *x,
		       const char *path, struct err *e)
{
	struct out out;
	struct json j;

	if (!explain_count(x) && o->event)
		return err_set(e, -ENOENT, "%s has no event of number %u", path, o->event);
	out_open_fd(&out, STDOUT_FILENO);
	if (o->output.json) {
		json_open(&j, &out);
		explain_json(x, &j, &s->head);
		json_line(&j);
	} else {
		explain_text(x, &out, terminal_width());
	}
	return finish_output(&out, "standard output", EXIT_DONE);
}

static int report_events(const struct options *o, struct err *e)
{
	struct session s = { 0 };
	struct explain *x = NULL;
	int rc = session_replay(&s, o, o->rest[0], e);

	if (!rc) {
		x = explain_new(s.model, o->event, o->select.slowest);
		rc = x ? session_drain(&s, false, e) : -ENOMEM;
	}
	if (!rc)
		rc = run_explain(&s, o, x, o->rest[0], e);
	else
		err_set(e, rc, "cannot report %s: %s", o->rest[0],
			rc == -EINTR ? "interrupted" : strerror(-rc));
	explain_free(x);
	session_close(&s);
	return rc;
}

static int report_one(const struct options *o, const struct condition *list, struct err *e)
{
	struct session session = { 0 };
	struct snapshot *s = report_snapshot(&session, o, o->rest[0], e);
	int status = EXIT_FAILED;
	struct out out;

	if (s) {
		out_open_fd(&out, STDOUT_FILENO);
		put_report(&out, s, &session, o);
		status = finish_output(&out, "standard output", EXIT_DONE);
		if (check_snapshot(o, list, s))
			status = EXIT_FAILED;
	}
	snapshot_free(s);
	session_close(&session);
	return status;
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
	struct condition list[OPTION_CONDITIONS_MAX];
	struct options o;
	struct err e = { 0 };
	int status = options_parse(c, argc, argv, &o);

	if (status != OPTIONS_RUN)
		return status;
	if (o.rest_count > 2)
		usage_error(&e, c, "two recordings at most: unexpected argument '%s'", o.rest[2]);
	else if (o.rest_count < 2)
		options_file(&o, c, &e);
	if (e.code)
		return say_error(&e);
	if (check_parse(&o, list, &e))
		return say_error(&e);
	if (o.output.html && (o.rest_count == 2 || o.conditions.count))
		usage_error(&e, c, "--html is of one recording, without --fail-if");
	else if (o.output.html)
		status = write_page(&o, o.rest[0], &e);
	else if ((o.event || o.select.slowest) && o.rest_count == 1)
		status = report_events(&o, &e);
	else
		status = o.rest_count == 2 ? report_two(&o, list, &e) : report_one(&o, list, &e);
	return e.code ? say_error(&e) : status;
}
