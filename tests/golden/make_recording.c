/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a small recording whose every figure is known, for the golden tests:
 *   make_recording SCENARIO FILE
 * Times are fixed, so the file and everything made from it are the same on
 * every run. Cycles run at 2 GHz.
 */
#include "rec/rec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HZ 2000000000ull
#define START_NS 5000000000000ull
#define REAL_NS 1790000000000000000ull

struct maker {
	struct rec_writer *w;
	u32 pid, tid, thread;
	u64 seq; /* of the batch's first record */
	u32 records, iteration;
	u64 space[4096 * 4];
	size_t bytes;
};

static u64 cycles(u64 us)
{
	return (START_NS + us * 1000) * (HZ / 1000000) / 1000;
}

static void put(struct maker *m, const struct item *it)
{
	if (rec_item(m->w, it)) {
		fprintf(stderr, "make_recording: write failed\n");
		exit(1);
	}
}

static void *record(struct maker *m, u8 type, u8 slots, u16 depth, u32 id)
{
	struct vmspan_head *h = (void *)((u8 *)m->space + m->bytes);

	memset(h, 0, (size_t)slots * VMSPAN_SLOT);
	*h = (struct vmspan_head){ type, slots, depth, id };
	m->bytes += (size_t)slots * VMSPAN_SLOT;
	m->records++;
	return h;
}

static void flush(struct maker *m)
{
	struct item it = { .type = ITEM_BATCH };

	it.batch = (struct item_batch){ .pid = m->pid,
					.tid = m->tid,
					.registry = 0x4000,
					.thread = m->thread,
					.seq = m->seq,
					.records = m->records,
					.bytes = (u32)m->bytes,
					.data = m->space };
	if (m->records)
		put(m, &it);
	m->seq += m->records;
	m->records = 0;
	m->bytes = 0;
}

static void stay(struct maker *m, u8 type, u16 depth, u32 id, u64 begin, u64 end, u16 cpu_end)
{
	struct vmspan_span *s = record(m, type, type == VMSPAN_SPAN ? 1 : 2, depth, id);

	s->begin = cycles(begin);
	s->end = cycles(end);
	s->cpu_end = cpu_end;
	s->iteration = m->iteration;
	if (type == VMSPAN_GC) {
		((struct vmspan_gc *)s)->bytes_before = 8 << 20;
		((struct vmspan_gc *)s)->bytes_after = 5 << 20;
	} else if (type == VMSPAN_BLOCK) {
		((struct vmspan_block *)s)->peer = 4321;
	}
}

static struct vmspan_event *event(struct maker *m, u16 depth, u32 iteration, u32 parent,
				  u32 records, u64 begin, u64 end)
{
	struct vmspan_event *e = record(m, VMSPAN_EVENT, 3, depth, iteration);

	e->begin = cycles(begin);
	e->end = cycles(end);
	e->mono_begin = START_NS + begin * 1000;
	e->mono_end = START_NS + end * 1000;
	e->cpu_ns_begin = 1000000;
	e->cpu_ns_end = 1000000 + (end - begin) * 900;
	e->parent = parent;
	e->label = 1 + iteration % 2;
	e->records = records;
	return e;
}

static void mark(struct maker *m, u8 type, u32 id, u64 at, s64 value)
{
	struct vmspan_point *k = record(m, type, 1, 0, id);

	k->time = cycles(at);
	k->value = value;
	k->iteration = m->iteration;
}

static void define(struct maker *m, u8 type, u32 id, u8 kind, const char *name, u32 group)
{
	u64 space[40] = { 0 };
	struct vmspan_def *d = (void *)space;
	struct item it = { .type = ITEM_DEFS };

	d->h.type = type;
	d->h.id = id;
	d->kind = kind;
	d->count = group != 0;
	d->name_len = (u8)strnlen(name, VMSPAN_NAME_MAX);
	if (group)
		d->groups[0] = group;
	memcpy(d->groups + d->count, name, d->name_len);
	d->h.slots =
		(u8)((sizeof(*d) + d->count * 4u + d->name_len + VMSPAN_SLOT - 1) / VMSPAN_SLOT);
	it.defs = (struct item_defs){ m->pid, 0x4000, d, d->h.slots * (u32)VMSPAN_SLOT };
	put(m, &it);
}

