/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffered output to a descriptor, a function or memory. The first error
 * sticks: later writes do nothing, and out_flush/out_close return it.
 */
#ifndef BASE_OUT_H
#define BASE_OUT_H

#include "base/buf.h"

#include <string.h>

/* Takes all n bytes. 0 or negative errno. */
typedef int (*out_fn)(void *ctx, const void *p, size_t n);

struct out {
	struct buf buf;
	int fd; /* -1: none */
	out_fn fn; /* NULL: none; with neither everything stays in buf */
	void *ctx;
	size_t limit; /* bytes of buf that may be filled without a look */
	int error; /* negative errno */
	u64 written; /* bytes handed on so far */
};

/* The descriptor is borrowed. */
void out_open_fd(struct out *o, int fd);
void out_open_fn(struct out *o, out_fn fn, void *ctx);
void out_open_memory(struct out *o);
void out_write_slow(struct out *o, const void *p, size_t n);
void out_puts(struct out *o, const char *s);
void out_printf(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int out_flush(struct out *o);
/* Flushes and frees the buffer; the descriptor stays open. */
int out_close(struct out *o);

/* Writers of many small pieces live on this. */
static inline void out_write(struct out *o, const void *p, size_t n)
{
	if (n < o->limit && o->buf.len < o->limit - n) {
		memcpy(o->buf.data + o->buf.len, p, n);
		o->buf.len += n;
	} else {
		out_write_slow(o, p, n);
	}
}

#endif
