/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sampled stacks: a stack table, a frame and a function for each function that
 * was seen, a category and a resource for each group. A look weighs the time
 * that it stands for, so the call tree sums to time, not to counts.
 */
#include "sink/firefox_priv.h"

#include <errno.h>

int firefox_find_groups(struct firefox *f)
{
	const struct samples *s = f->slices.samples;
	u32 i;

	for (i = 0; i < s->frame_count && f->group_count < FIREFOX_GROUPS_MAX; i++) {
		const struct sampled_frame *fr = &s->frames[i];

		if (fr->kind != SAMPLED_CODE || map_get(&f->group_of, fr->group))
			continue;
		if (map_put(&f->group_of, fr->group, f->group_count))
			return -ENOMEM;
		f->groups[f->group_count++] = fr->group;
	}
	return 0;
}

void firefox_group_categories(struct firefox *f)
{
	static const char *const colors[] = {
		"blue",    "orange", "green", "purple",    "yellow",
		"magenta", "brown",  "red",   "lightblue", "lightred"
	};
	u32 i;

	for (i = 0; i < f->group_count; i++)
		firefox_put_category(&f->json, slices_name(&f->slices, f->groups[i]),
				     colors[i % ARRAY_SIZE(colors)]);
}

/* The frame's group, as an index into groups; -1: none of those. */
static s64 frame_group(const struct firefox *f, const struct sampled_frame *fr)
{
	u64 *at = fr->kind == SAMPLED_CODE ? map_get(&f->group_of, fr->group) : NULL;

	return at ? (s64)*at : -1;
}

static u32 frame_category(const struct firefox *f, const struct sampled_frame *fr)
{
	s64 group = frame_group(f, fr);

	if (group >= 0)
		return FIREFOX_CATEGORIES + (u32)group;
	switch ((enum sampled_kind)fr->kind) {
	case SAMPLED_WAITING:
		return firefox_category(FIREFOX_BLOCK, "");
	case SAMPLED_GC:
		return firefox_category(FIREFOX_GC, "");
	case SAMPLED_CODE:
	case SAMPLED_NATIVE:
	case SAMPLED_KINDS:
		break;
	}
	return firefox_category(FIREFOX_SPAN, slices_name(&f->slices, fr->group));
}

/* ----------------------------------------------------- A thread's looks --- */

enum look_column {
	LOOK_STACK,
	LOOK_TIME,
	LOOK_WEIGHT
};

struct look_walk {
	struct json *json;
	enum look_column column;
};

static int put_look(void *ctx, const struct sampled *look)
{
	struct look_walk *w = ctx;

	switch (w->column) {
	case LOOK_STACK:
		json_u64(w->json, look->stack - 1);
		break;
	case LOOK_TIME:
		json_decimal(w->json, look->time, MS_DIGITS);
		break;
	case LOOK_WEIGHT:
		json_decimal(w->json, look->weight_ns, MS_DIGITS);
		break;
	}
	return w->json->out->error;
}

static void put_looks(struct firefox *f, s64 thread, const char *key, enum look_column column)
{
	struct look_walk w = { .json = &f->json, .column = column };

	json_key_array(&f->json, key);
	if (thread >= 0 && !f->rc)
		f->rc = samples_each(&f->slices, (u32)thread, put_look, &w);
	json_end_array(&f->json);
}

void firefox_samples(struct firefox *f, s64 thread)
{
	u64 count = thread >= 0 ? samples_count(&f->slices, (u32)thread) : 0;
	struct json *j = &f->json;

	json_key_object(j, "samples");
	put_looks(f, thread, "stack", LOOK_STACK);
	put_looks(f, thread, "time", LOOK_TIME);
	if (count) {
		put_looks(f, thread, "weight", LOOK_WEIGHT);
	} else {
		json_key(j, "weight");
		json_null(j);
	}
	json_key_string(j, "weightType", count ? "tracing-ms" : "samples");
	json_key_u64(j, "length", count);
	json_end_object(j);
}

/* ------------------------------------------------------------- Tables ----- */

static void put_nulls(struct json *j, const char *key, u32 n)
{
	json_key_array(j, key);
	while (n--)
		json_null(j);
	json_end_array(j);
}

