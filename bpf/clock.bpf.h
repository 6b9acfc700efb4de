/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clock of records made in the kernel: the one of the SDK's records. */
#ifndef BPF_CLOCK_H
#define BPF_CLOCK_H

#include "bpf/emit.bpf.h"

/* Cycles are the TSC, read through per-CPU perf events; else they are ns of
 * CLOCK_MONOTONIC. Defined in flush.bpf.c. */
extern const volatile bool use_tsc;
/* Cycles a second, close, not exact. Defined in flush.bpf.c. */
extern const volatile __u64 cycles_hz;

/* One msr/tsc event a CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(int));
	__uint(value_size, sizeof(int));
} tsc_events SEC(".maps") __weak;

/* By CPU: what to add to the event's count, which starts at 0, for the TSC. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} tsc_offsets SEC(".maps") __weak;

/* 0: the clock cannot be read (the CPU came up after the trace began). */
static __always_inline __u64 cycles_now(void)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct bpf_perf_event_value v = {};
	__u64 *offset;

	if (!use_tsc)
		return bpf_ktime_get_ns();
	offset = bpf_map_lookup_elem(&tsc_offsets, &cpu);
	/* _read() cannot tell an error from a value. */
	if (offset && *offset &&
	    !bpf_perf_event_read_value(&tsc_events, BPF_F_CURRENT_CPU, &v, sizeof(v)))
		return v.counter + *offset;
	count(COUNT_MARK_LOST, 1);
	return 0;
}

#define CLOCK_SECOND 1000000000ull /* ns */

/* How many cycles so many nanoseconds are. Of a second at a time: the product would not fit. */
static __always_inline __u64 cycles_of(__u64 ns)
{
	return ns / CLOCK_SECOND * cycles_hz + ns % CLOCK_SECOND * cycles_hz / CLOCK_SECOND;
}

#endif
