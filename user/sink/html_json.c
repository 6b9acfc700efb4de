/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page's data. Times are ns since its start, names are numbers into
 * "names"; long lists of like things are flat arrays, their fields in the
 * order that assets/base.js names.
 */
#include "sink/complete.h"
#include "sink/html_docs.h"
#include "sink/html_int.h"
#include "sink/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EDGES_SHOWN 600u
#define LEVEL_FACTOR 4u

/* Only names that are used are written: old -> new number. */
struct writer {
	struct json j;
	struct html_page *p;
	u32 *number; /* + 1; 0: not used so far */
	u32 *used; /* in their new order */
	u32 used_len;
};

static void put_name(struct writer *w, u32 name)
{
	if (!w->number[name]) {
		w->used[w->used_len++] = name;
		w->number[name] = w->used_len;
	}
	json_u64(&w->j, w->number[name] - 1);
}

static void put_names(struct writer *w)
{
	u32 i;

	json_key_array(&w->j, "names");
	for (i = 0; i < w->used_len; i++) {
		size_t len;
		const char *s = intern_get(w->p->names.table, w->used[i], &len);

		json_bytes(&w->j, s, len);
	}
	json_end_array(&w->j);
}

/* What summary.c says, as a string. */
static void key_words(struct json *j, const char *key, const struct out *words)
{
	if (key)
		json_key(j, key);
	json_bytes(j, (const char *)words->buf.data, words->buf.len);
}

static void put_words(struct writer *w, const struct snapshot *s)
{
	const struct snapshot_group *worst = worst_group(s);
	struct json *j = &w->j;
	struct out text;

	out_open_memory(&text);
	json_key_string(j, "worst", worst ? worst->name : "");
	summary_target(&text, s);
	key_words(j, "target_text", &text);
	buf_clear(&text.buf);
	summary_complete(&text, s);
	summary_unfinished(&text, s);
	summary_open(&text, s);
	key_words(j, "complete_text", &text);
	buf_clear(&text.buf);
	summary_losses(&text, &s->losses);
	key_words(j, "losses_text", &text);
	buf_clear(&text.buf);
	summary_nobody(&text, &s->ledger, "");
	key_words(j, "nobody_text", &text);
	json_key_bool(j, "complete", snapshot_complete(s));
	out_close(&text);
}

struct impact {
	const struct snapshot_group *group;
	u32 row; /* in the report */
};

/* The worst first, as summary_worst() has it; those that say less last. */
static int compare_impact(const void *a, const void *b, void *worst)
{
	const struct impact *x = a, *y = b;
	double bx = group_blame(&x->group->stats), by = group_blame(&y->group->stats);
	bool gx = group_general(x->group), gy = group_general(y->group);

	if ((x->group == worst) != (y->group == worst))
		return x->group == worst ? -1 : 1;
	if (gx != gy)
		return gx ? 1 : -1;
	if (bx > by || bx < by)
		return bx > by ? -1 : 1;
	return x->row < y->row ? -1 : 1;
}

static void put_impact(struct writer *w, const struct snapshot_group **rows, u32 n,
		       const struct snapshot_group *worst)
{
	struct impact *order = malloc((n + 1) * sizeof(*order));
	u32 i;

	if (!order) {
		w->j.out->error = -ENOMEM;
		return;
	}
	for (i = 0; i < n; i++)
		order[i] = (struct impact){ rows[i], i };
	qsort_r(order, n, sizeof(*order), compare_impact, (void *)worst);
	json_key_array(&w->j, "impact");
	for (i = 0; i < n; i++)
		json_u64(&w->j, order[i].row);
	json_end_array(&w->j);
	free(order);
}

/* In the order of the report's groups: a sentence and a link for each. */
static void put_groups(struct writer *w, const struct snapshot *s, const struct view *v)
{
	const struct snapshot_group **rows;
	struct json *j = &w->j;
	struct out text;
	u32 i, n;

	rows = view_rows(s, v, &n);
	if (!rows) {
		j->out->error = -ENOMEM;
		return;
	}
	out_open_memory(&text);
	json_key_array(j, "group_texts");
	for (i = 0; i < n; i++) {
		buf_clear(&text.buf);
		summary_group(&text, s, rows[i], false);
		key_words(j, NULL, &text);
	}
	json_end_array(j);
	json_key_object(j, "docs");
	for (i = 0; i < n; i++) {
		const char *url = html_docs_find(w->p->config.docs, rows[i]->name);

		if (!url)
			continue;
		json_key_text(j, rows[i]->name);
		json_string(j, url);
	}
	json_end_object(j);
	put_impact(w, rows, n, worst_group(s));
	out_close(&text);
	free(rows);
}

static bool same_bucket(const struct html_bucket *a, const struct html_bucket *b)
{
	return a->group == b->group && a->busy_ns == b->busy_ns && a->max_ns == b->max_ns &&
	       a->count == b->count;
}

