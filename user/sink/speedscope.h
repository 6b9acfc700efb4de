/* SPDX-License-Identifier: BSD-2-Clause */
/* speedscope's JSON: an evented profile a thread, in ns. */
#ifndef SINK_SPEEDSCOPE_H
#define SINK_SPEEDSCOPE_H

#include "sink/slices.h"

extern const struct exporter speedscope_exporter;

#endif
