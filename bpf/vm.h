/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stock VMs: what user space tells the walker, and what the walker's records
 * in the ring buffer hold. Included by both sides.
 */
#ifndef BPF_VM_H
#define BPF_VM_H

#include "wire.h"

enum vm_kind {
	VM_NONE,
	VM_CPYTHON,
	VM_PHP,
	VM_RUBY,
	VM_JVM,
	VM_POSTGRES,
	VM_KINDS,
};

/*
 * Offsets a walker needs, by VM; in bytes. [layout] sections of the profiles
 * use these names, tools/gen-offsets prints them.
 */
#define VM_CPYTHON_OFFSETS(X)                                                           \
	X(runtime_interpreters) /* _PyRuntime: first interpreter */                     \
	X(interp_threads) /* its first thread */                                        \
	X(thread_next)                                                                  \
	X(thread_native_id) /* gettid() as the process sees it */                       \
	X(thread_cframe) /* 0: the thread has its frame at thread_frame */              \
	X(thread_frame) /* or: the cframe has it here */                                \
	X(frame_code)                                                                   \
	X(frame_previous)                                                               \
	X(frame_owner) /* 0: frames do not say; else a byte, 3: no frame of Python's */ \
	X(code_filename)                                                                \
	X(code_qualname)                                                                \
	X(text_length)                                                                  \
	X(text_state)                                                                   \
	X(text_ascii) /* characters of a compact ASCII string */                        \
	X(text_compact) /* of another compact string */
#define VM_PHP_OFFSETS(X)       \
	X(globals_execute_data) \
	X(execute_func)         \
	X(execute_prev)         \
	X(func_type)            \
	X(func_name)            \
	X(func_filename)        \
	X(zstring_hash)         \
	X(zstring_length)       \
	X(zstring_text)
#define VM_RUBY_OFFSETS(X)                                                            \
	X(vm_main_ractor)                                                             \
	X(ractor_threads) /* the head of the list of its threads */                   \
	X(ractor_main) /* of these the process's first one */                         \
	X(thread_node) /* rb_thread_t: its place in that list */                      \
	X(thread_native) /* 0: it has its number itself; or: what has that is here */ \
	X(thread_tid) /* gettid() as the process sees it */                           \
	X(thread_ec)                                                                  \
	X(ec_stack)                                                                   \
	X(ec_stack_size)                                                              \
	X(ec_cfp)                                                                     \
	X(cfp_size)                                                                   \
	X(cfp_iseq)                                                                   \
	X(iseq_body)                                                                  \
	X(body_path)                                                                  \
	X(body_label)                                                                 \
	X(rstring_heap_length)                                                        \
	X(rstring_heap_text)                                                          \
	X(rstring_embedded)                                                           \
	X(rarray_heap)                                                                \
	X(rarray_embedded)
/* Published by the VM itself: user/probe/jvm.c. The last ones are for user space. */
#define VM_JVM_OFFSETS(X)                                                    \
	X(list_length) /* ThreadsList */                                     \
	X(list_threads)                                                      \
	X(thread_os) /* JavaThread -> OSThread */                            \
	X(os_tid) /* gettid() as the process sees it */                      \
	X(thread_anchor) /* JavaThread: where it left Java code */           \
	X(anchor_sp)                                                         \
	X(anchor_fp)                                                         \
	X(anchor_pc)                                                         \
	X(wrapper_anchor) /* JavaCallWrapper: where C++ that calls it was */ \
	X(method_const)                                                      \
	X(const_constants)                                                   \
	X(const_size) /* words, code included */                             \
	X(const_name) /* its place in the constants */                       \
	X(pool_holder)                                                       \
	X(pool_slots) /* size of what is before them */                      \
	X(klass_name)                                                        \
	X(symbol_length)                                                     \
	X(symbol_text)                                                       \
	X(block_used) /* HeapBlock, in front of each blob */                 \
	X(block_size)                                                        \
	X(blob_name)                                                         \
	X(blob_code)                                                         \
	X(blob_complete) /* from here in the code on, its frame is whole */  \
	X(blob_frame) /* words */                                            \
	X(nmethod_method)                                                    \
	X(nmethod_id)                                                        \
	X(nmethod_metadata)                                                  \
	X(nmethod_pcs)                                                       \
	X(nmethod_pcs_end)                                                   \
	X(nmethod_scopes)                                                    \
	X(pc_size)                                                           \
	X(pc_offset)                                                         \
	X(pc_scope)

#define VM_OFFSET_ID(name) OFF_##name,
enum vm_offset {
	VM_CPYTHON_OFFSETS(VM_OFFSET_ID)
	VM_PHP_OFFSETS(VM_OFFSET_ID) VM_RUBY_OFFSETS(VM_OFFSET_ID)
		VM_JVM_OFFSETS(VM_OFFSET_ID) OFF_COUNT
};

