/* SPDX-License-Identifier: BSD-2-Clause */
/* Events that had not ended when no more was heard of them: counted, and the longest ones kept. */
#include "model/model_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void unfinished_clear(struct model_unfinished *u)
{
	u32 i;

	free((char *)u->label);
	free((char *)u->group);
	for (i = 0; i < u->stay_count; i++)
		free((char *)u->stay[i].name);
	*u = (struct model_unfinished){ 0 };
}

void unfinished_free(struct unfinished_list *l)
{
	while (l->len)
		unfinished_clear(&l->at[--l->len]);
}

/* Where it is kept: a free place, or that of the shortest, if that is shorter. */
static struct model_unfinished *place(struct unfinished_list *l, u64 ns)
{
	struct model_unfinished *shortest = &l->at[0];
	u32 i;

	if (l->len < UNFINISHED_KEPT)
		return &l->at[l->len++];
	for (i = 1; i < l->len; i++)
		if (l->at[i].for_ns < shortest->for_ns)
			shortest = &l->at[i];
	if (shortest->for_ns >= ns)
		return NULL;
	unfinished_clear(shortest);
	return shortest;
}

static const char *copy(const char *text, bool *failed)
{
	char *s = strdup(text ? text : "");

	*failed |= !s;
	return s;
}

/* Collections and blocking calls have no compartment. */
static const char *name_of(const struct model *m, const struct item_unfinished *it, u32 i)
{
	if (it->stay[i] == VMSPAN_ID_GC)
		return "(collection)";
	if (it->stay[i] >= VMSPAN_ID_MARKS)
		return "(blocking call)";
	return model_compartment(m, it->pid, it->registry, it->stay[i]);
}

/* Of the innermost stay that has one. */
static const char *group_of(const struct model *m, const struct item_unfinished *it)
{
	u32 i = it->stay_count;

	while (i--)
		if (it->stay[i] < VMSPAN_ID_MARKS)
			return model_group_of(m, it->pid, it->registry, it->stay[i]);
	return NULL;
}

int unfinished_fill(const struct model *m, const struct item_unfinished *it,
		    struct model_unfinished *u)
{
	bool failed = false;
	u32 i;

	*u = (struct model_unfinished){
		.pid = it->pid,
		.tid = it->tid,
		.why = it->why,
		.event = it->event,
		.begin_ns = it->begin_ns,
		.for_ns = it->until_ns - it->begin_ns,
		.depth = it->depth,
		.stay_count = it->stay_count,
		.label = copy(model_label(m, it->pid, it->registry, it->label), &failed),
	};
	for (i = 0; i < it->stay_count; i++) {
		u->stay[i].for_ns = it->until_ns - it->stay_ns[i];
		u->stay[i].name = copy(name_of(m, it, i), &failed);
	}
	u->group = copy(group_of(m, it), &failed);
	return failed ? -ENOMEM : 0;
}

int model_unfinished(struct model *m, const struct item_unfinished *it)
{
	struct model_unfinished *u;
	int rc;

	/* It is in no other figure. */
	open_forget_all(m);
	if (!model_in_range(m, it->begin_ns))
		return 0;
	m->unfinished.count++;
	u = place(&m->unfinished, it->until_ns - it->begin_ns);
	if (!u)
		return 0;
	rc = unfinished_fill(m, it, u);
	u->number = m->unfinished.count;
	return rc;
}
