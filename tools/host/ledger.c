/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/host/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "tools/host/util.h"

void ledger_free(struct ledger *l)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(l->levels); i++)
		free(l->levels[i].state);
	free(l->groups);
	memset(l, 0, sizeof(*l));
}

static struct ledger_group *group_at(struct ledger *l, u32 index)
{
	if (index >= l->group_count) {
		u32 count = index + 1 + index / 2;

		l->groups = xgrow(l->groups, count, sizeof(*l->groups));
		memset(l->groups + l->group_count, 0,
		       (count - l->group_count) * sizeof(*l->groups));
		l->group_count = count;
	}
	return &l->groups[index];
}

/* The group's state in the event of this level; new when another event left it. */
static struct ledger_state *state_at(struct ledger_level *v, u32 index)
{
	struct ledger_state *s;

	if (index >= v->states) {
		u32 count = index + 1 + index / 2;

		v->state = xgrow(v->state, count, sizeof(*v->state));
		memset(v->state + v->states, 0, (count - v->states) * sizeof(*v->state));
		v->states = count;
	}
	s = &v->state[index];
	if (s->serial != v->serial)
		s->open = 0;
	return s;
}

static u32 group_count(const struct compartment *c)
{
	return c->count + 1;
}

/* The i-th group of a compartment; the last one is the top group. */
static u32 group_index(const struct compartment *c, u32 i)
{
	return i < c->count ? c->groups[i]->index : 0;
}

static struct ledger_level *innermost(struct ledger *l)
{
	if (!l->level)
		bug("a mark outside of any event");
	return &l->levels[l->level - 1];
}

/* False at the depth limit: the SDK does not keep it, only counts it. */
static bool push(struct ledger *l, const struct compartment *c, u32 mark)
{
	if (l->depth == VMSPAN_DEPTH_MAX) {
		l->counts.too_deep++;
		l->too_deep_open++;
		return false;
	}
	l->open[l->depth++] = (struct ledger_open){ .c = c, .mark = mark, .level = l->level };
	return true;
}

void ledger_enter(struct ledger *l, const struct compartment *c)
{
	struct ledger_level *v = innermost(l);
	u32 i;

	if (l->depth > v->base && !l->too_deep_open && l->open[l->depth - 1].c == c) {
		l->open[l->depth - 1].reentered++;
		return;
	}
	if (!push(l, c, 0))
		return;
	for (i = 0; i < group_count(c); i++) {
		struct ledger_group *g = group_at(l, group_index(c, i));
		struct ledger_state *s = state_at(v, group_index(c, i));

		if (s->serial != v->serial) {
			s->serial = v->serial;
			g->events++;
		}
		if (!s->open++)
			g->ticks++;
	}
}

static void close_top(struct ledger *l, u64 freed)
{
	const struct ledger_open *o = &l->open[--l->depth];
	u32 i;

	if (o->mark == VMSPAN_ID_GC) {
		l->counts.gc++;
		l->counts.freed_bytes += freed;
		return;
	}
	if (o->mark == VMSPAN_ID_BLOCK) {
		l->counts.blocks++;
		return;
	}
	l->counts.spans++;
	for (i = 0; i < group_count(o->c); i++) {
		group_at(l, group_index(o->c, i))->spans++;
		state_at(&l->levels[o->level - 1], group_index(o->c, i))->open--;
	}
}

/* Closes what lies above `depth`: its leaves never came. */
static void unwind(struct ledger *l, u32 depth)
{
	while (l->depth > depth) {
		close_top(l, 0);
		l->counts.repaired++;
	}
}

/* Makes the newest stay of this kind in this event the top; false: it is not kept there. */
static bool rematch(struct ledger *l, const struct compartment *c, u32 mark)
{
	u32 base = innermost(l)->base, d = l->depth;

	/* Those that were open when the event began are not this event's to close. */
	if (l->too_deep_open > innermost(l)->too_deep_open) {
		l->too_deep_open--;
		return false;
	}
	while (d > base && (l->open[d - 1].c != c || l->open[d - 1].mark != mark))
		d--;
	if (d == base) {
		l->counts.unmatched++;
		return false;
	}
	unwind(l, d);
	return true;
}

void ledger_leave(struct ledger *l, const struct compartment *c)
{
	if (!rematch(l, c, 0))
		return;
	if (l->open[l->depth - 1].reentered)
		l->open[l->depth - 1].reentered--;
	else
		close_top(l, 0);
}

void ledger_stay_begin(struct ledger *l, u32 mark)
{
	innermost(l);
	push(l, NULL, mark);
}

void ledger_stay_end(struct ledger *l, u32 mark, u64 freed)
{
	if (rematch(l, NULL, mark))
		close_top(l, freed);
}

void ledger_event_begin(struct ledger *l)
{
	u32 i, k;

	if (l->level == VMSPAN_EVENT_MAX)
		bug("events nested deeper than %d", VMSPAN_EVENT_MAX);
	for (i = 0; i < l->depth; i++) {
		struct ledger_open *o = &l->open[i];

		if (o->stale || !o->c)
			continue;
		o->stale = true;
		for (k = 0; k < group_count(o->c); k++)
			group_at(l, group_index(o->c, k))->stale++;
	}
	l->levels[l->level].serial = ++l->serial;
	l->levels[l->level].base = l->depth;
	l->levels[l->level].too_deep_open = l->too_deep_open;
	l->level++;
}

void ledger_event_end(struct ledger *l)
{
	unwind(l, innermost(l)->base);
	l->too_deep_open = innermost(l)->too_deep_open;
	l->level--;
	l->counts.events++;
	l->counts.nested += l->level > 0;
}

void ledger_add(struct ledger *to, const struct ledger *from, u64 n)
{
	u32 i;

#define X(name) to->counts.name += n * from->counts.name;
	LEDGER_COUNTS(X)
#undef X
	for (i = 0; i < from->group_count; i++) {
		struct ledger_group *g = group_at(to, i);

		g->ticks += n * from->groups[i].ticks;
		g->events += n * from->groups[i].events;
		g->spans += n * from->groups[i].spans;
		g->stale += n * from->groups[i].stale;
	}
}

u64 ledger_records(const struct ledger_counts *c)
{
	return c->events + c->spans + c->gc + c->blocks + c->inputs + c->frames + c->values +
	       c->definitions;
}
