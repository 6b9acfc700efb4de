/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/top.h"
#include "sink/complete.h"
#include "sink/summary.h"
#include "sink/table.h"
#include "sink/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FOOTER_HEIGHT 12 /* lines of a screen that spares one for it */

/* A page under way: `line` collects one line. */
struct composer {
	struct top_page *page;
	struct out line;
	unsigned int width; /* 0: lines are not cut */
};

void top_page_init(struct top_page *p)
{
	*p = (struct top_page){ 0 };
	out_open_memory(&p->text);
}

void top_page_release(struct top_page *p)
{
	out_close(&p->text);
	buf_free(&p->lines);
}

unsigned int top_page_count(const struct top_page *p)
{
	return (unsigned int)(p->lines.len / sizeof(struct top_line));
}

const struct top_line *top_page_line(const struct top_page *p, unsigned int i)
{
	return (const struct top_line *)(const void *)p->lines.data + i;
}

static void end_line(struct composer *c, enum line_class class)
{
	struct out *text = &c->page->text;
	struct top_line l = { .class = class, .at = text->buf.len };

	out_write(&c->line, "", 1);
	if (!c->line.error) {
		const char *s = (const char *)c->line.buf.data;

		if (c->width)
			line_put(text, s, c->width);
		else
			out_puts(text, s);
	} else {
		text->error = c->line.error;
	}
	l.len = text->buf.len - l.at;
	out_write(text, "\n", 1);
	if (buf_put(&c->page->lines, &l, sizeof(l)))
		text->error = -ENOMEM;
	buf_clear(&c->line.buf);
}

static void put_rates(struct composer *c, const struct snapshot *s, const struct top_figures *f)
{
	double seconds = (double)max_u64(f->elapsed_ns, 1) / 1e9;
	char a[COUNT_MAX], b[COUNT_MAX], mean[TEXT_NS_MAX], busy[PERCENT_MAX];
	const struct event_stats *e = &s->events;

	out_printf(&c->line, "%s events/s  %s spans/s  mean %s  >16ms %" PRIu64 "  >64ms %" PRIu64,
		   count_short(a, (u64)((double)e->count / seconds + 0.5)),
		   count_short(b, (u64)((double)s->spans / seconds + 0.5)),
		   time_text(mean, e->count ? e->wall_ns / e->count : 0), e->durations[4],
		   e->durations[6]);
	out_printf(&c->line, "  busy %s %%", percent_text(busy, e->wall_ns, f->elapsed_ns));
	end_line(c, LINE_PLAIN);
}

static void put_shares(struct composer *c, const struct ledger *l)
{
	const struct {
		const char *name;
		u64 ns;
		bool always;
	} parts[] = {
		{ "self", l->self_ns, true },       { "gc", l->gc_ns, true },
		{ "blocked", l->blocked_ns, true }, { "native", l->native_ns, true },
		{ "moved", l->moved_ns, false },    { "stale", l->stale_ns, false },
		{ "lost", l->lost_ns, false },
	};
	char text[PERCENT_MAX];
	size_t i;

	out_puts(&c->line, "of event time:");
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].always || parts[i].ns)
			out_printf(&c->line, " %s %s %%", parts[i].name,
				   percent_text(text, parts[i].ns, l->event_wall_ns));
	end_line(c, LINE_PLAIN);
}

static void put_head(struct composer *c, const struct top_state *st, const struct top_figures *f,
		     const struct snapshot *s, bool interval)
{
	char elapsed[TEXT_NS_MAX], max[TEXT_NS_MAX];

	summary_target(&c->line, f->total);
	out_printf(&c->line, ", %s %s, by %s%s%s%s%s", interval ? "last" : "all",
		   time_text(elapsed, f->elapsed_ns), st->view.sort ? st->view.sort : "self",
		   st->view.reverse ? " reversed" : "", st->view.glob ? ", only " : "",
		   st->view.glob ? st->view.glob : "", st->paused ? ", PAUSED" : "");
	if (f->ended)
		out_puts(&c->line, ", ENDED");
	end_line(c, LINE_HEAD);
	put_rates(c, s, f);
	put_shares(c, &s->ledger);
	summary_complete(&c->line, f->total);
	out_printf(&c->line, "; longest turn so far %s", time_text(max, f->total->events.max_ns));
	end_line(c, snapshot_complete(f->total) ? LINE_PLAIN : LINE_WARN);
	if (lost_any(&f->total->losses)) {
		summary_losses(&c->line, &f->total->losses);
		end_line(c, LINE_WARN);
	}
	summary_worst(&c->line, s, interval);
	end_line(c, LINE_PLAIN);
}

