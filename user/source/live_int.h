/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of the live source, shared by live*.c only. One thread.
 *
 *   live.c           open, poll, stop, free
 *   live_look.c      what the targets are, before
 *   live_ring.c      the ring buffer: waiting and draining
 *   live_batch.c     what the ring holds -> items
 *   live_process.c   processes: their coming, fork, exec, exit
 *   live_attach.c    their links
 *   live_children.c  descendants that were there before
 *   live_sweep.c     targets by name, control group, or all
 *   live_registry.c  definitions and unfinished batches in target memory
 *   live_marks.c     marks of threads -> items
 *   live_mark_rings.c     those in target memory
 *   live_begun.c     events that had begun before
 *   live_running.c   stays that have not ended
 *   live_command.c   starting a command under the trace
 *   live_vm.c        stock VMs: attaching
 *   live_vm_items.c  what their programs tell -> items
 *   live_vm_open.c   the same of events that go on
 *   live_calls.c     the same of exact calls
 *   live_notes.c     probes that are never hit
 *   live_refused.c   processes that cannot be traced
 *   live_direct.c    links of conventional probes
 *   live_often.c     probes that are hit too often
 *   live_parts.c     what is measured by need
 */
#ifndef SOURCE_LIVE_INT_H
#define SOURCE_LIVE_INT_H

#include "attach/clock.h"
#include "attach/tracer.h"
#include "base/buf.h"
#include "base/map.h"
#include "model/clock.h"
#include "probe/target.h"
#include "probe/vm.h"
#include "source/live.h"
#include "source/live_command.h"

struct ring_buffer;
struct vm_state;
struct vm_file;
struct vm_told;

/* ---- live_registry.c ---- */

enum known_kind {
	KNOWN_GROUP,
	KNOWN_COMPARTMENT,
	KNOWN_LABEL,
	KNOWN_KINDS,
};

struct known {
	u64 *bits; /* owned; one an id below 64 * words */
	u32 words;
	u32 all; /* ids up to this are all known */
};

/* An unknown id makes the log be read again: so often at once, then not more
 * often than this. */
#define REREAD_BURST 32
/* So many ids that have no definition yet are remembered of a registry. */
#define WANTED_MAX 16
#define REREAD_NS (100 * NSEC_PER_MSEC)

/* What defines ids in a process: the block that all copies of the SDK in it share; of version 1,
 * the registry of one copy. */
struct marks;

struct registry {
	u64 address;
	bool abi1;
	struct map rings; /* number of a thread -> struct ring_reader *, owned */
	struct map tids; /* thread id -> number of the thread */
	struct map places; /* address of a ring -> number of the thread that has it */
	/* Number of a thread that has ended -> position; and those before them. */
	struct map ended, ended_before;
	u32 lost; /* marks of threads without a ring: told already, or from before the trace */
	bool asked; /* its threads know how soon they are to hand over */
	bool read_out; /* of those that the kernel side knows no more: nothing is left in its rings */
	struct known known[KNOWN_KINDS]; /* ids whose definition was handed out */
	struct map seq; /* thread -> seq its next batch has */
	struct log_cursor log;
	u64 read_ns; /* when its log was last read */
	u32 rereads; /* since a second that had none */
	bool due; /* an unknown id was seen, and it was too early to read */
	struct wanted {
		int kind; /* enum known_kind */
		u32 id;
	} wanted[WANTED_MAX]; /* ids that were unknown when they were used, and its log has not been read since */
	u32 wanted_count;
	bool wanted_more; /* than there is room for */
	u32 numbers; /* that have been given names: see registry_is_numbers() */
};

/* ---- live_process.c ---- */

/* Links of a file's probes, by role: enum probe_role, or enum vm_role. */
#define PROBE_LINKS_MAX 16
_Static_assert(ROLE_COUNT <= PROBE_LINKS_MAX && VM_ROLES <= PROBE_LINKS_MAX, "a place a role");
struct probe_links {
	struct site_link *of[PROBE_LINKS_MAX]; /* owned, or NULL */
	u32 too_often; /* a bit a role: let go of for good (live_often.c) */
};

/* The carrier's link of one file; it serves all processes. */
struct carrier {
	u64 dev, inode;
	struct site_link *link; /* owned */
	u32 users; /* attachments */
};

