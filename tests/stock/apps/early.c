/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded, it makes the begin of each thread and forked process long: that uses
 * EARLY_MS of CPU time before its VM can know its number.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct begin {
	void *(*run)(void *);
	void *with;
};

static long early_ms;

static void work(void)
{
	struct timespec t;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < early_ms);
}

static void *begin(void *arg)
{
	struct begin b = *(struct begin *)arg;

	free(arg);
	work();
	return b.run(b.with);
}

int pthread_create(pthread_t *to, const pthread_attr_t *attr, void *(*run)(void *), void *with)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	struct begin *b = malloc(sizeof(*b));

	real = dlsym(RTLD_NEXT, "pthread_create");
	if (!b || !real)
		abort();
	*b = (struct begin){ run, with };
	return real(to, attr, begin, b);
}

__attribute__((constructor)) static void prepare(void)
{
	const char *ms = getenv("EARLY_MS");

	early_ms = ms ? atol(ms) : 0;
	pthread_atfork(NULL, NULL, work);
}
