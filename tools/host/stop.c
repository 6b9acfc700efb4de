/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/host/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/host/util.h"

/*
 * The pipe's read end can be read from the first signal on, for ever: who
 * waits in poll() can neither miss a signal nor see it too early.
 */
static int stop_pipe[2] = { -1, -1 };
static volatile sig_atomic_t stopping;

static void on_signal(int sig)
{
	int saved = errno;

	(void)sig;
	stopping = 1;
	if (write(stop_pipe[1], "", 1) < 0)
		errno = saved; /* the pipe is full: it says what it must */
	errno = saved;
}

void stop_init(void)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	int fresh[2];

	if (pipe2(fresh, O_CLOEXEC | O_NONBLOCK))
		die("cannot make a pipe: %s", strerror(errno));
	if (stop_pipe[0] >= 0) {
		close(stop_pipe[0]);
		close(stop_pipe[1]);
	}
	stop_pipe[0] = fresh[0];
	stop_pipe[1] = fresh[1];
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
}

bool stop_requested(void)
{
	return stopping;
}

void stop_sleep_until(u64 ns)
{
	struct pollfd p = { .fd = stop_pipe[0], .events = POLLIN };
	u64 now;

	while (!stopping && (now = now_ns()) < ns) {
		struct timespec ts = { .tv_sec = (time_t)((ns - now) / NSEC_PER_SEC),
				       .tv_nsec = (long)((ns - now) % NSEC_PER_SEC) };

		ppoll(&p, 1, &ts, NULL);
	}
}

bool stop_wait_fd(int fd)
{
	struct pollfd p[2] = { { .fd = stop_pipe[0], .events = POLLIN },
			       { .fd = fd, .events = POLLIN } };

	for (;;) {
		if (stopping)
			return false;
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			die("cannot poll: %s", strerror(errno));
		else if (p[1].revents)
			return true;
	}
}

bool stop_read_line(int fd, char *line, size_t size)
{
	size_t n = 0;
	char c;

	while (stop_wait_fd(fd)) {
		if (read(fd, &c, 1) != 1)
			return false;
		if (c == '\n') {
			line[n] = '\0';
			return true;
		}
		if (n + 1 < size)
			line[n++] = c;
	}
	return false;
}
