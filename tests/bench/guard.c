/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fixed pieces of work for callgrind to count the instructions of. Only
 * guard_work() is to be counted (--toggle-collect=guard_work).
 *
 *   guard list          the pieces' names
 *   guard build         compiler and options that the counts hold for
 *   guard NAME          does that piece once
 */
#include "model/model.h"
#include "model/snapshot.h"
#include "rec/codec.h"
#include "rec/rec.h"
#include "sink/export.h"
#include "source/marks.h"
#include "tests/unit/rec_gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MARK_EVENTS = 1000,
	MARK_PAIRS = 10, /* an event */
	MARK_PART = 1024, /* marks that a ring holds */
	EVENTS = 1000,
	LOOP_EVENTS = 50,
	LOOP_SPANS = 1000,
	LOOP_STEP = 26, /* cycles that the counter moves on by */
	LOOP_AHEAD = 12, /* of so many readings one comes in the step of the one before */
	STREAM_MAX = 4096
};

/* The stream that all but the mark work on. */
static struct {
	struct item item[STREAM_MAX];
	u32 count;
	u64 spans;
	struct buf coded;
} stream;

static void fail(const char *what)
{
	fprintf(stderr, "guard: %s failed\n", what);
	exit(1);
}

static struct item *add(enum item_type type)
{
	struct item *it = &stream.item[stream.count++];

	if (stream.count > STREAM_MAX)
		fail("the stream's size");
	it->type = type;
	return it;
}

static int add_batch(void *ctx, struct gen *g)
{
	struct item *it = add(ITEM_BATCH);
	void *copy = malloc((size_t)g->slots * VMSPAN_SLOT);

	(void)ctx;
	if (!copy)
		fail("malloc");
	memcpy(copy, g->data, (size_t)g->slots * VMSPAN_SLOT);
	it->batch = (struct item_batch){ .pid = 100,
					 .tid = 101,
					 .registry = 0x4000,
					 .thread = 1,
					 .seq = g->seq,
					 .records = g->records,
					 .bytes = g->slots * VMSPAN_SLOT,
					 .data = copy };
	return 0;
}

static void add_definition(u8 type, u32 id, const char *name, u32 group)
{
	struct vmspan_def *d = calloc(1, 64);
	struct item *it = add(ITEM_DEFS);

	if (!d)
		fail("malloc");
	d->h.type = type;
	d->h.slots = 2;
	d->h.id = id;
	d->kind = type == VMSPAN_DEF_GROUP ? VMSPAN_ADDON : 0;
	d->count = group != 0;
	d->name_len = (u8)strlen(name);
	d->groups[0] = group;
	memcpy(d->groups + d->count, name, d->name_len);
	it->defs = (struct item_defs){ 100, 0x4000, d, 64 };
}

static struct gen g = { .seed = 11, .sigma = 0.3, .now = 1000000000, .batch = add_batch };

static void add_head(void)
{
	char name[24];
	u32 i;

	add(ITEM_CLOCK)->clock = (struct item_clock){ g.now, gen_mono(g.now), 1790000000000000000 };
	add(ITEM_PROCESS)->process =
		(struct item_process){ PROCESS_SEEN, 100, 1, gen_mono(g.now), "guard", "sdk" };
	for (i = 1; i <= GEN_COMPARTMENTS; i++) {
		snprintf(name, sizeof(name), "thing-%u", i);
		add_definition(VMSPAN_DEF_GROUP, i, name, 0);
		add_definition(VMSPAN_DEF_COMPARTMENT, i, name, i);
	}
}

static void make_stream(void)
{
	u32 i;

	add_head();
	for (i = 0; i < EVENTS; i++) {
		gen_event(&g);
		if (i % 100 == 99)
			add(ITEM_CLOCK)->clock =
				(struct item_clock){ g.now, gen_mono(g.now),
						     1790000000000000000 + gen_mono(g.now) };
	}
	stream.spans = g.spans;
}

