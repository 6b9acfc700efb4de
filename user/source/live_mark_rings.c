/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rings of marks in the target's memory: what threads have not handed over, at the end of the
 * trace or of a thread, and while the trace goes on. A thread marks while its ring is read: the
 * head, read again afterwards, says what of it may have been overwritten meanwhile.
 */
#include "source/live_mark_rings.h"

#include "probe/threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Marks that may be seen before the head is that counts them: one that was just being made, with its
 * value; and where stores are seen in any order, those that the CPU held back before the head. */
#ifdef __x86_64__
#define MARKS_UNCOUNTED 2
#else
#define MARKS_UNCOUNTED 64
#endif

/* Calls fn with each ring of a process: its address, and its head as it is now. */
static int each_ring(u32 pid, u64 process,
		     int (*fn)(void *ctx, u64 at, const struct vmspan_ring *g), void *ctx)
{
	struct vmspan_ring g;
	u64 at;
	u32 n;
	int e = 0;

	if (target_read(pid, process + offsetof(struct vmspan_process, rings), &at, sizeof(at)))
		return 0;
	for (n = 0; at && !e && n < RINGS_MAX; n++, at = g.next) {
		if (target_read(pid, at + VMSPAN_RING_AT, &g, sizeof(g)))
			return 0;
		if (mark_ring_is_one(&g))
			e = fn(ctx, at, &g);
	}
	return e;
}

struct beginning {
	struct live *l;
	struct process *p;
	struct registry *r;
	bool same; /* it calls itself by the number that the tracer calls it by, and its threads too */
};

static int ring_begins(void *ctx, u64 at, const struct vmspan_ring *g)
{
	struct beginning *b = ctx;
	struct ring_reader *t = mark_ring_reader_of(b->l, b->p, b->r, g, b->same ? g->tid : 0);

	if (t) {
		/* What was open when the marks went off may have ended meanwhile. */
		marks_gap(&t->m, 0);
		t->seen = g->head;
		/* What batches have told of before stays told. */
		t->lost_before = g->lost - t->lost_told;
	}
	/* So the next mark goes the slow way, where it finds a session that is not its own. */
	target_write(b->p->pid, at + VMSPAN_RING_AT + offsetof(struct vmspan_ring, limit), &g->head,
		     sizeof(g->head));
	return 0;
}

/* Has another tracer armed a copy of the SDK that has these rings? This one has not yet, or no
 * more. */
static bool others_trace(const struct process *p, const struct registry *r)
{
	u64 copy, of;
	u16 semaphore;
	size_t at = 0;

	while (map_next(&p->copies, &at, &copy, &of))
		if (of == r->address && !target_read(p->pid, copy, &semaphore, sizeof(semaphore)) &&
		    semaphore)
			return true;
	return false;
}

/* Marks are to be handed over that are older than `ns`; 0: as is usual. Of two tracers the one
 * that waits for less is right. */
static void set_latency(const struct live *l, const struct process *p, const struct registry *r,
			u64 ns)
{
	u64 now, want, usual;

	if (target_read(p->pid, r->address + offsetof(struct vmspan_process, latency), &now,
			sizeof(now)) ||
	    target_read(p->pid, r->address + offsetof(struct vmspan_process, latency_usual), &usual,
			sizeof(usual)))
		return;
	want = ns ? min_u64(usual, (u64)((double)ns / 1e9 * (double)l->s.info.cycles_hz)) : usual;
	if (others_trace(p, r))
		want = min_u64(want, now);
	if (want != now)
		target_write(p->pid, r->address + offsetof(struct vmspan_process, latency), &want,
			     sizeof(want));
}

void mark_rings_ask(const struct live *l, const struct process *p, struct registry *r)
{
	r->asked = true;
	/* In exact mode rings are not looked at: what the scheduler did comes with the thread's own. */
	set_latency(l, p, r, l->s.info.exact ? 1 : l->alert_ns);
}

void live_rings_begin(struct live *l, struct process *p, struct registry *r)
{
	struct beginning b = { l, p, r, false };
	u64 session;
	u32 now, pid;

	if (p->rings_begun)
		return;
	p->rings_begun = true;
	if (!r)
		return;
	session = r->address + offsetof(struct vmspan_process, session);
	if (target_read(p->pid, session, &now, sizeof(now)))
		return;
	now++;
	b.same = !target_read(p->pid, r->address + offsetof(struct vmspan_process, pid), &pid,
			      sizeof(pid)) &&
		 pid == p->pid;
	target_read(p->pid, r->address + offsetof(struct vmspan_process, lost_threads), &r->lost,
		    sizeof(r->lost));
	mark_rings_ask(l, p, r);
	if (!target_write(p->pid, session, &now, sizeof(now)))
		each_ring(p->pid, r->address, ring_begins, &b);
}

