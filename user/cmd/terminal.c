/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/text.h"
#include "cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void ignore_signal(int number)
{
	(void)number;
}

void terminal_init(void)
{
	/* Caught, not ignored: a program that `record` starts must find the
	 * default again. */
	struct sigaction action = { .sa_handler = ignore_signal, .sa_flags = SA_RESTART };
	int fd;

	/* A closed descriptor must not become the recording's. What is opened
	 * here cannot be written to, so lost output is still noticed. */
	do {
		fd = open("/dev/null", O_RDONLY);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	sigaction(SIGPIPE, &action, NULL);
	/* A file size limit is a failed write, as a full disk is. */
	sigaction(SIGXFSZ, &action, NULL);
	setlocale(LC_CTYPE, "");
	/* A pipe carries UTF-8 whatever the terminal can show. */
	if (strcmp(nl_langinfo(CODESET), "UTF-8") && !isatty(STDOUT_FILENO))
		setlocale(LC_CTYPE, "C.UTF-8");
}

unsigned int terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	u64 v;

	if (columns && !text_parse_u64(columns, 1000, &v) && v)
		return (unsigned int)v;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return 80;
}

bool terminal_color(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb");
}

int say_error(const struct err *e)
{
	fprintf(stderr, "vmspan: %s\n", e->what[0] ? e->what : strerror(-e->code));
	if (e->hint[0])
		fprintf(stderr, "  %s\n", e->hint);
	return e->code ? (int)err_status(e) : EXIT_FAILED;
}

int finish_output(struct out *o, const char *name, int status)
{
	int rc = out_close(o);

	if (!rc)
		return status;
	if (rc != -EPIPE)
		fprintf(stderr, "vmspan: cannot write %s: %s\n", name, strerror(-rc));
	return EXIT_FAILED;
}

/* Levenshtein's distance, of words that are short. */
static unsigned int edit_distance(const char *a, const char *b)
{
	unsigned int row[64], n = (unsigned int)strlen(b), i, j;

	if (strlen(a) >= ARRAY_SIZE(row) || n >= ARRAY_SIZE(row))
		return UINT32_MAX;
	for (j = 0; j <= n; j++)
		row[j] = j;
	for (i = 1; a[i - 1]; i++) {
		unsigned int diagonal = row[0];

		row[0] = i;
		for (j = 1; j <= n; j++) {
			unsigned int change = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			row[j] = (unsigned int)min_u64(change, min_u64(row[j], row[j - 1]) + 1);
		}
	}
	return row[n];
}

void nearest_try(struct nearest *n, const char *candidate)
{
	size_t len = strlen(n->word);
	unsigned int distance = edit_distance(n->word, candidate);

	/* The beginning of a name is near it, however much is missing. */
	if (len >= 2 && !strncmp(n->word, candidate, len))
		distance = 1;
	if (distance > 1 + len / 4)
		return;
	if (!n->best || distance < n->distance) {
		n->best = candidate;
		n->distance = distance;
	}
}
