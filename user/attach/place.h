/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where in a site the breakpoint goes. A site of vmspan.h on x86-64 is a
 * one-byte nop, which its note points at and every kernel traps at cheaply, and
 * behind it a ten-byte nop, which kernels from 7.2 on turn into a call.
 */
#ifndef ATTACH_PLACE_H
#define ATTACH_PLACE_H

#include "attach/kernel.h"

#define PLACES_MAX 2

/*
 * The offsets in the file to try, best first; the last is the site's own.
 * `bytes`: what the file has there, `n` of them. How many offsets: 1 or 2.
 */
u32 places(enum nop_state kernel, const u8 *bytes, size_t n, u64 offset, u64 to[PLACES_MAX]);
/* The same of a site in an open file, on this kernel. */
u32 places_in(int fd, u64 offset, u64 to[PLACES_MAX]);

/*
 * Calls attach(ctx, offset), which returns 0 or -errno, for one place after the
 * other as long as the kernel answers that it cannot probe the instruction
 * there. The last answer.
 */
int places_try(const u64 *offsets, u32 n, int (*attach)(void *ctx, u64 offset), void *ctx);

#endif
