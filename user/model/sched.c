/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/sched.h"
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sched *sched_new(void)
{
	struct sched *s = calloc(1, sizeof(*s));

	if (s)
		s->from = UINT64_MAX;
	return s;
}

void sched_free(void *sched)
{
	struct sched *s = sched;

	if (!s)
		return;
	free(s->offs);
	free(s);
}

struct sched *sched_copy(const struct sched *s)
{
	struct sched *to = sched_new();

	if (!to)
		return NULL;
	to->from = 0;
	if (!s)
		return to;
	*to = *s;
	to->offs = NULL;
	to->cap = 0;
	if (array_room(to->offs, to->cap, s->len)) {
		free(to);
		return NULL;
	}
	if (s->len)
		memcpy(to->offs, s->offs, s->len * sizeof(*s->offs));
	return to;
}

/* Forgets the first n intervals. */
static void sched_drop(struct sched *s, u32 n)
{
	memmove(s->offs, s->offs + n, (s->len - n) * sizeof(*s->offs));
	s->len -= n;
	s->past -= (u32)min_u64(n, s->past);
}

int sched_add(struct sched *s, const struct vmspan_span *r)
{
	u32 reason = r->h.depth & VMSPAN_DEPTH_MASK;
	struct peer peer = s->waker;

	s->waker = (struct peer){ 0 };
	peer.pid = r->iteration;
	/* From the first one on that is seen. */
	if (s->from == UINT64_MAX)
		s->from = r->begin;
	if (reason == VMSPAN_OFF_START)
		return 0;
	/* A clock that goes back, or a reason of a newer tracer's: not believed. */
	if (r->end < r->begin || (s->len && r->begin < s->offs[s->len - 1].end) ||
	    reason >= VMSPAN_OFF_REASONS) {
		sched_gap(s, max_u64(r->begin, r->end));
		return 0;
	}
	if (s->len == SCHED_WAITING) {
		sched_gap(s, s->offs[SCHED_WAITING / 2 - 1].end);
		sched_drop(s, SCHED_WAITING / 2);
	}
	if (array_room(s->offs, s->cap, s->len + 1))
		return -ENOMEM;
	s->offs[s->len++] = (struct off){ r->begin, r->end, reason, peer };
	return 0;
}

void sched_woken(struct sched *s, const struct vmspan_wake *r)
{
	s->waker.comp = r->h.id;
	s->waker.registry = r->registry;
	memcpy(s->waker.comm, r->comm, sizeof(s->waker.comm));
}

void sched_lost(struct sched *s)
{
	s->from = UINT64_MAX;
}

void sched_gap(struct sched *s, u64 cycles)
{
	s->from = s->from == UINT64_MAX ? cycles : max_u64(s->from, cycles);
}

/*
 * The clocks of the two records differ by a little, so an interval belongs where
 * its greater part lies. At both ends: a thread is preempted on its way out of a
 * system call, and its VM reads the clock right before the next one.
 */
static u64 middle(const struct off *o)
{
	return o->begin + (o->end - o->begin) / 2;
}

int sched_take(struct sched *s, u64 begin, u64 end, struct off_sum *sum, struct turn_waits *waits)
{
	u32 first, n;
	int rc = 0;

	*sum = (struct off_sum){ { 0 } };
	while (s->past < s->len && middle(&s->offs[s->past]) < end)
		s->past++;
	for (first = s->past; first && middle(&s->offs[first - 1]) >= begin; first--) {
		const struct off *o = &s->offs[first - 1];

		sum->cycles[o->reason] += o->end - o->begin;
		if (waits && o->peer.pid && !off_is_kept(o->reason) && !rc)
			rc = waits_add(waits, &o->peer, o->begin, o->end);
	}
	n = s->past - first;
	if (n) {
		memmove(s->offs + first, s->offs + s->past, (s->len - s->past) * sizeof(*s->offs));
		s->past = first;
		s->len -= n;
	}
	return rc;
}

void sched_forget(struct sched *s, u64 end)
{
	struct off_sum ignored;

	sched_take(s, 0, end, &ignored, NULL);
}
