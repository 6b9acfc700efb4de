/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interpreters' frames, one step function a VM. Everything read belongs to
 * the target: it may be unmapped, stale or forged. A read that fails ends the
 * walk and marks the stack.
 */
#ifndef BPF_WALK_VM_H
#define BPF_WALK_VM_H

#include "bpf/walk.bpf.h"

__u32 frame_last = 0;

static __always_inline __u32 known_frame(const struct frame_key *key)
{
	__u32 *id = bpf_map_lookup_elem(&frame_ids, key);

	return id ? *id : 0;
}

static __always_inline __u32 new_frame(const struct frame_key *key, __u32 tid,
				       const struct text *file, const struct text *function)
{
	__u32 id = __sync_fetch_and_add(&frame_last, 1) + 1;

	if (!tell_frame(key->tgid, tid, id, file, function))
		return 0;
	bpf_map_update_elem(&frame_ids, key, &id, BPF_ANY);
	return id;
}

/* Whose stack it is, for functions that have room for few arguments: its process, and below that its thread. */
static __always_inline __u64 who(const struct walk *w)
{
	return (__u64)w->tgid << 32 | w->tid;
}

static __always_inline long fault(struct walk *w)
{
	w->to->flags |= SAMPLE_FAULT;
	return 1;
}

/* ---- CPython ---- */

/* A compact str; anything else has no text here. */
static __always_inline struct text py_text(const struct vm_proc *p, __u64 at)
{
	struct text t = {};
	__u32 state = 0, unit;
	__u64 length = 0;

	if (user_read(&length, sizeof(length), at + p->off[OFF_text_length]) ||
	    user_read(&state, sizeof(state), at + p->off[OFF_text_state]))
		return t;
	unit = state >> 2 & 7;
	if (!(state & 0x20) || length > 1 << 20 || (unit != 1 && unit != 2 && unit != 4))
		return t;
	if (state & 0x40) {
		t.at = at + p->off[OFF_text_ascii];
	} else {
		t.at = at + p->off[OFF_text_compact];
		t.unit = unit;
	}
	t.len = length * unit;
	return t;
}

/*
 * A frame's number, by which user space has its code's names. 0: they cannot be read, or there is no room. This, and
 * whatever else is global here, the verifier looks at once and by itself, and not from every state of every caller.
 */
__weak __noinline __u32 py_frame(const struct vm_proc *p, __u64 code, __u64 at, __u64 called,
				 __u64 who)
{
	struct frame_key key = { .code = code, .file = at, .function = called, .tgid = who >> 32 };
	struct text file, function;
	__u32 id;

	if (!p)
		return 0;
	id = known_frame(&key);
	if (id)
		return id;
	file = py_text(p, at);
	function = py_text(p, called);
	return file.len ? new_frame(&key, who, &file, &function) : 0;
}

static long py_step(__u64 i, void *ctx)
{
	struct walk *w = ctx;
	const struct vm_proc *p = w->p;
	__u64 at = w->at, code, file, function;
	__u8 owner = 0;

	if (!at)
		return 1;
	code = user_u64(at + p->off[OFF_frame_code]);
	if (!code || user_read(&w->at, sizeof(w->at), at + p->off[OFF_frame_previous]))
		return fault(w);
	/* A C function's entry into the interpreter is no frame of anybody's. */
	if (p->off[OFF_frame_owner] &&
	    (user_read(&owner, sizeof(owner), at + p->off[OFF_frame_owner]) || owner == 3))
		return 0;
	file = user_u64(code + p->off[OFF_code_filename]);
	function = user_u64(code + p->off[OFF_code_qualname]);
	if (!file || !function)
		return fault(w);
	return add_frame(w, py_frame(p, code, file, function, who(w))) ? 0 : 1;
}

/*
 * Of the VM's threads so many are looked at for the one that is on the CPU: at once, for the
 * scheduler waits, and in all. Where there are more, the next look goes on.
 */
#define LOOK_AT_ONCE 256
#define LOOK_THREADS 8192

/* gettid() of one of the VM's threads, as the process sees it. */
static __always_inline __u64 number_of(const struct vm_proc *p, __u64 thread)
{
	__u32 number = 0;

	if (p->kind == VM_CPYTHON)
		return user_u64(thread + p->off[OFF_thread_native_id]);
	if (p->off[OFF_thread_native])
		thread = user_u64(thread + p->off[OFF_thread_native]);
	return user_read(&number, sizeof(number), thread ? thread + p->off[OFF_thread_tid] : 0)
		       ? 0
		       : number;
}

