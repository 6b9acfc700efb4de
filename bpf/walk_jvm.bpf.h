/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * HotSpot's frames. Its threads run interpreted code, which keeps a frame
 * pointer, compiled code, whose frame's size the VM knows by the address, and
 * stubs; or they have left Java for C++, which notes where. Part of
 * walk_vm.bpf.h. The frames' layouts are x86_64's.
 */
#ifndef BPF_WALK_JVM_H
#define BPF_WALK_JVM_H

#define JVM_INTERPRETED offsetof(struct jvm_interpreted, link)
/* Below the frame pointer of the stub that calls Java: its JavaCallWrapper. */
#define JVM_WRAPPER 48

/* A frame is not larger than this. */
#define JVM_FRAME_MAX (1u << 20)
/* Steps back in a map of segments: each is 254 of them, or less where blocks met. */
#define JVM_HOPS 24
/* Frames of C++ between Java and a thread that has not noted where it left it. */
#define JVM_NATIVE 16

/* First bytes of blobs' names: "nmethod", "native nmethod", "vtable chunks", "I2C/C2I adapters". */
#define NAME_NMETHOD 0x00646f6874656d6eull
#define NAME_NATIVE 0x6e2065766974616eull
#define NAME_VTABLE 0x6320656c62617476ull
#define NAME_ADAPTER 0x204932432f433249ull

/* Global functions, as py_frame() is. */
__weak __noinline bool jvm_in_code(const struct vm_proc *p, __u64 pc)
{
	int i;

	for (i = 0; p && i < JVM_HEAPS; i++)
		if (pc >= p->jvm.heaps[i].low && pc < p->jvm.heaps[i].high)
			return true;
	return false;
}

/* The CodeBlob that holds pc, or 0. */
__weak __noinline __u64 jvm_blob(const struct vm_proc *p, __u64 pc)
{
	__u64 low = 0, map = 0, shift = 0, segment;
	__u8 back = 0;
	int i;

	for (i = 0; p && i < JVM_HEAPS; i++)
		if (pc >= p->jvm.heaps[i].low && pc < p->jvm.heaps[i].high) {
			low = p->jvm.heaps[i].low;
			map = p->jvm.heaps[i].map;
			shift = p->jvm.heaps[i].shift & 31;
		}
	if (!p || !low)
		return 0;
	segment = (pc - low) >> shift;
	for (i = 0; i < JVM_HOPS; i++) {
		if (user_read(&back, 1, map + segment) || back == 0xff || back > segment)
			return 0;
		if (!back)
			break;
		segment -= back;
	}
	low += segment << shift;
	if (back || user_read(&back, 1, low + p->off[OFF_block_used]) || !back)
		return 0;
	return low + p->off[OFF_block_size];
}

/* ---- What code it is ---- */

static __always_inline struct text jvm_symbol(const struct vm_proc *p, __u64 at, __u32 most)
{
	struct text t = { .at = at + p->off[OFF_symbol_text] };
	__u16 length = 0;

	if (!at || user_read(&length, sizeof(length), at + p->off[OFF_symbol_length]))
		return t;
	/* What is left of a long name is its begin: the package. */
	t.len = length > most ? most : length;
	return t;
}

/* A method's class and name, as addresses of their symbols. */
static __always_inline bool jvm_names(const struct vm_proc *p, __u64 method, __u64 *klass,
				      __u64 *name)
{
	__u64 code = user_u64(method + p->off[OFF_method_const]), constants, holder;
	__u16 index = 0;

	if (!code || user_read(&index, sizeof(index), code + p->off[OFF_const_name]))
		return false;
	constants = user_u64(code + p->off[OFF_const_constants]);
	holder = constants ? user_u64(constants + p->off[OFF_pool_holder]) : 0;
	*klass = holder ? user_u64(holder + p->off[OFF_klass_name]) : 0;
	*name = constants ? user_u64(constants + p->off[OFF_pool_slots] + index * 8ull) : 0;
	return *klass && *name;
}

