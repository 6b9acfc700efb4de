/* SPDX-License-Identifier: BSD-2-Clause */
/* Recordings as files: whole, cut, damaged, full, from elsewhere. */
#include "each_nth.h"
#include "rec_file.h"

#include "rec/chunk.h"
#include "source/replay.h"

#include <signal.h>
#include <sys/resource.h>

/* --------------------------------------------------------------- Whole -- */

static void what_is_read_is_what_was_written(void **state)
{
	struct file *f = *state;
	struct source_info info;
	struct rec_reader *r;

	write_small(f, 5, 211, false);
	assert_int_equal(read_back(f), 0);
	log_assert_equal(&f->written, &f->read);
	assert_string_equal(f->note, "");
	r = rec_open(f->path, &info, &f->err);
	assert_non_null(r);
	assert_memory_equal(&info, test_info(), sizeof(info));
	rec_reader_free(r);
}

static void replay_hands_out_the_same(void **state)
{
	struct file *f = *state;
	struct source *s;
	int stop[2], rc;

	write_small(f, 3, 50, false);
	s = replay_open(f->path, &f->err);
	assert_non_null(s);
	assert_int_equal(s->info.cycles_hz, test_info()->cycles_hz);
	/* Asked to stop it hands out nothing, and has not ended. */
	assert_int_equal(pipe(stop), 0);
	assert_int_equal(write(stop[1], "x", 1), 1);
	assert_int_equal(source_poll(s, -1, stop[0], log_item, &f->read, &f->err), 1);
	assert_int_equal(f->read.count, 0);
	while ((rc = source_poll(s, -1, -1, log_item, &f->read, &f->err)) > 0)
		;
	assert_int_equal(rc, 0);
	assert_int_equal(source_stop(s, log_item, &f->read, &f->err), 0);
	assert_null(replay_note(s));
	log_assert_equal(&f->written, &f->read);
	source_free(s);
	close(stop[0]);
	close(stop[1]);
}

static int refuse(void *ctx, const struct item *it)
{
	(void)it;
	return --*(int *)ctx < 0 ? -ECANCELED : 0;
}

static void what_the_taker_returns_ends_the_reading(void **state)
{
	struct file *f = *state;
	struct source_info info;
	struct rec_reader *r;
	int left = 10;

	write_small(f, 1, 50, false);
	r = rec_open(f->path, &info, &f->err);
	assert_non_null(r);
	assert_int_equal(rec_read(r, refuse, &left, &f->err), -ECANCELED);
	assert_int_equal(f->err.code, 0);
	rec_reader_free(r);
}

static void totals_count_what_was_taken(void **state)
{
	struct file *f = *state;
	struct stream s = { .w = create(f, NULL) };
	struct item loss = { .type = ITEM_LOSS };
	struct rec_totals t;
	size_t len;

	stream_begin(&s, 5);
	stream_events(&s, 101);
	loss.loss = (struct item_loss){ LOSS_RING_FULL, 17, 1, false };
	stream_item(&s, &loss);
	assert_int_equal(rec_sync(s.w, &f->err), 0);
	rec_totals(s.w, &t);
	assert_int_equal(t.spans, s.g.spans);
	assert_int_equal(t.events, 101);
	assert_int_equal(t.records, s.g.seq);
	assert_int_equal(t.lost_records, 17);
	assert_int_equal(t.chunks, 1);
	free(slurp(f->path, &len));
	assert_int_equal(t.bytes, len);
	assert_int_equal(rec_close(s.w, &f->err), 0);
}

/* A batch that is no batch is counted as lost, and the rest goes on. What is open now is of no
 * recording: nothing is lost. */
