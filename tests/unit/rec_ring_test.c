/* SPDX-License-Identifier: BSD-2-Clause */
/* The flight recorder: what a ring keeps, at the end and at any time. */
#include "each_nth.h"
#include "rec_file.h"

#include "rec/state.h"

#include <signal.h>
#include <sys/wait.h>

/* ---------------------------------------------------------------- Ring -- */

/* From the end backwards: how many items are the same. */
static u64 log_common_end(const struct log *a, const struct log *b)
{
	u64 n = 0, ea = a->bytes.len, eb = b->bytes.len, fa, fb;

	while (n < a->count && n < b->count) {
		fa = fb = 0;
		if (n + 1 < a->count)
			memcpy(&fa, a->ends.data + (a->count - n - 2) * 8, 8);
		if (n + 1 < b->count)
			memcpy(&fb, b->ends.data + (b->count - n - 2) * 8, 8);
		if (ea - fa != eb - fb || memcmp(a->bytes.data + fa, b->bytes.data + fb, ea - fa))
			break;
		ea = fa;
		eb = fb;
		n++;
	}
	return n;
}

static u64 first_type(const struct log *l, u64 at)
{
	u64 from = 0, type;

	if (at)
		memcpy(&from, l->ends.data + (at - 1) * 8, 8);
	memcpy(&type, l->bytes.data + from, 8);
	return type;
}

static void ring_round(struct file *f, u64 ring, u32 events)
{
	struct rec_options o = { .ring_bytes = ring };
	struct stream s = { .w = create(f, &o), .log = &f->written };
	u64 same, i;
	size_t len;

	stream_begin(&s, 99);
	stream_events(&s, events);
	assert_int_equal(s.rc, 0);
	assert_int_equal(rec_close(s.w, &f->err), 0);
	free(slurp(f->path, &len));
	assert_true(len <= ring);
	assert_int_equal(read_back(f), 0);
	assert_string_equal(f->note, "");
	assert_int_equal(f->read.lost + f->read.cut, 0);
	/* A state, then the last of the stream without a gap. */
	same = log_common_end(&f->read, &f->written);
	assert_true(same < f->read.count);
	for (i = 0; i < f->read.count - same; i++)
		assert_true(first_type(&f->read, i) != ITEM_BATCH);
	assert_non_null(memmem(f->read.bytes.data, f->read.bytes.len, "add-on 48", 9));
	assert_non_null(memmem(f->read.bytes.data, f->read.bytes.len, "site1.example", 13));
	assert_non_null(memmem(f->read.bytes.data, f->read.bytes.len, "demohost", 9));
	print_message("ring of %" PRIu64 ": %zu bytes, the last %" PRIu64 " of %" PRIu64
		      " records\n",
		      ring, len, f->read.records, f->written.records);
	/* Three segments of four at least, each filled but for one batch. */
	assert_true(f->read.records * 3 > ring / 2);
}

static void a_ring_keeps_the_newest(void **state)
{
	ring_round(*state, 1 << 20, 60000);
}

static void a_small_ring_keeps_the_newest(void **state)
{
	ring_round(*state, 256 << 10, 20011);
}

/* What a thread hands over at once comes as one batch, of so many of the generator's: 1,600 records. */
#define GATHERED 100
#define GATHERED_MAX 60 /* batches */

struct gathered {
	struct rec_writer *w;
	struct buf all; /* the records */
	u64 begin; /* of the batch under way, in `all` */
	u64 seq; /* of its first record */
	u32 pieces, batches, records;
	u64 next; /* record to be read; 0: any */
	struct buf read;
};

static int gather(void *ctx, struct gen *g)
{
	struct gathered *a = ctx;
	struct item it = batch_item(4242, g);

	assert_int_equal(buf_put(&a->all, g->data, it.batch.bytes), 0);
	a->records += g->records;
	if (++a->pieces % GATHERED)
		return 0;
	it.batch.seq = a->seq;
	it.batch.records = a->records;
	it.batch.bytes = (u32)(a->all.len - a->begin);
	it.batch.data = a->all.data + a->begin;
	it.batch.too_deep = ++a->batches;
	assert_int_equal(rec_item(a->w, &it), 0);
	it = clock_item(g->now);
	assert_int_equal(rec_item(a->w, &it), 0);
	a->begin = a->all.len;
	a->seq += a->records;
	a->records = 0;
	return 0;
}

