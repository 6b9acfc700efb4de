/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose doing a long event was. ALERTS.md, "Whose doing", has the rules. */
#ifndef SINK_ALERT_CAUSE_H
#define SINK_ALERT_CAUSE_H

#include "sink/alert.h"
#include "sink/alert_nest.h"

/* A group of an event, and how long it may hold it. */
struct suspect {
	const struct model_share *share;
	u64 threshold_ns;
	bool ignored; /* no alerts of it */
	/* What suspects_open() makes of it. */
	bool told; /* there is an alert of it */
	u8 rank; /* of containers, outer ones first */
	enum alert_cause why;
	u32 nest; /* its number, or NEST_NONE */
	u32 cause; /* index of the group that explains it, once it was looked for */
	u32 met; /* 1 + index of the group whose circle was looked for through it */
	struct suspect *inner; /* CAUSE_INNER */
	struct suspect *stand_in; /* whose alert names it, for no other does */
};

/* Groups that the tree does not tell of, the shortest first. */
struct lineup {
	u32 *at; /* indices */
	u32 *plain; /* of each the next one that is no container: itself, or later */
	u64 *most; /* highest blame, as a binary tree: 2 * i and 2 * i + 1 are below i */
	u32 count, leaves;
};

/* An event whose groups are judged. */
struct suspects {
	const struct model_event *event;
	bool exact; /* alerts_exact() */
	u64 least_ns; /* who was charged less is not told of, whatever its threshold */
	struct suspect *list; /* every group that was charged */
	u32 count;
	struct nest *nest; /* owned; NULL: the tree does not tell */
	u32 known[NEST_GROUPS],
		known_count; /* that the tree tells of: indices, the shortest first */
	struct lineup others[2]; /* [told] */
};

/*
 * Finds whose doing it was that groups reached their thresholds: event, exact, least_ns, list
 * and count are set. tree: the event's, or NULL; without memory for what it tells, by totals alone. 0 or -ENOMEM.
 * Each group that is told of takes time for NEST_GROUPS and for the logarithm of all, each of
 * the tree for the whole tree besides; memory: about 120 bytes a group.
 */
int suspects_open(struct suspects *s, const struct tree *tree);
void suspects_close(struct suspects *s);
/* Whose doing it was that list[of], which is told of, reached its threshold. *inner is the group
 * that CAUSE_INNER means, else NULL. *stands_in: no alert of that group is of its own doing, and
 * this one is the innermost that names it. */
enum alert_cause cause_find(const struct suspects *s, u32 of, const struct model_share **inner,
			    bool *stands_in);

#endif
