/* SPDX-License-Identifier: BSD-2-Clause */
/* Did one group of an event run inside another, or beside it? By the event's tree. */
#ifndef SINK_ALERT_NEST_H
#define SINK_ALERT_NEST_H

#include "sink/alert_tree.h"

/* Two groups of one event, a and b. Times in ns. */
struct nest {
	/* Of the time charged to a, what lay inside of b's stays, and the other way round. */
	u64 a_in_b_ns, b_in_a_ns;
};

/*
 * Looks up what of a's time lay inside of b's. False, and *out untouched: the tree does not
 * tell. So it is where there is none, where it has not had room for most of what either had,
 * or where no stay names one of them: a stay names its compartment's first group alone.
 * Of an event that was sampled, stacks tell the same.
 */
bool nest_find(const struct tree *t, const struct model_share *a, const struct model_share *b,
	       struct nest *out);

#endif