void live_rings_end(struct live *l, struct process *p)
{
	u32 i;

	p->rings_begun = false;
	for (i = 0; i < p->registry_count; i++) {
		if (!p->registries[i].abi1 && p->registries[i].asked)
			set_latency(l, p, &p->registries[i], 0);
		p->registries[i].asked = false;
	}
}

struct reading {
	struct live *l;
	struct process *p;
	struct registry *r;
	struct handover by;
	bool goes_on; /* the trace does: what is handed over meanwhile comes */
	u64 until; /* cycles: later marks are not of the trace, but of others'; 0: there are no others */
};

/*
 * The marks of a ring from a position on, in memory of the caller's; `after` is its head once they
 * had been read. NULL: there is no memory, or it cannot be read, or another thread has it.
 */
static struct vmspan_mark *ring_copy(u32 pid, u64 at, const struct vmspan_ring *g, u64 from,
				     struct vmspan_ring *after)
{
	u64 size = g->mask + 1, bytes = g->head - from;
	u64 first = min_u64(bytes, size - (from & g->mask));
	struct vmspan_mark *marks = malloc(bytes);

	if (!marks || target_read(pid, g->base + (from & g->mask), marks, first) ||
	    (first < bytes && target_read(pid, g->base, (char *)marks + first, bytes - first)) ||
	    target_read(pid, at + VMSPAN_RING_AT, after, sizeof(*after)) ||
	    !mark_ring_is_one(after) || after->thread != g->thread) {
		free(marks);
		return NULL;
	}
	after->head += MARKS_UNCOUNTED * sizeof(*marks);
	return marks;
}

/* Of some marks, how many bytes were made by then. */
static u32 made_until(const struct vmspan_mark *marks, u32 bytes, u64 cycles)
{
	u32 i, n = bytes / sizeof(*marks);

	for (i = 0; i < n; i++)
		if (marks[i].type != VMSPAN_MARK_MORE && marks[i].type != VMSPAN_MARK_FILL &&
		    marks[i].cycles > cycles)
			break;
	return i * (u32)sizeof(*marks);
}

/* What threads could not mark that have no ring. */
static int tell_lost_threads(struct live *l, const struct process *p, struct registry *r)
{
	u32 now, n;

	if (target_read(p->pid, r->address + offsetof(struct vmspan_process, lost_threads), &now,
			sizeof(now)))
		return 0;
	n = now - r->lost;
	r->lost = now;
	return n && n <= INT32_MAX ? live_emit_loss(l, LOSS_NOT_MADE, n, 1) : 0;
}

/* The marks of a ring that have not been seen. */
static int ring_read_marks(void *ctx, u64 at, const struct vmspan_ring *g)
{
	struct reading *d = ctx;
	u64 *known = map_get(&d->r->rings, g->thread), from;
	struct vmspan_ring after;
	struct vmspan_mark *marks;
	u32 bytes;
	int e = 0;

	d->by.more_comes = d->goes_on && mark_ring_clock_comes(g, g->head);
	/* What has been handed over and never came is counted as lost already; or others have it,
	 * since the carrier is gone. */
	from = max_u64(g->start, mark_ring_oldest(g));
	if (!d->until)
		from = max_u64(from, g->handed);
	if (known)
		from = max_u64(from, ((struct ring_reader *)(uintptr_t)*known)->seen);
	if (from >= g->head)
		return 0;
	marks = ring_copy(d->p->pid, at, g, from, &after);
	if (!marks)
		return 0;
	bytes = (u32)(g->head - from);
	if (d->until)
		bytes = made_until(marks, bytes, d->until);
	/* What is older has been overwritten: it may have been of the trace. */
	if (!bytes && known && from > ((struct ring_reader *)(uintptr_t)*known)->seen)
		e = live_emit_loss(d->l, LOSS_READ_FAULT, 0, 1);
	d->by.more_comes = d->goes_on && mark_ring_clock_comes(&after, g->head);
	/* What has been overwritten meanwhile had been handed over before. */
	if (!d->goes_on || mark_ring_oldest(&after) <= from)
		e = mark_ring_take(d->l, d->p, d->r, &after, d->by, from, marks, bytes);
	free(marks);
	return e;
}

