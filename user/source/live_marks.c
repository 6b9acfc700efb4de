/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks of threads -> items. They come by the ring buffer, or are read from a thread's ring in
 * the target's memory; a position that has been seen is taken no second time, whichever
 * way it came. All of it is the target's: sizes are checked, addresses are only read from.
 */
#include "source/live_int.h"
#include "source/marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

/* Threads of a process that are followed at one time; a hostile one could name any number. */
#define RINGS_MAX 16384
/* And that have ended: how far theirs were read is remembered. */
#define ENDED_MAX 131072
#define RING_BYTES_MAX (256u << 10)

/* A thread of the target, as its marks tell of it. */
struct ring_reader {
	struct marks m;
	u64 at; /* address of its ring */
	u64 seen; /* position: marks below have been taken, or were before the trace */
	/* The thread, as the tracer sees it; until that is known, as it sees itself. */
	u32 tid;
};

/* Whose hands marks have come through. */
struct hands {
	u32 tid; /* the thread's own, which the tracer sees so; 0: others have read them */
	bool lack; /* in exact mode: what the scheduler did to them is not known */
};

static u64 ns_of(void *ctx, u64 cycles)
{
	const struct live *l = ctx;

	return clock_ns(&l->clocks, cycles);
}

/* Does the head of a ring make sense? */
static bool is_ring(const struct vmspan_ring *g)
{
	return g->magic == VMSPAN_MAGIC && g->abi == VMSPAN_ABI && g->thread &&
	       g->mask < RING_BYTES_MAX && !(g->mask & (g->mask + 1)) &&
	       g->mask + 1 >= sizeof(struct vmspan_mark) &&
	       !(g->head % sizeof(struct vmspan_mark)) &&
	       !(g->start % sizeof(struct vmspan_mark)) && g->start <= g->head &&
	       g->handed <= g->head;
}

/* The reader of a thread, made on first sight: all of its marks are of this trace. */
static struct ring_reader *reader_new(struct live *l, struct registry *r,
				      const struct vmspan_ring *g)
{
	struct ring_reader *t;

	if (r->rings.len >= RINGS_MAX)
		return NULL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	marks_init(&t->m, ns_of, l);
	t->seen = g->start;
	t->tid = g->tid;
	/* Whatever this says, it is only read from. */
	t->at = g->base - VMSPAN_RING_DATA - VMSPAN_RING_AT;
	if (map_put(&r->rings, g->thread, (u64)(uintptr_t)t)) {
		free(t);
		return NULL;
	}
	return t;
}

/* NULL: there are too many, or there is no memory. */
static struct ring_reader *reader_of(struct live *l, struct registry *r,
				     const struct vmspan_ring *g, u32 tid)
{
	u64 *at = map_get(&r->rings, g->thread), *known;
	struct ring_reader *t = at ? (struct ring_reader *)(uintptr_t)*at : reader_new(l, r, g);

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

void live_rings_free(struct registry *r)
{
	u64 key, value;
	size_t at = 0;

	while (map_next(&r->rings, &at, &key, &value))
		reader_free((struct ring_reader *)(uintptr_t)value);
	map_free(&r->rings);
	map_free(&r->tids);
	map_free(&r->ended);
}

/* Hands out the records that have been made of marks. */
static int emit_records(struct live *l, struct process *p, struct registry *r,
			const struct vmspan_ring *g, struct ring_reader *t)
{
	struct item it = { .type = ITEM_BATCH };
	struct batch_sum sum;
	u32 bytes = (u32)t->m.out.len;

	if (!t->m.records)
		return 0;
	if (batch_sum(t->m.out.data, bytes, t->m.records, &sum) || process_tell(l, p) ||
	    process_thread(l, p, t->tid) || live_define(l, p, r, t->m.out.data, bytes, &sum))
		return l->failed;
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
		.in_mark = g->lost,
	};
	live_emit(l, &it);
	marks_taken(&t->m);
	buf_free(&t->m.out); /* of each of ten thousand threads it would be much */
	return l->failed;
}

/* Spans without what the scheduler did to them would pass for whole. */
static int lose(struct live *l, struct ring_reader *t, u64 bytes)
{
	u64 n = bytes / sizeof(struct vmspan_mark);

	marks_gap(&t->m, n);
	return live_emit_loss(l, LOSS_READ_FAULT, n, 1);
}

