/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of stock VMs on their way to items: what the files that make them share. */
#ifndef SOURCE_LIVE_VM_INT_H
#define SOURCE_LIVE_VM_INT_H

#include "base/buf.h"
#include "base/intern.h"
#include "probe/vm.h"
#include "source/live_int.h"

/* Frames of a JVM's sample, what is inlined included; the outermost are cut off. */
#define JVM_FRAMES 160

struct vm_stream {
	u64 seq; /* of the next record */
	u64 cpu_ns; /* of all events so far */
	u32 iteration, records; /* records so far of the event under way */
	u64 calls_seq; /* that the kernel's next batch of calls has */
	bool in_vm; /* it has been seen in code of the VM's */
	struct vm_waits *waits; /* owned; NULL: it has not waited in an event */
	struct vm_stays *stays; /* owned; NULL: it is not seen to be of a pool */
};

/* Room for a look at a stack. */
union vm_look {
	struct vmspan_sample r;
	u64 room[(sizeof(struct vmspan_sample) + JVM_FRAMES * sizeof(u32)) / 8 + 1];
};

struct jvm;

struct vm_state {
	struct intern *groups, *labels; /* owned; ids are numbers here plus 1 */
	struct map streams; /* tid -> struct vm_stream *, owned */
	struct map calls; /* a function's id in the kernel -> its compartment */
	struct map frames; /* a frame's id -> VM_FRAME_*, of those that are any of it */
	struct jvm *jvm; /* owned; NULL: none, or not walked */
	char database[64]; /* of a server process: its client's, for good; "": not known yet */
	bool unread; /* its memory was asked for that, and does not tell */
	u64 settle_ns; /* when what is kept is looked through next */
};

/* Records of one thread that are not handed out one by one: live_vm_open.c. */
struct vm_told {
	struct buf data;
	u32 records;
};

/* Made on first sight; NULL without memory. */
struct vm_state *vm_state_of(struct process *p);

/* Hands a definition out. 0 or l->failed. */
int vm_define(struct live *l, const struct process *p, u8 type, u32 id, u8 kind, u8 flags,
	      u32 group, const char *name);
/* A frame of the code in a file. 0 or l->failed. */
int vm_define_frame(struct live *l, struct process *p, u32 id, const char *file,
		    const char *function);
/* The compartment of a group, made on first sight. 0 without memory, or when an
 * item was refused. */
u32 vm_compartment(struct live *l, struct process *p, u8 kind, const char *name);
/* The same of a function, of a group that vm_compartment() made. */
u32 vm_function(struct live *l, struct process *p, u32 group, const char *name);
/* The number of a label; 0: none. */
u32 vm_label(struct live *l, struct process *p, const char *text);
/* The thread's next event, of what the kernel tells; `label`: of vm_label(). */
void vm_event(struct live *l, struct vm_stream *s, const struct wire_turn *w, u32 label,
	      struct vmspan_event *e);
/* Hands records of a thread out, or to l->vm_told. 0 or l->failed. */
int vm_emit(struct live *l, struct process *p, struct vm_stream *s, u32 tid, u32 records,
	    const void *data, u32 bytes);
/* Characters of `unit` bytes (0: UTF-8 already) -> a terminated string. */
void vm_text(const char *from, size_t len, unsigned int unit, char *to, size_t cap);
/* A record of an event; how many it has is told by its own. */
void vm_count_record(struct vm_stream *s, u32 iteration);

/* The frames of one, and what it says of them; the rest is 0. */
void vm_look(struct process *p, const struct wire_sample *w, union vm_look *to);
/* A look at a thread's stack, handed out. 0 or l->failed. */
int vm_emit_sample(struct live *l, struct process *p, struct vm_stream *s, u32 tid,
		   struct vmspan_sample *r);
/* What the kernel tells of a thread that is walked. 0 or l->failed. */
int vm_take(struct live *l, struct process *p, struct vm_stream *s, const struct wire_head *h);

/* ---- live_vm_waits.c ---- */

