/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/host/expect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/varint.h"
#include "tools/host/util.h"
#include "tools/host/worker.h"

void expect_free(struct expect *e)
{
	size_t i;

	for (i = 0; i < e->group_count; i++) {
		free(e->groups[i].name);
		free(e->groups[i].pids);
	}
	free(e->groups);
	memset(e, 0, sizeof(*e));
}

static void add_counts(struct ledger_counts *to, const struct ledger_counts *from)
{
#define X(name) to->name += from->name;
	LEDGER_COUNTS(X)
#undef X
}

static void add_sum(struct ledger_group *to, const struct ledger_group *from)
{
	to->ticks += from->ticks;
	to->events += from->events;
	to->spans += from->spans;
	to->stale += from->stale;
}

static struct expect_group *append(struct expect *e, u32 kind, const char *name, size_t len,
				   u32 pid)
{
	struct expect_group *g;

	e->groups = xgrow(e->groups, e->group_count + 1, sizeof(*e->groups));
	g = &e->groups[e->group_count++];
	*g = (struct expect_group){ .kind = kind, .name = xcalloc(len + 1, 1), .name_len = len };
	memcpy(g->name, name, len);
	g->pids = xcalloc(1, sizeof(*g->pids));
	g->pids[0] = pid;
	g->pid_count = 1;
	return g;
}

static int by_name(const void *a, const void *b)
{
	const struct expect_group *x = a, *y = b;
	size_t n = x->name_len < y->name_len ? x->name_len : y->name_len;
	int d;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	d = memcmp(x->name, y->name, n);
	return d ? d : (x->name_len > y->name_len) - (x->name_len < y->name_len);
}

