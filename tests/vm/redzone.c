/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A target that goes through its carrier's site with a pattern in the red zone,
 * the 128 bytes below the stack pointer that are the program's own, and looks
 * at it afterwards. Reads lines `hit N`, in itself, and `fork N`, in a child;
 * prints how often the pattern was whole, or how the child ended. The batches,
 * of one record, cannot be read: the tracer counts each as such.
 */
#include "user/sdk/vmspan.h"

#include <stdio.h>
#include <sys/wait.h>

#define WORDS 16

/*
 * The stack pointer leaves the compiler's own red zone first. `ret` at the site
 * takes the word that is pushed here; the pattern fills the 128 bytes below it.
 */
static long hit(void)
{
	static const unsigned long pattern = 0x5a17c0de900dbeeful;
	unsigned long seen[WORDS];
	long i, whole = 0;

#if defined(__x86_64__)
	__asm__ volatile("movq %%rsp, %%rbx\n\t"
			 "subq $512, %%rsp\n\t"
			 "leaq 2f(%%rip), %%rax\n\t"
			 "pushq %%rax\n\t"
			 "movl $16, %%ecx\n"
			 "1: movq %[pattern], %%rax\n\t"
			 "addq %%rcx, %%rax\n\t"
			 "movq %%rax, -136(%%rsp,%%rcx,8)\n\t"
			 "decq %%rcx\n\t"
			 "jnz 1b\n\t"
			 "xorl %%edi, %%edi\n\t"
			 "movl $96, %%esi\n\t"
			 "xorl %%edx, %%edx\n\t"
			 "jmp vmspan_site_flush_2\n"
			 "2: movl $16, %%ecx\n"
			 "3: movq -144(%%rsp,%%rcx,8), %%rax\n\t"
			 "movq %%rax, -8(%[seen],%%rcx,8)\n\t"
			 "decq %%rcx\n\t"
			 "jnz 3b\n\t"
			 "movq %%rbx, %%rsp\n"
			 :
			 : [pattern] "r"(pattern), [seen] "r"(seen)
			 : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "memory", "cc");
#else
	(void)pattern;
	memset(seen, 0, sizeof(seen));
#endif
	for (i = 0; i < WORDS; i++)
		whole += seen[i] == pattern + (unsigned long)(i + 1);
	return whole == WORDS;
}

static long hits(long n)
{
	long whole = 0;

	while (n-- > 0)
		whole += hit();
	return whole;
}

int main(void)
{
	char line[64];
	int status;
	long n;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "hit %ld", &n) == 1) {
			printf("whole %ld\n", hits(n));
		} else if (sscanf(line, "fork %ld", &n) == 1) {
			pid_t child = fork();

			if (!child)
				_exit(hits(n) == n ? 0 : 1);
			waitpid(child, &status, 0);
			if (WIFEXITED(status))
				printf("exit %d\n", WEXITSTATUS(status));
			else
				printf("signal %d\n", WTERMSIG(status));
		}
	}
	return 0;
}