/* One file of one process. */
struct attachment {
	u32 pid;
	u64 dev, inode;
	struct carrier *carrier; /* counted, or NULL */
	struct site_link *armed; /* owned, or NULL: then it is the direct method */
	struct probe_links links; /* conventional probes */
	u64 copy_seen; /* of the SDK: where it was last seen */
	u32 which; /* `loaded` in its struct vmspan_registry; 0: it was not yet, or says nothing of it */
	u64 armed_ns; /* CLOCK_MONOTONIC: since when */
	bool vm; /* of a stock VM */
	struct attachment *next;
};

/* Which probes of a stock VM have ever been hit: a bit a role. */
struct vm_watch {
	u32 armed, hit, noted;
	u32 hits[VM_ROLES]; /* of the probes that begin something */
	u32 absent; /* that its build does not have; still to be said */
	u64 cpu_ns; /* of the process when it began */
	u64 used_ns; /* since then, at the last check */
	u64 next_ns, every_ns; /* the next check; 0: none is needed */
	u32 sweeps; /* pieces, since the following three were taken */
	u64 sweeps_ns; /* the first one's end */
	u64 sweeps_seen_ns, sweeps_cpu_ns; /* when it was seen; CPU time of the process then */
	char version[16];
};

/* Has a program with armed marks ever made one? */
struct silence {
	u64 cpu_ns; /* of the process when they were armed */
	u64 used_ns; /* since then, at the last check */
	u64 next_ns; /* not before that it is checked; 0: never */
	bool wakes; /* it used the CPU of late: its next check is worth a wake-up */
	bool child; /* it has not executed a program of its own */
	bool noted;
};

struct process {
	u32 pid, ppid;
	u32 number; /* in the order of their coming */
	int pidfd; /* owned, or -1 */
	char name[16]; /* zero-terminated */
	const char *vm; /* profile name or "" */
	bool command; /* started by us and not yet through its first exec */
	bool told; /* items speak of it: a target, its fork, or one that sent a batch */
	struct buf held; /* its items from before that; behind defs, their data */
	bool adopted; /* its fork, if it comes in the ring, is known already */
	bool unlinked; /* a child that lives on its parent's attachments */
	bool by_batches; /* unlinked, and all of its marks come in batches */
	bool by_traps; /* unlinked, and marks of it have nobody to come to */
	bool young_told; /* process_young() has */
	u64 forked_ns; /* 0: it was there before */
	u64 link_ns; /* when it is old enough for its own */
	bool ended; /* its pidfd says so */
	bool loaded; /* the SDK has said so, since the fork or the last exec */
	/* CLOCK_MONOTONIC: when it said so last, 0: all that was there then has been attached to; and
	 * when marks were last turned on in one more file, 0: never since the last exec. */
	u64 waits_ns, armed_ns;
	u64 exec_ns; /* CLOCK_MONOTONIC: when it executed what it is, or was forked; 0: before it was known */
	u64 named_ns; /* CLOCK_MONOTONIC: when its name was read; 0: what is asked for came with a record */
	bool named_came; /* so has, since, how it came to that name */
	bool unseen; /* it has said so, or its first thread seems to have; and no look since has found anything out */
	struct unseen_copy *unseen_copies; /* owned; see live_late.h */
	u32 unseen_count, unseen_cap;
	bool heard_late; /* of the former the tracer heard when nobody waited for it any more */
	bool library_waits; /* the same of what does not say where it is; besides the program itself */
	/* So long it waits then; of copies of the SDK that do not say so (0) as `waits` has it. */
	u64 waits_for_ns;
	bool waits; /* it waits for the tracer as it begins, and as it loads a library; known when it is armed */
	u64 asked_ns; /* CLOCK_MONOTONIC: the look at which that became known */
	bool missed; /* its marks were off for a while: so it has been said, since the last exec */
	u64 late_ns; /* for so long; 0: that has been said of it, too */
	bool waited; /* in vain, before it went on */
	enum {
		NOT_PASSED_BY,
		PASSED_BY, /* a copy of the SDK had gone before it was looked at; still to be said */
		PASSED_BY_SAID
	} passed_by;
	bool marked; /* since the last exec */
	bool held_full; /* there was no room for its definitions */
	bool candidate; /* of a sweep; no probes seen yet */
	struct attachment *attachments; /* owned */
	struct registry *registries; /* owned */
	struct map copies; /* of the SDK: address -> that of what it defines in */
	u64 own_copy; /* the address of that in the program's own file, or 0 */
	/* What was in its rings when it was armed is known: nothing that is of the trace. */
	bool rings_begun;
	u32 registry_count;
	struct map threads; /* tid -> 1: its name was handed out */
	const struct vm_profile *vm_profile; /* NULL: no stock VM */
	u64 vm_root; /* the address of what its profile calls `symbol` */
	struct vm_state *vm_state; /* owned, or NULL */
	struct vm_watch watch;
	struct silence silence;
	/* When its marks were turned on first since its last exec, by both clocks; 0: they have not been. */
	struct {
		u64 mono_ns, boot_ns;
	} on;
	/* Events that had begun before: how many have ended, and how long after it the last one. */
	u32 begun_before;
	u64 begun_before_ns;
	/* Owned: why the last look could not attach to it, or not to all of it; NULL: it could, or that was said. */
	struct err *refused;
	bool refused_twice; /* and the look before could not either */
	struct err *said; /* owned: what was said last of that; NULL: nothing */
	bool found; /* there was something to trace in it, at the last look */
	bool begins; /* its VM had not begun then: its stacks cannot be looked at yet */
	bool walks; /* they can, or could */
	bool not_exact; /* what was asked for is not about it; still to be said */
	u64 not_exact_end; /* where the ring buffer ended when that became known */
	bool not_exact_said;
	u32 left_out; /* descendants that it has and nobody traces; 0 once it was said */
	u32 denied, denied_said; /* of its program's files: at the last look; as far as was said */
	u32 rescans; /* left to do */
	u64 pace_ns; /* between those of a VM that takes long to begin; 0: none was so far */
	u64 rescan_ns; /* when the next one is due */
	u64 looked_ns; /* when the last look was taken */
};