/* And what could not be marked. */
static int ring_read(void *ctx, u64 at, const struct vmspan_ring *g)
{
	struct reading *d = ctx;
	int e = ring_read_marks(ctx, at, g);
	u64 *known = map_get(&d->r->rings, g->thread);

	if (!e && known && !d->by.more_comes)
		e = mark_ring_end(d->l, d->p, d->r, g->thread,
				  (struct ring_reader *)(uintptr_t)*known);
	return e || !known ? e
			   : mark_ring_tell(d->l, d->p, d->r, g,
					    (struct ring_reader *)(uintptr_t)*known);
}

/* Of threads that ended as they were about to tell of their clock. */
static int take_kept(struct live *l, struct process *p, struct registry *r)
{
	u64 thread, value;
	size_t at = 0;

	while (!l->failed && map_next(&r->rings, &at, &thread, &value))
		mark_ring_end(l, p, r, (u32)thread, (struct ring_reader *)(uintptr_t)value);
	return l->failed;
}

/* How many blocks of the process are newer? None (0) also where it is no block. */
static u32 newer_than(const struct process *p, const struct registry *r)
{
	u32 i, newer = 0;

	if (r->abi1 || registry_is_numbers(r->address))
		return 0;
	for (i = (u32)(r - p->registries) + 1; i < p->registry_count; i++)
		newer += !registry_is_numbers(p->registries[i].address);
	return newer;
}

/* Does the kernel side know of it no more? It knows the newest blocks (marks_note()). Where a program has none itself,
 * each library that is loaded when no other is has a block of its own, and what is older has been unloaded; but not
 * what lies in namespaces of dlmopen(3). */
static bool is_left(const struct process *p, const struct registry *r)
{
	return newer_than(p, r) >= TRACED_REGISTRIES;
}

bool mark_rings_are_missed(const struct process *p, const struct registry *r)
{
	return is_left(p, r) && !r->read_out;
}

/* Will it know of it no more with the next one? Then there may be no time to read it. */
static bool is_oldest(const struct process *p, const struct registry *r)
{
	return newer_than(p, r) >= TRACED_REGISTRIES - 1;
}

static bool is_used(const struct process *p, const struct registry *r)
{
	const struct attachment *a;
	u64 address;
	bool abi1;

	/* Through which of its parent's attachments a child marks, is not known. */
	if (p->unlinked)
		return true;
	for (a = p->attachments; a; a = a->next)
		if (a->copy_seen && !target_definer(p->pid, a->copy_seen, &address, &abi1) &&
		    address == r->address)
			return true;
	return false;
}

void live_rings_tell(struct live *l, const struct process *p)
{
	u64 newest[TRACED_REGISTRIES];
	u32 i = p->registry_count, at = TRACED_REGISTRIES;

	while (at && i--)
		/* At a number nothing lies. */
		if (!registry_is_numbers(p->registries[i].address))
			newest[--at] = p->registries[i].address |
				       (p->registries[i].abi1 ? 0 : TRACED_MARKS);
	tracer_registries(l->t, p->pid, newest + at, TRACED_REGISTRIES - at);
	live_rings_left(l, p);
}

void live_rings_left(struct live *l, const struct process *p)
{
	if (p->registry_count < TRACED_REGISTRIES)
		return;
	l->rings_left = true;
	l->rings_ns = 0;
}

/* A child that shares its parent's memory (vfork) finds its rings there: who reads them both has them
 * twice. Only then are they left out: a number that is nobody's here says nothing. */
static bool is_the_parents(const struct live *l, const struct process *p, const struct registry *r)
{
	u64 at = r->address + offsetof(struct vmspan_process, pid);
	const struct process *q = p;
	u32 pid, up;

	if (target_read(p->pid, at, &pid, sizeof(pid)) || !pid || threads_own_number(p->pid) == pid)
		return false;
	/* Numbers are given again: the way up may be a circle. */
	for (up = 0; up < 8 && (q = process_find(l, q->ppid)); up++)
		if (threads_own_number(q->pid) == pid)
			return true;
	return false;
}

int live_rings_read(struct live *l, struct process *p, struct registry *r)
{
	struct reading d = { .l = l, .p = p, .r = r };

	if (!r->abi1 && others_trace(p, r))
		d.until = l->detached ? l->last.cycles : l->parts[TRACE_TURNS].off;
	if (r->abi1 || is_the_parents(l, p, r))
		return 0;
	if (each_ring(p->pid, r->address, ring_read, &d) || tell_lost_threads(l, p, r))
		return l->failed;
	return take_kept(l, p, r);
}

static struct ring_reader *reader_of(const struct registry *r, u32 tid)
{
	const u64 *thread = map_get(&r->tids, tid);
	const u64 *at = thread ? map_get(&r->rings, *thread) : NULL;

