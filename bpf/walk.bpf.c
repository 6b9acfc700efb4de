/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stock VMs: which event a thread is in, and which code of the VM's it runs.
 * The VM knows nothing of it.
 *
 *   events       between two waits of an event loop; a request or a safepoint by
 *                probes (statements: statement.bpf.c); else a stay on the CPU
 *                between two waits
 *   stacks       read on a timer of each CPU, and when a thread that is in an
 *                event begins to wait
 *   collections  by probes
 *
 * All are optional ("?").
 */
#include "bpf/args.bpf.h"
#include "bpf/stopwatch.bpf.h"
#include "bpf/turn.bpf.h"
#include "bpf/walk_vm.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile bool vm_multi = false;
/* Between two looks of the timer. */
const volatile __u64 period_ns = 10101010;
__u16 gc_epoch = 0, sweep_epoch = 0;
__u32 follow_epoch = 0;
/* A thread has come that has no state, where it could not be made: user space looks at all once more. */
__u32 vm_unmade = 0;

static __always_inline int stay_emit(__u32 kind, struct ids ids, const struct wire_stay *s)
{
	struct wire_stay *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

	if (!r) {
		count(COUNT_VM_LOST, 1);
		return 0;
	}
	*r = *s;
	r->h.kind = kind;
	r->h.bytes = sizeof(*r) - sizeof(r->h);
	r->h.pid = ids.tgid;
	r->h.tid = ids.tid;
	r->cpu_end = bpf_get_smp_processor_id();
	bpf_ringbuf_submit(r, wake_flags(false));
	return 0;
}

/* ---- Stacks ---- */

static __always_inline void sample_emit(const struct vm_thread *t, const struct stack *s,
					struct ids ids, __u64 time, __u64 weight, __u32 flags)
{
	struct wire_sample *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

	if (!r) {
		count(COUNT_VM_LOST, 1);
		return;
	}
	r->h.kind = WIRE_VM_SAMPLE;
	r->h.bytes = sizeof(*r) - sizeof(r->h);
	r->h.pid = ids.tgid;
	r->h.tid = ids.tid;
	r->time = time;
	r->weight = weight;
	r->iteration = t->iteration;
	r->cpu = bpf_get_smp_processor_id();
	r->flags = s->flags | flags;
	r->count = s->count;
	r->turn_cpu = t->turn_cpu;
	r->turn_kind = t->turn_kind;
	r->turn_begin = t->turn_begin;
	r->stolen_ns = stolen_of(t, time);
	r->off_ns = t->off_total - t->off_before + r->stolen_ns;
	__builtin_memcpy(r->frames, s->frames, sizeof(r->frames));
	bpf_ringbuf_submit(r, wake_flags(false));
}

/* Threads of which user space wants to know, or not any more, where they wait between stays on the CPU: taken up when they
 * are looked at, or wait, next. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u32);
} vm_wanted SEC(".maps");

static __always_inline void take_wanted(struct vm_thread *t, __u32 tid)
{
	__u32 *wanted = bpf_map_lookup_elem(&vm_wanted, &tid);

	if (!wanted)
		return;
	t->tells_waits = *wanted;
	bpf_map_delete_elem(&vm_wanted, &tid);
}

/* ---- Collections in an event ---- */

/* For so long one is kept whole; of what takes longer, pieces are told of. */
#define GC_MOST_NS 60000000000ull

static __always_inline bool goes_on(const struct gc_stay *g, __u16 epoch)
{
	return g->depth && g->epoch == epoch;
}

static __always_inline bool is_whole(const struct gc_stay *g, __u16 epoch, __u64 now)
{
	return goes_on(g, epoch) && !g->divided && now - g->begin < GC_MOST_NS;
}

/* Since when it does so in the event that it is in; 0: it does not. */
static __always_inline __u64 gc_since(const struct vm_thread *t, const struct gc_stay *g,
				      __u16 epoch)
{
	__u64 begin;

	if (!goes_on(g, epoch))
		return 0;
	barrier();
	begin = g->begin;
	return (__s64)(t->turn_begin - begin) > 0 ? t->turn_begin : begin;
}

