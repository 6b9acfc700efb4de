/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stock VMs: events that go on for long, while they do. The kernel side says which event each thread is in; the looks at
 * its stack have come already. So the records that would come if all of that ended now are made as those are that do
 * come, of a copy of what is known of the thread, and handed out together.
 */
#include "source/live_vm_int.h"

#include "attach/vm.h"

#include <errno.h>
#include <string.h>

/* The event that the records end with; NULL: none. In *stay what of the statement's is open, 0: it is none. */
static const struct vmspan_event *event_of(const struct vm_told *told, u32 *stay)
{
	const u8 *p = told->data.data, *end = p + told->data.len;
	const struct vmspan_head *last = NULL;

	*stay = 0;
	for (; p < end; p += (size_t)last->slots * VMSPAN_SLOT) {
		last = (const void *)p;
		if (last->type == VMSPAN_SPAN)
			*stay = last->id;
	}
	return last && last->type == VMSPAN_EVENT ? (const void *)last : NULL;
}

static int hand_out(struct live *l, const struct process *p, const struct vm_stream *s, u32 tid,
		    const struct vm_told *told)
{
	struct item it = { .type = ITEM_OPEN, .open.off = VMSPAN_OFF_SLEEPING };
	u32 stay;
	const struct vmspan_event *e = event_of(told, &stay);

	/* What was before the last wait for work has been told of. */
	if (!e || e->mono_end - e->mono_begin < OPEN_LEAST_NS)
		return 0;
	it.open.batch = (struct item_batch){
		.pid = p->pid,
		.tid = tid,
		.registry = VM_REGISTRY,
		.thread = tid,
		.seq = s->seq,
		.records = told->records,
		.bytes = (u32)told->data.len,
		.data = told->data.data,
	};
	it.open.what = (struct item_unfinished){
		.pid = p->pid,
		.tid = tid,
		.registry = VM_REGISTRY,
		.event = true,
		.label = e->label,
		.begin_ns = e->mono_begin,
		.until_ns = e->mono_end,
		.depth = stay != 0,
		.stay_count = stay != 0,
		.stay = { stay },
		.stay_ns = { e->mono_begin },
	};
	return live_emit(l, &it);
}

/* What the kernel side says of a thread. */
struct vm_open {
	struct wire_open o;
	struct wire_turn turn;
};

/* Statements have no looks: their waits are told when they have ended, and so is this one. */
static void make_wait(struct live *l, struct process *p, struct vm_stream *copy,
		      const struct vm_open *w)
{
	const struct wire_stay wait = { .h = w->turn.h,
					.begin = max_u64(w->o.waits_since, w->turn.begin),
					.end = w->turn.end,
					.iteration = w->turn.iteration };

	if (w->turn.kind == TURN_STATEMENT && w->o.waits_since && wait.begin <= wait.end)
		statement_take_wait(l, p, copy, &wait);
}

/* The kernel side divides stays on the CPU at the first look behind 0.1 s, but not in a collection, and who has no CPU
 * is not looked at. */
#define PIECE_MOST_NS (200 * NSEC_PER_MSEC)

static bool is_long(const struct vm_open *w)
{
	return w->turn.end - w->turn.begin >= PIECE_MOST_NS;
}

/* What collects is told of at its end, and has been told of as far as it lay in events that have ended. */
static u32 collections_of(const struct vm_open *w, struct wire_stay to[2])
{
	const struct {
		u64 since;
		enum stay_part part;
	} kinds[] = { { w->o.gc_since, STAY_DIVIDED }, { w->o.sweep_since, STAY_PART } };
	const struct wire_turn *t = &w->turn;
	u32 i, n = 0;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].since && kinds[i].since < t->end)
			to[n++] = (struct wire_stay){
				.h = { .kind = WIRE_VM_GC,
				       .bytes = sizeof(*to) - sizeof(to->h),
				       .pid = t->h.pid,
				       .tid = t->h.tid },
				.begin = max_u64(kinds[i].since, t->begin),
				.end = t->end,
				.iteration = t->iteration,
				.cpu_begin = t->cpu_begin,
				.cpu_end = t->cpu_end,
				.part = kinds[i].part,
			};
	return n;
}

/* Makes the records. `w`: what the kernel side says; NULL: a pool's thread that waits between its stays on the CPU. */
static int make(struct live *l, struct process *p, struct vm_stream *copy, const struct vm_open *w,
		u64 now)
{
	struct wire_stay gc[2];
	u32 i, n = w ? collections_of(w, gc) : 0;

	if (!w || w->turn.kind == TURN_BURST) {
		int r = stays_open(l, p, copy, w ? &w->turn : NULL, gc, n, now);

		if (r || !w || l->vm_told->data.len || !is_long(w))
			return r;
	}
	for (i = 0; i < n; i++)
		if (vm_take(l, p, copy, &gc[i].h))
			return l->failed;
	make_wait(l, p, copy, w);
	return waits_open(l, p, copy, &w->turn) ?: vm_take(l, p, copy, &w->turn.h);
}

