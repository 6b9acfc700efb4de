/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/compare.h"
#include "base/text.h"
#include "sink/complete.h"
#include "sink/summary.h"
#include "sink/words.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* durations[] of events longer than 64 ms. */
#define TAIL 6

struct rank_sum {
	double before, u, ties; /* entries below, U of b, sum of t^3 - t */
};

static void take_bucket(struct rank_sum *r, double a, double b)
{
	double t = a + b;

	/* Each of b beats the a's below it, and half of those beside it. */
	r->u += b * (r->before + a / 2);
	r->before += a;
	r->ties += t * t * t - t;
}

double compare_ranks(const struct hist *a, const struct hist *b, double *odds)
{
	double na = (double)a->total, nb = (double)b->total, n = na + nb, mean, var;
	struct rank_sum r = { 0 };
	unsigned int i = 0, k = 0;

	*odds = 0.5;
	if (!a->total || !b->total)
		return 0;
	while (i < a->len || k < b->len) {
		u64 low_a = UINT64_MAX, low_b = UINT64_MAX, high;
		u32 in_a = i < a->len ? hist_bucket(a, i, &low_a, &high) : 0;
		u32 in_b = k < b->len ? hist_bucket(b, k, &low_b, &high) : 0;

		take_bucket(&r, low_a <= low_b ? in_a : 0, low_b <= low_a ? in_b : 0);
		i += low_a <= low_b;
		k += low_b <= low_a;
	}
	mean = na * nb / 2;
	*odds = r.u / (na * nb);
	var = na * nb / 12 * (n + 1 - r.ties / (n * (n - 1)));
	return var > 0 ? (r.u - mean) / sqrt(var) : 0;
}

/* Pooled two-proportion z of the events longer than 64 ms. */
static double compare_tails(const struct group_stats *a, const struct group_stats *b)
{
	double na = (double)a->events, nb = (double)b->events;
	double xa = (double)a->durations[TAIL], xb = (double)b->durations[TAIL];
	double p = (xa + xb) / (na + nb), var = p * (1 - p) * (1 / na + 1 / nb);

	/* With fewer than five expected on a side the normal is no model. */
	if (p * na < 5 || p * nb < 5 || var <= 0)
		return 0;
	return (xb / nb - xa / na) / sqrt(var);
}

static u64 mean_of(const struct group_stats *s)
{
	return s && s->events ? s->wall_ns / s->events : 0;
}

/* Long events, b's to a's, at least a fifth more frequent. */
static bool more_often(const struct group_stats *a, const struct group_stats *b)
{
	return (double)b->durations[TAIL] * (double)a->events >=
	       COMPARE_TAIL * (double)a->durations[TAIL] * (double)b->events;
}

static void judge(struct compare_row *r)
{
	r->mean_a = mean_of(r->a);
	r->mean_b = mean_of(r->b);
	if (!r->a || !r->b) {
		r->change = r->a ? CHANGE_GONE : CHANGE_NEW;
		return;
	}
	r->z = compare_ranks(&r->a->hist, &r->b->hist, &r->odds);
	r->z_tail = compare_tails(r->a, r->b);
	r->change = CHANGE_SAME;
	if (r->a->events < COMPARE_EVENTS || r->b->events < COMPARE_EVENTS)
		return;
	/* Long events are what people feel: they decide. */
	if (r->z_tail >= COMPARE_Z && more_often(r->a, r->b))
		r->change = CHANGE_SLOWER;
	else if (r->z_tail <= -COMPARE_Z && more_often(r->b, r->a))
		r->change = CHANGE_FASTER;
	/* Most events slower, yet less time in all: that is neither. */
	else if (r->z >= COMPARE_Z && r->odds >= COMPARE_ODDS && r->mean_b >= r->mean_a)
		r->change = CHANGE_SLOWER;
	else if (r->z <= -COMPARE_Z && r->odds <= 1 - COMPARE_ODDS && r->mean_b <= r->mean_a)
		r->change = CHANGE_FASTER;
}

