/* SPDX-License-Identifier: BSD-2-Clause */
/* Who called whom in an event: stays that close, one by one, without a model. */
#include "sink/alert_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* As alert_tree.c has it. */
#define FORESTS_MAX 4096

static const char *const shop[] = { "addon:shop" }, *const cart[] = { "addon:cart" };
static struct model_thread thread = { .pid = 7, .tid = 8, .id = 1, .name = "", .process = "p" };

/* A stay of `name`, from begin to end. */
static struct model_span stay(const char *name, const char *const *groups, u16 depth, u64 begin,
			      u64 end)
{
	return (struct model_span){ .thread = &thread,
				    .type = VMSPAN_SPAN,
				    .name = name,
				    .group = groups[0],
				    .groups = groups,
				    .group_count = 1,
				    .begin_ns = begin,
				    .end_ns = end,
				    .depth = depth,
				    .iteration = 1 };
}

static void put(struct trees *t, struct model_span s)
{
	assert_int_equal(trees_span(t, &s), 0);
}

static struct tree *ended(struct trees *t, const struct model_thread *of, u32 iteration)
{
	struct model_event e = { .thread = of, .iteration = iteration };

	return trees_event(t, &e, true);
}

static const struct tree_node *child(const struct tree_node *n, u32 i)
{
	for (n = n->child; i; i--)
		n = n->next;
	return n;
}

static void stays_that_are_alike_are_one_and_sum_up(void **state)
{
	struct trees *t = trees_new();
	struct model_span s = stay("work", shop, 1, 100, 130);
	struct tree *tree;
	const struct tree_node *work;

	(void)state;
	s.off_ns = 5;
	put(t, s);
	s = stay("work", shop, 1, 200, 290);
	s.off_ns = 20;
	s.fate = SPAN_MOVED;
	put(t, s);
	s = stay("work", shop, 1, 300, 310);
	s.fate = SPAN_MOVED;
	put(t, s);
	put(t, stay("all", shop, 0, 90, 400));
	tree = ended(t, &thread, 1);
	assert_non_null(tree);
	assert_null(tree->roots->next);
	assert_string_equal(tree->roots->name, "all");
	work = child(tree->roots, 0);
	assert_null(work->next);
	assert_int_equal(work->count, 3);
	assert_int_equal(work->total_ns, 30 + 90 + 10);
	assert_int_equal(work->longest_ns, 90);
	assert_int_equal(work->off_ns, 25);
	assert_int_equal(work->discarded, 2);
	assert_int_equal(tree->nodes, 2);
	assert_int_equal(tree_self(tree->roots), 310 - 130);
	tree_unref(tree);
	trees_free(t);
}

/* The same name of another group, kind or process waited for is another stay. */
static void stays_that_differ_in_anything_are_apart(void **state)
{
	static const char *const both[] = { "addon:shop", "addon:cart" };
	struct trees *t = trees_new();
	struct model_span s;
	struct tree *tree;
	const struct tree_node *n;
	u64 before = UINT64_MAX;
	u32 count = 0;

	(void)state;
	put(t, stay("work", shop, 1, 0, 50));
	put(t, stay("work", cart, 1, 50, 90));
	s = stay("work", both, 1, 90, 120);
	s.group_count = 2;
	put(t, s);
	s = stay("work", shop, 1, 120, 140);
	s.type = VMSPAN_BLOCK;
	put(t, s);
	s.begin_ns = 130;
	s.peer = 99;
	put(t, s);
	put(t, stay("all", shop, 0, 0, 200));
	tree = ended(t, &thread, 1);
	for (n = tree->roots->child; n; n = n->next, count++) {
		assert_int_equal(n->count, 1);
		/* The longest first. */
		assert_true(n->total_ns < before);
		before = n->total_ns;
	}
	assert_int_equal(count, 5);
	assert_string_equal(child(tree->roots, 0)->group, "addon:shop");
	assert_string_equal(child(tree->roots, 1)->group, "addon:cart");
	tree_unref(tree);
	trees_free(t);
}

static void each_thread_and_event_has_a_tree_of_its_own(void **state)
{
	struct model_thread other = thread;
	struct trees *t = trees_new();
	struct model_span s = stay("outer", shop, 0, 0, 10);
	struct tree *tree;

	(void)state;
	other.id = 2;
	put(t, s);
	s.name = "inner";
	s.iteration = 2;
	put(t, s);
	s.name = "other";
	s.thread = &other;
	s.iteration = 1;
	put(t, s);
	tree = ended(t, &thread, 2);
	assert_string_equal(tree->roots->name, "inner");
	tree_unref(tree);
	assert_null(ended(t, &thread, 2));
	tree = ended(t, &other, 1);
	assert_string_equal(tree->roots->name, "other");
	tree_unref(tree);
	tree = ended(t, &thread, 1);
	assert_string_equal(tree->roots->name, "outer");
	assert_null(tree->roots->next);
	tree_unref(tree);
	trees_free(t);
}

