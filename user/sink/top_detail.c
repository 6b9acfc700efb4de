/* SPDX-License-Identifier: BSD-2-Clause */
/* What takes the table's place: one group, the columns to choose, help. */
#include "sink/complete.h"
#include "sink/top_int.h"
#include "sink/words.h"

#include <stdio.h>
#include <string.h>

#define SIDE_BY_SIDE 110 /* columns of a screen that has room for two lists */
#define BUCKETS 32 /* powers of two, from 1 us */
#define BAR_COLUMNS 30

/* ---- Help ---- */

const struct top_help top_help_keys[] = {
	{ "up down", "select a group; PgUp, PgDn, Home, End too; the mouse does it as well" },
	{ "Enter", "its histogram, callers and callees, worst turns; Esc goes back" },
	{ "s < > F6", "sort by the next, the previous, the next key; or click on a column" },
	{ "r", "reverse the order" },
	{ "/ F4", "show only groups that match; Enter ends, empty shows all" },
	{ "F3 n N", "search; the next, the previous that matches" },
	{ "t F5", "tree by process, kind, group, container, none" },
	{ "H", "threads instead of groups" },
	{ "c", "since the start, or the last interval" },
	{ "w", "the last interval, the last 10 s, the last minute, since the start" },
	{ "p space", "pause the display; measuring goes on" },
	{ "C F2", "choose the columns, and keep them for the next time" },
	{ "o", "measure each compartment of the selected group by itself, or stop" },
	{ "R", "start or stop a recording of the same processes" },
	{ "P", "stop measuring, or go on; then nothing of it is in the way" },
	{ "B G S", "stop or start measuring waits (--exact), collections, stacks" },
	{ "h ? F1", "this help" },
	{ "q F10", "quit" },
	{ NULL, NULL },
};

void put_help(struct composer *c)
{
	const struct top_help *k;

	out_puts(&c->line, "Keys");
	end_line(c, LINE_TITLE);
	for (k = top_help_keys; k->key; k++) {
		put_tint(c, TINT_KEY, k->key);
		out_printf(&c->line, "%*s%s", (int)(10 - strlen(k->key)), "", k->what);
		end_line(c, LINE_PLAIN);
	}
	end_line(c, LINE_PLAIN);
	out_puts(&c->line,
		 "SELF% is of the time of all turns. A name is yellow when the group took "
		 "more than 16 ms");
	end_line(c, LINE_DIM);
	out_puts(&c->line, "in one turn, red above 256 ms (--warn, --bad). LATELY is its self time "
			   "by interval.");
	end_line(c, LINE_DIM);
}

/* ---- Columns ---- */

static bool chosen(const struct table_choice *c, unsigned int column)
{
	unsigned int i;

	for (i = 0; i < c->count; i++)
		if (c->columns[i] == column)
			return true;
	return false;
}

/* Those chosen, in their order, then the others. */
static unsigned int column_at(const struct table_choice *c, unsigned int at)
{
	unsigned int i, seen = c->count;

	if (at < c->count)
		return c->columns[at];
	for (i = 0; i < table_column_count(); i++)
		if (!chosen(c, i) && seen++ == at)
			return i;
	return 0;
}

void put_columns(struct composer *c, unsigned int height)
{
	struct top_state *st = c->st;
	unsigned int n = table_column_count(), room = height > 1 ? height - 1 : 1, first, i;

	if (st->cursor >= n)
		st->cursor = n - 1;
	out_puts(&c->line, "Columns, left to right");
	end_line(c, LINE_TITLE);
	first = st->cursor >= room ? st->cursor - room + 1 : 0;
	for (i = first; i < n && i < first + room; i++) {
		unsigned int column = column_at(&st->columns, i);

		out_printf(&c->line, "[%c] %-9s %s", i < st->columns.count ? 'x' : ' ',
			   table_column_title(column), table_column_about(column));
		end_line(c, i == st->cursor         ? LINE_SELECTED
			    : i < st->columns.count ? LINE_PLAIN
						    : LINE_DIM);
	}
}

/* ---- One group ---- */

static void put_figures(struct composer *c, const struct group_stats *s)
{
	char wall[TEXT_NS_MAX], self[TEXT_NS_MAX], cpu[TEXT_NS_MAX], gc[TEXT_NS_MAX];
	char blocked[TEXT_NS_MAX], share[PERCENT_MAX], busy[PERCENT_MAX], margin[TEXT_NS_MAX];
	const char *about = about_text(s->cpu_ns, s->cpu_margin_ns);

	out_printf(&c->line, "self %s (%s %% of all turns)  wall %s  cpu %s%s (%s %% of a CPU",
		   time_text(self, s->self_ns),
		   percent_text(share, s->self_ns, c->s->events.wall_ns),
		   time_text(wall, s->wall_ns), about, time_text(cpu, s->cpu_ns),
		   percent_text(busy, s->cpu_ns, c->f->elapsed_ns));
	if (*about)
		out_printf(&c->line, "; off by up to %s", time_text(margin, s->cpu_margin_ns));
	out_puts(&c->line, ")");
	out_printf(&c->line, "  gc %s  blocked %s", time_text(gc, s->gc_ns),
		   time_text(blocked, s->blocked_ns));
	end_line(c, LINE_PLAIN);
}

