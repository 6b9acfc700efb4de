/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that a tracer could harm. Each does known work in a way that is dangerous for who marks
 * in it, checks what it has done itself, and says so in one line, which a tracer that comes and
 * goes must not change:
 *
 *   harm KIND ROUNDS [LIBRARY...]
 *
 *   plugins    loads and unloads the libraries in turn, while threads mark
 *   all        loads all of the libraries, and uses each
 *   handlers   signal handlers that mark, at 10 kHz, on a stack of their own
 *   jumps      leaves spans, events and handlers by longjmp
 *   forks      a signal handler forks; the child marks, and returns from the handler
 *   vforks     children that share the memory, while a thread marks; they define a label
 *   vmarks     the same, and they mark, which nobody should
 *   threads    threads that mark and end, many at a time
 *   keys       more thread keys than libc has room for without malloc
 *   execs      executes itself again
 *   coroutines stacks that go from thread to thread
 *
 * It prints "ready PID" first and reads a line; then it does so many rounds, and again as many
 * until its input ends. At the end it prints how many events and spans it has made, with its
 * children and what it has executed; and how many more events there may be, with two spans each at
 * most, since it is not known which process began them. With
 * -DHARM_LIBRARY it is a library.
 */
#include "user/sdk/vmspan.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static vmspan_u32 comps[2];

static void define(const char *name)
{
	vmspan_u32 group = vmspan_group(VMSPAN_PLUGIN, name);

	comps[0] = vmspan_compartment(name, &group, 1);
	comps[1] = vmspan_compartment("other", &group, 1);
}

/* What has been made, by all processes: shared memory. */
struct made {
	unsigned long events, unsure; /* two spans in each */
};

static struct made *made;
static volatile unsigned int generation; /* forks up to this process */
static volatile int in_step;
static unsigned int spin; /* how long a step takes besides */

/* What n marked steps make of a number. One that a handler has forked in may be the parent's, whose
 * child then only ends it, or not have begun. */
static unsigned int work(unsigned int sum, unsigned int n)
{
	while (n--) {
		unsigned int began = generation, i;

		in_step = 1;
		vmspan_event_begin(0);
		vmspan_enter(comps[n & 1]);
		sum = sum * 1664525u + 1013904223u;
		vmspan_enter(comps[~n & 1]);
		for (i = 0; i < spin; i++)
			__asm__ volatile("");
		sum ^= sum >> 15;
		vmspan_leave(comps[~n & 1]);
		vmspan_leave(comps[n & 1]);
		vmspan_event_end();
		in_step = 0;
		if (began != generation) {
			__atomic_fetch_add(&made->unsure, 1, __ATOMIC_RELAXED);
			continue;
		}
		__atomic_fetch_add(&made->events, 1, __ATOMIC_RELAXED);
	}
	return sum;
}

#define AT_END 3u /* steps of a library that is unloaded */

#ifdef HARM_LIBRARY
unsigned int harm_work(struct made *m, unsigned int sum, unsigned int n);
unsigned int harm_work(struct made *m, unsigned int sum, unsigned int n)
{
	made = m;
	if (!comps[0])
		define("library");
	return work(sum, n);
}

/* Runs as it is unloaded, behind the SDK's own end perhaps. */
__attribute__((destructor)) static void ends(void)
{
	if (comps[0])
		work(1, AT_END);
}
#else
/* The same without a mark. */
static unsigned int plainly(unsigned int sum, unsigned int n)
{
	while (n--) {
		sum = sum * 1664525u + 1013904223u;
		sum ^= sum >> 15;
	}
	return sum;
}

static void check(int ok, const char *what)
{
	if (ok)
		return;
	printf("wrong: %s\n", what);
	exit(1);
}

typedef unsigned int (*work_fn)(struct made *made, unsigned int sum, unsigned int n);

static char **libraries;
static int library_count;

static void *load(const char *path, work_fn *fn)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	check(library != NULL, "dlopen");
	*(void **)fn = dlsym(library, "harm_work");
	check(*fn != NULL, "dlsym");
	return library;
}

/* ---- Others that mark meanwhile ---- */

static volatile int over;

static void *marks_on(void *arg)
{
	unsigned int sum = 7, rounds;

	(void)arg;
	for (rounds = 0; !over; rounds++) {
		sum = work(sum, 10);
		usleep(100); /* a tracer need not be fast for it */
	}
	return sum == plainly(7, 10 * rounds) ? NULL : (void *)1;
}

static void with_threads(void (*fn)(unsigned int), unsigned int rounds)
{
	pthread_t t[2];
	void *wrong;
	int i;

	over = 0;
	for (i = 0; i < 2; i++)
		check(!pthread_create(&t[i], NULL, marks_on, NULL), "pthread_create");
	fn(rounds);
	over = 1;
	for (i = 0; i < 2; i++) {
		check(!pthread_join(t[i], &wrong), "pthread_join");
		check(!wrong, "what a thread did beside");
	}
}

/* ---- Libraries ---- */

