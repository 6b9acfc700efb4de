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

void out_open_memory(struct out *o)
{
	*o = (struct out){ .fd = -1 };
}

int out_flush(struct out *o)
{
	size_t at = 0;

	if (o->buf.failed && !o->error)
		o->error = -ENOMEM;
	if (o->fd < 0)
		return o->error;
	while (!o->error && at < o->buf.len) {
		ssize_t n = write(o->fd, o->buf.data + at, o->buf.len - at);

		if (n < 0 && errno != EINTR)
			o->error = -errno;
		else if (n > 0)
			at += (size_t)n;
	}
	o->written += at;
	buf_clear(&o->buf);
	return o->error;
}

void out_write(struct out *o, const void *p, size_t n)
{
	if (o->error)
		return;
	if (buf_put(&o->buf, p, n))
		o->error = -ENOMEM;
	if (o->fd >= 0 && o->buf.len >= OUT_BYTES)
		out_flush(o);
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
	if (!buf_space(&o->buf, (size_t)n + 1)) {
		o->error = -ENOMEM;
		return;
	}
	va_start(ap, fmt);
	vsnprintf((char *)o->buf.data + o->buf.len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	o->buf.len += (size_t)n;
	if (o->fd >= 0 && o->buf.len >= OUT_BYTES)
		out_flush(o);
}

int out_close(struct out *o)
{
	int rc = out_flush(o);

	buf_free(&o->buf);
	return rc;
}
