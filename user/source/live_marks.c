/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks of threads -> items. They come by the ring buffer, or are read from a thread's ring in
 * the target's memory; a position that has been seen is taken no second time, whichever
 * way it came. All of it is the target's: sizes are checked, addresses are only read from.
 */
#include "source/live_mark_rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static u64 ns_of(void *ctx, u64 cycles)
{
	return live_mono_ns(ctx, cycles);
}

bool mark_ring_is_one(const struct vmspan_ring *g)
{
	return g->magic == VMSPAN_MAGIC && g->abi == VMSPAN_ABI && g->base && g->thread &&
	       g->mask < WIRE_RING_MAX && !(g->mask & (g->mask + 1)) &&
	       g->mask + 1 >= sizeof(struct vmspan_mark) &&
	       !(g->head % sizeof(struct vmspan_mark)) &&
	       !(g->start % sizeof(struct vmspan_mark)) && g->start <= g->head &&
	       g->handed <= g->head;
}

/* All has come of a thread, since another has its ring. 0, or l->failed. */
static int reader_over(struct live *l, struct process *p, struct registry *r, u32 thread,
		       struct ring_reader *t)
{
	u64 ended_ns = t->over_ns ? t->over_ns : clock_mono_ns();
	const u64 *known = map_get(&r->tids, t->tid);

	if (mark_ring_let_go(l, p, r, thread, t) ||
	    mark_ring_unfinished(l, p, r, t, UNFINISHED_THREAD, ended_ns))
		return l->failed;
	/* Its number may be another's by now. */
	if (t->over_ns && known && *known == thread)
		process_thread_ended(l, p, t->tid, ended_ns, t->over_name);
	mark_ring_reader_end(r, thread);
	return l->failed;
}

/* All of its marks are of this trace. tid as in struct handover. */
static struct ring_reader *reader_new(struct live *l, struct process *p, struct registry *r,
				      const struct vmspan_ring *g, u32 tid)
{
	struct ring_reader *t;
	const u64 *before, *old;

	if (r->rings.len >= RINGS_MAX)
		return NULL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	marks_init(&t->m, ns_of, l);
	t->m.switches = l->switches;
	t->m.unplaced = mark_ring_was_there(p, tid ? tid : g->tid);
	t->seen = g->start;
	t->tid = g->tid;
	/* Whatever this says, it is only read from. */
	t->at = g->base - VMSPAN_RING_DATA - VMSPAN_RING_AT;
	/* Who has taken a ring over has handed over all that was left in it before. */
	before = map_get(&r->places, t->at);
	old = before ? map_get(&r->rings, *before) : NULL;
	if (old && reader_over(l, p, r, (u32)*before, (struct ring_reader *)(uintptr_t)*old)) {
		free(t);
		return NULL;
	}
	if (map_put(&r->rings, g->thread, (u64)(uintptr_t)t) ||
	    map_put(&r->places, t->at, g->thread)) {
		map_del(&r->rings, g->thread);
		free(t);
		return NULL;
	}
	if (l->rings_ns == UINT64_MAX)
		l->rings_ns = clock_mono_ns() + RINGS_LOOK_NS;
	return t;
}

struct ring_reader *mark_ring_reader_of(struct live *l, struct process *p, struct registry *r,
					const struct vmspan_ring *g, u32 tid)
{
	u64 *at = map_get(&r->rings, g->thread), *known;
	struct ring_reader *t =
		at ? (struct ring_reader *)(uintptr_t)*at : reader_new(l, p, r, g, tid);

	if (!t || !tid)
		return t;
	t->tid = tid;
	known = map_get(&r->tids, tid);
	return (known && *known == g->thread) || !map_put(&r->tids, tid, g->thread) ? t : NULL;
}

static void reader_free(struct ring_reader *t)
{
	marks_free(&t->m);
	free(t);
}

void mark_ring_reader_end(struct registry *r, u32 thread)
{
	u64 *at = map_get(&r->rings, thread), *known;
	struct ring_reader *t = at ? (struct ring_reader *)(uintptr_t)*at : NULL;

	if (!t)
		return;
	if (r->ended.len >= ENDED_MAX) {
		map_free(&r->ended_before);
		r->ended_before = r->ended;
		memset(&r->ended, 0, sizeof(r->ended));
	}
	map_put(&r->ended, thread, t->seen);
	map_del(&r->rings, thread);
	/* Its number may be another's by now. */
	known = map_get(&r->tids, t->tid);
	if (known && *known == thread)
		map_del(&r->tids, t->tid);
	known = map_get(&r->places, t->at);
	if (known && *known == thread)
		map_del(&r->places, t->at);
	reader_free(t);
}

/* How far the ring of a thread that has ended was read; NULL: it has not. */
static const u64 *ended_at(const struct registry *r, u32 thread)
{
	const u64 *at = map_get(&r->ended, thread);

	return at ? at : map_get(&r->ended_before, thread);
}

