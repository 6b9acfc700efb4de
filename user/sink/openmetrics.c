/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/openmetrics.h"
#include "base/text.h"
#include "sink/complete.h"
#include "sink/containers.h"
#include "sink/metric_labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct metrics {
	struct labels *groups, *processes, *containers;
	u64 reasons[3];
	/* As told: what was a gap may have got a cause since. */
	u64 lost[LOSS_CAUSES], lost_batches[LOSS_CAUSES];
};

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	labels_free(m->groups);
	labels_free(m->processes);
	labels_free(m->containers);
	free(m);
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

int metrics_alert(struct metrics *m, const char *group, unsigned int reasons,
		  enum alert_cause cause)
{
	m->reasons[0]++;
	m->reasons[1] += !!(reasons & ALERT_IN_ANIMATION);
	m->reasons[2] += !!(reasons & ALERT_IN_INPUT);
	return labels_count(m->groups, group, FIGURES + cause);
}

static bool has_ended(const struct snapshot_process *p)
{
	return p->ended || p->sum;
}

/* A group that is renamed keeps its row. In a sum it has another one. */
static u32 part_in_sum(const struct snapshot_group *g)
{
	return 1u << 31 | (u32)g->id;
}

static int take_group(struct metrics *m, const struct snapshot *s, const struct snapshot_group *g,
		      const struct snapshot_child *c)
{
	const struct snapshot_process *p = &s->processes[c->process];
	const struct label_source source = { .id = p->id,
					     .part = p->sum ? part_in_sum(g) : c->row,
					     .name = g->name,
					     .kind = g->kind,
					     .ended = has_ended(p),
					     .pool = p->container_number,
					     .heir_part = part_in_sum(g) };
	u64 counts[FIGURES];
	u32 k;

	for (k = 0; k < FIGURES; k++)
		counts[k] = *(const u64 *)(const void *)((const char *)&c->stats + figures[k].at);
	return labels_add(m->groups, &source, counts, NULL, c->stats.max_ns);
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
			put_label(o, &list[i], NULL, list[i].cells->counts[k]);
		end(o);
	}
	begin(o, &most);
	for (i = 0; i < n; i++)
		put_label(o, &list[i], NULL, list[i].gauge);
	end(o);
	begin(o, &alerts);
	for (i = 0; i < n; i++)
		for (k = 0; k < ALERT_CAUSES; k++)
			put_label(o, &list[i], alert_cause_name((enum alert_cause)k),
				  list[i].cells->counts[FIGURES + k]);
	end(o);
}

/* ---- Histograms by process and kind ---- */

enum {
	OF_WALL,
	OF_EVENTS,
	OF_DURATIONS,
	HISTOGRAM_COUNTS = OF_DURATIONS + JANK_BUCKETS
};
_Static_assert(HISTOGRAM_COUNTS <= LABEL_COUNTS, "a label has too few counts");

/* A cell for each kind. What all of a process was charged is its top group's. */
static const struct label_rules of_processes = { .limit = METRICS_PROCESSES,
						 .totals = HISTOGRAM_COUNTS,
						 .cells = VMSPAN_TOP + 1,
						 .weighs = VMSPAN_TOP };

static int take_length(struct metrics *m, const struct snapshot *s, const struct snapshot_group *g,
		       const struct snapshot_child *c)
{
	const struct snapshot_process *p = &s->processes[c->process];
	const u32 kind = kind_of(g->kind, strlen(g->kind));
	const struct label_source source = { .id = p->id,
					     .part = kind,
					     .cell = kind,
					     .name = p->sum ? NULL : p->name,
					     .ended = has_ended(p),
					     .pool = p->container_number,
					     .heir_part = kind };
	u64 counts[HISTOGRAM_COUNTS];

	counts[OF_WALL] = c->stats.wall_ns;
	counts[OF_EVENTS] = c->stats.events;
	memcpy(&counts[OF_DURATIONS], c->stats.durations, sizeof(c->stats.durations));
	/* An only child's histogram is its group's. */
	return labels_add(m->processes, &source, counts,
			  g->children == 1 ? &g->stats.hist : &c->stats.hist, 0);
}

