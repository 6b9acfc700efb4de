/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is a target by name, and how many are looked at at once. */
#include <setjmp.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

static int finds; /* what a look says */

static int no_look(struct live *l, struct process *p, struct err *err)
{
	(void)l;
	looked = p->pid;
	return finds ? err_set(err, finds, "it is so") : 0;
}

static int a_plan(u32 pid, struct plan_cache *c, struct plan *p, struct err *err)
{
	(void)pid;
	(void)c;
	(void)err;
	memset(p, 0, sizeof(*p));
	return 0;
}

#define process_new make_process
#define tracer_untrace no_untrace
#define tracer_trace no_trace
#define process_look no_look
#define process_look_present no_look
#define plan_process a_plan
#define process_read_name made_name
#include "source/live_sweep.c"
#undef process_new
#undef tracer_untrace
#undef tracer_trace
#undef process_look
#undef process_look_present
#undef plan_process
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

/* Its marks are off from then on until they are turned on. */
static void who_is_heard_of_as_it_loads_its_marks_has_begun(void **state)
{
	struct wire_life w = { .h = { .pid = 4711, .tid = 4711 }, .mono_ns = 17, .comm = "wanted" };
	struct live l = { .sweep = { .comms = { "wanted" }, .comm_count = 1 } };
	u32 loaded;

	(void)state;
	for (loaded = 0; loaded < 2; loaded++) {
		w.h.kind = loaded ? WIRE_LOADED : WIRE_EXEC;
		made = (struct process){ 0 };
		assert_int_equal(sweep_new(&l, &w), 0);
		assert_int_equal(made.waits_ns, loaded ? 17 : 0);
		assert_int_equal(made.exec_ns, 17);
	}
}

/* ---- Those that are there ---- */

static void who_is_just_beginning_is_looked_at_again(void **state)
{
	static const struct {
		int found;
		bool candidate, over, first;
		u32 vm_hz;
	} cases[] = {
		{ 0, false, false, false, 99 },
		{ -EAGAIN, true, false, false, 99 },
		{ -ENOENT, true, true, false, 99 },
		{ -ESRCH, true, true, false, 99 },
		/* A VM that cannot be walked does not end a sweep. */
		{ -ENOTSUP, false, false, false, 99 },
		{ -ENOTSUP, false, false, true, 0 },
		{ -EPERM, false, false, true, 99 },
	};
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct live l = { .sweep = { .comms = { "wanted" }, .comm_count = 1 },
				  .vm_hz = cases[i].vm_hz };
		struct err first = { 0 };

		finds = cases[i].found;
		looked = 0;
		assert_int_equal(take_present(&l, 4711, &first), 0);
		assert_int_equal(looked, 4711);
		assert_int_equal(made.candidate, cases[i].candidate);
		assert_int_equal(made.ended, cases[i].over);
		assert_int_equal(l.candidates, cases[i].candidate);
		assert_int_equal(first.code, cases[i].first ? cases[i].found : 0);
	}
	finds = 0;
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

static u64 lost;

static int count_lost(void *ctx, const struct item *it)
{
	(void)ctx;
	assert_int_equal(it->type, ITEM_LOSS);
	assert_int_equal(it->loss.cause, LOSS_LIMIT);
	lost += it->loss.records;
	return 0;
}

static void so_many_are_looked_at_and_the_others_are_a_loss(void **state)
{
	struct live l = { .fn = count_lost, .sweep = { .comms = { "wanted" }, .comm_count = 1 } };
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
	assert_int_equal(lost, 0);
	assert_int_equal(news(&l, "wanted"), 0);
	assert_int_equal(untraced, 4711);
	assert_int_equal(l.candidates, 4096);
	assert_int_equal(lost, 1);
	assert_int_equal(news(&l, "other"), 0);
	assert_int_equal(lost, 1);
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
		cmocka_unit_test(who_is_just_beginning_is_looked_at_again),
		cmocka_unit_test(who_is_renamed_again_meanwhile_is_found),
		cmocka_unit_test(who_is_heard_of_as_it_loads_its_marks_has_begun),
		cmocka_unit_test(so_many_are_looked_at_and_the_others_are_a_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
