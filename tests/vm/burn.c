/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A target that knows what each of its groups used: every stay burns thread
 * CPU time and measures it from inside. Prints `ready PID`, waits for a line,
 * works, prints the truth as JSON, waits for the end of its input.
 *
 *   burn CASE EVENTS
 *
 * Cases: plain; migrate (stays change CPU in the middle); blocked (group b
 * waits unannounced in every stay); bursts (2 us stays); nested (a nested loop
 * in every event); threads (a new thread for every event).
 */
#include "user/sdk/vmspan.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	GROUP_A,
	GROUP_B,
	GROUP_C,
	GROUPS
};

static const char *const names[GROUPS] = { "a", "b", "c" };
static vmspan_u32 comp[GROUPS];
static unsigned long long truth[GROUPS], event_cpu, waited;
static const char *how;

static unsigned long long cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (unsigned long long)ts.tv_sec * 1000000000u + (unsigned long long)ts.tv_nsec;
}

static volatile unsigned int sink;

/* Uses about this much CPU time. */
static void burn_us(unsigned int us)
{
	unsigned long long end = cpu_ns() + us * 1000ull;
	unsigned int i;

	do {
		for (i = 0; i < 400; i++)
			sink = sink * 1664525u + 1013904223u;
	} while (cpu_ns() < end);
}

static void move_on(void)
{
	static __thread int cpu;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu ^= 1, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* A stay in a group that burns, and counts what it burned. */
static void stay(int g, unsigned int us)
{
	unsigned long long begin;

	vmspan_enter(comp[g]);
	begin = cpu_ns();
	burn_us(us / 2);
	if (!strcmp(how, "migrate") && g == GROUP_B)
		move_on();
	if (!strcmp(how, "blocked") && g == GROUP_B) {
		poll(NULL, 0, 2);
		waited++;
	}
	burn_us(us - us / 2);
	truth[g] += cpu_ns() - begin;
	vmspan_leave(comp[g]);
}

/* Many short stays of one group, measured together. */
static void burst(int g)
{
	unsigned long long begin = cpu_ns();
	unsigned int i, k;

	for (i = 0; i < 200; i++) {
		vmspan_enter(comp[g]);
		for (k = 0; k < 1500; k++)
			sink = sink * 1664525u + 1013904223u;
		vmspan_leave(comp[g]);
	}
	truth[g] += cpu_ns() - begin;
}

static void one_event(unsigned int n)
{
	unsigned long long begin = cpu_ns();

	vmspan_event_begin(0);
	if (!strcmp(how, "bursts")) {
		burst(GROUP_A);
		burst(GROUP_B);
		burst(GROUP_B);
	} else {
		stay(GROUP_A, 300 + n % 7 * 50);
		stay(GROUP_B, 700);
		if (!strcmp(how, "nested")) {
			vmspan_event_begin(0);
			stay(GROUP_C, 200);
			vmspan_event_end();
		}
		stay(GROUP_C, 150);
	}
	vmspan_event_end();
	event_cpu += cpu_ns() - begin;
}

static void *thread_main(void *arg)
{
	one_event((unsigned int)(size_t)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned int events = argc > 2 ? (unsigned int)atoi(argv[2]) : 100, i;
	pthread_t thread;

	how = argc > 1 ? argv[1] : "plain";
	for (i = 0; i < GROUPS; i++) {
		vmspan_u32 g = vmspan_group(VMSPAN_ADDON, names[i]);

		comp[i] = vmspan_compartment(names[i], &g, 1);
	}
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	for (i = 0; i < events; i++) {
		if (strcmp(how, "threads")) {
			one_event(i);
			continue;
		}
		if (pthread_create(&thread, NULL, thread_main, (void *)(size_t)i))
			return 1;
		pthread_join(thread, NULL);
	}
	printf("{\"case\":\"%s\",\"events\":%u,\"cpu_ns\":%llu,\"waits\":%llu,\"groups\":{", how,
	       events, event_cpu, waited);
	for (i = 0; i < GROUPS; i++)
		printf("%s\"addon:%s\":%llu", i ? "," : "", names[i], truth[i]);
	printf("}}\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
