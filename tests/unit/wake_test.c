/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals to stop: once, twice at a time, and again by somebody who does not want to wait. */
#include "base/err.h"

#include <time.h>

/* What the clock says to the code under test, and by how much it has moved on when it is asked again. */
static u64 played_ns, step_ns;

static int played_clock(clockid_t clock, struct timespec *t)
{
	(void)clock;
	played_ns += step_ns;
	t->tv_sec = (time_t)(played_ns / NSEC_PER_SEC);
	t->tv_nsec = (long)(played_ns % NSEC_PER_SEC);
	return 0;
}

#define clock_gettime played_clock
#include "user/cmd/wake.c"
#undef clock_gettime

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cmocka.h>

enum {
	WOKEN = 7, /* status: it was told to stop, and could do so */
	ASLEEP,
};

/* The process under test: its signals in turn, a step of time between them. */
enum kind {
	VIEW,
	RECORDER,
	WRITTEN, /* a recorder that has written all */
};

static void stopped_by(const int *signals, enum kind kind, u64 step)
{
	struct err e = { 0 };
	struct wake w;

	played_ns = 1;
	step_ns = step;
	if (wake_open(&w, kind != VIEW, &e))
		_exit(EXIT_USAGE);
	if (kind == WRITTEN)
		wake_all_written();
	while (*signals)
		raise(*signals++);
	_exit(wake_take(&w) & WAKE_STOP ? WOKEN : ASLEEP);
}

/* The status it ends with, and what it says. */
static int status_of(const int *signals, enum kind kind, u64 step, char words[256])
{
	int fds[2], status;
	ssize_t n, len = 0;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(fds[1], STDERR_FILENO);
		stopped_by(signals, kind, step);
	}
	close(fds[1]);
	while ((n = read(fds[0], words + len, (size_t)(255 - len))) > 0)
		len += n;
	words[len] = 0;
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void who_is_asked_once_writes_all(void **state)
{
	static const int stops[] = { SIGINT, SIGTERM, SIGHUP };
	char words[256];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(stops); i++) {
		int signals[] = { SIGWINCH, stops[i], 0 };

		assert_int_equal(status_of(signals, RECORDER, NSEC_PER_SEC, words), WOKEN);
		assert_string_equal(words, "");
	}
}

static void twice_within_a_moment_is_once(void **state)
{
	static const int twice[] = { SIGINT, SIGINT, 0 }, both[] = { SIGTERM, SIGINT, 0 };
	char words[256];

	(void)state;
	assert_int_equal(status_of(twice, RECORDER, 0, words), WOKEN);
	assert_int_equal(status_of(twice, RECORDER, NSEC_PER_SEC - 1, words), WOKEN);
	assert_int_equal(status_of(both, RECORDER, NSEC_PER_MSEC, words), WOKEN);
	assert_string_equal(words, "");
}

static void who_does_not_want_to_wait_is_told_what_is_lost(void **state)
{
	static const int twice[] = { SIGINT, SIGINT, 0 };
	/* The second is the first's, the third is not. */
	static const int thrice[] = { SIGINT, SIGINT, SIGINT, 0 };
	char words[256];

	(void)state;
	assert_int_equal(status_of(twice, RECORDER, NSEC_PER_SEC, words), EXIT_FAILED);
	assert_non_null(strstr(words, "what was not written yet is lost\n"));
	assert_int_equal(status_of(thrice, RECORDER, NSEC_PER_SEC / 2, words), EXIT_FAILED);
	assert_non_null(strstr(words, "what was not written yet is lost\n"));
}

static void who_has_nothing_to_lose_is_not_broken_off(void **state)
{
	static const int thrice[] = { SIGINT, SIGINT, SIGTERM, 0 };
	char words[256];

	(void)state;
	assert_int_equal(status_of(thrice, VIEW, NSEC_PER_SEC, words), WOKEN);
	assert_string_equal(words, "");
	assert_int_equal(status_of(thrice, WRITTEN, NSEC_PER_SEC, words), WOKEN);
	assert_string_equal(words, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_asked_once_writes_all),
		cmocka_unit_test(twice_within_a_moment_is_once),
		cmocka_unit_test(who_does_not_want_to_wait_is_told_what_is_lost),
		cmocka_unit_test(who_has_nothing_to_lose_is_not_broken_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