static void clock_at(struct maker *m, u64 us)
{
	struct item it = { .type = ITEM_CLOCK,
			   .clock = { cycles(us), START_NS + us * 1000, REAL_NS + us * 1000 } };

	put(m, &it);
}

static void process(struct maker *m, u32 pid, const char *name)
{
	struct item it = { .type = ITEM_PROCESS,
			   .process = { PROCESS_SEEN, pid, 1, START_NS, name, "sdk" } };

	m->pid = pid;
	m->tid = pid;
	put(m, &it);
}

static void names(struct maker *m, const char *const group[4])
{
	static const u8 kinds[] = { VMSPAN_ADDON, VMSPAN_ADDON, VMSPAN_PAGE, VMSPAN_PLUGIN };
	u32 i;

	for (i = 0; i < 4; i++) {
		char frame[300];

		define(m, VMSPAN_DEF_GROUP, i + 1, kinds[i], group[i], 0);
		snprintf(frame, sizeof(frame), "%s/main", group[i]);
		define(m, VMSPAN_DEF_COMPARTMENT, i + 1, 0, frame, i + 1);
	}
	define(m, VMSPAN_DEF_LABEL, 1, 0, "timer", 0);
	define(m, VMSPAN_DEF_LABEL, 2, 0, "input", 0);
	define(m, VMSPAN_DEF_LABEL, 3, 0, "heap", 0);
}

/* Three turns of one thread: calls, a collection, a blocking call, a nested
 * loop, a span that moved. Returns with the batch flushed. */
static void turns(struct maker *m, u64 t)
{
	m->iteration = 1;
	mark(m, VMSPAN_INPUT, 2, t + 5, 0);
	stay(m, VMSPAN_SPAN, 1, 2, t + 200, t + 300, 0);
	stay(m, VMSPAN_GC, 1, 1, t + 400, t + 900, 0);
	stay(m, VMSPAN_SPAN, 0, 1, t + 100, t + 1100, 0);
	stay(m, VMSPAN_SPAN, 0, 3, t + 1200, t + 1300, 0);
	event(m, 0, 1, 0, 5, t, t + 1500);
	flush(m);
	m->iteration = 2;
	stay(m, VMSPAN_BLOCK, 1, 2, t + 2100, t + 72000, 1);
	stay(m, VMSPAN_SPAN, 0, 4, t + 2050, t + 72100, 1);
	stay(m, VMSPAN_SPAN, 0, 1, t + 72200, t + 72300, 1);
	mark(m, VMSPAN_VALUE, 3, t + 72400, 5 << 20);
	mark(m, VMSPAN_FRAME, 0, t + 72450, 0);
	event(m, 0, 2, 0, 5, t + 2000, t + 72500);
	flush(m);
	m->iteration = 4;
	stay(m, VMSPAN_SPAN, 1, 1, t + 73300, t + 73400, 0);
	event(m, 1, 4, 3, 1, t + 73200, t + 73500);
	m->iteration = 3;
	stay(m, VMSPAN_SPAN, 0, 3, t + 73100, t + 73600, 0);
	event(m, 0, 3, 0, 3, t + 73000, t + 74000);
	flush(m);
}

static void scenario_basic(struct maker *m)
{
	static const char *const group[] = { "tracker", "adblock", "shop", "video" };
	struct item it = { .type = ITEM_THREAD };
	u32 pid;

	for (pid = 1000; pid <= 1001; pid++) {
		process(m, pid, pid == 1000 ? "host" : "content");
		names(m, group);
		it.thread = (struct item_thread){ pid, pid, false, START_NS, "main loop" };
		m->thread = 1;
		m->seq = 0;
		turns(m, pid == 1000 ? 100 : 80000);
		put(m, &it);
	}
	clock_at(m, 200000);
}

