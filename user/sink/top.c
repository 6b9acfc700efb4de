/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/top_int.h"
#include "sink/words.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOOTER_HEIGHT 12 /* lines of a screen that spares one for it */
#define WARN_NS (16 * NSEC_PER_MSEC)
#define BAD_NS (256 * NSEC_PER_MSEC)

void top_page_init(struct top_page *p)
{
	*p = (struct top_page){ 0 };
	out_open_memory(&p->text);
}

void top_page_release(struct top_page *p)
{
	out_close(&p->text);
	buf_free(&p->lines);
	buf_free(&p->marks);
	buf_free(&p->rows);
}

unsigned int top_page_count(const struct top_page *p)
{
	return (unsigned int)(p->lines.len / sizeof(struct top_line));
}

const struct top_line *top_page_line(const struct top_page *p, unsigned int i)
{
	return (const struct top_line *)(const void *)p->lines.data + i;
}

/* ---- Lines ---- */

/* The marks of a line, as far as it was not cut. */
static void place_marks(struct composer *c, struct top_line *l)
{
	const struct top_mark *m = (const struct top_mark *)(const void *)c->pending.data;
	size_t n = c->pending.len / sizeof(*m), i;

	l->mark = (u32)(c->page->marks.len / sizeof(*m));
	for (i = 0; i < n; i++) {
		struct top_mark placed = m[i];

		if (placed.at >= l->len)
			continue;
		placed.len = min_u64(placed.len, l->len - placed.at);
		placed.at += l->at;
		if (!buf_put(&c->page->marks, &placed, sizeof(placed)))
			l->marks++;
	}
	buf_clear(&c->pending);
}

void end_line(struct composer *c, enum line_class class)
{
	struct out *text = &c->page->text;
	struct top_line l = { .class = class, .at = text->buf.len };

	out_write(&c->line, "", 1);
	if (!c->line.error) {
		const char *s = (const char *)c->line.buf.data;

		if (c->cut)
			line_put(text, s, c->width);
		else
			out_puts(text, s);
	} else {
		text->error = c->line.error;
	}
	l.len = text->buf.len - l.at;
	place_marks(c, &l);
	out_write(text, "\n", 1);
	if (buf_put(&c->page->lines, &l, sizeof(l)))
		text->error = -ENOMEM;
	buf_clear(&c->line.buf);
}

static void add_mark(void *ctx, size_t at, size_t len, enum tint tint)
{
	struct composer *c = ctx;
	struct top_mark m = { at, len, tint };

	if (tint != TINT_NONE && len)
		buf_put(&c->pending, &m, sizeof(m));
}

void mark_since(struct composer *c, size_t at, enum tint tint)
{
	add_mark(c, at, c->line.buf.len - at, tint);
}

void put_tint(struct composer *c, enum tint tint, const char *text)
{
	size_t at = c->line.buf.len;

	out_puts(&c->line, text);
	mark_since(c, at, tint);
}

/* ---- The table ---- */

static u32 find_row(const struct top_rows *r, u64 id)
{
	u32 i;

	for (i = 0; id && i < r->count; i++)
		if (r->list[i].id == id)
			return i;
	return UINT32_MAX;
}

/* Does a row's name hold what is searched for, in any case of letters? */
static bool matches(const char *name, const char *search)
{
	char glob[160];
	const char *star = strpbrk(search, "*?[") ? "" : "*";

	snprintf(glob, sizeof(glob), "%s%s%s", star, search, star);
	return !fnmatch(glob, name, FNM_CASEFOLD);
}

/* The group of the selected row, or NULL. A group that did nothing in an interval has no row
 * there, and is the selected one all the same. */
static const char *selected_group(struct top_state *st, const struct top_rows *r)
{
	u32 at = find_row(r, st->selected);

	if (at != UINT32_MAX) {
		st->named = st->selected;
		snprintf(st->name, sizeof(st->name), "%s",
			 r->list[at].group ? r->list[at].group : "");
	}
	return st->selected && st->selected == st->named && st->name[0] ? st->name : NULL;
}

