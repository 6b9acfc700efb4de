/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vmspan.h - probe SDK for authors of language VMs and multi-tenant hosts.
 *
 * Include this one header, define groups and compartments, and mark where the
 * VM enters and leaves them. While nobody traces, a mark is one load and one
 * predicted branch. While `vmspan` is attached, spans are measured and batched
 * in the process; one probe carries a whole batch to the tracer.
 *
 * The file has two parts. Part 1 is plain data: the records that travel from
 * the target to the tracer. The tracer's BPF and user code include only that
 * part (VMSPAN_WIRE_ONLY). Part 2 is the SDK proper; user/sdk/README.md
 * explains it.
 *
 * Needs: C11 or C++11, GCC or clang, Linux, glibc or musl; x86-64 (TSC) or
 * aarch64 (cntvct). No library beyond libc (and -pthread on glibc < 2.34).
 *
 * Thread rules: every function may be called from any thread at any time. A
 * mark made by a signal handler that interrupts a mark is counted, not
 * recorded. Definitions (groups, compartments, labels) take a lock and must
 * not be made from signal handlers.
 */
#ifndef VMSPAN_H
#define VMSPAN_H

/* ---------------------------------------------------------------- Part 1 --
 * Wire data. Little-endian, naturally aligned, no pointers, no padding.
 */

#ifdef __cplusplus /* C++ has no flexible array members, its compilers do */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#endif

typedef __UINT8_TYPE__ vmspan_u8;
typedef __UINT16_TYPE__ vmspan_u16;
typedef __UINT32_TYPE__ vmspan_u32;
typedef __UINT64_TYPE__ vmspan_u64;
typedef __INT64_TYPE__ vmspan_i64;

#define VMSPAN_ABI 1
#define VMSPAN_MAGIC 0x6e707376u /* "vspn" */
#define VMSPAN_BATCH_MAGIC 0x62707376u /* "vspb" */

enum {
	VMSPAN_SLOT = 32, /* every record is a whole number of slots */
	VMSPAN_BATCH_SLOTS = 256, /* at most */
	VMSPAN_BATCH_HEADER = 64,
	VMSPAN_BATCH_BYTES = VMSPAN_BATCH_HEADER + VMSPAN_BATCH_SLOTS * VMSPAN_SLOT,
	VMSPAN_DEPTH_MAX = 256, /* frames of a thread's stack */
	VMSPAN_EVENT_MAX = 32, /* nested event loops of a thread */
	VMSPAN_GROUPS_MAX = 8, /* groups of one compartment */
	VMSPAN_NAME_MAX = 255, /* bytes of a name, without a terminator */
};

/* Kinds of groups. */
enum vmspan_kind {
	VMSPAN_ADDON = 1,
	VMSPAN_PAGE = 2,
	VMSPAN_PACKAGE = 3,
	VMSPAN_PLUGIN = 4,
	VMSPAN_TENANT = 5,
	VMSPAN_COMPARTMENT = 6,
	VMSPAN_TOP = 7,
};

enum vmspan_type {
	VMSPAN_SPAN = 1, /* struct vmspan_span */
	VMSPAN_EVENT = 2, /* struct vmspan_event */
	VMSPAN_GC = 3, /* struct vmspan_gc */
	VMSPAN_BLOCK = 4, /* struct vmspan_block */
	VMSPAN_INPUT = 5, /* struct vmspan_mark */
	VMSPAN_FRAME = 6, /* struct vmspan_mark */
	VMSPAN_VALUE = 7, /* struct vmspan_mark */
	VMSPAN_SAMPLE = 9, /* struct vmspan_sample; made by the tracer */
	VMSPAN_OFF = 8, /* struct vmspan_span; made by the tracer's kernel side */
	VMSPAN_WAKE = 10, /* struct vmspan_wake; made by the tracer's kernel side */
	VMSPAN_DEF_GROUP = 16, /* struct vmspan_def */
	VMSPAN_DEF_COMPARTMENT = 17, /* struct vmspan_def */
	VMSPAN_DEF_LABEL = 18, /* struct vmspan_def */
	VMSPAN_DEF_FRAME = 19, /* struct vmspan_def; made by the tracer */
	VMSPAN_DEF_NOTE = 20, /* struct vmspan_def; made by the tracer */
	VMSPAN_DEF_PART = 21, /* struct vmspan_def; made by the tracer */
	VMSPAN_DEF_LAST = VMSPAN_DEF_PART,
};

/*
 * Head of every record. A reader skips a type it does not know by `slots`.
 * Records of one thread are in the order in which they were completed: a span
 * follows the spans inside it, an event follows its spans.
 */
struct vmspan_head {
	vmspan_u8 type; /* enum vmspan_type */
	vmspan_u8 slots; /* size in VMSPAN_SLOT bytes, >= 1 */
	vmspan_u16 depth; /* frames open around it, | VMSPAN_F_* */
	vmspan_u32 id; /* compartment, iteration, label or definition */
};

#define VMSPAN_DEPTH_MASK 0x0fffu
#define VMSPAN_F_REPAIRED 0x8000u /* closed by the SDK: its leave never came */
#define VMSPAN_F_PART 0x2000u /* of a collection or span that was told of before */
#define VMSPAN_F_COARSE 0x1000u /* of an event: its CPU times are up to a tick old */
#define VMSPAN_F_SAMPLED 0x4000u /* of an event: samples tell what ran in it */

/* One stay in a compartment. id: compartment. */
struct vmspan_span {
	struct vmspan_head h;
	vmspan_u64 begin, end; /* cycles */
	vmspan_u16 cpu_begin, cpu_end;
	vmspan_u32 iteration; /* of the event it ran in; 0: outside any */
};

/*
 * A thread was off the CPU (VMSPAN_OFF): a struct vmspan_span whose depth is
 * an enum vmspan_off, whose id is the system call it was in (~0: none or not
 * known) and whose iteration is the process that woke it (0: not known). The
 * first of a thread is VMSPAN_OFF_START: from its time on none is missing.
 */
enum vmspan_off {
	VMSPAN_OFF_START = 0, /* begin = end */
	VMSPAN_OFF_PREEMPTED = 1, /* runnable: others had the CPU */
	VMSPAN_OFF_SLEEPING = 2, /* waits, and signals may wake it */
	VMSPAN_OFF_IO = 3, /* waits for a device */
	VMSPAN_OFF_UNINTERRUPTIBLE = 4, /* waits otherwise: page fault, mutex */
	VMSPAN_OFF_LOCK = 5, /* waits in a futex: a lock, a condition, a join */
	VMSPAN_OFF_REASONS = 6,
};

/*
 * Who woke the thread (VMSPAN_WAKE): of the VMSPAN_OFF that follows at once,
 * whose iteration is the process. id: the compartment it was in; 0: none, or
 * not known.
 */
struct vmspan_wake {
	struct vmspan_head h;
	vmspan_u64 registry; /* of the compartment */
	char comm[16]; /* of the process; zero-filled, all of it may be used */
};

/*
 * One turn of an event loop. id: iteration, counted from 1 by thread.
 * h.depth: frames open when it began (0 unless the loop is nested).
 */
struct vmspan_event {
	struct vmspan_head h;
	vmspan_u64 begin, end; /* cycles */
	vmspan_u64 mono_begin, mono_end; /* CLOCK_MONOTONIC, ns */
	vmspan_u64 cpu_ns_begin, cpu_ns_end; /* CLOCK_THREAD_CPUTIME_ID, ns */
	vmspan_u16 cpu_begin, cpu_end;
	vmspan_u32 parent; /* iteration of the event it is nested in, or 0 */
	vmspan_u32 label; /* what kind of turn, or 0 */
	vmspan_u32 records; /* records completed in it, itself not counted */
	vmspan_u64 reserved[3];
};

/* One garbage collection. id: label of its reason, or 0. */
struct vmspan_gc {
	struct vmspan_head h;
	vmspan_u64 begin, end;
	vmspan_u16 cpu_begin, cpu_end;
	vmspan_u32 iteration;
	vmspan_u64 bytes_before, bytes_after; /* of the heap; 0 where unknown */
	vmspan_u64 reserved[2];
};