/* Runs of equal buckets: a long event fills many. */
static void put_level(struct writer *w, const struct html_bucket *b, u32 len)
{
	struct json *j = &w->j;
	u32 i, run, last = 0;

	json_array(j);
	for (i = 0; i < len; i += run) {
		run = 1;
		if (!b[i].max_ns && !b[i].count)
			continue;
		while (i + run < len && same_bucket(&b[i], &b[i + run]))
			run++;
		json_u64(j, i - last);
		last = i;
		json_u64(j, run);
		put_name(w, b[i].group);
		json_u64(j, b[i].busy_ns);
		json_u64(j, b[i].max_ns);
		json_u64(j, b[i].count);
	}
	json_end_array(j);
}

/* The finest level first, each next one LEVEL_FACTOR times as wide. */
static void put_levels(struct writer *w, const struct html_lane *lane)
{
	struct html_bucket *b = malloc((lane->len + 1) * sizeof(*b));
	u32 len = lane->len, i, k;

	if (!b) {
		w->j.out->error = -ENOMEM;
		return;
	}
	if (len)
		memcpy(b, lane->bucket, len * sizeof(*b));
	json_key_array(&w->j, "levels");
	for (;;) {
		put_level(w, b, len);
		if (len <= 64)
			break;
		for (i = 0; i < len; i += LEVEL_FACTOR) {
			struct html_bucket sum = b[i];

			for (k = i + 1; k < len && k < i + LEVEL_FACTOR; k++)
				html_bucket_join(&sum, &b[k]);
			b[i / LEVEL_FACTOR] = sum;
		}
		len = (len + LEVEL_FACTOR - 1) / LEVEL_FACTOR;
	}
	json_end_array(&w->j);
	free(b);
}