/* Keys that need to know the rows: what they ask for is done here. */
static void resolve(struct top_state *st, const struct top_rows *r)
{
	u32 at = find_row(r, st->selected), i;
	const char *group;

	if (st->move && r->count) {
		s64 to = at == UINT32_MAX ? (st->move > 0 ? st->move - 1 : 0) : at + st->move;

		at = (u32)(to < 0 ? 0 : to >= r->count ? r->count - 1 : to);
		st->selected = r->list[at].id;
	}
	if (st->find && st->search[0]) {
		for (i = 1; i <= r->count; i++) {
			u32 from = at == UINT32_MAX ? (st->find > 0 ? r->count - 1 : 0) : at;
			u32 k = (from + (st->find > 0 ? i : r->count - i)) % r->count;

			if (!matches(r->list[k].item.name, st->search))
				continue;
			st->selected = r->list[k].id;
			break;
		}
		if (i > r->count)
			snprintf(st->notice, sizeof(st->notice), "no row matches %s", st->search);
	}
	group = selected_group(st, r);
	if (st->open && group) {
		snprintf(st->detail, sizeof(st->detail), "%s", group);
		st->pane = TOP_DETAIL;
		st->scroll = 0;
	} else if (st->open) {
		snprintf(st->notice, sizeof(st->notice), "%s",
			 find_row(r, st->selected) == UINT32_MAX
				 ? "select a group first, with the arrow keys"
				 : "only a group has details");
	}
	if (st->own && group)
		snprintf(st->own_of, sizeof(st->own_of), "%s", group);
	else if (st->own)
		snprintf(st->notice, sizeof(st->notice),
			 "select a group first, with the arrow keys");
	st->open = st->own = false;
	st->find = 0;
}

/* Which rows are on the screen. */
static u32 scroll_to(struct top_state *st, const struct top_rows *r, u32 height, bool moved)
{
	u32 at = find_row(r, st->selected), first;

	if (!height || r->count <= height)
		return st->scroll = 0;
	first = st->scroll > r->count - height ? r->count - height : st->scroll;
	if (moved && at != UINT32_MAX) {
		first = at < first ? at : first;
		first = at >= first + height ? at - height + 1 : first;
	}
	return st->scroll = first;
}

static void note_running(struct composer *c, struct top_row *row)
{
	u32 i;

	for (i = 0; row->group && i < c->f->running_count; i++)
		if (!strcmp(c->f->running[i].group, row->group))
			row->item.now_ns = max_u64(row->item.now_ns, c->f->running[i].for_ns);
}

static int fit_rows(struct composer *c, struct top_rows *r, u32 first, u32 last)
{
	struct top_state *st = c->st;
	struct table *t = &c->page->table;
	struct table_item *items = calloc((size_t)(last - first) + 1, sizeof(*items));
	u32 i;

	if (!items)
		return -ENOMEM;
	*t = (struct table){
		.interval = c->interval,
		.title = r->title,
		.elapsed_ns = c->f->elapsed_ns,
		.warn_ns = st->warn_ns ? st->warn_ns : WARN_NS,
		.bad_ns = st->bad_ns ? st->bad_ns : BAD_NS,
		.history = c->f->history,
		.ascii = st->ascii,
		.mark = add_mark,
		.mark_ctx = c,
	};
	for (i = first; i < last; i++) {
		note_running(c, &r->list[i]);
		items[i - first] = r->list[i].item;
	}
	table_fit_items(t, items, last - first, c->width, st->view.sort, &st->columns);
	table_choice_of(&st->shown, t);
	free(items);
	return 0;
}

static enum tint name_tint(const struct composer *c, const struct table_item *item)
{
	u64 max = row_max_ns(item->stats, c->interval);

	return item->summed                   ? TINT_NAME
	       : max > c->page->table.bad_ns  ? TINT_BAD
	       : max > c->page->table.warn_ns ? TINT_WARN
					      : TINT_NONE;
}

static void put_row(struct composer *c, const struct top_row *row)
{
	struct top_mark *first;
	bool selected = row->id == c->st->selected;

	table_item(&c->page->table, &c->line, &row->item, c->s->events.wall_ns);
	/* The name comes first: it tells how bad the group is. */
	first = (struct top_mark *)(void *)c->pending.data;
	if (c->pending.len && first->tint == TINT_NAME)
		first->tint = row->depth || row->group ? name_tint(c, &row->item) : TINT_NAME;
	if (selected)
		buf_clear(&c->pending);
	buf_put(&c->page->rows, &row->id, sizeof(row->id));
	end_line(c, selected ? LINE_SELECTED : LINE_PLAIN);
}

static int put_table(struct composer *c, unsigned int height)
{
	struct top_state *st = c->st;
	bool moved = st->move || st->find;
	struct top_rows r;
	u32 first, last, i;
	int rc = top_rows_make(&r, c);

	if (!rc) {
		resolve(st, &r);
		st->move = 0;
		first = scroll_to(st, &r, height, moved);
		last = height && r.count - first > height ? first + height : r.count;
		rc = fit_rows(c, &r, first, last);
	}
	if (!rc) {
		c->page->title_line = top_page_count(c->page);
		table_title(&c->page->table, &c->line);
		end_line(c, LINE_TITLE);
		for (i = first; i < last; i++)
			put_row(c, &r.list[i]);
		if (!r.count) {
			out_puts(&c->line,
				 st->view.glob ? "no group matches the filter" : "nothing ran");
			end_line(c, LINE_DIM);
		}
	}
	top_rows_free(&r);
	return rc;
}

