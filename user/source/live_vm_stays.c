/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stock VMs: a thread of a pool, which has no event loop. The kernel side tells of its stays on the CPU, each from one
 * wait to the next or for 100 ms; what it does for a request is all of them from one wait for work to
 * the next. So what is told of it is kept until it waits for work, and then told as one event. Who is
 * not seen to wait for work, because what it works for is a loop of its own or more than is kept, has its stays as
 * events, as any thread without a loop.
 */
#include "source/live_vm_int.h"

#include "attach/vm.h"
#include "base/buf.h"
#include "probe/vm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What has gone on for longer is told as far as it has come: of who has been seen to wait for work, and of others. */
#define KEPT_NS (300 * NSEC_PER_SEC)
#define KEPT_UNPROVEN_NS (10 * NSEC_PER_SEC)
/* Bytes of a thread, and of all; and what a thread's memory for it is not given back below. */
#define KEPT_MAX (1u << 20)
#define KEPT_ALL_MAX (32u << 20)
#define KEPT_SMALL (16u << 10)
/* Who has waited so often and never for work is of no pool. */
#define WAITS_MAX 4096
/* Between two looks at what has gone on for too long. */
#define SETTLE_NS NSEC_PER_SEC

struct vm_stays {
	bool let_be; /* it is of no pool */
	bool as_they_come; /* until it waits for work: more than could be kept */
	bool proven; /* it has been seen to wait for work */
	bool of_pool; /* or to be a pool's, by a frame; else its stack was too deep to say */
	u32 waits; /* since then */
	struct buf kept; /* the kernel's records, each without what it has no use for */
	/* Of the stays that have ended; the kernel's numbers of the first and the last. */
	u32 count, iteration, last;
	u64 begin, end, off_ns, stolen_ns;
	u16 cpu_begin, cpu_end;
	/* The last one's end is a wait whose stack was told; of that look, where it is kept. */
	bool told;
	size_t wait_at;
	bool woken; /* what is kept began behind a wait for work, and nothing else was seen since */
	bool late; /* the wait is one for work if it lasts */
	u32 open; /* the stay under way, if it has been looked at; or 0 */
};

void stays_free(struct live *l, struct vm_stream *s)
{
	if (!s->stays)
		return;
	l->vm_kept -= s->stays->kept.len;
	buf_free(&s->stays->kept);
	free(s->stays);
	s->stays = NULL;
}

static bool of_pool(const struct vm_state *v, const struct vmspan_sample *r)
{
	u32 n = r->h.depth & VMSPAN_DEPTH_MASK, i;

	for (i = 0; i < n; i++) {
		const u64 *is = map_get(&v->frames, r->frames[i]);

		if (is && *is & (VM_FRAME_POOL | VM_FRAME_IDLE_AT))
			return true;
	}
	return false;
}

void stays_look(struct live *l, struct process *p, struct vm_stream *s, u32 tid,
		const struct vmspan_sample *r)
{
	/* Of a deep stack the frame that would say so may be cut off; where work is waited for it is not deep. */
	if (s->stays || !(r->flags & SAMPLE_CUT || of_pool(p->vm_state, r)))
		return;
	s->stays = calloc(1, sizeof(*s->stays));
	if (!s->stays)
		return;
	s->stays->of_pool = of_pool(p->vm_state, r);
	vm_want_waits(l->t, tid, true);
}

/* ---- Told ---- */

/* How much of a record is kept. */
static size_t used_size(const struct wire_head *h)
{
	const struct wire_sample *w = (const void *)h;

	if (h->kind == WIRE_VM_SAMPLE)
		return sizeof(*w) - sizeof(w->frames) + w->count * sizeof(w->frames[0]);
	return h->kind == WIRE_VM_TURN ? WIRE_TURN_BARE : sizeof(struct wire_stay);
}

static int tell_wait(struct live *l, struct process *p, struct vm_stream *s,
		     const struct wire_sample *w)
{
	union vm_look look;

	vm_look(p, w, &look);
	look.r.time = live_cycles(l, w->time + w->weight);
	look.r.weight = w->weight;
	look.r.cpu = w->cpu;
	look.r.iteration = waits_iteration(s, w->iteration);
	return vm_emit_sample(l, p, s, w->h.tid, &look.r);
}

/* One record: as it came, or as one of the event that the stays are together. */
static int tell_one(struct live *l, struct process *p, struct vm_stream *s, struct wire_head *h,
		    bool joined)
{
	struct wire_sample *w = (void *)h;
	struct wire_stay *gc = (void *)h;

	if (h->kind == WIRE_VM_TURN)
		return joined ? 0 : vm_take(l, p, s, h);
	if (h->kind == WIRE_VM_GC) {
		if (joined)
			gc->iteration = s->stays->iteration;
		return vm_take(l, p, s, h);
	}
	if (joined)
		w->iteration = s->stays->iteration;
	if (w->flags & SAMPLE_OFF)
		return joined ? tell_wait(l, p, s, w) : 0;
	return vm_take(l, p, s, h);
}

