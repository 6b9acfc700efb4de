/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pieces of human output: numbers, names cut to columns, wrapped sentences.
 * Widths are terminal columns by the process's LC_CTYPE; where that is not a
 * multi-byte locale, characters outside ASCII are printed as '?'.
 */
#ifndef SINK_WORDS_H
#define SINK_WORDS_H

#include "base/out.h"
#include "base/text.h"

/* "1,234,567". */
#define COUNT_TEXT_MAX 28
char *count_text(char dst[COUNT_TEXT_MAX], u64 v);
/* At most 7 columns: "1234567", "12.3M", "4.51G". */
char *count_short(char dst[COUNT_TEXT_MAX], u64 v);
/* "12.3" (percent of part in whole), "100"; "0" when the whole is 0. */
#define PERCENT_MAX 16
char *percent_text(char dst[PERCENT_MAX], u64 part, u64 whole);
/* A duration, "0" when there is none. */
char *time_text(char dst[TEXT_NS_MAX], u64 ns);
/* What stands before a figure that may be off by so much: "~" beyond a hundredth, else "". */
const char *about_text(u64 value, u64 margin);
/* "" for 1, else "s". */
const char *plural(u64 n);

/* Columns of a name as name_put() prints it, when not cut. */
unsigned int name_columns(const char *name);
/* Prints exactly `columns` columns: the name made safe, cut or padded.
 * columns 0: neither cut nor padded. */
void name_put(struct out *o, const char *name, unsigned int columns);
/* The same for a line of text: cut, never padded. */
void line_put(struct out *o, const char *text, unsigned int columns);
/* The name made safe, as text of at most cap bytes. Returns dst. */
char *name_text(char *dst, size_t cap, const char *name);

/* Prints a sentence and a line end, broken between words to fit `width`. It
 * begins in column `column`; its other lines do after `indent` spaces. */
void wrap_put(struct out *o, const char *text, unsigned int width, unsigned int column,
	      unsigned int indent);

#endif
