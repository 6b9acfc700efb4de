/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/table.h"
#include "sink/sink.h"
#include "sink/words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum cell_unit {
	CELL_TIME,
	CELL_COUNT,
	CELL_PERCENT, /* of the time of all events */
	CELL_CPU, /* percent of the time gone by */
	CELL_CPU_TIME,
	CELL_NOW,
	CELL_SPARK
};

#define JANK_16_MS 4
#define JANK_256_MS 8

#define NAME_LEAST 18 /* columns a name gets before a column is left out */
#define NAME_SHARE 5 /* or this part of the width of a live table */
#define NAME_MOST 60
#define TITLE_MAX 16
#define SPARK_MOST (HISTORY_LEN + 1)

#define NEVER 255 /* shown only when it was chosen */

struct table_column {
	const char *name, *title, *sort;
	u8 width; /* a space before it included */
	/* 0, 1, ...: the smaller, the longer it stays in a narrow table; in a
	 * report, and in a live table. */
	u8 rank, live_rank;
	enum cell_unit unit;
	bool adds; /* the sum over groups makes sense */
	u64 (*value)(const struct group_stats *s, bool interval);
	const char *about;
};

u64 row_max_ns(const struct group_stats *s, bool interval)
{
	if (!interval || !s->hist.len)
		return s->max_ns;
	return max_u64(s->hist.total ? group_quantile(s, 1000) : 0, s->open.max_ns);
}

bool row_turns_unknown(const struct group_stats *s, bool interval)
{
	return s->samples && !row_max_ns(s, interval);
}