static int tell(struct live *l, struct process *p, struct vm_stream *s, bool joined)
{
	struct vm_stays *x = s->stays;
	struct wire_turn turn = { .h = { .kind = WIRE_VM_TURN, .pid = p->pid },
				  .begin = x->begin,
				  .end = x->end,
				  .off_ns = x->off_ns,
				  .stolen_ns = x->stolen_ns,
				  .iteration = x->iteration,
				  .cpu_begin = x->cpu_begin,
				  .cpu_end = x->cpu_end,
				  .kind = TURN_LOOP };
	union {
		struct wire_head h;
		struct wire_sample sample;
		struct wire_turn turn;
		struct wire_stay stay;
	} one;
	size_t at, bytes;

	/* The last wait goes on. */
	if (x->told) {
		l->vm_kept -= x->kept.len - x->wait_at;
		x->kept.len = x->wait_at;
	}
	for (at = 0; at < x->kept.len && !l->failed; at += bytes) {
		memset(&one, 0, sizeof(one));
		memcpy(&one.h, x->kept.data + at, sizeof(one.h));
		bytes = sizeof(one.h) + one.h.bytes;
		memcpy(&one, x->kept.data + at, bytes);
		turn.h.tid = one.h.tid;
		tell_one(l, p, s, &one.h, joined);
	}
	if (joined && !l->failed)
		vm_take(l, p, s, &turn.h);
	l->vm_kept -= x->kept.len;
	if (x->kept.cap > KEPT_SMALL)
		buf_free(&x->kept);
	else
		buf_clear(&x->kept);
	x->count = x->open = 0;
	x->off_ns = x->stolen_ns = 0;
	x->told = x->late = false;
	x->woken = joined;
	return l->failed;
}

int stays_rest(struct live *l, struct process *p, struct vm_stream *s)
{
	return s->stays ? tell(l, p, s, s->stays->late) : 0;
}

/* ---- Kept ---- */

static void keep(struct live *l, struct vm_stays *x, const struct wire_head *h)
{
	size_t n = used_size(h), at = x->kept.len;
	struct wire_head head = *h;

	if (!buf_space(&x->kept, n)) {
		live_emit_loss(l, LOSS_LIMIT, 1, 0);
		return;
	}
	buf_put(&x->kept, h, n);
	head.bytes = (u32)(n - sizeof(head));
	memcpy(x->kept.data + at, &head, sizeof(head));
	l->vm_kept += n;
}

/* What begins then goes on from what is kept, if anything is. */
static bool goes_on(const struct vm_stays *x, u32 iteration, u64 begin)
{
	if (x->open)
		return x->open == iteration;
	return !x->count || (iteration == x->last + 1 && (x->told || begin == x->end));
}

/* The wait before it has ended as it began. */
static void end_wait(struct vm_stays *x, u64 begin)
{
	struct wire_sample w;

	if (!x->told)
		return;
	x->told = false;
	memcpy(&w, x->kept.data + x->wait_at, sizeof(w) - sizeof(w.frames));
	w.weight = begin - min_u64(begin, w.time);
	x->off_ns += w.weight;
	memcpy(x->kept.data + x->wait_at, &w, sizeof(w) - sizeof(w.frames));
}

static void begins(struct live *l, struct process *p, struct vm_stream *s, u32 iteration, u64 begin)
{
	struct vm_stays *x = s->stays;

	if (x->late && begin - min_u64(begin, x->end) >= WAITS_LOCK_NS)
		tell(l, p, s, true);
	else if (!goes_on(x, iteration, begin))
		stays_rest(l, p, s);
	x->late = false;
	if (!x->open)
		end_wait(x, begin);
}

static void keep_stay(struct live *l, struct process *p, struct vm_stream *s,
		      const struct wire_turn *w)
{
	struct vm_stays *x = s->stays;

	begins(l, p, s, w->iteration, w->begin);
	if (!x->count++) {
		x->iteration = w->iteration;
		x->begin = w->begin;
		x->cpu_begin = w->cpu_begin;
	}
	x->last = w->iteration;
	x->end = w->end;
	x->cpu_end = w->cpu_end;
	x->off_ns += w->off_ns;
	x->stolen_ns += w->stolen_ns;
	x->open = 0;
	keep(l, x, &w->h);
}

/* A wait ends the last stay. */
static void keep_wait(struct live *l, struct process *p, struct vm_stream *s,
		      const struct wire_sample *w)
{
	struct vm_stays *x = s->stays;
	bool known = x->count && w->time == x->end, idle;
	union vm_look look;

	vm_look(p, w, &look);
	idle = waits_idle(p, s, w, &look.r);
	if (idle) {
		x->as_they_come = false;
		x->proven = true;
		x->waits = 0;
	}
	if (idle && !(known && waits_for_lock(p, x->woken, x->end - x->begin - x->off_ns))) {
		tell(l, p, s, known);
		x->woken = true;
		return;
	}
	if (!idle)
		x->woken = false;
	if (!idle && !x->proven && ++x->waits == WAITS_MAX) {
		x->let_be = true;
		vm_want_waits(l->t, w->h.tid, false);
		stays_rest(l, p, s);
		return;
	}
	if (!known)
		return;
	x->told = true;
	x->late = idle;
	x->wait_at = x->kept.len;
	keep(l, x, &w->h);
}

