/* SPDX-License-Identifier: BSD-2-Clause */
/* Recordings whose checksums are right and whose contents lie: forged, put
 * together from several, or of a later version. */
#include "rec_file.h"

#include "base/varint.h"
#include "rec/chunk.h"
#include "rec/codec.h"

#include <zlib.h>

/* -------------------------------------------------------------- Content -- */

/* One item as a chunk's content, and where its body begins. */
struct content {
	struct codec *codec;
	struct buf bytes;
	size_t at;
};

static void encode(struct content *c, const struct item *it)
{
	struct item_clock none = { 0 };

	*c = (struct content){ .codec = codec_new() };
	assert_non_null(c->codec);
	assert_int_equal(codec_begin(c->codec, &c->bytes, &none, 1, 1), 0);
	c->at = c->bytes.len + 2; /* tag and length */
	assert_int_equal(codec_put(c->codec, &c->bytes, it), 0);
}

static int keep_cause(void *ctx, const struct item *it)
{
	if (it->type == ITEM_LOSS)
		*(struct item_loss *)ctx = it->loss;
	return 0;
}

/* Reads it and lets go of it. */
static bool is_bad(struct content *c, struct item_loss *loss)
{
	struct codec_result result;

	memset(buf_space(&c->bytes, CODEC_PAD), 0, CODEC_PAD);
	assert_int_equal(
		codec_read(c->codec, c->bytes.data, c->bytes.len, false, keep_cause, loss, &result),
		0);
	codec_free(c->codec);
	buf_free(&c->bytes);
	return result.bad;
}

static void a_name_with_a_zero_byte_is_none(void **state)
{
	struct item it = process_item(PROCESS_SEEN, 1, 1, "abcd");
	struct item_loss loss;
	struct content c;
	u8 *name;

	(void)state;
	encode(&c, &it);
	name = memmem(c.bytes.data, c.bytes.len, "abcd", 4);
	assert_non_null(name);
	name[1] = 'x';
	assert_false(is_bad(&c, &loss));
	encode(&c, &it);
	name = memmem(c.bytes.data, c.bytes.len, "abcd", 4);
	name[1] = 0;
	assert_true(is_bad(&c, &loss));
}

/* Times are divided by it. */
static void a_counter_does_not_stand_still(void **state)
{
	struct item it = thread_item(1, 1, "t", true);
	struct item_loss loss;
	struct content c;

	(void)state;
	encode(&c, &it);
	assert_int_equal(c.bytes.data[c.at - 3], 1); /* before tag and length */
	c.bytes.data[c.at - 3] = 26;
	assert_false(is_bad(&c, &loss));
	encode(&c, &it);
	c.bytes.data[c.at - 3] = 0;
	assert_true(is_bad(&c, &loss));
}

static void a_thread_has_ended_or_not(void **state)
{
	struct item it = thread_item(1, 1, "t", true);
	struct item_loss loss;
	struct content c;

	(void)state;
	encode(&c, &it);
	assert_int_equal(c.bytes.data[c.at + 2], 1); /* behind pid and tid */
	c.bytes.data[c.at + 2] = 2;
	assert_true(is_bad(&c, &loss));
}

static void definitions_are_checked_as_those_of_a_target(void **state)
{
	struct item_loss loss;
	struct buf defs = { 0 };
	struct content c;
	struct item it;
	u8 *def;

	(void)state;
	put_def(&defs, VMSPAN_DEF_GROUP, 1, VMSPAN_ADDON, NULL, 0, "abcd");
	it = defs_item(1, &defs);
	encode(&c, &it);
	def = memmem(c.bytes.data, c.bytes.len, defs.data, defs.len);
	assert_non_null(def);
	def[offsetof(struct vmspan_head, slots)] = 0;
	assert_true(is_bad(&c, &loss));
	buf_free(&defs);
}

