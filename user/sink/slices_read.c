/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading what was put aside.
 *
 * Slices come with ends in ascending order, what is inside before what is
 * around it. Read backwards, then, each comes before what it holds, and a
 * stack of the open ones is all it takes to give begins and ends in descending
 * order. Those go to a stream of their own, which is read backwards again.
 */
#include "sink/slices.h"
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Deeper nesting only a forged trace has: what is beyond is left out. */
#define WALK_DEPTH 4096

struct read {
	union {
		slice_fn slice;
		sample_fn sample;
		slice_edge_fn edge;
	};
	void *ctx;
};

u32 *slices_order(const struct slices *s)
{
	u32 *order = malloc(max_u64(s->thread_count, 1) * sizeof(*order));
	u32 *next = calloc(max_u64(s->process_count, 1), sizeof(*next));
	u32 i, at = 0;

	if (!order || !next) {
		free(order);
		free(next);
		return NULL;
	}
	for (i = 0; i < s->process_count; at += s->processes[i++].threads)
		next[i] = at;
	/* Two passes: the main thread need not be the first that is seen. */
	for (i = 0; i < s->thread_count; i++) {
		u32 p = s->threads[i].process;

		if (s->threads[i].tid == s->threads[i].pid)
			order[next[p]++] = i;
	}
	for (i = 0; i < s->thread_count; i++)
		if (s->threads[i].tid != s->threads[i].pid)
			order[next[s->threads[i].process]++] = i;
	free(next);
	return order;
}

/* A record in the spool has only the part of the union that its kind needs. */
static int give_slice(void *ctx, const void *record, size_t size)
{
	struct read *r = ctx;
	struct slice s = { 0 };

	memcpy(&s, record, size);
	return r->slice(r->ctx, &s);
}

int slices_each(struct slices *s, u32 thread, slice_fn fn, void *ctx)
{
	struct read r = { .slice = fn, .ctx = ctx };

	return spool_read(s->spool, s->threads[thread].stream, false, give_slice, &r);
}

static int give_sample(void *ctx, const void *record, size_t size)
{
	struct read *r = ctx;

	(void)size;
	return r->sample(r->ctx, record);
}

int slices_samples(struct slices *s, u32 counter, sample_fn fn, void *ctx)
{
	struct read r = { .sample = fn, .ctx = ctx };

	return spool_read(s->spool, s->counters[counter].stream, false, give_sample, &r);
}

struct edge {
	bool begin;
	struct slice slice;
};

struct walk {
	struct slices *s;
	struct open {
		struct slice slice;
		size_t size;
	} * open;
	u32 depth, cap;
};

static int put_edge(struct walk *w, const struct slice *slice, size_t size, bool begin)
{
	struct edge e = { .begin = begin };

	memcpy(&e.slice, slice, size);
	return spool_put(w->s->spool, w->s->walk_stream, &e, offsetof(struct edge, slice) + size);
}

/* The innermost open slice begins, at `least` or later. */
static int open_begins(struct walk *w, u64 least)
{
	struct open *o = &w->open[--w->depth];

	if (o->slice.begin < least) {
		o->slice.begin = least;
		w->s->cut++;
	}
	return put_edge(w, &o->slice, o->size, true);
}

static int walk_back(void *ctx, const void *record, size_t size)
{
	struct walk *w = ctx;
	struct slice s = { 0 };
	int rc = 0;

	memcpy(&s, record, size);
	if (s.astray)
		return 0;
	/* What begins later than this one does not hold it. */
	while (!rc && w->depth && w->open[w->depth - 1].slice.begin > s.begin)
		rc = open_begins(w, s.end);
	if (rc)
		return rc;
	if (slice_instant(&s))
		return put_edge(w, &s, size, true);
	if (w->depth == WALK_DEPTH) {
		w->s->cut++;
		return 0;
	}
	if (array_room(w->open, w->cap, w->depth + 1))
		return -ENOMEM;
	w->open[w->depth++] = (struct open){ s, size };
	return put_edge(w, &s, offsetof(struct slice, span), false);
}

static int give_edge(void *ctx, const void *record, size_t size)
{
	struct read *r = ctx;
	struct edge e = { 0 };

	memcpy(&e, record, size);
	return r->edge(r->ctx, &e.slice, e.begin);
}

int slices_walk(struct slices *s, u32 thread, slice_edge_fn fn, void *ctx)
{
	struct read r = { .edge = fn, .ctx = ctx };
	struct walk w = { .s = s };
	int rc = spool_read(s->spool, s->threads[thread].stream, true, walk_back, &w);

	while (!rc && w.depth)
		rc = open_begins(&w, 0);
	free(w.open);
	if (!rc)
		rc = spool_read(s->spool, s->walk_stream, true, give_edge, &r);
	spool_clear(s->spool, s->walk_stream);
	return rc;
}