static void put_counts(struct composer *c, const struct snapshot_group *g)
{
	const struct group_stats *s = &g->stats;
	char p50[TEXT_NS_MAX], p99[TEXT_NS_MAX], max[TEXT_NS_MAX];

	out_printf(&c->line, "a turn: p50 %s  p99 %s  max %s",
		   time_text(p50, group_quantile(s, 500)), time_text(p99, group_quantile(s, 990)),
		   time_text(max, row_max_ns(s, c->interval)));
	out_printf(&c->line, "  %" PRIu64 " turns  %" PRIu64 " entries  %" PRIu64 " spans",
		   s->events, s->ticks, s->spans);
	if (s->moved)
		out_printf(&c->line, "  %" PRIu64 " moved", s->moved);
	if (s->stale)
		out_printf(&c->line, "  %" PRIu64 " stale", s->stale);
	if (!group_complete(c->s, s))
		put_tint(c, TINT_WARN, "  INCOMPLETE");
	end_line(c, LINE_PLAIN);
	out_puts(&c->line, "lately ");
	if (c->f->history) {
		size_t at = c->line.buf.len;

		history_put(c->f->history, g->id, HISTORY_LEN, c->st->ascii, &c->line);
		mark_since(c, at, TINT_SPARK);
	}
	end_line(c, LINE_PLAIN);
}

static void put_processes(struct composer *c, const struct snapshot_group *g)
{
	u32 i;

	if (g->children < 2)
		return;
	out_puts(&c->line, "in");
	for (i = 0; i < g->children && i < 16; i++) {
		const struct snapshot_child *child = &c->s->children[g->first_child + i];
		const struct snapshot_process *p = &c->s->processes[child->process];
		char self[TEXT_NS_MAX], name[64];

		out_printf(&c->line, "%s %s %u self %s", i ? "," : "",
			   name_text(name, sizeof(name), p->name), p->pid,
			   time_text(self, child->stats.self_ns));
	}
	if (i < g->children)
		out_printf(&c->line, " and %u more", g->children - i);
	end_line(c, LINE_PLAIN);
}

#define SIDE_LINES 64

/* A list is made as lines of its own, so that two can stand side by side. */
struct side {
	struct out text;
	unsigned int lines;
	/* By line. */
	bool head[SIDE_LINES];
	size_t bar_at[SIDE_LINES], bar_len[SIDE_LINES];
	size_t begin; /* of the line under way, in the text */
};

static void side_line(struct side *s, bool head)
{
	out_write(&s->text, "", 1);
	s->head[s->lines] = head;
	s->begin = s->text.buf.len;
	/* More than there are lines of any list. */
	s->lines += s->lines < SIDE_LINES - 1;
}

static void put_amount(struct side *s, const struct composer *c, u64 n, u64 most)
{
	unsigned int len = most ? (unsigned int)((double)n * BAR_COLUMNS / (double)most + 0.99) : 0;
	unsigned int i;

	s->bar_at[s->lines] = s->text.buf.len - s->begin;
	for (i = 0; i < len && i < BAR_COLUMNS; i++)
		out_puts(&s->text, c->st->ascii ? "#" : "\xe2\x96\x88");
	s->bar_len[s->lines] = s->text.buf.len - s->begin - s->bar_at[s->lines];
	out_printf(&s->text, " %" PRIu64, n);
}

/* Powers of two: the 16 buckets of one in the histogram together. */
static void histogram(struct side *s, const struct composer *c, const struct hist *h)
{
	u64 counts[BUCKETS] = { 0 }, most = 0, low, high;
	unsigned int i, first = BUCKETS, last = 0;

	out_puts(&s->text, "Turns by the time the group took in them");
	side_line(s, true);
	for (i = 0; i < h->len; i++) {
		u32 n = hist_bucket(h, i, &low, &high);
		unsigned int b = 0;

		while (b + 1 < BUCKETS && low >= 1024ull << b)
			b++;
		if (!n)
			continue;
		counts[b] += n;
		most = max_u64(most, counts[b]);
		first = b < first ? b : first;
		last = b > last ? b : last;
	}
	for (i = first; i <= last; i++) {
		char text[TEXT_NS_MAX];

		out_printf(&s->text, "  < %-8s ", text_ns(text, 1024ull << i));
		put_amount(s, c, counts[i], most);
		side_line(s, false);
	}
	if (!most) {
		out_puts(&s->text, "  none");
		side_line(s, false);
	}
}

static void edges(struct side *s, const char *title, const struct recent_edge *e, unsigned int n,
		  unsigned int most)
{
	unsigned int i;

	out_puts(&s->text, title);
	side_line(s, true);
	for (i = 0; i < n && i < most; i++) {
		char name[512], wall[TEXT_NS_MAX], calls[COUNT_TEXT_MAX];

		out_printf(&s->text, "  %9s %8s x  %s", time_text(wall, e[i].wall_ns),
			   count_short(calls, e[i].calls),
			   e[i].group ? name_text(name, sizeof(name), e[i].group)
				      : "(the event loop)");
		side_line(s, false);
	}
	if (!n || n > most) {
		out_printf(&s->text, n ? "  and %u more" : "  none yet", n - most);
		side_line(s, false);
	}
}

