/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replay equals live: a stream that goes to a model and, at the same time, into
 * a recording gives a second model, fed from the recording, the same figures to
 * the last one. In any size of batches, with losses, in default and exact mode.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "each_nth.h"
#include "random_tree.h"
#include "seen_event.h"
#include "base/out.h"
#include "rec/rec.h"
#include "sink/sink.h"
#include "source/replay.h"
#include "temp.h"

#define TREE_RECORDS 2048 /* more than any stream here has */

/* The model and the recorder get the same items. */
struct both {
	struct model *model;
	struct rec_writer *w;
};

static int put(struct both *b, const struct item *it)
{
	assert_int_equal(rec_item(b->w, it), 0);
	return model_item(b->model, it);
}

static void put_start(struct both *b)
{
	struct item it = { .type = ITEM_CLOCK, .clock = { 1, 1, 1 } };

	put(b, &it);
	it = (struct item){ .type = ITEM_PROCESS,
			    .process = { PROCESS_SEEN, SIM_PID, 1, 1, "test", "sdk" } };
	put(b, &it);
}

static void put_define(struct both *b, u8 type, u32 id, u8 kind, const char *name,
		       const u32 *groups, u32 count)
{
	u64 space[40] = { 0 };
	struct vmspan_def *d = (void *)space;
	struct item it = { .type = ITEM_DEFS };

	d->h = (struct vmspan_head){ type, 1, 0, id };
	d->kind = kind;
	d->count = (u8)count;
	d->name_len = (u8)strlen(name);
	if (count)
		memcpy(d->groups, groups, count * sizeof(u32));
	memcpy(d->groups + count, name, d->name_len);
	it.defs = (struct item_defs){ SIM_PID, SIM_REGISTRY, d, VMSPAN_SLOT };
	put(b, &it);
}

static void put_defs(struct both *b)
{
	u32 g;

	for (g = 1; g <= 9; g++) {
		char name[2] = { (char)('a' + g - 1), 0 };
		u32 groups[2] = { g == 9 ? 1 : g, 2 };

		if (g < 9)
			put_define(b, VMSPAN_DEF_GROUP, g, VMSPAN_ADDON, name, NULL, 0);
		put_define(b, VMSPAN_DEF_COMPARTMENT, g, 0, name, groups, g == 9 ? 2 : 1);
	}
}

static void put_batch(struct both *b, const struct sim *s, u64 registry, u32 from, u32 to)
{
	u32 begin = s->at[from], end = to < s->records ? s->at[to] : s->slots;
	struct item it = { .type = ITEM_BATCH };

	it.batch = (struct item_batch){ .pid = SIM_PID,
					.tid = 1,
					.registry = registry,
					.thread = 1,
					.seq = from,
					.records = to - from,
					.bytes = (end - begin) * VMSPAN_SLOT,
					.data = s->data[begin] };
	put(b, &it);
}

/* All figures of a model, as the report prints them. */
static char *figures(struct model *m)
{
	const struct report_source src = {
		.kind = "live", .method = "exact", .nested = "drop", .migrated = "discard"
	};
	struct snapshot *snap = snapshot_take(m);
	const struct view view = { 0 };
	struct json j;
	struct out o;
	char *text;

	assert_non_null(snap);
	out_open_memory(&o);
	json_open(&j, &o);
	report_json(&j, snap, &src, &view);
	out_write(&o, "", 1);
	assert_int_equal(o.error, 0);
	text = strdup((char *)o.buf.data);
	out_close(&o);
	snapshot_free(snap);
	return text;
}

static struct model *replayed(const char *path, const struct model_config *config)
{
	struct err err = { 0 };
	struct source *source = replay_open(path, &err);
	struct model *m = model_new(config);
	int rc;

	assert_non_null(source);
	while ((rc = source_poll(source, -1, -1, model_item, m, &err)) > 0)
		;
	assert_int_equal(rc, 0);
	assert_null(replay_note(source));
	assert_int_equal(model_finish(m), 0);
	source_free(source);
	return m;
}

static void once(unsigned int seed, bool exact, bool lossy)
{
	struct model_config config = { .nested = seed % 2 ? NESTED_DROP : NESTED_SUSPEND,
				       .exact = exact };
	struct source_info info = { .clock = CLOCK_TSC, .cycles_hz = 1000000000, .exact = exact };
	char path[TEMP_PATH];
	int file = temp_file(path);
	struct sim *s = sim_of(1, TREE_RECORDS), *sched = exact ? sim_of(1, TREE_RECORDS) : NULL;
	struct tree *t = random_tree(s, sched, seed);
	u32 step = 1 + seed % 60, i;
	struct err err = { 0 };
	struct model *again;
	char *live, *replay;
	struct both b;

	assert_true(file >= 0);
	b.model = model_new(&config);
	b.w = rec_create(path, &info, &(struct rec_options){ 0 }, &err);
	assert_non_null(b.w);
	put_start(&b);
	put_defs(&b);
	if (exact)
		put_batch(&b, sched, ITEM_SCHED_REGISTRY, 0, sched->records);
	for (i = 0; i < s->records; i += step)
		if (!lossy || random() % 4)
			put_batch(&b, s, SIM_REGISTRY, i, (u32)min_u64(i + step, s->records));
	assert_int_equal(model_finish(b.model), 0);
	assert_int_equal(rec_close(b.w, &err), 0);
	again = replayed(path, &config);
	close(file);
	live = figures(b.model);
	replay = figures(again);
	if (strcmp(live, replay))
		fail_msg("seed %u:\nlive   %s\nreplay %s", seed, live, replay);
	free(live);
	free(replay);
	model_free(b.model);
	model_free(again);
	free(t);
	free(sched);
	free(s);
}

