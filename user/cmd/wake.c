/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/wake.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* timeout(1) sends its signal to the process and to its group, so twice, and whoever types Ctrl-C may have
 * started that: so soon, another one is the same wish. */
#define SAME_STOP_NS NSEC_PER_SEC

/* Of the signal handlers, in whatever thread. */
static u64 stopped_ns; /* when the first signal to stop came; 0: none has */
static bool hard_stop;
static volatile sig_atomic_t signal_pipe = -1;

/* What a recorder has written by now stays readable. */
static void break_off(void)
{
	static const char words[] =
		"vmspan: broken off at the second signal: what was not written yet is lost\n";

	if (write(STDERR_FILENO, words, sizeof(words) - 1) < 0)
		errno = 0;
	_exit(EXIT_FAILED);
}

static void on_stop(void)
{
	u64 now = now_ns(), first = 0;

	if (!__atomic_compare_exchange_n(&stopped_ns, &first, now, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED) &&
	    hard_stop && now >= first + SAME_STOP_NS)
		break_off();
}

static void on_signal(int number)
{
	int saved = errno;
	char byte = number == SIGWINCH ? 'w' : number == SIGUSR2 ? 'd' : 's';

	if (byte == 's')
		on_stop();
	/* A full pipe holds the news already. */
	if (write(signal_pipe, &byte, 1) < 0)
		errno = 0;
	errno = saved;
}

static void catch_signals(void)
{
	/* Handlers, not a blocked mask: a program started under the trace
	 * inherits a mask, but never a handler. */
	static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(caught); i++) {
		struct sigaction old;

		/* nohup(1) asks that SIGHUP stay ignored. SIGINT is ignored in
		 * the background jobs of scripts, yet ends a recording there. */
		if (caught[i] == SIGHUP && !sigaction(SIGHUP, NULL, &old) &&
		    old.sa_handler == SIG_IGN)
			continue;
		sigaction(caught[i], &action, NULL);
	}
}

void wake_all_written(void)
{
	hard_stop = false;
}

void wake_on_dump(void)
{
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	sigaction(SIGUSR2, &action, NULL);
}

static int add(struct wake *w, int fd, unsigned int bit)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = bit };

	return epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

int wake_open(struct wake *w, bool hard, struct err *e)
{
	int fds[2], i, rc;

	*w = (struct wake){ .signals = -1 };
	for (i = 0; i < WAKE_TIMERS; i++)
		w->timers[i] = -1;
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (w->epoll < 0 || pipe2(fds, O_CLOEXEC | O_NONBLOCK))
		goto fail;
	w->signals = fds[0];
	signal_pipe = fds[1];
	__atomic_store_n(&stopped_ns, 0, __ATOMIC_RELAXED);
	hard_stop = hard;
	if (add(w, w->signals, WAKE_STOP))
		goto fail;
	for (i = 0; i < WAKE_TIMERS; i++) {
		w->timers[i] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		if (w->timers[i] < 0 || add(w, w->timers[i], WAKE_TIMER << i))
			goto fail;
	}
	catch_signals();
	return 0;
fail:
	rc = err_set(e, -errno, "cannot wait for signals and timers: %s", strerror(errno));
	wake_close(w);
	return rc;
}

int wake_on_keys(struct wake *w, struct err *e)
{
	int rc = add(w, STDIN_FILENO, WAKE_KEY);

	return rc ? err_set(e, rc, "cannot wait for keys: %s", strerror(-rc)) : 0;
}

int wake_on_fd(struct wake *w, int fd, struct err *e)
{
	int rc = add(w, fd, WAKE_FD);

	if (!rc || rc == -EEXIST)
		return 0;
	return err_set(e, rc, "cannot wait for a descriptor: %s", strerror(-rc));
}

void wake_arm(struct wake *w, unsigned int timer, u64 first_ns, u64 every_ns)
{
	struct itimerspec t = {
		.it_value = { (time_t)(first_ns / NSEC_PER_SEC), (long)(first_ns % NSEC_PER_SEC) },
		.it_interval = { (time_t)(every_ns / NSEC_PER_SEC),
				 (long)(every_ns % NSEC_PER_SEC) },
	};

	timerfd_settime(w->timers[timer], 0, &t, NULL);
}

static int timer_of(const struct wake *w, unsigned int bit)
{
	return w->timers[__builtin_ctz(bit / WAKE_TIMER)];
}

unsigned int wake_take(struct wake *w)
{
	struct epoll_event events[4];
	unsigned int bits = 0;
	char bytes[64];
	u64 expired;
	ssize_t n, k;
	int i, ready = epoll_wait(w->epoll, events, ARRAY_SIZE(events), 0);

	for (i = 0; i < ready; i++) {
		unsigned int bit = events[i].data.u32;

		if (bit == WAKE_STOP) {
			while ((n = read(w->signals, bytes, sizeof(bytes))) > 0)
				for (k = 0; k < n; k++)
					bits |= bytes[k] == 'w'   ? WAKE_RESIZE
						: bytes[k] == 'd' ? WAKE_DUMP
								  : WAKE_STOP;
			continue;
		}
		if (bit >= WAKE_TIMER && read(timer_of(w, bit), &expired, sizeof(expired)) < 0)
			continue;
		/* A terminal that has gone away types no "q". */
		bits |= bit == WAKE_KEY && events[i].events & (EPOLLHUP | EPOLLERR) ? WAKE_STOP
										    : bit;
	}
	return bits;
}

void wake_wait(struct wake *w)
{
	struct pollfd p = { .fd = w->epoll, .events = POLLIN };

	poll(&p, 1, -1);
}

void wake_close(struct wake *w)
{
	int i;

	for (i = 0; i < WAKE_TIMERS; i++)
		if (w->timers[i] >= 0)
			close(w->timers[i]);
	if (w->epoll >= 0)
		close(w->epoll);
	/* The pipe stays: a signal may come until the process ends. */
}

u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * NSEC_PER_SEC + (u64)t.tv_nsec;
}