/* Of one bucket of the ten; its number is the power of two of its ms. */
#define JANK(X, id, ms, bucket, sort, rank, live)                             \
	X(id, #ms "ms", ">" #ms "ms", sort, 8, rank, live, CELL_COUNT, false, \
	  s->durations[bucket], "turns in which the group took more than " #ms " ms")

/* clang-format off */
#define CELLS(X)                                                                                \
	X(spark, "spark", "LATELY", NULL, 10, NEVER, 3, CELL_SPARK, false, 0,                   \
	  "self time of the latest intervals, newest at the right")                             \
	X(now, "now", "NOW", NULL, 9, NEVER, NEVER, CELL_NOW, false, 0,                         \
	  "how long a stay that has not ended has lasted; comes by itself")                     \
	X(share, "self%", "SELF%", NULL, 7, 0, 0, CELL_PERCENT, true, s->self_ns,               \
	  "self time, of the time of all turns")                                                \
	X(self, "self", "SELF", "self", 9, 1, 1, CELL_TIME, true, s->self_ns,                   \
	  "time in its own code")                                                               \
	X(wall, "wall", "WALL", "wall", 9, 2, 2, CELL_TIME, false, s->wall_ns,                  \
	  "time from its outermost entries to their exits, whatever ran inside")                \
	X(cpushare, "cpu%", "CPU%", NULL, 7, NEVER, 10, CELL_CPU, false, s->cpu_ns,             \
	  "CPU time, of the time that has gone by: 100 is one CPU; ~: an estimate")             \
	X(cpu, "cpu", "CPU", "cpu", 9, 11, 12, CELL_CPU_TIME, false, s->cpu_ns,                 \
	  "its share of the threads' CPU time; ~: an estimate")                                 \
	X(gc, "gc", "GC", "gc", 9, 9, 9, CELL_TIME, false, s->gc_ns,                            \
	  "of wall: in collections")                                                            \
	X(blocked, "blocked", "BLOCKED", "blocked", 9, 10, 11, CELL_TIME, false, s->blocked_ns, \
	  "of wall: in blocking calls the VM announced")                                        \
	X(events, "events", "EVENTS", "events", 8, 5, 6, CELL_COUNT, false, s->events,          \
	  "turns in which it ran")                                                              \
	X(ticks, "ticks", "TICKS", "ticks", 8, 6, 13, CELL_COUNT, true, s->ticks,               \
	  "outermost entries")                                                                  \
	X(spans, "spans", "SPANS", "spans", 8, 12, 14, CELL_COUNT, true, s->spans,              \
	  "stays in one of its compartments")                                                   \
	X(moved, "moved", "MOVED", "moved", 8, 13, 15, CELL_COUNT, true, s->moved,              \
	  "spans that changed CPU, so that their time is not known")                            \
	X(uncharged, "uncharged", "UNCHARGED", "uncharged", 10, NEVER, NEVER, CELL_TIME, false,        \
	  s->uncharged_ns, "not in wall: time of its spans that changed CPU")                   \
	X(stale, "stale", "STALE", "stale", 8, NEVER, 18, CELL_COUNT, true, s->stale,           \
	  "spans in which a nested event loop ran")                                             \
	X(p50, "p50", "P50", "p50", 9, 14, 16, CELL_TIME, false, group_quantile(s, 500),        \
	  "half of its turns took it no longer")                                                \
	X(p99, "p99", "P99", "p99", 9, 8, 7, CELL_TIME, false, group_quantile(s, 990),          \
	  "99 of 100 of its turns took it no longer")                                           \
	X(max, "max", "MAX", "max", 9, 3, 4, CELL_TIME, false, row_max_ns(s, interval),         \
	  "the longest it took in one turn")                                                    \
	JANK(X, over1, 1, 0, NULL, NEVER, NEVER)                                                \
	JANK(X, over2, 2, 1, NULL, NEVER, NEVER)                                                \
	JANK(X, over4, 4, 2, NULL, NEVER, 17)                                                   \
	JANK(X, over8, 8, 3, NULL, NEVER, NEVER)                                                \
	JANK(X, over16, 16, 4, NULL, 7, 8)                                                      \
	JANK(X, over32, 32, 5, NULL, NEVER, NEVER)                                              \
	JANK(X, over64, 64, 6, "jank", 4, 5)                                                    \
	JANK(X, over128, 128, 7, NULL, NEVER, NEVER)                                            \
	JANK(X, over256, 256, 8, NULL, NEVER, 19)                                               \
	JANK(X, over512, 512, 9, NULL, NEVER, NEVER)                                            \
	X(lacks, "lacks", "LACKS", NULL, 7, NEVER, NEVER, CELL_COUNT, true, s->incomplete,      \
	  "turns that lack data; comes by itself when there are any")
/* clang-format on */

#define AS_NUMBER(id, ...) COLUMN_##id,
enum {
	CELLS(AS_NUMBER) COLUMNS
};

#define AS_FUNCTION(id, name, title, sort, width, rank, live, unit, adds, what, about) \
	static u64 cell_##id(const struct group_stats *s, bool interval)               \
	{                                                                              \
		(void)interval;                                                        \
		(void)s;                                                               \
		return what;                                                           \
	}
CELLS(AS_FUNCTION)

#define AS_COLUMN(id, name, title, sort, width, rank, live, unit, adds, what, about) \
	{ name, title, sort, width, rank, live, unit, adds, cell_##id, about },
static const struct table_column all_columns[] = { CELLS(AS_COLUMN) };
_Static_assert(ARRAY_SIZE(all_columns) <= TABLE_COLUMNS, "table.columns is too short");

/* ---- Which columns ---- */

struct fitting {
	bool chosen[COLUMNS];
	bool spark;
	unsigned int left;
};

/* Takes a column if there is room and it was not taken. */
static bool take(struct fitting *f, unsigned int i)
{
	if (f->chosen[i])
		return true;
	/* Without a history there is nothing to draw. */
	if (all_columns[i].unit == CELL_SPARK && !f->spark)
		return true;
	if (all_columns[i].width > f->left)
		return false;
	f->left -= all_columns[i].width;
	return f->chosen[i] = true;
}

static void take_by_rank(struct fitting *f, bool live, const char *sort)
{
	unsigned int rank, i;

	for (i = 0; i < COLUMNS; i++)
		if (sort && all_columns[i].sort && !strcmp(all_columns[i].sort, sort))
			take(f, i);
	for (rank = 0; rank < NEVER; rank++) {
		for (i = 0; i < COLUMNS; i++)
			if ((live ? all_columns[i].live_rank : all_columns[i].rank) == rank)
				break;
		if (i < COLUMNS && !take(f, i))
			return;
	}
}

/* The columns that a name gets before others do. */
static unsigned int least_name(unsigned int name, unsigned int width)
{
	unsigned int least = NAME_LEAST;

	if (width / NAME_SHARE > least)
		least = width / NAME_SHARE;
	return name < least ? name : least;
}

/* What is left over widens the name, then the sparkline. */
static void share_rest(struct table *t, unsigned int left, unsigned int name, unsigned int least)
{
	unsigned int i;

	left += least;
	t->name_width = name < left ? name : left;
	left -= t->name_width;
	t->spark_width = 0;
	for (i = 0; i < t->count; i++)
		if (t->columns[i]->unit == CELL_SPARK)
			t->spark_width =
				(unsigned int)min_u64(t->columns[i]->width + left, SPARK_MOST);
}

static void fit(struct table *t, unsigned int name, bool lacks, bool live, unsigned int width,
		const char *sort)
{
	struct fitting f = { .spark = live && t->history };
	unsigned int least, i;

	name = name < NAME_MOST ? name : NAME_MOST;
	width = width < 20 ? 20 : width;
	least = least_name(name, live ? width : 0);
	f.left = width - least;
	/* What says that a figure is not whole, what the rows are sorted by,
	 * then the rest by its rank as far as it goes. */
	if (lacks)
		take(&f, COLUMN_lacks);
	take_by_rank(&f, live, sort);
	t->count = 0;
	for (i = 0; i < COLUMNS; i++)
		if (f.chosen[i])
			t->columns[t->count++] = &all_columns[i];
	share_rest(t, f.left, name, least);
}

void table_fit(struct table *t, const struct snapshot_group *const *rows, u32 n, unsigned int width,
	       const char *sort)
{
	unsigned int name = strlen("GROUP");
	bool lacks = false;
	u32 i;

	for (i = 0; i < n; i++) {
		if (name < NAME_MOST)
			name = (unsigned int)max_u64(name, name_columns(rows[i]->name));
		lacks |= rows[i]->stats.incomplete != 0;
	}
	fit(t, name, lacks, false, width, sort);
}

/* Those that were chosen, as far as they go. */
static void fit_choice(struct table *t, const struct table_choice *c, unsigned int name,
		       unsigned int left)
{
	unsigned int least = least_name(name, left), i;

	left -= min_u64(least, left);
	t->count = 0;
	for (i = 0; i < c->count; i++) {
		const struct table_column *column = &all_columns[c->columns[i]];

		if (column->width > left)
			break;
		left -= column->width;
		t->columns[t->count++] = column;
	}
	share_rest(t, left, name, least);
}

void table_fit_items(struct table *t, const struct table_item *items, u32 n, unsigned int width,
		     const char *sort, const struct table_choice *choice)
{
	unsigned int name = strlen("GROUP"), extra = 0;
	bool lacks = false, now = false;
	u32 i;

	for (i = 0; i < n; i++) {
		unsigned int own = 2 * items[i].depth + name_columns(items[i].name);

		name = own > name ? own : name;
		lacks |= items[i].stats->incomplete != 0;
		now |= items[i].now_ns != 0;
	}
	name = name < NAME_MOST ? name : NAME_MOST;
	width = width < 20 ? 20 : width;
	/* News goes first, and is not for choosing. */
	if (now && width > NAME_LEAST + 2u * all_columns[COLUMN_now].width)
		extra = all_columns[COLUMN_now].width;
	if (choice && choice->count)
		fit_choice(t, choice, name, width - extra);
	else
		fit(t, name, lacks, true, width - extra, sort);
	if (!extra)
		return;
	for (i = 0; i < t->count; i++)
		if (t->columns[i] == &all_columns[COLUMN_now])
			return;
	memmove(t->columns + 1, t->columns,
		min_u64(t->count, TABLE_COLUMNS - 1) * sizeof(t->columns[0]));
	t->columns[0] = &all_columns[COLUMN_now];
	t->count += t->count < TABLE_COLUMNS;
}

/* ---- Choosing ---- */

unsigned int table_column_count(void)
{
	return COLUMNS;
}

const char *table_column_name(unsigned int i)
{
	return all_columns[i].name;
}

const char *table_column_title(unsigned int i)
{
	return all_columns[i].title;
}

const char *table_column_about(unsigned int i)
{
	return all_columns[i].about;
}

static int column_find(const char *word, size_t len)
{
	int i;

	for (i = 0; i < COLUMNS; i++)
		if (strlen(all_columns[i].name) == len && !memcmp(all_columns[i].name, word, len))
			return i;
	return -ENOENT;
}

int table_choice_parse(struct table_choice *c, const char *list, const char **bad, size_t *len)
{
	struct table_choice chosen = { .count = 0 };
	const char *p = list + strspn(list, " ,");
	bool seen[COLUMNS] = { false };

	if (!strcmp(p, "auto")) {
		*c = chosen;
		return 0;
	}
	for (; *p; p += strspn(p, " ,")) {
		int i;

		*bad = p;
		*len = strcspn(p, " ,");
		i = column_find(p, *len);
		if (i < 0 || seen[i])
			return -EINVAL;
		seen[i] = true;
		chosen.columns[chosen.count++] = (u8)i;
		p += *len;
	}
	*bad = list;
	*len = strlen(list);
	if (!chosen.count)
		return -EINVAL;
	*c = chosen;
	return 0;
}

void table_choice_print(const struct table_choice *c, struct out *o)
{
	unsigned int i;

	if (!c->count)
		out_puts(o, "auto");
	for (i = 0; i < c->count; i++)
		out_printf(o, "%s%s", i ? "," : "", all_columns[c->columns[i]].name);
}

void table_choice_of(struct table_choice *c, const struct table *t)
{
	unsigned int i;

	c->count = 0;
	for (i = 0; i < t->count; i++) {
		unsigned int column = (unsigned int)(t->columns[i] - all_columns);

		if (column != COLUMN_now && column != COLUMN_lacks)
			c->columns[c->count++] = (u8)column;
	}
}

/* ---- Printing ---- */

static unsigned int width_of(const struct table *t, const struct table_column *c)
{
	return c->unit == CELL_SPARK && t->spark_width ? t->spark_width : c->width;
}

const char *table_key_at(const struct table *t, unsigned int x)
{
	unsigned int i, at = t->name_width;

	if (x < at)
		return "name";
	for (i = 0; i < t->count; i++) {
		at += width_of(t, t->columns[i]);
		if (x < at)
			return t->columns[i]->sort                     ? t->columns[i]->sort
			       : t->columns[i]->value == cell_share    ? "self"
			       : t->columns[i]->value == cell_cpushare ? "cpu"
								       : NULL;
	}
	return NULL;
}

void table_title(const struct table *t, struct out *o)
{
	unsigned int i;

	out_printf(o, "%-*s", (int)t->name_width, t->title ? t->title : "GROUP");
	for (i = 0; i < t->count; i++)
		out_printf(o, "%*s", (int)width_of(t, t->columns[i]), t->columns[i]->title);
}

static enum tint time_tint(const struct table *t, const struct table_column *c, u64 v)
{
	if (!v)
		return TINT_DIM;
	if (c->value != cell_max && c->value != cell_p99)
		return TINT_NONE;
	return t->bad_ns && v > t->bad_ns     ? TINT_BAD
	       : t->warn_ns && v > t->warn_ns ? TINT_WARN
					      : TINT_NONE;
}

static enum tint count_tint(const struct table_column *c, u64 v)
{
	static const struct {
		u64 (*value)(const struct group_stats *s, bool interval);
		enum tint tint;
	} bad[] = { { cell_over16, TINT_WARN }, { cell_over32, TINT_WARN },
		    { cell_over64, TINT_BAD },  { cell_over128, TINT_BAD },
		    { cell_over256, TINT_BAD }, { cell_over512, TINT_BAD },
		    { cell_lacks, TINT_WARN } };
	size_t i;

	for (i = 0; v && i < ARRAY_SIZE(bad); i++)
		if (bad[i].value == c->value)
			return bad[i].tint;
	return v ? TINT_NONE : TINT_DIM;
}

static void put_tinted(const struct table *t, struct out *o, const char *text, unsigned int width,
		       enum tint tint)
{
	size_t len = strlen(text);

	out_printf(o, "%*s", (int)width, text);
	if (t->mark && tint)
		t->mark(t->mark_ctx, o->buf.len - len, len, tint);
}

static void put_spark(const struct table *t, struct out *o, const struct table_item *item,
		      unsigned int width)
{
	size_t at;

	out_puts(o, " ");
	at = o->buf.len;
	history_put(t->history, item->history, width - 1, t->ascii, o);
	if (t->mark)
		t->mark(t->mark_ctx, at, o->buf.len - at, TINT_SPARK);
}

/* It says something of single turns. */
static bool of_a_turn(const struct table_column *c)
{
	return c->value == cell_p50 || c->value == cell_p99 || c->value == cell_max ||
	       c->title[0] == '>';
}

/* A sum, what is counted by turns alone, and what was seen in short turns only, have no
 * such figure. */
static bool is_empty(const struct table *t, const struct table_item *item,
		     const struct table_column *c, u64 v)
{
	if (item->summed)
		return !c->adds && !v;
	if (item->turns_only && !v)
		return c->value == cell_self || c->value == cell_share || c->value == cell_ticks;
	if (!item->stats->hist.total && (c->value == cell_p50 || c->value == cell_p99))
		return true;
	return of_a_turn(c) && row_turns_unknown(item->stats, t->interval);
}

/* Of sampled events each figure is an estimate. */
static const char *cpu_about(const struct group_stats *s)
{
	return s->samples ? "~" : about_text(s->cpu_ns, s->cpu_margin_ns);
}

static void put_cell(const struct table *t, struct out *o, const struct table_item *item,
		     const struct table_column *c, u64 total_ns)
{
	u64 v = c->value(item->stats, t->interval);
	bool of_cpu = c->unit == CELL_CPU || c->unit == CELL_CPU_TIME;
	const char *about = of_cpu ? cpu_about(item->stats) : "";
	unsigned int width = width_of(t, c);
	char text[COUNT_TEXT_MAX], cell[COUNT_TEXT_MAX + 1];

	if (c->unit == CELL_SPARK) {
		put_spark(t, o, item, width);
		return;
	}
	if (is_empty(t, item, c, v)) {
		put_tinted(t, o, "-", width, TINT_DIM);
		return;
	}
	switch (c->unit) {
	case CELL_NOW:
		put_tinted(t, o, item->now_ns ? text_ns(text, item->now_ns) : "", width, TINT_BAD);
		return;
	case CELL_TIME:
	case CELL_CPU_TIME:
		snprintf(cell, sizeof(cell), "%s%s", about, time_text(text, v));
		put_tinted(t, o, cell, width, time_tint(t, c, v));
		return;
	case CELL_COUNT:
		put_tinted(t, o, count_short(text, v), width, count_tint(c, v));
		return;
	default:
		percent_text(text, v, c->unit == CELL_CPU ? t->elapsed_ns : total_ns);
		snprintf(cell, sizeof(cell), "%s%s", about, text);
		put_tinted(t, o, cell, width, v ? TINT_NONE : TINT_DIM);
	}
}

void table_item(const struct table *t, struct out *o, const struct table_item *item, u64 total_ns)
{
	unsigned int indent = 2 * item->depth, i;
	size_t at = o->buf.len;

	indent = indent < t->name_width ? indent : t->name_width - 1;
	out_printf(o, "%*s", (int)indent, "");
	name_put(o, item->name, t->name_width - indent);
	if (t->mark)
		t->mark(t->mark_ctx, at, o->buf.len - at, TINT_NAME);
	for (i = 0; i < t->count; i++)
		put_cell(t, o, item, t->columns[i], total_ns);
}

void table_row(const struct table *t, struct out *o, const struct snapshot_group *g, u64 total_ns)
{
	const struct table_item item = { .name = g->name, .stats = &g->stats };

	table_item(t, o, &item, total_ns);
}

enum row_class row_class(const struct group_stats *s)
{
	if (s->durations[JANK_256_MS])
		return ROW_POOR;
	return s->durations[JANK_16_MS] ? ROW_AVERAGE : ROW_GOOD;
}
