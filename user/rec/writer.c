/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The writer: items in, chunks out. Each chunk is written whole, in one place,
 * by one pwrite(2), so at any moment the file is its head and whole chunks.
 *
 * The flight recorder's file is a few segments of equal size, used in turn.
 * Each segment begins with a state, then come chunks until the next one does
 * not fit; then the oldest segment is overwritten from its start. So what is
 * kept is whole segments: all but one of them at least, each readable from its
 * state on, whenever the writer is killed. A state in memory written at the
 * end would be lost by that, and one kept at the head of the file would be
 * newer than the chunks behind it.
 *
 * Without a ring, a state is written now and then, so that a reader that finds
 * a chunk damaged knows where it is again.
 */
#include "base/file.h"
#include "base/text.h"
#include "rec/chunk.h"
#include "rec/codec.h"
#include "rec/rec.h"
#include "rec/sched_ends.h"
#include "rec/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum {
	SEGMENTS = 4,
	CHUNK_TARGET = 256 << 10, /* bytes of content, before packing */
	INDEX_ENTRY_MAX = 28,
	/* Chunks in a segment are as few as this, or one in 4 KB of it. */
	SEGMENT_CHUNKS = 64,
	SEGMENT_CHUNK_SHARE = 4096,
	/* Chunks of records rarely get smaller: where one did not by a
	 * sixteenth, the next that is tried comes after so many. */
	DEFLATE_PAUSE = 15,
	/* Where records take no more bytes than this, to save a part of one
	 * would cost as much time as all else that is done to a record. */
	DEFLATE_ABOVE = 2,
	STATE_LAST = 256,
	CHUNK_ANCHOR = 64, /* more than a content begins with */
	STATE_SHARE = 16, /* at most a sixteenth of a long file is states */
};
#define STATE_EVERY (64ull << 20)
#define CHUNK_NS NSEC_PER_SEC
#define CHUNK_IDLE_NS (60 * NSEC_PER_SEC) /* while nothing but clocks comes */

struct segment {
	struct buf index; /* entries of its chunks */
	u32 chunks;
};

struct rec_writer {
	char *path;
	int fd;
	int error; /* sticks; `error_at` is what was being done */
	const char *error_at;
	struct file_head head;
	bool no_deflate;
	void (*clock)(enum source_clock clock, struct item_clock *now); /* or NULL */
	struct codec *codec;
	struct state *state;
	/* The chunk under way. */
	struct buf chunk; /* CHUNK_HEAD bytes, then its content */
	bool begun, has_data;
	u32 chunk_records;
	u64 chunk_mono_ns; /* when it began; 0: not known */
	/* Packing. */
	struct buf packed;
	u32 deflate_pause;
	/* Where the next one goes. */
	u64 at, high; /* high: the end of all that was ever written */
	u64 number, records; /* of chunks, of records in them */
	struct segment segments[SEGMENTS]; /* the first alone, without a ring */
	u32 segment;
	u64 state_due; /* without a ring: offset where a state is written */
	u64 state_room; /* while one is written: bytes it may still take */
	u32 state_parts; /* chunks of it so far */
	struct item_clock first_clock;
	struct rec_totals totals;
};

static int writer_fail(struct rec_writer *w, int rc, const char *at)
{
	if (!w->error) {
		w->error = rc;
		w->error_at = at;
	}
	return w->error;
}

/* ----------------------------------------------------------- Placement -- */

static bool is_ring(const struct rec_writer *w)
{
	return w->head.segments;
}

/* Bounds the index, which comes on top of the segments. */
static u64 segment_chunks(u64 segment_bytes)
{
	return max_u64(SEGMENT_CHUNKS, segment_bytes / SEGMENT_CHUNK_SHARE);
}

static u64 segment_end(const struct rec_writer *w)
{
	return is_ring(w) ? FILE_HEAD + (w->segment + 1) * w->head.segment_bytes : UINT64_MAX;
}

/* Bytes of content for which there is room here; 0 in a segment that is full. */
static u64 segment_room(const struct rec_writer *w)
{
	u64 left, most;

	if (!is_ring(w))
		return UINT64_MAX;
	left = segment_end(w) - w->at;
	most = segment_chunks(w->head.segment_bytes);
	if (w->segments[w->segment].chunks >= most || left <= CHUNK_HEAD)
		return 0;
	return left - CHUNK_HEAD;
}

