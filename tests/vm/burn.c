/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A target that knows what each of its groups used: every stay burns thread
 * CPU time and measures it, and the time that passed, from inside. Between the
 * stays is native work, which is nobody's. Prints `ready PID`, waits for a line,
 * works, prints the truth as JSON, waits for the end of its input. Of a group's CPU time that is what it
 * used for certain (groups), and with its marks and what came between them and a reading (groups_most).
 *
 *   burn CASE EVENTS [TIMES]
 *
 * Stays are TIMES as long, bursts are not. It also counts how often its thread was switched
 * in events: the kernel charges that to the thread. "stolen_ns" is what a hypervisor took meanwhile
 * of the CPUs that this process may use, as far as the kernel has counted it in whole ticks.
 *
 * Cases: plain; migrate (stays change CPU in the middle); blocked (group b
 * waits unannounced in every stay); short (stays of 10 to 40 us, fifty times as many events);
 * bursts (stays of 2 us); nested (a nested loop in every event); threads (a new thread for every
 * event).
 */
#include "user/sdk/vmspan.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
	GROUP_A,
	GROUP_B,
	GROUP_C,
	GROUPS
};

#define SHORT_TIMES 50 /* as many events */

static const char *const names[GROUPS] = { "a", "b", "c" };
static vmspan_u32 comp[GROUPS];
static unsigned long long truth[GROUPS], most[GROUPS], truth_wall[GROUPS], event_cpu, event_wall,
	waited;
static unsigned long long cpu_reading; /* ns from one reading of the thread's clock to the next */
static unsigned int burst_rounds; /* of work: 2 us */
static unsigned int times = 1; /* as long */
static long switches;
static const char *how;

static unsigned long long clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (unsigned long long)ts.tv_sec * 1000000000u + (unsigned long long)ts.tv_nsec;
}

static unsigned long long cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static volatile unsigned int sink;

static inline void work(unsigned int rounds)
{
	unsigned int i;

	for (i = 0; i < rounds; i++)
		sink = sink * 1664525u + 1013904223u;
}

/* How often this thread gave up its CPU, or lost it. */
static long switched(void)
{
	struct rusage u;

	return getrusage(RUSAGE_THREAD, &u) ? 0 : u.ru_nvcsw + u.ru_nivcsw;
}

/* Uses about this much CPU time. */
static void burn_us(unsigned int us)
{
	unsigned long long end = cpu_ns() + us * 1000ull;

	do {
		work(400);
	} while (cpu_ns() < end);
}

static cpu_set_t allowed; /* that this process had at first */

static unsigned long long stolen_ns(void)
{
	unsigned long long ticks = 0, t;
	char line[512];
	FILE *f = fopen("/proc/stat", "r");
	unsigned int cpu;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "cpu%u %*u %*u %*u %*u %*u %*u %*u %llu", &cpu, &t) == 2 &&
		    CPU_ISSET(cpu, &allowed))
			ticks += t;
	if (f)
		fclose(f);
	return ticks * (1000000000u / (unsigned long long)sysconf(_SC_CLK_TCK));
}

