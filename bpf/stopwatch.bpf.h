/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The stopwatch of a thread that is marked by traps: what the programs of
 * conventional probes and those of function probes share. The functions that
 * are not static are in stopwatch.bpf.c.
 */
#ifndef BPF_STOPWATCH_H
#define BPF_STOPWATCH_H

#include "bpf/clock.bpf.h"
#include "bpf/watch.bpf.h"

extern const volatile __u64 flush_cycles;
extern __u32 watch_last;

int watch_flush(struct watch *w);
int watch_change(struct watch *w);
int watch_close(struct watch *w, struct watch_stack *k, __u64 end, __u64 result, __u32 flags);
int watch_unwind(struct watch *w, struct watch_stack *k, __u32 depth, __u64 end);
int watch_rematch(struct watch *w, struct watch_stack *k, __u32 id, __u64 end);

/* Both pieces of a thread's state. NULL: there is no memory. */
static __always_inline struct watch *watch_make(struct task_struct *task, struct watch_stack **k)
{
	*k = bpf_task_storage_get(&watch_stacks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!*k)
		return NULL;
	return bpf_task_storage_get(&watches, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline void reset(struct watch *w)
{
	w->depth = w->turns = w->deep_open = w->turns_over = 0;
	w->iteration = w->iteration_last = w->used = w->extra = w->lost = 0;
	w->lost_outside = w->too_deep_told = w->outside = w->unplaced = 0;
}

/* A thread's first mark. `registry`: whose its records are. */
static __always_inline void watch_start(struct watch *w, struct ids ids, __u64 registry)
{
	__builtin_memset(&w->batch, 0, sizeof(w->batch));
	w->batch.magic = VMSPAN_BATCH_MAGIC;
	w->batch.abi = ABI1;
	w->batch.registry = registry;
	w->batch.thread = __sync_fetch_and_add(&watch_last, 1);
	w->batch.tid = ids.tid;
	w->ids = ids;
	w->started = 1;
	w->calls = registry == WIRE_CALLS_REGISTRY;
	reset(w);
	w->flush_at = cycles_now() + flush_cycles;
}

/* Zeroed space for a record. NULL only for the verifier's sake. */
static __always_inline void *append(struct watch *w, const __u32 slots)
{
	__u64 *p;
	__u32 at, i;

	if (w->used > WATCH_SLOTS - slots)
		watch_flush(w);
	at = w->used;
	if (at > WATCH_SLOTS - slots)
		return NULL;
	w->used = at + slots;
	w->extra += slots - 1;
	p = (__u64 *)((char *)w->records + at * VMSPAN_SLOT);
	for (i = 0; i < slots * VMSPAN_SLOT / 8; i++)
		p[i] = 0;
	return p;
}

/* After a record: a full or an old batch goes out. */
static __always_inline void settle(struct watch *w, __u64 now)
{
	if (w->used < WATCH_SLOTS && now < w->flush_at)
		return;
	watch_flush(w);
	w->flush_at = now + flush_cycles;
}

static __always_inline __u32 base_of(struct watch *w)
{
	__u32 i = w->turns - 1;

	/* clang must check this value, not the one it was made from. */
	barrier_var(i);
	return i < WATCH_TURNS ? w->turn[i].base : 0;
}

/* Stays of the open event that found no place: they are left before those below them, and the
 * event's end is theirs. */
static __always_inline __u32 too_deep_here(struct watch *w)
{
	__u32 i = w->turns - 1;

	barrier_var(i);
	return w->deep_open - (i < WATCH_TURNS ? w->turn[i].too_deep_open : 0);
}

/* The newest stay of `id` above `base`; if there is none, `base` or less. */
static __always_inline __u32 find_open(struct watch *w, struct watch_stack *k, __u32 id, __u32 base)
{
	__u32 d = w->depth;
	int i;

	for (i = 0; i < WATCH_DEPTH; i++) {
		if (d <= base || d > WATCH_DEPTH || k->open[d].id == id)
			break;
		d--;
	}
	return d;
}

/* Is that the stay which has to be left first? What was open when the event began is none. */
static __always_inline bool is_top(struct watch *w, struct watch_stack *k, __u32 id)
{
	__u32 d = w->depth;

	if (d <= base_of(w) || too_deep_here(w))
		return false;
	/* clang must not check d - 1 instead: verifiers up to 6.1 then know nothing of d. */
	barrier_var(d);
	return d <= WATCH_DEPTH && k->open[d].id == id;
}

/* Marks of the thread that have no record. */
static __always_inline __u32 lost_marks(const struct watch *w)
{
	return w->lost + w->batch.too_deep;
}

static __always_inline void push(struct watch *w, struct watch_stack *k, __u32 id, __u32 label,
				 __u64 aux)
{
	__u32 d = w->depth + 1;
	struct watch_open *o;

	if (d > WATCH_DEPTH) {
		w->deep_open++;
		w->batch.too_deep++;
		return;
	}
	o = &k->open[d];
	o->id = id;
	o->label = label;
	o->aux = aux;
	o->reentered = 0;
	o->cpu = bpf_get_smp_processor_id();
	o->begin = cycles_now();
	if (!o->begin)
		return;
	w->depth = d;
	/* Asked before, clang would check this value in place of the other, and verifiers up to 6.1 then know nothing
	 * of that. */
	barrier_var(d);
	if (d == 1 && !w->turns)
		w->lost_outside = lost_marks(w);
}

#endif
