/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is wrong with a profile: the first bad line, with a caret under the word.
 * The setters return what an inih handler returns: 1 fine, 0 bad.
 */
#ifndef PROBE_BAD_LINE_H
#define PROBE_BAD_LINE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct bad_line {
	char why[160]; /* "": nothing so far */
	char word[64];
	bool section; /* it is the section's name that is bad */
};

/* inih goes on after an error and names the first bad line: so the first
 * complaint is kept. Always 0. */
int bad_line(struct bad_line *b, const char *word, const char *why);
/* The same of a section's name. */
int bad_line_section(struct bad_line *b, const char *section);
/* Copies a value that may be set once to `to`, of `cap` bytes. */
int bad_line_text(struct bad_line *b, char *to, size_t cap, const char *value);
/* "yes" or "no". */
int bad_line_yes(struct bad_line *b, bool *to, const char *value);
/* The error of `line` (from 1) of `text`. Returns -EINVAL. */
int bad_line_show(const struct bad_line *b, const char *text, const char *where, int line,
		  struct err *err);

#endif