/* Marks from a position on. What lies further back than the ring is long has been overwritten
 * before it was read: it is missing. */
static int take(struct live *l, struct process *p, struct registry *r, const struct vmspan_ring *g,
		struct hands by, u64 from, const struct vmspan_mark *marks, u32 bytes)
{
	u64 end = from + bytes, *ended = map_get(&r->ended, g->thread);
	struct ring_reader *t;
	u64 oldest = g->head > g->mask + 1 ? g->head - g->mask - 1 : 0, at;

	/* The next on its ring hands over what was read at its end, as does the end of the process. */
	if (ended && end <= *ended)
		return 0;
	t = ended ? NULL : reader_of(l, r, g, by.tid);
	if (!t)
		return live_emit_loss(l, LOSS_TRUNCATED, bytes / sizeof(*marks), 1);
	at = t->seen > from ? t->seen : from;
	if (at < oldest)
		at = oldest;
	if (at >= end || at % sizeof(*marks))
		return 0;
	if (at > t->seen)
		marks_gap(&t->m, (at - t->seen) / sizeof(*marks));
	t->seen = end;
	if (by.lack)
		return lose(l, t, end - at);
	if (marks_take(&t->m, marks + (at - from) / sizeof(*marks),
		       (u32)((end - at) / sizeof(*marks))))
		return l->failed = -ENOMEM;
	return emit_records(l, p, r, g, t);
}

static int malformed(struct live *l, u32 marks)
{
	return live_emit_loss(l, LOSS_TRUNCATED, marks, 1);
}

int live_marks(struct live *l, const struct wire_head *h, size_t size)
{
	const struct wire_marks *w = (const void *)h;
	struct registry *r;
	struct process *p;
	struct hands by;
	u32 n;

	if (size < sizeof(*w) || w->bytes > size - sizeof(*w) ||
	    w->bytes % sizeof(struct vmspan_mark))
		return malformed(l, 0);
	n = w->bytes / sizeof(struct vmspan_mark);
	if (!is_ring(&w->ring) || w->from % sizeof(struct vmspan_mark) ||
	    w->from + w->bytes > w->ring.head || w->from + w->bytes < w->from)
		return malformed(l, n);
	p = live_process_of(l, h->pid);
	if (l->failed)
		return l->failed;
	r = p ? live_registry_at(p, w->ring.process, false) : NULL;
	if (!r)
		return malformed(l, n);
	by.tid = w->foreign ? 0 : h->tid;
	by.lack = w->foreign && l->s.info.exact;
	return take(l, p, r, &w->ring, by, w->from, (const void *)(w + 1), w->bytes);
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
		return malformed(l, 1);
	/* It may name groups whose definitions were lost. */
	if (live_define(l, p, r, w + 1, w->bytes, &sum))
		return l->failed;
	it.defs = (struct item_defs){
		.pid = p->pid, .registry = r->address, .data = w + 1, .bytes = w->bytes
	};
	return live_emit(l, &it);
}

/* ---- In the target's memory ---- */

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
		if (is_ring(&g))
			e = fn(ctx, at, &g);
	}
	return e;
}

struct beginning {
	struct live *l;
	struct registry *r;
	u32 pid;
};

static int ring_begins(void *ctx, u64 at, const struct vmspan_ring *g)
{
	struct beginning *b = ctx;
	struct ring_reader *t = reader_of(b->l, b->r, g, 0);
	struct iovec local = { (void *)&g->head, sizeof(g->head) };
	struct iovec remote = { (void *)(uintptr_t)(at + VMSPAN_RING_AT +
						    offsetof(struct vmspan_ring, limit)),
				sizeof(g->limit) };

	if (t)
		t->seen = g->head;
	/* So the next mark goes the slow way, where it finds a session that is not its own. */
	(void)!process_vm_writev((pid_t)b->pid, &local, 1, &remote, 1, 0);
	return 0;
}

