/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/parts.h"

#include <string.h>

const char *const part_names[TRACE_PARTS] = {
	[TRACE_TURNS] = "turns",
	[TRACE_BLOCKING] = "blocking",
	[TRACE_GC] = "gc",
	[TRACE_SAMPLES] = "samples",
};

void part_define(struct vmspan_def *to, enum model_part part, u64 off, u64 on)
{
	const struct part_gap g = { off, on };

	_Static_assert(sizeof(*to) + sizeof(g) <= PART_DEF_SLOTS * VMSPAN_SLOT,
		       "one slot holds it");
	memset(to, 0, PART_DEF_SLOTS * VMSPAN_SLOT);
	to->h.type = VMSPAN_DEF_PART;
	to->h.slots = PART_DEF_SLOTS;
	to->h.id = part + 1;
	to->name_len = sizeof(g);
	memcpy(to->groups, &g, sizeof(g));
}

static u64 gap_ns(const struct clock_map *clock, const struct part_gap *g)
{
	u64 off = clock_ns(clock, g->off), on = clock_ns(clock, g->on);

	return on > off ? on - off : 0;
}

static void drop_oldest(struct part_gaps *p, const struct clock_map *clock)
{
	p->past = p->gaps[0].on;
	p->past_ns += gap_ns(clock, &p->gaps[0]);
	memmove(p->gaps, p->gaps + 1, --p->len * sizeof(p->gaps[0]));
}

enum model_part parts_take(struct parts *p, const struct vmspan_def *d,
			   const struct clock_map *clock, u64 *on)
{
	struct part_gaps *of;
	struct part_gap g, *last;

	if (!d->h.id || d->h.id > TRACE_PARTS || d->count || d->name_len != sizeof(g))
		return TRACE_PARTS;
	memcpy(&g, d->groups, sizeof(g));
	of = &p->of[d->h.id - 1];
	last = of->len ? &of->gaps[of->len - 1] : NULL;
	/* One that goes back is of no tracer's making. */
	if (g.on < g.off || (last && g.off < last->off) || g.off < of->past)
		return TRACE_PARTS;
	if (last && last->off == g.off) {
		if (last->on <= g.on)
			return TRACE_PARTS;
		last->on = g.on;
	} else if (last && last->on > g.off) {
		return TRACE_PARTS;
	} else {
		if (of->len == PART_GAPS)
			drop_oldest(of, clock);
		of->gaps[of->len++] = g;
	}
	p->any = true;
	*on = g.on;
	return g.on == UINT64_MAX ? TRACE_PARTS : (enum model_part)(d->h.id - 1);
}

bool parts_gap(const struct part_gaps *g, u64 begin, u64 end)
{
	u32 i;

	if (begin < g->past)
		return true;
	for (i = g->len; i && g->gaps[i - 1].on > begin; i--)
		if (g->gaps[i - 1].off < end)
			return true;
	return false;
}

bool parts_lack(const struct parts *p, u32 of, u64 begin, u64 end)
{
	u32 i;

	for (i = 0; p->any && i < TRACE_PARTS; i++)
		if (of & 1u << i && parts_gap(&p->of[i], begin, end))
			return true;
	return false;
}

struct part_off part_off(const struct parts *p, enum model_part part, const struct clock_map *clock,
			 u64 now_ns)
{
	const struct part_gaps *g = &p->of[part];
	struct part_off sum = { .ns = g->past_ns };
	u64 off_ns;
	u32 i;

	for (i = 0; i < g->len; i++) {
		if (g->gaps[i].on != UINT64_MAX) {
			sum.ns += gap_ns(clock, &g->gaps[i]);
			continue;
		}
		sum.now = true;
		off_ns = clock_ns(clock, g->gaps[i].off);
		sum.ns += now_ns > off_ns ? now_ns - off_ns : 0;
	}
	return sum;
}
