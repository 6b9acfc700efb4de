/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/table.h"
#include "sink/sink.h"
#include "sink/words.h"

#include <stdio.h>
#include <string.h>

enum cell_unit {
	CELL_TIME,
	CELL_COUNT,
	CELL_PERCENT
};

#define JANK_16_MS 4
#define JANK_64_MS 6
#define JANK_256_MS 8

#define NAME_LEAST 18 /* columns a name gets before a column is left out */
#define NAME_MOST 60

/* Events that lack data. Shown first of all where there are any, else not. */
#define LACKS "LACKS"

struct table_column {
	const char *title, *sort;
	u8 width; /* a space before it included */
	u8 rank; /* 0, 1, ...: the smaller, the longer it stays in a narrow table */
	enum cell_unit unit;
	u64 (*value)(const struct group_stats *s, bool interval);
};

u64 row_max_ns(const struct group_stats *s, bool interval)
{
	return interval ? group_quantile(s, 1000) : s->max_ns;
}

#define CELLS(X)                                                               \
	X(share, "SELF%", NULL, 7, 0, CELL_PERCENT, s->self_ns)                \
	X(self, "SELF", "self", 9, 1, CELL_TIME, s->self_ns)                   \
	X(wall, "WALL", "wall", 9, 2, CELL_TIME, s->wall_ns)                   \
	X(cpu, "CPU", "cpu", 9, 11, CELL_TIME, s->cpu_ns)                      \
	X(gc, "GC", "gc", 9, 9, CELL_TIME, s->gc_ns)                           \
	X(blocked, "BLOCKED", "blocked", 9, 10, CELL_TIME, s->blocked_ns)      \
	X(events, "EVENTS", "events", 8, 5, CELL_COUNT, s->events)             \
	X(ticks, "TICKS", "ticks", 8, 6, CELL_COUNT, s->ticks)                 \
	X(spans, "SPANS", "spans", 8, 12, CELL_COUNT, s->spans)                \
	X(moved, "MOVED", "moved", 8, 13, CELL_COUNT, s->moved)                \
	X(p50, "P50", "p50", 9, 14, CELL_TIME, group_quantile(s, 500))         \
	X(p99, "P99", "p99", 9, 8, CELL_TIME, group_quantile(s, 990))          \
	X(max, "MAX", "max", 9, 3, CELL_TIME, row_max_ns(s, interval))         \
	X(over16, ">16ms", NULL, 8, 7, CELL_COUNT, s->durations[JANK_16_MS])   \
	X(over64, ">64ms", "jank", 8, 4, CELL_COUNT, s->durations[JANK_64_MS]) \
	X(lacks, LACKS, NULL, 7, 15, CELL_COUNT, s->incomplete)

#define AS_FUNCTION(id, title, sort, width, rank, unit, what)            \
	static u64 cell_##id(const struct group_stats *s, bool interval) \
	{                                                                \
		(void)interval;                                          \
		return what;                                             \
	}
CELLS(AS_FUNCTION)

#define AS_COLUMN(id, title, sort, width, rank, unit, what) \
	{ title, sort, width, rank, unit, cell_##id },
static const struct table_column all_columns[] = { CELLS(AS_COLUMN) };
_Static_assert(ARRAY_SIZE(all_columns) <= TABLE_COLUMNS, "table.columns is too short");

/* Chooses a column if there is room and it was not chosen. */
static bool choose(bool chosen[], unsigned int i, unsigned int *left)
{
	if (chosen[i])
		return true;
	if (all_columns[i].width > *left)
		return false;
	*left -= all_columns[i].width;
	return chosen[i] = true;
}

static unsigned int widest_name(const struct snapshot_group *const *rows, u32 n)
{
	unsigned int most = 5; /* "GROUP" */
	u32 row;

	for (row = 0; row < n && most < NAME_MOST; row++)
		most = (unsigned int)max_u64(most, name_columns(rows[row]->name));
	return most < NAME_MOST ? most : NAME_MOST;
}

static bool any_lacks(const struct snapshot_group *const *rows, u32 n)
{
	u32 row;

	for (row = 0; row < n; row++)
		if (rows[row]->stats.incomplete)
			return true;
	return false;
}

void table_fit(struct table *t, const struct snapshot_group *const *rows, u32 n, unsigned int width,
	       const char *sort)
{
	bool chosen[ARRAY_SIZE(all_columns)] = { false };
	unsigned int name = widest_name(rows, n), left, rank, i;
	const struct table_column *c;

	width = width < 20 ? 20 : width;
	left = width - (name < NAME_LEAST ? name : NAME_LEAST);
	/* What says that a figure is not whole, what the rows are sorted by,
	 * then the rest by its rank as far as it goes. */
	for (i = 0; i < ARRAY_SIZE(all_columns); i++)
		if (!strcmp(all_columns[i].title, LACKS) && any_lacks(rows, n))
			choose(chosen, i, &left);
	for (i = 0; i < ARRAY_SIZE(all_columns); i++) {
		c = &all_columns[i];
		if (sort && c->sort && !strcmp(c->sort, sort))
			choose(chosen, i, &left);
	}
	for (rank = 0; rank < ARRAY_SIZE(all_columns) - 1; rank++) {
		for (i = 0; all_columns[i].rank != rank; i++)
			;
		if (!choose(chosen, i, &left))
			break;
	}
	t->count = 0;
	for (i = 0; i < ARRAY_SIZE(all_columns); i++)
		if (chosen[i])
			t->columns[t->count++] = &all_columns[i];
	left += name < NAME_LEAST ? name : NAME_LEAST;
	t->name_width = name < left ? name : left;
}

void table_title(const struct table *t, struct out *o)
{
	unsigned int i;

	out_printf(o, "%-*s", (int)t->name_width, "GROUP");
	for (i = 0; i < t->count; i++)
		out_printf(o, "%*s", t->columns[i]->width, t->columns[i]->title);
}

void table_row(const struct table *t, struct out *o, const struct snapshot_group *g, u64 total_ns)
{
	unsigned int i;

	name_put(o, g->name, t->name_width);
	for (i = 0; i < t->count; i++) {
		const struct table_column *c = t->columns[i];
		u64 v = c->value(&g->stats, t->interval);
		char text[COUNT_MAX];

		if (c->unit == CELL_TIME)
			time_text(text, v);
		else if (c->unit == CELL_COUNT)
			count_short(text, v);
		else
			percent_text(text, v, total_ns);
		out_printf(o, "%*s", c->width, text);
	}
}

enum row_class row_class(const struct group_stats *s)
{
	if (s->durations[JANK_256_MS])
		return ROW_POOR;
	return s->durations[JANK_16_MS] ? ROW_AVERAGE : ROW_GOOD;
}