static void what_cannot_be_kept_is_counted(void **state)
{
	struct file *f = *state;
	struct stream s = { .w = create(f, NULL), .log = &f->written };
	struct item it = { .type = ITEM_BATCH }, loss = { .type = ITEM_LOSS };
	static u64 bad[4] = { 0x0000 /* slots 0 */ };
	static u8 large[(1 << 20) + 32];

	stream_begin(&s, 5);
	it.batch = (struct item_batch){ .records = 1, .bytes = 32, .data = bad };
	assert_int_equal(rec_item(s.w, &it), 0);
	loss.loss = (struct item_loss){ LOSS_MALFORMED, 1, 1, true };
	log_item(&f->written, &loss);
	for (size_t i = 0; i < sizeof(large); i += 32)
		large[i] = VMSPAN_SPAN, large[i + 1] = 1;
	it.batch = (struct item_batch){ .records = sizeof(large) / 32,
					.bytes = sizeof(large),
					.data = large };
	assert_int_equal(rec_item(s.w, &it), 0);
	loss.loss.records = sizeof(large) / 32;
	log_item(&f->written, &loss);
	it = (struct item){ .type = ITEM_OPEN };
	assert_int_equal(rec_item(s.w, &it), 0);
	stream_events(&s, 7);
	assert_int_equal(rec_close(s.w, &f->err), 0);
	assert_int_equal(read_back(f), 0);
	log_assert_equal(&f->written, &f->read);
}

static void many_threads_span_several_chunks(void **state)
{
	struct file *f = *state;
	struct stream s = { .w = create(f, NULL), .log = &f->written };
	struct vmspan_span span = { { VMSPAN_SPAN, 1, 0, 1 }, 5, 9, 0, 0, 1 };
	struct rec_totals t;
	struct item it = { .type = ITEM_BATCH };
	u32 i;

	it.batch = (struct item_batch){ .pid = 1, .records = 1, .bytes = 32, .data = &span };
	for (i = 0; i < 3001; i++) {
		it.batch.tid = i;
		stream_item(&s, &it);
	}
	assert_int_equal(s.rc, 0);
	assert_int_equal(rec_sync(s.w, &f->err), 0);
	rec_totals(s.w, &t);
	assert_int_equal(t.chunks, 3);
	assert_int_equal(rec_close(s.w, &f->err), 0);
	assert_int_equal(read_back(f), 0);
	log_assert_equal(&f->written, &f->read);
}

/* A second of clock items ends a chunk; clocks alone do not. */
static void a_second_ends_a_chunk(void **state)
{
	struct file *f = *state;
	struct stream s = { .w = create(f, NULL), .log = &f->written };
	struct rec_totals t;
	struct item it;
	u32 i;

	stream_begin(&s, 1);
	rec_totals(s.w, &t);
	assert_int_equal(t.chunks, 0);
	for (i = 1; i <= 30; i++) {
		it = clock_item((1ull << 40) + i * 1000000ull * GEN_CYCLES_PER_US);
		stream_item(&s, &it);
		rec_totals(s.w, &t);
		assert_int_equal(t.chunks, i > 1 || t.chunks);
	}
	rec_totals(s.w, &t);
	assert_int_equal(t.chunks, 1);
	assert_int_equal(rec_close(s.w, &f->err), 0);
	assert_int_equal(read_back(f), 0);
	log_assert_equal(&f->written, &f->read);
}

/* ------------------------------------------------------- Cut and damaged -- */

/* The items read from a part of a file are the first of the whole; then only
 * a loss may come, which says how many records were in what is missing. */
static void assert_prefix(const struct file *f)
{
	u64 common = log_common(&f->read, &f->written), type;

	assert_true(f->read.count - common <= 1);
	if (f->read.count > common) {
		memcpy(&type, f->read.bytes.data + f->read.bytes.len - 96, sizeof(type));
		assert_int_equal(type, ITEM_LOSS);
		assert_true(f->read.lost > 0);
		assert_true(f->read.records + f->read.lost <= f->written.records);
	}
}