/* ---- The bottom ---- */

struct hint {
	const char *key, *what;
};

static void put_hints(struct composer *c)
{
	static const struct hint table[] = {
		{ "q", "quit" },    { "Enter", "details" }, { "s", "sort" },   { "/", "filter" },
		{ "c", "all" },     { "t", "tree" },        { "p", "pause" },  { "F2", "columns" },
		{ "h", "help" },    { "R", "record" },      { "w", "window" }, { "F3", "search" },
		{ "r", "reverse" }, { "H", "threads" },     { NULL, NULL },
	};
	static const struct hint columns[] = {
		{ "space", "show or hide" }, { "< >", "move" }, { "S", "save" },
		{ "a", "automatic" },        { "Esc", "done" }, { NULL, NULL },
	};
	static const struct hint other[] = {
		{ "Esc", "back" }, { "up down", "scroll" }, { "p", "pause" },
		{ "R", "record" }, { "q", "quit" },         { NULL, NULL },
	};
	const struct hint *h = c->st->pane == TOP_TABLE     ? table
			       : c->st->pane == TOP_COLUMNS ? columns
							    : other;
	unsigned int at = 0;

	for (; h->key; h++) {
		size_t need = strlen(h->key) + strlen(h->what) + 3;

		if (at + need > c->width + 2)
			break;
		at += (unsigned int)need;
		put_tint(c, TINT_KEY, h->key);
		out_printf(&c->line, " %s  ", h->what);
	}
	end_line(c, LINE_PLAIN);
}

/* The last line of a screen that has room for it. */
static void put_footer(struct composer *c, unsigned int height)
{
	const struct top_state *st = c->st;

	while (top_page_count(c->page) + 1 < height)
		end_line(c, LINE_PLAIN);
	if (st->prompt != TOP_NO_PROMPT) {
		out_printf(&c->line, "%s: %s_", st->prompt == TOP_FILTER ? "filter" : "search",
			   st->prompt == TOP_FILTER ? st->filter : st->search);
		end_line(c, LINE_HEAD);
	} else if (st->notice[0]) {
		char clean[512];

		out_puts(&c->line, name_text(clean, sizeof(clean), st->notice));
		end_line(c, LINE_HEAD);
	} else {
		put_hints(c);
	}
}

/* A pane that is longer than its room shows the part that was scrolled to. */
static void cut_pane(struct composer *c, unsigned int first, unsigned int room)
{
	struct top_line *lines = (struct top_line *)(void *)c->page->lines.data + first;
	unsigned int n = top_page_count(c->page) - first;

	if (!room || n <= room) {
		c->st->scroll = 0;
		return;
	}
	if (c->st->scroll > n - room)
		c->st->scroll = n - room;
	/* The title stays. */
	memmove(lines + 1, lines + 1 + c->st->scroll, (room - 1) * sizeof(*lines));
	c->page->lines.len = (first + room) * sizeof(*lines);
}

int top_compose(struct top_page *p, struct top_state *st, const struct top_figures *f,
		unsigned int width, unsigned int height)
{
	bool interval = f->delta && st->window_ns != TOP_SINCE_START;
	struct composer c = {
		.page = p,
		.st = st,
		.f = f,
		.s = interval ? f->delta : f->total,
		.interval = interval,
		.width = width,
		.cut = height != 0,
	};
	bool footer = height >= FOOTER_HEIGHT ||
		      (height && (st->prompt != TOP_NO_PROMPT || st->notice[0]));
	bool table = st->pane == TOP_TABLE;
	unsigned int used, room, first;
	int rc = 0;

	buf_clear(&p->text.buf);
	buf_clear(&p->lines);
	buf_clear(&p->marks);
	buf_clear(&p->rows);
	p->title_line = 0;
	out_open_memory(&c.line);
	if (st->pane == TOP_TABLE || !height || height > 2 * FOOTER_HEIGHT)
		put_head(&c, height);
	first = top_page_count(p);
	used = first + footer;
	room = !height ? 0 : height > used ? height - used : 1;
	if (st->pane == TOP_HELP)
		put_help(&c);
	else if (st->pane == TOP_COLUMNS)
		put_columns(&c, room);
	else if (st->pane == TOP_DETAIL)
		put_detail(&c, room);
	else
		rc = put_table(&c, room > 1 ? room - 1 : room);
	if (st->pane == TOP_HELP || st->pane == TOP_DETAIL)
		cut_pane(&c, first, room);
	if (footer)
		put_footer(&c, height);
	out_close(&c.line);
	buf_free(&c.pending);
	/* Enter has opened another pane. */
	if (table && st->pane != TOP_TABLE && !rc)
		return top_compose(p, st, f, width, height);
	return rc ? rc : p->text.error;
}
