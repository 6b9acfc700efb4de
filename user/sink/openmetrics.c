/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/openmetrics.h"
#include "base/intern.h"
#include "base/text.h"
#include "sink/containers.h"
#include "sink/metric_labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct metrics {
	struct labels *groups;
	struct intern *processes, *containers; /* names that have a label of their own */
	u64 reasons[3];
};

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	labels_free(m->groups);
	intern_free(m->processes);
	intern_free(m->containers);
	free(m);
}

/* The name's number, given if there is room; `most`: "(other)". */
static u32 number_of(struct intern *names, u32 most, const char *name)
{
	s64 id = intern_find(names, name, strlen(name));

	if (id < 0 && intern_count(names) < most)
		id = intern_put(names, name, strlen(name));
	return id < 0 ? most : (u32)id;
}

static const char *text_of(const struct intern *names, u32 most, u32 id)
{
	return id == most ? LABEL_OTHER : intern_get(names, id, NULL);
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
	FIGURE("group_cpu_margin_seconds", cpu_margin_ns, true,
	       "CPU time by which that may be too large or too small, at most."),
	FIGURE("group_blocked_seconds", blocked_ns, true, "Charged time in blocking calls."),
	FIGURE("group_gc_seconds", gc_ns, true, "Charged time in collections."),
	FIGURE("group_ticks", ticks, false, "Outermost entries."),
	FIGURE("group_events", events, false, "Events in which the group ran."),
	FIGURE("group_spans", spans, false, "Stays in the group's compartments."),
	FIGURE("group_incomplete_events", incomplete, false,
	       "Of its events: those that lack data."),
};

/* Of a group, and of its alerts the cause. */
static void put_label(struct metrics_out *o, const struct label *l, const char *cause, u64 v)
{
	const struct metric_label labels[] = { { "group", l->name },
					       { "kind", l->kind },
					       { "cause", cause } };

	o->form->value(o, labels, cause ? 3 : 2, v);
}

/* Behind the figures there are the alerts, by cause. */
#define FIGURES ARRAY_SIZE(figures)
_Static_assert(FIGURES + ALERT_CAUSES <= LABEL_COUNTS, "a label has too few counts");

struct metrics *metrics_new(u32 groups)
{
	struct metrics *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->groups = labels_new(groups ? groups : METRICS_GROUPS, FIGURES);
	m->processes = intern_new();
	m->containers = intern_new();
	if (m->groups && m->processes && m->containers)
		return m;
	metrics_free(m);
	return NULL;
}

int metrics_alert(struct metrics *m, const char *group, unsigned int reasons,
		  enum alert_cause cause)
{
	m->reasons[0]++;
	m->reasons[1] += !!(reasons & ALERT_IN_ANIMATION);
	m->reasons[2] += !!(reasons & ALERT_IN_INPUT);
	return labels_count(m->groups, group, FIGURES + cause);
}

static int take_groups(struct metrics *m, const struct snapshot *s)
{
	u64 counts[FIGURES];
	u32 i, k;

	for (i = 0; i < s->group_count; i++) {
		const struct snapshot_group *g = &s->groups[i];

		for (k = 0; k < FIGURES; k++)
			counts[k] = *(const u64 *)(const void *)((const char *)&g->stats +
								 figures[k].at);
		if (labels_add(m->groups, g->name, g->kind, counts, g->stats.max_ns))
			return -ENOMEM;
	}
	return labels_round(m->groups, s->end_ns);
}

static void put_groups(struct metrics_out *o, const struct metrics *m)
{
	static const struct metric_family most = { "group_max_seconds", METRIC_GAUGE, true,
						   "Most time charged in one event." };
	static const struct metric_family alerts = { "group_alerts", METRIC_COUNTER, false,
						     "Alerts of the group, by cause." };
	const struct label *list;
	u32 n = labels_shown(m->groups, &list), i, k;

	for (k = 0; k < FIGURES; k++) {
		const struct group_figure *f = &figures[k];

		begin(o, &(struct metric_family){ f->name, METRIC_COUNTER, f->seconds, f->help });
		for (i = 0; i < n; i++)
			put_label(o, &list[i], NULL, list[i].counts[k]);
		end(o);
	}
	begin(o, &most);
	for (i = 0; i < n; i++)
		put_label(o, &list[i], NULL, list[i].max_ns);
	end(o);
	begin(o, &alerts);
	for (i = 0; i < n; i++)
		for (k = 0; k < ALERT_CAUSES; k++)
			put_label(o, &list[i], alert_cause_name((enum alert_cause)k),
				  list[i].counts[FIGURES + k]);
	end(o);
}

/* ---- Histograms by process and kind ---- */

