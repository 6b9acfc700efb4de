/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A target that lies to its tracer. Arguments are the lies, in order; "wait"
 * prints "ready" and waits for a line. "honest" makes 10 spans at last.
 */
#include "user/sdk/v1/vmspan.h"

#include <stdio.h>
#include <stdlib.h>

static struct {
	struct vmspan_batch head;
	struct vmspan_span spans[VMSPAN_BATCH_SLOTS];
} b;

static vmspan_u32 comp;

static void fill(vmspan_u32 records)
{
	vmspan_u32 i;

	memset(&b, 0, sizeof(b));
	b.head.magic = VMSPAN_BATCH_MAGIC;
	b.head.abi = VMSPAN_ABI;
	b.head.records = records;
	b.head.bytes = VMSPAN_BATCH_HEADER + records * VMSPAN_SLOT;
	b.head.registry = (vmspan_u64)(size_t)&VMSPAN__REGISTRY;
	b.head.thread = 1000;
	for (i = 0; i < records; i++) {
		b.spans[i].h.type = VMSPAN_SPAN;
		b.spans[i].h.slots = 1;
		b.spans[i].h.id = comp;
	}
}

static void send(vmspan_u64 bytes)
{
	vmspan_site_flush_1(&b, bytes, 0);
}

/* Sizes and pointers that make no sense: 9 calls, 2 of them unreadable. */
static void bad_calls(void)
{
	static const vmspan_u64 sizes[] = {
		0, 1, 63, 65, VMSPAN_BATCH_BYTES + 32, 1ull << 32, ~0ull
	};
	size_t i;

	fill(4);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		send(sizes[i]);
	vmspan_site_flush_1(NULL, 64 + 32 * 5, 0);
	vmspan_site_flush_1((void *)0xffff888000000000ull, 64 + 32 * 6, 0);
}

/* Heads and records that do not fit each other: 6 batches of 4 records. */
static void bad_batches(void)
{
	fill(4);
	b.head.magic++;
	send(b.head.bytes);
	fill(4);
	b.head.abi++;
	send(b.head.bytes);
	fill(4);
	b.head.bytes -= 32;
	send(b.head.bytes + 32);
	fill(4);
	b.spans[1].h.slots = 0;
	send(b.head.bytes);
	fill(4);
	b.spans[3].h.slots = 255;
	send(b.head.bytes);
	fill(4);
	b.spans[2].h.type = VMSPAN_DEF_GROUP;
	((struct vmspan_def *)&b.spans[2])->name_len = 255;
	send(b.head.bytes);
}

/* Ids nobody defined, registries at any address, thousands of threads. */
static void wild(void)
{
	int i;

	for (i = 0; i < 20000; i++) {
		fill(1);
		b.spans[0].h.id = (vmspan_u32)i * 77777u;
		b.head.thread = 5000 + (vmspan_u32)i;
		if (i & 1)
			b.head.registry = (vmspan_u64)i << 12;
		send(b.head.bytes);
	}
}

/* A definition log that bites its own tail. */
static void circle(void)
{
	struct vmspan_log *l = (struct vmspan_log *)(size_t)VMSPAN__REGISTRY.log;

	l->next = (vmspan_u64)(size_t)l;
}

/* A definition log of garbage; a length beyond its block. */
static void garbage(void)
{
	struct vmspan_log *l = (struct vmspan_log *)(size_t)VMSPAN__REGISTRY.log;

	memset(l->data, 0xff, l->size);
}

static void endless(void)
{
	struct vmspan_log *l = (struct vmspan_log *)(size_t)VMSPAN__REGISTRY.log;

	l->used = 0xffffffe0u;
}

/* A list of threads that bites its own tail, and lies about what is in them. */
static void threads(void)
{
	struct vmspan_thread *t = vmspan_self_1;

	if (!t)
		return;
	t->next = (vmspan_u64)(size_t)t;
	t->room = 0x80000001u;
	t->extra = 0xfffffff0u;
}

static void honest(void)
{
	int i;

	for (i = 0; i < 10; i++) {
		vmspan_enter(comp);
		vmspan_leave(comp);
	}
	vmspan_flush();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} lies[] = {
		{ "bad_calls", bad_calls }, { "bad_batches", bad_batches }, { "wild", wild },
		{ "circle", circle },       { "garbage", garbage },         { "endless", endless },
		{ "threads", threads },     { "honest", honest },
	};
	char line[16];
	size_t i;
	int a;

	setvbuf(stdout, NULL, _IOLBF, 0);
	comp = vmspan_compartment("liar", NULL, 0);
	for (a = 1; a < argc; a++) {
		if (!strcmp(argv[a], "wait")) {
			printf("ready %d\n", (int)getpid());
			if (!fgets(line, sizeof(line), stdin))
				return 1;
			continue;
		}
		for (i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
			if (!strcmp(argv[a], lies[i].name))
				lies[i].run();
	}
	return 0;
}
