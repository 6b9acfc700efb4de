/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A turn in which one group sleeps 20 ms and another works for 20 ms of CPU time: when it has been
 * told to. It ends with its input.
 */
#include "user/sdk/vmspan.h"
#include <stdio.h>

static long long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int main(void)
{
	unsigned int g[2] = { vmspan_group(VMSPAN_ADDON, "sleeps"),
			      vmspan_group(VMSPAN_ADDON, "works") };
	unsigned int c[2] = { vmspan_compartment("a", &g[0], 1),
			      vmspan_compartment("b", &g[1], 1) };
	struct timespec nap = { 0, 20000000 };
	char line[8];
	long long end;

	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	vmspan_event_begin(0);
	vmspan_enter(c[0]);
	nanosleep(&nap, NULL);
	vmspan_leave(c[0]);
	vmspan_enter(c[1]);
	for (end = cpu_ns() + 20000000; cpu_ns() < end;)
		;
	vmspan_leave(c[1]);
	vmspan_event_end();
	puts("done");
	fflush(stdout);
	while (getchar() >= 0)
		;
	return 0;
}
