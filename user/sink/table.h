/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of groups, as report and top show it: the name and as many
 * columns as the width allows, the more useful ones first, or those chosen.
 */
#ifndef SINK_TABLE_H
#define SINK_TABLE_H

#include "base/out.h"
#include "model/snapshot.h"
#include "sink/history.h"

#define TABLE_COLUMNS 40

/* Columns by number, in the order in which they are shown. */
struct table_choice {
	u8 columns[TABLE_COLUMNS];
	u8 count; /* 0: chosen by the width */
};

/* What a cell, or a name, is drawn as. */
enum tint {
	TINT_NONE,
	TINT_NAME,
	TINT_DIM, /* a zero */
	TINT_WARN,
	TINT_BAD,
	TINT_SPARK,
	/* Parts of the time of turns. */
	TINT_SELF,
	TINT_GC,
	TINT_BLOCKED,
	TINT_NATIVE,
	TINT_OTHER,
	TINT_KEY, /* of the keyboard */
	TINTS
};

/* A line of a live table. */
struct table_item {
	const char *name;
	const struct group_stats *stats;
	unsigned int depth; /* in a tree */
	u64 now_ns; /* still running for; 0: not */
	u64 history; /* id for the sparkline */
	bool summed; /* of several groups: columns that cannot be added stay empty */
	bool turns_only; /* of a thread: who ran in its turns may not be known of each */
};

struct table {
	const struct table_column *columns[TABLE_COLUMNS]; /* left to right */
	unsigned int count;
	unsigned int name_width, spark_width;
	/* The rows are of an interval: a group's maximum is then taken from
	 * its histogram, since max_ns never decreases. */
	bool interval;
	/* What follows is for live tables. */
	const char *title; /* of the first column; NULL: GROUP */
	u64 elapsed_ns; /* CPU% refers to it */
	u64 warn_ns, bad_ns; /* maxima above these are tinted */
	const struct history *history; /* of the sparkline, or NULL */
	bool ascii;
	/* Told which bytes of the line that is printed have a tint; may be NULL. */
	void (*mark)(void *ctx, size_t at, size_t len, enum tint tint);
	void *mark_ctx;
};

/* How bad a group is, as the original's monitor had it. */
enum row_class {
	ROW_GOOD, /* no event over 16 ms */
	ROW_AVERAGE, /* some, but none over 256 ms */
	ROW_POOR,
};

/* Chooses the columns for the rows of a view. sort: its key (always shown if
 * a column has it) or NULL. No line is wider than max(width, 20). */
void table_fit(struct table *t, const struct snapshot_group *const *rows, u32 n, unsigned int width,
	       const char *sort);
/* The same for a live table; choice may be NULL. Set the other fields first. */
void table_fit_items(struct table *t, const struct table_item *items, u32 n, unsigned int width,
		     const char *sort, const struct table_choice *choice);
/* A line each, without line end. total: time the percentages refer to. */
void table_title(const struct table *t, struct out *o);
void table_row(const struct table *t, struct out *o, const struct snapshot_group *g, u64 total_ns);
void table_item(const struct table *t, struct out *o, const struct table_item *item, u64 total_ns);
/* The sort key of the column at `x` (0: the first) of the screen: "name" for
 * the first column, NULL where there is none. */
const char *table_key_at(const struct table *t, unsigned int x);

/* The columns there are, for choosing: name as in --columns, title, meaning. */
unsigned int table_column_count(void);
const char *table_column_name(unsigned int i);
const char *table_column_title(unsigned int i);
const char *table_column_about(unsigned int i);
/* "self,wall,p99". 0, or -EINVAL with *bad the first unknown or repeated word
 * in `list`, *len its length. "auto" chooses by the width. */
int table_choice_parse(struct table_choice *c, const char *list, const char **bad, size_t *len);
void table_choice_print(const struct table_choice *c, struct out *o);
/* What table_fit_items() has taken, as a choice to change. */
void table_choice_of(struct table_choice *c, const struct table *t);

enum row_class row_class(const struct group_stats *s);
/* The largest wall in one event; see table.interval. */
u64 row_max_ns(const struct group_stats *s, bool interval);
/* Of a sampled group: no turn ran long enough to tell how much of it was the group's. */
bool row_turns_unknown(const struct group_stats *s, bool interval);

#endif
