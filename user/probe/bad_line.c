/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/bad_line.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_MAX 100

int bad_line(struct bad_line *b, const char *word, const char *why)
{
	if (!b->why[0]) {
		snprintf(b->why, sizeof(b->why), "%s", why);
		snprintf(b->word, sizeof(b->word), "%s", word);
	}
	return 0;
}

int bad_line_section(struct bad_line *b, const char *section)
{
	b->section |= !b->why[0] && *section;
	return bad_line(b, section, *section ? "no such section" : "a value before any section");
}

int bad_line_text(struct bad_line *b, char *to, size_t cap, const char *value)
{
	if (!*value)
		return bad_line(b, "", "a value is missing");
	if (strlen(value) >= cap)
		return bad_line(b, value, "the value is too long");
	if (*to)
		return bad_line(b, value, "set twice");
	strcpy(to, value);
	return 1;
}

int bad_line_yes(struct bad_line *b, bool *to, const char *value)
{
	*to = !strcmp(value, "yes");
	return *to || !strcmp(value, "no") || bad_line(b, value, "yes or no is wanted");
}

int bad_line_show(const struct bad_line *b, const char *text, const char *where, int line,
		  struct err *err)
{
	const char *s = text, *header = NULL, *why = b->why, *e, *at;
	int i, n, column = 0, header_line = 0;

	for (i = 1; i < line && (e = strchr(s, '\n')); i++) {
		if (*s == '[') {
			header = s;
			header_line = i;
		}
		s = e + 1;
	}
	/* inih complains of the line below a section that is bad. */
	if (header && b->section) {
		s = header;
		line = header_line;
	}
	n = (int)strcspn(s, "\n");
	at = b->word[0] ? strstr(s, b->word) : NULL;
	/* A line inih cannot read is not handed on, so the complaint at hand may
	 * be of a later one. */
	if (s[0] != '[' && !memchr(s, '=', (size_t)n) && !memchr(s, ':', (size_t)n))
		why = "";
	else if (at && at < s + n)
		column = (int)(at - s);
	n = n > SHOWN_MAX ? SHOWN_MAX : n;
	return err_set(err, -EINVAL, "%s:%d: %s\n  %.*s\n  %*s^", where, line,
		       *why ? why : "not a line of a profile", n, s,
		       column > SHOWN_MAX ? SHOWN_MAX : column, "");
}