static void put_histograms(struct metrics_out *o, const struct metrics *m)
{
	static const struct metric_family family = {
		"group_event_seconds", METRIC_HISTOGRAM, true,
		"Time charged to a group in one event, of all groups of a kind."
	};
	const struct label *list;
	u32 n = labels_shown(m->processes, &list), i, kind;

	begin(o, &family);
	for (i = 0; i < n; i++)
		for (kind = 0; kind < of_processes.cells; kind++) {
			const struct metric_label labels[] = { { "process", list[i].name },
							       { "kind", kind_name(kind) } };
			const struct label_cell *cell = &list[i].cells[kind];
			struct group_stats stats = { .events = cell->counts[OF_EVENTS],
						     .wall_ns = cell->counts[OF_WALL],
						     .hist = cell->hist };

			if (!stats.events)
				continue;
			memcpy(stats.durations, &cell->counts[OF_DURATIONS],
			       sizeof(stats.durations));
			o->form->histogram(o, labels, ARRAY_SIZE(labels), &stats);
		}
	end(o);
}

/* ---- Containers ---- */

static const struct container_figure {
	const char *name, *help;
	enum metric_type type;
	bool seconds;
	size_t at; /* in struct snapshot_process */
} container_figures[] = {
#define FIGURE_OF(name, type, seconds, field, help)                                          \
	{                                                                                    \
		name, help, METRIC_##type, seconds, offsetof(struct snapshot_process, field) \
	}
	/* What it weighs by. */
	FIGURE_OF("container_event_wall_seconds", COUNTER, true, events.wall_ns,
		  "Time of its processes' events."),
	FIGURE_OF("container_events", COUNTER, false, events.count, "Events of its processes."),
	FIGURE_OF("container_incomplete_events", COUNTER, false, events.incomplete,
		  "Of them: those that lack data."),
	FIGURE_OF("container_event_cpu_seconds", COUNTER, true, events.cpu_ns,
		  "CPU time of these events."),
	FIGURE_OF("container_collections", COUNTER, false, gc.count,
		  "Collections of its processes."),
	FIGURE_OF("container_collection_seconds", COUNTER, true, gc.total_ns,
		  "Time of these collections."),
};

#define CONTAINER_FIGURES ARRAY_SIZE(container_figures)
_Static_assert(CONTAINER_FIGURES <= LABEL_COUNTS, "a label has too few counts");

static const struct label_rules of_containers = {
	.limit = METRICS_CONTAINERS, .totals = CONTAINER_FIGURES, .cells = 1, .adds = true
};

/* Containers of one name are one; all that one had has its last name. */
static int take_containers(struct metrics *m, const struct snapshot *s, const struct map *heirs)
{
	struct container_sums sums;
	int rc = container_sums_take(&sums, s);
	u32 i, k;

	if (rc)
		return rc;
	labels_begin(m->containers);
	for (i = 0; i < s->process_count && !rc; i++) {
		const struct snapshot_process *p = &s->processes[i];
		struct label_source source = { .id = p->id,
					       .ended = has_ended(p),
					       .pool = p->container_number };
		u64 counts[CONTAINER_FIGURES];
		char label[CONTAINER_LABEL_MAX];

		if (!p->container_number)
			continue;
		source.name = container_label(&sums.list[sums.of[i]].container, label);
		for (k = 0; k < CONTAINER_FIGURES; k++)
			counts[k] = *(const u64 *)(const void *)((const char *)p +
								 container_figures[k].at);
		rc = labels_add(m->containers, &source, counts, NULL, !has_ended(p));
	}
	container_sums_free(&sums);
	return rc ? rc : labels_round(m->containers, s->end_ns, heirs);
}

