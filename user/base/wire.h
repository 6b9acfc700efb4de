/* SPDX-License-Identifier: BSD-2-Clause */
/* What targets have in their memory, and records, without the SDK itself. */
#ifndef BASE_WIRE_H
#define BASE_WIRE_H

/* Version 1 of the SDK has the records itself: whoever marks with it does without the rest. */
#if !defined(VMSPAN_ABI) || VMSPAN_ABI != 1
#define VMSPAN_WIRE_ONLY
#include "base/abi1.h"
#endif

#endif
