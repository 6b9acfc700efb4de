/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chrome Trace Event JSON, as Perfetto, chrome://tracing and speedscope read
 * it. Written as the model goes on; the totals come last.
 */
#ifndef SINK_CHROME_H
#define SINK_CHROME_H

#include "sink/export.h"

extern const struct exporter chrome_exporter;

#endif
