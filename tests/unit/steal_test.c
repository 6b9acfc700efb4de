/* SPDX-License-Identifier: BSD-2-Clause */
/* Stolen CPU time: /proc/stat's text, two of its readings, who tells, and the words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attach/checks.h"
#include "attach/steal.h"
#include "temp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse(const char *text, struct steal_count *c)
{
	/* In memory of its own, so that a byte read behind it is seen by the sanitizer. */
	size_t n = strlen(text);
	char *copy = malloc(n ? n : 1);
	int r;

	assert_non_null(copy);
	memcpy(copy, text, n);
	r = steal_parse(copy, n, c);
	free(copy);
	return r;
}

/* user nice system idle iowait irq softirq steal guest guest_nice */
static const char plain[] = "cpu  1000 20 300 9999 88 7 6 50 400 10\n"
			    "cpu0 600 10 200 5000 44 4 3 20 400 10\n"
			    "cpu1 400 10 100 4999 44 3 3 30 0 0\n"
			    "intr 12345 0 1 2\n"
			    "cpu2 1 1 1 1 1 1 1 1\n"
			    "ctxt 99\n";

static void the_columns_of_the_first_lines_count(void **state)
{
	struct steal_count c;

	(void)state;
	assert_int_equal(parse(plain, &c), 0);
	/* Idle and waiting for a device wants no CPU; time in guests is in user and nice. */
	assert_int_equal(c.used, 1000 + 20 + 300 + 7 + 6);
	assert_int_equal(c.stolen, 50);
	assert_int_equal(c.cpu_count, 2);
	assert_int_equal(c.cpus[0].cpu, 0);
	assert_int_equal(c.cpus[0].used, 600 + 10 + 200 + 4 + 3);
	assert_int_equal(c.cpus[0].stolen, 20);
	assert_int_equal(c.cpus[1].cpu, 1);
	assert_int_equal(c.cpus[1].stolen, 30);
}

static void kernels_without_guests_or_with_more_columns_are_read(void **state)
{
	struct steal_count c;

	(void)state;
	assert_int_equal(parse("cpu  1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8\n", &c), 0);
	assert_int_equal(c.used, 1 + 2 + 3 + 6 + 7);
	assert_int_equal(c.stolen, 8);
	assert_int_equal(c.cpu_count, 1);
	assert_int_equal(parse("cpu  1 2 3 4 5 6 7 8 9 10 11 12\n", &c), 0);
	assert_int_equal(c.stolen, 8);
	assert_int_equal(c.cpu_count, 0);
}

static void what_is_no_such_text_is_refused(void **state)
{
	static const struct {
		const char *text;
		int result;
	} texts[] = {
		{ "", -EINVAL },
		{ "\n", -EINVAL },
		{ "cpu", -EINVAL },
		{ "cpu \n", -EINVAL },
		{ "cpu  1 2 3 4 5 6 7 8", -EINVAL }, /* cut off */
		{ "intr 1 2 3 4 5 6 7 8\n", -EINVAL },
		{ "cpu0 1 2 3 4 5 6 7 8\n", -EINVAL }, /* no sum */
		{ "\ncpu  1 2 3 4 5 6 7 8\n", -EINVAL },
		{ "cpu  1 2 3 4 5 6\n", -EINVAL },
		{ "cpu  1 2 3 4 5 6 7\n", -ENODATA },
		{ "cpu  1 2 3 4 5 6 7 \n8 9\n", -ENODATA },
		{ "cpu  1 2 3 4 5 6 7 x\n", -ENODATA },
		{ "cpu  1 2 3 4 5 6 7 8x\n", -ENODATA },
		{ "cpu  1 2 3 4 5 6 7 -8\n", -ENODATA },
		{ "cpu  1 2 -3 4 5 6 7 8\n", -EINVAL },
		{ "cpu  1 2 3.5 4 5 6 7 8\n", -EINVAL },
		{ "cpu  1 2 99999999999999999999999999 4 5 6 7 8\n", -EINVAL },
		{ "cpu  1 2 18446744073709551617 4 5 6 7 8\n", -EINVAL },
	};
	struct steal_count c;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		c.cpu_count = 7;
		if (parse(texts[i].text, &c) != texts[i].result)
			fail_msg("%s", texts[i].text);
		assert_int_equal(c.cpu_count, 0);
	}
	assert_int_equal(steal_parse("cpu  1 2\0 3 4 5 6 7 8\n", 22, &c), -EINVAL);
}

