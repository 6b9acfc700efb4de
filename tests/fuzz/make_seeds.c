/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes what the fuzzers begin with, FOLDER/FUZZER/SEED (`make fuzz-seeds`):
 * recordings of each kind, small and not deflated, so that a changed byte is a changed
 * byte of what is inside; batches; a JVM's tables. The same bytes on every run.
 */
#define main make_recording
int make_recording(int argc, char **argv);
#include "tests/golden/make_recording.c"
#undef main
#include "seed_jvm.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *folder;
static char scratch[PATH_MAX], copy[PATH_MAX];

static void fail(const char *what, const char *path)
{
	fprintf(stderr, "make_seeds: %s: %s\n", path, what);
	exit(1);
}

static FILE *seed_open(const char *fuzzer, const char *name)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, fuzzer);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/%s", folder, fuzzer, name);
	f = fopen(path, "w");
	if (!f)
		fail("cannot be written", path);
	return f;
}

static void seed_close(FILE *f, const char *name)
{
	if (ferror(f) | fclose(f))
		fail("cannot be written", name);
}

static void seed(const char *fuzzer, const char *name, const void *p, size_t n)
{
	FILE *f = seed_open(fuzzer, name);

	fwrite(p, 1, n, f);
	seed_close(f, name);
}

/* ---- Recordings ---- */

/* A file as rec_fuzz takes it: the last byte is not of it, and says that checksums are to
 * be made to match when something else has changed. */
static void seed_recording(const char *name, const char *path, size_t most)
{
	FILE *from = fopen(path, "r"), *to = seed_open("rec_fuzz", name);
	int c;

	if (!from)
		fail("cannot be read", path);
	while (most-- && (c = fgetc(from)) != EOF)
		fputc(c, to);
	fputc(1, to);
	fclose(from);
	seed_close(to, name);
}

struct copy {
	struct rec_writer *w;
	u32 batches, chunks; /* of so many batches each; 0: one for all */
};

static int copy_item(void *ctx, const struct item *it)
{
	struct copy *c = ctx;

	if (it->type == ITEM_BATCH && c->chunks && c->batches++ % c->chunks == 0 &&
	    rec_sync(c->w, NULL))
		return -EIO;
	return rec_item(c->w, it);
}

/* scratch, not deflated. */
static void plain_copy(u32 chunks, u64 ring)
{
	const struct rec_options options = { .no_deflate = true, .ring_bytes = ring };
	struct source_info info;
	struct err err = { 0 };
	struct rec_reader *r = rec_open(scratch, &info, &err);
	struct copy c = { .w = r ? rec_create(copy, &info, &options, &err) : NULL,
			  .chunks = chunks };
	int rc = -EIO;

	while (c.w && (rc = rec_read(r, copy_item, &c, &err)) > 0)
		;
	/* Of a ring only what is there before the index: that lies far behind. */
	if (!rc && ring && !rec_sync(c.w, &err))
		seed_recording("ring", copy, SIZE_MAX);
	if (rc || rec_close(c.w, &err))
		fail(err.what, copy);
	rec_reader_free(r);
}

static void scenario(const char *name)
{
	char *args[] = { "make_recording", (char *)name, scratch, NULL };

	if (make_recording(3, args))
		exit(1);
}

static void put_thread(struct maker *m, bool ended)
{
	struct item it = { .type = ITEM_THREAD };

	it.thread = (struct item_thread){ m->pid, m->tid, ended, START_NS, ended ? "" : "main" };
	put(m, &it);
}

/* What make_recording has no need of: processes that come and go, definitions that the
 * tracer makes, counters of batches, each loss, and the scheduler's records. */
static void every_item(struct maker *m)
{
	static const char *const group[] = { "tracker", "adblock", "shop", "video" };
	struct vmspan_wake *wake;
	struct item it = { .type = ITEM_PROCESS };
	u32 i;

	process(m, 1000, "host");
	names(m, group);
	put_thread(m, false);
	for (i = PROCESS_FORK; i <= PROCESS_EXIT; i++) {
		it.process = (struct item_process){
			(enum process_change)i, 1001, 1000, START_NS, "child", ""
		};
		put(m, &it);
	}
	for (i = VMSPAN_DEF_FRAME; i <= VMSPAN_DEF_LAST; i++)
		define(m, (u8)i, 1, VMSPAN_PACKAGE, "made by the tracer", 1);
	m->thread = 1;
	turns(m, 100);
	it = (struct item){ .type = ITEM_BATCH };
	for (i = 1; i < VMSPAN_OFF_REASONS; i++)
		stay(m, VMSPAN_SPAN, (u16)i, i, 80000 + 100 * i, 80050 + 100 * i, 0);
	it.batch = (struct item_batch){ .pid = m->pid,
					.tid = m->tid,
					.registry = 0x4000,
					.thread = 1,
					.seq = m->seq + 3,
					.records = m->records,
					.bytes = (u32)m->bytes,
					.data = m->space,
					.too_deep = 1,
					.unmatched = 2,
					.repaired = 3,
					.in_mark = 4 };
	put(m, &it);
	m->seq = m->bytes = m->records = 0;
	for (i = 0; i < VMSPAN_OFF_REASONS; i++) {
		struct vmspan_span *off = record(m, VMSPAN_OFF, 1, (u16)i, 0);

		off->begin = cycles(100 + 100 * i);
		off->end = cycles(100 + 100 * i + 50 * (i > 0));
	}
	wake = record(m, VMSPAN_WAKE, (u8)((sizeof(*wake) + VMSPAN_SLOT - 1) / VMSPAN_SLOT), 0, 1);
	wake->registry = 0x4000;
	memcpy(wake->comm, "waker", 5);
	it.batch = (struct item_batch){ .pid = m->pid,
					.tid = m->tid,
					.registry = ITEM_SCHED_REGISTRY,
					.thread = m->tid,
					.records = m->records,
					.bytes = (u32)m->bytes,
					.data = m->space };
	put(m, &it);
	it = (struct item){ .type = ITEM_LOSS };
	for (i = 0; i < LOSS_CAUSES; i++) {
		it.loss = (struct item_loss){ (enum loss_cause)i, i, i / 2, i % 2 };
		put(m, &it);
	}
	put_thread(m, true);
	clock_at(m, 200000);
}

