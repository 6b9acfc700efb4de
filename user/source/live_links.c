/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The links of processes: how they are shared, kept and given up.
 *
 * A forked child inherits its parent's breakpoints and semaphore, so it is
 * traced from its first instruction on links that belong to its parent. The
 * kernel takes both away from it when any link of that file is detached whose
 * filter does not match the child, be it another tracer's. So a child that lives
 * gets links of its own, one that is short-lived never does, and links of the
 * dead are kept, for they cost the target nothing. Only when there are many of
 * them some are detached, at a moment when no child is known that would suffer.
 * One that was just being born then is found by its semaphore: it is armed
 * again, and what it may have lost is counted.
 */
#include "source/live_int.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

/* Links of the dead that are kept. Some more wait for a quiet moment; no more
 * than that, for each is a descriptor. */
#define BURIED_KEPT 256
#define BURIED_MAX 1024
/* Detaching takes some 30 ms each, in which nobody drains the ring. */
#define DETACH_AT_ONCE 2

struct carrier *carrier_get(struct live *l, const struct plan_dso *d, struct err *err)
{
	struct carrier **grown, *c;
	u32 i;

	for (i = 0; i < l->carrier_count; i++) {
		c = l->carriers[i];
		if (c->dev == d->dev && c->inode == d->inode) {
			c->users++;
			return c;
		}
	}
	grown = realloc(l->carriers, (l->carrier_count + 1) * sizeof(struct carrier *));
	c = grown ? calloc(1, sizeof(*c)) : NULL;
	if (grown)
		l->carriers = grown;
	if (!c) {
		err_set(err, -ENOMEM, "no memory");
		return NULL;
	}
	c->link = site_flush(l->t, d, err);
	if (!c->link) {
		free(c);
		return NULL;
	}
	c->dev = d->dev;
	c->inode = d->inode;
	c->users = 1;
	l->carriers[l->carrier_count++] = c;
	return c;
}

static void carrier_put(struct live *l, struct carrier *c)
{
	u32 i;

	if (!c || --c->users)
		return;
	for (i = 0; i < l->carrier_count; i++)
		if (l->carriers[i] == c)
			l->carriers[i] = l->carriers[--l->carrier_count];
	site_release(c->link);
	free(c);
}

/* The marks of the file stop; its carrier stays. */
static void detach_links(struct attachment *a)
{
	site_release(a->armed);
	a->armed = NULL;
	while (a->count)
		site_detach(a->links[--a->count]);
}

void attachment_free(struct live *l, struct attachment *a)
{
	detach_links(a);
	carrier_put(l, a->carrier);
	free(a);
}

void attachment_bury(struct live *l, struct attachment **at)
{
	struct attachment *a = *at;

	*at = a->next;
	a->next = l->buried;
	l->buried = a;
}

/* ---- Giving up ---- */

bool process_has_ended(const struct process *p)
{
	struct pollfd end = { .fd = p->pidfd, .events = POLLIN };

	return p->ended || (p->pidfd >= 0 && poll(&end, 1, 0) > 0);
}

/* True when a child lives on links that are not its own. */
static bool has_unlinked(const struct live *l)
{
	u64 key, value;
	size_t at = 0;

	while (map_next(&l->processes, &at, &key, &value))
		if (((struct process *)(uintptr_t)value)->unlinked)
			return true;
	return false;
}

/* Whoever lives on links that are not its own gets some. */
static void link_all(struct live *l)
{
	struct err ignored = { 0 };
	u64 key, value;
	size_t at = 0;

	while (map_next(&l->processes, &at, &key, &value)) {
		struct process *p = (struct process *)(uintptr_t)value;

		if (p->unlinked && !process_has_ended(p) && !process_attach(l, p, &ignored))
			p->unlinked = false;
	}
}

/* The oldest are at the end of the list. */
static void detach_some(struct live *l, bool idle)
{
	struct attachment *a, **at;
	u32 count = 0, n;

	for (a = l->buried; a; a = a->next)
		count++;
	if (count <= BURIED_KEPT || (count < BURIED_MAX && (!idle || has_unlinked(l))))
		return;
	link_all(l);
	l->doubt_begin_ns = clock_mono_ns();
	for (n = 0; n < DETACH_AT_ONCE; n++) {
		for (at = &l->buried; (*at)->next; at = &(*at)->next)
			;
		a = *at;
		*at = NULL;
		attachment_free(l, a);
	}
	l->doubt_end_ns = clock_mono_ns();
}

/* Marks that are off although nobody has turned them off. */
static bool has_lost_marks(const struct process *p)
{
	struct vmspan_registry head;
	u32 i;

	for (i = 0; i < p->registry_count; i++)
		if (!target_registry(p->pid, p->registries[i].address, &head) && !head.semaphore &&
		    !head.probes_semaphore)
			return true;
	return false;
}

/* The children that were born while links were being detached. */
static int rearm(struct live *l)
{
	struct err ignored = { 0 };
	u64 key, value;
	size_t at = 0;

	l->doubt_end_ns = 0;
	while (map_next(&l->processes, &at, &key, &value)) {
		struct process *p = (struct process *)(uintptr_t)value;

		if (!p->unlinked || !p->leaves_marks || !has_lost_marks(p))
			continue;
		if (!process_has_ended(p) && !process_attach(l, p, &ignored))
			p->unlinked = false;
		/* How many marks there were while they were off nobody knows. */
		if (live_emit_loss(l, LOSS_TRUNCATED, 1, 0))
			break;
	}
	return l->failed;
}

void links_ended(struct live *l, const struct process *p, u64 mono_ns)
{
	if (p->unlinked && p->leaves_marks && p->told && p->forked_ns < l->doubt_end_ns &&
	    mono_ns > l->doubt_begin_ns)
		live_emit_loss(l, LOSS_TRUNCATED, 1, 0);
}

int links_settle(struct live *l, bool idle)
{
	/* The news of their births have been drained by now. */
	if (l->doubt_end_ns && rearm(l))
		return l->failed;
	detach_some(l, idle);
	return 0;
}

void process_free_buried(struct live *l)
{
	struct attachment *a;

	while ((a = l->buried)) {
		l->buried = a->next;
		attachment_free(l, a);
	}
}

void process_disarm_all(struct live *l)
{
	struct attachment *a;
	u64 key, value;
	size_t at = 0;

	while (map_next(&l->processes, &at, &key, &value))
		for (a = ((struct process *)(uintptr_t)value)->attachments; a; a = a->next)
			detach_links(a);
	for (a = l->buried; a; a = a->next)
		detach_links(a);
}

void process_detach_all(struct live *l)
{
	u32 i;

	for (i = 0; i < l->carrier_count; i++) {
		site_release(l->carriers[i]->link);
		l->carriers[i]->link = NULL;
	}
}
