/* SPDX-License-Identifier: BSD-2-Clause */
/* Has a VM's library as editors and debuggers have one, and never begins it. Says that it is ready, and ends with its
 * input. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char c;

	if (argc < 2 || !dlopen(argv[1], RTLD_NOW)) {
		fprintf(stderr, "%s\n", argc < 2 ? "no library" : dlerror());
		return 1;
	}
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}
