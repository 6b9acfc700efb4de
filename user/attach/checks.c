/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of the machine. Features are probed, not derived from the kernel's
 * version: distributions carry changes back and forth.
 */
#include "attach/checks.h"

#include "attach/box.h"
#include "attach/clock.h"
#include "attach/exact.h"
#include "attach/kernel.h"
#include "attach/kernel_types.h"
#include "attach/tracer.h"
#include "attach/tsc_sync.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

const char *check_result_name(enum check_result r)
{
	static const char *const names[] = { "ok", "warn", "fail" };

	return names[r];
}

__attribute__((format(printf, 3, 4))) static void set(struct check *c, enum check_result r,
						      const char *fmt, ...)
{
	va_list ap;

	c->result = r;
	va_start(ap, fmt);
	vsnprintf(c->detail, sizeof(c->detail), fmt, ap);
	va_end(ap);
}

static void advise(struct check *c, const char *text)
{
	snprintf(c->advice, sizeof(c->advice), "%s", text);
}

static void check_kernel(struct check *c)
{
	unsigned int major = 0, minor = 0;
	struct utsname u;

	if (uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2) {
		set(c, CHECK_WARN, "unknown");
		return;
	}
	set(c, major > 5 || (major == 5 && minor >= 10) ? CHECK_OK : CHECK_FAIL, "%.100s",
	    u.release);
	if (c->result == CHECK_FAIL)
		advise(c, "vmspan needs Linux 5.10, and 5.15 for everything it can.");
}

static void check_btf(struct check *c)
{
	const struct kernel_types *types = kernel_types();

	if (!types->error) {
		set(c, CHECK_OK, "%u types", types->count);
		return;
	}
	set(c, CHECK_FAIL, "the kernel does not describe its types: %s", strerror(-types->error));
	advise(c, "Run a kernel built with CONFIG_DEBUG_INFO_BTF=y; Debian's are.");
}

static void check_uprobes(struct check *c)
{
	s64 type = kernel_read_number("/sys/bus/event_source/devices/uprobe/type", -1);
	bool counted = !access("/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset", R_OK);

	if (type >= 0 && counted) {
		set(c, CHECK_OK, "perf event type %d, with semaphores", (int)type);
		return;
	}
	set(c, CHECK_FAIL,
	    type < 0 ? "this kernel has no perf events at user probes"
		     : "this kernel does not keep semaphores");
	advise(c, "Run a kernel from 4.20 on, built with CONFIG_UPROBE_EVENTS=y.");
}

static bool may_ask(void)
{
	return kernel_has_cap(CAP_SYS_ADMIN) || kernel_has_cap(CAP_BPF);
}

static void check_uprobe_multi(struct check *c)
{
	bool there = kernel_has_uprobe_multi();

	if (!there && box_bpf_closed() && may_ask())
		set(c, CHECK_WARN, "cannot be found out: bpf(2) is refused");
	else if (kernel_has_cap(CAP_SYS_ADMIN))
		set(c, CHECK_OK, "%s; with CAP_SYS_ADMIN vmspan does without",
		    there ? "this kernel can" : "this kernel cannot");
	else if (there)
		set(c, CHECK_OK, "can be used: CAP_BPF and CAP_PERFMON are enough");
	else
		set(c, CHECK_WARN,
		    "cannot be used: not with these capabilities, or not before "
		    "Linux 6.6");
}

static void check_map(struct check *c, enum bpf_map_type type, const char *without,
		      enum check_result result)
{
	int r = libbpf_probe_bpf_map_type(type, NULL);

	if (r == 1) {
		set(c, CHECK_OK, "there");
	} else if (!may_ask()) {
		set(c, CHECK_WARN, "cannot be found out without CAP_BPF");
	} else if (box_bpf_closed()) {
		set(c, CHECK_WARN, "cannot be found out: bpf(2) is refused");
	} else {
		set(c, result, "%s", without);
		advise(c, "Run a newer kernel.");
	}
}

static void check_ring(struct check *c)
{
	check_map(c, BPF_MAP_TYPE_RINGBUF, "this kernel has none (5.8)", CHECK_FAIL);
}

static void check_storage(struct check *c)
{
	check_map(c, BPF_MAP_TYPE_TASK_STORAGE,
		  "this kernel has none: only programs with vmspan.h can be traced", CHECK_WARN);
}

static void check_tracepoints(struct check *c)
{
	if (kernel_has_tracepoint(KERNEL_TP_FORK)) {
		set(c, CHECK_OK, "fork, exec and exit can be followed");
		return;
	}
	set(c, CHECK_WARN, "children of a target cannot be followed");
	advise(c, "Run a kernel with BTF, or trace each process by its PID.");
}

