/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/openmetrics.h"
#include "base/intern.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OTHER "(other)"

/* Names that have a label of their own, from 0; `limit` stands for OTHER. */
struct names {
	struct intern *known;
	u32 limit;
};

struct metrics {
	struct names groups, processes;
	u64 *alerts; /* by group; groups.limit + 1 */
	u64 reasons[3], all_alerts;
};

static int names_init(struct names *n, u32 limit)
{
	n->known = intern_new();
	n->limit = limit;
	return n->known ? 0 : -ENOMEM;
}

struct metrics *metrics_new(u32 groups)
{
	struct metrics *m = calloc(1, sizeof(*m));
	u32 limit = groups ? groups : METRICS_GROUPS;

	if (!m)
		return NULL;
	m->alerts = calloc((size_t)limit + 1, sizeof(*m->alerts));
	if (names_init(&m->groups, limit) || names_init(&m->processes, METRICS_PROCESSES) ||
	    !m->alerts) {
		metrics_free(m);
		return NULL;
	}
	return m;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	intern_free(m->groups.known);
	intern_free(m->processes.known);
	free(m->alerts);
	free(m);
}

/* The name's number, given if there is room; n->limit: OTHER. */
static u32 name_of(struct names *n, const char *name)
{
	s64 id = intern_find(n->known, name, strlen(name));

	if (id < 0 && intern_count(n->known) < n->limit)
		id = intern_put(n->known, name, strlen(name));
	return id < 0 ? n->limit : (u32)id;
}

static const char *name_text_of(const struct names *n, u32 id)
{
	return id == n->limit ? OTHER : intern_get(n->known, id, NULL);
}

void metrics_alert(struct metrics *m, const char *group, unsigned int reasons)
{
	m->all_alerts++;
	m->alerts[name_of(&m->groups, group)]++;
	m->reasons[0]++;
	m->reasons[1] += !!(reasons & ALERT_IN_ANIMATION);
	m->reasons[2] += !!(reasons & ALERT_IN_INPUT);
}

/* ---- Text ---- */

void metrics_label(struct out *o, const char *text)
{
	size_t len = strlen(text), n;

	for (; len; text += n, len -= n) {
		n = text_utf8_len(text, len);
		if (!n || (u8)*text < 0x20 || *text == 0x7f) {
			n = 1;
			out_puts(o, "\xef\xbf\xbd");
		} else if (*text == '"' || *text == '\\') {
			out_printf(o, "\\%c", *text);
		} else {
			out_write(o, text, n);
		}
	}
}

static void put_help(struct out *o, const char *name, const char *type, const char *unit,
		     const char *help)
{
	out_printf(o, "# TYPE vmspan_%s %s\n", name, type);
	if (unit)
		out_printf(o, "# UNIT vmspan_%s %s\n", name, unit);
	out_printf(o, "# HELP vmspan_%s %s\n", name, help);
}

/* ns as seconds with all their digits. */
static void put_seconds(struct out *o, u64 ns)
{
	u64 seconds = ns / NSEC_PER_SEC, rest = ns % NSEC_PER_SEC;

	out_printf(o, " %" PRIu64 ".%09" PRIu64 "\n", seconds, rest);
}

static void put_value(struct out *o, bool seconds, u64 v)
{
	if (seconds)
		put_seconds(o, v);
	else
		out_printf(o, " %" PRIu64 "\n", v);
}

/* ---- Groups ---- */

static const struct group_figure {
	const char *name, *help;
	size_t at; /* in struct group_stats */
	bool seconds;
} figures[] = {
#define FIGURE(name, field, seconds, help)                               \
	{                                                                \
		name, help, offsetof(struct group_stats, field), seconds \
	}
	FIGURE("group_wall_seconds", wall_ns, true, "Time charged to the group."),
	FIGURE("group_self_seconds", self_ns, true, "Time in the group's own code."),
	FIGURE("group_cpu_seconds", cpu_ns, true, "CPU time charged to the group."),
	FIGURE("group_blocked_seconds", blocked_ns, true, "Charged time in blocking calls."),
	FIGURE("group_gc_seconds", gc_ns, true, "Charged time in collections."),
	FIGURE("group_ticks", ticks, false, "Outermost entries."),
	FIGURE("group_events", events, false, "Events in which the group ran."),
	FIGURE("group_spans", spans, false, "Stays in the group's compartments."),
	FIGURE("group_incomplete_events", incomplete, false,
	       "Of its events: those that lack data."),
};