void live_rings_free(struct registry *r)
{
	u64 key, value;
	size_t at = 0;

	while (map_next(&r->rings, &at, &key, &value))
		reader_free((struct ring_reader *)(uintptr_t)value);
	map_free(&r->rings);
	map_free(&r->tids);
	map_free(&r->places);
	map_free(&r->ended);
	map_free(&r->ended_before);
}

u32 mark_ring_lost(const struct ring_reader *t, const struct vmspan_ring *g)
{
	u32 n = g->lost - t->lost_before;

	return n - t->lost_told > INT32_MAX ? t->lost_told : n;
}

/* Hands out the records that have been made of marks, and the counts of those of which none was: behind
 * these there may be no record any more. */
int mark_ring_tell(struct live *l, struct process *p, struct registry *r,
		   const struct vmspan_ring *g, struct ring_reader *t)
{
	struct item it = { .type = ITEM_BATCH };
	struct batch_sum sum;
	u32 bytes = (u32)t->m.out.len, lost = mark_ring_lost(t, g);

	if (mark_ring_begun_before(l, p, t,
				   t->m.too_deep == t->too_deep_told &&
					   t->m.no_ids == t->no_ids_told && lost == t->lost_told))
		return l->failed;
	if (!t->m.records && t->m.seq == t->seq_told && t->m.unmatched == t->unmatched_told &&
	    t->m.too_deep == t->too_deep_told && t->m.no_ids == t->no_ids_told &&
	    lost == t->lost_told)
		return 0;
	if (batch_sum(t->m.out.data, bytes, t->m.records, &sum) || process_tell(l, p) ||
	    live_marked(l, p) || process_thread(l, p, t->tid) ||
	    live_define(l, p, r, t->m.out.data, bytes, &sum))
		return l->failed;
	/* Names are read at once all the same: later there may be nothing to read them from. */
	if (mark_ring_holds_back(l, t))
		return 0;
	it.batch = (struct item_batch){
		.pid = p->pid,
		.tid = t->tid,
		.registry = r->address,
		.thread = g->thread,
		.seq = t->m.seq,
		.records = t->m.records,
		.bytes = bytes,
		.data = t->m.out.data,
		.too_deep = t->m.too_deep,
		.unmatched = t->m.unmatched,
		.repaired = t->m.repaired,
		.in_mark = lost + t->m.no_ids,
	};
	if (t->lost_told != lost || t->too_deep_told != it.batch.too_deep ||
	    t->no_ids_told != t->m.no_ids)
		marks_lost(&t->m);
	t->lost_told = lost;
	t->no_ids_told = t->m.no_ids;
	t->unmatched_told = it.batch.unmatched;
	t->too_deep_told = it.batch.too_deep;
	t->seq_told = it.batch.seq + it.batch.records;
	live_emit(l, &it);
	marks_taken(&t->m);
	buf_free(&t->m.out); /* of each of ten thousand threads it would be much */
	return l->failed;
}

/* Spans without what the scheduler did to them would pass for whole. */
static int lose(struct live *l, struct process *p, struct registry *r, const struct vmspan_ring *g,
		struct ring_reader *t, u64 bytes)
{
	u64 n = bytes / sizeof(struct vmspan_mark);

	marks_gap(&t->m, n);
	/* That they are missing, and what could not be marked: nothing else may follow. */
	return live_emit_loss(l, LOSS_NO_SCHED, n, 1) ?: mark_ring_tell(l, p, r, g, t);
}

/* What comes first is number 0, or nobody knew that something before it is missing. */
static int begin_stream(struct live *l, struct process *p, struct registry *r, u32 thread,
			const struct ring_reader *t)
{
	struct item it = { .type = ITEM_BATCH };

	if (t->m.seq || t->m.records)
		return 0;
	if (process_tell(l, p) || process_thread(l, p, t->tid))
		return l->failed;
	it.batch = (struct item_batch){ .pid = p->pid,
					.tid = t->tid,
					.registry = r->address,
					.thread = thread,
					.too_deep = t->too_deep_told,
					.unmatched = t->unmatched_told,
					.in_mark = t->lost_told + t->no_ids_told };
	return live_emit(l, &it);
}

/* Marks from a position on. What lies further back than the ring is long has been overwritten
 * before it was read: it is missing. */