static void of_a_process_that_has_ended_nothing_is_kept(void **state)
{
	struct model_thread threads[3] = { thread, thread, thread };
	struct trees *t = trees_new();
	struct model_span s = stay("work", shop, 0, 0, 10);
	struct tree *tree;
	u32 i;

	(void)state;
	for (i = 0; i < 3; i++) {
		threads[i].id = i + 1;
		threads[i].pid = i == 1 ? 9 : 7;
		s.thread = &threads[i];
		for (s.iteration = 1; s.iteration <= 2; s.iteration++)
			put(t, s);
	}
	trees_process(t, 7);
	assert_null(ended(t, &threads[0], 1));
	assert_null(ended(t, &threads[0], 2));
	assert_null(ended(t, &threads[2], 1));
	tree = ended(t, &threads[1], 2);
	assert_non_null(tree);
	tree_unref(tree);
	trees_free(t);
}

/* Threads that die inside an event must not fill the table: who was silent longest makes room. */
static void who_was_silent_longest_makes_room(void **state)
{
	static struct model_thread threads[FORESTS_MAX + 1];
	struct trees *t = trees_new();
	struct model_span s = stay("work", shop, 0, 0, 10);
	struct tree *tree;
	u32 i;

	(void)state;
	for (i = 0; i <= FORESTS_MAX; i++) {
		threads[i] = thread;
		threads[i].id = i + 1;
		s.thread = &threads[i];
		if (i < FORESTS_MAX)
			put(t, s);
	}
	/* The first has done something since: the second is the one. */
	s.thread = &threads[0];
	put(t, s);
	s.thread = &threads[FORESTS_MAX];
	put(t, s);
	for (i = 0; i <= FORESTS_MAX; i++) {
		tree = ended(t, &threads[i], 1);
		if (i == 1) {
			assert_null(tree);
			continue;
		}
		assert_non_null(tree);
		assert_int_equal(tree->roots->count, i ? 1 : 2);
		tree_unref(tree);
	}
	trees_free(t);
}

static void cpus_are_noted_once_each(void **state)
{
	struct trees *t = trees_new();
	struct model_span s = stay("work", shop, 0, 0, 10);
	struct tree *tree;
	u16 i;

	(void)state;
	for (i = 0; i < TREE_CPUS; i++) {
		s.cpu_begin = i / 2;
		s.cpu_end = i;
		put(t, s);
	}
	tree = ended(t, &thread, 1);
	assert_int_equal(tree->cpu_count, TREE_CPUS);
	assert_false(tree->more_cpus);
	tree_unref(tree);
	for (i = 0; i <= TREE_CPUS; i++) {
		s.cpu_begin = s.cpu_end = i;
		put(t, s);
	}
	tree = ended(t, &thread, 1);
	assert_int_equal(tree->cpu_count, TREE_CPUS);
	assert_true(tree->more_cpus);
	tree_unref(tree);
	trees_free(t);
}

/* What a copy has is what there was, and neither takes from the other. */
static void a_copy_is_apart(void **state)
{
	struct trees *t = trees_new(), *copies = trees_new();
	struct tree *tree;

	(void)state;
	assert_int_equal(trees_copy(copies, t, &thread, 1), 0);
	assert_null(ended(copies, &thread, 1));
	put(t, stay("inner", shop, 1, 0, 10));
	put(t, stay("all", shop, 0, 0, 20));
	put(t, stay("next", cart, 0, 20, 25));
	assert_int_equal(trees_copy(copies, t, &thread, 1), 0);
	put(t, stay("next", cart, 0, 30, 40));
	tree = ended(copies, &thread, 1);
	assert_int_equal(tree->nodes, 3);
	assert_string_equal(tree->roots->name, "all");
	assert_string_equal(tree->roots->child->name, "inner");
	assert_int_equal(tree->roots->next->total_ns, 5);
	tree_unref(tree);
	tree = ended(t, &thread, 1);
	assert_int_equal(tree->roots->next->total_ns, 15);
	tree_unref(tree);
	trees_free(copies);
	trees_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stays_that_are_alike_are_one_and_sum_up),
		cmocka_unit_test(stays_that_differ_in_anything_are_apart),
		cmocka_unit_test(each_thread_and_event_has_a_tree_of_its_own),
		cmocka_unit_test(of_a_process_that_has_ended_nothing_is_kept),
		cmocka_unit_test(who_was_silent_longest_makes_room),
		cmocka_unit_test(cpus_are_noted_once_each),
		cmocka_unit_test(a_copy_is_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