static bool loads(const struct tracer_config *config, bool *life, struct err *e)
{
	struct tracer *t = tracer_open(config, e);
	const struct err *no_exact;

	if (!t)
		return false;
	*life = tracer_has_life(t);
	no_exact = tracer_no_exact(t);
	if (no_exact && e && !e->code)
		*e = *no_exact;
	tracer_free(t);
	return !no_exact;
}

/* Everything a trace may need, loaded for real: all at once, else one by one. */
static void check_load(struct check *c)
{
	static const struct {
		const char *what;
		struct tracer_config config;
	} parts[] = {
		{ "the direct method", { .direct = true } },
		{ "exact mode", { .exact = true } },
		{ "stock VMs", { .vm_hz = 99 } },
	};
	const struct tracer_config all = {
		.direct = true, .exact = true, .children = true, .vm_hz = 99
	};
	const struct tracer_config batches = { .children = true };
	char without[128] = "";
	struct err e = { 0 };
	bool life, other;
	size_t i, n;

	if (loads(&all, &life, NULL)) {
		set(c, life ? CHECK_OK : CHECK_WARN, "loaded%s",
		    life ? "" : ", without those that follow children");
		return;
	}
	if (!loads(&batches, &life, &e)) {
		set(c, CHECK_FAIL, "%.190s", e.what);
		c->status = err_status(&e);
		advise(c, e.hint);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		if (loads(&parts[i].config, &other, &e))
			continue;
		n = strlen(without);
		snprintf(without + n, sizeof(without) - n, "%s%s", n ? ", " : "", parts[i].what);
	}
	set(c, CHECK_WARN, "loaded, without %s%s", without[0] ? without : "all of them at once",
	    life ? "" : "; children are not followed");
	advise(c, e.what);
}

static void check_msr(struct check *c)
{
	if (!access("/sys/bus/event_source/devices/msr/events/tsc", R_OK))
		set(c, CHECK_OK, "the direct method measures in TSC cycles");
	else
		set(c, CHECK_WARN, "not there: the direct method measures by CLOCK_MONOTONIC");
}

#if defined(__x86_64__)
static void check_tsc(struct check *c)
{
	static const char *const words[] = {
		[COUNTER_TRUSTED] = "synchronised",
		[COUNTER_UNTRIED] = "not used by the kernel, which was told so (tsc=unstable)",
		[COUNTER_UNSTABLE] = "not trusted by the kernel: CPUs may disagree",
	};
	enum kernel_counter word = kernel_counter();
	bool constant = false, nonstop = false;
	char source[32], line[4096], *p;
	FILE *f = fopen("/proc/cpuinfo", "re");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "flags", 5)) {
			p = strchr(line, ':');
			constant = p && strstr(p, " constant_tsc");
			nonstop = p && strstr(p, " nonstop_tsc");
			break;
		}
	if (f)
		fclose(f);
	kernel_read_line(KERNEL_CLOCKSOURCES "/current_clocksource", source, sizeof(source));
	set(c, constant && word != COUNTER_UNSTABLE ? CHECK_OK : CHECK_WARN,
	    "%s rate, %s in sleep, %s; clocksource %s", constant ? "constant" : "varying",
	    nonstop ? "runs on" : "may stop", words[word], source);
	if (word == COUNTER_UNSTABLE)
		advise(c, "Spans that change CPU are discarded and counted, as always; collections "
			  "and blocking calls that do may have wrong times.");
	else if (!constant)
		advise(c, "Times may be off by as much as the CPU changes its rate within an "
			  "event; shares of an event are not affected.");
}
#else
static void check_tsc(struct check *c)
{
	set(c, CHECK_OK, "cntvct: constant by architecture");
}
#endif

/* The kernel compares the counters when it starts; here they are compared now. */
static void check_tsc_sync(struct check *c)
{
	struct tsc_sync s;
	struct err e = { 0 };
	int r = tsc_sync_measure(&s, NULL, clock_hz(CLOCK_TSC));

	if (r) {
		set(c, CHECK_OK, "not measured: %s",
		    r == -ENODATA ? "the CPUs are too busy just now" : strerror(-r));
	} else if (tsc_sync_refuses(&s, EXACT_WITHOUT, &e)) {
		set(c, CHECK_WARN, "%.190s", e.what);
		advise(c, e.hint);
	} else if (s.cpus == 1 && !s.unmeasured) {
		set(c, CHECK_OK, "one CPU: nothing to compare");
	} else {
		set(c, CHECK_OK, "measured: %u CPUs agree to within %" PRIu64 " ns", s.cpus,
		    s.error_ns);
		if (s.unmeasured)
			snprintf(c->detail + strlen(c->detail),
				 sizeof(c->detail) - strlen(c->detail),
				 "; %u more were not measured", s.unmeasured);
	}
}