static void *uses(void *arg)
{
	return ((work_fn)(size_t)arg)(made, 3, 5) == plainly(3, 5) ? NULL : (void *)1;
}

static void load_and_unload(unsigned int rounds)
{
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		work_fn fn;
		void *library = load(libraries[i % (unsigned int)library_count], &fn), *wrong;
		pthread_t t;

		check(fn(made, i, 20) == plainly(i, 20), "a library's work");
		/* A thread that has marked in it lives on when it is gone. */
		check(!pthread_create(&t, NULL, uses, (void *)(size_t)fn), "pthread_create");
		check(!pthread_join(t, &wrong) && !wrong, "a library's work on a thread");
		check(!dlclose(library), "dlclose");
	}
}

static void plugins(unsigned int rounds)
{
	with_threads(load_and_unload, rounds);
}

static void all(unsigned int rounds)
{
	work_fn *fn = calloc((size_t)library_count, sizeof(*fn));
	unsigned int i;
	int k;

	check(fn != NULL, "memory");
	for (k = 0; k < library_count; k++)
		load(libraries[k], &fn[k]);
	for (i = 0; i < rounds; i++)
		for (k = 0; k < library_count; k++)
			check(fn[k](made, i, 3) == plainly(i, 3), "a library's work");
	free(fn);
}

/* ---- Signals ---- */

static unsigned int handled;

static void handler(int signal)
{
	(void)signal;
	handled = work(handled, 1);
}

static void on_signals(void (*fn)(int), int hz)
{
	static char stack[1 << 16];
	const struct itimerval t = { { 0, 1000000 / hz }, { 0, 1000000 / hz } };
	const stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction a = { .sa_flags = SA_ONSTACK | SA_RESTART };

	a.sa_handler = fn;
	check(!sigaltstack(&own, NULL) && !sigaction(SIGALRM, &a, NULL) &&
		      !setitimer(ITIMER_REAL, &t, NULL),
	      "the timer");
}

static void no_signals(void)
{
	const struct itimerval none = { { 0, 0 }, { 0, 0 } };

	check(!setitimer(ITIMER_REAL, &none, NULL), "the timer");
}

static void handlers(unsigned int rounds)
{
	on_signals(handler, 10000);
	check(work(1, rounds) == plainly(1, rounds), "what was interrupted");
	no_signals();
}

static sigjmp_buf back;

static void jumps_out(int signal)
{
	(void)signal;
	vmspan_event_begin(0);
	vmspan_enter(comps[0]);
	siglongjmp(back, 1);
}

static void jumps(unsigned int rounds)
{
	volatile unsigned int i, jumped = 0;
	jmp_buf here;

	for (i = 0; i < rounds; i++) {
		if (!setjmp(here)) {
			vmspan_event_begin(0);
			vmspan_enter(comps[0]);
			vmspan_enter(comps[1]);
			longjmp(here, 1);
		}
		check(work(i, 2) == plainly(i, 2), "behind a jump");
	}
	/* There is somewhere to jump to before the first signal, however late it is there. */
	while (jumped < rounds / 100) {
		if (sigsetjmp(back, 1)) {
			jumped = jumped + 1;
			continue;
		}
		if (!jumped)
			on_signals(jumps_out, 2000);
		for (;;)
			work(1, 10);
	}
	no_signals();
	check(work(5, 10) == plainly(5, 10), "behind a jump out of a handler");
}

static volatile unsigned int forked;
static pid_t parent;

static void forks_there(int signal)
{
	int status;
	pid_t pid;

	(void)signal;
	if (!in_step)
		return; /* each process would count it as its own */
	pid = fork();
	check(pid >= 0, "fork");
	if (!pid) {
		generation++;
		work(1, 5);
		return; /* the child goes on with what was interrupted */
	}
	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7,
	      "a child that was forked in a handler");
	forked++;
}

static void forks(unsigned int rounds)
{
	unsigned int i;

	parent = getpid();
	forked = 0;
	spin = 10000; /* so that signals come mostly then, and a tracer need not be fast */
	on_signals(forks_there, 200);
	for (i = 0; forked < rounds; i++) {
		check(work(i, 10) == plainly(i, 10), "around a fork");
		if (getpid() != parent)
			_exit(7);
	}
	no_signals();
	if (getpid() != parent)
		_exit(7); /* by the last signal */
}

static int marks_in_child;

static void vforks_only(unsigned int rounds)
{
	while (rounds--) {
		pid_t pid = vfork();
		int status;

		if (!pid) {
			/* In its parent's memory, and in its thread's place. */
			vmspan_label("vforked");
			/* At times so many that they fill its ring. */
			if (marks_in_child)
				work(1, rounds % 8 ? 2 : 2000);
			_exit(5);
		}
		check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
			      WEXITSTATUS(status) == 5,
		      "a vforked child");
		check(work(rounds, 3) == plainly(rounds, 3), "beside vfork");
	}
}

static void vforks(unsigned int rounds)
{
	with_threads(vforks_only, rounds);
}

static void vmarks(unsigned int rounds)
{
	marks_in_child = 1;
	vforks(rounds);
}

