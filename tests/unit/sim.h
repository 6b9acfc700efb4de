/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pretend thread for tests: takes marks at given times and makes the records
 * the SDK would make, then hands them to a model as items. Cycles are ns.
 */
#ifndef TESTS_SIM_H
#define TESTS_SIM_H

#include "model/model.h"
#include "model/snapshot.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SIM_PID 100
#define SIM_REGISTRY 0x1000
#define SIM_RECORDS (1 << 16) /* what sim_new() has room for */

struct sim_open {
	u64 begin;
	u32 id;
	u16 cpu;
	u8 type;
};

struct sim_turn {
	u64 begin;
	u32 iteration, first;
	u64 off; /* of the thread when it began */
	u16 base, cpu;
};

struct sim {
	struct sim_open open[VMSPAN_DEPTH_MAX];
	u32 depth;
	struct sim_turn turn[VMSPAN_EVENT_MAX];
	u32 turns, iteration_last;
	u32 tid;
	u16 cpu;
	u64 off; /* time off the CPU so far */
	u64 cpu_scale; /* CPU ns an event gets, in percent of its wall */
	bool told; /* the thread tells when it had no CPU */
	/* What the next batch says, as the SDK counts it for a thread. */
	u64 seq_first; /* records the thread made before those here */
	u32 too_deep, unmatched, in_mark;
	/* Records, each at most 3 slots, and where each begins: behind them, of the same block. */
	u32 room, slots, records;
	u32 *at;
	_Alignas(struct vmspan_span) u8 data[][VMSPAN_SLOT];
};

/* With room for so many records. For who makes thousands: a large one is mapped, and its pages
 * cost more than what it is for. To be freed. */
static inline struct sim *sim_of(u32 tid, u32 room)
{
	size_t data = (size_t)room * 3 * VMSPAN_SLOT;
	struct sim *s = calloc(1, sizeof(*s) + data + room * sizeof(*s->at));

	assert(s);
	s->tid = tid;
	s->cpu_scale = 100;
	s->room = room;
	s->at = (u32 *)((u8 *)s->data + data);
	return s;
}

static inline struct sim *sim_new(u32 tid)
{
	return sim_of(tid, SIM_RECORDS);
}

static inline void *sim_record(struct sim *s, u8 type, u8 slots, u32 depth, u32 id)
{
	struct vmspan_head *h = (void *)s->data[s->slots];

	assert(s->records < s->room);
	s->at[s->records++] = s->slots;
	s->slots += slots;
	*h = (struct vmspan_head){ type, slots, (u16)depth, id };
	return h;
}

static inline u32 sim_iteration(const struct sim *s)
{
	return s->turns ? s->turn[s->turns - 1].iteration : 0;
}

static inline void sim_enter(struct sim *s, u64 t, u32 id, u8 type)
{
	s->open[s->depth++] = (struct sim_open){ t, id, s->cpu, type };
}

static inline void sim_leave(struct sim *s, u64 t)
{
	const struct sim_open *o = &s->open[--s->depth];
	struct vmspan_span *r =
		sim_record(s, o->type, o->type == VMSPAN_SPAN ? 1 : 2, s->depth, o->id);

	r->begin = o->begin;
	r->end = t;
	r->cpu_begin = o->cpu;
	r->cpu_end = s->cpu;
	r->iteration = sim_iteration(s);
}

static inline void sim_event(struct sim *s, u64 t)
{
	s->turn[s->turns++] = (struct sim_turn){ .begin = t,
						 .iteration = ++s->iteration_last,
						 .first = s->records,
						 .off = s->off,
						 .base = (u16)s->depth,
						 .cpu = s->cpu };
}

static inline void sim_event_end(struct sim *s, u64 t)
{
	struct sim_turn e = s->turn[--s->turns];
	u32 flags = s->told ? VMSPAN_F_SWITCHES : 0;
	struct vmspan_event *r = sim_record(s, VMSPAN_EVENT, 3, e.base | flags, e.iteration);

	r->begin = r->mono_begin = e.begin;
	r->end = r->mono_end = t;
	r->cpu_ns_begin = 0;
	r->cpu_ns_end = (t - e.begin - (s->off - e.off)) * s->cpu_scale / 100;
	r->cpu_begin = e.cpu;
	r->cpu_end = s->cpu;
	r->parent = sim_iteration(s);
	r->records = s->records - 1 - e.first;
}

static inline void sim_start(struct model *m, const char *name)
{
	struct item it = { .type = ITEM_CLOCK, .clock = { 1, 1, 1 } };

	assert(!model_item(m, &it));
	it = (struct item){ .type = ITEM_PROCESS,
			    .process = { PROCESS_SEEN, SIM_PID, 1, 1, name, "sdk" } };
	assert(!model_item(m, &it));
}

/* Defines a group or, with groups, a compartment. */
static inline void sim_define(struct model *m, u32 pid, u8 type, u32 id, u8 kind, const char *name,
			      const u32 *groups, u32 count)
{
	u64 space[(sizeof(struct vmspan_def) + 32 + 288) / 8] = { 0 };
	struct vmspan_def *d = (void *)space;
	struct item it = { .type = ITEM_DEFS };

	d->h.type = type;
	d->h.id = id;
	d->kind = kind;
	d->count = (u8)count;
	d->name_len = (u8)strlen(name);
	if (count)
		memcpy(d->groups, groups, count * sizeof(u32));
	memcpy(d->groups + count, name, d->name_len);
	d->h.slots = (u8)((sizeof(*d) + count * 4 + d->name_len + VMSPAN_SLOT - 1) / VMSPAN_SLOT);
	it.defs = (struct item_defs){ pid, SIM_REGISTRY, d, d->h.slots * (u32)VMSPAN_SLOT };
	assert(!model_item(m, &it));
}

