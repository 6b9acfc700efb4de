/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of groups, as report and top show it: the name and as many
 * columns as the width allows, the more useful ones first.
 */
#ifndef SINK_TABLE_H
#define SINK_TABLE_H

#include "base/out.h"
#include "model/snapshot.h"

#define TABLE_COLUMNS 16

struct table {
	const struct table_column *columns[TABLE_COLUMNS]; /* left to right */
	unsigned int count;
	unsigned int name_width;
	/* The rows are of an interval: a group's maximum is then taken from
	 * its histogram, since max_ns never decreases. */
	bool interval;
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
/* A line each, without line end. total: time the percentages refer to. */
void table_title(const struct table *t, struct out *o);
void table_row(const struct table *t, struct out *o, const struct snapshot_group *g, u64 total_ns);
enum row_class row_class(const struct group_stats *s);
/* The largest wall in one event; see table.interval. */
u64 row_max_ns(const struct group_stats *s, bool interval);

#endif
