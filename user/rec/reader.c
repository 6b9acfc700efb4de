/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reader: chunks in, items out. It trusts nothing: every length is bounded
 * before it is used, every chunk's checksum is compared before it is decoded,
 * and where a frame makes no sense the next one that does is searched for.
 *
 * It reads with pread(2) and not from a mapping: a file that is cut while it
 * is read gives an error then, not a SIGBUS.
 */
#include "base/file.h"
#include "base/text.h"
#include "rec/chunk.h"
#include "rec/codec.h"
#include "rec/rec.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum {
	SEARCH_BYTES = 64 << 10,
	RING_CHUNKS_MAX = 1 << 20, /* more is no ring of ours */
};

/* Where a chunk of a ring lies. */
struct place {
	u64 number, offset;
	bool state_begins;
};

struct rec_reader {
	char *path;
	int fd;
	u64 size;
	struct file_head head;
	struct codec *codec;
	u8 *stored, *raw; /* grown to what the chunks need */
	size_t stored_cap, raw_cap;
	/* The way through the file: in a ring by number, else by offset. */
	u64 at;
	struct place *places;
	u32 place_len, place_cap, place_at;
	/* Where in the stream. */
	u64 number; /* the next chunk's */
	u64 records; /* in the chunks before it */
	u64 records_known; /* that were ever in the file, as far as is known */
	bool begun; /* a chunk has been read */
	bool gap; /* something is missing just before this chunk */
	bool lost; /* something is missing, and no state has come since */
	bool in_state; /* a state is being handed out, maybe in several chunks */
	bool state_clock; /* its clock has been */
	bool goes_on; /* it is being recorded: its end is still to come */
	struct item_clock begin; /* of what a ring has kept whole; 0: of all, or not known */
	bool ended;
	/* For the note. */
	bool index_seen, complete;
	u64 bad_tail; /* damaged ones since the last good one */
	u64 bad_chunks, bad_bytes, tail_bytes, unknown, lost_records;
	char note[512];
};

/* -------------------------------------------------------------- Frames -- */

/* 1: a frame head at `offset`; 0: none there; negative errno. */
static int frame_at(struct rec_reader *r, u64 offset, struct chunk_head *h)
{
	u8 bytes[CHUNK_HEAD];
	ssize_t n = file_read(r->fd, bytes, sizeof(bytes), offset);

	if (n < 0)
		return (int)n;
	return n == sizeof(bytes) && chunk_head_get(bytes, r->head.id, h);
}

/* The next frame head from *offset on. 1: found, *offset is there; 0: none up
 * to the end; negative errno. */
static int frame_search(struct rec_reader *r, u64 *offset, struct chunk_head *h)
{
	u8 *window = malloc(SEARCH_BYTES);
	int rc = 0;

	if (!window)
		return -ENOMEM;
	while (!rc && *offset + CHUNK_HEAD <= r->size) {
		ssize_t n = file_read(r->fd, window, SEARCH_BYTES, *offset);
		size_t at = 0, len;

		if (n < CHUNK_HEAD) {
			rc = n < 0 ? (int)n : 0;
			break;
		}
		/* A head must lie in the window as a whole. */
		len = (size_t)n - CHUNK_HEAD + 1;
		while (at < len) {
			at += chunk_search(window + at, (size_t)n - at);
			if (at < len && chunk_head_get(window + at, r->head.id, h)) {
				rc = 1;
				break;
			}
			at += at < len;
		}
		*offset += at < len ? at : len;
	}
	free(window);
	return rc;
}

static int buffer_grow(u8 **p, size_t *cap, size_t n)
{
	u8 *grown;

	if (n <= *cap)
		return 0;
	grown = realloc(*p, n);
	if (!grown)
		return -ENOMEM;
	*p = grown;
	*cap = n;
	return 0;
}

/* Loads the content of the chunk at `offset` into r->raw. 1: done; 0: it is
 * damaged; negative errno. */
