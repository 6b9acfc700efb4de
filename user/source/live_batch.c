/* SPDX-License-Identifier: BSD-2-Clause */
/* Ring buffer records -> items. Their contents come from the target. */
#include "source/live_int.h"
#include "source/live_mark_rings.h"
#include "source/live_late.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Threads of a registry whose sequence is followed; a hostile target could
 * name any number of them. */
#define SEQ_MAX 65536

/* The process of a batch. One that nobody told of (its fork was lost) is
 * taken in now. NULL: there is none. */
struct process *live_process_of(struct live *l, u32 pid)
{
	struct process *p = process_find(l, pid);
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (!p && !access(path, F_OK))
		p = process_new(l, pid, 0);
	return p && !process_tell(l, p) && !live_marked(l, p) ? p : NULL;
}

enum loss_cause live_unplaced(const struct process *p)
{
	if (!p) /* it is over, and nobody has told of it */
		return LOSS_READ_FAULT;
	return p->registry_count >= ITEM_REGISTRIES ? LOSS_LIMIT : LOSS_MALFORMED;
}

/*
 * Before a batch that names an id nobody has defined here (the batch with its
 * definition was lost, or a child has its parent's) the log is read again; where there is no registry,
 * the number itself is the name.
 * Not for every such batch, or a hostile target could keep the reader busy.
 */
int live_define(struct live *l, struct process *p, struct registry *r, const void *data, u32 bytes,
		const struct batch_sum *sum)
{
	bool first = !r->read_ns, knows = registry_knows(r, data, bytes, sum);

	if (knows && (!first || registry_is_numbers(r->address)))
		return 0;
	if (registry_is_numbers(r->address))
		return registry_numbers(l, p, r, data, bytes);
	if (!knows)
		registry_want(r, data, bytes);
	if (!first) {
		u64 age = clock_mono_ns() - r->read_ns;

		if (age >= NSEC_PER_SEC)
			r->rereads = 0;
		if (age < REREAD_NS && r->rereads >= REREAD_BURST) {
			r->due = true;
			return 0;
		}
		r->rereads++;
	}
	return registry_read(l, p, r);
}

/* A batch that is not taken: no more of it is lost than it had room for, whatever it says. */
static int refuse(struct live *l, enum loss_cause cause, u32 records, u32 bytes)
{
	u32 slots = bytes > VMSPAN_BATCH_HEADER ? (bytes - VMSPAN_BATCH_HEADER) / VMSPAN_SLOT : 0;

	return live_emit_loss(l, cause, records < slots ? records : slots, 1);
}

static int malformed(struct live *l, u32 records, u32 bytes)
{
	return refuse(l, LOSS_MALFORMED, records, bytes);
}

/* Threads that the kernel's side numbers mark by traps. */
#define BY_TRAPS 0x80000000u

/* A record comes of two marks; version 1 looks at its clock at both ends of an event. */
static void made(struct live *l, const struct wire_head *h, const struct batch_sum *sum)
{
	const struct vmspan_batch *b = (const void *)(h + 1);

	if (b->thread >= BY_TRAPS) {
		l->cost.traps += 2ull * b->records;
		return;
	}
	l->cost.marks += 2ull * b->records;
	l->cost.traps += h->kind == WIRE_BATCH;
	l->cost_clocks += 2ull * sum->events;
}

/* `sum`: of its records. Its size has been looked at. */
static bool is_sound(const struct wire_head *h, struct batch_sum *sum)
{
	const struct vmspan_batch *b = (const void *)(h + 1);

	return b->magic == VMSPAN_BATCH_MAGIC && b->abi == ABI1 && b->bytes == h->bytes &&
	       !batch_sum(b + 1, h->bytes - (u32)sizeof(*b), b->records, sum);
}

static int batch(struct live *l, const struct wire_head *h, size_t size)
{
	const struct vmspan_batch *b = (const void *)(h + 1);
	const void *data = b + 1;
	struct item it = { .type = ITEM_BATCH };
	struct batch_sum sum;
	struct registry *r;
	struct process *p;
	u64 *next;
	u32 bytes;

	if (size < sizeof(*h) + sizeof(*b) || h->bytes > size - sizeof(*h) || h->bytes < sizeof(*b))
		return malformed(l, 0, 0);
	if (!is_sound(h, &sum))
		return malformed(l, b->records, h->bytes);
	bytes = h->bytes - (u32)sizeof(*b);
	p = live_process_of(l, h->pid);
	if (l->failed)
		return l->failed;
	r = p ? live_registry_of(p, b->registry) : NULL;
	if (!r)
		return refuse(l, live_unplaced(p), b->records, h->bytes);
	/* One that was killed right after it had handed over. */
	next = map_get(&r->seq, b->thread);
	if (h->kind == WIRE_TAIL && next && b->seq < *next)
		return 0;
	/* Spans without what the scheduler did to them would pass for whole. */
	if (h->kind == WIRE_TAIL && b->pad && l->s.info.exact) {
		map_put(&r->seq, b->thread, b->seq + b->records);
		return live_emit_loss(l, LOSS_NO_SCHED, b->records, 1);
	}
	if (process_thread(l, p, h->tid) || live_define(l, p, r, data, bytes, &sum))
		return l->failed;
	if (r->seq.len >= SEQ_MAX)
		map_free(&r->seq);
	map_put(&r->seq, b->thread, b->seq + b->records);
	made(l, h, &sum);
	it.batch = (struct item_batch){
		.pid = h->pid,
		.tid = h->tid,
		.registry = r->address,
		.thread = b->thread,
		.seq = b->seq,
		.records = b->records,
		.bytes = bytes,
		.data = data,
		.too_deep = b->too_deep,
		.unmatched = b->unmatched,
		.repaired = b->repaired,
		.in_mark = b->in_mark,
	};
	return live_emit(l, &it);
}

