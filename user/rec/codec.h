/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Items <-> the content of one chunk. A chunk is coded by itself: a codec
 * forgets everything when it begins one. FORMAT.md, "Content of a chunk".
 */
#ifndef REC_CODEC_H
#define REC_CODEC_H

#include "base/buf.h"
#include "model/item.h"

enum {
	CODEC_ITEM_MAX = 1 << 20, /* bytes of records in one item */
	CODEC_STRING_MAX = 1023, /* longer names are cut */
	CODEC_PAD = 8, /* readable bytes that lie behind a content to read */
};

struct codec;

struct codec *codec_new(void);
void codec_free(struct codec *c);

/*
 * Begins a chunk at the end of `out`. The clocks of `anchor` hold at its start
 * (all 0: not known); ns_per_cycle, 32.32 fixed point, and the step of the
 * counter, in cycles, may be any guess.
 */
int codec_begin(struct codec *c, struct buf *out, const struct item_clock *anchor, u64 ns_per_cycle,
		u32 step);
/* The bytes that the item may add; SIZE_MAX: more than CODEC_ITEM_MAX. */
size_t codec_bound(const struct item *it);
/*
 * Adds an item. A batch must have passed batch_check(). 0; -ENOMEM; -EMSGSIZE:
 * it is too large to be kept; -ENOSPC: too many threads, begin another chunk.
 */
int codec_put(struct codec *c, struct buf *out, const struct item *it);
/* The same for a batch whose batch_sum is known; `turn` as it says. */
int codec_put_batch(struct codec *c, struct buf *out, const struct item_batch *b, bool turn);

/* What came of reading a content. */
struct codec_result {
	u64 records; /* in the batches handed out */
	u64 unknown; /* items of kinds that this version does not know */
	bool bad; /* it made no sense from some place on */
};

/*
 * Hands the items to fn, the anchor first if `with_anchor`. 0 or what fn
 * returned.
 */
int codec_read(struct codec *c, const u8 *data, size_t len, bool with_anchor, item_fn fn, void *ctx,
	       struct codec_result *result);

#endif
