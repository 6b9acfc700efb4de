/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/snapshot_file.h"
#include "sink/complete.h"
#include "base/intern.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_MAX_BYTES (256u << 20)
#define GROUPS_MAX (1u << 18)
#define NAME_MAX_BYTES 4096

bool snapshot_file_is(const char *path)
{
	struct stat st;
	FILE *f;
	int c;

	/* Of a pipe nothing may be taken to look at it, and it may have nothing. */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	f = fopen(path, "re");
	c = f ? fgetc(f) : EOF;
	if (f)
		fclose(f);
	return c == '{';
}

static int bad(struct err *err, const char *path, const char *what)
{
	err_set_status(err, -EBADMSG, EXIT_FAILED, "%s: %s", path, what);
	err_hint(err, "It should hold what 'vmspan stat --json' writes.");
	return -EBADMSG;
}

/* A line that has no end was cut: the one before it is the last whole one. */
static int last_line(FILE *f, const char *path, char **last, struct err *err)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int rc = 0;

	while (!rc && (n = getline(&line, &cap, f)) > 0) {
		if (n > LINE_MAX_BYTES) {
			rc = bad(err, path, "a line of more than 256 MB");
		} else if (line[n - 1] == '\n' && n > 1) {
			free(*last);
			*last = line;
			line = NULL;
			cap = 0;
		}
	}
	free(line);
	if (!rc && ferror(f))
		rc = err_set(err, -EIO, "cannot read %s: %s", path, strerror(errno));
	return rc || *last ? rc : bad(err, path, "there is no whole line in it");
}

/* Negative and missing numbers fail. */
static bool get(const json_t *o, const char *key, u64 *to)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return false;
	*to = (u64)json_integer_value(v);
	return true;
}

static bool get_durations(const json_t *o, u64 to[JANK_BUCKETS])
{
	const json_t *list = json_object_get(o, "durations");
	size_t i;

	if (json_array_size(list) != JANK_BUCKETS)
		return false;
	for (i = 0; i < JANK_BUCKETS; i++) {
		const json_t *v = json_array_get(list, i);

		if (!json_is_integer(v) || json_integer_value(v) < 0)
			return false;
		to[i] = (u64)json_integer_value(v);
	}
	return true;
}

/* [[lowest ns, events], ...] */
static int get_histogram(const json_t *o, struct group_stats *t)
{
	const json_t *list = json_object_get(o, "histogram");
	size_t i;

	if (!json_is_array(list))
		return -ENODATA;
	for (i = 0; i < json_array_size(list); i++) {
		const json_t *pair = json_array_get(list, i);
		json_int_t low = json_integer_value(json_array_get(pair, 0));
		json_int_t n = json_integer_value(json_array_get(pair, 1));

		if (json_array_size(pair) != 2 || low < 0 || n <= 0 || n > UINT32_MAX)
			return -EBADMSG;
		if (hist_add_many(&t->hist, (u64)low, (u32)n))
			return -ENOMEM;
	}
	/* How long those take that had not ended was not known. */
	return t->events >= t->open.events && t->hist.total == t->events - t->open.events
		       ? 0
		       : -EBADMSG;
}

static int get_name(struct snapshot *s, const json_t *o, const char *key, const char **to)
{
	const json_t *v = json_object_get(o, key);
	s64 id;

	if (!json_is_string(v) || json_string_length(v) > NAME_MAX_BYTES)
		return -EBADMSG;
	id = intern_put(s->names, json_string_value(v), json_string_length(v));
	if (id < 0)
		return (int)id;
	*to = intern_get(s->names, (u32)id, NULL);
	return 0;
}

static int get_group(struct snapshot *s, const json_t *o, struct snapshot_group *g)
{
	struct group_stats *t = &g->stats;
	int rc = get_name(s, o, "name", &g->name);

	if (!rc)
		rc = get_name(s, o, "kind", &g->kind);
	if (rc)
		return rc;
	if (!get(o, "ticks", &t->ticks) || !get(o, "events", &t->events) ||
	    !get(o, "spans", &t->spans) || !get(o, "wall_ns", &t->wall_ns) ||
	    !get(o, "self_ns", &t->self_ns) || !get(o, "cpu_ns", &t->cpu_ns) ||
	    !get(o, "blocked_ns", &t->blocked_ns) || !get(o, "gc_ns", &t->gc_ns) ||
	    !get(o, "max_ns", &t->max_ns) || !get(o, "incomplete", &t->incomplete) ||
	    !get_durations(o, t->durations))
		return -EBADMSG;
	if (json_object_get(o, "open") && !get(o, "open", &t->open.events))
		return -EBADMSG;
	get(o, "cpu_margin_ns", &t->cpu_margin_ns);
	return get_histogram(o, t);
}

