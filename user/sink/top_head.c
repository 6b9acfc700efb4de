/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines above the live table. */
#include "sink/complete.h"
#include "sink/summary.h"
#include "sink/top_int.h"
#include "sink/notes.h"
#include "sink/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BAR_LEAST 100 /* columns of a screen that has room for the bar */
#define BAR_MOST 60

static void put_title(struct composer *c)
{
	static const char *const trees[TOP_TREES] = {
		[TOP_FLAT] = "",
		[TOP_BY_PROCESS] = ", tree by process",
		[TOP_BY_KIND] = ", tree by kind",
		[TOP_BY_GROUP] = ", tree by group",
		[TOP_BY_CONTAINER] = ", tree by container",
		[TOP_THREADS] = ", threads",
	};
	const struct top_state *st = c->st;
	char elapsed[TEXT_NS_MAX], glob[256];

	summary_target(&c->line, c->f->total);
	out_printf(&c->line, ", %s %s, by %s%s%s", c->interval ? "last" : "all",
		   time_text(elapsed, c->f->elapsed_ns), st->view.sort ? st->view.sort : "self",
		   st->view.reverse ? " reversed" : "", trees[st->tree]);
	if (st->view.glob)
		out_printf(&c->line, ", only %s", name_text(glob, sizeof(glob), st->view.glob));
	if (st->paused)
		put_tint(c, TINT_WARN, ", PAUSED");
	if (c->f->ended)
		put_tint(c, TINT_WARN, ", ENDED");
	if (c->f->recording)
		put_tint(c, TINT_BAD, ", RECORDING");
	end_line(c, LINE_HEAD);
}

static void put_limit(struct composer *c, const char *name, u64 n, enum tint tint)
{
	char text[48];

	snprintf(text, sizeof(text), "  %s %" PRIu64, name, n);
	put_tint(c, n ? tint : TINT_NONE, text);
}

static void put_rates(struct composer *c)
{
	double seconds = (double)max_u64(c->f->elapsed_ns, 1) / 1e9;
	char a[COUNT_TEXT_MAX], b[COUNT_TEXT_MAX], mean[TEXT_NS_MAX], busy[PERCENT_MAX];
	const struct event_stats *e = &c->s->events;
	bool looks = e->samples && !c->s->spans;

	out_printf(
		&c->line, "%s events/s  %s %s/s  mean %s",
		count_short(a, (u64)((double)e->count / seconds + 0.5)),
		count_short(b, (u64)((double)(looks ? e->samples : c->s->spans) / seconds + 0.5)),
		looks ? "looks" : "spans", time_text(mean, e->count ? e->wall_ns / e->count : 0));
	put_limit(c, ">16ms", e->durations[4], TINT_WARN);
	put_limit(c, ">64ms", e->durations[6], TINT_BAD);
	out_printf(&c->line, "  busy %s %%", percent_text(busy, e->wall_ns, c->f->elapsed_ns));
	if (c->s->cost.cpu_ns)
		out_printf(&c->line, "  cost ~%s %%",
			   percent_text(busy, c->s->cost.cpu_ns, c->f->elapsed_ns));
	end_line(c, LINE_PLAIN);
}

struct part {
	const char *name;
	char letter;
	enum tint tint;
	u64 ns;
	bool always;
};

/* The time of turns as a bar of blocks, or of letters where blocks of
 * different colours could not be told apart. */
static void put_bar(struct composer *c, const struct part *parts, size_t n, u64 whole)
{
	unsigned int width = c->width / 3 < BAR_MOST ? c->width / 3 : BAR_MOST, done = 0;
	bool blocks = c->st->color && !c->st->ascii;
	u64 sum = 0;
	size_t i;

	out_puts(&c->line, "[");
	for (i = 0; i < n; i++) {
		size_t at = c->line.buf.len;
		unsigned int to;

		sum += parts[i].ns;
		to = whole ? (unsigned int)((double)sum * width / (double)whole + 0.5) : 0;
		for (; done < to && done < width; done++) {
			if (blocks)
				out_puts(&c->line, "\xe2\x96\x88");
			else
				out_write(&c->line, &parts[i].letter, 1);
		}
		mark_since(c, at, parts[i].tint);
	}
	out_printf(&c->line, "%*s] ", (int)(width - done), "");
}

static void put_shares(struct composer *c)
{
	const struct ledger *l = &c->s->ledger;
	const struct part parts[] = {
		{ "self", 's', TINT_SELF, l->self_ns, true },
		{ "gc", 'g', TINT_GC, l->gc_ns, true },
		{ "blocked", 'b', TINT_BLOCKED, l->blocked_ns, true },
		{ "native", 'n', TINT_NATIVE, l->native_ns, true },
		{ "moved", 'm', TINT_OTHER, l->moved_ns, false },
		{ "stale", 'x', TINT_OTHER, l->stale_ns, false },
		{ "lost", '?', TINT_BAD, l->lost_ns, false },
	};
	char text[PERCENT_MAX];
	size_t i;

	if (c->cut && c->width >= BAR_LEAST)
		put_bar(c, parts, ARRAY_SIZE(parts), l->event_wall_ns);
	else
		out_puts(&c->line, "of event time: ");
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!parts[i].always && !parts[i].ns)
			continue;
		put_tint(c, c->st->color ? parts[i].tint : TINT_NONE, parts[i].name);
		out_printf(&c->line, " %s %%  ", percent_text(text, parts[i].ns, l->event_wall_ns));
	}
	end_line(c, LINE_PLAIN);
}

