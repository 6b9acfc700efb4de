/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that marks, with two libraries that do, and a third it unloads. */
#include "vmspan.h"
#include "marks.h"
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>

const void *one_registry(void);
const void *two_registry(void);
unsigned int one_work(void);
unsigned int two_work(void);

static unsigned int (*three_work)(void);
static pthread_barrier_t marked, unloaded;

static void *thread(void *arg)
{
	(void)arg;
	three_work();
	pthread_barrier_wait(&marked);
	pthread_barrier_wait(&unloaded);
	/* The kernel finds nothing of the library's where it looks what this thread was in. */
	one_work();
	return NULL;
}

static void nothing(int signal)
{
	(void)signal;
}

/*
 * A forked child unloads the library in whose mark its parent was, as far as the kernel knows. Before Linux
 * 6.19 a fork makes it forget that; here it is put back. A signal makes it look.
 */
static int unload_in_child(void *library)
{
	volatile vmspan_u64 *in;
	vmspan_u64 was;
	int status;
	pid_t pid;

	if (!vmspan_registry_2.rseq)
		return 0;
	in = (volatile vmspan_u64 *)(size_t)(vmspan__thread_pointer() +
					     (vmspan_u64)vmspan_registry_2.rseq + 8);
	/* An interruption makes it forget, too. */
	do {
		three_work();
		was = *in;
	} while (!was);
	pid = fork();
	if (!pid) {
		signal(SIGUSR1, nothing);
		*in = was;
		_exit(dlclose(library) || raise(SIGUSR1));
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

int main(int argc, char **argv)
{
	pthread_t t;
	void *three;

	if (argc > 2) {
		three = dlopen(argv[1], RTLD_NOW);
		if (!three)
			return puts(dlerror()), 1;
		*(void **)&three_work = dlsym(three, "three_work");
		return unload_in_child(three);
	}
	if (one_registry() == two_registry() || one_registry() == (void *)&vmspan_registry_2 ||
	    two_registry() == (void *)&vmspan_registry_2)
		return puts("registries are shared"), 1;
	if (one_work() != 6 || two_work() != 12 || one_work() != 18)
		return puts("a thread has more than one ring"), 1;
	if (vmspan_enabled())
		return puts("the program's own marks were turned on"), 1;
	if (argc < 2)
		return 0;
	three = dlopen(argv[1], RTLD_NOW);
	if (!three)
		return puts(dlerror()), 1;
	*(void **)&three_work = dlsym(three, "three_work");
	pthread_barrier_init(&marked, NULL, 2);
	pthread_barrier_init(&unloaded, NULL, 2);
	if (three_work() != 24 || pthread_create(&t, NULL, thread, NULL))
		return puts("no third library"), 1;
	pthread_barrier_wait(&marked);
	if (dlclose(three))
		return puts(dlerror()), 1;
	if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD))
		return puts("the third library was not unloaded"), 1;
	pthread_barrier_wait(&unloaded);
	if (two_work() != 30)
		return puts("marks are lost where a library was unloaded"), 1;
	return pthread_join(t, NULL);
}
