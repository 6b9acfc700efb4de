/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/host/util.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void complain(const char *prefix, const char *fmt, va_list ap)
{
	char text[512];

	vsnprintf(text, sizeof(text), fmt, ap);
	fprintf(stderr, "demohost: %s%s\n", prefix, text);
}

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain("", fmt, ap);
	va_end(ap);
	exit(1);
}

void bug(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain("bug: ", fmt, ap);
	va_end(ap);
	abort();
}

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		die("no memory for %zu x %zu bytes", n, size);
	return p;
}

void *xgrow(void *p, size_t n, size_t size)
{
	p = reallocarray(p, n, size);
	if (!p)
		die("no memory for %zu x %zu bytes", n, size);
	return p;
}

u64 random_next(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

u32 random_below(u64 *state, u32 n)
{
	return (u32)(((random_next(state) >> 32) * n) >> 32);
}

u64 random_stream(u64 seed, u32 process, u32 thread)
{
	u64 s = seed;

	s = random_next(&s) ^ process;
	s = random_next(&s) ^ thread;
	return random_next(&s);
}

int read_full(int fd, void *p, size_t n)
{
	char *at = p;

	while (n) {
		ssize_t r = read(fd, at, n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return r ? -errno : -EPIPE;
		at += r;
		n -= (size_t)r;
	}
	return 0;
}

int write_full(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t r = write(fd, at, n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		at += r;
		n -= (size_t)r;
	}
	return 0;
}

static u64 read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (u64)ts.tv_sec * NSEC_PER_SEC + (u64)ts.tv_nsec;
}

u64 now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

u64 thread_cpu_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
