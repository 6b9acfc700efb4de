/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The direct stopwatch: one trap a mark, for VMs that have conventional
 * probes (enter, leave, event__begin, ...) but not the SDK's carrier. It keeps
 * a thread's stack and batch in task storage and makes the same records by
 * the same rules as the SDK does in the process.
 *
 * Functions that are not static are verified once, by themselves, which keeps
 * the loops over the stack cheap to verify. Their arguments may be NULL as far
 * as the verifier knows.
 *
 * Optional ("?"): loaded when a target needs them.
 */
#include "bpf/stopwatch.bpf.h"
#include <bpf/usdt.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* A batch older than this is handed over by the next mark: cycles. */
const volatile __u64 flush_cycles = 50000000;
/* Threads number from here, apart from those the SDK numbers. */
__u32 watch_last = 0x80000000u;

/* A new batch would not differ from the old but in what follows its head. `made`: of its records. */
static __always_inline int send(struct watch *w, __u32 kind, __u32 made, __u32 slots,
				const __u32 room)
{
	struct wire_head *h = bpf_ringbuf_reserve(&ring, sizeof(*h) + room, 0);
	__u32 bytes = VMSPAN_BATCH_HEADER + slots * VMSPAN_SLOT;

	if (!h) {
		count(COUNT_RING_FULL_BATCHES, 1);
		count(COUNT_RING_FULL_RECORDS, made);
		return 0;
	}
	/* clang must not know that the check below always passes: the verifier
	 * cannot see why it does. */
	barrier_var(bytes);
	if (bytes > room || bpf_probe_read_kernel(h + 1, at_most(bytes, room), &w->batch)) {
		bpf_ringbuf_discard(h, fill_flags());
		count(COUNT_READ_FAULT_BATCHES, 1);
		count(COUNT_READ_FAULT_RECORDS, made);
		return 0;
	}
	h->kind = kind;
	h->bytes = bytes;
	h->pid = w->ids.tgid;
	h->tid = w->ids.tid;
	bpf_ringbuf_submit(h, wake_flags(kind == WIRE_BATCH && !w->batch.seq));
	return 0;
}

/* Hands over what the thread has gathered. */
__noinline int watch_flush(struct watch *w)
{
	/* A target cannot name this registry: its batches come another way. */
	__u32 kind = w && w->batch.registry == WIRE_CALLS_REGISTRY ? WIRE_VM_CALLS : WIRE_BATCH;
	__u32 slots;

	if (!w)
		return 0;
	slots = w->used;
	if (!slots || slots > WATCH_SLOTS)
		return 0;
	w->batch.records = slots - w->extra;
	w->batch.bytes = VMSPAN_BATCH_HEADER + slots * VMSPAN_SLOT;
	if (w->batch.bytes <= WIRE_SMALL)
		send(w, kind, w->batch.records, slots, WIRE_SMALL);
	else
		send(w, kind, w->batch.records, slots, WIRE_MIDDLE);
	w->batch.seq += w->batch.records;
	w->too_deep_told = w->batch.too_deep;
	w->used = w->extra = 0;
	return 0;
}