/* One blocking call. id: label of its kind, or 0. */
struct vmspan_block {
	struct vmspan_head h;
	vmspan_u64 begin, end;
	vmspan_u16 cpu_begin, cpu_end;
	vmspan_u32 iteration;
	vmspan_u64 peer; /* process waited for, or 0 */
	vmspan_u64 reserved[3];
};

/* A user input, a frame shown, a named value. id: label. */
struct vmspan_mark {
	struct vmspan_head h;
	vmspan_u64 time; /* cycles */
	vmspan_i64 value;
	vmspan_u16 cpu, pad;
	vmspan_u32 iteration;
};

/*
 * A thread's stack, found by looking (VMSPAN_SAMPLE): h.depth frames, innermost
 * first, by the ids of VMSPAN_DEF_FRAME. The weight is the time it stands for:
 * of VMSPAN_SAMPLE_OFF the time the thread then spent off the CPU, else that
 * between two looks.
 */
#define VMSPAN_SAMPLE_OFF 1u /* it waited; else it ran */
#define VMSPAN_SAMPLE_GC 2u /* in a collection */
#define VMSPAN_SAMPLE_CUT 4u /* outer frames are left out */
#define VMSPAN_SAMPLE_FAULT 8u /* frames further out could not be read */
struct vmspan_sample {
	struct vmspan_head h;
	vmspan_u64 time; /* cycles */
	vmspan_u64 weight; /* ns */
	vmspan_u16 cpu, flags;
	vmspan_u32 iteration; /* of the event it lies in; 0: outside any */
	vmspan_u32 frames[];
};

/*
 * A definition; the last one of an id holds. id: what is defined. Group:
 * `kind`, flags. Compartment: `count` group ids, then the name. Frame: the id of
 * its compartment in the place of a group's, flags, then the name. Note: odd ids say what
 * is not as it should be with the process, the even ones behind them what to do; an
 * empty name takes it back. Part: in the place of a name two u64, from when to when
 * (cycles; ~0: still) the tracer did not measure it. In all, the name begins at groups[count] and is `name_len` bytes long; the slot is
 * zero-filled behind it.
 */
#define VMSPAN_GROUP_INACTIVE 1u /* measured only when asked for */
#define VMSPAN_FRAME_NAMED 1u /* its group is one by name, no fallback */
struct vmspan_def {
	struct vmspan_head h;
	vmspan_u8 kind; /* enum vmspan_kind */
	vmspan_u8 flags;
	vmspan_u8 count; /* 0 ... VMSPAN_GROUPS_MAX */
	vmspan_u8 name_len;
	vmspan_u32 groups[];
};

/*
 * Head of a batch; the records follow. `seq` is the number of the batch's
 * first record among all records of this thread; the next batch of the thread
 * begins at seq + records. The four counters are totals since the thread's
 * start.
 */
struct vmspan_batch {
	vmspan_u32 magic; /* VMSPAN_BATCH_MAGIC */
	vmspan_u16 abi, pad;
	vmspan_u32 bytes; /* of head and records */
	vmspan_u32 records;
	vmspan_u64 seq;
	vmspan_u64 registry; /* address of the struct vmspan_registry */
	vmspan_u32 thread; /* number of the thread in its registry, from 1 */
	vmspan_u32 tid; /* as gettid() sees it */
	vmspan_u32 too_deep; /* spans not kept: deeper than VMSPAN_DEPTH_MAX */
	vmspan_u32 unmatched; /* leaves without an enter: ignored */
	vmspan_u32 repaired; /* enters without a leave: closed by the SDK */
	vmspan_u32 in_mark; /* marks by a signal handler inside a mark */
	vmspan_u64 reserved;
};

/*
 * The registry begins with the semaphores, so the semaphore address in any of
 * our ELF notes, rounded down to VMSPAN_REGISTRY_ALIGN, finds it, in a
 * stripped binary too. Nothing in it moves or is
 * freed, so a tracer may read it with process_vm_readv at any time. Pointers
 * are stored as 64-bit numbers.
 */
struct vmspan_registry {
	vmspan_u16 semaphore; /* kept by the kernel: tracers attached */
	vmspan_u16 probes_semaphore; /* the same for the conventional probes */
	vmspan_u32 magic; /* VMSPAN_MAGIC */
	vmspan_u32 abi;
	vmspan_u32 pid; /* process that uses it, as getpid() sees it */
	vmspan_u64 session; /* a tracer that can, sets it before it attaches */
	vmspan_u64 log; /* first struct vmspan_log: all definitions so far */
	vmspan_u64 threads; /* first struct vmspan_thread */
	vmspan_u64 log_tail; /* from here on: the SDK's own */
	vmspan_u32 lock;
	vmspan_u32 thread_last;
	vmspan_u32 group_last;
	vmspan_u32 compartment_last;
	vmspan_u32 label_last;
	vmspan_u32 key, key_valid;
	vmspan_u32 loaded; /* 1: vmspan_loaded_1() has run */
	vmspan_u64 reserved[6];
};
#define VMSPAN_REGISTRY_BYTES 128
#define VMSPAN_REGISTRY_ALIGN 128

/* A block of the definition log: `used` bytes of struct vmspan_def records. */
struct vmspan_log {
	vmspan_u64 next;
	vmspan_u32 used; /* published after the bytes: load-acquire it */
	vmspan_u32 size;
	vmspan_u64 data[];
};

/* Ids at and above this are not compartments but marks on the same stack. */
#define VMSPAN_ID_MARKS 0xfffffff0u
#define VMSPAN_ID_GC 0xfffffffeu
#define VMSPAN_ID_BLOCK 0xfffffffdu

/* An open stay, on a thread's stack. */
struct vmspan_open {
	vmspan_u64 begin;
	vmspan_u32 id; /* compartment or VMSPAN_ID_* */
	vmspan_u16 cpu, reentered;
	vmspan_u64 aux; /* gc: bytes before; block: peer */
	vmspan_u32 label, pad;
};

/* An open event. */
struct vmspan_turn {
	vmspan_u64 begin, mono, cpu_ns, first; /* first: seq when it began */
	vmspan_u32 iteration, label;
	vmspan_u16 base, cpu; /* base: frames open when it began */
	vmspan_u32 too_deep_open; /* when it began */
};

/*
 * State of a live thread; a tracer may read it to see what still runs.
 * `ready`: 0 while a mark is being made, and in a forked child, whose copy the
 * kernel wipes. A mark clears it before it looks at anything else, so a signal
 * handler either made its whole mark before that or stays out.
 */
struct vmspan_thread {
	vmspan_u32 ready;
	vmspan_u32 room; /* slots still free in the batch, >= 1 between marks */
	vmspan_u32 depth; /* open[1 ... depth] are open; open[0] is a guard */
	vmspan_u32 base; /* of the innermost open event: marks do not reach below */
	vmspan_u64 cpu; /* address of rseq's cpu_id, or 0: use rdtscp or getcpu() */
	vmspan_u64 flush_at; /* cycles: a leave after this flushes */
	vmspan_u64 session; /* the registry's, when this state began to be true */
	vmspan_u32 iteration; /* of the innermost open event, or 0 */
	vmspan_u32 too_deep_open;
	vmspan_u32 magic;
	vmspan_u32 tid; /* 0: free for a new thread */
	vmspan_u64 next; /* next thread */
	vmspan_u64 flush_cycles;
	vmspan_u32 turns; /* open events */
	vmspan_u32 turns_over; /* open events beyond VMSPAN_EVENT_MAX */
	vmspan_u32 iteration_last;
	vmspan_u32 extra; /* slots in the batch beyond one a record */
	vmspan_u32 slots; /* of the batch: handed over when so many are used */
	vmspan_u32 pad;
	vmspan_u64 reserved[4];
	struct vmspan_turn turn[VMSPAN_EVENT_MAX];
	struct vmspan_open open[VMSPAN_DEPTH_MAX + 1];
	struct vmspan_batch batch;
	vmspan_u64 records[VMSPAN_BATCH_SLOTS * VMSPAN_SLOT / 8];
};

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#ifndef VMSPAN_WIRE_ONLY
/* ---------------------------------------------------------------- Part 2 --
 * The SDK. Names with two underscores (vmspan__x) are private.
 */

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "vmspan.h: x86-64 and aarch64 only"
#endif
#if defined(__STRICT_ANSI__) && !defined(__cplusplus)
/* -std=c11 hides mmap and the clocks unless they are asked for by name. */
#if defined(_FEATURES_H) && !defined(_DEFAULT_SOURCE) && !defined(_GNU_SOURCE)
#error "vmspan.h: with -std=c11 include it first, or define _DEFAULT_SOURCE"
#elif !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE 1
#endif
#endif