/*
 * Where a JVM keeps its code: a heap is cut into segments, and a byte of the map
 * for each leads to the block's first one (0; 0xff: nothing is there).
 */
#define JVM_HEAPS 4
struct vm_jvm {
	vmspan_u64 threads; /* where the address of its ThreadsList is */
	vmspan_u64 interpreter, interpreter_end;
	vmspan_u64 call_return; /* where a call from C++ into Java comes back to */
	struct {
		vmspan_u64 low, high, map;
		vmspan_u64 shift; /* of a segment's size */
	} heaps[JVM_HEAPS]; /* high 0: none */
};

/* How a thread's events are told apart, the surest last: it never goes back. */
enum loop_rank {
	LOOP_NONE, /* no loop seen: stays on the CPU */
	LOOP_POLL, /* poll, select: handlers call them too */
	LOOP_EPOLL,
	LOOP_PROBES, /* requests, statements */
	LOOP_ENDED, /* it has exited: what is left is the kernel's */
};

/* System calls have numbers below this. */
#define CALLS 512

/* How a system call waits: its enum loop_rank, with where it says for how long at most. */
enum call_wait {
	WAIT_RANK = 0x0f,
	WAIT_LIMIT = 0xf0, /* one of these; 0: that does not matter */
	WAIT_MS_3 = 0x10, /* the third argument is ms, an int */
	/* The third or fifth is the address of two longs: seconds, and a part of one; 0: for ever. */
	WAIT_TIME_3 = 0x20,
	WAIT_TIME_5 = 0x30,
};

/*
 * What a probe hands over, at one of its sites: registers that the trap has saved, by their place in struct
 * pt_regs in bytes, and `value` make a sum, which is the argument or where it is.
 */
#define PROBE_ARGS 5
#define PROBE_NO_REGISTER 0xffff
/* Described in so many ways at one time; the first one hands over nothing. */
#define PROBE_ARGS_SETS 1024
enum probe_arg_is {
	PROBE_ARG_NONE,
	PROBE_ARG_SUM,
	PROBE_ARG_IN_MEMORY,
};
struct probe_args {
	struct probe_arg {
		vmspan_u64 value;
		vmspan_u16 base, index; /* PROBE_NO_REGISTER: none */
		vmspan_u8 shift; /* of the index, to the left */
		vmspan_u8 is; /* enum probe_arg_is */
		vmspan_u8 bytes; /* 1, 2, 4, 8 */
		vmspan_u8 negative; /* it may be: its first bit is the sign */
	} of[PROBE_ARGS];
};

enum vm_flag {
	VM_WALK = 1, /* its frames can be walked */
	VM_LOOPS = 2, /* waits of an event loop end its events */
	VM_BURSTS = 4, /* of a thread without a loop, stays on the CPU are events */
	VM_CALLS = 8, /* its calls are measured one by one */
	VM_LOOKED = 16, /* all of its threads have been looked at: whoever has no state is a loss */
};

/* How a VM's processes are walked: value of the map vm_procs, by tgid. */
struct vm_proc {
	vmspan_u32 kind; /* enum vm_kind */
	vmspan_u32 flags; /* VM_* */
	vmspan_u64 root; /* run-time address of the VM's root symbol */
	/* CPython: the number that the VM has of the first thread besides its own, 0: none. It had it before it was
	 * forked, of which nobody told the VM. */
	vmspan_u32 forked_as, forked_pad;
	vmspan_u16 off[OFF_COUNT];
	vmspan_u16 pad[4 - OFF_COUNT % 4];
	struct vm_jvm jvm;
};

enum {
	VM_FRAMES = 64, /* of a stack; the outermost are cut off */
	VM_FILE = 240, /* bytes of a file's name; of a longer one the end */
	VM_FUNCTION = 112,
	VM_SCOPE = 64, /* bytes of a class's name; of a longer one the beginning */
	VM_TEXT = 240, /* bytes of a request's or statement's text */
	VM_TITLE = 112, /* bytes of a process's title */
};

enum frame_how {
	FRAME_CODE, /* file and function */
	FRAME_COMPILED, /* JVM: of the method; what is inlined at pc, user space finds */
	FRAME_THREAD, /* no frame of the VM's: the thread's name is in `function` */
};

