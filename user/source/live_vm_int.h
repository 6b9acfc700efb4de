/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of stock VMs on their way to items: what the files that make them share. */
#ifndef SOURCE_LIVE_VM_INT_H
#define SOURCE_LIVE_VM_INT_H

#include "base/intern.h"
#include "source/live_int.h"

struct vm_stream {
	u64 seq; /* of the next record */
	u64 cpu_ns; /* of all events so far */
	u32 iteration, records; /* records so far of the event under way */
	u64 calls_seq; /* that the kernel's next batch of calls has */
};

struct jvm;

struct vm_state {
	struct intern *groups, *labels; /* owned; ids are numbers here plus 1 */
	struct map streams; /* tid -> struct vm_stream *, owned */
	struct map calls; /* a function's id in the kernel -> its compartment */
	struct jvm *jvm; /* owned; NULL: none, or not walked */
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
/* Hands records of a thread out. 0 or l->failed. */
int vm_emit(struct live *l, struct process *p, struct vm_stream *s, u32 tid, u32 records,
	    const void *data, u32 bytes);
/* Characters of `unit` bytes (0: UTF-8 already) -> a terminated string. */
void vm_text(const char *from, size_t len, unsigned int unit, char *to, size_t cap);
/* A record of an event; how many it has is told by its own. */
void vm_count_record(struct vm_stream *s, u32 iteration);

/* ---- live_jvm.c ---- */

/* Frames of a sample, what is inlined included; the outermost are cut off. */
#define JVM_FRAMES 160
/* How a JVM is walked. NULL without memory. */
struct jvm *jvm_new(const struct vm_proc *proc);
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