/* ---- live_ring.c ---- */

struct live_ring {
	struct ring_buffer *rb;
	const u64 *consumer, *producer; /* mapped positions */
	size_t page;
	int epfd; /* the ring and the pidfds */
	u64 busy_ns; /* when data was last found */
	u32 taken; /* records in this drain */
};

/* ---- live_parts.c ---- */

struct live_part {
	u32 users;
	bool on;
	bool exists; /* something of the trace belongs to it */
	bool told; /* that it is off */
	u64 off; /* cycles: since when it is; 0: from the start */
	struct err failed; /* why it does not come back */
};

struct live {
	struct source s;
	struct tracer *t;
	struct plan_cache cache;
	struct live_ring ring;
	struct live_part parts[TRACE_PARTS];
	enum live_method method;
	struct command command;
	struct live_sweep sweep;
	int *looked; /* owned; pidfds of the targets, while they are being opened */
	u32 looked_count;
	u32 candidates; /* processes that are one */
	u32 process_last; /* number of the newest process */
	struct map processes; /* pid -> struct process *, owned */
	struct carrier **carriers; /* owned */
	u32 carrier_count;
	u64 held_bytes; /* by processes that have not been told of */
	struct attachment *buried; /* of ended processes, not yet detached */
	/* Links were given up in between: children may have lost their marks. 0: none. */
	u64 doubt_begin_ns, doubt_end_ns;
	struct vm_file **vm_files; /* owned */
	u32 vm_file_count;
	u64 vm_kept; /* bytes: live_vm_stays.c */
	u32 vm_open_seen; /* as open_seen, of stock VMs */
	struct vm_told *vm_told; /* records of stock VMs go there; NULL: out, as items */
	u32 vm_hz; /* 0: stock VMs are not traced */
	bool direct; /* marks of some programs are traps */
	bool passed_by; /* a program was not traced whose marks could have been traps */
	struct vm_cache vm_cache;
	u32 not_exact; /* processes of stock VMs, where the scheduler's record is wanted */
	bool calls; /* of stock VMs every call is measured, nobody looks at stacks */
	bool containers; /* it is told which ones processes run in */
	enum live_trial_part trial; /* of those */
	u64 counters[COUNT_MAX]; /* as reported so far */
	struct item_clock first;
	u64 open_ns; /* since when all that was there has been armed, the last time */
	bool marks_off; /* by the tracer itself, in all since: */
	struct item_clock marks_off_at; /* since then */
	bool paused; /* they were, and that was not the end */
	struct item_clock last; /* when the marks of all were off, once l->detached */
	struct clock_map clocks; /* of the clock items handed out */
	u64 clock_ns; /* when the last clock item was made */
	struct item_cost cost; /* see live_cost.c; of `cpu_ns` so much has been handed out: */
	u64 cost_ns, mark_ps, cost_clocks;
	bool cost_told;
	bool started, more, finished, detached;
	bool tails; /* as tracer_has_tails() has it */
	bool switches; /* as kernel_rseq_tells_all() has it */
	u64 rings_ns; /* the rings are read again */
	u32 rings_seen; /* of them, in this round */
	u32 rings_held; /* threads of which records are held back (live_begun.c) */
	bool rings_left; /* blocks that the kernel side knows no more are to be read out */
	u32 open_seen; /* threads of which has been told, where one time was too short for all */
	u64 alert_ns; /* events at least this long are wanted at once; 0: none */
	bool attached_once;
	struct err not_traced; /* the first that was said of a process */
	/* For the duration of a poll or stop. */
	item_fn fn;
	void *ctx;
	int failed; /* what fn returned */
};

