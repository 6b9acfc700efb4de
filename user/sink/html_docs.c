/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/html_docs.h"
#include "sink/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct html_docs {
	char *text; /* owned; the lines point into it */
	struct line {
		const char *group, *url;
	} * lines;
	u32 count;
};

static char *trim(char *s)
{
	size_t n;

	s += strspn(s, " \t\r");
	n = strlen(s);
	while (n && strchr(" \t\r", s[n - 1]))
		s[--n] = 0;
	return s;
}

/* Only what a browser opens as a page, and nothing that could hide in it. */
static bool is_url(const char *s)
{
	const char *p = !strncasecmp(s, "https://", 8)  ? s + 8
			: !strncasecmp(s, "http://", 7) ? s + 7
							: NULL;

	if (!p || !*p)
		return false;
	for (; *p; p++)
		if ((u8)*p <= ' ' || *p == 0x7f || strchr("\"<>\\^`{|}", *p))
			return false;
	return true;
}

static int parse_line(struct html_docs *d, char *text, unsigned int number, const char *name,
		      struct err *e)
{
	char *line = trim(text), *equals, *url;
	struct line *lines;

	if (!line[0] || line[0] == '#')
		return 0;
	equals = strchr(line, '=');
	url = equals ? trim(equals + 1) : NULL;
	if (equals)
		*equals = 0;
	line = trim(line);
	if (!url || !line[0] || !is_url(url)) {
		err_set_status(e, -EINVAL, EXIT_USAGE, "%s:%u: not a line of GROUP = URL", name,
			       number);
		err_hint(e, "an example: addon:tracker = https://example.org/tracker");
		return -EINVAL;
	}
	lines = realloc(d->lines, (d->count + 1) * sizeof(*lines));
	if (!lines)
		return err_set(e, -ENOMEM, "out of memory");
	d->lines = lines;
	lines[d->count++] = (struct line){ line, url };
	return 0;
}

struct html_docs *html_docs_parse(const char *text, size_t len, const char *name, struct err *e)
{
	struct html_docs *d = calloc(1, sizeof(*d));
	unsigned int number = 0;
	char *at, *line;

	if (d)
		d->text = malloc(len + 1);
	if (!d || !d->text) {
		html_docs_free(d);
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	memcpy(d->text, text, len);
	d->text[len] = 0;
	if (strlen(d->text) != len) {
		html_docs_free(d);
		err_set_status(e, -EINVAL, EXIT_USAGE, "%s is not a text file", name);
		return NULL;
	}
	at = d->text;
	while ((line = strsep(&at, "\n"))) {
		if (parse_line(d, line, ++number, name, e)) {
			html_docs_free(d);
			return NULL;
		}
	}
	return d;
}

const char *html_docs_find(const struct html_docs *docs, const char *group)
{
	u32 i;

	for (i = 0; docs && i < docs->count; i++)
		if (group_matches(group, docs->lines[i].group))
			return docs->lines[i].url;
	return NULL;
}

void html_docs_free(struct html_docs *docs)
{
	if (!docs)
		return;
	free(docs->lines);
	free(docs->text);
	free(docs);
}
