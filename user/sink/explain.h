/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Single events as trees: who ran inside whom, how often and how long, and
 * what of it was discarded. Calls of the same kind at the same place are one
 * node, so an event of a million spans is as readable as one of ten. Memory is
 * bounded by the events kept and EXPLAIN_NODES a thread.
 */
#ifndef SINK_EXPLAIN_H
#define SINK_EXPLAIN_H

#include "sink/sink.h"

#define EXPLAIN_NODES 20000
#define EXPLAIN_EVENTS 1000 /* kept at most */

struct explain;

/*
 * Observes m, which must outlive it. iteration: keep the events of this number,
 * of all threads; 0: the `slowest` longest. NULL without memory.
 */
struct explain *explain_new(struct model *m, u32 iteration, u32 slowest);
void explain_free(struct explain *x);
u32 explain_count(const struct explain *x);
void explain_text(const struct explain *x, struct out *o, unsigned int width);
/* One object, without a line end. */
void explain_json(const struct explain *x, struct json *j, const struct report_source *src);

#endif