_Static_assert((int)UNENDED_TRACE == UNFINISHED_TRACE && (int)UNENDED_THREAD == UNFINISHED_THREAD &&
		       (int)UNENDED_PROCESS == UNFINISHED_PROCESS &&
		       (int)UNENDED_EXEC == UNFINISHED_EXEC && UNENDED_STAYS == UNFINISHED_STAYS,
	       "they are taken as they are");

/* What a thread that is marked by traps is in: an event, if any, and the stays in it. */
static struct item_unfinished open_of(const struct live *l, const struct registry *r,
				      const struct wire_head *h)
{
	const struct vmspan_batch *b = (const void *)(h + 1);
	const u8 *at = (const void *)(b + 1), *end = at + b->bytes - sizeof(*b);
	const struct vmspan_event *e = (const void *)at;
	const struct vmspan_span *s = (const void *)at;
	struct item_unfinished u = {
		.pid = h->pid,
		.tid = h->tid,
		.registry = r->address,
		.why = b->pad,
		.depth = b->too_deep,
	};
	u64 least;

	u.event = e->h.type == VMSPAN_EVENT;
	u.label = u.event ? e->label : 0;
	u.until_ns = u.event ? e->mono_end : live_mono_ns(l, s->end);
	/* It may have ended since they are off. */
	if (l->marks_off)
		u.until_ns = min_u64(u.until_ns, l->marks_off_at.mono_ns);
	least = u.event ? e->mono_begin : live_mono_ns(l, s->begin);
	u.begin_ns = least = min_u64(least, u.until_ns);
	at += u.event ? sizeof(*e) : 0;
	for (; at < end && u.stay_count < UNFINISHED_STAYS; at += sizeof(*s)) {
		s = (const void *)at;
		/* An event's time is of another clock. */
		least = min_u64(max_u64(live_mono_ns(l, s->begin), least), u.until_ns);
		u.stay[u.stay_count] = s->h.id;
		u.stay_ns[u.stay_count++] = least;
	}
	return u;
}

static int unended(struct live *l, const struct wire_head *h, size_t size)
{
	const struct vmspan_batch *b = (const void *)(h + 1);
	struct item it = { .type = ITEM_UNFINISHED };
	struct batch_sum sum;
	struct registry *r;
	struct process *p;

	if (size < sizeof(*h) + h->bytes || h->bytes <= sizeof(*b) || !is_sound(h, &sum))
		return malformed(l, 0, 0);
	p = live_process_of(l, h->pid);
	r = p ? live_registry_of(p, b->registry) : NULL;
	if (!r || process_thread(l, p, h->tid) ||
	    live_define(l, p, r, b + 1, h->bytes - (u32)sizeof(*b), &sum))
		return l->failed;
	it.unfinished = open_of(l, r, h);
	return live_emit(l, &it);
}

/* Of a stock VM's threads nobody asks: what the kernel side tells of them, before it hears what they are, is of no event.
 * Nor of a process that nobody knows: with a sweep it tells of each that executes something until it hears that it is
 * not wanted. */
static bool is_asked_for(const struct process *p)
{
	return p && (!p->vm_profile || attachments_of_marks(p));
}

/* Without TSC events the kernel side stamped ns of CLOCK_MONOTONIC. */
static int sched_batch(struct live *l, const struct wire_head *h, size_t size)
{
	const struct vmspan_batch *b = (const void *)(h + 1);
	struct vmspan_span records[VMSPAN_BATCH_SLOTS];
	struct process *p = process_find(l, h->pid);
	struct item it = { .type = ITEM_BATCH };
	u32 bytes, i;

	if (size < sizeof(*h) + sizeof(*b) || h->bytes > size - sizeof(*h) || h->bytes < sizeof(*b))
		return 0;
	bytes = h->bytes - (u32)sizeof(*b);
	if (bytes > sizeof(records) || bytes != b->records * sizeof(records[0]) || !is_asked_for(p))
		return 0;
	it.batch = (struct item_batch){
		.pid = h->pid,
		.tid = h->tid,
		.registry = ITEM_SCHED_REGISTRY,
		.thread = b->thread,
		.seq = b->seq,
		.records = b->records,
		.bytes = bytes,
		.data = b + 1,
		.too_deep = b->too_deep,
	};
	if (l->s.info.clock == CLOCK_TSC && !tracer_has_tsc(l->t)) {
		memcpy(records, b + 1, bytes);
		for (i = 0; i < b->records; i++) {
			if (records[i].h.type != VMSPAN_OFF)
				continue;
			records[i].begin = live_cycles(l, records[i].begin);
			records[i].end = live_cycles(l, records[i].end);
		}
		it.batch.data = records;
	}
	/* Without room for it, its numbers show that something is missing. */
	process_emit(l, p, &it);
	return l->failed;
}