/* Sums of the groups that share a label, by its number. */
struct sums {
	struct group_stats *of; /* without histograms */
	const char **kind; /* NULL: none */
	u32 count;
};

static u64 *field_of(struct group_stats *s, const struct group_figure *f)
{
	return (u64 *)(void *)((char *)s + f->at);
}

/* Largest first, so that those get names while there is room. */
static int take_groups(struct metrics *m, const struct snapshot *s, struct sums *sums)
{
	struct view v = { .sort = "wall" };
	const struct snapshot_group **rows;
	u32 i, k, n;

	sums->count = m->groups.limit + 1;
	sums->of = calloc(sums->count, sizeof(*sums->of));
	sums->kind = calloc(sums->count, sizeof(*sums->kind));
	rows = view_rows(s, &v, &n);
	if (!sums->of || !sums->kind || !rows) {
		free(rows);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++) {
		struct group_stats from = rows[i]->stats;
		u32 id = name_of(&m->groups, rows[i]->name);

		for (k = 0; k < ARRAY_SIZE(figures); k++)
			*field_of(&sums->of[id], &figures[k]) += *field_of(&from, &figures[k]);
		sums->of[id].max_ns = max_u64(sums->of[id].max_ns, from.max_ns);
		sums->kind[id] = id == m->groups.limit ? OTHER : rows[i]->kind;
	}
	free(rows);
	return 0;
}

static void group_labels(struct out *o, const struct metrics *m, const struct sums *sums, u32 id)
{
	out_puts(o, "{group=\"");
	metrics_label(o, name_text_of(&m->groups, id));
	out_printf(o, "\",kind=\"%s\"}", sums->kind[id]);
}

static void put_groups(struct out *o, const struct metrics *m, struct sums *sums)
{
	u32 i, k;

	for (k = 0; k < ARRAY_SIZE(figures); k++) {
		const struct group_figure *f = &figures[k];

		put_help(o, f->name, "counter", f->seconds ? "seconds" : NULL, f->help);
		for (i = 0; i < sums->count; i++) {
			if (!sums->kind[i])
				continue;
			out_printf(o, "vmspan_%s_total", f->name);
			group_labels(o, m, sums, i);
			put_value(o, f->seconds, *field_of(&sums->of[i], f));
		}
	}
	put_help(o, "group_max_seconds", "gauge", "seconds", "Most time charged in one event.");
	for (i = 0; i < sums->count; i++) {
		if (!sums->kind[i])
			continue;
		out_puts(o, "vmspan_group_max_seconds");
		group_labels(o, m, sums, i);
		put_seconds(o, sums->of[i].max_ns);
	}
	put_help(o, "group_alerts", "counter", NULL, "Alerts of the group.");
	for (i = 0; i < sums->count; i++) {
		if (!sums->kind[i])
			continue;
		out_puts(o, "vmspan_group_alerts_total");
		group_labels(o, m, sums, i);
		out_printf(o, " %" PRIu64 "\n", m->alerts[i]);
	}
}

/* ---- Histograms by process and kind ---- */

#define KINDS (VMSPAN_TOP + 1)

static unsigned int kind_number(const char *kind)
{
	unsigned int k;

	for (k = 1; k < KINDS; k++)
		if (!strcmp(kind_name(k), kind))
			return k;
	return 0;
}

static void put_histogram(struct out *o, const char *process, const char *kind,
			  const struct group_stats *s)
{
	unsigned int i;

	/* durations[i] are the events strictly longer: the rest is le. */
	for (i = 0; i <= JANK_BUCKETS; i++) {
		out_puts(o, "vmspan_group_event_seconds_bucket{process=\"");
		metrics_label(o, process);
		out_printf(o, "\",kind=\"%s\",le=\"", kind);
		if (i < JANK_BUCKETS)
			out_printf(o, "0.%03u\"} %" PRIu64 "\n", 1u << i,
				   s->events - s->durations[i]);
		else
			out_printf(o, "+Inf\"} %" PRIu64 "\n", s->events);
	}
	out_puts(o, "vmspan_group_event_seconds_count{process=\"");
	metrics_label(o, process);
	out_printf(o, "\",kind=\"%s\"} %" PRIu64 "\n", kind, s->events);
	out_puts(o, "vmspan_group_event_seconds_sum{process=\"");
	metrics_label(o, process);
	out_printf(o, "\",kind=\"%s\"}", kind);
	put_seconds(o, s->wall_ns);
}

