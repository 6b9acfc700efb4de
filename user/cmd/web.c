/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/web.h"
#include "cmd/web_host.h"
#include "cmd/mhd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#define TOKEN_BYTES 16
#define TOKEN_LEN (2 * TOKEN_BYTES)
#define CONNECTIONS_MAX 24
#define CONNECTION_MEMORY (32u << 10)
#define STREAMS_MAX 8
#define IDLE_SECONDS 20u /* of a connection that takes nothing */
#define BEHIND_MAX 30u /* updates a slow reader may miss before it is dropped */
#define ROUNDS_MAX 64 /* of the server's loop in a call of web_run() */
#define BLOCK (64u << 10)

/* Bytes that several connections send. */
struct blob {
	unsigned int refs;
	size_t len;
	u8 data[];
};

/* One who waits for updates. */
struct stream {
	struct web *web;
	struct MHD_Connection *connection;
	struct blob *now, *next; /* being sent; sent after it, or NULL */
	size_t offset; /* in now */
	unsigned int behind;
	bool suspended, told_end;
};

struct web {
	struct web_config config;
	struct MHD_Daemon *daemon;
	int epoll; /* of the daemon's descriptor and of again */
	int again; /* an eventfd: web_run() has left something to do */
	u16 port;
	char token[TOKEN_LEN + 1];
	char url[160];
	struct blob *page; /* NULL: to be written when asked for */
	struct stream *streams[STREAMS_MAX];
	unsigned int stream_count;
	bool ended;
};

static struct blob *blob_new(size_t len)
{
	struct blob *b = malloc(sizeof(*b) + len);

	if (b)
		*b = (struct blob){ .refs = 1, .len = len };
	return b;
}

static void blob_put(void *p)
{
	struct blob *b = p;

	if (b && !--b->refs)
		free(b);
}

/* ---- Answers ---- */

static enum MHD_Result answer(struct MHD_Connection *c, unsigned int status, struct MHD_Response *r)
{
	static const char *const headers[][2] = {
		{ "Cache-Control", "no-store" },
		{ "Referrer-Policy", "no-referrer" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "X-Frame-Options", "DENY" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
	};
	enum MHD_Result rc;
	size_t i;

	if (!r)
		return MHD_NO;
	for (i = 0; i < ARRAY_SIZE(headers); i++)
		mhd.add_response_header(r, headers[i][0], headers[i][1]);
	rc = mhd.queue_response(c, status, r);
	mhd.destroy_response(r);
	return rc;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned int status, const char *words)
{
	struct MHD_Response *r = mhd.create_response_from_buffer(strlen(words), (void *)words,
								 MHD_RESPMEM_PERSISTENT);

	if (r)
		mhd.add_response_header(r, "Content-Type", "text/plain; charset=utf-8");
	if (r && status == MHD_HTTP_METHOD_NOT_ALLOWED)
		mhd.add_response_header(r, "Allow", "GET");
	return answer(c, status, r);
}

static ssize_t read_blob(void *ctx, uint64_t at, char *to, size_t max)
{
	const struct blob *b = ctx;
	size_t n = at < b->len ? min_u64(b->len - at, max) : 0;

	memcpy(to, b->data + at, n);
	return n ? (ssize_t)n : MHD_CONTENT_READER_END_OF_STREAM;
}

/* Written at most once between two updates, however many ask. */
static struct blob *page_blob(struct web *w)
{
	struct out o;

	if (w->page)
		return w->page;
	out_open_memory(&o);
	w->config.page(w->config.ctx, &o);
	if (!o.error && !o.buf.failed)
		w->page = blob_new(o.buf.len);
	if (w->page)
		memcpy(w->page->data, o.buf.data, o.buf.len);
	out_close(&o);
	return w->page;
}

static enum MHD_Result send_page(struct web *w, struct MHD_Connection *c)
{
	struct blob *b = page_blob(w);
	struct MHD_Response *r;

	if (!b)
		return refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory\n");
	b->refs++;
	r = mhd.create_response_from_callback(b->len, BLOCK, read_blob, b, blob_put);
	if (!r)
		blob_put(b);
	else
		mhd.add_response_header(r, "Content-Type", "text/html; charset=utf-8");
	return answer(c, MHD_HTTP_OK, r);
}

/* ---- Updates ---- */

static struct blob *event_blob(const char *head, const void *data, size_t len)
{
	size_t head_len = strlen(head);
	struct blob *b = blob_new(head_len + len + 2);

