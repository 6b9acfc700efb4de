/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Figures as metrics. The target names groups, processes and containers, so their labels are bounded, and go to
 * those that were charged most lately (metric_labels.h); all others are "(other)". No counter ever falls.
 * METRICS.md lists what there is.
 */
#ifndef SINK_OPENMETRICS_H
#define SINK_OPENMETRICS_H

#include "sink/alert.h"
#include "sink/metrics_form.h"
#include "sink/sink.h"

#define METRICS_GROUPS 100
#define METRICS_PROCESSES 50
#define METRICS_CONTAINERS 200

struct metrics;

/* groups 0: METRICS_GROUPS. */
struct metrics *metrics_new(u32 groups);
void metrics_free(struct metrics *m);
/* Counts an alert of the group; reasons: enum alert_reason. 0 or -ENOMEM. */
int metrics_alert(struct metrics *m, const char *group, unsigned int reasons,
		  enum alert_cause cause);
/* The whole page, of a snapshot that is not older than the one before. 0 or -ENOMEM. */
int metrics_page(struct metrics *m, const struct snapshot *s, const struct metrics_form *form,
		 struct out *o);
/* A label value as it stands between the quotes: for tests. */
void metrics_label(struct out *o, const char *text);

#endif