/* A package, in a compartment and a frame of its number. flags: VMSPAN_FRAME_*. */
static inline void sim_package(struct model *m, u32 id, const char *name, u8 flags)
{
	u64 space[sizeof(struct vmspan_def) / 8 + 8] = { 0 };
	struct vmspan_def *d = (void *)space;
	struct item it = { .type = ITEM_DEFS };

	sim_define(m, SIM_PID, VMSPAN_DEF_GROUP, id, VMSPAN_PACKAGE, name, NULL, 0);
	sim_define(m, SIM_PID, VMSPAN_DEF_COMPARTMENT, id, 0, name, &id, 1);
	d->h = (struct vmspan_head){ VMSPAN_DEF_FRAME, 1, 0, id };
	d->flags = flags;
	d->count = 1;
	d->groups[0] = id;
	it.defs = (struct item_defs){ SIM_PID, SIM_REGISTRY, d, VMSPAN_SLOT };
	assert(!model_item(m, &it));
}

/* The last record, which is one. */
static inline struct vmspan_event *last_event(const struct sim *s)
{
	return (void *)s->data[s->at[s->records - 1]];
}

/* Records [from, to) as one batch. */
static inline struct item sim_item(const struct sim *s, u32 pid, u32 from, u32 to)
{
	u32 begin = s->at[from], end = to < s->records ? s->at[to] : s->slots;
	struct item it = { .type = ITEM_BATCH };

	it.batch = (struct item_batch){
		.pid = pid,
		.tid = s->tid,
		.registry = SIM_REGISTRY,
		.thread = s->tid,
		.seq = s->seq_first + from,
		.records = to - from,
		.bytes = (end - begin) * VMSPAN_SLOT,
		.data = s->data[begin],
		.too_deep = s->too_deep,
		.unmatched = s->unmatched,
		.in_mark = s->in_mark,
	};
	return it;
}

static inline int sim_batch(const struct sim *s, struct model *m, u32 pid, u32 from, u32 to)
{
	struct item it = sim_item(s, pid, from, to);

	return model_item(m, &it);
}

/* Everything, `size` records a batch. */
static inline void sim_feed(const struct sim *s, struct model *m, u32 size)
{
	u32 i;

	for (i = 0; i < s->records; i += size)
		assert(!sim_batch(s, m, SIM_PID, i, (u32)min_u64(i + size, s->records)));
}

/* The thread has had no CPU, and knows it. */
static inline void sim_away(struct sim *s, u64 begin, u64 end)
{
	struct vmspan_span *r = sim_record(s, VMSPAN_AWAY, 1, s->depth, 0);

	r->begin = begin;
	r->end = end;
	r->iteration = sim_iteration(s);
	s->off += end - begin;
}

/* An interval off the CPU, into the scheduler's stream `s`. */
static inline void sim_off(struct sim *s, u64 begin, u64 end, u32 reason)
{
	struct vmspan_span *r = sim_record(s, VMSPAN_OFF, 1, reason, 0);

	r->begin = begin;
	r->end = end;
}

/* Records [from, to) of a scheduler's stream. */
static inline void sim_sched_batch(const struct sim *s, struct model *m, u32 from, u32 to)
{
	struct item it = { .type = ITEM_BATCH };

	if (from == to)
		return;
	it.batch = (struct item_batch){ .pid = SIM_PID,
					.tid = 1,
					.registry = ITEM_SCHED_REGISTRY,
					.thread = 1,
					.seq = from,
					.records = to - from,
					.bytes = (to - from) * VMSPAN_SLOT,
					.data = s->data[from] };
	assert(!model_item(m, &it));
}

static inline void sim_feed_sched(const struct sim *s, struct model *m)
{
	sim_sched_batch(s, m, 0, s->records);
}

/* An event of 1000 ns, of which 100 are group a's and 50 a collection's. */
static inline struct sim *sim_one_event(void)
{
	struct sim *s = sim_new(1);

	sim_event(s, 1000);
	sim_enter(s, 1100, 1, VMSPAN_SPAN);
	sim_leave(s, 1200);
	sim_enter(s, 1300, 0, VMSPAN_GC);
	sim_leave(s, 1350);
	sim_event_end(s, 2000);
	return s;
}

/* A model of process "test" that knows compartments 1 ... 9. */
static inline struct model *model_make(const struct model_config *config)
{
	struct model *m = model_new(config);
	u32 g;

	assert(m);
	sim_start(m, "test");
	/* Compartment i belongs to group i; compartment 9 to groups 1 and 2. */
	for (g = 1; g <= 8; g++) {
		char name[2] = { (char)('a' + g - 1), 0 };

		sim_define(m, SIM_PID, VMSPAN_DEF_GROUP, g, VMSPAN_ADDON, name, NULL, 0);
		sim_define(m, SIM_PID, VMSPAN_DEF_COMPARTMENT, g, 0, name, &g, 1);
	}
	sim_define(m, SIM_PID, VMSPAN_DEF_COMPARTMENT, 9, 0, "both", (u32[]){ 1, 2 }, 2);
	return m;
}

#endif
