/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The carrier: vmspan:flush of an instrumented process. One trap, one copy from the
 * target into the ring buffer: of marks, or of a batch of records where the process was
 * built with version 1 of the SDK, whose arguments are (batch, bytes, seq).
 *
 * There is no per-CPU buffer in between. Programs on uprobes run with
 * migration off but may be preempted, so a second task on the same CPU could
 * write into a buffer that the first one has half filled. A reservation in the
 * ring belongs to one program run, and saves a copy.
 *
 * Nothing from the target is trusted: not the pointer, not the size.
 */
#include "bpf/clock.bpf.h"
#include "bpf/marks.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum bpf_func_id___cookie {
	BPF_FUNC_get_attach_cookie___cookie = 174
};

const volatile __u64 wake_bytes = 2 << 20;
const volatile __u32 ns_inum = 0;
const volatile __u32 sweep_flags = 0;
const volatile bool use_tsc = false;
const volatile __u64 cycles_hz = 0;
const volatile bool exact = false;
const volatile __u64 alert_ns = 0;
const volatile __u64 alert_cycles = 0;
const volatile bool tail_calls = false;
__u64 last_wake = 0;
__u32 sched_watch = 0;
__u32 marks_off = 0;

/*
 * Does the batch end with an event that took as long as somebody waits for?
 * The SDK hands a batch over when an event ends, so that record is the last.
 * A forged one wakes the reader, and nothing more.
 */
static __always_inline bool is_alert(const void *records_end)
{
	struct vmspan_event e;

	if (!alert_ns ||
	    bpf_probe_read_kernel(&e, sizeof(e), (const char *)records_end - sizeof(e)))
		return false;
	return e.h.type == VMSPAN_EVENT && e.h.slots == sizeof(e) / VMSPAN_SLOT &&
	       e.mono_end > e.mono_begin && e.mono_end - e.mono_begin >= alert_ns;
}

/* Records of a batch that found no room: its head is believed if it can be
 * read and makes sense, else every slot is one. */
static __always_inline __u32 records_of(const void *batch, __u32 bytes)
{
	__u32 slots = (bytes - VMSPAN_BATCH_HEADER) / VMSPAN_SLOT;
	struct vmspan_batch head;

	if (bpf_probe_read_user(&head, sizeof(head), batch))
		return slots;
	return head.magic == VMSPAN_BATCH_MAGIC && head.records <= slots ? head.records : slots;
}

/* `room` is a constant at every call: the verifier wants one. */
static __always_inline int carry(struct ids ids, const void *batch, __u32 bytes, const __u32 room)
{
	struct wire_head *h = bpf_ringbuf_reserve(&ring, sizeof(*h) + room, 0);
	__u32 slots = (bytes - VMSPAN_BATCH_HEADER) / VMSPAN_SLOT;

	if (!h) {
		count(COUNT_RING_FULL_BATCHES, 1);
		count(COUNT_RING_FULL_RECORDS, records_of(batch, bytes));
		return 0;
	}
	/* clang must not drop the check because the caller has made it. */
	barrier_var(bytes);
	if (bytes > room || bpf_probe_read_user(h + 1, at_most(bytes, room), batch)) {
		bpf_ringbuf_discard(h, fill_flags());
		count(COUNT_READ_FAULT_BATCHES, 1);
		count(COUNT_READ_FAULT_RECORDS, slots);
		return 0;
	}
	h->kind = WIRE_BATCH;
	h->bytes = bytes;
	h->pid = ids.tgid;
	h->tid = ids.tid;
	bpf_ringbuf_submit(h, wake_flags(slots >= sizeof(struct vmspan_event) / VMSPAN_SLOT &&
					 is_alert((const char *)(h + 1) + bytes)));
	return 0;
}

static __always_inline int flush_batch(struct ids ids, const void *batch, __u64 size)
{
	__u32 bytes;

	if (size < VMSPAN_BATCH_HEADER || size > VMSPAN_BATCH_BYTES || size % VMSPAN_SLOT) {
		count(COUNT_MALFORMED, 1);
		return 0;
	}
	bytes = size;
	/* What the scheduler did to these spans has to be known before them. */
	if (exact && !sched_hand_over((__u64)batch, false)) {
		count(COUNT_RING_FULL_BATCHES, 1);
		count(COUNT_RING_FULL_RECORDS, records_of(batch, bytes));
		return 0;
	}
	if (bytes <= WIRE_SMALL)
		return carry(ids, batch, bytes, WIRE_SMALL);
	if (bytes <= WIRE_MIDDLE)
		return carry(ids, batch, bytes, WIRE_MIDDLE);
	if (bytes <= WIRE_LARGE)
		return carry(ids, batch, bytes, WIRE_LARGE);
	return carry(ids, batch, bytes, WIRE_FULL);
}

