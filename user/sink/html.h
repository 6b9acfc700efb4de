/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page: one HTML file that shows a trace without any other tool and
 * without a network. It observes the model, keeps a bounded part of what it
 * sees however long the trace is, and may be written at any time, so a live
 * view writes its data again and again.
 */
#ifndef SINK_HTML_H
#define SINK_HTML_H

#include "sink/export.h"

struct html_page;
struct html_docs;

/* What a page keeps at most; whatever is beyond it is counted and said. */
struct html_limits {
	u32 events; /* the longest ones, one by one */
	u32 nodes; /* spans in the trees of the longest of these */
	u32 buckets; /* of all threads, of the finest level of the timeline */
	u32 groups; /* rows of the table */
};

extern const struct html_limits html_export_limits, html_live_limits;

struct html_config {
	const struct html_limits *limits;
	u64 start_ns; /* CLOCK_MONOTONIC: 0 of the page */
	/* Groups in the lists, or NULL: then only turns that one of them ran in
	 * are shown, and in the graph whom they call and who calls them. */
	const char *glob;
	bool narrowed; /* struct export_config */
	const struct html_docs *docs; /* group -> URL, or NULL */
};

/* Observes m from now on. Pointers are borrowed for its life. NULL without
 * memory. */
struct html_page *html_new(struct model *m, const struct html_config *config);
void html_free(struct html_page *p);
/* A whole document. live: it asks for updates at "events", beside itself. */
void html_write(struct html_page *p, struct out *o, const struct snapshot *s,
		const struct report_source *src, bool live);
/* The data alone, one JSON object without a line end. */
void html_data(struct html_page *p, struct out *o, const struct snapshot *s,
	       const struct report_source *src, bool live);

extern const struct exporter html_exporter;

#endif
