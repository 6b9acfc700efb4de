/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts a command that waits before exec until the trace is in place. */
#include "source/live_int.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The file execvp() will take, or -errno as it would give it. */
static int resolve(const char *name, char *to, size_t cap)
{
	const char *list = getenv("PATH"), *end;
	int denied = -ENOENT;
	struct stat st;

	if (strchr(name, '/')) {
		snprintf(to, cap, "%s", name);
		return access(to, X_OK) ? -errno : 0;
	}
	for (list = list ? list : "/bin:/usr/bin";; list = end + 1) {
		end = strchrnul(list, ':');
		snprintf(to, cap, "%.*s%s%s", (int)(end - list), list, end == list ? "" : "/",
			 name);
		if (!stat(to, &st) && S_ISREG(st.st_mode)) {
			if (!access(to, X_OK))
				return 0;
			denied = -EACCES;
		}
		if (!*end)
			return denied;
	}
}

/* Between fork and exec. */
static void child(char *const *argv, int go, int result)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;
	int sig, e;
	char byte;

	for (sig = 1; sig < NSIG; sig++)
		sigaction(sig, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* The end of the pipe without a byte: the tracer is gone. */
	if (read(go, &byte, 1) == 1) {
		execvp(argv[0], argv);
		e = errno;
		if (write(result, &e, sizeof(e)) < 0)
			_exit(127);
	}
	_exit(127);
}

static int exec_error(char *const *argv, int code, struct err *err)
{
	err_set_status(err, code, EXIT_FAILED, "%s: cannot be started: %s", argv[0],
		       strerror(-code));
	if (code == -ENOENT)
		err_hint(err, "Name a program on PATH, or give its path.");
	return code;
}

int command_start(struct command *c, char *const *argv, bool followed, int *fd, char **path,
		  struct err *err)
{
	char tracer[16];
	int go[2], result[2] = { -1, -1 }, r;
	char file[PATH_MAX];

	*fd = -1;
	*path = NULL;
	r = resolve(argv[0], file, sizeof(file));
	if (r)
		return exec_error(argv, r, err);
	*path = strdup(file);
	if (!*path)
		return err_set(err, -ENOMEM, "no memory");
	/* It may be executable and not readable: then it is found after exec. */
	*fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (pipe2(go, O_CLOEXEC))
		return err_set(err, -errno, "a pipe for the command: %s", strerror(errno));
	if (pipe2(result, O_CLOEXEC))
		goto failed;
	snprintf(tracer, sizeof(tracer), "%d", (int)getpid());
	c->pid = fork();
	if (c->pid < 0)
		goto failed;
	if (!c->pid) {
		close(go[1]);
		close(result[0]);
		/* What it executes later waits to be attached to. */
		if (followed)
			setenv("VMSPAN_WAIT", tracer, 1);
		child(argv, go[0], result[1]);
	}
	close(go[0]);
	close(result[1]);
	c->go = go[1];
	c->result = result[0];
	return 0;
failed:
	r = -errno;
	c->pid = 0;
	close(go[0]);
	close(go[1]);
	if (result[0] >= 0) {
		close(result[0]);
		close(result[1]);
	}
	return err_set(err, r, "starting %s: %s", argv[0], strerror(-r));
}

int command_go(struct command *c, char *const *argv, struct err *err)
{
	ssize_t n;
	int e = 0;

	n = write(c->go, "g", 1);
	close(c->go);
	c->go = -1;
	if (n == 1)
		do {
			n = read(c->result, &e, sizeof(e));
		} while (n < 0 && errno == EINTR);
	close(c->result);
	c->result = -1;
	if (n != sizeof(e))
		return 0;
	command_reap(c, true);
	return exec_error(argv, -e, err);
}

void command_reap(struct command *c, bool wait)
{
	int status;
	pid_t r;

	if (!c->pid || c->status != -1)
		return;
	do {
		r = waitpid(c->pid, &status, wait ? 0 : WNOHANG);
	} while (r < 0 && errno == EINTR);
	if (r == c->pid)
		c->status = status;
}

void command_free(struct command *c)
{
	bool held = c->go >= 0;

	if (!c->pid)
		return;
	if (c->go >= 0)
		close(c->go);
	if (c->result >= 0)
		close(c->result);
	c->go = c->result = -1;
	command_reap(c, held);
}