/* Those that a chunk may have. */
static u64 chunk_room(const struct rec_writer *w)
{
	return min_u64(CHUNK_TARGET, segment_room(w));
}

static int index_add(struct rec_writer *w, const struct chunk_head *h)
{
	struct segment *s = &w->segments[w->segment];

	buf_put_u8(&s->index, h->kind);
	buf_put_uleb(&s->index, h->number);
	buf_put_uleb(&s->index, w->at);
	buf_put_uleb(&s->index, h->stored);
	buf_put_uleb(&s->index, h->records);
	buf_put_uleb(&s->index, w->chunk_mono_ns);
	s->chunks++;
	return s->index.failed ? -ENOMEM : 0;
}

/* -------------------------------------------------------------- Chunks -- */

/* Nanoseconds a cycle takes, 32.32: measured once there is a base for it. */
static u64 writer_rate(const struct rec_writer *w)
{
	const struct item_clock *last = state_clock(w->state), *first = &w->first_clock;
	u64 cycles = last->cycles - first->cycles, ns = last->mono_ns - first->mono_ns;
	u64 hz = w->head.info.cycles_hz;

	if (last->cycles > first->cycles && ns > NSEC_PER_SEC / 10 && ns < 1ull << 62)
		return (u64)(((unsigned __int128)ns << 32) / cycles);
	if (w->head.info.clock == CLOCK_MONO || !hz)
		return 1ull << 32;
	return (u64)(((unsigned __int128)NSEC_PER_SEC << 32) / hz);
}

static int chunk_begin(struct rec_writer *w)
{
	const struct item_clock *anchor = state_clock(w->state);

	buf_clear(&w->chunk);
	if (!buf_space(&w->chunk, CHUNK_HEAD))
		return -ENOMEM;
	w->chunk.len = CHUNK_HEAD;
	w->begun = true;
	w->has_data = false;
	w->chunk_records = 0;
	w->chunk_mono_ns = anchor->mono_ns;
	return codec_begin(w->codec, &w->chunk, anchor, writer_rate(w), w->head.info.cycles_step);
}

/* Packs the content if that helps. Returns the buffer to write. */
static struct buf *chunk_pack(struct rec_writer *w, enum chunk_kind kind)
{
	const u8 *raw = w->chunk.data + CHUNK_HEAD;
	size_t len = w->chunk.len - CHUNK_HEAD;
	uLongf packed = compressBound(len);
	bool of_records = kind == CHUNK_DATA;

	if (w->no_deflate || (of_records && len <= (u64)w->chunk_records * DEFLATE_ABOVE) ||
	    (of_records && w->deflate_pause && w->deflate_pause--))
		return &w->chunk;
	buf_clear(&w->packed);
	if (!buf_space(&w->packed, CHUNK_HEAD + packed) ||
	    compress2(w->packed.data + CHUNK_HEAD, &packed, raw, len, 1) != Z_OK)
		return &w->chunk;
	if (of_records && packed > len - len / 16)
		w->deflate_pause = DEFLATE_PAUSE;
	if (packed >= len)
		return &w->chunk;
	w->packed.len = CHUNK_HEAD + packed;
	return &w->packed;
}

/*
 * Writes the chunk under way. What a failed write leaves behind the last whole
 * chunk is cut off: it would be read as damage, and it takes the last of a
 * full disk.
 */
