/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* A name is at most a kind, a colon and VMSPAN_NAME_MAX bytes; every byte of
 * it may become a three-byte replacement character. */
#define NAME_BYTES 1024

char *count_text(char dst[COUNT_TEXT_MAX], u64 v)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, v), i;
	char *p = dst;

	for (i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = 0;
	return dst;
}

char *count_short(char dst[COUNT_TEXT_MAX], u64 v)
{
	static const char units[] = "MGTPE";
	double scaled = (double)v / 1e6;
	size_t i = 0;

	if (v < 10000000) {
		snprintf(dst, COUNT_TEXT_MAX, "%" PRIu64, v);
		return dst;
	}
	for (; scaled >= 999.5 && units[i + 1]; i++)
		scaled /= 1000;
	snprintf(dst, COUNT_TEXT_MAX, "%.*f%c",
		 scaled < 9.995   ? 2
		 : scaled < 99.95 ? 1
				  : 0,
		 scaled, units[i]);
	return dst;
}

char *percent_text(char dst[PERCENT_MAX], u64 part, u64 whole)
{
	double v = whole ? (double)part * 100 / (double)whole : 0;

	snprintf(dst, PERCENT_MAX, "%.*f", v == 0 || v >= 99.95 ? 0 : 1, v < 99999 ? v : 99999);
	return dst;
}

char *time_text(char dst[TEXT_NS_MAX], u64 ns)
{
	if (ns)
		return text_ns(dst, ns);
	strcpy(dst, "0");
	return dst;
}

const char *about_text(u64 value, u64 margin)
{
	return margin > value / 100 ? "~" : "";
}

const char *plural(u64 n)
{
	return n == 1 ? "" : "s";
}

/* Length in bytes and width in columns of the character at s; s is clean. */
static size_t char_at(const char *s, unsigned int *columns)
{
	size_t n = text_utf8_len(s, strlen(s));
	mbstate_t state = { 0 };
	wchar_t wide;
	int width = 1;

	if (!n)
		n = 1;
	if (mbrtowc(&wide, s, n, &state) == n)
		width = wcwidth(wide);
	*columns = width < 0 ? 1 : (unsigned int)width;
	return n;
}

char *name_text(char *dst, size_t cap, const char *name)
{
	char *from = dst, *to = dst;

	text_clean(dst, cap, name, strlen(name));
	if (MB_CUR_MAX > 1)
		return dst;
	while (*from) {
		size_t n = text_utf8_len(from, strlen(from));

		*to++ = n > 1 ? '?' : *from;
		from += n ? n : 1;
	}
	*to = 0;
	return dst;
}

unsigned int name_columns(const char *name)
{
	char clean[NAME_BYTES], *p;
	unsigned int sum = 0, columns;

	for (p = name_text(clean, sizeof(clean), name); *p; sum += columns)
		p += char_at(p, &columns);
	return sum;
}

/* Bytes of s that fit in `columns`; *used is how many columns they take. */
static size_t fit(const char *s, unsigned int columns, unsigned int *used)
{
	size_t at = 0;

	*used = 0;
	while (s[at]) {
		unsigned int width;
		size_t n = char_at(s + at, &width);

		if (*used + width > columns)
			break;
		*used += width;
		at += n;
	}
	return at;
}

/* Prints clean text cut to `columns`; returns the columns it took. */
static unsigned int put_cut(struct out *o, const char *clean, unsigned int columns)
{
	unsigned int used;
	size_t n = fit(clean, columns, &used);

	if (!clean[n]) {
		out_write(o, clean, n);
		return used;
	}
	n = fit(clean, columns - 1, &used);
	out_write(o, clean, n);
	out_puts(o, MB_CUR_MAX > 1 ? "\xe2\x80\xa6" : "~");
	return used + 1;
}

void name_put(struct out *o, const char *name, unsigned int columns)
{
	char clean[NAME_BYTES];

	name_text(clean, sizeof(clean), name);
	if (columns)
		out_printf(o, "%*s", (int)(columns - put_cut(o, clean, columns)), "");
	else
		out_puts(o, clean);
}

void line_put(struct out *o, const char *text, unsigned int columns)
{
	char clean[NAME_BYTES];

	put_cut(o, name_text(clean, sizeof(clean), text), columns);
}

void wrap_put(struct out *o, const char *text, unsigned int width, unsigned int column,
	      unsigned int indent)
{
	unsigned int at = column;
	bool first = true;

	while (*text) {
		size_t word = strcspn(text, " "), bytes = 0;
		unsigned int columns = 0, one;

		while (bytes < word) {
			bytes += char_at(text + bytes, &one);
			columns += one;
		}
		if (!first && at + 1 + columns > width) {
			out_printf(o, "\n%*s", (int)indent, "");
			at = indent;
		} else if (!first) {
			out_puts(o, " ");
			at++;
		}
		out_write(o, text, word);
		at += columns;
		first = false;
		text += word;
		text += strspn(text, " ");
	}
	out_puts(o, "\n");
}
