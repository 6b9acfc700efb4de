/* SPDX-License-Identifier: BSD-2-Clause */
/* The live source without a kernel: what was lost there is told, of a thread's batch all that
 * it counts is handed out, the ring is read to its end, and what a batch names is defined. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "source/live_int.h"

/* The kernel side's counters, as a test wants them. */
static u64 counted[COUNT_MAX];

static int made_counters(const struct tracer *t, u64 to[COUNT_MAX])
{
	(void)t;
	memcpy(to, counted, sizeof(counted));
	return 0;
}

#define tracer_counters made_counters
#include "source/live_batch.c"
#undef tracer_counters

/* A ring of so many records, all of them `each`. */
static u32 in_ring;
static struct wire_life each;

static int made_consume(struct ring_buffer *rb);
static u64 made_bytes(const struct tracer *t);
static void no_vary(struct tracer *t, u64 now);

#define ring_buffer__consume made_consume
#include "source/live_ring.c"
#undef ring_buffer__consume
#define tracer_ring_bytes made_bytes
#define vm_vary no_vary
#include "source/live.c"
#undef tracer_ring_bytes
#undef vm_vary

/* As libbpf has it: a record counts as consumed whatever is returned for it. The ring is the
 * source itself, as what is handed to its callback. */
static int made_consume(struct ring_buffer *rb)
{
	int n = 0, r;

	while (in_ring) {
		in_ring--;
		r = sample(rb, &each, sizeof(each));
		if (r < 0)
			return r;
		n++;
	}
	return n;
}

static u64 made_bytes(const struct tracer *t)
{
	(void)t;
	return LIVE_RING_BYTES;
}

static void no_vary(struct tracer *t, u64 now)
{
	(void)t;
	(void)now;
}

#define TID 4711
#define THREAD 3

/* A source that has one target: this process. What it hands out is in `losses` and `batch`. */
struct rig {
	struct live l;
	struct process p;
	struct registry *r; /* of the target */
	u64 records[LOSS_CAUSES], batches[LOSS_CAUSES];
	u32 losses, items, defs, defs_bytes;
	u32 defs_before; /* those that came before `batch` */
	struct item_batch batch; /* the last; its data is gone */
};

static int take(void *ctx, const struct item *it)
{
	struct rig *g = ctx;

	g->items++;
	if (it->type == ITEM_LOSS) {
		g->losses++;
		g->records[it->loss.cause] += it->loss.records;
		g->batches[it->loss.cause] += it->loss.batches;
	}
	if (it->type == ITEM_DEFS) {
		g->defs++;
		g->defs_bytes += it->defs.bytes;
	}
	if (it->type == ITEM_BATCH) {
		g->batch = it->batch;
		g->defs_before = g->defs;
	}
	return 0;
}

static void rig_open(struct rig *g, u64 registry)
{
	*g = (struct rig){ .p = { .pid = (u32)getpid(), .pidfd = -1, .told = true } };
	g->l.fn = take;
	g->l.ctx = g;
	g->l.ring.epfd = -1;
	memset(counted, 0, sizeof(counted));
	assert_int_equal(map_put(&g->l.processes, g->p.pid, (u64)(uintptr_t)&g->p), 0);
	/* Its name is known already. */
	assert_int_equal(map_put(&g->p.threads, TID, 1), 0);
	g->r = live_registry_at(&g->p, registry, true);
	assert_int_equal(map_put(&g->p.copies, registry, registry | 1), 0);
	assert_non_null(g->r);
	g->r->read_ns = 1;
}

static void rig_close(struct rig *g)
{
	u32 i;

	for (i = 0; i < g->p.registry_count; i++)
		live_registry_free(&g->p.registries[i]);
	free(g->p.registries);
	map_free(&g->p.threads);
	map_free(&g->p.copies);
	map_free(&g->l.processes);
	plan_cache_free(&g->l.cache);
}

/* ---- What the kernel side has counted ---- */

