/* SPDX-License-Identifier: BSD-2-Clause */
#include "attach/clock.h"

#include <pthread.h>
#include <time.h>

static u64 read_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (u64)ts.tv_sec * NSEC_PER_SEC + (u64)ts.tv_nsec;
}

u64 clock_mono_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

u64 clock_boot_ns(void)
{
	return read_ns(CLOCK_BOOTTIME);
}

void clock_read(enum source_clock clock, struct item_clock *c)
{
	u64 best = UINT64_MAX;
	int i;

	for (i = 0; i < 16; i++) {
		u64 before = clock_cycles(), mono = clock_mono_ns(), after = clock_cycles();
		u64 real;

		if (after - before >= best)
			continue;
		best = after - before;
		/* An error here shifts dates only. */
		real = read_ns(CLOCK_REALTIME);
		c->cycles = clock == CLOCK_MONO ? mono : before + (after - before) / 2;
		c->mono_ns = mono;
		c->real_ns = real;
	}
}

static u64 measured_hz;

/* It sleeps meanwhile; who wakes it early, or does not let it sleep, does not make it shorter. */
static void measure_hz(void)
{
	struct timespec until;
	struct item_clock a, b;
	u64 end;

	clock_read(CLOCK_TSC, &a);
	end = a.mono_ns + 20 * NSEC_PER_MSEC;
	until.tv_sec = (time_t)(end / NSEC_PER_SEC);
	until.tv_nsec = (long)(end % NSEC_PER_SEC);
	do {
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		clock_read(CLOCK_TSC, &b);
	} while (b.mono_ns < end);
	measured_hz = (u64)((unsigned __int128)(b.cycles - a.cycles) * NSEC_PER_SEC /
			    (b.mono_ns - a.mono_ns));
}

u64 clock_hz(enum source_clock clock)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (clock == CLOCK_MONO)
		return NSEC_PER_SEC;
	pthread_once(&once, measure_hz);
	return measured_hz;
}

/*
 * A TSC may move on by its whole ratio at once: 26 cycles each 10 ns. Two readings
 * within one step are then told apart by a cycle; hence "most".
 */
u32 clock_step_of(const u64 *apart, u32 count)
{
	u32 step, i, n;

	for (step = CLOCK_STEP_MAX; step > 1; step--) {
		for (i = n = 0; i < count; i++)
			n += apart[i] && apart[i] % step == 0;
		if (n >= count - count / 8)
			break;
	}
	return step;
}

u32 clock_step(enum source_clock clock)
{
	enum {
		READS = 256
	};
	u64 apart[READS], before, now;
	volatile u32 spin;
	u32 i;

	if (clock == CLOCK_MONO)
		return 1;
	before = clock_cycles();
	for (i = 0; i < READS; i++) {
		/* Differences of many lengths, or a loop's would be taken for a step. */
		for (spin = i * 7 % 61; spin; spin--)
			;
		now = clock_cycles();
		apart[i] = now - before;
		before = now;
	}
	return clock_step_of(apart, READS);
}
