/* SPDX-License-Identifier: BSD-2-Clause */
/* Readings of several clocks at one moment. */
#ifndef ATTACH_CLOCK_H
#define ATTACH_CLOCK_H

#include "source/source.h"

/* The counter programs read: TSC on x86-64, cntvct on aarch64. */
static inline u64 clock_cycles(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	u64 v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#endif
}

u64 clock_mono_ns(void);
/* Since the start of the machine, the time that it slept included. */
u64 clock_boot_ns(void);
/* The tightest of several bracketed readings. */
void clock_read(enum source_clock clock, struct item_clock *c);
/* Cycles a second. The first time it is asked for, it is measured, for about 20 ms. Of any thread. */
u64 clock_hz(enum source_clock clock);
enum {
	CLOCK_STEP_MAX = 256
};
/* What most readings of it differ by multiples of; 1: they do not. */
u32 clock_step(enum source_clock clock);
/* The same of such differences. */
u32 clock_step_of(const u64 *apart, u32 count);

#endif
