/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread with a ring of marks in a process that is this one, and the live source that reads
 * them. Not all of it is used in each test. */
#ifndef TESTS_MARKS_RIG_H
#define TESTS_MARKS_RIG_H

#pragma GCC diagnostic ignored "-Wunused-function"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "source/live_int.h"

#define TID 4711 /* as the tracer sees the thread */
#define OWN_TID 11 /* as it sees itself */
#define MARKS 256 /* of a ring */

/* A ring as the SDK lays it out, but for its alignment. */
struct ring {
	char sections[VMSPAN_RING_AT];
	union {
		struct vmspan_ring head;
		char page[VMSPAN_RING_DATA];
	};
	struct vmspan_mark marks[MARKS];
};

struct rig {
	struct live l;
	struct process p;
	struct registry *r;
	struct vmspan_process *process;
	struct ring *ring;
	u64 records[LOSS_CAUSES], batches[LOSS_CAUSES];
	u32 items, spans, defs, unfinished;
	u32 ends, spans_at_end; /* of threads; those before the newest */
	u64 end_ns; /* of the newest */
	char end_name[16];
	struct item_unfinished last_unfinished;
	u64 seq_next; /* of the last batch: the number behind it */
	u32 gaps; /* numbers left out */
	u32 tid, in_mark, unmatched; /* of the last batch */
	u64 reserved, drained; /* positions in the ring buffer */
};

static int take(void *ctx, const struct item *it)
{
	struct rig *g = ctx;

	if (it->type == ITEM_LOSS) {
		g->records[it->loss.cause] += it->loss.records;
		g->batches[it->loss.cause] += it->loss.batches;
	}
	g->defs += it->type == ITEM_DEFS;
	if (it->type == ITEM_UNFINISHED) {
		g->unfinished++;
		g->last_unfinished = it->unfinished;
	}
	if (it->type == ITEM_THREAD && it->thread.ended) {
		g->ends++;
		g->end_ns = it->thread.mono_ns;
		snprintf(g->end_name, sizeof(g->end_name), "%s", it->thread.name);
		g->spans_at_end = g->spans;
	}
	if (it->type != ITEM_BATCH)
		return 0;
	g->items++;
	assert_int_equal(it->batch.registry, (u64)(uintptr_t)g->process);
	g->tid = it->batch.tid;
	g->in_mark = it->batch.in_mark;
	g->unmatched = it->batch.unmatched;
	g->gaps += (u32)(it->batch.seq - g->seq_next);
	g->seq_next = it->batch.seq + it->batch.records;
	g->spans += it->batch.records;
	return 0;
}

static void new_thread(struct rig *g, u32 number)
{
	g->ring->head.thread = number;
	g->ring->head.start = g->ring->head.head;
	g->seq_next = 0;
}

static struct rig *rig_open(void)
{
	struct rig *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	g->process = calloc(1, sizeof(*g->process));
	g->ring = calloc(1, sizeof(*g->ring));
	assert_true(g->process && g->ring);
	g->p = (struct process){ .pid = (u32)getpid(), .pidfd = -1, .vm = "", .told = true };
	g->l.fn = take;
	g->l.ctx = g;
	g->l.ring.epfd = -1;
	g->l.ring.producer = &g->reserved;
	g->l.ring.consumer = &g->drained;
	g->l.parts[TRACE_TURNS].on = true;
	g->l.s.info.clock = CLOCK_TSC;
	g->l.s.info.cycles_hz = NSEC_PER_SEC;
	assert_int_equal(map_put(&g->l.processes, g->p.pid, (u64)(uintptr_t)&g->p), 0);
	/* Their names are known. */
	assert_int_equal(map_put(&g->p.threads, TID, 1), 0);
	assert_int_equal(map_put(&g->p.threads, OWN_TID, 1), 0);
	g->process->magic = VMSPAN_MAGIC;
	g->process->abi = VMSPAN_ABI;
	g->process->rings = (u64)(uintptr_t)g->ring;
	g->ring->head = (struct vmspan_ring){
		.magic = VMSPAN_MAGIC,
		.abi = VMSPAN_ABI,
		.base = (u64)(uintptr_t)g->ring->marks,
		.mask = sizeof(g->ring->marks) - 1,
		.process = (u64)(uintptr_t)g->process,
		.tid = OWN_TID,
		.thread = 1,
	};
	g->r = live_registry_at(&g->p, (u64)(uintptr_t)g->process, false);
	assert_non_null(g->r);
	g->r->read_ns = 1;
	return g;
}

static void rig_close(struct rig *g)
{
	clock_free(&g->l.clocks);
	/* g->r may have moved. */
	live_registry_free(&g->p.registries[0]);
	free(g->p.registries);
	map_free(&g->p.threads);
	map_free(&g->l.processes);
	free(g->process);
	free(g->ring);
	free(g);
}

/* The thread marks. */
static void mark(struct rig *g, u32 type, u32 id)
{
	struct vmspan_ring *h = &g->ring->head;

	g->ring->marks[(h->head & h->mask) / sizeof(struct vmspan_mark)] =
		(struct vmspan_mark){ .cycles = 1000 + h->head, .id = id, .type = type };
	h->head += sizeof(struct vmspan_mark);
}

/* So many spans. */
static void spans(struct rig *g, u32 n)
{
	while (n--) {
		mark(g, VMSPAN_MARK_ENTER, 5);
		mark(g, VMSPAN_MARK_LEAVE, 5);
	}
}

/* It is in no event from before. */
static void is_outside(struct rig *g)
{
	mark(g, VMSPAN_MARK_UNWIND, 0);
}

/* As the kernel side has it: marks from a position on, and the head as it is now. To be freed. */
static struct wire_marks *on_its_way(const struct rig *g, u64 from, u32 bytes,
				     const struct vmspan_ring *head, bool foreign)
{
	struct wire_marks *w = calloc(1, sizeof(*w) + bytes);
	u32 i;

	assert_non_null(w);
	w->h = (struct wire_head){ .kind = WIRE_MARKS, .pid = g->p.pid, .tid = foreign ? 0 : TID };
	w->from = from;
	w->bytes = bytes;
	w->foreign = foreign;
	w->ring = *head;
	for (i = 0; i < bytes / sizeof(struct vmspan_mark); i++)
		memcpy((char *)(w + 1) + i * sizeof(struct vmspan_mark),
		       &g->ring->marks[(from / sizeof(struct vmspan_mark) + i) % MARKS],
		       sizeof(struct vmspan_mark));
	return w;
}

static int arrive_as(struct rig *g, u64 from, u32 bytes, const struct vmspan_ring *head,
		     bool foreign)
{
	struct wire_marks *w = on_its_way(g, from, bytes, head, foreign);
	int r = live_marks(&g->l, &w->h, sizeof(*w) + bytes);

	free(w);
	return r;
}

static void arrive(struct rig *g, u64 from, u64 to)
{
	assert_int_equal(arrive_as(g, from, (u32)(to - from), &g->ring->head, false), 0);
}

/* The thread hands over what it has. */
static void hand_over(struct rig *g)
{
	struct vmspan_ring *h = &g->ring->head;

	arrive(g, h->handed, h->head);
	h->handed = h->head;
}

static void no_loss(const struct rig *g)
{
	u32 i;

	for (i = 0; i < LOSS_CAUSES; i++)
		assert_true(!g->records[i] && !g->batches[i]);
	assert_int_equal(g->gaps, 0);
}

#endif
