/* SPDX-License-Identifier: BSD-2-Clause */
/* A JSON object a line, as NDJSON.md describes them. */
#ifndef SINK_NDJSON_H
#define SINK_NDJSON_H

#include "sink/export.h"

extern const struct exporter ndjson_exporter;

#endif
