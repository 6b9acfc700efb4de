/* SPDX-License-Identifier: BSD-2-Clause */
/* What each key of the live table does, and the mouse. */
#include "sink/top.h"

#include <stdio.h>
#include <string.h>

#define PAGE_ROWS 10
#define ESCAPE 27

static void sort_by(struct top_state *st, const char *key)
{
	/* The same column once more turns the order around. */
	if (st->view.sort && !strcmp(st->view.sort, key))
		st->view.reverse = !st->view.reverse;
	else
		st->view.reverse = false;
	st->view.sort = key;
	st->scroll = 0;
}

static void next_sort(struct top_state *st, int step)
{
	int i = 0, n = 0;

	while (sort_keys[n])
		n++;
	while (st->view.sort && i < n && strcmp(sort_keys[i], st->view.sort))
		i++;
	st->view.sort = sort_keys[(i + step + n) % n];
	st->scroll = 0;
}

static void next_window(struct top_state *st)
{
	static const u64 windows[] = { 0, 10 * NSEC_PER_SEC, 60 * NSEC_PER_SEC, TOP_SINCE_START };
	u64 now = st->window_ns;
	size_t i;

	st->window_ns = 0;
	for (i = 0; i < ARRAY_SIZE(windows) && !st->window_ns; i++)
		if (windows[i] > now)
			st->window_ns = windows[i];
}

