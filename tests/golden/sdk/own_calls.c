/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that puts its own functions in the place of libc's, and marks in them, as those do that account
 * for memory. The header must not call them: their first mark would need them.
 */
#include "vmspan.h"

#include <stdarg.h>
#include <stdio.h>

static vmspan_u32 comp;
static long calls;

static long call(long number, long a, long b, long c, long d, long e, long f)
{
	long r;

	calls++;
	vmspan_enter(comp);
	r = syscall(number, a, b, c, d, e, f);
	vmspan_leave(comp);
	return r;
}

void *mmap(void *at, size_t bytes, int protect, int flags, int fd, off_t offset)
{
	return (void *)call(SYS_mmap, (long)at, (long)bytes, protect, flags, fd, (long)offset);
}

int munmap(void *at, size_t bytes)
{
	return (int)call(SYS_munmap, (long)at, (long)bytes, 0, 0, 0, 0);
}

int madvise(void *at, size_t bytes, int advice)
{
	return (int)call(SYS_madvise, (long)at, (long)bytes, advice, 0, 0, 0);
}

pid_t getpid(void)
{
	return (pid_t)call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

int prctl(int option, ...)
{
	long a[4];
	va_list list;
	int i;

	va_start(list, option);
	for (i = 0; i < 4; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	return (int)call(SYS_prctl, option, a[0], a[1], a[2], a[3], 0);
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	return (int)call(SYS_clock_gettime, clock, (long)ts, 0, 0, 0, 0);
}

static void *thread(void *arg)
{
	vmspan_event_begin(0);
	vmspan_enter(comp);
	vmspan_leave(comp);
	vmspan_event_end();
	return arg;
}

int main(void)
{
	pthread_t t;
	void *m;

	comp = vmspan_compartment("allocator", NULL, 0);
	vmspan_registry_2.semaphore = 1;
	thread(NULL);
	if (pthread_create(&t, NULL, thread, NULL) || pthread_join(t, NULL))
		return 1;
	vmspan_flush();
	if (calls) {
		printf("%ld calls by libc's names\n", calls);
		return 1;
	}
	m = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return m == MAP_FAILED || munmap(m, 65536) || calls != 2;
}