	if (!b)
		return NULL;
	memcpy(b->data, head, head_len);
	if (len)
		memcpy(b->data + head_len, data, len);
	memcpy(b->data + head_len + len, "\n\n", 2);
	return b;
}

static void stream_free(void *p)
{
	struct stream *s = p;
	struct web *w = s->web;
	unsigned int i;

	for (i = 0; i < w->stream_count; i++)
		if (w->streams[i] == s)
			w->streams[i] = w->streams[--w->stream_count];
	blob_put(s->now);
	blob_put(s->next);
	free(s);
}

/* The next piece for s->now, or NULL: nothing to send. */
static bool stream_advance(struct stream *s)
{
	if (s->now && s->offset < s->now->len)
		return true;
	blob_put(s->now);
	s->now = s->next;
	s->next = NULL;
	s->offset = 0;
	if (!s->now && s->web->ended && !s->told_end) {
		s->now = event_blob("event: end\ndata: ", "0", 1);
		s->told_end = true;
	}
	return s->now;
}

static ssize_t read_stream(void *ctx, uint64_t at, char *to, size_t max)
{
	struct stream *s = ctx;
	size_t n;

	(void)at;
	if (s->behind > BEHIND_MAX)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (!stream_advance(s)) {
		if (s->told_end)
			return MHD_CONTENT_READER_END_OF_STREAM;
		s->suspended = true;
		mhd.suspend_connection(s->connection);
		return 0;
	}
	n = min_u64(s->now->len - s->offset, max);
	memcpy(to, s->now->data + s->offset, n);
	s->offset += n;
	return (ssize_t)n;
}

static void stream_wake(struct stream *s)
{
	if (!s->suspended)
		return;
	s->suspended = false;
	mhd.resume_connection(s->connection);
}

static enum MHD_Result send_stream(struct web *w, struct MHD_Connection *c)
{
	struct MHD_Response *r;
	struct stream *s;

	if (w->stream_count == STREAMS_MAX)
		return refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE, "too many pages are open\n");
	s = calloc(1, sizeof(*s));
	if (!s)
		return MHD_NO;
	*s = (struct stream){ .web = w, .connection = c };
	/* Headers go out with the first bytes: the page learns it is connected. */
	s->now = event_blob("retry: 2000", NULL, 0);
	r = mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, s, stream_free);
	if (!r) {
		blob_put(s->now);
		free(s);
		return MHD_NO;
	}
	w->streams[w->stream_count++] = s;
	mhd.add_response_header(r, "Content-Type", "text/event-stream");
	return answer(c, MHD_HTTP_OK, r);
}

/* ---- Requests ---- */

/* In a time that does not tell how much of it was right. */
static bool token_ok(const struct web *w, const char *given)
{
	unsigned int i, wrong = 0;

	if (strlen(given) < TOKEN_LEN)
		return false;
	for (i = 0; i < TOKEN_LEN; i++)
		wrong |= (unsigned int)(w->token[i] ^ given[i]);
	return !wrong;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *path,
				  const char *method, const char *version, const char *body,
				  size_t *body_len, void **state)
{
	const char *host = mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Host");
	struct web *w = ctx;

	(void)version;
	(void)body;
	(void)body_len;
	(void)state;
	if (!web_host_ok(host, w->port, w->config.allow_remote))
		return refuse(c, MHD_HTTP_FORBIDDEN, "asked by a name that is not this host's\n");
	if (strcmp(method, "GET"))
		return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
	if (path[0] != '/' || !token_ok(w, path + 1))
		return refuse(c, MHD_HTTP_FORBIDDEN, "the URL with the token is needed\n");
	path += 1 + TOKEN_LEN;
	if (!strcmp(path, "/"))
		return send_page(w, c);
	if (!strcmp(path, "/events"))
		return send_stream(w, c);
	return refuse(c, MHD_HTTP_NOT_FOUND, "no such page\n");
}

/* ---- Life ---- */