/* As py_frame() is. */
__weak __noinline __u32 jvm_interpreted_frame(const struct vm_proc *p, __u64 method, __u64 who)
{
	struct frame_key key = { .code = method, .tgid = who >> 32 };
	__u32 id;

	if (!p || !jvm_names(p, method, &key.file, &key.function))
		return 0;
	id = known_frame(&key);
	if (!id) {
		struct text file = jvm_symbol(p, key.file, VM_FILE),
			    function = jvm_symbol(p, key.function, VM_FUNCTION);

		id = file.len ? new_frame(&key, who, &file, &function) : 0;
	}
	return id;
}

/* By the number of its compilation: code's memory is used again. As py_frame() is. */
__weak __noinline __u32 jvm_compiled_frame(const struct vm_proc *p, __u64 blob, __u64 pc,
					   __u32 leaf, __u64 who)
{
	struct frame_key key = { .code = blob, .file = pc, .tgid = who >> 32 };
	__u64 method, klass, name;
	struct text file, function;
	struct wire_frame *f;
	__u32 number = 0, id;

	if (!p)
		return 0;
	method = user_u64(blob + p->off[OFF_nmethod_method]);
	if (!method || user_read(&number, sizeof(number), blob + p->off[OFF_nmethod_id]))
		return 0;
	key.function = (__u64)leaf << 32 | number;
	id = known_frame(&key);
	if (id || !jvm_names(p, method, &klass, &name))
		return id;
	file = jvm_symbol(p, klass, VM_FILE);
	function = jvm_symbol(p, name, VM_FUNCTION);
	if (!file.len)
		return 0;
	id = __sync_fetch_and_add(&frame_last, 1) + 1;
	f = frame_reserve(key.tgid, who, id);
	if (!f)
		return 0;
	f->how = FRAME_COMPILED;
	f->leaf = leaf;
	f->compiled = number;
	f->code = blob;
	f->pc = pc;
	f->file_unit = f->function_unit = 0;
	f->file_len = copy_text(f->file, VM_FILE, &file);
	f->function_len = copy_text(f->function, VM_FUNCTION, &function);
	bpf_ringbuf_submit(f, BPF_RB_NO_WAKEUP);
	bpf_map_update_elem(&frame_ids, &key, &id, BPF_ANY);
	return id;
}

/* A thread outside of Java: of the VM's own, or of libraries'. */
static __always_inline void jvm_thread_frame(struct walk *w)
{
	struct frame_key key = { .code = 1, .tgid = w->tgid };
	__u64 name[2] = {};
	struct wire_frame *f;
	__u32 id;

	bpf_probe_read_kernel(name, sizeof(name), w->task->comm);
	key.file = name[0];
	key.function = name[1];
	id = known_frame(&key);
	if (!id) {
		id = __sync_fetch_and_add(&frame_last, 1) + 1;
		f = frame_reserve(w->tgid, w->tid, id);
		if (!f)
			return;
		f->how = FRAME_THREAD;
		f->file_unit = f->function_unit = 0;
		f->file_len = 0;
		f->function_len = sizeof(name);
		__builtin_memcpy(f->function, name, sizeof(name));
		bpf_ringbuf_submit(f, BPF_RB_NO_WAKEUP);
		bpf_map_update_elem(&frame_ids, &key, &id, BPF_ANY);
	}
	add_frame(w, id);
}

/* ---- Where it was called from ---- */

/* The frame above: false when it does not lie above. */
static __always_inline bool jvm_go(struct walk *w, __u64 pc, __u64 sp, __u64 fp)
{
	if (!pc || sp <= w->at || sp - w->at > JVM_FRAME_MAX)
		return false;
	w->pc = pc;
	w->at = sp;
	w->fp = fp;
	w->leaf = 0;
	return true;
}

/* Out of the return address at `at`, what was the caller's frame pointer being fp. */
static __always_inline bool jvm_return(struct walk *w, __u64 at, __u64 fp)
{
	return jvm_go(w, user_u64(at), at + 8, fp);
}

