/* SPDX-License-Identifier: BSD-2-Clause */
/* --exact-calls: says what it costs, and goes on only if that is wanted. */
#ifndef CMD_CALLS_PRICE_H
#define CMD_CALLS_PRICE_H

#include "cmd/options.h"
#include "cmd/wake.h"

/* 0: go on. -ECANCELED, EXIT_REFUSED: no, or a signal came; other negative errno. */
int calls_price(const struct options *o, const struct live_config *config, struct wake *w,
		struct err *e);

#endif