static const struct {
	enum wire_counter counter;
	int cause; /* -1: it is no loss */
	u64 records, batches; /* of 7 that were counted */
} counters[] = {
	{ COUNT_RING_FULL_BATCHES, LOSS_RING_FULL, 0, 7 },
	{ COUNT_RING_FULL_RECORDS, LOSS_RING_FULL, 7, 0 },
	{ COUNT_READ_FAULT_BATCHES, LOSS_READ_FAULT, 0, 7 },
	{ COUNT_READ_FAULT_RECORDS, LOSS_READ_FAULT, 7, 0 },
	{ COUNT_MALFORMED, LOSS_MALFORMED, 0, 7 },
	{ COUNT_WAKEUPS, -1, 0, 0 },
	{ COUNT_LIFE_LOST, LOSS_RING_FULL, 0, 7 },
	{ COUNT_MARK_LOST, LOSS_NOT_MADE, 7, 0 },
	{ COUNT_TOO_DEEP, LOSS_TOO_DEEP, 7, 0 },
	{ COUNT_WALK_FAULTS, LOSS_READ_FAULT, 7, 0 },
	{ COUNT_VM_LOST, LOSS_RING_FULL, 7, 0 },
	{ COUNT_DISARMED, LOSS_MARKS_OFF, 7, 0 },
	{ COUNT_ARMING, LOSS_MARKS_OFF, 7, 0 },
	{ COUNT_SCHED_LOST, LOSS_SCHED, 7, 0 },
};
_Static_assert(ARRAY_SIZE(counters) == COUNT_MAX, "one for each counter");

static void each_counter_is_a_loss_of_its_cause(void **state)
{
	struct rig g;
	size_t i;
	int c;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(counters); i++) {
		rig_open(&g, 0);
		counted[counters[i].counter] = 7;
		assert_int_equal(live_losses(&g.l), 0);
		assert_int_equal(g.losses, counters[i].cause >= 0);
		for (c = 0; c < LOSS_CAUSES; c++) {
			bool it = c == counters[i].cause;

			assert_int_equal(g.records[c], it ? counters[i].records : 0);
			assert_int_equal(g.batches[c], it ? counters[i].batches : 0);
		}
		rig_close(&g);
	}
}

static void what_was_told_is_not_told_again(void **state)
{
	struct rig g;
	u32 i;

	(void)state;
	rig_open(&g, 0);
	for (i = 0; i < COUNT_MAX; i++)
		counted[i] = 10;
	assert_int_equal(live_losses(&g.l), 0);
	assert_int_equal(g.losses, 11); /* some go in pairs */
	assert_int_equal(live_losses(&g.l), 0);
	assert_int_equal(g.losses, 11);
	counted[COUNT_RING_FULL_RECORDS] += 3;
	counted[COUNT_RING_FULL_BATCHES] += 1;
	assert_int_equal(live_losses(&g.l), 0);
	assert_int_equal(g.losses, 12);
	assert_int_equal(g.records[LOSS_RING_FULL], 10 + 10 + 3);
	assert_int_equal(g.batches[LOSS_RING_FULL], 10 + 10 + 1);
	rig_close(&g);
}

/* ---- What a batch counts ---- */

static struct vmspan_batch batch_of(u64 registry, u32 slots)
{
	return (struct vmspan_batch){
		.magic = VMSPAN_BATCH_MAGIC,
		.abi = ABI1,
		.bytes = VMSPAN_BATCH_HEADER + slots * VMSPAN_SLOT,
		.records = slots,
		.seq = 90,
		.registry = registry,
		.thread = THREAD,
		.tid = TID,
		.too_deep = 11,
		.unmatched = 12,
		.repaired = 13,
		.in_mark = 14,
	};
}

static void assert_batch(const struct rig *g, u64 registry)
{
	const struct item_batch *b = &g->batch;

	assert_int_equal(b->pid, getpid());
	assert_int_equal(b->tid, TID);
	assert_int_equal(b->registry, registry);
	assert_int_equal(b->thread, THREAD);
	assert_int_equal(b->seq, 90);
	assert_int_equal(b->records, 2);
	assert_int_equal(b->bytes, 2 * VMSPAN_SLOT);
	assert_int_equal(b->too_deep, 11);
	assert_int_equal(b->unmatched, 12);
	assert_int_equal(b->repaired, 13);
	assert_int_equal(b->in_mark, 14);
}

/* Marks that nothing has defined: compartment and label 0 are always known. */
static void two_spans(struct vmspan_span s[2])
{
	s[0] = (struct vmspan_span){ .h = { VMSPAN_SPAN, 1, 1, 0 }, .begin = 5, .end = 6 };
	s[1] = (struct vmspan_span){ .h = { VMSPAN_SPAN, 1, 1, 0 }, .begin = 7, .end = 8 };
}