/* The innermost stay that lasts longest, since that is where a thread hangs. */
static void put_running(struct composer *c)
{
	const struct top_running *longest = NULL;
	char name[512], time[TEXT_NS_MAX];
	u32 i;

	for (i = 0; i < c->f->running_count; i++) {
		const struct top_running *r = &c->f->running[i];

		if (r->innermost && (!longest || r->for_ns > longest->for_ns))
			longest = r;
	}
	if (!longest)
		return;
	out_printf(&c->line, "still running: %s for %s in thread %u",
		   name_text(name, sizeof(name), longest->group), text_ns(time, longest->for_ns),
		   longest->tid);
	if (longest->tid != longest->pid)
		out_printf(&c->line, " of %u", longest->pid);
	end_line(c, LINE_WARN);
}

/* The line, as several where the screen is too narrow for it. */
static void end_wrapped(struct composer *c, enum line_class class)
{
	struct out whole = c->line;
	const char *at;
	size_t left;

	if (!c->cut || whole.buf.len <= c->width || whole.error) {
		end_line(c, class);
		return;
	}
	out_open_memory(&c->line);
	at = (const char *)whole.buf.data;
	for (left = whole.buf.len; left;) {
		size_t indent = at == (const char *)whole.buf.data ? 0 : 5,
		       room = c->width - indent, n = left;

		if (n > room)
			for (n = room; n > room / 2 && at[n] != ' '; n--)
				;
		/* Not within a character; name_text() has made sure that they are some. */
		while (n < left && n && ((unsigned char)at[n] & 0xc0) == 0x80)
			n--;
		out_printf(&c->line, "%*s%.*s", (int)indent, "", (int)n, at);
		end_line(c, class);
		n += n < left && at[n] == ' ';
		at += n;
		left -= n;
	}
	out_close(&c->line);
	c->line = whole;
	buf_clear(&c->line.buf);
}

/* The first; a report says all. */
static void put_note(struct composer *c, bool advice)
{
	const struct snapshot *s = c->f->total;
	struct note_line lines[NOTE_LINES];
	u32 n = note_lines(s, lines);
	char text[768];

	if (!n)
		return;
	note_text(&c->line, s, &lines[0]);
	if (n > 1)
		out_printf(&c->line, " (and %u more: vmspan report)", n - 1);
	end_wrapped(c, LINE_WARN);
	if (!advice || !lines[0].note->advice[0])
		return;
	out_printf(&c->line, "  -> %s", name_text(text, sizeof(text), lines[0].note->advice));
	end_wrapped(c, LINE_PLAIN);
}

struct janky {
	const struct snapshot_process *p;
	u64 over16, over64;
};

static int jankier(const void *a, const void *b)
{
	const struct janky *x = a, *y = b;

	if (x->over64 != y->over64)
		return x->over64 < y->over64 ? 1 : -1;
	if (x->over16 != y->over16)
		return x->over16 < y->over16 ? 1 : -1;
	return (x->p->id > y->p->id) - (x->p->id < y->p->id);
}

/* One line: "turns >16ms / >64ms: host 4711 12/3, host 4712 0/0". */
static void put_processes(struct composer *c)
{
	const struct snapshot *s = c->s;
	struct janky *list = calloc((size_t)s->process_count + 1, sizeof(*list));
	u32 i, n = 0;

	for (i = 0; list && i < s->process_count; i++) {
		const struct snapshot_process *p = &s->processes[i];

		if (p->events.count && !p->ended && !p->sum)
			list[n++] =
				(struct janky){ p, p->events.durations[4], p->events.durations[6] };
	}
	if (n > 1) {
		qsort(list, n, sizeof(*list), jankier);
		out_puts(&c->line, "turns >16ms/>64ms:");
		/* The line is cut anyway. */
		for (i = 0; i < n && i < 32; i++) {
			char text[48], name[64];

			snprintf(text, sizeof(text), "%" PRIu64 "/%" PRIu64, list[i].over16,
				 list[i].over64);
			out_printf(&c->line, "%s %s %u ", i ? "," : "",
				   name_text(name, sizeof(name), list[i].p->name), list[i].p->pid);
			put_tint(c,
				 list[i].over64   ? TINT_BAD
				 : list[i].over16 ? TINT_WARN
						  : TINT_NONE,
				 text);
		}
		end_line(c, LINE_PLAIN);
	}
	free(list);
}

void put_head(struct composer *c, unsigned int height)
{
	const struct snapshot *total = c->f->total;
	char max[TEXT_NS_MAX];

	put_title(c);
	put_rates(c);
	put_shares(c);
	summary_complete(&c->line, total);
	summary_unfinished(&c->line, total);
	out_printf(&c->line, "; longest turn so far %s", time_text(max, total->events.max_ns));
	end_line(c, snapshot_complete(total) ? LINE_PLAIN : LINE_WARN);
	if (lost_any(&total->losses)) {
		summary_losses(&c->line, &total->losses);
		end_line(c, LINE_WARN);
	}
	if (summary_parts(&c->line, c->s))
		end_line(c, LINE_WARN);
	put_note(c, !height || height >= 16);
	if (!height || height >= 16)
		put_processes(c);
	put_running(c);
	summary_worst(&c->line, c->s, c->interval);
	end_line(c, LINE_PLAIN);
}