static void replay_equals_live(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 60; seed += EACH_NTH(3))
		once(seed, false, false);
}

static void replay_equals_live_with_losses(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 60; seed += EACH_NTH(3))
		once(seed, false, true);
}

static void replay_equals_live_in_exact_mode(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 60; seed += EACH_NTH(3))
		once(seed, true, seed % 2);
}

static int see_event(void *ctx, const struct model_event *e)
{
	assert_int_equal(ledger_sum(&e->ledger), e->ledger.event_wall_ns);
	seen_add(ctx, e);
	return 0;
}

static const struct model_observer see_ops = { .event = see_event };

/* Both streams, what the scheduler did to spans before them, in many chunks. */
static void put_chunks(struct both *b, const struct sim *s, const struct sim *sched)
{
	u32 i, to, done = 0, upto;
	struct err err = { 0 };

	for (i = 0; i < s->records; i = to) {
		const struct vmspan_span *last;

		to = (u32)min_u64(i + 1 + (u32)random() % 6, s->records);
		last = (void *)s->data[s->at[to - 1]];
		for (upto = done; upto < sched->records; upto++)
			if (((struct vmspan_span *)sched->data[upto])->begin >= last->end)
				break;
		if (upto > done)
			put_batch(b, sched, ITEM_SCHED_REGISTRY, done, upto);
		done = upto;
		if (random() % 3 == 0)
			assert_int_equal(rec_sync(b->w, &err), 0);
		put_batch(b, s, SIM_REGISTRY, i, to);
		if (random() % 3 == 0)
			assert_int_equal(rec_sync(b->w, &err), 0);
	}
}

/* What the events of a file come to that may be cut or damaged. */
static void see(const char *path, const struct model_config *config, struct seen_events *seen)
{
	struct model *m = model_new(config);
	struct err err = { 0 };
	struct source *source = replay_open(path, &err);

	memset(seen, 0, sizeof(*seen));
	seen->pid = SIM_PID;
	model_observe(m, &see_ops, seen);
	while (source && source_poll(source, -1, -1, model_item, m, &err) > 0)
		;
	assert_int_equal(model_finish(m), 0);
	source_free(source);
	model_free(m);
}

/* Bytes of a file from `at` on: cut off, or `n` of them inverted. */
static void spoil(const char *path, const char *copy, size_t at, size_t n)
{
	FILE *from = fopen(path, "r"), *to = fopen(copy, "w");
	size_t i;
	int c;

	assert_true(from && to);
	for (i = 0; (c = fgetc(from)) != EOF && (n || i < at); i++)
		fputc(i >= at && i < at + n ? ~c & 0xff : c, to);
	fclose(from);
	assert_int_equal(fclose(to), 0);
}

static size_t somewhere(const struct stat *from, const struct stat *to)
{
	return (size_t)(from->st_size + random() % (to->st_size - from->st_size));
}

static void a_spoiled_recording_is_incomplete_not_wrong(void **state)
{
	static struct seen_events whole, part;
	char path[TEMP_PATH], copy[TEMP_PATH];
	int file = temp_file(path), copied = temp_file(copy);
	struct seen_sums cut = { 0 }, damaged = { 0 };
	unsigned int seed;
	u32 n;

	(void)state;
	assert_true(file >= 0 && copied >= 0);
	for (seed = 1; seed <= 40; seed += EACH_NTH(3)) {
		struct model_config config = { .nested = seed % 2 ? NESTED_DROP : NESTED_SUSPEND,
					       .exact = true };
		struct source_info info = { .clock = CLOCK_TSC,
					    .cycles_hz = 1000000000,
					    .exact = true };
		struct sim *s = sim_of(1, TREE_RECORDS), *sched = sim_of(1, TREE_RECORDS);
		struct tree *t = random_tree(s, sched, seed);
		struct err err = { 0 };
		struct both b = { .model = model_new(&config) };
		struct stat defs, st;

		b.w = rec_create(path, &info, &(struct rec_options){ 0 }, &err);
		assert_non_null(b.w);
		put_start(&b);
		put_defs(&b);
		/* Without its names an event has the same times, in no group. */
		assert_int_equal(rec_sync(b.w, &err), 0);
		assert_int_equal(stat(path, &defs), 0);
		put_chunks(&b, s, sched);
		assert_int_equal(rec_close(b.w, &err), 0);
		see(path, &config, &whole);
		assert_int_equal(stat(path, &st), 0);
		for (n = 0; n < 20; n++) {
			spoil(path, copy, somewhere(&defs, &st), 0);
			see(copy, &config, &part);
			seen_compare(&part, &whole, &cut);
			spoil(path, copy, somewhere(&defs, &st), 1 + random() % 300);
			see(copy, &config, &part);
			seen_compare(&part, &whole, &damaged);
			SAME("wrong", cut.wrong || damaged.wrong, false);
		}
		model_free(b.model);
		free(t);
		free(sched);
		free(s);
	}
	close(file);
	close(copied);
	assert_true(cut.complete > 1000 && damaged.complete > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replay_equals_live),
		cmocka_unit_test(replay_equals_live_with_losses),
		cmocka_unit_test(replay_equals_live_in_exact_mode),
		cmocka_unit_test(a_spoiled_recording_is_incomplete_not_wrong),
	};

	return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