int mark_ring_take(struct live *l, struct process *p, struct registry *r,
		   const struct vmspan_ring *g, struct handover by, u64 from,
		   const struct vmspan_mark *marks, u32 bytes)
{
	const u64 *ended = ended_at(r, g->thread);
	u64 end = from + bytes, at, clocks;
	struct ring_reader *t;

	/* The next on its ring hands over what was read at its end, as does the end of the process. */
	if (ended && end <= *ended)
		return 0;
	t = ended ? NULL : mark_ring_reader_of(l, p, r, g, by.tid);
	if (l->failed)
		return l->failed;
	if (!t)
		return live_emit_loss(l, LOSS_LIMIT, bytes / sizeof(*marks), 1);
	/* Without rseq it looks at its clock at the ends of events alone. */
	if (g->flags & VMSPAN_RING_PLAIN)
		marks_untold(&t->m);
	at = max_u64(max_u64(t->seen, from), mark_ring_oldest(g));
	if (at >= end || at % sizeof(*marks))
		return 0;
	if ((at > t->seen || by.no_sched) &&
	    (mark_ring_let_go(l, p, r, g->thread, t) || begin_stream(l, p, r, g->thread, t)))
		return l->failed;
	if (at > t->seen)
		marks_gap(&t->m, (at - t->seen) / sizeof(*marks));
	t->seen = end;
	if (live_marked(l, p))
		return l->failed;
	l->cost.marks += (end - at) / sizeof(*marks);
	clocks = t->m.clocks;
	if (by.no_sched)
		return lose(l, p, r, g, t, end - at);
	if (marks_take(&t->m, marks + (at - from) / sizeof(*marks),
		       (u32)((end - at) / sizeof(*marks)), by.more_comes))
		return l->failed = -ENOMEM;
	l->cost_clocks += t->m.clocks - clocks;
	return mark_ring_tell(l, p, r, g, t);
}

int mark_ring_tell_made(struct live *l, struct process *p, struct registry *r, u32 thread,
			struct ring_reader *t)
{
	const struct vmspan_ring g = { .thread = thread, .lost = t->lost_before + t->lost_told };

	return mark_ring_tell(l, p, r, &g, t);
}

int mark_ring_end(struct live *l, struct process *p, struct registry *r, u32 thread,
		  struct ring_reader *t)
{
	if (marks_take(&t->m, NULL, 0, false))
		return l->failed = -ENOMEM;
	return mark_ring_tell_made(l, p, r, thread, t);
}

int mark_ring_let_go(struct live *l, struct process *p, struct registry *r, u32 thread,
		     struct ring_reader *t)
{
	t->held_enough = true;
	return mark_ring_end(l, p, r, thread, t);
}

static int malformed(struct live *l, u32 marks)
{
	return live_emit_loss(l, LOSS_MALFORMED, marks, 1);
}

int live_marks(struct live *l, const struct wire_head *h, size_t size)
{
	const struct wire_marks *w = (const void *)h;
	struct registry *r;
	struct process *p;
	struct handover by;
	u32 n;

	if (size < sizeof(*w) || w->bytes > size - sizeof(*w) ||
	    w->bytes % sizeof(struct vmspan_mark))
		return malformed(l, 0);
	n = w->bytes / sizeof(struct vmspan_mark);
	if (!mark_ring_is_one(&w->ring) || w->from % sizeof(struct vmspan_mark) ||
	    w->from + w->bytes > w->ring.head || w->from + w->bytes < w->from)
		return malformed(l, n);
	p = live_process_of(l, h->pid);
	if (l->failed)
		return l->failed;
	r = p ? live_registry_at(p, w->ring.process, false) : NULL;
	if (!r)
		return live_emit_loss(l, live_unplaced(p), n, 1);
	if (!r->asked) {
		mark_rings_ask(l, p, r);
		live_rings_left(l, p);
	}
	l->cost.traps += !w->foreign;
	by.tid = w->foreign ? 0 : h->tid;
	by.no_sched = w->foreign && l->s.info.exact;
	by.more_comes = mark_ring_clock_comes(&w->ring, w->from + w->bytes);
	return mark_ring_take(l, p, r, &w->ring, by, w->from, (const void *)(w + 1), w->bytes);
}

int live_definition(struct live *l, const struct wire_head *h, size_t size)
{
	const struct wire_definition *w = (const void *)h;
	struct batch_sum sum;
	struct registry *r;
	struct process *p;
	struct item it = { .type = ITEM_DEFS };

	if (size < sizeof(*w) || w->bytes > size - sizeof(*w) ||
	    batch_sum(w + 1, w->bytes, 1, &sum) || sum.defs != 1)
		return malformed(l, 1);
	p = live_process_of(l, h->pid);
	if (l->failed)
		return l->failed;
	r = p ? live_registry_at(p, w->process, false) : NULL;
	if (!r)
		return live_emit_loss(l, live_unplaced(p), 1, 1);
	/* It may name groups whose definitions were lost. */
	if (live_define(l, p, r, w + 1, w->bytes, &sum))
		return l->failed;
	it.defs = (struct item_defs){
		.pid = p->pid, .registry = r->address, .data = w + 1, .bytes = w->bytes
	};
	return live_emit(l, &it);
}
