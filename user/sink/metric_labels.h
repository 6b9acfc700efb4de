/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who has a label of its own, and what is counted under each: of groups, of processes, of containers. The
 * target names them, so labels are bounded: `limit` at any time, and as many new ones an hour. Those have one that
 * were charged most lately; all others are one, "(other)". Whoever has ended keeps its label until somebody else
 * wants it who goes on.
 *
 * Names have sources, which are what a snapshot has figures of. What a source comes to between two rounds is
 * counted once, under the label that its name has at the second. So no counter ever falls, whoever comes and
 * goes, and who gets its label back goes on where it was.
 */
#ifndef SINK_METRIC_LABELS_H
#define SINK_METRIC_LABELS_H

#include "base/map.h"
#include "base/types.h"
#include "model/hist.h"

#define LABEL_OTHER "(other)"
#define LABEL_COUNTS 13
/* Half of what a name was charged before weighs no more after so long. */
#define LABEL_HALF_NS (600 * NSEC_PER_SEC)
#define LABEL_HOUR_NS (3600 * NSEC_PER_SEC)
/* So long a name stands its ground behind its last end: who is restarted keeps its label, and Prometheus, which
 * looks back as far, has the last figures of who is not. */
#define LABEL_ENDED_NS (300 * NSEC_PER_SEC)
/* A name that has had no label for longer, and has no source any more, is forgotten: it would begin at 0. */
#define LABEL_KEPT_NS (24 * LABEL_HOUR_NS)

struct label_rules {
	u32 limit;
	u32 totals; /* of the counts, those that labels_add() gives */
	u32 cells; /* series of one label, each with counts of its own: at least 1 */
	u32 weighs; /* the cell whose counts[0] is what a name weighs by */
	bool adds; /* gauges of one label add up; else the largest is told */
};

struct label_source {
	u64 id; /* both are the same in all rounds, below 2^32 */
	u32 part;
	u32 cell;
	const char *name; /* NULL: it is in "(other)" for good */
	const char *kind; /* borrowed until labels_free() */
	bool ended;
	/* Where its figures go when there are too many that have ended: to that part of the heir of its pool. */
	u64 pool;
	u32 heir_part;
};

struct label_cell {
	u64 counts[LABEL_COUNTS];
	struct hist hist;
};

struct label {
	const char *name; /* valid UTF-8, no control characters */
	const char *kind;
	const struct label_cell *cells;
	u64 gauge; /* of the sources that it stands for now */
};

struct labels;

struct labels *labels_new(const struct label_rules *rules);
void labels_free(struct labels *l);
/* Begins a round. What was added for one that has not been ended is as if it had not been. */
void labels_begin(struct labels *l);
/*
 * What a source has come to: the first `totals` counts since the trace began, which only grow, and what was
 * longer or shorter of it (NULL: nothing). Of what is added to one source in a round, the sum counts.
 * 0 or -ENOMEM.
 */
int labels_add(struct labels *l, const struct label_source *s, const u64 *counts,
	       const struct hist *hist, u64 gauge);
/* One more of a count behind those, at `at`, in the first cell; at any time. 0 or -ENOMEM. */
int labels_count(struct labels *l, const char *name, u32 at);
/*
 * Ends a round, at `ns` of the stream. A source that is not in it any more is in another one's figures now, whose
 * id `heirs` has by its pool, or if not, by 0 (NULL: in nobody's). 0 or -ENOMEM.
 */
int labels_round(struct labels *l, u64 ns, const struct map *heirs);
/* After it: the labels, "(other)" at the end if it has ever stood for anything. */
u32 labels_shown(const struct labels *l, const struct label **list);
/* Names and sources that take memory: for tests. */
u32 labels_kept(const struct labels *l);

#endif