/* ---- live.c ---- */

/* Hands an item out; its failure sticks in l->failed and is returned. */
int live_emit(struct live *l, const struct item *it);
int live_emit_clock(struct live *l);
/* While there is data: at least this often. */
#define LIVE_CLOCK_NS (250 * NSEC_PER_MSEC)
int live_emit_loss(struct live *l, enum loss_cause cause, u64 records, u64 batches);
/* All that is in the ring; what threads hold and have not handed over. */
int live_drain(struct live *l, struct err *err);
int live_tails(struct live *l);
/* The trace's clock at a time of CLOCK_MONOTONIC: what the model, which knows the
 * same clock items, makes the same time of again. */
u64 live_cycles(const struct live *l, u64 ns);
/* The other way. */
u64 live_mono_ns(const struct live *l, u64 cycles);

/* ---- live_ring.c ---- */

int ring_open(struct live_ring *r, struct live *l, struct err *err);
void ring_close(struct live_ring *r);
int ring_watch_pidfd(struct live_ring *r, int pidfd, u32 pid);
/* Positions in the ring buffer: up to which it has been reserved, and drained. */
u64 ring_reserved(const struct live_ring *r);
u64 ring_drained(const struct live_ring *r);
/*
 * Hands over what is in the ring, at most RING_DRAIN records. l->more says
 * whether it was cut. The number of records, or negative errno.
 */
#define RING_DRAIN 1024
int ring_drain(struct live *l);
/* Waits until there is something to do, `until_ns` (CLOCK_MONOTONIC) comes or
 * stop_fd is readable. 1: stop_fd; 0; negative errno. */
int ring_wait(struct live *l, u64 until_ns, int stop_fd);

/* ---- live_batch.c ---- */

/* A record of the ring buffer. 0, or l->failed. */
int live_record(struct live *l, const void *data, size_t size);
/* What became of marks that never got here, since the last call. */
int live_losses(struct live *l);

/* ---- live_process.c ---- */

struct process *process_find(const struct live *l, u32 pid);
/* -1 without pidfds, or without the process. */
int process_pidfd(u32 pid);
/* The process of a pidfd has ended. */
bool process_is_over(int pidfd);
/* A new process state; an older one of the pid is ended first. NULL: no memory. */
struct process *process_new(struct live *l, u32 pid, u32 ppid);
/* Tells of a process that is there, and what was held until then; once. */
int process_tell(struct live *l, struct process *p);
/* Hands out what is known of a process: definitions, a batch or a loss. Until it is told of, that is held.
 * 0, l->failed, or -ENOSPC: there is no more room for what is held, but for losses. */
int process_emit(struct live *l, struct process *p, const struct item *it);
/* Reads the definitions of all its registries. */
int process_defs(struct live *l, struct process *p);
int process_fork(struct live *l, const struct wire_life *w);
int process_exec(struct live *l, const struct wire_life *w);
void process_renamed(struct process *p, const struct wire_life *w); /* or moved */
/* A child whose marks would be traps is to get links of its own, or none any more: what it has marked until
 * then is a loss, which is told once. 0, or l->failed. */