static int chunk_end(struct rec_writer *w, enum chunk_kind kind, u16 flags)
{
	size_t raw = w->chunk.len - CHUNK_HEAD;
	struct chunk_head h = {
		.kind = kind,
		.flags = flags,
		.id = w->head.id,
		.number = w->number,
		.first_record = w->records,
		.records = w->chunk_records,
		.raw = (u32)raw,
	};
	struct buf *b;
	int rc;

	w->begun = false;
	if (w->chunk.failed)
		return writer_fail(w, -ENOMEM, "coding a chunk");
	b = chunk_pack(w, kind);
	h.packing = b == &w->packed ? CHUNK_DEFLATED : CHUNK_PLAIN;
	h.stored = (u32)(b->len - CHUNK_HEAD);
	h.crc = (u32)crc32(0, b->data + CHUNK_HEAD, h.stored);
	chunk_head_put(b->data, &h);
	rc = file_write(w->fd, b->data, b->len, w->at);
	if (rc) {
		if (w->at >= w->high)
			(void)!ftruncate(w->fd, (off_t)w->high);
		return writer_fail(w, rc, "writing");
	}
	if (kind != CHUNK_INDEX && index_add(w, &h))
		return writer_fail(w, -ENOMEM, "keeping the index");
	w->at += b->len;
	w->high = max_u64(w->high, w->at);
	w->number++;
	w->records += w->chunk_records;
	w->totals.bytes += b->len;
	w->totals.encoded_bytes += raw;
	w->totals.chunks += kind == CHUNK_DATA;
	return 0;
}

/* Writes what there is, unless there is nothing. */
static int chunk_flush(struct rec_writer *w)
{
	return w->begun ? chunk_end(w, CHUNK_DATA, 0) : 0;
}

/* --------------------------------------------------------------- State -- */

static int state_part(struct rec_writer *w)
{
	u64 before = w->at;
	int rc = chunk_end(w, CHUNK_STATE, w->state_parts++ ? 0 : CHUNK_STATE_BEGINS);

	w->state_room -= min_u64(w->state_room, w->at - before);
	return rc;
}

/* An item_fn: 1 when the share of the segment for states is used up. */
static int state_put(void *ctx, const struct item *it)
{
	struct rec_writer *w = ctx;
	u64 target = is_ring(w) ? w->head.segment_bytes / 8 : UINT64_MAX;
	size_t bound = codec_bound(it);
	int rc = 0;

	/* Room is kept for the last item, which says what is missing. */
	if (it->type != ITEM_LOSS)
		bound += STATE_LAST;
	if (w->begun && w->chunk.len + bound > min_u64(CHUNK_TARGET / 2, target))
		rc = state_part(w);
	if (rc)
		return rc;
	if ((w->begun ? w->chunk.len : CHUNK_HEAD + STATE_LAST) + bound > w->state_room)
		return 1;
	rc = w->begun ? 0 : chunk_begin(w);
	if (!rc)
		rc = codec_put(w->codec, &w->chunk, it);
	return rc ? writer_fail(w, rc, "coding a state") : 0;
}

/* All that was recorded from now on comes behind this state. */
static int state_put_now(struct rec_writer *w)
{
	struct item it = { .type = ITEM_CLOCK };
	int rc;

	if (!is_ring(w) || !w->clock)
		return 0;
	w->clock(w->head.info.clock, &it.clock);
	rc = state_put(w, &it);
	return rc > 0 ? 0 : rc;
}

/* Writes the state as it is between two chunks. */
static int state_write(struct rec_writer *w)
{
	int rc;

	w->state_parts = 0;
	w->state_room = is_ring(w) ? w->head.segment_bytes / 2 : UINT64_MAX;
	rc = state_emit(w->state, state_put, w);
	if (!rc)
		rc = state_put_now(w);
	if (rc)
		return writer_fail(w, rc, "writing a state");
	/* A segment begins with one even when there is nothing to say. */
	if (!w->begun && !w->state_parts)
		rc = chunk_begin(w);
	if (!rc && w->begun)
		rc = state_part(w);
	w->state_due = w->at + max_u64(STATE_EVERY, STATE_SHARE * state_bytes(w->state));
	return rc ? writer_fail(w, rc, "writing a state") : 0;
}

static int segment_next(struct rec_writer *w)
{
	w->segment = (w->segment + 1) % SEGMENTS;
	buf_clear(&w->segments[w->segment].index);
	w->segments[w->segment].chunks = 0;
	w->at = FILE_HEAD + w->segment * w->head.segment_bytes;
	return state_write(w);
}

/* --------------------------------------------------------------- Items -- */

