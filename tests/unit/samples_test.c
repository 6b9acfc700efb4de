/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks at stacks on the way to an export: each stack and function once, the looks by thread. */
#include "sink/samples.h"
#include "temp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct model_thread first = {
	.pid = 7, .tid = 7, .id = 1, .name = "", .process = "p"
};
static const struct model_thread second = {
	.pid = 7, .tid = 8, .id = 2, .name = "", .process = "p"
};
static struct slices s;

static int slices_open(void **state)
{
	const struct export_config config = { .directory = temp_folder() };

	(void)state;
	return slices_init(&s, &config) || samples_want(&s);
}

static int slices_close(void **state)
{
	(void)state;
	slices_release(&s);
	return 0;
}

/* A look at two frames, inner and outer, of these groups. */
static struct model_sample look(const char *const frames[2], const char *const groups[2], u64 time)
{
	return (struct model_sample){ .thread = &first,
				      .frames = frames,
				      .groups = groups,
				      .count = 2,
				      .time_ns = time,
				      .weight_ns = 10,
				      .iteration = 3 };
}

static void take(struct model_sample m)
{
	assert_int_equal(samples_take(&s, &m), 0);
}

struct told {
	struct sampled looks[8];
	u32 count;
};

static int tell(void *ctx, const struct sampled *one)
{
	struct told *t = ctx;

	assert_true(t->count < 8);
	t->looks[t->count++] = *one;
	return 0;
}

/* Of a thread, in order: of each look its stack, "outer;inner", with the kind of the innermost. */
static struct told told_of(const struct model_thread *of)
{
	struct told t = { .count = 0 };
	u32 thread;

	assert_int_equal(slices_thread(&s, of, &thread), 0);
	assert_int_equal(samples_each(&s, thread, tell, &t), 0);
	assert_int_equal(samples_count(&s, thread), t.count);
	return t;
}

static const char *stack_text(u32 stack)
{
	static char text[512];
	u32 path[SAMPLED_DEPTH], n = samples_path(s.samples, stack, path), i;
	size_t at = 0;

	text[0] = 0;
	for (i = 0; i < n; i++) {
		const struct sampled_frame *f = &s.samples->frames[path[i]];

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s[%s]%u", i ? ";" : "",
				       intern_get(s.names, f->name, NULL),
				       intern_get(s.names, f->group, NULL), f->kind);
	}
	return text;
}

static const char *const ab[] = { "b", "a" }, *const ba[] = { "a", "b" };
static const char *const heavy[] = { "package:x", "package:y" };

static void a_stack_is_kept_once_from_its_outermost_frame_in(void **state)
{
	struct told t;

	(void)state;
	take(look(ab, heavy, 1000));
	take(look(ba, heavy, 1010));
	take(look(ab, heavy, 1020));
	t = told_of(&first);
	assert_int_equal(t.count, 3);
	assert_int_equal(t.looks[0].stack, t.looks[2].stack);
	assert_string_equal(stack_text(t.looks[0].stack), "a[package:y]0;b[package:x]0");
	assert_string_equal(stack_text(t.looks[1].stack), "b[package:y]0;a[package:x]0");
	assert_int_equal(s.samples->stack_count, 1 + 4);
	assert_int_equal(s.samples->frame_count, 4);
	assert_int_equal(t.looks[0].iteration, 3);
	assert_int_equal(t.looks[0].weight_ns, 10);
}

/* What the thread did is the innermost of the stack, and no function, whatever that is called. */
static void what_is_no_code_is_a_frame_of_its_own(void **state)
{
	static const char *const waits[2] = { "(waiting)" }, *const nobody[2] = { "" };
	struct model_sample m = look(ab, heavy, 1000);
	struct told t;

	(void)state;
	m.off = true;
	take(m);
	m.off = false;
	m.gc = true;
	take(m);
	m.gc = false;
	m.count = 0;
	take(m);
	m = look(waits, nobody, 1000);
	m.count = 1;
	take(m);
	m.off = true;
	m.count = 0;
	take(m);
	t = told_of(&first);
	assert_int_equal(t.count, 5);
	assert_string_equal(stack_text(t.looks[0].stack),
			    "a[package:y]0;b[package:x]0;(waiting)[]2");
	assert_string_equal(stack_text(t.looks[1].stack), "a[package:y]0;b[package:x]0;(gc)[]3");
	assert_string_equal(stack_text(t.looks[2].stack), "(native)[]1");
	assert_string_equal(stack_text(t.looks[3].stack), "(waiting)[]0");
	assert_string_equal(stack_text(t.looks[4].stack), "(waiting)[]2");
	assert_int_not_equal(t.looks[3].stack, t.looks[4].stack);
}

static void looks_keep_what_they_say_and_do_not_go_back_in_time(void **state)
{
	struct model_sample m = look(ab, heavy, 2000);
	struct told t;

	(void)state;
	m.cut = true;
	take(m);
	m.cut = false;
	m.time_ns = 1500;
	take(m);
	m.time_ns = 2500;
	take(m);
	/* Another thread has a time of its own. */
	m.thread = &second;
	m.time_ns = 1600;
	take(m);
	t = told_of(&first);
	assert_int_equal(t.count, 3);
	assert_true(t.looks[0].cut);
	assert_false(t.looks[1].cut);
	assert_int_equal(t.looks[1].time, t.looks[0].time);
	assert_int_equal(t.looks[2].time, t.looks[0].time + 500);
	assert_int_equal(s.end, t.looks[2].time);
	assert_int_equal(told_of(&second).count, 1);
}

static void a_look_that_nobody_wants_is_none(void **state)
{
	const struct export_config config = { .directory = temp_folder() };
	struct slices without;
	struct model_sample m = look(ab, heavy, 1000);

	(void)state;
	assert_int_equal(slices_init(&without, &config), 0);
	assert_int_equal(samples_take(&without, &m), 0);
	assert_int_equal(samples_count(&without, 0), 0);
	slices_release(&without);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, slices_open, slices_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stack_is_kept_once_from_its_outermost_frame_in),
		TEST(what_is_no_code_is_a_frame_of_its_own),
		TEST(looks_keep_what_they_say_and_do_not_go_back_in_time),
		cmocka_unit_test(a_look_that_nobody_wants_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
