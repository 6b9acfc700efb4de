/* SPDX-License-Identifier: BSD-2-Clause */
/* The report for people. */
#include "model/sample.h"
#include "sink/complete.h"
#include "sink/containers.h"
#include "sink/figures.h"
#include "sink/sink.h"
#include "sink/summary.h"
#include "sink/table.h"
#include "sink/notes.h"
#include "sink/waits.h"
#include "sink/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct page {
	struct out *out;
	struct out line; /* the sentence under way */
	unsigned int width;
	bool color;
};

#define SGR_BOLD "\033[1m"
#define SGR_RED "\033[31m"
#define SGR_YELLOW "\033[33m"
#define SGR_END "\033[0m"

/* Prints the sentence under way, wrapped, and begins another. */
static void page_line(struct page *p, const char *sgr)
{
	bool color = p->color && sgr;

	out_write(&p->line, "", 1);
	if (p->line.error) {
		p->out->error = p->line.error;
		return;
	}
	if (color)
		out_puts(p->out, sgr);
	wrap_put(p->out, (const char *)p->line.buf.data, p->width, 0, 2);
	if (color)
		out_puts(p->out, SGR_END);
	buf_clear(&p->line.buf);
}

static void put_head(struct page *p, const struct snapshot *s, const struct report_source *src)
{
	char text[TEXT_NS_MAX], count[COUNT_TEXT_MAX], name[512];
	struct out *l = &p->line;

	summary_target(l, s);
	out_printf(l, ", %s",
		   time_text(text, s->end_ns > s->begin_ns ? s->end_ns - s->begin_ns : 0));
	if (src->file)
		out_printf(l, " of %s", name_text(name, sizeof(name), src->file));
	page_line(p, SGR_BOLD);

	out_printf(l, "%s event%s", count_text(count, s->events.count), plural(s->events.count));
	if (s->events.implicit)
		out_printf(l, " (%s implicit)", count_text(count, s->events.implicit));
	out_printf(l, ", %s in all", time_text(text, s->events.wall_ns));
	out_printf(l, ", longest %s", time_text(text, s->events.max_ns));
	out_printf(l, "; %s span%s;", count_text(count, s->spans), plural(s->spans));
	out_puts(l, " ");
	summary_complete(l, s);
	/* What made no sense between whole chunks, or is of a later version, is no loss that is known of. */
	if (src->note && snapshot_complete(s))
		out_puts(l, ", as far as the recording could be read");
	summary_unfinished(l, s);
	page_line(p, !snapshot_complete(s) ? SGR_RED : s->unfinished_count ? SGR_YELLOW : NULL);

	if (summary_parts(l, s))
		page_line(p, SGR_YELLOW);
	if (src->note) {
		out_printf(l, "note: %s", name_text(name, sizeof(name), src->note));
		page_line(p, SGR_YELLOW);
	}
	summary_worst(l, s, false);
	page_line(p, NULL);
}

/* A share of one half is the least sure: no other is further off. */
static void put_sampled(struct page *p, u64 samples)
{
	char count[COUNT_TEXT_MAX];
	u32 low, high;

	if (!samples)
		return;
	sample_interval(samples / 2, samples, &low, &high);
	out_printf(&p->line, "sampled: %s sample%s; shares are within %.1f points (95 %%)",
		   count_text(count, samples), plural(samples), (high - low) / 20000.0);
	page_line(p, NULL);
}

static void put_notes(struct page *p, const struct snapshot *s)
{
	struct note_line lines[NOTE_LINES];
	u32 n = note_lines(s, lines), i;

	for (i = 0; i < n; i++) {
		note_text(&p->line, s, &lines[i]);
		page_line(p, SGR_YELLOW);
		if (note_advice(&p->line, &lines[i]))
			page_line(p, NULL);
	}
}

static void put_table(struct page *p, const struct snapshot *s, const struct view *v)
{
	static const char *const sgr[] = {
		[ROW_GOOD] = NULL,
		[ROW_AVERAGE] = SGR_YELLOW,
		[ROW_POOR] = SGR_RED,
	};
	const struct snapshot_group **rows;
	char a[COUNT_TEXT_MAX], b[COUNT_TEXT_MAX];
	struct table t = { 0 };
	u32 i, n;

	rows = view_rows(s, v, &n);
	if (!rows) {
		p->out->error = -ENOMEM;
		return;
	}
	table_fit(&t, rows, n, p->width, v->sort);
	out_puts(p->out, p->color ? "\n" SGR_BOLD : "\n");
	table_title(&t, p->out);
	out_puts(p->out, p->color ? SGR_END "\n" : "\n");
	for (i = 0; i < n; i++) {
		const char *row = sgr[row_class(&rows[i]->stats)];

		if (p->color && row)
			out_puts(p->out, row);
		table_row(&t, p->out, rows[i], s->events.wall_ns);
		out_puts(p->out, p->color && row ? SGR_END "\n" : "\n");
	}
	free(rows);
	if (n < s->group_count) {
		out_printf(&p->line, "%s of %s groups shown", count_text(a, n),
			   count_text(b, s->group_count));
		page_line(p, NULL);
	}
	out_puts(p->out, "\n");
}