static void a_bad_line_is_one_cpu_less(void **state)
{
	struct steal_count c;

	(void)state;
	assert_int_equal(parse("cpu  1 2 3 4 5 6 7 8\n"
			       "cpu0 1 2 3 4 5 6 7\n" /* too short */
			       "cpu1 1 2 3 4 5 6 7 8\n"
			       "cpux 1 2 3 4 5 6 7 8\n"
			       "cpu1 1 2 3 4 5 6 7 9\n" /* again */
			       "cpu0 1 2 3 4 5 6 7 9\n" /* the wrong way */
			       "cpu99999999999 1 2 3 4 5 6 7 9\n"
			       "cpu4294967296 1 2 3 4 5 6 7 9\n"
			       "cpu4294967295 1 2 3 4 5 6 7 10\n"
			       "cpu\n" /* the end of them */
			       "cpu5 1 2 3 4 5 6 7 9\n",
			       &c),
			 0);
	assert_int_equal(c.cpu_count, 2);
	assert_int_equal(c.cpus[0].cpu, 1);
	assert_int_equal(c.cpus[0].stolen, 8);
	assert_true(c.cpus[1].cpu == UINT32_MAX);
	assert_int_equal(c.cpus[1].stolen, 10);
	assert_int_equal(
		parse("cpu  1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8\ncpu1 1 2 3 4 5 6 7 8", &c), 0);
	assert_int_equal(c.cpu_count, 1); /* the last one may be cut off */
}

/* What is read of a made /proc/stat: some text, a line each of so many CPUs, and what follows. */
static int read_made(const char *first, u32 cpus, size_t behind, struct steal_count *c)
{
	char path[TEMP_PATH];
	int fd = temp_file(path), r;
	FILE *f;
	u32 i;

	assert_true(fd >= 0);
	f = fdopen(fd, "w");
	assert_non_null(f);
	fputs(first, f);
	for (i = 0; i < cpus; i++)
		fprintf(f, "cpu%u 1 2 3 4 5 6 7 %u 9 10\n", i, i);
	while (behind--)
		fputc('x', f);
	assert_int_equal(fflush(f), 0);
	r = steal_read(path, c);
	fclose(f);
	return r;
}

static void files_of_any_size_are_read_up_to_a_bound(void **state)
{
	struct steal_count c;

	(void)state;
	assert_int_equal(read_made("cpu  1 2 3 4 5 6 7 8 9 10\n", 3000, 0, &c), 0);
	assert_int_equal(c.stolen, 8);
	assert_int_equal(c.cpu_count, STEAL_CPUS);
	assert_int_equal(c.cpus[STEAL_CPUS - 1].stolen, STEAL_CPUS - 1);
	assert_int_equal(read_made("cpu  1 2 3 4 5 6 7 8 9 10\n", 2, 1 << 20, &c), 0);
	assert_int_equal(c.cpu_count, 2);
	assert_int_equal(read_made("", 0, 1 << 20, &c), -EINVAL);
	assert_int_equal(steal_read("/no/such/file", &c), -ENOENT);
	assert_int_equal(steal_read("/", &c), -EISDIR);
}

static struct steal_count count(const char *text)
{
	struct steal_count c;

	assert_int_equal(parse(text, &c), 0);
	return c;
}

