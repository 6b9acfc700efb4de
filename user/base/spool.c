/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stream is a chain of blocks in the file; its last block is in memory. A
 * record lies between two copies of its size, for reading both ways. A
 * block's place is chosen before it is full, so that the block before can name
 * it.
 */
#include "base/spool.h"
#include "base/array.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES (32u << 10)
#define NO_BLOCK UINT64_MAX

struct block_head {
	u64 prev, next; /* numbers in the file, or NO_BLOCK */
	u64 used; /* bytes behind this head */
};
#define BLOCK_ROOM (BLOCK_BYTES - sizeof(struct block_head))

struct stream {
	u64 first, prev, at; /* block numbers; at: of the block in memory */
	struct block_head *block; /* in memory, `cap` bytes of data behind it */
	u32 used, cap;
	u64 count;
};

static u8 *data_of(struct block_head *h)
{
	return (u8 *)(h + 1);
}

struct spool {
	char *dir;
	int fd; /* -1: not needed so far */
	u64 blocks; /* in the file */
	u64 free; /* first of the blocks to use again, chained by `next` */
	struct stream *streams;
	u32 len, cap;
};

/* Sizes are written in 8 bytes, records padded to 8, so all is aligned. */
static u32 padded(size_t size)
{
	return (u32)((size + 7) & ~(size_t)7);
}

struct spool *spool_new(const char *dir)
{
	struct spool *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->fd = -1;
	s->free = NO_BLOCK;
	s->dir = strdup(dir);
	if (!s->dir) {
		free(s);
		return NULL;
	}
	return s;
}

void spool_free(struct spool *s)
{
	u32 i;

	if (!s)
		return;
	for (i = 0; i < s->len; i++)
		free(s->streams[i].block);
	free(s->streams);
	if (s->fd >= 0)
		close(s->fd);
	free(s->dir);
	free(s);
}

s64 spool_stream(struct spool *s)
{
	if (array_room(s->streams, s->cap, s->len + 1))
		return -ENOMEM;
	s->streams[s->len] = (struct stream){ .first = NO_BLOCK, .prev = NO_BLOCK, .at = NO_BLOCK };
	return s->len++;
}

