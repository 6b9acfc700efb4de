/* SPDX-License-Identifier: BSD-2-Clause */
/* What a call costs without a trace, worked out from a trial (source/trial.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "source/trial.h"

enum {
	READ = 0,
	FUTEX = 202,
	TRAP = 500, /* ns */
	PROGRAM = 300,
};

/* A program that does nothing but call: `ns` a call. */
static struct trial_part calling(u64 ns, u64 cpu_ns)
{
	return (struct trial_part){
		.wall_ns = cpu_ns,
		.cpu_ns = cpu_ns,
		.calls = cpu_ns / ns,
		.end_ns = cpu_ns / ns * PROGRAM,
	};
}

/* Three parts of a call that takes `bare` ns, and `off` more with half of the probes
 * than the trap and the program are known to take. */
struct shares {
	struct trial_part none, half, all;
};

static struct shares parts(u64 bare, u64 off)
{
	const u64 half = bare + TRAP + PROGRAM;

	return (struct shares){
		.none = calling(bare, 300000000),
		.half = calling(half + off, 300000000),
		.all = calling(2 * half + off, 400000000),
	};
}

/* One system call in so many calls. */
static void with_work(struct shares *p, u32 number, u64 calls)
{
	p->none.work[number] = p->none.calls / calls;
	p->half.work[number] = p->half.calls / calls;
	p->all.work[number] = p->all.calls / calls;
}

/* One in so many ns, whatever is done. */
static void with_clock(struct shares *p, u32 number, u64 ns)
{
	p->none.work[number] = p->none.wall_ns / ns;
	p->half.work[number] = p->half.wall_ns / ns;
	p->all.work[number] = p->all.wall_ns / ns;
}

static struct call_price price(struct shares *p)
{
	struct call_price to;

	/* Nobody sees these: the answer may not lean on them. */
	p->none.calls = p->none.end_ns = 0;
	trial_price(&p->none, &p->half, &p->all, TRAP, &to);
	return to;
}

/* A trap that costs a tenth more in this program than elsewhere would double a short call. */
static void work_tells_short_calls(void **state)
{
	struct shares p = parts(50, 60);
	struct call_price to;

	(void)state;
	with_work(&p, READ, 1000);
	to = price(&p);
	assert_false(to.least);
	assert_in_range(to.bare_ns, 49, 51);
	assert_int_equal(to.traced_ns, 2 * (50 + TRAP + PROGRAM) + 60);
	assert_int_equal(to.calls, 400000000 / to.traced_ns);
}

/* What goes by the clock says nothing of work, however much there is of it. */
static void the_clock_is_no_work(void **state)
{
	struct shares p = parts(50, 60), both = parts(50, 60);
	struct call_price to;

	(void)state;
	with_clock(&p, FUTEX, 100000);
	to = price(&p);
	assert_true(to.least);
	assert_in_range(to.bare_ns, 50, 300);

	with_clock(&both, FUTEX, 100000);
	with_work(&both, READ, 1000);
	to = price(&both);
	assert_false(to.least);
	assert_in_range(to.bare_ns, 49, 51);
}

/* Without system calls: long calls by what half of the probes costs, short ones as a bound. */
static void no_work_no_short_calls(void **state)
{
	struct shares p = parts(5000, 0), tiny = parts(40, 0);
	struct call_price to = price(&p);

	(void)state;
	assert_false(to.least);
	assert_int_equal(to.bare_ns, 5000);
	to = price(&tiny);
	assert_true(to.least);
	assert_in_range(to.bare_ns, 40, 40 + 840 / 10);
	/* A trap that seems to cost more than all: still a bound. */
	tiny = parts(40, 0);
	trial_price(&tiny.none, &tiny.half, &tiny.all, 2 * TRAP, &to);
	assert_true(to.least);
	assert_in_range(to.bare_ns, 1, 84);
}

/* System calls that went with the calls when those were traced, and not before. */
static void ways_that_contradict(void **state)
{
	struct shares p = parts(5000, 0);
	struct call_price to;

	(void)state;
	with_work(&p, READ, 50);
	p.none.work[READ] *= 3;
	to = price(&p);
	assert_int_equal(to.bare_ns, 5000);
}

/* Of a few nothing is said. */
static void too_few(void **state)
{
	struct shares p = parts(50, 0);
	struct call_price to;

	(void)state;
	with_work(&p, READ, 1000);
	p.half.calls = 99;
	to = price(&p);
	assert_int_equal(to.bare_ns, 0);

	p = parts(50, 60);
	with_work(&p, READ, 24000);
	assert_in_range(p.all.work[READ], 5, 10);
	to = price(&p);
	assert_true(to.least);
	/* Nothing at all. */
	p = (struct shares){ 0 };
	to = price(&p);
	assert_int_equal(to.bare_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_tells_short_calls),
		cmocka_unit_test(the_clock_is_no_work),
		cmocka_unit_test(no_work_no_short_calls),
		cmocka_unit_test(ways_that_contradict),
		cmocka_unit_test(too_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
