/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/speedscope.h"
#include "base/array.h"
#include "sink/samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Frames are the names of slices. What differs in kind or group is a frame of
 * its own even if the name is the same, so that totals stay apart.
 */
struct frame {
	u32 name, group;
	u8 kind;
};

struct speedscope {
	struct slices slices;
	struct json json;
	struct frame *frames;
	u32 frame_count, frame_cap;
	struct map frame_of; /* group << 32 | name, kinds in the upper bits */
	u32 stack[4096]; /* frames open, of the thread under way */
	u32 depth;
	u64 cursor; /* of the samples under way: where the last one ended */
	u32 profiles; /* so far */
};

static int find_frame(struct speedscope *x, struct frame f, u32 *index)
{
	/* 2^30 names do not fit in memory. */
	u64 key = (u64)f.kind << 60 | (u64)(f.kind == SLICE_SPAN ? f.group : 0) << 30 | f.name;
	u64 *known = map_get(&x->frame_of, key);

	if (known) {
		*index = (u32)*known;
		return 0;
	}
	if (array_room(x->frames, x->frame_cap, x->frame_count + 1))
		return -ENOMEM;
	if (map_put(&x->frame_of, key, x->frame_count))
		return -ENOMEM;
	*index = x->frame_count;
	x->frames[x->frame_count++] = f;
	return 0;
}

static int walk_edge(void *ctx, const struct slice *s, bool begin)
{
	struct speedscope *x = ctx;
	struct json *j = &x->json;
	u32 frame;
	int rc;

	if (slice_instant(s))
		return 0;
	if (begin) {
		rc = find_frame(x, (struct frame){ s->name, s->group, s->kind }, &frame);
		if (rc)
			return rc;
		x->stack[x->depth++] = frame;
	} else {
		frame = x->stack[--x->depth];
	}
	json_object(j);
	json_key_string(j, "type", begin ? "O" : "C");
	json_key_u64(j, "frame", frame);
	json_key_u64(j, "at", begin ? s->begin : s->end);
	json_end_object(j);
	return j->out->error;
}

/* Opens a profile of a thread; `of`: what it shows. */
static void begin_profile(struct speedscope *x, u32 thread, const char *type, const char *of)
{
	const struct slice_thread *t = &x->slices.threads[thread];
	const char *name = slices_name(&x->slices, t->name);
	const char *process = slices_name(&x->slices, x->slices.processes[t->process].name);
	struct json *j = &x->json;
	char text[700];

	snprintf(text, sizeof(text), "%s (%u) / %s (%u)%s", process[0] ? process : "process",
		 t->pid, name[0] ? name : "thread", t->tid, of);
	out_write(j->out, "\n", 1);
	json_object(j);
	json_key_string(j, "type", type);
	json_key_string(j, "name", text);
	json_key_string(j, "unit", "nanoseconds");
	x->profiles++;
}

static int put_events(struct speedscope *x, u32 thread)
{
	struct json *j = &x->json;
	int rc;

	if (!spool_count(x->slices.spool, x->slices.threads[thread].stream))
		return 0;
	begin_profile(x, thread, "evented", samples_count(&x->slices, thread) ? ": events" : "");
	json_key_u64(j, "startValue", 0);
	json_key_u64(j, "endValue", x->slices.end);
	json_key_array(j, "events");
	x->depth = 0;
	rc = slices_walk(&x->slices, thread, walk_edge, x);
	json_end_array(j);
	json_end_object(j);
	return rc;
}

/*
 * A look stands for what came before it. Where the thread was not looked at,
 * an empty stack keeps the rest in its place; weights are never cut.
 */
static u64 gap_before(struct speedscope *x, const struct sampled *look)
{
	u64 begin = look->time - min_u64(look->time, look->weight_ns);
	u64 gap = begin > x->cursor ? begin - x->cursor : 0;

	x->cursor += gap + look->weight_ns;
	return gap;
}

static int put_stack(void *ctx, const struct sampled *look)
{
	struct speedscope *x = ctx;
	const struct samples *s = x->slices.samples;
	u32 path[SAMPLED_DEPTH], n = samples_path(s, look->stack, path), i, frame;
	struct json *j = &x->json;
	int rc = 0;

	if (gap_before(x, look)) {
		json_array(j);
		json_end_array(j);
	}
	json_array(j);
	for (i = 0; i < n && !rc; i++) {
		const struct sampled_frame *f = &s->frames[path[i]];

		rc = find_frame(x, (struct frame){ f->name, f->group, SLICE_SPAN }, &frame);
		json_u64(j, frame);
	}
	json_end_array(j);
	return rc ? rc : j->out->error;
}

