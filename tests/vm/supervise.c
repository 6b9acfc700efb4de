/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What supervises a container, as far as others see it: it runs beside it with its own arguments, and is the
 * parent of what runs in it.
 *   supervise [ARGUMENT...] -- GROUP COMMAND [ARGUMENT...]
 * Runs COMMAND in the control group GROUP (a folder) and ends with it and with its status.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int run(const char *group, char **command)
{
	char path[4096];
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1) {
		perror(path);
		return 126;
	}
	execvp(*command, command);
	perror(*command);
	return 127;
}

int main(int argc, char **argv)
{
	int i = 1, status;
	pid_t child;

	while (i < argc && strcmp(argv[i], "--"))
		i++;
	if (i + 2 >= argc)
		return 2;
	child = fork();
	if (!child)
		return run(argv[i + 1], argv + i + 2);
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