/*
 * A running frame may not be made yet, or be gone already: by the instructions
 * around pc (code[1] is the first byte at it). False: it is there.
 */
static __always_inline bool jvm_half_made(struct walk *w, bool whole, const __u8 code[12],
					  __u64 *back, __u64 *fp)
{
	*back = w->at;
	*fp = w->fp;
	if (!whole) {
		/* sub rsp, N behind push rbp, or in front of mov [rsp + M], rbp. */
		if (code[0] == 0x55) {
			*back = w->at + 8;
			*fp = user_u64(w->at);
		} else if (code[1] == 0x48 && code[2] == 0x89 &&
			   (code[3] == 0x6c || code[3] == 0xac)) {
			return false;
		}
		return true;
	}
	/* pop rbp; cmp rsp, [r15 + N]; ja; ret */
	if (code[1] == 0x5d) {
		*back = w->at + 8;
		*fp = user_u64(w->at);
		return true;
	}
	return code[1] == 0xc3 || (code[1] == 0x49 && code[2] == 0x3b && code[3] == 0xa7) ||
	       (code[1] == 0x0f && code[2] == 0x87 && code[7] == 0xc3);
}

/* C++ calls stubs too. */
static __always_inline long jvm_outside(struct walk *w)
{
	if (w->to->count || w->outside)
		return fault(w);
	w->outside = OUTSIDE;
	return 0;
}

/* A frame whose size is not known: most stubs keep a frame pointer. */
static __always_inline long jvm_stub(struct walk *w, __u64 name, const __u8 code[12])
{
	__u64 back = w->at, fp = w->fp;

	/* push rbp, ret: there is none yet, or no more; mov rbp, rsp: almost. */
	if (w->leaf && code[0] == 0x55 && code[1] == 0x48 && code[2] == 0x8b && code[3] == 0xec) {
		back = w->at + 8;
		fp = user_u64(w->at);
	} else if (!w->leaf || !(name == NAME_VTABLE || name == NAME_ADAPTER || code[1] == 0x55 ||
				 code[1] == 0xc3)) {
		if (w->fp < w->at || w->fp - w->at > JVM_FRAME_MAX)
			return jvm_outside(w);
		back = w->fp + 8;
		fp = user_u64(w->fp);
	}
	if (!jvm_in_code(w->p, user_u64(back)))
		return jvm_outside(w);
	return jvm_return(w, back, fp) ? 0 : fault(w);
}

static __always_inline long jvm_compiled(struct walk *w)
{
	const struct vm_proc *p = w->p;
	__u64 blob = jvm_blob(p, w->pc), name, back, fp, begin;
	__s32 size = 0, whole = 0;
	int i;
	__u8 code[12] = {};

	if (!blob)
		return jvm_outside(w);
	name = user_u64(user_u64(blob + p->off[OFF_blob_name]));
	begin = user_u64(blob + p->off[OFF_blob_code]);
	if (!name || !begin || user_read(&size, sizeof(size), blob + p->off[OFF_blob_frame]) ||
	    user_read(&whole, sizeof(whole), blob + p->off[OFF_blob_complete]))
		return fault(w);
	if (name == NAME_NMETHOD || name == NAME_NATIVE) {
		__u32 id = jvm_compiled_frame(p, blob, w->pc, w->leaf, who(w));

		if (!id)
			return fault(w);
		if (!add_frame(w, id))
			return 1;
	}
	if (w->leaf && user_read(code, sizeof(code), w->pc - 1))
		return fault(w);
	if (size <= 0)
		return jvm_stub(w, name, code);
	if (w->leaf &&
	    jvm_half_made(w, whole < 0 || w->pc - begin >= (__u32)whole, code, &back, &fp))
		return jvm_return(w, back, fp) ? 0 : fault(w);
	back = w->at + size * 8ull - 8;
	/* Code for strings pushes some words for a while. */
	for (i = 0; w->leaf && i < 3 && !jvm_in_code(p, user_u64(back)); i++)
		back += 8;
	return jvm_return(w, back, user_u64(back - 8)) ? 0 : fault(w);
}