	return at ? (struct ring_reader *)(uintptr_t)*at : NULL;
}

static void is_over(struct ring_reader *t, u64 mono_ns, const char *name)
{
	t->over_ns = mono_ns;
	snprintf(t->over_name, sizeof(t->over_name), "%s", name);
}

void live_rings_thread_over(const struct registry *r, u32 tid, u64 mono_ns, const char *name)
{
	struct ring_reader *t = reader_of(r, tid);

	if (!t)
		return;
	is_over(t, mono_ns, name);
	t->last = true;
}

int live_rings_thread_end(struct live *l, struct process *p, struct registry *r, u32 tid,
			  u64 mono_ns, const char *name)
{
	const u64 *thread = map_get(&r->tids, tid);
	struct ring_reader *t = reader_of(r, tid);
	/* It has not handed over what the scheduler did to it. */
	struct reading d = { .l = l, .p = p, .r = r, .by.no_sched = l->s.info.exact };
	struct vmspan_ring g;
	int e = 0;

	if (!t)
		return 0;
	is_over(t, mono_ns, name);
	/* Else another thread has taken it over, or the process is gone: the rest comes by itself. */
	if (target_read(p->pid, t->at + VMSPAN_RING_AT, &g, sizeof(g)) || !mark_ring_is_one(&g) ||
	    g.thread != *thread)
		return 0;
	/* In exact mode it has handed all of it over at its end, where it could. */
	if (!l->s.info.exact || !l->tails || is_left(p, r))
		e = ring_read(&d, t->at, &g);
	else if (!(e = mark_ring_end(l, p, r, g.thread, t) ?: mark_ring_tell(l, p, r, &g, t)))
		t->seen = g.head;
	if (e || t->seen < g.head)
		return e;
	e = mark_ring_let_go(l, p, r, g.thread, t)
		    ?: mark_ring_unfinished(l, p, r, t, UNFINISHED_THREAD, mono_ns);
	mark_ring_reader_end(r, g.thread);
	return e;
}

bool live_rings_thread_lags(const struct registry *r, u32 tid)
{
	const struct ring_reader *t = reader_of(r, tid);

	return t && t->over_ns;
}

int live_rings_process_end(struct live *l, struct process *p)
{
	u64 tid, thread;
	size_t at;
	u32 i;

	for (i = 0; i < p->registry_count && !l->failed; i++) {
		const struct registry *r = &p->registries[i];
		bool left = is_left(p, r);

		/* Else what they held has been read at the end. */
		if (take_kept(l, p, &p->registries[i]) || r->read_out || (l->tails && !left))
			continue;
		at = 0;
		while (map_next(&r->tids, &at, &tid, &thread))
			/* The first one has mostly handed over as it left the program. */
			if (tid != p->pid || left)
				live_emit_loss(l, LOSS_READ_FAULT, 0, 1);
	}
	return l->failed;
}

/* ---- While the trace goes on ---- */

/*
 * Has all come that the thread handed over? What has not is in the ring buffer still, or was lost:
 * it was if the buffer has since been drained of all that was in it.
 */
static bool all_has_come(struct live *l, struct ring_reader *t, const struct vmspan_ring *g)
{
	if (t->seen >= g->handed)
		return true;
	if (t->missing == g->handed)
		return ring_drained(&l->ring) >= t->missing_end;
	t->missing = g->handed;
	t->missing_end = ring_reserved(&l->ring);
	return false;
}

bool mark_ring_head(const struct process *p, u64 thread, const struct ring_reader *t,
		    struct vmspan_ring *g)
{
	return !target_read(p->pid, t->at + VMSPAN_RING_AT, g, sizeof(*g)) && mark_ring_is_one(g) &&
	       g->thread == thread;
}

/* A round of looks, which may take several: others wait meanwhile. */
struct round {
	u64 end_ns; /* of this look */
	u32 skip; /* rings that the looks before have seen */
	u32 seen;
	bool over;
};

/* `whole` is cleared where not all that is in the ring has been taken. */
static int look_at_ring(struct reading *d, u64 thread, struct ring_reader *t, bool *whole)
{
	struct vmspan_ring g;
	bool come = mark_ring_head(d->p, thread, t, &g) && all_has_come(d->l, t, &g);
	int e = come ? ring_read(d, t->at, &g) : 0;

	*whole &= come && t->seen >= g.head;
	return e;
}

