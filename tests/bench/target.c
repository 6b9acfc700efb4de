/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program every tracer of the bench is measured on. It runs loops on
 * command, a line each, and answers with a line:
 *
 *   loop KIND PAIRS EVENT DEPTH THREADS   KIND: none, rdtsc, mark. At least
 *          PAIRS enter+leave pairs, EVENT pairs an event, DEPTH deep.
 *          Answer: thread CPU time, picoseconds a pair.
 *   pace RATE MS   pairs at RATE a second. Answer: pairs made.
 *   on             is a tracer attached? 0 or 1
 *   first          waits for one. Answer: CLOCK_MONOTONIC, ns, of the first
 *                  event that was measured
 *
 *   target GROUPS
 *
 * Built several times: as it is; with version 1 of the SDK (SDK_V1); with rings of other lengths
 * (VMSPAN_RING); with the conventional probes (VMSPAN_PROBES); with LTTng-UST tracepoints
 * instead of marks (BENCH_LTTNG).
 */
#ifdef SDK_V1
#include "user/sdk/v1/vmspan.h"
#else
#include "user/sdk/vmspan.h"
#endif

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef BENCH_LTTNG
#include "lttng_tp.h"
#define ENTER(id) lttng_ust_tracepoint(bench, enter, id)
#define LEAVE(id) lttng_ust_tracepoint(bench, leave, id)
#define EVENT_BEGIN() ((void)0)
#define EVENT_END() ((void)0)
#define ON() lttng_ust_tracepoint_enabled(bench, enter)
#else
#define ENTER(id) vmspan_enter(id)
#define LEAVE(id) vmspan_leave(id)
#define EVENT_BEGIN() vmspan_event_begin(0)
#define EVENT_END() vmspan_event_end()
#define ON() vmspan_enabled()
#endif

#define THREADS_MAX 4096

enum kind {
	KIND_NONE,
	KIND_RDTSC,
	KIND_MARK
};

struct work {
	enum kind kind;
	unsigned long long pairs, event, done, ns;
	unsigned int depth;
	pthread_t thread;
};

static vmspan_u32 *comps;
static unsigned int comp_count;

static unsigned long long clock_of(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (unsigned long long)ts.tv_sec * 1000000000u + (unsigned long long)ts.tv_nsec;
}

static inline __attribute__((always_inline)) void begin(enum kind kind, vmspan_u32 id)
{
	if (kind == KIND_MARK)
		ENTER(id);
	else if (kind == KIND_RDTSC)
		__asm__ volatile("" ::"r"(vmspan__cycles()), "r"(id));
	else
		__asm__ volatile("" ::"r"(id));
}

static inline __attribute__((always_inline)) void end(enum kind kind, vmspan_u32 id)
{
	if (kind == KIND_MARK)
		LEAVE(id);
	else if (kind == KIND_RDTSC)
		__asm__ volatile("" ::"r"(vmspan__cycles()), "r"(id));
	else
		__asm__ volatile("" ::"r"(id));
}

/* One event of n pairs, one after the other. */
static inline __attribute__((always_inline)) void flat(enum kind kind, unsigned long long n)
{
	static __thread unsigned int k;

	while (n--) {
		vmspan_u32 id = comps[k];

		k = k + 1 == comp_count ? 0 : k + 1;
		begin(kind, id);
		end(kind, id);
	}
}

/* The same, `depth` of them inside each other. */
static inline __attribute__((always_inline)) void nested(enum kind kind, unsigned long long n,
							 unsigned int depth)
{
	unsigned int d;

	while (n >= depth) {
		for (d = 0; d < depth; d++)
			begin(kind, comps[d % comp_count]);
		while (d--)
			end(kind, comps[d % comp_count]);
		n -= depth;
	}
}

static inline __attribute__((always_inline)) void events(struct work *w, enum kind kind)
{
	unsigned long long n = w->event / w->depth * w->depth;

	for (; w->done < w->pairs; w->done += n) {
		if (kind == KIND_MARK)
			EVENT_BEGIN();
		if (w->depth == 1)
			flat(kind, n);
		else
			nested(kind, n, w->depth);
		if (kind == KIND_MARK)
			EVENT_END();
	}
}

static void *run(void *arg)
{
	struct work *w = arg;
	unsigned long long from = clock_of(CLOCK_THREAD_CPUTIME_ID);

	if (w->kind == KIND_MARK)
		events(w, KIND_MARK);
	else if (w->kind == KIND_RDTSC)
		events(w, KIND_RDTSC);
	else
		events(w, KIND_NONE);
	w->ns = clock_of(CLOCK_THREAD_CPUTIME_ID) - from;
	return NULL;
}

static void *run_anywhere(void *arg)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	return run(arg);
}

static void loop(const char *line)
{
	static struct work w[THREADS_MAX];
	unsigned long long pairs, event, ns = 0, done = 0;
	unsigned int depth, threads, i;
	char kind[16];

	if (sscanf(line, "%15s %llu %llu %u %u", kind, &pairs, &event, &depth, &threads) != 5 ||
	    !depth || event < depth || !threads || threads > THREADS_MAX)
		exit(2);
	for (i = 0; i < threads; i++)
		w[i] = (struct work){ .kind = *kind == 'm'   ? KIND_MARK
					      : *kind == 'r' ? KIND_RDTSC
							     : KIND_NONE,
				      .pairs = pairs,
				      .event = event,
				      .depth = depth };
	for (i = 0; threads > 1 && i < threads; i++)
		if (pthread_create(&w[i].thread, NULL, run_anywhere, &w[i]))
			exit(1);
	if (threads == 1)
		run(&w[0]);
	for (i = 0; i < threads; i++) {
		if (threads > 1)
			pthread_join(w[i].thread, NULL);
		ns += w[i].ns;
		done += w[i].done;
	}
	printf("%llu\n", ns * 1000 / done);
}

/* Events of 1000 pairs, and between them it waits until the next is due. */
static void pace(const char *line)
{
	unsigned long long rate, ms, made = 0, from = clock_of(CLOCK_MONOTONIC), total;

	if (sscanf(line, "%llu %llu", &rate, &ms) != 2 || !rate)
		exit(2);
	for (total = rate * ms / 1000; made < total; made += 1000) {
		while (clock_of(CLOCK_MONOTONIC) - from < made * 1000000 / rate * 1000)
			;
		EVENT_BEGIN();
		flat(KIND_MARK, 1000);
		EVENT_END();
	}
	printf("%llu\n", made);
}

static void first(void)
{
	unsigned long long at;

	do {
		at = clock_of(CLOCK_MONOTONIC);
		EVENT_BEGIN();
		flat(KIND_MARK, 1);
		EVENT_END();
	} while (!ON());
	printf("%llu\n", at);
}

int main(int argc, char **argv)
{
	unsigned int i;
	char line[128];

	comp_count = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;
	comps = calloc(comp_count ? comp_count : 1, sizeof(*comps));
	if (!comps || !comp_count)
		return 1;
	for (i = 0; i < comp_count; i++) {
		vmspan_u32 group;

		snprintf(line, sizeof(line), "bench-%u", i);
		group = vmspan_group(VMSPAN_ADDON, line);
		comps[i] = vmspan_compartment(line, &group, 1);
	}
	while (fgets(line, sizeof(line), stdin)) {
		if (!strncmp(line, "loop ", 5))
			loop(line + 5);
		else if (!strncmp(line, "pace ", 5))
			pace(line + 5);
		else if (!strncmp(line, "first", 5))
			first();
		else
			printf("%d\n", ON() ? 1 : 0);
		fflush(stdout);
	}
	return 0;
}