static int is_as_gathered(void *ctx, const struct item *it)
{
	struct gathered *a = ctx;

	assert_int_not_equal(it->type, ITEM_LOSS);
	if (it->type != ITEM_BATCH)
		return 0;
	if (a->next)
		assert_int_equal(it->batch.seq, a->next);
	a->next = it->batch.seq + it->batch.records;
	a->records += it->batch.records;
	/* Whole: the thread counts in batches. */
	a->batches++;
	assert_int_equal(it->batch.too_deep, a->batches + GATHERED_MAX - a->pieces);
	return buf_put(&a->read, it->batch.data, it->batch.bytes);
}

/* How many batches there are, before they are looked at. */
static int count_batches(void *ctx, const struct item *it)
{
	*(u32 *)ctx += it->type == ITEM_BATCH;
	return 0;
}

static void read_items(struct file *f, item_fn fn, void *ctx)
{
	struct source_info info;
	struct rec_reader *r = rec_open(f->path, &info, &f->err);

	assert_non_null(r);
	while (rec_read(r, fn, ctx, &f->err) > 0)
		;
	assert_null(rec_note(r));
	rec_reader_free(r);
}

static void large_batches(struct file *f, u64 ring)
{
	struct rec_options o = { .ring_bytes = ring };
	struct gathered a = { .w = create(f, &o) };
	struct stream s = { .w = a.w };
	u64 written;
	u32 kept = 0;

	stream_begin(&s, 7);
	s.g.batch = gather;
	s.g.ctx = &a;
	while (a.batches < GATHERED_MAX)
		gen_event(&s.g);
	written = a.seq;
	assert_int_equal(rec_close(a.w, &f->err), 0);
	read_items(f, count_batches, &kept);
	a.pieces = kept;
	a.batches = a.records = 0;
	read_items(f, is_as_gathered, &a);
	assert_int_equal(a.next, written);
	assert_memory_equal(a.read.data, a.all.data + a.begin - a.read.len, a.read.len);
	/* All, or as many as of small batches. */
	assert_true(kept == GATHERED_MAX || a.records * 3ull > ring / 2);
	print_message("ring of %" PRIu64 ": the last %u of %u large batches, %u records\n", ring,
		      kept, GATHERED_MAX, a.records);
	buf_free(&a.read);
	buf_free(&a.all);
}

static void a_ring_takes_large_batches(void **state)
{
	large_batches(*state, REC_RING_MIN);
	large_batches(*state, 1 << 20);
	large_batches(*state, 5 << 20);
	large_batches(*state, 64 << 20);
}

static int count_defs(void *ctx, const struct item *it)
{
	u64 *bytes = ctx;

	assert_int_not_equal(it->type, ITEM_LOSS);
	*bytes += it->type == ITEM_DEFS ? it->defs.bytes : 0;
	return 0;
}

/* A registry's, as they are read at its first sight: 2 MB, of which an item of a recording has one. */
static void many_definitions(struct file *f, u64 ring)
{
	struct rec_options o = { .ring_bytes = ring };
	struct rec_writer *w = create(f, &o);
	struct buf defs = { 0 };
	struct item it;
	u64 bytes = 0;
	u32 id;

	for (id = 1; id <= (2u << 20) / VMSPAN_SLOT; id++)
		put_def(&defs, VMSPAN_DEF_LABEL, id, 0, NULL, 0, "x");
	it = defs_item(1, &defs);
	assert_int_equal(rec_item(w, &it), 0);
	assert_int_equal(rec_close(w, &f->err), 0);
	read_items(f, count_defs, &bytes);
	assert_int_equal(bytes, 2u << 20);
	buf_free(&defs);
}

static void many_definitions_at_once_are_kept(void **state)
{
	many_definitions(*state, 0);
	many_definitions(*state, 64 << 20);
}

