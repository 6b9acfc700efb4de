/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A target whose thread leaves its CPU when it is told to, and only then. Prints `ready PID`,
 * waits for a line, makes an event of its steps, waits for another line, makes an event in which
 * nothing happens, prints what happened in the first as JSON, waits for the end of its input.
 *
 *   unseen STEPS FLAGS
 *
 * STEPS are letters: w waits for a line, off the CPU; s spins until the next flag is there: the
 * file FLAGS.1, then FLAGS.2 and so on. "switches" of the JSON is how often the thread gave up
 * its CPU or lost it, "waited_ns" the time of the waits in which it used none.
 */
#include "user/sdk/vmspan.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static unsigned long long clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (unsigned long long)ts.tv_sec * 1000000000u + (unsigned long long)ts.tv_nsec;
}

static long switched(void)
{
	struct rusage u;

	return getrusage(RUSAGE_THREAD, &u) ? 0 : u.ru_nvcsw + u.ru_nivcsw;
}

/* False at the end of the input. */
static int line(void)
{
	char c;
	ssize_t n;

	while ((n = read(0, &c, 1)) == 1 && c != '\n')
		;
	return n == 1;
}

static unsigned long long wait_ns(void)
{
	unsigned long long wall = clock_ns(CLOCK_MONOTONIC);
	unsigned long long cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	line();
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	return clock_ns(CLOCK_MONOTONIC) - wall - cpu;
}

static void spin_until(const char *flags, int number)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s.%d", flags, number);
	while (access(path, F_OK))
		;
}

int main(int argc, char **argv)
{
	vmspan_u32 group = vmspan_group(VMSPAN_ADDON, "a");
	vmspan_u32 comp = vmspan_compartment("a", &group, 1);
	unsigned long long waited = 0;
	int flags = 0;
	long switches;
	char *step;

	if (argc != 3)
		return 2;
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (!line())
		return 1;
	switches = switched();
	vmspan_event_begin(0);
	vmspan_enter(comp);
	for (step = argv[1]; *step; step++) {
		if (*step == 'w')
			waited += wait_ns();
		else
			spin_until(argv[2], ++flags);
	}
	vmspan_leave(comp);
	vmspan_event_end();
	switches = switched() - switches;
	line();
	vmspan_event_begin(0);
	vmspan_enter(comp);
	vmspan_leave(comp);
	vmspan_event_end();
	printf("{\"switches\":%ld,\"waited_ns\":%llu}\n", switches, waited);
	fflush(stdout);
	while (line())
		;
	return 0;
}
