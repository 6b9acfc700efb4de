/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What processes marked before their marks were on: what the SDK says of what is loaded, and when a look found it.
 *
 * A copy says where it is, and whether its marks are on by then (vmspan_loaded_2()). Copies of older headers
 * say neither, and look like a thread that gives itself the name it has.
 */
#include "source/live_late.h"

#include "base/array.h"
#include "probe/started.h"
#include "probe/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/*
 * So long the SDK waits for a tracer that is to come (vmspan_loaded_2()): in what a command executes,
 * and where another copy of it is traced. Then it goes on without, and marks nothing.
 */
#define SDK_WAITS_NS (250 * NSEC_PER_MSEC)
/* Of a process. One that loads more of them between two looks, and nobody waits for any, has gone by. */
#define UNSEEN_MAX 64

static bool are_wanted(const struct live *l)
{
	return !l->marks_off && l->parts[TRACE_TURNS].on;
}

int process_missed(struct live *l)
{
	/* How many marks nobody knows. */
	return are_wanted(l) ? live_emit_loss(l, LOSS_MARKS_OFF, 1, 0) : 0;
}

/* A library does where another copy hands over to a tracer, also where the parent's does. In another PID namespace it
 * asks for another process, and goes on as there mostly is none. */
bool process_waits(const struct process *p)
{
	return attachments_by_batches(p) || (started_number(p->pid, "VMSPAN_WAIT") == getpid() &&
					     threads_own_number(p->pid) == p->pid);
}

/* ---- When a look found it ---- */

/* It has been armed, and said at `said_ns` that it waits for so long: did it go on in between? Once said, that holds
 * until it is another program. */
static int armed_late(struct live *l, struct process *p, u64 said_ns, u64 waits_ns, u64 armed_ns)
{
	u64 late_ns = armed_ns - min_u64(armed_ns, said_ns);
	bool says = waits_ns;

	if (!says)
		waits_ns = p->waits ? SDK_WAITS_NS : 1;
	if (p->missed || late_ns < waits_ns)
		return 0;
	/* They are off since that is asked for. */
	if (!are_wanted(l))
		return 0;
	/* With the first marks of what was there before a trace that waited for them begins, where it is not known when
	 * they could have been. */
	if (!says && !l->attached_once && !p->exec_ns)
		return 0;
	p->missed = true;
	p->late_ns = late_ns;
	p->waited = waits_ns == SDK_WAITS_NS;
	return process_missed(l);
}

int process_armed(struct live *l, struct process *p, u64 mono_ns)
{
	struct timespec boot;

	p->armed_ns = mono_ns;
	/* Those of a child are on from its birth. */
	if (!p->on.mono_ns && !p->forked_ns) {
		clock_gettime(CLOCK_BOOTTIME, &boot);
		p->on.mono_ns = mono_ns;
		p->on.boot_ns = (u64)boot.tv_sec * NSEC_PER_SEC + (u64)boot.tv_nsec;
	}
	return p->waits_ns ? armed_late(l, p, p->waits_ns, p->waits_for_ns, mono_ns) : 0;
}

/* A copy has come and gone, and nobody has turned its marks on. */
static int passed_by(struct live *l, struct process *p)
{
	if (!are_wanted(l))
		return 0;
	if (p->passed_by == NOT_PASSED_BY)
		p->passed_by = PASSED_BY;
	if (p->missed)
		return 0;
	p->missed = true;
	return process_missed(l);
}

u32 copy_which(u32 pid, u64 at)
{
	struct vmspan_registry head;

	return at && !target_registry(pid, at, &head) && head.abi == VMSPAN_ABI ? head.loaded : 0;
}

/* What is attached to, and lay there as it was. */
static const struct attachment *attachment_of(const struct process *p, u64 at, u32 which)
{
	const struct attachment *a;

	for (a = p->attachments; a; a = a->next)
		if (a->copy_seen == at && a->which == which)
			return a;
	return NULL;
}

/* (One that is about to go, marks nothing more.) What cannot be read may be there. */
static bool has_gone(u32 pid, const struct unseen_copy *c)
{
	struct vmspan_registry head;
	int r = target_registry(pid, c->at, &head);

	if (r)
		return r == -EFAULT || r == -EBADMSG;
	return head.abi != VMSPAN_ABI || head.loaded != c->which ||
	       (head.closed && !head.semaphore && !head.probes_semaphore);
}

/* Those that had said so before the look are attached to now, or refused, or have gone. */
static int look_for_unseen(struct live *l, struct process *p)
{
	u32 i, later = 0;

	for (i = 0; i < p->unseen_count; i++) {
		const struct unseen_copy c = p->unseen_copies[i];

		if (c.said_ns >= p->looked_ns)
			p->unseen_copies[later++] = c;
		/* It may have run since, and be gone. */
		else if (!attachment_of(p, c.at, c.which) && has_gone(p->pid, &c) &&
			 passed_by(l, p))
			return l->failed;
	}
	p->unseen_count = later;
	return 0;
}

