/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A target that does exactly what it is told, a line a task:
 *
 *   spans N      N spans, outside any event
 *   event N      an event with N spans
 *   fork N       a child that makes N spans and exits; waits for it
 *   keep N       a child that makes N spans and then reads this program's
 *                tasks in its place; prints "child PID" first
 *   threads T N  T threads that make N spans each, and end
 *   group NAME   a new group with a compartment of its own, used from then on
 *   gc N, block N, input N, value N   N of them
 *   deep N       recursion N compartments deep (A in B in A ...)
 *   skip N       N enters whose leave never comes, in an event
 *   left N       N events, each left from inside a compartment, and caught
 *   name NAME    takes this name
 *   exec         executes itself again
 *   follow       the same, by a thread that is not its first
 *   retire       its first thread ends; another takes what is to be done from then on
 *   leap         executes a program that has no marks, and uses the CPU
 *   hold T N     T threads that make N spans each, and stay
 *   spin FILE    spans until it or who started it is killed; FILE says how many
 *   vfork N      N children that share this memory, and end at once
 *   vhold        a child that shares this memory until it reads a line; prints "child" first
 *   open, close  begins an event and enters a compartment in it, and another; leaves and ends all
 *   enter        enters a compartment outside of events
 *   burn MS      so much CPU time of its thread, in whatever it is in
 *   nap MS       sleeps for so long, in whatever it is in
 *   cpu N        runs on the Nth of its CPUs alone from now on, from 0; prints "none" if there is none
 *   clock        prints "clock NS": the CPU time of its thread so far
 *   leaver       a thread that does as open does, and ends
 *   _exit        ends without a word to anybody
 *   quit
 *
 * After each it prints "ok". With arguments these are the tasks, and it ends.
 */
#ifdef SDK_V1
/* How many batches it makes is to be known: on a busy machine too none is handed over for its age. */
#define VMSPAN__FLUSH_MS 10000000
#include "user/sdk/v1/vmspan.h"
#else
#include "user/sdk/vmspan.h"

#include <pthread.h>
#endif

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static vmspan_u32 comps[2], label;
static char **self;
static pid_t parent;
static cpu_set_t first_cpus;

static void define(const char *name)
{
	char other[80];
	vmspan_u32 group = vmspan_group(VMSPAN_ADDON, name);

	snprintf(other, sizeof(other), "%s/2", name);
	comps[0] = vmspan_compartment(name, &group, 1);
	comps[1] = vmspan_compartment(other, &group, 1);
}

static void spans(long n)
{
	while (n-- > 0) {
		vmspan_enter(comps[0]);
		vmspan_leave(comps[0]);
	}
}

static void *thread_main(void *n)
{
	spans((long)n);
	return NULL;
}

static void open_event(void)
{
	vmspan_event_begin(label);
	vmspan_enter(comps[0]);
	vmspan_enter(comps[1]);
}

static void close_event(void)
{
	vmspan_leave(comps[1]);
	vmspan_leave(comps[0]);
	vmspan_event_end();
}

static void *leaver_main(void *arg)
{
	spans(2);
	open_event();
	return arg;
}

static void threads(long count, long n)
{
	pthread_t t[64];
	long i;

	for (i = 0; i < count && i < 64; i++)
		pthread_create(&t[i], NULL, thread_main, (void *)n);
	while (i-- > 0)
		pthread_join(t[i], NULL);
}

struct held {
	pthread_barrier_t made;
	long n;
};

static void *held_main(void *at)
{
	struct held *h = at;

	spans(h->n);
	pthread_barrier_wait(&h->made);
	for (;;)
		pause();
	return NULL;
}

static void hold(long count, long n)
{
	static struct held h;
	pthread_t t;
	long i;

	h.n = n;
	pthread_barrier_init(&h.made, NULL, (unsigned int)count + 1);
	for (i = 0; i < count; i++)
		pthread_create(&t, NULL, held_main, &h);
	pthread_barrier_wait(&h.made);
}

static void *execute_main(void *none)
{
	execv("/proc/self/exe", self);
	return none;
}