static void the_difference_is_by_cpu(void **state)
{
	struct steal_count a = count("cpu  100 0 0 0 0 0 0 10\ncpu0 60 0 0 0 0 0 0 4\n"
				     "cpu1 40 0 0 0 0 0 0 6\n"),
			   b = count("cpu  180 0 0 0 0 0 0 25\ncpu0 90 0 0 0 0 0 0 4\n"
				     "cpu1 90 0 0 0 0 0 0 21\n"),
			   d;

	(void)state;
	assert_int_equal(steal_between(&a, &b, &d), 0);
	assert_int_equal(d.used, 80);
	assert_int_equal(d.stolen, 15);
	assert_int_equal(d.cpu_count, 2);
	assert_int_equal(d.cpus[0].used, 30);
	assert_int_equal(d.cpus[0].stolen, 0);
	assert_int_equal(d.cpus[1].used, 50);
	assert_int_equal(d.cpus[1].stolen, 15);
	assert_int_equal(steal_between(&a, &a, &d), 0);
	assert_int_equal(d.used + d.stolen, 0);
	/* In the place of the first reading. */
	assert_int_equal(steal_between(&a, &b, &a), 0);
	assert_int_equal(a.cpus[1].stolen, 15);
}

static void cpus_that_come_and_go_are_left_out(void **state)
{
	struct steal_count a = count("cpu  100 0 0 0 0 0 0 10\ncpu0 60 0 0 0 0 0 0 4\n"
				     "cpu2 40 0 0 0 0 0 0 6\ncpu4 1 0 0 0 0 0 0 1\n"),
			   b = count("cpu  180 0 0 0 0 0 0 25\ncpu1 90 0 0 0 0 0 0 40\n"
				     "cpu2 90 0 0 0 0 0 0 21\ncpu3 9 0 0 0 0 0 0 0\n"
				     "cpu4 2 0 0 0 0 0 0 3\ncpu9 2 0 0 0 0 0 0 3\n");

	(void)state;
	assert_int_equal(steal_between(&a, &b, &a), 0);
	assert_int_equal(a.used, 80);
	assert_int_equal(a.stolen, 15);
	assert_int_equal(a.cpu_count, 2);
	assert_int_equal(a.cpus[0].cpu, 2);
	assert_int_equal(a.cpus[0].stolen, 15);
	assert_int_equal(a.cpus[1].cpu, 4);
	assert_int_equal(a.cpus[1].stolen, 2);
}

static void counts_that_go_back_are_not_believed(void **state)
{
	struct steal_count a = count("cpu  100 0 0 0 0 0 0 10\ncpu0 60 0 0 0 0 0 0 4\n"
				     "cpu1 40 0 0 0 0 0 0 6\ncpu2 9 0 0 0 0 0 0 0\n"),
			   b = count("cpu  180 0 0 0 0 0 0 25\ncpu0 90 0 0 0 0 0 0 3\n"
				     "cpu1 39 0 0 0 0 0 0 9\ncpu2 10 0 0 0 0 0 0 1\n"),
			   less = count("cpu  200 0 0 0 0 0 0 9\n"),
			   idle = count("cpu  99 0 0 0 0 0 0 10\n"), d;

	(void)state;
	assert_int_equal(steal_between(&a, &b, &d), 0);
	assert_int_equal(d.cpu_count, 1);
	assert_int_equal(d.cpus[0].cpu, 2);
	assert_int_equal(steal_between(&a, &less, &d), -ERANGE);
	assert_int_equal(steal_between(&a, &idle, &d), -ERANGE);
}

static void a_tick_is_certain_of_nothing(void **state)
{
	(void)state;
	assert_false(steal_matters(0, 0));
	assert_false(steal_matters(100, 0));
	assert_false(steal_matters(0, 1));
	assert_false(steal_matters(1, 1));
	/* Of 100 two ticks are more than one, and that is a hundredth. */
	assert_true(steal_matters(98, 2));
	assert_false(steal_matters(99, 2));
	assert_false(steal_matters(1090, 11));
	assert_false(steal_matters(1089, 12));
	assert_true(steal_matters(1088, 12));
	assert_true(steal_matters(0, UINT64_MAX / 2));
}

