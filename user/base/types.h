/* SPDX-License-Identifier: BSD-2-Clause */
/* Short names for fixed-width integers, as the kernel has them. */
#ifndef BASE_TYPES_H
#define BASE_TYPES_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define NSEC_PER_SEC 1000000000ull
#define NSEC_PER_MSEC 1000000ull

static inline u64 min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* 0 where b is more. */
static inline u64 less_u64(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

static inline u32 max_u32(u32 a, u32 b)
{
	return a > b ? a : b;
}

static inline u64 max_u64(u64 a, u64 b)
{
	return a > b ? a : b;
}

#endif