/* In one record of the ring, which makes one item. */
static void two_spans_come(struct rig *g, u32 kind, u32 pad)
{
	struct {
		struct wire_head h;
		struct vmspan_batch b;
		struct vmspan_span s[2];
	} record = { .h = { .kind = kind, .pid = g->p.pid, .tid = TID }, .b = batch_of(0x1000, 2) };

	record.h.bytes = sizeof(record.b) + sizeof(record.s);
	record.b.pad = pad;
	two_spans(record.s);
	assert_int_equal(live_record(&g->l, &record, sizeof(record)), 0);
	assert_int_equal(g->items, 1);
}

static void a_batch_says_what_its_thread_has_left_out(void **state)
{
	struct rig g;

	(void)state;
	rig_open(&g, 0x1000);
	two_spans_come(&g, WIRE_BATCH, 0);
	assert_batch(&g, 0x1000);
	rig_close(&g);
}

static void what_is_left_of_a_batch_at_the_end_says_so_too(void **state)
{
	static struct abi1_registry target;
	static struct abi1_thread thread;
	u64 address = (u64)(uintptr_t)&target;
	struct rig g;

	(void)state;
	target = (struct abi1_registry){
		.magic = VMSPAN_MAGIC, .abi = ABI1, .session = 1, .threads = (u64)(uintptr_t)&thread
	};
	thread = (struct abi1_thread){ .magic = VMSPAN_MAGIC,
				       .tid = TID,
				       .session = 1,
				       .slots = VMSPAN_BATCH_SLOTS,
				       .room = VMSPAN_BATCH_SLOTS - 2,
				       .batch = batch_of(address, 0) };
	two_spans((struct vmspan_span *)thread.records);
	rig_open(&g, address);
	assert_int_equal(registry_tails(&g.l, &g.p, g.r), 0);
	assert_int_equal(g.items, 1);
	assert_batch(&g, address);
	rig_close(&g);
}

/* In exact mode the scheduler's record of what it held is missing: its spans are left out, and
 * by its number nobody would miss them. */
static void what_a_killed_thread_held_is_a_loss_in_exact_mode(void **state)
{
	u32 exact;

	(void)state;
	for (exact = 0; exact < 2; exact++) {
		struct rig g;

		rig_open(&g, 0x1000);
		g.l.s.info.exact = exact;
		two_spans_come(&g, WIRE_TAIL, 1);
		two_spans_come(&g, WIRE_TAIL, 1); /* once more is nothing */
		assert_int_equal(g.batch.records, exact ? 0 : 2);
		assert_int_equal(g.records[LOSS_NO_SCHED], exact ? 2 : 0);
		assert_int_equal(g.batches[LOSS_NO_SCHED], exact);
		rig_close(&g);
	}
}

/* ---- Records that cannot be ---- */

/* Whatever a target says: what is lost is no more than what can have been there. */
static void a_batch_that_lies_has_lost_what_it_has_room_for(void **state)
{
	static const struct {
		u32 records, slots, lost;
	} lies[] = {
		{ UINT32_MAX, 2, 2 },
		{ 3, 2, 2 },
		{ 1, 2, 1 },
		{ UINT32_MAX, 0, 0 },
	};
	struct {
		struct wire_head h;
		struct vmspan_batch b;
		struct vmspan_span s[2];
	} liar;
	struct rig g;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		rig_open(&g, 0x1000);
		liar.b = batch_of(0x1000, lies[i].slots);
		liar.b.records = lies[i].records;
		liar.b.magic++;
		two_spans(liar.s);
		liar.h = (struct wire_head){
			.kind = WIRE_BATCH, .pid = g.p.pid, .tid = TID, .bytes = liar.b.bytes
		};
		assert_int_equal(live_record(&g.l, &liar, sizeof(liar)), 0);
		assert_int_equal(g.items, 1);
		assert_int_equal(g.records[LOSS_MALFORMED], lies[i].lost);
		assert_int_equal(g.batches[LOSS_MALFORMED], 1);
		rig_close(&g);
	}
}

/* ---- A ring that holds more than is read at once ---- */

