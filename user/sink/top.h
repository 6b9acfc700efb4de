/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The live table. A page of lines is composed once, from snapshots; the
 * terminal (top_screen.c) and a pipe (the text as it is) only show it. What
 * keys and the mouse do is decided here too, without a terminal.
 *
 *   top.c          the page: table, prompts, keys at the bottom
 *   top_head.c     the lines above the table
 *   top_rows.c     rows of the table: groups, trees, threads
 *   top_detail.c   one group, the columns to choose, help
 *   top_keys.c     keys and mouse
 *   top_screen.c   the terminal
 */
#ifndef SINK_TOP_H
#define SINK_TOP_H

#include "base/err.h"
#include "sink/recent.h"
#include "sink/sink.h"
#include "sink/table.h"

#define TOP_SINCE_START UINT64_MAX

enum top_tree {
	TOP_FLAT,
	TOP_BY_PROCESS,
	TOP_BY_KIND,
	TOP_BY_GROUP, /* each group's processes below it */
	TOP_BY_CONTAINER,
	TOP_THREADS,
	TOP_TREES,
};

enum top_pane {
	TOP_TABLE,
	TOP_HELP,
	TOP_COLUMNS,
	TOP_DETAIL,
};

enum top_prompt {
	TOP_NO_PROMPT,
	TOP_FILTER,
	TOP_SEARCH,
};

/* What the user has chosen. Keys change it; composing a page resolves what
 * needs the rows: the selected one, a search, the group of the detail. */
struct top_state {
	struct view view; /* glob points into `glob` once a filter was typed */
	u64 window_ns; /* 0: the last interval; TOP_SINCE_START; else the last ... */
	enum top_tree tree;
	enum top_pane pane;
	enum top_prompt prompt;
	bool paused, quit;
	char filter[128], search[128]; /* as typed, UTF-8 */
	char glob[136];
	u64 selected; /* a row's id; 0: none */
	u64 named; /* the row that was last selected and there */
	char name[512]; /* its group, "kind:name"; empty: it is of none */
	s64 move; /* rows to move the selection by */
	int find; /* 1, -1: the next row that matches `search` */
	bool open; /* the detail of the selected row is wanted */
	bool own; /* the own groups of the selected row are wanted, or no longer */
	char detail[512]; /* "kind:name" of the group of TOP_DETAIL */
	u32 scroll; /* rows left out at the top of the table, or lines of a pane */
	struct table_choice columns; /* none: by the width */
	struct table_choice shown; /* what was last on the screen */
	u32 cursor; /* in TOP_COLUMNS */
	u64 warn_ns, bad_ns; /* 0: 16 and 256 ms */
	bool color, ascii;
	/* For the command, which clears them. */
	u32 parts; /* to switch: bits by enum model_part */
	bool record; /* start or stop a recording */
	bool save; /* keep the columns */
	char own_of[512]; /* "kind:name": measure its compartments' own groups, or stop */
	char notice[160]; /* at the bottom until the next key */
};

/* A stay that has not ended. */
struct top_running {
	const char *group;
	u32 pid, tid;
	u64 for_ns;
	bool innermost;
};

struct top_figures {
	const struct snapshot *total; /* since the start; groups are not looked at if delta */
	const struct snapshot *delta; /* of the window; NULL: total */
	u64 elapsed_ns; /* of what is shown */
	bool ended; /* the targets are gone */
	/* NULL and 0 where there is none of it. */
	const struct history *history;
	const struct recent *recent;
	const struct top_running *running;
	u32 running_count;
	const char *recording; /* a file that is being written */
};

enum line_class {
	LINE_HEAD,
	LINE_PLAIN,
	LINE_WARN,
	LINE_TITLE,
	LINE_SELECTED,
	LINE_DIM,
};

struct top_line {
	enum line_class class;
	size_t at, len; /* in text.buf */
	u32 mark, marks; /* in page.marks, in order */
};

/* A part of a line that is drawn in a way of its own. */
struct top_mark {
	size_t at, len; /* in text.buf */
	enum tint tint;
};

struct top_page {
	struct out text; /* memory; lines end in a line feed */
	struct buf lines; /* struct top_line */
	struct buf marks; /* struct top_mark */
	/* For the mouse. */
	struct table table;
	u32 title_line; /* of the table; 0: there is none */
	struct buf rows; /* u64: ids of the rows below the title */
};

void top_page_init(struct top_page *p);
void top_page_release(struct top_page *p);
/* height: lines on the screen, 0: no limit; lines are then not cut to the
 * width either. 0 or -ENOMEM. */
int top_compose(struct top_page *p, struct top_state *st, const struct top_figures *f,
		unsigned int width, unsigned int height);
unsigned int top_page_count(const struct top_page *p);
const struct top_line *top_page_line(const struct top_page *p, unsigned int i);

/* Keys that are not characters. */
enum top_key {
	TOP_KEY_UP = 0x110000,
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_ERASE,
	TOP_KEY_HELP, /* F1 */
	TOP_KEY_COLUMNS, /* F2 */
	TOP_KEY_SEARCH, /* F3 */
	TOP_KEY_FILTER, /* F4 */
	TOP_KEY_TREE, /* F5 */
	TOP_KEY_SORT, /* F6 */
	TOP_KEY_QUIT, /* F10 */
	TOP_KEY_MOUSE, /* see top_screen_mouse() */
	TOP_KEY_NONE,
};
/* Applies a key: a Unicode code point or an enum top_key. */
void top_key(struct top_state *st, u32 key);

/* The keys as help has them; ends with a NULL key. */
struct top_help {
	const char *key, *what;
};
extern const struct top_help top_help_keys[];

enum top_click {
	TOP_CLICK, /* on the selected row: its detail */
	TOP_WHEEL_UP,
	TOP_WHEEL_DOWN,
};
/* Applies a click on what `p` shows; x, y from 0. */
void top_mouse(struct top_state *st, const struct top_page *p, enum top_click click, unsigned int x,
	       unsigned int y);

struct top_screen;
/* Takes the terminal over. NULL with *err filled. */
struct top_screen *top_screen_open(bool color, struct err *err);
/* Gives it back as it was. */
void top_screen_close(struct top_screen *s);
/* Whether it draws in colour, and whether in ASCII alone. */
bool top_screen_color(const struct top_screen *s);
bool top_screen_ascii(const struct top_screen *s);
void top_screen_size(const struct top_screen *s, unsigned int *width, unsigned int *height);
/* The terminal's size has changed. */
void top_screen_resize(struct top_screen *s);
void top_screen_draw(struct top_screen *s, const struct top_page *p);
/* The next key that was typed; TOP_KEY_NONE when there is none. */
u32 top_screen_key(struct top_screen *s);
/* After TOP_KEY_MOUSE. */
enum top_click top_screen_mouse(const struct top_screen *s, unsigned int *x, unsigned int *y);

#endif
