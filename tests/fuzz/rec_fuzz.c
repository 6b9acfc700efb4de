/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a recording. Checksums would stop nearly all of them at the
 * door, so they are made to match first: frames are found by their magic, and
 * what lies behind is what the decoder has to bear.
 */
#include "rec/chunk.h"
#include "rec/rec.h"
#include "reached.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Recordings: opened, read to an end with something to tell of, and with nothing. */
static struct reached opened = { .what = "opened" }, noted = { .what = "noted" },
		      whole = { .what = "whole" };
static struct reached items[] = {
	[ITEM_CLOCK] = { .what = "clock" },   [ITEM_PROCESS] = { .what = "process" },
	[ITEM_THREAD] = { .what = "thread" }, [ITEM_DEFS] = { .what = "defs" },
	[ITEM_BATCH] = { .what = "batch" },   [ITEM_LOSS] = { .what = "loss" },
};

/* Reads every byte that an item points to. */
static int touch(void *ctx, const struct item *it)
{
	u32 *sum = ctx;

	if (it->type < ARRAY_SIZE(items))
		reach(&items[it->type]);
	switch (it->type) {
	case ITEM_PROCESS:
		*sum += (u32)strlen(it->process.name) + (u32)strlen(it->process.vm);
		break;
	case ITEM_THREAD:
		*sum += (u32)strlen(it->thread.name);
		break;
	case ITEM_DEFS:
		if (batch_check(it->defs.data, it->defs.bytes, UINT32_MAX))
			abort();
		*sum += (u32)crc32(0, it->defs.data, it->defs.bytes);
		break;
	case ITEM_BATCH:
		if (batch_check(it->batch.data, it->batch.bytes, it->batch.records))
			abort();
		*sum += (u32)crc32(0, it->batch.data, it->batch.bytes);
		break;
	case ITEM_CLOCK:
		*sum += (u32)it->clock.cycles;
		break;
	case ITEM_LOSS:
		*sum += loss_name(it->loss.cause)[0];
		break;
	case ITEM_UNFINISHED:
		if (!unfinished_is_sound(&it->unfinished))
			abort();
		*sum += (u32)crc32(0, (const u8 *)it->unfinished.stay,
				   it->unfinished.stay_count * (u32)sizeof(it->unfinished.stay[0]));
		break;
	case ITEM_COST:
		*sum += (u32)it->cost.cpu_ns;
		break;
	case ITEM_OPEN: /* none is read from a recording */
		abort();
	}
	return 0;
}

static void put32(u8 *p, u32 v)
{
	memcpy(p, &v, sizeof(v));
}

static void make_checksums_match(u8 *p, size_t size)
{
	size_t at = FILE_HEAD;
	u32 stored;

	if (size < FILE_HEAD)
		return;
	put32(p + FILE_HEAD - 4, (u32)crc32(0, p, FILE_HEAD - 4));
	while (at + CHUNK_HEAD <= size) {
		at += chunk_search(p + at, size - at);
		if (at + CHUNK_HEAD > size)
			return;
		memcpy(p + at + 40, p + 20, 4); /* the file's id */
		memcpy(&stored, p + at + 28, 4);
		if (stored <= size - at - CHUNK_HEAD)
			put32(p + at + 36, (u32)crc32(0, p + at + CHUNK_HEAD, stored));
		put32(p + at + 44, (u32)crc32(0, p + at, 44));
		at += 4;
	}
}

/* Of the trailer, of a file that has one. */
static void make_end_match(u8 *p, size_t size)
{
	static const u8 magic[] = { 'v', 's', 0xe4, '\n' };
	u8 *t = p + size - FILE_TRAILER;

	if (size < FILE_HEAD + FILE_TRAILER || memcmp(t, magic, sizeof(magic)) != 0)
		return;
	memcpy(t + 4, p + 20, 4);
	put32(t + 28, (u32)crc32(0, t, 28));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source_info info;
	struct rec_reader *r;
	struct err err = { 0 };
	char path[64];
	u32 sum = 0;
	u8 *copy;
	int fd, rc;

	if (!size)
		return 0;
	/* The last byte is not of the file: it says whether damage is to be met as it is. */
	size--;
	copy = malloc(size + 1);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (data[size] & 1) {
		make_checksums_match(copy, size);
		make_end_match(copy, size);
	}
	fd = memfd_create("rec", 0);
	if (fd < 0 || write(fd, copy, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = rec_open(path, &info, &err);
	if (r) {
		do
			rc = rec_read(r, touch, &sum, &err);
		while (rc > 0);
		reach(&opened);
		sum += rec_note(r) != NULL;
		if (!rc)
			reach(rec_note(r) ? &noted : &whole);
	}
	rec_reader_free(r);
	close(fd);
	free(copy);
	return 0;
}