int process_looked(struct live *l, struct process *p, int r)
{
	p->unlinked &= r != 0;
	if (live_is_inconclusive(p, r))
		return 0;
	p->unseen = false;
	if (r && r != -ENOENT)
		return 0;
	p->waits_ns = 0;
	p->library_waits = p->heard_late = false;
	return look_for_unseen(l, p);
}

/* ---- What the SDK says ---- */

/* CLOCK_MONOTONIC of when the copy was attached to. 0: not that anybody knew. */
static u64 attached_ns(const struct process *p, const struct wire_life *w)
{
	const struct attachment *a = attachment_of(p, w->copy, w->which);

	if (!w->copy)
		return p->armed_ns >= w->mono_ns ? p->armed_ns : 0;
	return a ? a->armed_ns : 0;
}

/* By this tracer, unless nothing of the process ever was attached to: then it is another's. (Links of what was unmapped
 * are kept, and are there again with the file.) */
static bool are_on(const struct process *p, const struct wire_life *w)
{
	return w->copy && w->other & VMSPAN_LOADED_ON &&
	       (p->armed_ns || p->by_batches || p->by_traps);
}

/* 0: it does not say so. */
static u64 waits_for_ns(const struct wire_life *w)
{
	return !w->copy ? 0 : w->other & VMSPAN_LOADED_WAITS ? SDK_WAITS_NS : 1;
}

static int keep_unseen(struct live *l, struct process *p, const struct wire_life *w)
{
	if (p->unseen_count >= UNSEEN_MAX)
		return passed_by(l, p);
	if (array_room(p->unseen_copies, p->unseen_cap, p->unseen_count + 1))
		return l->failed = -ENOMEM;
	p->unseen_copies[p->unseen_count++] =
		(struct unseen_copy){ .at = w->copy,
				      .which = w->which,
				      .waits = waits_for_ns(w) == SDK_WAITS_NS,
				      .said_ns = w->mono_ns };
	return 0;
}

int process_loads(struct live *l, struct process *p, const struct wire_life *w)
{
	bool loaded = p->loaded;
	u64 armed_ns = attached_ns(p, w);

	p->loaded = true;
	if (are_on(p, w))
		return 0;
	/* At the news of an exec, which was heard of before this. (What had begun before the trace did not begin in
	 * it.) */
	if (armed_ns)
		return p->exec_ns ? armed_late(l, p, w->mono_ns, waits_for_ns(w), armed_ns) : 0;
	/* Of those that nobody has come to see, the first that goes on. */
	if (!p->waits_ns || w->mono_ns + waits_for_ns(w) < p->waits_ns + p->waits_for_ns) {
		p->waits_ns = w->mono_ns;
		p->waits_for_ns = waits_for_ns(w);
	}
	p->heard_late |= clock_mono_ns() >= w->mono_ns + SDK_WAITS_NS;
	p->unseen |= w->copy || w->h.tid == w->h.pid;
	if (w->copy)
		return are_wanted(l) ? keep_unseen(l, p, w) : 0;
	/* The first that a program says is of itself, and that may be armed since its exec. */
	p->library_waits |= loaded || !p->exec_ns;
	return 0;
}

int process_loaded(struct live *l, const struct wire_life *w)
{
	struct process *p = process_find(l, w->h.pid);

	if (!p)
		return sweep_new(l, w);
	process_look_soon(p);
	return process_loads(l, p, w);
}

/* ---- The end of a process, a program, or the trace ---- */

/* Was it over before the tracer came? Others too may give themselves the name that they have, but when
 * the tracer comes in time, it finds out. What was attached to before it began has waited for nobody. */
static bool never_armed(const struct live *l, const struct process *p)
{
	return p->heard_late && !p->marked && !attachments_of_marks(p) && l->command.pid;
}

/* Something that said so is looked at no more, and had not waited, or in vain. */
static bool has_unseen(const struct process *p, u64 end_ns)
{
	u32 i;

	for (i = 0; i < p->unseen_count; i++) {
		const struct unseen_copy *c = &p->unseen_copies[i];

		if (end_ns >= c->said_ns + (c->waits ? SDK_WAITS_NS : 0))
			return true;
	}
	/* (It may have been no more than a name.) Of a child on its parent's links it is known otherwise whether its
	 * marks were on. */
	return p->library_waits && !p->unlinked &&
	       end_ns >= p->waits_ns + (p->waits ? SDK_WAITS_NS : 0);
}

int process_missed_by_its_end(struct live *l, const struct process *p, u64 end_ns)
{
	/* Of a process that nothing of was ever attached to, it is said otherwise. */
	bool attached = attachments_of_marks(p) || p->unlinked;

	if (never_armed(l, p) || (!p->missed && attached && has_unseen(p, end_ns)))
		return process_missed(l);
	return 0;
}

int process_look_last(struct live *l)
{
	u64 key, value;
	size_t at = 0;

	while (!l->failed && map_next(&l->processes, &at, &key, &value)) {
		struct process *p = (struct process *)(uintptr_t)value;
		struct err ignored = { 0 };

		if ((p->library_waits || p->unseen_count) && l->parts[TRACE_TURNS].on &&
		    !process_has_ended(p))
			process_look(l, p, &ignored);
	}
	return l->failed;
}
