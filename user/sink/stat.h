/* SPDX-License-Identifier: BSD-2-Clause */
/* One line an interval, for logs and for people who watch a number. */
#ifndef SINK_STAT_H
#define SINK_STAT_H

#include "sink/sink.h"

void stat_head(struct out *o);
/* delta: of the interval; total: since the start. */
void stat_line(struct out *o, const struct snapshot *delta, const struct snapshot *total,
	       u64 elapsed_ns, u64 interval_ns);

#endif
