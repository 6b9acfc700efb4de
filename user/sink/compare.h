/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two snapshots side by side: what has become slower, and is it more than
 * noise? Two tests a group, both on its time by event, neither of which
 * assumes a shape: do its events as a whole take longer (Mann-Whitney, on the
 * histograms), and are more of them longer than 64 ms (two proportions)?
 */
#ifndef SINK_COMPARE_H
#define SINK_COMPARE_H

#include "sink/sink.h"

/* |z| from which a difference is told: one in 370 by chance. */
#define COMPARE_Z 3.0
/* And the least that matters to anybody: an event is longer than one of the
 * other side 55 times of a hundred; long ones are a fifth more frequent. */
#define COMPARE_ODDS 0.55
#define COMPARE_TAIL 1.2
/* Fewer events than this on either side prove nothing. */
#define COMPARE_EVENTS 8

enum change {
	CHANGE_SLOWER,
	CHANGE_NEW, /* only in the second */
	CHANGE_SAME, /* or too little to tell */
	CHANGE_GONE, /* only in the first */
	CHANGE_FASTER,
};

struct compare_row {
	const char *name; /* borrowed from the snapshots */
	const struct group_stats *a, *b; /* NULL: not there */
	enum change change;
	double z; /* of all events; > 0: slower */
	double odds; /* that an event after is longer than one before */
	double z_tail; /* of those over 64 ms */
	u64 mean_a, mean_b; /* wall ns by event */
};

struct compare_side {
	const struct snapshot *s;
	const char *file; /* or NULL */
};

struct comparison {
	struct compare_side before, after;
	struct compare_row
		*rows; /* owned; slower ones first, the largest growth of time by event first */
	u32 count; /* all that the view selects */
	u32 shown; /* of them: the first */
	u32 slower; /* of all */
};

/* `before` and `after` are set, and borrowed. 0 or -ENOMEM. */
int compare(struct comparison *c, const struct view *v);
void compare_free(struct comparison *c);
const char *change_name(enum change c);

void compare_json(struct json *j, const struct comparison *c);
void compare_text(struct out *o, const struct comparison *c);

/* Mann-Whitney's z for two histograms, ties corrected; > 0: b's values are the
 * larger ones. 0 when one is empty or all are equal. *odds: that a value of b
 * is larger than one of a. */
double compare_ranks(const struct hist *a, const struct hist *b, double *odds);

#endif