static void a_file_cut_at_any_byte_is_read_up_to_there(void **state)
{
	struct file *f = *state;
	u64 items = 0, grown = 0;
	size_t len, cut;
	u8 *p;
	int rc;

	write_small(f, 3, 2, false);
	p = slurp(f->path, &len);
	print_message("%zu bytes, cut at each\n", len);
	for (cut = 0; cut < len; cut += EACH_NTH(7)) {
		spill(f->copy, p, cut);
		rc = read_copy(f);
		if (cut < FILE_HEAD) {
			assert_int_equal(rc, -EBADMSG);
			assert_int_equal(err_status(&f->err), EXIT_FAILED);
			assert_string_not_equal(f->err.hint, "");
			continue;
		}
		assert_int_equal(rc, 0);
		assert_prefix(f);
		assert_non_null(strstr(f->note, "the end of the recording is missing"));
		/* Of what was not begun nobody knows. */
		assert_int_equal(f->read.cut, 1);
		/* More of the file is never less of the stream. */
		assert_true(log_common(&f->read, &f->written) >= items);
		grown += log_common(&f->read, &f->written) > items;
		items = log_common(&f->read, &f->written);
	}
	assert_int_equal(items, f->written.count);
	assert_int_equal(grown, 3);
	free(p);
}

static void a_file_cut_says_what_was_not_read(void **state)
{
	struct file *f = *state;
	char expect[256];
	size_t len;
	u8 *p;

	write_small(f, 1, 2, false);
	p = slurp(f->path, &len);
	spill(f->copy, p, FILE_HEAD + CHUNK_HEAD + 100);
	assert_int_equal(read_copy(f), 0);
	snprintf(expect, sizeof(expect),
		 "the end of the recording is missing; 148 bytes behind the last whole chunk were "
		 "not read; %" PRIu64 " records are missing for that",
		 f->written.records);
	assert_string_equal(f->note, expect);
	assert_int_equal(f->read.lost, f->written.records);
	free(p);
}

/* Items of `part` are items of `whole` in its order; losses aside, and clocks,
 * which are repeated where something is missing before. */
static bool log_within(const struct log *part, const struct log *whole)
{
	u64 i, k = 0, at = 0, from = 0, end, stop;

	for (i = 0; i < part->count; i++, at = end) {
		const u8 *p = part->bytes.data + at;
		u64 type;

		memcpy(&end, part->ends.data + i * 8, 8);
		memcpy(&type, p, 8);
		if (type == ITEM_LOSS || type == ITEM_CLOCK)
			continue;
		for (;; k++, from = stop) {
			if (k == whole->count)
				return false;
			memcpy(&stop, whole->ends.data + k * 8, 8);
			if (stop - from == end - at &&
			    !memcmp(whole->bytes.data + from, p, end - at))
				break;
		}
	}
	return true;
}

static void a_byte_changed_never_passes_unseen(void **state)
{
	struct file *f = *state;
	size_t len, at;
	u8 *p;
	int rc;

	write_small(f, 3, 2, false);
	p = slurp(f->path, &len);
	for (at = 0; at < len; at += EACH_NTH(7)) {
		u8 flip = (u8)(1u << at % 8);

		p[at] ^= flip;
		spill(f->copy, p, len);
		rc = read_copy(f);
		if (at < FILE_HEAD) {
			assert_true(rc == -EBADMSG || rc == -EPROTONOSUPPORT);
			assert_string_not_equal(f->err.what, "");
		} else {
			assert_int_equal(rc, 0);
			assert_string_not_equal(f->note, "");
			assert_true(log_within(&f->read, &f->written));
			assert_int_equal(f->read.records + f->read.lost, f->written.records);
		}
		p[at] ^= flip;
	}
	free(p);
}