/* ---- Threads ---- */

static void *short_lived(void *arg)
{
	unsigned int i = (unsigned int)(size_t)arg;

	return work(i, 3) == plainly(i, 3) ? NULL : (void *)1;
}

static void threads(unsigned int rounds)
{
	pthread_t t[16];
	unsigned int i, k;
	void *wrong;

	for (i = 0; i < rounds; i++) {
		for (k = 0; k < 16; k++)
			check(!pthread_create(&t[k], NULL, short_lived, (void *)(size_t)(i + k)),
			      "pthread_create");
		for (k = 0; k < 16; k++)
			check(!pthread_join(t[k], &wrong) && !wrong, "a thread");
	}
}

static void keys(unsigned int rounds)
{
	pthread_key_t key[100];
	int i;

	for (i = 0; i < 100; i++)
		check(!pthread_key_create(&key[i], NULL), "pthread_key_create");
	on_signals(handler, 10000);
	threads(rounds);
	no_signals();
	for (i = 0; i < 100; i++)
		check(!pthread_key_delete(key[i]), "pthread_key_delete");
}

/* ---- Stacks that go from thread to thread ---- */

#define STACKS 8

static ucontext_t stacks[STACKS], home[2];
static unsigned int sums[STACKS], of_thread;

static void runs(int i)
{
	for (;;) {
		sums[i] = work(sums[i], 3);
		swapcontext(&stacks[i], &home[of_thread]);
	}
}

static void *turn(void *arg)
{
	int i;

	of_thread = (unsigned int)(size_t)arg;
	for (i = 0; i < STACKS; i++)
		swapcontext(&home[of_thread], &stacks[i]);
	return NULL;
}

static void make_stack(unsigned int i)
{
	static char memory[STACKS][1 << 16];

	check(!getcontext(&stacks[i]), "getcontext");
	stacks[i].uc_stack = (stack_t){ .ss_sp = memory[i], .ss_size = sizeof(memory[i]) };
	makecontext(&stacks[i], (void (*)(void))runs, 1, (int)i);
	sums[i] = i;
}

static void coroutines(unsigned int rounds)
{
	unsigned int i;
	pthread_t t;

	for (i = 0; i < STACKS; i++)
		make_stack(i);
	for (i = 0; i < rounds; i++) {
		if (i % 2) {
			turn(NULL);
			continue;
		}
		check(!pthread_create(&t, NULL, turn, (void *)1), "pthread_create");
		check(!pthread_join(t, NULL), "pthread_join");
	}
	for (i = 0; i < STACKS; i++)
		check(sums[i] == plainly(i, 3 * rounds), "a coroutine's work");
}

/* Its input has ended, or another line is there. */
static int told_to_end(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };

	return poll(&in, 1, 0) > 0;
}

static void execs(unsigned int rounds)
{
	char left[16];
	char *args[] = { (char *)"harm", (char *)"execs", left, (char *)"again", NULL };

	check(work(rounds, 20) == plainly(rounds, 20), "behind an exec");
	if (!rounds && told_to_end())
		return;
	snprintf(left, sizeof(left), "%u", rounds ? rounds - 1 : 0);
	execv("/proc/self/exe", args);
	check(0, "execv");
}

static const struct {
	const char *name;
	void (*fn)(unsigned int rounds);
} kinds[] = {
	{ "plugins", plugins },       { "all", all },         { "handlers", handlers },
	{ "jumps", jumps },           { "forks", forks },     { "vforks", vforks },
	{ "vmarks", vmarks },         { "threads", threads }, { "keys", keys },
	{ "coroutines", coroutines }, { "execs", execs },
};

/* Descriptor of `made`, which is kept across an exec. */
#define MADE_FD 100

static void share(int again)
{
	if (!again) {
		int fd = memfd_create("made", 0);

		check(fd >= 0 && !ftruncate(fd, sizeof(*made)) && dup2(fd, MADE_FD) == MADE_FD,
		      "shared memory");
	}
	made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_SHARED, MADE_FD, 0);
	check(made != MAP_FAILED, "shared memory");
}

int main(int argc, char **argv)
{
	int again = argc > 3 && !strcmp(argv[3], "again");
	unsigned long at_end;
	char line[16];
	size_t i;

	if (argc < 3)
		return 2;
	libraries = argv + 3;
	library_count = argc - 3;
	setvbuf(stdin, NULL, _IONBF, 0);
	share(again);
	define("harm");
	if (!again) {
		printf("ready %d\n", (int)getpid());
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			return 2;
	}
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(argv[1], kinds[i].name)) {
			for (;;) {
				kinds[i].fn((unsigned int)atoi(argv[2]));
				if (told_to_end())
					break;
				usleep(1000);
			}
			/* Of libraries that are still there, destructors run behind this. */
			at_end = kinds[i].fn == all ? AT_END * (unsigned long)library_count : 0;
			printf("%s: all is as it should be\n", argv[1]);
			printf("%lu %lu\n", made->events + at_end, made->unsure);
			return 0;
		}
	return 2;
}
#endif
