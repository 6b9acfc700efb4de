/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes up what an instrumented event loop would send: turns of a few kinds,
 * each calling through some of its compartments (about 20 spans a turn, branches
 * taken or not), log-normal times around what that piece of work usually takes.
 * Deterministic from its seed.
 */
#ifndef REC_GEN_H
#define REC_GEN_H

#include "base/types.h"
#include "base/wire.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static inline u64 gen_random(u64 *state)
{
	u64 x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static inline double gen_unit(u64 *state)
{
	return ((double)(gen_random(state) >> 11) + 0.5) / 9007199254740992.0;
}

enum {
	GEN_KINDS = 8,
	GEN_COMPARTMENTS = 48,
	GEN_CYCLES_PER_US = 2100
};

struct gen {
	u64 seed;
	double sigma; /* of the logarithm of a time */
	u64 now, cpu_ns; /* cycles */
	u32 iteration, since;
	u16 cpu;
	u64 seq;
	/* The batch under way. */
	u32 records, slots;
	u64 data[VMSPAN_BATCH_SLOTS * VMSPAN_SLOT / 8];
	int (*batch)(void *ctx, struct gen *g); /* takes data, records, slots */
	void *ctx;
	u64 spans, events;
};

static inline void gen_flush(struct gen *g)
{
	if (g->records)
		g->batch(g->ctx, g);
	g->seq += g->records;
	g->records = g->slots = 0;
}

static inline void *gen_append(struct gen *g, u8 type, u8 slots, u16 depth, u32 id)
{
	struct vmspan_head *h;

	if (g->slots + slots > VMSPAN_BATCH_SLOTS)
		gen_flush(g);
	h = (void *)((u8 *)g->data + g->slots * VMSPAN_SLOT);
	memset(h, 0, (size_t)slots * VMSPAN_SLOT);
	*h = (struct vmspan_head){ type, slots, depth, id };
	g->slots += slots;
	g->records++;
	g->since++;
	return h;
}

/* Lets about median_us pass: a log-normal time. */
static inline void gen_pass(struct gen *g, double median_us)
{
	double n = sqrt(-2 * log(gen_unit(&g->seed))) * cos(2 * M_PI * gen_unit(&g->seed));

	g->now += 30 + (u64)(median_us * exp(n * g->sigma) * GEN_CYCLES_PER_US);
}

/* What this place in the code usually takes, fixed by its name: 40 to 240 ns
 * from one mark to the next of the same caller, 0.5 to 6 us of work. */
static inline double gen_between(u32 place)
{
	u64 s = place;

	return 0.04 * pow(6, gen_unit(&s));
}

static inline double gen_work(u32 place)
{
	u64 s = place;

	return 0.5 * pow(12, gen_unit(&s));
}

static inline void gen_call(struct gen *g, u32 place, u32 depth)
{
	u64 s = place, begin = g->now, calls, i;
	u32 id = (u32)(gen_random(&s) % GEN_COMPARTMENTS) + 1;
	u16 cpu = g->cpu;
	struct vmspan_span *span;

	calls = depth < 4 ? gen_random(&s) % 7 * 2 / 5 : 0;
	gen_pass(g, calls ? gen_between(place * 8) : gen_work(place * 8));
	for (i = 0; i < calls; i++) {
		/* One call in eight is taken or not, anew each time. */
		if (gen_random(&s) % 8 == 0 && gen_random(&g->seed) % 2)
			continue;
		gen_call(g, place * 5 + (u32)i + 1, depth + 1);
		gen_pass(g, gen_between(place * 8 + 2 + (u32)i));
	}
	if (gen_random(&g->seed) % 5000 == 0)
		g->cpu = (u16)(gen_random(&g->seed) % 8);
	span = gen_append(g, VMSPAN_SPAN, 1, (u16)depth, id);
	span->begin = begin;
	span->end = g->now;
	span->cpu_begin = cpu;
	span->cpu_end = g->cpu;
	span->iteration = g->iteration;
	g->spans++;
}

static inline u64 gen_mono(u64 cycles)
{
	/* 2.1 GHz and 37 ppm: the nominal rate is never the real one. */
	return 5000000000ull + (u64)((double)cycles / 2.1 * 1.000037);
}

static inline void gen_event(struct gen *g)
{
	u32 kind = (u32)(gen_random(&g->seed) % GEN_KINDS), i, calls = 4 + kind % 5;
	u64 begin, mono, cpu_ns, idle = (u64)(gen_unit(&g->seed) * 400) * GEN_CYCLES_PER_US;
	struct vmspan_event *e;
	u16 cpu = g->cpu;

	g->now += idle;
	g->iteration++;
	g->since = 0;
	begin = g->now;
	mono = gen_mono(begin - 30 - gen_random(&g->seed) % 40);
	cpu_ns = g->cpu_ns += 700 + gen_random(&g->seed) % 300;
	for (i = 0; i < calls; i++) {
		gen_pass(g, gen_between(kind * 64 + i));
		gen_call(g, 1000 + kind * 64 + i, 0);
	}
	gen_pass(g, gen_between(kind * 64 + 63));
	g->cpu_ns += (u64)((double)(g->now - begin) / 2.1) + 60 + gen_random(&g->seed) % 40;
	e = gen_append(g, VMSPAN_EVENT, 3, 0, g->iteration);
	e->begin = begin;
	e->end = g->now;
	e->mono_begin = mono;
	e->mono_end = gen_mono(g->now - 30 - gen_random(&g->seed) % 40);
	e->cpu_ns_begin = cpu_ns;
	e->cpu_ns_end = g->cpu_ns;
	e->cpu_begin = cpu;
	e->cpu_end = g->cpu;
	e->label = kind + 1;
	e->records = g->since - 1;
	g->events++;
	gen_flush(g);
}

#endif