/*
 * At a method's entry its frame is not made yet, or in part. In front of `enter` what
 * called it is at the top of the stack, or in rax while the locals are made, and r13
 * is where its stack ends; which method it is nobody could verify: the time is its
 * caller's. Behind it, the frame's words are pushed one by one.
 */
static __always_inline long jvm_entered(struct walk *w, const struct jvm_interpreted *f)
{
	__u64 made = w->fp - w->at, back, sp = w->back_sp, fp = w->fp;
	__u32 id;

	if (!w->leaf)
		return fault(w);
	if (made <= JVM_INTERPRETED && jvm_in_code(w->p, f->back)) {
		back = f->back;
		fp = f->link;
		if (made >= JVM_INTERPRETED - offsetof(struct jvm_interpreted, sender_sp))
			sp = f->sender_sp;
		id = made >= JVM_INTERPRETED - offsetof(struct jvm_interpreted, method)
			     ? jvm_interpreted_frame(w->p, f->method, who(w))
			     : 0;
		if (id && !add_frame(w, id))
			return 1;
	} else {
		back = user_u64(w->at);
		if (!jvm_in_code(w->p, back))
			back = w->back;
	}
	if (!jvm_in_code(w->p, back))
		return fault(w);
	return jvm_go(w, back, sp, fp) ? 0 : fault(w);
}

static __always_inline long jvm_interpreter(struct walk *w)
{
	const struct vm_proc *p = w->p;
	struct jvm_interpreted *f = &w->to->frame;
	__u64 code;
	__u32 size = 0, id;

	__builtin_memset(f, 0, sizeof(*f));
	if (w->fp < w->at || w->fp - w->at > JVM_FRAME_MAX ||
	    user_read(f, sizeof(*f), w->fp - JVM_INTERPRETED) ||
	    (w->leaf && w->fp - w->at <= JVM_INTERPRETED))
		return jvm_entered(w, f);
	code = user_u64(f->method + p->off[OFF_method_const]);
	if (!code || user_read(&size, sizeof(size), code + p->off[OFF_const_size]))
		return jvm_entered(w, f);
	/* Where it is must lie in the method; native ones have no place. */
	if (f->bytecode && (f->bytecode < code || f->bytecode - code >= size * 8ull))
		return jvm_entered(w, f);
	id = jvm_interpreted_frame(p, f->method, who(w));
	if (!id)
		return fault(w);
	if (!add_frame(w, id))
		return 1;
	/* Compiled code's frame begins where that left its stack. Calls by method handles
	 * drop an argument and leave this as it was. */
	if (f->sender_sp <= w->fp)
		return fault(w);
	return jvm_go(w, f->back, f->sender_sp, f->link) ? 0 : fault(w);
}

/* From where a thread left Java. False: it did not, or nothing is further out. */
static __always_inline bool jvm_anchor(struct walk *w, __u64 at)
{
	const struct vm_proc *p = w->p;
	__u64 sp = user_u64(at + p->off[OFF_anchor_sp]), pc;

	if (!sp)
		return false;
	pc = user_u64(at + p->off[OFF_anchor_pc]);
	w->pc = pc ? pc : user_u64(sp - 8);
	w->fp = user_u64(at + p->off[OFF_anchor_fp]);
	w->at = sp;
	w->leaf = 0;
	return true;
}

static __always_inline bool jvm_left(struct walk *w);

/* Where the thread left Java is looked for in here, not between two loops: the verifier
 * would go through all of this for each. */
