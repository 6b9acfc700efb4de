/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/report_check.h"
#include "cmd/snapshot_file.h"
#include "sink/compare.h"
#include "sink/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Groups named for one condition; the rest are counted. */
#define NAMED 10

int check_parse(const struct options *o, struct condition list[OPTION_CONDITIONS_MAX],
		struct err *e)
{
	u32 i;

	for (i = 0; i < o->conditions.count; i++) {
		if (condition_parse(o->conditions.text[i], &list[i], e))
			return e->code;
		if (condition_is_slower(&list[i]) && o->rest_count != 2)
			return usage_error(e, command_find("report"),
					   "--fail-if slower compares two recordings or snapshots");
	}
	return 0;
}

int check_snapshot(const struct options *o, const struct condition *list, const struct snapshot *s)
{
	int status = EXIT_DONE;
	struct out out;
	u32 i;

	out_open_fd(&out, STDERR_FILENO);
	for (i = 0; i < o->conditions.count; i++) {
		const struct snapshot_group *g;
		u32 at = 0, found = 0;
		char value[TEXT_NS_MAX + 8], name[256];
		u64 v;

		while (!condition_is_slower(&list[i]) &&
		       (g = condition_next(&list[i], s, &at, &v))) {
			status = EXIT_FAILED;
			if (found++ >= NAMED)
				continue;
			condition_value(&list[i], v, value);
			out_printf(&out, "vmspan: failed: %s: %s has %s\n", list[i].text,
				   name_text(name, sizeof(name), g->name), value);
		}
		if (found > NAMED)
			out_printf(&out, "vmspan: failed: %s: and %u more groups\n", list[i].text,
				   found - NAMED);
	}
	out_close(&out);
	return status;
}

struct snapshot *report_snapshot(struct session *s, const struct options *o, const char *path,
				 struct err *e)
{
	int rc;

	if (snapshot_file_is(path)) {
		s->head.file = path;
		return snapshot_file_read(path, e);
	}
	rc = session_replay(s, o, path, e);

	if (!rc)
		rc = session_drain(s, false, e);
	if (rc) {
		err_set(e, rc, "cannot report %s: %s", path,
			rc == -EINTR ? "interrupted" : strerror(-rc));
		return NULL;
	}
	if (s->head.note)
		fprintf(stderr, "vmspan: note: %s: %s\n", path, s->head.note);
	return session_snapshot(s, e);
}

static int check_slower(const struct options *o, const struct condition *list,
			const struct comparison *c)
{
	bool wanted = false;
	char name[256];
	u32 i;

	for (i = 0; i < o->conditions.count; i++)
		wanted |= condition_is_slower(&list[i]);
	if (!wanted || !c->slower)
		return EXIT_DONE;
	/* They come first. */
	for (i = 0; i < c->slower && i < NAMED; i++)
		fprintf(stderr, "vmspan: failed: slower: %s\n",
			name_text(name, sizeof(name), c->rows[i].name));
	return EXIT_FAILED;
}

static int show(const struct options *o, struct comparison *c, const struct condition *list,
		struct err *e)
{
	int status;
	struct out out;
	struct json j;

	if (compare(c, &o->view)) {
		compare_free(c);
		err_set(e, -ENOMEM, "out of memory");
		return EXIT_FAILED;
	}
	out_open_fd(&out, STDOUT_FILENO);
	if (o->output.json) {
		json_open(&j, &out);
		compare_json(&j, c);
		json_line(&j);
	} else {
		compare_text(&out, c);
	}
	status = finish_output(&out, "standard output", EXIT_DONE);
	/* Both speak. */
	if (check_slower(o, list, c))
		status = EXIT_FAILED;
	if (check_snapshot(o, list, c->after.s))
		status = EXIT_FAILED;
	compare_free(c);
	return status;
}

int report_two(const struct options *o, const struct condition *list, struct err *e)
{
	struct snapshot *s[2] = { NULL, NULL };
	struct comparison c = { 0 };
	struct compare_side *sides[2] = { &c.before, &c.after };
	struct session session;
	int i, status = EXIT_FAILED;

	for (i = 0; i < 2 && !e->code; i++) {
		session = (struct session){ 0 };
		s[i] = report_snapshot(&session, o, o->rest[i], e);
		*sides[i] = (struct compare_side){ s[i], session.head.file };
		session_close(&session);
	}
	if (s[0] && s[1])
		status = show(o, &c, list, e);
	snapshot_free(s[0]);
	snapshot_free(s[1]);
	return status;
}