static void a_damaged_chunk_in_the_middle_is_passed_over(void **state)
{
	struct file *f = *state;
	struct chunk_head h;
	struct file_head head;
	size_t len, at = FILE_HEAD;
	u8 *p;

	write_small(f, 5, 20, false);
	p = slurp(f->path, &len);
	assert_int_equal(file_head_get(p, len, &head), FILE_HEAD_GOOD);
	assert_true(chunk_head_get(p + at, head.id, &h));
	at += CHUNK_HEAD + h.stored;
	assert_true(chunk_head_get(p + at, head.id, &h));
	/* Its content, then its frame too. */
	p[at + CHUNK_HEAD + 7] ^= 1;
	spill(f->copy, p, len);
	assert_int_equal(read_copy(f), 0);
	assert_int_equal(f->read.lost, h.records);
	assert_int_equal(f->read.records, f->written.records - h.records);
	assert_non_null(strstr(f->note, "1 chunk is damaged or missing"));
	assert_true(log_within(&f->read, &f->written));
	memset(p + at, 0, CHUNK_HEAD);
	spill(f->copy, p, len);
	assert_int_equal(read_copy(f), 0);
	assert_int_equal(f->read.lost, h.records);
	assert_int_equal(f->read.records, f->written.records - h.records);
	assert_non_null(strstr(f->note, "bytes between chunks made no sense"));
	free(p);
}

/* Random bytes that no packer shortens, to make a file grow. */
static void stream_noise(struct stream *s, u32 batches)
{
	enum {
		NOISE_SLOTS = 128
	};
	const struct vmspan_head head = { 99, NOISE_SLOTS, 0, 0 };
	u64 data[NOISE_SLOTS * 4];
	struct item it = { .type = ITEM_BATCH };
	u32 i, k;

	for (i = 0; i < batches; i++) {
		for (k = 0; k < ARRAY_SIZE(data); k++)
			data[k] = gen_random(&s->g.seed);
		memcpy(data, &head, sizeof(head));
		it.batch = (struct item_batch){ .pid = s->pid,
						.tid = 9,
						.registry = 1,
						.seq = s->g.spans,
						.records = 1,
						.bytes = sizeof(data),
						.data = data };
		stream_item(s, &it);
		s->g.spans++;
	}
}

static void a_state_makes_up_for_a_damaged_chunk(void **state)
{
	struct file *f = *state;
	struct rec_options o = { .no_deflate = true };
	struct stream s = { .w = create(f, &o) };
	struct log first = { 0 };
	int fd;

	/* Longer than the distance of states without a ring. */
	s.log = &first;
	stream_begin(&s, 3);
	assert_int_equal(rec_sync(s.w, &f->err), 0);
	s.log = NULL;
	stream_noise(&s, 17 << 10);
	s.log = &f->written;
	stream_events(&s, 20);
	assert_int_equal(rec_close(s.w, &f->err), 0);
	assert_int_equal(s.rc, 0);
	/* Whole, the state is not seen. */
	assert_int_equal(read_back(f), 0);
	assert_string_equal(f->note, "");
	assert_int_equal(log_common(&f->read, &first), first.count);
	assert_int_equal(f->read.count, first.count + (17 << 10) + f->written.count);
	/* Without the first chunk, its definitions come from the state. */
	fd = open(f->path, O_WRONLY);
	assert_int_equal(pwrite(fd, "XXXX", 4, FILE_HEAD + CHUNK_HEAD), 4);
	close(fd);
	assert_int_equal(read_back(f), 0);
	assert_true(log_within(&f->written, &f->read));
	assert_non_null(memmem(f->read.bytes.data, f->read.bytes.len, "add-on 48", 9));
	assert_non_null(memmem(f->read.bytes.data, f->read.bytes.len, "demohost", 9));
	log_free(&first);
}

/* ---------------------------------------------------- From somewhere else -- */

static void what_is_no_recording_is_named(void **state)
{
	static const char *const contents[] = { "", "v", "{\"schema\":1}\n",
						"vmspan\n\n is not the magic of a recording" };
	struct file *f = *state;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(contents); i++) {
		spill(f->copy, contents[i], strlen(contents[i]));
		assert_int_equal(read_copy(f), -EBADMSG);
		assert_int_equal(err_status(&f->err), EXIT_FAILED);
		assert_non_null(strstr(f->err.what, "not a vmspan recording"));
		assert_non_null(strstr(f->err.hint, "vmspan record"));
	}
}