#include <pthread.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#define VMSPAN__ASSERT(c, m) static_assert(c, m)
#else
#define VMSPAN__ASSERT(c, m) _Static_assert(c, m)
#endif

#define VMSPAN__HIDDEN __attribute__((visibility("hidden")))
#define VMSPAN__LIKELY(x) __builtin_expect(!!(x), 1)
#define VMSPAN__UNLIKELY(x) __builtin_expect(!!(x), 0)
#define VMSPAN__UNUSED __attribute__((unused))
#define VMSPAN__SLOW __attribute__((unused, noinline, cold))
/* The compiler must not move thread state accesses across a mark's edges. By
 * __atomic_signal_fence() clang does not feel bound: it moves loads past it. */
#define VMSPAN__FENCE() __asm__ volatile("" ::: "memory")

VMSPAN__ASSERT(sizeof(struct vmspan_head) == 8, "wire");
VMSPAN__ASSERT(sizeof(struct vmspan_span) == 32, "wire");
VMSPAN__ASSERT(sizeof(struct vmspan_event) == 96, "wire");
VMSPAN__ASSERT(sizeof(struct vmspan_gc) == 64, "wire");
VMSPAN__ASSERT(sizeof(struct vmspan_block) == 64, "wire");
VMSPAN__ASSERT(sizeof(struct vmspan_mark) == 32, "wire");
VMSPAN__ASSERT(sizeof(struct vmspan_batch) == VMSPAN_BATCH_HEADER, "wire");
VMSPAN__ASSERT(sizeof(struct vmspan_registry) == VMSPAN_REGISTRY_BYTES, "wire");

/*
 * Registry and probe sites, one of each a DSO however many of its files
 * include this header: they are written in assembler so that the linker folds
 * them as one COMDAT group, in C as in C++. With -flto several files share one
 * assembler run: hence `.ifndef`.
 *
 * A site is a function of its own, so it works at any -O, never touches the
 * caller's red zone, and its arguments are always in the argument registers.
 * x86-64: the note points at a one-byte nop, which every kernel traps on; the
 * 10-byte nop behind it lets kernels >= 7.2 use a jump instead. A 5-byte nop
 * must not stand here: kernels 6.18 to 7.1 rewrite it into a call that
 * destroys the red zone and kills forked children.
 *
 * The semaphore belongs to the site `armed`, which is never executed. A tracer
 * that attaches there for one process turns that process's marks on, and the
 * kernel turns them off when the tracer is gone. The batches go through the
 * site `flush`, where a tracer may attach for every process at once at no cost
 * to those whose semaphore is down; so a forked child is traced from its
 * first instruction.
 */
#define VMSPAN__STR2(x) #x
#define VMSPAN__STR(x) VMSPAN__STR2(x)
#define VMSPAN__REGISTRY vmspan_registry_1
#define VMSPAN__REGISTRY_S VMSPAN__STR(VMSPAN__REGISTRY)

#if defined(__x86_64__)
#define VMSPAN__NOPS ".byte 0x90,0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0\n"
#define VMSPAN__ARG1 "8@%rdi"
#define VMSPAN__ARG2 "8@%rdi 8@%rsi"
#define VMSPAN__ARG3 "8@%rdi 8@%rsi 8@%rdx"
#else
#define VMSPAN__NOPS "nop\n"
#define VMSPAN__ARG1 "8@x0"
#define VMSPAN__ARG2 "8@x0 8@x1"
#define VMSPAN__ARG3 "8@x0 8@x1 8@x2"
#endif

/* clang-format off */
#define VMSPAN__SITE(group, function, probe, semaphore, args)                  \
	".ifndef " function "\n"                                              \
	".pushsection .text." group ",\"axG\",%progbits," group ",comdat\n"    \
	".p2align 4\n.weak " function "\n.hidden " function "\n"               \
	".type " function ",%function\n" function ":\n.cfi_startproc\n"        \
	VMSPAN__NOPS "ret\n.cfi_endproc\n"                                     \
	".size " function ",.-" function "\n.popsection\n"                     \
	".pushsection .note.stapsdt,\"G\",%note," group ",comdat\n"            \
	".balign 4\n.4byte 992f-991f,994f-993f,3\n"                            \
	"991: .asciz \"stapsdt\"\n992: .balign 4\n"                            \
	"993: .8byte " function "\n.8byte _.stapsdt.base\n"                    \
	".8byte " semaphore "\n"                                               \
	".asciz \"vmspan\"\n.asciz \"" probe "\"\n.asciz \"" args "\"\n"       \
	"994: .balign 4\n.popsection\n.endif\n"

__asm__(
	".ifndef _.stapsdt.base\n"
	".pushsection .stapsdt.base,\"aG\",%progbits,.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"
	"_.stapsdt.base: .space 1\n.size _.stapsdt.base,1\n"
	".popsection\n.endif\n"
	".ifndef " VMSPAN__REGISTRY_S "\n"
	".pushsection .probes,\"awG\",%progbits,vmspan_group_1,comdat\n"
	".balign " VMSPAN__STR(VMSPAN_REGISTRY_ALIGN) "\n"
	".weak " VMSPAN__REGISTRY_S "\n.hidden " VMSPAN__REGISTRY_S "\n"
	".type " VMSPAN__REGISTRY_S ",%object\n"
	".size " VMSPAN__REGISTRY_S "," VMSPAN__STR(VMSPAN_REGISTRY_BYTES) "\n"
	VMSPAN__REGISTRY_S ":\n"
	".4byte 0," "0x6e707376" "," VMSPAN__STR(VMSPAN_ABI) "\n"
	".zero " VMSPAN__STR(VMSPAN_REGISTRY_BYTES) "-12\n"
	".popsection\n.endif\n"
	VMSPAN__SITE("vmspan_group_1", "vmspan_site_flush_1", "flush", "0", VMSPAN__ARG3)
	VMSPAN__SITE("vmspan_group_1", "vmspan_site_armed_1", "armed", VMSPAN__REGISTRY_S, "")
);

extern VMSPAN__HIDDEN struct vmspan_registry VMSPAN__REGISTRY;
extern VMSPAN__HIDDEN void vmspan_site_flush_1(const void *batch, vmspan_u64 bytes, vmspan_u64 seq);

#ifdef VMSPAN_PROBES
/*
 * Conventional probes, for bpftrace, perf and vmspan's direct stopwatch.
 * Compiled in by -DVMSPAN_PROBES in every file that marks.
 */
#define VMSPAN__PROBE(name, probe, args)                                       \
	VMSPAN__SITE("vmspan_probes_1", "vmspan_site_" name "_1", probe,       \
		     VMSPAN__REGISTRY_S "+2", args)
