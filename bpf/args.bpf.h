/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the probes of stock VMs hand over. Sites of a uprobe_multi link have been described by user space
 * (user/attach/vm_sites.c), their cookies say how; those of perf events by libbpf.
 */
#ifndef BPF_ARGS_H
#define BPF_ARGS_H

#include "bpf/maps.bpf.h"
#include "bpf/vm.h"
#include <bpf/usdt.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROBE_ARGS_SETS);
	__type(key, __u32);
	__type(value, struct probe_args);
} vm_args SEC(".maps") __weak;

/* The probes are those of uprobe_multi links. */
extern const volatile bool vm_multi;

static __always_inline __u64 saved_register(struct pt_regs *ctx, __u16 at)
{
	__u64 v = 0;

	if (at != PROBE_NO_REGISTER)
		bpf_probe_read_kernel(&v, sizeof(v), (void *)ctx + at);
	return v;
}

static __always_inline __u64 described_arg(struct pt_regs *ctx, __u32 n)
{
	__u32 set = bpf_get_attach_cookie(ctx), bytes;
	const struct probe_args *args = bpf_map_lookup_elem(&vm_args, &set);
	const struct probe_arg *a;
	__u64 v, at;

	if (!args || n >= PROBE_ARGS)
		return 0;
	a = &args->of[n];
	bytes = a->bytes;
	barrier_var(bytes);
	if (a->is == PROBE_ARG_NONE || !bytes || bytes > sizeof(v))
		return 0;
	v = a->value + saved_register(ctx, a->base) +
	    (saved_register(ctx, a->index) << (a->shift & 3));
	if (a->is == PROBE_ARG_IN_MEMORY) {
		at = v;
		v = 0;
		if (bpf_probe_read_user(&v, bytes, (const void *)at))
			return 0;
	}
	v <<= 64 - 8 * bytes;
	return a->negative ? (__u64)((__s64)v >> (64 - 8 * bytes)) : v >> (64 - 8 * bytes);
}

/* An argument of the probe that was hit; 0 also where it cannot be read. n: a constant. */
static __always_inline __u64 probe_arg(struct pt_regs *ctx, __u32 n)
{
	long v = 0;

	if (vm_multi)
		return described_arg(ctx, n);
	return bpf_usdt_arg(ctx, n, &v) ? 0 : v;
}

#endif
