/* SPDX-License-Identifier: BSD-2-Clause */
/* The library's listeners: very many, those that come and go, those that go while told. */
#include "rec_file.h"

#include "lib/libvmspan.h"

#include <malloc.h>
#define MANY 10000

/* Bytes allocated now. ASan has an allocator of its own, of which mallinfo2 knows nothing;
 * gcc has no header that declares its interface. */
#ifdef __SANITIZE_ADDRESS__
size_t __sanitizer_get_current_allocated_bytes(void);
#endif
static size_t allocated(void)
{
#ifdef __SANITIZE_ADDRESS__
	return __sanitizer_get_current_allocated_bytes();
#else
	return mallinfo2().uordblks;
#endif
}

static struct libvmspan *replay(struct file *f)
{
	struct libvmspan_options o = LIBVMSPAN_OPTIONS_INIT;
	struct libvmspan *t;

	write_small(f, 2, 100, false);
	o.threshold_ns = 1; /* every turn */
	t = libvmspan_replay(f->path, &o, NULL, 0);
	assert_non_null(t);
	return t;
}

static void to_the_end(struct libvmspan *t)
{
	int rc;

	while ((rc = libvmspan_poll(t, -1)) > 0)
		;
	assert_int_equal(rc, 0);
}

struct ear {
	u64 heard;
	bool first; /* it marks the text, and the others find the mark */
	u64 marked;
};

static int hear(void *ctx, const struct libvmspan_alert *a)
{
	struct ear *e = ctx;

	e->heard++;
	e->marked += a->json[0] == '!';
	if (e->first)
		*(char *)(uintptr_t)a->json = '!';
	return 0;
}

/* Each hears what it asked for, and the alert is put into words once. */
static void ten_thousand_listeners_are_told_once(void **state)
{
	struct ear *ears = calloc(MANY, sizeof(*ears)), all = { .first = true };
	struct libvmspan *t = replay(*state);
	u32 i;

	assert_non_null(ears);
	assert_true(libvmspan_listen(t, "addon:add-on 1", hear, &all) > 0);
	for (i = 0; i < MANY; i++)
		assert_true(libvmspan_listen(t, i & 1 ? "addon:add-on 1" : "page:none", hear,
					     &ears[i]) > 0);
	to_the_end(t);
	assert_true(all.heard > 0);
	for (i = 0; i < MANY; i++) {
		assert_int_equal(ears[i].heard, i & 1 ? all.heard : 0);
		assert_int_equal(ears[i].marked, ears[i].heard);
	}
	libvmspan_free(t);
	free(ears);
}

/* A program that listens to one group after the other for years. */
static void listeners_that_go_leave_nothing(void **state)
{
	struct libvmspan *t = replay(*state);
	struct ear ear = { 0 };
	size_t before = 0;
	u32 i;

	for (i = 0; i < 3 * MANY; i++) {
		int64_t id = libvmspan_listen(t, "addon:*", hear, &ear);

		assert_true(id > 0);
		assert_int_equal(libvmspan_unlisten(t, id), 0);
		assert_int_equal(libvmspan_unlisten(t, id), -ENOENT);
		before = i == MANY ? allocated() : before;
	}
	assert_true(before > 0);
	assert_true(allocated() <= before + 4096);
	to_the_end(t);
	assert_int_equal(ear.heard, 0);
	libvmspan_free(t);
}

struct leaver {
	struct libvmspan *t;
	int64_t id, other;
	u64 heard;
};

static int leave(void *ctx, const struct libvmspan_alert *a)
{
	struct leaver *l = ctx;

	assert_non_null(a->json);
	l->heard++;
	assert_int_equal(libvmspan_unlisten(l->t, l->id), 0);
	assert_int_equal(libvmspan_unlisten(l->t, l->other), 0);
	assert_int_equal(libvmspan_unlisten(l->t, l->other), -ENOENT);
	return 0;
}

static void a_listener_may_remove_itself_and_others(void **state)
{
	struct libvmspan *t = replay(*state);
	struct leaver l = { .t = t };
	struct ear stays = { 0 }, goes = { 0 };

	l.id = libvmspan_listen(t, NULL, leave, &l);
	l.other = libvmspan_listen(t, NULL, hear, &goes);
	assert_true(l.id > 0 && l.other > 0 && libvmspan_listen(t, NULL, hear, &stays) > 0);
	assert_int_equal(libvmspan_listen(t, "addon:[", hear, &stays), -EINVAL);
	assert_int_equal(libvmspan_unlisten(t, 0), -ENOENT);
	assert_int_equal(libvmspan_unlisten(t, -1), -ENOENT);
	assert_int_equal(libvmspan_unlisten(t, 1000), -ENOENT);
	to_the_end(t);
	assert_int_equal(l.heard, 1);
	assert_int_equal(goes.heard, 0);
	assert_true(stays.heard > 1);
	libvmspan_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ten_thousand_listeners_are_told_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(listeners_that_go_leave_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(a_listener_may_remove_itself_and_others, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
