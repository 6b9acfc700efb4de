/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as batches: what batch_check() lets pass comes back as it was. */
#include "rec/codec.h"
#include "reached.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct reached several = { .what = "several-batches" };

struct seen {
	const u8 *data;
	u32 size, at;
};

static int compare(void *ctx, const struct item *it)
{
	struct seen *s = ctx;

	if (it->type != ITEM_BATCH || it->batch.bytes > s->size - s->at ||
	    memcmp(s->data + s->at, it->batch.data, it->batch.bytes))
		abort();
	s->at += it->batch.bytes;
	return 0;
}

/* Whole records from *at on that make a batch: at most `most`. */
static u32 cut_batch(const u8 *data, u32 size, u32 at, u32 most, u32 *records)
{
	u32 end = at;

	*records = 0;
	while (end + VMSPAN_SLOT <= size && *records < most) {
		u32 bytes = data[end + 1] * (u32)VMSPAN_SLOT;

		if (!bytes || bytes > size - end || batch_check(data + end, bytes, 1))
			break;
		end += bytes;
		++*records;
	}
	return end - at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct item_clock none = { 0 };
	struct item it = { .type = ITEM_BATCH };
	struct codec_result result;
	struct seen seen = { 0 };
	struct buf out = { 0 };
	static struct codec *c; /* one for all: it is large, and made as one that reads on */
	u32 at = 0, records, full = 0;
	u8 *copy = aligned_alloc(8, (size + 15) & ~(size_t)7);

	if (!c)
		c = codec_new();
	if (!c || !copy)
		abort();
	memcpy(copy, data, size);
	codec_begin(c, &out, &none, size ? (u64)data[0] << 25 : 0, size > 1 ? data[1] : 0);
	do {
		it.batch.bytes = cut_batch(copy, (u32)size, at, 1 + at % 7, &records);
		it.batch.records = records;
		it.batch.data = copy + at;
		it.batch.tid = records % 3;
		if (codec_put(c, &out, &it))
			abort();
		at += it.batch.bytes;
		full += records > 1;
	} while (records);
	if (!buf_space(&out, CODEC_PAD))
		abort();
	memset(out.data + out.len, 0xff, CODEC_PAD);
	seen = (struct seen){ copy, at, 0 };
	if (codec_read(c, out.data, out.len, false, compare, &seen, &result) || result.bad ||
	    seen.at != at)
		abort();
	if (full > 1)
		reach(&several);
	buf_free(&out);
	free(copy);
	return 0;
}
