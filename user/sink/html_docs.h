/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the documentation of a group is: lines of
 *   GROUP = URL
 * GROUP is "kind:name" or a glob as --group takes it; the first line that
 * matches counts. URL begins with http:// or https://. Empty lines and lines
 * that begin with '#' are skipped.
 */
#ifndef SINK_HTML_DOCS_H
#define SINK_HTML_DOCS_H

#include "base/err.h"

#define HTML_DOCS_BYTES_MAX (1u << 20)

struct html_docs;

/* Reads `len` bytes of text; `name` is for messages. NULL with *e filled. */
struct html_docs *html_docs_parse(const char *text, size_t len, const char *name, struct err *e);
/* The URL of a group, or NULL. docs may be NULL. */
const char *html_docs_find(const struct html_docs *docs, const char *group);
void html_docs_free(struct html_docs *docs);

#endif