static void another_version_says_what_to_do(void **state)
{
	static const char *const words[] = { "an older vmspan", "a newer vmspan" };
	struct file *f = *state;
	size_t len, i;
	u8 *p;

	write_small(f, 1, 1, false);
	p = slurp(f->path, &len);
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		p[8] = (u8)(FILE_MAJOR - 1 + 2 * i);
		spill(f->copy, p, len);
		assert_int_equal(read_copy(f), -EPROTONOSUPPORT);
		assert_int_equal(err_status(&f->err), EXIT_FAILED);
		assert_non_null(strstr(f->err.what, words[i]));
		assert_non_null(strstr(f->err.hint, "version"));
	}
	free(p);
}

static void what_cannot_be_read_or_written_is_refused(void **state)
{
	struct file *f = *state;
	struct source_info info;
	char path[TEMP_PATH + 16];

	assert_null(rec_open(f->path, &info, &f->err));
	assert_int_equal(f->err.code, -ENOENT);
	f->err = (struct err){ 0 };
	assert_null(rec_open(f->dir, &info, &f->err));
	assert_non_null(strstr(f->err.what, "not a regular file"));
	f->err = (struct err){ 0 };
	assert_null(rec_create(f->dir, test_info(), NULL, &f->err));
	assert_int_equal(f->err.code, -EISDIR);
	f->err = (struct err){ 0 };
	snprintf(path, sizeof(path), "%s/none/x", f->dir);
	assert_null(rec_create(path, test_info(), NULL, &f->err));
	assert_int_equal(f->err.code, -ENOENT);
	assert_int_equal(mkfifo(f->path, 0600), 0);
	f->err = (struct err){ 0 };
	assert_null(rec_create(f->path, test_info(), NULL, &f->err));
	assert_int_equal(f->err.code, -ESPIPE);
	assert_non_null(strstr(f->err.hint, "pipe"));
	f->err = (struct err){ 0 };
	assert_null(rec_open(f->path, &info, &f->err));
	assert_int_equal(f->err.code, -ESPIPE);
}

/* ---------------------------------------------------------------- Full -- */

static void a_full_device_is_an_error(void **state)
{
	struct file *f = *state;

	assert_null(rec_create("/dev/full", test_info(), NULL, &f->err));
	assert_int_equal(f->err.code, -ENOSPC);
	assert_non_null(strstr(f->err.what, "/dev/full"));
	assert_non_null(strstr(f->err.what, "No space left on device"));
	assert_non_null(strstr(f->err.hint, "-o FILE"));
}

