/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that go on without their first thread: by its number there are neither memory nor files then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "first_thread.h"
#include "probe/started.h"
#include "source/live_int.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void goes_on_or_ends(bool first_ends)
{
	pthread_t t;

	ends_with_its_parent();
	if (first_ends && !pthread_create(&t, NULL, goes_on, NULL))
		pthread_exit(NULL);
	if (!first_ends && write(told[1], "", 1) == 1)
		pause();
	_exit(1);
}

/* A child of this process's, and one of that, which never asks for its end. Into `child`: that one. */
static pid_t start(bool first_ends, pid_t *child)
{
	int forked[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(told), 0);
	assert_int_equal(pipe(forked), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		ends_with_its_parent();
		pid = fork();
		if (!pid)
			goes_on_or_ends(first_ends);
		/* Who waits hears of the end of whoever does not write. */
		close(told[1]);
		if (write(forked[1], &pid, sizeof(pid)) == sizeof(pid))
			pause();
		_exit(1);
	}
	close(told[1]);
	close(forked[1]);
	assert_int_equal(read(forked[0], child, sizeof(*child)), sizeof(*child));
	assert_int_equal(read(told[0], &c, 1), 1);
	close(told[0]);
	close(forked[0]);
	return pid;
}

static u32 left_out_below(pid_t pid)
{
	struct process target = { .pid = (u32)pid };
	struct live l = { 0 };
	struct err e = { 0 };

	assert_int_equal(map_put(&l.processes, target.pid, (u64)(uintptr_t)&target), 0);
	assert_int_equal(children_left_out(&l, &e), 0);
	map_free(&l.processes);
	return target.left_out;
}

/* Of whom nobody has asked for the end, or whose first thread alone has ended, the kernel says the same. */
static void who_goes_on_without_its_first_thread_is_left_out(void **state)
{
	u32 first_ends;

	(void)state;
	for (first_ends = 0; first_ends < 2; first_ends++) {
		pid_t child, pid = start(first_ends, &child);
		struct pollfd over = { .fd = process_pidfd((u32)child), .events = POLLIN };

		assert_true(over.fd >= 0);
		assert_int_equal(left_out_below(pid), 1);
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(poll(&over, 1, -1), 1);
		close(over.fd);
		assert_int_equal(left_out_below(pid), 0);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
}

static void what_it_runs_and_how_it_was_started_is_known(void **state)
{
	pid_t child, pid;
	struct stat own;
	char *text;

	(void)state;
	assert_int_equal(stat("/proc/self/exe", &own), 0);
	pid = start(true, &child);
	assert_true(task_has_ended((u32)child, (u32)child));
	assert_true(process_is_program((u32)child, own.st_dev, own.st_ino));
	assert_false(process_is_program((u32)child, own.st_dev, own.st_ino + 1));
	text = started_strings((u32)child, "cmdline");
	assert_non_null(text);
	assert_non_null(strstr(text, "children_test"));
	free(text);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_goes_on_without_its_first_thread_is_left_out),
		cmocka_unit_test(what_it_runs_and_how_it_was_started_is_known),
	};

	return cmocka_run_group_tests_name("children", tests, NULL, NULL);
}
