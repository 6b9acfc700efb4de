/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose doing a long event was. ALERTS.md, "Whose doing", has the rules. */
#ifndef SINK_ALERT_CAUSE_H
#define SINK_ALERT_CAUSE_H

#include "sink/alert.h"

/* A group of an event, and how long it may hold it. */
struct suspect {
	const struct model_share *share;
	u64 threshold_ns;
};

/* An event whose groups are judged. */
struct suspects {
	const struct model_event *event;
	const struct tree *tree; /* the event's; NULL: there is none */
	bool exact; /* alerts_exact() */
	const struct suspect *list; /* every group that was charged */
	u32 count;
};

/* Whose doing it was that list[of] reached its threshold. *inner is the group that
 * CAUSE_INNER means, else NULL. */
enum alert_cause cause_find(const struct suspects *s, u32 of, const struct model_share **inner);

#endif