/* What was written before the disk was full stays readable, all of it. */
static void a_write_error_sticks_and_loses_nothing_written(void **state)
{
	struct file *f = *state;
	struct stream s = { .log = &f->written };
	struct rlimit old, limit;
	struct rec_totals t;
	struct item it = clock_item(0);
	size_t len;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = (struct rlimit){ 700001, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	s.w = create(f, NULL);
	stream_begin(&s, 77);
	stream_events(&s, 100000);
	rec_totals(s.w, &t);
	assert_int_equal(s.rc, -EFBIG);
	assert_int_equal(rec_item(s.w, &it), -EFBIG);
	assert_int_equal(rec_sync(s.w, &f->err), -EFBIG);
	f->err = (struct err){ 0 };
	assert_int_equal(rec_close(s.w, &f->err), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_non_null(strstr(f->err.what, f->path));
	assert_non_null(strstr(f->err.what, "File too large"));
	assert_non_null(strstr(f->err.what, "KB written before stay readable"));
	assert_non_null(strstr(f->err.hint, "ulimit"));
	free(slurp(f->path, &len));
	assert_int_equal(t.bytes, len); /* no torn chunk is left */
	assert_true(t.chunks >= 2);
	assert_int_equal(read_back(f), 0);
	assert_string_equal(f->note, "the recording was not finished");
	assert_int_equal(log_common(&f->read, &f->written), f->read.count);
	assert_true(f->read.records > 100000);
}

/* ---------------------------------------------------------------- Size -- */

static void size_of(struct file *f, double sigma, bool plain, double *encoded, double *file)
{
	struct rec_options o = { .no_deflate = plain };
	struct stream s = { .w = create(f, &o), .log = NULL };
	struct rec_totals t;
	struct stat st;

	stream_begin(&s, 1);
	s.g.sigma = sigma;
	stream_events(&s, 20000);
	assert_int_equal(rec_sync(s.w, &f->err), 0);
	rec_totals(s.w, &t);
	assert_int_equal(rec_close(s.w, &f->err), 0);
	assert_int_equal(stat(f->path, &st), 0);
	*encoded = (double)t.encoded_bytes / (double)t.spans;
	*file = (double)st.st_size / (double)t.spans;
	print_message("sigma %.2f: %" PRIu64 " spans, %.1f an event: %.3f bytes a span encoded, "
		      "%.3f in the file\n",
		      sigma, t.spans, (double)t.spans / (double)t.events, *encoded, *file);
}

static void spans_take_few_bytes(void **state)
{
	static const double sigmas[] = { 0.1, 0.2, 0.4, 0.8 };
	double encoded, file;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sigmas); i++) {
		size_of(*state, sigmas[i], false, &encoded, &file);
		assert_true(encoded <= 6);
		if (sigmas[i] <= 0.2)
			assert_true(file <= 3);
	}
}

/* A chunk of spans whose lengths repeat, spread over so many cycles: the wider,
 * the more bytes a record takes, and all of it can be deflated. */
static void repeating_chunk(struct file *f, struct stream *s, u32 spread)
{
	u32 i;

	for (i = 0; i < 4000; i++) {
		struct vmspan_span *span = gen_append(&s->g, VMSPAN_SPAN, 1, 0, 1);
		u64 seed = i % 128;

		span->begin = s->g.now;
		span->end = s->g.now += 100 + gen_random(&seed) % spread;
		s->g.now += 100;
	}
	gen_flush(&s->g);
	assert_int_equal(rec_sync(s->w, &f->err), 0);
}

/* Rule: records of at most two bytes each are stored as they are, others deflated. */
static void small_records_are_not_deflated(void **state)
{
	static const u32 spread[] = { 4096, 16384 };
	struct file *f = *state;
	struct stream s = { .w = create(f, NULL) };
	struct file_head file;
	struct chunk_head h[1 + ARRAY_SIZE(spread)];
	size_t len, at = FILE_HEAD, i;
	u8 *p;

	stream_begin(&s, 1);
	assert_int_equal(rec_sync(s.w, &f->err), 0);
	for (i = 0; i < ARRAY_SIZE(spread); i++)
		repeating_chunk(f, &s, spread[i]);
	assert_int_equal(rec_close(s.w, &f->err), 0);
	p = slurp(f->path, &len);
	assert_int_equal(file_head_get(p, len, &file), FILE_HEAD_GOOD);
	for (i = 0; i < ARRAY_SIZE(h); at += CHUNK_HEAD + h[i++].stored) {
		assert_true(at + CHUNK_HEAD <= len);
		assert_true(chunk_head_get(p + at, file.id, &h[i]));
	}
	/* Definitions alone always are. */
	assert_int_equal(h[0].records, 0);
	assert_int_equal(h[0].packing, CHUNK_DEFLATED);
	assert_in_range(h[1].raw, h[1].records + 1, 2 * h[1].records);
	assert_int_equal(h[1].packing, CHUNK_PLAIN);
	assert_in_range(h[2].raw, 2 * h[2].records + 1, 3 * h[2].records);
	assert_int_equal(h[2].packing, CHUNK_DEFLATED);
	free(p);
}

/* --------------------------------------------------------- The document -- */