/* A frame's code, told once before the first sample that has it. */
struct wire_frame {
	struct wire_head h;
	vmspan_u32 id;
	vmspan_u16 file_len, function_len; /* bytes */
	/* Bytes a character; 0: bytes as they are (ASCII or UTF-8). */
	vmspan_u8 file_unit, function_unit;
	vmspan_u8 how; /* enum frame_how */
	vmspan_u8 leaf; /* pc is where it is, not where a call comes back to */
	vmspan_u32 compiled; /* number of the compilation */
	vmspan_u64 code, pc; /* of compiled code: where, and where in it */
	char file[VM_FILE];
	char function[VM_FUNCTION];
	char room[16];
};

/* A function, told of once before the first call that has it. In UTF-8 or as the
 * target has it; of longer texts the beginning. */
struct wire_call {
	struct wire_head h;
	vmspan_u32 id; /* of the stays in WIRE_VM_CALLS */
	vmspan_u16 file_len, scope_len, function_len, pad; /* bytes */
	char file[VM_FILE]; /* JVM: the class */
	char scope[VM_SCOPE]; /* the class, where it has one */
	char function[VM_FUNCTION];
};
/* A stay in a function that could not be told of. */
#define CALL_UNKNOWN 0x7fffffffu

enum sample_flag {
	SAMPLE_OFF = VMSPAN_SAMPLE_OFF,
	SAMPLE_GC = VMSPAN_SAMPLE_GC,
	SAMPLE_CUT = VMSPAN_SAMPLE_CUT,
	SAMPLE_FAULT = VMSPAN_SAMPLE_FAULT,
	/* Beyond those, of a wait: a signal could end it; and the thread is none of the VM's, by a look at all of them. */
	SAMPLE_RECORDED = 0xff,
	SAMPLE_SLEEPS = 0x100,
	SAMPLE_LEFT = 0x200,
};

struct wire_sample {
	struct wire_head h;
	vmspan_u64 time; /* CLOCK_MONOTONIC, ns */
	vmspan_u64 weight; /* ns it stands for */
	vmspan_u32 iteration;
	vmspan_u16 cpu, flags;
	vmspan_u32 count;
	/* Of the event it is in: on which CPU and when that began, and how long it has been off the CPU. SAMPLE_OFF: a
	 * wait begins. It ends a stay on the CPU; in another event, WIRE_VM_WAIT tells when it ended. */
	vmspan_u16 turn_cpu, turn_kind;
	vmspan_u64 turn_begin, off_ns;
	vmspan_u64 stolen_ns; /* of off_ns, as in struct wire_turn */
	vmspan_u32 frames[VM_FRAMES]; /* innermost first */
};

enum turn_kind {
	TURN_LOOP, /* between two waits of an event loop */
	TURN_BURST, /* on a CPU, of a thread without a loop */
	TURN_REQUEST, /* has a text */
	TURN_STATEMENT, /* has a text and a title */
	TURN_SAFEPOINT,
	TURN_IDLE, /* a statement has ended, its transaction has not; has a title */
};

/* Transactions that ended in a statement; or has it not ended itself, and the trace has? Bits. */
enum turn_ended {
	TURN_COMMIT = 1,
	TURN_ROLLBACK = 2,
	TURN_GOES_ON = 4,
};
/* Of an idle transaction, ns: a shorter wait is the client's way to and fro. */
#define TURN_IDLE_LEAST 100000000ull

/* An event has ended. The texts are there for kinds that have them. */
struct wire_turn {
	struct wire_head h;
	vmspan_u64 begin, end; /* CLOCK_MONOTONIC, ns */
	vmspan_u64 off_ns; /* of it, not on a CPU */
	vmspan_u64 stolen_ns; /* of that, a hypervisor had its CPU */
	vmspan_u32 iteration;
	vmspan_u16 cpu_begin, cpu_end;
	vmspan_u16 kind, text_len, title_len, ended; /* enum turn_kind, ..., enum turn_ended */
	char text[VM_TEXT];
	char title[VM_TITLE];
};
#define WIRE_TURN_BARE __builtin_offsetof(struct wire_turn, text)

/* Before a struct wire_turn of an event that goes on. */
struct wire_open {
	vmspan_u64 waits_since; /* CLOCK_MONOTONIC, ns; 0: it does not wait */
	vmspan_u64 gc_since, sweep_since; /* the same; 0: it does not collect, or sweep */
	vmspan_u32 iteration, pad;
};

enum stay_part {
	STAY_PART = 1, /* of one that is told of by itself: sweeping */
	STAY_DIVIDED, /* the event that it lies in has ended, and it goes on */
};

/* A stay in a collection; a wait in an event, of one whose stacks are looked at one that a sample told of. */
struct wire_stay {
	struct wire_head h;
	vmspan_u64 begin, end;
	vmspan_u32 iteration;
	vmspan_u16 cpu_begin, cpu_end;
	vmspan_u32 part; /* of a collection: enum stay_part, or 0: its end */
	vmspan_u32 pad;
};

#endif
