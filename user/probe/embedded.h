/* SPDX-License-Identifier: BSD-2-Clause */
/* The profiles built in, as text. */
#ifndef PROBE_EMBEDDED_H
#define PROBE_EMBEDDED_H

#include "base/types.h"

struct embedded {
	const char *name, *text;
};

size_t profiles_embedded(const struct embedded **list);

#endif
