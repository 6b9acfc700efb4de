/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/alert_cause.h"
#include "model/scale.h"
#include "sink/alert_nest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CONTAINERS 3

/* Groups that are followed from each to its cause, to see whether they lie in a circle. */
#define CIRCLE_MAX 1024

/* Instead of the index of a group. */
#define CAUSE_UNKNOWN UINT32_MAX
#define CAUSE_NOBODY (UINT32_MAX - 1)

/* Of turns in nest_parts(): behind the group whose time is shared. */
#define BEHIND (1u << 31)

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

static int by_length(const void *a, const void *b, void *list)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;
	const struct suspect *of = list;

	if (is_shorter(&of[x], &of[y]))
		return -1;
	return is_shorter(&of[y], &of[x]) ? 1 : (x > y) - (x < y);
}

static bool by_tree(const struct suspect *a, const struct suspect *b)
{
	return a->nest != NEST_NONE && b->nest != NEST_NONE;
}

/* What others can have had of its time. All that runs is the process's own. */
static u64 not_its_own(const struct suspect *of)
{
	const struct model_share *s = of->share;

	return s->wall_ns - (of->rank ? min_u64(s->self_ns, s->wall_ns) : 0);
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

	if (!by_tree(in, of))
		return is_shorter(in, of) ? min_u64(in->share->wall_ns, not_its_own(of)) : 0;
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

/* What of the blame lies in a part of the group's time. */
static u64 blamed_in(const struct suspects *s, const struct suspect *in, u64 in_ns)
{
	u64 wall = in->share->wall_ns;

	return scale(min_u64(in_ns, wall), blamed(s, in->share), wall);
}

/* CPU time that others have to have had of a group's for them to be the cause. */
static u64 blame_needed(const struct suspects *s, const struct suspect *of)
{
	return blamed(s, of->share) >= of->threshold_ns ? of->threshold_ns : 0;
}

/* Would the group's time be all right without in_ns of it? */
static bool relieves(const struct suspects *s, const struct suspect *of, u64 in_ns, u64 in_blamed)
{
	u64 wall = of->share->wall_ns;

	/* What is too short to be told of, in CPU time too, is no cause of what is not. */
	if (in_ns < of->threshold_ns || in_blamed < blame_needed(s, of))
		return false;
	if (wall - min_u64(in_ns, wall) < of->threshold_ns)
		return true;
	/* On a busy machine the little that a group did besides takes long too. */
	return blamed(s, of->share) < in_blamed + of->threshold_ns;
}

/* A container is charged for whatever it contains: there half of it is enough. */
static bool explains(const struct suspects *s, const struct suspect *in, const struct suspect *of)
{
	u64 in_ns = in->share->wall_ns ? inside_ns(s, in, of) : 0, in_blamed;

	if (!in_ns)
		return false;
	if (is_container(of) && !is_container(in) && in_ns >= of->share->wall_ns - in_ns)
		return true;
	/* Where the tree does not tell, how much was in there is not known so well. */
	in_blamed = by_tree(in, of) ? blamed_in(s, in, in_ns) : blamed(s, in->share);
	return relieves(s, of, in_ns, in_blamed);
}

/* ---- Groups that the tree does not tell of ---- */

/* Of those from `at` on the first that has to be blamed for so much. */
static u32 first_blamed(const struct lineup *l, u32 at, u64 ns)
{
	u32 i = at + l->leaves;

	if (at >= l->count)
		return l->count;
	/* Up while nothing to the right of it has as much, then down. */
	while (l->most[i] < ns) {
		while (i & 1)
			i /= 2;
		if (!i)
			return l->count;
		i++;
	}
	while (i < l->leaves)
		i = l->most[2 * i] >= ns ? 2 * i : 2 * i + 1;
	return i - l->leaves;
}

static u32 first_long(const struct suspects *s, const struct lineup *l, u64 ns)
{
	u32 low = 0, high = l->count;

	while (low < high) {
		u32 mid = low + (high - low) / 2;

		if (s->list[l->at[mid]].share->wall_ns < ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static u32 earlier(u32 a, u32 b)
{
	return a < b ? a : b;
}

/* The shortest of them that explains the group, as explains() has it: an index, or
 * CAUSE_NOBODY. */
static u32 shortest(const struct suspects *s, const struct lineup *l, const struct suspect *of)
{
	u64 wall = of->share->wall_ns, room = not_its_own(of), at_least = of->threshold_ns;
	u64 all = blamed(s, of->share), needed = blame_needed(s, of);
	u64 rest = wall + 1 - min_u64(at_least, wall);
	u32 best = l->count;

	if (room >= max_u64(at_least, rest))
		best = first_blamed(l, first_long(s, l, max_u64(at_least, rest)), needed);
	if (room >= at_least) {
		u64 most = all + 1 - min_u64(at_least, all);

		if (all < at_least)
			most = 0;
		best = earlier(best,
			       first_blamed(l, first_long(s, l, at_least), max_u64(needed, most)));
	}
	if (is_container(of) && room >= wall - room) {
		u32 at = first_long(s, l, wall - wall / 2);

		best = earlier(best, at < l->count ? l->plain[at] : l->count);
	}
	if (best == l->count || !is_shorter(&s->list[l->at[best]], of))
		return CAUSE_NOBODY;
	return l->at[best];
}

/* All of them that are told of, or all others, the shortest first. 0 or -ENOMEM. */
static int lineup_open(struct suspects *s, struct lineup *l, bool told)
{
	u32 i;

	l->count = 0;
	l->at = calloc(s->count + 1, sizeof(*l->at));
	for (i = 0; l->at && i < s->count; i++) {
		const struct suspect *x = &s->list[i];

		if (x->nest == NEST_NONE && x->told == told && x->share->wall_ns &&
		    !is_own_group(x))
			l->at[l->count++] = i;
	}
	for (l->leaves = 1; l->leaves < l->count;)
		l->leaves *= 2;
	l->most = calloc(2 * (size_t)l->leaves, sizeof(*l->most));
	l->plain = calloc(l->count + 1, sizeof(*l->plain));
	if (!l->at || !l->most || !l->plain)
		return -ENOMEM;
	qsort_r(l->at, l->count, sizeof(*l->at), by_length, s->list);
	for (i = 0; i < l->count; i++)
		l->most[l->leaves + i] = blamed(s, s->list[l->at[i]].share);
	for (i = l->leaves; --i;)
		l->most[i] = max_u64(l->most[2 * i], l->most[2 * i + 1]);
	l->plain[l->count] = l->count;
	for (i = l->count; i--;)
		l->plain[i] = is_container(&s->list[l->at[i]]) ? l->plain[i + 1] : i;
	return 0;
}

static void lineup_close(struct lineup *l)
{
	free(l->at);
	free(l->most);
	free(l->plain);
}

/* ---- Causes ---- */

/* The parts that groups of the tree had of the group's time. which[i]: is s->known[i] one of
 * them? Of those of one stay it is the shortest one's. */
static void share_out(struct suspects *s, const struct suspect *of, const bool *which, u64 *ns)
{
	u32 turns[NEST_GROUPS], i;

	memset(turns, 0xff, sizeof(turns));
	for (i = 0; i < s->known_count; i++) {
		const struct suspect *x = &s->list[s->known[i]];

		if (which[i])
			turns[x->nest] = is_shorter(x, of) ? i : i + BEHIND;
	}
	if (of->nest != NEST_NONE)
		turns[of->nest] = BEHIND - 1;
	nest_parts(s->nest, of->nest, turns, ns);
	for (i = 0; i < s->known_count; i++) {
		const struct suspect *x = &s->list[s->known[i]];

		ns[x->nest] = nest_part(s->nest, x->nest, x->share->wall_ns, ns[x->nest]);
	}
}

/* Of those the one with the largest part; of equal ones the shortest. An index, or
 * CAUSE_NOBODY. */
static u32 largest(const struct suspects *s, const bool *which, const u64 *ns)
{
	u32 best = CAUSE_NOBODY, i;
	u64 most = 0;

	for (i = 0; i < s->known_count; i++) {
		u32 at = s->known[i];

		if (which[i] && (best == CAUSE_NOBODY || ns[s->list[at].nest] > most)) {
			best = at;
			most = ns[s->list[at].nest];
		}
	}
	return best;
}

/* Does the tree tell what others had of its time? */
static bool is_shared_out(const struct suspects *s, const struct suspect *of)
{
	return s->nest && (of->nest != NEST_NONE || !of->rank);
}

/* A group without which this one's time would not be too long. */
static u32 one_cause(struct suspects *s, const struct suspect *of, bool told)
{
	u32 other = shortest(s, &s->others[told], of), best = CAUSE_NOBODY, count = 0, i;
	bool which[NEST_GROUPS];
	u64 ns[NEST_GROUPS];

	for (i = 0; i < s->known_count; i++) {
		const struct suspect *in = &s->list[s->known[i]];

		which[i] = in != of && in->told == told && explains(s, in, of);
		if (which[i] && !count++)
			best = s->known[i];
	}
	if (count > 1 && is_shared_out(s, of)) {
		share_out(s, of, which, ns);
		best = largest(s, which, ns);
	}
	if (best == CAUSE_NOBODY || other == CAUSE_NOBODY)
		return best == CAUSE_NOBODY ? other : best;
	return is_shorter(&s->list[other], &s->list[best]) ? other : best;
}

/* All others that are told of, together: the one with the largest part. */
static u32 joint_cause(struct suspects *s, const struct suspect *of)
{
	u64 ns[NEST_GROUPS], sum = 0, plain = 0, sum_blamed = 0;
	bool which[NEST_GROUPS];
	u32 i;

	if (!of->told || !is_shared_out(s, of))
		return CAUSE_NOBODY;
	for (i = 0; i < s->known_count; i++)
		which[i] = s->list[s->known[i]].told && &s->list[s->known[i]] != of;
	share_out(s, of, which, ns);
	for (i = 0; i < s->known_count; i++) {
		const struct suspect *x = &s->list[s->known[i]];

		if (!which[i] || !ns[x->nest])
			continue;
		sum += ns[x->nest];
		plain += is_container(x) ? 0 : ns[x->nest];
		sum_blamed += blamed_in(s, x, ns[x->nest]);
	}
	if ((is_container(of) && plain && plain * 2 >= of->share->wall_ns) ||
	    relieves(s, of, sum, sum_blamed))
		return largest(s, which, ns);
	return CAUSE_NOBODY;
}

/* Whose doing the group's time was: an index, or CAUSE_NOBODY. */
static u32 inner_cause(struct suspects *s, u32 of)
{
	struct suspect *me = &s->list[of];

	if (me->cause != CAUSE_UNKNOWN)
		return me->cause;
	me->cause = one_cause(s, me, true);
	if (me->cause == CAUSE_NOBODY)
		me->cause = one_cause(s, me, false);
	if (me->cause == CAUSE_NOBODY)
		me->cause = joint_cause(s, me);
	return me->cause;
}

/*
 * Three and more can each lie inside the next, round and round, and none would be told of. So
 * the one whose cause is not the shorter one of both stays its own: there is one in each such
 * circle.
 */
static bool is_in_circle(struct suspects *s, u32 of, u32 inner)
{
	u32 n;

	if (is_shorter(&s->list[inner], &s->list[of]))
		return false;
	for (n = 0; inner != CAUSE_NOBODY && inner != of; n++) {
		struct suspect *x = &s->list[inner];

		/* Another circle, behind this one. What is too long to follow is rather
		 * told of. */
		if (x->met == of + 1 || n == CIRCLE_MAX)
			return n == CIRCLE_MAX;
		x->met = of + 1;
		inner = inner_cause(s, inner);
	}
	return inner == of;
}

static void judge(struct suspects *s, u32 of)
{
	struct suspect *me = &s->list[of];
	u32 cause = inner_cause(s, of);

	me->inner = NULL;
	if (cause != CAUSE_NOBODY && !is_in_circle(s, of, cause)) {
		me->inner = &s->list[cause];
		me->why = CAUSE_INNER;
	} else {
		me->why = blamed(s, me->share) < me->threshold_ns ? CAUSE_SYSTEM : CAUSE_OWN;
	}
}

/* Could the alert of `me` have to name the cause, for that has none that is the group's doing?
 * Not where somebody has asked for none. */
static bool may_stand_in(const struct suspects *s, const struct suspect *me)
{
	const struct suspect *in = me->inner;

	if (!me->told || me->why != CAUSE_INNER || is_own_group(me) ||
	    blamed(s, me->share) < me->threshold_ns)
		return false;
	if (in->told)
		return in->why == CAUSE_SYSTEM;
	return !in->ignored && in->share->wall_ns < me->threshold_ns;
}

/* Of several around it the shortest stands in. */
static void find_stand_ins(struct suspects *s)
{
	u32 i;

	for (i = 0; i < s->count; i++) {
		struct suspect *me = &s->list[i], *in = me->inner;

		if (may_stand_in(s, me) && (!in->stand_in || is_shorter(me, in->stand_in)))
			in->stand_in = me;
	}
}

enum alert_cause cause_find(const struct suspects *s, u32 of, const struct model_share **inner,
			    bool *stands_in)
{
	const struct suspect *me = &s->list[of];

	*inner = me->inner ? me->inner->share : NULL;
	*stands_in = me->inner && me->inner->stand_in == me;
	return me->why;
}

int suspects_open(struct suspects *s, const struct tree *tree)
{
	u32 i;
	int rc;

	s->nest = nest_new(tree);
	s->known_count = 0;
	for (i = 0; i < s->count; i++) {
		struct suspect *x = &s->list[i];

		x->told = !x->ignored && x->share->wall_ns >= max_u64(x->threshold_ns, s->least_ns);
		x->rank = rank(x->share->group);
		x->nest = nest_group(s->nest, x->share->group, x->share->wall_ns);
		x->cause = CAUSE_UNKNOWN;
		x->met = 0;
		x->why = CAUSE_OWN;
		x->inner = x->stand_in = NULL;
		if (x->nest != NEST_NONE && !is_own_group(x) && s->known_count < NEST_GROUPS)
			s->known[s->known_count++] = i;
	}
	qsort_r(s->known, s->known_count, sizeof(*s->known), by_length, s->list);
	memset(s->others, 0, sizeof(s->others));
	rc = lineup_open(s, &s->others[false], false);
	if (!rc)
		rc = lineup_open(s, &s->others[true], true);
	for (i = 0; !rc && i < s->count; i++)
		if (s->list[i].told)
			judge(s, i);
	if (!rc)
		find_stand_ins(s);
	else
		suspects_close(s);
	return rc;
}

void suspects_close(struct suspects *s)
{
	nest_free(s->nest);
	s->nest = NULL;
	lineup_close(&s->others[false]);
	lineup_close(&s->others[true]);
	memset(s->others, 0, sizeof(s->others));
}
