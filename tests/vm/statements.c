/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * To be built as "postgres": PostgreSQL's probe of statements, in three places that hand its text over each in a
 * way of its own, and the symbol by which PostgreSQL is known. A line a task:
 *
 *   WHERE N TEXT   N statements TEXT, handed over in a "register" or in "memory"; each ends, by a constant
 *   quit
 *
 * After each it prints "ok". Whose statements they are, PostgreSQL says in its first argument. With UNREADABLE the
 * text in memory is a variable's, by its name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* It serves no client, so there is none. */
void *MyProcPort;

/* Where the notes' addresses are counted from. */
__asm__(".pushsection .stapsdt.base, \"a\"\n"
	"probes_base: .space 1\n"
	".popsection");

/* How its note is made up: the SystemTap wiki, "UserSpaceProbeImplementation". */
#define STATUS(constraint, text)                                      \
	__asm__ volatile("990: nop\n"                                 \
			 ".pushsection .note.stapsdt, \"\", %%note\n" \
			 ".balign 4\n"                                \
			 ".4byte 992f - 991f, 994f - 993f, 3\n"       \
			 "991: .asciz \"stapsdt\"\n"                  \
			 "992: .balign 4\n"                           \
			 "993: .8byte 990b, probes_base, 0\n"         \
			 ".asciz \"postgresql\"\n"                    \
			 ".asciz \"statement__status\"\n"             \
			 ".asciz \"8@%0\"\n"                          \
			 "994: .balign 4\n"                           \
			 ".popsection" ::constraint(text))

struct query {
	long before[3];
	const char *text;
};

#ifdef UNREADABLE
static struct query said;
#endif

static void statements(const char *where, unsigned int n, const char *text)
{
	struct query *q = malloc(sizeof(*q));

	if (!q)
		return;
	q->text = text;
	while (n-- > 0) {
		if (!strcmp(where, "register")) {
			STATUS("r", text);
		} else {
#ifdef UNREADABLE
			said.text = text;
			STATUS("m", said.text);
#else
			STATUS("m", q->text);
#endif
		}
		STATUS("i", NULL);
	}
	free(q);
}

int main(void)
{
	char line[200], where[20], text[100];
	unsigned int n;

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "quit\n")) {
		if (sscanf(line, "%19s %u %99[^\n]", where, &n, text) == 3)
			statements(where, n, text);
		puts("ok");
		fflush(stdout);
	}
	return 0;
}
