/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/alert_cause.h"
#include "sink/alert_nest.h"

#include <stdlib.h>
#include <string.h>

#define CONTAINERS 3

/* Groups that are followed from each to its cause, to see whether they lie in a circle. */
#define CIRCLE_MAX 16

/* Instead of the index of a cause. */
#define CAUSE_UNKNOWN UINT32_MAX
#define CAUSE_NOBODY (UINT32_MAX - 1)

/* Containers are charged for what is in them, so among equals they are not
 * the cause. */
static u8 rank(const char *group)
{
	static const char *const order[CONTAINERS] = { "top:", "page:", "compartment:" };
	u8 i;

	for (i = 0; i < CONTAINERS; i++)
		if (!strncmp(group, order[i], strlen(order[i])))
			return i;
	return i;
}

static bool is_container(const struct suspect *s)
{
	return s->rank < CONTAINERS;
}

/* Own groups say no more than the group they are in. */
static bool is_own_group(const struct suspect *s)
{
	return s->rank == CONTAINERS - 1;
}

/* By what both were charged alone: the one with less. */
static bool is_shorter(const struct suspect *in, const struct suspect *of)
{
	const struct model_share *a = in->share, *b = of->share;

	if (a->wall_ns != b->wall_ns)
		return a->wall_ns < b->wall_ns;
	/* All that were on every stack that was looked at have the same time: the one
	 * whose code ran is inside. */
	return in->rank != of->rank ? in->rank > of->rank : a->self_ns > b->self_ns;
}

/*
 * Of the time of `in` what lay inside of `of`; 0 if rather `of` lies inside of `in`. Totals
 * alone do not tell: who runs inside of a group and beside it too may have more time than
 * the group around it, and who runs beside it less. They decide where the tree does not tell,
 * and where each ran inside the other for as long.
 */
static u64 inside_ns(const struct suspects *s, const struct suspect *in, const struct suspect *of)
{
	u64 a, b;

	if (in->nest == NEST_NONE || of->nest == NEST_NONE)
		return is_shorter(in, of) ? in->share->wall_ns : 0;
	a = nest_inside(s->nest, in->nest, in->share->wall_ns, of->nest);
	b = nest_inside(s->nest, of->nest, of->share->wall_ns, in->nest);
	return a > b || (a == b && is_shorter(in, of)) ? a : 0;
}

/* What of its time the group can be blamed for: time off the CPU that it has not announced
 * may be the system's doing. In exact mode that is not in it. */
static u64 blamed(const struct suspects *s, const struct model_share *of)
{
	if (s->exact || !s->event->cpu_ns)
		return of->wall_ns;
	return min_u64(of->wall_ns, of->cpu_ns + of->blocked_ns);
}

/* Would the group's time be all right but for the in_ns that `in` had inside of it? A
 * container is charged for whatever it contains: there half of it is enough. */
static bool explains(const struct suspects *s, const struct suspect *in, u64 in_ns,
		     const struct suspect *of)
{
	u64 wall = of->share->wall_ns, in_blamed;

	if (is_container(of) && !is_container(in) && in_ns * 2 >= wall)
		return true;
	if (in_ns < of->threshold_ns)
		return false;
	if (wall - min_u64(in_ns, wall) < of->threshold_ns)
		return true;
	/* On a busy machine the little that a group did besides takes long too. */
	in_blamed =
		(u64)((double)blamed(s, in->share) * (double)in_ns / (double)in->share->wall_ns);
	return blamed(s, of->share) < in_blamed + of->threshold_ns;
}

/* Without so much time a group explains nobody's, wherever it ran. */
static bool may_explain(const struct suspect *in, const struct suspect *of)
{
	u64 wall = in->share->wall_ns;

	return wall && (wall >= of->threshold_ns || wall * 2 >= of->share->wall_ns);
}

/* Of two that explain a group: one that is told of itself, and the inner one. */
static bool is_better(const struct suspects *s, const struct suspect *a, const struct suspect *b)
{
	return a->told != b->told ? a->told : inside_ns(s, a, b) > 0;
}