static __always_inline bool is_its_number(const struct walk *w, __u64 number)
{
	return number == w->tid || (w->forked_as && number == w->forked_as);
}

/* CPython's list ends with 0, Ruby's where it began; that leads from node to node in the threads. */
static long find_step(__u64 i, void *ctx)
{
	struct walk *w = ctx;
	const struct vm_proc *p = w->p;
	bool python = p->kind == VM_CPYTHON;
	__u64 thread = python ? w->at : w->at - p->off[OFF_thread_node];

	if (!w->at || w->at == w->end) {
		w->all = w->at;
		w->at = 0;
		return 1;
	}
	if (is_its_number(w, number_of(p, thread))) {
		w->found = thread;
		return 1;
	}
	w->at = user_u64(w->at + (python ? p->off[OFF_thread_next] : 0));
	return 0;
}

/* What a look has come to. `more`: of the list some is left. */
static __always_inline void looked(struct vm_thread *t, __u64 found, bool more)
{
	t->root = found;
	if (!found && more && t->looked + LOOK_AT_ONCE < LOOK_THREADS) {
		t->looked += LOOK_AT_ONCE;
		return;
	}
	t->looked = 0;
	t->misses = found ? 0 : t->misses + 1;
}

/*
 * Whether a thread is looked for that so many looks in a row have not found. One that was
 * just born may not have told the VM its number yet: it is found by the next look, or when
 * it is about twice as old. One that is none of the VM's costs a search in 64 looks.
 */
static __always_inline bool search_again(__u32 misses)
{
	return !(misses & (misses - 1)) || !(misses & 63);
}

/* What is found stays valid with its thread; but Ruby gives the kernel's thread of one that has ended to the next,
 * and the number is then in both. In a list is the one that lives. */
static __always_inline bool is_listed(const struct vm_proc *p, __u64 thread)
{
	__u64 node = thread + p->off[OFF_thread_node];

	return p->kind == VM_CPYTHON || user_u64(user_u64(node) + 8) == node;
}

/* The VM's own of the current thread, in its list that begins at `first` and ends at `end`. 0: not found. */
static __always_inline __u64 find_thread(struct walk *w, struct vm_thread *t,
					 struct task_struct *task, __u64 first, __u64 end)
{
	__u32 tid = w->tid;

	w->tid = own_number(BPF_CORE_READ(task, thread_pid));
	w->forked_as = task->pid == task->tgid ? w->p->forked_as : 0;
	w->found = 0;
	w->at = 0;
	w->end = end;
	w->all = false;
	if (t->root && is_its_number(w, number_of(w->p, t->root)) && is_listed(w->p, t->root)) {
		w->found = t->root;
	} else if (search_again(t->misses)) {
		w->at = t->looked ? t->look_at : first;
		bpf_loop(LOOK_AT_ONCE, find_step, w, 0);
	}
	w->tid = tid;
	t->look_at = w->at;
	looked(t, w->found, w->at);
	return w->found;
}

static __always_inline bool py_start(struct walk *w, struct vm_thread *t, struct task_struct *task)
{
	const struct vm_proc *p = w->p;
	__u64 at = user_u64(p->root + p->off[OFF_runtime_interpreters]);

	at = find_thread(w, t, task, at ? user_u64(at + p->off[OFF_interp_threads]) : 0, 0);
	if (!at)
		return false;
	if (p->off[OFF_thread_cframe])
		at = user_u64(at + p->off[OFF_thread_cframe]);
	w->at = at ? user_u64(at + p->off[OFF_thread_frame]) : 0;
	return w->at;
}

/* ---- PHP ---- */

static __always_inline struct text php_text(const struct vm_proc *p, __u64 at)
{
	struct text t = { .at = at + p->off[OFF_zstring_text] };
	__u64 length = 0;

	if (!at || user_read(&length, sizeof(length), at + p->off[OFF_zstring_length]) ||
	    length > 1 << 20)
		return t;
	t.len = length;
	return t;
}

/* A string's hash, which PHP works out when it first needs it; else where it
 * is. */
static __always_inline __u64 php_same(const struct vm_proc *p, __u64 at)
{
	__u64 hash = at ? user_u64(at + p->off[OFF_zstring_hash]) : 0;

	return hash ? hash : at;
}