/* Closes the top stay. */
__noinline int watch_close(struct watch *w, struct watch_stack *k, __u64 end, __u64 result,
			   __u32 flags)
{
	struct watch_open *o;
	struct vmspan_span *s;
	__u32 depth, at;
	bool mark;

	if (!w || !k)
		return 0;
	depth = w->depth;
	if (!depth || depth > WATCH_DEPTH)
		return 0;
	o = &k->open[depth];
	w->depth = depth - 1;
	mark = o->id >= VMSPAN_ID_MARKS;
	s = mark ? append(w, 2) : append(w, 1);
	if (!s)
		return 0;
	s->h.type = o->id == VMSPAN_ID_GC      ? VMSPAN_GC
		    : o->id == VMSPAN_ID_BLOCK ? VMSPAN_BLOCK
					       : VMSPAN_SPAN;
	s->h.slots = mark ? 2 : 1;
	if (w->calls && o->reentered)
		flags |= VMSPAN_F_PART;
	s->h.depth = (depth - 1) | flags;
	s->h.id = mark ? o->label : o->id;
	s->begin = o->begin;
	s->end = end;
	s->cpu_end = bpf_get_smp_processor_id();
	/* One clock for all CPUs: nothing is wrong with a call that moved. */
	s->cpu_begin = w->calls ? s->cpu_end : o->cpu;
	s->iteration = w->iteration;
	at = w->used - 2;
	/* The verifier must see the check of the number that is used. */
	barrier_var(at);
	if (mark && at <= WATCH_SLOTS - 2) {
		void *last = (char *)w->records + at * VMSPAN_SLOT;

		if (o->id == VMSPAN_ID_GC) {
			((struct vmspan_gc *)last)->bytes_before = o->aux;
			((struct vmspan_gc *)last)->bytes_after = result;
		} else if (o->id == VMSPAN_ID_BLOCK) {
			((struct vmspan_block *)last)->peer = o->aux;
		}
	}
	if (!w->depth && !w->turns && !w->calls && w->lost_outside != lost_marks(w))
		s->h.depth |= VMSPAN_F_LACKS;
	if (!mark && !w->turns)
		w->outside = 1;
	if (flags & VMSPAN_F_REPAIRED)
		w->batch.repaired++;
	return 0;
}

/* Closes what was never left above `depth`. */
__noinline int watch_unwind(struct watch *w, struct watch_stack *k, __u32 depth, __u64 end)
{
	int i;

	if (!w || !k)
		return 0;
	w->deep_open -= too_deep_here(w);
	for (i = 0; i < WATCH_DEPTH; i++) {
		if (w->depth <= depth)
			break;
		watch_close(w, k, end, 0, VMSPAN_F_REPAIRED);
	}
	return 0;
}

/*
 * A leave that does not fit the top: what lies above the newest stay of `id`
 * in this event was left without a mark. 1 when the top is now `id`.
 */
__noinline int watch_rematch(struct watch *w, struct watch_stack *k, __u32 id, __u64 end)
{
	__u32 base, d;

	if (!w || !k)
		return 0;
	if (too_deep_here(w)) {
		w->deep_open--;
		return 0;
	}
	base = base_of(w);
	d = find_open(w, k, id, base);
	if (d <= base) {
		/* At the bottom it may be that of an enter from before. */
		if (w->depth || w->turns)
			w->batch.unmatched++;
		return 0;
	}
	watch_unwind(w, k, d, end);
	return 1;
}

/* A mark that comes before it can be understood. What the thread is in it may have left by the time it can be. */
__noinline int watch_early(__u32 arming)
{
	struct watch *w = bpf_task_storage_get(&watches, bpf_get_current_task_btf(), NULL, 0);

	if (arming == ARMING_MORE)
		count(COUNT_ARMING, 1);
	if (!w || !w->started || arming == ARMING_LAST)
		return 0;
	watch_flush(w);
	w->started = 0;
	return 0;
}

/* No registry lies below: that is a number. */
#define PAGE 4096

/* Whose marks these are: its block, as in struct traced_process, its registry, or a number; 0: the program's own,
 * whatever that is. A library may lie where another one lay, and be on before anybody has looked at it: its block is another. */
static __always_inline __u64 registry_of(struct pt_regs *ctx)
{
	__u64 cookie = bpf_usdt_cookie(ctx);
	struct {
		__u32 semaphores, magic, abi, slot;
		__u64 process;
	} copy;

	_Static_assert(sizeof(copy) == __builtin_offsetof(struct vmspan_registry, rseq),
		       "its beginning");
	if (!(cookie & WIRE_COOKIE_COPY))
		return cookie >> 1;
	cookie += PT_REGS_IP(ctx) - WIRE_COOKIE_COPY;
	if (bpf_probe_read_user(&copy, sizeof(copy), (const void *)cookie))
		return cookie;
	if (copy.magic != VMSPAN_MAGIC)
		return 0;
	return copy.abi == VMSPAN_ABI && copy.process ? copy.process | TRACED_MARKS : cookie;
}