int process_young(struct live *l, struct process *p);
/* Attaches to what is there, and looks again later. As process_attach(). */
int process_look(struct live *l, struct process *p, struct err *err);
/* It has said something: a look is due. The target may say so as often as it likes. */
void process_look_soon(struct process *p);
/* process_look() of one that was there before, and is as it will be, unless it is just beginning. */
int process_look_present(struct live *l, struct process *p, struct err *err);
void process_read_name(u32 pid, char to[16]);
/* Tells of its end and frees it. */
int process_end(struct live *l, struct process *p, u64 mono_ns);
/* Asks the kernel; false where there are no pidfds. */
bool process_has_ended(const struct process *p);
/* Name of a thread, once, before its first batch. */
int process_thread(struct live *l, struct process *p, u32 tid);
/* That it has ended, under that name; one that never handed a batch over is nobody's concern. */
int process_thread_ended(struct live *l, struct process *p, u32 tid, u64 mono_ns, const char *name);
/* What waits for a moment when the ring is empty; idle: it has been so. */
int process_settle(struct live *l, bool idle);
/* When the next rescan is due, or UINT64_MAX. */
u64 process_next_rescan(const struct live *l);
void process_free(struct live *l, struct process *p);

/* A sweep's process has shown its probes, or has ended. */
void process_not_candidate(struct live *l, struct process *p);

/* ---- live_parts.c ---- */

void parts_open(struct live *l, u32 without);
/* Is this to be attached? What is left out is told to the model. */
bool part_wanted(struct live *l, enum model_part part);
/* What belongs to which part. */
enum model_part part_of_role(bool vm, int role);
/* Detaches the links of a part; of TRACE_PARTS: all. True: there were some. */
bool links_drop(struct probe_links *links, bool vm, enum model_part part);
/* Those of roles, a bit each. True: there were some. */
bool links_drop_roles(struct probe_links *links, u32 roles);
/* What changed since the last poll. 0 or l->failed. */
int parts_settle(struct live *l, struct err *err);
/* Says what is off that has not been said. */
int parts_tell(struct live *l);

/* ---- live_attach.c ---- */

/* Attaches to whatever the process has now mapped and is not attached yet. 0, -ENOENT (it has no probes), -EAGAIN
 * (there may be something to trace soon), other negative errno with *err, which is kept for say_refused(). */
int process_attach(struct live *l, struct process *p, struct err *err);
/* Is that the file of the program that it runs? By stat(2). */
bool process_is_program(u32 pid, u64 dev, u64 inode);
/* process_attach() for a file that `p` is about to exec. */
int process_attach_file(struct live *l, struct process *p, const struct plan *plan,
			struct err *err);
/* Its links outlive it. */
void attachments_bury(struct live *l, struct process *p);
void attachments_free(struct live *l, struct process *p);
/* Some links of ended processes go, if there are many; idle: no data comes. To
 * be called when the ring is empty. 0 or l->failed. */
int attachments_thin(struct live *l, bool idle);
/* Do all marks of its children come by what they inherit? */
bool attachments_by_batches(const struct process *p);
/* Are marks on in any of its files? */
bool attachments_armed(const struct process *p);
/* Is it attached to for its marks, by batches or traps? */
bool attachments_of_marks(const struct process *p);
/* A child gets links of its own. Had others turned its marks off, that is a loss. 0, or l->failed. */
int process_link(struct live *l, struct process *p);
/* A process has ended: counts what cannot be known of it any more. */
void attachments_ended(struct live *l, const struct process *p, u64 mono_ns);
/* What is left of ended processes. */
void process_free_buried(struct live *l);
/* Marks of every process stop. */
void process_disarm_all(struct live *l);
/* No link of any kind is left. */
void process_detach_all(struct live *l);
/* The links of a part go, of all processes. True: there were some. */
bool process_drop_part(struct live *l, enum model_part part);
/* Every process gets what it lacks. 0 or the first error. */
int process_attach_missing(struct live *l, struct err *err);

/* ---- live_children.c ---- */

