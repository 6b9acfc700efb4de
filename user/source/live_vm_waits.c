/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stock VMs: waits in a thread's event. The kernel side tells of each as it begins, with its stack, and as it
 * ends. In a thread of a pool one may be the wait for its next piece of work, which the profile knows by its
 * frames ([idle]): no event has that. There the event ends, as of when the wait began, and what follows
 * it is another one, though for the kernel side, which knows no names, it is still the same.
 */
#include "source/live_vm_int.h"

#include "attach/vm.h"
#include "probe/vm.h"

#include <stdlib.h>
#include <string.h>

struct vm_waits {
	u32 cuts; /* of all of the thread's events so far */
	/* Of the kernel's event `iteration`, what comes after the last cut; 0: it has none. */
	u32 iteration;
	u16 cpu;
	u64 begin, off_ns, stolen_ns; /* off_ns: off the CPU before `begin`; of that stolen */
	bool woken; /* since then it has done nothing but wait for work, as far as anybody saw */
	/* The wait under way; off_then, stolen_then, cpu_then: when it began. late: it is a cut if it lasts. */
	bool waiting, idle, late;
	u16 cpu_then;
	u64 since, off_then, stolen_then;
	union vm_look look;
};

static struct vm_waits *waits_of(struct vm_stream *s)
{
	if (!s->waits)
		s->waits = calloc(1, sizeof(*s->waits));
	return s->waits;
}

void waits_free(struct vm_stream *s)
{
	free(s->waits);
	s->waits = NULL;
}

bool waits_copy(struct vm_stream *s)
{
	struct vm_waits *x;

	if (!s->waits)
		return true;
	x = malloc(sizeof(*x));
	if (!x)
		return false;
	*x = *s->waits;
	s->waits = x;
	return true;
}

u32 waits_iteration(const struct vm_stream *s, u32 iteration)
{
	return s->waits ? iteration + s->waits->cuts : iteration;
}

/* Is it the wait for work? By the frames from the innermost one out. */
static bool idle_stack(const struct vm_state *v, const struct vmspan_sample *r)
{
	u32 n = r->h.depth & VMSPAN_DEPTH_MASK, i;
	bool inside = false; /* frames between are of something else */

	for (i = 0; i < n; i++) {
		const u64 *is = map_get(&v->frames, r->frames[i]);

		if (is && (*is & VM_FRAME_IDLE_IN || (*is & VM_FRAME_IDLE_AT && !inside)))
			return true;
		inside |= !is || !(*is & VM_FRAME_THROUGH);
	}
	return false;
}

bool waits_idle(const struct process *p, const struct vm_stream *s, const struct wire_sample *w,
		const struct vmspan_sample *r)
{
	/* Ruby keeps a thread that has ended for the next one that is made. */
	if (w->flags & SAMPLE_LEFT)
		return s->in_vm;
	/* Who waits for a disk, or collects, has work. */
	return w->flags & SAMPLE_SLEEPS && !(w->flags & SAMPLE_GC) && idle_stack(p->vm_state, r);
}

bool waits_for_lock(const struct process *p, bool woken, u64 ran_ns)
{
	return woken && ran_ns < NSEC_PER_MSEC / 10 && p->vm_profile &&
	       p->vm_profile->kind != VM_JVM;
}

/* The wait under way is one for work: what of the kernel's event was before it is an event. */
static int cut(struct live *l, struct process *p, struct vm_stream *s, struct wire_turn turn)
{
	struct vm_waits *x = s->waits;
	int r;

	turn.h.kind = WIRE_VM_TURN;
	turn.end = x->since;
	turn.off_ns = x->off_then;
	turn.stolen_ns = x->stolen_then;
	turn.cpu_end = x->cpu_then;
	turn.kind = TURN_LOOP;
	r = vm_take(l, p, s, &turn.h);
	x->cuts++;
	x->woken = true;
	return r;
}

int waits_open(struct live *l, struct process *p, struct vm_stream *s, const struct wire_turn *w)
{
	const struct vm_waits *x = s->waits;
	union vm_look look;

	if (!x || !x->waiting || x->since < w->begin || x->since >= w->end || x->idle)
		return 0;
	look = x->look;
	look.r.time = live_cycles(l, w->end);
	/* It may have ended, and no more have come of it. */
	look.r.weight = min_u64(w->end - x->since, w->off_ns - min_u64(x->off_then, w->off_ns));
	look.r.iteration = waits_iteration(s, w->iteration);
	look.r.cpu = w->cpu_end;
	return vm_emit_sample(l, p, s, w->h.tid, &look.r);
}

