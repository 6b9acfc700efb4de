/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program, or a library that is loaded into one, that has what compilers at run time have: code in memory that is shared, in a file that is in
 * memory alone, and in a temporary file that is deleted, of which a second part lies below the first. The
 * temporary file is made in $MADE_AT.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PART 4096
#define CODE (PROT_READ | PROT_EXEC)

static void *code_of(int fd, off_t at, void *where)
{
	void *p = mmap(where, PART, CODE, MAP_SHARED | (where ? MAP_FIXED : 0), fd, at);

	if (p == MAP_FAILED)
		abort();
	return p;
}

static void fill(int fd)
{
	unsigned char part[PART];
	int i;

	memset(part, 0xc3, sizeof(part));
	for (i = 0; i < 2; i++)
		if (write(fd, part, sizeof(part)) != (ssize_t)sizeof(part))
			abort();
}

__attribute__((constructor)) static void make(void)
{
	const char *at = getenv("MADE_AT");
	unsigned char *room, *shared;
	char path[512];
	int fd;

	shared = mmap(NULL, PART, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		abort();
	*shared = 0xc3;
	fd = memfd_create("made", MFD_CLOEXEC);
	if (fd < 0)
		abort();
	fill(fd);
	code_of(fd, PART, NULL);
	snprintf(path, sizeof(path), "%s/made.codeXXXXXX", at ? at : "/tmp");
	fd = mkstemp(path);
	if (fd < 0 || unlink(path))
		abort();
	fill(fd);
	room = mmap(NULL, 2 * PART, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		abort();
	/* Not in this order: the kernel would make one of the two. */
	code_of(fd, PART, room);
	code_of(fd, 0, room + PART);
}

/* As a program of its own: until its input ends. */
int main(void)
{
	char c;

	return read(STDIN_FILENO, &c, 1) < 0;
}
