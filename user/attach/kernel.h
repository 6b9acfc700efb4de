/* SPDX-License-Identifier: BSD-2-Clause */
/* What this kernel and this user can do. Nothing here attaches anything. */
#ifndef ATTACH_KERNEL_H
#define ATTACH_KERNEL_H

#include "base/err.h"

/* What the kernel does with multi-byte nops that are probed. */
enum nop_state {
	NOPS_PLAIN, /* nothing special: up to 6.17, and not x86-64 */
	NOPS_UNSAFE, /* 6.18 to 7.1: a 5-byte nop becomes a call that breaks programs */
	NOPS_SAFE, /* from 7.2: a 10-byte nop is optimized, safely */
};
enum nop_state kernel_nops(void);

/* Effective capabilities of this process, a bit each; 0 if unknown. */
u64 kernel_capabilities(void);
bool kernel_has_cap(unsigned int cap);
/* kernel.perf_event_paranoid, where perf events are refused to this process for it alone: kernels of Ubuntu, and of
 * Debian by their age, keep them for CAP_SYS_ADMIN where it is above 2. Else 0. And what to do about it. */
int kernel_perf_level(void);
#define KERNEL_PERF_ADVICE "Run vmspan with sudo; or: sudo sysctl kernel.perf_event_paranoid=2"
/* The capabilities that tracing one's own processes lacks, as a list; "": none. */
void kernel_missing(char to[96]);
/* What gives what kernel_missing() has found: a sentence, or two. */
#define KERNEL_GIVE_MAX 256
void kernel_give(const char *missing, char to[KERNEL_GIVE_MAX]);
/*
 * uprobe_multi links (6.6): probes in programs with CAP_BPF and CAP_PERFMON
 * alone, where perf events at user probes want CAP_SYS_ADMIN. Made by the
 * system call, since libbpf before 1.3 does not know them. Places in one file.
 * The program must have been loaded for them. A descriptor that is the link, or
 * negative errno.
 */
#define KERNEL_UPROBE_MULTI 48 /* enum bpf_attach_type */
struct kernel_probes {
	const char *path;
	const u64 *offsets;
	const u64 *semaphores; /* their offsets in the file, 0: none; or NULL */
	const u64 *cookies; /* what bpf_get_attach_cookie() is to say; or NULL */
	u32 count;
	u32 pid; /* 0: every process */
};
int kernel_uprobe_multi(int program, const struct kernel_probes *p);
/* Does one for a process serve all of its threads, as long as there are any? */
bool kernel_multi_by_process(void);
/* Can this kernel and this user make them? */
bool kernel_has_uprobe_multi(void);

/* What the kernel says of the counters of the CPUs. It has them on a list of clock sources, and
 * takes them off when it has found them to disagree; or it never tried, having been told so
 * at its start (tsc=unstable on its command line), as some hosts of virtual machines do. */
#define KERNEL_CLOCKSOURCES "/sys/devices/system/clocksource/clocksource0"
enum kernel_counter {
	COUNTER_TRUSTED, /* also where it says nothing, and off x86-64 */
	COUNTER_UNTRIED,
	COUNTER_UNSTABLE,
};
enum kernel_counter kernel_counter(void);

/* Does this kernel let a thread see each time that it had no CPU, by its rseq_cs? From Linux 6.19 on it
 * does not where the thread has blocked in a system call. */
bool kernel_rseq_tells_all(void);

/* The first line of a small file, without its end. -errno. */
int kernel_read_line(const char *path, char *to, size_t cap);
/* A number in a small file, or `otherwise`. */
s64 kernel_read_number(const char *path, s64 otherwise);

/*
 * Fills *err for a failure of the kernel to do `what`: -EPERM and -EACCES name
 * what is missing and how to give it; other codes get their strerror and the
 * last lines of libbpf's log as a hint. Returns code.
 */
int kernel_error(struct err *err, int code, const char *what);

/* Keeps the last lines of libbpf's log instead of printing them. */
void kernel_catch_log(void);

#endif