static int look_at(struct live *l, struct process *p, struct registry *r, struct round *k)
{
	struct reading d = {
		.l = l, .p = p, .r = r, .goes_on = true, .by.no_sched = l->s.info.exact
	};
	bool whole = is_oldest(p, r) && !is_used(p, r);
	/* What the scheduler did comes with the thread's own marks, where it makes any still. */
	bool reads = !l->s.info.exact || whole;
	u64 thread, value;
	size_t at = 0;
	int e = 0;

	if (r->read_out)
		return 0;
	while (!e && !k->over && map_next(&r->rings, &at, &thread, &value)) {
		struct ring_reader *t = (struct ring_reader *)(uintptr_t)value;

		if (k->seen++ < k->skip) {
			whole = false;
			continue;
		}
		k->over = clock_mono_ns() >= k->end_ns;
		if (reads)
			e = look_at_ring(&d, thread, t, &whole);
		else if (t->held_ns)
			e = mark_ring_tell_made(l, p, r, (u32)thread, t);
	}
	r->read_out = whole && !e && !k->over;
	return e || r->abi1 || !reads ? e : tell_lost_threads(l, p, r);
}

int live_rings_read_out(struct live *l, struct process *p)
{
	struct round k = { .end_ns = clock_mono_ns() + RINGS_LOOK_MAX_NS };
	u32 i;

	for (i = 0; i < p->registry_count && l->parts[TRACE_TURNS].on; i++)
		if (is_oldest(p, &p->registries[i]) && look_at(l, p, &p->registries[i], &k))
			return l->failed;
	return 0;
}

int live_rings_look(struct live *l, u64 now)
{
	u64 began = clock_mono_ns(), key, value;
	struct round k = { .end_ns = began + RINGS_LOOK_MAX_NS, .skip = l->rings_seen };
	size_t at = 0;
	bool any = false, left = false;
	u32 i;

	if (now < live_rings_next(l))
		return 0;
	while (map_next(&l->processes, &at, &key, &value)) {
		struct process *p = (struct process *)(uintptr_t)value;

		for (i = 0; i < p->registry_count; i++) {
			any |= p->registries[i].rings.len > 0;
			if (l->parts[TRACE_TURNS].on && look_at(l, p, &p->registries[i], &k))
				return l->failed;
			left |= !p->registries[i].read_out && is_oldest(p, &p->registries[i]);
		}
	}
	l->rings_left = left;
	l->rings_seen = k.over ? k.seen : 0;
	l->rings_ns =
		!any ? UINT64_MAX : now + max_u64(RINGS_LOOK_NS, 20 * (clock_mono_ns() - began));
	return 0;
}

u64 live_rings_next(const struct live *l)
{
	return l->s.info.exact && !l->rings_held && !l->rings_left ? UINT64_MAX : l->rings_ns;
}

/* ---- What is open ---- */

bool mark_ring_now(const struct process *p, const struct ring_reader *t,
		   const struct vmspan_ring *g, struct marks *m)
{
	u64 from = max_u64(t->seen, mark_ring_oldest(g)), oldest, at;
	struct vmspan_mark *marks;
	struct vmspan_ring after;
	int e = marks_fork(m, &t->m);

	if (e)
		return false;
	/* As mark_ring_take() has it. */
	if (g->flags & VMSPAN_RING_PLAIN)
		marks_untold(m);
	if (from >= g->head) {
		e = marks_take(m, NULL, 0, false);
		if (e)
			marks_free(m);
		return !e;
	}
	marks = ring_copy(p->pid, t->at, g, from, &after);
	oldest = marks ? mark_ring_oldest(&after) : 0;
	at = max_u64(from, oldest);
	if (marks && at < g->head) {
		if (at > t->seen)
			marks_gap(m, (at - t->seen) / sizeof(*marks));
		e = marks_take(m, marks + (at - from) / sizeof(*marks),
			       (u32)((g->head - at) / sizeof(*marks)), false);
	}
	if (!marks || at >= g->head || e) {
		marks_free(m);
		e = -EAGAIN;
	}
	free(marks);
	return !e;
}

void live_rings_open(const struct process *p, const struct registry *r, u32 *most,
		     bool (*fn)(void *ctx, u32 tid, const struct marks *m), void *ctx)
{
	struct vmspan_ring g;
	u64 thread, value;
	struct marks m;
	size_t at = 0;
	bool more = true;

	while (more && *most && map_next(&r->rings, &at, &thread, &value)) {
		const struct ring_reader *t = (const struct ring_reader *)(uintptr_t)value;

		--*most;
		if (!mark_ring_head(p, thread, t, &g) || (g.head <= t->seen && !t->m.depth) ||
		    !mark_ring_now(p, t, &g, &m))
			continue;
		more = fn(ctx, g.tid, &m);
		marks_free(&m);
	}
}