void live_rings_begin(struct live *l, u32 pid, struct registry *r)
{
	struct beginning b = { l, r, pid };
	const u64 session = r->address + offsetof(struct vmspan_process, session);
	struct iovec local, remote = { (void *)(uintptr_t)session, sizeof(u32) };
	u32 now;

	r->begun = true;
	if (target_read(pid, session, &now, sizeof(now)))
		return;
	now++;
	local = (struct iovec){ &now, sizeof(now) };
	if (process_vm_writev((pid_t)pid, &local, 1, &remote, 1, 0) < 0)
		return;
	each_ring(pid, r->address, ring_begins, &b);
}

struct reading {
	struct live *l;
	struct process *p;
	struct registry *r;
	struct hands by;
};

/*
 * The marks of a ring that have not been seen. The thread may go on meanwhile: what it has
 * overwritten since, the head read afterwards says.
 */
static int ring_read(void *ctx, u64 at, const struct vmspan_ring *g)
{
	struct reading *d = ctx;
	u64 *known = map_get(&d->r->rings, g->thread), from = g->start, size = g->mask + 1;
	struct vmspan_ring after;
	struct vmspan_mark *marks;
	u32 bytes, first;
	int e = 0;

	/* What has been handed over and never came is counted as lost already. */
	from = max_u64(from, g->handed);
	if (known)
		from = max_u64(from, ((struct ring_reader *)(uintptr_t)*known)->seen);
	if (from < g->head && g->head - from > size)
		from = g->head - size;
	if (from >= g->head)
		return 0;
	bytes = (u32)(g->head - from);
	first = (u32)min_u64(bytes, size - (from & g->mask));
	marks = malloc(bytes);
	if (!marks)
		return d->l->failed = -ENOMEM;
	if (!target_read(d->p->pid, g->base + (from & g->mask), marks, first) &&
	    (first == bytes ||
	     !target_read(d->p->pid, g->base, (char *)marks + first, bytes - first)) &&
	    !target_read(d->p->pid, at + VMSPAN_RING_AT, &after, sizeof(after)) &&
	    is_ring(&after) && after.thread == g->thread) {
		/* A mark that was just being made is not counted in the head. */
		after.head += 2 * sizeof(*marks);
		e = take(d->l, d->p, d->r, &after, d->by, from, marks, bytes);
	}
	free(marks);
	return e;
}

int live_rings_read(struct live *l, struct process *p, struct registry *r)
{
	struct reading d = { .l = l, .p = p, .r = r };

	return r->abi1 ? 0 : each_ring(p->pid, r->address, ring_read, &d);
}

int live_rings_thread_end(struct live *l, struct process *p, struct registry *r, u32 tid)
{
	u64 *thread = map_get(&r->tids, tid), *at = thread ? map_get(&r->rings, *thread) : NULL;
	struct ring_reader *t = at ? (struct ring_reader *)(uintptr_t)*at : NULL;
	/* It has not handed over what the scheduler did to it. */
	struct reading d = { .l = l, .p = p, .r = r, .by.lack = l->s.info.exact };
	struct vmspan_ring g;
	int e = 0;

	if (!t)
		return 0;
	/* Else another thread has taken it over, or the process is gone: the rest comes by itself. */
	if (target_read(p->pid, t->at + VMSPAN_RING_AT, &g, sizeof(g)) || !is_ring(&g) ||
	    g.thread != *thread)
		return 0;
	/* In exact mode it has handed all of it over at its end, where it could. */
	if (!l->s.info.exact || !l->tails)
		e = ring_read(&d, t->at, &g);
	else
		t->seen = g.head;
	if (e || t->seen < g.head)
		return e;
	if (r->ended.len >= ENDED_MAX)
		map_clear(&r->ended);
	map_put(&r->ended, g.thread, t->seen);
	map_del(&r->rings, g.thread);
	map_del(&r->tids, tid);
	reader_free(t);
	return 0;
}

int live_rings_process_end(struct live *l, struct process *p)
{
	u64 tid, thread;
	size_t at;
	u32 i;

	/* Else what they held has been read at the end. */
	if (l->tails)
		return 0;
	for (i = 0; i < p->registry_count && !l->failed; i++) {
		at = 0;
		while (map_next(&p->registries[i].tids, &at, &tid, &thread))
			/* The first one has mostly handed over as it left the program. */
			if (tid != p->pid)
				live_emit_loss(l, LOSS_READ_FAULT, 0, 1);
	}
	return l->failed;
}
