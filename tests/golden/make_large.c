/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a recording of any size, the same on every run:
 *   make_large SPANS FILE
 * Four threads of two processes; turns of eight to thirty-nine spans, three
 * deep, of twelve groups; now and then a collection, a blocking call, a long
 * turn. Prints the spans and events it has written. Cycles are nanoseconds.
 */
#include "rec/rec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_NS 7000000000000ull
#define THREADS 4
#define GROUPS 12

struct thread {
	u64 seq, now, space[512 * 8];
	u32 iteration, records;
	size_t bytes;
	s64 heap;
};

static struct rec_writer *writer;
static struct thread threads[THREADS];
static u64 seed = 1, spans, events;

/* xorshift64: below `limit`. */
static u64 draw(u64 limit)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % limit;
}

static void put(const struct item *it)
{
	if (rec_item(writer, it)) {
		fprintf(stderr, "make_large: write failed\n");
		exit(1);
	}
}

static void *record(struct thread *t, u8 type, u8 slots, u16 depth, u32 id)
{
	struct vmspan_head *h = (void *)((u8 *)t->space + t->bytes);

	memset(h, 0, (size_t)slots * VMSPAN_SLOT);
	*h = (struct vmspan_head){ type, slots, depth, id };
	t->bytes += (size_t)slots * VMSPAN_SLOT;
	t->records++;
	return h;
}

static void stay(struct thread *t, u8 type, u16 depth, u32 id, u64 begin)
{
	struct vmspan_span *s = record(t, type, type == VMSPAN_SPAN ? 1 : 2, depth, id);

	s->begin = begin;
	s->end = t->now;
	s->iteration = t->iteration;
	if (type == VMSPAN_GC) {
		((struct vmspan_gc *)s)->bytes_before = (u64)t->heap;
		t->heap /= 3;
		((struct vmspan_gc *)s)->bytes_after = (u64)t->heap;
	}
	spans += type == VMSPAN_SPAN;
}

static void call(struct thread *t, u16 depth, u64 step)
{
	u64 begin = t->now, inner = depth < 2 ? draw(4) : 0;
	u32 id = 1 + (u32)draw(GROUPS);

	t->now += 200 + draw(step);
	t->heap += (s64)draw(20000);
	while (inner--)
		call(t, depth + 1, step);
	if (!draw(400)) {
		u64 gc = t->now;

		t->now += 100000 + draw(2000000);
		stay(t, VMSPAN_GC, depth + 1, 2, gc);
	}
	if (!draw(900)) {
		u64 block = t->now;

		t->now += draw(9000000);
		stay(t, VMSPAN_BLOCK, depth + 1, 3, block);
	}
	t->now += 100;
	stay(t, VMSPAN_SPAN, depth, id, begin);
}

static void turn(u32 index)
{
	struct thread *t = &threads[index];
	u64 begin = t->now, step = draw(500) ? 4000 : 900000, calls = 2 + draw(6);
	struct vmspan_event *e;
	struct item it = { .type = ITEM_BATCH };

	t->iteration++;
	t->now += 500;
	while (calls--)
		call(t, 0, step);
	t->now += 300;
	e = record(t, VMSPAN_EVENT, 3, 0, t->iteration);
	e->begin = e->mono_begin = begin;
	e->end = e->mono_end = t->now;
	e->cpu_ns_end = (t->now - begin) / 10 * 9;
	e->label = 1;
	e->records = t->records - 1;
	it.batch = (struct item_batch){ .pid = 100 + index / 2,
					.tid = 100 + index,
					.registry = 0x4000,
					.thread = 1 + index,
					.seq = t->seq,
					.records = t->records,
					.bytes = (u32)t->bytes,
					.data = t->space };
	put(&it);
	t->seq += t->records;
	t->records = 0;
	t->bytes = 0;
	t->now += 1000 + draw(200000);
	events++;
}

static void define(u32 pid, u8 type, u32 id, u8 kind, const char *name, u32 group)
{
	u64 space[16] = { 0 };
	struct vmspan_def *d = (void *)space;
	struct item it = { .type = ITEM_DEFS };

	d->h.type = type;
	d->h.id = id;
	d->kind = kind;
	d->count = group != 0;
	d->name_len = (u8)strlen(name);
	if (group)
		d->groups[0] = group;
	memcpy(d->groups + d->count, name, d->name_len);
	d->h.slots =
		(u8)((sizeof(*d) + d->count * 4u + d->name_len + VMSPAN_SLOT - 1) / VMSPAN_SLOT);
	it.defs = (struct item_defs){ pid, 0x4000, d, d->h.slots * (u32)VMSPAN_SLOT };
	put(&it);
}

static void clock_at(u64 ns)
{
	struct item it = { .type = ITEM_CLOCK, .clock = { ns, ns, 1790000000000000000ull + ns } };

	put(&it);
}

static void begin(void)
{
	u32 pid, i;
	char name[32];

	clock_at(START_NS);
	for (pid = 100; pid <= 101; pid++) {
		struct item it = { .type = ITEM_PROCESS,
				   .process = { PROCESS_SEEN, pid, 1, START_NS, "large", "sdk" } };

		put(&it);
		for (i = 1; i <= GROUPS; i++) {
			snprintf(name, sizeof(name), "group-%u", i);
			define(pid, VMSPAN_DEF_GROUP, i, (u8)(1 + i % 5), name, 0);
			snprintf(name, sizeof(name), "group-%u/main", i);
			define(pid, VMSPAN_DEF_COMPARTMENT, i, 0, name, i);
		}
		define(pid, VMSPAN_DEF_LABEL, 1, 0, "timer", 0);
		define(pid, VMSPAN_DEF_LABEL, 2, 0, "allocation", 0);
		define(pid, VMSPAN_DEF_LABEL, 3, 0, "read", 0);
	}
	for (i = 0; i < THREADS; i++)
		threads[i] = (struct thread){ .now = START_NS + 1000, .heap = 8 << 20 };
}

int main(int argc, char **argv)
{
	struct source_info info = { .clock = CLOCK_MONO,
				    .cycles_hz = NSEC_PER_SEC,
				    .start_mono_ns = START_NS,
				    .host = "testhost",
				    .tool = "test" };
	struct err err = { 0 };
	u64 want = argc == 3 ? strtoull(argv[1], NULL, 10) : 0, last = START_NS;
	u32 i;

	if (argc != 3) {
		fprintf(stderr, "usage: make_large SPANS FILE\n");
		return 2;
	}
	writer = rec_create(argv[2], &info, &(struct rec_options){ 0 }, &err);
	if (writer) {
		begin();
		while (spans < want) {
			/* The thread that is behind goes next: time passes evenly. */
			u32 next = 0;

			for (i = 1; i < THREADS; i++)
				if (threads[i].now < threads[next].now)
					next = i;
			turn(next);
		}
		for (i = 0; i < THREADS; i++)
			last = max_u64(last, threads[i].now);
		clock_at(last);
	}
	if (!writer || rec_close(writer, &err)) {
		fprintf(stderr, "make_large: %s\n", err.what);
		return 1;
	}
	printf("%" PRIu64 " %" PRIu64 "\n", spans, events);
	return 0;
}