static void the_ring_is_read_to_its_end(void **state)
{
	static const u32 sizes[] = { 1, RING_DRAIN - 1, RING_DRAIN, RING_DRAIN + 1,
				     5 * RING_DRAIN + 7 };
	struct err e = { 0 };
	struct rig g;
	size_t i;

	(void)state;
	/* Too short for what it is: each is a loss, by which it is counted. */
	each.h = (struct wire_head){ .kind = WIRE_BATCH };
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		rig_open(&g, 0);
		g.l.detached = true; /* nothing but what the ring holds */
		g.l.ring.rb = (struct ring_buffer *)(void *)&g.l;
		in_ring = sizes[i];
		assert_int_equal(live_drain(&g.l, &e), 0);
		assert_int_equal(in_ring, 0);
		assert_false(g.l.more);
		assert_int_equal(g.losses, sizes[i]);
		assert_int_equal(g.batches[LOSS_MALFORMED], sizes[i]);
		rig_close(&g);
	}
}

/* ---- Names that are not known yet ---- */

static bool knows(struct registry *r, const void *data, u32 bytes)
{
	struct batch_sum sum;

	assert_int_equal(batch_sum(data, bytes, 1, &sum), 0);
	return registry_knows(r, data, bytes, &sum);
}

static void define_id(struct registry *r, u8 type, u32 id)
{
	u8 slot[VMSPAN_SLOT] = { 0 };
	struct vmspan_def d = { .h = { type, 1, 0, id }, .kind = VMSPAN_ADDON, .name_len = 1 };

	memcpy(slot, &d, sizeof(d));
	slot[sizeof(d)] = 'a';
	assert_true(knows(r, slot, sizeof(slot)));
}

/* Whoever names what nobody has defined: the target's log is read for its sake. */
static void each_mark_that_names_something_wants_it_defined(void **state)
{
	static const u8 marks[][2] = {
		{ VMSPAN_SPAN, VMSPAN_DEF_COMPARTMENT }, { VMSPAN_EVENT, VMSPAN_DEF_LABEL },
		{ VMSPAN_GC, VMSPAN_DEF_LABEL },         { VMSPAN_BLOCK, VMSPAN_DEF_LABEL },
		{ VMSPAN_INPUT, VMSPAN_DEF_LABEL },      { VMSPAN_FRAME, VMSPAN_DEF_LABEL },
		{ VMSPAN_VALUE, VMSPAN_DEF_LABEL },
	};
	struct rig g;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(marks); i++) {
		u8 type = marks[i][0], definition = marks[i][1];
		u32 n = record_slots[type] ? record_slots[type] : 1;
		union {
			struct vmspan_event event; /* its id is no name, but its label is */
			struct vmspan_head head;
			u8 slots[4 * VMSPAN_SLOT];
		} mark = { 0 };

		assert_true(n * VMSPAN_SLOT <= sizeof(mark));
		mark.head = (struct vmspan_head){ type, (u8)n, 0, 2 };
		if (type == VMSPAN_EVENT) {
			mark.event.label = 2;
			mark.head.id = 1;
		}
		rig_open(&g, 0x1000);
		define_id(g.r, definition, 1);
		assert_false(knows(g.r, &mark, n * VMSPAN_SLOT));
		define_id(g.r, definition, 2);
		assert_true(knows(g.r, &mark, n * VMSPAN_SLOT));
		rig_close(&g);
	}
}

/* A target with a log in which `id` is defined. */
static struct {
	struct abi1_registry registry;
	union {
		struct vmspan_log head;
		u8 all[sizeof(struct vmspan_log) + 4 * VMSPAN_SLOT];
	} log;
} target;

static u64 target_open(u32 id)
{
	struct vmspan_def *d = (struct vmspan_def *)target.log.head.data;

	memset(&target, 0, sizeof(target));
	target.registry.magic = VMSPAN_MAGIC;
	target.registry.abi = ABI1;
	target.registry.log = (u64)(uintptr_t)&target.log;
	target.log.head.size = 4 * VMSPAN_SLOT;
	target.log.head.used = VMSPAN_SLOT;
	*d = (struct vmspan_def){ .h = { VMSPAN_DEF_COMPARTMENT, 1, 0, id },
				  .kind = VMSPAN_ADDON,
				  .name_len = 1 };
	*(u8 *)(d + 1) = 'a';
	return (u64)(uintptr_t)&target;
}