static void a_ring_not_yet_full_keeps_all(void **state)
{
	struct file *f = *state;
	struct rec_options o = { .ring_bytes = 64 << 20 };
	struct stream s = { .w = create(f, &o), .log = &f->written };

	stream_begin(&s, 99);
	stream_events(&s, 1000);
	assert_int_equal(rec_close(s.w, &f->err), 0);
	assert_int_equal(read_back(f), 0);
	log_assert_equal(&f->read, &f->written);
}

/* The writer is killed at some point no one chose. */
static void a_killed_ring_reads_up_to_its_last_chunk(void **state)
{
	struct file *f = *state;
	struct rec_options o = { .ring_bytes = 256 << 10 };
	int pipe_fd[2], status, i;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(pipe_fd), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct stream s = { .w = rec_create(f->path, test_info(), &o, NULL) };

		close(pipe_fd[0]); /* or it would outlive a reader that ended */
		stream_begin(&s, 123);
		for (;;) {
			stream_events(&s, 100);
			if (write(pipe_fd[1], "x", 1) != 1)
				_exit(1);
		}
	}
	close(pipe_fd[1]);
	for (i = 0; i < 300; i++)
		assert_int_equal(read(pipe_fd[0], &byte, 1), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(pipe_fd[0]);
	assert_int_equal(read_back(f), 0);
	assert_non_null(strstr(f->note, "the recording was not finished"));
	/* What it had not written yet. */
	assert_int_equal(f->read.cut, 1);
	assert_true(f->read.records > 30000);
	assert_non_null(memmem(f->read.bytes.data, f->read.bytes.len, "add-on 48", 9));
}

/* Read at many moments of its life, a ring is never torn, never out of order. */
static void a_ring_is_readable_at_any_time(void **state)
{
	struct file *f = *state;
	struct rec_options o = { .ring_bytes = 256 << 10 };
	struct stream s = { .w = create(f, &o), .log = &f->written };
	u64 skip, i;

	stream_begin(&s, 5);
	for (i = 0; i < 150; i += EACH_NTH(3)) {
		struct log part = { 0 };

		stream_events(&s, 97);
		assert_int_equal(rec_sync(s.w, &f->err), 0);
		assert_int_equal(read_back(f), 0);
		assert_string_equal(f->note, "the recording was not finished");
		assert_int_equal(f->read.lost, 0);
		skip = f->read.count - log_common_end(&f->read, &f->written);
		while (skip--)
			assert_true(first_type(&f->read, skip) != ITEM_BATCH);
		log_free(&part);
	}
	assert_int_equal(rec_close(s.w, &f->err), 0);
}

static void count_defs_of(const struct log *l, u32 pid, u32 *defs, u32 *seen, u32 *ended)
{
	u64 v[12], i, at = 0;

	*defs = *seen = *ended = 0;
	for (i = 0; i < l->count; i++) {
		memcpy(v, l->bytes.data + at, sizeof(v));
		*defs += v[0] == ITEM_DEFS && v[1] == pid;
		*seen += v[0] == ITEM_PROCESS && v[1] == PROCESS_SEEN && v[2] == pid;
		*ended += v[0] == ITEM_PROCESS && v[1] == PROCESS_EXIT && v[2] == pid;
		memcpy(&at, l->ends.data + i * 8, 8);
	}
}

static void put_note(struct stream *s, const char *text)
{
	struct buf defs = { 0 };
	struct item it;

	put_def(&defs, VMSPAN_DEF_NOTE, 1, 0, NULL, 0, text);
	put_def(&defs, VMSPAN_DEF_PART, 1, 0, NULL, 0, "of all");
	put_def(&defs, VMSPAN_DEF_CONTAINER, VMSPAN_CONTAINER_NAME, 0, NULL, 0, "in a box");
	it = defs_item(s->pid, &defs);
	it.defs.registry = ITEM_TRACER_REGISTRY;
	stream_item(s, &it);
	buf_free(&defs);
}

static u32 count_text(const struct log *l, const char *text)
{
	const u8 *at = l->bytes.data, *end = at + l->bytes.len;
	u32 n = 0;

	while ((at = memmem(at, (size_t)(end - at), text, strlen(text)))) {
		n++;
		at++;
	}
	return n;
}

