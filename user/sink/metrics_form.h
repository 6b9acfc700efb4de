/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Metrics in one of three forms: OpenMetrics text 1.0, the text of Prometheus from before it, and
 * the Protocol Buffers form of Prometheus, which alone has native histograms. What there is to tell is
 * decided once, in openmetrics.c.
 */
#ifndef SINK_METRICS_FORM_H
#define SINK_METRICS_FORM_H

#include "base/out.h"
#include "model/stats.h"

enum metric_type {
	METRIC_COUNTER,
	METRIC_GAUGE,
	METRIC_HISTOGRAM,
};

struct metric_family {
	const char *name; /* without vmspan_ and _total */
	enum metric_type type;
	bool seconds; /* values are ns, told in seconds; else they are counts */
	const char *help;
};

/* Values are the target's: any bytes but 0. */
struct metric_label {
	const char *name, *value;
};
#define METRIC_LABELS 3

/*
 * The next character of a label's value as every form tells it: control characters and
 * invalid UTF-8 become U+FFFD. *from: bytes it takes of `text`; *to: bytes it has.
 */
const char *metrics_char(const char *text, size_t len, size_t *from, size_t *to);

struct metrics_form;

struct metrics_out {
	const struct metrics_form *form;
	struct out *o; /* its memory, where the form builds families */
	struct buf family; /* protobuf: the one under way */
	enum metric_type type;
	bool seconds;
	const char *name;
};

/* Each family: begin, values or histograms, end; finish() ends the page. Failure
 * sticks in *o. */
struct metrics_form {
	const char *content_type;
	void (*begin)(struct metrics_out *m, const struct metric_family *f);
	void (*value)(struct metrics_out *m, const struct metric_label *labels, u32 count, u64 v);
	/* Of group_stats: events, wall_ns, durations and hist. */
	void (*histogram)(struct metrics_out *m, const struct metric_label *labels, u32 count,
			  const struct group_stats *s);
	void (*end)(struct metrics_out *m);
	void (*finish)(struct metrics_out *m);
};

extern const struct metrics_form metrics_text, metrics_plain, metrics_proto;

/*
 * The native bucket of a time: those of schema METRICS_SCHEMA have the upper edges
 * 2^(i / 2^schema) seconds.
 */
#define METRICS_SCHEMA 3
int metrics_native_bucket(u64 ns);

#endif
