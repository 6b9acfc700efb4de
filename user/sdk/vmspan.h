/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vmspan.h - probe SDK for authors of language VMs and multi-tenant hosts.
 *
 * Include this one header, define groups and compartments, and mark where the
 * VM enters and leaves them. While nobody traces, a mark is one load and one
 * predicted branch. While `vmspan` is attached, a mark is a reading of the
 * CPU's counter and 16 bytes in a ring of its thread; one probe hands over what
 * the ring holds. Spans, events and what they cost are made of it by the tracer.
 *
 * What a mark does: it looks whether the thread has lost its CPU since the mark before,
 * and appends. All of that is one restartable sequence (rseq(2)): if the kernel
 * interrupts the thread in it, for a signal, for another thread or for a move to
 * another CPU, it is begun anew. So a mark is in the ring once, and those of a handler are
 * there too, in order. Outside of the sequence the kernel clears the thread's
 * rseq_cs when it has been interrupted, which the next mark sees: it then puts
 * before itself which CPU the thread is on and how much CPU time it has had.
 *
 * What it never does, once the thread has a ring: allocate, lock, use thread-local
 * storage (but libc's errno, which it leaves as it was), call the system; but for a trap to hand
 * over, after each interruption a reading of the thread's clock and its number, and of the clock
 * at an event's begin or end where that is old.
 *
 * Where there is no rseq (musl, valgrind, another user of it in the thread), a mark asks the
 * system for the thread's number each time, and for its CPU where libc does not say it.
 *
 * The file has two parts. Part 1 is plain data: what a tracer finds in the target's memory.
 * Its BPF and user code include only that part (VMSPAN_WIRE_ONLY). Part 2
 * is the SDK proper; user/sdk/README.md explains it.
 *
 * Needs: C11 or C++11, GCC or clang, Linux, glibc or musl; x86-64 (TSC) or
 * aarch64 (cntvct). No library beyond libc.
 *
 * Thread rules: every function may be called from any thread that libc has made, at any time, marks
 * from signal handlers too. Definitions (groups, compartments, labels) take a
 * lock and must not be made from signal handlers.
 */
#ifndef VMSPAN_H
#define VMSPAN_H

/* ---------------------------------------------------------------- Part 1 --
 * Little-endian, naturally aligned, no padding. Addresses are 64-bit numbers.
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

#define VMSPAN_ABI 2
#define VMSPAN_MAGIC 0x6e707376u /* "vspn" */

enum {
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

enum vmspan_mark_type { /* id, and the value of those that have one */
	VMSPAN_MARK_FILL = 0, /* nothing: keeps the next two together */
	VMSPAN_MARK_ENTER = 1, /* compartment */
	VMSPAN_MARK_LEAVE = 2, /* compartment */
	VMSPAN_MARK_EVENT_BEGIN = 3, /* label */
	VMSPAN_MARK_EVENT_END = 4,
	VMSPAN_MARK_INPUT = 5, /* label */
	VMSPAN_MARK_FRAME = 6, /* label */
	VMSPAN_MARK_VALUE = 7, /* label; value */
	VMSPAN_MARK_GC_BEGIN = 8, /* label; bytes of the heap */
	VMSPAN_MARK_GC_END = 9, /* 0; bytes of the heap */
	VMSPAN_MARK_BLOCK_BEGIN = 10, /* label; process waited for */
	VMSPAN_MARK_BLOCK_END = 11,
	VMSPAN_MARK_SWITCH = 12, /* CPU; CLOCK_THREAD_CPUTIME_ID, ns */
	VMSPAN_MARK_MORE = 13, /* any; in the place of cycles: the value of the one before */
	/* As VMSPAN_MARK_SWITCH, behind an event's begin or end, where the clock had not been told for
	 * long: nothing has happened to the thread since the mark before. */
	VMSPAN_MARK_CLOCK = 14,
	VMSPAN_MARK_UNWIND = 15, /* events that go on */
};

/* A mark as it lies in a ring, at a multiple of its size. */
struct vmspan_mark {
	vmspan_u64 cycles;
	vmspan_u32 id;
	vmspan_u32 type; /* enum vmspan_mark_type */
};

/*
 * Head of a thread's ring. Positions are bytes ever appended: a mark at position p lies
 * at base + (p & mask). `head` is stored after the mark, and by that one store the mark is
 * there. What lies below `handed` has been handed over; what lies between the two is
 * in the ring only. It is never overwritten before it has been handed over.
 *
 * A lap is the positions from one multiple of the ring's length to the next. Always
 * handed <= head <= the end of the head's lap; so what is between the first two lies in one piece.
 * `limit` is the end of that lap, or where the head was when a tracer came. Only the thread
 * writes here, its handlers included, but for `limit`, which a tracer may lower to the head.
 *
 * Before the head, from the ring's address on, come sections (struct rseq_cs), two of each copy of
 * the SDK: that of vmspan_mark_2() and that of vmspan_put_2(). What the thread has in its rseq_cs
 * says all: the first, that nothing has happened to it since its last mark; the second, nothing
 * since it began to make one the slow way; 0, that something has; anything else is another's.
 */
struct vmspan_ring {
	vmspan_u64 head; /* offsets of these five: VMSPAN__HEAD ... VMSPAN__CPU */
	vmspan_u64 limit; /* reached by head: hand over first; a tracer may lower it to head */
	vmspan_u64 base, mask;
	vmspan_u32 cpu; /* of the last VMSPAN_MARK_SWITCH */
	vmspan_u32 tid; /* as gettid() sees it */
	vmspan_u32 magic, abi;
	vmspan_u64 process; /* address of the struct vmspan_process */
	vmspan_u64 start; /* position of the thread's first mark */
	vmspan_u64 handed;
	vmspan_u64 handed_cycles; /* when */
	vmspan_u32 thread; /* number of the thread in its process, from 1 */
	vmspan_u32 flags; /* VMSPAN_RING_* */
	vmspan_u32 lost; /* marks that could not be made */
	vmspan_u32 session; /* the process's, when the last VMSPAN_MARK_SWITCH was made */
	vmspan_u64 event_begin; /* cycles: of the innermost event, or 0 */
	vmspan_u64 next; /* next ring */
	vmspan_u64 thread_pointer;
	/* How often in a row another user of rseq was found in its place; and the head at the last. */
	vmspan_u32 foreign_at, foreign;
	/* Cycles: when the thread's clock was told last; told for this long, it is told again. */
	vmspan_u64 clock, clock_every;
	vmspan_u64 clock_at; /* position: the last VMSPAN_MARK_CLOCK is there, or is about to be */
};
/*
 * The probe vmspan:flush(what, bytes, from) hands over marks of a ring (its head; from: their
 * position), at most so many, which lie in one piece, and none where a ring is new; or a
 * definition (from: the address of the process's block). The first bits of `bytes` say which.
 * `base` is 0: a handler has forked, and they are the parent's, who hands them over. */
#define VMSPAN_FLUSH_MARKS 0x8000000000000000ull
#define VMSPAN_FLUSH_DEFINITION 0x4000000000000000ull
#define VMSPAN_FLUSH_MAX 16384u
#define VMSPAN_RING_PLAIN 1u /* without rseq: interruptions are not known */
#define VMSPAN_RING_HEAD_BYTES 152

/*
 * A copy of the SDK: one a program or library, however many of its files include the
 * header. It begins with the semaphores, so the semaphore address in any of our ELF notes
 * finds it, in a stripped binary too.
 */
struct vmspan_registry {
	vmspan_u16 semaphore; /* kept by the kernel: tracers attached */
	vmspan_u16 probes_semaphore; /* the same for the conventional probes */
	vmspan_u32 magic, abi;
	vmspan_u32 slot; /* its sections in each ring */
	vmspan_u64 process; /* address of the struct vmspan_process */
	vmspan_i64 rseq; /* of struct rseq from the thread pointer; 0: none */
	vmspan_u32 closed; /* it is about to be unloaded */
	vmspan_u32 loaded; /* by vmspan_loaded_2(): which of all that lay here it is; 0: not yet */
	vmspan_u32 joining; /* a thread looks for the process's block, or makes it */
	vmspan_u32 pad;
	vmspan_u64 refused; /* cycles: when the process's block could not be made */
	vmspan_u64 reserved[9];
};
/* What vmspan_loaded_2() says of it. */
#define VMSPAN_LOADED_ON 1u /* its marks are on */
#define VMSPAN_LOADED_WAITS 2u /* they are not, and it waits for that, for a quarter of a second */
#define VMSPAN_REGISTRY_BYTES 128
#define VMSPAN_REGISTRY_ALIGN 128

/* struct rseq_cs of the kernel's: the code that is begun anew at `abort`. */
struct vmspan_section {
	vmspan_u32 version, flags;
	vmspan_u64 start, length, abort;
};

enum {
	/* Sections of a ring lie below its head, two a copy of the SDK. A forked child keeps
	 * them, since the kernel reads the one that the parent was in; all else it finds wiped. */
	VMSPAN_COPIES = 1024,
	VMSPAN_RING_ALIGN = 131072,
	VMSPAN_RING_AT = 65536, /* the head, above the ring's address */
	VMSPAN_RING_DATA = 4096, /* the first mark, above the head */
	VMSPAN_THREADS = 65536,
};

/*
 * All copies of the SDK in a process share this. It is never moved or freed, nor is anything that it leads
 * to, so a tracer may read it at any time.
 */
struct vmspan_process {
	vmspan_u32 magic, abi;
	vmspan_u64 log; /* first struct vmspan_log: all definitions so far */
	vmspan_u64 log_tail;
	/* Cycles: where the last hand-over is this old, the end of an event is one. A tracer may set
	 * less than is usual; the last one sets it back. */
	vmspan_u64 latency;
	vmspan_u32 session; /* a tracer's to set, before it attaches */
	vmspan_u32 group_last, compartment_last, label_last;
	vmspan_u64 copies[VMSPAN_COPIES / 64]; /* a bit each that is loaded */
	vmspan_u64 latency_usual;
	vmspan_u64 refused; /* cycles: when a ring could not be made */
	vmspan_u64 unused[(VMSPAN_RING_AT - 64 - VMSPAN_COPIES / 8) / 8];
	/* A forked child finds zeroes from here on. */
	vmspan_u64 rings; /* address of the first; see VMSPAN_RING_AT */
	vmspan_u32 lock;
	vmspan_u32 thread_last;
	vmspan_u32 lost_threads; /* marks of threads that have no ring */
	vmspan_u32 pid; /* whose it is, as getpid() sees it */
	vmspan_u32 late; /* a copy has waited for a tracer, and none came */
	vmspan_u32 pad[9];
	struct {
		vmspan_u64 thread_pointer, ring;
	} table[VMSPAN_THREADS];
};

enum vmspan_definition {
	VMSPAN_DEF_GROUP = 16,
	VMSPAN_DEF_COMPARTMENT = 17,
	VMSPAN_DEF_LABEL = 18,
};

/* Head of a definition, and of every record that a tracer makes. */
struct vmspan_head {
	vmspan_u8 type;
	vmspan_u8 slots; /* size in units of 32 bytes, >= 1 */
	vmspan_u16 depth;
	vmspan_u32 id;
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

/* A block of the definition log: `used` bytes of struct vmspan_def records. */
struct vmspan_log {
	vmspan_u64 next;
	vmspan_u32 used; /* published after the bytes: load-acquire it */
	vmspan_u32 size;
	vmspan_u64 data[];
};

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#ifndef VMSPAN_WIRE_ONLY
/* ---------------------------------------------------------------- Part 2 --
 * The SDK. Names with two underscores (vmspan__x) are private.
 */

#if (!defined(__x86_64__) && !defined(__aarch64__)) || defined(__ILP32__)
#error "vmspan.h: x86-64 and aarch64 only, with pointers of 64 bits"
#endif
#if !defined(__cplusplus) && (defined(__STRICT_ANSI__) || defined(_POSIX_C_SOURCE) || \
			      defined(_POSIX_SOURCE) || defined(_XOPEN_SOURCE))
/* These hide syscall(2) and what mmap(2) takes unless they are asked for by name. */
#if defined(_FEATURES_H) && !defined(_DEFAULT_SOURCE) && !defined(_GNU_SOURCE) && \
	!defined(_BSD_SOURCE)
#error "vmspan.h: with -std=c11, _POSIX_C_SOURCE or _XOPEN_SOURCE include it first, or define _DEFAULT_SOURCE"
#elif !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE 1
#endif
#endif

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h> /* not for this file: programs have it from here */
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

#define VMSPAN__HIDDEN __attribute__((__visibility__("hidden")))
#define VMSPAN__UNLIKELY(x) __builtin_expect(!!(x), 0)
/* Tools that have functions call them (-finstrument-functions) may mark there: not from in here. */
/* Two threads of one place in memory, and a handler and its thread, share a ring by rules that ThreadSanitizer does
 * not know. */
#ifdef __clang__
#define VMSPAN__BY_RULES __no_instrument_function__, __no_sanitize__("thread")
#else
#define VMSPAN__BY_RULES __no_instrument_function__, __no_sanitize_thread__
#endif
#define VMSPAN__UNUSED __attribute__((__unused__, VMSPAN__BY_RULES))
/*
 * Of functions that are there once a program, the first file's are taken, whatever that was
 * compiled for: a program that looks which CPU it has before it uses such files must not come
 * upon their instructions here.
 */
#if defined(__x86_64__)
#define VMSPAN__ANY_CPU __target__("no-avx,no-bmi,no-bmi2")
#else
#define VMSPAN__ANY_CPU /* nothing */
#endif
#define VMSPAN__SLOW \
	__attribute__((__unused__, noinline, __cold__, VMSPAN__BY_RULES, VMSPAN__ANY_CPU))
/* Calls where a mark is made: inline, what they need would be made ready where nobody traces too. */
#define VMSPAN__MARK_CALL __attribute__((__unused__, noinline, VMSPAN__BY_RULES))
#define VMSPAN__ONCE(...) \
	__attribute__((__weak__, VMSPAN__BY_RULES, VMSPAN__ANY_CPU, __VA_ARGS__)) VMSPAN__HIDDEN
/* The compiler must not move what a signal handler may see or change. By __atomic_signal_fence()
 * clang does not feel bound: it moves a load behind it past a later one. */
#define VMSPAN__FENCE() __asm__ volatile("" ::: "memory")
#define VMSPAN__STR2(x) #x
#define VMSPAN__STR(x) VMSPAN__STR2(x)

VMSPAN__ASSERT(sizeof(struct vmspan_mark) == 16, "ABI");
VMSPAN__ASSERT(sizeof(struct vmspan_head) == 8, "ABI");
VMSPAN__ASSERT(sizeof(struct vmspan_ring) == VMSPAN_RING_HEAD_BYTES, "ABI");
VMSPAN__ASSERT(sizeof(struct vmspan_registry) == VMSPAN_REGISTRY_BYTES, "ABI");
VMSPAN__ASSERT(offsetof(struct vmspan_registry, rseq) == 24, "known to vmspan_mark_2()");
VMSPAN__ASSERT(VMSPAN_RING_AT == 65536 && VMSPAN_RING_ALIGN == 131072 && VMSPAN_MARK_MORE == 13 &&
		       !offsetof(struct vmspan_ring, head) &&
		       offsetof(struct vmspan_ring, limit) == 8 &&
		       offsetof(struct vmspan_ring, base) == 16 &&
		       offsetof(struct vmspan_ring, mask) == 24 &&
		       offsetof(struct vmspan_ring, cpu) == 32,
	       "known to both sequences");
VMSPAN__ASSERT(offsetof(struct vmspan_process, rings) == VMSPAN_RING_AT, "ABI");

/* ------------------------------------------- Registry, sites, sequences --
 *
 * One of each a program or library however many of its files include this header: they are
 * written in assembler so that the linker folds them as one COMDAT group, in C as in
 * C++. With -flto several files share one assembler run: hence `.ifndef`. (lld keeps the group of
 * each file with -flto=thin: the same notes several times, which vmspan takes for one.)
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
 * kernel turns them off when the tracer is gone. Marks go through the
 * site `flush`, where a tracer may attach for every process at once at no cost
 * to those whose semaphore is down; so a forked child is traced from its
 * first instruction.
 */
#if defined(__x86_64__)
#define VMSPAN__NOPS ".byte 0x90,0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0\n"
#define VMSPAN__ARG1 "8@%rdi"
#define VMSPAN__ARG2 "8@%rdi 8@%rsi"
#define VMSPAN__ARG3 "8@%rdi 8@%rsi 8@%rdx"
/* What must stand before the code that a sequence is begun anew at (RSEQ_SIG). */
#define VMSPAN__SIGNATURE 0x53053053
#define VMSPAN__SIGN ".byte 0x0f,0xb9,0x3d\n.4byte 0x53053053\n"
#else
#define VMSPAN__NOPS "nop\n"
#define VMSPAN__ARG1 "8@x0"
#define VMSPAN__ARG2 "8@x0 8@x1"
#define VMSPAN__ARG3 "8@x0 8@x1 8@x2"
#define VMSPAN__SIGNATURE 0xd428bc00
#define VMSPAN__SIGN ".inst 0xd428bc00\n"
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

/*
 * A restartable sequence, from the local label 1 to 2, and 4, where it is begun anew; and
 * where its symbol with `_at_2` finds the three: differences, so that nothing is relocated.
 */
#define VMSPAN__SEQUENCE(name, align, code)                                    \
	".ifndef vmspan_" name "_2\n"                                         \
	".pushsection .text.vmspan_group_2,\"axG\",%progbits,vmspan_group_2,comdat\n" \
	".p2align " align "\n.weak vmspan_" name "_2\n.hidden vmspan_" name "_2\n" \
	".type vmspan_" name "_2,%function\nvmspan_" name "_2:\n.cfi_startproc\n" \
	code ".cfi_endproc\n.size vmspan_" name "_2,.-vmspan_" name "_2\n"     \
	".weak vmspan_" name "_at_2\n.hidden vmspan_" name "_at_2\n.balign 8\n" \
	"vmspan_" name "_at_2: .8byte 1b-.,2b-1b,4b-.\n.popsection\n.endif\n"

/* Offsets from a ring's address. */
#define VMSPAN__HEAD "65536"
#define VMSPAN__LIMIT "65536+8"
#define VMSPAN__BASE "65536+16"
#define VMSPAN__MASK "65536+24"
#define VMSPAN__CPU "65536+32"

#if defined(__x86_64__)
/*
 * A mark of one word (type, id; rdi). Nothing has happened to the thread since its last mark
 * if its rseq_cs is still the section of this sequence in the thread's ring, and if it is on
 * the same CPU; the section's address is the ring's but for its last bits. Anything
 * else is for vmspan_slow_2(). Returns the cycles and the ring's address.
 * The counter is read last, but right behind rseq_cs where something ends: so of a span's time
 * hardly any is that of its own marks. Not before rseq_cs: if that is this section, an
 * interruption after the reading makes a new one; if it is not, the reading is of no use.
 */
#define VMSPAN__MARK                                                           \
	"xorl %r9d, %r9d\n"                                                    \
	"jmp 5f\n"                                                             \
	".weak vmspan_mark_end_2\n.hidden vmspan_mark_end_2\n"                 \
	".type vmspan_mark_end_2,%function\nvmspan_mark_end_2:\n"              \
	"movl $1, %r9d\n"                                                      \
	"5: movq vmspan_registry_2+24(%rip), %rcx\n"                           \
	"testq %rcx, %rcx\n"                                                   \
	"jz 3f\n"                                                              \
	"1: movq %fs:8(%rcx), %r8\n" /* rseq_cs */                             \
	"testl %r9d, %r9d\n"                                                   \
	"jz 7f\n"                                                              \
	"rdtsc\n"                                                              \
	"shlq $32, %rdx\n"                                                     \
	"leaq (%rax,%rdx), %r9\n"                                              \
	"7: testq %r8, %r8\n"                                                  \
	"jz 3f\n"                                                              \
	"leaq 1b(%rip), %rdx\n"                                                \
	"cmpq %rdx, 8(%r8)\n" /* start */                                      \
	"jne 3f\n"                                                             \
	"andq $-131072, %r8\n"                                                 \
	"movl %fs:4(%rcx), %eax\n" /* cpu_id */                                \
	"cmpl %eax, " VMSPAN__CPU "(%r8)\n"                                    \
	"jne 3f\n"                                                             \
	"movq " VMSPAN__HEAD "(%r8), %rsi\n"                                   \
	"cmpq " VMSPAN__LIMIT "(%r8), %rsi\n"                                  \
	"jae 8f\n"                                                             \
	"movq " VMSPAN__MASK "(%r8), %rcx\n"                                   \
	"andq %rsi, %rcx\n"                                                    \
	"addq " VMSPAN__BASE "(%r8), %rcx\n"                                   \
	"movq %rdi, 8(%rcx)\n"                                                 \
	"addq $16, %rsi\n"                                                     \
	"movq %r9, %rax\n"                                                     \
	"testq %r9, %r9\n"                                                     \
	"jnz 6f\n"                                                             \
	"rdtsc\n"                                                              \
	"shlq $32, %rdx\n"                                                     \
	"orq %rdx, %rax\n"                                                     \
	"6: movq %rax, (%rcx)\n"                                               \
	"movq %rsi, " VMSPAN__HEAD "(%r8)\n" /* from here on it is there */    \
	"2: movq %r8, %rdx\n"                                                  \
	"ret\n"                                                                \
	"8: movq %rsi, %rdx\n"                                                 \
	"movq %r9, %rsi\n"                                                     \
	"jmp vmspan_full_2\n"                                                  \
	"3: jmp vmspan_slow_2\n"                                               \
	VMSPAN__SIGN                                                           \
	"4: jmp vmspan_mark_2\n"

/*
 * The same for vmspan__slow(), which says where: word rdi, value rsi, bytes rdx (16; 32
 * with a value; else rsi is when it was, 0: now), rcx as above, ring r8, section r9. 0: it is
 * there; 1: the thread was interrupted; 2: the ring is full.
 */
#define VMSPAN__PUT                                                            \
	"1: cmpq %r9, %fs:8(%rcx)\n"                                           \
	"jne 4f\n"                                                             \
	"movq " VMSPAN__HEAD "(%r8), %r10\n"                                   \
	"leaq (%r10,%rdx), %r11\n"                                             \
	"cmpq " VMSPAN__LIMIT "(%r8), %r11\n"                                  \
	"ja 6f\n"                                                              \
	"movq " VMSPAN__MASK "(%r8), %rcx\n"                                   \
	"andq %r10, %rcx\n"                                                    \
	"addq " VMSPAN__BASE "(%r8), %rcx\n"                                   \
	"cmpl $16, %edx\n"                                                     \
	"je 5f\n"                                                              \
	"movq %rsi, 16(%rcx)\n"                                                \
	"movabsq $0xd00000000, %rdx\n" /* VMSPAN_MARK_MORE */                  \
	"movq %rdx, 24(%rcx)\n"                                                \
	"xorl %esi, %esi\n"                                                    \
	"5: movq %rsi, %rax\n"                                                 \
	"testq %rsi, %rsi\n"                                                   \
	"jnz 7f\n"                                                             \
	"rdtsc\n"                                                              \
	"shlq $32, %rdx\n"                                                     \
	"orq %rdx, %rax\n"                                                     \
	"7: movq %rax, (%rcx)\n"                                               \
	"movq %rdi, 8(%rcx)\n"                                                 \
	"movq %r11, " VMSPAN__HEAD "(%r8)\n"                                   \
	"2: xorl %eax, %eax\n"                                                 \
	"ret\n"                                                                \
	"6: movl $2, %eax\n"                                                   \
	"ret\n"                                                                \
	VMSPAN__SIGN                                                           \
	"4: movl $1, %eax\n"                                                   \
	"ret\n"
#else
#define VMSPAN__MARK                                                           \
	"mov x7, #0\n"                                                         \
	"b 5f\n"                                                               \
	".weak vmspan_mark_end_2\n.hidden vmspan_mark_end_2\n"                 \
	".type vmspan_mark_end_2,%function\nvmspan_mark_end_2:\n"              \
	"mov x7, #1\n"                                                         \
	"5: adrp x9, vmspan_registry_2\n"                                      \
	"add x9, x9, :lo12:vmspan_registry_2\n"                                \
	"ldr x1, [x9, #24]\n"                                                  \
	"cbz x1, 3f\n"                                                         \
	"mrs x2, tpidr_el0\n"                                                  \
	"add x1, x1, x2\n"                                                     \
	"1: ldr x3, [x1, #8]\n"                                                \
	"cbz x7, 7f\n"                                                         \
	"mrs x7, cntvct_el0\n"                                                 \
	"7: cbz x3, 3f\n"                                                      \
	"adr x4, 1b\n"                                                         \
	"ldr x5, [x3, #8]\n"                                                   \
	"cmp x4, x5\n"                                                         \
	"b.ne 3f\n"                                                            \
	"and x3, x3, #-131072\n"                                               \
	"add x8, x3, #16, lsl #12\n"                                           \
	"ldr w4, [x1, #4]\n"                                                   \
	"ldr w5, [x8, #32]\n"                                                  \
	"cmp w4, w5\n"                                                         \
	"b.ne 3f\n"                                                            \
	"ldp x4, x5, [x8]\n"                                                   \
	"cmp x4, x5\n"                                                         \
	"b.hs 8f\n"                                                            \
	"ldp x5, x6, [x8, #16]\n"                                              \
	"and x6, x6, x4\n"                                                     \
	"add x5, x5, x6\n"                                                     \
	"add x4, x4, #16\n"                                                    \
	"cbnz x7, 6f\n"                                                        \
	"mrs x7, cntvct_el0\n"                                                 \
	"6: stp x7, x0, [x5]\n"                                                \
	"stlr x4, [x8]\n"                                                      \
	"2: mov x0, x7\n"                                                      \
	"mov x1, x3\n"                                                         \
	"ret\n"                                                                \
	"8: mov x2, x4\n"                                                      \
	"mov x1, x7\n"                                                         \
	"b vmspan_full_2\n"                                                    \
	"3: b vmspan_slow_2\n"                                                 \
	VMSPAN__SIGN                                                           \
	"4: b vmspan_mark_2\n"
#define VMSPAN__PUT                                                            \
	"mrs x9, tpidr_el0\n"                                                  \
	"add x3, x3, x9\n"                                                     \
	"1: ldr x9, [x3, #8]\n"                                                \
	"cmp x9, x5\n"                                                         \
	"b.ne 4f\n"                                                            \
	"add x8, x4, #16, lsl #12\n"                                           \
	"ldp x10, x11, [x8]\n"                                                 \
	"add x12, x10, x2\n"                                                   \
	"cmp x12, x11\n"                                                       \
	"b.hi 6f\n"                                                            \
	"ldp x11, x13, [x8, #16]\n"                                            \
	"and x13, x13, x10\n"                                                  \
	"add x11, x11, x13\n"                                                  \
	"cmp x2, #16\n"                                                        \
	"b.eq 5f\n"                                                            \
	"mov x13, #0xd00000000\n"                                              \
	"stp x1, x13, [x11, #16]\n"                                            \
	"mov x1, #0\n"                                                         \
	"5: cbnz x1, 7f\n"                                                     \
	"mrs x1, cntvct_el0\n"                                                 \
	"7: stp x1, x0, [x11]\n"                                               \
	"stlr x12, [x8]\n"                                                     \
	"2: mov w0, #0\n"                                                      \
	"ret\n"                                                                \
	"6: mov w0, #2\n"                                                      \
	"ret\n"                                                                \
	VMSPAN__SIGN                                                           \
	"4: mov w0, #1\n"                                                      \
	"ret\n"
#endif

__asm__(
	".ifndef _.stapsdt.base\n"
	".pushsection .stapsdt.base,\"aG\",%progbits,.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"
	"_.stapsdt.base: .space 1\n.size _.stapsdt.base,1\n"
	".popsection\n.endif\n"
	".ifndef vmspan_registry_2\n"
	".pushsection .probes,\"awG\",%progbits,vmspan_group_2,comdat\n"
	".balign " VMSPAN__STR(VMSPAN_REGISTRY_ALIGN) "\n"
	".weak vmspan_registry_2\n.hidden vmspan_registry_2\n"
	".type vmspan_registry_2,%object\n"
	".size vmspan_registry_2," VMSPAN__STR(VMSPAN_REGISTRY_BYTES) "\n"
	"vmspan_registry_2:\n"
	".4byte 0,0x6e707376," VMSPAN__STR(VMSPAN_ABI) "\n"
	".zero " VMSPAN__STR(VMSPAN_REGISTRY_BYTES) "-12\n"
	".popsection\n"
	/* By this note, which is loaded, copies find each other. */
	".pushsection .note.vmspan,\"aG\",%note,vmspan_group_2,comdat\n"
	".balign 4\n.4byte 7,8," VMSPAN__STR(VMSPAN_ABI) "\n.asciz \"vmspan\"\n.balign 4\n"
	".8byte vmspan_registry_2-.\n"
	".popsection\n.endif\n"
	VMSPAN__SITE("vmspan_group_2", "vmspan_site_flush_2", "flush", "0", VMSPAN__ARG3)
	VMSPAN__SITE("vmspan_group_2", "vmspan_site_armed_2", "armed", "vmspan_registry_2", "")
	VMSPAN__SEQUENCE("mark", "6", VMSPAN__MARK)
	VMSPAN__SEQUENCE("put", "4", VMSPAN__PUT)
);

struct vmspan__at {
	vmspan_u64 cycles;
	vmspan_u64 ring; /* its address; 0: no mark was made */
};
extern VMSPAN__HIDDEN struct vmspan_registry vmspan_registry_2;
extern VMSPAN__HIDDEN void vmspan_site_flush_2(const void *what, vmspan_u64 bytes, vmspan_u64 from);
extern VMSPAN__HIDDEN struct vmspan__at vmspan_mark_2(vmspan_u64 word);
extern VMSPAN__HIDDEN struct vmspan__at vmspan_mark_end_2(vmspan_u64 word);
extern VMSPAN__HIDDEN int vmspan_put_2(vmspan_u64 word, vmspan_u64 value, vmspan_u64 bytes,
				       vmspan_i64 rseq, vmspan_u64 ring, vmspan_u64 section);
extern VMSPAN__HIDDEN const vmspan_i64 vmspan_mark_at_2[3], vmspan_put_at_2[3];

/* Conventional probes that a file may have: a tracer that attaches to all of them counts for so many. */
#define VMSPAN__PROBES 9

/* Both semaphores of a registry, in one load. */
#define VMSPAN__SEMAPHORES(r) (*(const volatile vmspan_u32 *)(const void *)(r))

#ifdef VMSPAN_PROBES
/*
 * Conventional probes, for bpftrace, perf and vmspan's direct stopwatch.
 * Compiled in by -DVMSPAN_PROBES in every file that marks.
 */
#define VMSPAN__PROBE(name, probe, args)                                       \
	VMSPAN__SITE("vmspan_probes_2", "vmspan_site_" name "_2", probe,       \
		     "vmspan_registry_2+2", args)
__asm__(VMSPAN__PROBE("enter", "enter", VMSPAN__ARG1));
__asm__(VMSPAN__PROBE("leave", "leave", VMSPAN__ARG1));
__asm__(VMSPAN__PROBE("event_begin", "event__begin", VMSPAN__ARG1));
__asm__(VMSPAN__PROBE("event_end", "event__end", ""));
__asm__(VMSPAN__PROBE("gc_begin", "gc__begin", VMSPAN__ARG2));
__asm__(VMSPAN__PROBE("gc_end", "gc__end", VMSPAN__ARG1));
__asm__(VMSPAN__PROBE("block_begin", "block__begin", VMSPAN__ARG2));
__asm__(VMSPAN__PROBE("block_end", "block__end", ""));
__asm__(VMSPAN__PROBE("mark", "mark", VMSPAN__ARG3));
extern VMSPAN__HIDDEN void vmspan_site_enter_2(vmspan_u64 compartment);
extern VMSPAN__HIDDEN void vmspan_site_leave_2(vmspan_u64 compartment);
extern VMSPAN__HIDDEN void vmspan_site_event_begin_2(vmspan_u64 label);
extern VMSPAN__HIDDEN void vmspan_site_event_end_2(void);
extern VMSPAN__HIDDEN void vmspan_site_gc_begin_2(vmspan_u64 label, vmspan_u64 bytes);
extern VMSPAN__HIDDEN void vmspan_site_gc_end_2(vmspan_u64 bytes);
extern VMSPAN__HIDDEN void vmspan_site_block_begin_2(vmspan_u64 label, vmspan_u64 peer);
extern VMSPAN__HIDDEN void vmspan_site_block_end_2(void);
extern VMSPAN__HIDDEN void vmspan_site_mark_2(vmspan_u64 type, vmspan_u64 label, vmspan_u64 value);
#define VMSPAN__ON() VMSPAN__SEMAPHORES(&vmspan_registry_2)
#define VMSPAN__FIRE(call)                                                     \
	do {                                                                   \
		if (*(volatile vmspan_u16 *)&vmspan_registry_2.probes_semaphore) \
			call;                                                  \
		if (!*(volatile vmspan_u16 *)&vmspan_registry_2.semaphore)     \
			return;                                                \
	} while (0)
#else
#define VMSPAN__ON() (*(volatile vmspan_u16 *)&vmspan_registry_2.semaphore)
#define VMSPAN__FIRE(call) ((void)0)
#endif
/* clang-format on */

/* glibc >= 2.35 registers rseq and says where; elsewhere these are absent. Under names of our own:
 * its <sys/rseq.h> declares them otherwise in C++. */
extern const ptrdiff_t vmspan__rseq_offset __asm__("__rseq_offset") __attribute__((__weak__));
extern const unsigned int vmspan__rseq_size __asm__("__rseq_size") __attribute__((__weak__));

/* True while a tracer is attached. For work worth doing only then. */
static inline VMSPAN__UNUSED int vmspan_enabled(void)
{
	return (int)VMSPAN__UNLIKELY(VMSPAN__ON() != 0);
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

/* Some 50 ms; 20 on a counter of 5 GHz. */
static VMSPAN__SLOW vmspan_u64 vmspan__latency(void)
{
#if defined(__x86_64__)
	return 100000000;
#else
	vmspan_u64 hz;
	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
	return hz / 20;
#endif
}

#ifndef VMSPAN__CLOCK_TRIES
#define VMSPAN__CLOCK_TRIES 2
#endif
/* A system call, as in vmspan__pages(). */
#ifndef VMSPAN__CLOCK
#define VMSPAN__CLOCK(id, ts) syscall(SYS_clock_gettime, id, ts)
#endif

/* The thread's CPU time, as of now: if the CPU was away while the system was asked, which the
 * counter shows (20 us), it is asked again. */
static VMSPAN__SLOW vmspan_u64 vmspan__thread_ns(void)
{
	struct timespec ts = { 0, 0 };
	vmspan_u64 before;
	int tries = VMSPAN__CLOCK_TRIES;

	do {
		before = vmspan__cycles();
		VMSPAN__CLOCK(CLOCK_THREAD_CPUTIME_ID, &ts);
	} while (vmspan__cycles() - before > vmspan__latency() / 2500 && --tries);
	return (vmspan_u64)ts.tv_sec * 1000000000u + (vmspan_u64)ts.tv_nsec;
}

static inline VMSPAN__UNUSED vmspan_u64 vmspan__thread_pointer(void)
{
	vmspan_u64 at;
#if defined(__x86_64__)
	__asm__("movq %%fs:0, %0" : "=r"(at));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(at));
#endif
	return at;
}

/* Stores `to` if *at is `from`, in one instruction: no interruption comes between. */
static inline VMSPAN__UNUSED int vmspan__swap(volatile vmspan_u64 *at, vmspan_u64 from,
					      vmspan_u64 to)
{
#if defined(__x86_64__)
	vmspan_u64 was = from;
	__asm__ volatile("cmpxchgq %2, %1" : "+a"(was), "+m"(*at) : "r"(to) : "memory", "cc");
	return was == from;
#else
	return __atomic_compare_exchange_n(at, &from, to, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
#endif
}

/* The same for a mark: both of its words. */
static inline VMSPAN__UNUSED int vmspan__swap_mark(struct vmspan_mark *at, const vmspan_u64 from[2],
						   vmspan_u64 first, vmspan_u64 second)
{
#if defined(__x86_64__)
	vmspan_u64 lo = from[0], hi = from[1];
	__asm__ volatile("cmpxchg16b %2"
			 : "+a"(lo), "+d"(hi), "+m"(*at)
			 : "b"(first), "c"(second)
			 : "memory", "cc");
#else
	vmspan_u64 lo, hi;
	vmspan_u32 failed;
	__asm__ volatile("1: ldxp %0, %1, [%3]\n"
			 "cmp %0, %4\n"
			 "ccmp %1, %5, #0, eq\n"
			 "b.ne 2f\n"
			 "stxp %w2, %6, %7, [%3]\n"
			 "cbnz %w2, 1b\n"
			 "2:"
			 : "=&r"(lo), "=&r"(hi), "=&r"(failed)
			 : "r"(at), "r"(from[0]), "r"(from[1]), "r"(first), "r"(second)
			 : "memory", "cc");
#endif
	return lo == from[0] && hi == from[1];
}

/* ------------------------------------------------------------ Loading -- */

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define VMSPAN__PAGES(bytes) (((bytes) + 65535) & ~(size_t)65535) /* however large they are */

/* Not by libc's names, which others put themselves in the place of: what they do there is not for
 * handlers, and they may mark. */
static VMSPAN__SLOW char *vmspan__pages(size_t bytes, int flags)
{
	long m = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0L);

	return m == -1 ? NULL : (char *)m;
}

static VMSPAN__SLOW void vmspan__unmap(char *m, size_t bytes)
{
	syscall(SYS_munmap, m, bytes);
}

static VMSPAN__SLOW vmspan_u32 vmspan__pid(void)
{
	return (vmspan_u32)syscall(SYS_getpid);
}

/* Memory that is `keep` bytes that a forked child has too, and `wipe` bytes of zeroes for it, and what
 * comes behind them. NULL: there is none (MADV_WIPEONFORK: Linux 4.14). */
static VMSPAN__SLOW char *vmspan__map(size_t align, size_t keep, size_t wipe)
{
	size_t want = VMSPAN__PAGES(keep + wipe), all = want + align, skip;
	char *m = vmspan__pages(all, MAP_NORESERVE);

	if (!m)
		return NULL;
	skip = (align - (size_t)m % align) % align;
	if (skip)
		vmspan__unmap(m, skip);
	if (skip != align)
		vmspan__unmap(m + skip + want, align - skip);
	m += skip;
	if (syscall(SYS_madvise, m + keep, want - keep, MADV_WIPEONFORK)) {
		vmspan__unmap(m, want);
		return NULL;
	}
	return m;
}

/* What dl_iterate_phdr(3) tells first of each object; its own declaration is not always to be
 * had. */
struct vmspan__object {
	Elf64_Addr address;
	const char *name;
	const Elf64_Phdr *headers;
	Elf64_Half count;
};
extern int vmspan__objects(int (*)(struct vmspan__object *, size_t, void *),
			   void *) __asm__("dl_iterate_phdr");

/* Is a piece of an object in memory? Tools may have moved what only a header still names. */
static VMSPAN__SLOW int vmspan__in_memory(const struct vmspan__object *o, const Elf64_Phdr *piece)
{
	Elf64_Half i;

	for (i = 0; i < o->count; i++) {
		const Elf64_Phdr *h = &o->headers[i];

		if (h->p_type == PT_LOAD && piece->p_vaddr >= h->p_vaddr &&
		    piece->p_memsz <= h->p_memsz &&
		    piece->p_vaddr - h->p_vaddr <= h->p_memsz - piece->p_memsz)
			return 1;
	}
	return 0;
}

struct vmspan__found {
	vmspan_u64 process; /* address of the process's block */
	vmspan_u32 traced; /* another copy's marks are on */
};

/* Looks for other copies of the SDK that have the process's block. Their notes are as ours. */
static VMSPAN__SLOW int vmspan__look(struct vmspan__object *o, size_t size, void *found)
{
	struct vmspan__found *f = (struct vmspan__found *)found;
	Elf64_Half i;

	(void)size;
	for (i = 0; i < o->count; i++) {
		const Elf64_Phdr *h = &o->headers[i];
		const char *p = (const char *)(o->address + h->p_vaddr), *end = p + h->p_memsz;

		if (h->p_type != PT_NOTE || h->p_align > 4 || !vmspan__in_memory(o, h))
			continue;
		while (end - p >= (ptrdiff_t)sizeof(Elf64_Nhdr)) {
			const Elf64_Nhdr *n = (const Elf64_Nhdr *)(const void *)p;
			size_t name = (n->n_namesz + 3u) & ~(size_t)3;
			size_t bytes = sizeof(*n) + name + ((n->n_descsz + 3u) & ~(size_t)3);
			const struct vmspan_registry *r;
			vmspan_i64 to;

			if ((size_t)(end - p) < bytes)
				break;
			if (n->n_type == VMSPAN_ABI && n->n_namesz == 7 && n->n_descsz == 8 &&
			    !__builtin_memcmp(n + 1, "vmspan", 7)) {
				__builtin_memcpy(&to, (const char *)(n + 1) + name, 8);
				r = (const struct vmspan_registry
					     *)(const void *)((const char *)(n + 1) + name + to);
				if (r->magic == VMSPAN_MAGIC && r->process) {
					f->process = r->process;
					/* Who has the conventional probes alone attaches to no more. */
					f->traced |= *(const volatile vmspan_u16 *)&r->semaphore;
				}
			}
			p += bytes;
		}
	}
	return 0;
}

/* Memory that was not to be had is not asked for again at each mark. Cycles. */
#ifndef VMSPAN__REFUSED_FOR
#define VMSPAN__REFUSED_FOR vmspan__latency()
#endif

static VMSPAN__SLOW int vmspan__is_refused(const vmspan_u64 *when)
{
	vmspan_u64 at = __atomic_load_n(when, __ATOMIC_RELAXED);

	return at && vmspan__cycles() - at < VMSPAN__REFUSED_FOR;
}

static VMSPAN__SLOW void vmspan__refused(vmspan_u64 *when)
{
	__atomic_store_n(when, vmspan__cycles(), __ATOMIC_RELAXED);
}

/* Joins the process's block, or makes it. NULL: there is no memory. */
static VMSPAN__SLOW struct vmspan_process *vmspan__join(struct vmspan_registry *r)
{
	struct vmspan__found found = { 0, 0 };
	struct vmspan_process *p;
	vmspan_u32 i;

	vmspan__objects(vmspan__look, &found);
	if (!found.process) {
		p = (struct vmspan_process *)(void *)vmspan__map(4096, VMSPAN_RING_AT,
								 sizeof(*p) - VMSPAN_RING_AT);
		if (!p)
			return NULL;
		p->magic = VMSPAN_MAGIC;
		p->abi = VMSPAN_ABI;
		p->latency = p->latency_usual = vmspan__latency();
		p->pid = vmspan__pid();
		found.process = (vmspan_u64)(size_t)p;
	}
	p = (struct vmspan_process *)(size_t)found.process;
	/* The last place is none: see VMSPAN__NOWHERE. Without one, marks go without rseq. */
	for (i = 0; i < VMSPAN_COPIES - 1; i++)
		if (!(__atomic_fetch_or(&p->copies[i / 64], 1ull << (i % 64), __ATOMIC_RELAXED) >>
			      (i % 64) &
		      1))
			break;
	r->slot = i;
	if (&vmspan__rseq_offset && &vmspan__rseq_size && vmspan__rseq_size &&
	    i < VMSPAN_COPIES - 1)
		r->rseq = (vmspan_i64)vmspan__rseq_offset;
	__atomic_store_n(&r->process, found.process, __ATOMIC_RELEASE);
	return p;
}

/* The process's block. Mostly it is there since the copy was loaded. NULL: there is none, or another
 * thread is about to make it. */
static VMSPAN__SLOW struct vmspan_process *vmspan__process(void)
{
	struct vmspan_registry *r = &vmspan_registry_2;
	vmspan_u64 found = __atomic_load_n(&r->process, __ATOMIC_ACQUIRE);
	struct vmspan_process *p;

	if (found)
		return (struct vmspan_process *)(size_t)found;
	if (vmspan__is_refused(&r->refused) ||
	    __atomic_exchange_n(&r->joining, 1, __ATOMIC_ACQUIRE))
		return NULL;
	found = r->process; /* by another thread, meanwhile */
	p = found ? (struct vmspan_process *)(size_t)found : vmspan__join(r);
	if (!p)
		vmspan__refused(&r->refused);
	__atomic_store_n(&r->joining, 0, __ATOMIC_RELEASE);
	return p;
}

/*
 * Runs when the program or library has been loaded, once a DSO. A thread that
 * gives itself the name it has changes nothing, and tells a tracer of this
 * process that there is something new to attach to: dlopen has no other sign. Where it is, which
 * of those that were ever there, whether its marks are on and whether it waits for that, goes with
 * it in arguments that the system call does not look at: so what has gone before anybody came, or
 * has gone on, is known to be missing.
 *
 * Under `vmspan record -- CMD`, which sets VMSPAN_WAIT to its process id, what
 * CMD executes waits here until it is attached to, so that nothing of it is
 * missed: as long as the tracer lives, and never longer than a quarter of a
 * second. So does a library that is loaded where another copy is traced; if the tracer did
 * not come in that time, no other of the process does from then on.
 */
#define VMSPAN__WAIT_NS 250000000
#define VMSPAN__WAIT_ROUNDS 2500 /* of 100 us and more */

static VMSPAN__SLOW vmspan_u64 vmspan__mono_ns(void)
{
	struct timespec ts = { 0, 0 };

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return (vmspan_u64)ts.tv_sec * 1000000000u + (vmspan_u64)ts.tv_nsec;
}

/* Either method counts, each with all of its probes. */
static VMSPAN__SLOW int vmspan__is_on(void)
{
	return *(volatile vmspan_u16 *)&vmspan_registry_2.semaphore ||
	       *(volatile vmspan_u16 *)&vmspan_registry_2.probes_semaphore >= VMSPAN__PROBES;
}

/* Is there a tracer that will come? One that has the process already, or the one that has started it. */
static VMSPAN__SLOW int vmspan__is_awaited(vmspan_u64 traced, long pid)
{
	return traced || (pid > 0 && !(syscall(SYS_kill, pid, 0) && errno == ESRCH));
}

VMSPAN__ONCE(__constructor__(101)) void vmspan_loaded_2(void);
VMSPAN__ONCE(__constructor__(101)) void vmspan_loaded_2(void)
{
	struct vmspan__found found = { 0, 0 };
	struct timespec round = { 0, 100000 };
	vmspan_u32 none = 0, which = (vmspan_u32)vmspan__mono_ns() | 1;
	struct vmspan_process *p;
	char name[16] = { 0 };
	const char *tracer;
	int saved = errno, awaited;
	vmspan_u64 end;
	long i, pid;

	if (!__atomic_compare_exchange_n(&vmspan_registry_2.loaded, &none, which, 0,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	p = vmspan__process();
	tracer = getenv("VMSPAN_WAIT");
	pid = tracer ? strtol(tracer, NULL, 10) : 0;
	if (pid > INT_MAX)
		pid = 0;
	vmspan__objects(vmspan__look, &found);
	awaited = !(p && p->late) && vmspan__is_awaited(p ? found.traced : 0, pid);
	if (!syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0))
		syscall(SYS_prctl, PR_SET_NAME, name, (vmspan_u64)VMSPAN_MAGIC, &vmspan_registry_2,
			(vmspan_u64)which << 32 | (vmspan__is_on() ? VMSPAN_LOADED_ON
						   : awaited       ? VMSPAN_LOADED_WAITS
								   : 0u));
	end = vmspan__mono_ns() + VMSPAN__WAIT_NS;
	for (i = 0; awaited && !vmspan__is_on(); i++) {
		if (i == VMSPAN__WAIT_ROUNDS || vmspan__mono_ns() >= end) {
			if (p)
				p->late = 1;
			break;
		}
		syscall(SYS_nanosleep, &round, NULL);
		awaited = vmspan__is_awaited(p ? found.traced : 0, pid);
	}
	errno = saved;
}

/* -------------------------------------------------------------- Rings -- */

/* Bytes of a thread's ring, a power of two: 4096 ... 262144. One trap hands over up
 * to 16 KB, so the larger the cheaper; it should stay in the second-level cache. */
#ifndef VMSPAN_RING
#define VMSPAN_RING 16384
#endif
VMSPAN__ASSERT(VMSPAN_RING >= 4096 && VMSPAN_RING <= 262144 && !(VMSPAN_RING & (VMSPAN_RING - 1)),
	       "VMSPAN_RING: 4096 to 262144, a power of two");

/* Above a ring's address, in the place of the last copy, which is none: where a section that is
 * nowhere is begun anew. */
#define VMSPAN__NOWHERE (VMSPAN_RING_AT - 8)

static inline VMSPAN__UNUSED struct vmspan_ring *vmspan__ring_at(vmspan_u64 at)
{
	return (struct vmspan_ring *)(size_t)(at + VMSPAN_RING_AT);
}

/* In a ring's head, behind what others know of it: when the event around the innermost one began, or 0. Of
 * those further out it is not kept. */
static inline VMSPAN__UNUSED vmspan_u64 *vmspan__around(struct vmspan_ring *g)
{
	return (vmspan_u64 *)(void *)((char *)g + VMSPAN_RING_HEAD_BYTES);
}

/* Has a handler forked since this ring was made? It is the child's then, and of no use to it. */
static inline VMSPAN__UNUSED int vmspan__wiped(const struct vmspan_ring *g)
{
	return !*(const volatile vmspan_u64 *)&g->base;
}

/* What has been swapped out meanwhile, the probe could not read: it does not wait for a page. */
static VMSPAN__SLOW void vmspan__touch(const struct vmspan_ring *g, vmspan_u64 from,
				       vmspan_u64 bytes)
{
	const volatile char *data = (const volatile char *)(size_t)g->base;
	const vmspan_u64 mask = g->mask, last = from + bytes - 1;

	if (!data)
		return; /* wiped */
	for (; from < last; from += 4096)
		(void)data[from & mask];
	(void)data[last & mask];
}

/*
 * Hands over what has not been. A handler may come in at any point and do the same: then
 * some of it is handed over twice, and the reader takes each position once.
 */
static VMSPAN__SLOW void vmspan__hand_over(vmspan_u64 at)
{
	struct vmspan_ring *g = vmspan__ring_at(at);
	vmspan_u64 head = __atomic_load_n(&g->head, __ATOMIC_RELAXED), from = g->handed, bytes;

	for (; from < head; from += bytes) {
		bytes = head - from < VMSPAN_FLUSH_MAX ? head - from : VMSPAN_FLUSH_MAX;
		vmspan__touch(g, from, bytes);
		vmspan_site_flush_2(g, VMSPAN_FLUSH_MARKS | bytes, from);
	}
	VMSPAN__FENCE();
	/* A handler may have handed over more, behind the end of the ring: from there it goes on. */
	do
		from = g->handed;
	while (from < head && !vmspan__swap(&g->handed, from, head));
	g->handed_cycles = vmspan__cycles();
	VMSPAN__FENCE();
	/* Marks up to the end of the ring fit: what they overwrite has been handed over. */
	head = (head & ~g->mask) + g->mask + 1;
	if (!vmspan__wiped(g) && g->limit < head)
		g->limit = head;
}

/* A ring for this thread, which is called `thread_pointer`. 0: there is no memory. */
static VMSPAN__SLOW vmspan_u64 vmspan__ring_new(struct vmspan_process *p, vmspan_u64 thread_pointer,
						vmspan_u64 *place)
{
	const size_t wipe = VMSPAN_RING_DATA + VMSPAN_RING;
	char *m = vmspan__map(VMSPAN_RING_ALIGN, VMSPAN_RING_AT, wipe);
	vmspan_u64 at = (vmspan_u64)(size_t)m, seen = 0;
	struct vmspan_ring *g;

	if (!m)
		return 0;
	*(vmspan_u32 *)(void *)(m + VMSPAN__NOWHERE - 4) = VMSPAN__SIGNATURE;
	g = vmspan__ring_at(at);
	/* First of all: if a handler forks from here on, it is 0 in the child and stays so. */
	*(volatile vmspan_u64 *)&g->base = at + VMSPAN_RING_AT + VMSPAN_RING_DATA;
	VMSPAN__FENCE();
	g->mask = VMSPAN_RING - 1;
	g->limit = VMSPAN_RING;
	g->cpu = ~0u;
	g->clock_every = vmspan__latency() / 500;
	g->tid = (vmspan_u32)syscall(SYS_gettid);
	g->abi = VMSPAN_ABI;
	g->process = (vmspan_u64)(size_t)p;
	g->thread_pointer = thread_pointer;
	if (!__atomic_load_n(&p->pid, __ATOMIC_RELAXED))
		__atomic_store_n(&p->pid, vmspan__pid(), __ATOMIC_RELAXED);
	g->thread = __atomic_add_fetch(&p->thread_last, 1, __ATOMIC_RELAXED);
	g->magic = VMSPAN_MAGIC;
	VMSPAN__FENCE();
	/* Before anybody can mark in it: a handler may come in at any point and never return (longjmp). */
	seen = __atomic_load_n(&p->rings, __ATOMIC_RELAXED);
	do
		g->next = seen;
	while (!__atomic_compare_exchange_n(&p->rings, &seen, at, 0, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
	seen = 0;
	if (!__atomic_compare_exchange_n(place, &seen, at, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		g->magic = 0;
		return seen; /* a handler came in between and has made one; this one stays unused */
	}
	/* No mark yet: so a tracer knows where to look, whatever becomes of the process. */
	if (!vmspan__wiped(g))
		vmspan_site_flush_2(g, VMSPAN_FLUSH_MARKS, 0);
	return at;
}

/* Where the address of this thread's ring is kept, found by the thread pointer: no thread-local
 * variable is read. NULL: too many threads are kept near there. */
static VMSPAN__SLOW vmspan_u64 *vmspan__place(struct vmspan_process *p)
{
	vmspan_u64 self = vmspan__thread_pointer(), seen;
	vmspan_u64 i = (self >> 4) * 0x9e3779b97f4a7c15ull >> 48, last = i + 64;

	VMSPAN__ASSERT(VMSPAN_THREADS == 1 << (64 - 48), "the table");
	for (; i < last; i++) {
		seen = __atomic_load_n(&p->table[i % VMSPAN_THREADS].thread_pointer,
				       __ATOMIC_ACQUIRE);
		/* If it has been taken meanwhile, then by a handler of this thread's, or by another. */
		if (!seen &&
		    __atomic_compare_exchange_n(&p->table[i % VMSPAN_THREADS].thread_pointer, &seen,
						self, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			seen = self;
		if (seen == self)
			return &p->table[i % VMSPAN_THREADS].ring;
	}
	return NULL;
}

/* Another thread may have been at this place in memory: then its ring becomes this one's, under
 * a number of its own. Not for a child that has its parent's memory (vfork): the thread it was
 * forked by is there still. */
static VMSPAN__SLOW void vmspan__take_over(struct vmspan_process *p, vmspan_u64 at)
{
	struct vmspan_ring *g = vmspan__ring_at(at);
	vmspan_u32 tid = (vmspan_u32)syscall(SYS_gettid), number;

	if (g->tid == tid || vmspan__pid() != p->pid)
		return;
	vmspan__hand_over(at);
	number = __atomic_add_fetch(&p->thread_last, 1, __ATOMIC_RELAXED);
	VMSPAN__FENCE();
	/* A handler may come in at any point and do all of this, and mark: what it has not
	 * handed over is then the first of this number. */
	if (g->tid == tid)
		return;
	g->event_begin = *vmspan__around(g) = 0;
	g->lost = g->foreign = g->flags = 0;
	g->cpu = ~0u;
	g->thread = number;
	VMSPAN__FENCE();
	g->start = g->handed;
	VMSPAN__FENCE();
	g->tid = tid;
	/* No mark yet: so a tracer knows whose it is from here on. */
	vmspan_site_flush_2(g, VMSPAN_FLUSH_MARKS, g->head);
}

/* ------------------------------------------------------ The slow path -- */

/*
 * Makes a section say where a sequence of this copy is. While its length is 0 it is
 * nowhere: so the kernel, which may read it at any time, finds no half of one.
 */
static VMSPAN__SLOW void vmspan__section(struct vmspan_section *s, vmspan_u64 start,
					 vmspan_u64 length, vmspan_u64 abort)
{
	if (s->start == start && s->length == length && s->abort == abort)
		return;
	__atomic_store_n(&s->length, 0, __ATOMIC_RELAXED);
	VMSPAN__FENCE();
	__atomic_store_n(&s->abort, abort, __ATOMIC_RELAXED);
	__atomic_store_n(&s->start, start, __ATOMIC_RELAXED);
	VMSPAN__FENCE();
	__atomic_store_n(&s->length, length, __ATOMIC_RELAXED);
}

static VMSPAN__SLOW void vmspan__section_of(struct vmspan_section *s, const vmspan_i64 at[3])
{
	vmspan__section(s, (vmspan_u64)(size_t)&at[0] + (vmspan_u64)at[0], (vmspan_u64)at[1],
			(vmspan_u64)(size_t)&at[2] + (vmspan_u64)at[2]);
}

/* Is that where a section of this copy begins? */
static VMSPAN__SLOW int vmspan__is_start(vmspan_u64 start, const vmspan_i64 at[3])
{
	return start == (vmspan_u64)(size_t)&at[0] + (vmspan_u64)at[0];
}

/* The CPU that the kernel writes into this thread's struct rseq; < 0: it does not know of that. */
static VMSPAN__SLOW int vmspan__rseq_cpu(void)
{
	const vmspan_u64 rseq = (vmspan_u64)vmspan_registry_2.rseq;

	return rseq ? *(volatile int *)(size_t)(vmspan__thread_pointer() + rseq + 4) : -1;
}

/* Without rseq, or where another has it: then the kernel still says there where the thread is. */
static VMSPAN__SLOW vmspan_u32 vmspan__cpu(void)
{
	unsigned int cpu = 0;
	int at = vmspan__rseq_cpu();

	if (at >= 0)
		return (vmspan_u32)at;
	syscall(SYS_getcpu, &cpu, NULL, NULL);
	return cpu;
}

/* What is in the way of `bytes` more goes: a full ring, or an end where only one mark fits.
 * Returns the bytes that are to be filled first, or 0. */
static VMSPAN__SLOW vmspan_u64 vmspan__make_room(vmspan_u64 at, vmspan_u64 bytes)
{
	struct vmspan_ring *g = vmspan__ring_at(at);
	vmspan_u64 head = __atomic_load_n(&g->head, __ATOMIC_RELAXED);

	if (head + bytes <= g->limit)
		return 0;
	if (head < g->limit && bytes > g->mask + 1 - (head & g->mask))
		return sizeof(struct vmspan_mark);
	vmspan__hand_over(at);
	return 0;
}

#define VMSPAN__TRIES 16 /* each interrupted: then who interrupts it does so at each instruction */
#define VMSPAN__PLAIN_TRIES 1000
#define VMSPAN__ARMED_TRIES 2 /* of these, by a system call perhaps */
#define VMSPAN__FOREIGN 256 /* in a row: then another user of rseq has the thread */

/*
 * Appends without rseq. Until the head is moved on, no mark is there; a handler that comes in
 * between and marks has then changed what was in its place, or the head, and it is done again.
 * A value that is there already is not taken for none: its place goes with it, as an id.
 * 0, or -1.
 */
static VMSPAN__SLOW int vmspan__plain_put(vmspan_u64 at, vmspan_u64 word, vmspan_u64 value,
					  vmspan_u64 bytes)
{
	struct vmspan_ring *g = vmspan__ring_at(at);
	vmspan_u32 tries;

	for (tries = 0; tries < VMSPAN__PLAIN_TRIES; tries++) {
		vmspan_u64 head = __atomic_load_n(&g->head, __ATOMIC_RELAXED), base = g->base;
		struct vmspan_mark *m = (struct vmspan_mark *)(size_t)(base + (head & g->mask));
		vmspan_u64 was[2], was_more[2] = { 0, 0 };

		if (!base)
			return -1; /* wiped: see vmspan__slow() */
		if (head + bytes > g->limit) {
			if (vmspan__make_room(at, bytes))
				vmspan__plain_put(at, 0, 0, sizeof(*m));
			continue;
		}
		__builtin_memcpy(was, m, sizeof(was));
		if (bytes > sizeof(*m))
			__builtin_memcpy(was_more, m + 1, sizeof(was_more));
		VMSPAN__FENCE();
		if (g->head != head ||
		    (bytes > sizeof(*m) && !vmspan__swap_mark(m + 1, was_more, value,
							      (vmspan_u64)VMSPAN_MARK_MORE << 32 |
								      (vmspan_u32)(head >> 4))) ||
		    !vmspan__swap_mark(m, was, vmspan__cycles(), word))
			continue;
		if (vmspan__swap(&g->head, head, head + bytes))
			return 0;
	}
	__atomic_fetch_add(&g->lost, 1, __ATOMIC_RELAXED);
	return -1;
}

/* A mark without rseq. The thread's clock is read at both ends of an event and where the CPU has
 * changed. 0, or -1. */
static VMSPAN__SLOW int vmspan__plain(const struct vmspan_process *p, vmspan_u64 at,
				      vmspan_u64 word, vmspan_u64 value, vmspan_u64 bytes)
{
	struct vmspan_ring *g = vmspan__ring_at(at);
	vmspan_u32 type = (vmspan_u32)(word >> 32), cpu = vmspan__cpu(), session = p->session;

	g->flags |= VMSPAN_RING_PLAIN;
	if (type == VMSPAN_MARK_CLOCK)
		return 0;
	if (cpu != g->cpu || g->session != session || type == VMSPAN_MARK_EVENT_BEGIN ||
	    type == VMSPAN_MARK_EVENT_END) {
		if (vmspan__plain_put(at, (vmspan_u64)VMSPAN_MARK_SWITCH << 32 | cpu,
				      vmspan__thread_ns(), 32))
			return -1;
		g->cpu = cpu;
		g->session = session;
		g->clock = vmspan__cycles();
	}
	return vmspan__plain_put(at, word, value, bytes);
}

/*
 * A mark with rseq, the slow way: the thread has been interrupted, has just come, comes from
 * another copy of the SDK, or its ring is full. `value` goes with it if bytes is 32; else it is
 * when the mark was, or 0, and that holds if since then, at that head, nothing has come between.
 * The section `put` of this copy, in rseq_cs before anything is read, says whether all that
 * follows is still so: the sequence appends only if it still stands there. Where to ask for the
 * clock is itself an interruption (strace, a sandbox that looks at each system call), it is
 * asked before that: then a switch right behind the reading is told of as one after the mark.
 * VMSPAN_MARK_CLOCK is made only if nothing has happened since the last mark: else the switch says
 * as much. 0, or -1.
 */
static VMSPAN__SLOW int vmspan__append(const struct vmspan_process *p, vmspan_u64 at,
				       vmspan_u64 word, vmspan_u64 value, vmspan_u64 bytes,
				       vmspan_u64 head)
{
	const struct vmspan_registry *r = &vmspan_registry_2;
	struct vmspan_ring *g = vmspan__ring_at(at);
	struct vmspan_section *mark = (struct vmspan_section *)(size_t)at + 2 * r->slot;
	struct vmspan_section *put = mark + 1;
	vmspan_u64 self = vmspan__thread_pointer() + (vmspan_u64)r->rseq, fill = 0, was, ns;
	volatile vmspan_u64 *in = (volatile vmspan_u64 *)(size_t)(self + 8); /* rseq_cs */
	volatile vmspan_u32 *cpu = (volatile vmspan_u32 *)(size_t)(self + 4); /* cpu_id */
	const int clock = word >> 32 == VMSPAN_MARK_CLOCK;
	vmspan_u32 tries, session;
	int known, e = 1;

	vmspan__section_of(put, vmspan_put_at_2);
	vmspan__section_of(mark, vmspan_mark_at_2);
	for (tries = 0; e && !vmspan__wiped(g) && tries < VMSPAN__TRIES; tries++) {
		was = *in;
		session = p->session;
		/* Any copy's section of a mark in this ring: nothing has happened since that mark. */
		known = was - at < VMSPAN_RING_AT && (was - at) / sizeof(*mark) % 2 == 0 &&
			g->cpu == *cpu && g->session == session;
		ns = (known && !clock) || tries < VMSPAN__ARMED_TRIES ? 0 : vmspan__thread_ns();
		if (!known)
			*in = (vmspan_u64)(size_t)put;
		else if (!vmspan__swap(in, was, (vmspan_u64)(size_t)put))
			continue;
		VMSPAN__FENCE();
		if ((!known || clock) && tries < VMSPAN__ARMED_TRIES)
			ns = vmspan__thread_ns();
		e = 0;
		if (fill) {
			e = vmspan_put_2(0, 0, fill, r->rseq, at, (vmspan_u64)(size_t)put);
			fill = e ? fill : 0;
		}
		if (!e && !known) {
			g->cpu = *cpu;
			e = vmspan_put_2((vmspan_u64)VMSPAN_MARK_SWITCH << 32 | g->cpu, ns, 32,
					 r->rseq, at, (vmspan_u64)(size_t)put);
			known = !e;
			if (known) {
				g->session = session;
				g->clock = vmspan__cycles();
			}
		} else if (!e && clock) {
			e = vmspan_put_2(word | g->cpu, ns, 32, r->rseq, at,
					 (vmspan_u64)(size_t)put);
			if (!e)
				g->clock = vmspan__cycles();
		}
		if (bytes == sizeof(struct vmspan_mark) && g->head != head)
			value = 0;
		if (!e && !clock)
			e = vmspan_put_2(word, value, bytes, r->rseq, at, (vmspan_u64)(size_t)put);
		/* Unless it was interrupted since: then the next look will see it. */
		vmspan__swap(in, (vmspan_u64)(size_t)put,
			     known && !r->closed ? (vmspan_u64)(size_t)mark : 0);
		if (e == 2)
			fill = vmspan__make_room(at, 32);
	}
	if (!e || clock || vmspan__wiped(g))
		return -e;
	/* A debugger that steps. The one way needs no luck. */
	g->cpu = *cpu;
	g->session = p->session;
	if (vmspan__plain_put(at, (vmspan_u64)VMSPAN_MARK_SWITCH << 32 | g->cpu,
			      vmspan__thread_ns(), 32))
		return -1;
	return vmspan__plain_put(at, word, value, bytes);
}

/* The address of this thread's ring. 0: there is no memory. */
static VMSPAN__SLOW vmspan_u64 vmspan__own(struct vmspan_process *p, vmspan_u64 in)
{
	vmspan_u64 *place = vmspan__place(p), at = place ? *place : 0;

	if (at && vmspan__wiped(vmspan__ring_at(at)))
		at = *place = 0;
	if (place && !at) {
		if (vmspan__is_refused(&p->refused))
			return 0;
		at = vmspan__ring_new(p, vmspan__thread_pointer(), place);
		if (!at)
			vmspan__refused(&p->refused);
		/* As before; but a handler may have forked, and the table was wiped. */
		place = vmspan__place(p);
		if (place && at && !vmspan__wiped(vmspan__ring_at(at)))
			*place = at;
	} else if (at && in - at >= VMSPAN_RING_AT) {
		/* It is not sure to be this thread that has marked before. */
		vmspan__take_over(p, at);
	}
	return at;
}

/*
 * A handler may fork at any point of this, and return in the child: there rings and their table
 * are zeroes, also the ring that is being written to, and it is done again in a new one.
 */
static VMSPAN__SLOW struct vmspan__at vmspan__slow(vmspan_u64 word, vmspan_u64 value,
						   vmspan_u64 bytes, vmspan_u64 head)
{
	const struct vmspan_registry *r = &vmspan_registry_2;
	struct vmspan_process *p;
	struct vmspan__at m = { 0, 0 };
	vmspan_u64 in = 0, at;
	struct vmspan_ring *g;
	int rounds, e = -1, saved = errno;

	p = vmspan__process();
	for (rounds = 0; p && e && rounds < 4; rounds++) {
		if (r->rseq)
			in = *(volatile vmspan_u64 *)(size_t)(vmspan__thread_pointer() +
							      (vmspan_u64)r->rseq + 8);
		at = vmspan__own(p, in);
		if (!at) {
			__atomic_fetch_add(&p->lost_threads, 1, __ATOMIC_RELAXED);
			break;
		}
		g = vmspan__ring_at(at);
		if (in && in - at >= VMSPAN_RING_AT && g->foreign < VMSPAN__FOREIGN) {
			/* One that comes now and then is no reason to do without. */
			if ((vmspan_u32)g->head - g->foreign_at > 64 * sizeof(struct vmspan_mark))
				g->foreign = 0;
			g->foreign_at = (vmspan_u32)g->head;
			g->foreign++;
		}
		/* Libc's place is known; a thread may have taken its own back from the kernel. */
		e = vmspan__rseq_cpu() >= 0 && g->foreign < VMSPAN__FOREIGN
			    ? vmspan__append(p, at, word, value, bytes, head)
			    : vmspan__plain(p, at, word, value, bytes);
		if (!vmspan__wiped(g))
			break;
		e = -1;
	}
	if (!e) {
		m.ring = at;
		m.cycles = vmspan__cycles();
	}
	errno = saved;
	return m;
}

/* Called by vmspan_mark_2(), as that; and where the ring is full at this head, with when it was
 * if something ends: so the hand-over is not of that. */
VMSPAN__ONCE(__used__, noinline, __cold__) struct vmspan__at vmspan_slow_2(vmspan_u64 word);
VMSPAN__ONCE(__used__, noinline, __cold__) struct vmspan__at vmspan_slow_2(vmspan_u64 word)
{
	return vmspan__slow(word, 0, sizeof(struct vmspan_mark), 0);
}
VMSPAN__ONCE(__used__, noinline, __cold__)
struct vmspan__at vmspan_full_2(vmspan_u64 word, vmspan_u64 when, vmspan_u64 head);
VMSPAN__ONCE(__used__, noinline, __cold__)
struct vmspan__at vmspan_full_2(vmspan_u64 word, vmspan_u64 when, vmspan_u64 head)
{
	return vmspan__slow(word, when, sizeof(struct vmspan_mark), head);
}

/*
 * The program ends, or the library is unloaded. No thread may be left with an address of this
 * code in a section that the kernel reads: they become sections of no length, in rings, which
 * stay. Marks may still come, of destructors that run later.
 */
VMSPAN__ONCE(__destructor__(101)) void vmspan_unloaded_2(void);
VMSPAN__ONCE(__destructor__(101)) void vmspan_unloaded_2(void)
{
	struct vmspan_registry *r = &vmspan_registry_2;
	struct vmspan_process *p = (struct vmspan_process *)(size_t)r->process;
	volatile vmspan_u64 *in;
	vmspan_u64 at, *place;
	int pass, i;

	if (!p || __atomic_exchange_n(&r->closed, 1, __ATOMIC_RELAXED))
		return;
	place = r->semaphore ? vmspan__place(p) : NULL;
	at = place ? *place : 0;
	if (at)
		vmspan__hand_over(at);
	if (r->slot == VMSPAN_COPIES - 1)
		return;
	/* A forked child may still be in a section of its parent's, which no ring of its own has. */
	in = r->rseq ? (volatile vmspan_u64 *)(size_t)(vmspan__thread_pointer() +
						       (vmspan_u64)r->rseq + 8)
		     : NULL;
	at = in ? *in : 0;
	if (at) {
		at = ((const struct vmspan_section *)(size_t)at)->start;
		if (vmspan__is_start(at, vmspan_mark_at_2) || vmspan__is_start(at, vmspan_put_at_2))
			*in = 0;
	}
	/* The lengths of all first: the kernel reads a section piece by piece, in a few instructions, and looks
	 * at the code that an address in it leads to. Who is interrupted in these, in a mark of a library that
	 * is just being unloaded, is lost with it, as whoever runs code of it. */
	for (pass = 0; pass < 2; pass++)
		for (at = __atomic_load_n(&p->rings, __ATOMIC_ACQUIRE); at;
		     at = vmspan__ring_at(at)->next) {
			struct vmspan_section *s =
				(struct vmspan_section *)(size_t)at + 2 * r->slot;

			for (i = 0; i < 2; i++)
				if (pass)
					vmspan__section(s + i, 0, 0, at + VMSPAN__NOWHERE);
				else
					__atomic_store_n(&s[i].length, 0, __ATOMIC_RELEASE);
		}
	__atomic_fetch_and(&p->copies[r->slot / 64], ~(1ull << (r->slot % 64)), __ATOMIC_RELAXED);
}

/* -------------------------------------------------------------- Marks -- */

#define VMSPAN__WORD(type, id) ((vmspan_u64)(type) << 32 | (vmspan_u32)(id))

static VMSPAN__MARK_CALL void vmspan__enter(vmspan_u32 id)
{
	VMSPAN__FIRE(vmspan_site_enter_2(id));
	vmspan_mark_2(VMSPAN__WORD(VMSPAN_MARK_ENTER, id));
}

static VMSPAN__MARK_CALL void vmspan__leave(vmspan_u32 id)
{
	VMSPAN__FIRE(vmspan_site_leave_2(id));
	vmspan_mark_end_2(VMSPAN__WORD(VMSPAN_MARK_LEAVE, id));
}

/* Time that the thread had no CPU, and was not switched, is known by its clock alone. */
static VMSPAN__SLOW void vmspan__clock(vmspan_u64 at)
{
	struct vmspan_ring *g = vmspan__ring_at(at);

	if (g->flags & VMSPAN_RING_PLAIN)
		return; /* it has just been told */
	g->clock_at = __atomic_load_n(&g->head, __ATOMIC_RELAXED);
	VMSPAN__FENCE();
	vmspan__slow(VMSPAN__WORD(VMSPAN_MARK_CLOCK, 0), 0, 32, 0);
	VMSPAN__FENCE();
	/* It could not be made. */
	if (g->clock_at == g->head)
		g->clock_at = 0;
}

static inline VMSPAN__UNUSED int vmspan__clock_is_old(const struct vmspan_ring *g,
						      vmspan_u64 cycles)
{
	return (vmspan_i64)(cycles - g->clock) > (vmspan_i64)g->clock_every;
}

static VMSPAN__MARK_CALL void vmspan__event_begin(vmspan_u32 label)
{
	struct vmspan__at m;
	struct vmspan_ring *g;

	VMSPAN__FIRE(vmspan_site_event_begin_2(label));
	m = vmspan_mark_2(VMSPAN__WORD(VMSPAN_MARK_EVENT_BEGIN, label));
	if (!m.ring)
		return;
	g = vmspan__ring_at(m.ring);
	*vmspan__around(g) = g->event_begin;
	g->event_begin = m.cycles;
	if (VMSPAN__UNLIKELY(vmspan__clock_is_old(g, m.cycles)))
		vmspan__clock(m.ring);
}

/* Hands over if marks have waited for long, and what follows on a part of an event that has
 * been handed over; so an event that takes long is told of at its end. */
static VMSPAN__MARK_CALL void vmspan__event_end(void)
{
	struct vmspan__at m;
	struct vmspan_ring *g;
	vmspan_u64 begin;

	VMSPAN__FIRE(vmspan_site_event_end_2());
	m = vmspan_mark_end_2(VMSPAN__WORD(VMSPAN_MARK_EVENT_END, 0));
	if (!m.ring)
		return;
	g = vmspan__ring_at(m.ring);
	if (VMSPAN__UNLIKELY(vmspan__clock_is_old(g, m.cycles)))
		vmspan__clock(m.ring);
	begin = g->event_begin;
	if (VMSPAN__UNLIKELY(
		    (begin && begin < g->handed_cycles) ||
		    m.cycles - g->handed_cycles >
			    ((struct vmspan_process *)(size_t)vmspan_registry_2.process)->latency))
		vmspan__hand_over(m.ring);
	g->event_begin = *vmspan__around(g);
	*vmspan__around(g) = 0;
}

/* The direct method does not see it: what was left ends there with the event around it. */
static VMSPAN__SLOW void vmspan__unwind(vmspan_u32 events)
{
	struct vmspan__at m;

	VMSPAN__FIRE((void)0);
	m = vmspan_mark_2(VMSPAN__WORD(VMSPAN_MARK_UNWIND, events));
	if (!m.ring)
		return;
	vmspan__ring_at(m.ring)->event_begin = *vmspan__around(vmspan__ring_at(m.ring)) = 0;
	vmspan__hand_over(m.ring);
}

static VMSPAN__SLOW void vmspan__gc_begin(vmspan_u32 label, vmspan_u64 bytes)
{
	VMSPAN__FIRE(vmspan_site_gc_begin_2(label, bytes));
	vmspan__slow(VMSPAN__WORD(VMSPAN_MARK_GC_BEGIN, label), bytes, 32, 0);
}

static VMSPAN__SLOW void vmspan__gc_end(vmspan_u64 bytes)
{
	VMSPAN__FIRE(vmspan_site_gc_end_2(bytes));
	vmspan__slow(VMSPAN__WORD(VMSPAN_MARK_GC_END, 0), bytes, 32, 0);
}

static VMSPAN__SLOW void vmspan__block_begin(vmspan_u32 label, vmspan_u64 peer)
{
	VMSPAN__FIRE(vmspan_site_block_begin_2(label, peer));
	vmspan__slow(VMSPAN__WORD(VMSPAN_MARK_BLOCK_BEGIN, label), peer, 32, 0);
}

static VMSPAN__SLOW void vmspan__block_end(void)
{
	VMSPAN__FIRE(vmspan_site_block_end_2());
	vmspan_mark_end_2(VMSPAN__WORD(VMSPAN_MARK_BLOCK_END, 0));
}

static VMSPAN__SLOW void vmspan__point(vmspan_u32 type, vmspan_u32 label, vmspan_i64 value)
{
	VMSPAN__FIRE(vmspan_site_mark_2(type, label, (vmspan_u64)value));
	if (type == VMSPAN_MARK_VALUE)
		vmspan__slow(VMSPAN__WORD(type, label), (vmspan_u64)value, 32, 0);
	else
		vmspan_mark_2(VMSPAN__WORD(type, label));
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

/*
 * An exception, a longjmp or a coroutine that never comes back has left events of this thread without their
 * end. To be called where that is caught, by who knows how many of the events that the thread had begun go on: the
 * outermost `events` do, the others end here with all that was entered in them. 0: nothing of this
 * thread's goes on, what was entered outside of events included.
 */
static inline VMSPAN__UNUSED void vmspan_unwind(vmspan_u32 events)
{
	if (vmspan_enabled())
		vmspan__unwind(events);
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

/* The user did something; a frame was shown; a named value has changed. */
static inline VMSPAN__UNUSED void vmspan_input(vmspan_u32 label)
{
	if (vmspan_enabled())
		vmspan__point(VMSPAN_MARK_INPUT, label, 0);
}

static inline VMSPAN__UNUSED void vmspan_frame(vmspan_u32 label)
{
	if (vmspan_enabled())
		vmspan__point(VMSPAN_MARK_FRAME, label, 0);
}

static inline VMSPAN__UNUSED void vmspan_value(vmspan_u32 label, vmspan_i64 value)
{
	if (vmspan_enabled())
		vmspan__point(VMSPAN_MARK_VALUE, label, value);
}

/* Hands over what this thread has marked so far. Rarely needed. */
static VMSPAN__SLOW void vmspan_flush(void)
{
	const int saved = errno;
	struct vmspan_process *p = vmspan_enabled() ? vmspan__process() : NULL;
	vmspan_u64 *place = p ? vmspan__place(p) : NULL, at = place ? *place : 0;

	if (at)
		vmspan__hand_over(at);
	errno = saved;
}

/* --------------------------------------------------------- Definitions -- */

#define VMSPAN__LOCKED 1
#define VMSPAN__LEFT 2
#ifndef VMSPAN__NAPS
#define VMSPAN__NAPS 20000
#endif

/*
 * Who has it may be less urgent, on this CPU: hence the nap, by a call that is no point of
 * cancellation. Who has left it for ever (a handler's longjmp, cancellation at any time) is waited
 * for once, a second and more; from then on nothing is defined, unless it was only slow and comes
 * back. 0, or -1.
 */
static VMSPAN__SLOW int vmspan__lock(struct vmspan_process *p)
{
	const struct timespec nap = { 0, 50000 };
	vmspan_u32 naps = 0, was;

	for (;; naps++) {
		was = 0;
		if (__atomic_compare_exchange_n(&p->lock, &was, VMSPAN__LOCKED, 0, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return 0;
		if (was == VMSPAN__LEFT)
			return -1;
		if (naps == VMSPAN__NAPS)
			__atomic_compare_exchange_n(&p->lock, &was, VMSPAN__LEFT, 0,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		else
			syscall(SYS_nanosleep, &nap, NULL);
	}
}

/* Space at the end of the log; the lock is held. NULL without memory. */
static VMSPAN__SLOW struct vmspan_log *vmspan__log_space(struct vmspan_process *p, vmspan_u32 bytes)
{
	struct vmspan_log *l = (struct vmspan_log *)(size_t)p->log_tail;
	const vmspan_u32 block = 64 << 10;

	if (l && l->size - l->used >= bytes)
		return l;
	l = (struct vmspan_log *)(void *)vmspan__pages(block, 0);
	if (!l)
		return NULL;
	l->size = block - (vmspan_u32)sizeof(*l);
	__atomic_store_n(p->log_tail ? &((struct vmspan_log *)(size_t)p->log_tail)->next : &p->log,
			 (vmspan_u64)(size_t)l, __ATOMIC_RELEASE);
	p->log_tail = (vmspan_u64)(size_t)l;
	return l;
}

/*
 * Writes a definition to the log and tells a tracer of it. id 0: the
 * next of its type. Returns the id, or 0 without memory.
 */
static VMSPAN__SLOW vmspan_u32 vmspan__define(vmspan_u8 type, vmspan_u32 id, vmspan_u8 kind,
					      vmspan_u8 flags, const vmspan_u32 *groups,
					      unsigned int count, const char *name)
{
	size_t len = name ? __builtin_strlen(name) : 0;
	struct vmspan_process *p;
	struct vmspan_def *d;
	struct vmspan_log *l;
	vmspan_u32 bytes, of[VMSPAN_GROUPS_MAX];
	char text[VMSPAN_NAME_MAX];
	int saved = errno;

	p = vmspan__process();
	errno = saved;
	if (!p)
		return 0;
	if (len > VMSPAN_NAME_MAX)
		len = VMSPAN_NAME_MAX;
	if (count > VMSPAN_GROUPS_MAX)
		count = VMSPAN_GROUPS_MAX;
	/* What cannot be read is found out before the lock is taken. */
	if (count)
		__builtin_memcpy(of, groups, count * 4);
	if (len)
		__builtin_memcpy(text, name, len);
	bytes = (vmspan_u32)((sizeof(*d) + count * 4 + len + 31) / 32 * 32);
	if (vmspan__lock(p)) {
		errno = saved;
		return 0;
	}
	l = vmspan__log_space(p, bytes);
	errno = saved;
	if (!l) {
		__atomic_store_n(&p->lock, 0, __ATOMIC_RELEASE);
		return 0;
	}
	if (!id)
		id = type == VMSPAN_DEF_GROUP         ? ++p->group_last
		     : type == VMSPAN_DEF_COMPARTMENT ? ++p->compartment_last
						      : ++p->label_last;
	d = (struct vmspan_def *)(void *)((char *)l->data + l->used);
	d->h.type = type;
	d->h.slots = (vmspan_u8)(bytes / 32);
	d->h.id = id;
	d->kind = kind;
	d->flags = flags;
	d->count = (vmspan_u8)count;
	d->name_len = (vmspan_u8)len;
	if (count)
		__builtin_memcpy(d->groups, of, count * 4);
	if (len)
		__builtin_memcpy(d->groups + count, text, len);
	__atomic_store_n(&l->used, l->used + bytes, __ATOMIC_RELEASE);
	__atomic_store_n(&p->lock, 0, __ATOMIC_RELEASE);
	if (vmspan_registry_2.semaphore)
		vmspan_site_flush_2(d, VMSPAN_FLUSH_DEFINITION | bytes, (vmspan_u64)(size_t)p);
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
