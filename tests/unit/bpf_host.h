/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel side's programs as functions of a test: maps, tasks and what the kernel's helpers
 * say are made up. For what a running kernel does not do at will; that the programs load and
 * attach, live tests show. To be included before the programs and before anything else.
 */
#ifndef TESTS_BPF_HOST_H
#define TESTS_BPF_HOST_H

/* Made for another compiler and machine. */
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Warray-bounds"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wunknown-attributes"
#pragma GCC diagnostic ignored "-Wignored-attributes"
#pragma GCC diagnostic ignored "-Wunused-const-variable"
#else
#pragma GCC diagnostic ignored "-Wattributes"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#ifdef __x86_64__
#define __TARGET_ARCH_x86
#else
#define __TARGET_ARCH_arm64
#endif
#define __builtin_preserve_access_index(x) (x)
#define __builtin_preserve_field_info(x, kind) (!host.lacks || !strstr(#x, host.lacks))
#define __builtin_preserve_enum_value(x, kind) 1
#define __builtin_preserve_type_info(x, kind) 1
#include "bpf/maps.bpf.h"
#undef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#undef BPF_CORE_READ_BITFIELD
#define BPF_CORE_READ_BITFIELD(s, field) ((s)->field)

enum {
	TRACED = 100 /* a process */
};

static struct {
	__u64 counted[COUNT_MAX];
	__u64 tsc, tsc_offset; /* 0: not set */
	long tsc_error;
	__u32 cpu;
	bool tables_full, ring_full;
	const void *bad; /* memory that cannot be read */
	const char *hole; /* a byte that cannot, wherever a read begins */
	const char *lacks; /* a field that its kernel has not, as programs name it */
	__u32 reads; /* of memory */
	struct traced_process process;
	struct task_struct thread, other, *current; /* the first is of the traced process */
	struct rq run_queue;
	struct cfs_rq cfs;
	struct pt_regs registers;
	__u64 record[2048]; /* the newest in the ring */
	__u64 submitted; /* with these flags */
	__u64 discarded; /* the same of what was given up */
	__u64 waiting; /* bytes in the ring that nobody has taken */
	__u32 records; /* that have been submitted */
	void (*taken)(void); /* called for each */
	char written[2048]; /* by an iterator's program */
	__u32 written_len;
	/* Maps and storage of the programs themselves. */
	void *(*more)(void *map, const void *key);
	__u32 made; /* times that storage was asked for where there is none */
	__u32 deleted; /* entries of tables */
	struct traced_process updated; /* the newest value of `traced` */
} host;

static void *made_lookup(void *map, const void *key);
static long made_update(void *map, const void *key, const void *value, __u64 flags);
static long made_delete(void);
static void *made_storage(void *map, void *task, void *value, __u64 flags);
static long made_counter_value(void *map, __u64 flags, struct bpf_perf_event_value *v, __u32 size);
static void *made_reserve(void *map, __u64 size, __u64 flags);
static long made_read(void *to, __u32 size, const void *from);
static long made_read_text(void *to, __u32 size, const void *from);
static __u64 made_ids(void);
static void made_submit(void);
static long made_write(const void *from, __u32 size);

#define bpf_map_lookup_elem(map, key) made_lookup(map, key)
#define bpf_map_delete_elem(map, key) made_delete()
#define bpf_map_update_elem(map, key, value, flags) made_update(map, key, value, flags)
#define bpf_task_storage_get(map, task, value, flags) made_storage(map, task, value, flags)
#define bpf_perf_event_read_value(map, flags, v, size) made_counter_value(map, flags, v, size)
#define bpf_ringbuf_reserve(ring, size, flags) made_reserve(ring, size, flags)
#define bpf_ringbuf_submit(record, flags) ((void)(record), host.submitted = (flags), made_submit())
#define bpf_ringbuf_discard(record, flags) ((void)(record), host.discarded = (flags))
#define bpf_ringbuf_query(ring, flags) \
	((flags) == BPF_RB_RING_SIZE ? 4 * wake_bytes : (__u64)host.waiting)
