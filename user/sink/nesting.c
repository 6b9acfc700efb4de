/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/nesting.h"
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Intervals that are remembered while nothing encloses them: 64 KB a thread,
 * however long the trace. Then the older half is forgotten, and what begins
 * among the forgotten is trusted: the model's intervals come from a stack.
 */
#define ROOTS_MAX 4096

static int make_room(struct nesting *n)
{
	if (n->count < n->cap)
		return 0;
	if (n->count == ROOTS_MAX) {
		memmove(n->roots, n->roots + ROOTS_MAX / 2, ROOTS_MAX / 2 * sizeof(*n->roots));
		n->count = ROOTS_MAX / 2;
		return 0;
	}
	return array_room(n->roots, n->cap, n->count + 1);
}

int nesting_add(struct nesting *n, u64 *begin, u64 end)
{
	int verdict = NESTING_FITS, rc;

	if (end < n->last_end || *begin > end)
		return NESTING_REFUSED;
	while (n->count && n->roots[n->count - 1].begin >= *begin)
		n->count--;
	if (n->count && *begin < n->roots[n->count - 1].end) {
		*begin = n->roots[n->count - 1].end;
		verdict = NESTING_CUT;
	}
	rc = make_room(n);
	if (rc)
		return rc;
	n->roots[n->count++] = (struct nesting_root){ *begin, end };
	n->last_end = end;
	return verdict;
}

void nesting_release(struct nesting *n)
{
	free(n->roots);
	*n = (struct nesting){ 0 };
}
