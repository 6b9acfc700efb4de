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
	const char *glob; /* groups to keep, or NULL; borrowed for its life */
	const struct html_docs *docs; /* links for the page, or NULL; borrowed */
};

struct exporter {
	const char *name; /* what -f takes */
	const char *suffix; /* of the default file name, with its point */
	const char *about;
	/* Begins the output and observes m. NULL without memory. */
	void *(*begin)(struct out *out, const struct export_config *config, struct model *m);
	/* Completes the output. s: the totals. Write errors are in `out`. */
	void (*end)(void *x, const struct snapshot *s, const struct report_source *src);
	void (*free)(void *x); /* at any time; NULL is allowed */
};

extern const struct exporter *const exporters[]; /* NULL-terminated */
const struct exporter *exporter_find(const char *name);

#endif