/* Makes a chunk be under way that the item fits in. -EMSGSIZE: none can. */
static int item_room(struct rec_writer *w, u64 bound)
{
	int rc = 0;

	if (w->begun && w->chunk.len - CHUNK_HEAD + bound > chunk_room(w))
		rc = chunk_flush(w);
	if (rc || w->begun)
		return rc;
	bound += CHUNK_ANCHOR;
	if (is_ring(w) && bound > chunk_room(w))
		rc = segment_next(w);
	else if (!is_ring(w) && w->at >= w->state_due)
		rc = state_write(w);
	if (!rc && is_ring(w) && bound > chunk_room(w))
		return -EMSGSIZE;
	return rc ? rc : chunk_begin(w);
}

static void item_count(struct rec_writer *w, const struct item *it, const struct batch_sum *sum)
{
	if (it->type == ITEM_BATCH) {
		w->totals.spans += sum->spans;
		w->totals.events += sum->events;
		w->totals.records += it->batch.records;
		w->chunk_records += it->batch.records;
	} else if (it->type == ITEM_LOSS) {
		w->totals.lost_records += it->loss.records;
	}
	w->has_data |= it->type != ITEM_CLOCK;
}

/* After so much time a chunk is written even if it is small. */
static int item_clock(struct rec_writer *w, const struct item_clock *k)
{
	if (!w->first_clock.mono_ns)
		w->first_clock = *k;
	if (!w->chunk_mono_ns)
		w->chunk_mono_ns = k->mono_ns;
	if (k->mono_ns - w->chunk_mono_ns < (w->has_data ? CHUNK_NS : CHUNK_IDLE_NS))
		return 0;
	return chunk_flush(w);
}

/* What cannot be kept is a loss like any other. */
static int item_lost(struct rec_writer *w, const struct item *it)
{
	struct item loss = { .type = ITEM_LOSS };

	loss.loss.cause = LOSS_MALFORMED;
	loss.loss.records = it->type == ITEM_BATCH ? it->batch.records : 1;
	loss.loss.batches = it->type == ITEM_BATCH;
	return rec_item(w, &loss);
}

static int head_write(struct rec_writer *w)
{
	u8 head[FILE_HEAD];

	file_head_put(head, &w->head);
	return file_write(w->fd, head, sizeof(head), 0);
}

/* A sweep learns late that it samples. The head says so at once: a recording
 * whose writer is killed keeps it. */
static int note_sampled(struct rec_writer *w, const struct item *it)
{
	const struct vmspan_head *h = it->type == ITEM_BATCH ? it->batch.data : NULL;

	if (!h || w->head.flags & FILE_SAMPLED || !it->batch.records || h->type != VMSPAN_SAMPLE)
		return 0;
	w->head.flags |= FILE_SAMPLED;
	return head_write(w);
}

static int item_put(struct rec_writer *w, const struct item *it, const struct batch_sum *sum)
{
	return it->type == ITEM_BATCH ? codec_put_batch(w->codec, &w->chunk, &it->batch, sum->turn)
				      : codec_put(w->codec, &w->chunk, it);
}

/* What an item may take at worst so that there is room for it in any segment, behind its state. */
static u64 item_most(const struct rec_writer *w)
{
	return is_ring(w) ? min_u64(CHUNK_TARGET, w->head.segment_bytes / 2 - CHUNK_HEAD) -
				    CHUNK_ANCHOR
			  : SIZE_MAX - 1;
}

/*
 * Tries one that may be too large for a ring's segment: few are as large as they might be. It is coded as the first of
 * a chunk, which is dropped where it does not fit. -EMSGSIZE: there is no room for it, whatever is given up.
 */
static int item_alone(struct rec_writer *w, const struct item *it, const struct batch_sum *sum)
{
	int rc = chunk_flush(w), tries;

	for (tries = 0; !rc; tries++) {
		rc = chunk_begin(w) ?: item_put(w, it, sum);
		if (rc || w->chunk.len - CHUNK_HEAD <= segment_room(w))
			return rc;
		w->begun = false;
		if (tries || w->chunk.len > w->head.segment_bytes / 2)
			return -EMSGSIZE;
		rc = segment_next(w);
	}
	return rc;
}