static int make_token(struct web *w, struct err *e)
{
	u8 random[TOKEN_BYTES];
	unsigned int i;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return err_set(e, -EIO, "cannot make a random token");
	for (i = 0; i < TOKEN_BYTES; i++)
		snprintf(w->token + 2 * i, 3, "%02x", random[i]);
	return 0;
}

/* The library's own complaints are about peers: not for the user. */
static void no_log(void *ctx, const char *fmt, va_list ap)
{
	(void)ctx;
	(void)fmt;
	(void)ap;
}

static int watch(struct web *w)
{
	const union MHD_DaemonInfo *info = mhd.get_daemon_info(w->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct epoll_event ready = { .events = EPOLLIN };

	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	w->again = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!info || w->epoll < 0 || w->again < 0 ||
	    epoll_ctl(w->epoll, EPOLL_CTL_ADD, info->epoll_fd, &ready) ||
	    epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->again, &ready))
		return -errno;
	return 0;
}

struct web *web_open(const struct web_config *config, struct err *e)
{
	struct web *w = calloc(1, sizeof(*w));
	char host[64];
	int fd;

	if (!w) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	w->config = *config;
	w->epoll = w->again = -1;
	if (mhd_load(e) || make_token(w, e))
		goto fail;
	fd = web_listen(config->listen ? config->listen : "127.0.0.1:0", config->allow_remote, host,
			&w->port, e);
	if (fd < 0)
		goto fail;
	w->daemon = mhd.start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
				     0, NULL, NULL, on_request, w, MHD_OPTION_EXTERNAL_LOGGER,
				     no_log, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
				     MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CONNECTIONS_MAX,
				     MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
				     MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_END);
	if (!w->daemon) {
		close(fd);
		err_set(e, -EIO, "cannot start the web server");
		goto fail;
	}
	if (watch(w)) {
		err_set(e, -errno, "cannot wait for connections: %s", strerror(errno));
		goto fail;
	}
	snprintf(w->url, sizeof(w->url), "http://%s:%u/%s/", host, w->port, w->token);
	return w;
fail:
	web_close(w);
	return NULL;
}

void web_close(struct web *w)
{
	unsigned int i;

	if (!w)
		return;
	/* A suspended connection must be resumed before the daemon stops. */
	for (i = 0; i < w->stream_count; i++) {
		w->streams[i]->behind = BEHIND_MAX + 1;
		stream_wake(w->streams[i]);
	}
	if (w->daemon)
		mhd.stop_daemon(w->daemon);
	if (w->epoll >= 0)
		close(w->epoll);
	if (w->again >= 0)
		close(w->again);
	blob_put(w->page);
	free(w);
}

int web_fd(const struct web *w)
{
	return w->epoll;
}

/* The library may have more to do without any descriptor saying so. A peer
 * that keeps it busy must not keep the owner from its other work. */
void web_run(struct web *w)
{
	MHD_UNSIGNED_LONG_LONG wait;
	u64 count;
	int i;

	if (read(w->again, &count, sizeof(count)) < 0)
		count = 0;
	for (i = 0; i < ROUNDS_MAX; i++) {
		mhd.run(w->daemon);
		if (mhd.get_timeout(w->daemon, &wait) != MHD_YES || wait)
			return;
	}
	count = 1;
	if (write(w->again, &count, sizeof(count)) < 0)
		return; /* it says so already */
}

const char *web_url(const struct web *w)
{
	return w->url;
}

unsigned int web_listeners(const struct web *w)
{
	return w->stream_count;
}

static void offer(struct stream *s, struct blob *b)
{
	/* What it has not begun to read is out of date. */
	s->behind = s->next ? s->behind + 1 : 0;
	blob_put(s->next);
	b->refs++;
	s->next = b;
	stream_wake(s);
}

void web_update(struct web *w, const void *data, size_t len)
{
	struct blob *b = data ? event_blob("data: ", data, len) : NULL;
	unsigned int i;

	blob_put(w->page);
	w->page = NULL;
	for (i = 0; b && i < w->stream_count; i++)
		offer(w->streams[i], b);
	blob_put(b);
	web_run(w);
}

void web_end(struct web *w)
{
	unsigned int i;

	w->ended = true;
	for (i = 0; i < w->stream_count; i++)
		stream_wake(w->streams[i]);
	web_run(w);
}