static void put_containers(struct metrics_out *o, const struct metrics *m)
{
	const struct label *list;
	u32 n = labels_shown(m->containers, &list), i, k;

	if (!n)
		return;
	for (k = 0; k < CONTAINER_FIGURES; k++) {
		const struct container_figure *f = &container_figures[k];

		begin(o, &(struct metric_family){ f->name, f->type, f->seconds, f->help });
		for (i = 0; i < n; i++)
			value(o, "container", list[i].name, list[i].cells->counts[k]);
		end(o);
	}
	begin(o, &(struct metric_family){ "container_processes", METRIC_GAUGE, false,
					  "Its processes that are traced now." });
	for (i = 0; i < n; i++)
		value(o, "container", list[i].name, list[i].gauge);
	end(o);
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

static void put_lost(struct metrics_out *o, const char *name, const char *help, u64 *told,
		     const u64 *now)
{
	u32 i;

	begin(o, &(struct metric_family){ name, METRIC_COUNTER, false, help });
	for (i = 0; i < LOSS_CAUSES; i++) {
		told[i] = max_u64(told[i], now[i]);
		value(o, "cause", loss_name((enum loss_cause)i), told[i]);
	}
	end(o);
}

static void put_totals(struct metrics_out *o, struct metrics *m, const struct snapshot *s)
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
	put_lost(o, "lost_records", "Records lost, by cause; marks_off: times, names: programs.",
		 m->lost, s->losses.records);
	put_lost(o, "lost_batches",
		 "Batches lost, by cause, also those of which nobody knows how many records they "
		 "had.",
		 m->lost_batches, s->losses.batches);
	begin(o, &(struct metric_family){ "complete", METRIC_GAUGE, false,
					  "1: no event lacks data, and nothing was lost, left out "
					  "or went without a look." });
	value(o, NULL, NULL, snapshot_complete(s));
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

/* ---- Who has which label ---- */

struct metrics *metrics_new(u32 groups)
{
	const struct label_rules of_groups = { .limit = groups ? groups : METRICS_GROUPS,
					       .totals = FIGURES,
					       .cells = 1 };
	struct metrics *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->groups = labels_new(&of_groups);
	m->processes = labels_new(&of_processes);
	m->containers = labels_new(&of_containers);
	if (m->groups && m->processes && m->containers)
		return m;
	metrics_free(m);
	return NULL;
}

/* What has ended and is not kept apart is in the sum of its container: by that container's number. */
static int sums_of(const struct snapshot *s, struct map *sums)
{
	u32 i;

	for (i = 0; i < s->process_count; i++)
		if (s->processes[i].sum &&
		    map_put(sums, s->processes[i].container_number, s->processes[i].id))
			return -ENOMEM;
	return 0;
}

/* What each group had in each process. */
static int take_children(struct metrics *m, const struct snapshot *s, const struct map *sums)
{
	u32 i, k;

	labels_begin(m->groups);
	labels_begin(m->processes);
	for (i = 0; i < s->group_count; i++)
		for (k = 0; k < s->groups[i].children; k++) {
			const struct snapshot_group *g = &s->groups[i];
			const struct snapshot_child *c = &s->children[g->first_child + k];

			if (take_group(m, s, g, c) || take_length(m, s, g, c))
				return -ENOMEM;
		}
	return labels_round(m->groups, s->end_ns, sums)
		       ?: labels_round(m->processes, s->end_ns, sums);
}

int metrics_page(struct metrics *m, const struct snapshot *s, const struct metrics_form *form,
		 struct out *to)
{
	struct metrics_out o = { .form = form, .o = to };
	struct map sums = { 0 };
	int rc = sums_of(s, &sums);

	if (!rc)
		rc = take_children(m, s, &sums) ?: take_containers(m, s, &sums);
	map_free(&sums);
	if (!rc) {
		put_groups(&o, m);
		put_totals(&o, m, s);
		put_histograms(&o, m);
		put_containers(&o, m);
		form->finish(&o);
	}
	buf_free(&o.family);
	return rc ? rc : to->error;
}
