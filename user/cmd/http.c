/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/http.h"
#include "base/text.h"
#include "cmd/mhd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct http {
	struct MHD_Daemon *daemon;
	const struct http_page *page;
	int epoll;
	char url[128];
};

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static int bad_address(struct err *err, const char *text)
{
	char clean[96];

	err_set_status(err, -EINVAL, EXIT_USAGE, "--listen: '%s' is not an address and a port",
		       text_clean(clean, sizeof(clean), text, strlen(text)));
	err_hint(err, "such as 127.0.0.1:9464, [::1]:9464, or 9464");
	return -EINVAL;
}

static int parse(const char *text, union address *a, socklen_t *len, struct err *err)
{
	const char *colon = strrchr(text, ':'), *digits = colon ? colon + 1 : text;
	char host[64] = "127.0.0.1";
	size_t n = colon ? (size_t)(colon - text) : 0;
	u64 port;

	memset(a, 0, sizeof(*a));
	if (text_parse_u64(digits, 65535, &port) || n >= sizeof(host))
		return bad_address(err, text);
	if (colon && text[0] == '[' && n > 2 && text[n - 1] == ']')
		snprintf(host, sizeof(host), "%.*s", (int)n - 2, text + 1);
	else if (colon)
		snprintf(host, sizeof(host), "%.*s", (int)n, text);
	if (inet_pton(AF_INET, host, &a->v4.sin_addr) == 1) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons((u16)port);
		*len = sizeof(a->v4);
		return 0;
	}
	if (inet_pton(AF_INET6, host, &a->v6.sin6_addr) == 1) {
		a->v6.sin6_family = AF_INET6;
		a->v6.sin6_port = htons((u16)port);
		*len = sizeof(a->v6);
		return 0;
	}
	return bad_address(err, text);
}

static int listen_on(const char *text, struct http *h, struct err *err)
{
	char host[INET6_ADDRSTRLEN] = "";
	union address a;
	socklen_t len = 0;
	int fd, one = 1, rc = parse(text, &a, &len, err);
	bool v6;

	if (rc)
		return rc;
	v6 = a.any.sa_family == AF_INET6;
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, &a.any, len) || listen(fd, HTTP_CONNECTIONS) ||
	    getsockname(fd, &a.any, &len)) {
		rc = -errno;
		err_set_status(err, rc, EXIT_FAILED, "cannot listen on %s: %s", text,
			       strerror(-rc));
		err_hint(err, "choose another port with --listen ADDRESS:PORT");
		if (fd >= 0)
			close(fd);
		return rc;
	}
	inet_ntop(a.any.sa_family, v6 ? (void *)&a.v6.sin6_addr : (void *)&a.v4.sin_addr, host,
		  sizeof(host));
	snprintf(h->url, sizeof(h->url), "http://%s%s%s:%u%s", v6 ? "[" : "", host, v6 ? "]" : "",
		 ntohs(v6 ? a.v6.sin6_port : a.v4.sin_port), h->page->path);
	return fd;
}

static enum MHD_Result reply(struct MHD_Connection *c, unsigned int status, struct out *o,
			     const char *type)
{
	struct MHD_Response *r =
		mhd.create_response_from_buffer(o->buf.len, o->buf.data, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result rc = MHD_NO;

	if (r) {
		mhd.add_response_header(r, "Content-Type", type);
		rc = mhd.queue_response(c, status, r);
		mhd.destroy_response(r);
	}
	return rc;
}

static enum MHD_Result answer(void *ctx, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *data,
			      size_t *data_size, void **state)
{
	struct http *h = ctx;
	unsigned int status = MHD_HTTP_OK;
	enum MHD_Result rc;
	struct out o;
	u32 type;

	(void)version;
	(void)data;
	(void)state;
	if (*data_size)
		return MHD_NO;
	out_open_memory(&o);
	type = http_choose(mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Accept"),
			   h->page->types);
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		status = MHD_HTTP_METHOD_NOT_ALLOWED;
	else if (strcmp(url, h->page->path))
		status = MHD_HTTP_NOT_FOUND;
	else if (h->page->write(h->page->ctx, type, &o) || o.error)
		status = MHD_HTTP_INTERNAL_SERVER_ERROR;
	if (status == MHD_HTTP_OK) {
		rc = reply(c, status, &o, h->page->types[type]);
	} else {
		buf_clear(&o.buf);
		out_printf(&o, "%u: see %s\n", status, h->page->path);
		rc = reply(c, status, &o, "text/plain; charset=utf-8");
	}
	out_close(&o);
	return rc;
}

struct http *http_open(const char *address, const struct http_page *page, struct err *err)
{
	const union MHD_DaemonInfo *info;
	struct http *h;
	int fd;

	if (mhd_load(err))
		return NULL;
	h = calloc(1, sizeof(*h));
	if (!h) {
		err_set(err, -ENOMEM, "out of memory");
		return NULL;
	}
	h->page = page;
	fd = listen_on(address, h, err);
	if (fd < 0) {
		free(h);
		return NULL;
	}
	h->daemon = mhd.start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, answer, h,
				     MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
				     (unsigned int)HTTP_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
				     (unsigned int)HTTP_SECONDS, MHD_OPTION_END);
	info = h->daemon ? mhd.get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info) {
		err_set(err, -EIO, "cannot start the HTTP server on %s", address);
		if (h->daemon)
			mhd.stop_daemon(h->daemon);
		else
			close(fd);
		free(h);
		return NULL;
	}
	h->epoll = info->epoll_fd;
	return h;
}

const char *http_url(const struct http *h)
{
	return h->url;
}

int http_fd(const struct http *h)
{
	return h->epoll;
}

void http_run(struct http *h)
{
	mhd.run(h->daemon);
}

u64 http_timeout(const struct http *h)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (mhd.get_timeout(h->daemon, &ms) != MHD_YES)
		return 0;
	return ms ? ms * NSEC_PER_MSEC : 1;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	mhd.stop_daemon(h->daemon);
	free(h);
}
