/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a command whose PID is chosen, and ends with its status:
 *
 *   take_pid PID COMMAND [ARGUMENT]...
 *
 * Nobody else's forks come between, and the number that the kernel hands out next
 * stays as it is. Status 124: somebody has that PID. 125: it may not be chosen here
 * (CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN), which is found out first.
 */
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	TAKEN = 124,
	REFUSED = 125
};

int main(int argc, char **argv)
{
	pid_t wanted = argc > 2 ? atoi(argv[1]) : 0, parent = getpid();
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = (uintptr_t)&wanted,
				   .set_tid_size = 1 };
	long child;
	int status;

	if (wanted < 1)
		return 2;
	child = syscall(SYS_clone3, &args, sizeof(args));
	if (!child) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
			_exit(REFUSED);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (child < 0) {
		fprintf(stderr, "PID %d: %s\n", (int)wanted, strerror(errno));
		return errno == EEXIST ? TAKEN : REFUSED;
	}
	if (waitpid((pid_t)child, &status, 0) != child)
		return REFUSED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
