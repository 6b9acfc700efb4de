/* SPDX-License-Identifier: BSD-2-Clause */
/* What is loaded waits for the tracer, which may come too late: user/source/live_process.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "source/live_int.h"

#include <errno.h>
#include <stdlib.h>

static u64 losses;

static int take(void *ctx, const struct item *it)
{
	(void)ctx;
	assert_int_equal(it->type, ITEM_LOSS);
	assert_int_equal(it->loss.cause, LOSS_MARKS_OFF);
	losses += it->loss.records;
	return 0;
}

#define MS NSEC_PER_MSEC

/* The news of an exec come first, and what it has executed is attached to then: what the SDK says
 * after that is told of once, if at all. */
static void what_was_attached_to_waits_no_more(void **state)
{
	static const struct {
		u64 armed_after; /* the SDK has been loaded; 0: never */
		bool command, off, lost, waits;
	} cases[] = {
		{ 0, true, false, false, true },        { 0, false, false, false, true },
		{ 10 * MS, true, false, false, false }, { 249 * MS, true, false, false, false },
		{ 251 * MS, true, false, true, false }, { 251 * MS, false, false, false, false },
		{ 251 * MS, true, true, false, false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wire_life w = { .h.pid = 4711, .mono_ns = clock_mono_ns() - 400 * MS };
		struct process p = { .pid = 4711, .pidfd = -1 };
		struct live l = { .fn = take, .marks_off = cases[i].off };

		l.parts[TRACE_TURNS].on = true;
		l.command.pid = cases[i].command;
		p.armed_ns = cases[i].armed_after ? w.mono_ns + cases[i].armed_after : 0;
		assert_int_equal(map_put(&l.processes, p.pid, (u64)(uintptr_t)&p), 0);
		losses = 0;
		assert_int_equal(process_loaded(&l, &w), 0);
		assert_int_equal(losses, cases[i].lost);
		assert_int_equal(p.heard_late, cases[i].waits);
		assert_int_equal(p.waits_ns, cases[i].waits ? w.mono_ns : 0);
		/* A look is due in any case. */
		assert_int_equal(p.rescans, 1);
		map_free(&l.processes);
	}
}

/* What waits and is attached to in time, has lost nothing; and what nobody has waited for neither. */
static void who_comes_in_time_loses_nothing(void **state)
{
	static const struct {
		u64 waited; /* ns; 0: nobody has */
		bool command, lost;
	} cases[] = {
		{ 0, true, false },
		{ 249 * MS, true, false },
		{ 250 * MS, true, true },
		{ 250 * MS, false, false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct live l = { .fn = take };
		struct process p = { .pid = 4711, .pidfd = -1 };

		l.parts[TRACE_TURNS].on = true;
		l.command.pid = cases[i].command;
		p.waits_ns = cases[i].waited ? 1000 * MS : 0;
		losses = 0;
		assert_int_equal(process_armed(&l, &p, 1000 * MS + cases[i].waited), 0);
		assert_int_equal(losses, cases[i].lost);
		assert_int_equal(p.armed_ns, 1000 * MS + cases[i].waited);
	}
}

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
	u32 early;

	(void)state;
	for (early = 0; early < 2; early++) {
		struct wire_life w = { .h.pid = 1u << 22, .mono_ns = 1000 * MS, .comm = "later" };
		struct process *p = calloc(1, sizeof(*p));
		struct live l = { .fn = count_notes };

		assert_non_null(p);
		p->pid = w.h.pid; /* there is none */
		p->pidfd = -1;
		p->told = true;
		p->named_ns = early ? 2000 * MS : 0;
		p->refused = calloc(1, sizeof(*p->refused));
		assert_non_null(p->refused);
		err_set_status(p->refused, -EACCES, EXIT_PERMISSION, "no permission");
		assert_int_equal(map_put(&l.processes, p->pid, (u64)(uintptr_t)p), 0);
		notes = 0;
		assert_int_equal(process_exec(&l, &w), 0);
		assert_int_equal(notes != 0, !early);
		assert_int_equal(p->refused != NULL, early);
		process_free(&l, p);
		map_free(&l.processes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_attached_to_waits_no_more),
		cmocka_unit_test(who_comes_in_time_loses_nothing),
		cmocka_unit_test(a_refusal_is_of_the_program_that_was_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
