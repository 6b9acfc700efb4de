/* SPDX-License-Identifier: BSD-2-Clause */
#include "attach/kernel.h"

#include "attach/box.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

/*
 * The kernel's own entry for optimized probes tells the three apart: called
 * from anywhere but a probe's trampoline it fails with ENXIO where the 5-byte
 * form exists, and with EPROTO where it has been replaced.
 */
enum nop_state kernel_nops(void)
{
#if defined(__x86_64__)
	const long sys_uprobe = 336;
	long r = syscall(sys_uprobe);

	if (r == -1 && errno == ENXIO)
		return NOPS_UNSAFE;
	return r == -1 && errno == EPROTO ? NOPS_SAFE : NOPS_PLAIN;
#else
	return NOPS_PLAIN;
#endif
}

u64 kernel_capabilities(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	u64 caps = 0;

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %" SCNx64, &caps) == 1)
			break;
	fclose(f);
	return caps;
}

bool kernel_has_cap(unsigned int cap)
{
	return kernel_capabilities() >> cap & 1;
}

int kernel_read_line(const char *path, char *to, size_t cap)
{
	FILE *f = fopen(path, "re");
	char *ok;

	*to = 0;
	if (!f)
		return -errno;
	ok = fgets(to, (int)cap, f);
	fclose(f);
	to[strcspn(to, "\n")] = 0;
	return ok ? 0 : -EIO;
}

/* As the kernel has it; the system's header may be older. */
struct multi_attr {
	u32 prog_fd, target_fd, attach_type, flags;
	u64 path, offsets, ref_ctr_offsets, cookies;
	u32 count, multi_flags, pid, pad;
};

int kernel_uprobe_multi(int program, const struct kernel_probes *p)
{
	struct multi_attr a = { .prog_fd = (u32)program,
				.attach_type = KERNEL_UPROBE_MULTI,
				.path = (u64)(uintptr_t)p->path,
				.offsets = (u64)(uintptr_t)p->offsets,
				.ref_ctr_offsets = (u64)(uintptr_t)p->semaphores,
				.cookies = (u64)(uintptr_t)p->cookies,
				.count = p->count,
				.pid = p->pid };
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &a, sizeof(a));

	return fd < 0 ? -errno : fd;
}

/* False also where the version cannot be told. */
static bool before(unsigned int major, unsigned int minor)
{
	unsigned int has_major, has_minor;
	struct utsname u;

	return !uname(&u) && sscanf(u.release, "%u.%u", &has_major, &has_minor) == 2 &&
	       (has_major < major || (has_major == major && has_minor < minor));
}

bool kernel_multi_by_process(void)
{
	return !before(6, 12);
}

bool kernel_rseq_tells_all(void)
{
	return before(6, 19);
}

/* A probe in a directory: EBADF from those who know what was asked for. */
bool kernel_has_uprobe_multi(void)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K }, /* r0 = 0 */
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)KERNEL_UPROBE_MULTI);
	const u64 start = 0;
	const struct kernel_probes probes = { .path = "/", .offsets = &start, .count = 1 };
	int fd, link;

	fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "probe", "GPL", insns, ARRAY_SIZE(insns), &opts);
	if (fd < 0)
		return false;
	link = kernel_uprobe_multi(fd, &probes);
	if (link >= 0)
		close(link);
	close(fd);
	return link == -EBADF;
}

enum kernel_counter kernel_counter(void)
{
#if defined(__x86_64__)
	char available[128], line[4096], *rest = line, *word;

	if (kernel_read_line(KERNEL_CLOCKSOURCES "/available_clocksource", available,
			     sizeof(available)) ||
	    strstr(available, "tsc"))
		return COUNTER_TRUSTED;
	kernel_read_line("/proc/cmdline", line, sizeof(line));
	while ((word = strsep(&rest, " ")))
		if (!strcmp(word, "tsc=unstable"))
			return COUNTER_UNTRIED;
	return COUNTER_UNSTABLE;
#else
	return COUNTER_TRUSTED;
#endif
}

s64 kernel_read_number(const char *path, s64 otherwise)
{
	char line[64], *end;
	s64 v;

	if (kernel_read_line(path, line, sizeof(line)))
		return otherwise;
	errno = 0;
	v = strtoll(line, &end, 10);
	return errno || end == line ? otherwise : v;
}

/* The newest lines of libbpf's log: a ring of bytes would split them. */
#define LOG_LINES 4
static struct {
	char lines[LOG_LINES][160];
	unsigned int next;
} kept;

static int keep(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *line = kept.lines[kept.next % LOG_LINES];

	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(line, sizeof(kept.lines[0]), fmt, ap);
	line[strcspn(line, "\n")] = 0;
	kept.next++;
	return 0;
}

