/* SPDX-License-Identifier: BSD-2-Clause */
/* By which numbers a process and its threads know themselves. */
#include "probe/threads.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int told[2];

static u32 own_tid(void)
{
	return (u32)syscall(SYS_gettid);
}

static void *tells(void *arg)
{
	u32 tid = own_tid();

	(void)arg;
	if (write(told[1], &tid, sizeof(tid)) == sizeof(tid))
		for (;;)
			pause();
	return NULL;
}

/* A process of two threads, which tell their numbers. Does not return. */
static void two_threads(void)
{
	pthread_t t;

	if (!pthread_create(&t, NULL, tells, NULL))
		tells(NULL);
	_exit(1);
}

static void check_numbers(u32 pid, u32 first, u32 second)
{
	struct map m = { 0 };

	assert_int_equal(threads_numbers(pid, &m), 0);
	assert_int_equal(m.len, 2);
	assert_non_null(map_get(&m, first));
	assert_non_null(map_get(&m, second));
	map_free(&m);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void read_two(u32 tids[2])
{
	assert_int_equal(read(told[0], &tids[0], sizeof(u32)), sizeof(u32));
	assert_int_equal(read(told[0], &tids[1], sizeof(u32)), sizeof(u32));
}

static void of_the_readers_namespace_they_are_the_same(void **state)
{
	u32 tids[2];
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (!pid)
		two_threads();
	read_two(tids);
	assert_int_equal(threads_own_number((u32)pid), pid);
	check_numbers((u32)pid, tids[0], tids[1]);
	end(pid);
}

/* As in a container: the process is number 1 there, whatever it can see of a /proc. */
static void of_a_namespace_of_its_own_they_are_those_in_it(void **state)
{
	pid_t outer, pid = 0;
	u32 tids[2];
	int to[2];

	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(pipe(to), 0);
	outer = fork();
	assert_true(outer >= 0);
	if (!outer) {
		if (unshare(CLONE_NEWPID))
			_exit(1);
		pid = fork();
		if (!pid)
			two_threads();
		if (write(to[1], &pid, sizeof(pid)) == sizeof(pid))
			waitpid(pid, NULL, 0);
		_exit(0);
	}
	assert_int_equal(read(to[0], &pid, sizeof(pid)), sizeof(pid));
	read_two(tids);
	assert_int_not_equal(pid, 1);
	assert_int_equal(threads_own_number((u32)pid), 1);
	assert_true(tids[0] == 1 || tids[1] == 1);
	check_numbers((u32)pid, tids[0], tids[1]);
	kill(pid, SIGKILL); /* it goes with its child */
	waitpid(outer, NULL, 0);
	close(to[0]);
	close(to[1]);
}

/* In the reader's namespace, with a /proc of the one around it: 0 if it has found itself as 1. */
static int finds_itself(void)
{
	struct map m = { 0 };
	char number[16] = "";
	u64 *tid;

	if (readlink("/proc/self", number, sizeof(number) - 1) <= 0 ||
	    threads_numbers((u32)strtoul(number, NULL, 10), &m))
		return 2;
	tid = map_get(&m, 1);
	if (!tid || *tid != strtoul(number, NULL, 10))
		return 3;
	map_free(&m);
	return 0;
}

static void where_proc_is_of_a_namespace_around_it_they_are_the_inner_ones(void **state)
{
	pid_t outer, inner;
	int status = -1;

	(void)state;
	if (geteuid())
		skip();
	outer = fork();
	assert_true(outer >= 0);
	if (!outer) {
		if (unshare(CLONE_NEWPID))
			_exit(1);
		inner = fork();
		if (!inner)
			_exit(finds_itself());
		waitpid(inner, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 4);
	}
	waitpid(outer, &status, 0);
	assert_int_equal(status, 0);
}

static void who_is_gone_has_none(void **state)
{
	struct map m = { 0 };
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	assert_int_equal(threads_own_number((u32)pid), 0);
	assert_int_equal(threads_numbers((u32)pid, &m), -ENOENT);
	assert_int_equal(m.len, 0);
	map_free(&m);
}

static int begin(void **state)
{
	(void)state;
	return pipe(told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_the_readers_namespace_they_are_the_same),
		cmocka_unit_test(of_a_namespace_of_its_own_they_are_those_in_it),
		cmocka_unit_test(where_proc_is_of_a_namespace_around_it_they_are_the_inner_ones),
		cmocka_unit_test(who_is_gone_has_none),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