/* The third batch of four is missing, and the kernel says why. */
static void scenario_lossy(struct maker *m)
{
	static const char *const group[] = { "tracker", "adblock", "shop", "video" };
	struct item it = { .type = ITEM_LOSS, .loss = { LOSS_RING_FULL, 2, 1, false } };
	u32 i;

	process(m, 1000, "host");
	names(m, group);
	m->thread = 1;
	for (i = 0; i < 4; i++) {
		m->iteration = i + 1;
		stay(m, VMSPAN_SPAN, 0, 1, 1000 * i + 100, 1000 * i + 700, 0);
		event(m, 0, i + 1, 0, 1, 1000 * i, 1000 * i + 900);
		if (i != 2)
			flush(m);
		m->seq += m->records;
		m->records = 0;
		m->bytes = 0;
	}
	put(m, &it);
	clock_at(m, 10000);
}

/* In an event, then beside it: what lies across a gap may lack what was in it. */
static void scenario_gap(struct maker *m)
{
	static const char *const group[] = { "tracker", "adblock", "shop", "video" };

	process(m, 1000, "host");
	names(m, group);
	m->thread = 1;
	m->iteration = 1;
	stay(m, VMSPAN_SPAN, 0, 1, 100, 600, 0);
	flush(m);
	m->seq++;
	stay(m, VMSPAN_SPAN, 0, 2, 700, 2000, 0);
	stay(m, VMSPAN_SPAN, 0, 1, 2100, 2200, 0);
	event(m, 0, 1, 0, 4, 0, 3000);
	flush(m);
	m->iteration = 0;
	stay(m, VMSPAN_SPAN, 0, 1, 4000, 4500, 0);
	flush(m);
	m->seq++;
	stay(m, VMSPAN_SPAN, 0, 2, 5000, 6000, 0);
	flush(m);
	clock_at(m, 10000);
}

static void scenario_hostile(struct maker *m)
{
	static char long_name[VMSPAN_NAME_MAX + 1];
	const char *const group[] = { "\"quoted\" <b>&\\ </script>",
				      "esc\x1b[31mred\x07\r\n\xff\xc0",
				      "\xe2\x80\xae"
				      "right to left",
				      long_name };

	memset(long_name, 'x', sizeof(long_name) - 1);
	process(m, 1000, "ho\x1b]0;st");
	names(m, group);
	m->thread = 1;
	turns(m, 100);
	clock_at(m, 200000);
}

static void scenario_empty(struct maker *m)
{
	clock_at(m, 1000);
}

static void scenario_one(struct maker *m)
{
	static const char *const group[] = { "tracker", "adblock", "shop", "video" };

	process(m, 1000, "host");
	names(m, group);
	m->thread = 1;
	m->iteration = 1;
	stay(m, VMSPAN_SPAN, 0, 1, 100, 200, 0);
	event(m, 0, 1, 0, 1, 0, 300);
	flush(m);
	clock_at(m, 1000);
}

static void thread_named(struct maker *m, u32 tid, u32 thread, const char *name)
{
	struct item it = { .type = ITEM_THREAD };

	it.thread = (struct item_thread){ m->pid, tid, false, START_NS, name };
	put(m, &it);
	m->tid = tid;
	m->thread = thread;
	m->seq = 0;
}

/* What the process waited for does: two turns during the call, one after. */
static void peer_turns(struct maker *m)
{
	static const u64 begin[] = { 1500, 2600, 6000 }, end[] = { 2500, 4000, 7000 };
	u32 i;

	for (i = 0; i < 3; i++) {
		m->iteration = i + 1;
		stay(m, VMSPAN_SPAN, 0, 1, begin[i], end[i], 0);
		event(m, 0, i + 1, 0, 1, begin[i], end[i]);
	}
	flush(m);
}

/*
 * A call that waits for another process; a worker with a heap of its own; and
 * stays that begin or end at the very same moment, or take no time.
 */
