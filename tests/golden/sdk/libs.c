/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that marks, with two libraries that do, and a third it unloads. */
#include "vmspan.h"
#include "marks.h"
#include <dlfcn.h>

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

int main(int argc, char **argv)
{
	pthread_t t;
	void *three;

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
