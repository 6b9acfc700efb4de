/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/text.h"
#include "cmd/output.h"
#include "cmd/session.h"
#include "cmd/page.h"
#include "sink/export.h"
#include "sink/select.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct exporter *choose(const char *name, const struct command *c, struct err *e)
{
	const struct exporter *x = exporter_find(name ? name : exporters[0]->name);
	struct nearest near = { .word = name };
	char list[256] = "", clean[64];
	size_t i;

	if (x)
		return x;
	for (i = 0; exporters[i]; i++) {
		size_t len = strlen(list);

		nearest_try(&near, exporters[i]->name);
		snprintf(list + len, sizeof(list) - len, "%s%s", i ? ", " : "", exporters[i]->name);
	}
	usage_error(e, c, "unknown format '%s'; known: %s%s%s%s",
		    text_clean(clean, sizeof(clean), name, strlen(name)), list,
		    near.best ? "; did you mean " : "", near.best ? near.best : "",
		    near.best ? "?" : "");
	return NULL;
}

/* FILE.vmspan becomes FILE.json, in the same directory. */
static void default_path(char path[OUTPUT_PATH_MAX], const char *input, const char *suffix)
{
	size_t len = strlen(input), ours = strlen(".vmspan");

	if (len > ours && !strcmp(input + len - ours, ".vmspan"))
		len -= ours;
	snprintf(path, OUTPUT_PATH_MAX, "%.*s%s", (int)len, input, suffix);
}

/* Where the exporter may put temporary files: beside the output there must be
 * room for as much anyway. */
static const char *directory_of(const struct output *output, char path[OUTPUT_PATH_MAX])
{
	const char *tmp = getenv("TMPDIR");
	char *slash;

	if (!output->path[0])
		return tmp && tmp[0] ? tmp : "/var/tmp";
	snprintf(path, OUTPUT_PATH_MAX, "%s", output->path);
	slash = strrchr(path, '/');
	if (!slash)
		return ".";
	slash[slash == path] = 0;
	return path;
}

static int translate(struct session *s, const struct exporter *x, const struct options *o,
		     struct select *sel, const struct html_docs *docs, struct output *output,
		     struct err *e)
{
	char directory[OUTPUT_PATH_MAX];
	struct export_config config = {
		.start_ns = s->source->info.start_mono_ns,
		.start_real_ns = s->source->info.start_real_ns,
		.glob = o->view.glob,
		.narrowed = o->target.count || o->select.thread || o->select.min_duration_ns ||
			    o->select.slowest,
		.directory = directory_of(output, directory),
		.docs = docs,
	};
	struct snapshot *totals = NULL;
	void *state = x->begin(&output->out, &config, s->model);
	int rc;

	if (!state)
		return err_set(e, -ENOMEM, "out of memory");
	select_attach(sel, s->model);
	rc = session_drain(s, o->output.quiet, e);
	if (!rc) {
		totals = session_snapshot(s, e);
		rc = totals ? 0 : -ENOMEM;
	}
	if (!rc)
		rc = x->end(state, totals, &s->head);
	if (!rc)
		rc = out_flush(&output->out);
	snapshot_free(totals);
	x->free(state);
	return rc;
}

/* The slowest events are known only at the end, and whose a span is when its
 * event ends: a reading for that alone. */
int export_search(const struct options *o, const char *input, struct select *sel, struct err *e)
{
	struct options whole = *o;
	struct session s = { 0 };
	int rc;

	whole.model.from_ns = whole.model.to_ns = 0;
	rc = session_replay(&s, &whole, input, e);

	if (!rc) {
		select_search(sel, s.model);
		rc = session_drain(&s, o->output.quiet, e);
		select_found(sel);
	}
	session_close(&s);
	return rc;
}

static void explain(const char *input, const struct output *output, int rc, struct err *e)
{
	if (output->out.error)
		err_set_status(e, rc, EXIT_FAILED, "cannot write %s: %s", output->name,
			       strerror(-rc));
	else if (rc == -EINTR)
		err_set(e, rc, "interrupted: nothing was written%s%s", output->name ? " to " : "",
			output->name ? output->name : "");
	else
		err_set(e, rc, "cannot export %s: %s", input, strerror(-rc));
}

/* bytes: of the output before compression. */
static void warn_of_size(const struct exporter *x, const char *name, u64 bytes)
{
	char text[TEXT_BYTES_MAX];

	if (!x->limit_bytes || bytes <= x->limit_bytes)
		return;
	fprintf(stderr,
		"vmspan: warning: %s holds %s, and %s\n"
		"  smaller: --min-duration 100us, --slowest 1000, or a part with --from and --to\n",
		name, text_bytes(text, bytes), x->limit_why);
}

int export_run(const struct exporter *x, const struct options *o, const char *input, struct err *e)
{
	const struct select_config wanted = {
		.glob = o->view.glob,
		.whole_turns = x->whole_turns,
		.pids = o->target.pids,
		.pid_count = o->target.count,
		.thread = o->select.thread,
		.min_duration_ns = o->select.min_duration_ns,
		.from_ns = o->model.from_ns,
		.to_ns = o->model.to_ns,
		.slowest = o->select.slowest,
	};
	struct options known = *o;
	struct html_docs *docs = NULL;
	char path[OUTPUT_PATH_MAX];
	struct output output = { .fd = -1 };
	struct session s = { 0 };
	struct select sel;
	int rc;

	default_path(path, input, x->suffix);
	select_init(&sel, &wanted);
	rc = docs_load(&docs, o->output.docs, e);
	if (!rc && select_searches(&wanted))
		rc = export_search(o, input, &sel, e);
	known.model.all_spans = true;
	if (!rc)
		rc = session_replay(&s, &known, input, e);
	if (!rc)
		rc = output_open(&output, o->output.file ? o->output.file : path, input, e);
	if (!rc)
		rc = translate(&s, x, o, &sel, docs, &output, e);
	if (rc && rc != -EPIPE && !e->code)
		explain(input, &output, rc, e);
	if (!rc)
		rc = output_commit(&output, e);
	if (!rc && s.head.note)
		fprintf(stderr, "vmspan: note: %s: %s\n", input, s.head.note);
	if (!rc)
		warn_of_size(x, output.name, output.out.written);
	if (!rc && !o->output.quiet && output.path[0])
		fprintf(stderr, "wrote %s\n", output.name);
	output_abandon(&output);
	session_close(&s);
	select_release(&sel);
	html_docs_free(docs);
	return rc;
}

int cmd_export(int argc, char **argv)
{
	const struct command *c = command_find("export");
	const struct exporter *x;
	struct options o;
	struct err e = { 0 };
	const char *input;
	int status = options_parse(c, argc, argv, &o);

	if (status != OPTIONS_RUN)
		return status;
	x = choose(o.output.format, c, &e);
	input = x ? options_file(&o, c, &e) : NULL;
	status = input && !export_run(x, &o, input, &e) ? EXIT_DONE : EXIT_FAILED;
	return e.code ? say_error(&e) : status;
}
