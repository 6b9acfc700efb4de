/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A target whose children come and go: `churn N` prints "ready", reads a line,
 * makes N children one after the other, prints "child PID" of each that has done
 * its work, then "done ROUND", and ends with its input.
 * Each child has one event of group addon:churn, of MS milliseconds of CPU
 * (default 2), and ten of addon:quiet that do nothing.
 */
#include "user/sdk/vmspan.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

static vmspan_u32 quiet, churn, label;

static vmspan_u64 cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (vmspan_u64)t.tv_sec * 1000000000ull + (vmspan_u64)t.tv_nsec;
}

static void child(vmspan_u64 ns)
{
	vmspan_u64 begin;
	int i;

	for (i = 0; i < 10; i++) {
		vmspan_event_begin(label);
		vmspan_enter(quiet);
		vmspan_leave(quiet);
		vmspan_event_end();
	}
	vmspan_event_begin(label);
	vmspan_enter(churn);
	for (begin = cpu_ns(); cpu_ns() - begin < ns;)
		;
	vmspan_leave(churn);
	vmspan_event_end();
	_exit(0);
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 10;
	vmspan_u64 ns = (argc > 2 ? (vmspan_u64)atol(argv[2]) : 2) * 1000000;
	vmspan_u32 group = vmspan_group(VMSPAN_ADDON, "quiet");
	char line[64];
	long round = 0;

	quiet = vmspan_compartment("quiet", &group, 1);
	group = vmspan_group(VMSPAN_ADDON, "churn");
	churn = vmspan_compartment("churn", &group, 1);
	label = vmspan_label("turn");
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		long i;
		int status;

		for (i = 0; i < n; i++) {
			pid_t pid = fork();

			if (!pid)
				child(ns);
			if (pid < 0)
				return 1;
			if (waitpid(pid, &status, 0) != pid || status)
				return 1;
			printf("child %d\n", (int)pid);
		}
		printf("done %ld\n", ++round);
		fflush(stdout);
	}
	return 0;
}
