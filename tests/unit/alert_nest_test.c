/* SPDX-License-Identifier: BSD-2-Clause */
/* Which groups ran inside of which, by trees and stacks that are made here. Times are in ns. */
#include "sink/alert_nest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char a[] = "addon:a", b[] = "addon:b", c[] = "addon:c";

/* Frames' groups, innermost first; NULL ends them. */
struct look {
	const char *groups[4];
	u64 ran_ns, waited_ns;
	bool cut;
};

static struct tree sampled(struct stack *list, const struct look *looks, u32 count)
{
	struct tree t = { .stacks = { .list = list, .len = count, .looks = count } };
	u32 i, k;

	for (i = 0; i < count; i++) {
		list[i] = (struct stack){ .count = 1,
					  .cut = looks[i].cut,
					  .ran_ns = looks[i].ran_ns,
					  .waited_ns = looks[i].waited_ns };
		for (k = 0; k < 4 && looks[i].groups[k]; k++)
			list[i].groups[list[i].depth++] = looks[i].groups[k];
	}
	return t;
}

static struct nest *made(const struct tree *t)
{
	struct nest *n = nest_new(t);

	assert_non_null(n);
	return n;
}

/* Shares of what was charged are those of the looks, and what waited is in them. */
static void the_time_inside_is_a_share_of_what_is_charged(void **state)
{
	static const struct look looks[] = {
		{ { a, b }, 30, 10, false },
		{ { a }, 30, 10, false },
		/* b's again, called back by a: the inner one is b. */
		{ { b, a, b }, 20, 0, false },
	};
	struct stack list[3];
	struct tree t = sampled(list, looks, 3);
	struct nest *n = made(&t);
	u32 at = nest_group(n, a, 200), in_b = nest_group(n, b, 120);

	(void)state;
	assert_int_not_equal(at, NEST_NONE);
	assert_int_not_equal(in_b, NEST_NONE);
	/* Of 100 ns that a was seen in 40 are inside of b: 80 of the 200 it was charged. */
	assert_int_equal(nest_inside(n, at, 200, in_b), 80);
	assert_int_equal(nest_inside(n, at, 100, in_b), 40);
	assert_int_equal(nest_inside(n, at, 0, in_b), 0);
	/* Of 60 ns of b 20 are inside of a. */
	assert_int_equal(nest_inside(n, in_b, 120, at), 40);
	assert_int_equal(nest_group(n, c, 1), NEST_NONE);
	nest_free(n);
}

/* Of a stack whose outer frames are left out, either may be there; who is on it is inside. */
static void who_is_cut_off_may_be_around(void **state)
{
	static const struct look looks[] = {
		{ { a }, 60, 0, true },
		{ { b }, 40, 0, false },
	};
	struct stack list[2];
	struct tree t = sampled(list, looks, 2);
	struct nest *n = made(&t);
	u32 in_a = nest_group(n, a, 60), in_b = nest_group(n, b, 40);

	(void)state;
	assert_int_equal(nest_inside(n, in_a, 60, in_b), 60);
	assert_int_equal(nest_inside(n, in_b, 40, in_a), 0);
	assert_int_equal(nest_inside(n, in_a, 60, in_a), 0);
	nest_free(n);
}

/* More than one look in eight that had no room: what is there says too little. */
static void stacks_that_had_no_room_make_all_unknown(void **state)
{
	static const struct look looks[] = { { { a }, 10, 0, false } };
	struct stack list[1];
	struct tree t = sampled(list, looks, 1);
	struct nest *n;
	u32 omitted;

	(void)state;
	t.stacks.looks = 16;
	for (omitted = 0; omitted <= 16; omitted++) {
		t.stacks.omitted = omitted;
		n = made(&t);
		assert_int_equal(nest_group(n, a, 1) != NEST_NONE, omitted <= 2);
		nest_free(n);
	}
}

static void a_tree_has_most_of_what_was_charged_or_says_nothing(void **state)
{
	struct tree_node work = { .name = "work",
				  .group = a,
				  .groups = { a },
				  .group_count = 1,
				  .type = VMSPAN_SPAN,
				  .total_ns = 70,
				  .count = 1 };
	struct tree t = { .roots = &work, .nodes = 1 };
	struct nest *n = made(&t);

	(void)state;
	assert_int_not_equal(nest_group(n, a, 70), NEST_NONE);
	assert_int_not_equal(nest_group(n, a, 80), NEST_NONE);
	assert_int_equal(nest_group(n, a, 82), NEST_NONE);
	nest_free(n);
}

/* Each moment is the innermost one's of those that take part. */
static void parts_share_what_ran_and_what_waited(void **state)
{
	static const struct look looks[] = {
		{ { a, b }, 30, 10, false },
		{ { b }, 5, 2, false },
		{ { c, a }, 100, 0, false },
		{ { c }, 1000, 0, false },
	};
	struct stack list[4];
	struct tree t = sampled(list, looks, 4);
	struct nest *n = made(&t);
	u32 turns[NEST_GROUPS], of[3], i;
	u64 ns[NEST_GROUPS];

	(void)state;
	of[0] = nest_group(n, a, 1);
	of[1] = nest_group(n, b, 1);
	of[2] = nest_group(n, c, 1);
	for (i = 0; i < NEST_GROUPS; i++)
		turns[i] = NEST_NONE;
	turns[of[0]] = 1;
	turns[of[1]] = 2;
	nest_parts(n, NEST_NONE, turns, ns);
	assert_int_equal(ns[of[0]], 40 + 100);
	assert_int_equal(ns[of[1]], 7);
	assert_int_equal(ns[of[2]], 0);
	/* Inside of b alone. */
	nest_parts(n, of[1], turns, ns);
	assert_int_equal(ns[of[0]], 40);
	assert_int_equal(ns[of[1]], 7);
	/* a was seen for 140 ns; charged twice that, its part is twice as long. */
	assert_int_equal(nest_part(n, of[0], 280, ns[of[0]]), 80);
	nest_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_time_inside_is_a_share_of_what_is_charged),
		cmocka_unit_test(who_is_cut_off_may_be_around),
		cmocka_unit_test(stacks_that_had_no_room_make_all_unknown),
		cmocka_unit_test(a_tree_has_most_of_what_was_charged_or_says_nothing),
		cmocka_unit_test(parts_share_what_ran_and_what_waited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
