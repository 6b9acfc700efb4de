/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stock VMs whose probes tell of every call: a stopwatch a thread, as for
 * conventional probes, in the events of turn.bpf.h. A trap at a function's
 * entry and one at its return, so only on demand.
 *
 * Functions are known by their names: a return closes the newest call of the
 * same function, and what was called inside it and never returned (it threw,
 * or its coroutine was abandoned) is closed with it and counted as repaired. A
 * return whose entry nobody saw belongs to a call from before the trace.
 *
 * A call goes on when its event ends: the event has the part that lies in it,
 * and later parts are marked as such. A part is where the thread waited or
 * collected, too: both are records of their own.
 *
 * All are optional ("?").
 */
#include "bpf/args.bpf.h"
#include "bpf/stopwatch.bpf.h"
#include "bpf/turn.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile bool exact_calls = false;

/* Functions by a hash of their names: memory of names is used again. */
struct call_key {
	__u64 hash;
	__u32 tgid, len;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct call_key);
	__type(value, __u32);
} call_ids SEC(".maps");

__u32 call_last = 0;

/* ---- Names ---- */

/* The rest of the last word is zeroed, so that words can be compared. */
static __always_inline __u32 end_text(char *to, const __u32 cap, long n)
{
	__u32 len = n > 0 ? n : 0;

	barrier_var(len);
	if (len > cap)
		len = 0;
	__builtin_memset(to + len, 0, 8);
	return len;
}

static __always_inline __u32 read_text(char *to, const __u32 cap, __u64 at)
{
	/* Its terminator needs a place too. */
	long n = at ? bpf_probe_read_user_str(to, cap + 1, (const void *)at) : 0;

	return end_text(to, cap, n - 1);
}

static __always_inline __u32 read_counted(char *to, const __u32 cap, __u64 at, __u64 size)
{
	__u32 len = size > cap ? cap : size;

	barrier_var(len);
	if (!at || len > cap || bpf_probe_read_user(to, len, (const void *)at))
		len = 0;
	return end_text(to, cap, len);
}