static void check_nops(struct check *c)
{
	switch (kernel_nops()) {
	case NOPS_PLAIN:
		set(c, CHECK_OK, "none: a hand-over takes a trap, as on all kernels up to 7.1");
		break;
	case NOPS_SAFE:
		set(c, CHECK_OK, "good: marks are handed over by a call, not by a trap");
		break;
	case NOPS_UNSAFE:
		set(c, CHECK_WARN,
		    "unsafe: this kernel (6.18 to 7.1) breaks programs whose probes are 5-byte "
		    "nops when "
		    "they are traced; vmspan's are not, and it refuses those that are");
		advise(c, "Mind other tools on programs with 5-byte nops; 7.2 is sound.");
		break;
	}
}

static void check_caps(struct check *c)
{
	bool ptrace = kernel_has_cap(CAP_SYS_PTRACE);
	char missing[96], give[KERNEL_GIVE_MAX];

	if (box_user_namespace()) {
		set(c, CHECK_FAIL, "those of a user namespace do not count for tracing");
		c->status = EXIT_PERMISSION;
		advise(c, "See user namespace below.");
		return;
	}
	kernel_missing(missing);
	kernel_give(missing, give);
	if (missing[0]) {
		set(c, CHECK_FAIL, "missing: %s%s", missing, ptrace ? "" : ", CAP_SYS_PTRACE");
		c->status = EXIT_PERMISSION;
		advise(c, give);
		return;
	}
	/* Without ptrace rights one's own processes can still be traced. */
	set(c, ptrace ? CHECK_OK : CHECK_WARN, "%s%s",
	    kernel_has_cap(CAP_SYS_ADMIN) ? "all that is needed" : "CAP_BPF and CAP_PERFMON",
	    ptrace ? "" : "; processes of other users cannot be traced without CAP_SYS_PTRACE");
	if (!ptrace)
		snprintf(c->advice, sizeof(c->advice), "For those: %s", give);
}

static void check_paranoid(struct check *c)
{
	set(c, CHECK_OK, "%d",
	    (int)kernel_read_number("/proc/sys/kernel/perf_event_paranoid", -100));
	if (!kernel_perf_level())
		return;
	/* uprobe_multi links are not perf events. */
	set(c, kernel_has_uprobe_multi() ? CHECK_WARN : CHECK_FAIL,
	    "%d: perf events are for CAP_SYS_ADMIN only, so no stacks of stock VMs, no direct "
	    "method and no TSC for BPF",
	    kernel_perf_level());
	c->status = EXIT_PERMISSION;
	advise(c, KERNEL_PERF_ADVICE);
}

static void check_unprivileged(struct check *c)
{
	s64 v = kernel_read_number("/proc/sys/kernel/unprivileged_bpf_disabled", -1);

	set(c, CHECK_OK, "%s",
	    v < 0 ? "unknown"
	    : v   ? "disabled for users without rights"
		  : "enabled; vmspan needs more than that");
}

static void check_lockdown(struct check *c)
{
	char line[96];

	if (kernel_read_line("/sys/kernel/security/lockdown", line, sizeof(line)) ||
	    strstr(line, "[none]")) {
		set(c, CHECK_OK, "none");
		return;
	}
	set(c, strstr(line, "[confidentiality]") ? CHECK_FAIL : CHECK_WARN, "%s", line);
	c->status = EXIT_PERMISSION;
	advise(c, "Locked down for confidentiality, a kernel lets nobody trace: boot with "
		  "lockdown=integrity or none.");
}

static void check_filter(struct check *c)
{
	char names[BOX_CALLS_MAX];
	u32 refused = box_refused();

	box_calls(refused, names);
	set(c,
	    refused & ~(u32)(BOX_PROCESS_VM_READV | BOX_PROCESS_VM_WRITEV) ? CHECK_FAIL
	    : refused                                                      ? CHECK_WARN
									   : CHECK_OK,
	    refused ? "a filter (seccomp) refuses %s" : "none that refuses what tracing takes",
	    names);
	c->status = EXIT_PERMISSION;
	if (refused)
		advise(c, box_allow());
	else if (box_unsure())
		set(c, CHECK_WARN,
		    "there is one (seccomp); whether it refuses bpf(2) shows with CAP_BPF");
}

static void check_container(struct check *c)
{
	const char *name = box_container();

	set(c, CHECK_OK, "%s", name ? name : "none that is known");
}

