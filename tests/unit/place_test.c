/* SPDX-License-Identifier: BSD-2-Clause */
/* Where in a site the breakpoint goes, by kernel, bytes and page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attach/place.h"
#include "temp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SITE "\x90\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"
#define OPTIMIZED 1

/* Rule: the optimized form where kernel, bytes and page allow it; the one-byte
 * nop everywhere else. */
static void test_places(void **state)
{
	static const struct {
		const char *what, *bytes;
		size_t n;
		u64 offset;
		enum nop_state kernel;
		u64 first;
	} cases[] = {
		{ "7.2", SITE "\xc3", 12, 0x1230, NOPS_SAFE, OPTIMIZED },
		{ "end of the file", SITE, 11, 0x1230, NOPS_SAFE, OPTIMIZED },
		{ "up to 6.17", SITE "\xc3", 12, 0x1230, NOPS_PLAIN, 0 },
		{ "6.18 to 7.1", SITE "\xc3", 12, 0x1230, NOPS_UNSAFE, 0 },
		{ "cut off", SITE, 10, 0x1230, NOPS_SAFE, 0 },
		{ "not readable", "", 0, 0x1230, NOPS_SAFE, 0 },
		{ "sys/sdt.h", "\x90\xc3\x90\x90\x90\x90\x90\x90\x90\x90\x90", 11, 0x1230,
		  NOPS_SAFE, 0 },
		{ "no nop first", "\xc3\x66\x2e\x0f\x1f\x84\0\0\0\0\0", 11, 0x1230, NOPS_SAFE, 0 },
		{ "a 5-byte nop", "\x90\x0f\x1f\x44\x00\x00\x90\x90\x90\x90\x90", 11, 0x1230,
		  NOPS_SAFE, 0 },
		{ "another 10-byte nop", "\x90\x66\x2e\x0f\x1f\x84\0\0\x02\0\0", 11, 0x1230,
		  NOPS_SAFE, 0 },
		{ "ends with the page", SITE, 11, 0x2ff5, NOPS_SAFE, OPTIMIZED },
		{ "one byte on the next page", SITE, 11, 0x2ff6, NOPS_SAFE, 0 },
		{ "nine bytes on the next page", SITE, 11, 0x2ffe, NOPS_SAFE, 0 },
		{ "begins with a page", SITE, 11, 0x2fff, NOPS_SAFE, OPTIMIZED },
	};
	u64 to[PLACES_MAX];
	size_t i;
	u32 n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		n = places(cases[i].kernel, (const u8 *)cases[i].bytes, cases[i].n, cases[i].offset,
			   to);
		if (n != 1 + cases[i].first || to[0] != cases[i].offset + cases[i].first ||
		    to[n - 1] != cases[i].offset)
			fail_msg("%s: %u places, the first at +%d", cases[i].what, n,
				 (int)(to[0] - cases[i].offset));
	}
}

/* Rule: the file decides, and what this kernel says. */
static void test_file(void **state)
{
	const u64 first = kernel_nops() == NOPS_SAFE;
	int fd = temp_file(NULL);
	u64 to[PLACES_MAX];

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, SITE, sizeof(SITE) - 1, 64), sizeof(SITE) - 1);
	assert_int_equal(places_in(fd, 64, to), 1 + first);
	assert_int_equal(to[0], 64 + first);
	assert_int_equal(places_in(fd, 65, to), 1);
	assert_int_equal(places_in(fd, 4096, to), 1);
	close(fd);
}

struct attached {
	int answers[PLACES_MAX];
	u64 at[PLACES_MAX];
	u32 n;
};

static int attach(void *ctx, u64 offset)
{
	struct attached *a = ctx;

	a->at[a->n] = offset;
	return a->answers[a->n++];
}

/* Rule: a place the kernel has no way to probe is left for the next one, which
 * is not tried for any other reason. */
static void test_try(void **state)
{
	static const struct {
		int answers[PLACES_MAX];
		u32 n, tried;
		int result;
	} cases[] = {
		{ { 0, -EIO }, 2, 1, 0 },           { { -524, 0 }, 2, 2, 0 },
		{ { -524, -EPERM }, 2, 2, -EPERM }, { { -524, -524 }, 2, 2, -524 },
		{ { -EPERM, 0 }, 2, 1, -EPERM },    { { -524, 0 }, 1, 1, -524 },
	};
	const u64 offsets[PLACES_MAX] = { 0x1231, 0x1230 };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct attached a = { .n = 0 };

		memcpy(a.answers, cases[i].answers, sizeof(a.answers));
		assert_int_equal(places_try(offsets, cases[i].n, attach, &a), cases[i].result);
		assert_int_equal(a.n, cases[i].tried);
		assert_memory_equal(a.at, offsets, a.n * sizeof(*offsets));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_try),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