static void put_same(struct json *j, const char *key, s64 value, u32 n)
{
	json_key_array(j, key);
	while (n--)
		json_i64(j, value);
	json_end_array(j);
}

static void put_false(struct json *j, const char *key, u32 n)
{
	json_key_array(j, key);
	while (n--)
		json_bool(j, false);
	json_end_array(j);
}

static void end_table(struct json *j, u32 length)
{
	json_key_u64(j, "length", length);
	json_end_object(j);
}

static void put_stacks(struct firefox *f)
{
	const struct samples *s = f->slices.samples;
	struct json *j = &f->json;
	u32 i;

	json_key_object(j, "stackTable");
	json_key_array(j, "frame");
	for (i = 1; i < s->stack_count; i++)
		json_u64(j, s->stacks[i].frame);
	json_end_array(j);
	json_key_array(j, "prefix");
	for (i = 1; i < s->stack_count; i++) {
		if (s->stacks[i].caller)
			json_u64(j, s->stacks[i].caller - 1);
		else
			json_null(j);
	}
	json_end_array(j);
	end_table(j, s->stack_count - 1);
}

static void put_frames(struct firefox *f)
{
	const struct samples *s = f->slices.samples;
	u32 i, n = s->frame_count;
	struct json *j = &f->json;

	json_key_object(j, "frameTable");
	put_same(j, "address", -1, n);
	put_same(j, "inlineDepth", 0, n);
	json_key_array(j, "category");
	for (i = 0; i < n; i++)
		json_u64(j, frame_category(f, &s->frames[i]));
	json_end_array(j);
	put_same(j, "subcategory", 0, n);
	json_key_array(j, "func");
	for (i = 0; i < n; i++)
		json_u64(j, i);
	json_end_array(j);
	put_nulls(j, "nativeSymbol", n);
	put_nulls(j, "innerWindowID", n);
	put_nulls(j, "line", n);
	put_nulls(j, "column", n);
	end_table(j, n);
}

/* Where a function is from is its group: the call tree shows it beside. */
static void put_functions(struct firefox *f)
{
	const struct samples *s = f->slices.samples;
	u32 i, n = s->frame_count;
	struct json *j = &f->json;

	json_key_object(j, "funcTable");
	json_key_array(j, "name");
	for (i = 0; i < n; i++)
		json_u64(j, s->frames[i].name);
	json_end_array(j);
	put_false(j, "isJS", n);
	put_false(j, "relevantForJS", n);
	json_key_array(j, "resource");
	for (i = 0; i < n; i++)
		json_i64(j, frame_group(f, &s->frames[i]));
	json_end_array(j);
	put_nulls(j, "source", n);
	put_nulls(j, "lineNumber", n);
	put_nulls(j, "columnNumber", n);
	end_table(j, n);
}

static void put_resources(struct firefox *f)
{
	struct json *j = &f->json;
	u32 i;

	json_key_object(j, "resourceTable");
	json_key_array(j, "name");
	for (i = 0; i < f->group_count; i++)
		json_u64(j, f->groups[i]);
	json_end_array(j);
	put_same(j, "type", 1 /* a library */, f->group_count);
	put_nulls(j, "lib", f->group_count);
	put_nulls(j, "host", f->group_count);
	end_table(j, f->group_count);
}

/* An empty table of these columns. */
static void put_table(struct json *j, const char *name, const char *const *columns)
{
	json_key_object(j, name);
	for (; *columns; columns++)
		key_empty(j, *columns);
	end_table(j, 0);
}

void firefox_shared(struct firefox *f)
{
	static const char *const symbol[] = { "libIndex", "address", "name", "functionSize", NULL };
	static const char *const source[] = { "id",          "filename",     "startLine",
					      "startColumn", "sourceMapURL", NULL };
	struct json *j = &f->json;
	u32 i;

	json_key_object(j, "shared");
	put_stacks(f);
	put_frames(f);
	put_functions(f);
	put_resources(f);
	put_table(j, "nativeSymbols", symbol);
	put_table(j, "sources", source);
	json_key_array(j, "stringArray");
	for (i = 0; i < intern_count(f->slices.names); i++)
		json_string(j, slices_name(&f->slices, i));
	json_end_array(j);
	json_end_object(j);
}