static void write_items(void)
{
	const struct source_info info = { .clock = CLOCK_TSC,
					  .exact = true,
					  .cycles_hz = HZ,
					  .cycles_step = 2,
					  .start_mono_ns = START_NS,
					  .start_real_ns = REAL_NS,
					  .host = "testhost",
					  .tool = "test" };
	const struct rec_options options = { .no_deflate = true };
	static struct maker m;
	struct err err = { 0 };

	m.w = rec_create(copy, &info, &options, &err);
	if (!m.w)
		fail(err.what, copy);
	clock_at(&m, 0);
	every_item(&m);
	if (rec_close(m.w, &err))
		fail(err.what, copy);
	seed_recording("items", copy, SIZE_MAX);
	/* As left by a writer that was killed. */
	seed_recording("cut", copy, 1500);
}

static void recordings(void)
{
	static const char *const plain[] = { "basic", "lossy", "hostile", "empty",
					     "one",   "peers", "sampled" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(plain); i++) {
		scenario(plain[i]);
		plain_copy(0, 0);
		seed_recording(plain[i], copy, SIZE_MAX);
	}
	scenario("basic");
	seed_recording("deflated", scratch, SIZE_MAX);
	plain_copy(1, 0);
	seed_recording("chunks", copy, SIZE_MAX);
	plain_copy(2, 1);
	write_items();
}

/* ---- Batches: records as they are, one behind the other ---- */

static void of_each_type(struct maker *m)
{
	u32 i;

	for (i = VMSPAN_DEF_GROUP; i <= VMSPAN_DEF_LAST; i++) {
		struct vmspan_def *d = record(m, (u8)i, 2, 0, 1);

		d->kind = VMSPAN_ADDON;
		d->count = 2;
		d->name_len = 8;
		memcpy(d->groups + 2, "add-on 1", 8);
	}
	stay(m, VMSPAN_SPAN, 0, 1, 100, 200, 0);
	stay(m, VMSPAN_GC, 0, 1, 100, 200, 0);
	stay(m, VMSPAN_BLOCK, 0, 1, 100, 200, 1);
	event(m, 0, 1, 0, 3, 50, 250);
	mark(m, VMSPAN_INPUT, 1, 300, 0);
	mark(m, VMSPAN_FRAME, 2, 310, 0);
	mark(m, VMSPAN_VALUE, 3, 320, -1);
	stay(m, VMSPAN_SPAN, VMSPAN_DEPTH_MASK, ~0u, 0, ~0ull / 2000, 7);
	look(m, 400, 10, 0, 1, 2, 3);
	look(m, 500, 10, VMSPAN_SAMPLE_OFF, 1, 0, 0);
	record(m, VMSPAN_OFF, 1, VMSPAN_OFF_IO, 0);
	record(m, VMSPAN_WAKE, 1, 0, 1);
	record(m, 200, 12, 0, 5); /* of a later version */
}

static void alike(struct maker *m)
{
	u32 i;

	for (i = 0; i < 40; i++) {
		stay(m, VMSPAN_SPAN, (u16)(i % 3), 1 + i % 4, 10 * i, 10 * i + 5 + i % 3, 0);
		if (i % 5 == 4)
			event(m, 0, i / 5, 0, 5, 10 * i - 40, 10 * i + 8);
	}
}

static void batches(void)
{
	static struct maker m;

	of_each_type(&m);
	seed("batch_fuzz", "types", m.space, m.bytes);
	m.bytes = 0;
	alike(&m);
	seed("batch_fuzz", "alike", m.space, m.bytes);
}

int main(int argc, char **argv)
{
	static const char place[] = "/make_seeds.XXXXXX";
	char dir[PATH_MAX - 16];
	const char *tmp = getenv("TMPDIR");

	if (argc != 2) {
		fprintf(stderr, "usage: make_seeds FOLDER\n");
		return 2;
	}
	folder = argv[1];
	snprintf(dir, sizeof(dir), "%.2000s%s", tmp && *tmp ? tmp : "/tmp", place);
	if (!mkdtemp(dir))
		fail("cannot be made", dir);
	snprintf(scratch, sizeof(scratch), "%s/a", dir);
	snprintf(copy, sizeof(copy), "%s/b", dir);
	recordings();
	batches();
	seed("jvm_fuzz", "tables", seed_jvm(), sizeof(struct seed_jvm));
	unlink(scratch);
	unlink(copy);
	rmdir(dir);
	return 0;
}
