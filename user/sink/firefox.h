/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Firefox Profiler, processed format. Its tables are columns, a set of them a
 * thread, so the trace is put aside first and each column is one more reading.
 */
#ifndef SINK_FIREFOX_H
#define SINK_FIREFOX_H

#include "sink/slices.h"

extern const struct exporter firefox_exporter;

/* Rows of the marker tables; each has a schema. */
enum firefox_marker {
	FIREFOX_SPAN,
	FIREFOX_GC,
	FIREFOX_BLOCK,
	FIREFOX_EVENT,
	FIREFOX_INPUT,
	FIREFOX_FRAME,
	FIREFOX_JANK, /* an event longer than JANK_NS, once more */
	FIREFOX_MARKERS
};

/* data.type of the marker, and the name of its schema. */
const char *firefox_type(enum firefox_marker m);
/* Index in meta.categories. group: of a span. */
unsigned int firefox_category(enum firefox_marker m, const char *group);
/* The first categories, and one more. */
#define FIREFOX_CATEGORIES 12
void firefox_categories(struct json *j);
void firefox_put_category(struct json *j, const char *name, const char *color);
/* The value of "markerSchema". */
void firefox_schemas(struct json *j);

#endif
