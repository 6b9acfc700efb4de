/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A page behind an address, on libmicrohttpd, in the caller's thread: no lock,
 * and the figures are those of the moment of the request.
 */
#ifndef CMD_HTTP_H
#define CMD_HTTP_H

#include "base/err.h"
#include "base/out.h"

#define HTTP_CONNECTIONS 32
#define HTTP_SECONDS 10 /* a client that does nothing so long is dropped */

struct http;

struct http_page {
	const char *path; /* of the page; others are 404 */
	/* Content types it can be had in; the first is that of who does not say. Ends with
	 * NULL. */
	const char *types[4];
	/* Writes it, as types[type]. Negative errno: 500. */
	int (*write)(void *ctx, u32 type, struct out *o);
	void *ctx;
};

/* Which of `types` an Accept header (NULL: none) wants most; the earlier one of equals
 * in the header. 0 where it wants none of them. */
u32 http_choose(const char *accept, const char *const *types);

/* address: "127.0.0.1:9464", "[::1]:9464", "9464" (of 127.0.0.1); port 0: any
 * that is free. NULL with *err filled. page is borrowed. */
struct http *http_open(const char *address, const struct http_page *page, struct err *err);
/* "http://127.0.0.1:9464/metrics" */
const char *http_url(const struct http *h);
/* Readable when http_run() has something to do. */
int http_fd(const struct http *h);
/* Serves what there is to serve; does not wait. */
void http_run(struct http *h);
/* http_run() is wanted after so many ns even so; 0: not. */
u64 http_timeout(const struct http *h);
void http_close(struct http *h);

#endif
