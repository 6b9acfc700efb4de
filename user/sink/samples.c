/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/samples.h"
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The looks at one thread. */
struct samples_stream {
	u32 stream; /* of the spool */
	u64 last; /* time of the newest */
};

enum sampled_kind samples_kind(const struct model_sample *m)
{
	if (m->off)
		return SAMPLED_WAITING;
	if (m->gc)
		return SAMPLED_GC;
	return m->count ? SAMPLED_CODE : SAMPLED_NATIVE;
}

const char *sampled_word(enum sampled_kind kind)
{
	static const char *const words[SAMPLED_KINDS] = {
		[SAMPLED_NATIVE] = "(native)",
		[SAMPLED_WAITING] = "(waiting)",
		[SAMPLED_GC] = "(gc)",
	};

	return words[kind];
}

void samples_free(struct samples *s)
{
	if (!s)
		return;
	map_free(&s->frame_of);
	map_free(&s->stack_of);
	map_free(&s->stream_of);
	free(s->frames);
	free(s->stacks);
	free(s->streams);
	free(s);
}

int samples_want(struct slices *s)
{
	struct samples *n = calloc(1, sizeof(*n));

	if (n)
		n->stacks = calloc(1, sizeof(*n->stacks));
	if (!n || !n->stacks) {
		free(n);
		return -ENOMEM;
	}
	n->stack_count = n->stack_cap = 1;
	s->samples = n;
	return 0;
}

static int find_frame(struct slices *s, const char *name, const char *group, u8 kind, u32 *index)
{
	struct samples *n = s->samples;
	struct sampled_frame f = { .kind = kind };
	int rc = slices_put_name(s, name, &f.name);
	u64 key, *known;

	if (!rc)
		rc = slices_put_name(s, group, &f.group);
	if (rc)
		return rc;
	/* 2^30 names do not fit in memory. */
	key = (u64)kind << 62 | (u64)f.group << 32 | f.name;
	known = map_get(&n->frame_of, key);
	*index = known ? (u32)*known : n->frame_count;
	if (known)
		return 0;
	rc = array_room(n->frames, n->frame_cap, n->frame_count + 1);
	if (!rc)
		rc = map_put(&n->frame_of, key, n->frame_count);
	if (!rc)
		n->frames[n->frame_count++] = f;
	return rc;
}

/* The stack of a frame within `*stack`, which becomes it. */
static int push(struct samples *n, u32 *stack, u32 frame)
{
	u64 key = (u64)*stack << 32 | frame, *known = map_get(&n->stack_of, key);
	int rc;

	if (known) {
		*stack = (u32)*known;
		return 0;
	}
	/* The outermost frames are few: some stack there is in any case. */
	if (n->stack_count >= SAMPLES_STACKS_MAX && *stack)
		return 0;
	rc = array_room(n->stacks, n->stack_cap, n->stack_count + 1);
	if (!rc)
		rc = map_put(&n->stack_of, key, n->stack_count);
	if (rc)
		return rc;
	n->stacks[n->stack_count] = (struct sampled_stack){ *stack, frame };
	*stack = n->stack_count++;
	return 0;
}

static int find_stack(struct slices *s, const struct model_sample *m, u32 *stack)
{
	enum sampled_kind kind = samples_kind(m);
	u32 i = m->count, frame;
	int rc = 0;

	*stack = 0;
	while (!rc && i-- > 0) {
		rc = find_frame(s, m->frames[i], m->groups[i], SAMPLED_CODE, &frame);
		if (!rc)
			rc = push(s->samples, stack, frame);
	}
	if (rc || kind == SAMPLED_CODE)
		return rc;
	rc = find_frame(s, sampled_word(kind), "", (u8)kind, &frame);
	return rc ? rc : push(s->samples, stack, frame);
}

static int find_stream(struct slices *s, u32 thread, struct samples_stream **to)
{
	struct samples *n = s->samples;
	u64 *known = map_get(&n->stream_of, thread);
	s64 stream;
	int rc;

	if (known) {
		*to = &n->streams[*known];
		return 0;
	}
	rc = array_room(n->streams, n->stream_cap, n->stream_count + 1);
	if (!rc)
		rc = map_put(&n->stream_of, thread, n->stream_count);
	stream = rc ? rc : spool_stream(s->spool);
	if (stream < 0)
		return (int)stream;
	*to = &n->streams[n->stream_count++];
	**to = (struct samples_stream){ .stream = (u32)stream };
	return 0;
}

int samples_take(struct slices *s, const struct model_sample *m)
{
	struct sampled look = {
		.weight_ns = m->weight_ns,
		.iteration = m->iteration,
		.cut = m->cut,
	};
	struct samples_stream *to = NULL;
	u32 thread;
	int rc = s->samples ? slices_thread(s, m->thread, &thread) : 1;

	if (rc)
		return rc < 0 ? rc : 0;
	rc = find_stack(s, m, &look.stack);
	if (!rc)
		rc = find_stream(s, thread, &to);
	if (rc)
		return rc;
	look.time = to->last = max_u64(to->last, slices_time(s, m->time_ns));
	s->end = max_u64(s->end, look.time);
	return spool_put(s->spool, to->stream, &look, sizeof(look));
}

static const struct samples_stream *stream_of(const struct slices *s, u32 thread)
{
	u64 *known = s->samples ? map_get(&s->samples->stream_of, thread) : NULL;

	return known ? &s->samples->streams[*known] : NULL;
}

u64 samples_count(const struct slices *s, u32 thread)
{
	const struct samples_stream *st = stream_of(s, thread);

	return st ? spool_count(s->spool, st->stream) : 0;
}

struct read {
	sampled_fn fn;
	void *ctx;
};

static int give(void *ctx, const void *record, size_t size)
{
	const struct read *r = ctx;

	(void)size;
	return r->fn(r->ctx, record);
}

int samples_each(struct slices *s, u32 thread, sampled_fn fn, void *ctx)
{
	const struct samples_stream *st = stream_of(s, thread);
	struct read r = { fn, ctx };

	return st ? spool_read(s->spool, st->stream, false, give, &r) : 0;
}

u32 samples_path(const struct samples *s, u32 stack, u32 *to)
{
	u32 n = 0, at, i;

	for (at = stack; at && n < SAMPLED_DEPTH; at = s->stacks[at].caller)
		n++;
	for (at = stack, i = n; i-- > 0; at = s->stacks[at].caller)
		to[i] = s->stacks[at].frame;
	return n;
}