static u32 look_for_cause(const struct suspects *s, const struct suspect *of)
{
	const struct suspect *best = NULL;
	u32 i;

	for (i = 0; i < s->candidate_count; i++) {
		const struct suspect *in = &s->list[s->candidates[i]];
		u64 in_ns;

		if (in == of || !may_explain(in, of))
			continue;
		in_ns = inside_ns(s, in, of);
		if (in_ns && explains(s, in, in_ns, of) && (!best || is_better(s, in, best)))
			best = in;
	}
	return best ? (u32)(best - s->list) : CAUSE_NOBODY;
}

/* The group of the event without which this one's time would not be too long: the innermost.
 * An index, or CAUSE_NOBODY. */
static u32 inner_cause(struct suspects *s, u32 of)
{
	struct suspect *me = &s->list[of];

	if (me->cause == CAUSE_UNKNOWN)
		me->cause = look_for_cause(s, me);
	return me->cause;
}

/*
 * Where the tree tells of some groups only, three and more can each lie inside the next, round
 * and round, and none would be told of. So the one whose cause is not the shorter one of both
 * stays its own: there is one in each such circle.
 */
static bool is_in_circle(struct suspects *s, u32 of, u32 inner)
{
	u32 n;

	if (is_shorter(&s->list[inner], &s->list[of]))
		return false;
	for (n = 0; inner != CAUSE_NOBODY && inner != of && n < CIRCLE_MAX; n++)
		inner = inner_cause(s, inner);
	/* What is too long to follow is rather told of. */
	return inner != CAUSE_NOBODY;
}

enum alert_cause cause_find(struct suspects *s, u32 of, const struct model_share **inner)
{
	const struct suspect *me = &s->list[of];
	u32 cause = inner_cause(s, of);

	*inner = NULL;
	if (cause != CAUSE_NOBODY && !is_in_circle(s, of, cause)) {
		*inner = s->list[cause].share;
		return CAUSE_INNER;
	}
	return blamed(s, me->share) < me->threshold_ns ? CAUSE_SYSTEM : CAUSE_OWN;
}

static int by_wall(const void *a, const void *b, void *list)
{
	u64 x = ((const struct suspect *)list)[*(const u32 *)a].share->wall_ns;
	u64 y = ((const struct suspect *)list)[*(const u32 *)b].share->wall_ns;

	return x > y ? -1 : x < y;
}

/* Those the tree does not tell of, the longest first; without memory as they come. */
static void add_others(struct suspects *s)
{
	u32 *others = calloc(s->count + 1, sizeof(*others)), count = 0, i;

	for (i = 0; i < s->count; i++) {
		if (s->list[i].nest != NEST_NONE || is_own_group(&s->list[i]))
			continue;
		if (others)
			others[count++] = i;
		else if (s->candidate_count < CAUSE_CANDIDATES)
			s->candidates[s->candidate_count++] = i;
	}
	if (count > CAUSE_OTHERS)
		qsort_r(others, count, sizeof(*others), by_wall, s->list);
	for (i = 0; i < count && i < CAUSE_OTHERS; i++)
		s->candidates[s->candidate_count++] = others[i];
	free(others);
}

void suspects_open(struct suspects *s, const struct tree *tree)
{
	u32 i;

	_Static_assert(CAUSE_CANDIDATES == NEST_GROUPS + CAUSE_OTHERS, "room for both kinds");
	s->nest = nest_new(tree);
	s->candidate_count = 0;
	for (i = 0; i < s->count; i++) {
		struct suspect *x = &s->list[i];

		x->told = !x->ignored && x->share->wall_ns >= x->threshold_ns;
		x->rank = rank(x->share->group);
		x->nest = nest_group(s->nest, x->share->group, x->share->wall_ns);
		x->cause = CAUSE_UNKNOWN;
		if (x->nest != NEST_NONE && !is_own_group(x))
			s->candidates[s->candidate_count++] = i;
	}
	add_others(s);
}

void suspects_close(struct suspects *s)
{
	nest_free(s->nest);
	s->nest = NULL;
}
