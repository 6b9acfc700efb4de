/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program with conventional probes of its own and nothing of vmspan's, as one that was built for other
 * tracers. A line a task:
 *
 *   spans ID N        N stays in ID, outside of events
 *   event LABEL ID N  an event with N stays in ID
 *   library ID N      as spans, by the library that it is linked with
 *   quit
 *
 * After each it prints "ok". PROVIDER names its probes; with SEMAPHORES each has one. With FOREIGN_LIBRARY it is
 * such a library, with FOREIGN_LINKED it has one.
 */
#include <stdio.h>
#include <string.h>

#ifndef PROVIDER
#define PROVIDER "shop"
#endif

#if defined(__x86_64__)
#define ARGUMENT "4@%0"
#else
#define ARGUMENT "4@%w0"
#endif

#ifdef SEMAPHORES
#define SEMAPHORE(name) name "_semaphore"
__asm__(".pushsection .probes, \"aw\"\n"
	".balign 2\n"
	"enter_semaphore: .2byte 0\n"
	"leave_semaphore: .2byte 0\n"
	"begin_semaphore: .2byte 0\n"
	"end_semaphore: .2byte 0\n"
	".popsection");
#else
#define SEMAPHORE(name) "0"
#endif

/* Where the notes' addresses are counted from. */
__asm__(".pushsection .stapsdt.base, \"a\"\n"
	"probes_base: .space 1\n"
	".popsection");

/* Labels where no tracer finds them: at a symbol; and ids in a floating-point register. */
#ifdef ODD_LABELS
unsigned char odd_label = 3;
#define LABEL "1@odd_label(%%rip)"
#else
#define LABEL ARGUMENT
#endif
#ifdef ODD_IDS
#define ID "8@%%xmm0"
#else
#define ID ARGUMENT
#endif

/* A probe of one argument; how its note is made up: the SystemTap wiki, "UserSpaceProbeImplementation". */
#define PROBE(name, semaphore, argument, id)                                                       \
	__asm__ volatile(                                                                          \
		"990: nop\n"                                                                       \
		".pushsection .note.stapsdt, \"\", %%note\n"                                       \
		".balign 4\n"                                                                      \
		".4byte 992f - 991f, 994f - 993f, 3\n"                                             \
		"991: .asciz \"stapsdt\"\n"                                                        \
		"992: .balign 4\n"                                                                 \
		"993: .8byte 990b, probes_base, " SEMAPHORE(semaphore) "\n"                        \
								       ".asciz \"" PROVIDER "\"\n" \
								       ".asciz \"" name "\"\n"     \
								       ".asciz \"" argument "\"\n" \
								       "994: .balign 4\n"          \
								       ".popsection" ::"r"(id))

static void spans(unsigned int id, unsigned int n)
{
	while (n-- > 0) {
		PROBE("enter", "enter", ID, id);
		PROBE("leave", "leave", ID, id);
	}
}

#ifdef FOREIGN_LIBRARY
void foreign_spans(unsigned int id, unsigned int n);
void foreign_spans(unsigned int id, unsigned int n)
{
	spans(id, n);
}
#else
#ifdef FOREIGN_LINKED
void foreign_spans(unsigned int id, unsigned int n);
#else
#define foreign_spans spans
#endif

int main(void)
{
	unsigned int label, id, n;
	char line[80];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "quit\n")) {
		if (sscanf(line, "spans %u %u", &id, &n) == 2) {
			spans(id, n);
		} else if (sscanf(line, "library %u %u", &id, &n) == 2) {
			foreign_spans(id, n);
		} else if (sscanf(line, "event %u %u %u", &label, &id, &n) == 3) {
			PROBE("event__begin", "begin", LABEL, label);
			spans(id, n);
			PROBE("event__end", "end", ARGUMENT, 0);
		}
		puts("ok");
		fflush(stdout);
	}
	return 0;
}
#endif