static __always_inline __u64 mix(__u64 h, const char *text, const __u32 cap, __u32 len)
{
	const __u64 *words = (const __u64 *)text;
	__u32 i;

	for (i = 0; i < cap / 8; i++) {
		if (i * 8 >= len)
			break;
		h = (h ^ words[i]) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	return h;
}

/* Where a function's names are; 0: it has none. */
struct names {
	__u64 file, scope, function;
	__u32 file_len, function_len; /* JVM: they are not terminated */
};

/* What each VM's probes say. False: a VM without any. */
static __always_inline bool find_names(struct pt_regs *ctx, __u32 kind, struct names *n)
{
	*n = (struct names){ 0 };
	switch (kind) {
	case VM_CPYTHON:
		n->file = probe_arg(ctx, 0);
		n->function = probe_arg(ctx, 1);
		return true;
	case VM_PHP:
		n->function = probe_arg(ctx, 0);
		n->file = probe_arg(ctx, 1);
		n->scope = probe_arg(ctx, 3);
		return true;
	case VM_RUBY:
		n->scope = probe_arg(ctx, 0);
		n->function = probe_arg(ctx, 1);
		n->file = probe_arg(ctx, 2);
		return true;
	case VM_JVM:
		n->file = probe_arg(ctx, 1);
		n->file_len = probe_arg(ctx, 2);
		n->function = probe_arg(ctx, 3);
		n->function_len = probe_arg(ctx, 4);
		return true;
	default:
		return false;
	}
}

static __always_inline void read_names(const struct names *n, __u32 kind, struct call_text *c)
{
	if (kind == VM_JVM) {
		c->file_len = read_counted(c->file, VM_FILE, n->file, n->file_len);
		c->function_len =
			read_counted(c->function, VM_FUNCTION, n->function, n->function_len);
		c->scope_len = end_text(c->scope, VM_SCOPE, 0);
		return;
	}
	c->file_len = read_text(c->file, VM_FILE, n->file);
	c->scope_len = read_text(c->scope, VM_SCOPE, n->scope);
	c->function_len = read_text(c->function, VM_FUNCTION, n->function);
}

/*
 * While a call is under way its names stay where they are: a return with the names' places
 * of the newest call is that call's, and its names need not be read again. Ruby
 * makes some names anew for each probe. 0: not to be known by that.
 */
static __always_inline __u64 place_of(const struct names *n, __u32 kind)
{
	const __u64 odd = 0x9e3779b97f4a7c15ull;
	__u64 h = (n->file * odd ^ n->function) * odd;

	if (kind == VM_RUBY)
		return 0;
	h ^= h >> 29;
	return ((h ^ n->scope) * odd) | 1;
}

/* Not inlined: the loops are verified once. */
__noinline __u64 call_hash(const struct call_text *c)
{
	__u64 h = 1;

	if (!c)
		return 0;
	h = mix(h, c->file, VM_FILE, c->file_len);
	h = mix(h, c->scope, VM_SCOPE, c->scope_len);
	return mix(h, c->function, VM_FUNCTION, c->function_len);
}

static __always_inline bool tell_call(struct ids ids, __u32 id, const struct call_text *c)
{
	struct wire_call *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

	if (!r) {
		count(COUNT_VM_LOST, 1);
		return false;
	}
	r->h.kind = WIRE_VM_CALL;
	r->h.bytes = sizeof(*r) - sizeof(r->h);
	r->h.pid = ids.tgid;
	r->h.tid = ids.tid;
	r->id = id;
	r->file_len = c->file_len;
	r->scope_len = c->scope_len;
	r->function_len = c->function_len;
	r->pad = 0;
	__builtin_memcpy(r->file, c->file, VM_FILE);
	__builtin_memcpy(r->scope, c->scope, VM_SCOPE);
	__builtin_memcpy(r->function, c->function, VM_FUNCTION);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return true;
}

static __always_inline __u32 call_id(struct ids ids, const struct call_text *c)
{
	struct call_key key = { .tgid = ids.tgid };
	__u32 *known, id;

	key.hash = call_hash(c);
	key.len = c->file_len << 16 | c->function_len;
	known = bpf_map_lookup_elem(&call_ids, &key);
	if (known)
		return *known;
	id = __sync_fetch_and_add(&call_last, 1) + 1;
	if (id >= CALL_UNKNOWN || !tell_call(ids, id, c))
		return CALL_UNKNOWN;
	bpf_map_update_elem(&call_ids, &key, &id, BPF_ANY);
	return id;
}

/* ---- Parts ---- */

/* An event begins: calls under way go on in it. */
__noinline int calls_resume(struct watch *w, struct watch_stack *k, __u32 iteration, __u64 now)
{
	__u32 d;

	if (!w || !k)
		return 0;
	w->iteration = iteration;
	for (d = 1; d <= WATCH_DEPTH; d++) {
		if (d > w->depth)
			break;
		k->open[d].begin = now;
	}
	return 0;
}

/* An event ends: it has the parts of the calls under way that lie in it. */
__noinline int calls_cut(struct watch *w, struct watch_stack *k, __u64 now)
{
	__u32 depth, i;

	if (!w || !k)
		return 0;
	depth = w->depth;
	for (i = 0; i < WATCH_DEPTH; i++) {
		__u32 d = w->depth;

		if (!d || d > WATCH_DEPTH)
			break;
		barrier_var(d);
		watch_close(w, k, now, 0, 0);
		if (d <= WATCH_DEPTH)
			k->open[d].reentered = 1;
	}
	w->depth = depth;
	w->iteration = 0;
	watch_flush(w);
	return 0;
}

/* The thread was off its CPU by its own doing, in an event. */
__noinline int calls_waited(struct watch *w, __u64 begin, __u64 end)
{
	struct vmspan_block *b;

	if (!w)
		return 0;
	b = append(w, sizeof(*b) / VMSPAN_SLOT);
	if (!b)
		return 0;
	b->h.type = VMSPAN_BLOCK;
	b->h.slots = sizeof(*b) / VMSPAN_SLOT;
	b->h.depth = w->depth;
	b->begin = begin;
	b->end = end;
	b->iteration = w->iteration;
	return 0;
}

/* ---- Calls ---- */

/*
 * The thread's stopwatch. Outside of events calls are followed and nothing is
 * recorded; a thread without a loop is in one whenever it runs.
 */
static __always_inline struct watch *watch_in_turn(struct vm_thread *t, const struct vm_proc *p,
						   struct ids ids, __u64 now,
						   struct watch_stack **k)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct watch *w = watch_make(task, k);

	if (!w) {
		count(COUNT_MARK_LOST, 1);
		return NULL;
	}
	if (w->started && !w->calls)
		watch_change(w);
	if (!w->started) {
		watch_start(w, ids, WIRE_CALLS_REGISTRY);
		w->iteration = t->open ? t->iteration : 0;
	}
	if (!has_bursts(p, t))
		return w;
	if (t->open && now - t->turn_begin > BURST_NS)
		turn_close(t, task, ids, now);
	if (!t->open)
		turn_open(t, task, TURN_BURST, now);
	return w;
}

