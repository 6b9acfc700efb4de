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

const char *metrics_char(const char *text, size_t len, size_t *from, size_t *to)
{
	*from = *to = text_utf8_len(text, len);
	if (*from && (u8)*text >= 0x20 && *text != 0x7f)
		return text;
	*from = 1;
	*to = 3;
	return "\xef\xbf\xbd";
}

static void begin(struct metrics_out *m, const struct metric_family *f)
{
	m->type = f->type;
	m->seconds = f->seconds;
	m->name = f->name;
	m->form->begin(m, f);
}

static void value(struct metrics_out *m, const char *label, const char *text, u64 v)
{
	const struct metric_label l = { label, text };

	m->form->value(m, &l, label != NULL, v);
}

static void end(struct metrics_out *m)
{
	m->form->end(m);
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

/* A value of each group: `at` in its figures, or (NULL) its alerts. */
static void put_family(struct metrics_out *o, const struct metrics *m, const struct sums *sums,
		       const struct metric_family *f, const size_t *at)
{
	u32 i;

	begin(o, f);
	for (i = 0; i < sums->count; i++) {
		struct metric_label labels[] = { { "group", NULL }, { "kind", sums->kind[i] } };

		if (!sums->kind[i])
			continue;
		labels[0].value = name_text_of(&m->groups, i);
		o->form->value(o, labels, ARRAY_SIZE(labels),
			       at ? *(u64 *)(void *)((char *)&sums->of[i] + *at) : m->alerts[i]);
	}
	end(o);
}

static void put_groups(struct metrics_out *o, const struct metrics *m, struct sums *sums)
{
	static const struct metric_family most = { "group_max_seconds", METRIC_GAUGE, true,
						   "Most time charged in one event." };
	static const struct metric_family alerts = { "group_alerts", METRIC_COUNTER, false,
						     "Alerts of the group." };
	static const size_t max_at = offsetof(struct group_stats, max_ns);
	u32 k;

	for (k = 0; k < ARRAY_SIZE(figures); k++) {
		const struct group_figure *f = &figures[k];
		const struct metric_family family = { f->name, METRIC_COUNTER, f->seconds,
						      f->help };

		put_family(o, m, sums, &family, &f->at);
	}
	put_family(o, m, sums, &most, &max_at);
	put_family(o, m, sums, &alerts, NULL);
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

/* Adds what a group had in one process. */
static int add_child(struct group_stats *to, const struct snapshot_group *g,
		     const struct snapshot_child *c)
{
	u32 b;

	to->events += c->stats.events;
	to->wall_ns += c->stats.wall_ns;
	for (b = 0; b < JANK_BUCKETS; b++)
		to->durations[b] += c->stats.durations[b];
	/* An only child's histogram is its group's. */
	return hist_merge(&to->hist, g->children == 1 ? &g->stats.hist : &c->stats.hist);
}

static int put_histograms(struct metrics_out *o, struct metrics *m, const struct snapshot *s)
{
	static const struct metric_family family = {
		"group_event_seconds", METRIC_HISTOGRAM, true,
		"Time charged to a group in one event, of all groups of a kind."
	};
	u32 cells = (m->processes.limit + 1) * KINDS, g, c, i;
	struct group_stats *sum = calloc(cells, sizeof(*sum));
	int rc = 0;

	if (!sum)
		return -ENOMEM;
	for (g = 0; g < s->group_count; g++) {
		const struct snapshot_group *group = &s->groups[g];
		unsigned int kind = kind_number(group->kind);

		for (c = 0; c < group->children; c++) {
			const struct snapshot_child *child = &s->children[group->first_child + c];
			u32 id = name_of(&m->processes, s->processes[child->process].name);

			rc = add_child(&sum[id * KINDS + kind], group, child) ?: rc;
		}
	}
	begin(o, &family);
	for (i = 0; i < cells; i++) {
		struct metric_label labels[] = { { "process", NULL },
						 { "kind", kind_name(i % KINDS) } };

		if (!sum[i].events)
			continue;
		labels[0].value = name_text_of(&m->processes, i / KINDS);
		o->form->histogram(o, labels, ARRAY_SIZE(labels), &sum[i]);
		hist_free(&sum[i].hist);
	}
	end(o);
	free(sum);
	return rc;
}

/* ---- Totals ---- */

static void put_one(struct metrics_out *o, const char *name, const char *help, bool seconds, u64 v)
{
	begin(o, &(struct metric_family){ name, METRIC_COUNTER, seconds, help });
	value(o, NULL, NULL, v);
	end(o);
}

static void put_ledger(struct metrics_out *o, const struct ledger *l)
{
	const struct {
		const char *part;
		u64 ns;
	} parts[] = { { "self", l->self_ns },       { "gc", l->gc_ns },
		      { "blocked", l->blocked_ns }, { "native", l->native_ns },
		      { "moved", l->moved_ns },     { "stale", l->stale_ns },
		      { "lost", l->lost_ns } };
	size_t i;

	begin(o, &(struct metric_family){ "ledger_seconds", METRIC_COUNTER, true,
					  "Where the events' time went; the parts add up to it." });
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		value(o, "part", parts[i].part, parts[i].ns);
	end(o);
}

static void put_totals(struct metrics_out *o, const struct metrics *m, const struct snapshot *s)
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
	begin(o, &(struct metric_family){ "lost_records", METRIC_COUNTER, false,
					  "Records lost, by cause." });
	for (i = 0; i < LOSS_CAUSES; i++)
		value(o, "cause", loss_name((enum loss_cause)i), s->losses.records[i]);
	end(o);
	begin(o, &(struct metric_family){ "alerts", METRIC_COUNTER, false,
					  "Alerts, by reason; SLOWDOWN is all of them." });
	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		value(o, "reason", reasons[i], m->reasons[i]);
	end(o);
	for (i = 0; i < s->process_count; i++)
		alive += !s->processes[i].ended;
	begin(o,
	      &(struct metric_family){ "processes", METRIC_GAUGE, false, "Processes traced now." });
	value(o, NULL, NULL, alive);
	end(o);
}

int metrics_page(struct metrics *m, const struct snapshot *s, const struct metrics_form *form,
		 struct out *to)
{
	struct metrics_out o = { .form = form, .o = to };
	struct sums sums = { 0 };
	int rc = take_groups(m, s, &sums);

	if (!rc) {
		put_groups(&o, m, &sums);
		put_totals(&o, m, s);
		rc = put_histograms(&o, m, s);
		form->finish(&o);
	}
	buf_free(&o.family);
	free(sums.of);
	free(sums.kind);
	return rc ? rc : to->error;
}
