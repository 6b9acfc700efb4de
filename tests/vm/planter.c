/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A target with an event loop in which slow turns are planted, that says which it planted: who was to
 * blame, and between which times.
 *
 *   planter SEED COUNT
 *
 * Prints `ready PID`, waits for a line, works; for each slow turn a line of JSON, and `done` after
 * the last. Ends with its input. What a turn does is drawn of SEED. Between the slow ones are usual
 * turns, of some milliseconds; those that are told of in one batch would be one alert, so
 * there are at least 400 ms from one slow turn to the next.
 *
 * A truth is {"kind", "group", "begin_ns", "end_ns", "held_ns"}: times of CLOCK_MONOTONIC around the turn,
 * and how long the group held it, by CLOCK_MONOTONIC inside. Kinds:
 *
 *   burns     an add-on uses the CPU
 *   blocks    it waits in an announced call
 *   collects  a collection runs in it
 *   sleeps    it waits, and has not announced it
 *   calls     a plugin calls an add-on, which uses the CPU
 *   shares    several add-ons of a page, none for long enough
 *   moves     an add-on uses the CPU, and is moved to another
 */
#include "user/sdk/vmspan.h"

#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADDONS 8
#define PLUGINS 3

static vmspan_u32 addons[ADDONS], plugins[PLUGINS], page, waits;
static char names[ADDONS][16];
static cpu_set_t allowed;
static unsigned int seed;

static unsigned long long clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (unsigned long long)ts.tv_sec * 1000000000u + (unsigned long long)ts.tv_nsec;
}

static unsigned int draw(unsigned int n)
{
	seed = seed * 1664525u + 1013904223u;
	return (unsigned int)((unsigned long long)seed * n >> 32);
}

static void burn_us(unsigned int us)
{
	unsigned long long end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + us * 1000ull;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static vmspan_u32 define(enum vmspan_kind kind, const char *name)
{
	vmspan_u32 group = vmspan_group(kind, name);

	return vmspan_compartment(name, &group, 1);
}

/* To another CPU of those that it may use; the same where there is one. */
static void move(void)
{
	static int at;
	cpu_set_t set;

	do {
		at = (at + 1) % CPU_SETSIZE;
	} while (!CPU_ISSET(at, &allowed));
	CPU_ZERO(&set);
	CPU_SET(at, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* A few stays of add-ons, one in the other now and then. */
static void usual(void)
{
	unsigned int n = 1 + draw(5), i;

	for (i = 0; i < n; i++) {
		vmspan_u32 a = addons[draw(ADDONS)], b = addons[draw(ADDONS)];

		vmspan_enter(a);
		burn_us(20 + draw(200));
		if (draw(2)) {
			vmspan_enter(b);
			burn_us(20 + draw(100));
			vmspan_leave(b);
		}
		vmspan_leave(a);
	}
}

static void usual_turn(void)
{
	vmspan_event_begin(0);
	vmspan_enter(page);
	usual();
	vmspan_leave(page);
	vmspan_event_end();
	poll(NULL, 0, 2);
}

/* What holds the turn for so long. */
static void hold(const char *kind, unsigned int us)
{
	if (!strcmp(kind, "blocks")) {
		vmspan_block_begin(waits, 0);
		poll(NULL, 0, (int)(us / 1000));
		vmspan_block_end();
	} else if (!strcmp(kind, "collects")) {
		vmspan_gc_begin(0, 2000000);
		burn_us(us);
		vmspan_gc_end(1000000);
	} else if (!strcmp(kind, "sleeps")) {
		poll(NULL, 0, (int)(us / 1000));
	} else if (!strcmp(kind, "moves")) {
		burn_us(us / 2);
		move();
		burn_us(us / 2);
	} else {
		burn_us(us);
	}
}

static void slow_turn(const char *kind)
{
	unsigned int i, who = draw(ADDONS), us = 100000 + draw(400000), of = draw(PLUGINS);
	unsigned long long begin = clock_ns(CLOCK_MONOTONIC), held;
	int calls = !strcmp(kind, "calls"), shares = !strcmp(kind, "shares");

	vmspan_event_begin(0);
	vmspan_enter(page);
	usual();
	if (calls)
		vmspan_enter(plugins[of]);
	held = clock_ns(CLOCK_MONOTONIC);
	for (i = 0; i < (shares ? 4 : 1); i++) {
		vmspan_enter(addons[(who + i) % ADDONS]);
		hold(kind, shares ? 35000 : us);
		vmspan_leave(addons[(who + i) % ADDONS]);
	}
	held = clock_ns(CLOCK_MONOTONIC) - held;
	if (calls)
		vmspan_leave(plugins[of]);
	usual();
	vmspan_leave(page);
	vmspan_event_end();
	printf("{\"kind\":\"%s\",\"group\":\"%s%s\",\"begin_ns\":%llu,\"end_ns\":%llu,\"held_ns\":%"
	       "llu}\n",
	       kind, shares ? "page:" : "addon:", shares ? "site" : names[who], begin,
	       clock_ns(CLOCK_MONOTONIC), held);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = { "burns", "blocks", "collects", "sleeps",
					     "calls", "shares", "moves" };
	const unsigned int count = sizeof(kinds) / sizeof(*kinds);
	unsigned int n, i, first;
	unsigned long long until;

	if (argc != 3)
		return 2;
	seed = (unsigned int)strtoul(argv[1], NULL, 10);
	for (i = 0; i < ADDONS; i++) {
		snprintf(names[i], sizeof(names[i]), "a%u", i);
		addons[i] = define(VMSPAN_ADDON, names[i]);
	}
	plugins[0] = define(VMSPAN_PLUGIN, "p0");
	plugins[1] = define(VMSPAN_PLUGIN, "p1");
	plugins[2] = define(VMSPAN_PLUGIN, "p2");
	page = define(VMSPAN_PAGE, "site");
	waits = vmspan_label("waits");
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return 2;
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	first = draw(count);
	for (n = 0; n < (unsigned int)atoi(argv[2]); n++) {
		until = clock_ns(CLOCK_MONOTONIC) + (400 + draw(200)) * 1000000ull;
		while (clock_ns(CLOCK_MONOTONIC) < until)
			usual_turn();
		/* Each kind as often as any other. */
		slow_turn(kinds[(first + n) % count]);
	}
	for (i = 0; i < 100; i++)
		usual_turn();
	puts("done");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
