/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A growable run of bytes. Failure sticks: after -ENOMEM every further call
 * does nothing and `failed` stays set, so a writer may check once at the end.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/types.h"

struct buf {
	u8 *data; /* owned; moves when the buffer grows */
	size_t len, cap;
	bool failed;
};

/* Space for n more bytes behind data + len (len is not moved), or NULL. */
u8 *buf_space(struct buf *b, size_t n);
int buf_put(struct buf *b, const void *p, size_t n);
int buf_put_u8(struct buf *b, u8 v);
/* ULEB128; the signed form is zigzag-coded. */
int buf_put_uleb(struct buf *b, u64 v);
int buf_put_sleb(struct buf *b, s64 v);
/* Empties it and keeps the memory. */
void buf_clear(struct buf *b);
/* Frees the memory; the buffer may be used again. */
void buf_free(struct buf *b);

#endif
