/* SPDX-License-Identifier: BSD-2-Clause */
/* The records of the SDK (Part 1 of vmspan.h), without the SDK itself. */
#ifndef BASE_WIRE_H
#define BASE_WIRE_H

#define VMSPAN_WIRE_ONLY
#include "sdk/vmspan.h"

#endif
