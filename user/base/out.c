/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Larger than a pipe's capacity; smaller gains nothing measurable. */
#define OUT_BYTES (128u << 10)

void out_open_fd(struct out *o, int fd)
{
	*o = (struct out){ .fd = fd };
}

void out_open_fn(struct out *o, out_fn fn, void *ctx)
{
	*o = (struct out){ .fd = -1, .fn = fn, .ctx = ctx };
}

void out_open_memory(struct out *o)
{
	*o = (struct out){ .fd = -1 };
}

static bool out_streams(const struct out *o)
{
	return o->fd >= 0 || o->fn;
}

static void out_fail(struct out *o, int error)
{
	o->error = error;
	o->limit = 0;
}

static size_t write_all(struct out *o)
{
	size_t at = 0;

	while (!o->error && at < o->buf.len) {
		ssize_t n = write(o->fd, o->buf.data + at, o->buf.len - at);

		if (n < 0 && errno != EINTR)
			out_fail(o, -errno);
		else if (n > 0)
			at += (size_t)n;
	}
	return at;
}

int out_flush(struct out *o)
{
	if (o->buf.failed && !o->error)
		out_fail(o, -ENOMEM);
	if (!out_streams(o))
		return o->error;
	if (!o->fn) {
		o->written += write_all(o);
	} else if (!o->error && o->buf.len) {
		int rc = o->fn(o->ctx, o->buf.data, o->buf.len);

		o->written += o->buf.len;
		if (rc)
			out_fail(o, rc);
	}
	buf_clear(&o->buf);
	return o->error;
}

/* Keeps out_write() within what is allocated and short of a flush. */
static void out_set_limit(struct out *o)
{
	o->limit = o->buf.cap;
	if (out_streams(o))
		o->limit = (size_t)min_u64(o->limit, OUT_BYTES);
}

void out_write_slow(struct out *o, const void *p, size_t n)
{
	if (o->error)
		return;
	if (buf_put(&o->buf, p, n)) {
		out_fail(o, -ENOMEM);
		return;
	}
	if (out_streams(o) && o->buf.len >= OUT_BYTES)
		out_flush(o);
	if (!o->error)
		out_set_limit(o);
}

void out_puts(struct out *o, const char *s)
{
	out_write(o, s, strlen(s));
}

void out_printf(struct out *o, const char *fmt, ...)
{
	char small[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n < sizeof(small)) {
		out_write(o, small, (size_t)n);
		return;
	}
	if (o->error)
		return;
	if (!buf_space(&o->buf, (size_t)n + 1)) {
		out_fail(o, -ENOMEM);
		return;
	}
	va_start(ap, fmt);
	vsnprintf((char *)o->buf.data + o->buf.len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	o->buf.len += (size_t)n;
	if (out_streams(o) && o->buf.len >= OUT_BYTES)
		out_flush(o);
	if (!o->error)
		out_set_limit(o);
}

int out_close(struct out *o)
{
	int rc = out_flush(o);

	buf_free(&o->buf);
	o->limit = 0;
	return rc;
}
