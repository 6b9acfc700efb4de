/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The live table. A page of lines is composed once, from snapshots; the
 * terminal (top_screen.c) and a pipe (the text as it is) only show it. What
 * keys do is decided here too, without a terminal.
 */
#ifndef SINK_TOP_H
#define SINK_TOP_H

#include "base/err.h"
#include "sink/sink.h"

/* What the user has chosen. */
struct top_state {
	struct view view; /* glob points into `glob` once a filter was typed */
	bool cumulative; /* since the start, not of the last interval */
	bool paused, help, quit;
	bool editing; /* a filter is being typed */
	char filter[128]; /* as typed, UTF-8 */
	char glob[136];
	u32 scroll; /* rows left out at the top of the table */
};

struct top_figures {
	const struct snapshot *total; /* since the start */
	const struct snapshot *delta; /* of the last interval; NULL: total */
	u64 elapsed_ns; /* of what is shown: interval or since the start */
	bool ended; /* the targets are gone */
};

enum line_class {
	LINE_HEAD,
	LINE_PLAIN,
	LINE_WARN,
	LINE_TITLE,
	LINE_GOOD,
	LINE_AVERAGE,
	LINE_POOR
};

struct top_line {
	enum line_class class;
	size_t at, len; /* in text.buf */
};

struct top_page {
	struct out text; /* memory; lines end in a line feed */
	struct buf lines; /* struct top_line */
};

void top_page_init(struct top_page *p);
void top_page_release(struct top_page *p);
/* height: lines on the screen, 0: no limit; lines are then not cut to the
 * width either. 0 or -ENOMEM. */
int top_compose(struct top_page *p, const struct top_state *st, const struct top_figures *f,
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
	TOP_KEY_ERASE,
	TOP_KEY_NONE,
};
/* Applies a key: a Unicode code point or an enum top_key. */
void top_key(struct top_state *st, u32 key);

struct top_screen;
/* Takes the terminal over. NULL with *err filled. */
struct top_screen *top_screen_open(bool color, struct err *err);
/* Gives it back as it was. */
void top_screen_close(struct top_screen *s);
void top_screen_size(const struct top_screen *s, unsigned int *width, unsigned int *height);
/* The terminal's size has changed. */
void top_screen_resize(struct top_screen *s);
void top_screen_draw(struct top_screen *s, const struct top_page *p);
/* The next key that was typed; TOP_KEY_NONE when there is none. */
u32 top_screen_key(struct top_screen *s);

#endif
