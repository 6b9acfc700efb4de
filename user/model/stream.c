/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int stream_deliver(struct stream *st, const struct item_batch *b, batch_fn fn, void *ctx,
			  u64 *missing)
{
	if (!st->started) {
		st->started = true;
		st->first = b->seq;
	} else if (b->seq > st->next) {
		*missing += b->seq - st->next;
		st->gap_end = b->seq;
		st->gap_open = true;
	}
	st->next = b->seq + b->records;
	return fn(ctx, st, b);
}

/* Hands out the waiting batches that are due; with `force` the oldest too. */
static int stream_release(struct stream *st, bool force, batch_fn fn, void *ctx, u64 *missing)
{
	int rc = 0;

	while (!rc && st->held_len && (force || st->held[0].batch.seq <= st->next)) {
		struct held h = st->held[0];

		memmove(st->held, st->held + 1, --st->held_len * sizeof(h));
		if (h.batch.seq >= st->next)
			rc = stream_deliver(st, &h.batch, fn, ctx, missing);
		free(h.data);
		force = false;
	}
	return rc;
}

static int stream_hold(struct stream *st, const struct item_batch *b)
{
	struct held h = { .batch = *b, .data = malloc(b->bytes + 1) };
	u32 i = st->held_len++;

	if (!h.data) {
		st->held_len--;
		return -ENOMEM;
	}
	if (b->bytes) /* it may be of counts alone */
		memcpy(h.data, b->data, b->bytes);
	h.batch.data = h.data;
	for (; i && st->held[i - 1].batch.seq > b->seq; i--)
		st->held[i] = st->held[i - 1];
	st->held[i] = h;
	return 0;
}

int stream_order(struct stream *st, const struct item_batch *b, batch_fn fn, void *ctx,
		 u64 *missing)
{
	int rc;

	if (!st->started || b->seq == st->next) {
		rc = stream_deliver(st, b, fn, ctx, missing);
		return rc ? rc : stream_release(st, false, fn, ctx, missing);
	}
	/* Seen before: a repeated batch, or a forged number. */
	if (b->seq < st->next)
		return 0;
	rc = stream_hold(st, b);
	if (!rc && st->held_len == STREAM_HELD)
		rc = stream_release(st, true, fn, ctx, missing);
	return rc ? rc : stream_release(st, false, fn, ctx, missing);
}

int stream_drain(struct stream *st, batch_fn fn, void *ctx, u64 *missing)
{
	int rc = 0;

	while (!rc && st->held_len)
		rc = stream_release(st, true, fn, ctx, missing);
	return rc;
}

void stream_free(void *stream)
{
	struct stream *st = stream;
	u32 i;

	for (i = 0; i < st->held_len; i++)
		free(st->held[i].data);
	for (i = 0; i < st->turn_len; i++) {
		turn_free(st->turns[i]);
		free(st->turns[i]);
	}
	sampler_free(st->sampler);
	open_free(st);
	free((char *)st->pub.name);
	free(st);
}
