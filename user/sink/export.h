/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exporters: each is one file and one line in exporters[] (export.c). An
 * exporter observes the model and writes as it goes; its memory does not grow
 * with the length of the trace.
 */
#ifndef SINK_EXPORT_H
#define SINK_EXPORT_H

#include "sink/sink.h"

struct html_docs;

struct export_config {
	u64 start_ns; /* CLOCK_MONOTONIC: no time of the trace lies before */
	u64 start_real_ns; /* the same moment since the epoch */
	/* Groups to keep, or NULL; borrowed for its life. What an exporter
	 * observes is chosen by it already (select.h), unless whole_turns. */
	const char *glob;
	bool narrowed; /* it observes less than the trace, whatever the groups */
	/* Where temporary files may grow as large as the output; NULL:
	 * /var/tmp. Borrowed for its life. */
	const char *directory;
	const struct html_docs *docs; /* links for the page, or NULL; borrowed */
};

struct exporter {
	const char *name; /* what -f takes */
	const char *suffix; /* of the default file name, with its point */
	const char *about;
	/* Begins the output and observes m. NULL without memory. */
	void *(*begin)(struct out *out, const struct export_config *config, struct model *m);
	/* Completes the output. s: the totals. Write errors are in `out`; the
	 * result is 0, or the errno of something else. */
	int (*end)(void *x, const struct snapshot *s, const struct report_source *src);
	void (*free)(void *x); /* at any time; NULL is allowed */
	/* It gets the turns whole, to say who called the groups of `glob`, and
	 * leaves out by itself the turns that none of them ran in. */
	bool whole_turns;
	/* Bytes from which on its viewers are known to fail, before any
	 * compression, and who fails how. 0: none known. */
	u64 limit_bytes;
	const char *limit_why;
};

/* The group that had most self time in the event; NULL when none had any. */
const char *event_top(const struct model_event *e, u64 *self_ns);

extern const struct exporter *const exporters[]; /* NULL-terminated */
const struct exporter *exporter_find(const char *name);

#endif