static int by_name(const void *a, const void *b)
{
	const struct snapshot_group *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* By name, to be searched: a recording may have a quarter of a million groups.
 * Owned by the caller; NULL without memory. */
static const struct snapshot_group **sorted_groups(const struct snapshot *s)
{
	const struct snapshot_group **sorted = calloc(s->group_count + 1, sizeof(*sorted));
	u32 i;

	if (!sorted)
		return NULL;
	for (i = 0; i < s->group_count; i++)
		sorted[i] = &s->groups[i];
	qsort(sorted, s->group_count, sizeof(*sorted), by_name);
	return sorted;
}

static const struct group_stats *stats_of(const struct snapshot_group **sorted, u32 n,
					  const struct snapshot_group *like)
{
	const struct snapshot_group **at = bsearch(&like, sorted, n, sizeof(*sorted), by_name);

	return at ? &(*at)->stats : NULL;
}

/* What the mean has grown by; the order within a kind of change. */
static double growth(const struct compare_row *r)
{
	return (double)r->mean_b - (double)r->mean_a;
}

static int compare_order(const void *x, const void *y)
{
	const struct compare_row *a = x, *b = y;

	if (a->change != b->change)
		return a->change < b->change ? -1 : 1;
	if (growth(a) != growth(b))
		return growth(a) > growth(b) ? -1 : 1;
	return strcmp(a->name, b->name);
}

int compare(struct comparison *c, const struct view *v)
{
	const struct snapshot *a = c->before.s, *b = c->after.s;
	const struct snapshot_group **in_a = sorted_groups(a), **in_b = sorted_groups(b);
	const struct snapshot_group *g;
	int rc = -ENOMEM;
	u32 i;

	c->rows = calloc(a->group_count + b->group_count + 1, sizeof(*c->rows));
	c->count = c->slower = 0;
	if (!c->rows || !in_a || !in_b)
		goto out;
	for (g = a->groups; g < a->groups + a->group_count; g++)
		if (group_matches(g->name, v->glob))
			c->rows[c->count++] =
				(struct compare_row){ .name = g->name,
						      .a = &g->stats,
						      .b = stats_of(in_b, b->group_count, g) };
	for (g = b->groups; g < b->groups + b->group_count; g++)
		if (group_matches(g->name, v->glob) && !stats_of(in_a, a->group_count, g))
			c->rows[c->count++] =
				(struct compare_row){ .name = g->name, .b = &g->stats };
	for (i = 0; i < c->count; i++) {
		judge(&c->rows[i]);
		c->slower += c->rows[i].change == CHANGE_SLOWER;
	}
	qsort(c->rows, c->count, sizeof(*c->rows), compare_order);
	c->shown = v->limit && v->limit < c->count ? v->limit : c->count;
	rc = 0;
out:
	free(in_a);
	free(in_b);
	return rc;
}

void compare_free(struct comparison *c)
{
	free(c->rows);
	c->rows = NULL;
}

const char *change_name(enum change c)
{
	static const char *const names[] = {
		[CHANGE_SLOWER] = "slower", [CHANGE_NEW] = "new",       [CHANGE_SAME] = "same",
		[CHANGE_GONE] = "gone",     [CHANGE_FASTER] = "faster",
	};

	return names[c];
}

/* ---- JSON ---- */

static void side_json(struct json *j, const char *key, const struct group_stats *s)
{
	json_key(j, key);
	if (!s) {
		json_null(j);
		return;
	}
	json_object(j);
	json_key_u64(j, "events", s->events);
	json_key_u64(j, "wall_ns", s->wall_ns);
	json_key_u64(j, "self_ns", s->self_ns);
	json_key_u64(j, "cpu_ns", s->cpu_ns);
	json_key_u64(j, "cpu_margin_ns", s->cpu_margin_ns);
	json_key_u64(j, "incomplete", s->incomplete);
	json_key_u64(j, "mean_ns", mean_of(s));
	json_key_u64(j, "p50_ns", group_quantile(s, 500));
	json_key_u64(j, "p99_ns", group_quantile(s, 990));
	json_key_u64(j, "max_ns", s->max_ns);
	json_key_u64(j, "over_64ms", s->durations[TAIL]);
	json_end_object(j);
}

static s64 thousandths(double z)
{
	return (s64)(z * 1000);
}

void compare_json(struct json *j, const struct comparison *c)
{
	const struct compare_row *r;

	json_object(j);
	json_key_u64(j, "schema", 1);
	json_key_string(j, "type", "comparison");
	json_key_string(j, "before", c->before.file ? c->before.file : "");
	json_key_string(j, "after", c->after.file ? c->after.file : "");
	json_key_bool(j, "before_complete", snapshot_complete(c->before.s));
	json_key_bool(j, "after_complete", snapshot_complete(c->after.s));
	json_key_array(j, "groups");
	for (r = c->rows; r < c->rows + c->shown; r++) {
		json_object(j);
		json_key_string(j, "name", r->name);
		json_key_string(j, "change", change_name(r->change));
		json_key_i64(j, "odds_permille", thousandths(r->odds));
		json_key_i64(j, "z_permille", thousandths(r->z));
		json_key_i64(j, "z_tail_permille", thousandths(r->z_tail));
		side_json(j, "before", r->a);
		side_json(j, "after", r->b);
		json_end_object(j);
	}
	json_end_array(j);
	json_key_u64(j, "slower", c->slower);
	json_end_object(j);
}

/* ---- Text ---- */

static void put_cell(struct out *o, const struct group_stats *s, u64 ns)
{
	char text[TEXT_NS_MAX];

	out_printf(o, "  %9s", s ? time_text(text, ns) : "-");
}

static void put_row(struct out *o, const struct compare_row *r, unsigned int name)
{
	name_put(o, r->name, name);
	out_printf(o, "  %-6s", change_name(r->change));
	put_cell(o, r->a, r->mean_a);
	put_cell(o, r->b, r->mean_b);
	put_cell(o, r->a, r->a ? group_quantile(r->a, 500) : 0);
	put_cell(o, r->b, r->b ? group_quantile(r->b, 500) : 0);
	put_cell(o, r->a, r->a ? group_quantile(r->a, 990) : 0);
	put_cell(o, r->b, r->b ? group_quantile(r->b, 990) : 0);
	out_printf(o, "  %6" PRIu64 "  %6" PRIu64 "\n", r->a ? r->a->durations[TAIL] : 0,
		   r->b ? r->b->durations[TAIL] : 0);
}

/* A figure that lacks something may differ for that alone. */
static void put_incomplete(struct out *o, const struct compare_side *side)
{
	char name[256];

	if (snapshot_complete(side->s))
		return;
	out_printf(o, "%s: ", name_text(name, sizeof(name), side->file ? side->file : ""));
	summary_complete(o, side->s);
	out_puts(o, "\n");
}

void compare_text(struct out *o, const struct comparison *c)
{
	unsigned int width = 5;
	char before[256], after[256];
	u32 i;

	for (i = 0; i < c->shown; i++) {
		unsigned int columns = name_columns(c->rows[i].name);

		width = columns > width ? columns : width;
	}
	width = width > 32 ? 32 : width;
	out_printf(o, "%s -> %s: ",
		   name_text(before, sizeof(before), c->before.file ? c->before.file : ""),
		   name_text(after, sizeof(after), c->after.file ? c->after.file : ""));
	if (c->slower)
		out_printf(o, "%u group%s slower\n", c->slower, plural(c->slower));
	else
		out_puts(o, "nothing is slower\n");
	put_incomplete(o, &c->before);
	put_incomplete(o, &c->after);
	out_printf(o, "\n%-*s  %-6s  %9s  %9s  %9s  %9s  %9s  %9s  %6s  %6s\n", (int)width, "GROUP",
		   "CHANGE", "MEAN", "AFTER", "P50", "AFTER", "P99", "AFTER", ">64ms", "AFTER");
	for (i = 0; i < c->shown; i++)
		put_row(o, &c->rows[i], width);
	if (c->shown < c->count)
		out_printf(o, "%u of %u groups shown\n", c->shown, c->count);
	out_puts(o, "\ntime by event; \"same\" is also what may be chance\n");
}
