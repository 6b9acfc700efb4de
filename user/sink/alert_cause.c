/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/alert_cause.h"
#include "sink/alert_nest.h"

#include <string.h>

#define CONTAINERS 3

/* Groups that are followed from each to its cause, to see whether they lie in a circle. */
#define CIRCLE_MAX 16

/* Containers are charged for what is in them, so among equals they are not
 * the cause. */
static unsigned int rank(const char *group)
{
	static const char *const order[CONTAINERS] = { "top:", "page:", "compartment:" };
	unsigned int i;

	for (i = 0; i < CONTAINERS; i++)
		if (!strncmp(group, order[i], strlen(order[i])))
			return i;
	return i;
}

static bool is_container(const char *group)
{
	return rank(group) < CONTAINERS;
}

/* By what both were charged alone: the one with less. */
static bool is_shorter(const struct model_share *in, const struct model_share *of)
{
	unsigned int a = rank(in->group), b = rank(of->group);

	if (in->wall_ns != of->wall_ns)
		return in->wall_ns < of->wall_ns;
	/* All that were on every stack that was looked at have the same time: the one
	 * whose code ran is inside. */
	return a != b ? a > b : in->self_ns > of->self_ns;
}

/*
 * Of the time of `in` what lay inside of `of`; 0 if rather `of` lies inside of `in`. Totals
 * alone do not tell: who runs inside of a group and beside it too may have more time than
 * the group around it, and who runs beside it less. They decide where the tree does not tell,
 * and where each ran inside the other for as long.
 */
static u64 inside_ns(const struct suspects *s, const struct model_share *in,
		     const struct model_share *of)
{
	struct nest n;

	if (!nest_find(s->tree, in, of, &n))
		return is_shorter(in, of) ? in->wall_ns : 0;
	if (n.a_in_b_ns == n.b_in_a_ns ? is_shorter(in, of) : n.a_in_b_ns > n.b_in_a_ns)
		return n.a_in_b_ns;
	return 0;
}

/* What of the time in `of` its group can be blamed for: time off the CPU that it has not
 * announced may be the system's doing. In exact mode that is not in it. */
static u64 blamed(const struct suspects *s, const struct model_share *of)
{
	if (s->exact || !s->event->cpu_ns)
		return of->wall_ns;
	return min_u64(of->wall_ns, of->cpu_ns + of->blocked_ns);
}

/* Would the group's time be all right but for the in_ns that `in` had inside of it? A
 * container is charged for whatever it contains: there half of it is enough. */
static bool explains(const struct suspects *s, const struct model_share *in, u64 in_ns,
		     const struct suspect *of)
{
	u64 wall = of->share->wall_ns, in_blamed;

	if (is_container(of->share->group) && !is_container(in->group) && in_ns * 2 >= wall)
		return true;
	if (in_ns < of->threshold_ns)
		return false;
	if (wall - min_u64(in_ns, wall) < of->threshold_ns)
		return true;
	/* On a busy machine the little that a group did besides takes long too. */
	in_blamed = (u64)((double)blamed(s, in) * (double)in_ns / (double)in->wall_ns);
	return blamed(s, of->share) < in_blamed + of->threshold_ns;
}

/* Without so much time a group explains nobody's, wherever it ran. */
static bool may_explain(const struct model_share *in, const struct suspect *of)
{
	return in->wall_ns &&
	       (in->wall_ns >= of->threshold_ns || in->wall_ns * 2 >= of->share->wall_ns);
}

/* The group of the event without which this one's time would not be too long: the innermost. */
static const struct suspect *inner_cause(const struct suspects *s, const struct suspect *of)
{
	const struct suspect *best = NULL;
	u32 i;

	for (i = 0; i < s->count; i++) {
		const struct suspect *in = &s->list[i];
		u64 in_ns;

		/* Own groups say no more than the group they are in. */
		if (in == of || !may_explain(in->share, of) ||
		    !strncmp(in->share->group, "compartment:", 12))
			continue;
		in_ns = inside_ns(s, in->share, of->share);
		if (in_ns && explains(s, in->share, in_ns, of) &&
		    (!best || inside_ns(s, in->share, best->share)))
			best = in;
	}
	return best;
}

/*
 * Where the tree tells of some groups only, three and more can each lie inside the next, round
 * and round, and none would be told of. So the one whose cause is not the shorter one of both
 * stays its own: there is one in each such circle.
 */
static bool is_in_circle(const struct suspects *s, const struct suspect *of,
			 const struct suspect *inner)
{
	u32 n;

	if (is_shorter(inner->share, of->share))
		return false;
	for (n = 0; inner && inner != of && n < CIRCLE_MAX; n++)
		inner = inner_cause(s, inner);
	/* What is too long to follow is rather told of. */
	return inner;
}

enum alert_cause cause_find(const struct suspects *s, u32 of, const struct model_share **inner)
{
	const struct suspect *me = &s->list[of], *cause = inner_cause(s, me);

	*inner = NULL;
	if (cause && !is_in_circle(s, me, cause)) {
		*inner = cause->share;
		return CAUSE_INNER;
	}
	return blamed(s, me->share) < me->threshold_ns ? CAUSE_SYSTEM : CAUSE_OWN;
}
