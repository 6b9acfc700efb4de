/* SPDX-License-Identifier: BSD-2-Clause */
/* Heads and chunks of a recording, each by itself, and what strangers may write there. */
#include "rec/chunk.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

/* As FORMAT.md has them. */
enum {
	AT_CLOCK = 24,
	AT_HOST = 64,
	AT_TOOL = 128,
	AT_CRC = FILE_HEAD - 4,
};

/* The checksum of what was changed by hand. */
static void seal(u8 *p)
{
	u32 sum = (u32)crc32(0, p, AT_CRC), i;

	for (i = 0; i < 4; i++)
		p[AT_CRC + i] = (u8)(sum >> 8 * i);
}

static struct file_head a_head(void)
{
	return (struct file_head){ .major = FILE_MAJOR,
				   .minor = 3,
				   .flags = FILE_SAMPLED,
				   .id = 0x12345678,
				   .segments = 7,
				   .segment_bytes = 1ull << 40,
				   .info = { .clock = CLOCK_MONO,
					     .cycles_hz = 2400000000ull,
					     .start_mono_ns = 1ull << 50,
					     .start_real_ns = 1ull << 60,
					     .host = "there",
					     .tool = "vmspan" } };
}

static void a_head_comes_back(void **state)
{
	struct file_head h = a_head(), got;
	u8 bytes[FILE_HEAD];
	u32 i;

	(void)state;
	file_head_put(bytes, &h);
	assert_int_equal(file_head_get(bytes, sizeof(bytes), &got), FILE_HEAD_GOOD);
	assert_int_equal(got.minor, 3);
	assert_int_equal(got.flags, FILE_SAMPLED);
	assert_int_equal(got.id, 0x12345678);
	assert_int_equal(got.segments, 7);
	assert_int_equal(got.segment_bytes, 1ull << 40);
	assert_int_equal(got.info.clock, CLOCK_MONO);
	assert_int_equal(got.info.cycles_hz, 2400000000ull);
	assert_int_equal(got.info.start_mono_ns, 1ull << 50);
	assert_int_equal(got.info.start_real_ns, 1ull << 60);
	assert_true(got.info.sampled && !got.info.exact);
	assert_string_equal(got.info.host, "there");
	assert_string_equal(got.info.tool, "vmspan");
	/* No byte of it may be another. */
	for (i = 0; i < FILE_HEAD; i++) {
		bytes[i] ^= 1;
		assert_int_not_equal(file_head_get(bytes, sizeof(bytes), &got), FILE_HEAD_GOOD);
		bytes[i] ^= 1;
	}
	for (i = 0; i < FILE_HEAD; i++)
		assert_int_not_equal(file_head_get(bytes, i, &got), FILE_HEAD_GOOD);
}

static void names_without_an_end_are_cut(void **state)
{
	struct file_head h = a_head(), got;
	u8 bytes[FILE_HEAD];

	(void)state;
	file_head_put(bytes, &h);
	memset(bytes + AT_HOST, 'h', AT_TOOL - AT_HOST);
	memset(bytes + AT_TOOL, 't', sizeof(h.info.tool));
	seal(bytes);
	assert_int_equal(file_head_get(bytes, sizeof(bytes), &got), FILE_HEAD_GOOD);
	assert_int_equal(strnlen(got.info.host, sizeof(got.info.host)), sizeof(got.info.host) - 1);
	assert_int_equal(strnlen(got.info.tool, sizeof(got.info.tool)), sizeof(got.info.tool) - 1);
	bytes[AT_CLOCK] = 9;
	seal(bytes);
	assert_int_equal(file_head_get(bytes, sizeof(bytes), &got), FILE_HEAD_DAMAGED);
}

/* What a chunk unpacks to is as long as its head says: what is behind it in the buffer is another's. */
static void a_chunk_has_all_that_it_says(void **state)
{
	static const char text[] = "what was written, what was written, what was written";
	u8 stored[200], out[200];
	uLongf len = sizeof(stored);
	struct chunk_head h = { .packing = CHUNK_DEFLATED, .raw = sizeof(text) };

	(void)state;
	assert_int_equal(compress(stored, &len, (const u8 *)text, sizeof(text)), Z_OK);
	h.stored = (u32)len;
	assert_int_equal(chunk_unpack(&h, stored, out), 0);
	assert_string_equal((const char *)out, text);
	h.raw++;
	assert_int_equal(chunk_unpack(&h, stored, out), -EBADMSG);
	h.raw -= 2;
	assert_int_equal(chunk_unpack(&h, stored, out), -EBADMSG);
	h.raw++;
	h.stored++;
	assert_int_equal(chunk_unpack(&h, stored, out), -EBADMSG);
	h.stored -= 2;
	assert_int_equal(chunk_unpack(&h, stored, out), -EBADMSG);
	h = (struct chunk_head){ .packing = CHUNK_PLAIN, .raw = 4, .stored = 4 };
	assert_int_equal(chunk_unpack(&h, (const u8 *)text, out), 0);
	assert_memory_equal(out, "what", 4);
	h.raw = 5;
	assert_int_equal(chunk_unpack(&h, (const u8 *)text, out), -EBADMSG);
	h = (struct chunk_head){ .packing = 99, .raw = 4, .stored = 4 };
	assert_int_equal(chunk_unpack(&h, (const u8 *)text, out), -EBADMSG);
}

static void a_chunks_head_is_its_recordings(void **state)
{
	const struct chunk_head h = { .kind = 1,
				      .packing = CHUNK_PLAIN,
				      .flags = 2,
				      .number = 1ull << 40,
				      .first_record = 1ull << 41,
				      .records = 77,
				      .stored = CHUNK_STORED_MAX,
				      .raw = CHUNK_RAW_MAX,
				      .crc = 5,
				      .id = 99 };
	struct chunk_head got, large = h;
	u8 bytes[CHUNK_HEAD];
	u32 i;

	(void)state;
	chunk_head_put(bytes, &h);
	assert_true(chunk_head_get(bytes, 99, &got));
	assert_int_equal(got.kind, h.kind);
	assert_int_equal(got.packing, h.packing);
	assert_int_equal(got.flags, h.flags);
	assert_int_equal(got.number, h.number);
	assert_int_equal(got.first_record, h.first_record);
	assert_int_equal(got.records, h.records);
	assert_int_equal(got.stored, h.stored);
	assert_int_equal(got.raw, h.raw);
	assert_int_equal(got.crc, h.crc);
	assert_int_equal(got.id, h.id);
	assert_false(chunk_head_get(bytes, 98, &got));
	for (i = 0; i < CHUNK_HEAD; i++) {
		bytes[i] ^= 1;
		assert_false(chunk_head_get(bytes, 99, &got));
		bytes[i] ^= 1;
	}
	large.raw++;
	chunk_head_put(bytes, &large);
	assert_false(chunk_head_get(bytes, 99, &got));
	large.raw--;
	large.stored++;
	chunk_head_put(bytes, &large);
	assert_false(chunk_head_get(bytes, 99, &got));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_head_comes_back),
		cmocka_unit_test(names_without_an_end_are_cut),
		cmocka_unit_test(a_chunk_has_all_that_it_says),
		cmocka_unit_test(a_chunks_head_is_its_recordings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
