/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the live table share. */
#ifndef SINK_TOP_INT_H
#define SINK_TOP_INT_H

#include "sink/top.h"

/* A page under way: `line` collects one line, `pending` its marks. */
struct composer {
	struct top_page *page;
	struct top_state *st;
	const struct top_figures *f;
	const struct snapshot *s; /* what is shown */
	bool interval; /* it is not since the start */
	struct out line;
	struct buf pending; /* struct top_mark, at: in the line */
	unsigned int width; /* of the screen */
	bool cut; /* lines are cut to it */
};

/* The line is complete. */
void end_line(struct composer *c, enum line_class class);
/* What was printed to the line since `at` is drawn as `tint`. */
void mark_since(struct composer *c, size_t at, enum tint tint);
/* Text with a tint. */
void put_tint(struct composer *c, enum tint tint, const char *text);

/* top_head.c: the lines above the table. */
void put_head(struct composer *c, unsigned int height);

/* top_rows.c */
struct top_row {
	u64 id; /* of the same thing in the next snapshot; not 0 */
	u32 parent, depth; /* rank of the parent: sorted by these first */
	u64 key, tie;
	struct table_item item;
	const char *group; /* "kind:name", or NULL: not a group */
};

struct top_rows {
	struct top_row *list; /* owned */
	u32 count;
	struct group_stats *sums; /* owned: what is not in the snapshot */
	size_t sum_count;
	char (*names)[80]; /* owned */
	const char *title;
};

/* 0 or -ENOMEM. */
int top_rows_make(struct top_rows *r, const struct composer *c);
void top_rows_free(struct top_rows *r);

/* top_detail.c: the panes. height: lines there is room for, 0: no limit. */
void put_help(struct composer *c);
void put_columns(struct composer *c, unsigned int height);
void put_detail(struct composer *c, unsigned int height);

#endif
