/* SPDX-License-Identifier: BSD-2-Clause */
#include "rec/sched_ends.h"
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

static u64 key_of(u32 pid, u32 thread)
{
	return (u64)pid << 32 | thread;
}

struct sched_end *sched_end_of(struct sched_ends *s, const struct item_batch *b, u32 most, int *rc)
{
	u64 key = key_of(b->pid, b->thread), *at = map_get(&s->at, key);

	*rc = 0;
	if (at)
		return &s->ends[*at];
	*rc = s->len >= most ? -ENOSPC : array_room(s->ends, s->cap, s->len + 1);
	if (!*rc)
		*rc = map_put(&s->at, key, s->len);
	if (*rc)
		return NULL;
	s->ends[s->len] = (struct sched_end){ .pid = b->pid, .tid = b->tid, .thread = b->thread };
	return &s->ends[s->len++];
}

void sched_end_note(struct sched_end *e, const struct item_batch *b)
{
	const u8 *at = b->data, *end = at + b->bytes;

	/* One that was overtaken. */
	if (b->seq + b->records <= e->next)
		return;
	e->lacks = b->too_deep != e->lost;
	e->lost = b->too_deep;
	e->next = b->seq + b->records;
	for (; at < end; at += at[1] * (u32)VMSPAN_SLOT)
		if (*at == VMSPAN_OFF)
			e->cycles = ((const struct vmspan_span *)(const void *)at)->end;
}

static int put_start(const struct sched_end *e, u64 seq, item_fn fn, void *ctx)
{
	const struct vmspan_span start = { .h = { VMSPAN_OFF, 1, VMSPAN_OFF_START, 0 },
					   .begin = e->cycles,
					   .end = e->cycles };
	const struct item it = { .type = ITEM_BATCH,
				 .batch = { .pid = e->pid,
					    .tid = e->tid,
					    .registry = ITEM_SCHED_REGISTRY,
					    .thread = e->thread,
					    .seq = seq,
					    .records = 1,
					    .bytes = sizeof(start),
					    .data = &start,
					    .too_deep = e->lost } };

	return fn(ctx, &it);
}

int sched_end_start(const struct sched_end *e, item_fn fn, void *ctx)
{
	int rc = 0;

	if (e->lacks || e->next < (e->lost ? 2 : 1))
		return 0;
	/* With the first batch its count is new, and something seems to have been lost behind it. */
	if (e->lost)
		rc = put_start(e, e->next - 2, fn, ctx);
	return rc ? rc : put_start(e, e->next - 1, fn, ctx);
}

void sched_ends_drop(struct sched_ends *s, u32 at)
{
	struct sched_end *e = &s->ends[at], *last = &s->ends[--s->len];

	map_del(&s->at, key_of(e->pid, e->thread));
	if (e == last)
		return;
	*e = *last;
	/* The key is there: nothing is added, so nothing can fail. */
	*map_get(&s->at, key_of(e->pid, e->thread)) = at;
}

void sched_ends_forget(struct sched_ends *s, u32 pid)
{
	u32 i;

	for (i = s->len; i--;)
		if (s->ends[i].pid == pid)
			sched_ends_drop(s, i);
}

void sched_ends_forget_thread(struct sched_ends *s, u32 pid, u32 tid)
{
	u64 *at = map_get(&s->at, key_of(pid, tid));

	if (at)
		sched_ends_drop(s, (u32)*at);
}

void sched_ends_free(struct sched_ends *s)
{
	free(s->ends);
	map_free(&s->at);
	*s = (struct sched_ends){ 0 };
}
