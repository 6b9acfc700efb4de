/* SPDX-License-Identifier: BSD-2-Clause */
/* The live table on a terminal, by ncurses. */
#include "sink/top.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NCURSES_WIDECHAR 1
#include <curses.h>

struct top_screen {
	SCREEN *screen;
	bool color;
};

/* Pair numbers of ncurses. */
enum {
	PAIR_RED = 1,
	PAIR_YELLOW = 2
};

struct top_screen *top_screen_open(bool color, struct err *err)
{
	const char *term = getenv("TERM");
	struct top_screen *s = calloc(1, sizeof(*s));

	if (!s) {
		err_set(err, -ENOMEM, "out of memory");
		return NULL;
	}
	s->screen = term ? newterm(NULL, stdout, stdin) : NULL;
	if (!s->screen) {
		err_set(err, -ENOTTY, "cannot draw on the terminal '%s'", term ? term : "");
		err_hint(err, "set TERM to one that terminfo knows, or use --batch");
		free(s);
		return NULL;
	}
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	s->color = color && has_colors() && start_color() == OK;
	if (s->color) {
		use_default_colors();
		init_pair(PAIR_RED, COLOR_RED, -1);
		init_pair(PAIR_YELLOW, COLOR_YELLOW, -1);
	}
	return s;
}

void top_screen_close(struct top_screen *s)
{
	if (!s)
		return;
	endwin();
	delscreen(s->screen);
	free(s);
}

void top_screen_size(const struct top_screen *s, unsigned int *width, unsigned int *height)
{
	(void)s;
	*width = (unsigned int)COLS;
	*height = (unsigned int)LINES;
}

void top_screen_resize(struct top_screen *s)
{
	struct winsize size;

	(void)s;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
	clearok(curscr, TRUE);
}

static attr_t line_attributes(const struct top_screen *s, enum line_class class)
{
	switch (class) {
	case LINE_HEAD:
		return A_BOLD;
	case LINE_TITLE:
		return A_REVERSE;
	case LINE_WARN:
	case LINE_POOR:
		return s->color ? (attr_t)COLOR_PAIR(PAIR_RED) : A_BOLD;
	case LINE_AVERAGE:
		return s->color ? (attr_t)COLOR_PAIR(PAIR_YELLOW) : A_NORMAL;
	default:
		return A_NORMAL;
	}
}

void top_screen_draw(struct top_screen *s, const struct top_page *p)
{
	unsigned int i, n = top_page_count(p);

	erase();
	for (i = 0; i < n && i < (unsigned int)LINES; i++) {
		const struct top_line *l = top_page_line(p, i);
		attr_t attributes = line_attributes(s, l->class);

		attrset((int)attributes);
		if (l->class == LINE_TITLE)
			mvhline((int)i, 0, ' ', COLS);
		mvaddnstr((int)i, 0, (const char *)p->text.buf.data + l->at, (int)l->len);
	}
	attrset(A_NORMAL);
	refresh();
}

u32 top_screen_key(struct top_screen *s)
{
	static const struct {
		wint_t curses;
		u32 key;
	} keys[] = {
		{ KEY_UP, TOP_KEY_UP },
		{ KEY_DOWN, TOP_KEY_DOWN },
		{ KEY_PPAGE, TOP_KEY_PAGE_UP },
		{ KEY_NPAGE, TOP_KEY_PAGE_DOWN },
		{ KEY_HOME, TOP_KEY_HOME },
		{ KEY_BACKSPACE, TOP_KEY_ERASE },
		{ KEY_ENTER, '\n' },
	};
	wint_t c;
	size_t i;

	(void)s;
	/* Function keys without a meaning here are skipped. */
	for (;;) {
		int kind = get_wch(&c);

		if (kind == ERR)
			return TOP_KEY_NONE;
		if (kind == OK)
			return c < TOP_KEY_UP ? (u32)c : TOP_KEY_NONE;
		for (i = 0; i < ARRAY_SIZE(keys); i++)
			if (keys[i].curses == c)
				return keys[i].key;
	}
}