/* A copy, which holds what is kept once more. False: no memory. */
static bool copy_stays(struct vm_stays *to, const struct vm_stays *from)
{
	*to = *from;
	to->kept = (struct buf){ 0 };
	return !buf_put(&to->kept, from->kept.data, from->kept.len);
}

int stays_open(struct live *l, struct process *p, struct vm_stream *s, const struct wire_turn *stay,
	       const struct wire_stay *gc, u32 gc_count, u64 end_ns)
{
	const struct vm_stays *x = s->stays;
	u64 kept = l->vm_kept;
	struct vm_stays y;
	u32 i;

	if (!x || x->let_be || x->as_they_come || x->late || !(x->proven || x->of_pool))
		return 0;
	if (stay ? !goes_on(x, stay->iteration, stay->begin) : !x->count || x->open || !x->told)
		return 0;
	if (copy_stays(&y, x)) {
		s->stays = &y;
		if (stay) {
			keep_stay(l, p, s, stay);
			for (i = 0; i < gc_count; i++)
				keep(l, &y, &gc[i].h);
		} else {
			end_wait(&y, end_ns);
			y.end = end_ns;
		}
		tell(l, p, s, true);
	} else {
		l->failed = -ENOMEM;
	}
	buf_free(&y.kept);
	s->stays = NULL;
	l->vm_kept = kept;
	return l->failed;
}

/* Where much is kept of others, who goes on for long is not to take their room. */
static u64 kept_ns(const struct live *l, const struct vm_stays *x)
{
	return x->proven && l->vm_kept < KEPT_ALL_MAX / 2 ? KEPT_NS : KEPT_UNPROVEN_NS;
}

static bool too_much(const struct live *l, const struct vm_stays *x)
{
	return x->kept.failed || x->kept.len > KEPT_MAX || l->vm_kept > KEPT_ALL_MAX ||
	       (x->count && x->end - x->begin > kept_ns(l, x));
}

static void keep_look(struct live *l, struct process *p, struct vm_stream *s,
		      const struct wire_sample *w)
{
	begins(l, p, s, w->iteration, w->turn_begin);
	s->stays->open = w->iteration;
	s->stays->woken = false;
	keep(l, s->stays, &w->h);
}

/* False: it is told as it comes. */
static bool keep_one(struct live *l, struct process *p, struct vm_stream *s,
		     const struct wire_head *h)
{
	const struct wire_sample *w = (const void *)h;
	const struct wire_turn *turn = (const void *)h;
	const struct wire_stay *gc = (const void *)h;
	struct vm_stays *x = s->stays;

	switch (h->kind) {
	case WIRE_VM_SAMPLE:
		if (w->turn_kind != TURN_BURST || w->count > VM_FRAMES || w->turn_begin > w->time)
			break;
		if (w->flags & SAMPLE_OFF)
			keep_wait(l, p, s, w);
		else if (x->as_they_come)
			return false;
		else
			keep_look(l, p, s, w);
		return true;
	case WIRE_VM_TURN:
		if (turn->kind != TURN_BURST || turn->end < turn->begin)
			break;
		if (x->as_they_come)
			return false;
		keep_stay(l, p, s, turn);
		return true;
	case WIRE_VM_GC:
		if (!gc->iteration || (!x->count && !x->open))
			return false;
		keep(l, x, h);
		return true;
	}
	/* An event of another kind. */
	stays_rest(l, p, s);
	return false;
}

bool stays_keep(struct live *l, struct process *p, struct vm_stream *s, const struct wire_head *h)
{
	struct vm_stays *x = s->stays;
	bool kept;

	if (!x || x->let_be)
		return false;
	kept = keep_one(l, p, s, h);
	if (kept && too_much(l, x)) {
		x->as_they_come = true;
		stays_rest(l, p, s);
	}
	return kept;
}

int live_vm_settle(struct live *l, struct process *p, u64 now)
{
	struct vm_state *v = p->vm_state;
	u64 key, value;
	size_t at = 0;

	if (!l->vm_kept || !v || now < v->settle_ns)
		return 0;
	v->settle_ns = now + SETTLE_NS;
	while (!l->failed && map_next(&v->streams, &at, &key, &value)) {
		struct vm_stream *s = (struct vm_stream *)(uintptr_t)value;
		struct vm_stays *x = s->stays;

		if (!x || !x->count || now < x->begin + kept_ns(l, x))
			continue;
		x->as_they_come = true;
		stays_rest(l, p, s);
	}
	return l->failed;
}

u64 live_vm_settles(const struct live *l, const struct process *p)
{
	return l->vm_kept && p->vm_state ? p->vm_state->settle_ns : UINT64_MAX;
}
