/* SPDX-License-Identifier: BSD-2-Clause */
/* What a client is told of a page: that it is whole, or what is wrong. */
#include "cmd/http.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- The server, as little as is needed: it keeps what a client is given ---- */

static struct {
	unsigned int status;
	char body[256], type[128];
	u32 answers, freed;
} given;

static struct MHD_Response *make_response(size_t size, void *data, enum MHD_ResponseMemoryMode mode)
{
	assert_int_equal(mode, MHD_RESPMEM_MUST_COPY);
	assert_true(size < sizeof(given.body));
	memcpy(given.body, data, size);
	given.body[size] = 0;
	return (struct MHD_Response *)(void *)&given;
}

static enum MHD_Result add_header(struct MHD_Response *r, const char *name, const char *value)
{
	(void)r;
	assert_string_equal(name, "Content-Type");
	snprintf(given.type, sizeof(given.type), "%s", value);
	return MHD_YES;
}

static enum MHD_Result queue(struct MHD_Connection *c, unsigned int status, struct MHD_Response *r)
{
	(void)c;
	assert_ptr_equal(r, &given);
	given.status = status;
	given.answers++;
	return MHD_YES;
}

static void free_response(struct MHD_Response *r)
{
	assert_ptr_equal(r, &given);
	given.freed++;
}

static const char *accepts(struct MHD_Connection *c, enum MHD_ValueKind kind, const char *key)
{
	(void)c;
	assert_int_equal(kind, MHD_HEADER_KIND);
	assert_string_equal(key, "Accept");
	return NULL;
}

struct mhd mhd = {
	.create_response_from_buffer = make_response,
	.add_response_header = add_header,
	.queue_response = queue,
	.destroy_response = free_response,
	.lookup_connection_value = accepts,
};

int mhd_load(struct err *err)
{
	(void)err;
	return 0;
}

u32 http_choose(const char *accept, const char *const *types)
{
	(void)types;
	assert_null(accept);
	return 0;
}

/* ---- A page ---- */

struct content {
	int error; /* what its writer returns */
	int broken; /* and how its output ended */
	u32 written;
};

static int write_page(void *ctx, u32 type, struct out *o)
{
	struct content *c = ctx;

	assert_int_equal(type, 0);
	c->written++;
	out_puts(o, "half of it");
	o->error = c->broken;
	return c->error;
}

static unsigned int ask(struct content *c, const char *method, const char *url)
{
	const struct http_page page = {
		.path = "/metrics", .types = { "text/made" }, .write = write_page, .ctx = c
	};
	struct http h = { .page = &page };
	size_t none = 0;

	memset(&given, 0, sizeof(given));
	assert_int_equal(answer(&h, NULL, url, method, "HTTP/1.1", NULL, &none, NULL), MHD_YES);
	assert_int_equal(given.answers, 1);
	assert_int_equal(given.freed, 1);
	return given.status;
}

static void assert_not_given(const char *body)
{
	assert_string_equal(given.body, body);
	assert_string_equal(given.type, "text/plain; charset=utf-8");
}

static void a_page_that_was_written_is_given(void **state)
{
	struct content c = { 0 };

	(void)state;
	assert_int_equal(ask(&c, "GET", "/metrics"), 200);
	assert_string_equal(given.body, "half of it");
	assert_string_equal(given.type, "text/made");
	/* The server leaves out the body by itself. */
	assert_int_equal(ask(&c, "HEAD", "/metrics"), 200);
	assert_int_equal(c.written, 2);
}

/* Whoever scrapes half a page would take it for all there is. */
static void one_that_could_not_be_written_is_an_error(void **state)
{
	static const struct content failures[] = {
		{ .error = -ENOMEM },
		{ .broken = -ENOMEM },
		{ .error = -ENOMEM, .broken = -ENOMEM },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(failures); i++) {
		struct content c = failures[i];

		assert_int_equal(ask(&c, "GET", "/metrics"), 500);
		assert_int_equal(c.written, 1);
		assert_null(strstr(given.body, "half"));
		assert_string_equal(given.type, "text/plain; charset=utf-8");
	}
}

static void what_is_no_page_is_not_given(void **state)
{
	static const char *const others[] = { "/",         "/metric",     "/metrics/",
					      "/metricss", "/metrics/..", "" };
	struct content c = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		assert_int_equal(ask(&c, "GET", others[i]), 404);
		assert_not_given("404: see /metrics\n");
	}
	assert_int_equal(ask(&c, "POST", "/metrics"), 405);
	assert_not_given("405: see /metrics\n");
	assert_int_equal(c.written, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_that_was_written_is_given),
		cmocka_unit_test(one_that_could_not_be_written_is_an_error),
		cmocka_unit_test(what_is_no_page_is_not_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
