/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a recording. Checksums would stop nearly all of them at the
 * door, so they are made to match first: frames are found by their magic, and
 * what lies behind is what the decoder has to bear.
 */
#include "rec/chunk.h"
#include "rec/rec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads every byte that an item points to. */
static int touch(void *ctx, const struct item *it)
{
	u32 *sum = ctx;

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
	copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	/* The last byte says whether damage is to be met as it is. */
	if (data[size - 1] & 1)
		make_checksums_match(copy, size);
	fd = memfd_create("rec", 0);
	if (fd < 0 || write(fd, copy, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = rec_open(path, &info, &err);
	if (r) {
		do
			rc = rec_read(r, touch, &sum, &err);
		while (rc > 0);
		sum += rec_note(r) != NULL;
	}
	rec_reader_free(r);
	close(fd);
	free(copy);
	return 0;
}