static void scenario_peers(struct maker *m)
{
	static const char *const group[] = { "tracker", "adblock", "shop", "video" };
	struct vmspan_block *b;

	process(m, 1001, "server");
	names(m, group);
	thread_named(m, 1001, 1, "server main");
	peer_turns(m);
	process(m, 1000, "client");
	names(m, group);
	thread_named(m, 1000, 1, "client main");
	m->iteration = 1;
	stay(m, VMSPAN_BLOCK, 1, 2, 1000, 5000, 0);
	b = (void *)m->space;
	b->peer = 1001;
	stay(m, VMSPAN_SPAN, 0, 1, 900, 5100, 0);
	event(m, 0, 1, 0, 2, 800, 5200);
	m->iteration = 2;
	stay(m, VMSPAN_SPAN, 2, 3, 8000, 8100, 0);
	stay(m, VMSPAN_SPAN, 2, 2, 8100, 8100, 0);
	stay(m, VMSPAN_SPAN, 2, 3, 8100, 8200, 0);
	stay(m, VMSPAN_SPAN, 1, 2, 8000, 8200, 0);
	stay(m, VMSPAN_SPAN, 0, 1, 8000, 8200, 0);
	event(m, 0, 2, 0, 5, 8000, 8200);
	flush(m);
	thread_named(m, 1002, 2, "pool-1");
	m->iteration = 1;
	stay(m, VMSPAN_GC, 1, 1, 3000, 3100, 0);
	stay(m, VMSPAN_SPAN, 0, 4, 2900, 3200, 0);
	mark(m, VMSPAN_VALUE, 3, 3300, -7);
	event(m, 0, 1, 0, 3, 2800, 3400);
	flush(m);
	clock_at(m, 10000);
}

/* Names far longer than anything a viewer has room for. */
static void scenario_long(struct maker *m)
{
	static const char *const group[] = { "a", "b", "c", "d" };
	static char name[10001];
	size_t i;

	for (i = 0; i + 4 < sizeof(name); i += 4)
		memcpy(name + i, i % 8 ? "\xff\";<" : "\xe2\x80\xae\n", 4);
	process(m, 1000, name);
	names(m, group);
	thread_named(m, 1000, 1, name);
	turns(m, 100);
	clock_at(m, 200000);
}

/* Turns of 10 spans each: calls of calls, on three threads. */
static void many_turns(struct maker *m, u64 count)
{
	static const char *const group[] = { "tracker", "adblock", "shop", "video" };
	u64 t = 0, i, k;
	u32 thread;

	process(m, 1000, "host");
	names(m, group);
	for (thread = 1; thread <= 3; thread++) {
		thread_named(m, 999 + thread, thread, thread == 1 ? "main" : "worker");
		for (i = 1, t = 0; i <= count; i++, t += 40) {
			m->iteration = (u32)i;
			for (k = 0; k < 4; k++)
				stay(m, VMSPAN_SPAN, 2, (u32)k + 1, t + 5 + 2 * k, t + 6 + 2 * k,
				     0);
			stay(m, VMSPAN_SPAN, 1, 2, t + 4, t + 14, 0);
			for (k = 0; k < 4; k++)
				stay(m, VMSPAN_SPAN, 1, (u32)k + 1, t + 15 + 2 * k, t + 16 + 2 * k,
				     0);
			stay(m, VMSPAN_SPAN, 0, 1, t + 3, t + 30, 0);
			event(m, 0, (u32)i, 0, 10, t, t + 33);
			if (i % 8 == 0)
				flush(m);
			if (thread == 1 && i % (count / 4) == 0)
				clock_at(m, t + 40);
			/* Several chunks, so that it can be cut. */
			if (i % (count / 4) == 0 && rec_sync(m->w, NULL))
				exit(1);
		}
		flush(m);
	}
	clock_at(m, t + 40);
}

static void scenario_some(struct maker *m)
{
	many_turns(m, 4000);
}

/* 150,000 spans. */
static void scenario_many(struct maker *m)
{
	many_turns(m, 5000);
}

