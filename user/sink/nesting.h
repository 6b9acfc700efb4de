/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the intervals of one thread strictly nested. They come in the order
 * of their ends, inner before outer, as a stack closes them. What a hostile
 * or damaged trace breaks is cut to fit, or refused.
 */
#ifndef SINK_NESTING_H
#define SINK_NESTING_H

#include "base/types.h"

struct nesting {
	/* Intervals that nothing has enclosed yet, disjoint, in time order. */
	struct nesting_root {
		u64 begin, end;
	} * roots; /* owned */
	u32 count, cap;
	u64 last_end;
};

enum nesting_verdict {
	NESTING_FITS,
	NESTING_CUT, /* *begin was moved forward */
	NESTING_REFUSED, /* it cannot stand on this thread's track */
};

/* Adds [*begin, end], or cuts or refuses it. -ENOMEM: negative. */
int nesting_add(struct nesting *n, u64 *begin, u64 end);
void nesting_release(struct nesting *n);

#endif