void kernel_catch_log(void)
{
	memset(&kept, 0, sizeof(kept));
	libbpf_set_print(keep);
}

void kernel_missing(char to[96])
{
	u64 caps = kernel_capabilities();

	*to = 0;
	if (caps >> CAP_SYS_ADMIN & 1)
		return;
	if (!(caps >> CAP_BPF & 1))
		strcat(to, "CAP_BPF");
	if (!(caps >> CAP_PERFMON & 1))
		strcat(to, to[0] ? ", CAP_PERFMON" : "CAP_PERFMON");
	/* Without those two, or where a filter refuses, whether the kernel can do with them is not
	 * known; 6.6 and later can. */
	if (!to[0] && !(box_refused() & BOX_BPF) && !kernel_has_uprobe_multi())
		strcat(to, "CAP_SYS_ADMIN (before Linux 6.6 probes in programs need it)");
}

void kernel_give(const char *missing, char to[KERNEL_GIVE_MAX])
{
	bool admin = strstr(missing, "CAP_SYS_ADMIN");
	const char *here = box_give(admin);

	snprintf(to, KERNEL_GIVE_MAX, "%s%s",
		 here ? here : "Run vmspan with sudo, or give it the rights: ",
		 here    ? ""
		 : admin ? "sudo setcap cap_bpf,cap_perfmon,cap_sys_admin,cap_sys_ptrace+ep "
			   "$(command -v vmspan)"
			 : "sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep $(command -v vmspan) "
			   "(before Linux 6.6 cap_sys_admin too)");
}

/* The kernel says so before it looks at what is asked: where it does not, EFAULT. */
int kernel_perf_level(void)
{
	s64 level = kernel_read_number("/proc/sys/kernel/perf_event_paranoid", 0);

	return level > 2 && !kernel_has_cap(CAP_SYS_ADMIN) &&
			       syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0) < 0 &&
			       errno == EACCES
		       ? (int)min_u64((u64)level, INT32_MAX)
		       : 0;
}

/* Of what a filter refuses that which loads and attaches. */
static u32 calls_refused(void)
{
	return box_refused() & (BOX_BPF | BOX_PERF_EVENT_OPEN);
}

static void permission_hint(struct err *err, int code)
{
	char lockdown[96], missing[96] = "", stacks[128] = "", text[KERNEL_GIVE_MAX];
	u32 refused = calls_refused();
	int level = kernel_perf_level();

	kernel_missing(missing);
	if (missing[0]) {
		kernel_give(missing, text);
		if (level)
			snprintf(stacks, sizeof(stacks),
				 "; and for stacks of stock VMs CAP_SYS_ADMIN, or a "
				 "kernel.perf_event_paranoid of 2 (it is %d)",
				 level);
		err_hint(err, "Missing: %s%s. %s", missing, stacks, text);
		return;
	}
	/* EACCES is what perf events are refused with then. */
	if (level && code == -EACCES) {
		err_hint(err,
			 "kernel.perf_event_paranoid is %d: perf events are for CAP_SYS_ADMIN "
			 "only. %s",
			 level, KERNEL_PERF_ADVICE);
		return;
	}
	if (refused) {
		box_calls(refused, text);
		err_hint(err, "All capabilities are there, and a filter (seccomp) refuses %s. %s",
			 text, box_allow());
		return;
	}
	if (!kernel_read_line("/sys/kernel/security/lockdown", lockdown, sizeof(lockdown)) &&
	    !strstr(lockdown, "[none]"))
		err_hint(err,
			 "The kernel is locked down (%s). Boot with lockdown=none, or without "
			 "Secure Boot.",
			 lockdown);
	else
		err_hint(err,
			 "All capabilities are there, and no filter (seccomp) refuses it: a "
			 "security "
			 "module may, or the user namespace of a container. Run vmspan outside.");
}

int kernel_error(struct err *err, int code, const char *what)
{
	unsigned int i;

	if (code == -EPERM || (code == -EACCES && !kernel_has_cap(CAP_SYS_ADMIN)) ||
	    (code == -ENOSYS && calls_refused())) {
		err_set_status(err, code, EXIT_PERMISSION, "%s: no permission", what);
		permission_hint(err, code);
		return code;
	}
	/* With all rights, EACCES is how the verifier says no. */
	err_set_status(err, code, EXIT_FAILED, "%s: %s", what,
		       code == -EACCES ? "the kernel's verifier rejects them" : strerror(-code));
	for (i = 0; err && i < LOG_LINES && !err->hint[0] && i < kept.next; i++) {
		const char *line = kept.lines[(kept.next - 1 - i) % LOG_LINES];

		if (line[0] && !strstr(line, "failed to load object"))
			err_hint(err, "%s. `vmspan doctor` says what this machine can do.", line);
	}
	return code;
}
