/* SPDX-License-Identifier: BSD-2-Clause */
/* The direct method: a link for each conventional probe of a file. */
#include "source/live_int.h"

#include <errno.h>

/* A begin says nothing without its end, and an end without its begin. */
static int partner_of(int role)
{
	static const int ends[][2] = { { ROLE_EVENT_BEGIN, ROLE_EVENT_END },
				       { ROLE_GC_BEGIN, ROLE_GC_END },
				       { ROLE_BLOCK_BEGIN, ROLE_BLOCK_END } };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ends); i++)
		if (role == ends[i][0] || role == ends[i][1])
			return ends[i][role == ends[i][0]];
	return role;
}

struct attachment *direct_again(struct live *l, struct process *p, const struct plan_dso *d)
{
	struct attachment **at, *a;

	for (at = &l->buried; (a = *at); at = &a->next)
		if (a->pid == p->pid && a->dev == d->dev && a->inode == d->inode && !a->vm)
			break;
	if (!a)
		return NULL;
	*at = a->next;
	a->next = p->attachments;
	p->attachments = a;
	return a;
}

/* Was it there before, and is it traced from here on? Then what it marks meanwhile is of before the trace. */
static bool begins_here(const struct live *l, const struct process *p)
{
	return !l->started || l->marks_off || (!p->told && !p->exec_ns && !p->forked_ns);
}

static int attach_roles(struct live *l, struct process *p, const struct plan_dso *d,
			struct attachment *a, struct err *err)
{
	u32 without = 0; /* a bit a role */
	int role;

	for (role = ROLE_ENTER; role < ROLE_COUNT; role++) {
		if (!d->probes.sites[role].offset || a->links.of[role] || without & 1u << role ||
		    !part_wanted(l, part_of_role(false, role)))
			continue;
		/* It needs none of the others; and with it those go on that wait for all of them. */
		if (role == ROLE_MARK)
			tracer_arming(l->t, p->pid, ARMING_DONE);
		a->links.of[role] = site_direct(l->t, p->pid, d, (enum probe_role)role, err);
		if (a->links.of[role])
			continue;
		/* Without what its arguments say, the others still tell something. */
		if (err->code != -ENODATA || role == ROLE_ENTER || role == ROLE_LEAVE)
			return -1;
		live_refused(p, err);
		*err = (struct err){ 0 };
		without |= 1u << partner_of(role);
		site_release(a->links.of[partner_of(role)]);
		a->links.of[partner_of(role)] = NULL;
	}
	return 0;
}

void direct_ends(struct live *l, const struct process *p)
{
	const struct attachment *a;

	for (a = p->attachments; a; a = a->next)
		if (!a->vm && a->links.of[ROLE_ENTER])
			tracer_arming(l->t, p->pid, ARMING_LAST);
}

int direct_attach(struct live *l, struct process *p, const struct plan_dso *d, struct attachment *a,
		  struct err *err)
{
	int r;

	/* Parts that come back are others, and need not wait for each other. */
	if (!a->links.of[ROLE_ENTER])
		tracer_arming(l->t, p->pid, begins_here(l, p) ? ARMING_FIRST : ARMING_MORE);
	r = attach_roles(l, p, d, a, err);
	tracer_arming(l->t, p->pid, ARMING_DONE);
	return r;
}