static int item_fit(struct rec_writer *w, const struct item *it, const struct batch_sum *sum,
		    u64 bound)
{
	int rc = item_room(w, bound);

	if (!rc)
		rc = item_put(w, it, sum);
	if (rc != -ENOSPC || w->error)
		return rc;
	rc = chunk_flush(w);
	if (!rc)
		rc = item_room(w, bound);
	return rc ? rc : item_put(w, it, sum);
}

/* Bytes of records, half of them at most, but one record at least. */
static u32 first_half(const u8 *data, u32 bytes)
{
	u32 at = 0, more;

	for (; at < bytes; at += more) {
		more = ((const struct vmspan_head *)(data + at))->slots * (u32)VMSPAN_SLOT;
		if (at && at + more > bytes / 2)
			break;
	}
	return at;
}

/* Of many definitions read at once nobody knows afterwards that they were. -EMSGSIZE: it is one. */
static int defs_halves(struct rec_writer *w, const struct item *it)
{
	struct item first = *it, second = *it;

	first.defs.bytes = first_half(it->defs.data, it->defs.bytes);
	second.defs.bytes -= first.defs.bytes;
	second.defs.data = (const u8 *)it->defs.data + first.defs.bytes;
	if (!second.defs.bytes)
		return -EMSGSIZE;
	return rec_item(w, &first) ?: rec_item(w, &second);
}

int rec_item(void *ctx, const struct item *it)
{
	struct batch_sum sum = { 0 };
	struct rec_writer *w = ctx;
	u64 bound = codec_bound(it);
	int rc;

	/* What is open now is of the views; of what never ends ITEM_UNFINISHED tells. */
	if (w->error || it->type == ITEM_OPEN)
		return w->error;
	if ((it->type == ITEM_BATCH &&
	     batch_sum(it->batch.data, it->batch.bytes, it->batch.records, &sum)) ||
	    (it->type == ITEM_DEFS && batch_check(it->defs.data, it->defs.bytes, UINT32_MAX)))
		return item_lost(w, it);
	if (it->type == ITEM_DEFS && bound > item_most(w)) {
		rc = defs_halves(w, it);
		if (rc != -EMSGSIZE)
			return rc;
	}
	if (bound == SIZE_MAX)
		rc = -EMSGSIZE;
	else if (bound > item_most(w))
		rc = item_alone(w, it, &sum);
	else
		rc = item_fit(w, it, &sum, bound);
	if (rc == -EMSGSIZE && !w->error)
		return item_lost(w, it);
	if (rc == -EINVAL)
		return rc;
	/* Of a batch of a program's, the state keeps its definitions. */
	if (!rc && (it->type != ITEM_BATCH || sum.defs || sched_is_of(it)))
		rc = state_note(w->state, it);
	if (!rc)
		rc = note_sampled(w, it);
	if (rc)
		return writer_fail(w, rc, "coding an item");
	item_count(w, it, &sum);
	return it->type == ITEM_CLOCK ? item_clock(w, &it->clock) : 0;
}

/* ------------------------------------------------------ Begin and finish -- */

static void ring_layout(struct rec_writer *w, u64 bytes)
{
	u64 segment;

	if (!bytes)
		return;
	segment = max_u64(bytes, REC_RING_MIN) / SEGMENTS;
	/* The index comes behind the segments and counts too. */
	segment -= segment_chunks(segment) * INDEX_ENTRY_MAX + FILE_HEAD;
	w->head.segments = SEGMENTS;
	w->head.segment_bytes = segment & ~(u64)(CHUNK_HEAD - 1);
}

static void writer_free(struct rec_writer *w)
{
	u32 i;

	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	for (i = 0; i < SEGMENTS; i++)
		buf_free(&w->segments[i].index);
	buf_free(&w->chunk);
	buf_free(&w->packed);
	codec_free(w->codec);
	state_free(w->state);
	free(w->path);
	free(w);
}