static const char *const help_lines[] = {
	"q        quit",
	"s < >    sort by the next, the previous, the next key",
	"r        reverse the order",
	"c        since the start, or of the last interval",
	"/        show only groups that match; Enter ends, empty shows all",
	"p space  pause the display; measuring goes on",
	"up down  scroll; PgUp, PgDn, Home too",
	"h        this help",
};

static void put_help(struct composer *c)
{
	size_t i;

	out_puts(&c->line, "Keys");
	end_line(c, LINE_TITLE);
	for (i = 0; i < ARRAY_SIZE(help_lines); i++) {
		out_puts(&c->line, help_lines[i]);
		end_line(c, LINE_PLAIN);
	}
}

static int put_table(struct composer *c, const struct top_state *st, const struct snapshot *s,
		     bool interval, unsigned int width, unsigned int height)
{
	static const enum line_class classes[] = {
		[ROW_GOOD] = LINE_GOOD,
		[ROW_AVERAGE] = LINE_AVERAGE,
		[ROW_POOR] = LINE_POOR,
	};
	struct table t = { .interval = interval };
	const struct snapshot_group **rows;
	u32 n, first, last, i;

	rows = view_rows(s, &st->view, &n);
	if (!rows)
		return -ENOMEM;
	/* A group that did nothing in the interval is not worth a line. */
	for (i = 0, last = 0; interval && i < n; i++)
		if (rows[i]->stats.ticks || rows[i]->stats.wall_ns)
			rows[last++] = rows[i];
	n = interval ? last : n;
	first = st->scroll < n ? st->scroll : n ? n - 1 : 0;
	last = height && n - first > height ? first + height : n;
	table_fit(&t, rows + first, last - first, width, st->view.sort);
	table_title(&t, &c->line);
	end_line(c, LINE_TITLE);
	for (i = first; i < last; i++) {
		table_row(&t, &c->line, rows[i], s->events.wall_ns);
		end_line(c, classes[row_class(&rows[i]->stats)]);
	}
	free(rows);
	return 0;
}

/* The last line of a screen that has room for it. */
static void put_footer(struct composer *c, unsigned int height)
{
	while (top_page_count(c->page) + 1 < height)
		end_line(c, LINE_PLAIN);
	out_puts(&c->line, "q quit  s sort  r reverse  c since start  / filter  p pause  h help");
	end_line(c, LINE_HEAD);
}

int top_compose(struct top_page *p, const struct top_state *st, const struct top_figures *f,
		unsigned int width, unsigned int height)
{
	bool interval = f->delta && !st->cumulative;
	const struct snapshot *s = interval ? f->delta : f->total;
	struct composer c = { .page = p, .width = height ? width : 0 };
	bool footer = height >= FOOTER_HEIGHT;
	unsigned int used;
	int rc = 0;

	buf_clear(&p->text.buf);
	buf_clear(&p->lines);
	out_open_memory(&c.line);
	put_head(&c, st, f, s, interval);
	if (st->editing) {
		out_printf(&c.line, "filter: %s_", st->filter);
		end_line(&c, LINE_HEAD);
	}
	used = top_page_count(p) + 1 + footer;
	if (st->help)
		put_help(&c);
	else
		rc = put_table(&c, st, s, interval, width,
			       !height         ? 0
			       : height > used ? height - used
					       : 1);
	if (footer)
		put_footer(&c, height);
	out_close(&c.line);
	return rc ? rc : p->text.error;
}
