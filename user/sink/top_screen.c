/* SPDX-License-Identifier: BSD-2-Clause */
/* The live table on a terminal, by ncurses, which sends only what changed. */
#include "sink/top.h"

#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NCURSES_WIDECHAR 1
#include <curses.h>

struct top_screen {
	SCREEN *screen;
	bool color, ascii;
	attr_t tints[TINTS];
	MEVENT mouse;
	bool more_mouse; /* one key may stand for several events */
	/* Whole screens still to be sent: a terminal that is being resized may
	 * lose what it gets meanwhile (tmux does, growing by many lines). */
	unsigned int repaints;
};

/*
 * Colours that can be read on light and on dark ground: the middle of the
 * 256, where a terminal has them. The eight basic ones are the terminal's own,
 * and its user has chosen them to be readable.
 */
static const struct {
	enum tint tint;
	short rich, basic;
	attr_t attributes, mono;
} looks[] = {
	{ TINT_NAME, -1, -1, A_BOLD, A_BOLD },
	{ TINT_DIM, 244, -1, 0, A_DIM },
	{ TINT_WARN, 172, COLOR_YELLOW, 0, A_BOLD },
	{ TINT_BAD, 160, COLOR_RED, A_BOLD, A_BOLD | A_UNDERLINE },
	{ TINT_SPARK, 33, COLOR_CYAN, 0, 0 },
	{ TINT_SELF, 33, COLOR_BLUE, 0, 0 },
	{ TINT_GC, 172, COLOR_YELLOW, 0, 0 },
	{ TINT_BLOCKED, 133, COLOR_MAGENTA, 0, 0 },
	{ TINT_NATIVE, 71, COLOR_GREEN, 0, 0 },
	{ TINT_OTHER, 244, COLOR_CYAN, 0, 0 },
	{ TINT_KEY, 33, COLOR_CYAN, A_BOLD, A_BOLD },
};

static void set_looks(struct top_screen *s)
{
	bool rich = s->color && COLORS >= 256;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(looks); i++) {
		short number = rich ? looks[i].rich : looks[i].basic;
		attr_t *to = &s->tints[looks[i].tint];

		if (!s->color) {
			*to = looks[i].mono;
			continue;
		}
		*to = looks[i].attributes;
		if (number < 0)
			continue;
		init_pair((short)looks[i].tint, number, -1);
		*to |= (attr_t)COLOR_PAIR((int)looks[i].tint);
	}
}

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
	/* A click is a press: waiting for the release would delay it. */
	mouseinterval(0);
	mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	s->color = color && has_colors() && start_color() == OK;
	s->ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	if (s->color)
		use_default_colors();
	set_looks(s);
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

bool top_screen_color(const struct top_screen *s)
{
	return s->color;
}

bool top_screen_ascii(const struct top_screen *s)
{
	return s->ascii;
}

void top_screen_resize(struct top_screen *s)
{
	struct winsize size;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
	s->repaints = 3;
}

void top_screen_size(const struct top_screen *s, unsigned int *width, unsigned int *height)
{
	struct winsize size;

	/* Asked each time: a signal that was missed must not leave it wrong. */
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col &&
	    (size.ws_row != LINES || size.ws_col != COLS))
		top_screen_resize((struct top_screen *)(uintptr_t)s);
	*width = (unsigned int)COLS;
	*height = (unsigned int)LINES;
}

static attr_t line_attributes(const struct top_screen *s, enum line_class class)
{
	switch (class) {
	case LINE_HEAD:
		return A_BOLD;
	case LINE_TITLE:
		return A_REVERSE;
	case LINE_SELECTED:
		return A_REVERSE | A_BOLD;
	case LINE_WARN:
		return s->tints[TINT_BAD];
	case LINE_DIM:
		return s->tints[TINT_DIM];
	default:
		return A_NORMAL;
	}
}

static void draw_line(const struct top_screen *s, const struct top_page *p,
		      const struct top_line *l, int y)
{
	const struct top_mark *m = (const struct top_mark *)(const void *)p->marks.data + l->mark;
	const char *text = (const char *)p->text.buf.data;
	attr_t base = line_attributes(s, l->class);
	size_t at = l->at;
	u32 i;

	attrset((int)base);
	if (l->class == LINE_TITLE || l->class == LINE_SELECTED)
		mvhline(y, 0, ' ', COLS);
	move(y, 0);
	for (i = 0; i < l->marks; i++) {
		if (m[i].at < at)
			continue;
		addnstr(text + at, (int)(m[i].at - at));
		attrset((int)(s->tints[m[i].tint] | (base & A_REVERSE)));
		addnstr(text + m[i].at, (int)m[i].len);
		attrset((int)base);
		at = m[i].at + m[i].len;
	}
	addnstr(text + at, (int)(l->at + l->len - at));
}

void top_screen_draw(struct top_screen *s, const struct top_page *p)
{
	unsigned int i, n = top_page_count(p);

	if (s->repaints) {
		s->repaints--;
		clearok(curscr, TRUE);
	}
	erase();
	for (i = 0; i < n && i < (unsigned int)LINES; i++)
		draw_line(s, p, top_page_line(p, i), (int)i);
	attrset(A_NORMAL);
	refresh();
}

u32 top_screen_key(struct top_screen *s)
{
	static const struct {
		wint_t curses;
		u32 key;
	} keys[] = {
		{ KEY_UP, TOP_KEY_UP },           { KEY_DOWN, TOP_KEY_DOWN },
		{ KEY_PPAGE, TOP_KEY_PAGE_UP },   { KEY_NPAGE, TOP_KEY_PAGE_DOWN },
		{ KEY_HOME, TOP_KEY_HOME },       { KEY_END, TOP_KEY_END },
		{ KEY_BACKSPACE, TOP_KEY_ERASE }, { KEY_ENTER, '\n' },
		{ KEY_F(1), TOP_KEY_HELP },       { KEY_F(2), TOP_KEY_COLUMNS },
		{ KEY_F(3), TOP_KEY_SEARCH },     { KEY_F(4), TOP_KEY_FILTER },
		{ KEY_F(5), TOP_KEY_TREE },       { KEY_F(6), TOP_KEY_SORT },
		{ KEY_F(10), TOP_KEY_QUIT },
	};
	wint_t c;
	size_t i;

	if (s->more_mouse && getmouse(&s->mouse) == OK)
		return TOP_KEY_MOUSE;
	s->more_mouse = false;
	/* Function keys without a meaning here are skipped. */
	for (;;) {
		int kind = get_wch(&c);

		if (kind == ERR)
			return TOP_KEY_NONE;
		if (kind == OK)
			return c < TOP_KEY_UP ? (u32)c : TOP_KEY_NONE;
		if (c == KEY_MOUSE && getmouse(&s->mouse) == OK) {
			s->more_mouse = true;
			return TOP_KEY_MOUSE;
		}
		for (i = 0; i < ARRAY_SIZE(keys); i++)
			if (keys[i].curses == c)
				return keys[i].key;
	}
}

enum top_click top_screen_mouse(const struct top_screen *s, unsigned int *x, unsigned int *y)
{
	mmask_t b = s->mouse.bstate;

	*x = (unsigned int)s->mouse.x;
	*y = (unsigned int)s->mouse.y;
	if (b & BUTTON4_PRESSED)
		return TOP_WHEEL_UP;
	if (b & BUTTON5_PRESSED)
		return TOP_WHEEL_DOWN;
	return TOP_CLICK;
}
