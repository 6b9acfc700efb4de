/* SPDX-License-Identifier: BSD-2-Clause */
/* What a trap costs here, measured on ourselves. */
#ifndef ATTACH_TRAP_H
#define ATTACH_TRAP_H

#include "attach/tracer.h"

/* CPU time of one trap with a program that does nothing: ns. 0 or negative
 * errno. Takes some 20 ms. */
int trap_cost(const struct tracer *t, u64 *ns, struct err *err);

#endif