/* A thread of the process hands over a stay in the compartment. */
static void hand_over(struct rig *g, u32 pid, u32 compartment)
{
	struct {
		struct wire_head h;
		struct vmspan_batch b;
		struct vmspan_span s;
	} r = { .h = { .kind = WIRE_BATCH, .pid = pid, .tid = TID },
		.b = batch_of((u64)(uintptr_t)&target, 1),
		.s = { .h = { VMSPAN_SPAN, 1, 1, compartment }, .begin = 5, .end = 6 } };

	r.h.bytes = r.b.bytes;
	assert_int_equal(live_record(&g->l, &r, sizeof(r)), 0);
	assert_int_equal(g->losses, 0);
	assert_int_equal(g->batch.pid, pid);
	assert_int_equal(g->batch.records, 1);
}

/* The batch that had the definition found no room in the ring. */
static void definitions_that_were_lost_are_read_from_the_target(void **state)
{
	struct rig g;

	(void)state;
	rig_open(&g, target_open(2));
	define_id(g.r, VMSPAN_DEF_COMPARTMENT, 1);
	hand_over(&g, g.p.pid, 1);
	assert_int_equal(g.defs, 0);
	hand_over(&g, g.p.pid, 2);
	assert_int_equal(g.defs_before, 1);
	assert_int_equal(g.defs_bytes, VMSPAN_SLOT);
	/* And is known from then on. */
	hand_over(&g, g.p.pid, 2);
	assert_int_equal(g.defs, 1);
	assert_int_equal(g.r->rereads, 1);
	rig_close(&g);
}

/* It runs another program, in whose log the same ids may be others. */
static void an_exec_forgets_what_the_old_program_has_defined(void **state)
{
	struct wire_life w = { .h.kind = WIRE_EXEC, .mono_ns = 1, .comm = "other" };
	struct rig g;

	(void)state;
	rig_open(&g, target_open(2));
	g.r->read_ns = 0;
	hand_over(&g, g.p.pid, 2);
	assert_int_equal(g.defs_before, 1);
	hand_over(&g, g.p.pid, 2);
	assert_int_equal(g.defs, 1);
	w.h.pid = g.p.pid;
	assert_int_equal(live_record(&g.l, &w, sizeof(w)), 0);
	assert_string_equal(g.p.name, "other");
	hand_over(&g, g.p.pid, 2);
	assert_int_equal(g.defs_before, 2);
	assert_int_equal(g.defs_bytes, 2 * VMSPAN_SLOT);
	rig_close(&g);
}

/* What its parent had defined is the child's too, which may have ended before anybody looks
 * at its memory: that is not looked for there, batch by batch. */
static void a_child_knows_what_its_parent_had_defined(void **state)
{
	struct wire_life w = { .h.kind = WIRE_FORK, .mono_ns = 1, .comm = "child" };
	struct process *p;
	struct rig g;
	pid_t child;

	(void)state;
	rig_open(&g, target_open(2));
	g.r->read_ns = 0;
	child = fork();
	assert_true(child >= 0);
	if (!child)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	w.h.pid = g.p.pid;
	w.other = (u32)child;
	assert_int_equal(live_record(&g.l, &w, sizeof(w)), 0);
	assert_int_equal(g.defs, 1);
	p = process_find(&g.l, (u32)child);
	assert_non_null(p);
	hand_over(&g, p->pid, 2);
	assert_int_equal(p->registry_count, 1);
	assert_true(p->registries[0].read_ns != 0);
	hand_over(&g, p->pid, 2);
	assert_int_equal(p->registries[0].rereads, 0);
	/* Its own are looked for. */
	hand_over(&g, p->pid, 3);
	assert_int_equal(p->registries[0].rereads, 1);
	assert_int_equal(g.defs, 1);
	map_del(&g.l.processes, p->pid);
	process_free(&g.l, p);
	rig_close(&g);
}

/* ---- While links were taken off ---- */

/* A child that lives on its parent's links may have had no marks from 2000 to 3000. */
static void doubtful_child(struct rig *g, u64 registry)
{
	rig_open(g, registry);
	g->p.unlinked = g->p.by_batches = true;
	g->p.link_ns = 1;
	g->l.parts[TRACE_TURNS].on = true;
	g->l.doubt_begin_ns = 2000;
	g->l.doubt_end_ns = 3000;
}