static void the_worst_cpu_is_named_if_it_stands_out(void **state)
{
	struct steal_count d = count("cpu  1 0 0 0 0 0 0 1\n");

	(void)state;
	assert_null(steal_worst(&d));
	d = count("cpu  9 0 0 0 0 0 0 9\ncpu7 100 0 0 0 0 0 0 50\n");
	assert_null(steal_worst(&d)); /* of one there are no others */
	d = count("cpu  9 0 0 0 0 0 0 9\ncpu7 100 0 0 0 0 0 0 50\ncpu8 0 0 0 900 0 0 0 0\n");
	assert_null(steal_worst(&d)); /* from who does not run nothing can be stolen */
	d = count("cpu  9 0 0 0 0 0 0 9\ncpu2 100 0 0 0 0 0 0 0\ncpu3 76 0 0 0 0 0 0 24\n");
	assert_non_null(steal_worst(&d));
	assert_int_equal(steal_worst(&d)->cpu, 3);
	/* 23 of 100 for certain; of the other at most 11.5: with 10 shown, up to 11. One
	 * that is idle adds nothing to that. */
	d = count("cpu  9 0 0 0 0 0 0 9\ncpu2 90 0 0 0 0 0 0 10\ncpu3 76 0 0 0 0 0 0 24\n"
		  "cpu9 0 0 0 5 0 0 0 0\n");
	assert_non_null(steal_worst(&d));
	d = count("cpu  9 0 0 0 0 0 0 9\ncpu2 89 0 0 0 0 0 0 11\ncpu3 76 0 0 0 0 0 0 24\n");
	assert_null(steal_worst(&d));
	/* Much more than the others is little still. */
	d = count("cpu  9 0 0 0 0 0 0 9\ncpu2 9990 0 0 0 0 0 0 0\ncpu3 9990 0 0 0 0 0 0 10\n");
	assert_null(steal_worst(&d));
}

/* ---- Who tells ---- */

static struct {
	bool hypervisor;
	u32 kvm_at, features;
} machine;

static void made_cpuid(u32 leaf, u32 r[4])
{
	memset(r, 0, 4 * sizeof(*r));
	if (leaf == 1)
		r[2] = machine.hypervisor ? 1u << 31 : 0x7fffffff;
	else if (leaf == 0x40000000)
		memcpy(&r[1], "Microsoft Hv", 12);
	if (machine.kvm_at && leaf == machine.kvm_at)
		memcpy(&r[1], "KVMKVMKVM\0\0\0", 12);
	if (machine.kvm_at && leaf == machine.kvm_at + 1)
		r[0] = machine.features;
}

static void who_tells_is_asked_of_the_cpu(void **state)
{
	enum {
		KVM = 0x40000000,
		KVM_BEHIND = 0x40000100,
		STEAL = 1 << 5,
		OTHERS = 0xffff & ~STEAL
	};
	const enum steal_answer un = STEAL_UNKNOWN, no = STEAL_NO, yes = STEAL_YES;
	const struct {
		bool hypervisor;
		u32 kvm_at, features;
		struct steal_kernel kernel;
		struct steal_host want;
	} cases[] = {
		{ false, 0, 0, { yes, "" }, { no, un, un } },
		{ true, 0, 0, { yes, "" }, { yes, un, un } },
		{ true, 0, 0, { no, "" }, { yes, un, no } },
		{ true, KVM, STEAL, { yes, "" }, { yes, yes, yes } },
		{ true, KVM_BEHIND, STEAL, { yes, "" }, { yes, yes, yes } },
		{ true, KVM, STEAL, { yes, "quiet no-steal-acc ro" }, { yes, yes, no } },
		{ true, KVM, STEAL, { yes, "no-steal-acc\n" }, { yes, yes, no } },
		{ true, KVM, STEAL, { yes, "no-steal-account xno-steal-acc" }, { yes, yes, yes } },
		{ true, KVM, STEAL, { no, "" }, { yes, un, no } },
		{ true, KVM, STEAL, { un, "" }, { yes, un, un } },
		{ true, KVM, OTHERS, { yes, "" }, { yes, no, no } },
	};
	struct steal_host h;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		machine.hypervisor = cases[i].hypervisor;
		machine.kvm_at = cases[i].kvm_at;
		machine.features = cases[i].features;
		steal_host(&h, made_cpuid, &cases[i].kernel);
		if (memcmp(&h, &cases[i].want, sizeof(h)))
			fail_msg("case %zu: %d %d %d", i, h.is_virtual, h.tells, h.clock_without);
	}
	steal_host(&h, NULL, &(struct steal_kernel){ .accounts = STEAL_YES, .command_line = "" });
	assert_int_equal(h.is_virtual, STEAL_UNKNOWN);
	assert_int_equal(h.tells, STEAL_UNKNOWN);
	assert_int_equal(h.clock_without, STEAL_UNKNOWN);
}