/* Attaches to all descendants of the processes there are. 0 or -ENOMEM. */
int children_open(struct live *l, struct err *err);
/* Counts them for the nearest target above each: its left_out. 0 or -ENOMEM. */
int children_left_out(struct live *l, struct err *err);

/* ---- live_sweep.c ---- */

bool sweep_wanted(const struct live_sweep *s);
/* Attaches to those that are there. 0 or negative errno. */
int sweep_open(struct live *l, struct err *err);
/* News of a process that is not known: a candidate, or nobody. 0 or l->failed. */
int sweep_new(struct live *l, const struct wire_life *w);

/* ---- live_vm.c ---- */

/* The registry of streams that are made here; no target's lies there. */
#define VM_REGISTRY ITEM_TRACER_REGISTRY
/* 0, -ENOENT (it runs no VM we know; no words), -EAGAIN (the VM has not begun), other negative errno. */
int live_vm_attach(struct live *l, struct process *p, struct err *err);
/* Does it run a VM we know? Nothing is attached to. As vm_find(). */
int live_vm_look(struct live *l, u32 pid, struct err *err);
/* Timers, scheduler, loops and the probes of whole files. */
void live_vm_detach(struct live *l);
/* Of whole files' probes those of a part. True: there were some. */
bool live_vm_drop_part(struct live *l, enum model_part part);

/* A process whose probe is never hit: its stays on the CPU become its events. */
void live_vm_fall_back(struct live *l, struct process *p);

/* ---- live_notes.c ---- */

/* What is wrong with a process, and what to do. The same key replaces it, an empty text ends it. 0 or l->failed. */
#define NOTE_REFUSED VM_ROLES
#define NOTE_SILENT (VM_ROLES + 1)
#define NOTE_LEFT_OUT (VM_ROLES + 2)
#define NOTE_NAMELESS (VM_ROLES + 3)
#define NOTE_BEGUN_BEFORE (VM_ROLES + 4)
#define NOTE_NOT_EXACT (VM_ROLES + 5)
#define NOTE_LATE (VM_ROLES + 6)
#define NOTE_PASSED_BY (VM_ROLES + 7)
#define NOTE_INLINED (VM_ROLES + 8)
int live_note(struct live *l, struct process *p, u32 key, const char *text, const char *advice);
/* From now on hits are expected of `armed`, bits by role. */
void live_watch_start(struct process *p, const struct vm_target *v, u32 armed);
int live_watch_hit(struct live *l, struct process *p, enum vm_role role);
/* If it is time: says which probes have never been hit. */
int live_watch_check(struct live *l, struct process *p, u64 now);
/* A program's marks have been armed. */
void live_silence_begin(struct process *p);
/* If it is time: says when it has not made one for long. */
int live_silence_check(struct live *l, struct process *p, u64 now);
/* The same of all, at the end of the trace. */
int live_silence_last(struct live *l);
/* It is another program now. 0 or l->failed. */
int live_silence_end(struct live *l, struct process *p);
/* Something of its marks has come. 0 or l->failed. */
int live_marked(struct live *l, struct process *p);
/* The CPU time a process has had, of all its threads, to 10 ms; 0 if it cannot be told. */
u64 live_cpu_ns(u32 pid);

/* ---- live_container.c ---- */

/* Tells which container the process runs in, if it runs in one: once it has been told of, and at each exec. Its
 * children run in it too. 0, or l->failed. */
int live_container(struct live *l, const struct process *p);

/* ---- live_refused.c ---- */

/* It cannot be traced, or not all of it: said once it will not be looked at again, with what there was already. */
void live_refused(struct process *p, const struct err *why);
/* Refuses what of a file cannot be traced, where it is loaded more than once. */
void live_refuse_places(struct process *p, const struct plan_dso *d, bool direct);
/* Is that for lack of rights? */
bool live_is_denied(const struct err *why);
/* It is refused, and another look may find otherwise. */
bool live_is_doubtful(const struct process *p);
/* A stock VM has been attached to: where the scheduler's record is wanted, it is said that it is not about it. */
void live_not_exact(struct live *l, struct process *p);
/* Says that, if it is still to be said. 0 or l->failed. */
int live_say_not_exact(struct live *l, struct process *p);
/* How long it went on before its marks were on. 0 or l->failed. */
int live_say_late(struct live *l, struct process *p);
/* Is there something to say that will not become otherwise? */
bool live_has_words(const struct process *p);
/* Says what there is of that, and who below it is left out. 0 or l->failed. */
int live_say_refused(struct live *l, struct process *p);
/* What a look came to, with r as process_attach() has it, tells nothing. */
bool live_is_inconclusive(const struct process *p, int r);
/* A look has come to an end, with r and err as process_attach() has them; `before` (taken over): what the last found. */
void live_looked(struct live *l, struct process *p, struct err *before, int r,
		 const struct err *err);
