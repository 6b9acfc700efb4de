/* SPDX-License-Identifier: BSD-2-Clause */
/* What every part of the demo host needs: failing, random numbers, whole reads and writes. */
#ifndef HOST_UTIL_H
#define HOST_UTIL_H

#include "base/types.h"

/* "demohost: ..." on stderr, exit 1. For what the user or the machine can cause. */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* The same, but aborts: the host itself is wrong. */
void bug(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* calloc and realloc that die; a size overflow dies too. */
void *xcalloc(size_t n, size_t size);
void *xgrow(void *p, size_t n, size_t size);

/* splitmix64. A state is seeded by any number; 0 <= random_below(s, n) < n, 0 for n == 0. */
u64 random_next(u64 *state);
u32 random_below(u64 *state, u32 n);
/* A seed for one of several streams that share `seed`. */
u64 random_stream(u64 seed, u32 process, u32 thread);

/* All n bytes. 0, or a negative errno; -EPIPE when the other end is closed. */
int read_full(int fd, void *p, size_t n);
int write_full(int fd, const void *p, size_t n);

u64 now_ns(void);
u64 thread_cpu_ns(void);

#endif