static void move_on(void)
{
	static int cpu;
	cpu_set_t set;

	if (!CPU_COUNT(&allowed))
		return;
	do {
		cpu = (cpu + 1) % CPU_SETSIZE;
	} while (!CPU_ISSET(cpu, &allowed));
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* A stay in a group that burns, and counts what it burned. */
static void stay(int g, unsigned int us)
{
	unsigned long long begin, begin_wall, before = cpu_ns();

	vmspan_enter(comp[g]);
	begin_wall = clock_ns(CLOCK_MONOTONIC);
	begin = cpu_ns();
	burn_us(us / 2);
	if (!strcmp(how, "migrate") && g == GROUP_B)
		move_on();
	if (!strcmp(how, "blocked") && g == GROUP_B) {
		poll(NULL, 0, 2);
		waited++;
	}
	burn_us(us - us / 2);
	/* Of two readings in a stay their difference shows one. */
	truth[g] += cpu_ns() - begin + cpu_reading;
	truth_wall[g] += clock_ns(CLOCK_MONOTONIC) - begin_wall;
	vmspan_leave(comp[g]);
	/* What comes between a mark and a reading, as an interrupt does, is in the stay or not. */
	most[g] += cpu_ns() - before;
}

/* Cycles from one reading of the counter to the next. It may count in steps of
 * many, so a single difference says little. */
static unsigned long long reading_cycles(void)
{
	unsigned long long best = ~0ull, begin, took;
	unsigned int i, k;

	for (i = 0; i < 20; i++) {
		begin = vmspan__cycles();
		for (k = 0; k < 63; k++)
			vmspan__cycles();
		took = (vmspan__cycles() - begin) / 64;
		best = took < best ? took : best;
	}
	return best;
}

static void calibrate(void)
{
	unsigned long long best = ~0ull, begin, took;
	unsigned int i, k;

	cpu_reading = ~0ull;
	for (i = 0; i < 20; i++) {
		begin = cpu_ns();
		for (k = 0; k < 63; k++)
			cpu_ns();
		took = (cpu_ns() - begin) / 64;
		cpu_reading = took < cpu_reading ? took : cpu_reading;
		begin = clock_ns(CLOCK_MONOTONIC);
		work(20000);
		took = clock_ns(CLOCK_MONOTONIC) - begin;
		best = took < best ? took : best;
	}
	burst_rounds = (unsigned int)(20000 * 2000ull / best);
}

/* Of bursts: the thread's time in them; and cycles, all and inside of stays, of those
 * in which nothing came between. */
static struct {
	unsigned long long cpu, cycles, inside;
} bursts[GROUPS];

/*
 * Many short stays of one group. They are too short for the thread's clock, so
 * that measures them together, and the counter says which part was inside. It also
 * counts what others do, between the stays more than in them: a trap for the tracer
 * is where a thread loses its CPU. So bursts count for that part that had none of it.
 */
static void burst(int g)
{
	unsigned long long begin, begin_wall, from, inside = 0, at, reading = reading_cycles();
	unsigned long long cpu, wall;
	unsigned int i;

	begin_wall = clock_ns(CLOCK_MONOTONIC);
	begin = cpu_ns();
	from = vmspan__cycles();
	for (i = 0; i < 200; i++) {
		vmspan_enter(comp[g]);
		at = vmspan__cycles();
		work(burst_rounds);
		inside += vmspan__cycles() - at + reading;
		vmspan_leave(comp[g]);
	}
	from = vmspan__cycles() - from;
	cpu = cpu_ns() - begin;
	wall = clock_ns(CLOCK_MONOTONIC) - begin_wall;
	truth_wall[g] += (unsigned long long)((double)wall * (double)inside / (double)from);
	bursts[g].cpu += cpu;
	if (wall > cpu + 2000 && bursts[g].cycles)
		return;
	bursts[g].cycles += from;
	bursts[g].inside += inside;
}

static void bursts_count(void)
{
	int i;

	for (i = 0; i < GROUPS; i++)
		if (bursts[i].cycles)
			most[i] = truth[i] += (unsigned long long)((double)bursts[i].cpu *
								   (double)bursts[i].inside /
								   (double)bursts[i].cycles);
}

static void one_event(unsigned int n)
{
	unsigned long long begin_wall, begin;

	switches -= switched();
	begin_wall = clock_ns(CLOCK_MONOTONIC);
	begin = cpu_ns();
	vmspan_event_begin(0);
	if (strcmp(how, "short"))
		burn_us(50);
	if (!strcmp(how, "bursts")) {
		burst(GROUP_A);
		burn_us(50);
		burst(GROUP_B);
		burst(GROUP_B);
	} else if (!strcmp(how, "short")) {
		stay(GROUP_A, 20 + n % 7);
		stay(GROUP_B, 40);
		stay(GROUP_C, 10);
	} else {
		stay(GROUP_A, (300 + n % 7 * 50) * times);
		burn_us(50);
		stay(GROUP_B, 700 * times);
		if (!strcmp(how, "nested")) {
			vmspan_event_begin(0);
			stay(GROUP_C, 200 * times);
			vmspan_event_end();
		}
		stay(GROUP_C, 150 * times);
	}
	vmspan_event_end();
	event_cpu += cpu_ns() - begin;
	event_wall += clock_ns(CLOCK_MONOTONIC) - begin_wall;
	switches += switched();
}

static void *thread_main(void *arg)
{
	one_event((unsigned int)(size_t)arg);
	return NULL;
}

static void print_groups(const char *key, const unsigned long long *ns)
{
	int i;

	printf(",\"%s\":{", key);
	for (i = 0; i < GROUPS; i++)
		printf("%s\"addon:%s\":%llu", i ? "," : "", names[i], ns[i]);
	printf("}");
}

int main(int argc, char **argv)
{
	unsigned int events = argc > 2 ? (unsigned int)atoi(argv[2]) : 100, i;
	unsigned long long stolen;
	pthread_t thread;

	how = argc > 1 ? argv[1] : "plain";
	if (argc > 3)
		times = (unsigned int)atoi(argv[3]);
	if (!strcmp(how, "short"))
		events *= SHORT_TIMES;
	for (i = 0; i < GROUPS; i++) {
		vmspan_u32 g = vmspan_group(VMSPAN_ADDON, names[i]);

		comp[i] = vmspan_compartment(names[i], &g, 1);
	}
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		CPU_ZERO(&allowed);
	calibrate();
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	stolen = stolen_ns();
	for (i = 0; i < events; i++) {
		if (strcmp(how, "threads")) {
			one_event(i);
			continue;
		}
		if (pthread_create(&thread, NULL, thread_main, (void *)(size_t)i))
			return 1;
		pthread_join(thread, NULL);
	}
	stolen = stolen_ns() - stolen;
	bursts_count();
	printf("{\"case\":\"%s\",\"events\":%u,\"cpu_ns\":%llu,\"wall_ns\":%llu,\"waits\":%llu,"
	       "\"switches\":%ld,\"stolen_ns\":%llu",
	       how, events, event_cpu, event_wall, waited, switches, stolen);
	print_groups("groups", truth);
	print_groups("groups_most", most);
	print_groups("groups_wall", truth_wall);
	printf("}\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