/* Names that come to light are told of before it: so the process is, and before those. */
static int tell(struct live *l, struct process *p, const struct vm_stream *s, u32 tid,
		const struct vm_open *w, u64 now)
{
	struct vm_stream copy = *s;
	struct vm_told told = { 0 };

	if (process_tell(l, p) || process_thread(l, p, tid))
		return l->failed;
	if (!waits_copy(&copy))
		return l->failed = -ENOMEM;
	l->vm_told = &told;
	make(l, p, &copy, w, now);
	l->vm_told = NULL;
	if (!l->failed)
		hand_out(l, p, s, tid, &told);
	buf_free(&told.data);
	waits_free(&copy);
	return l->failed;
}

/* One time: threads that it has come to, in one order each time, and those that were reached before are left out. */
struct look {
	struct live *l;
	u64 end_ns;
	u32 skip, seen;
	bool over;
	struct map told; /* thread -> 1, of those that the kernel side has told of */
};

/* One at least, however busy the machine is. */
static bool is_next(struct look *k)
{
	if (k->seen++ < k->skip)
		return false;
	k->over = k->seen - 1 > k->skip && clock_mono_ns() >= k->end_ns;
	return !k->over;
}

/* Of the others what is known here has not changed since. */
static int tell_waiting(struct look *k)
{
	u64 now = clock_mono_ns(), key, value, tid;
	struct live *l = k->l;
	size_t at = 0, in;

	while (l->vm_kept && map_next(&l->processes, &at, &key, &value)) {
		struct process *p = (struct process *)(uintptr_t)value;

		for (in = 0; p->vm_state && map_next(&p->vm_state->streams, &in, &tid, &value);) {
			const struct vm_stream *s = (const void *)(uintptr_t)value;

			if (!s->stays || map_get(&k->told, tid))
				continue;
			if (is_next(k) && tell(l, p, s, (u32)tid, NULL, now))
				return l->failed;
			if (k->over)
				return 0;
		}
	}
	return 0;
}

static int tell_turn(struct look *k, const struct vm_open *w)
{
	struct process *p = process_find(k->l, w->turn.h.pid);
	u32 tid = w->turn.h.tid;
	const u64 *at = p && p->vm_state ? map_get(&p->vm_state->streams, tid) : NULL;
	const struct vm_stream none = { 0 };

	if (!p || !p->vm_profile || !vm_state_of(p))
		return 0;
	if (map_put(&k->told, tid, 1))
		return k->l->failed = -ENOMEM;
	/* A stay that is of no pool's is soon told of, or it is long. */
	if (w->turn.kind == TURN_BURST && !is_long(w) &&
	    !(at && ((const struct vm_stream *)(uintptr_t)*at)->stays))
		return 0;
	if (!is_next(k))
		return 0;
	return tell(k->l, p, at ? (const void *)(uintptr_t)*at : &none, tid, w, w->turn.end);
}

/* `turns`: as vm_open_turns() has them. */
static int tell_turns(struct look *k, const struct buf *turns)
{
	const size_t least = sizeof(struct wire_open) + WIRE_TURN_BARE;
	struct vm_open w;
	size_t at, bytes;

	for (at = 0; at + least <= turns->len && !k->over; at += bytes) {
		memset(&w, 0, sizeof(w));
		memcpy(&w, turns->data + at, least);
		bytes = sizeof(w.o) + sizeof(w.turn.h) + w.turn.h.bytes;
		if (bytes > sizeof(w) || at + bytes > turns->len)
			break;
		memcpy(&w, turns->data + at, bytes);
		if (tell_turn(k, &w))
			break;
	}
	return k->l->failed;
}

static bool has_vms(const struct live *l)
{
	u64 key, value;
	size_t at = 0;

	while (map_next(&l->processes, &at, &key, &value))
		if (((const struct process *)(uintptr_t)value)->vm_profile)
			return true;
	return false;
}

/* For so long at one time: all that is kept of threads is gone through once more, 32 MB at most. Who is not reached is in
 * no figure until the next time, which goes on behind those that were. */
#define LOOK_NS (250 * NSEC_PER_MSEC)

int live_vm_tell_open(struct live *l)
{
	struct look k = { .l = l, .end_ns = clock_mono_ns() + LOOK_NS, .skip = l->vm_open_seen };
	struct buf turns = { 0 };

	/* Of calls that are measured one by one there are no looks that have come. */
	if (l->failed || l->calls || !has_vms(l))
		return l->failed;
	/* Where the kernel does not say it, it is told of when it has ended. */
	if (!vm_open_turns(l->t, clock_mono_ns() - OPEN_LEAST_NS, &turns) &&
	    !tell_turns(&k, &turns) && !k.over)
		tell_waiting(&k);
	l->vm_open_seen = k.over ? k.seen - 1 : 0;
	buf_free(&turns);
	map_free(&k.told);
	return l->failed;
}
