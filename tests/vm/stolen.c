/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A target from which time seems stolen: its thread's CPU clock stands still for a known time
 * in some events, as the kernel's does while a hypervisor has the CPU. Prints `ready PID`, waits
 * for a line, makes its events, prints what it withheld as JSON, waits for the end of its input.
 *
 *   stolen EVENTS WITHHELD_NS       of every other event, from the second on
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static unsigned long long withheld; /* ns, of this thread's clock so far */

static unsigned long long real_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (unsigned long long)ts.tv_sec * 1000000000u + (unsigned long long)ts.tv_nsec;
}

/* What the header reads. */
static int shown_clock(clockid_t clock, struct timespec *ts)
{
	unsigned long long ns = real_ns(clock);

	if (clock == CLOCK_THREAD_CPUTIME_ID)
		ns -= withheld;
	ts->tv_sec = (time_t)(ns / 1000000000u);
	ts->tv_nsec = (long)(ns % 1000000000u);
	return 0;
}

#define VMSPAN__CLOCK shown_clock
#include "user/sdk/vmspan.h"

static volatile unsigned int sink;

static void burn(unsigned long long ns)
{
	unsigned long long end = real_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	unsigned int i;

	do {
		for (i = 0; i < 400; i++)
			sink = sink * 1664525u + 1013904223u;
	} while (real_ns(CLOCK_THREAD_CPUTIME_ID) < end);
}

int main(int argc, char **argv)
{
	unsigned long long each = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	int events = argc > 1 ? atoi(argv[1]) : 0, i;
	vmspan_u32 group = vmspan_group(VMSPAN_ADDON, "a");
	vmspan_u32 comp = vmspan_compartment("a", &group, 1);

	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	for (i = 0; i < events; i++) {
		vmspan_event_begin(0);
		vmspan_enter(comp);
		/* What is withheld was used before: the clock never goes back. */
		burn(each + 1000000);
		withheld += i % 2 ? each : 0;
		vmspan_leave(comp);
		vmspan_event_end();
	}
	printf("{\"events\":%d,\"withheld_ns\":%llu}\n", events, withheld);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