/* Marks of another registry than before: what the thread is in of that, it will not be seen to leave. */
__noinline int watch_change(struct watch *w)
{
	if (!w)
		return 0;
	watch_flush(w);
	if (w->depth || w->turns)
		count(COUNT_MARK_LOST, w->depth + w->turns);
	w->started = 0;
	return 0;
}

/* The state of this thread; NULL when the process is not traced, or not yet, or no state can be had. */
static __always_inline struct watch *watch_of(struct pt_regs *ctx, struct watch_stack **k)
{
	__u64 registry = registry_of(ctx);
	struct ids ids = current_ids();
	struct traced_process *p;
	bool placed = false;
	struct watch *w;

	stay_on_own_stack(ctx, &no_programs);
	p = bpf_map_lookup_elem(&traced, &ids.tgid);
	if (!p)
		return NULL;
	if (p->arming) {
		watch_early(p->arming);
		return NULL;
	}
	w = watch_make(bpf_get_current_task_btf(), k);
	if (!w) {
		count(COUNT_MARK_LOST, 1);
		return NULL;
	}
	/* Numbers without a registry are one in a thread, whatever hands them over. */
	if (w->started && w->batch.registry != registry &&
	    (registry >= PAGE || w->batch.registry >= PAGE)) {
		placed = !w->unplaced;
		watch_change(w);
	}
	if (!w->started) {
		watch_start(w, ids, registry);
		w->unplaced = placed ? 0 : p->flags & TRACED_THERE;
		/* Names of what lies in the process are to be read while it is there: its first record goes at once. */
		if (registry >= PAGE && !w->unplaced)
			w->flush_at = 0;
	}
	return w;
}

/* No compartment has other ids: the stack uses some of them otherwise. Probes may hand over any number,
 * an address as well. */
static __always_inline bool is_id(struct watch *w, __u64 id)
{
	if (id < VMSPAN_ID_MARKS)
		return true;
	w->lost++;
	count(COUNT_MARK_LOST, 1);
	return false;
}

/* A number with no place in a record is no label's. */
static __always_inline __u32 label_of(__u64 number)
{
	return number >> 32 ? 0 : number;
}

SEC("?usdt")
int BPF_USDT(watch_enter, __u64 id)
{
	struct watch_stack *k;
	struct watch *w = watch_of(ctx, &k);
	__u32 d;

	if (!w || !is_id(w, id))
		return 0;
	d = w->depth;
	if (is_top(w, k, id) && d <= WATCH_DEPTH && k->open[d].reentered != 0xffff)
		k->open[d].reentered++;
	else
		push(w, k, id, 0, 0);
	return 0;
}

/* The end of a stay: of a compartment, a collection or a blocking call. */
static __always_inline void leave(struct watch *w, struct watch_stack *k, __u32 id, __u64 result)
{
	__u64 end = cycles_now();
	__u32 d;

	if (!end || (!is_top(w, k, id) && !watch_rematch(w, k, id, end)))
		return;
	d = w->depth;
	if (d > WATCH_DEPTH)
		return;
	if (id < VMSPAN_ID_MARKS && k->open[d].reentered) {
		k->open[d].reentered--;
		return;
	}
	watch_close(w, k, end, result, 0);
	settle(w, end);
}

SEC("?usdt")
int BPF_USDT(watch_leave, __u64 id)
{
	struct watch_stack *k;
	struct watch *w = watch_of(ctx, &k);

	if (w && is_id(w, id))
		leave(w, k, id, 0);
	return 0;
}

/*
 * Up to a tick behind: the scheduler adds to it at ticks and switches, and no
 * helper brings it up to date.
 */
static __always_inline __u64 thread_ns(void)
{
	struct task_struct *t = (struct task_struct *)bpf_get_current_task();

	return BPF_CORE_READ(t, se.sum_exec_runtime);
}