/* A reading some steps behind the latest; two in one step are told apart by a cycle. */
static u64 loop_reading(u64 steps)
{
	static u32 readings;

	g.now += steps * LOOP_STEP;
	return g.now + (++readings % LOOP_AHEAD == 0);
}

/* What `make bench` runs: two compartments in turn, a thousand spans an event. */
static void make_loop(void)
{
	struct vmspan_span *span;
	u32 i, k;

	add_head();
	for (i = 0; i < LOOP_EVENTS; i++) {
		u64 begin = g.now;
		struct vmspan_event *e;

		g.iteration++;
		for (k = 0; k < LOOP_SPANS; k++) {
			span = gen_append(&g, VMSPAN_SPAN, 1, 0, 1 + k % 2);
			span->begin = loop_reading(1 + gen_random(&g.seed) % 2);
			span->end = loop_reading(1);
			span->iteration = g.iteration;
			g.spans++;
		}
		e = gen_append(&g, VMSPAN_EVENT, 3, 0, g.iteration);
		e->begin = begin;
		e->end = g.now;
		e->mono_begin = gen_mono(begin);
		e->mono_end = gen_mono(g.now);
		e->cpu_ns_end = (g.now - begin) / 3;
		e->records = LOOP_SPANS;
		gen_flush(&g);
		g.now += 200 * LOOP_STEP;
	}
	stream.spans = g.spans;
}

/* ---- The pieces; `sum` keeps the compiler from leaving them out ---- */

static volatile u64 sum;
static struct vmspan_mark mark[MARK_EVENTS * (MARK_PAIRS + 1) * 2];
static struct marks marks;
static struct model *model;
static struct codec *codec;
static struct rec_writer *writer;
static const struct exporter *exporter;
static struct out text;

/* What the reader does to the marks of a thread. */
static void do_marks(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(mark); i += MARK_PART) {
		u32 left = (u32)ARRAY_SIZE(mark) - i;

		if (marks_take(&marks, mark + i, left < MARK_PART ? left : MARK_PART, true))
			fail("marks");
		sum += marks.records;
		marks_taken(&marks);
	}
}

static void feed(void)
{
	u32 i;

	for (i = 0; i < stream.count; i++)
		if (model_item(model, &stream.item[i]))
			fail("model");
	if (model_finish(model))
		fail("model");
}

static void do_export(void)
{
	static const struct export_config config = { .start_ns = 5000000000ull };
	static const struct report_source source = {
		.kind = "recording",
		.file = "guard.vmspan",
		.method = "exact",
		.nested = "drop",
		.migrated = "discard",
		.cycles_hz = 2100000000,
	};
	struct snapshot *totals;
	void *x = exporter->begin(&text, &config, model);

	if (!x)
		fail("export");
	feed();
	totals = snapshot_take(model);
	exporter->end(x, totals, &source);
	exporter->free(x);
	snapshot_free(totals);
	sum += text.buf.len;
}

static void do_check(void)
{
	u32 i;

	for (i = 0; i < stream.count; i++)
		if (stream.item[i].type == ITEM_BATCH &&
		    batch_check(stream.item[i].batch.data, stream.item[i].batch.bytes,
				stream.item[i].batch.records))
			fail("check");
}

static void encode(void)
{
	u32 i;

	if (codec_begin(codec, &stream.coded, &stream.item[0].clock, (1ull << 32) * 10 / 21, 1))
		fail("encode");
	for (i = 0; i < stream.count; i++)
		if (codec_put(codec, &stream.coded, &stream.item[i]))
			fail("encode");
}

/* All that is done to a batch on its way into a file. */
static void do_record(void)
{
	u32 i;

	for (i = 0; i < stream.count; i++)
		if (rec_item(writer, &stream.item[i]))
			fail("record");
}

static int count(void *ctx, const struct item *it)
{
	(void)ctx;
	sum += it->type;
	return 0;
}

static void decode(void)
{
	struct codec_result r = { 0 };

	if (codec_read(codec, stream.coded.data, stream.coded.len, true, count, NULL, &r) || r.bad)
		fail("decode");
}

