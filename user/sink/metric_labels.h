/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which groups have a label of their own, and what is counted under each label. A target names its
 * groups, so labels are bounded: `limit` at any time, and as many new ones an hour. Those have one that were
 * charged most lately; all others are one, "(other)".
 *
 * What a group counts between two rounds is counted once, under the label that it has at the second.
 * So no counter ever falls, whoever comes and goes, and a group that gets its label back goes on
 * where it was.
 */
#ifndef SINK_METRIC_LABELS_H
#define SINK_METRIC_LABELS_H

#include "base/types.h"

#define LABEL_OTHER "(other)"
#define LABEL_COUNTS 13
/* Half of what a group was charged before weighs no more after so long. */
#define LABEL_HALF_NS (600 * NSEC_PER_SEC)
#define LABEL_HOUR_NS (3600 * NSEC_PER_SEC)

struct label {
	const char *name, *kind;
	u64 counts[LABEL_COUNTS];
	u64 max_ns; /* a gauge: of the groups that it stands for now */
};

struct labels;

/* totals: of the counts, those that labels_add() gives. */
struct labels *labels_new(u32 limit, u32 totals);
void labels_free(struct labels *l);
/*
 * What a group has come to, for the next round: the first `totals` counts, since the trace began, which
 * only grow. counts[0] is what it weighs by. Of several of one name the sum counts. kind is borrowed
 * until labels_free(). 0 or -ENOMEM.
 */
int labels_add(struct labels *l, const char *name, const char *kind, const u64 *counts, u64 max_ns);
/* One more of a count behind those, at `at`. 0 or -ENOMEM. */
int labels_count(struct labels *l, const char *name, u32 at);
/* Ends a round, at `ns` of the stream. 0 or -ENOMEM. */
int labels_round(struct labels *l, u64 ns);
/* After it: the labels, "(other)" at the end if it has ever stood for anything. */
u32 labels_shown(const struct labels *l, const struct label **list);

#endif