/* Nothing was ever attached to: why. Returns err->code. */
int live_nothing_traced(const struct live *l, struct err *err);
/* What is left to say of it: it ends, is another program from now on, or the trace ends. 0, or l->failed. */
int process_last_words(struct live *l, struct process *p, enum unfinished_why why);

/* ---- live_direct.c ---- */

/* The links that a process had of a file until a moment ago, and it has loaded that again: with others besides,
 * each of its marks would come twice. They are its again. NULL: there are none. */
struct attachment *direct_again(struct live *l, struct process *p, const struct plan_dso *d);
/* No mark of a process is taken any more, by which of its links it may come: before they are detached. */
void direct_ends(struct live *l, const struct process *p);
/* Attaches to what is there and is not yet. What cannot be read of it is left out, and said. 0 or -1 with *err. */
int direct_attach(struct live *l, struct process *p, const struct plan_dso *d, struct attachment *a,
		  struct err *err);

/* ---- live_often.c ---- */

/* A piece of sweeping ended at time_ns. 0 or l->failed. */
int live_often_swept(struct live *l, struct process *p, u64 time_ns);

/* ---- live_open.c ---- */

/* Younger events mostly end before anybody could look. */
#define OPEN_LEAST_NS (100 * NSEC_PER_MSEC)

/* ---- live_vm_open.c ---- */

/* What threads of stock VMs are in, as ITEM_OPEN. 0 or l->failed. */
int live_vm_tell_open(struct live *l);

/* ---- live_vm_items.c ---- */

/* A WIRE_VM_* record. 0, or l->failed. */
int live_vm_record(struct live *l, const struct wire_head *h, size_t size);
/* Nothing is kept back any more of a process. 0 or l->failed. */
int live_vm_rest(struct live *l, struct process *p);
/* What has been for too long is not; and when this is to be asked for again, at the latest. 0 or l->failed. */
int live_vm_settle(struct live *l, struct process *p, u64 now);
u64 live_vm_settles(const struct live *l, const struct process *p);
/* 0 or l->failed. */
int live_vm_thread_end(struct live *l, struct process *p, u32 tid);
void live_vm_free(struct live *l, struct process *p);

/* ---- live_registry.c ---- */

/* That of an address, made on first sight; NULL beyond ITEM_REGISTRIES. */
struct registry *live_registry_at(struct process *p, u64 address, bool abi1);
/* That of a copy of the SDK; where it cannot be read, it is taken for one of version 1. */
struct registry *live_registry_of(struct process *p, u64 copy);
/* Before records that name an id nobody has defined the log is read. `sum`: theirs. 0 or l->failed. */
int live_define(struct live *l, struct process *p, struct registry *r, const void *data, u32 bytes,
		const struct batch_sum *sum);
/* The process of what came; one that nobody told of is taken in now. NULL: there is none. */
struct process *live_process_of(struct live *l, u32 pid);
/* Why no registry was found for what came of a process, or of none. */
enum loss_cause live_unplaced(const struct process *p);
/* Reads the log from where it was left and hands the definitions out. 0 or
 * l->failed; trouble in the target's memory is no failure. */
int registry_read(struct live *l, struct process *p, struct registry *r);
/* Remembers what these records name and nobody has defined yet. */
void registry_want(struct registry *r, const void *data, u32 bytes);
/* There is no more to be read: names that were not are a loss, and said. 0 or l->failed. */
int registries_end(struct live *l, struct process *p);
/* True when all ids in checked records are known; learns definitions. `sum`:
 * theirs. */