__weak __noinline __u32 php_frame(const struct vm_proc *p, __u64 at, __u64 called, __u64 who)
{
	struct frame_key key = { .tgid = who >> 32 };
	struct text file, function;
	__u32 id;

	if (!p)
		return 0;
	key.file = php_same(p, at);
	key.function = php_same(p, called);
	id = known_frame(&key);
	if (id)
		return id;
	file = php_text(p, at);
	function = php_text(p, called);
	return file.len ? new_frame(&key, who, &file, &function) : 0;
}

static long php_step(__u64 i, void *ctx)
{
	struct walk *w = ctx;
	const struct vm_proc *p = w->p;
	__u64 at = w->at, func, file, name;
	__u8 type = 0;

	if (!at)
		return 1;
	if (user_read(&func, sizeof(func), at + p->off[OFF_execute_func]) ||
	    user_read(&w->at, sizeof(w->at), at + p->off[OFF_execute_prev]))
		return fault(w);
	/* No function yet: a call that is being made. */
	if (!func)
		return 0;
	if (user_read(&type, sizeof(type), func + p->off[OFF_func_type]))
		return fault(w);
	/* Functions of PHP's own (1) are their caller's doing. */
	if (!(type == 2 || type == 4))
		return 0;
	file = user_u64(func + p->off[OFF_func_filename]);
	name = user_u64(func + p->off[OFF_func_name]);
	if (!file)
		return fault(w);
	return add_frame(w, php_frame(p, file, name, who(w))) ? 0 : 1;
}

static __always_inline bool php_start(struct walk *w)
{
	w->at = user_u64(w->p->root + w->p->off[OFF_globals_execute_data]);
	return w->at;
}

/* ---- Ruby ---- */

enum {
	RB_TYPE = 0x1f,
	RB_STRING = 5,
	RB_ARRAY = 7,
	RB_USER1 = 1 << 13, /* a string is on the heap; an array is not */
};

static __always_inline struct text rb_text(const struct vm_proc *p, __u64 at)
{
	struct text t = {};
	__u64 flags = user_u64(at), length;

	if (at && (flags & RB_TYPE) == RB_ARRAY) {
		/* Of a path: as it was asked for, then as it is. */
		if (flags & RB_USER1)
			at = user_u64(at + p->off[OFF_rarray_embedded]);
		else
			at = user_u64(user_u64(at + p->off[OFF_rarray_heap]));
		flags = user_u64(at);
	}
	if (!at || (flags & RB_TYPE) != RB_STRING)
		return t;
	if (flags & RB_USER1) {
		length = user_u64(at + p->off[OFF_rstring_heap_length]);
		t.at = user_u64(at + p->off[OFF_rstring_heap_text]);
		t.len = length > 1 << 20 ? 0 : length;
	} else {
		t.len = flags >> 14 & 0x1f;
		t.at = at + p->off[OFF_rstring_embedded];
	}
	return t;
}

__weak __noinline __u32 rb_frame(const struct vm_proc *p, __u64 code, __u64 at, __u64 called,
				 __u64 who)
{
	struct frame_key key = { .code = code, .file = at, .function = called, .tgid = who >> 32 };
	struct text file, function;
	__u32 id;

	if (!p)
		return 0;
	id = known_frame(&key);
	if (id)
		return id;
	file = rb_text(p, at);
	function = rb_text(p, called);
	return file.len ? new_frame(&key, who, &file, &function) : 0;
}

static long rb_step(__u64 i, void *ctx)
{
	struct walk *w = ctx;
	const struct vm_proc *p = w->p;
	__u64 at = w->at, iseq, body, file, function;

	if (at + p->off[OFF_cfp_size] > w->end)
		return 1;
	w->at = at + p->off[OFF_cfp_size];
	if (user_read(&iseq, sizeof(iseq), at + p->off[OFF_cfp_iseq]))
		return fault(w);
	/* Functions of Ruby's own are their caller's doing. */
	if (!iseq)
		return 0;
	body = user_u64(iseq + p->off[OFF_iseq_body]);
	if (!body)
		return fault(w);
	file = user_u64(body + p->off[OFF_body_path]);
	function = user_u64(body + p->off[OFF_body_label]);
	/* The outermost frame has an iseq without code or file. */
	if (!file)
		return 0;
	return add_frame(w, rb_frame(p, iseq, file, function, who(w))) ? 0 : 1;
}

/*
 * Each thread has a stack of its own, whoever holds the lock. The process's first one is known
 * without its number: in a forked child the VM has that of the parent there still.
 */