static int thread_end(struct live *l, const struct wire_life *w)
{
	struct process *p = process_find(l, w->h.pid);
	char name[sizeof(w->comm)];
	bool lags = false;
	u32 i;

	memcpy(name, w->comm, sizeof(name));
	name[sizeof(name) - 1] = 0;
	for (i = 0; p && i < p->registry_count; i++) {
		/* Of the last one all is its process's, which ends now and may be quicker than this. */
		if (w->other)
			live_rings_thread_over(&p->registries[i], w->h.tid, w->mono_ns, name);
		else if (live_rings_thread_end(l, p, &p->registries[i], w->h.tid, w->mono_ns, name))
			return l->failed;
		lags |= live_rings_thread_lags(&p->registries[i], w->h.tid);
	}
	if (!p)
		return 0;
	if (live_vm_thread_end(l, p, w->h.tid))
		return l->failed;
	return lags ? 0 : process_thread_ended(l, p, w->h.tid, w->mono_ns, name);
}

int live_record(struct live *l, const void *data, size_t size)
{
	const struct wire_life *w = data;
	const struct wire_head *h = data;
	struct process *p;

	if (size < sizeof(*h))
		return 0;
	if (h->kind == WIRE_BATCH || h->kind == WIRE_TAIL)
		return batch(l, h, size);
	if (h->kind == WIRE_UNENDED)
		return unended(l, h, size);
	if (h->kind == WIRE_MARKS)
		return live_marks(l, h, size);
	if (h->kind == WIRE_DEFINITION)
		return live_definition(l, h, size);
	if (h->kind >= WIRE_VM_FRAME && h->kind <= WIRE_VM_WAIT)
		return live_vm_record(l, h, size);
	if (h->kind == WIRE_SCHED)
		return sched_batch(l, h, size);
	if (size < sizeof(*w))
		return 0;
	switch (h->kind) {
	case WIRE_FORK:
		return process_fork(l, w);
	case WIRE_EXEC:
		return process_exec(l, w);
	case WIRE_CHANGED:
		p = process_find(l, h->pid);
		if (!p)
			return sweep_new(l, w);
		process_renamed(p, w);
		return 0;
	case WIRE_LOADED:
		return process_loaded(l, w);
	case WIRE_THREAD_EXIT:
		return thread_end(l, w);
	case WIRE_UNBEGUN:
		return live_unbegun(l, w);
	case WIRE_EXIT:
		p = process_find(l, h->pid);
		return p ? process_end(l, p, w->mono_ns) : 0;
	default:
		return 0;
	}
}

int live_losses(struct live *l)
{
	static const struct {
		enum loss_cause cause;
		int records, batches; /* enum wire_counter, or -1 */
	} table[] = {
		{ LOSS_RING_FULL, COUNT_RING_FULL_RECORDS, COUNT_RING_FULL_BATCHES },
		{ LOSS_READ_FAULT, COUNT_READ_FAULT_RECORDS, COUNT_READ_FAULT_BATCHES },
		{ LOSS_MALFORMED, -1, COUNT_MALFORMED },
		{ LOSS_NOT_MADE, COUNT_MARK_LOST, -1 },
		{ LOSS_TOO_DEEP, COUNT_TOO_DEEP, -1 },
		{ LOSS_MARKS_OFF, COUNT_DISARMED, -1 },
		{ LOSS_MARKS_OFF, COUNT_ARMING, -1 },
		{ LOSS_RING_FULL, COUNT_VM_LOST, -1 },
		{ LOSS_RING_FULL, -1, COUNT_LIFE_LOST },
		{ LOSS_READ_FAULT, COUNT_WALK_FAULTS, -1 },
		{ LOSS_SCHED, COUNT_SCHED_LOST, -1 },
	};
	u64 now[COUNT_MAX];
	size_t i;

	if (tracer_counters(l->t, now))
		return 0;
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		int r = table[i].records, b = table[i].batches;
		u64 records = r < 0 ? 0 : now[r] - l->counters[r];
		u64 batches = b < 0 ? 0 : now[b] - l->counters[b];

		if ((records || batches) && live_emit_loss(l, table[i].cause, records, batches))
			break;
	}
	memcpy(l->counters, now, sizeof(now));
	return l->failed;
}