/* What of native is nobody's doing. */
static void put_kept(struct page *p, const struct ledger *l)
{
	struct kept_way ways[KEPT_WAYS];
	char count[COUNT_TEXT_MAX];
	const char *comma = " (of native ";
	size_t i;

	kept_ways(ways, l);
	for (i = 0; i < KEPT_WAYS; i++) {
		if (!ways[i].ns)
			continue;
		out_printf(&p->line, "%s%s for %s", comma, ways[i].words,
			   count_text(count, ways[i].ns));
		comma = ", ";
	}
	if (l->preempted_ns)
		out_puts(&p->line, ")");
}

/* The rule the figures live by, written out so that anybody can add it up. */
static void put_ledger(struct page *p, const struct ledger *l)
{
	const struct {
		const char *name;
		u64 ns;
	} parts[] = {
		{ "self", l->self_ns },     { "gc", l->gc_ns },       { "blocked", l->blocked_ns },
		{ "native", l->native_ns }, { "moved", l->moved_ns }, { "stale", l->stale_ns },
		{ "lost", l->lost_ns },
	};
	char count[COUNT_TEXT_MAX];
	const char *plus = "";
	u64 sum = 0;
	size_t i;

	out_puts(&p->line, "ledger: ");
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		sum += parts[i].ns;
		if (!parts[i].ns)
			continue;
		out_printf(&p->line, "%s%s %s", plus, count_text(count, parts[i].ns),
			   parts[i].name);
		plus = " + ";
	}
	if (!sum)
		out_puts(&p->line, "0");
	put_kept(p, l);
	out_printf(&p->line, " %s %s ns of event time",
		   sum == l->event_wall_ns ? "=" : "!=", count_text(count, l->event_wall_ns));
	page_line(p, sum == l->event_wall_ns ? NULL : SGR_RED);
}

/* Exact mode: the row of what ran in no group. */
static void put_native(struct page *p, const struct ledger *l)
{
	char time[TEXT_NS_MAX];
	u64 off = 0;
	u32 i;

	for (i = 0; i < VMSPAN_OFF_REASONS; i++)
		off += l->native_off_ns[i];
	if (!off)
		return;
	out_printf(&p->line, "native: %s on the CPU",
		   time_text(time, l->native_ns - l->preempted_ns - l->native_stock_ns));
	for (i = 0; i < VMSPAN_OFF_REASONS; i++)
		if (l->native_off_ns[i])
			out_printf(&p->line, ", %s %s", time_text(time, l->native_off_ns[i]),
				   off_reasons[i].words);
	page_line(p, NULL);
}

static void put_gc(struct page *p, const struct gc_stats *g)
{
	char count[COUNT_TEXT_MAX], total[TEXT_NS_MAX], max[TEXT_NS_MAX], freed[TEXT_BYTES_MAX];

	if (!g->count && !g->total_ns)
		return;
	if (g->count)
		out_printf(&p->line, "gc: %s collection%s", count_text(count, g->count),
			   plural(g->count));
	else
		out_puts(&p->line, "gc: none has ended");
	out_printf(&p->line, ", %s in all, longest %s", time_text(total, g->total_ns),
		   time_text(max, g->max_ns));
	if (g->freed_bytes)
		out_printf(&p->line, ", %s freed", text_bytes(freed, g->freed_bytes));
	page_line(p, NULL);
}

#define WAITS_SHOWN 5
#define WAITS_CHOSEN 20 /* of groups that were asked for */

static void put_waits(struct page *p, const struct snapshot *s, const struct view *v)
{
	u32 most = v->glob ? WAITS_CHOSEN : WAITS_SHOWN;

	if (!waits_count(s->waits, s->wait_count, v->glob))
		return;
	out_puts(p->out, "waits that somebody else ended:\n");
	if (waits_text(p->out, s->waits, s->wait_count, v->glob, most, p->width))
		p->out->error = -ENOMEM;
}

#define CONTAINERS_SHOWN 10