/* A child has its parent's definitions, and not what was said of it; who has ended is forgotten in time. */
static void a_ring_follows_processes(void **state)
{
	struct file *f = *state;
	struct rec_options o = { .ring_bytes = 256 << 10 };
	struct stream s = { .w = create(f, &o) };
	u32 defs, seen, ended;
	struct item it;

	stream_begin(&s, 5);
	put_note(&s, "said of one");
	it = process_item(PROCESS_FORK, 77, s.pid, "child");
	stream_item(&s, &it);
	it = thread_item(77, 77, "worker", false);
	stream_item(&s, &it);
	it = process_item(PROCESS_FORK, 78, s.pid, "other");
	stream_item(&s, &it);
	it = process_item(PROCESS_EXEC, 78, s.pid, "execed");
	stream_item(&s, &it);
	stream_events(&s, 10000);
	assert_int_equal(rec_sync(s.w, &f->err), 0);
	assert_int_equal(read_back(f), 0);
	count_defs_of(&f->read, 77, &defs, &seen, &ended);
	assert_true(defs > 0);
	assert_int_equal(seen, 1);
	assert_int_equal(count_text(&f->read, "said of one"), 1);
	assert_int_equal(count_text(&f->read, "of all"), 2);
	assert_int_equal(count_text(&f->read, "in a box"), 2);
	assert_non_null(memmem(f->read.bytes.data, f->read.bytes.len, "worker", 7));
	count_defs_of(&f->read, 78, &defs, &seen, &ended);
	assert_int_equal(defs, 0);
	assert_int_equal(seen, 1);
	assert_non_null(memmem(f->read.bytes.data, f->read.bytes.len, "execed", 7));
	it = process_item(PROCESS_EXIT, 77, 0, "");
	stream_item(&s, &it);
	stream_events(&s, 20000);
	assert_int_equal(rec_close(s.w, &f->err), 0);
	assert_int_equal(read_back(f), 0);
	count_defs_of(&f->read, 77, &defs, &seen, &ended);
	assert_int_equal(defs + seen + ended, 0);
	assert_null(memmem(f->read.bytes.data, f->read.bytes.len, "worker", 7));
	count_defs_of(&f->read, s.pid, &defs, &seen, &ended);
	assert_true(defs > 0);
}

/* A target that defines without end fills neither memory nor the ring. */
static void endless_definitions_are_bounded_and_counted(void **state)
{
	struct file *f = *state;
	struct rec_options o = { .ring_bytes = 1 << 20 };
	struct stream s = { .w = create(f, &o) };
	struct buf defs = { 0 };
	struct item it;
	char name[24];
	size_t len;
	u32 id;

	stream_begin(&s, 5);
	for (id = 1000; id < 600000; id++) {
		snprintf(name, sizeof(name), "label %u", id);
		put_def(&defs, VMSPAN_DEF_LABEL, id, 0, NULL, 0, name);
		if (defs.len < 4096)
			continue;
		it = defs_item(s.pid, &defs);
		stream_item(&s, &it);
		buf_clear(&defs);
	}
	buf_free(&defs);
	stream_events(&s, 5000);
	assert_int_equal(s.rc, 0);
	assert_int_equal(rec_close(s.w, &f->err), 0);
	free(slurp(f->path, &len));
	assert_true(len <= o.ring_bytes);
	assert_int_equal(read_back(f), 0);
	/* More than 16 MB of 32-byte records were too many; fewer still fit. */
	assert_true(f->read.lost > 600000 - (16 << 20) / 32);
	assert_true(f->read.records > 10000);
}