static __always_inline __u64 rb_thread(struct walk *w, struct vm_thread *t,
				       struct task_struct *task)
{
	const struct vm_proc *p = w->p;
	__u64 vm = user_u64(p->root), ractor, list, thread;

	ractor = vm ? user_u64(vm + p->off[OFF_vm_main_ractor]) : 0;
	if (!ractor)
		return 0;
	if (task->pid == task->tgid)
		return user_u64(ractor + p->off[OFF_ractor_main]);
	list = ractor + p->off[OFF_ractor_threads];
	thread = find_thread(w, t, task, user_u64(list), list);
	if (w->all)
		w->to->flags |= SAMPLE_LEFT;
	return thread;
}

static __always_inline bool rb_start(struct walk *w, struct vm_thread *t, struct task_struct *task)
{
	const struct vm_proc *p = w->p;
	__u64 thread = rb_thread(w, t, task), ec, base, size;

	ec = thread ? user_u64(thread + p->off[OFF_thread_ec]) : 0;
	if (!ec)
		return false;
	base = user_u64(ec + p->off[OFF_ec_stack]);
	size = user_u64(ec + p->off[OFF_ec_stack_size]);
	w->at = user_u64(ec + p->off[OFF_ec_cfp]);
	w->end = base + size * 8;
	return w->at && w->at >= base && w->at < w->end;
}

#include "bpf/walk_jvm.bpf.h"

/* ---- All ---- */

/* Frames stepped over, those of native functions included. */
#define STEPS 256

static __always_inline struct walk walk_of(const struct vm_proc *p, struct vm_thread *t,
					   struct stack *to, __u32 tgid, __u32 tid)
{
	return (struct walk){
		.p = p,
		.to = to,
		.thread = t,
		.task = bpf_get_current_task_btf(),
		.tgid = tgid,
		.tid = tid,
	};
}

__weak __noinline int walk_cpython(const struct vm_proc *p, struct vm_thread *t, struct stack *to,
				   __u32 tgid, __u32 tid)
{
	struct walk w = walk_of(p, t, to, tgid, tid);

	if (p && t && to && py_start(&w, t, w.task))
		bpf_loop(STEPS, py_step, &w, 0);
	return 0;
}

__weak __noinline int walk_php(const struct vm_proc *p, struct vm_thread *t, struct stack *to,
			       __u32 tgid, __u32 tid)
{
	struct walk w = walk_of(p, t, to, tgid, tid);

	if (p && t && to && php_start(&w))
		bpf_loop(STEPS, php_step, &w, 0);
	return 0;
}

__weak __noinline int walk_ruby(const struct vm_proc *p, struct vm_thread *t, struct stack *to,
				__u32 tgid, __u32 tid)
{
	struct walk w = walk_of(p, t, to, tgid, tid);

	if (p && t && to && rb_start(&w, t, w.task))
		bpf_loop(STEPS, rb_step, &w, 0);
	return 0;
}

__weak __noinline int walk_jvm(const struct vm_proc *p, struct vm_thread *t, struct stack *to,
			       __u32 tgid, __u32 tid)
{
	struct walk w = walk_of(p, t, to, tgid, tid);

	if (!p || !t || !to)
		return 0;
	jvm_start(&w);
	bpf_loop(STEPS, jvm_step, &w, 0);
	return 0;
}

/* Fills `to` with the stack of the current thread. */
static __always_inline void walk_stack(const struct vm_proc *p, struct vm_thread *t,
				       struct stack *to, struct ids ids)
{
	to->count = to->flags = 0;
	if ((t->gc.depth && t->gc.epoch == gc_epoch) ||
	    (t->sweep.depth && t->sweep.epoch == sweep_epoch))
		to->flags = SAMPLE_GC;
	if (p->kind == VM_CPYTHON)
		walk_cpython(p, t, to, ids.tgid, ids.tid);
	else if (p->kind == VM_PHP)
		walk_php(p, t, to, ids.tgid, ids.tid);
	else if (p->kind == VM_RUBY)
		walk_ruby(p, t, to, ids.tgid, ids.tid);
	else if (p->kind == VM_JVM)
		walk_jvm(p, t, to, ids.tgid, ids.tid);
	/* In a JVM some instructions leave no way further out: cut, as the mark says. Without
	 * any frame the time is nobody's. */
	if (to->flags & SAMPLE_FAULT && (p->kind != VM_JVM || !to->count))
		count(COUNT_WALK_FAULTS, 1);
}

#endif