SEC("?usdt")
int BPF_USDT(watch_ev_begin, __u64 label)
{
	struct watch_stack *k;
	struct watch *w = watch_of(ctx, &k);
	struct abi1_turn *e;
	__u32 i;

	if (!w)
		return 0;
	w->unplaced = 0;
	i = w->turns;
	if (i >= WATCH_TURNS) {
		w->turns_over++;
		w->batch.too_deep++;
		return 0;
	}
	e = &w->turn[i];
	e->iteration = w->iteration = ++w->iteration_last;
	e->label = label_of(label);
	w->lost_before[i] = lost_marks(w);
	e->base = w->depth;
	e->too_deep_open = w->deep_open;
	e->first = w->batch.seq + w->used - w->extra;
	e->cpu_ns = thread_ns();
	e->mono = bpf_ktime_get_ns();
	e->cpu = bpf_get_smp_processor_id();
	e->begin = cycles_now();
	if (e->begin)
		w->turns = i + 1;
	return 0;
}

static __always_inline void event_record(struct watch *w, struct abi1_turn *e, __u64 end,
					 __u64 mono, bool lacks)
{
	struct vmspan_event *r = append(w, sizeof(*r) / VMSPAN_SLOT);

	if (!r)
		return;
	r->h.type = VMSPAN_EVENT;
	r->h.slots = sizeof(*r) / VMSPAN_SLOT;
	r->h.depth = e->base | VMSPAN_F_COARSE | (lacks ? VMSPAN_F_LACKS : 0);
	r->h.id = e->iteration;
	r->begin = e->begin;
	r->end = end;
	r->mono_begin = e->mono;
	r->mono_end = mono;
	r->cpu_ns_begin = e->cpu_ns;
	r->cpu_ns_end = thread_ns();
	r->cpu_begin = e->cpu;
	r->cpu_end = bpf_get_smp_processor_id();
	r->label = e->label;
	r->parent = w->iteration;
	r->records = w->batch.seq + w->used - w->extra - 1 - e->first;
}

/* The end of an event from before the trace, unless the program is wrong: user space knows. Stays in it are its, if
 * nothing has been handed over of them. */
static __always_inline void unbegun(struct watch *w)
{
	__u32 left_out = 0;
	struct wire_life *l;

	if (w->unplaced && !w->batch.seq) {
		left_out = w->used - w->extra;
		w->used = w->extra = w->depth = w->deep_open = w->outside = 0;
	}
	l = life_record(WIRE_UNBEGUN, w->ids, w->outside);
	w->unplaced = w->outside = 0;
	if (!l)
		return;
	l->left_out = left_out;
	bpf_ringbuf_submit(l, wake_flags(false));
}

SEC("?usdt")
int watch_ev_end(struct pt_regs *ctx)
{
	struct watch_stack *k;
	struct watch *w = watch_of(ctx, &k);
	__u64 mono = bpf_ktime_get_ns(), end;
	__u32 i, outer;

	if (!w)
		return 0;
	if (w->turns_over) {
		w->turns_over--;
		return 0;
	}
	i = w->turns - 1;
	if (i >= WATCH_TURNS) {
		unbegun(w);
		return 0;
	}
	end = cycles_now();
	if (!end)
		return 0;
	watch_unwind(w, k, w->turn[i].base, end);
	w->turns = i;
	outer = i - 1;
	/* clang must check this value, not the one it was made from. */
	barrier_var(outer);
	w->iteration = outer < WATCH_TURNS ? w->turn[outer].iteration : 0;
	event_record(w, &w->turn[i], end, mono, w->lost_before[i] != lost_marks(w));
	watch_flush(w);
	w->flush_at = end + flush_cycles;
	return 0;
}

SEC("?usdt")
int BPF_USDT(watch_gc_begin, __u64 label, __u64 bytes)
{
	struct watch_stack *k;
	struct watch *w = watch_of(ctx, &k);

	if (w)
		push(w, k, VMSPAN_ID_GC, label_of(label), bytes);
	return 0;
}

SEC("?usdt")
int BPF_USDT(watch_gc_end, __u64 bytes)
{
	struct watch_stack *k;
	struct watch *w = watch_of(ctx, &k);

	if (w)
		leave(w, k, VMSPAN_ID_GC, bytes);
	return 0;
}