static int get_groups(struct snapshot *s, const json_t *root)
{
	const json_t *list = json_object_get(root, "groups");
	size_t i, n = json_array_size(list);
	u64 schema;
	int rc = 0;

	if (!get(root, "schema", &schema) || schema != 1 || !json_is_array(list) || n > GROUPS_MAX)
		return -EBADMSG;
	s->groups = calloc(n + 1, sizeof(*s->groups));
	if (!s->groups)
		return -ENOMEM;
	for (i = 0; i < n && !rc; i++) {
		s->group_count++;
		s->groups[i].id = i + 1;
		rc = get_group(s, json_array_get(list, i), &s->groups[i]);
	}
	return rc;
}

/* What the figures lack. */
static bool get_lacks(struct snapshot *s, const json_t *root)
{
	const json_t *events = json_object_get(root, "events");
	const json_t *losses = json_object_get(root, "losses");
	const json_t *missing = json_object_get(events, "missing");
	const json_t *ledger = json_object_get(root, "ledger");
	unsigned int i;
	u64 left_out;
	size_t k;
	void *at;

	if (!get(events, "count", &s->events.count) ||
	    !get(events, "incomplete", &s->events.incomplete))
		return false;
	if (!json_is_object(losses))
		return false;
	/* Another version may have other causes, of these too. */
	for (i = 0; i < MISSING_CAUSES; i++)
		if (json_object_get(missing, missing_name(i)) &&
		    !get(missing, missing_name(i), &s->events.missing[i]))
			return false;
	if (json_object_get(root, "left_out")) {
		if (!get(root, "left_out", &left_out) || left_out > UINT32_MAX)
			return false;
		s->left_out = (u32)left_out;
	}
	for (i = 0; i < LOSS_CAUSES; i++)
		if (json_object_get(losses, loss_name(i)) &&
		    !get(losses, loss_name(i), &s->losses.records[i]))
			return false;
	if (json_object_get(ledger, "unseen_ns") &&
	    (!get(ledger, "unseen_ns", &s->ledger.unseen_ns) ||
	     !get(ledger, "event_wall_ns", &s->ledger.event_wall_ns)))
		return false;
	if (lost_any(&s->losses))
		return true;
	for (at = json_object_iter((json_t *)(uintptr_t)losses); at;
	     at = json_object_iter_next((json_t *)(uintptr_t)losses, at))
		if (json_integer_value(json_object_iter_value(at)))
			s->losses.batches[LOSS_OTHER] = 1;
	/* Of some losses nobody knows how many records they were. */
	for (k = 0; k < s->group_count && !s->left_out && !unseen_time(s); k++)
		if (!s->groups[k].stats.incomplete &&
		    json_is_false(json_object_get(
			    json_array_get(json_object_get(root, "groups"), k), "complete")))
			s->losses.batches[LOSS_OTHER] = 1;
	return true;
}

static struct snapshot *parse(const char *line, const char *path, struct err *err)
{
	json_error_t why;
	json_t *root = json_loads(line, 0, &why);
	struct snapshot *s = root ? calloc(1, sizeof(*s)) : NULL;
	char what[200];
	int rc;

	if (!root) {
		snprintf(what, sizeof(what), "its last line is no JSON: %.150s", why.text);
		bad(err, path, what);
		return NULL;
	}
	if (s)
		s->names = intern_new();
	rc = s && s->names ? get_groups(s, root) : -ENOMEM;
	if (!rc && !get_lacks(s, root))
		rc = -EBADMSG;
	json_decref(root);
	if (!rc)
		return s;
	if (rc == -ENOMEM)
		err_set(err, rc, "out of memory");
	else
		bad(err, path,
		    rc == -ENODATA ? "its groups have no histograms" : "this is no snapshot");
	snapshot_free(s);
	return NULL;
}

struct snapshot *snapshot_file_read(const char *path, struct err *err)
{
	FILE *f = fopen(path, "re");
	struct snapshot *s = NULL;
	char *line = NULL;

	if (!f) {
		err_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
		return NULL;
	}
	if (!last_line(f, path, &line, err))
		s = parse(line, path, err);
	fclose(f);
	free(line);
	return s;
}
