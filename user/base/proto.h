/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protocol Buffers' wire format into a struct buf. Failure sticks in the
 * buffer, as everywhere.
 */
#ifndef BASE_PROTO_H
#define BASE_PROTO_H

#include "base/buf.h"

void proto_u64(struct buf *b, unsigned int field, u64 v);
void proto_i64(struct buf *b, unsigned int field, s64 v); /* int64, not sint64 */
void proto_fixed64(struct buf *b, unsigned int field, u64 v);
void proto_bytes(struct buf *b, unsigned int field, const void *p, size_t n);
/* A message inside; proto_end() gets what proto_begin() returned. At most
 * 2^28 - 1 bytes. */
size_t proto_begin(struct buf *b, unsigned int field);
void proto_end(struct buf *b, size_t at);

#endif
