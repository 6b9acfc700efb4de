/* SPDX-License-Identifier: BSD-2-Clause */
/* Records put aside, compressed output, protobuf's wire format. */
#include "base/gzip.h"
#include "base/out.h"
#include "base/proto.h"
#include "base/spool.c"
#include "temp.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

/* A record of stream `stream`, number n: its size and bytes follow from both. */
static size_t make_record(u8 *to, u32 stream, u64 n)
{
	size_t size = (n * 2654435761u + stream * 977) % 200, i;

	memcpy(to, &n, sizeof(n));
	for (i = 8; i < 8 + size; i++)
		to[i] = (u8)(n + stream + i);
	return 8 + size;
}

struct reading {
	u32 stream;
	u64 next, left;
	bool backwards;
};

static int check_record(void *ctx, const void *record, size_t size)
{
	struct reading *r = ctx;
	u8 want[256];

	assert_int_equal((uintptr_t)record % 8, 0);
	assert_int_equal(size, make_record(want, r->stream, r->next));
	assert_memory_equal(record, want, size);
	r->next += r->backwards ? -1 : 1;
	r->left--;
	return 0;
}

static void check_stream(struct spool *s, u32 stream, u64 count)
{
	struct reading forwards = { stream, 0, count, false };
	struct reading backwards = { stream, count - 1, count, true };

	assert_int_equal(spool_count(s, stream), count);
	assert_int_equal(spool_read(s, stream, false, check_record, &forwards), 0);
	assert_int_equal(forwards.left, 0);
	assert_int_equal(spool_read(s, stream, true, check_record, &backwards), 0);
	assert_int_equal(backwards.left, 0);
}

static void put_records(struct spool *s, u32 stream, u64 from, u64 to)
{
	u8 record[256];
	u64 n;

	for (n = from; n < to; n++) {
		size_t size = make_record(record, stream, n);

		assert_int_equal(spool_put(s, stream, record, size), 0);
	}
}

static void streams_are_read_both_ways(void **state)
{
	static const u64 counts[] = { 0, 1, 50, 5000, 40000 };
	struct spool *s = spool_new(temp_folder());
	u64 step;
	u32 i;

	(void)state;
	for (i = 0; i < 5; i++)
		assert_int_equal(spool_stream(s), i);
	/* Mixed, so that blocks of the streams are mixed in the file. */
	for (step = 0; step < 100; step++)
		for (i = 0; i < 5; i++)
			put_records(s, i, counts[i] * step / 100, counts[i] * (step + 1) / 100);
	for (i = 0; i < 5; i++)
		check_stream(s, i, counts[i]);
	/* Reading does not end writing. */
	put_records(s, 4, 40000, 50000);
	check_stream(s, 4, 50000);
	spool_free(s);
}

static void cleared_space_is_used_again(void **state)
{
	struct spool *s = spool_new(temp_folder());
	u32 i;

	(void)state;
	spool_stream(s);
	spool_stream(s);
	for (i = 0; i < 20; i++) {
		put_records(s, 0, 0, 3000);
		put_records(s, 1, i * 3000, (i + 1) * 3000);
		check_stream(s, 0, 3000);
		spool_clear(s, 0);
		assert_int_equal(spool_count(s, 0), 0);
		check_stream(s, 1, (i + 1) * 3000);
	}
	spool_free(s);
}

static int stop_at_third(void *ctx, const void *record, size_t size)
{
	u64 *n = ctx;

	(void)record;
	(void)size;
	return ++*n == 3 ? -EINTR : 0;
}

static void errors_come_back(void **state)
{
	struct spool *s = spool_new("/nowhere/at/all");
	u8 record[200] = { 0 };
	u64 n = 0;
	int rc = 0;

	(void)state;
	spool_stream(s);
	put_records(s, 0, 0, 10);
	assert_int_equal(spool_read(s, 0, false, stop_at_third, &n), -EINTR);
	assert_int_equal(n, 3);
	assert_int_equal(spool_put(s, 0, record, SPOOL_RECORD_MAX + 1), -E2BIG);
	/* Only what does not fit in memory needs the folder. */
	for (n = 0; !rc && n < 1000; n++)
		rc = spool_put(s, 0, record, sizeof(record));
	assert_int_equal(rc, -ENOENT);
	assert_in_range(n, 100, 900);
	spool_free(s);
}

static int touch(void *ctx, const void *record, size_t size)
{
	const u8 *p = record;

	(void)ctx;
	while (size--)
		assert_int_equal(*p++, 7);
	return 0;
}