static int put_histograms(struct out *o, struct metrics *m, const struct snapshot *s)
{
	u32 cells = (m->processes.limit + 1) * KINDS, g, c, i, b;
	struct group_stats *sum = calloc(cells, sizeof(*sum));

	if (!sum)
		return -ENOMEM;
	for (g = 0; g < s->group_count; g++) {
		const struct snapshot_group *group = &s->groups[g];
		unsigned int kind = kind_number(group->kind);

		for (c = 0; c < group->children; c++) {
			const struct snapshot_child *child = &s->children[group->first_child + c];
			u32 id = name_of(&m->processes, s->processes[child->process].name);
			struct group_stats *to = &sum[id * KINDS + kind];

			to->events += child->stats.events;
			to->wall_ns += child->stats.wall_ns;
			for (b = 0; b < JANK_BUCKETS; b++)
				to->durations[b] += child->stats.durations[b];
		}
	}
	put_help(o, "group_event_seconds", "histogram", "seconds",
		 "Time charged to a group in one event, of all groups of a kind.");
	for (i = 0; i < cells; i++)
		if (sum[i].events)
			put_histogram(o, name_text_of(&m->processes, i / KINDS),
				      kind_name(i % KINDS), &sum[i]);
	free(sum);
	return 0;
}

/* ---- Totals ---- */

static void put_one(struct out *o, const char *name, const char *help, bool seconds, u64 v)
{
	put_help(o, name, "counter", seconds ? "seconds" : NULL, help);
	out_printf(o, "vmspan_%s_total", name);
	put_value(o, seconds, v);
}

static void put_ledger(struct out *o, const struct ledger *l)
{
	const struct {
		const char *part;
		u64 ns;
	} parts[] = { { "self", l->self_ns },       { "gc", l->gc_ns },
		      { "blocked", l->blocked_ns }, { "native", l->native_ns },
		      { "moved", l->moved_ns },     { "stale", l->stale_ns },
		      { "lost", l->lost_ns } };
	size_t i;

	put_help(o, "ledger_seconds", "counter", "seconds",
		 "Where the events' time went; the parts add up to it.");
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		out_printf(o, "vmspan_ledger_seconds_total{part=\"%s\"}", parts[i].part);
		put_seconds(o, parts[i].ns);
	}
}

static void put_totals(struct out *o, const struct metrics *m, const struct snapshot *s)
{
	static const char *const reasons[] = { "SLOWDOWN", "IN_ANIMATION", "IN_INPUT" };
	u32 i, alive = 0;

	put_one(o, "events", "Events seen.", false, s->events.count);
	put_one(o, "incomplete_events", "Of them: those that lack data.", false,
		s->events.incomplete);
	put_one(o, "event_wall_seconds", "Time of all events.", true, s->events.wall_ns);
	put_one(o, "event_cpu_seconds", "CPU time of all events.", true, s->events.cpu_ns);
	put_one(o, "collections", "Collections seen.", false, s->gc.count);
	put_one(o, "collection_seconds", "Time of all collections.", true, s->gc.total_ns);
	put_one(o, "spans", "Spans received.", false, s->spans);
	put_ledger(o, &s->ledger);
	put_help(o, "lost_records", "counter", NULL, "Records lost, by cause.");
	for (i = 0; i < LOSS_CAUSES; i++)
		out_printf(o, "vmspan_lost_records_total{cause=\"%s\"} %" PRIu64 "\n",
			   loss_name((enum loss_cause)i), s->losses.records[i]);
	put_help(o, "alerts", "counter", NULL, "Alerts, by reason; SLOWDOWN is all of them.");
	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		out_printf(o, "vmspan_alerts_total{reason=\"%s\"} %" PRIu64 "\n", reasons[i],
			   m->reasons[i]);
	for (i = 0; i < s->process_count; i++)
		alive += !s->processes[i].ended;
	put_help(o, "processes", "gauge", NULL, "Processes traced now.");
	out_printf(o, "vmspan_processes %u\n", alive);
}

int metrics_page(struct metrics *m, const struct snapshot *s, struct out *o)
{
	struct sums sums = { 0 };
	int rc = take_groups(m, s, &sums);

	if (!rc) {
		put_groups(o, m, &sums);
		put_totals(o, m, s);
		rc = put_histograms(o, m, s);
		out_puts(o, "# EOF\n");
	}
	free(sums.of);
	free(sums.kind);
	return rc ? rc : o->error;
}