__asm__(VMSPAN__PROBE("enter", "enter", VMSPAN__ARG1));
__asm__(VMSPAN__PROBE("leave", "leave", VMSPAN__ARG1));
__asm__(VMSPAN__PROBE("event_begin", "event__begin", VMSPAN__ARG1));
__asm__(VMSPAN__PROBE("event_end", "event__end", ""));
__asm__(VMSPAN__PROBE("gc_begin", "gc__begin", VMSPAN__ARG2));
__asm__(VMSPAN__PROBE("gc_end", "gc__end", VMSPAN__ARG1));
__asm__(VMSPAN__PROBE("block_begin", "block__begin", VMSPAN__ARG2));
__asm__(VMSPAN__PROBE("block_end", "block__end", ""));
__asm__(VMSPAN__PROBE("mark", "mark", VMSPAN__ARG3));
extern VMSPAN__HIDDEN void vmspan_site_enter_1(vmspan_u64 compartment);
extern VMSPAN__HIDDEN void vmspan_site_leave_1(vmspan_u64 compartment);
extern VMSPAN__HIDDEN void vmspan_site_event_begin_1(vmspan_u64 label);
extern VMSPAN__HIDDEN void vmspan_site_event_end_1(void);
extern VMSPAN__HIDDEN void vmspan_site_gc_begin_1(vmspan_u64 label, vmspan_u64 bytes);
extern VMSPAN__HIDDEN void vmspan_site_gc_end_1(vmspan_u64 bytes);
extern VMSPAN__HIDDEN void vmspan_site_block_begin_1(vmspan_u64 label, vmspan_u64 peer);
extern VMSPAN__HIDDEN void vmspan_site_block_end_1(void);
extern VMSPAN__HIDDEN void vmspan_site_mark_1(vmspan_u64 type, vmspan_u64 label, vmspan_u64 value);
/* Both semaphores in one load. */
#define VMSPAN__ON() (*(volatile vmspan_u32 *)(void *)&VMSPAN__REGISTRY)
#define VMSPAN__FIRE(call)                                                     \
	do {                                                                   \
		if (*(volatile vmspan_u16 *)&VMSPAN__REGISTRY.probes_semaphore) \
			call;                                                  \
		if (!*(volatile vmspan_u16 *)&VMSPAN__REGISTRY.semaphore)      \
			return;                                                \
	} while (0)
#else
#define VMSPAN__ON() (*(volatile vmspan_u16 *)&VMSPAN__REGISTRY.semaphore)
#define VMSPAN__FIRE(call) ((void)0)
#endif
/* clang-format on */

/*
 * A thread finds its state by one load. Initial-exec TLS keeps that true in
 * shared libraries; the 16 bytes fit what glibc reserves for dlopen.
 */
extern VMSPAN__HIDDEN __thread struct vmspan_thread *vmspan_self_1
	__attribute__((tls_model("initial-exec")));
/* 1 while the state is being made, plus the marks turned away meanwhile. */
extern VMSPAN__HIDDEN __thread vmspan_u32 vmspan_starting_1
	__attribute__((tls_model("initial-exec")));
__attribute__((weak)) VMSPAN__HIDDEN __thread struct vmspan_thread *vmspan_self_1;
__attribute__((weak)) VMSPAN__HIDDEN __thread vmspan_u32 vmspan_starting_1;

/* glibc >= 2.35 registers rseq and says where; elsewhere these are absent. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* True while a tracer is attached. For work worth doing only then. */
static inline VMSPAN__UNUSED int vmspan_enabled(void)
{
	return (int)VMSPAN__UNLIKELY(VMSPAN__ON() != 0);
}

/* ------------------------------------------------------------ Loading -- */

/*
 * Runs when the program or library has been loaded, once a DSO. A thread that
 * gives itself the name it has changes nothing, and tells a tracer of this
 * process that there is something new to attach to: dlopen has no other sign.
 *
 * Under `vmspan record -- CMD`, which sets VMSPAN_WAIT to its process id, what
 * CMD executes waits here until it is attached to, so that nothing of it is
 * missed: as long as the tracer lives, and never longer than a quarter of a
 * second.
 */
#define VMSPAN__WAIT_ROUNDS 2500 /* of 100 us */
__attribute__((weak, constructor)) VMSPAN__HIDDEN void vmspan_loaded_1(void);
__attribute__((weak, constructor)) VMSPAN__HIDDEN void vmspan_loaded_1(void)
{
	struct timespec round = { 0, 100000 };
	char name[16] = { 0 };
	const char *tracer;
	int saved = errno;
	long i, pid;

	if (__atomic_exchange_n(&VMSPAN__REGISTRY.loaded, 1, __ATOMIC_RELAXED))
		return;
	if (!prctl(PR_GET_NAME, name, 0, 0, 0))
		prctl(PR_SET_NAME, name, 0, 0, 0);
	tracer = getenv("VMSPAN_WAIT");
	pid = tracer ? strtol(tracer, NULL, 10) : 0;
	for (i = 0; pid > 0 && i < VMSPAN__WAIT_ROUNDS; i++) {
		/* Both semaphores: either method counts. */
		if (*(volatile vmspan_u32 *)(void *)&VMSPAN__REGISTRY ||
		    (syscall(SYS_kill, pid, 0) && errno == ESRCH))
			break;
		nanosleep(&round, NULL);
	}
	errno = saved;
}

/* ------------------------------------------------------------- Clocks -- */

static inline VMSPAN__UNUSED vmspan_u64 vmspan__cycles(void)
{
#if defined(__x86_64__)
	vmspan_u32 lo, hi;
	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return ((vmspan_u64)hi << 32) | lo;
#else
	vmspan_u64 v;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#endif
}

#if defined(__x86_64__)
/* Does the CPU offer rdtscp (CPUID 80000001h, EDX bit 27)? Where it does not, the instruction
 * may be illegal, or may give the number of one of the hypervisor's CPUs. Asking is
 * slow on a virtual machine, hence once; threads that ask at once get the same answer. */
static VMSPAN__UNUSED int vmspan__has_rdtscp(void)
{
	static vmspan_u8 answer; /* 1: no; 2: yes */
	vmspan_u8 known = __atomic_load_n(&answer, __ATOMIC_RELAXED);

	if (!known) {
		vmspan_u32 a = 0x80000001u, b, c, d;
		__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d));
		known = (vmspan_u8)(1 + (d >> 27 & 1));
		__atomic_store_n(&answer, known, __ATOMIC_RELAXED);
	}
	return known == 2;
}
#endif

static VMSPAN__SLOW vmspan_u64 vmspan__cycles_cpu_slow(vmspan_u16 *cpu)
{
	unsigned int c = 0;
#if defined(__x86_64__)
	if (vmspan__has_rdtscp()) {
		/* Linux keeps the CPU number in the low 12 bits of TSC_AUX. */
		vmspan_u32 lo, hi, aux;
		__asm__ volatile("rdtscp" : "=a"(lo), "=d"(hi), "=c"(aux));
		*cpu = (vmspan_u16)(aux & 0xfff);
		return ((vmspan_u64)hi << 32) | lo;
	}
#endif
	syscall(SYS_getcpu, &c, NULL, NULL);
	*cpu = (vmspan_u16)c;
	return vmspan__cycles();
}

/* Both reads take 50 ns; where they took this long something came between. */
#if defined(__x86_64__)
#define VMSPAN__READ_CYCLES 4000u
#else
#define VMSPAN__READ_CYCLES 100u
#endif

/* Cycles and CPU number. rdtsc + rseq costs 9-12 ns, rdtscp 15. */
static inline VMSPAN__UNUSED vmspan_u64 vmspan__now(struct vmspan_thread *t, vmspan_u16 *cpu)
{
	if (VMSPAN__UNLIKELY(!t->cpu))
		return vmspan__cycles_cpu_slow(cpu);
	*cpu = (vmspan_u16) * (volatile vmspan_u32 *)(size_t)t->cpu;
	return vmspan__cycles();
}

static inline VMSPAN__UNUSED vmspan_u64 vmspan__clock_ns(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return (vmspan_u64)ts.tv_sec * 1000000000u + (vmspan_u64)ts.tv_nsec;
}

/*
 * CLOCK_MONOTONIC, cycles and CPU of one moment. An event's cycles are scaled
 * to its time, so a preemption between the two reads would stretch everything
 * in it: then they are read again.
 */
static VMSPAN__SLOW vmspan_u64 vmspan__now_mono(struct vmspan_thread *t, vmspan_u16 *cpu,
						vmspan_u64 *mono)
{
	vmspan_u64 before, now;
	int tries = 4;

	do {
		before = vmspan__cycles();
		*mono = vmspan__clock_ns(CLOCK_MONOTONIC);
		now = vmspan__now(t, cpu);
	} while (now - before > VMSPAN__READ_CYCLES && --tries);
	return now;
}

static VMSPAN__SLOW vmspan_u64 vmspan__rseq_cpu(void)
{
	vmspan_u64 tp, at;

	if (!&__rseq_offset || !&__rseq_size || !__rseq_size)
		return 0;
#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(tp));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(tp));
#endif
	/* struct rseq: cpu_id_start, cpu_id; negative while unregistered. */
	at = tp + (vmspan_u64)__rseq_offset + 4;
	return *(volatile vmspan_u32 *)(size_t)at <= 0xffff ? at : 0;
}

