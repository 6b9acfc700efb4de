/* SPDX-License-Identifier: BSD-2-Clause */
/* Children that go on without their first thread. */
#ifndef TESTS_FIRST_THREAD_H
#define TESTS_FIRST_THREAD_H

#include "base/task_stat.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

/* A pipe: who is ready writes into it. It outlives the first thread's stack. */
static int told[2];

/* A child's thread: says so once the first has ended. */
static void *goes_on(void *arg)
{
	while (!task_has_ended((u32)getpid(), (u32)getpid()))
		sched_yield();
	if (write(told[1], "", 1) != 1)
		_exit(1);
	pause();
	return arg;
}

/* Of a child: so nothing is left behind, whatever fails. */
static void ends_with_its_parent(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		_exit(1);
}

#endif