struct rec_writer *rec_create(const char *path, const struct source_info *info,
			      const struct rec_options *options, struct err *err)
{
	struct rec_writer *w = calloc(1, sizeof(*w));
	int rc = -ENOMEM;

	if (!w)
		goto fail;
	w->fd = -1;
	w->path = strdup(path);
	w->codec = codec_new();
	w->state = state_new();
	if (!w->path || !w->codec || !w->state)
		goto fail;
	w->head = (struct file_head){
		.major = FILE_MAJOR,
		.minor = FILE_MINOR,
		.flags = FILE_UNFINISHED | (info->sampled ? FILE_SAMPLED : 0) |
			 (info->exact ? FILE_EXACT : 0),
		.info = *info,
	};
	w->no_deflate = options && options->no_deflate;
	w->clock = options ? options->clock : NULL;
	ring_layout(w, options ? options->ring_bytes : 0);
	w->head.id = file_head_id(&w->head);
	w->at = w->high = FILE_HEAD;
	w->state_due = STATE_EVERY;
	w->fd = file_create(path, options ? &options->made : NULL, err);
	if (w->fd < 0) {
		writer_free(w);
		return NULL;
	}
	rc = head_write(w);
	if (!rc)
		return w;
fail:
	err_set(err, rc, "cannot write the recording %s: %s", path, strerror(-rc));
	if (rc == -ENOSPC)
		err_hint(err, "Free some space, or choose another place with -o FILE.");
	writer_free(w);
	return NULL;
}

static int error_words(const struct rec_writer *w, struct err *err)
{
	char bytes[TEXT_BYTES_MAX];
	int rc = w->error;

	err_set(err, rc, "cannot write the recording %s (%s): %s; %s written before stay readable",
		w->path, w->error_at, strerror(-rc), text_bytes(bytes, w->high));
	if (rc == -ENOSPC || rc == -EDQUOT)
		err_hint(err, "Free some space, or record a part with --ring SIZE, or to another "
			      "place with -o FILE.");
	else if (rc == -EFBIG)
		err_hint(err, "The size of a file is limited (ulimit -f): raise the limit, or "
			      "keep only the latest with --ring SIZE.");
	return rc;
}

int rec_sync(struct rec_writer *w, struct err *err)
{
	if (!w->error)
		chunk_flush(w);
	return w->error ? error_words(w, err) : 0;
}

void rec_totals(const struct rec_writer *w, struct rec_totals *t)
{
	*t = w->totals;
	t->bytes = w->high;
}

/* The entries, oldest first, in as many chunks as they need. */
static int index_write(struct rec_writer *w, u32 *chunks)
{
	u32 i, count = is_ring(w) ? SEGMENTS : 1;
	int rc = 0;

	*chunks = 0;
	for (i = 1; !rc && i <= count; i++) {
		const struct segment *s = &w->segments[(w->segment + i) % count];
		size_t at = 0, n;

		*chunks += s->chunks;
		for (; !rc && at < s->index.len; at += n) {
			n = min_u64(s->index.len - at, CHUNK_TARGET);
			buf_clear(&w->chunk);
			if (!buf_space(&w->chunk, CHUNK_HEAD))
				return writer_fail(w, -ENOMEM, "writing the index");
			w->chunk.len = CHUNK_HEAD;
			w->chunk_records = 0;
			buf_put(&w->chunk, s->index.data + at, n);
			rc = chunk_end(w, CHUNK_INDEX, 0);
		}
	}
	return rc;
}

static int writer_finish(struct rec_writer *w)
{
	struct file_trailer t = { 0 };
	u8 trailer[FILE_TRAILER];
	int rc = chunk_flush(w);

	if (rc)
		return rc;
	w->at = t.index_offset = w->high;
	rc = index_write(w, &t.chunks);
	if (rc)
		return rc;
	t.file_bytes = w->at + FILE_TRAILER;
	file_trailer_put(trailer, w->head.id, &t);
	rc = file_write(w->fd, trailer, sizeof(trailer), w->at);
	/* Last of all: whoever sees the mark cleared finds the rest. */
	w->head.flags &= ~(u32)FILE_UNFINISHED;
	if (!rc)
		rc = head_write(w);
	if (!rc) {
		rc = close(w->fd) ? -errno : 0;
		w->fd = -1; /* gone, whatever it says */
	}
	return rc ? writer_fail(w, rc, "finishing") : 0;
}

int rec_close(struct rec_writer *w, struct err *err)
{
	int rc;

	if (!w->error)
		writer_finish(w);
	rc = w->error ? error_words(w, err) : 0;
	writer_free(w);
	return rc;
}