SEC("?usdt")
int BPF_USDT(watch_bl_begin, __u64 label, __u64 peer)
{
	struct watch_stack *k;
	struct watch *w = watch_of(ctx, &k);

	if (w)
		push(w, k, VMSPAN_ID_BLOCK, label_of(label), peer);
	return 0;
}

SEC("?usdt")
int watch_bl_end(struct pt_regs *ctx)
{
	struct watch_stack *k;
	struct watch *w = watch_of(ctx, &k);

	if (w)
		leave(w, k, VMSPAN_ID_BLOCK, 0);
	return 0;
}

SEC("?usdt")
int BPF_USDT(watch_mark, __u64 type, __u64 label, __u64 value)
{
	struct watch_stack *k;
	struct watch *w = watch_of(ctx, &k);
	struct vmspan_point *m;
	__u64 now;

	if (!w || type < VMSPAN_INPUT || type > VMSPAN_VALUE)
		return 0;
	now = cycles_now();
	if (!now)
		return 0;
	w->unplaced = 0; /* it is to stay */
	m = append(w, 1);
	if (!m)
		return 0;
	m->h.type = type;
	m->h.slots = 1;
	m->h.depth = w->depth;
	m->h.id = label_of(label);
	m->value = value;
	m->time = now;
	m->cpu = bpf_get_smp_processor_id();
	m->iteration = w->iteration;
	settle(w, now);
	return 0;
}

/* What the thread is in, as if it ended now. */
__noinline int watch_unended(struct watch *w, struct watch_stack *k, __u64 end)
{
	__u32 depth, base = 0, i;

	if (!w || !k)
		return 0;
	if (w->turns) {
		base = w->turn[0].base;
		event_record(w, &w->turn[0], end, bpf_ktime_get_ns(), false);
	}
	depth = w->depth;
	if (depth - base > UNENDED_STAYS)
		base = depth - UNENDED_STAYS;
	for (i = 1; i <= UNENDED_STAYS; i++) {
		__u32 d = base + i;
		struct vmspan_span *s;

		if (d > depth || d > WATCH_DEPTH)
			break;
		barrier_var(d);
		s = append(w, 1);
		if (!s || d > WATCH_DEPTH)
			break;
		s->h.type = VMSPAN_SPAN;
		s->h.slots = 1;
		s->h.id = k->open[d].id;
		s->begin = k->open[d].begin;
		s->end = end;
	}
	return 0;
}

/* What a thread still holds goes out before the news of its end, and then what it is in: user space
 * attaches these before the programs of life.bpf.c. */
static __always_inline int hand_over(struct task_struct *task, enum unended_why why)
{
	struct watch *w = bpf_task_storage_get(&watches, task, NULL, 0);
	__u32 slots;

	if (!w || !w->started)
		return 0;
	watch_flush(w);
	w->started = 0;
	/* No batch has come after those. */
	if (!w->calls && w->batch.too_deep != w->too_deep_told)
		count(COUNT_TOO_DEEP, w->batch.too_deep - w->too_deep_told);
	if (w->calls || (!w->turns && !w->depth))
		return 0;
	watch_unended(w, bpf_task_storage_get(&watch_stacks, task, NULL, 0), cycles_now());
	slots = w->used;
	if (slots > WATCH_SLOTS)
		return 0;
	w->batch.pad = why;
	w->batch.too_deep = w->depth - (w->turns ? w->turn[0].base : 0);
	w->batch.records = slots - w->extra;
	w->batch.bytes = VMSPAN_BATCH_HEADER + slots * VMSPAN_SLOT;
	return send(w, WIRE_UNENDED, 0, slots, WIRE_MIDDLE);
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(watch_exit, struct task_struct *task)
{
	return hand_over(task, BPF_CORE_READ(task, signal, live.counter) ? UNENDED_THREAD
									 : UNENDED_PROCESS);
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(watch_exec, struct task_struct *task)
{
	return hand_over(task, UNENDED_EXEC);
}

/* Run by user space once the probes are gone: no thread writes any more. */
SEC("?iter/task")
int watch_tail(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	return task ? hand_over(task, UNENDED_TRACE) : 0;
}