/* What collects, or sweeps, is told of at its end, and lies in one event. */
static __always_inline bool collects(const struct vm_thread *t, __u64 now)
{
	return is_whole(&t->gc, gc_epoch, now) || is_whole(&t->sweep, sweep_epoch, now);
}

/* An event ends in the midst of it: so much lies in that, and what comes after in what follows. */
static __always_inline void gc_cut(const struct vm_thread *t, struct gc_stay *g, __u16 epoch,
				   bool calls, struct ids ids, __u64 now)
{
	__u64 begin = gc_since(t, g, epoch);

	if (g->among_calls || !begin || (__s64)(now - begin) <= 0)
		return;
	stay_emit(WIRE_VM_GC, ids,
		  &(struct wire_stay){ .begin = begin,
				       .end = now,
				       .iteration = calls ? 0 : t->iteration,
				       .cpu_begin = g->cpu,
				       .part = STAY_DIVIDED });
	g->divided |= now - g->begin >= GC_MOST_NS;
	g->begin = now;
	g->cpu = bpf_get_smp_processor_id();
}

static __always_inline void event_close(struct vm_thread *t, struct task_struct *task,
					struct ids ids, __u64 now)
{
	bool calls = calls_of(task) != NULL;

	gc_cut(t, &t->gc, gc_epoch, calls, ids, now);
	gc_cut(t, &t->sweep, sweep_epoch, calls, ids, now);
	turn_close(t, task, ids, now);
}

SEC("?perf_event")
int walk_tick(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct vm_proc *p;
	struct vm_thread *t;
	struct ids ids;
	__u64 now;

	t = thread_known(&ids, &p);
	if (!t || !(p->flags & VM_WALK))
		return 0;
	now = bpf_ktime_get_ns();
	take_wanted(t, ids.tid);
	if (!t->open && has_bursts(p, t))
		turn_open(t, task, TURN_BURST, now);
	if (!t->open)
		return 0;
	walk_stack(p, t, &t->run, ids);
	sample_emit(t, &t->run, ids, now, period_ns, 0);
	if (t->turn_kind == TURN_BURST && now - t->turn_begin > BURST_NS && !collects(t, now)) {
		event_close(t, task, ids, now);
		turn_open(t, task, TURN_BURST, now);
	}
	return 0;
}

/* Of task_struct.__state. */
#define STATE_INTERRUPTIBLE 1

/* The current task leaves its CPU. */
static __always_inline void leaves(struct task_struct *task, bool runnable, __u64 now)
{
	struct vm_thread *t = bpf_task_storage_get(&vm_threads, task, NULL, 0);
	const struct vm_proc *p;
	struct ids ids;

	if (!t)
		return;
	steal_take(t, task, now);
	t->off_at = now;
	t->preempted = runnable;
	if (!t->open || runnable)
		return;
	ids = task_ids(task);
	if (t->turn_kind == TURN_BURST) {
		if (collects(t, now))
			return;
		take_wanted(t, ids.tid);
		event_close(t, task, ids, now);
		if (!t->tells_waits)
			return;
	}
	p = bpf_map_lookup_elem(&vm_procs, &ids.tgid);
	if (p && p->flags & VM_WALK) {
		walk_stack(p, t, &t->off, ids);
		sample_emit(t, &t->off, ids, now, 0,
			    SAMPLE_OFF | (task->__state & STATE_INTERRUPTIBLE ? SAMPLE_SLEEPS : 0));
	}
}

/* A worker of io_uring's runs no code of the VM's. */
#define FLAG_IO_WORKER 0x10

/* It has no state, and here none can be made. */
static __always_inline void unmade(struct task_struct *task, const struct vm_proc *p)
{
	if (task->flags & FLAG_IO_WORKER)
		return;
	vm_unmade = 1;
	if (p->flags & VM_LOOKED)
		count(COUNT_VM_LOST, 1);
}

