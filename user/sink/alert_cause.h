/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose doing a long event was. ALERTS.md, "Whose doing", has the rules. */
#ifndef SINK_ALERT_CAUSE_H
#define SINK_ALERT_CAUSE_H

#include "sink/alert.h"

/* Groups that the tree does not tell of and that may be a cause: of more, those that were
 * charged the most. */
#define CAUSE_OTHERS 512
#define CAUSE_CANDIDATES (512 + CAUSE_OTHERS)

/* A group of an event, and how long it may hold it. */
struct suspect {
	const struct model_share *share;
	u64 threshold_ns;
	bool ignored; /* no alerts of it */
	/* What suspects_open() and cause_find() make of it. */
	bool told; /* there is an alert of it */
	u8 rank; /* of containers, outer ones first */
	u32 nest; /* its number, or NEST_NONE */
	u32 cause; /* index of the group that explains it, once it was looked for */
};

/* An event whose groups are judged. */
struct suspects {
	const struct model_event *event;
	bool exact; /* alerts_exact() */
	struct suspect *list; /* every group that was charged */
	u32 count;
	struct nest *nest; /* owned; NULL: the tree does not tell */
	u32 candidates[CAUSE_CANDIDATES], candidate_count; /* indices */
};

/* event, exact, list and count are set. tree: the event's, or NULL. Without memory it tells
 * by totals alone. */
void suspects_open(struct suspects *s, const struct tree *tree);
void suspects_close(struct suspects *s);
/* Whose doing it was that list[of] reached its threshold. *inner is the group that
 * CAUSE_INNER means, else NULL. Linear in the candidates, however groups nest. */
enum alert_cause cause_find(struct suspects *s, u32 of, const struct model_share **inner);

#endif
