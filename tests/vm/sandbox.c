/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks under a filter of system calls that kills for any other than those of ALLOW, "name,name...":
 * what the SDK says that it needs, besides what this program itself does (it reads, writes and ends).
 * A line on standard input: N events with a span, a collection and a value each, of a new
 * group; then it prints "ok". Ends with its input.
 */
#include "user/sdk/vmspan.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define CALL(name)                \
	{                         \
#name, SYS_##name \
	}

static const struct {
	const char *name;
	int number;
} calls[] = {
	CALL(gettid),    CALL(getpid),        CALL(mmap),  CALL(munmap), CALL(madvise),
	CALL(nanosleep), CALL(clock_gettime), CALL(prctl), CALL(getcpu), CALL(kill),
};

static const int own[] = { SYS_read, SYS_write, SYS_exit_group };

static struct sock_filter filter[64];
static unsigned short length;

static void add(struct sock_filter f)
{
	filter[length++] = f;
}

static void allow(int number)
{
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)number, 0, 1));
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

/* 0, or -1: the list names what is not known here, or the kernel refuses. */
static int sandbox(char *list)
{
	struct sock_fprog program = { .filter = filter };
	char *name, *save = NULL;
	size_t i;

	add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					 offsetof(struct seccomp_data, nr)));
	for (i = 0; i < sizeof(own) / sizeof(*own); i++)
		allow(own[i]);
	for (name = strtok_r(list, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		for (i = 0; i < sizeof(calls) / sizeof(*calls); i++)
			if (!strcmp(name, calls[i].name))
				break;
		if (i == sizeof(calls) / sizeof(*calls)) {
			fprintf(stderr, "%s is not known here\n", name);
			return -1;
		}
		allow(calls[i].number);
	}
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
	program.len = length;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("seccomp");
		return -1;
	}
	return 0;
}

static void events(const char *line)
{
	long n = atol(line);
	vmspan_u32 group = vmspan_group(VMSPAN_ADDON, line);
	vmspan_u32 comp = vmspan_compartment(line, &group, 1), label = vmspan_label("turn");

	while (n-- > 0) {
		vmspan_event_begin(label);
		vmspan_enter(comp);
		vmspan_gc_begin(label, 4096);
		vmspan_gc_end(1024);
		vmspan_value(label, n);
		vmspan_leave(comp);
		vmspan_event_end();
	}
}

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(3);
}

int main(int argc, char **argv)
{
	char line[32];
	ssize_t n;

	if (argc != 2 || sandbox(argv[1]))
		return 2;
	say("ready\n");
	while ((n = read(0, line, sizeof(line) - 1)) > 0) {
		line[n] = 0;
		line[strcspn(line, "\n")] = 0;
		events(line);
		say("ok\n");
	}
	return 0;
}
