/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts of a trace that were switched off while it ran, and for how long: what
 * of it was not measured then. The tracer says so by definitions
 * (VMSPAN_DEF_PART), so that recordings know it too.
 */
#ifndef MODEL_PARTS_H
#define MODEL_PARTS_H

#include "model/clock.h"
#include "model/item.h"

enum model_part {
	TRACE_TURNS, /* events and spans: without them nothing is measured */
	TRACE_BLOCKING, /* the scheduler's record; blocking calls by probes of their own */
	TRACE_GC, /* collections by probes of their own */
	TRACE_SAMPLES, /* looks at the stacks of stock VMs */
	TRACE_PARTS,
};

/* Gaps that are looked at. Older ones are one: who began before they ended. */
#define PART_GAPS 8

struct part_gap {
	u64 off, on; /* cycles; on ~0: it is off still */
};

struct part_gaps {
	struct part_gap gaps[PART_GAPS]; /* ascending */
	u32 len;
	u64 past; /* cycles: end of the last one that was dropped */
	u64 past_ns; /* all of those */
};

struct parts {
	struct part_gaps of[TRACE_PARTS];
	bool any;
};

struct part_off {
	u64 ns; /* that it was off */
	bool now; /* it is */
};

/* "turns", "blocking", "gc", "samples". */
extern const char *const part_names[TRACE_PARTS];

/* What the tracer says of a part: from `off` on it was not measured; `on` ~0: it is
 * not yet again. */
#define PART_DEF_SLOTS 1
void part_define(struct vmspan_def *to, enum model_part part, u64 off, u64 on);
/* Takes such a definition in, as often as it comes. The part it is of, when that
 * was switched on; else TRACE_PARTS. *on: since when. */
enum model_part parts_take(struct parts *p, const struct vmspan_def *d,
			   const struct clock_map *clock, u64 *on);
bool parts_gap(const struct part_gaps *g, u64 begin, u64 end);
/* Was this part not measured at some time in [begin, end]? */
static inline bool part_lacks(const struct parts *p, enum model_part part, u64 begin, u64 end)
{
	return p->any && parts_gap(&p->of[part], begin, end);
}
/* Any of these, a bit a part? */
bool parts_lack(const struct parts *p, u32 of, u64 begin, u64 end);
/* How long it was off, up to now (cycles). */
struct part_off part_off(const struct parts *p, enum model_part part, const struct clock_map *clock,
			 u64 now_ns);

#endif