/* The file that FORMAT.md shows, byte by byte. */
static void the_example_of_the_document_is_true(void **state)
{
	struct file *f = *state;
	struct rec_options o = { .no_deflate = true };
	struct rec_writer *w = create(f, &o);
	struct buf defs = { 0 }, hex = { 0 };
	struct item it = { .type = ITEM_BATCH };
	struct vmspan_span spans[2] = {
		{ { VMSPAN_SPAN, 1, 1, 2 }, 1000200, 1000900, 3, 3, 1 },
		{ { VMSPAN_SPAN, 1, 0, 1 }, 1000100, 1001000, 3, 3, 1 },
	};
	char line[256];
	FILE *doc = fopen("user/rec/FORMAT.md", "r");
	size_t len;
	u8 *p;
	u32 one = 1;

	it = (struct item){ .type = ITEM_CLOCK, .clock = { 1000000, 500000, 7500000 } };
	assert_int_equal(rec_item(w, &it), 0);
	it = (struct item){ .type = ITEM_PROCESS };
	it.process = (struct item_process){ PROCESS_SEEN, 42, 1, 500010, "host", "sdk" };
	assert_int_equal(rec_item(w, &it), 0);
	put_def(&defs, VMSPAN_DEF_GROUP, 1, VMSPAN_PAGE, NULL, 0, "page");
	put_def(&defs, VMSPAN_DEF_COMPARTMENT, 1, 0, &one, 1, "main");
	it = defs_item(42, &defs);
	it.defs.registry = 0x1000;
	assert_int_equal(rec_item(w, &it), 0);
	it = (struct item){ .type = ITEM_BATCH };
	it.batch = (struct item_batch){ .pid = 42,
					.tid = 42,
					.registry = 0x1000,
					.thread = 1,
					.records = 2,
					.bytes = sizeof(spans),
					.data = spans };
	assert_int_equal(rec_item(w, &it), 0);
	assert_int_equal(rec_close(w, &f->err), 0);
	p = slurp(f->path, &len);
	if (getenv("VMSPAN_TEST_SHOW")) {
		for (size_t i = 0; i < len; i++) {
			if (i % 16 == 0)
				printf("%s%04zx ", i ? "\n" : "", i);
			printf(" %02x", p[i]);
		}
		printf("\n");
	}
	assert_non_null(doc);
	while (fgets(line, sizeof(line), doc)) {
		unsigned int at, b;
		int used, n;

		if (sscanf(line, "%4x  %n", &at, &used) != 1 || used != 6 || at != hex.len)
			continue;
		while (sscanf(line + used, "%2x%n", &b, &n) == 1) {
			buf_put_u8(&hex, (u8)b);
			used += n;
		}
	}
	fclose(doc);
	assert_int_equal(hex.len, len);
	assert_memory_equal(hex.data, p, len);
	buf_free(&hex);
	buf_free(&defs);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_read_is_what_was_written),
		TEST(replay_hands_out_the_same),
		TEST(what_the_taker_returns_ends_the_reading),
		TEST(totals_count_what_was_taken),
		TEST(what_cannot_be_kept_is_counted),
		TEST(many_threads_span_several_chunks),
		TEST(a_second_ends_a_chunk),
		TEST(a_file_cut_at_any_byte_is_read_up_to_there),
		TEST(a_file_cut_says_what_was_not_read),
		TEST(a_byte_changed_never_passes_unseen),
		TEST(a_damaged_chunk_in_the_middle_is_passed_over),
		TEST(a_state_makes_up_for_a_damaged_chunk),
		TEST(what_is_no_recording_is_named),
		TEST(another_version_says_what_to_do),
		TEST(what_cannot_be_read_or_written_is_refused),
		TEST(a_full_device_is_an_error),
		TEST(a_write_error_sticks_and_loses_nothing_written),
		TEST(spans_take_few_bytes),
		TEST(small_records_are_not_deflated),
		TEST(the_example_of_the_document_is_true),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
