/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* State of stock VMs' processes and threads, and their stacks' frames. */
#ifndef BPF_WALK_H
#define BPF_WALK_H

#include "bpf/emit.bpf.h"
#include "bpf/vm.h"

/* Words of a JVM's interpreted frame, from below its frame pointer upward. */
struct jvm_interpreted {
	__u64 bytecode, locals, cache, profile, mirror, method, last_sp, sender_sp;
	__u64 link, back;
};

struct stack {
	__u32 count, flags; /* SAMPLE_* */
	__u32 frames[VM_FRAMES];
	/* The one that is looked at. Not a variable: before Linux 6.13 those of all functions on the way may be 512
	 * bytes together. */
	struct jvm_interpreted frame;
};

/* A function's names, as its probe gives them; zero-filled to whole words. */
struct call_text {
	__u32 file_len, scope_len, function_len, pad;
	char file[VM_FILE + 8], scope[VM_SCOPE + 8], function[VM_FUNCTION + 8];
};

/* Raised where ends of collections may have been missed. Defined in walk.bpf.c. */
extern __u16 gc_epoch, sweep_epoch;

/* A thread's stay in a collection, or in a piece of its sweeping. */
struct gc_stay {
	__u64 begin;
	__u16 depth, cpu, epoch;
	__u8 among_calls; /* it has its place in their stack */
	__u8 divided; /* it took too long to be kept whole */
};

struct vm_thread {
	__u32 iteration; /* of the open event, or of the last one */
	__u32 open; /* an event is open */
	__u16 turn_kind, turn_cpu;
	__u16 loop, waits; /* enum loop_rank; in such a call */
	__u16 preempted, ended; /* enum turn_ended: transactions in the open event */
	__u32 misses; /* walks that found no interpreter thread, in a row */
	__u64 turn_begin, off_before; /* off_before: off_total then */
	struct gc_stay gc, sweep;
	__u64 off_at, off_total; /* off_at: 0 while on a CPU */
	/* Of its CPU time taken by a hypervisor, and told of with no event yet. steal_seen: what that had taken of
	 * its CPU when it was asked last, and 1; 0: it has not been asked. */
	__u64 stolen, steal_seen;
	__u32 steal_epoch, steal_pad; /* follow_epoch then */
	__u64 turn_end; /* of the last event */
	__u64 root; /* the VM's own of the thread, to be checked */
	/* Until that is found: of the VM's threads so many have been looked at, CPython's next is there. */
	__u64 look_at;
	__u32 looked;
	__u32 tells_waits; /* those that end its stays on the CPU, too */
	__u32 text_len, title_len;
	char text[VM_TEXT], title[VM_TITLE];
	struct call_text call;
	/* The timer may interrupt anything but the scheduler: one for each. */
	struct stack run, off;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct vm_thread);
} vm_threads SEC(".maps") __weak;

/* tgid -> what it runs */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TRACED_MAX);
	__type(key, __u32);
	__type(value, struct vm_proc);
} vm_procs SEC(".maps") __weak;

/*
 * What makes a frame's code the same as one seen before. Addresses of code
 * are used again when it is freed, so its names' addresses are in it too, or
 * their hashes where the VM frees those with every request (PHP).
 */
struct frame_key {
	__u64 code, file, function;
	__u32 tgid, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct frame_key);
	__type(value, __u32);
} frame_ids SEC(".maps") __weak;

/* A text of the target: where, how long (bytes), bytes a character or 0. */
struct text {
	__u64 at;
	__u32 len, unit;
};

/* One walk. Pointers are to map values. */
struct walk {
	const struct vm_proc *p;
	struct stack *to;
	struct vm_thread *thread;
	struct task_struct *task; /* the current one */
	__u64 at, end; /* of the frames: where the walk is, where they end */
	bool all; /* of the VM's threads: all have been looked at */
	__u32 tgid, tid;
	__u32 forked_as; /* of the process, for its first thread */
	__u64 found;
	/* JVM: registers, `at` being the stack pointer. leaf: of the running frame; then
	 * back and back_sp are two more that may lead to its caller. */
	__u64 pc, fp, back, back_sp;
	__u32 leaf;
	/* It runs no code of the VM's making; and where it left that is known. */
	enum {
		INSIDE,
		OUTSIDE,
		OUTSIDE_KNOWN
	} outside;
};

static __always_inline int user_read(void *to, __u32 size, __u64 at)
{
	return at ? bpf_probe_read_user(to, size, (const void *)at) : -1;
}

static __always_inline __u64 user_u64(__u64 at)
{
	__u64 v = 0;

	return user_read(&v, sizeof(v), at) ? 0 : v;
}

/* Of a text longer than `cap` the end: that is what tells paths apart. */
static __always_inline __u32 copy_text(char *to, const __u32 cap, const struct text *from)
{
	__u32 len = from->len, n;
	__u64 at = from->at;

	if (len > cap) {
		at += len - cap;
		len = cap;
	}
	n = len;
	/* Changes nothing: the limit, in a form that the verifier of Linux 6.1 does not lose
	 * sight of. There is room behind both texts. */
#ifdef __bpf__
	asm volatile("%0 &= %1" : "+r"(n) : "i"(cap > 127 ? 255 : 127));
#endif
	if (!len || user_read(to, n, at))
		return 0;
	return len;
}

static __always_inline struct wire_frame *frame_reserve(__u32 tgid, __u32 tid, __u32 id)
{
	struct wire_frame *f = bpf_ringbuf_reserve(&ring, sizeof(*f), 0);

	if (!f) {
		count(COUNT_VM_LOST, 1);
		return NULL;
	}
	f->h.kind = WIRE_VM_FRAME;
	f->h.bytes = sizeof(*f) - sizeof(f->h);
	f->h.pid = tgid;
	f->h.tid = tid;
	f->id = id;
	f->how = FRAME_CODE;
	f->leaf = 0;
	f->compiled = 0;
	f->code = f->pc = 0;
	return f;
}

/* Tells user space what the frame `id` is. False: no room. */
static __always_inline bool tell_frame(__u32 tgid, __u32 tid, __u32 id, const struct text *file,
				       const struct text *function)
{
	struct wire_frame *f = frame_reserve(tgid, tid, id);

	if (!f)
		return false;
	f->file_unit = file->unit;
	f->function_unit = function->unit;
	f->file_len = copy_text(f->file, VM_FILE, file);
	f->function_len = copy_text(f->function, VM_FUNCTION, function);
	bpf_ringbuf_submit(f, BPF_RB_NO_WAKEUP);
	return true;
}

/* Adds a frame to the stack. False: the stack is full. */
static __always_inline bool add_frame(struct walk *w, __u32 id)
{
	struct stack *s = w->to;
	__u32 n = s->count;

	if (n >= VM_FRAMES) {
		s->flags |= SAMPLE_CUT;
		return false;
	}
	s->frames[n] = id;
	s->count = n + 1;
	return true;
}

#endif
