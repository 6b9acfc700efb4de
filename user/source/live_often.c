/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes that are hit so often that looking slows the VM down. Ruby sweeps in
 * pieces, one for each slot that an allocation looks for: 7,500 a second in a
 * program that makes nothing but garbage, where two traps each took 1.5 % of its
 * CPU time. Such pieces are let go of, and it is said; collections and their
 * marking are rarer and stay.
 */
#include "source/live_int.h"

#include "attach/vm.h"

#include <stdio.h>

/* A second of the process's CPU time, from when on: two traps each are 0.5 % of that. Not of
 * the time that passes: on a busy machine a program makes as many, and has less of it. */
#define PIECES_MOST 2000

static int say(struct live *l, struct process *p, u64 a_second)
{
	char text[VMSPAN_NAME_MAX + 1];

	snprintf(text, sizeof(text),
		 "%s %s: sweeping is not timed any more: it went on in %" PRIu64
		 " pieces a second of CPU time, and two traps for each would slow the program",
		 p->vm_profile->name, p->watch.version, a_second);
	return live_note(l, p, VM_SWEEP_BEGIN, text,
			 "Collections are counted and their marking is timed still. What "
			 "sweeping takes is now in the time of the code that was running.");
}

int live_often_swept(struct live *l, struct process *p, u64 time_ns)
{
	struct vm_watch *w = &p->watch;
	struct attachment *a;
	bool had = false;
	u64 now, cpu_ns, used, seen, passed;

	if (w->sweeps++ && w->sweeps <= PIECES_MOST)
		return 0;
	now = clock_mono_ns();
	cpu_ns = live_cpu_ns(p->pid);
	if (w->sweeps == 1) {
		w->sweeps_ns = time_ns;
		w->sweeps_seen_ns = now;
		w->sweeps_cpu_ns = cpu_ns;
		return 0;
	}
	used = max_u64(1, cpu_ns - min_u64(cpu_ns, w->sweeps_cpu_ns));
	passed = time_ns - min_u64(time_ns, w->sweeps_ns);
	seen = now - w->sweeps_seen_ns;
	w->sweeps = 0;
	/* Many that have come at once: what CPU time they took is not known. */
	if (!cpu_ns || seen * 2 < passed)
		return 0;
	/* Among calls, which pair with each other, nothing may be left out. */
	if (used >= NSEC_PER_SEC || l->calls)
		return 0;
	for (a = p->attachments; a; a = a->next) {
		if (!a->vm)
			continue;
		a->links.too_often |= 1u << VM_SWEEP_BEGIN | 1u << VM_SWEEP_END;
		/* The ends first: a begin that is not hit would have the piece before
		 * it last until the next end. */
		had |= links_drop_roles(&a->links, 1u << VM_SWEEP_END);
		had |= links_drop_roles(&a->links, 1u << VM_SWEEP_BEGIN);
	}
	/* Pieces on their way still come, and are taken. */
	if (!had)
		return 0;
	/* What has begun will not end. */
	vm_forget_sweeps(l->t);
	return say(l, p, PIECES_MOST * NSEC_PER_SEC / used);
}
