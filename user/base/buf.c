/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/buf.h"
#include "base/varint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

u8 *buf_space(struct buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 256;
	u8 *p;

	if (b->failed)
		return NULL;
	if (b->data && b->cap - b->len >= n)
		return b->data + b->len;
	while (cap - b->len < n) {
		if (cap > SIZE_MAX / 2)
			goto fail;
		cap *= 2;
	}
	p = realloc(b->data, cap);
	if (!p)
		goto fail;
	b->data = p;
	b->cap = cap;
	return b->data + b->len;
fail:
	b->failed = true;
	return NULL;
}

int buf_put(struct buf *b, const void *p, size_t n)
{
	u8 *at = buf_space(b, n);

	if (!at)
		return -ENOMEM;
	if (n)
		memcpy(at, p, n);
	b->len += n;
	return 0;
}

int buf_put_u8(struct buf *b, u8 v)
{
	return buf_put(b, &v, 1);
}

int buf_put_uleb(struct buf *b, u64 v)
{
	u8 *at = buf_space(b, VARINT_MAX);

	if (!at)
		return -ENOMEM;
	b->len += varint_put(at, v);
	return 0;
}

int buf_put_sleb(struct buf *b, s64 v)
{
	return buf_put_uleb(b, zigzag(v));
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->failed = false;
}

void buf_free(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}
