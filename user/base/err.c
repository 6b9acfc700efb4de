/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/err.h"

#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What messages quote, names of files above all, is others' making; ends of lines are our own. */
static void put_clean(char *to, size_t cap, const char *fmt, va_list ap)
{
	char raw[sizeof(((struct err *)0)->hint)], *at = raw;
	size_t n;

	vsnprintf(raw, min_u64(sizeof(raw), cap), fmt, ap);
	for (;; at += n + 1) {
		n = strcspn(at, "\n");
		text_clean(to, cap, at, n);
		cap -= strlen(to);
		to += strlen(to);
		if (!at[n] || cap < 8)
			return;
		*to++ = '\n';
		cap--;
	}
}

static int err_vset(struct err *e, int code, enum exit_status status, const char *fmt, va_list ap)
{
	if (e && !e->code) {
		e->code = code;
		e->status = status;
		put_clean(e->what, sizeof(e->what), fmt, ap);
	}
	return code;
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	code = err_vset(e, code, EXIT_DONE, fmt, ap);
	va_end(ap);
	return code;
}

int err_set_status(struct err *e, int code, enum exit_status status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	code = err_vset(e, code, status, fmt, ap);
	va_end(ap);
	return code;
}

void err_hint(struct err *e, const char *fmt, ...)
{
	va_list ap;

	if (!e || e->hint[0])
		return;
	va_start(ap, fmt);
	put_clean(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
}

enum exit_status err_status(const struct err *e)
{
	if (!e->code)
		return EXIT_DONE;
	if (e->status != EXIT_DONE)
		return e->status;
	return e->code == -EPERM || e->code == -EACCES ? EXIT_PERMISSION : EXIT_FAILED;
}
