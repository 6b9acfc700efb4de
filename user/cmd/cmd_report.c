/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/page.h"
#include "cmd/report_check.h"
#include "sink/html.h"

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
	else
		status = o.rest_count == 2 ? report_two(&o, list, &e) : report_one(&o, list, &e);
	return e.code ? say_error(&e) : status;
}
