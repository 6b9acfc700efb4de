/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which groups of one event ran inside of which, and for how long: by the event's tree, or,
 * where it was sampled, by the stacks that were looked at. One pass over either, whatever
 * a target has made of them: a tree has 512 nodes of 9 groups at most.
 */
#ifndef SINK_ALERT_NEST_H
#define SINK_ALERT_NEST_H

#include "sink/alert_tree.h"

#define NEST_GROUPS 512 /* that are told apart; of more, the first ones of the tree */
#define NEST_NONE UINT32_MAX

struct nest;

/* NULL: there is no tree, or no memory. Names are the tree's, which stays. */
struct nest *nest_new(const struct tree *t);
void nest_free(struct nest *n);
/*
 * The number of a group whose charged time is told of, as far as that can be; else NEST_NONE:
 * no stay is of it, or the tree has not had room for most of what it was charged.
 */
u32 nest_group(const struct nest *n, const char *group, u64 charged_ns);
/*
 * What of charged_ns, the time of group `in`, went by inside of stays of group `of` while `in` was
 * the inner one of both: what `of` does again when `in` calls it back is not in it. In a stay
 * that is of both, either is the inner one.
 */
u64 nest_inside(const struct nest *n, u32 in, u64 charged_ns, u32 of);
/*
 * Shares the time inside of stays of `of` (NEST_NONE: all of the event) among some groups: each
 * moment is the innermost one's. turns[group]: of those of one stay the lowest has it; NEST_NONE:
 * none of them. Where `of` is one of them it has what none inside of it has. Sets ns[NEST_GROUPS].
 */
void nest_parts(const struct nest *n, u32 of, const u32 *turns, u64 *ns);
/* What of charged_ns, the time of `group`, such a part of it is. */
u64 nest_part(const struct nest *n, u32 group, u64 charged_ns, u64 part_ns);

#endif