static int chunk_load(struct rec_reader *r, u64 offset, const struct chunk_head *h)
{
	ssize_t n;

	if (buffer_grow(&r->stored, &r->stored_cap, h->stored + CODEC_PAD) ||
	    buffer_grow(&r->raw, &r->raw_cap, h->raw + CODEC_PAD))
		return -ENOMEM;
	n = file_read(r->fd, r->stored, h->stored, offset + CHUNK_HEAD);
	if (n < 0)
		return (int)n;
	if (n != h->stored || (u32)crc32(0, r->stored, h->stored) != h->crc ||
	    chunk_unpack(h, r->stored, r->raw))
		return 0;
	memset(r->raw + h->raw, 0, CODEC_PAD);
	return 1;
}

/* ---------------------------------------------------------------- Ring -- */

static int place_add(struct rec_reader *r, const struct chunk_head *h, u64 offset)
{
	if (r->place_len == r->place_cap) {
		u32 cap = r->place_cap ? r->place_cap * 2 : 64;
		struct place *places;

		if (cap > RING_CHUNKS_MAX)
			return -EFBIG;
		places = realloc(r->places, cap * sizeof(*places));
		if (!places)
			return -ENOMEM;
		r->places = places;
		r->place_cap = cap;
	}
	r->places[r->place_len++] = (struct place){
		.number = h->number,
		.offset = offset,
		.state_begins = h->kind == CHUNK_STATE && h->flags & CHUNK_STATE_BEGINS,
	};
	return 0;
}

