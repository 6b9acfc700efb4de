/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is a target by name or control group, and how many are looked at at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "source/live_int.h"

/* ---- The rest of the source, as little as is needed ---- */

static struct process made;
static u32 untraced, traced, looked;

static struct process *make_process(struct live *l, u32 pid, u32 ppid)
{
	(void)l;
	made = (struct process){ .pid = pid, .ppid = ppid, .pidfd = -1 };
	return &made;
}

static void no_untrace(struct tracer *t, u32 pid)
{
	(void)t;
	untraced = pid;
}

static int no_trace(struct tracer *t, u32 pid, struct err *err)
{
	(void)t;
	(void)err;
	traced = pid;
	return 0;
}

static char name_now[16]; /* of every process, once it is not traced any more */

static void made_name(u32 pid, char name[16])
{
	(void)pid;
	snprintf(name, 16, "%s", untraced ? name_now : "");
}

static void no_look(struct live *l, struct process *p)
{
	(void)l;
	looked = p->pid;
}

#define process_new make_process
#define tracer_untrace no_untrace
#define tracer_trace no_trace
#define process_look no_look
#define process_read_name made_name
#include "source/live_sweep.c"
#undef process_new
#undef tracer_untrace
#undef tracer_trace
#undef process_look
#undef process_read_name

/* ---- Names ---- */

static void a_name_is_compared_as_far_as_the_kernel_keeps_it(void **state)
{
	(void)state;
	assert_true(comm_is("postgres", "postgres"));
	assert_false(comm_is("postgres", "postgre"));
	assert_false(comm_is("postgre", "postgres"));
	assert_true(comm_is("post*", "postgres"));
	assert_true(comm_is("*", ""));
	assert_false(comm_is("", "x"));
	/* 15 bytes are a whole name; of 16 the last is not kept. */
	assert_true(comm_is("abcdefghijklmno", "abcdefghijklmno"));
	assert_true(comm_is("abcdefghijklmnop", "abcdefghijklmno"));
	assert_false(comm_is("abcdefghijklmno", "abcdefghijklmn"));
	assert_false(comm_is("abcdefghijklmnop", "abcdefghijklmn"));
	assert_false(comm_is("abcdefghijklmnop", "abcdefghijklmnX"));
	/* Shorter ones are no beginnings, also where their first 10 bytes agree. */
	assert_false(comm_is("abcdefghijkl", "abcdefghijklmno"));
	assert_false(comm_is("abcdefghijkl", "abcdefghijXX"));
}

/* The kernel side tells of a process that takes another name, and then no more of it until it is said that
 * nobody wants it. */
static void who_is_renamed_again_meanwhile_is_found(void **state)
{
	struct wire_life w = { .h = { .pid = 4711, .tid = 4711 }, .comm = "other" };
	struct live l = { .sweep = { .comms = { "wanted" }, .comm_count = 1 } };
	u32 again;

	(void)state;
	for (again = 0; again < 2; again++) {
		untraced = traced = looked = 0;
		snprintf(name_now, sizeof(name_now), "%s", again ? "wanted" : "other");
		assert_int_equal(sweep_new(&l, &w), 0);
		assert_int_equal(untraced, 4711);
		assert_int_equal(looked, again ? 4711 : 0);
		assert_int_equal(traced, again ? 4711 : 0);
	}
	assert_string_equal(made.name, "wanted");
	assert_int_equal(l.candidates, 1);
	name_now[0] = 0;
}

/* ---- Control groups ---- */

static void a_control_group_has_what_lies_below_it(void **state)
{
	(void)state;
	assert_true(is_below("/a/b", "/a/b"));
	assert_true(is_below("/a/b", "/a/b/c"));
	assert_true(is_below("/a/b/", "/a/b"));
	assert_true(is_below("/a/b//", "/a/b/c/d"));
	assert_false(is_below("/a/b", "/a/bc"));
	assert_false(is_below("/a/b/", "/a/bc"));
	assert_false(is_below("/a/b", "/a"));
	assert_false(is_below("/a/b", "/c/a/b"));
	/* The root has all. */
	assert_true(is_below("/", "/"));
	assert_true(is_below("/", "/a"));
}

static bool line_of(const char *wanted, const char *line)
{
	char text[256];

	snprintf(text, sizeof(text), "%s", line);
	return line_is(wanted, text);
}

static void a_line_of_the_kernels_names_a_group_in_several_ways(void **state)
{
	(void)state;
	/* As the line has it, of any hierarchy. */
	assert_true(line_of("/a", "0::/a/b"));
	assert_true(line_of("/a", "3:cpu,cpuacct:/a"));
	assert_false(line_of("/a", "0::/ab"));
	/* As a directory. */
	assert_true(line_of("/sys/fs/cgroup/a", "0::/a"));
	assert_true(line_of("/sys/fs/cgroup/unified/a", "0::/a"));
	assert_true(line_of("/sys/fs/cgroup/cpu,cpuacct/a", "3:cpu,cpuacct:/a"));
	assert_true(line_of("/sys/fs/cgroup/systemd/a", "1:name=systemd:/a"));
	assert_false(line_of("/sys/fs/cgroup/a", "3:cpu:/a"));
	assert_false(line_of("/sys/fs/cgroup/a", "0::/ab"));
	assert_false(line_of("/a", "no line of a control group"));
	/* A path may have colons. */
	assert_true(line_of("/a:b/c", "0::/a:b/c"));
}

/* ---- Processes that may show probes yet ---- */

static u32 news(struct live *l, const char *name)
{
	struct wire_life w = { .h.pid = 4711 };

	snprintf(w.comm, sizeof(w.comm), "%s", name);
	made = (struct process){ 0 };
	untraced = traced = looked = 0;
	assert_int_equal(sweep_new(l, &w), 0);
	return made.pid;
}

static void so_many_are_looked_at_and_no_more(void **state)
{
	struct live l = { .sweep = { .comms = { "wanted" }, .comm_count = 1 } };
	u32 i;

	(void)state;
	assert_int_equal(news(&l, "other"), 0);
	assert_int_equal(untraced, 4711);
	assert_int_equal(l.candidates, 0);
	for (i = 0; i < 4096; i++) {
		assert_int_equal(news(&l, "wanted"), 4711);
		assert_true(made.candidate);
		assert_string_equal(made.name, "wanted");
		assert_int_equal(untraced, 0);
		assert_int_equal(traced, 4711);
		assert_int_equal(looked, 4711);
	}
	assert_int_equal(l.candidates, 4096);
	assert_int_equal(news(&l, "wanted"), 0);
	assert_int_equal(untraced, 4711);
	assert_int_equal(l.candidates, 4096);
	/* One that has shown its probes, or has ended, makes room; once. */
	made = (struct process){ .candidate = true };
	process_not_candidate(&l, &made);
	assert_false(made.candidate);
	assert_int_equal(l.candidates, 4095);
	process_not_candidate(&l, &made);
	assert_int_equal(l.candidates, 4095);
	assert_int_equal(news(&l, "wanted"), 4711);
	assert_int_equal(l.candidates, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_compared_as_far_as_the_kernel_keeps_it),
		cmocka_unit_test(who_is_renamed_again_meanwhile_is_found),
		cmocka_unit_test(a_control_group_has_what_lies_below_it),
		cmocka_unit_test(a_line_of_the_kernels_names_a_group_in_several_ways),
		cmocka_unit_test(so_many_are_looked_at_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
