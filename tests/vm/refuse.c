/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * refuse ERROR NAME,NAME... COMMAND...: executes the command under a filter of system calls, as containers
 * have one, that answers those of these names by EACCES, EPERM or ENOSYS.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	int number;
} calls[] = {
	{ "bpf", SYS_bpf },
	{ "perf_event_open", SYS_perf_event_open },
	{ "process_vm_readv", SYS_process_vm_readv },
	{ "process_vm_writev", SYS_process_vm_writev },
	{ "getcpu", SYS_getcpu },
};

static struct sock_filter filter[16];
static unsigned short length;

static void add(struct sock_filter f)
{
	filter[length++] = f;
}

/* 0, or -1: a name is not known here, or the kernel refuses. */
static int install(unsigned int error, char *list)
{
	struct sock_fprog program = { .filter = filter };
	char *name, *save = NULL;
	size_t i;

	add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					 offsetof(struct seccomp_data, nr)));
	for (name = strtok_r(list, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		for (i = 0; i < sizeof(calls) / sizeof(*calls) && strcmp(name, calls[i].name); i++)
			;
		if (i == sizeof(calls) / sizeof(*calls) || length > 10) {
			errno = EINVAL;
			return -1;
		}
		add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						 (unsigned int)calls[i].number, 0, 1));
		add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
	}
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	program.len = length;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static unsigned int error_of(const char *name)
{
	return !strcmp(name, "ENOSYS") ? ENOSYS : !strcmp(name, "EACCES") ? EACCES : EPERM;
}

int main(int argc, char **argv)
{
	if (argc < 4 || install(error_of(argv[1]), argv[2])) {
		perror("refuse");
		return 2;
	}
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 127;
}