static int busier(const void *a, const void *b)
{
	const struct container_sum *x = a, *y = b;

	return (x->events.wall_ns < y->events.wall_ns) - (x->events.wall_ns > y->events.wall_ns);
}

/* Whose events they were, where that is more than one's. */
static void put_containers(struct page *p, const struct snapshot *s)
{
	char name[CONTAINER_LABEL_MAX], count[COUNT_TEXT_MAX], wall[TEXT_NS_MAX], cpu[TEXT_NS_MAX];
	struct container_sums sums;
	u32 i;

	if (container_sums_take(&sums, s)) {
		p->out->error = -ENOMEM;
		return;
	}
	if (sums.count)
		qsort(sums.list, sums.count, sizeof(*sums.list), busier);
	for (i = 0; sums.count > 1 && i < sums.count && i < CONTAINERS_SHOWN; i++) {
		const struct container_sum *c = &sums.list[i];

		out_printf(&p->line, "%s: %s event%s, %s in all, %s of CPU time",
			   container_label(&c->container, name), count_text(count, c->events.count),
			   plural(c->events.count), time_text(wall, c->events.wall_ns),
			   time_text(cpu, c->events.cpu_ns));
		page_line(p, NULL);
	}
	if (sums.count > CONTAINERS_SHOWN) {
		out_printf(&p->line, "%u more containers", sums.count - CONTAINERS_SHOWN);
		page_line(p, NULL);
	}
	container_sums_free(&sums);
}

static void put_repairs(struct page *p, const struct repair_stats *r)
{
	const struct {
		u64 count;
		const char *what;
	} parts[] = {
		{ r->repaired, "closed because their leave never came" },
		{ r->before_attach, "begun before the trace" },
		{ r->discarded_shares, "with times that make no sense" },
	};
	const char *separator = "spans left out or repaired: ";
	char count[COUNT_TEXT_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!parts[i].count)
			continue;
		out_printf(&p->line, "%s%s %s", separator, count_text(count, parts[i].count),
			   parts[i].what);
		separator = ", ";
	}
	if (p->line.buf.len)
		page_line(p, NULL);
}

#define UNFINISHED_LINES 10

/* Whom to ask, and where it was. */
static void put_unfinished(struct page *p, const struct snapshot *s)
{
	char time[TEXT_NS_MAX], name[256];
	u32 i, k;

	for (i = 0; i < s->unfinished_kept && i < UNFINISHED_LINES; i++) {
		const struct model_unfinished *u = &s->unfinished[i];

		out_printf(&p->line, "not ended: %s so far", time_text(time, u->for_ns));
		if (u->label[0])
			out_printf(&p->line, ", %s", name_text(name, sizeof(name), u->label));
		if (!u->event)
			out_puts(&p->line, ", outside of events");
		out_printf(&p->line, ", process %u, thread %u", u->pid, u->tid);
		out_printf(&p->line, ", %s", unfinished_why_text(u->why));
		if (u->stay_count)
			out_puts(&p->line, u->depth > u->stay_count ? ": ... > " : ": ");
		for (k = 0; k < u->stay_count; k++)
			out_printf(&p->line, "%s%s", k ? " > " : "",
				   name_text(name, sizeof(name), u->stay[k].name));
		page_line(p, SGR_YELLOW);
	}
	if (s->unfinished_count > i) {
		out_printf(&p->line, "not ended: %" PRIu64 " more", s->unfinished_count - i);
		page_line(p, SGR_YELLOW);
	}
}

static void put_losses(struct page *p, const struct snapshot *s)
{
	if (!lost_any(&s->losses))
		return;
	out_puts(&p->line, "lost: ");
	summary_losses(&p->line, &s->losses);
	page_line(p, SGR_RED);
}

void report_text(struct out *o, const struct snapshot *s, const struct report_source *src,
		 const struct view *v, unsigned int width, bool color)
{
	struct page p = { .out = o, .width = width < 40 ? 40 : width, .color = color };

	out_open_memory(&p.line);
	put_head(&p, s, src);
	put_sampled(&p, s->events.samples);
	put_notes(&p, s);
	put_table(&p, s, v);
	put_ledger(&p, &s->ledger);
	put_native(&p, &s->ledger);
	put_gc(&p, &s->gc);
	put_waits(&p, s, v);
	put_containers(&p, s);
	put_unfinished(&p, s);
	put_losses(&p, s);
	put_repairs(&p, &s->repairs);
	if (summary_cost(&p.line, s))
		page_line(&p, NULL);
	out_close(&p.line);
}