bool registry_knows(struct registry *r, const void *data, u32 bytes, const struct batch_sum *sum);
/* Files without a registry define nothing: ids in their marks are numbers, which their profile names, and their
 * marks' registry is this and the profile's place; 0: nobody knows what defines them. */
#define NUMBERS_FIRST 16
static inline bool registry_is_numbers(u64 address)
{
	return !address || address - NUMBERS_FIRST < PROFILES_MAX;
}
/* Names the numbers in these records that have none. 0 or negative errno. */
int registry_numbers(struct live *l, struct process *p, struct registry *r, const void *data,
		     u32 bytes);
/* Before arming: makes threads forget an earlier trace. */
void registry_new_session(u32 pid, u64 address);
/* After the marks have stopped: hands over what threads have not yet flushed. */
int registry_tails(struct live *l, struct process *p, struct registry *r);
void registry_copy(struct registry *to, const struct registry *from);
void live_registry_free(struct registry *r);

/* ---- live_marks.c, live_mark_rings.c ---- */

/* Marks, a definition, or the end of an event that was not begun: from the kernel side. 0, or l->failed. */
int live_marks(struct live *l, const struct wire_head *h, size_t size);
int live_definition(struct live *l, const struct wire_head *h, size_t size);
int live_unbegun(struct live *l, const struct wire_life *w);
/* Before the process is armed for the first time: what is in the rings is not of this trace, each
 * thread's next mark says which CPU it is on, and events that somebody waits for are handed over as they end.
 * `r`: NULL where there are no rings yet. */
void live_rings_begin(struct live *l, struct process *p, struct registry *r);
/* It is armed no more: nobody waits for its events. */
void live_rings_end(struct live *l, struct process *p);
/* Reads from the rings what has not been handed over. */
int live_rings_read(struct live *l, struct process *p, struct registry *r);
/* The same while the trace goes on, if it is time: threads that hang, sleep or idle hand nothing over. In exact mode
 * only what is held back long enough is told, since a thread has to hand over what the scheduler did to it. 0, or
 * l->failed. */
int live_rings_look(struct live *l, u64 now);
/* The kernel side is told of the newest. Of those that it does not know the oldest is read soon, in exact mode too. */
void live_rings_tell(struct live *l, const struct process *p);
void live_rings_left(struct live *l, const struct process *p);
/* Or now, before one more comes. 0, or l->failed. */
int live_rings_read_out(struct live *l, struct process *p);
/* When it is; UINT64_MAX: there is nothing to be read. */
u64 live_rings_next(const struct live *l);
/*
 * Calls fn for each thread: its number as it sees itself, and what is open in it now, whether
 * its marks have been taken or not. Stops where fn says false, and after *most threads, which it
 * counts down.
 */
void live_rings_open(const struct process *p, const struct registry *r, u32 *most,
		     bool (*fn)(void *ctx, u32 tid, const struct marks *m), void *ctx);
/* The same of a thread that has ended (CLOCK_MONOTONIC), under that name. It is then forgotten, unless it
 * lags. 0, or l->failed. */
int live_rings_thread_end(struct live *l, struct process *p, struct registry *r, u32 tid,
			  u64 mono_ns, const char *name);
/* Are marks of a thread that has ended still on their way? Its end is then told of behind them. */
bool live_rings_thread_lags(const struct registry *r, u32 tid);
/* The process has lost its memory, and with it what its threads had not handed over. */
int live_rings_process_end(struct live *l, struct process *p);
/* What its threads are in, and will not be heard to leave, as of that time (CLOCK_MONOTONIC). 0, or
 * l->failed. */
int live_unfinished(struct live *l, struct process *p, enum unfinished_why why, u64 until_ns);
/* Of what its threads are in, no more is known from here on. 0, or l->failed. */
int live_rings_doubt(struct live *l, struct process *p);
void live_rings_free(struct registry *r);

/* ---- live_look.c ---- */

/* What the targets need. */
struct live_needs {
	bool direct; /* the direct stopwatch */
	bool sdk, vm; /* a target has vmspan.h; is a stock VM */
	bool awaited; /* one may have vmspan.h later */
};

/*
 * Looks at the targets: whether they can be traced at all, and what that takes. A sweep may find
 * anything. 0, or negative errno with *err.
 */
int live_look(struct live *l, const struct live_config *c, struct live_needs *n, struct err *err);

#endif
