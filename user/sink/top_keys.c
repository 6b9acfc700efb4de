/* SPDX-License-Identifier: BSD-2-Clause */
/* What each key of the live table does. */
#include "sink/top.h"

#include <stdio.h>
#include <string.h>

#define PAGE_ROWS 10

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

static void edit_filter(struct top_state *st, u32 key)
{
	size_t len = strlen(st->filter);
	char text[4];

	if (key == '\n' || key == '\r' || key == 27) {
		st->editing = false;
		if (key == 27)
			st->filter[0] = 0;
	} else if (key == TOP_KEY_ERASE || key == 127 || key == 8) {
		while (len && ((u8)st->filter[--len] & 0xc0) == 0x80)
			;
		st->filter[len] = 0;
	} else if (key >= 0x20 && key < TOP_KEY_UP) {
		size_t n = utf8_encode(key, text);

		if (len + n < sizeof(st->filter)) {
			memcpy(st->filter + len, text, n);
			st->filter[len + n] = 0;
		}
	}
	apply_filter(st);
}

static void scroll(struct top_state *st, u32 key)
{
	u32 rows = key == TOP_KEY_PAGE_UP || key == TOP_KEY_PAGE_DOWN ? PAGE_ROWS : 1;

	if (key == TOP_KEY_DOWN || key == TOP_KEY_PAGE_DOWN)
		st->scroll = st->scroll > UINT32_MAX - rows ? st->scroll : st->scroll + rows;
	else
		st->scroll = key == TOP_KEY_HOME || st->scroll < rows ? 0 : st->scroll - rows;
}

void top_key(struct top_state *st, u32 key)
{
	if (st->editing) {
		edit_filter(st, key);
		return;
	}
	switch (key) {
	case 'q':
	case 'Q':
		st->quit = true;
		break;
	case 's':
	case '>':
		next_sort(st, 1);
		break;
	case '<':
		next_sort(st, -1);
		break;
	case 'r':
		st->view.reverse = !st->view.reverse;
		break;
	case 'c':
		st->cumulative = !st->cumulative;
		break;
	case 'p':
	case ' ':
		st->paused = !st->paused;
		break;
	case 'h':
	case '?':
		st->help = !st->help;
		break;
	case '/':
		st->editing = true;
		break;
	case TOP_KEY_UP:
	case TOP_KEY_DOWN:
	case TOP_KEY_PAGE_UP:
	case TOP_KEY_PAGE_DOWN:
	case TOP_KEY_HOME:
		scroll(st, key);
		break;
	}
}
