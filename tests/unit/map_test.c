/* SPDX-License-Identifier: BSD-2-Clause */
/* A hash table and a table of names, against lists. */
#include "base/intern.h"
#include "base/map.h"
#include "seed.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	KEYS = 60, /* few: what is taken away comes back soon, and places are shared */
	TURNS = 30000
};

static void is_as_the_list(const struct map *m, const u64 value[KEYS], const bool there[KEYS])
{
	u64 key, v;
	size_t at = 0, n = 0, seen = 0;
	u32 i;

	for (i = 0; i < KEYS; i++) {
		u64 *got = map_get(m, i);

		n += there[i];
		assert_int_equal(got != NULL, there[i]);
		if (got)
			assert_int_equal(*got, value[i]);
	}
	assert_int_equal(m->len, n);
	while (map_next(m, &at, &key, &v)) {
		assert_in_range(key, 0, KEYS - 1);
		assert_true(there[key]);
		assert_int_equal(v, value[key]);
		seen++;
	}
	assert_int_equal(seen, n);
}

static void what_was_put_is_there_until_it_is_taken_away(void **state)
{
	u64 value[KEYS] = { 0 };
	bool there[KEYS] = { false };
	struct map m = { 0 }, copy = { 0 };
	u32 i;

	(void)state;
	seed_random(1);
	assert_null(map_get(&m, 0));
	assert_false(map_del(&m, 0));
	for (i = 0; i < TURNS; i++) {
		u32 key = (u32)random() % KEYS;

		if (random() % 2) {
			value[key] = (u64)random();
			there[key] = true;
			assert_int_equal(map_put(&m, key, value[key]), 0);
		} else {
			assert_int_equal(map_del(&m, key), there[key]);
			there[key] = false;
		}
		is_as_the_list(&m, value, there);
	}
	assert_int_equal(map_copy(&copy, &m), 0);
	is_as_the_list(&copy, value, there);
	map_free(&copy);
	memset(there, 0, sizeof(there));
	map_clear(&m);
	is_as_the_list(&m, value, there);
	/* It goes on as a new one. */
	there[3] = true;
	value[3] = 9;
	assert_int_equal(map_put(&m, 3, 9), 0);
	is_as_the_list(&m, value, there);
	map_free(&m);
}

/* One that was large and is nearly empty does not stay large. */
static void a_large_one_that_is_cleared_is_empty(void **state)
{
	struct map m = { 0 };
	u64 i, key, v;
	size_t at = 0;

	(void)state;
	for (i = 0; i < 10000; i++)
		assert_int_equal(map_put(&m, i * i, i), 0);
	for (i = 0; i < 10000; i++)
		assert_int_equal(*map_get(&m, i * i), i);
	for (i = 10; i < 10000; i++)
		assert_true(map_del(&m, i * i));
	map_clear(&m);
	assert_int_equal(m.len, 0);
	assert_null(map_get(&m, 4));
	assert_false(map_next(&m, &at, &key, &v));
	assert_int_equal(map_put(&m, 4, 2), 0);
	assert_int_equal(*map_get(&m, 4), 2);
	map_free(&m);
}

static void a_name_has_one_number_whatever_is_in_it(void **state)
{
	struct intern *t = intern_new();
	char text[16];
	size_t len;
	u32 i, turn;

	(void)state;
	assert_int_equal(intern_find(t, "x", 1), -ENOENT);
	for (turn = 0; turn < 2; turn++)
		for (i = 0; i < 5000; i++) {
			/* Zero bytes, and names that begin alike. */
			memset(text, 0, sizeof(text));
			memcpy(text, &i, sizeof(i));
			assert_int_equal(intern_put(t, text, sizeof(i) + i % 3), i);
		}
	assert_int_equal(intern_count(t), 5000);
	for (i = 0; i < 5000; i++) {
		const char *got = intern_get(t, i, &len);

		assert_int_equal(len, sizeof(i) + i % 3);
		assert_memory_equal(got, &i, sizeof(i));
		assert_int_equal(got[len], 0);
		assert_int_equal(intern_find(t, got, len), i);
	}
	assert_int_equal(intern_put(t, "", 0), 5000);
	assert_int_equal(intern_find(t, "none of them", 12), -ENOENT);
	intern_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_put_is_there_until_it_is_taken_away),
		cmocka_unit_test(a_large_one_that_is_cleared_is_empty),
		cmocka_unit_test(a_name_has_one_number_whatever_is_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