/* ------------------------------------------------------ Thread state -- */

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
/* Marks that are as old are handed over. */
#ifndef VMSPAN__FLUSH_MS
#define VMSPAN__FLUSH_MS 50
#endif
/* Until an event has shown the rate of the counter: at 2 GHz. */
#define VMSPAN__FLUSH_CYCLES ((vmspan_u64)2000000 * VMSPAN__FLUSH_MS)

/*
 * Slots of a batch. One trap carries them all, so the more the cheaper; a
 * batch and the ring it is copied to should both fit the first-level cache.
 */
#ifndef VMSPAN_BATCH
#define VMSPAN_BATCH VMSPAN_BATCH_SLOTS
#endif
#define VMSPAN__SLOTS ((vmspan_u32)(VMSPAN_BATCH))
VMSPAN__ASSERT(VMSPAN_BATCH >= 16 && VMSPAN_BATCH <= VMSPAN_BATCH_SLOTS, "VMSPAN_BATCH: 16 to 256");

/* Hands the batch over and empties it. Called inside a mark. */
static VMSPAN__SLOW void vmspan__flush(struct vmspan_thread *t, vmspan_u32 room)
{
	vmspan_u32 slots = VMSPAN__SLOTS - room;
	struct vmspan_batch *b = &t->batch;

	if (slots) {
		b->records = slots - t->extra;
		b->bytes = VMSPAN_BATCH_HEADER + slots * VMSPAN_SLOT;
		vmspan_site_flush_1(b, b->bytes, b->seq);
		/* In this order: whoever finds the state of a thread that was
		 * killed here must not take the batch for the next one. */
		t->room = VMSPAN__SLOTS;
		VMSPAN__FENCE();
		b->seq += b->records;
		t->extra = 0;
	}
	t->flush_at = vmspan__cycles() + t->flush_cycles;
}

static inline VMSPAN__UNUSED void *vmspan__slot(struct vmspan_thread *t, vmspan_u32 room)
{
	return (char *)t->records + (size_t)(VMSPAN__SLOTS - room) * VMSPAN_SLOT;
}

/* Zeroed space for a record of `slots` slots; flushes first if it must. */
static VMSPAN__SLOW void *vmspan__append(struct vmspan_thread *t, vmspan_u32 *room,
					 vmspan_u32 slots)
{
	void *p;

	if (*room < slots) {
		vmspan__flush(t, *room);
		*room = VMSPAN__SLOTS;
	}
	p = vmspan__slot(t, *room);
	memset(p, 0, (size_t)slots * VMSPAN_SLOT);
	*room -= slots;
	t->extra += slots - 1;
	return p;
}

/* The room for the next mark: a full batch is handed over at once. */
static inline VMSPAN__UNUSED vmspan_u32 vmspan__room(struct vmspan_thread *t, vmspan_u32 room)
{
	if (VMSPAN__LIKELY(room))
		return room;
	vmspan__flush(t, 0);
	return VMSPAN__SLOTS;
}

/* The end of a thread: what it still holds is handed over, its state freed. */
static VMSPAN__SLOW void vmspan__thread_exit(void *arg)
{
	struct vmspan_thread *t = (struct vmspan_thread *)arg;
	vmspan_u32 whole = t->ready; /* 0: the thread ends inside a mark */

	if (t->magic != VMSPAN_MAGIC || vmspan_self_1 != t)
		return;
	t->ready = 0;
	VMSPAN__FENCE();
	if (VMSPAN__REGISTRY.semaphore && whole)
		vmspan__flush(t, t->room);
	vmspan_self_1 = NULL;
	t->depth = t->turns = 0;
	__atomic_store_n(&t->tid, 0, __ATOMIC_RELEASE);
}

static VMSPAN__SLOW void vmspan__lock(void)
{
	while (__atomic_exchange_n(&VMSPAN__REGISTRY.lock, 1, __ATOMIC_ACQUIRE))
		while (__atomic_load_n(&VMSPAN__REGISTRY.lock, __ATOMIC_RELAXED))
			syscall(SYS_sched_yield);
}

static VMSPAN__SLOW void vmspan__unlock(void)
{
	__atomic_store_n(&VMSPAN__REGISTRY.lock, 0, __ATOMIC_RELEASE);
}

/*
 * Makes the registry this process's own. In a forked child the threads of the
 * parent are gone, and one of them may have held the lock, or have been in
 * here: so the mark of "being made" carries the process it belongs to.
 */