/* Capabilities of a user namespace do not reach BPF. */
static void check_user_namespace(struct check *c)
{
	const ino_t initial = 0xeffffffdu;
	struct stat st;

	if (stat("/proc/self/ns/user", &st)) {
		set(c, CHECK_WARN, "unknown: is /proc mounted?");
		return;
	}
	if (st.st_ino == initial) {
		set(c, CHECK_OK, "the initial one");
		return;
	}
	set(c, CHECK_FAIL, "not the initial one: what root is in here may not trace");
	c->status = EXIT_PERMISSION;
	advise(c, "Run vmspan outside the container; it traces what runs inside by PID.");
}

/* process_vm_readv(2) of definitions and of what threads have gathered. */
static void check_ptrace_scope(struct check *c)
{
	s64 v = kernel_read_number("/proc/sys/kernel/yama/ptrace_scope", 0);

	set(c, CHECK_OK, v ? "%d, which CAP_SYS_PTRACE is not held to" : "%d", (int)v);
	if (v < 1 || (v < 3 && kernel_has_cap(CAP_SYS_PTRACE)))
		return;
	set(c, CHECK_WARN, "%d: a target's definitions can be read %s", (int)v,
	    v >= 3 ? "by nobody" : "by root and its parent only");
	advise(c,
	       v >= 3 ? "Only a reboot without kernel.yama.ptrace_scope=3 changes it."
		      : "Give vmspan CAP_SYS_PTRACE; or: sudo sysctl kernel.yama.ptrace_scope=0");
}

/* Kernels before 5.11 charge BPF maps to it. */
static void check_memlock(struct check *c)
{
	bool charged = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) != 1;
	struct rlimit r = { 0 };

	getrlimit(RLIMIT_MEMLOCK, &r);
	if (r.rlim_max == RLIM_INFINITY)
		set(c, CHECK_OK, "unlimited");
	else
		set(c, CHECK_OK, "%llu KB%s", (unsigned long long)r.rlim_max >> 10,
		    charged ? "" : "; this kernel does not hold BPF to it");
	if (!charged || r.rlim_max >= 64u << 20 || kernel_has_cap(CAP_SYS_RESOURCE))
		return;
	c->result = CHECK_WARN;
	advise(c, "Kernels before 5.11 charge BPF maps to it: ulimit -l unlimited, or "
		  "LimitMEMLOCK=infinity in a systemd unit.");
}

static void check_namespace(struct check *c)
{
	const ino_t initial = 0xeffffffcu;
	struct stat st;

	if (stat("/proc/self/ns/pid", &st)) {
		set(c, CHECK_WARN, "unknown: is /proc mounted?");
		return;
	}
	set(c, CHECK_OK,
	    st.st_ino == initial ? "the initial one"
				 : "not the initial one: PIDs are as seen in here");
}

u32 checks_machine(struct check list[CHECKS_MAX])
{
	static const struct {
		const char *id, *what;
		void (*run)(struct check *c);
	} table[] = {
		{ "kernel", "kernel version", check_kernel },
		{ "capabilities", "capabilities", check_caps },
		{ "perf_event_paranoid", "kernel.perf_event_paranoid", check_paranoid },
		{ "unprivileged_bpf", "unprivileged BPF", check_unprivileged },
		{ "lockdown", "kernel lockdown", check_lockdown },
		{ "seccomp", "filter of system calls", check_filter },
		{ "container", "container", check_container },
		{ "ptrace_scope", "kernel.yama.ptrace_scope", check_ptrace_scope },
		{ "memlock", "locked memory", check_memlock },
		{ "user_namespace", "user namespace", check_user_namespace },
		{ "pid_namespace", "PID namespace", check_namespace },
		{ "btf", "kernel types (BTF)", check_btf },
		{ "uprobe", "probes in programs", check_uprobes },
		{ "uprobe_multi", "many probes at once", check_uprobe_multi },
		{ "ring_buffer", "BPF ring buffer", check_ring },
		{ "tp_btf", "following children", check_tracepoints },
		{ "task_storage", "BPF task storage", check_storage },
		{ "msr_tsc", "TSC for BPF", check_msr },
		{ "tsc", "time-stamp counter", check_tsc },
		{ "tsc_sync", "counters of the CPUs", check_tsc_sync },
		{ "optimized_probes", "optimized probes", check_nops },
		{ "load", "vmspan's BPF programs", check_load },
	};
	u32 i;

	kernel_catch_log();
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		list[i] = (struct check){ .id = table[i].id,
					  .what = table[i].what,
					  .status = EXIT_FAILED };
		table[i].run(&list[i]);
	}
	return i;
}
