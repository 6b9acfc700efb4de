/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIST_MAX 16384
#define FILES_MAX 1000

/* "./demohost-12.vmspan", "./demohost-12.2.vmspan": the first that is free. */
static int choose_path(struct recorder *r, const char *name, u32 pid, struct err *err)
{
	char plain[OUTPUT_PATH_MAX];
	unsigned int i;

	output_default(plain, name, pid);
	strcpy(r->path, plain);
	for (i = 2; i < FILES_MAX && !access(r->path, F_OK); i++)
		snprintf(r->path, sizeof(r->path), "%.*s.%u.vmspan",
			 (int)(strlen(plain) - strlen(".vmspan")), plain, i);
	return i < FILES_MAX ? 0 : err_set(err, -EEXIST, "%s: too many recordings here", plain);
}

static _Noreturn void become(const struct recorder *r, const char *list, int words, int parent)
{
	char *const argv[] = { "vmspan", "record",        "-q", "--no-config", "-p", (char *)list,
			       "-o",     (char *)r->path, NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* ^C is the live view's; when that dies, the recording ends in order. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGINT);
	if (getppid() == parent && null >= 0 && dup2(null, 0) >= 0 && dup2(null, 1) >= 0 &&
	    dup2(words, 2) >= 0)
		execv("/proc/self/exe", argv);
	_exit(EXIT_FAILED);
}

int recorder_start(struct recorder *r, const char *name, const u32 *pids, u32 count,
		   struct err *err)
{
	char *list = malloc(LIST_MAX);
	int fds[2], pid, parent = getpid();
	size_t len = 0;
	u32 i;

	if (!list || !count || choose_path(r, name, pids[0], err)) {
		free(list);
		return err_set(err, -ESRCH, "no process to record");
	}
	for (i = 0; i < count && len < LIST_MAX - 16; i++)
		len += (size_t)snprintf(list + len, LIST_MAX - len, "%s%u", i ? "," : "", pids[i]);
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK)) {
		free(list);
		return err_set(err, -errno, "cannot start a recording: %s", strerror(errno));
	}
	pid = fork();
	if (!pid)
		become(r, list, fds[1], parent);
	free(list);
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return err_set(err, -EAGAIN, "cannot start a recording: %s", strerror(errno));
	}
	r->pid = pid;
	r->words = fds[0];
	return 0;
}

/* It is gone; its first line of words, if it had any, is why. */
static bool over(struct recorder *r, int status, char *why, size_t cap)
{
	char words[512];
	ssize_t n = read(r->words, words, sizeof(words) - 1);

	words[n > 0 ? n : 0] = 0;
	words[strcspn(words, "\n")] = 0;
	close(r->words);
	r->pid = 0;
	if (WIFEXITED(status) && !WEXITSTATUS(status)) {
		snprintf(why, cap, "recorded to %s%s%s", r->path, words[0] ? "; " : "", words);
		return true;
	}
	snprintf(why, cap, "the recording failed: %s",
		 words[0] ? words + (strncmp(words, "vmspan: ", 8) ? 0 : 8) : "it was killed");
	return false;
}

bool recorder_ended(struct recorder *r, char *why, size_t cap)
{
	int status;

	if (!r->pid || waitpid(r->pid, &status, WNOHANG) != r->pid)
		return false;
	over(r, status, why, cap);
	return true;
}

bool recorder_stop(struct recorder *r, char *why, size_t cap)
{
	int status = 0, rc;

	if (!r->pid)
		return true;
	kill(r->pid, SIGINT);
	do {
		rc = waitpid(r->pid, &status, 0);
	} while (rc < 0 && errno == EINTR);
	return over(r, status, why, cap);
}