static __always_inline void comes(struct task_struct *task, __u64 now)
{
	struct vm_thread *t = bpf_task_storage_get(&vm_threads, task, NULL, 0);
	struct watch *w = calls_of(task);
	struct ids ids = task_ids(task);
	const struct vm_proc *p = bpf_map_lookup_elem(&vm_procs, &ids.tgid);
	__u64 away;

	if (!t) {
		if (p)
			unmade(task, p);
		return;
	}
	away = t->off_at ? now - t->off_at : 0;
	t->off_at = 0;
	t->off_total += away;
	t->steal_seen = steal_told(task);
	t->steal_epoch = follow_epoch;
	if (t->open && away && !t->preempted && w)
		calls_waited(w, now - away, now);
	else if (t->open && away && !t->preempted && p &&
		 (p->flags & VM_WALK || t->turn_kind == TURN_STATEMENT))
		stay_emit(WIRE_VM_WAIT, ids,
			  &(struct wire_stay){ .begin = now - away,
					       .end = now,
					       .iteration = t->iteration,
					       .cpu_begin = bpf_get_smp_processor_id() });
	if (!t->open && p && has_bursts(p, t))
		turn_open(t, task, TURN_BURST, now);
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(walk_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u64 now = bpf_ktime_get_ns();

	leaves(prev, preempt || !prev->__state, now);
	comes(next, now);
	return 0;
}

/* ---- Loops: a thread waits for events ---- */

/* By the number of a system call: enum call_wait of those that wait. */
const volatile __u8 call_waits[CALLS] = {};

/* It looks whether something is there, and does not wait for it: whoever works for a request does so too. What
 * cannot be read, the address 0 among it, is taken for a wait. */
static __always_inline bool returns_at_once(struct pt_regs *regs, __u32 call)
{
	__u64 time[2], at;

	switch (call & WAIT_LIMIT) {
	case WAIT_MS_3:
		return !(__s32)PT_REGS_PARM3_CORE_SYSCALL(regs);
	case WAIT_TIME_3:
		at = PT_REGS_PARM3_CORE_SYSCALL(regs);
		break;
	case WAIT_TIME_5:
		at = PT_REGS_PARM5_CORE_SYSCALL(regs);
		break;
	default:
		return false;
	}
	return !bpf_probe_read_user(time, sizeof(time), (void *)at) && !time[0] && !time[1];
}

/*
 * Runs at every system call of the machine, so what is no wait is sorted out
 * before anything is looked up. There is no cheaper place that every kernel
 * has: one that traces single functions does not exist everywhere.
 */
SEC("?tp_btf/sys_enter")
int BPF_PROG(loop_waits, struct pt_regs *regs, long id)
{
	const struct vm_proc *p;
	struct vm_thread *t;
	struct ids ids;
	__u32 call, rank;

	if (id < 0 || id >= CALLS || !call_waits[id])
		return 0;
	call = call_waits[id];
	rank = call & WAIT_RANK;
	t = thread_of(&ids, &p);
	if (!t || !(p->flags & VM_LOOPS) || rank < t->loop || returns_at_once(regs, call))
		return 0;
	t->loop = rank;
	t->waits = 1;
	if (t->open)
		event_close(t, bpf_get_current_task_btf(), ids, bpf_ktime_get_ns());
	return 0;
}

SEC("?tp_btf/sys_exit")
int loop_goes_on(void *ctx)
{
	struct vm_thread *t =
		bpf_task_storage_get(&vm_threads, bpf_get_current_task_btf(), NULL, 0);

	if (!t || !t->waits)
		return 0;
	t->waits = 0;
	if (!t->open)
		turn_open(t, bpf_get_current_task_btf(), TURN_LOOP, bpf_ktime_get_ns());
	return 0;
}

/* ---- Probes ---- */

/* PHP: request__startup(file, uri, method). */
SEC("?usdt")
int vm_req_begin(struct pt_regs *ctx)
{
	__u64 file = probe_arg(ctx, 0), uri = probe_arg(ctx, 1);
	const struct vm_proc *p;
	struct vm_thread *t;
	struct watch *w;
	struct ids ids;
	__u64 now;
	long n;

	t = probed(ctx, &ids, &p);
	if (!t)
		return 0;
	now = bpf_ktime_get_ns();
	t->loop = LOOP_PROBES;
	w = calls_of(bpf_get_current_task_btf());
	/* One that never ended, or a stay on the CPU. */
	if (t->open)
		event_close(t, bpf_get_current_task_btf(), ids, now);
	/* No call lives through the end of a request. */
	if (w)
		w->depth = w->deep_open = 0;
	turn_open(t, bpf_get_current_task_btf(), TURN_REQUEST, now);
	n = uri ? bpf_probe_read_user_str(t->text, sizeof(t->text), (void *)uri) : 0;
	if (n <= 1 && file)
		n = bpf_probe_read_user_str(t->text, sizeof(t->text), (void *)file);
	t->text_len = n > 1 ? n - 1 : 0;
	return 0;
}

SEC("?usdt")
int vm_req_end(struct pt_regs *ctx)
{
	return turn_end(ctx, TURN_REQUEST);
}

SEC("?usdt")
int vm_stall_begin(struct pt_regs *ctx)
{
	const struct vm_proc *p;
	struct vm_thread *t;
	struct ids ids;

	t = probed(ctx, &ids, &p);
	if (!t)
		return 0;
	t->loop = LOOP_PROBES;
	turn_open(t, bpf_get_current_task_btf(), TURN_SAFEPOINT, bpf_ktime_get_ns());
	return 0;
}

SEC("?usdt")
int vm_stall_end(struct pt_regs *ctx)
{
	return turn_end(ctx, TURN_SAFEPOINT);
}

/* epoch: of now. Whatever began in an earlier one will not end. */
static __always_inline int gc_begin(struct vm_thread *t, struct gc_stay *g, __u16 epoch)
{
	struct watch_stack *k;
	struct watch *w;

	if (g->epoch != epoch) {
		g->epoch = epoch;
		g->depth = 0;
	}
	if (g->depth) {
		g->depth++;
		return 0;
	}
	w = t->open ? calls_of(bpf_get_current_task_btf()) : NULL;
	k = w ? stack_of(bpf_get_current_task_btf()) : NULL;
	g->among_calls = k != NULL;
	if (k)
		push(w, k, VMSPAN_ID_GC, 0, 0);
	g->begin = bpf_ktime_get_ns();
	g->cpu = bpf_get_smp_processor_id();
	g->divided = 0;
	/* A look may come in between. */
	barrier();
	g->depth = 1;
	return 0;
}

/* It has its place among calls. What was called in it has ended too, seen or not; and if it is
 * not there any more, the end of a call below it was its own. */
static __always_inline int gc_leave(struct watch *w, struct watch_stack *k, __u64 end, bool part)
{
	if (k && (is_top(w, k, VMSPAN_ID_GC) || watch_rematch(w, k, VMSPAN_ID_GC, end)))
		watch_close(w, k, end, 0, part ? VMSPAN_F_PART : 0);
	return 0;
}

static __always_inline int gc_end(const struct vm_thread *t, struct gc_stay *g, __u16 epoch,
				  struct ids ids, __u32 part)
{
	struct watch *w;

	/* One that began before the trace. */
	if (g->epoch != epoch || !g->depth || --g->depth)
		return 0;
	w = calls_of(bpf_get_current_task_btf());
	if (w && g->among_calls)
		return gc_leave(w, stack_of(bpf_get_current_task_btf()), bpf_ktime_get_ns(), part);
	return stay_emit(WIRE_VM_GC, ids,
			 &(struct wire_stay){ .begin = g->begin,
					      .end = bpf_ktime_get_ns(),
					      .iteration = t->open && !w ? t->iteration : 0,
					      .cpu_begin = g->cpu,
					      .part = part });
}

static __always_inline int gc_probe(struct pt_regs *ctx, bool begins, bool part)
{
	const struct vm_proc *p;
	struct vm_thread *t;
	struct gc_stay *g;
	struct ids ids;
	__u16 epoch;

	t = probed(ctx, &ids, &p);
	if (!t)
		return 0;
	g = part ? &t->sweep : &t->gc;
	epoch = part ? sweep_epoch : gc_epoch;
	return begins ? gc_begin(t, g, epoch) : gc_end(t, g, epoch, ids, part);
}

SEC("?usdt")
int vm_gc_begin(struct pt_regs *ctx)
{
	return gc_probe(ctx, true, false);
}

SEC("?usdt")
int vm_gc_end(struct pt_regs *ctx)
{
	return gc_probe(ctx, false, false);
}

/*
 * A collection's sweeping goes on long after it, piece by piece. Apart from the
 * collections, so that those are counted whatever becomes of these.
 */
SEC("?usdt")
int vm_sweep_begin(struct pt_regs *ctx)
{
	return gc_probe(ctx, true, true);
}

SEC("?usdt")
int vm_sweep_end(struct pt_regs *ctx)
{
	return gc_probe(ctx, false, true);
}

/* ---- Births ---- */

/*
 * A new thread, or a child: whose memory is its parent's. Attached before the programs of
 * life.bpf.c, so that the child is known here first. The state of each is made here or by
 * vm_present: the timer and the scheduler, from where memory must not be asked for, find it.
 */
SEC("?tp_btf/sched_process_fork")
int BPF_PROG(vm_fork, struct task_struct *parent, struct task_struct *child)
{
	struct ids ids = task_ids(parent), born;
	struct vm_proc *p = bpf_map_lookup_elem(&vm_procs, &ids.tgid);
	struct traced_process *t;

	if (!p)
		return 0;
	if (child->pid == child->tgid) {
		t = bpf_map_lookup_elem(&traced, &ids.tgid);
		if (!t || !(t->flags & TRACED_CHILDREN))
			return 0;
		born = task_ids(child);
		if (bpf_map_update_elem(&vm_procs, &born.tgid, p, BPF_ANY))
			count(COUNT_LIFE_LOST, 1);
	}
	thread_make(child);
	return 0;
}

/* Run by user space for the threads that a VM has when it becomes one that is traced. */
SEC("?iter/task")
int vm_present(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct ids ids;

	if (!task)
		return 0;
	ids = task_ids(task);
	if (bpf_map_lookup_elem(&vm_procs, &ids.tgid))
		thread_make(task);
	return 0;
}

/* Younger events are of no interest, but for stays on the CPU, which may be a part of something. */
__u64 open_before = 0;

/* Run by user space, and reads nothing but what each thread is in: a struct wire_open each, and a struct wire_turn as if
 * that ended now, with texts only where there are any. */
SEC("?iter/task")
int vm_open(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct vm_thread *t = task ? bpf_task_storage_get(&vm_threads, task, NULL, 0) : NULL;
	struct wire_open o = {};
	__u64 head[WIRE_TURN_BARE / sizeof(__u64)] = {}, now, on, off, off_at;
	struct wire_turn *r = (void *)head;

	if (!t || !t->open || (t->turn_kind != TURN_BURST && t->turn_begin > open_before))
		return 0;
	/* It is at work on another CPU meanwhile. */
	o.iteration = t->iteration;
	barrier();
	turn_head(r, t, task_ids(task), 0, 0);
	r->cpu_end = r->cpu_begin;
	r->text_len = t->text_len;
	r->title_len = t->title_len;
	o.gc_since = gc_since(t, &t->gc, gc_epoch);
	o.sweep_since = gc_since(t, &t->sweep, sweep_epoch);
	barrier();
	off_at = t->off_at;
	off = t->off_total - t->off_before;
	barrier();
	/* It has left its CPU since, or has one again: that is soon told again. */
	if (off_at != t->off_at) {
		off_at = t->off_at;
		off = t->off_total - t->off_before;
	}
	r->end = now = bpf_ktime_get_ns();
	/* Who was not followed for a time has no CPU since before that. */
	if (off_at >= r->begin && off_at < now) {
		off += now - off_at;
		o.waits_since = t->preempted ? 0 : off_at;
	}
	barrier();
	/* It may have come to its next one. */
	if (!t->open || t->iteration != o.iteration || t->turn_begin != r->begin || r->begin > now)
		return 0;
	/* Nor is it known of a collection that has begun or ended meanwhile. */
	if (o.gc_since != gc_since(t, &t->gc, gc_epoch))
		o.gc_since = 0;
	if (o.sweep_since != gc_since(t, &t->sweep, sweep_epoch))
		o.sweep_since = 0;
	on = now - r->begin;
	off = off < on ? off : on;
	r->stolen_ns = t->stolen < on - off ? t->stolen : on - off;
	r->off_ns = off + r->stolen_ns;
	r->iteration = o.iteration;
	r->h.bytes = sizeof(head) - sizeof(r->h);
	if (r->text_len)
		r->h.bytes += sizeof(t->text) + sizeof(t->title);
	bpf_seq_write(ctx->meta->seq, &o, sizeof(o));
	bpf_seq_write(ctx->meta->seq, head, sizeof(head));
	if (r->text_len) {
		bpf_seq_write(ctx->meta->seq, t->text, sizeof(t->text));
		bpf_seq_write(ctx->meta->seq, t->title, sizeof(t->title));
	}
	return 0;
}

/* When user space ended the trace, for all threads at once. */
__u64 rest_ns = 0;

/* Run by user space then, once no thread is followed any more: what each is in. A stay on the CPU ends there,
 * as it does after each BURST_NS. */
SEC("?iter/task")
int vm_rest(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct vm_thread *t = task ? bpf_task_storage_get(&vm_threads, task, NULL, 0) : NULL;
	__u64 end = rest_ns;

	if (!t || !t->open)
		return 0;
	/* It was at work on another CPU. */
	if (end < t->turn_begin)
		end = t->turn_begin;
	if (t->off_at && t->off_at < end)
		t->off_total += end - t->off_at;
	if (t->turn_kind != TURN_BURST)
		t->ended |= TURN_GOES_ON;
	event_close(t, task, task_ids(task), end);
	return 0;
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(vm_exec, struct task_struct *task)
{
	struct ids ids = task_ids(task);
	struct vm_thread *t = bpf_task_storage_get(&vm_threads, task, NULL, 0);
	struct watch *w = calls_of(task);

	bpf_map_delete_elem(&vm_procs, &ids.tgid);
	/* The event ends with the program. What else was known was of its VM. */
	if (t && t->open)
		event_close(t, task, ids, bpf_ktime_get_ns());
	if (t) {
		t->open = t->gc.depth = t->sweep.depth = t->waits = t->misses = t->looked = 0;
		t->tells_waits = 0;
		t->loop = LOOP_NONE;
		t->root = 0;
	}
	if (w)
		w->started = 0;
	return 0;
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(vm_exit, struct task_struct *task)
{
	struct ids ids = task_ids(task);
	struct vm_thread *t = bpf_task_storage_get(&vm_threads, task, NULL, 0);

	/* It still runs, and is looked at, until it leaves its CPU for good. */
	if (t)
		t->loop = LOOP_ENDED;
	/* Its number may soon be another's. */
	bpf_map_delete_elem(&vm_wanted, &ids.tid);
	if (t && t->open)
		event_close(t, task, ids, bpf_ktime_get_ns());
	if (BPF_CORE_READ(task, signal, live.counter) == 0)
		bpf_map_delete_elem(&vm_procs, &ids.tgid);
	return 0;
}
