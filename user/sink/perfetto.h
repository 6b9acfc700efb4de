/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SINK_PERFETTO_H
#define SINK_PERFETTO_H

#include "sink/slices.h"

extern const struct exporter perfetto_exporter;

#endif