#define VMSPAN__OWNING 0x80000000u
static VMSPAN__SLOW void vmspan__own(void)
{
	struct vmspan_registry *r = &VMSPAN__REGISTRY;
	vmspan_u32 self = (vmspan_u32)getpid(), seen = __atomic_load_n(&r->pid, __ATOMIC_ACQUIRE);

	while (seen != self) {
		if (seen == (self | VMSPAN__OWNING)) {
			syscall(SYS_sched_yield);
			seen = __atomic_load_n(&r->pid, __ATOMIC_ACQUIRE);
			continue;
		}
		if (!__atomic_compare_exchange_n(&r->pid, &seen, self | VMSPAN__OWNING, 0,
						 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			continue;
		r->lock = 0;
		r->threads = 0;
		__atomic_store_n(&r->pid, self, __ATOMIC_RELEASE);
		break;
	}
}

/* A state for this thread: a freed one or a new one. NULL without memory. */
static VMSPAN__SLOW struct vmspan_thread *vmspan__thread_claim(vmspan_u32 tid)
{
	struct vmspan_registry *r = &VMSPAN__REGISTRY;
	struct vmspan_thread *t;
	vmspan_u64 at = __atomic_load_n(&r->threads, __ATOMIC_ACQUIRE);

	for (; at; at = t->next) {
		vmspan_u32 free_tid = 0;

		t = (struct vmspan_thread *)(size_t)at;
		if (__atomic_compare_exchange_n(&t->tid, &free_tid, tid, 0, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return t;
	}
	t = (struct vmspan_thread *)mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t == MAP_FAILED)
		return NULL;
	/* Linux 4.14. A child must find zeroes: its marks then start afresh. */
	if (madvise(t, sizeof(*t), MADV_WIPEONFORK)) {
		munmap(t, sizeof(*t));
		return NULL;
	}
	t->tid = tid;
	at = __atomic_load_n(&r->threads, __ATOMIC_RELAXED);
	do {
		t->next = at;
	} while (!__atomic_compare_exchange_n(&r->threads, &at, (vmspan_u64)(size_t)t, 0,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	return t;
}

/*
 * The state as it is when nothing of the thread's past is known. What an
 * earlier tracer has left in the batch was measured for that one.
 */
static VMSPAN__SLOW void vmspan__resync(struct vmspan_thread *t)
{
	t->session = __atomic_load_n(&VMSPAN__REGISTRY.session, __ATOMIC_RELAXED);
	t->batch.seq += VMSPAN__SLOTS - t->room - t->extra;
	t->room = VMSPAN__SLOTS;
	t->extra = 0;
	t->depth = t->base = t->turns = t->turns_over = t->too_deep_open = 0;
	t->iteration = 0;
}

/*
 * This thread's state when the one at hand will not do: NULL if the thread is
 * inside a mark (we are in a signal handler) or no state can be had; the same
 * state, resynchronised, if another tracer has come; else a fresh one.
 */
static VMSPAN__SLOW struct vmspan_thread *vmspan__thread_start(void)
{
	struct vmspan_registry *r = &VMSPAN__REGISTRY;
	struct vmspan_thread *t = vmspan_self_1;

	if (t && t->magic == VMSPAN_MAGIC && (!t->ready || vmspan_starting_1)) {
		__atomic_fetch_add(&t->batch.in_mark, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	if (vmspan_starting_1) {
		vmspan_starting_1++;
		return NULL;
	}
	vmspan_starting_1 = 1;
	VMSPAN__FENCE();
	/* Up to here a signal handler may have done the same. */
	t = vmspan_self_1;
	if (t && t->magic == VMSPAN_MAGIC) {
		if (t->session != r->session) {
			t->ready = 0;
			VMSPAN__FENCE();
			vmspan__resync(t);
		}
		VMSPAN__FENCE();
		vmspan_starting_1 = 0;
		return t;
	}
	vmspan__own();
	t = vmspan__thread_claim((vmspan_u32)syscall(SYS_gettid));
	if (t) {
		memset(&t->batch, 0, sizeof(t->batch));
		t->batch.magic = VMSPAN_BATCH_MAGIC;
		t->batch.abi = VMSPAN_ABI;
		t->batch.registry = (vmspan_u64)(size_t)r;
		t->batch.thread = __atomic_add_fetch(&r->thread_last, 1, __ATOMIC_RELAXED);
		t->batch.tid = t->tid;
		t->cpu = vmspan__rseq_cpu();
		t->extra = t->iteration_last = 0;
		t->room = t->slots = VMSPAN__SLOTS;
		t->flush_cycles = VMSPAN__FLUSH_CYCLES;
		t->flush_at = vmspan__cycles() + t->flush_cycles;
		vmspan__resync(t);
		vmspan__lock();
		if (!r->key_valid) {
			pthread_key_t key;

			if (!pthread_key_create(&key, vmspan__thread_exit)) {
				r->key = key;
				r->key_valid = 1;
			}
		}
		vmspan__unlock();
		if (r->key_valid)
			pthread_setspecific((pthread_key_t)r->key, t);
		t->magic = VMSPAN_MAGIC;
		VMSPAN__FENCE();
		vmspan_self_1 = t; /* from here on a signal handler counts there */
		VMSPAN__FENCE();
		__atomic_fetch_add(&t->batch.in_mark, vmspan_starting_1 - 1, __ATOMIC_RELAXED);
	}
	VMSPAN__FENCE();
	vmspan_starting_1 = 0;
	return t;
}

/*
 * Begins a mark: takes the thread's state, *room is its room. NULL: no mark.
 * vmspan__done() ends it. Between the two a signal handler's marks see that
 * the thread is not ready and stay out.
 */
static inline VMSPAN__UNUSED struct vmspan_thread *vmspan__take(vmspan_u32 *room)
{
	struct vmspan_thread *t = vmspan_self_1;

	if (VMSPAN__UNLIKELY(!t || !t->ready || t->session != VMSPAN__REGISTRY.session)) {
		t = vmspan__thread_start();
		if (!t)
			return NULL;
	}
	t->ready = 0;
	VMSPAN__FENCE();
	*room = t->room;
	return t;
}

static inline VMSPAN__UNUSED void vmspan__done(struct vmspan_thread *t, vmspan_u32 room)
{
	t->room = room;
	VMSPAN__FENCE();
	/* Not 1: where a fork inside the mark has wiped the state it stays 0. */
	t->ready = t->magic;
}

/*
 * The end of the process or of the library: the key's destructor must not be
 * called once this code may be unmapped. The exiting thread's batch goes out.
 */
static __attribute__((destructor, unused)) void vmspan__fini(void)
{
	struct vmspan_registry *r = &VMSPAN__REGISTRY;

	if (vmspan_self_1 && r->pid == (vmspan_u32)getpid())
		vmspan__thread_exit(vmspan_self_1);
	if (r->key_valid) {
		r->key_valid = 0;
		pthread_key_delete((pthread_key_t)r->key);
	}
}

/* ----------------------------------------------------------- The stack -- */

/* Opens a stay. At the depth limit it is counted instead. */
static inline VMSPAN__UNUSED void vmspan__push(struct vmspan_thread *t, vmspan_u32 id,
					       vmspan_u32 label, vmspan_u64 aux)
{
	struct vmspan_open *o;

	if (VMSPAN__UNLIKELY(t->depth == VMSPAN_DEPTH_MAX)) {
		t->too_deep_open++;
		t->batch.too_deep++;
		return;
	}
	o = &t->open[++t->depth];
	o->id = id;
	o->reentered = 0;
	if (id >= VMSPAN_ID_MARKS) {
		o->label = label;
		o->aux = aux;
	}
	o->begin = vmspan__now(t, &o->cpu);
}

/* Fills in what span, gc and block have in common. */
static inline VMSPAN__UNUSED void vmspan__stay(struct vmspan_thread *t, struct vmspan_span *s,
					       const struct vmspan_open *o, vmspan_u64 end,
					       vmspan_u16 cpu)
{
	s->begin = o->begin;
	s->end = end;
	s->cpu_begin = o->cpu;
	s->cpu_end = cpu;
	s->iteration = t->iteration;
}

/* Closes the top stay, which is a gc or a blocking call, or was never left. */
static VMSPAN__SLOW void vmspan__close(struct vmspan_thread *t, vmspan_u32 *room, vmspan_u64 end,
				       vmspan_u16 cpu, vmspan_u64 result, vmspan_u32 flags)
{
	const struct vmspan_open *o = &t->open[t->depth];
	vmspan_u8 slots = o->id >= VMSPAN_ID_MARKS ? 2 : 1;
	struct vmspan_span *s = (struct vmspan_span *)vmspan__append(t, room, slots);

	t->depth--;
	s->h.type = o->id == VMSPAN_ID_GC      ? VMSPAN_GC
		    : o->id == VMSPAN_ID_BLOCK ? VMSPAN_BLOCK
					       : VMSPAN_SPAN;
	s->h.slots = slots;
	s->h.depth = (vmspan_u16)(t->depth | flags);
	s->h.id = slots == 2 ? o->label : o->id;
	vmspan__stay(t, s, o, end, cpu);
	if (o->id == VMSPAN_ID_GC) {
		((struct vmspan_gc *)s)->bytes_before = o->aux;
		((struct vmspan_gc *)s)->bytes_after = result;
	} else if (o->id == VMSPAN_ID_BLOCK) {
		((struct vmspan_block *)s)->peer = o->aux;
	}
	if (flags & VMSPAN_F_REPAIRED)
		t->batch.repaired++;
}

/* Closes what was never left above `depth`. */
static VMSPAN__SLOW void vmspan__unwind(struct vmspan_thread *t, vmspan_u32 *room, vmspan_u32 depth,
					vmspan_u64 end, vmspan_u16 cpu)
{
	while (t->depth > depth)
		vmspan__close(t, room, end, cpu, 0, VMSPAN_F_REPAIRED);
}

/*
 * A leave that does not fit the top. Whatever lies above the newest stay of
 * `id` in this event was left without a mark (an exception, a longjmp).
 * Returns 1 when the top is now `id`.
 */
static VMSPAN__SLOW int vmspan__rematch(struct vmspan_thread *t, vmspan_u32 *room, vmspan_u32 id)
{
	vmspan_u32 d = t->depth;
	vmspan_u64 end;
	vmspan_u16 cpu;

	/* Those that were open when the event began are not this event's to close. */
	if (t->too_deep_open > (t->turns ? t->turn[t->turns - 1].too_deep_open : 0)) {
		t->too_deep_open--;
		return 0;
	}
	while (d > t->base && t->open[d].id != id)
		d--;
	if (d <= t->base) {
		/* At the bottom of what is known it may be that of an enter from
		 * before the tracer came: no sign of anything wrong. */
		if (t->depth || t->turns)
			t->batch.unmatched++;
		return 0;
	}
	end = vmspan__now(t, &cpu);
	vmspan__unwind(t, room, d, end, cpu);
	return 1;
}

/* ------------------------------------------------------- Compartments -- */

static VMSPAN__UNUSED void vmspan__enter(vmspan_u32 id)
{
	struct vmspan_thread *t;
	vmspan_u32 room;

	VMSPAN__FIRE(vmspan_site_enter_1(id));
	t = vmspan__take(&room);
	if (!t)
		return;
	if (t->open[t->depth].id == id && t->depth > t->base && !t->too_deep_open &&
	    t->open[t->depth].reentered != 0xffff)
		t->open[t->depth].reentered++;
	else
		vmspan__push(t, id, 0, 0);
	vmspan__done(t, room);
}

static VMSPAN__UNUSED void vmspan__leave(vmspan_u32 id)
{
	struct vmspan_thread *t;
	struct vmspan_open *o;
	struct vmspan_span *s;
	vmspan_u32 room;
	vmspan_u16 cpu;

	VMSPAN__FIRE(vmspan_site_leave_1(id));
	t = vmspan__take(&room);
	if (!t)
		return;
	o = &t->open[t->depth];
	if (VMSPAN__UNLIKELY(o->id != id || t->depth <= t->base || t->too_deep_open)) {
		if (!vmspan__rematch(t, &room, id))
			goto out;
		room = vmspan__room(t, room);
		o = &t->open[t->depth];
	}
	if (o->reentered) {
		o->reentered--;
		goto out;
	}
	t->depth--;
	s = (struct vmspan_span *)vmspan__slot(t, room);
	s->h.type = VMSPAN_SPAN;
	s->h.slots = 1;
	s->h.depth = (vmspan_u16)t->depth;
	s->h.id = id;
	vmspan__stay(t, s, o, vmspan__now(t, &cpu), 0);
	s->cpu_end = cpu;
	room--;
	if (VMSPAN__UNLIKELY(s->end >= t->flush_at)) {
		vmspan__flush(t, room);
		room = VMSPAN__SLOTS;
	}
out:
	vmspan__done(t, vmspan__room(t, room));
}

/*
 * The thread enters a compartment, or leaves it. They nest. A recursive entry
 * of the compartment already on top is not a span of its own. A leave that was
 * skipped (exception, longjmp) is repaired at the next mark that shows it.
 */
static inline VMSPAN__UNUSED void vmspan_enter(vmspan_u32 compartment)
{
	if (vmspan_enabled())
		vmspan__enter(compartment);
}

static inline VMSPAN__UNUSED void vmspan_leave(vmspan_u32 compartment)
{
	if (vmspan_enabled())
		vmspan__leave(compartment);
}

/* -------------------------------------------------------------- Events -- */

static VMSPAN__SLOW void vmspan__event_begin(vmspan_u32 label)
{
	struct vmspan_thread *t;
	struct vmspan_turn *e;
	vmspan_u32 room;

	VMSPAN__FIRE(vmspan_site_event_begin_1(label));
	t = vmspan__take(&room);
	if (!t)
		return;
	if (t->turns == VMSPAN_EVENT_MAX) {
		t->turns_over++;
		t->batch.too_deep++;
		goto out;
	}
	e = &t->turn[t->turns++];
	e->iteration = t->iteration = ++t->iteration_last;
	e->label = label;
	e->base = (vmspan_u16)(t->base = t->depth);
	e->too_deep_open = t->too_deep_open;
	e->first = t->batch.seq + (VMSPAN__SLOTS - room) - t->extra;
	/* The order is the same at the end, so the reads' own cost cancels out. */
	e->cpu_ns = vmspan__clock_ns(CLOCK_THREAD_CPUTIME_ID);
	e->begin = vmspan__now_mono(t, &e->cpu, &e->mono);
out:
	vmspan__done(t, room);
}

static VMSPAN__SLOW void vmspan__event_end(void)
{
	struct vmspan_thread *t;
	struct vmspan_turn *e;
	struct vmspan_event *r;
	vmspan_u64 mono, end, cpu_ns;
	vmspan_u32 room;
	vmspan_u16 cpu;

	VMSPAN__FIRE(vmspan_site_event_end_1());
	t = vmspan__take(&room);
	if (!t)
		return;
	if (t->turns_over) {
		t->turns_over--;
		goto out;
	}
	/* The end of an event from before the tracer came. */
	if (!t->turns)
		goto out;
	cpu_ns = vmspan__clock_ns(CLOCK_THREAD_CPUTIME_ID);
	end = vmspan__now_mono(t, &cpu, &mono);
	e = &t->turn[t->turns - 1];
	vmspan__unwind(t, &room, e->base, end, cpu);
	t->too_deep_open = e->too_deep_open;
	r = (struct vmspan_event *)vmspan__append(t, &room, sizeof(*r) / VMSPAN_SLOT);
	r->h.type = VMSPAN_EVENT;
	r->h.slots = sizeof(*r) / VMSPAN_SLOT;
	r->h.depth = e->base;
	r->h.id = e->iteration;
	r->begin = e->begin;
	r->end = end;
	r->mono_begin = e->mono;
	r->mono_end = mono;
	r->cpu_ns_begin = e->cpu_ns;
	r->cpu_ns_end = cpu_ns;
	r->cpu_begin = e->cpu;
	r->cpu_end = cpu;
	r->label = e->label;
	r->records = (vmspan_u32)(t->batch.seq + (VMSPAN__SLOTS - room) - t->extra - 1 - e->first);
	t->turns--;
	t->iteration = t->turns ? e[-1].iteration : 0;
	t->base = t->turns ? e[-1].base : 0;
	r->parent = t->iteration;
	if (mono - e->mono > 1000000 && end > e->begin)
		t->flush_cycles =
			(end - e->begin) * VMSPAN__FLUSH_MS / ((mono - e->mono) / 1000000);
	vmspan__flush(t, room);
	room = VMSPAN__SLOTS;
out:
	vmspan__done(t, room);
}

/*
 * One turn of the event loop, one request, one statement. `label`: what kind
 * (from vmspan_label), or 0. A turn inside a turn is a nested event loop.
 */
static inline VMSPAN__UNUSED void vmspan_event_begin(vmspan_u32 label)
{
	if (vmspan_enabled())
		vmspan__event_begin(label);
}

static inline VMSPAN__UNUSED void vmspan_event_end(void)
{
	if (vmspan_enabled())
		vmspan__event_end();
}

/* ------------------------------------------- Collections, blocking calls -- */

static VMSPAN__SLOW void vmspan__stay_begin(vmspan_u32 id, vmspan_u32 label, vmspan_u64 aux)
{
	vmspan_u32 room;
	struct vmspan_thread *t = vmspan__take(&room);

	if (!t)
		return;
	vmspan__push(t, id, label, aux);
	vmspan__done(t, room);
}

static VMSPAN__SLOW void vmspan__stay_end(vmspan_u32 id, vmspan_u64 result)
{
	vmspan_u32 room;
	struct vmspan_thread *t = vmspan__take(&room);
	vmspan_u64 end;
	vmspan_u16 cpu;

	if (!t)
		return;
	if ((t->open[t->depth].id == id && t->depth > t->base && !t->too_deep_open) ||
	    vmspan__rematch(t, &room, id)) {
		end = vmspan__now(t, &cpu);
		vmspan__close(t, &room, end, cpu, result, 0);
	}
	vmspan__done(t, vmspan__room(t, room));
}

static VMSPAN__SLOW void vmspan__gc_begin(vmspan_u32 label, vmspan_u64 bytes)
{
	VMSPAN__FIRE(vmspan_site_gc_begin_1(label, bytes));
	vmspan__stay_begin(VMSPAN_ID_GC, label, bytes);
}

static VMSPAN__SLOW void vmspan__gc_end(vmspan_u64 bytes)
{
	VMSPAN__FIRE(vmspan_site_gc_end_1(bytes));
	vmspan__stay_end(VMSPAN_ID_GC, bytes);
}

static VMSPAN__SLOW void vmspan__block_begin(vmspan_u32 label, vmspan_u64 peer)
{
	VMSPAN__FIRE(vmspan_site_block_begin_1(label, peer));
	vmspan__stay_begin(VMSPAN_ID_BLOCK, label, peer);
}

static VMSPAN__SLOW void vmspan__block_end(void)
{
	VMSPAN__FIRE(vmspan_site_block_end_1());
	vmspan__stay_end(VMSPAN_ID_BLOCK, 0);
}

/* A collection: the label of its reason or 0, the heap's bytes or 0. */
static inline VMSPAN__UNUSED void vmspan_gc_begin(vmspan_u32 reason, vmspan_u64 heap_bytes)
{
	if (vmspan_enabled())
		vmspan__gc_begin(reason, heap_bytes);
}

static inline VMSPAN__UNUSED void vmspan_gc_end(vmspan_u64 heap_bytes)
{
	if (vmspan_enabled())
		vmspan__gc_end(heap_bytes);
}

/* A blocking call: the label of its kind or 0, the process waited for or 0. */
static inline VMSPAN__UNUSED void vmspan_block_begin(vmspan_u32 what, vmspan_u32 peer_pid)
{
	if (vmspan_enabled())
		vmspan__block_begin(what, peer_pid);
}

static inline VMSPAN__UNUSED void vmspan_block_end(void)
{
	if (vmspan_enabled())
		vmspan__block_end();
}

/* --------------------------------------------------------------- Marks -- */

static VMSPAN__SLOW void vmspan__mark(vmspan_u8 type, vmspan_u32 label, vmspan_i64 value)
{
	struct vmspan_thread *t;
	struct vmspan_mark *m;
	vmspan_u32 room;

	VMSPAN__FIRE(vmspan_site_mark_1(type, label, (vmspan_u64)value));
	t = vmspan__take(&room);
	if (!t)
		return;
	m = (struct vmspan_mark *)vmspan__append(t, &room, 1);
	m->h.type = type;
	m->h.slots = 1;
	m->h.depth = (vmspan_u16)t->depth;
	m->h.id = label;
	m->value = value;
	m->time = vmspan__now(t, &m->cpu);
	m->iteration = t->iteration;
	vmspan__done(t, vmspan__room(t, room));
}

/* The user did something; a frame was shown; a named value has changed. */
static inline VMSPAN__UNUSED void vmspan_input(vmspan_u32 label)
{
	if (vmspan_enabled())
		vmspan__mark(VMSPAN_INPUT, label, 0);
}

static inline VMSPAN__UNUSED void vmspan_frame(vmspan_u32 label)
{
	if (vmspan_enabled())
		vmspan__mark(VMSPAN_FRAME, label, 0);
}

static inline VMSPAN__UNUSED void vmspan_value(vmspan_u32 label, vmspan_i64 value)
{
	if (vmspan_enabled())
		vmspan__mark(VMSPAN_VALUE, label, value);
}

/* Hands over what this thread has measured so far. Rarely needed. */
static VMSPAN__SLOW void vmspan_flush(void)
{
	vmspan_u32 room;
	struct vmspan_thread *t;

	if (!vmspan_enabled())
		return;
	t = vmspan__take(&room);
	if (!t)
		return;
	vmspan__flush(t, room);
	vmspan__done(t, VMSPAN__SLOTS);
}

/* --------------------------------------------------------- Definitions -- */

/* Space at the end of the log; the lock is held. NULL without memory. */
static VMSPAN__SLOW struct vmspan_log *vmspan__log_space(vmspan_u32 bytes)
{
	struct vmspan_registry *r = &VMSPAN__REGISTRY;
	struct vmspan_log *l = (struct vmspan_log *)(size_t)r->log_tail;
	const vmspan_u32 block = 64 << 10;

	if (l && l->size - l->used >= bytes)
		return l;
	l = (struct vmspan_log *)mmap(NULL, block, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (l == MAP_FAILED)
		return NULL;
	l->size = block - (vmspan_u32)sizeof(*l);
	if (r->log_tail)
		__atomic_store_n(&((struct vmspan_log *)(size_t)r->log_tail)->next,
				 (vmspan_u64)(size_t)l, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&r->log, (vmspan_u64)(size_t)l, __ATOMIC_RELEASE);
	r->log_tail = (vmspan_u64)(size_t)l;
	return l;
}

/*
 * Writes a definition to the log and, while traced, to the stream. id 0: the
 * next of its type. Returns the id, or 0 without memory.
 */
static VMSPAN__SLOW vmspan_u32 vmspan__define(vmspan_u8 type, vmspan_u32 id, vmspan_u8 kind,
					      vmspan_u8 flags, const vmspan_u32 *groups,
					      unsigned int count, const char *name)
{
	struct vmspan_registry *r = &VMSPAN__REGISTRY;
	size_t len = name ? strlen(name) : 0;
	vmspan_u32 slots, room;
	struct vmspan_thread *t;
	struct vmspan_def *d;
	struct vmspan_log *l;

	if (len > VMSPAN_NAME_MAX)
		len = VMSPAN_NAME_MAX;
	if (count > VMSPAN_GROUPS_MAX)
		count = VMSPAN_GROUPS_MAX;
	slots = (vmspan_u32)((sizeof(*d) + count * 4 + len + VMSPAN_SLOT - 1) / VMSPAN_SLOT);
	/*
	 * A signal handler's mark must not start the thread while we hold the
	 * lock, which that takes: so the thread is started now, or not by it.
	 */
	if (VMSPAN__REGISTRY.semaphore && (t = vmspan__take(&room)))
		vmspan__done(t, room);
	vmspan_starting_1 = 1;
	VMSPAN__FENCE();
	vmspan__own();
	vmspan__lock();
	l = vmspan__log_space(slots * VMSPAN_SLOT);
	if (!l) {
		vmspan__unlock();
		VMSPAN__FENCE();
		vmspan_starting_1 = 0;
		return 0;
	}
	if (!id)
		id = type == VMSPAN_DEF_GROUP         ? ++r->group_last
		     : type == VMSPAN_DEF_COMPARTMENT ? ++r->compartment_last
						      : ++r->label_last;
	d = (struct vmspan_def *)(void *)((char *)l->data + l->used);
	d->h.type = type;
	d->h.slots = (vmspan_u8)slots;
	d->h.id = id;
	d->kind = kind;
	d->flags = flags;
	d->count = (vmspan_u8)count;
	d->name_len = (vmspan_u8)len;
	if (count)
		memcpy(d->groups, groups, count * 4);
	if (len)
		memcpy(d->groups + count, name, len);
	__atomic_store_n(&l->used, l->used + slots * VMSPAN_SLOT, __ATOMIC_RELEASE);
	vmspan__unlock();
	VMSPAN__FENCE();
	vmspan_starting_1 = 0;
	if (VMSPAN__REGISTRY.semaphore && (t = vmspan__take(&room))) {
		memcpy(vmspan__append(t, &room, slots), d, (size_t)slots * VMSPAN_SLOT);
		vmspan__done(t, vmspan__room(t, room));
	}
	return id;
}

/*
 * A group: what gets charged. Names are text in UTF-8, at most
 * VMSPAN_NAME_MAX bytes of it are kept. Returns its id, or 0 without memory;
 * marks of id 0 are harmless.
 */
static VMSPAN__SLOW vmspan_u32 vmspan_group(enum vmspan_kind kind, const char *name)
{
	return vmspan__define(VMSPAN_DEF_GROUP, 0, (vmspan_u8)kind, 0, NULL, 0, name);
}

/* Gives a group another name, as when a page has loaded and has a title. */
static VMSPAN__SLOW void vmspan_group_rename(vmspan_u32 group, enum vmspan_kind kind,
					     const char *name)
{
	if (group)
		vmspan__define(VMSPAN_DEF_GROUP, group, (vmspan_u8)kind, 0, NULL, 0, name);
}

/*
 * A compartment: the smallest owner of code the VM can tell apart, and the
 * groups it belongs to (at most VMSPAN_GROUPS_MAX). Its own group and the
 * process's top group need not be named.
 */
static VMSPAN__SLOW vmspan_u32 vmspan_compartment(const char *name, const vmspan_u32 *groups,
						  unsigned int count)
{
	return vmspan__define(VMSPAN_DEF_COMPARTMENT, 0, 0, 0, groups, count, name);
}

/* A label: the name of a kind of event, mark, value, reason or call. */
static VMSPAN__SLOW vmspan_u32 vmspan_label(const char *name)
{
	return vmspan__define(VMSPAN_DEF_LABEL, 0, 0, 0, NULL, 0, name);
}

#ifdef __cplusplus
} /* extern "C" */

namespace vmspan
{
/* Stays in a compartment for the life of the object, exceptions included. */
class stopwatch
{
      public:
	explicit stopwatch(vmspan_u32 compartment) : id_(compartment)
	{
		vmspan_enter(id_);
	}
	~stopwatch()
	{
		vmspan_leave(id_);
	}
	stopwatch(const stopwatch &) = delete;
	stopwatch &operator=(const stopwatch &) = delete;

      private:
	const vmspan_u32 id_;
};

/* One turn of the event loop for the life of the object. */
class event
{
      public:
	explicit event(vmspan_u32 label = 0)
	{
		vmspan_event_begin(label);
	}
	~event()
	{
		vmspan_event_end();
	}
	event(const event &) = delete;
	event &operator=(const event &) = delete;
};
} // namespace vmspan
#endif
#endif /* VMSPAN_WIRE_ONLY */
#endif /* VMSPAN_H */
