/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small web server for one page and its updates. It has no thread: whoever
 * owns it waits for web_fd() and calls web_run(). Everything it accepts is
 * bounded: connections, their memory, and what waits for a slow reader.
 */
#ifndef CMD_WEB_H
#define CMD_WEB_H

#include "base/err.h"
#include "base/out.h"

struct web;

struct web_config {
	const char *listen; /* "ADDR:PORT", numeric; NULL: 127.0.0.1, any port */
	bool allow_remote;
	/* Writes the page. */
	void (*page)(void *ctx, struct out *o);
	void *ctx;
};

struct web *web_open(const struct web_config *config, struct err *e);
void web_close(struct web *w);
/* Readable when web_run() has something to do. */
int web_fd(const struct web *w);
void web_run(struct web *w);
/* With the token that opens it. */
const char *web_url(const struct web *w);
/* How many wait for updates. */
unsigned int web_listeners(const struct web *w);
/* The page has changed. data: one line, sent to all who wait; NULL when there
 * are none. */
void web_update(struct web *w, const void *data, size_t len);
/* No update will follow. */
void web_end(struct web *w);

#endif
