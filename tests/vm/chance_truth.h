/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What chance.c has marked, counted by the rules for those who mark (user/sdk/README.md): one stack
 * a thread, which knows no time. All processes of a program count in the same place.
 */
#ifndef TESTS_VM_CHANCE_TRUTH_H
#define TESTS_VM_CHANCE_TRUTH_H

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	LIBRARIES = 3,
	GROUPS = 4, /* the program's own */
	COMPS = 8,
};

struct truth {
	unsigned long events, implicit, spans, repaired, unmatched, gcs, inputs, frames, unfinished;
	unsigned long of_comp[COMPS + LIBRARIES]; /* spans, in events that have ended */
	unsigned long failed; /* what the system refused: the counts say nothing then */
	unsigned long ended; /* the first process has come to its end */
	unsigned long taken[32]; /* actions, by kind */
};

static struct truth *truth; /* shared memory */

static int map_truth(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, sizeof(*truth)))
		return -1;
	truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return truth == MAP_FAILED ? -1 : 0;
}

static void add(unsigned long *count)
{
	__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}

enum {
	STAYS = 200,
	EVENTS = 24,
	GC = 1000,
	CALL = 1001
};

struct stay {
	unsigned int what; /* compartment, GC or CALL */
	unsigned int again;
	int had_span; /* inside, outside of events */
};

/* What a thread is in. */
struct marked {
	struct stay stay[STAYS];
	int depth, events, base[EVENTS];
	/* Spans of the events that it is in, and of no event: what does not end is in no sum. */
	unsigned int spans[EVENTS + 1][COMPS + LIBRARIES];
};

/* The event has ended, or the stay outside of any. */
static void summed(struct marked *t)
{
	unsigned int i, *n = t->spans[t->events];

	for (i = 0; i < COMPS + LIBRARIES; i++) {
		__atomic_fetch_add(&truth->of_comp[i], n[i], __ATOMIC_RELAXED);
		n[i] = 0;
	}
}

static void popped(struct marked *t, int repaired)
{
	const struct stay *s = &t->stay[--t->depth];
	int span = s->what < GC;

	if (span) {
		add(&truth->spans);
		t->spans[t->events][s->what]++;
	} else if (s->what == GC) {
		add(&truth->gcs);
	}
	if (repaired)
		add(&truth->repaired);
	if (t->events)
		return;
	if (t->depth) {
		t->stay[0].had_span |= span;
		return;
	}
	if (span || s->had_span)
		add(&truth->implicit);
	summed(t);
}

static int base_of(const struct marked *t)
{
	return t->events ? t->base[t->events - 1] : 0;
}

static void unwound(struct marked *t, int depth)
{
	while (t->depth > depth)
		popped(t, 1);
}

static void stay_began(struct marked *t, unsigned int what)
{
	if (what < GC && t->depth > base_of(t) && t->stay[t->depth - 1].what == what)
		t->stay[t->depth - 1].again++;
	else
		t->stay[t->depth++] = (struct stay){ .what = what };
}

static void stay_left(struct marked *t, unsigned int what)
{
	int d = t->depth;

	while (d > base_of(t) && t->stay[d - 1].what != what)
		d--;
	if (d == base_of(t)) {
		if (t->depth || t->events)
			add(&truth->unmatched);
		return;
	}
	unwound(t, d);
	if (t->stay[d - 1].again)
		t->stay[d - 1].again--;
	else
		popped(t, 0);
}

static void event_began(struct marked *t)
{
	t->base[t->events++] = t->depth;
}

static void event_ended(struct marked *t)
{
	if (!t->events)
		return;
	unwound(t, base_of(t));
	summed(t);
	t->events--;
	add(&truth->events);
}

static void events_left(struct marked *t, int keep)
{
	while (t->events > keep)
		event_ended(t);
	if (!keep)
		unwound(t, 0);
}

/* No more is heard of this thread. */
static void marked_over(const struct marked *t)
{
	if (t->events || t->depth)
		add(&truth->unfinished);
}

#endif
