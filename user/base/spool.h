/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records put aside for later, in many streams, read forwards or backwards.
 * What does not fit in one block a stream goes to one unlinked temporary file,
 * so memory does not grow with the number of records.
 */
#ifndef BASE_SPOOL_H
#define BASE_SPOOL_H

#include "base/types.h"

#define SPOOL_RECORD_MAX 1024 /* bytes of one record */

struct spool;

/* dir: where the file will be, when one is needed; copied. NULL: no memory. */
struct spool *spool_new(const char *dir);
void spool_free(struct spool *s); /* NULL is allowed */
/* A new stream's number, from 0, or -ENOMEM. */
s64 spool_stream(struct spool *s);
/* Appends a record. 0 or negative errno, as that of a full disk. */
int spool_put(struct spool *s, u32 stream, const void *record, size_t size);
u64 spool_count(const struct spool *s, u32 stream);
/* Takes a record, aligned to 8 bytes. 0 or a negative errno, which ends. */
typedef int (*spool_fn)(void *ctx, const void *record, size_t size);
/* Hands all records of a stream to fn, which may put records into other
 * streams. 0, negative errno, or what fn returned. */
int spool_read(struct spool *s, u32 stream, bool backwards, spool_fn fn, void *ctx);
/* Forgets the stream's records; their place in the file is used again. */
void spool_clear(struct spool *s, u32 stream);

#endif
