/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a failure travels. A function returns a negative errno; where the errno
 * alone would not tell the user what to do, it also fills a struct err that
 * the caller passed down (NULL is allowed everywhere). Only the command layer
 * prints one, once.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/types.h"

/* Exit statuses of the program. */
enum exit_status {
	EXIT_DONE = 0,
	EXIT_FAILED = 1, /* failed at run time */
	EXIT_USAGE = 2, /* bad usage */
	EXIT_PERMISSION = 3, /* a permission is missing */
	EXIT_NOTHING = 4, /* nothing to trace in the target */
	EXIT_REFUSED = 5, /* the price of --exact-calls was not agreed to */
};

struct err {
	int code; /* negative errno; 0: no error */
	enum exit_status status; /* EXIT_DONE: derived from the code */
	char what[256]; /* what was tried and why it failed */
	char hint[384]; /* what to do about it; may be empty */
};

/* Both return `code`. The first error of a struct err holds. What a terminal would obey in what is quoted is
 * replaced, as text_clean() does. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int err_set_status(struct err *e, int code, enum exit_status status, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Sets the hint unless there is one. */
void err_hint(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
enum exit_status err_status(const struct err *e);

#endif
