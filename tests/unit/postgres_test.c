/* SPDX-License-Identifier: BSD-2-Clause */
/* What a backend of PostgreSQL holds of its client: here in this process's own memory. */
#include "probe/postgres.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	PAGE = 4096
};

/* Three pages, of which the last one cannot be read. */
static struct {
	u8 *pages;
	u64 root; /* MyProcPort */
} backend;

static int open_backend(void **state)
{
	(void)state;
	backend.pages =
		mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (backend.pages == MAP_FAILED)
		return -1;
	backend.root = (u64)(uintptr_t)backend.pages;
	return mprotect(backend.pages + 2 * PAGE, PAGE, PROT_NONE);
}

static int close_backend(void **state)
{
	(void)state;
	return munmap(backend.pages, 3 * PAGE);
}

static u64 text_at(u8 *at, const char *text)
{
	memcpy(at, text, strlen(text) + 1);
	return (u64)(uintptr_t)at;
}

/* A port at the begin of the first page but for the root, with two names at `offset`. */
static void set_port(size_t offset, u64 database, u64 user)
{
	u64 port = (u64)(uintptr_t)(backend.pages + 64);

	memcpy(backend.pages, &port, sizeof(port));
	memset(backend.pages + 64, 0, 1024);
	memcpy(backend.pages + 64 + offset, &database, sizeof(database));
	memcpy(backend.pages + 64 + offset + 8, &user, sizeof(user));
}

static char name[64];

static int database(const char *names)
{
	strcpy(name, "(unchanged)");
	return postgres_database((u32)getpid(), backend.root, names, strlen(names), name,
				 sizeof(name));
}

static void expect(const char *user, const char *base, const char *names, const char *found)
{
	u64 u = text_at(backend.pages + 2048, user), d = text_at(backend.pages + 2048 + 512, base);

	set_port(336, d, u);
	assert_int_equal(database(names), found ? 0 : -ENOENT);
	assert_string_equal(name, found ? found : "(unchanged)");
}

static void names_are_the_two_that_the_title_ends_in(void **state)
{
	static const char longest[] =
		"a name of so many letters that PostgreSQL takes no longer one";

	(void)state;
	expect("me", "shop", "postgres: me shop", "shop");
	expect("some one", "my own shop", "postgres: some one my own shop", "my own shop");
	expect("some", "one shop", "postgres: some one shop", "one shop");
	expect("some one", "shop", "postgres: some one shop", "shop");
	expect("me", "a: b c", "postgres: 15/main: me a: b c", "a: b c");
	expect("me", "me", "me me", "me");
	expect("me", longest,
	       "postgres: me a name of so many letters that PostgreSQL takes no longer one",
	       longest);
	/* Of another client, or another order. */
	expect("me", "shop", "postgres: me shops", NULL);
	expect("me", "shop", "postgres: you shop", NULL);
	expect("me", "shop", "postgres: some me shop ", NULL);
	expect("me", "shop", "postgres: shop me", NULL);
	/* Words begin where they do. */
	expect("me", "shop", "postgres: me workshop", NULL);
	expect("me", "shop", "postgres: some shop", NULL);
	expect("me", "", "postgres: me ", NULL);
	expect("", "shop", "postgres:  shop", NULL);
	expect("me", "shop", "shop", NULL);
	expect("me", "shop", "", NULL);
}

/* Where in it is not the same in all versions. */
static void they_may_be_anywhere_in_what_is_looked_through(void **state)
{
	u64 u = text_at(backend.pages + 2048, "me"), d = text_at(backend.pages + 2560, "a shop");
	size_t at;

	(void)state;
	for (at = 0; at + 16 <= 1024; at += 8) {
		set_port(at, d, u);
		assert_int_equal(database("me a shop"), 0);
		assert_string_equal(name, "a shop");
	}
	set_port(1024 - 8, d, u);
	assert_int_equal(database("me a shop"), -ENOENT);
}

/* A name that ends with its page, one that goes on in the next, and one that goes on where nothing is. */
static void a_name_may_end_with_what_can_be_read(void **state)
{
	u64 u = text_at(backend.pages + 2048, "me");

	(void)state;
	set_port(8, text_at(backend.pages + 2 * PAGE - 5, "shop"), u);
	assert_int_equal(database("me shop"), 0);
	assert_string_equal(name, "shop");
	set_port(8, text_at(backend.pages + PAGE - 3, "shop"), u);
	assert_int_equal(database("me shop"), 0);
	assert_string_equal(name, "shop");
	memcpy(backend.pages + 2 * PAGE - 4, "shop", 4);
	set_port(8, (u64)(uintptr_t)(backend.pages + 2 * PAGE - 4), u);
	assert_int_equal(database("me shop"), -ENOENT);
	/* Without an end. */
	memset(backend.pages + PAGE, 'x', PAGE);
	set_port(8, (u64)(uintptr_t)(backend.pages + PAGE + 16), u);
	assert_int_equal(database("me xxxx"), -ENOENT);
	set_port(8, 8, u);
	assert_int_equal(database("me shop"), -ENOENT);
}

static void what_cannot_be_read_is_said(void **state)
{
	u64 nowhere = (u64)(uintptr_t)(backend.pages + 2 * PAGE);

	(void)state;
	memcpy(backend.pages, &nowhere, sizeof(nowhere));
	assert_int_equal(database("me shop"), -EFAULT);
	backend.root = nowhere;
	assert_int_equal(database("me shop"), -EFAULT);
	backend.root = 0;
	assert_int_equal(database("me shop"), -EFAULT);
	assert_string_equal(name, "(unchanged)");
}

static void a_name_has_to_fit(void **state)
{
	u64 u = text_at(backend.pages + 2048, "me"), d = text_at(backend.pages + 2560, "shop");
	char to[8] = "1234567";

	(void)state;
	set_port(8, d, u);
	assert_int_equal(postgres_database((u32)getpid(), backend.root, "me shop", 7, to, 4),
			 -ENOENT);
	assert_string_equal(to, "1234567");
	assert_int_equal(postgres_database((u32)getpid(), backend.root, "me shop", 7, to, 5), 0);
	assert_string_equal(to, "shop");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_backend, close_backend)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_are_the_two_that_the_title_ends_in),
		TEST(they_may_be_anywhere_in_what_is_looked_through),
		TEST(a_name_may_end_with_what_can_be_read),
		TEST(what_cannot_be_read_is_said),
		TEST(a_name_has_to_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