static int place_order(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

struct two_clocks {
	bool state; /* its own is still to come */
	struct item_clock first;
	bool second; /* none before the first */
};

static int is_clock(void *ctx, const struct item *it)
{
	struct two_clocks *c = ctx;

	if (it->type != ITEM_CLOCK)
		return 0;
	if (c->state) {
		c->state = false;
		return 0;
	}
	c->second = c->first.mono_ns && it->clock.mono_ns >= c->first.mono_ns;
	if (!c->first.mono_ns)
		c->first = it->clock;
	return c->second ? -ECANCELED : 0;
}

/*
 * The clock of a ring's first state was read before the first chunk that is left was begun: what was recorded in between
 * is gone. All from the next clock on is there, which is the one that the state ends with, or the first of the data. Where
 * none comes behind that, what is left is of less than an interval of clocks, and better than nothing.
 */
static int ring_begin(struct rec_reader *r)
{
	struct codec_result ignored;
	struct two_clocks clocks = { .state = true };
	bool state = true;
	u32 i;
	int rc = 0;

	for (i = r->place_at; !rc && i < r->place_len; i++) {
		struct chunk_head h;

		rc = frame_at(r, r->places[i].offset, &h);
		if (rc <= 0)
			continue;
		state &= h.kind == CHUNK_STATE;
		clocks.state &= state;
		rc = state || h.kind == CHUNK_DATA ? chunk_load(r, r->places[i].offset, &h) : 0;
		if (rc > 0)
			rc = codec_read(r->codec, r->raw, h.raw, false, is_clock, &clocks,
					&ignored);
	}
	if (clocks.second)
		r->begin = clocks.first;
	return rc == -ECANCELED ? 0 : rc;
}

/*
 * Finds all chunks of a ring, in the order of the stream. What lies before the
 * first state is the rest of a segment that is being overwritten: its own
 * state is gone, so it is left out.
 */
static int ring_scan(struct rec_reader *r)
{
	u64 at = FILE_HEAD;
	struct chunk_head h;
	u32 first = 0;
	int rc;

	while ((rc = frame_search(r, &at, &h)) > 0) {
		rc = place_add(r, &h, at);
		if (rc)
			return rc;
		at += CHUNK_HEAD + h.stored;
	}
	if (rc < 0 || !r->place_len)
		return rc;
	qsort(r->places, r->place_len, sizeof(*r->places), place_order);
	if (!r->places[0].number)
		return 0;
	while (first < r->place_len && !r->places[first].state_begins)
		first++;
	r->place_at = first < r->place_len ? first : 0;
	return ring_begin(r);
}

/* ------------------------------------------------------------- The way -- */

/* What is behind the last whole chunk. */
static int next_end(struct rec_reader *r)
{
	struct file_trailer t;
	u8 bytes[FILE_TRAILER];
	ssize_t n;

	r->ended = true;
	if (r->size >= FILE_HEAD + FILE_TRAILER) {
		n = file_read(r->fd, bytes, sizeof(bytes), r->size - FILE_TRAILER);
		if (n < 0)
			return (int)n;
		r->complete = n == FILE_TRAILER && file_trailer_get(bytes, r->head.id, &t) &&
			      t.file_bytes == r->size && r->index_seen;
	}
	if (!r->complete && !r->head.segments && r->at < r->size)
		r->tail_bytes = r->size - r->at;
	return 0;
}

static int next_in_ring(struct rec_reader *r, struct chunk_head *h, u64 *offset)
{
	int rc;

	if (r->place_at == r->place_len)
		return next_end(r);
	*offset = r->places[r->place_at++].offset;
	rc = frame_at(r, *offset, h);
	return rc ? rc : -EIO; /* it was there a moment ago */
}

/* 1: a chunk of *h lies at *offset; 0: the end; negative errno. */
static int next_chunk(struct rec_reader *r, struct chunk_head *h, u64 *offset)
{
	u64 from = r->at;
	int rc;

	if (r->head.segments)
		return next_in_ring(r, h, offset);
	rc = frame_at(r, r->at, h);
	if (!rc && !r->index_seen) {
		rc = frame_search(r, &from, h);
	}
	if (rc < 0)
		return rc;
	if (rc > 0 && from + CHUNK_HEAD + h->stored > r->size) {
		/* Cut inside it. What it held is known, but not here. */
		r->records_known = max_u64(r->records_known, h->first_record + h->records);
		rc = 0;
	} else if (rc > 0) {
		r->bad_bytes += from - r->at;
		r->at = from + CHUNK_HEAD + h->stored;
	}
	*offset = from;
	return rc ? rc : next_end(r);
}

/* -------------------------------------------------------------- Stream -- */

static int hand_loss(struct rec_reader *r, u64 records, item_fn fn, void *ctx)
{
	struct item it = { .type = ITEM_LOSS };

	/* What is missing without a count counts all the same. */
	it.loss = (struct item_loss){ LOSS_TRUNCATED, records, !records, true };
	r->lost_records += records;
	return fn(ctx, &it);
}

/*
 * Is this chunk the next of the stream? If not, what is between is missing and
 * said; a chunk that was there before is not read again.
 */
static int place_in_stream(struct rec_reader *r, const struct chunk_head *h, item_fn fn, void *ctx,
			   bool *skip)
{
	int rc = 0;

	*skip = r->begun && h->number < r->number;
	if (*skip) {
		r->bad_chunks++;
		return 0;
	}
	if (!r->begun && r->head.segments) {
		/* What a ring has given up is no loss. */
		r->number = h->number;
		r->records = r->records_known = h->first_record;
		r->lost = r->gap = h->number > 0;
		if (r->bad_chunks || (r->lost && !r->begin.mono_ns))
			rc = hand_loss(r, 0, fn, ctx);
	}
	if (h->number > r->number) {
		r->bad_chunks += h->number - r->number;
		r->lost = r->gap = true;
	}
	/* A chunk without records may still have told why others are whole. */
	if (!rc && (h->number > r->number || h->first_record > r->records))
		rc = hand_loss(r, h->first_record - min_u64(h->first_record, r->records), fn, ctx);
	r->records = max_u64(r->records, h->first_record);
	r->begun = true;
	return rc;
}

/* Is it to be handed out? States are news only behind a loss. */
static bool chunk_wanted(struct rec_reader *r, const struct chunk_head *h)
{
	if (h->kind == CHUNK_STATE) {
		if (h->flags & CHUNK_STATE_BEGINS) {
			r->in_state = r->lost;
			r->lost = false;
		}
		return r->in_state;
	}
	return h->kind == CHUNK_DATA;
}

struct begins {
	struct rec_reader *r;
	item_fn fn;
	void *ctx;
};

/* A state begins with one clock: its own, or that from which on all is there. */
static int hand_state(void *ctx, const struct item *it)
{
	const struct begins *b = ctx;
	struct item begin = { .type = ITEM_CLOCK, .clock = b->r->begin };

	if (it->type != ITEM_CLOCK)
		return b->fn(b->ctx, it);
	if (b->r->state_clock)
		return 0;
	b->r->state_clock = true;
	return b->fn(b->ctx, begin.clock.mono_ns ? &begin : it);
}

static int chunk_hand(struct rec_reader *r, const struct chunk_head *h, item_fn fn, void *ctx)
{
	struct codec_result result;
	bool state = h->kind == CHUNK_STATE;
	/* Without a state, the chunk's own clocks are better than none. */
	bool anchor = !state && r->gap;
	struct begins begins = { r, fn, ctx };
	int rc;

	if (state) {
		r->state_clock &= !(h->flags & CHUNK_STATE_BEGINS);
		fn = hand_state;
		ctx = &begins;
	} else {
		r->begin.mono_ns = 0;
	}
	r->gap = false;
	rc = codec_read(r->codec, r->raw, h->raw, anchor, fn, ctx, &result);
	r->unknown += result.unknown;
	if (!state) {
		r->records += result.records;
		r->in_state = false;
	}
	if (result.bad) {
		r->bad_chunks++;
		r->lost = r->gap = true;
	}
	return rc;
}

static int read_fail(const struct rec_reader *r, int rc, struct err *err)
{
	return err_set(err, rc, "cannot read the recording %s: %s", r->path, strerror(-rc));
}

static int read_chunk(struct rec_reader *r, u64 offset, const struct chunk_head *h, item_fn fn,
		      void *ctx, struct err *err)
{
	bool skip;
	int rc;

	rc = chunk_load(r, offset, h);
	if (rc < 0)
		return read_fail(r, rc, err);
	r->records_known = max_u64(r->records_known, h->first_record + h->records);
	/* A damaged one is missed when the next comes, or at the end. */
	if (!rc) {
		r->bad_tail++;
		return 0;
	}
	if (!r->begun && r->head.segments)
		r->bad_chunks += r->bad_tail;
	r->bad_tail = 0;
	rc = place_in_stream(r, h, fn, ctx, &skip);
	if (rc || skip)
		return rc;
	r->number = h->number + 1;
	r->index_seen |= h->kind == CHUNK_INDEX;
	if (!chunk_wanted(r, h))
		return 0;
	rc = chunk_hand(r, h, fn, ctx);
	if (!rc && r->records < h->first_record + h->records)
		rc = hand_loss(r, h->first_record + h->records - r->records, fn, ctx);
	r->records = h->first_record + h->records;
	return rc;
}

/* ---------------------------------------------------------------- Note -- */

static void note_add(struct rec_reader *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void note_add(struct rec_reader *r, const char *fmt, ...)
{
	size_t len = strlen(r->note);
	va_list ap;

	if (len && len + 2 < sizeof(r->note)) {
		memcpy(r->note + len, "; ", 3);
		len += 2;
	}
	va_start(ap, fmt);
	vsnprintf(r->note + len, sizeof(r->note) - len, fmt, ap);
	va_end(ap);
}

static void note_write(struct rec_reader *r)
{
	r->bad_chunks += r->bad_tail;
	if (r->head.flags & FILE_UNFINISHED)
		note_add(r, "the recording was not finished");
	else if (!r->complete)
		note_add(r, "the end of the recording is missing");
	if (r->tail_bytes)
		note_add(r, "%" PRIu64 " bytes behind the last whole chunk were not read",
			 r->tail_bytes);
	if (r->bad_chunks)
		note_add(r, "%" PRIu64 " chunk%s damaged or missing", r->bad_chunks,
			 r->bad_chunks == 1 ? " is" : "s are");
	if (r->bad_bytes)
		note_add(r, "%" PRIu64 " bytes between chunks made no sense", r->bad_bytes);
	if (r->lost_records)
		note_add(r, "%" PRIu64 " record%s missing for that", r->lost_records,
			 r->lost_records == 1 ? " is" : "s are");
	if (r->unknown)
		note_add(r, "%" PRIu64 " items of a later version of the format were skipped",
			 r->unknown);
}

/* ----------------------------------------------------------- Interface -- */

static int head_fail(const struct rec_reader *r, enum file_head_state state, struct err *err)
{
	switch (state) {
	case FILE_HEAD_OTHER:
		err_set_status(err, -EPROTONOSUPPORT, EXIT_FAILED,
			       "%s was made by %s vmspan: its format is version %u, this vmspan "
			       "reads version %d",
			       r->path, r->head.major > FILE_MAJOR ? "a newer" : "an older",
			       r->head.major, FILE_MAJOR);
		err_hint(err, "Read it with the version of vmspan that recorded it.");
		return -EPROTONOSUPPORT;
	case FILE_HEAD_DAMAGED:
		err_set_status(err, -EBADMSG, EXIT_FAILED,
			       "the recording %s is damaged: its first %d bytes are cut or do not "
			       "match their checksum",
			       r->path, FILE_HEAD);
		err_hint(err, "Copy the file again from where it was recorded.");
		return -EBADMSG;
	default:
		err_set_status(err, -EBADMSG, EXIT_FAILED, "%s is %s", r->path,
			       r->size ? "not a vmspan recording"
				       : "empty, so it is not a vmspan recording");
		err_hint(err, "Recordings are made with: vmspan record -p PID -o FILE");
		return -EBADMSG;
	}
}

static int reader_open(struct rec_reader *r, struct err *err)
{
	u8 head[FILE_HEAD];
	enum file_head_state state;
	ssize_t n;
	int rc;

	r->fd = file_open(r->path, &r->size, err);
	if (r->fd < 0)
		return r->fd;
	n = file_read(r->fd, head, sizeof(head), 0);
	if (n < 0)
		return read_fail(r, (int)n, err);
	state = file_head_get(head, (size_t)n, &r->head);
	if (state != FILE_HEAD_GOOD)
		return head_fail(r, state, err);
	r->at = FILE_HEAD;
	rc = r->head.segments ? ring_scan(r) : 0;
	return rc ? read_fail(r, rc, err) : 0;
}

struct rec_reader *rec_open(const char *path, struct source_info *info, struct err *err)
{
	struct rec_reader *r = calloc(1, sizeof(*r));

	if (!r)
		goto no_memory;
	r->fd = -1;
	r->path = strdup(path);
	r->codec = codec_new();
	if (!r->path || !r->codec)
		goto no_memory;
	if (reader_open(r, err)) {
		rec_reader_free(r);
		return NULL;
	}
	*info = r->head.info;
	return r;
no_memory:
	err_set(err, -ENOMEM, "cannot open the recording %s: %s", path, strerror(ENOMEM));
	rec_reader_free(r);
	return NULL;
}

void rec_goes_on(struct rec_reader *r)
{
	r->goes_on = true;
}

int rec_read(struct rec_reader *r, item_fn fn, void *ctx, struct err *err)
{
	struct chunk_head h;
	u64 offset = 0;
	int rc;

	if (r->ended)
		return 0;
	rc = next_chunk(r, &h, &offset);
	if (rc < 0)
		return read_fail(r, rc, err);
	if (rc) {
		rc = read_chunk(r, offset, &h, fn, ctx, err);
		return rc < 0 ? rc : 1;
	}
	if (r->records_known > r->records)
		rc = hand_loss(r, r->records_known - r->records, fn, ctx);
	/* What was recorded after the last chunk, nobody knows. */
	if (!rc && !r->complete && !r->goes_on)
		rc = hand_loss(r, 0, fn, ctx);
	note_write(r);
	return rc;
}

const char *rec_note(const struct rec_reader *r)
{
	return r->note[0] ? r->note : NULL;
}

void rec_reader_free(struct rec_reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	codec_free(r->codec);
	free(r->stored);
	free(r->raw);
	free(r->places);
	free(r->path);
	free(r);
}