static void put_lanes(struct writer *w)
{
	struct html_lanes *l = &w->p->lanes;
	struct json *j = &w->j;
	u32 i;

	html_lanes_fit(l, w->p->config.limits->buckets);
	json_key_u64(j, "bucket_ns", l->width_ns);
	json_key_u64(j, "level_factor", LEVEL_FACTOR);
	json_key_bool(j, "other_threads", l->others);
	json_key_array(j, "lanes");
	for (i = 0; i < l->count; i++) {
		const struct html_lane *lane = &l->lane[i];

		json_object(j);
		json_key_u64(j, "pid", lane->pid);
		json_key_u64(j, "tid", lane->tid);
		json_key(j, "process");
		put_name(w, lane->process);
		json_key(j, "name");
		put_name(w, lane->name);
		json_key_u64(j, "events", lane->events);
		put_levels(w, lane);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_tree(struct writer *w, const struct html_event *e)
{
	struct json *j = &w->j;
	u32 i;

	json_array(j);
	for (i = 0; i < e->node_len; i++) {
		const struct html_node *n = &e->nodes[i];
		u64 ns = n->end_ns - n->begin_ns;
		bool stay = n->type != VMSPAN_SPAN;

		json_u64(j, n->depth);
		put_name(w, n->name);
		put_name(w, n->group);
		json_i64(j, (s64)(html_time(w->p, n->begin_ns) - e->begin_ns));
		json_u64(j, ns);
		json_u64(j, ns - min_u64(n->child_ns, ns));
		json_u64(j, n->cpu_begin);
		json_u64(j, n->cpu_end);
		json_u64(j, (u64)n->fate | (u64)n->repaired << 7);
		json_u64(j, stay ? n->before : 0);
		json_u64(j, stay ? n->after : 0);
	}
	json_end_array(j);
}

static void put_event(struct writer *w, const struct html_event *e)
{
	const struct ledger *l = &e->ledger;
	struct json *j = &w->j;

	json_array(j);
	json_u64(j, e->lane);
	json_u64(j, e->begin_ns);
	json_u64(j, e->end_ns - e->begin_ns);
	json_u64(j, l->event_wall_ns);
	json_u64(j, e->cpu_ns);
	json_u64(j, l->self_ns);
	json_u64(j, l->gc_ns);
	json_u64(j, l->blocked_ns);
	json_u64(j, l->native_ns);
	json_u64(j, l->moved_ns + l->stale_ns + l->lost_ns);
	put_name(w, e->label);
	put_name(w, e->group);
	json_u64(j, e->iteration);
	json_u64(j, e->parent);
	json_u64(j, (u64)e->implicit | (u64)e->missing << 1);
	json_u64(j, e->cpu_begin);
	json_u64(j, e->cpu_end);
	json_u64(j, e->pruned);
	if (e->node_len)
		put_tree(w, e);
	json_end_array(j);
}

static void put_events(struct writer *w)
{
	struct html_events *l = &w->p->events;
	struct json *j = &w->j;
	u32 i;

	html_events_trim(l);
	json_key_array(j, "events");
	for (i = 0; i < l->len; i++)
		put_event(w, &l->event[i]);
	json_end_array(j);
	json_key_object(j, "omitted");
	json_key_u64(j, "events", l->dropped);
	json_key_u64(j, "events_up_to_ns", l->floor_ns);
	json_key_u64(j, "trees", l->trees_dropped);
	json_key_u64(j, "trees_up_to_ns", l->tree_floor_ns);
	json_key_u64(j, "threads", w->p->threads_refused);
	json_key_u64(j, "gcs", w->p->heap.gc_dropped);
	json_key_u64(j, "values", w->p->heap.series_refused);
	json_key_u64(j, "calls", w->p->edges.folded);
	json_key_u64(j, "names", w->p->names.refused);
	json_end_object(j);
}

static void put_heap(struct writer *w)
{
	struct html_heap *h = &w->p->heap;
	struct json *j = &w->j;
	u32 i, k;

	html_heap_sort(h);
	json_key_array(j, "gcs");
	for (i = 0; i < h->gc_len; i++) {
		const struct html_gc *g = &h->gc[i];

		json_u64(j, g->begin_ns);
		json_u64(j, g->end_ns > g->begin_ns ? g->end_ns - g->begin_ns : 0);
		json_u64(j, g->before);
		json_u64(j, g->after);
		put_name(w, g->label);
		json_u64(j, g->pid);
	}
	json_end_array(j);
	json_key_array(j, "series");
	for (i = 0; i < h->count; i++) {
		const struct html_series *s = &h->series[i];

		json_object(j);
		json_key_u64(j, "pid", s->pid);
		json_key(j, "label");
		put_name(w, s->label);
		json_key_bool(j, "thinned", s->thinned);
		json_key_array(j, "points");
		for (k = 0; k < s->len; k++) {
			json_u64(j, s->point[k].time_ns);
			json_i64(j, s->point[k].value);
		}
		json_end_array(j);
		json_end_object(j);
	}
	json_end_array(j);
}

static int compare_edges(const void *a, const void *b)
{
	const struct html_edge *x = *(const struct html_edge *const *)a;
	const struct html_edge *y = *(const struct html_edge *const *)b;

	return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1) : (x > y) - (x < y);
}

/* Is a chosen group at one of its ends? */
static bool edge_chosen(const struct html_page *p, const struct html_edge *e)
{
	return !p->config.glob ||
	       group_matches(intern_get(p->names.table, e->from, NULL), p->config.glob) ||
	       group_matches(intern_get(p->names.table, e->to, NULL), p->config.glob);
}

static void put_edges(struct writer *w)
{
	struct html_edges *e = &w->p->edges;
	const struct html_edge **sorted = malloc((e->len + 1) * sizeof(*sorted));
	u32 i, n, all = 0;

	if (!sorted) {
		w->j.out->error = -ENOMEM;
		return;
	}
	for (i = 0; i < e->len; i++)
		if (edge_chosen(w->p, &e->edge[i]))
			sorted[all++] = &e->edge[i];
	n = (u32)min_u64(all, EDGES_SHOWN);
	qsort(sorted, all, sizeof(*sorted), compare_edges);
	json_key_array(&w->j, "edges");
	for (i = 0; i < n; i++) {
		put_name(w, sorted[i]->from);
		put_name(w, sorted[i]->to);
		json_u64(&w->j, sorted[i]->calls);
		json_u64(&w->j, sorted[i]->ns);
	}
	json_end_array(&w->j);
	json_key_u64(&w->j, "edges_omitted", all - n);
	free(sorted);
}

static void put_file(struct json *j, const struct report_source *src)
{
	const char *slash = src->file ? strrchr(src->file, '/') : NULL;

	json_key_string(j, "file", !src->file ? "live" : slash && slash[1] ? slash + 1 : src->file);
}

/* By the number in an event's flags. */
static void put_missing(struct json *j)
{
	unsigned int i;

	json_key_array(j, "missing");
	for (i = 0; i < MISSING_CAUSES; i++)
		json_string(j, missing_text(i));
	json_end_array(j);
}

void html_data(struct html_page *p, struct out *o, const struct snapshot *s,
	       const struct report_source *src, bool live)
{
	u32 names = intern_count(p->names.table);
	struct view v = { .glob = p->config.glob, .limit = p->config.limits->groups };
	struct writer w = {
		.p = p,
		.number = calloc(names, sizeof(*w.number)),
		.used = calloc(names, sizeof(*w.used)),
	};
	struct json *j = &w.j;

	json_open(j, o);
	if (!w.number || !w.used) {
		o->error = -ENOMEM;
		goto done;
	}
	json_object(j);
	json_key_u64(j, "schema", 1);
	put_file(j, src);
	json_key_bool(j, "live", live);
	put_missing(j);
	json_key_u64(j, "start_ns", p->config.start_ns);
	json_key_u64(j, "group_count", s->group_count);
	json_key_string(j, "chosen", p->config.glob ? p->config.glob : "");
	json_key_bool(j, "narrowed", p->config.narrowed);
	json_key_u64(j, "left_out", p->left_out);
	json_key(j, "report");
	report_json(j, s, src, &v);
	put_words(&w, s);
	put_groups(&w, s, &v);
	put_lanes(&w);
	put_events(&w);
	put_heap(&w);
	put_edges(&w);
	put_names(&w);
	json_end_object(j);
done:
	free(w.number);
	free(w.used);
}