/* ---- What is said ---- */

static struct check said(struct steal_look *l)
{
	struct check c;

	check_steal(l, &c);
	assert_string_equal(c.id, "stolen");
	assert_true(strlen(c.detail) < sizeof(c.detail) - 1);
	assert_true(strlen(c.advice) < sizeof(c.advice) - 1);
	assert_true((c.result == CHECK_OK) == !c.advice[0]);
	return c;
}

static struct steal_look look(const char *window, const char *boot)
{
	return (struct steal_look){
		.host = { STEAL_YES, STEAL_YES, STEAL_YES },
		.hz = 100,
		.boot_ns = 600 * NSEC_PER_SEC,
		.window_ns = NSEC_PER_SEC,
		.boot = count(boot),
		.window = count(window),
	};
}

static void no_steal_is_ok_with_what_is_known_of_it(void **state)
{
	struct steal_look l = look("cpu  100 0 0 0 0 0 0 0\n", "cpu  100 0 0 0 0 0 0 0\n");

	(void)state;
	assert_string_equal(
		said(&l).detail,
		"none since the start 600 s ago, and this hypervisor tells what it takes");
	l.host.tells = STEAL_NO;
	assert_string_equal(
		said(&l).detail,
		"none since the start 600 s ago, but this hypervisor does not tell what it takes");
	l.host.tells = STEAL_UNKNOWN;
	assert_string_equal(said(&l).detail, "none since the start 600 s ago, but not every "
					     "hypervisor tells, and this one may not");
	l.host.is_virtual = STEAL_UNKNOWN;
	assert_string_equal(said(&l).detail, "none since the start 600 s ago, as far as a "
					     "hypervisor, if there is one, tells");
	l.host.is_virtual = STEAL_NO;
	assert_string_equal(said(&l).detail, "none: this is no virtual machine");
	assert_int_equal(said(&l).result, CHECK_OK);
}

static void what_cannot_be_read_is_said(void **state)
{
	struct steal_look l = look("cpu  100 0 0 0 0 0 0 0\n", "cpu  100 0 0 0 0 0 0 9\n");

	(void)state;
	l.boot_error = l.window_error = -ENODATA;
	assert_string_equal(said(&l).detail, "not known: this kernel does not count it");
	l.boot_error = -EINVAL;
	assert_string_equal(said(&l).detail, "not known: /proc/stat is not as Linux has it");
	l.boot_error = -ENOENT;
	assert_string_equal(said(&l).detail, "not known: No such file or directory");
	l.boot_error = 0;
	l.window_error = -ERANGE;
	assert_string_equal(said(&l).detail, "just now: not known, the kernel's count went back; "
					     "since the start 600 s ago 8.3 %");
	assert_int_equal(said(&l).result, CHECK_WARN);
}