/* The index of many small chunks counts too. */
static void a_ring_of_many_chunks_fits_too(void **state)
{
	struct file *f = *state;
	struct rec_options o = { .ring_bytes = 256 << 10, .no_deflate = true };
	struct stream s = { .w = create(f, &o) };
	char name[251] = { 0 };
	struct item it;
	size_t len;
	u32 i;

	memset(name, 'n', sizeof(name) - 1);
	for (i = 0; i < 2000; i++) {
		/* One that has ended is in no state. */
		it = thread_item(1, i, name, true);
		stream_item(&s, &it);
		if (i % 4 == 3)
			assert_int_equal(rec_sync(s.w, &f->err), 0);
	}
	assert_int_equal(rec_close(s.w, &f->err), 0);
	free(slurp(f->path, &len));
	assert_true(len <= o.ring_bytes);
	assert_true(len > o.ring_bytes * 7 / 8);
	assert_int_equal(read_back(f), 0);
	assert_string_equal(f->note, "");
}

static int ignore(void *ctx, const struct item *it)
{
	(void)ctx;
	(void)it;
	return 0;
}

/* 16 MB of definitions a registry and 64 MB in all; the rest is counted. */
static void a_state_keeps_so_much_and_counts_the_rest(void **state)
{
	const u32 most = STATE_REGISTRY_BYTES / VMSPAN_SLOT, more = 1009;
	struct state *s = state_new();
	struct buf defs = { 0 };
	struct item it;
	u32 id, pid;

	(void)state;
	for (id = 0; id < most + more; id++)
		put_def(&defs, VMSPAN_DEF_LABEL, id, 0, NULL, 0, "x");
	for (pid = 1; pid <= 5; pid++) {
		it = defs_item(pid, &defs);
		assert_int_equal(state_note(s, &it), 0);
		assert_int_equal(state_bytes(s), (pid < 5 ? pid : 4) * (u64)STATE_REGISTRY_BYTES);
		assert_int_equal(state_dropped(s), pid * more + (pid == 5 ? most : 0));
	}
	/* What is there already is not more. */
	it.defs.pid = 1;
	it.defs.bytes = most * VMSPAN_SLOT;
	assert_int_equal(state_note(s, &it), 0);
	assert_int_equal(state_dropped(s), 5 * more + most);
	/* An end frees what the process had, once it has been said. */
	it = process_item(PROCESS_EXIT, 1, 0, "");
	assert_int_equal(state_note(s, &it), 0);
	assert_int_equal(state_bytes(s), STATE_ALL_BYTES);
	assert_int_equal(state_emit(s, ignore, NULL), 0);
	assert_int_equal(state_bytes(s), STATE_ALL_BYTES - STATE_REGISTRY_BYTES);
	state_free(s);
	buf_free(&defs);
}

struct refused {
	u32 pieces;
	u64 lost;
};

/* Has room for one piece of definitions. */
static int refuse(void *ctx, const struct item *it)
{
	struct refused *r = ctx;

	if (it->type == ITEM_LOSS)
		r->lost += it->loss.records;
	return it->type == ITEM_DEFS && r->pieces++;
}

static void what_finds_no_room_in_a_ring_is_counted(void **state)
{
	const u32 piece = STATE_PIECE / VMSPAN_SLOT, count = 3 * piece + 17;
	struct state *s = state_new();
	struct refused refused = { 0 };
	struct buf defs = { 0 };
	struct item it;
	u32 id;

	(void)state;
	assert_non_null(s);
	for (id = 0; id < count; id++)
		put_def(&defs, VMSPAN_DEF_LABEL, id, 0, NULL, 0, "x");
	it = defs_item(1, &defs);
	assert_int_equal(state_note(s, &it), 0);
	assert_int_equal(state_emit(s, refuse, &refused), 0);
	assert_int_equal(refused.pieces, 4);
	assert_int_equal(refused.lost, count - piece);
	state_free(s);
	buf_free(&defs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_ring_keeps_the_newest),
		TEST(a_small_ring_keeps_the_newest),
		TEST(a_ring_takes_large_batches),
		TEST(many_definitions_at_once_are_kept),
		TEST(a_ring_not_yet_full_keeps_all),
		TEST(a_killed_ring_reads_up_to_its_last_chunk),
		TEST(a_ring_is_readable_at_any_time),
		TEST(a_ring_follows_processes),
		TEST(endless_definitions_are_bounded_and_counted),
		TEST(a_ring_of_many_chunks_fits_too),
		TEST(a_state_keeps_so_much_and_counts_the_rest),
		TEST(what_finds_no_room_in_a_ring_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