static int by_number(const void *a, const void *b)
{
	const u32 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorts the groups and makes those of one kind and name into one. */
static void merge_groups(struct expect *e)
{
	size_t i, n = 0;

	if (!e->group_count)
		return;
	qsort(e->groups, e->group_count, sizeof(*e->groups), by_name);
	for (i = 1; i < e->group_count; i++) {
		struct expect_group *to = &e->groups[n], *from = &e->groups[i];

		if (by_name(to, from)) {
			e->groups[++n] = *from;
			continue;
		}
		add_sum(&to->sum, &from->sum);
		if (to->pids[to->pid_count - 1] != from->pids[0]) {
			to->pids = xgrow(to->pids, to->pid_count + 1, sizeof(*to->pids));
			to->pids[to->pid_count++] = from->pids[0];
		}
		free(from->name);
		free(from->pids);
	}
	e->group_count = n + 1;
	for (i = 0; i < e->group_count; i++)
		qsort(e->groups[i].pids, e->groups[i].pid_count, sizeof(u32), by_number);
}

static void take_ledger(struct expect *e, const struct world *w, const struct ledger *l)
{
	u32 i;

	add_counts(&e->counts, &l->counts);
	for (i = 0; i < l->group_count; i++) {
		const struct group *g = i < w->marks.group_count ? w->marks.groups[i] : NULL;
		const char *name = g ? g->name : e->name;

		if (l->groups[i].spans)
			append(e, g ? g->kind : VMSPAN_TOP, name, strlen(name), e->pid)->sum =
				l->groups[i];
	}
}

void expect_take(struct expect *e, const struct world *w)
{
	u32 i;

	*e = (struct expect){ .pid = (u32)getpid(), .before = w->marks.before };
	prctl(PR_GET_NAME, e->name);
	take_ledger(e, w, &w->ledger);
	for (i = 0; i < w->options->workers; i++)
		take_ledger(e, w, &w->workers[i].ledger);
	merge_groups(e);
}

static void pack_text(struct buf *b, const char *s, size_t len)
{
	buf_put_uleb(b, len);
	buf_put(b, s, len);
}

void expect_pack(const struct expect *e, struct buf *b)
{
	size_t i;

	buf_put_uleb(b, e->pid);
	pack_text(b, e->name, strlen(e->name));
	buf_put_uleb(b, e->before);
#define X(name) buf_put_uleb(b, e->counts.name);
	LEDGER_COUNTS(X)
#undef X
	buf_put_uleb(b, e->group_count);
	for (i = 0; i < e->group_count; i++) {
		const struct expect_group *g = &e->groups[i];

		buf_put_uleb(b, g->kind);
		pack_text(b, g->name, g->name_len);
		buf_put_uleb(b, g->sum.ticks);
		buf_put_uleb(b, g->sum.events);
		buf_put_uleb(b, g->sum.spans);
		buf_put_uleb(b, g->sum.stale);
	}
}

struct reader {
	const u8 *at, *end;
	bool bad;
};

static u64 unpack(struct reader *r)
{
	u64 v = 0;

	if (!r->bad && varint_get(&r->at, r->end, &v))
		r->bad = true;
	return r->bad ? 0 : v;
}

static const char *unpack_text(struct reader *r, size_t max, size_t *len)
{
	const char *s;

	*len = unpack(r);
	if (r->bad || *len > max || *len > (size_t)(r->end - r->at)) {
		r->bad = true;
		*len = 0;
		return "";
	}
	s = (const char *)r->at;
	r->at += *len;
	return s;
}

int expect_unpack(struct expect *e, const u8 *data, size_t len)
{
	struct reader r = { .at = data, .end = data + len };
	const char *s;
	size_t n;
	u64 groups;

	*e = (struct expect){ .pid = (u32)unpack(&r) };
	s = unpack_text(&r, sizeof(e->name) - 1, &n);
	memcpy(e->name, s, n);
	e->before = unpack(&r);
#define X(name) e->counts.name = unpack(&r);
	LEDGER_COUNTS(X)
#undef X
	for (groups = unpack(&r); groups && !r.bad; groups--) {
		u32 kind = (u32)unpack(&r);
		struct expect_group *g;

		s = unpack_text(&r, VMSPAN_NAME_MAX, &n);
		g = append(e, kind, s, n, e->pid);
		g->sum.ticks = unpack(&r);
		g->sum.events = unpack(&r);
		g->sum.spans = unpack(&r);
		g->sum.stale = unpack(&r);
	}
	return r.bad || r.at != r.end ? -EBADMSG : 0;
}

static const char *kind_name(u32 kind)
{
	static const char *const names[] = {
		[VMSPAN_ADDON] = "addon",     [VMSPAN_PAGE] = "page",
		[VMSPAN_PACKAGE] = "package", [VMSPAN_PLUGIN] = "plugin",
		[VMSPAN_TENANT] = "tenant",   [VMSPAN_COMPARTMENT] = "compartment",
		[VMSPAN_TOP] = "top",
	};

	return kind < ARRAY_SIZE(names) && names[kind] ? names[kind] : "unknown";
}

static void json_group(struct json *j, const struct expect_group *g)
{
	char name[VMSPAN_NAME_MAX + 32];
	int n = snprintf(name, sizeof(name), "%s:", kind_name(g->kind));
	u32 i;

	memcpy(name + n, g->name, g->name_len);
	json_object(j);
	json_key(j, "name");
	json_bytes(j, name, (size_t)n + g->name_len);
	json_key_string(j, "kind", kind_name(g->kind));
	json_key_array(j, "pids");
	for (i = 0; i < g->pid_count; i++)
		json_u64(j, g->pids[i]);
	json_end_array(j);
	json_key_u64(j, "ticks", g->sum.ticks);
	json_key_u64(j, "events", g->sum.events);
	json_key_u64(j, "spans", g->sum.spans);
	json_key_u64(j, "stale", g->sum.stale);
	json_end_object(j);
}

/* The keys of one process and of the whole alike, but for `events`. */
static void json_rest(struct json *j, const struct expect *e)
{
	const struct ledger_counts *c = &e->counts;
	size_t i;

	json_key_object(j, "gc");
	json_key_u64(j, "count", c->gc);
	json_key_u64(j, "freed_bytes", c->freed_bytes);
	json_end_object(j);
	json_key_u64(j, "blocks", c->blocks);
	json_key_u64(j, "inputs", c->inputs);
	json_key_u64(j, "frames", c->frames);
	json_key_u64(j, "values", c->values);
	json_key_u64(j, "definitions", c->definitions);
	json_key_u64(j, "definitions_before", e->before);
	json_key_u64(j, "spans", c->spans);
	json_key_u64(j, "records", ledger_records(c));
	json_key_u64(j, "too_deep", c->too_deep);
	json_key_u64(j, "repaired", c->repaired);
	json_key_u64(j, "unmatched", c->unmatched);
	json_key_array(j, "groups");
	for (i = 0; i < e->group_count; i++)
		json_group(j, &e->groups[i]);
	json_end_array(j);
}

static void json_process(struct json *j, const struct expect *e)
{
	json_object(j);
	json_key_u64(j, "pid", e->pid);
	json_key_string(j, "name", e->name);
	json_key_u64(j, "events", e->counts.events);
	json_key_u64(j, "nested", e->counts.nested);
	json_rest(j, e);
	json_end_object(j);
}

void expect_json(struct json *j, u64 seed, const struct expect *all, size_t count)
{
	struct expect whole = { 0 };
	size_t i, k;

	for (i = 0; i < count; i++) {
		add_counts(&whole.counts, &all[i].counts);
		whole.before += all[i].before;
		for (k = 0; k < all[i].group_count; k++) {
			const struct expect_group *g = &all[i].groups[k];

			append(&whole, g->kind, g->name, g->name_len, all[i].pid)->sum = g->sum;
		}
	}
	merge_groups(&whole);
	json_object(j);
	json_key_u64(j, "schema", 1);
	json_key_u64(j, "seed", seed);
	json_key_array(j, "processes");
	for (i = 0; i < count; i++)
		json_process(j, &all[i]);
	json_end_array(j);
	json_key_object(j, "events");
	json_key_u64(j, "count", whole.counts.events);
	json_key_u64(j, "nested", whole.counts.nested);
	json_end_object(j);
	json_rest(j, &whole);
	json_end_object(j);
	json_line(j);
	expect_free(&whole);
}