/* Who defines writes no further than the text goes: what lies behind it in its last slot may be on a page that is not
 * there yet. */
static __always_inline bool definition_read(void *to, const struct vmspan_def *def, __u32 bytes)
{
	__u64 *last =
		to + (at_most(bytes - VMSPAN_SLOT, WIRE_DEFINITION_MAX - VMSPAN_SLOT) & ~7ull);
	struct vmspan_def head;
	__u32 used;

	if (bpf_probe_read_user(&head, sizeof(head), def))
		return false;
	used = sizeof(head) + head.count * 4u + head.name_len;
	last[0] = last[1] = last[2] = last[3] = 0;
	if (used > bytes)
		used = bytes;
	barrier_var(used);
	return !bpf_probe_read_user(to, at_most(used, WIRE_DEFINITION_MAX), def);
}

static __always_inline int carry_definition(struct ids ids, const void *def, __u32 bytes,
					    __u64 process)
{
	struct wire_definition *d;

	if (bytes < VMSPAN_SLOT || bytes > WIRE_DEFINITION_MAX) {
		count(COUNT_MALFORMED, 1);
		return 0;
	}
	d = bpf_ringbuf_reserve(&ring, sizeof(*d) + WIRE_DEFINITION_MAX, 0);
	if (!d) {
		count(COUNT_RING_FULL_BATCHES, 1);
		count(COUNT_RING_FULL_RECORDS, 1);
		return 0;
	}
	barrier_var(bytes);
	if (!definition_read(d + 1, def, bytes)) {
		bpf_ringbuf_discard(d, fill_flags());
		count(COUNT_READ_FAULT_BATCHES, 1);
		count(COUNT_READ_FAULT_RECORDS, 1);
		return 0;
	}
	d->h.kind = WIRE_DEFINITION;
	d->h.bytes = sizeof(*d) - sizeof(d->h) + bytes;
	d->h.pid = ids.tgid;
	d->h.tid = ids.tid;
	d->process = process;
	d->bytes = bytes;
	d->pad = 0;
	bpf_ringbuf_submit(d, wake_flags(false));
	return 0;
}

/* A process marks: so those of its copy of the SDK are on, which lies as far from the probe as its
 * attachment says. */
static __always_inline void marks_on(struct pt_regs *ctx, __u32 pid)
{
	struct traced_armed *a, first = {};
	const struct vmspan_registry *r;
	__u64 cookie, next, now;
	__u16 semaphore;
	__u32 i;

	/* Linux 5.15. */
	if (!bpf_core_enum_value_exists(enum bpf_func_id___cookie,
					BPF_FUNC_get_attach_cookie___cookie))
		return;
	cookie = bpf_get_attach_cookie(ctx);
	r = (const void *)(PT_REGS_IP(ctx) + cookie);
	if (!cookie || bpf_probe_read_user(&semaphore, sizeof(semaphore), &r->semaphore) ||
	    !semaphore)
		return;
	a = bpf_map_lookup_elem(&marks_armed, &pid);
	if (!a) {
		first.at[0] = (__u64)r;
		bpf_map_update_elem(&marks_armed, &pid, &first, BPF_NOEXIST);
		return;
	}
	for (i = 0; i < TRACED_REGISTRIES; i++)
		if (a->at[i] == (__u64)r)
			return;
	for (i = 0, next = (__u64)r; next && i < TRACED_REGISTRIES; i++) {
		now = a->at[i];
		a->at[i] = next;
		next = now;
	}
}

SEC("uprobe")
int flush(struct pt_regs *ctx)
{
	struct ids ids = memory_ids();
	const void *what = (const void *)PT_REGS_PARM1(ctx);
	__u64 size = PT_REGS_PARM2(ctx), from = PT_REGS_PARM3(ctx);
	struct traced_process *p;

	stay_on_own_stack(ctx, &no_sites);
	p = bpf_map_lookup_elem(&traced, &ids.tgid);
	/* Of a process nobody asked for. */
	if (!p)
		return 0;
	if (size == VMSPAN_FLUSH_MARKS) /* the first of a thread */
		marks_on(ctx, ids.tgid);
	if (size & VMSPAN_FLUSH_MARKS)
		return carry_marks(ids, p, what, (__u32)size, from);
	if (size & VMSPAN_FLUSH_DEFINITION)
		return carry_definition(ids, what, (__u32)size, from);
	return flush_batch(ids, what, size);
}

/*
 * vmspan:armed is never executed. The breakpoint there is what makes the
 * kernel raise the process's semaphore, and lower it when the tracer is gone.
 */
SEC("uprobe")
int armed(struct pt_regs *ctx)
{
	return 0;
}

/* The same for a uprobe_multi link, from Linux 6.6 on; see site.c. */
SEC("?uprobe")
int armed_multi(struct pt_regs *ctx)
{
	return 0;
}
