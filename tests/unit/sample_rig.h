/* SPDX-License-Identifier: BSD-2-Clause */
/* Sampled events of one program: looks at stacks of a heavy package, a light one, and the standard library. */
#ifndef TESTS_SAMPLE_RIG_H
#define TESTS_SAMPLE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/sample.h"
#include "sim.h"

#define MS NSEC_PER_MSEC
#define PERIOD (10 * MS)

enum {
	HEAVY = 1,
	LIGHT = 2,
	STDLIB = 3,
};

/* Frames have the numbers of their compartments; the first two are named. */
static inline struct model *start(bool outermost)
{
	static const char *const names[] = { "", "heavy", "light", "(stdlib)" };
	struct model_config config = { .outermost = outermost };
	struct model *m = model_new(&config);
	u32 i;

	assert_non_null(m);
	sim_start(m, "test");
	for (i = HEAVY; i <= STDLIB; i++)
		sim_package(m, i, names[i], i == STDLIB ? 0 : VMSPAN_FRAME_NAMED);
	return m;
}

/* A stack of up to two frames; 0: none. */
static inline void look(struct sim *s, u64 time, u64 weight, u16 flags, u32 iteration, u32 inner,
			u32 outer)
{
	struct vmspan_sample *r = sim_record(s, VMSPAN_SAMPLE, 2, !inner ? 0 : outer ? 2 : 1, 0);

	r->time = time;
	r->weight = weight;
	r->flags = flags;
	r->iteration = iteration;
	r->frames[0] = inner;
	r->frames[1] = outer;
}

/* A collection, or a part of one: VMSPAN_F_PART. */
static inline void collection(struct sim *s, u16 flags, u64 begin, u64 end)
{
	struct vmspan_gc *gc = sim_record(s, VMSPAN_GC, 2, flags, 0);

	gc->begin = begin;
	gc->end = end;
	gc->iteration = 1;
}

static inline void event(struct sim *s, u64 begin, u64 end, u32 iteration)
{
	struct vmspan_event *e = sim_record(s, VMSPAN_EVENT, 3, VMSPAN_F_SAMPLED, iteration);

	e->begin = e->mono_begin = begin;
	e->end = e->mono_end = end;
	e->cpu_ns_end = end - begin;
}

/* One that was off its CPU for a part of it. */
static inline void waited(struct sim *s, u64 begin, u64 end, u64 off, u32 iteration)
{
	struct vmspan_event *e = sim_record(s, VMSPAN_EVENT, 3, VMSPAN_F_SAMPLED, iteration);

	e->begin = e->mono_begin = begin;
	e->end = e->mono_end = end;
	e->cpu_ns_end = end - begin - off;
}

static inline struct snapshot *finish(struct model *m, struct sim *s)
{
	struct snapshot *snap;

	sim_feed(s, m, 64);
	assert_int_equal(model_finish(m), 0);
	snap = snapshot_take(m);
	assert_non_null(snap);
	assert_int_equal(ledger_sum(&snap->ledger), snap->ledger.event_wall_ns);
	assert_int_equal(snap->events.wall_ns, snap->ledger.event_wall_ns);
	free(s);
	model_free(m);
	return snap;
}

static inline const struct group_stats *group(const struct snapshot *s, const char *name)
{
	const struct snapshot_group *g = snapshot_group(s, name);

	if (!g)
		fail_msg("no group %s", name);
	return &g->stats;
}

#endif
