/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Targets that come in numbers, or bring the SDK in later. Tasks as those of
 * steady.c, a line each, or as arguments:
 *
 *   storm C N      C children, one after the other, that make N spans and exit
 *   double N       a grandchild makes N spans; its parent has exited
 *   threads T N    T threads at the same time, N spans each
 *   run PROGRAM N  fork, and exec "PROGRAM 'spans N'"; waits for it
 *   into PROGRAM N exec it without a fork
 *   open LIBRARY   dlopen; its crowd_spans() does the "lib N" from then on
 *   apart LIBRARY  dlmopen, into a namespace of its own; else as "open"
 *   lib N          N spans by each library opened
 *   pass LIBRARY N   dlopen, N spans of it at once, dlclose
 *   aside LIBRARY N  the same by dlmopen, into a namespace of its own
 *   guests A B K N  K times: dlopen library A, or B, in turn; N spans of it by a thread that goes on; dlclose
 *   again A B K N  K times each: dlopen library A, or B, in turn; when it is traced, N spans of it; dlclose.
 *                  Prints "same M": so often one lay where the one before had lain
 *   spans N        N spans of this program's own
 *
 * Built with -DCROWD_NONE it has no SDK of its own; with -DCROWD_LIBRARY it is
 * a library; with -DCROWD_PAD=N its probes are N bytes further into the file; with -DCROWD_GROUP="X" its
 * group is X.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dlmopen */
#endif
#ifndef CROWD_NONE
#ifdef SDK_V1
#include "user/sdk/v1/vmspan.h"
#else
#include "user/sdk/vmspan.h"
#endif
#endif

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef CROWD_PAD
#define TEXT_OF(n) #n
#define TEXT(n) TEXT_OF(n)
__asm__(".text\n.skip " TEXT(CROWD_PAD) ", 0x90\n");
#endif

#ifndef CROWD_NONE
#ifndef CROWD_GROUP
#define CROWD_GROUP "crowd"
#endif

static vmspan_u32 comp;

static void spans(long n)
{
	while (n-- > 0) {
		vmspan_enter(comp);
		vmspan_leave(comp);
	}
}

static void define(void)
{
	vmspan_u32 group = vmspan_group(VMSPAN_ADDON, CROWD_GROUP);

	comp = vmspan_compartment("crowd", &group, 1);
}
#else
static void spans(long n)
{
	(void)n;
}

static void define(void)
{
}
#endif

#ifdef CROWD_LIBRARY
void crowd_spans(long n);
void crowd_spans(long n)
{
	if (!comp)
		define();
	spans(n);
}

int crowd_enabled(void);
int crowd_enabled(void)
{
	return vmspan_enabled();
}
#else
#define LIBRARIES_MAX 8
static void (*libraries[LIBRARIES_MAX])(long n);
static unsigned int library_count;

static void wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		exit(3);
}

static void storm(long children, long n)
{
	while (children-- > 0) {
		pid_t pid = fork();

		if (!pid) {
			spans(n);
			exit(0);
		}
		wait_for(pid);
	}
}

/* Ends when its grandchild has: that holds the pipe. */
static void twice(long n)
{
	int end[2];
	char byte;
	pid_t pid;

	if (pipe(end))
		exit(3);
	pid = fork();
	if (!pid) {
		if (!fork())
			spans(n);
		exit(0);
	}
	close(end[1]);
	wait_for(pid);
	if (read(end[0], &byte, 1) < 0)
		exit(3);
	close(end[0]);
}

struct gate {
	pthread_barrier_t all;
	long n;
};

static void *thread_main(void *at)
{
	struct gate *g = at;

	/* All of them are there before one begins. */
	pthread_barrier_wait(&g->all);
	spans(g->n);
	return NULL;
}

static void threads(long count, long n)
{
	pthread_t *t = calloc((size_t)count, sizeof(*t));
	struct gate g = { .n = n };
	pthread_attr_t small;
	long i;

	pthread_barrier_init(&g.all, NULL, (unsigned int)count);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (i = 0; i < count; i++)
		if (pthread_create(&t[i], &small, thread_main, &g))
			exit(3);
	while (i-- > 0)
		pthread_join(t[i], NULL);
	free(t);
}

static void run(const char *program, long n)
{
	char task[32];

	snprintf(task, sizeof(task), "spans %ld", n);
	execl(program, program, task, (char *)NULL);
	_exit(errno == ENOENT ? 127 : 126);
}