/* A wait begins in an event that is no stay on the CPU, with its stack; has ended. 0 or l->failed. */
int waits_take_begin(struct live *l, struct process *p, struct vm_stream *s,
		     const struct wire_sample *w, const union vm_look *look);
int waits_take_end(struct live *l, struct process *p, struct vm_stream *s,
		   const struct wire_stay *w);
/* Is a wait with this stack one for work, which is in no event? */
bool waits_idle(const struct process *p, const struct vm_stream *s, const struct wire_sample *w,
		const struct vmspan_sample *r);
/* The thread was seen at something else. */
void waits_seen(struct vm_stream *s);
/*
 * Whoever was woken from a wait for work, was not seen at anything else, has run for `ran_ns` and waits again as if for
 * work may be on its way to it: CPython's and Ruby's locks are taken there. Then it is no wait for work unless it lasts.
 */
bool waits_for_lock(const struct process *p, bool woken, u64 ran_ns);
#define WAITS_LOCK_NS (10 * NSEC_PER_MSEC)
/* What is left of an event behind its last wait for work. False: nothing. */
bool waits_rest(const struct vm_stream *s, struct wire_turn *w);
/* The number of a thread's event, from the kernel's: there one goes on where it was cut here. */
u32 waits_iteration(const struct vm_stream *s, u32 iteration);
void waits_free(struct vm_stream *s);
/* A thread's copy has what is known of its waits to itself, and frees it. False: no memory. */
bool waits_copy(struct vm_stream *s);
/* A wait that goes on in the thread's event, which is `w` if it ends now, and is none for work: handed out with its stack,
 * as if it ended too. 0 or l->failed. */
int waits_open(struct live *l, struct process *p, struct vm_stream *s, const struct wire_turn *w);

/* ---- live_vm_stays.c ---- */

/* A thread without a loop was looked at: is it of a pool? */
void stays_look(struct live *l, struct process *p, struct vm_stream *s, u32 tid,
		const struct vmspan_sample *r);
/* What the kernel tells of a thread: true if it is kept until it is known what it is part of, and was told with all
 * that was kept if it is known now. Then l->failed says whether that went well. */
bool stays_keep(struct live *l, struct process *p, struct vm_stream *s, const struct wire_head *h);
/* What is kept is told as it came. 0 or l->failed. */
int stays_rest(struct live *l, struct process *p, struct vm_stream *s);
/* What is kept, with the stay under way or the wait that follows the last one, is an event that goes on: handed out as if
 * that ended at end_ns. `gc`: the collections under way in that stay. `s`: a copy, of which alone anything changes.
 * 0 or l->failed. */
int stays_open(struct live *l, struct process *p, struct vm_stream *s, const struct wire_turn *stay,
	       const struct wire_stay *gc, u32 gc_count, u64 end_ns);
void stays_free(struct live *l, struct vm_stream *s);

/* ---- live_jvm.c ---- */

/* How a JVM is walked. vague: what it has inlined it tells at calls and safepoints alone. NULL without memory. */
struct jvm *jvm_new(const struct vm_proc *proc, bool vague);
void jvm_free(struct jvm *j);
/* 0 or l->failed. */
int jvm_take_frame(struct live *l, struct process *p, struct jvm *j, const struct wire_frame *w);
/* The frames of `count` frames of the kernel's: their number. */
u32 jvm_frames(struct jvm *j, const u32 *places, u32 count, u32 to[JVM_FRAMES], u16 *flags);

/* ---- live_statement.c ---- */

/* What kind of statement it is. 0: it could not be defined. */
u32 statement_label(struct live *l, struct process *p, const struct wire_turn *w);
/* A statement, or a wait for the client of an open transaction. 0 or l->failed. */
int statement_take(struct live *l, struct process *p, struct vm_stream *s,
		   const struct wire_turn *w);
int statement_take_wait(struct live *l, struct process *p, struct vm_stream *s,
			const struct wire_stay *w);

/* ---- live_calls.c ---- */

int calls_take_function(struct live *l, struct process *p, const struct wire_call *w);
/* size: of all there is at h. */
int calls_take(struct live *l, struct process *p, struct vm_stream *s, const struct wire_head *h,
	       size_t size);

#endif
