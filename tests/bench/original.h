/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Other ways to tell what groups used, from the very records that the model
 * gets: for comparison only. CPU time of each group, and the time that passed in
 * it, ns.
 */
#ifndef BENCH_ORIGINAL_H
#define BENCH_ORIGINAL_H

#include "model/item.h"

#define OTHER_GROUPS 64 /* compartments with ids below; each is its own group */

struct other {
	double original[OTHER_GROUPS]; /* the stopwatches of an earlier monitor */
	double sampled[OTHER_GROUPS]; /* 1 kHz, of threads that are on a CPU */
	double original_wall[OTHER_GROUPS], sampled_wall[OTHER_GROUPS];
	char name[OTHER_GROUPS][64]; /* of the compartment */
	u64 events;
};

struct records;
struct records *records_new(u64 cycles_hz);
int records_item(void *r, const struct item *it); /* an item_fn */
/* After the last item. */
void records_result(struct records *r, struct other *out);
void records_free(struct records *r);

#endif