#define bpf_probe_read_kernel(to, size, from) made_read(to, size, from)
#define bpf_probe_read_user(to, size, from) made_read(to, size, from)
#define bpf_probe_read_kernel_str(to, size, from) made_read_text(to, size, from)
#define bpf_seq_write(seq, from, size) ((void)(seq), made_write(from, size))
#define bpf_get_current_task_btf() host.current
#define bpf_get_current_task() ((__u64)host.current)
#define bpf_get_current_pid_tgid() made_ids()
#define bpf_get_smp_processor_id() (host.cpu)
#define bpf_ktime_get_ns() 1000ull
#define bpf_get_attach_cookie(ctx) ((void)(ctx), 0ull)
#define bpf_tail_call(ctx, map, index) ((void)(ctx), (void)(map))
#define bpf_task_pt_regs(task) ((long)&host.registers)
/* Evaluates to how often it was called, as the kernel's does. */
#define bpf_loop(times, fn, ctx, flags)             \
	({                                          \
		__u32 called_ = 0;                  \
		while (called_ < (__u32)(times))    \
			if ((fn)(called_++, (ctx))) \
				break;              \
		(long)called_;                      \
	})

#include "bpf/clock.bpf.h"

#include <string.h>

/* What user space sets. */
const volatile bool use_tsc = true, exact = true, tail_calls = false;
const volatile __u64 cycles_hz = 1000000000, wake_bytes = 1000, alert_ns = 0, alert_cycles = 100;
const volatile __u32 ns_inum = 0, sweep_flags = 0;
__u32 sched_watch = 1;
__u32 marks_off;
__u64 last_wake;
/* What libbpf sets. */
const bool LINUX_HAS_BPF_COOKIE = true;

static void *made_lookup(void *map, const void *key)
{
	__u32 at = *(const __u32 *)key;

	if (map == &counters)
		return &host.counted[at];
	if (map == &tsc_offsets)
		return host.tsc_offset ? &host.tsc_offset : NULL;
	if (map == &traced)
		return at == TRACED ? &host.process : NULL;
	return host.more ? host.more(map, key) : NULL;
}

static long made_update(void *map, const void *key, const void *value, __u64 flags)
{
	if (map == &traced)
		host.updated = *(const struct traced_process *)value;
	return host.tables_full ? -7 : 0;
}

static long made_write(const void *from, __u32 size)
{
	if (size > sizeof(host.written) - host.written_len)
		return -1;
	memcpy(host.written + host.written_len, from, size);
	host.written_len += size;
	return 0;
}

static long made_delete(void)
{
	host.deleted++;
	return 0;
}

static void *made_storage(void *map, void *task, void *value, __u64 flags)
{
	host.made += flags == BPF_LOCAL_STORAGE_GET_F_CREATE;
	return host.more && task == &host.thread ? host.more(map, NULL) : NULL;
}

static long made_counter_value(void *map, __u64 flags, struct bpf_perf_event_value *v, __u32 size)
{
	v->counter = host.tsc;
	return host.tsc_error;
}

static void *made_reserve(void *map, __u64 size, __u64 flags)
{
	return host.ring_full || size > sizeof(host.record) ? NULL : host.record;
}

static void made_submit(void)
{
	host.records++;
	if (host.taken)
		host.taken();
}

/* As the kernel does, it leaves zeroes where it cannot read. */
static __attribute__((noinline)) long made_read(void *to, __u32 size, const void *from)
{
	host.reads++;
	memset(to, 0, size);
	if (!from || from == host.bad ||
	    (host.hole && (const char *)from <= host.hole && host.hole < (const char *)from + size))
		return -14;
	memcpy(to, from, size);
	return 0;
}

static __attribute__((unused)) long made_read_text(void *to, __u32 size, const void *from)
{
	host.reads++;
	memset(to, 0, size);
	strncat(to, from, size - 1);
	return (long)strlen(to) + 1;
}

static __u64 made_ids(void)
{
	return (__u64)host.current->tgid << 32 | (__u32)host.current->pid;
}

static void machine_make(void)
{
	memset(&host, 0, sizeof(host));
	host.tsc = 5000;
	host.tsc_offset = 1000000;
	host.thread = (struct task_struct){ .pid = TRACED, .tgid = TRACED };
	host.other = (struct task_struct){ .pid = 200, .tgid = 200, .comm = "other" };
	host.cfs.rq = &host.run_queue;
	host.thread.se.cfs_rq = host.other.se.cfs_rq = &host.cfs;
	host.thread.group_leader = &host.thread;
	host.other.group_leader = &host.other;
	host.current = &host.thread;
	host.process.flags = TRACED_CHILDREN;
}

#endif
