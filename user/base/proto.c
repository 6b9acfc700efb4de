/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/proto.h"
#include "base/varint.h"

#include <string.h>

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
};

/* A message's size is not known when it begins: so many bytes wait for it. */
#define SIZE_BYTES 4

static void tag(struct buf *b, unsigned int field, enum wire_type type)
{
	buf_put_uleb(b, (u64)field << 3 | type);
}

void proto_u64(struct buf *b, unsigned int field, u64 v)
{
	tag(b, field, WIRE_VARINT);
	buf_put_uleb(b, v);
}

void proto_i64(struct buf *b, unsigned int field, s64 v)
{
	proto_u64(b, field, (u64)v);
}

void proto_fixed64(struct buf *b, unsigned int field, u64 v)
{
	u8 bytes[8];
	unsigned int i;

	for (i = 0; i < 8; i++)
		bytes[i] = (u8)(v >> (8 * i));
	tag(b, field, WIRE_FIXED64);
	buf_put(b, bytes, sizeof(bytes));
}

void proto_bytes(struct buf *b, unsigned int field, const void *p, size_t n)
{
	tag(b, field, WIRE_BYTES);
	buf_put_uleb(b, n);
	buf_put(b, p, n);
}

size_t proto_begin(struct buf *b, unsigned int field)
{
	static const u8 zero[SIZE_BYTES];

	tag(b, field, WIRE_BYTES);
	buf_put(b, zero, sizeof(zero));
	return b->len;
}

void proto_end(struct buf *b, size_t at)
{
	u8 size[VARINT_MAX];
	size_t n = b->len - at, bytes = varint_put(size, n);

	if (b->failed || bytes > SIZE_BYTES)
		return;
	/* Messages are small; moving them is cheaper than larger files. */
	memcpy(b->data + at - SIZE_BYTES, size, bytes);
	memmove(b->data + at - SIZE_BYTES + bytes, b->data + at, n);
	b->len -= SIZE_BYTES - bytes;
}