static void open_library(const char *path, Lmid_t space)
{
	void *h =
		library_count < LIBRARIES_MAX ? dlmopen(space, path, RTLD_NOW | RTLD_LOCAL) : NULL;
	void *f = h ? dlsym(h, "crowd_spans") : NULL;

	if (!f)
		exit(3);
	memcpy(&libraries[library_count++], &f, sizeof(f));
}

static void pass(const char *path, long n, Lmid_t space)
{
	void *h = dlmopen(space, path, RTLD_NOW | RTLD_LOCAL);
	void *f = h ? dlsym(h, "crowd_spans") : NULL;
	void (*make)(long n);

	if (!f)
		exit(3);
	memcpy(&make, &f, sizeof(f));
	make(n);
	dlclose(h);
}

struct guest {
	pthread_barrier_t called, done;
	void (*make)(long n);
	long n;
};

static void *guest_main(void *at)
{
	struct guest *g = at;

	for (;;) {
		pthread_barrier_wait(&g->called);
		g->make(g->n);
		pthread_barrier_wait(&g->done);
	}
	return NULL;
}

static void guests(const char *line)
{
	static struct guest g;
	char path[2][256];
	pthread_t thread;
	long times, i;

	if (sscanf(line, "%*s %255s %255s %ld %ld", path[0], path[1], &times, &g.n) != 4)
		exit(2);
	pthread_barrier_init(&g.called, NULL, 2);
	pthread_barrier_init(&g.done, NULL, 2);
	if (pthread_create(&thread, NULL, guest_main, &g))
		exit(3);
	for (i = 0; i < times; i++) {
		void *h = dlopen(path[i % 2], RTLD_NOW | RTLD_LOCAL);
		void *f = h ? dlsym(h, "crowd_spans") : NULL;

		if (!f)
			exit(3);
		memcpy(&g.make, &f, sizeof(f));
		pthread_barrier_wait(&g.called);
		pthread_barrier_wait(&g.done);
		dlclose(h);
	}
}

static void again(const char *line)
{
	long times, n, i, tries, same = 0;
	char path[2][256];
	void *before = NULL;

	if (sscanf(line, "%*s %255s %255s %ld %ld", path[0], path[1], &times, &n) != 4)
		exit(2);
	for (i = 0; i < 2 * times; i++) {
		void *h = dlopen(path[i % 2], RTLD_NOW | RTLD_LOCAL);
		void *f = h ? dlsym(h, "crowd_spans") : NULL;
		void *g = h ? dlsym(h, "crowd_enabled") : NULL;
		void (*make)(long n);
		int (*enabled)(void);

		if (!f || !g)
			exit(3);
		memcpy(&make, &f, sizeof(f));
		memcpy(&enabled, &g, sizeof(g));
		for (tries = 0; !enabled(); tries++) {
			if (tries == 60000)
				exit(4);
			usleep(1000);
		}
		same += f == before;
		before = f;
		make(n);
		dlclose(h);
	}
	printf("same %ld\n", same);
}

static void task(const char *line)
{
	char what[16] = "", name[512] = "";
	long a = 0, b = 0;
	unsigned int i;

	sscanf(line, "%15s %ld %ld", what, &a, &b);
	if (!strcmp(what, "spans"))
		spans(a);
	else if (!strcmp(what, "again"))
		again(line);
	else if (!strcmp(what, "guests"))
		guests(line);
	else if (!strcmp(what, "storm"))
		storm(a, b);
	else if (!strcmp(what, "double"))
		twice(a);
	else if (!strcmp(what, "threads"))
		threads(a, b);
	else if (sscanf(line, "%15s %511s %ld", what, name, &a) < 2)
		exit(2);
	else if (!strcmp(what, "run") && !(b = fork()))
		run(name, a);
	else if (!strcmp(what, "run"))
		wait_for((pid_t)b);
	else if (!strcmp(what, "into"))
		run(name, a);
	else if (!strcmp(what, "open"))
		open_library(name, LM_ID_BASE);
	else if (!strcmp(what, "apart"))
		open_library(name, LM_ID_NEWLM);
	else if (!strcmp(what, "pass"))
		pass(name, a, LM_ID_BASE);
	else if (!strcmp(what, "aside"))
		pass(name, a, LM_ID_NEWLM);
	else if (!strcmp(what, "lib"))
		for (i = 0, a = atol(name); i < library_count; i++)
			libraries[i](a);
}

int main(int argc, char **argv)
{
	char line[600];
	int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	define();
	for (i = 1; i < argc; i++)
		task(argv[i]);
	if (argc > 1)
		return 0;
	printf("ready %d\n", (int)getpid());
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		task(line);
		printf("ok\n");
	}
	return 0;
}
#endif
