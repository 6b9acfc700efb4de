/* SPDX-License-Identifier: BSD-2-Clause */
/* OpenMetrics text 1.0, and the text of Prometheus from before it (0.0.4). */
#include "sink/metrics_form.h"

#include "sink/openmetrics.h"

#include <stdio.h>
#include <string.h>

void metrics_label(struct out *o, const char *text)
{
	size_t len = strlen(text), from, to;

	for (; len; text += from, len -= from) {
		const char *c = metrics_char(text, len, &from, &to);

		if (*c == '"' || *c == '\\')
			out_puts(o, "\\");
		out_write(o, c, to);
	}
}

static const char *const types[] = {
	[METRIC_COUNTER] = "counter",
	[METRIC_GAUGE] = "gauge",
	[METRIC_HISTOGRAM] = "histogram",
};

/* There a family of counters is called as its values are, and has no unit. */
static void begin_plain(struct metrics_out *m, const struct metric_family *f)
{
	const char *total = f->type == METRIC_COUNTER ? "_total" : "";

	out_printf(m->o, "# HELP vmspan_%s%s %s\n", f->name, total, f->help);
	out_printf(m->o, "# TYPE vmspan_%s%s %s\n", f->name, total, types[f->type]);
}

static void begin(struct metrics_out *m, const struct metric_family *f)
{
	out_printf(m->o, "# TYPE vmspan_%s %s\n", f->name, types[f->type]);
	if (f->seconds)
		out_printf(m->o, "# UNIT vmspan_%s seconds\n", f->name);
	out_printf(m->o, "# HELP vmspan_%s %s\n", f->name, f->help);
}

/* The name and its labels; `more` is one that needs no escaping. */
static void put_series(struct metrics_out *m, const char *suffix, const struct metric_label *labels,
		       u32 count, const char *more)
{
	u32 i;

	out_printf(m->o, "vmspan_%s%s", m->name, suffix);
	for (i = 0; i < count; i++) {
		out_printf(m->o, "%c%s=\"", i ? ',' : '{', labels[i].name);
		metrics_label(m->o, labels[i].value);
		out_puts(m->o, "\"");
	}
	if (more)
		out_printf(m->o, ",%s", more);
	if (count)
		out_puts(m->o, "}");
}

/* Seconds with all the digits of ns. */
static void put_number(struct out *o, bool seconds, u64 v)
{
	u64 whole = v / NSEC_PER_SEC, rest = v % NSEC_PER_SEC;

	if (seconds)
		out_printf(o, " %" PRIu64 ".%09" PRIu64 "\n", whole, rest);
	else
		out_printf(o, " %" PRIu64 "\n", v);
}

static void value(struct metrics_out *m, const struct metric_label *labels, u32 count, u64 v)
{
	put_series(m, m->type == METRIC_COUNTER ? "_total" : "", labels, count, NULL);
	put_number(m->o, m->seconds, v);
}

static void histogram(struct metrics_out *m, const struct metric_label *labels, u32 count,
		      const struct group_stats *s)
{
	char le[24];
	u32 i;

	/* durations[i] are the events strictly longer: the rest is le. */
	for (i = 0; i < JANK_BUCKETS; i++) {
		snprintf(le, sizeof(le), "le=\"0.%03u\"", 1u << i);
		put_series(m, "_bucket", labels, count, le);
		put_number(m->o, false, s->events - s->durations[i]);
	}
	put_series(m, "_bucket", labels, count, "le=\"+Inf\"");
	put_number(m->o, false, s->events);
	put_series(m, "_count", labels, count, NULL);
	put_number(m->o, false, s->events);
	put_series(m, "_sum", labels, count, NULL);
	put_number(m->o, true, s->wall_ns);
}

static void end(struct metrics_out *m)
{
	(void)m;
}

static void finish(struct metrics_out *m)
{
	out_puts(m->o, "# EOF\n");
}

static void finish_plain(struct metrics_out *m)
{
	(void)m;
}

const struct metrics_form metrics_plain = {
	.content_type = "text/plain; version=0.0.4; charset=utf-8",
	.begin = begin_plain,
	.value = value,
	.histogram = histogram,
	.end = end,
	.finish = finish_plain,
};

const struct metrics_form metrics_text = {
	.content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8",
	.begin = begin,
	.value = value,
	.histogram = histogram,
	.end = end,
	.finish = finish,
};
