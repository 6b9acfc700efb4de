/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The maps and knobs all objects share. The static linker folds the weak maps
 * into one; the knobs are defined in flush.bpf.c.
 */
#ifndef BPF_MAPS_H
#define BPF_MAPS_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "bpf/wire.h"

/* Of processes traced at one time, children included. */
#define TRACED_MAX 16384

/* Sized by user space before load. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} ring SEC(".maps") __weak;

/* By tgid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TRACED_MAX);
	__type(key, __u32);
	__type(value, struct traced_process);
} traced SEC(".maps") __weak;

/* By tgid, of traced processes. Apart from what the kernel side writes there, or one would write over
 * what the other has. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TRACED_MAX);
	__type(key, __u32);
	__type(value, struct traced_armed);
} marks_armed SEC(".maps") __weak;

/* By enum wire_counter. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNT_MAX);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps") __weak;

/*
 * Stay empty; see stay_on_own_stack(). Several, because the programs that have one in common must attach
 * alike: those at the SDK's sites, those at probes of stock VMs, and those of the direct method attach by perf
 * events or by uprobe_multi each for reasons of their own.
 */
#define NO_PROGRAMS(name)                              \
	struct {                                       \
		__uint(type, BPF_MAP_TYPE_PROG_ARRAY); \
		__uint(max_entries, 1);                \
		__type(key, __u32);                    \
		__type(value, __u32);                  \
	} name SEC(".maps") __weak
NO_PROGRAMS(no_programs);
NO_PROGRAMS(no_sites);
NO_PROGRAMS(no_vm_sites);
extern const volatile bool tail_calls;

/* Data in the ring that is worth waking the reader for: bytes. */
extern const volatile __u64 wake_bytes;
/* Inode of the reader's PID namespace: ids are as seen there. 0: the initial
 * namespace, whose ids are at hand. */
extern const volatile __u32 ns_inum;
/* Every exec is told of, and its process traced with these flags until user
 * space says no. 0: only those of traced processes are. */
extern const volatile __u32 sweep_flags;
/* An event of at least so many ns wakes the reader at once. 0: none does. */
extern const volatile __u64 alert_ns;
/* The same in cycles. */
extern const volatile __u64 alert_cycles;
/* The tracer has turned the marks of all off, or is about to. */
extern __u32 marks_off;
/* When the reader was last woken, ns. Written without order: two wake-ups
 * instead of one do no harm. */
extern __u64 last_wake;

#endif
