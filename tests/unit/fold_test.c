/* SPDX-License-Identifier: BSD-2-Clause */
/* Without memory for the sum of processes that have ended, each of them is still there once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model/registry.h"

#include <errno.h>

static u32 additions; /* that succeed */

static int add_stats(struct group_stats *to, const struct group_stats *s)
{
	to->events += s->events;
	return additions-- ? 0 : -ENOMEM;
}

#define group_stats_add add_stats
#include "model/registry.c"
#undef group_stats_add

static void change(struct registry_set *s, enum process_change change, u32 pid)
{
	const struct item_process it = { change, pid, 1, 1, "kid", "" };

	assert_int_equal(registry_process(s, &it), 0);
}

static void no_stream(void *stream)
{
	(void)stream;
}

static void a_fold_that_fails_leaves_all_that_it_has_not_added(void **state)
{
	const u32 count = ENDED_MAX + 10, added = 100;
	struct registry_set s;
	u32 pid, i, k;

	(void)state;
	assert_int_equal(registry_init(&s, false), 0);
	for (pid = 1; pid <= count; pid++) {
		change(&s, PROCESS_SEEN, pid);
		s.procs[pid - 1]->rows[0].stats.events = 1;
		/* Those that live on lie between the others. */
		if (pid % 4096)
			change(&s, PROCESS_EXIT, pid);
	}
	assert_true(s.ended > ENDED_MAX);
	additions = added;
	assert_int_equal(registry_fold(&s, no_stream), -ENOMEM);
	/* The sum is one of them. */
	assert_int_equal(s.proc_len, count - added + 1);
	for (i = 0; i < s.proc_len; i++)
		for (k = 0; k < i; k++)
			assert_ptr_not_equal(s.procs[i], s.procs[k]);
	additions = UINT32_MAX;
	assert_int_equal(registry_fold(&s, no_stream), 0);
	assert_true(s.ended <= ENDED_MAX);
	registry_free(&s, no_stream);
}

static void a_number_that_lives_and_is_forked_was_anothers(void **state)
{
	struct registry_set s;

	(void)state;
	assert_int_equal(registry_init(&s, false), 0);
	change(&s, PROCESS_SEEN, 7);
	change(&s, PROCESS_FORK, 7);
	assert_int_equal(s.proc_len, 2);
	assert_int_equal(s.ended, 1);
	assert_true(s.procs[0]->ended);
	registry_free(&s, no_stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fold_that_fails_leaves_all_that_it_has_not_added),
		cmocka_unit_test(a_number_that_lives_and_is_forked_was_anothers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
