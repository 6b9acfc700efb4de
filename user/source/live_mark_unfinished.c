/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What threads are in, as their marks tell, and will not be heard to leave: at the end of the trace, of a process or of a
 * thread.
 */
#include "source/live_mark_rings.h"

/* What is open above some stays, as of `until_ns`; whose it is is not filled in. */
static void fill_stays(struct item_unfinished *u, const struct marks *m, u32 base, u64 until_ns)
{
	u32 depth = m->depth - base, i;
	u32 from = m->depth - (u32)min_u64(depth, UNFINISHED_STAYS);
	u64 before;

	u->until_ns = until_ns;
	u->depth = depth;
	u->stay_count = m->depth - from;
	u->begin_ns = u->event ? m->event[0].mono : m->ns(m->ns_ctx, m->open[base].begin);
	u->begin_ns = before = min_u64(u->begin_ns, until_ns);
	for (i = 0; i < u->stay_count; i++) {
		const struct marks_open *o = &m->open[from + i];

		u->stay[i] = o->id;
		u->stay_ns[i] = min_u64(max_u64(m->ns(m->ns_ctx, o->begin), before), until_ns);
		before = u->stay_ns[i];
	}
}

void mark_ring_is_in(struct item_unfinished *u, const struct marks *m, u64 until_ns)
{
	/* What is around an event has been open for longer. */
	u->event = m->events && (!m->event[0].base || m->open[0].id >= VMSPAN_ID_MARKS);
	u->label = u->event ? m->event[0].label : 0;
	fill_stays(u, m, u->event ? m->event[0].base : 0, until_ns);
}

int mark_ring_unfinished(struct live *l, struct process *p, struct registry *r,
			 const struct ring_reader *t, enum unfinished_why why, u64 until_ns)
{
	const struct marks *m = &t->m;
	u32 base = m->events ? m->event[0].base : 0;
	bool by_thread = t->over_ns && !t->last;
	struct item it = { .type = ITEM_UNFINISHED };

	/* Where marks are missing it may have ended. That they are, is told. */
	if ((!m->events && m->depth == base) || m->doubtful)
		return 0;
	/* Nothing else may have been heard of them. */
	if (process_tell(l, p) || process_thread(l, p, t->tid) ||
	    ((why == UNFINISHED_TRACE || why == UNFINISHED_THREAD) && registry_read(l, p, r)))
		return l->failed;
	it.unfinished = (struct item_unfinished){
		.pid = p->pid,
		.tid = t->tid,
		.registry = r->address,
		.why = by_thread ? UNFINISHED_THREAD : why,
		.event = m->events,
		.label = m->events ? m->event[0].label : 0,
	};
	fill_stays(&it.unfinished, m, base, by_thread ? t->over_ns : until_ns);
	return live_emit(l, &it);
}

/* Is its next mark of a time when the trace had ended? Others may trace on. */
static bool next_is_later(const struct live *l, const struct process *p,
			  const struct ring_reader *t, const struct vmspan_ring *g)
{
	struct vmspan_mark m;

	return l->detached && t->seen >= mark_ring_oldest(g) &&
	       !target_read(p->pid, g->base + (t->seen & g->mask), &m, sizeof(m)) &&
	       m.type != VMSPAN_MARK_FILL && m.type != VMSPAN_MARK_MORE &&
	       m.cycles > l->last.cycles;
}

/* Has all that the thread has made come here? Of a process that is gone its end has told, where the
 * kernel has a place for that, of the blocks that the kernel side knew; else its first thread mostly has handed
 * over. */
static bool is_whole(const struct live *l, const struct process *p, const struct registry *r,
		     const struct ring_reader *t, u32 thread, enum unfinished_why why)
{
	struct vmspan_ring g;

	if (why != UNFINISHED_TRACE)
		return (l->tails || t->tid == p->pid) && !mark_rings_are_missed(p, r);
	return !target_read(p->pid, t->at + VMSPAN_RING_AT, &g, sizeof(g)) &&
	       mark_ring_is_one(&g) && g.thread == thread &&
	       (t->seen >= g.head || next_is_later(l, p, t, &g));
}

/* Those that ended before are told of behind all that is told of them. */
static int ended(struct live *l, struct process *p, const struct registry *r,
		 const struct ring_reader *t, u32 thread)
{
	const u64 *known = map_get(&r->tids, t->tid);

	/* Its number may be another's by now. */
	if (!t->over_ns || !known || *known != thread)
		return 0;
	return process_thread_ended(l, p, t->tid, t->over_ns, t->over_name);
}

int live_unfinished(struct live *l, struct process *p, enum unfinished_why why, u64 until_ns)
{
	u64 thread, value;
	size_t at;
	u32 i;

	for (i = 0; i < p->registry_count; i++) {
		struct registry *r = &p->registries[i];

		at = 0;
		while (!l->failed && map_next(&r->rings, &at, &thread, &value)) {
			struct ring_reader *t = (void *)(uintptr_t)value;

			if (!mark_ring_let_go(l, p, r, (u32)thread, t) &&
			    is_whole(l, p, r, t, (u32)thread, why))
				mark_ring_unfinished(l, p, r, t, why, until_ns);
			if (!l->failed && why != UNFINISHED_TRACE)
				ended(l, p, r, t, (u32)thread);
		}
	}
	return l->failed;
}

int live_rings_doubt(struct live *l, struct process *p)
{
	u64 thread, value;
	size_t at;
	u32 i;

	for (i = 0; i < p->registry_count; i++) {
		struct registry *r = &p->registries[i];

		at = 0;
		while (map_next(&r->rings, &at, &thread, &value)) {
			struct ring_reader *t = (void *)(uintptr_t)value;

			if (mark_ring_let_go(l, p, r, (u32)thread, t))
				return l->failed;
			marks_gap(&t->m, 0);
			t->held_enough = false;
		}
	}
	return 0;
}