/* The file has no name, but a disk may fail, and what it gives back is not believed. */
static void a_block_that_is_not_whole_is_an_error(void **state)
{
	struct spool *s = spool_new(temp_folder());
	struct block_head h;
	u8 record[200];
	u32 way;
	u64 i;

	(void)state;
	memset(record, 7, sizeof(record));
	spool_stream(s);
	for (i = 0; i < 1000; i++)
		assert_int_equal(spool_put(s, 0, record, sizeof(record)), 0);
	assert_int_equal(spool_read(s, 0, false, touch, NULL), 0);
	/* Of the first block more is in use than a block can hold. */
	assert_int_equal(pread(s->fd, &h, sizeof(h), 0), sizeof(h));
	assert_true(h.used <= BLOCK_ROOM && h.used > BLOCK_ROOM - 300);
	for (way = 0; way < 2; way++) {
		struct block_head bad = h;

		bad.used = way ? BLOCK_ROOM + 1 : UINT64_MAX;
		assert_int_equal(pwrite(s->fd, &bad, sizeof(bad), 0), sizeof(bad));
		assert_int_equal(spool_read(s, 0, false, touch, NULL), -EIO);
		assert_int_equal(spool_read(s, 0, true, touch, NULL), -EIO);
	}
	assert_int_equal(pwrite(s->fd, &h, sizeof(h), 0), sizeof(h));
	assert_int_equal(spool_read(s, 0, true, touch, NULL), 0);
	/* It ends a byte before its data does, within its head, and before it. */
	for (way = 0; way < 3; way++) {
		off_t ends[] = { (off_t)(sizeof(h) + h.used - 1), sizeof(h) - 1, 0 };

		assert_int_equal(ftruncate(s->fd, ends[way]), 0);
		assert_int_equal(spool_read(s, 0, false, touch, NULL), -EIO);
	}
	spool_free(s);
}

static void gzip_gives_back_what_was_written(void **state)
{
	char path[TEMP_PATH], line[64], got[64];
	int fd = temp_file(path), i;
	struct gzip *g = gzip_open(fd);
	struct out o;
	gzFile f;

	(void)state;
	assert_non_null(g);
	out_open_fn(&o, gzip_write, g);
	for (i = 0; i < 100000; i++)
		out_printf(&o, "line %d of many\n", i);
	assert_int_equal(out_close(&o), 0);
	assert_true(o.written > 1000000);
	assert_int_equal(gzip_finish(g), 0);
	gzip_free(g);
	assert_true(lseek(fd, 0, SEEK_END) < 400000);
	f = gzopen(path, "r");
	assert_non_null(f);
	for (i = 0; i < 100000; i++) {
		snprintf(line, sizeof(line), "line %d of many\n", i);
		assert_string_equal(gzgets(f, got, sizeof(got)), line);
	}
	assert_null(gzgets(f, got, sizeof(got)));
	gzclose(f);
	close(fd);
}

static int refuse(void *ctx, const void *p, size_t n)
{
	(void)p;
	(void)n;
	++*(int *)ctx;
	return -ENOSPC;
}

static void an_error_of_the_function_sticks(void **state)
{
	char space[1000] = { 0 };
	int calls = 0, i;
	struct out o;

	(void)state;
	out_open_fn(&o, refuse, &calls);
	for (i = 0; i < 10000; i++)
		out_write(&o, space, sizeof(space));
	assert_int_equal(out_flush(&o), -ENOSPC);
	assert_int_equal(calls, 1);
	assert_int_equal(out_close(&o), -ENOSPC);
}

/* Bytes as protoc writes the same message. */
static void protobuf_is_as_specified(void **state)
{
	static const u8 want[] = {
		0x08, 0x96, 0x01, /* 1: 150 */
		0x12, 0x07, 't',  'e',  's',  't',  'i',  'n',  'g', /* 2: "testing" */
		0x1a, 0x03, 0x08, 0x96, 0x01, /* 3: { 1: 150 } */
		0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, /* 4: -1 */
		0xf9, 0x02, 8,    7,    6,    5,    4,    3,    2,    1, /* 47: fixed64 */
		0x32, 0x00, /* 6: {} */
	};
	struct buf b = { 0 };
	size_t at;

	(void)state;
	proto_u64(&b, 1, 150);
	proto_bytes(&b, 2, "testing", 7);
	at = proto_begin(&b, 3);
	proto_u64(&b, 1, 150);
	proto_end(&b, at);
	proto_i64(&b, 4, -1);
	proto_fixed64(&b, 47, 0x0102030405060708ull);
	proto_end(&b, proto_begin(&b, 6));
	assert_int_equal(b.len, sizeof(want));
	assert_memory_equal(b.data, want, sizeof(want));
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_are_read_both_ways),
		cmocka_unit_test(cleared_space_is_used_again),
		cmocka_unit_test(errors_come_back),
		cmocka_unit_test(a_block_that_is_not_whole_is_an_error),
		cmocka_unit_test(gzip_gives_back_what_was_written),
		cmocka_unit_test(an_error_of_the_function_sticks),
		cmocka_unit_test(protobuf_is_as_specified),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
