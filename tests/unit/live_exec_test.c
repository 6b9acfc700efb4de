/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known of a process when it executes another program: user/source/live_process.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "source/live_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MS NSEC_PER_MSEC

static u32 notes;

static int count_notes(void *ctx, const struct item *it)
{
	(void)ctx;
	notes += it->type == ITEM_DEFS;
	return 0;
}

/* By a name that it had not when it was told of first, a process is found as what its next exec has made it. What
 * cannot be looked into is that, and is said of that, once. */
static void a_refusal_is_of_the_program_that_was_looked_at(void **state)
{
	static const struct {
		u64 named_ns;
		const char *name;
		/* A record comes before, and is of then. */
		const char *renamed;
		u64 renamed_ns;
		bool kept;
	} cases[] = {
		{ 0, "later", NULL, 0, false },
		{ 2000 * MS, "later", NULL, 0, true },
		{ 2000 * MS, "another", NULL, 0, true },
		/* Named already, in an exec that is told of after that. */
		{ 999 * MS, "later", NULL, 0, true },
		{ 999 * MS, "another", NULL, 0, false },
		{ 999 * MS, "later", "another", 998 * MS, true },
		/* It had that name before. */
		{ 999 * MS, "later", "later", 998 * MS, false },
		{ 997 * MS, "later", "another", 998 * MS, false },
	};
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wire_life w = { .h.pid = 1u << 22, .mono_ns = 1000 * MS, .comm = "later" };
		struct process *p = calloc(1, sizeof(*p));
		struct live l = { .fn = count_notes };

		assert_non_null(p);
		p->pid = w.h.pid; /* there is none */
		p->pidfd = -1;
		p->told = true;
		p->named_ns = cases[i].named_ns;
		snprintf(p->name, sizeof(p->name), "%s", cases[i].name);
		if (cases[i].renamed) {
			struct wire_life r = { .h.pid = p->pid, .mono_ns = cases[i].renamed_ns };

			snprintf(r.comm, sizeof(r.comm), "%s", cases[i].renamed);
			process_renamed(p, &r);
		}
		p->missed = true;
		p->armed_ns = 500 * MS;
		p->refused = calloc(1, sizeof(*p->refused));
		assert_non_null(p->refused);
		err_set_status(p->refused, -EACCES, EXIT_PERMISSION, "no permission");
		assert_int_equal(map_put(&l.processes, p->pid, (u64)(uintptr_t)p), 0);
		notes = 0;
		assert_int_equal(process_exec(&l, &w), 0);
		assert_int_equal(notes != 0, !cases[i].kept);
		assert_int_equal(p->refused != NULL, cases[i].kept);
		assert_string_equal(p->name,
				    cases[i].named_ns > w.mono_ns ? cases[i].name : "later");
		assert_false(p->missed);
		assert_int_equal(p->armed_ns, 0); /* it has nothing of what was before */
		/* Its next exec is another one's. */
		w.mono_ns = 3000 * MS;
		assert_int_equal(process_exec(&l, &w), 0);
		assert_int_equal(notes != 0, true);
		process_free(&l, p);
		map_free(&l.processes);
	}
}

/* A file of the old program's that the new one has not is not its: until it has marks, none of its are on. */
static void what_it_executes_has_not_begun_with_files_of_before(void **state)
{
	struct wire_life w = { .h.pid = (u32)getpid(), .mono_ns = 1000 * MS, .comm = "later" };
	struct process *p = calloc(1, sizeof(*p));
	struct live l = { .fn = count_notes };

	(void)state;
	assert_non_null(p);
	p->pid = w.h.pid;
	p->pidfd = -1;
	p->attachments = calloc(1, sizeof(*p->attachments));
	assert_non_null(p->attachments);
	p->attachments->inode = 1; /* nothing of this program's */
	p->armed_ns = 500 * MS;
	assert_int_equal(map_put(&l.processes, p->pid, (u64)(uintptr_t)p), 0);
	assert_int_equal(process_exec(&l, &w), 0);
	assert_null(p->attachments);
	assert_int_equal(p->armed_ns, 0);
	process_free(&l, p);
	process_free_buried(&l);
	plan_cache_free(&l.cache);
	vm_cache_free(&l.vm_cache);
	map_free(&l.processes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refusal_is_of_the_program_that_was_looked_at),
		cmocka_unit_test(what_it_executes_has_not_begun_with_files_of_before),
	};

	return cmocka_run_group_tests_name("live_exec", tests, NULL, NULL);
}