static int put_weight(void *ctx, const struct sampled *look)
{
	struct speedscope *x = ctx;
	u64 gap = gap_before(x, look);

	if (gap)
		json_u64(&x->json, gap);
	json_u64(&x->json, look->weight_ns);
	return x->json.out->error;
}

static int put_stacks(struct speedscope *x, u32 thread)
{
	struct json *j = &x->json;
	int rc;

	if (!samples_count(&x->slices, thread))
		return 0;
	begin_profile(x, thread, "sampled", "");
	json_key_array(j, "samples");
	x->cursor = 0;
	rc = samples_each(&x->slices, thread, put_stack, x);
	json_end_array(j);
	json_key_array(j, "weights");
	x->cursor = 0;
	if (!rc)
		rc = samples_each(&x->slices, thread, put_weight, x);
	json_end_array(j);
	json_key_u64(j, "startValue", 0);
	json_key_u64(j, "endValue", x->cursor);
	json_end_object(j);
	return rc;
}

/* speedscope refuses a file without profiles. */
static void put_nothing(struct json *j)
{
	json_object(j);
	json_key_string(j, "type", "evented");
	json_key_string(j, "name", "nothing recorded");
	json_key_string(j, "unit", "nanoseconds");
	json_key_u64(j, "startValue", 0);
	json_key_u64(j, "endValue", 0);
	json_key_array(j, "events");
	json_end_array(j);
	json_end_object(j);
}

static void put_frame(struct speedscope *x, const struct frame *f)
{
	static const char *const words[SLICE_KINDS] = {
		[SLICE_SPAN] = "(unnamed)",
		[SLICE_GC] = "collection",
		[SLICE_BLOCK] = "blocking call",
		[SLICE_EVENT] = "event",
	};
	static const char *const kinds[SLICE_KINDS] = {
		[SLICE_GC] = "(gc)",
		[SLICE_BLOCK] = "(blocked)",
		[SLICE_EVENT] = "(event)",
	};
	const char *name = slices_name(&x->slices, f->name);
	const char *group = slices_name(&x->slices, f->group);
	struct json *j = &x->json;

	json_object(j);
	json_key_string(j, "name", name[0] ? name : words[f->kind]);
	/* speedscope colours by file: one colour a group. */
	if (f->kind != SLICE_SPAN || group[0])
		json_key_string(j, "file", f->kind == SLICE_SPAN ? group : kinds[f->kind]);
	json_end_object(j);
}

static void speedscope_free(void *ctx)
{
	struct speedscope *x = ctx;

	if (!x)
		return;
	slices_release(&x->slices);
	free(x->frames);
	map_free(&x->frame_of);
	free(x);
}

static void *speedscope_begin(struct out *out, const struct export_config *config, struct model *m)
{
	struct speedscope *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	json_open(&x->json, out);
	if (slices_init(&x->slices, config) || samples_want(&x->slices)) {
		speedscope_free(x);
		return NULL;
	}
	model_observe(m, &slices_observer, &x->slices);
	return x;
}

static int speedscope_end(void *ctx, const struct snapshot *s, const struct report_source *src)
{
	struct speedscope *x = ctx;
	struct json *j = &x->json;
	u32 i, *order = slices_order(&x->slices);
	const char *slash = src->file ? strrchr(src->file, '/') : NULL;
	int rc = 0;

	(void)s;
	if (!order)
		return -ENOMEM;
	json_object(j);
	json_key_string(j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_key_string(j, "exporter", "vmspan " VMSPAN_VERSION);
	json_key_string(j, "name", slash ? slash + 1 : src->file ? src->file : "vmspan");
	json_key_u64(j, "activeProfileIndex", 0);
	json_key_array(j, "profiles");
	for (i = 0; !rc && i < x->slices.thread_count; i++) {
		rc = put_stacks(x, order[i]);
		if (!rc)
			rc = put_events(x, order[i]);
	}
	if (!x->profiles)
		put_nothing(j);
	json_end_array(j);
	/* Frames are known only now; readers do not mind the order. */
	json_key_object(j, "shared");
	json_key_array(j, "frames");
	for (i = 0; i < x->frame_count; i++)
		put_frame(x, &x->frames[i]);
	json_end_array(j);
	json_end_object(j);
	json_end_object(j);
	json_line(j);
	free(order);
	return rc;
}

const struct exporter speedscope_exporter = {
	.name = "speedscope",
	.suffix = ".speedscope.json",
	.about = "speedscope, for www.speedscope.app: a flame chart a thread",
	.begin = speedscope_begin,
	.end = speedscope_end,
	.free = speedscope_free,
	.limit_bytes = 512ull << 20,
	.limit_why = "speedscope parses it as one string, of at most 512 MB in Chromium",
};