static void a_child_that_ended_meanwhile_may_have_lost_marks(void **state)
{
	static const struct {
		u64 forked, ended;
		bool lost;
	} lives[] = {
		{ 1000, 1999, false }, { 1000, 2500, true }, { 1000, 4000, true },
		{ 2100, 2200, true },  { 2999, 4000, true }, { 3001, 4000, false },
	};
	struct rig g;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(lives); i++) {
		doubtful_child(&g, 0);
		g.p.forked_ns = lives[i].forked;
		attachments_ended(&g.l, &g.p, lives[i].ended);
		assert_int_equal(g.records[LOSS_MARKS_OFF], lives[i].lost);
		assert_int_equal(g.losses, lives[i].lost);
		rig_close(&g);
	}
}

static void a_child_whose_marks_are_off_has_lost_some(void **state)
{
	u64 address = target_open(1);
	struct rig g;
	u16 on;

	(void)state;
	for (on = 0; on < 2; on++) {
		doubtful_child(&g, address);
		target.registry.semaphore = on;
		assert_int_equal(attachments_thin(&g.l, false), 0);
		assert_int_equal(g.records[LOSS_MARKS_OFF], !on);
		/* Once. */
		assert_int_equal(attachments_thin(&g.l, false), 0);
		assert_int_equal(g.losses, !on);
		rig_close(&g);
	}
}

/* ---- Stays under way ---- */

static void of_a_deep_stack_the_innermost_stays_are_told(void **state)
{
	static const u32 depths[] = { 1, 16, 17, 20, VMSPAN_DEPTH_MAX };
	static struct abi1_thread thread;
	u64 address = target_open(1);
	struct live_stay stays[32];
	struct rig g;
	u32 i, k, n;

	(void)state;
	thread = (struct abi1_thread){ .magic = VMSPAN_MAGIC, .tid = TID };
	target.registry.threads = (u64)(uintptr_t)&thread;
	for (i = 0; i <= VMSPAN_DEPTH_MAX; i++)
		thread.open[i] = (struct abi1_open){ .begin = 1, .id = 100 + i };
	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		rig_open(&g, address);
		g.l.s.info.clock = CLOCK_TSC;
		g.l.s.info.cycles_hz = NSEC_PER_SEC;
		thread.depth = depths[i];
		n = live_running(&g.l.s, 0, stays, ARRAY_SIZE(stays));
		assert_int_equal(n, min_u64(depths[i], 16));
		for (k = 0; k < n; k++) {
			assert_int_equal(stays[k].depth, depths[i] - n + k);
			assert_int_equal(stays[k].compartment, 100 + stays[k].depth + 1);
			assert_int_equal(stays[k].tid, TID);
			assert_int_equal(stays[k].innermost, k == n - 1);
		}
		rig_close(&g);
	}
}

/* What threads have open since an earlier trace is not of this one; of one that goes on it is. */
static void a_trace_that_is_alone_is_a_new_session(void **state)
{
	struct abi1_registry r = { .magic = VMSPAN_MAGIC, .abi = ABI1, .session = 7 };

	(void)state;
	registry_new_session((u32)getpid(), (u64)(uintptr_t)&r);
	assert_int_not_equal(r.session, 7);
	assert_int_not_equal(r.session, 0);
	r.session = 7;
	r.semaphore = 1;
	registry_new_session((u32)getpid(), (u64)(uintptr_t)&r);
	assert_int_equal(r.session, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_counter_is_a_loss_of_its_cause),
		cmocka_unit_test(what_was_told_is_not_told_again),
		cmocka_unit_test(a_batch_says_what_its_thread_has_left_out),
		cmocka_unit_test(what_is_left_of_a_batch_at_the_end_says_so_too),
		cmocka_unit_test(what_a_killed_thread_held_is_a_loss_in_exact_mode),
		cmocka_unit_test(a_batch_that_lies_has_lost_what_it_has_room_for),
		cmocka_unit_test(the_ring_is_read_to_its_end),
		cmocka_unit_test(each_mark_that_names_something_wants_it_defined),
		cmocka_unit_test(definitions_that_were_lost_are_read_from_the_target),
		cmocka_unit_test(an_exec_forgets_what_the_old_program_has_defined),
		cmocka_unit_test(a_child_knows_what_its_parent_had_defined),
		cmocka_unit_test(a_child_that_ended_meanwhile_may_have_lost_marks),
		cmocka_unit_test(a_child_whose_marks_are_off_has_lost_some),
		cmocka_unit_test(a_trace_that_is_alone_is_a_new_session),
		cmocka_unit_test(of_a_deep_stack_the_innermost_stays_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