static void spin(const char *file)
{
	int fd = open(file, O_RDWR | O_CREAT, 0666);
	volatile long *made;

	if (fd < 0 || ftruncate(fd, sizeof(*made)))
		exit(3);
	made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (made == MAP_FAILED)
		exit(3);
	/* Reads no end of input any more. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		exit(3);
	printf("ok\n");
	for (;;) {
		spans(1);
		++*made;
	}
}

static void share(long n)
{
	while (n-- > 0) {
		pid_t pid = vfork();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

static void share_until_told(void)
{
	pid_t pid = vfork();
	char c = 0;

	if (!pid) {
		if (write(1, "child\n", 6) == 6)
			while (c != '\n' && read(0, &c, 1) == 1)
				;
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void deep(long n)
{
	if (!n)
		return;
	vmspan_enter(comps[n & 1]);
	deep(n - 1);
	vmspan_leave(comps[n & 1]);
}

static void skip(long n)
{
	vmspan_event_begin(label);
	while (n--)
		vmspan_enter(comps[n & 1]);
	vmspan_event_end();
}

#ifndef SDK_V1
static void leave_events(long n)
{
	static jmp_buf caught;
	static long left;

	for (left = n; left > 0; left--) {
		if (setjmp(caught)) {
			vmspan_unwind(0);
			continue;
		}
		vmspan_event_begin(label);
		vmspan_enter(comps[0]);
		longjmp(caught, 1);
	}
}
#endif

static void in_child(long n, int stay)
{
	pid_t pid = fork();

	if (!pid) {
		parent = getppid();
		spans(n);
		if (!stay)
			exit(0);
		printf("child %d\n", (int)getpid());
		return;
	}
	waitpid(pid, NULL, 0);
	if (stay)
		exit(0);
}

static void many(const char *what, long n)
{
	while (n-- > 0) {
		if (!strcmp(what, "gc")) {
			vmspan_gc_begin(label, 4096);
			vmspan_gc_end(1024);
		} else if (!strcmp(what, "block")) {
			vmspan_block_begin(label, (vmspan_u32)getpid());
			vmspan_block_end();
		} else if (!strcmp(what, "input")) {
			vmspan_input(label);
		} else {
			vmspan_value(label, n);
		}
	}
}

static unsigned long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (unsigned long)t.tv_sec * 1000000000 + (unsigned long)t.tv_nsec;
}

static void burn(long ms)
{
	unsigned long end = cpu_ns() + (unsigned long)ms * 1000000;

	while (cpu_ns() < end)
		;
}

static void run_on(long n)
{
	cpu_set_t all = first_cpus, one;
	int cpu;

	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && !n--)
			break;
	CPU_ZERO(&one);
	if (cpu < CPU_SETSIZE)
		CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		printf("none\n");
}

static void *heir_main(void *none);

static void task(const char *line)
{
	char what[16] = "", name[64] = "", path[128] = "";
	long a = 0, b = 0;

	sscanf(line, "%15s %ld %ld", what, &a, &b);
	if (!strcmp(what, "spans")) {
		spans(a);
	} else if (!strcmp(what, "event")) {
		vmspan_event_begin(label);
		spans(a);
		vmspan_event_end();
	} else if (!strcmp(what, "fork") || !strcmp(what, "keep")) {
		in_child(a, *what == 'k');
	} else if (!strcmp(what, "threads")) {
		threads(a, b);
	} else if (!strcmp(what, "hold")) {
		hold(a, b);
	} else if (!strcmp(what, "spin") && sscanf(line, "%*s %127s", path) == 1) {
		spin(path);
	} else if (!strcmp(what, "vfork")) {
		share(a);
	} else if (!strcmp(what, "open")) {
		open_event();
	} else if (!strcmp(what, "close")) {
		close_event();
	} else if (!strcmp(what, "enter")) {
		vmspan_enter(comps[0]);
	} else if (!strcmp(what, "burn")) {
		burn(a);
	} else if (!strcmp(what, "cpu")) {
		run_on(a);
	} else if (!strcmp(what, "nap")) {
		nanosleep(&(struct timespec){ a / 1000, a % 1000 * 1000000 }, NULL);
	} else if (!strcmp(what, "clock")) {
		printf("clock %lu\n", cpu_ns());
	} else if (!strcmp(what, "leaver")) {
		pthread_t t;

		if (!pthread_create(&t, NULL, leaver_main, NULL))
			pthread_join(t, NULL);
	} else if (!strcmp(what, "vhold")) {
		share_until_told();
	} else if (!strcmp(what, "_exit")) {
		_exit(0);
	} else if (!strcmp(what, "group") && sscanf(line, "%*s %63s", name) == 1) {
		define(name);
	} else if (!strcmp(what, "name") && sscanf(line, "%*s %63s", name) == 1) {
		prctl(PR_SET_NAME, name, 0, 0, 0);
	} else if (!strcmp(what, "deep")) {
		deep(a);
	} else if (!strcmp(what, "skip")) {
		skip(a);
#ifndef SDK_V1
	} else if (!strcmp(what, "left")) {
		leave_events(a);
#endif
	} else if (!strcmp(what, "exec")) {
		printf("ok\n");
		fflush(stdout);
		execv("/proc/self/exe", self);
	} else if (!strcmp(what, "follow")) {
		pthread_t t;

		printf("ok\n");
		fflush(stdout);
		if (!pthread_create(&t, NULL, execute_main, NULL))
			pthread_join(t, NULL);
	} else if (!strcmp(what, "retire")) {
		pthread_t t;

		if (pthread_create(&t, NULL, heir_main, NULL))
			exit(3);
		pthread_exit(NULL);
	} else if (!strcmp(what, "leap")) {
		printf("ok\n");
		fflush(stdout);
		execl("/bin/sh", "sh", "-c", "while :; do :; done", (char *)NULL);
	} else if (!strcmp(what, "quit")) {
		exit(0);
	} else {
		many(what, a);
	}
}

static void tasks(void)
{
	char line[128];

	while (fgets(line, sizeof(line), stdin)) {
		task(line);
		printf("ok\n");
	}
}

static void *heir_main(void *none)
{
	(void)none;
	printf("ok\n");
	tasks();
	exit(0);
}

int main(int argc, char **argv)
{
	int i;

	self = argv;
	parent = getppid();
	sched_getaffinity(0, sizeof(first_cpus), &first_cpus);
	setvbuf(stdout, NULL, _IOLBF, 0);
	define("first");
	label = vmspan_label("turn");
	for (i = 1; i < argc; i++)
		task(argv[i]);
	if (argc > 1)
		return 0;
	/* Unbuffered: a child goes on where its parent stopped reading. */
	setvbuf(stdin, NULL, _IONBF, 0);
	printf("ready %d\n", (int)getpid());
	tasks();
	return 0;
}