static long jvm_step(__u64 i, void *ctx)
{
	struct walk *w = ctx;
	const struct vm_jvm *j = &w->p->jvm;
	__u64 at = w->at, wrapper;

	if (w->outside == OUTSIDE) {
		w->outside = OUTSIDE_KNOWN;
		return jvm_left(w) ? 0 : 1;
	}
	if (w->pc >= j->interpreter && w->pc < j->interpreter_end)
		return jvm_interpreter(w);
	if (w->pc != j->call_return)
		return jvm_compiled(w);
	/* C++ called this; it may have been called from Java in turn. */
	wrapper = user_u64(w->fp - JVM_WRAPPER);
	if (!wrapper)
		return fault(w);
	if (!jvm_anchor(w, wrapper + w->p->off[OFF_wrapper_anchor]))
		return 1;
	return w->at > at ? 0 : fault(w);
}

/* ---- Where it is ---- */

static __always_inline bool jvm_is(const struct vm_proc *p, __u64 thread, __u32 tid)
{
	__u64 os = thread ? user_u64(thread + p->off[OFF_thread_os]) : 0;
	__u32 id = 0;

	return os && !user_read(&id, sizeof(id), os + p->off[OFF_os_tid]) && id == tid;
}

static long jvm_look(__u64 i, void *ctx)
{
	struct walk *w = ctx;
	__u64 thread;

	if (i >= w->end)
		return 1;
	thread = user_u64(w->at - (i + 1) * 8);
	if (!jvm_is(w->p, thread, w->tid))
		return 0;
	w->found = thread;
	return 1;
}

/* The task's JavaThread: remembered, or looked for in the VM's list. */
static __always_inline __u64 jvm_thread(struct walk *w)
{
	struct task_struct *task = w->task;
	struct vm_thread *t = w->thread;
	const struct vm_proc *p = w->p;
	__u32 tid = w->tid, length = 0;
	__u64 list;

	w->tid = own_number(BPF_CORE_READ(task, thread_pid));
	w->found = 0;
	if (t->root && jvm_is(p, t->root, w->tid)) {
		w->found = t->root;
	} else if (search_again(t->misses)) {
		list = user_u64(p->jvm.threads);
		if (list && !user_read(&length, sizeof(length), list + p->off[OFF_list_length]) &&
		    length > t->looked) {
			/* The youngest are last. */
			w->end = length - t->looked;
			w->at = user_u64(list + p->off[OFF_list_threads]) + w->end * 8;
			bpf_loop(LOOK_AT_ONCE, jvm_look, w, 0);
		}
	}
	w->tid = tid;
	looked(t, w->found, length > t->looked + LOOK_AT_ONCE);
	return w->found;
}

/* Java called C++ without a note: along the frame pointers back into Java. */
static __always_inline bool jvm_through_native(struct walk *w)
{
	__u64 frame[2];
	int i;

	for (i = 0; i < JVM_NATIVE; i++) {
		if (w->fp < w->at || w->fp - w->at > JVM_FRAME_MAX ||
		    user_read(frame, sizeof(frame), w->fp))
			return false;
		w->at = w->fp + 16;
		w->pc = frame[1];
		w->fp = frame[0];
		if (jvm_in_code(w->p, w->pc))
			return true;
	}
	return false;
}

static __always_inline void jvm_start(struct walk *w)
{
#ifdef bpf_target_x86
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(w->task);

	bpf_core_read(&w->pc, sizeof(w->pc), &regs->ip);
	bpf_core_read(&w->at, sizeof(w->at), &regs->sp);
	bpf_core_read(&w->fp, sizeof(w->fp), &regs->bp);
	bpf_core_read(&w->back, sizeof(w->back), &regs->ax);
	bpf_core_read(&w->back_sp, sizeof(w->back_sp), &regs->r13);
#endif
	w->leaf = jvm_in_code(w->p, w->pc);
	w->outside = w->leaf ? INSIDE : OUTSIDE;
}

/* The thread runs C++, of the VM's or of a library's: where it left Java. */
static __always_inline bool jvm_left(struct walk *w)
{
	__u64 sp = w->at, fp = w->fp, thread = jvm_thread(w);

	w->at = sp;
	w->fp = fp;
	if (thread &&
	    (jvm_anchor(w, thread + w->p->off[OFF_thread_anchor]) || jvm_through_native(w)))
		return true;
	jvm_thread_frame(w);
	return false;
}

#endif
