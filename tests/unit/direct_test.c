/* SPDX-License-Identifier: BSD-2-Clause */
/* The direct method: links of what was unloaded are there for a while, and are used again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "source/live_int.h"

static struct attachment unloaded[] = {
	{ .pid = 11, .dev = 1, .inode = 7 }, /* of another process */
	{ .pid = 10, .dev = 1, .inode = 7, .vm = true }, /* a stock VM's probes are others */
	{ .pid = 10, .dev = 2, .inode = 7 },
	{ .pid = 10, .dev = 1, .inode = 7 },
	{ .pid = 10, .dev = 1, .inode = 8 },
};

static void a_file_that_is_loaded_again_has_its_old_links(void **state)
{
	struct attachment first = { .pid = 10, .inode = 6 }, *a;
	struct process p = { .pid = 10, .attachments = &first };
	struct plan_dso d = { .dev = 1, .inode = 7 };
	struct live l = { .buried = unloaded };
	u32 i, left = 0;

	(void)state;
	for (i = 0; i + 1 < ARRAY_SIZE(unloaded); i++)
		unloaded[i].next = &unloaded[i + 1];
	assert_ptr_equal(direct_again(&l, &p, &d), &unloaded[3]);
	assert_ptr_equal(p.attachments, &unloaded[3]);
	assert_ptr_equal(unloaded[3].next, &first);
	for (a = l.buried; a; a = a->next, left++)
		assert_ptr_not_equal(a, &unloaded[3]);
	assert_int_equal(left, ARRAY_SIZE(unloaded) - 1);
	assert_null(direct_again(&l, &p, &d));
	assert_ptr_equal(p.attachments, &unloaded[3]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_is_loaded_again_has_its_old_links),
	};

	return cmocka_run_group_tests_name("direct", tests, NULL, NULL);
}
