/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The container: the head of a file, the frames of its chunks, its trailer.
 * What is inside a chunk is the codec's business. FORMAT.md, "The file".
 */
#ifndef REC_CHUNK_H
#define REC_CHUNK_H

#include "base/buf.h"
#include "base/file.h"
#include "source/source.h"

#include <sys/types.h>

enum {
	FILE_MAJOR = 3, /* a reader of another major cannot read it */
	FILE_MINOR = 0,
	FILE_HEAD = 256,
	FILE_TRAILER = 32,
	CHUNK_HEAD = 48,
	CHUNK_RAW_MAX = 8 << 20, /* content of a chunk, unpacked */
	CHUNK_STORED_MAX = CHUNK_RAW_MAX,
};

enum file_flags {
	FILE_UNFINISHED = 1, /* never closed; cleared when all else is written */
	FILE_SAMPLED = 2,
	FILE_EXACT = 4, /* the scheduler's record is in it */
};

struct file_head {
	u16 major, minor;
	u32 flags; /* enum file_flags */
	u32 id; /* of this file: in every frame */
	u32 segments; /* of a ring; 0: not a ring */
	u64 segment_bytes;
	struct source_info info;
};

void file_head_put(u8 out[FILE_HEAD], const struct file_head *h);
/* A number for the file, made from what its head says. */
u32 file_head_id(const struct file_head *h);
enum file_head_state {
	FILE_HEAD_GOOD,
	FILE_HEAD_FOREIGN, /* not a recording */
	FILE_HEAD_OTHER, /* of another major version: h->major */
	FILE_HEAD_DAMAGED,
};
enum file_head_state file_head_get(const u8 *in, size_t len, struct file_head *h);

enum chunk_kind {
	CHUNK_DATA = 1,
	CHUNK_STATE = 2, /* what was known at this point of the stream, again */
	CHUNK_INDEX = 3,
};

enum chunk_packing {
	CHUNK_PLAIN = 0,
	CHUNK_DEFLATED = 1, /* a zlib stream */
};

enum chunk_flags {
	CHUNK_STATE_BEGINS = 1, /* the first of the chunks that hold one state */
};

struct chunk_head {
	u8 kind, packing;
	u16 flags;
	u32 id; /* of the file */
	u64 number; /* from 0, one more each chunk */
	u64 first_record; /* records in all data chunks before it */
	u32 records; /* in this one's batches */
	u32 stored, raw; /* bytes behind the head; bytes unpacked */
	u32 crc; /* of the stored bytes */
};

void chunk_head_put(u8 out[CHUNK_HEAD], const struct chunk_head *h);
/* False when in[] is no frame head of the file `id`, or a damaged one. */
bool chunk_head_get(const u8 in[CHUNK_HEAD], u32 id, struct chunk_head *h);
/* Where a frame may begin in p[0 ... len), or len. */
size_t chunk_search(const u8 *p, size_t len);
/*
 * Unpacks `stored` bytes that passed the checksum into out (h->raw bytes are
 * there). 0 or -EBADMSG.
 */
int chunk_unpack(const struct chunk_head *h, const u8 *stored, u8 *out);

struct file_trailer {
	u64 index_offset; /* of the first index chunk */
	u64 file_bytes; /* of the whole file */
	u32 chunks; /* entries in the index */
};

void file_trailer_put(u8 out[FILE_TRAILER], u32 id, const struct file_trailer *t);
bool file_trailer_get(const u8 in[FILE_TRAILER], u32 id, struct file_trailer *t);

/*
 * Creates or empties what can be written at any offset: a file, or a device
 * like /dev/null. Not a pipe (the mark in the head could not be cleared), never
 * a disk. made: as file_open_place() has it, or NULL. The descriptor or a negative errno.
 */
int file_create(const char *path, const struct file_made *made, struct err *err);
/* Opens a regular file to read; *size is its size by now. */
int file_open(const char *path, u64 *size, struct err *err);

#endif
