/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sampled stacks as samples of a profiler: a function and a place for each that
 * was seen, a mapping for each group. Its viewers count looks and do not weigh
 * them, so only those that found the thread running are written: they stand for
 * like times. How long threads waited, the events say.
 */
#include "sink/perfetto_priv.h"

#define PACKET_ENTRIES 256 /* in one packet */

/* Numbers are from 1 on: 0 is none. */
static void put_function(struct perfetto *p, u32 frame)
{
	const struct samples *s = p->slices.samples;
	struct buf *b = &p->packet;
	size_t in = proto_begin(b, INTERNED_FUNCTIONS);

	proto_u64(b, ENTRY_IID, (u64)frame + 1);
	perfetto_text(b, ENTRY_TEXT, slices_name(&p->slices, s->frames[frame].name));
	proto_end(b, in);
}

/* The group of the frame: its path, and a mapping of that path. */
static void put_mapping(struct perfetto *p, u32 frame)
{
	const struct sampled_frame *f = &p->slices.samples->frames[frame];
	const char *group = slices_name(&p->slices, f->group);
	struct buf *b = &p->packet;
	size_t in = proto_begin(b, INTERNED_PATHS);

	proto_u64(b, ENTRY_IID, (u64)f->group + 1);
	perfetto_text(b, ENTRY_TEXT, group[0] ? group : "vmspan");
	proto_end(b, in);
	in = proto_begin(b, INTERNED_MAPPINGS);
	proto_u64(b, ENTRY_IID, (u64)f->group + 1);
	proto_u64(b, MAPPING_PATH, (u64)f->group + 1);
	proto_end(b, in);
}

static void put_frame(struct perfetto *p, u32 frame)
{
	const struct sampled_frame *f = &p->slices.samples->frames[frame];
	struct buf *b = &p->packet;
	size_t in;

	put_function(p, frame);
	put_mapping(p, frame);
	in = proto_begin(b, INTERNED_FRAMES);
	proto_u64(b, ENTRY_IID, (u64)frame + 1);
	proto_u64(b, FRAME_FUNCTION, (u64)frame + 1);
	proto_u64(b, FRAME_MAPPING, (u64)f->group + 1);
	/* Frames of one place are one frame: each function has its own. */
	proto_u64(b, FRAME_PLACE, (u64)frame + 1);
	proto_end(b, in);
}

static void put_stack(struct perfetto *p, u32 stack)
{
	const struct samples *s = p->slices.samples;
	u32 path[SAMPLED_DEPTH], n = samples_path(s, stack, path), i;
	struct buf *b = &p->packet;
	size_t in = proto_begin(b, INTERNED_STACKS);

	proto_u64(b, ENTRY_IID, stack);
	for (i = 0; i < n; i++)
		proto_u64(b, STACK_FRAMES, (u64)path[i] + 1);
	proto_end(b, in);
}

static int put_entries(struct perfetto *p, u32 first, u32 count,
		       void (*put)(struct perfetto *p, u32 index))
{
	struct buf *b = &p->packet;
	u32 i = first;
	int rc = 0;

	while (!rc && i < count) {
		size_t at = perfetto_packet(p), in;
		u32 until = (u32)min_u64(count, (u64)i + PACKET_ENTRIES);

		proto_u64(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS);
		in = proto_begin(b, PACKET_INTERNED);
		for (; i < until; i++)
			put(p, i);
		proto_end(b, in);
		rc = perfetto_packet_end(p, at);
	}
	return rc;
}

static int put_look(void *ctx, const struct sampled *look)
{
	struct perfetto *p = ctx;
	const struct samples *s = p->slices.samples;
	const struct slice_thread *t = &p->slices.threads[p->thread];
	struct buf *b = &p->packet;
	size_t at, in;

	if (s->frames[s->stacks[look->stack].frame].kind == SAMPLED_WAITING)
		return 0;
	at = perfetto_packet(p);
	proto_u64(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS);
	proto_u64(b, PACKET_TIMESTAMP, p->config.start_ns + look->time);
	in = proto_begin(b, PACKET_PERF_SAMPLE);
	proto_u64(b, SAMPLE_PID, t->pid);
	proto_u64(b, SAMPLE_TID, t->tid);
	proto_u64(b, SAMPLE_STACK, look->stack);
	proto_end(b, in);
	return perfetto_packet_end(p, at);
}

int perfetto_samples(struct perfetto *p)
{
	const struct samples *s = p->slices.samples;
	int rc = put_entries(p, 0, s->frame_count, put_frame);
	u32 i;

	if (!rc)
		rc = put_entries(p, 1, s->stack_count, put_stack);
	for (i = 0; !rc && i < p->slices.thread_count; i++) {
		p->thread = i;
		rc = samples_each(&p->slices, i, put_look, p);
	}
	return rc;
}
