/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Has a VM's library as editors and debuggers have one, and never begins it. Says that it is ready, and ends with its
 * input. For each 'f' that it reads it forks, as a server does that was not forked by Python: the child begins CPython a
 * fifth of a second later, and works until its parent ends.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void work(void *library)
{
	void *begin = dlsym(library, "Py_Initialize"), *run = dlsym(library, "PyRun_SimpleString");
	int (*run_text)(const char *);
	void (*initialize)(void);

	if (!begin || !run)
		_exit(1);
	memcpy(&initialize, &begin, sizeof(initialize));
	memcpy(&run_text, &run, sizeof(run_text));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	usleep(200000);
	initialize();
	printf("working %d\n", (int)getpid());
	fflush(stdout);
	run_text("while True: pass");
	_exit(0);
}

int main(int argc, char **argv)
{
	void *library = argc < 2 ? NULL : dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
	char c;

	if (!library) {
		fprintf(stderr, "%s\n", argc < 2 ? "no library" : dlerror());
		return 1;
	}
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		if (c == 'f' && !fork())
			work(library);
	return 0;
}
