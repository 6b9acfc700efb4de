/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel says of a thread whose name looks like what it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "first_thread.h"

#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void check_parent(u32 tid)
{
	char line[TASK_STAT_MAX], state = 0;
	const char *stat = task_stat((u32)getpid(), tid, line);
	int parent = 0;

	assert_non_null(stat);
	assert_int_equal(sscanf(stat, "%c %d", &state, &parent), 2);
	assert_int_equal(state, 'R');
	assert_int_equal(parent, getppid());
}

static void a_name_is_stepped_over_whatever_is_in_it(void **state)
{
	static const char *const names[] = { "plain", "x) S 1\nfoo", ")))",
					     "\n",    "a b ) R 2",   ") S 1 1 1 1 1" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(prctl(PR_SET_NAME, names[i]), 0);
		check_parent(0);
		check_parent((u32)getpid());
	}
}

static void who_is_not_there_has_none(void **state)
{
	char line[TASK_STAT_MAX];

	(void)state;
	assert_null(task_stat(1u << 30, 0, line));
	assert_null(task_stat((u32)getpid(), 1u << 30, line));
	assert_true(task_has_ended(1u << 30, 1u << 30));
	assert_true(task_is_over(1u << 30));
	assert_int_equal(task_living(1u << 30), 1u << 30);
}

/* The kernel has it as a zombie then, as a process that is over. */
static void a_process_is_not_over_with_its_first_thread(void **state)
{
	siginfo_t end;
	pthread_t t;
	pid_t pid;
	char c;

	(void)state;
	assert_int_equal(pipe(told), 0);
	assert_false(task_has_ended((u32)getpid(), (u32)getpid()));
	assert_false(task_is_over((u32)getpid()));
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		ends_with_its_parent();
		if (pthread_create(&t, NULL, goes_on, NULL))
			_exit(1);
		pthread_exit(NULL);
	}
	close(told[1]);
	assert_int_equal(read(told[0], &c, 1), 1);
	assert_true(task_has_ended((u32)pid, (u32)pid));
	assert_false(task_is_over((u32)pid));
	assert_int_not_equal(task_living((u32)pid), (u32)pid);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT), 0);
	assert_true(task_is_over((u32)pid));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(told[0]);
}

static int go[2]; /* a pipe */

static void *ends(void *arg)
{
	const pid_t tid = (pid_t)syscall(SYS_gettid);
	char c;

	if (write(told[1], &tid, sizeof(tid)) != sizeof(tid) || read(go[0], &c, 1) != 1)
		_exit(1);
	return arg;
}

/* Another than the first is there after its end as long as who traces it has not asked for that. */
static void who_is_taken_for_a_process_lives(void **state)
{
	pid_t pid, ended, lives;
	pthread_t t[2];
	char c;

	(void)state;
	assert_int_equal(pipe(told), 0);
	assert_int_equal(pipe(go), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		ends_with_its_parent();
		if (pthread_create(&t[0], NULL, ends, NULL) ||
		    pthread_create(&t[1], NULL, goes_on, NULL) || read(go[0], &c, 1) != 1)
			_exit(1);
		pthread_exit(NULL);
	}
	close(told[1]);
	/* The first of them goes on until then. */
	assert_int_equal(read(told[0], &ended, sizeof(ended)), sizeof(ended));
	assert_int_equal(ptrace(PTRACE_SEIZE, ended, NULL, NULL), 0);
	assert_int_equal(write(go[1], "12", 2), 2);
	assert_int_equal(read(told[0], &c, 1), 1);
	while (!task_has_ended((u32)pid, (u32)ended))
		sched_yield();
	lives = (pid_t)task_living((u32)pid);
	assert_int_not_equal(lives, pid);
	assert_int_not_equal(lives, ended);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(ended, NULL, __WALL), ended);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(told[0]);
	close(go[0]);
	close(go[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_stepped_over_whatever_is_in_it),
		cmocka_unit_test(who_is_not_there_has_none),
		cmocka_unit_test(a_process_is_not_over_with_its_first_thread),
		cmocka_unit_test(who_is_taken_for_a_process_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
