/* SPDX-License-Identifier: BSD-2-Clause */
#include "attach/box.h"

#include "attach/kernel.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CAP_BPF
#define CAP_BPF 39
#endif

/* By what each kind gives its processes: a variable with a value (any, where that is ""), or a file. The surest
 * first: a file may be one of the image. */
static const struct box {
	const char *name, *file, *variable, *value;
	const char *allow;
	const char *give, *give_more; /* with CAP_SYS_ADMIN */
} boxes[] = {
	{ "Kubernetes", NULL, "KUBERNETES_SERVICE_HOST", "",
	  "In the container's securityContext: seccompProfile: {type: Unconfined}, or a profile "
	  "that "
	  "has them.",
	  "In the container's securityContext: capabilities: {add: [BPF, PERFMON, SYS_PTRACE]}.",
	  "In the container's securityContext: capabilities: {add: [BPF, PERFMON, SYS_PTRACE, "
	  "SYS_ADMIN]}." },
	{ "Podman", "/run/.containerenv", "container", "podman",
	  "Start the container with --security-opt seccomp=unconfined, or with a profile that has "
	  "them.",
	  "Start the container with --cap-add=CAP_BPF,CAP_PERFMON,CAP_SYS_PTRACE.",
	  "Start the container with --cap-add=CAP_BPF,CAP_PERFMON,CAP_SYS_PTRACE,CAP_SYS_ADMIN." },
	{ "systemd-nspawn", NULL, "container", "systemd-nspawn",
	  "Start the container with --system-call-filter='bpf perf_event_open process_vm_readv "
	  "process_vm_writev'.",
	  "Start the container with --capability=CAP_BPF,CAP_PERFMON,CAP_SYS_PTRACE.",
	  "Start the container with "
	  "--capability=CAP_BPF,CAP_PERFMON,CAP_SYS_PTRACE,CAP_SYS_ADMIN." },
	{ "a container", NULL, "container", "",
	  "Start the container with a filter that has them, or without one.",
	  "Start the container with CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE.",
	  "Start the container with CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE and CAP_SYS_ADMIN." },
	{ "Docker", "/.dockerenv", NULL, NULL,
	  "Start the container with --security-opt seccomp=unconfined, or with a profile that has "
	  "them.",
	  "Start the container with --cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE.",
	  "Start the container with --cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE --cap-add "
	  "SYS_ADMIN." },
};

/* Not the machine's first one. The numbers are constants of the kernel's ABI. */
static bool own_namespace(const char *path, ino_t initial)
{
	struct stat st;

	return !stat(path, &st) && st.st_ino != initial;
}

/* A machine may be made of a container's image, with its files: a container has names and numbers of its
 * own besides. */
static const struct box *box_here(void)
{
	const char *value;
	size_t i;

	/* One that shares the machine's network or processes, as a pod may, has others. */
	if (!own_namespace("/proc/self/ns/uts", 0xeffffffeu) &&
	    !own_namespace("/proc/self/ns/pid", 0xeffffffcu) &&
	    !own_namespace("/proc/self/ns/ipc", 0xefffffffu) &&
	    !own_namespace("/proc/self/ns/cgroup", 0xeffffffbu))
		return NULL;
	for (i = 0; i < ARRAY_SIZE(boxes); i++) {
		const struct box *b = &boxes[i];

		value = b->variable ? getenv(b->variable) : NULL;
		if (value && (!b->value[0] || !strcmp(value, b->value)))
			return b;
		if (b->file && !access(b->file, F_OK))
			return b;
	}
	return NULL;
}

const char *box_container(void)
{
	const struct box *b = box_here();

	return b ? b->name : NULL;
}

const char *box_allow(void)
{
	const struct box *b = box_here();

	return b ? b->allow
		 : "Have whoever starts vmspan let them through: in a systemd unit, "
		   "SystemCallFilter=.";
}

const char *box_give(bool sys_admin_too)
{
	const struct box *b = box_here();

	if (!b)
		return NULL;
	return sys_admin_too ? b->give_more : b->give;
}

static bool is_filtered(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned int mode = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Seccomp: %u", &mode) == 1)
			break;
	if (f)
		fclose(f);
	return mode == 2;
}

bool box_user_namespace(void)
{
	return own_namespace("/proc/self/ns/user", 0xeffffffdu);
}

static bool may_bpf(void)
{
	return (kernel_has_cap(CAP_BPF) || kernel_has_cap(CAP_SYS_ADMIN)) && !box_user_namespace();
}

/* Each call is asked for what makes no sense or nothing: the kernel itself says so, or does nothing. errno says
 * how it was refused, by whomever. */
static bool bpf_refused(void)
{
	return syscall(SYS_bpf, -1, NULL, 0) < 0 &&
	       (errno == ENOSYS || errno == EPERM || errno == EACCES);
}

bool box_bpf_closed(void)
{
	/* With unprivileged bpf(2) some of it answers. */
	return bpf_refused() || box_user_namespace();
}

bool box_unsure(void)
{
	return is_filtered() && bpf_refused() && !(box_refused() & BOX_BPF);
}

static bool perf_refused(void)
{
	return syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0) < 0 && errno != EFAULT &&
	       !kernel_perf_level();
}

u32 box_refused(void)
{
	u32 calls = 0;

	if (!is_filtered())
		return 0;
	if (bpf_refused() && (errno == ENOSYS || may_bpf()))
		calls |= BOX_BPF;
	if (perf_refused())
		calls |= BOX_PERF_EVENT_OPEN;
	if (syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0) < 0)
		calls |= BOX_PROCESS_VM_READV;
	if (syscall(SYS_process_vm_writev, getpid(), NULL, 0, NULL, 0, 0) < 0)
		calls |= BOX_PROCESS_VM_WRITEV;
	return calls;
}

void box_calls(u32 calls, char to[BOX_CALLS_MAX])
{
	static const struct {
		u32 call;
		const char *name;
	} names[] = {
		{ BOX_BPF, "bpf(2)" },
		{ BOX_PERF_EVENT_OPEN, "perf_event_open(2)" },
		{ BOX_PROCESS_VM_READV, "process_vm_readv(2)" },
		{ BOX_PROCESS_VM_WRITEV, "process_vm_writev(2)" },
	};
	size_t i, n = 0;

	*to = 0;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (calls & names[i].call)
			n += (size_t)snprintf(to + n, BOX_CALLS_MAX - n, "%s%s", n ? ", " : "",
					      names[i].name);
}
