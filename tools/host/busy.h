/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Load mode: a tight loop of enters and leaves with a little native work, for
 * measuring what a tracer costs and how much it stands.
 */
#ifndef HOST_BUSY_H
#define HOST_BUSY_H

#include "tools/host/world.h"

/* All threads of the process, options->turns turns each or until a stop is requested. */
void busy_run(struct world *w);
/* The part of one thread. */
void busy_thread(struct world *w, struct ledger *l, u64 turns);

#endif