/* 600,000 spans. */
static void scenario_large(struct maker *m)
{
	many_turns(m, 20000);
}

/* 3 million spans. */
static void scenario_big(struct maker *m)
{
	many_turns(m, 100000);
}

/* A look at a stack of up to three frames, innermost first. */
static void look(struct maker *m, u64 at, u64 weight_us, u16 flags, u32 inner, u32 middle,
		 u32 outer)
{
	u32 frames[] = { inner, middle, outer }, n = 0;
	struct vmspan_sample *s = record(m, VMSPAN_SAMPLE, 2, 0, 0);

	while (n < ARRAY_SIZE(frames) && frames[n])
		n++;
	s->h.depth = (u16)n;
	s->time = cycles(at);
	s->weight = weight_us * 1000;
	s->flags = flags;
	s->iteration = m->iteration;
	memcpy(s->frames, frames, n * sizeof(*frames));
}

/* A VM whose stacks were looked at: two turns of a loop with time between them. */
static void scenario_sampled(struct maker *m)
{
	static const char *const group[] = { "heavy", "light", "(stdlib)", "shop" };
	static const char *const frames[] = { "busy (/srv/heavy.py)", "busy (/srv/light.py)",
					      "run (asyncio/events.py)", "main (/srv/app.py)" };
	u32 i, turn;

	process(m, 1000, "python");
	names(m, group);
	for (i = 0; i < ARRAY_SIZE(frames); i++)
		define(m, VMSPAN_DEF_FRAME, i + 1, VMSPAN_PACKAGE, frames[i], i + 1);
	m->thread = 1;
	for (turn = 1; turn <= 2; turn++) {
		u64 t = turn * 100000;

		m->iteration = turn;
		look(m, t + 10000, 10000, 0, 1, 3, 4);
		look(m, t + 20000, 10000, 0, 2, 4, 0);
		look(m, t + 27000, 7000, VMSPAN_SAMPLE_OFF, 2, 4, 0);
		look(m, t + 30000, 10000, VMSPAN_SAMPLE_GC, 1, 3, 4);
		look(m, t + 40000, 10000, 0, 0, 0, 0);
		look(m, t + 50000, 10000, 0, 1, 3, 4);
		event(m, VMSPAN_F_SAMPLED, turn, 0, m->records, t, t + 55000)->stolen_ns =
			turn == 2 ? 3000000 : 0;
		flush(m);
	}
	clock_at(m, 300000);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*make)(struct maker *m);
	} scenarios[] = {
		{ "basic", scenario_basic },     { "lossy", scenario_lossy },
		{ "hostile", scenario_hostile }, { "empty", scenario_empty },
		{ "one", scenario_one },         { "peers", scenario_peers },
		{ "long", scenario_long },       { "some", scenario_some },
		{ "many", scenario_many },       { "large", scenario_large },
		{ "big", scenario_big },         { "sampled", scenario_sampled },
		{ "gap", scenario_gap },
	};
	struct source_info info = { .clock = CLOCK_TSC,
				    .sampled = argc > 1 && !strcmp(argv[1], "sampled"),
				    .cycles_hz = HZ,
				    .start_mono_ns = START_NS,
				    .start_real_ns = REAL_NS,
				    .host = "testhost",
				    .tool = "test" };
	static struct maker m;
	struct err err = { 0 };
	size_t i;

	for (i = 0; argc == 3 && i < ARRAY_SIZE(scenarios); i++) {
		if (strcmp(scenarios[i].name, argv[1]))
			continue;
		m.w = rec_create(argv[2], &info, &(struct rec_options){ 0 }, &err);
		if (m.w) {
			clock_at(&m, 0);
			scenarios[i].make(&m);
		}
		if (!m.w || rec_close(m.w, &err)) {
			fprintf(stderr, "make_recording: %s\n", err.what);
			return 1;
		}
		return 0;
	}
	fprintf(stderr,
		"usage: make_recording "
		"basic|lossy|hostile|empty|one|peers|long|some|many|large|big|sampled|gap FILE\n");
	return 2;
}