/* A cause that a later version knows is a loss here too. */
static void a_loss_of_an_unknown_cause_is_one(void **state)
{
	struct item it = { .type = ITEM_LOSS, .loss = { LOSS_RING_FULL, 17, 1, false } };
	struct item_loss loss = { 0 };
	struct content c;

	(void)state;
	encode(&c, &it);
	c.bytes.data[c.at] = 99;
	assert_false(is_bad(&c, &loss));
	assert_int_equal(loss.cause, LOSS_OTHER);
	assert_int_equal(loss.records, 17);
	assert_int_equal(loss.batches, 1);
}

static void numbers_have_64_bits_and_an_end(void **state)
{
	static const struct {
		u8 bytes[12];
		size_t len;
		int rc;
		u64 v;
	} rows[] = {
		{ { 0x7f }, 1, 0, 127 },
		{ { 0x80, 0x01 }, 2, 0, 128 },
		{ { 0x80 }, 1, -EBADMSG, 0 }, /* cut */
		{ { 0 }, 0, -EBADMSG, 0 },
		{ { 255, 255, 255, 255, 255, 255, 255, 255, 255, 1 }, 10, 0, UINT64_MAX },
		{ { 255, 255, 255, 255, 255, 255, 255, 255, 255, 2 }, 10, -EBADMSG, 0 },
		{ { 255, 255, 255, 255, 255, 255, 255, 255, 255, 129, 0 }, 11, -EBADMSG, 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const u8 *p = rows[i].bytes;
		u64 v = 0;

		assert_int_equal(varint_get(&p, rows[i].bytes + rows[i].len, &v), rows[i].rc);
		if (rows[i].rc)
			continue;
		assert_int_equal(v, rows[i].v);
		assert_ptr_equal(p, rows[i].bytes + rows[i].len);
	}
}

/* --------------------------------------------------------------- Frames -- */

static void lengths_beyond_the_bounds_are_no_head(void **state)
{
	struct chunk_head h = { .kind = CHUNK_DATA,
				.stored = CHUNK_STORED_MAX,
				.raw = CHUNK_RAW_MAX,
				.id = 5 },
			  got;
	u8 bytes[CHUNK_HEAD];

	(void)state;
	chunk_head_put(bytes, &h);
	assert_true(chunk_head_get(bytes, 5, &got));
	assert_false(chunk_head_get(bytes, 6, &got)); /* of another recording */
	h.stored++;
	chunk_head_put(bytes, &h);
	assert_false(chunk_head_get(bytes, 5, &got));
	h.stored--;
	h.raw++;
	chunk_head_put(bytes, &h);
	assert_false(chunk_head_get(bytes, 5, &got));
}

static void an_unknown_clock_is_damage(void **state)
{
	struct file_head h = { .major = FILE_MAJOR, .info = *test_info() }, got;
	u8 bytes[FILE_HEAD];

	(void)state;
	file_head_put(bytes, &h);
	assert_int_equal(file_head_get(bytes, sizeof(bytes), &got), FILE_HEAD_GOOD);
	h.info.clock = (enum source_clock)7;
	file_head_put(bytes, &h);
	assert_int_equal(file_head_get(bytes, sizeof(bytes), &got), FILE_HEAD_DAMAGED);
}

/* The bytes of chunk `index` of a file of `len` bytes. */
static size_t chunk_at(const u8 *p, size_t len, u32 index, size_t *size)
{
	struct file_head head;
	struct chunk_head h;
	size_t at = FILE_HEAD;

	assert_int_equal(file_head_get(p, len, &head), FILE_HEAD_GOOD);
	for (;; at += *size) {
		assert_true(chunk_head_get(p + at, head.id, &h));
		*size = CHUNK_HEAD + h.stored;
		if (!index--)
			return at;
	}
}

static void a_chunk_that_is_there_twice_is_read_once(void **state)
{
	struct file *f = *state;
	size_t len, at, size;
	u8 *p, *twice;

	write_small(f, 3, 20, false);
	p = slurp(f->path, &len);
	at = chunk_at(p, len, 1, &size);
	twice = malloc(len + size);
	assert_non_null(twice);
	memcpy(twice, p, at + size);
	memcpy(twice + at + size, p + at, len - at);
	spill(f->copy, twice, len + size);
	assert_int_equal(read_copy(f), 0);
	log_assert_equal(&f->written, &f->read);
	assert_non_null(strstr(f->note, "1 chunk is damaged or missing"));
	free(twice);
	free(p);
}

/* What lies behind the end of a whole recording is not of it. */
static void an_end_must_fit_its_file(void **state)
{
	struct file *f = *state;
	size_t len;
	u8 *p, *longer;

	write_small(f, 2, 20, false);
	p = slurp(f->path, &len);
	longer = malloc(len + FILE_TRAILER);
	assert_non_null(longer);
	memcpy(longer, p, len);
	memcpy(longer + len, p + len - FILE_TRAILER, FILE_TRAILER);
	spill(f->copy, longer, len + FILE_TRAILER);
	assert_int_equal(read_copy(f), 0);
	log_assert_equal(&f->written, &f->read);
	assert_non_null(strstr(f->note, "the end of the recording is missing"));
	free(longer);
	free(p);
}

struct first_items {
	enum item_type type[2];
	u32 count;
};

static int keep_types(void *ctx, const struct item *it)
{
	struct first_items *first = ctx;

	if (it->type != ITEM_LOSS && first->count < ARRAY_SIZE(first->type))
		first->type[first->count++] = it->type;
	return 0;
}

/* Where the first clocks were lost the next chunk brings its own: without any
 * its cycles would have no time. */
static void the_chunk_behind_a_damaged_one_has_clocks(void **state)
{
	struct file *f = *state;
	struct first_items first = { 0 };
	struct source_info info;
	struct rec_reader *r;
	size_t len, at, size;
	u8 *p;
	int rc;

	write_small(f, 3, 20, false);
	p = slurp(f->path, &len);
	at = chunk_at(p, len, 0, &size);
	p[at + CHUNK_HEAD + 1] ^= 1;
	spill(f->copy, p, len);
	r = rec_open(f->copy, &info, &f->err);
	assert_non_null(r);
	while ((rc = rec_read(r, keep_types, &first, &f->err)) > 0)
		;
	assert_int_equal(rc, 0);
	rec_reader_free(r);
	assert_int_equal(first.count, 2);
	assert_int_equal(first.type[0], ITEM_CLOCK);
	assert_int_equal(first.type[1], ITEM_BATCH);
	free(p);
}

/* A recording whose writer was killed has no index that would tell what a damaged chunk at its
 * end held: the chunk's own head does. */
static void the_last_chunk_of_a_killed_writer_is_missed(void **state)
{
	struct file *f = *state;
	struct stream s = { .w = create(f, NULL), .log = &f->written };
	struct err ignored = { 0 };
	size_t len, cut;
	u8 *p;
	u32 i;

	stream_begin(&s, 5);
	for (i = 0; i < 3; i++) {
		stream_events(&s, 20);
		gen_flush(&s.g);
		assert_int_equal(rec_sync(s.w, &f->err), 0);
	}
	p = slurp(f->path, &len);
	rec_close(s.w, &ignored);
	for (cut = 0; cut < 2; cut++) {
		/* Its content is changed; or its end is not there. */
		p[len - 1] ^= 1;
		spill(f->copy, p, len - 10 * cut);
		p[len - 1] ^= 1;
		assert_int_equal(read_copy(f), 0);
		assert_true(f->read.lost > 0);
		assert_true(f->read.records > 0);
		assert_int_equal(f->read.records + f->read.lost, f->written.records);
		assert_non_null(strstr(f->note, "the recording was not finished"));
		assert_non_null(strstr(f->note, cut ? "behind the last whole chunk were not read"
						    : "1 chunk is damaged or missing"));
		assert_non_null(strstr(f->note, "missing for that"));
	}
	free(p);
}

/* A sweep learns late that it samples: the head says so at once, whatever becomes of the
 * writer. */
static void a_killed_writer_has_said_that_it_samples(void **state)
{
	struct file *f = *state;
	struct rec_writer *w = create(f, NULL);
	struct vmspan_sample sample = { .h = { VMSPAN_SAMPLE, 1, 0, 0 }, .time = 5, .weight = 1 };
	struct item it = { .type = ITEM_BATCH };
	struct err ignored = { 0 };
	struct source_info info;
	struct rec_reader *r;
	size_t len;
	u32 sampled;
	u8 *p;

	it.batch = (struct item_batch){ .pid = 1,
					.tid = 1,
					.registry = 0x1000,
					.thread = 1,
					.records = 1,
					.bytes = sizeof(sample),
					.data = &sample };
	for (sampled = 0; sampled < 2; sampled++) {
		struct item clock = clock_item(1ull << 40);

		assert_int_equal(rec_item(w, sampled ? &it : &clock), 0);
		p = slurp(f->path, &len);
		spill(f->copy, p, len);
		free(p);
		r = rec_open(f->copy, &info, &f->err);
		assert_non_null(r);
		assert_int_equal(info.sampled, sampled);
		rec_reader_free(r);
	}
	rec_close(w, &ignored);
}

/* What cannot be known is left out, and that is said. */
static void an_item_of_a_later_version_is_told_of(void **state)
{
	static const char name[] = "of a later version";
	struct rec_options o = { .no_deflate = true };
	struct file *f = *state;
	struct stream s = { .w = create(f, &o), .log = &f->written };
	struct item it = thread_item(7, 7, name, false);
	const u8 *end;
	struct file_head head;
	struct chunk_head h;
	size_t len, at, size;
	u8 *p, *tag;

	stream_begin(&s, 5);
	assert_int_equal(rec_item(s.w, &it), 0);
	assert_int_equal(rec_close(s.w, &f->err), 0);
	p = slurp(f->path, &len);
	at = chunk_at(p, len, 0, &size);
	tag = memmem(p + at, size, name, sizeof(name) - 1);
	assert_non_null(tag);
	/* Its tag, with a length behind that reaches to the name's end. */
	end = tag + sizeof(name) - 1;
	while (tag[0] != 3 || tag + 2 + tag[1] != end)
		tag--;
	*tag = 60;
	assert_int_equal(file_head_get(p, len, &head), FILE_HEAD_GOOD);
	assert_true(chunk_head_get(p + at, head.id, &h));
	h.crc = (u32)crc32(0, p + at + CHUNK_HEAD, h.stored);
	chunk_head_put(p + at, &h);
	spill(f->copy, p, len);
	assert_int_equal(read_copy(f), 0);
	assert_int_equal(f->read.count, f->written.count);
	assert_string_equal(f->note, "1 items of a later version of the format were skipped");
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_name_with_a_zero_byte_is_none),
		TEST(a_counter_does_not_stand_still),
		TEST(a_thread_has_ended_or_not),
		TEST(definitions_are_checked_as_those_of_a_target),
		TEST(a_loss_of_an_unknown_cause_is_one),
		TEST(numbers_have_64_bits_and_an_end),
		TEST(lengths_beyond_the_bounds_are_no_head),
		TEST(an_unknown_clock_is_damage),
		TEST(a_chunk_that_is_there_twice_is_read_once),
		TEST(an_end_must_fit_its_file),
		TEST(the_chunk_behind_a_damaged_one_has_clocks),
		TEST(the_last_chunk_of_a_killed_writer_is_missed),
		TEST(a_killed_writer_has_said_that_it_samples),
		TEST(an_item_of_a_later_version_is_told_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