void waits_seen(struct vm_stream *s)
{
	if (s->waits)
		s->waits->woken = false;
}

int waits_take_begin(struct live *l, struct process *p, struct vm_stream *s,
		     const struct wire_sample *w, const union vm_look *look)
{
	struct vm_waits *x = waits_of(s);
	struct wire_turn turn = { .h = w->h,
				  .begin = w->turn_begin,
				  .iteration = w->iteration,
				  .cpu_begin = w->turn_cpu };
	int r = 0;

	if (!x || w->turn_begin > w->time)
		return live_emit_loss(l, x ? LOSS_MALFORMED : LOSS_LIMIT, 1, 0);
	x->waiting = true;
	x->since = w->time;
	x->off_then = w->off_ns;
	x->stolen_then = w->stolen_ns;
	x->cpu_then = w->cpu;
	x->look = *look;
	/* Other events have ends of their own. */
	x->idle = w->turn_kind == TURN_LOOP && waits_idle(p, s, w, &look->r);
	x->late = x->idle && x->iteration == w->iteration &&
		  waits_for_lock(p, x->woken, w->time - x->begin - (w->off_ns - x->off_ns));
	if (!x->idle)
		x->woken = false;
	if (x->idle && !x->late) {
		r = cut(l, p, s, turn);
		x->iteration = w->iteration;
		x->begin = x->since;
		x->off_ns = x->off_then;
		x->stolen_ns = x->stolen_then;
	}
	return r;
}

/* A wait for work has ended, and a part of the kernel's event begins. */
static void resume(struct vm_waits *x, const struct wire_stay *w)
{
	x->begin = w->end;
	x->off_ns = x->off_then + (w->end - w->begin);
	x->stolen_ns = x->stolen_then;
	x->cpu = w->cpu_end;
}

int waits_take_end(struct live *l, struct process *p, struct vm_stream *s,
		   const struct wire_stay *w)
{
	struct vm_waits *x = s->waits;
	struct vmspan_sample *r;
	int rc = 0;

	if (w->end < w->begin)
		return live_emit_loss(l, LOSS_MALFORMED, 1, 0);
	/* Its begin was lost, which the kernel side has counted. */
	if (!x || !x->waiting || x->since != w->begin)
		return 0;
	x->waiting = false;
	if (x->idle && (!x->late || w->end - w->begin >= WAITS_LOCK_NS)) {
		if (x->late)
			rc = cut(l, p, s,
				 (struct wire_turn){ .h = w->h,
						     .begin = x->begin,
						     .iteration = x->iteration,
						     .cpu_begin = x->cpu });
		resume(x, w);
		return rc;
	}
	r = &x->look.r;
	r->time = live_cycles(l, w->end);
	r->weight = w->end - w->begin;
	r->iteration = waits_iteration(s, w->iteration);
	r->cpu = w->cpu_end;
	return vm_emit_sample(l, p, s, w->h.tid, r);
}

bool waits_rest(const struct vm_stream *s, struct wire_turn *w)
{
	const struct vm_waits *x = s->waits;

	if (!x || x->iteration != w->iteration || x->begin < w->begin)
		return true;
	/* The trace's end is a moment before the last that is told of. */
	if (x->begin > w->end)
		return false;
	w->off_ns -= min_u64(x->off_ns, w->off_ns);
	w->stolen_ns -= min_u64(x->stolen_ns, w->stolen_ns);
	w->begin = x->begin;
	w->cpu_begin = x->cpu;
	/* It waits for work still, perhaps since it was woken for a moment. */
	if (x->waiting && x->late && w->end > x->since) {
		w->end = x->since;
		w->off_ns = x->off_then - x->off_ns;
		w->stolen_ns = x->stolen_then - x->stolen_ns;
		w->ended &= (u16)~TURN_GOES_ON;
	}
	/* What was stolen from it, it wanted to work in. */
	return w->off_ns - min_u64(w->stolen_ns, w->off_ns) < w->end - w->begin;
}