/* Outside of events a call ends: what lies above it has ended unseen, and nothing is recorded. */
__noinline int calls_left(struct watch *w, struct watch_stack *k, __u32 id)
{
	__u32 d;

	if (!w || !k)
		return 0;
	if (w->deep_open) {
		w->deep_open--;
		return 0;
	}
	d = find_open(w, k, id, 0);
	if (d)
		w->depth = d - 1;
	return 0;
}

/* The newest call is of the function whose names are there. */
static __always_inline bool top_is_at(struct watch *w, struct watch_stack *k, __u64 place)
{
	__u32 d = w->depth;

	if (!place || !d || w->deep_open)
		return false;
	barrier_var(d);
	return d <= WATCH_DEPTH && k->open[d].id < VMSPAN_ID_MARKS && k->open[d].aux == place;
}

SEC("?usdt")
int vm_call_begin(struct pt_regs *ctx)
{
	const struct vm_proc *p;
	struct vm_thread *t;
	struct watch_stack *k;
	struct names names;
	struct watch *w;
	struct ids ids;

	stay_on_own_stack(ctx, &no_vm_sites);
	t = thread_of(&ids, &p);
	if (!t || !(p->flags & VM_CALLS))
		return 0;
	w = watch_in_turn(t, p, ids, bpf_ktime_get_ns(), &k);
	if (!w || !find_names(ctx, p->kind, &names))
		return 0;
	read_names(&names, p->kind, &t->call);
	push(w, k, call_id(ids, &t->call), 0, place_of(&names, p->kind));
	return 0;
}

SEC("?usdt")
int vm_call_end(struct pt_regs *ctx)
{
	__u64 end = bpf_ktime_get_ns();
	const struct vm_proc *p;
	struct vm_thread *t;
	struct watch_stack *k;
	struct names names;
	struct watch *w;
	struct ids ids;
	__u32 id = 0;
	bool top;

	stay_on_own_stack(ctx, &no_vm_sites);
	t = thread_of(&ids, &p);
	if (!t || !(p->flags & VM_CALLS))
		return 0;
	w = watch_in_turn(t, p, ids, end, &k);
	/* Without a call under way it is one from before the trace. */
	if (!w || !w->depth || !find_names(ctx, p->kind, &names))
		return 0;
	top = top_is_at(w, k, place_of(&names, p->kind));
	if (!top) {
		read_names(&names, p->kind, &t->call);
		id = call_id(ids, &t->call);
		top = is_top(w, k, id);
	}
	if (!t->open) {
		if (top)
			w->depth--;
		else
			calls_left(w, k, id);
		return 0;
	}
	if (!top && !watch_rematch(w, k, id, end))
		return 0;
	watch_close(w, k, end, 0, 0);
	settle(w, end);
	return 0;
}

/* ---- The trial ---- */

/* System calls of traced VMs, by number. */
__u64 call_work[CALLS] = {};

SEC("?tp_btf/sys_enter")
int BPF_PROG(vm_work, struct pt_regs *regs, long id)
{
	struct ids ids = current_ids();

	if (id >= 0 && id < CALLS && bpf_map_lookup_elem(&vm_procs, &ids.tgid))
		__sync_fetch_and_add(&call_work[id], 1);
	return 0;
}
