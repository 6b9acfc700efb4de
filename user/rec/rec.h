/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recordings. FORMAT.md describes the file. The writer is an item_fn; the
 * reader hands out the same items again.
 */
#ifndef REC_REC_H
#define REC_REC_H

#include "base/file.h"
#include "source/source.h"

struct rec_writer;
struct rec_reader;

/* A ring has segments that are long enough to begin with all that is known, and an index. */
#define REC_RING_MIN (256u << 10)

struct rec_options {
	u64 ring_bytes; /* 0: keep all; else only the newest chunks that fit; REC_RING_MIN at least */
	/* Reads the clocks, where the items come as they are made: what a ring keeps begins to the moment then.
	 * NULL: up to an interval of clock items later. */
	void (*clock)(enum source_clock clock, struct item_clock *now);
	bool no_deflate;
	struct file_made made; /* for it, a moment ago */
};

struct rec_totals {
	u64 spans, events, records, bytes, chunks;
	u64 encoded_bytes; /* of chunk contents before deflate */
	u64 lost_records; /* by ITEM_LOSS */
};

/* Creates (truncates) path. NULL with *err filled. */
struct rec_writer *rec_create(const char *path, const struct source_info *info,
			      const struct rec_options *options, struct err *err);
/* An item_fn: ctx is the writer. A write error sticks and is returned; chunks
 * written before it stay readable. */
int rec_item(void *w, const struct item *it);
/* Writes out the chunk under way, so a reader sees all up to now. */
int rec_sync(struct rec_writer *w, struct err *err);
void rec_totals(const struct rec_writer *w, struct rec_totals *t);
/* Completes the file (index, "finished" mark) and frees the writer. On error
 * the file stays readable up to its last whole chunk. */
int rec_close(struct rec_writer *w, struct err *err);

struct rec_reader *rec_open(const char *path, struct source_info *info, struct err *err);
/* The file is still being written, by this process, and rec_sync() has written all up to now: that
 * its end is missing is no loss. */
void rec_goes_on(struct rec_reader *r);
/* Hands the items of the next chunk to fn. 1: there may be more; 0: end;
 * negative: a broken file (err) or what fn returned. */
int rec_read(struct rec_reader *r, item_fn fn, void *ctx, struct err *err);
/* What is wrong with the file, or NULL; valid after rec_read returned 0. */
const char *rec_note(const struct rec_reader *r);
void rec_reader_free(struct rec_reader *r);

#endif