static void how_much_is_said_and_whose(void **state)
{
	struct steal_look l = look("cpu  48 0 0 0 0 0 0 0\n", "cpu  100000 0 0 0 0 0 0 9\n");
	struct check c = said(&l);

	(void)state;
	assert_string_equal(c.detail, "in the last 1.00 s programs wanted 480 ms of CPU time, and "
				      "the hypervisor took none of it; since the start 600 s ago "
				      "less than 0.1 %");
	assert_int_equal(c.result, CHECK_OK);

	/* The longest there is: it is not cut. */
	l = look("cpu  176 0 0 0 0 0 0 24\ncpu0 100 0 0 0 0 0 0 0\ncpu1 76 0 0 0 0 0 0 24\n",
		 "cpu  100000 0 0 0 0 0 0 1100\ncpu0 50000 0 0 0 0 0 0 0\n"
		 "cpu1 50000 0 0 0 0 0 0 1100\n");
	c = said(&l);
	assert_string_equal(c.detail, "in the last 1.00 s programs wanted 2.00 s of CPU time, and "
				      "the hypervisor took 240 ms, 12 % (CPU 1: 24 %); since the "
				      "start 600 s ago 1.1 % (CPU 1: 2.2 %)");
	assert_int_equal(c.result, CHECK_WARN);
	assert_non_null(strstr(c.advice, "CPU times of events, which do not"));
	assert_non_null(strstr(c.advice, "0.1 ms + 1 %"));
	l.host.clock_without = STEAL_NO;
	assert_non_null(strstr(said(&l).advice, "Wall times and CPU times contain it"));
	assert_null(strstr(said(&l).advice, "--exact"));
	l.host.clock_without = STEAL_UNKNOWN;
	assert_non_null(strstr(said(&l).advice, "CPU times may"));
}

static void either_figure_is_a_reason_to_warn(void **state)
{
	struct steal_look l = look("cpu  98 0 0 0 0 0 0 2\n", "cpu  10000 0 0 0 0 0 0 5\n");

	(void)state;
	assert_int_equal(said(&l).result, CHECK_WARN);
	l = look("cpu  99 0 0 0 0 0 0 1\n", "cpu  10000 0 0 0 0 0 0 5\n");
	assert_int_equal(said(&l).result, CHECK_OK);
	l = look("cpu  0 0 0 0 0 0 0 0\n", "cpu  9800 0 0 0 0 0 0 200\n");
	assert_int_equal(said(&l).result, CHECK_WARN);
	/* What the window cannot say it does not. */
	l = look("cpu  9 0 0 0 0 0 0 9\n", "cpu  10000 0 0 0 0 0 0 5\n");
	l.window_error = -ERANGE;
	assert_int_equal(said(&l).result, CHECK_OK);
}

static void times_too_long_for_ns_are_the_longest(void **state)
{
	(void)state;
	assert_int_equal(steal_ns(0, 100), 0);
	assert_int_equal(steal_ns(3, 1000), 3 * NSEC_PER_MSEC);
	assert_int_equal(steal_ns(3, 100), 30000000);
	assert_true(steal_ns(UINT64_MAX / 10000000, 100) < UINT64_MAX);
	assert_true(steal_ns(UINT64_MAX / 10000000 + 1, 100) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_columns_of_the_first_lines_count),
		cmocka_unit_test(kernels_without_guests_or_with_more_columns_are_read),
		cmocka_unit_test(what_is_no_such_text_is_refused),
		cmocka_unit_test(a_bad_line_is_one_cpu_less),
		cmocka_unit_test(files_of_any_size_are_read_up_to_a_bound),
		cmocka_unit_test(the_difference_is_by_cpu),
		cmocka_unit_test(cpus_that_come_and_go_are_left_out),
		cmocka_unit_test(counts_that_go_back_are_not_believed),
		cmocka_unit_test(a_tick_is_certain_of_nothing),
		cmocka_unit_test(the_worst_cpu_is_named_if_it_stands_out),
		cmocka_unit_test(who_tells_is_asked_of_the_cpu),
		cmocka_unit_test(no_steal_is_ok_with_what_is_known_of_it),
		cmocka_unit_test(what_cannot_be_read_is_said),
		cmocka_unit_test(how_much_is_said_and_whose),
		cmocka_unit_test(either_figure_is_a_reason_to_warn),
		cmocka_unit_test(times_too_long_for_ns_are_the_longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
