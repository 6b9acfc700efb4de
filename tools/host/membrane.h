/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The membrane between compartments of one heap. Plain data is copied,
 * functions become functions that enter their home when they are called, and
 * one that comes home again is itself again.
 */
#ifndef HOST_MEMBRANE_H
#define HOST_MEMBRANE_H

#include "tools/host/vm.h"

/* Pushes on `to`, which runs for `home_to`, what lies at idx of `from`, code of `home_from`. */
void membrane_copy(duk_context *to, struct compartment *home_to, duk_context *from, duk_idx_t idx,
		   struct compartment *home_from);
/* Pushes the exports of compartment c, wrapped for the current one. */
void membrane_exports(duk_context *ctx, struct compartment *c);

#endif
