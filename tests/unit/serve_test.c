/* SPDX-License-Identifier: BSD-2-Clause */
/* A live page that nobody keeps open is written anew for the next who asks. */
#include "cmd/cmd_serve.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- The web server ---- */

static unsigned int listeners, updates;
static size_t sent; /* bytes of the last update */

unsigned int web_listeners(const struct web *w)
{
	(void)w;
	return listeners;
}

void web_update(struct web *w, const void *data, size_t len)
{
	(void)w;
	updates++;
	sent = data ? len : 0;
}

/* ---- The rest of the commands, none of which is called ---- */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"

const struct command *command_find(const char *name)
{
	fail();
	return NULL;
}

int options_parse(const struct command *c, int argc, char **argv, struct options *o)
{
	fail();
	return 0;
}

int say_error(const struct err *e)
{
	fail();
	return 0;
}

int docs_load(struct html_docs **docs, const char *path, struct err *e)
{
	fail();
	return 0;
}

int export_search(const struct options *o, const char *input, struct select *sel, struct err *e)
{
	fail();
	return 0;
}

int session_live(struct session *s, const struct options *o, bool hard_stop, struct err *e)
{
	fail();
	return 0;
}

int session_replay(struct session *s, const struct options *o, const char *path, struct err *e)
{
	fail();
	return 0;
}

int session_drain(struct session *s, bool quiet, struct err *e)
{
	fail();
	return 0;
}

int session_run(struct session *s, const struct options *o, const struct live_ops *ops, void *ctx,
		struct err *e)
{
	fail();
	return 0;
}

void session_say_not_exact(struct session *s)
{
	fail();
}

void session_close(struct session *s)
{
	fail();
}

int wake_on_fd(struct wake *w, int fd, struct err *e)
{
	fail();
	return 0;
}

void wake_arm(struct wake *w, unsigned int timer, u64 first_ns, u64 every_ns)
{
	fail();
}

unsigned int wake_take(struct wake *w)
{
	fail();
	return 0;
}

void wake_wait(struct wake *w)
{
	fail();
}

struct web *web_open(const struct web_config *config, struct err *e)
{
	fail();
	return NULL;
}

void web_close(struct web *w)
{
	fail();
}

int web_fd(const struct web *w)
{
	fail();
	return 0;
}

void web_run(struct web *w)
{
	fail();
}

const char *web_url(const struct web *w)
{
	fail();
	return NULL;
}

void web_end(struct web *w)
{
	fail();
}

#pragma GCC diagnostic pop

/* ---- Updates ---- */

static void a_page_without_readers_is_out_of_date_all_the_same(void **state)
{
	const struct model_config none = { 0 };
	const struct html_config config = { .limits = &html_live_limits };
	struct serve v = { .live = true };
	struct snapshot *s;
	struct model *m = model_new(&none);

	(void)state;
	assert_non_null(m);
	v.session.head = (struct report_source){
		.kind = "live", .method = "exact", .nested = "drop", .migrated = "discard"
	};
	v.page = html_new(m, &config);
	s = snapshot_take(m);
	assert_true(v.page && s);
	assert_int_equal(send_update(&v, s), 0);
	assert_int_equal(updates, 1);
	assert_int_equal(sent, 0);
	listeners = 1;
	assert_int_equal(send_update(&v, s), 0);
	assert_int_equal(updates, 2);
	assert_true(sent > 0);
	listeners = 0;
	assert_int_equal(send_update(&v, s), 0);
	assert_int_equal(updates, 3);
	assert_int_equal(sent, 0);
	snapshot_free(s);
	html_free(v.page);
	model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_without_readers_is_out_of_date_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