static size_t utf8_encode(u32 cp, char out[4])
{
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (char)(0xc0 | cp >> 6);
		out[1] = (char)(0x80 | (cp & 0x3f));
		return 2;
	}
	if (cp < 0x10000) {
		out[0] = (char)(0xe0 | cp >> 12);
		out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		out[2] = (char)(0x80 | (cp & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | cp >> 18);
	out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
	out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
	out[3] = (char)(0x80 | (cp & 0x3f));
	return 4;
}

/* Plain text matches anywhere in a name; with a wildcard it is taken as is. */
static void apply_filter(struct top_state *st)
{
	const char *star = strpbrk(st->filter, "*?[") ? "" : "*";

	snprintf(st->glob, sizeof(st->glob), "%s%s%s", star, st->filter, star);
	st->view.glob = st->filter[0] ? st->glob : NULL;
	st->scroll = 0;
}

static void edit(struct top_state *st, u32 key)
{
	char *text = st->prompt == TOP_FILTER ? st->filter : st->search, bytes[4];
	size_t len = strlen(text), cap = sizeof(st->filter), n;
	bool filter = st->prompt == TOP_FILTER;

	if (key == '\n' || key == '\r' || key == ESCAPE) {
		st->prompt = TOP_NO_PROMPT;
		if (key == ESCAPE)
			text[0] = 0;
		st->find = !filter && key != ESCAPE ? 1 : 0;
	} else if (key == TOP_KEY_ERASE || key == 127 || key == 8) {
		while (len && ((u8)text[--len] & 0xc0) == 0x80)
			;
		text[len] = 0;
	} else if (key >= 0x20 && key < TOP_KEY_UP) {
		n = utf8_encode(key, bytes);
		if (len + n < cap) {
			memcpy(text + len, bytes, n);
			text[len + n] = 0;
		}
	}
	if (filter)
		apply_filter(st);
}

static void move(struct top_state *st, u32 key)
{
	bool page = key == TOP_KEY_PAGE_UP || key == TOP_KEY_PAGE_DOWN;
	s64 by = page ? PAGE_ROWS : 1;

	if (key == TOP_KEY_UP || key == TOP_KEY_PAGE_UP)
		by = -by;
	if (key == TOP_KEY_HOME)
		by = INT32_MIN;
	if (key == TOP_KEY_END)
		by = INT32_MAX;
	st->move += by;
}

/* ---- Choosing columns ---- */

static void leave_pane(struct top_state *st)
{
	st->pane = TOP_TABLE;
	st->detail[0] = 0;
	st->scroll = 0;
}

/* The column under the cursor is shown no more, or behind the others. */
static void toggle_column(struct top_state *st)
{
	struct table_choice *c = &st->columns;
	u32 i, k, seen = c->count;
	bool used[TABLE_COLUMNS] = { false };

	if (st->cursor < c->count) {
		/* The last one stays: none would mean all. */
		if (c->count > 1)
			memmove(c->columns + st->cursor, c->columns + st->cursor + 1,
				--c->count - st->cursor);
		return;
	}
	for (i = 0; i < c->count; i++)
		used[c->columns[i]] = true;
	for (k = 0; k < table_column_count(); k++) {
		if (used[k] || seen++ != st->cursor)
			continue;
		st->cursor = c->count;
		c->columns[c->count++] = (u8)k;
		return;
	}
}

static void shift_column(struct top_state *st, int by)
{
	struct table_choice *c = &st->columns;
	u32 to = st->cursor + (u32)by;
	u8 column;

	if (st->cursor >= c->count || to >= c->count)
		return;
	column = c->columns[to];
	c->columns[to] = c->columns[st->cursor];
	c->columns[st->cursor] = column;
	st->cursor = to;
}

static void choose_columns(struct top_state *st, u32 key)
{
	u32 last = table_column_count() - 1;

	switch (key) {
	case TOP_KEY_UP:
		st->cursor -= st->cursor > 0;
		break;
	case TOP_KEY_DOWN:
		st->cursor += st->cursor < last;
		break;
	case TOP_KEY_HOME:
		st->cursor = 0;
		break;
	case TOP_KEY_END:
		st->cursor = last;
		break;
	case ' ':
		toggle_column(st);
		break;
	case '<':
		shift_column(st, -1);
		break;
	case '>':
		shift_column(st, 1);
		break;
	case 'a':
		st->columns.count = 0;
		leave_pane(st);
		break;
	case 'S':
		st->save = true;
		leave_pane(st);
		break;
	case 'q':
	case '\n':
	case '\r':
	case ESCAPE:
	case 'C':
	case TOP_KEY_COLUMNS:
		leave_pane(st);
		break;
	}
}

static void scroll_pane(struct top_state *st, u32 key)
{
	u32 by = key == TOP_KEY_PAGE_UP || key == TOP_KEY_PAGE_DOWN ? PAGE_ROWS : 1;

	if (key == TOP_KEY_DOWN || key == TOP_KEY_PAGE_DOWN)
		st->scroll += by;
	else if (key == TOP_KEY_UP || key == TOP_KEY_PAGE_UP)
		st->scroll -= (u32)min_u64(by, st->scroll);
	else if (key == TOP_KEY_HOME)
		st->scroll = 0;
}

static void open_columns(struct top_state *st)
{
	if (!st->columns.count)
		st->columns = st->shown;
	st->cursor = 0;
	st->pane = TOP_COLUMNS;
}

/* ---- All keys ---- */

/* What means the same over the table and in a pane. False: it is no such key. */
static bool common_key(struct top_state *st, u32 key)
{
	switch (key) {
	case 'q':
	case 'Q':
	case TOP_KEY_QUIT:
		st->quit = true;
		return true;
	case 'p':
	case ' ':
		st->paused = !st->paused;
		return true;
	case 'c':
		st->window_ns = st->window_ns == TOP_SINCE_START ? 0 : TOP_SINCE_START;
		return true;
	case 'w':
		next_window(st);
		return true;
	case 'R':
		st->record = true;
		return true;
	case 'P':
		st->parts |= 1u << TRACE_TURNS;
		return true;
	case 'B':
		st->parts |= 1u << TRACE_BLOCKING;
		return true;
	case 'G':
		st->parts |= 1u << TRACE_GC;
		return true;
	case 'S':
		st->parts |= 1u << TRACE_SAMPLES;
		return true;
	case 'h':
	case '?':
	case TOP_KEY_HELP:
		if (st->pane == TOP_HELP)
			leave_pane(st);
		else
			st->pane = TOP_HELP;
		return true;
	case 'C':
	case TOP_KEY_COLUMNS:
		open_columns(st);
		return true;
	}
	return false;
}

static void table_key(struct top_state *st, u32 key)
{
	switch (key) {
	case 's':
	case '>':
	case TOP_KEY_SORT:
		next_sort(st, 1);
		break;
	case '<':
		next_sort(st, -1);
		break;
	case 'r':
		st->view.reverse = !st->view.reverse;
		break;
	case '/':
	case TOP_KEY_FILTER:
		st->prompt = TOP_FILTER;
		break;
	case TOP_KEY_SEARCH:
		st->search[0] = 0;
		st->prompt = TOP_SEARCH;
		break;
	case 'n':
	case 'N':
		st->find = key == 'n' ? 1 : -1;
		break;
	case 't':
	case TOP_KEY_TREE:
		st->tree = st->tree >= TOP_BY_CONTAINER ? TOP_FLAT : st->tree + 1;
		st->scroll = 0;
		break;
	case 'H':
		st->tree = st->tree == TOP_THREADS ? TOP_FLAT : TOP_THREADS;
		st->scroll = 0;
		break;
	case 'o':
		st->own = true;
		break;
	case '\n':
	case '\r':
		st->open = true;
		break;
	case ESCAPE:
		st->selected = 0;
		break;
	case TOP_KEY_UP:
	case TOP_KEY_DOWN:
	case TOP_KEY_PAGE_UP:
	case TOP_KEY_PAGE_DOWN:
	case TOP_KEY_HOME:
	case TOP_KEY_END:
		move(st, key);
		break;
	}
}

void top_key(struct top_state *st, u32 key)
{
	st->notice[0] = 0;
	if (st->prompt != TOP_NO_PROMPT) {
		edit(st, key);
		return;
	}
	if (st->pane == TOP_COLUMNS)
		choose_columns(st, key);
	else if (common_key(st, key))
		return;
	else if (st->pane == TOP_TABLE)
		table_key(st, key);
	else if (key == ESCAPE || key == '\n' || key == '\r')
		leave_pane(st);
	else
		scroll_pane(st, key);
}

void top_mouse(struct top_state *st, const struct top_page *p, enum top_click click, unsigned int x,
	       unsigned int y)
{
	const u64 *rows = (const u64 *)(const void *)p->rows.data;
	size_t count = p->rows.len / sizeof(*rows);

	if (click == TOP_WHEEL_UP || click == TOP_WHEEL_DOWN) {
		top_key(st, click == TOP_WHEEL_UP ? TOP_KEY_UP : TOP_KEY_DOWN);
		return;
	}
	if (st->pane != TOP_TABLE || !p->title_line || y < p->title_line)
		return;
	if (y == p->title_line) {
		const char *key = table_key_at(&p->table, x);

		if (key)
			sort_by(st, key);
		return;
	}
	if (y - p->title_line - 1 >= count)
		return;
	st->open = st->selected == rows[y - p->title_line - 1];
	st->selected = rows[y - p->title_line - 1];
}
