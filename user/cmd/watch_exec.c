/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/watch_exec.h"
#include "cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 64

struct exec {
	char *words; /* owned; argv points into it */
	char *argv[WORDS_MAX + 1];
	u64 limit_ns;
	int queue[EXEC_QUEUE]; /* descriptors of what waits, oldest first */
	u32 queue_len;
	pid_t pid; /* 0: none runs */
	int pidfd;
	u64 kill_ns;
	bool complained;
	struct exec_counts counts;
};

static int split(struct exec *x, const char *command, struct err *err)
{
	u32 n = 0;
	char *p, *save;

	x->words = strdup(command);
	if (!x->words)
		return err_set(err, -ENOMEM, "out of memory");
	for (p = strtok_r(x->words, " \t\n", &save); p; p = strtok_r(NULL, " \t\n", &save)) {
		if (n == WORDS_MAX)
			return err_set_status(err, -E2BIG, EXIT_USAGE, "--exec: more than %d words",
					      WORDS_MAX);
		x->argv[n++] = p;
	}
	return n ? 0 : err_set_status(err, -EINVAL, EXIT_USAGE, "--exec: no command given");
}

/* As execvp(3) looks for it. */
static bool can_run(const char *name)
{
	char path[4096], dirs[4096], *dir, *save;
	const char *list = getenv("PATH");

	if (strchr(name, '/'))
		return !access(name, X_OK);
	snprintf(dirs, sizeof(dirs), "%s", list ? list : "/bin:/usr/bin");
	for (dir = strtok_r(dirs, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		if (!access(path, X_OK))
			return true;
	}
	return false;
}

struct exec *exec_open(const char *command, u64 limit_ns, struct err *err)
{
	struct exec *x = calloc(1, sizeof(*x));

	if (!x) {
		err_set(err, -ENOMEM, "out of memory");
		return NULL;
	}
	x->pidfd = -1;
	x->limit_ns = limit_ns ? limit_ns : EXEC_LIMIT_NS;
	if (!split(x, command, err)) {
		if (can_run(x->argv[0]))
			return x;
		err_set_status(err, -ENOENT, EXIT_USAGE, "--exec: cannot run %s: %s", x->argv[0],
			       strchr(x->argv[0], '/') ? strerror(errno) : "not found in PATH");
		err_hint(err, "CMD is a program and its arguments, separated by blanks; no shell "
			      "reads it");
	}
	exec_free(x);
	return NULL;
}

static void complain(struct exec *x, const char *why)
{
	if (!x->complained)
		fprintf(stderr, "vmspan: %s: %s; the alerts go on\n", x->argv[0], why);
	x->complained = true;
}

static void failed(struct exec *x, const char *why)
{
	x->counts.failed++;
	complain(x, why);
}

/* In the child. Output goes to stderr: stdout is ours. */
static void become(struct exec *x, int input)
{
	static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	sigset_t none;
	size_t i;

	setpgid(0, 0);
	for (i = 0; i < ARRAY_SIZE(caught); i++)
		signal(caught[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(input, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		_exit(126);
	execvp(x->argv[0], x->argv);
	_exit(127);
}

static void start_run(struct exec *x, int input)
{
	pid_t pid = fork();

	if (!pid)
		become(x, input);
	close(input);
	if (pid < 0) {
		x->counts.runs++;
		failed(x, strerror(errno));
		return;
	}
	/* Both set it: whoever comes first. */
	setpgid(pid, pid);
	x->pid = pid;
	x->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (x->pidfd >= 0)
		fcntl(x->pidfd, F_SETFD, FD_CLOEXEC);
	x->kill_ns = now_ns() + x->limit_ns;
}

/* The text as a file to read: a command that does not read it blocks nobody. */
static int text_fd(const void *text, size_t len)
{
	int fd = memfd_create("alert", MFD_CLOEXEC);
	const char *p = text;

	while (fd >= 0 && len) {
		ssize_t n = write(fd, p, len);

		if (n <= 0) {
			close(fd);
			return -1;
		}
		p += n;
		len -= (size_t)n;
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

void exec_run(struct exec *x, const void *text, size_t len)
{
	int fd;

	if (x->queue_len == EXEC_QUEUE) {
		x->counts.dropped++;
		complain(x, "too slow, alerts are left out");
		return;
	}
	fd = text_fd(text, len);
	if (fd < 0) {
		x->counts.dropped++;
		complain(x, strerror(errno));
		return;
	}
	if (x->pid)
		x->queue[x->queue_len++] = fd;
	else
		start_run(x, fd);
}

int exec_fd(const struct exec *x)
{
	return x->pid ? x->pidfd : -1;
}

u64 exec_due(const struct exec *x)
{
	return x->pid ? x->kill_ns : 0;
}

static void ended(struct exec *x, int status)
{
	char why[64];

	x->pid = 0;
	if (x->pidfd >= 0)
		close(x->pidfd);
	x->pidfd = -1;
	x->counts.runs++;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return;
	if (WIFEXITED(status))
		snprintf(why, sizeof(why),
			 WEXITSTATUS(status) == 127 ? "cannot be run, status %d"
						    : "ended with status %d",
			 WEXITSTATUS(status));
	else
		snprintf(why, sizeof(why), "was ended by signal %d", WTERMSIG(status));
	failed(x, why);
}

/* With what it has started, as far as that stayed in its group. */
static void kill_run(struct exec *x)
{
	int status;

	x->counts.killed++;
	kill(-x->pid, SIGKILL);
	kill(x->pid, SIGKILL);
	waitpid(x->pid, &status, 0);
	ended(x, status);
}

static void reap(struct exec *x)
{
	int status;

	if (!x->pid)
		return;
	if (waitpid(x->pid, &status, WNOHANG) == x->pid) {
		ended(x, status);
	} else if (now_ns() >= x->kill_ns) {
		complain(x, "did not end in time, killed");
		kill_run(x);
	}
}

void exec_poll(struct exec *x)
{
	reap(x);
	while (!x->pid && x->queue_len) {
		int fd = x->queue[0];

		memmove(x->queue, x->queue + 1, --x->queue_len * sizeof(int));
		start_run(x, fd);
	}
}

u32 exec_left(const struct exec *x)
{
	return x->queue_len + !!x->pid;
}

static void leave(struct exec *x)
{
	x->complained = true; /* it is our doing */
	if (x->pid)
		kill_run(x);
	x->counts.dropped += x->queue_len;
	while (x->queue_len)
		close(x->queue[--x->queue_len]);
}

int exec_wait(struct exec *x, struct wake *w)
{
	while (exec_left(x)) {
		struct pollfd p[] = { { .fd = w->epoll, .events = POLLIN },
				      { .fd = x->pidfd, .events = POLLIN } };
		u64 now = now_ns();
		u64 left = x->pid && x->kill_ns > now ? (x->kill_ns - now) / NSEC_PER_MSEC + 1 : 0;

		/* Without a pidfd: look now and then. */
		if (x->pid)
			poll(p, 2, (int)min_u64(left, x->pidfd < 0 ? 50 : 3600000));
		if (wake_take(w) & WAKE_STOP) {
			leave(x);
			return -EINTR;
		}
		exec_poll(x);
	}
	return 0;
}

void exec_counts(const struct exec *x, struct exec_counts *c)
{
	*c = x->counts;
}

void exec_free(struct exec *x)
{
	if (!x)
		return;
	leave(x);
	free(x->words);
	free(x);
}