static void new_model(void)
{
	static const struct model_config config = { .cycles_hz = 2100000000 };

	model = model_new(&config);
	if (!model)
		fail("model");
	out_open_memory(&text);
}

static void set_up_model(void)
{
	make_stream();
	new_model();
}

static void set_up_model_loop(void)
{
	make_loop();
	new_model();
}

static void set_up_record_loop(void)
{
	static const struct source_info info = { .clock = CLOCK_TSC,
						 .cycles_hz = 2100000000,
						 .cycles_step = LOOP_STEP };
	struct err err = { 0 };

	make_loop();
	writer = rec_create("/dev/null", &info, NULL, &err);
	if (!writer)
		fail("record");
}

static void set_up_codec(void)
{
	make_stream();
	codec = codec_new();
	if (!codec)
		fail("codec");
}

static void set_up_decode(void)
{
	static const u8 pad[CODEC_PAD];

	set_up_codec();
	encode();
	if (buf_put(&stream.coded, pad, sizeof(pad)))
		fail("malloc");
	stream.coded.len -= sizeof(pad);
}

static u64 same_ns(void *ctx, u64 cycles)
{
	(void)ctx;
	return cycles;
}

static void set_up_marks(void)
{
	struct vmspan_mark *m = mark;
	u32 i, k;

	for (i = 0; i < MARK_EVENTS; i++) {
		*m++ = (struct vmspan_mark){ .type = VMSPAN_MARK_EVENT_BEGIN };
		for (k = 0; k < MARK_PAIRS; k++) {
			*m++ = (struct vmspan_mark){ .type = VMSPAN_MARK_ENTER, .id = 1 + k };
			*m++ = (struct vmspan_mark){ .type = VMSPAN_MARK_LEAVE, .id = 1 + k };
		}
		*m++ = (struct vmspan_mark){ .type = VMSPAN_MARK_EVENT_END };
	}
	for (i = 0; i < ARRAY_SIZE(mark); i++)
		mark[i].cycles = 1000 + 100 * i;
	marks_init(&marks, same_ns, NULL);
	marks.switches = true;
}

struct piece {
	const char *name;
	void (*set_up)(void);
	void (*work)(void);
};

static const struct piece pieces[] = {
	{ "marks", set_up_marks, do_marks },
	{ "check", make_stream, do_check },
	{ "model", set_up_model, feed },
	{ "encode", set_up_codec, encode },
	{ "decode", set_up_decode, decode },
	{ "model-loop", set_up_model_loop, feed },
	{ "record-loop", set_up_record_loop, do_record },
};

static const char *const export_prefix = "export-";

__attribute__((noinline)) void guard_work(const struct piece *p);
__attribute__((noinline)) void guard_work(const struct piece *p)
{
	p->work();
}

static void list(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pieces); i++)
		puts(pieces[i].name);
	for (i = 0; exporters[i]; i++)
		printf("%s%s\n", export_prefix, exporters[i]->name);
}

static void build(void)
{
#if defined(__SANITIZE_ADDRESS__)
	puts("sanitizers");
#elif !defined(__OPTIMIZE__)
	puts("unoptimised");
#elif defined(__clang__)
	puts("clang " __VERSION__);
#else
	puts("gcc " __VERSION__);
#endif
}

int main(int argc, char **argv)
{
	struct piece export = { NULL, set_up_model, do_export };
	const struct piece *p = NULL;
	const char *name = argc == 2 ? argv[1] : "";
	size_t i;

	if (!strcmp(name, "list"))
		return list(), 0;
	if (!strcmp(name, "build"))
		return build(), 0;
	for (i = 0; i < ARRAY_SIZE(pieces); i++)
		if (!strcmp(name, pieces[i].name))
			p = &pieces[i];
	if (!strncmp(name, export_prefix, strlen(export_prefix))) {
		exporter = exporter_find(name + strlen(export_prefix));
		p = exporter ? &export : NULL;
	}
	if (!p) {
		fprintf(stderr, "guard: no such piece: %s\n", name);
		return 2;
	}
	p->set_up();
	guard_work(p);
	return 0;
}
