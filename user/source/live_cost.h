/* SPDX-License-Identifier: BSD-2-Clause */
/* What being traced takes of the targets' time: counted as it comes, priced by what the machine
 * does here. */
#ifndef SOURCE_LIVE_COST_H
#define SOURCE_LIVE_COST_H

#include "source/live_int.h"

/* Measures what a mark costs; some 0.1 ms. Before anything is counted. */
void live_cost_open(struct live *l);
/* Hands out what l->cost has come to, if that is more than it was. What live_emit() says. */
int live_cost_emit(struct live *l);

#endif
