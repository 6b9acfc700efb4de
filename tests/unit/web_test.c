/* SPDX-License-Identifier: BSD-2-Clause */
/* What waits for a slow reader of the live page: the newest update and no other, and who never
 * reads is let go. */
#include "cmd/web.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- The server and its addresses, as little as is needed ---- */

static unsigned int suspended, resumed;

static void suspend(struct MHD_Connection *c)
{
	(void)c;
	suspended++;
}

static void resume(struct MHD_Connection *c)
{
	(void)c;
	resumed++;
}

static unsigned int status;
static struct stream *opened; /* the last */
static char response; /* of which nobody looks at anything */

static struct MHD_Response *words(size_t n, void *text, enum MHD_ResponseMemoryMode mode)
{
	assert_int_equal(n, strlen(text));
	assert_int_equal(mode, MHD_RESPMEM_PERSISTENT);
	return (void *)&response;
}

static struct MHD_Response *pieces(uint64_t n, size_t block, MHD_ContentReaderCallback read,
				   void *ctx, MHD_ContentReaderFreeCallback done)
{
	assert_true(n == MHD_SIZE_UNKNOWN && block && read && done);
	opened = ctx;
	return (void *)&response;
}

static enum MHD_Result header(struct MHD_Response *r, const char *name, const char *value)
{
	return r && name && value ? MHD_YES : MHD_NO;
}

static enum MHD_Result queue(struct MHD_Connection *c, unsigned int code, struct MHD_Response *r)
{
	(void)c;
	status = code;
	return r ? MHD_YES : MHD_NO;
}

static void destroy(struct MHD_Response *r)
{
	assert_ptr_equal(r, &response);
}

struct mhd mhd = { .suspend_connection = suspend,
		   .resume_connection = resume,
		   .create_response_from_buffer = words,
		   .create_response_from_callback = pieces,
		   .add_response_header = header,
		   .queue_response = queue,
		   .destroy_response = destroy };

int mhd_load(struct err *err)
{
	return err_set(err, -ENOENT, "there is none");
}

int web_listen(const char *where, bool allow_remote, char host[64], u16 *port, struct err *e)
{
	(void)where;
	(void)allow_remote;
	(void)host;
	(void)port;
	return err_set(e, -ENOENT, "there is none");
}

bool web_host_ok(const char *header, u16 port, bool remote)
{
	(void)header;
	(void)port;
	(void)remote;
	return false;
}

/* ---- A reader ---- */

struct reader {
	struct web web;
	struct stream *stream;
};

static void reader_open(struct reader *r)
{
	*r = (struct reader){ .stream = calloc(1, sizeof(struct stream)) };
	assert_non_null(r->stream);
	*r->stream = (struct stream){ .web = &r->web };
	r->web.streams[r->web.stream_count++] = r->stream;
	suspended = resumed = 0;
}

static void update(struct reader *r, unsigned int number)
{
	char text[16];
	struct blob *b;

	snprintf(text, sizeof(text), "%u", number);
	b = event_blob("data: ", text, strlen(text));
	assert_non_null(b);
	offer(r->stream, b);
	blob_put(b);
}

static void gets(struct reader *r, const char *want)
{
	char got[64];
	ssize_t n = read_stream(r->stream, 0, got, sizeof(got) - 1);

	assert_true(n >= 0);
	got[n] = 0;
	assert_string_equal(got, want);
}

static void close_reader(struct reader *r)
{
	stream_free(r->stream);
	assert_int_equal(r->web.stream_count, 0);
}

static void a_reader_gets_each_update_or_the_newest(void **state)
{
	struct reader r;

	(void)state;
	reader_open(&r);
	update(&r, 1);
	gets(&r, "data: 1\n\n");
	update(&r, 2);
	gets(&r, "data: 2\n\n");
	gets(&r, "");
	assert_int_equal(suspended, 1);
	update(&r, 3);
	assert_int_equal(resumed, 1);
	update(&r, 4);
	update(&r, 5);
	gets(&r, "data: 5\n\n");
	gets(&r, "");
	close_reader(&r);
}

static void a_reader_may_miss_thirty_updates_in_a_row(void **state)
{
	struct reader r;
	unsigned int i;
	char got[64];

	(void)state;
	reader_open(&r);
	for (i = 0; i <= 30; i++)
		update(&r, i);
	gets(&r, "data: 30\n\n");
	/* It has caught up: they are not added to those. */
	for (i = 0; i <= 30; i++)
		update(&r, i);
	gets(&r, "data: 30\n\n");
	for (i = 0; i <= 31; i++)
		update(&r, i);
	assert_int_equal(read_stream(r.stream, 0, got, sizeof(got)),
			 MHD_CONTENT_READER_END_WITH_ERROR);
	close_reader(&r);
}

static void the_end_is_told_once(void **state)
{
	struct reader r;
	char got[64];

	(void)state;
	reader_open(&r);
	update(&r, 1);
	r.web.ended = true;
	gets(&r, "data: 1\n\n");
	gets(&r, "event: end\ndata: 0\n\n");
	assert_int_equal(read_stream(r.stream, 0, got, sizeof(got)),
			 MHD_CONTENT_READER_END_OF_STREAM);
	close_reader(&r);
}

/* Each of so many has a place, and one that is closed gives its own to another. */
static void a_page_too_many_is_refused(void **state)
{
	static struct web web;
	unsigned int i;

	(void)state;
	for (i = 0; i < STREAMS_MAX; i++) {
		assert_int_equal(send_stream(&web, NULL), MHD_YES);
		assert_int_equal(status, MHD_HTTP_OK);
		assert_int_equal(web_listeners(&web), i + 1);
		assert_ptr_equal(web.streams[i], opened);
	}
	assert_int_equal(send_stream(&web, NULL), MHD_YES);
	assert_int_equal(status, MHD_HTTP_SERVICE_UNAVAILABLE);
	assert_int_equal(web_listeners(&web), STREAMS_MAX);
	stream_free(web.streams[3]);
	assert_int_equal(send_stream(&web, NULL), MHD_YES);
	assert_int_equal(status, MHD_HTTP_OK);
	while (web.stream_count)
		stream_free(web.streams[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_gets_each_update_or_the_newest),
		cmocka_unit_test(a_reader_may_miss_thirty_updates_in_a_row),
		cmocka_unit_test(the_end_is_told_once),
		cmocka_unit_test(a_page_too_many_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