static int open_file(struct spool *s)
{
	char path[PATH_MAX];

	s->fd = open(s->dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (s->fd >= 0)
		return 0;
	/* Not every file system has O_TMPFILE. */
	if (snprintf(path, sizeof(path), "%s/.vmspan.XXXXXX", s->dir) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	s->fd = mkostemp(path, O_CLOEXEC);
	if (s->fd < 0)
		return -errno;
	unlink(path);
	return 0;
}

/* All n bytes: what was put there is there. */
static int read_all(int fd, void *p, size_t n, u64 offset)
{
	ssize_t got = file_read(fd, p, n, offset);

	return got < 0 ? (int)got : (size_t)got < n ? -EIO : 0;
}

static int take_block(struct spool *s, u64 *number)
{
	struct block_head h;
	int rc;

	if (s->free == NO_BLOCK) {
		*number = s->blocks++;
		return 0;
	}
	*number = s->free;
	rc = read_all(s->fd, &h, sizeof(h), *number * BLOCK_BYTES);
	s->free = h.next;
	return rc;
}

/* Writes the full block in memory, and begins the next. */
static int next_block(struct spool *s, struct stream *st)
{
	struct block_head *h = st->block;
	int rc = s->fd < 0 ? open_file(s) : 0;

	h->prev = st->prev;
	h->used = st->used;

	if (!rc && st->at == NO_BLOCK) {
		rc = take_block(s, &st->at);
		st->first = st->at;
	}
	if (!rc)
		rc = take_block(s, &h->next);
	if (!rc)
		rc = file_write(s->fd, h, sizeof(*h) + st->used, st->at * BLOCK_BYTES);
	if (rc)
		return rc;
	st->prev = st->at;
	st->at = h->next;
	st->used = 0;
	return 0;
}

static int make_room(struct stream *st, u32 want)
{
	u32 cap = st->cap ? st->cap : 1024;
	struct block_head *p;

	while (cap < want)
		cap *= 2;
	cap = (u32)min_u64(cap, BLOCK_ROOM);
	p = realloc(st->block, sizeof(*p) + cap);
	if (!p)
		return -ENOMEM;
	st->block = p;
	st->cap = cap;
	return 0;
}

int spool_put(struct spool *s, u32 stream, const void *record, size_t size)
{
	struct stream *st = &s->streams[stream];
	u32 whole = padded(size) + 16;
	u64 mark = size;
	int rc = 0;
	u8 *to;

	if (size > SPOOL_RECORD_MAX)
		return -E2BIG;
	if (st->used + whole > BLOCK_ROOM)
		rc = next_block(s, st);
	if (!rc && st->used + whole > st->cap)
		rc = make_room(st, st->used + whole);
	if (rc)
		return rc;
	to = data_of(st->block) + st->used;
	memcpy(to, &mark, 8);
	memcpy(to + 8, record, size);
	memcpy(to + whole - 8, &mark, 8);
	st->used += whole;
	st->count++;
	return 0;
}

u64 spool_count(const struct spool *s, u32 stream)
{
	return s->streams[stream].count;
}

/* Block `number` of the file, to `h` with BLOCK_ROOM bytes behind it. */
static int load(struct spool *s, u64 number, struct block_head *h)
{
	/* The last block of the file may be shorter. */
	ssize_t got = file_read(s->fd, h, BLOCK_BYTES, number * BLOCK_BYTES);

	if (got < 0)
		return (int)got;
	return (size_t)got < sizeof(*h) || (size_t)got - sizeof(*h) < h->used ? -EIO : 0;
}

static int read_block(struct block_head *h, u32 used, bool backwards, spool_fn fn, void *ctx)
{
	u32 at = backwards ? used : 0;
	const u8 *data;
	int rc = 0;
	u64 size;

	if (!used)
		return 0;
	data = data_of(h);

	while (!rc && (backwards ? at > 0 : at < used)) {
		memcpy(&size, data + at - (backwards ? 8 : 0), 8);
		if (backwards)
			at -= padded(size) + 16;
		rc = fn(ctx, data + at + 8, size);
		if (!backwards)
			at += padded(size) + 16;
	}
	return rc;
}

int spool_read(struct spool *s, u32 stream, bool backwards, spool_fn fn, void *ctx)
{
	/* A copy: fn may put into other streams, which moves `streams`. */
	const struct stream st = s->streams[stream];
	u64 at = backwards ? st.prev : st.first;
	struct block_head *h = NULL;
	int rc = 0;

	if (backwards)
		rc = read_block(st.block, st.used, true, fn, ctx);
	if (!rc && st.prev != NO_BLOCK) {
		h = malloc(BLOCK_BYTES);
		rc = h ? 0 : -ENOMEM;
	}
	while (!rc && st.prev != NO_BLOCK && at != NO_BLOCK && at != st.at) {
		rc = load(s, at, h);
		if (!rc)
			rc = read_block(h, (u32)h->used, backwards, fn, ctx);
		if (!rc)
			at = backwards ? h->prev : h->next;
	}
	free(h);
	if (!rc && !backwards)
		rc = read_block(st.block, st.used, false, fn, ctx);
	return rc;
}

void spool_clear(struct spool *s, u32 stream)
{
	struct stream *st = &s->streams[stream];

	/* The chain from first to prev ends in `at`, whose head is written now. */
	if (st->at != NO_BLOCK) {
		struct block_head h = { .prev = st->prev, .next = s->free };

		if (!file_write(s->fd, &h, sizeof(h), st->at * BLOCK_BYTES))
			s->free = st->first;
	}
	free(st->block);
	*st = (struct stream){ .first = NO_BLOCK, .prev = NO_BLOCK, .at = NO_BLOCK };
}