#define KINDS (VMSPAN_TOP + 1)

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
	u32 cells = (METRICS_PROCESSES + 1) * KINDS, g, c, i;
	struct group_stats *sum = calloc(cells, sizeof(*sum));
	int rc = 0;

	if (!sum)
		return -ENOMEM;
	for (g = 0; g < s->group_count; g++) {
		const struct snapshot_group *group = &s->groups[g];
		unsigned int kind = kind_of(group->kind, strlen(group->kind));

		for (c = 0; c < group->children; c++) {
			const struct snapshot_child *child = &s->children[group->first_child + c];
			u32 id = number_of(m->processes, METRICS_PROCESSES,
					   s->processes[child->process].name);

			rc = add_child(&sum[id * KINDS + kind], group, child) ?: rc;
		}
	}
	begin(o, &family);
	for (i = 0; i < cells; i++) {
		struct metric_label labels[] = { { "process", NULL },
						 { "kind", kind_name(i % KINDS) } };

		if (!sum[i].events)
			continue;
		labels[0].value = text_of(m->processes, METRICS_PROCESSES, i / KINDS);
		o->form->histogram(o, labels, ARRAY_SIZE(labels), &sum[i]);
		hist_free(&sum[i].hist);
	}
	end(o);
	free(sum);
	return rc;
}

/* ---- Containers ---- */

static const struct container_figure {
	const char *name, *help;
	enum metric_type type;
	bool seconds;
	size_t at; /* in struct container_sum */
} container_figures[] = {
#define FIGURE_OF(name, type, seconds, field, help)                                       \
	{                                                                                 \
		name, help, METRIC_##type, seconds, offsetof(struct container_sum, field) \
	}
	FIGURE_OF("container_events", COUNTER, false, events.count, "Events of its processes."),
	FIGURE_OF("container_incomplete_events", COUNTER, false, events.incomplete,
		  "Of them: those that lack data."),
	FIGURE_OF("container_event_wall_seconds", COUNTER, true, events.wall_ns,
		  "Time of these events."),
	FIGURE_OF("container_event_cpu_seconds", COUNTER, true, events.cpu_ns,
		  "CPU time of these events."),
	FIGURE_OF("container_collections", COUNTER, false, gc.count,
		  "Collections of its processes."),
	FIGURE_OF("container_collection_seconds", COUNTER, true, gc.total_ns,
		  "Time of these collections."),
};

/* Containers of one name are one. */
static int put_containers(struct metrics_out *o, struct metrics *m, const struct snapshot *s)
{
	u64 counts[METRICS_CONTAINERS + 1][ARRAY_SIZE(container_figures)] = { 0 };
	u32 processes[METRICS_CONTAINERS + 1] = { 0 }, i, k, count = 0;
	bool seen[METRICS_CONTAINERS + 1] = { false };
	struct container_sums sums;

	if (container_sums_take(&sums, s))
		return -ENOMEM;
	for (i = 0; i < sums.count; i++) {
		char label[CONTAINER_LABEL_MAX];
		u32 n = number_of(m->containers, METRICS_CONTAINERS,
				  container_label(&sums.list[i].container, label));

		for (k = 0; k < ARRAY_SIZE(container_figures); k++)
			counts[n][k] += *(const u64 *)(const void *)((const char *)&sums.list[i] +
								     container_figures[k].at);
		processes[n] += sums.list[i].processes;
		seen[n] = true;
		count = max_u32(count, n + 1);
	}
	container_sums_free(&sums);
	for (k = 0; k < ARRAY_SIZE(container_figures) && count; k++) {
		const struct container_figure *f = &container_figures[k];

		begin(o, &(struct metric_family){ f->name, f->type, f->seconds, f->help });
		for (i = 0; i < count; i++)
			if (seen[i])
				value(o, "container", text_of(m->containers, METRICS_CONTAINERS, i),
				      counts[i][k]);
		end(o);
	}
	if (!count)
		return 0;
	begin(o, &(struct metric_family){ "container_processes", METRIC_GAUGE, false,
					  "Its processes that are traced now." });
	for (i = 0; i < count; i++)
		if (seen[i])
			value(o, "container", text_of(m->containers, METRICS_CONTAINERS, i),
			      processes[i]);
	end(o);
	return 0;
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
	begin(o, &(struct metric_family){
			 "lost_records", METRIC_COUNTER, false,
			 "Records lost, by cause; marks_off: times, names: programs." });
	for (i = 0; i < LOSS_CAUSES; i++)
		value(o, "cause", loss_name((enum loss_cause)i), s->losses.records[i]);
	end(o);
	begin(o, &(struct metric_family){ "alerts", METRIC_COUNTER, false,
					  "Alerts, by reason; SLOWDOWN is all of them." });
	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		value(o, "reason", reasons[i], m->reasons[i]);
	end(o);
	for (i = 0; i < s->process_count; i++)
		alive += !s->processes[i].ended && !s->processes[i].sum;
	begin(o,
	      &(struct metric_family){ "processes", METRIC_GAUGE, false, "Processes traced now." });
	value(o, NULL, NULL, alive);
	end(o);
	begin(o,
	      &(struct metric_family){ "left_out_processes", METRIC_GAUGE, false,
				       "Processes that were asked for and are not traced, or not "
				       "all of them." });
	value(o, NULL, NULL, s->left_out);
	end(o);
}

int metrics_page(struct metrics *m, const struct snapshot *s, const struct metrics_form *form,
		 struct out *to)
{
	struct metrics_out o = { .form = form, .o = to };
	int rc = take_groups(m, s);

	if (!rc) {
		put_groups(&o, m);
		put_totals(&o, m, s);
		rc = put_histograms(&o, m, s) ?: put_containers(&o, m, s);
		form->finish(&o);
	}
	buf_free(&o.family);
	return rc ? rc : to->error;
}