/* Line `i` of a list, at *at in its text; padded to `width` unless that is 0. */
static void put_side(struct composer *c, const struct side *s, unsigned int i, size_t *at,
		     unsigned int width)
{
	const char *text = *at < s->text.buf.len ? (const char *)s->text.buf.data + *at : "";
	size_t from = c->line.buf.len;

	if (i < s->lines)
		*at += strlen(text) + 1;
	else
		text = "";
	if (width)
		name_put(&c->line, text, width);
	else
		out_puts(&c->line, text);
	if (i < s->lines && s->head[i]) {
		mark_since(c, from, TINT_NAME);
	} else if (i < s->lines && s->bar_len[i]) {
		struct top_mark m = { from + s->bar_at[i], s->bar_len[i], TINT_SPARK };

		buf_put(&c->pending, &m, sizeof(m));
	}
}

/* left beside right, or above it where there is no room. */
static void put_sides(struct composer *c, const struct side *left, const struct side *right)
{
	bool beside = c->cut && c->width >= SIDE_BY_SIDE;
	unsigned int lines = beside && right->lines > left->lines ? right->lines : left->lines, i;
	size_t l = 0, r = 0;

	for (i = 0; i < lines; i++) {
		put_side(c, left, i, &l, beside ? c->width / 2 - 2 : 0);
		if (beside) {
			out_puts(&c->line, "  ");
			put_side(c, right, i, &r, 0);
		}
		end_line(c, LINE_PLAIN);
	}
	for (i = 0; !beside && i < right->lines; i++) {
		put_side(c, right, i, &r, 0);
		end_line(c, LINE_PLAIN);
	}
}

/* Events end by the clock of the snapshot, so ages need no clock here. */
static void put_worst(struct composer *c, const char *group)
{
	struct recent_event worst[RECENT_EVENTS];
	unsigned int n = recent_worst(c->f->recent, group, worst), i;

	out_puts(&c->line, "Worst turns of the last 5 minutes");
	end_line(c, LINE_HEAD);
	for (i = 0; i < n; i++) {
		char wall[TEXT_NS_MAX], whole[TEXT_NS_MAX], age[TEXT_NS_MAX], label[96];
		const struct recent_event *e = &worst[i];
		u64 old = c->f->total->end_ns - min_u64(e->end_ns, c->f->total->end_ns);

		out_printf(&c->line, "  %9s of a turn of %s, ", time_text(wall, e->wall_ns),
			   time_text(whole, e->event_ns));
		if (e->label[0])
			out_printf(&c->line, "%s, ", name_text(label, sizeof(label), e->label));
		if (old >= NSEC_PER_SEC)
			out_printf(&c->line, "%s ago", text_ns(age, old - old % NSEC_PER_SEC));
		else
			out_puts(&c->line, "just now");
		out_printf(&c->line, ", iteration %u, thread %u", e->iteration, e->tid);
		if (e->tid != e->pid)
			out_printf(&c->line, " of %u", e->pid);
		end_line(c, LINE_PLAIN);
	}
	if (!n) {
		out_puts(&c->line, "  none took it 100 us");
		end_line(c, LINE_PLAIN);
	}
}

void put_detail(struct composer *c, unsigned int height)
{
	const struct snapshot_group *g = snapshot_group(c->s, c->st->detail);
	struct recent_edge callers[RECENT_EDGES], callees[RECENT_EDGES];
	static const struct hist empty;
	struct side left = { 0 }, right = { 0 };
	unsigned int most = height && height < 40 ? 4 : 12;
	unsigned int in = 0, out = 0;
	char name[512], elapsed[TEXT_NS_MAX];

	out_printf(&c->line, "%s, %s %s", name_text(name, sizeof(name), c->st->detail),
		   c->interval ? "last" : "all", time_text(elapsed, c->f->elapsed_ns));
	end_line(c, LINE_TITLE);
	if (g) {
		put_figures(c, &g->stats);
		put_counts(c, g);
		put_processes(c, g);
	} else {
		out_puts(&c->line, "it has not ended a turn yet");
		end_line(c, LINE_DIM);
	}
	put_worst(c, c->st->detail);
	if (c->f->recent) {
		in = recent_callers(c->f->recent, callers);
		out = recent_callees(c->f->recent, callees);
	}
	out_open_memory(&left.text);
	out_open_memory(&right.text);
	edges(&right, "Called by, since this was opened: time, calls", callers, in, most);
	edges(&right, "Calls: time, calls", callees, out, most);
	histogram(&left, c, g ? &g->stats.hist : &empty);
	if (c->cut && c->width >= SIDE_BY_SIDE)
		put_sides(c, &left, &right);
	else
		put_sides(c, &right, &left);
	out_close(&left.text);
	out_close(&right.text);
}
