/* SPDX-License-Identifier: BSD-2-Clause */
/* A pretend thread that goes on: what would end all that it has open. */
#ifndef TESTS_OPEN_RIG_H
#define TESTS_OPEN_RIG_H

#include "sim.h"

/* What would end all that `s` has open at `t`. To be freed. */
static inline struct sim *closing(const struct sim *s, u64 t)
{
	struct sim *c = sim_of(s->tid, VMSPAN_DEPTH_MAX + VMSPAN_EVENT_MAX);
	u32 room = c->room, *at = c->at;

	memcpy(c, s, sizeof(*s));
	c->room = room;
	c->at = at;
	c->slots = c->records = 0;
	c->seq_first = s->seq_first + s->records;
	/* Of the event's records, those that have come are in no place of this one. */
	while (c->turns || c->depth) {
		struct sim_turn *e = c->turns ? &c->turn[c->turns - 1] : NULL;

		if (e && c->depth == e->base) {
			sim_event_end(c, t);
			((struct vmspan_event *)c->data[c->at[c->records - 1]])->records =
				s->records + c->records - 1 - e->first;
		} else {
			c->open[c->depth - 1].cpu = c->cpu;
			sim_leave(c, t);
		}
	}
	return c;
}

/* An event of a thread's, in no stay that has a name. */
static inline struct item_unfinished event_of(u32 tid, u64 begin, u64 until)
{
	return (struct item_unfinished){ .pid = SIM_PID,
					 .tid = tid,
					 .registry = SIM_REGISTRY,
					 .event = true,
					 .begin_ns = begin,
					 .until_ns = until };
}

/* Tells of what `s` has open at `t`; since `begin`. */
static inline void tell_open(const struct sim *s, struct model *m, u64 begin, u64 t)
{
	struct sim *c = closing(s, t);
	struct item it = { .type = ITEM_OPEN };

	it.open.batch = sim_item(c, SIM_PID, 0, c->records).batch;
	it.open.what = (struct item_unfinished){
		.pid = SIM_PID,
		.tid = s->tid,
		.registry = SIM_REGISTRY,
		.event = s->turns,
		.begin_ns = begin,
		.until_ns = t,
		.depth = s->depth,
		.stay_count = s->depth ? 1 : 0,
		.stay = { s->depth ? s->open[s->depth - 1].id : 0 },
		.stay_ns = { s->depth ? s->open[s->depth - 1].begin : 0 },
	};
	assert_int_equal(model_item(m, &it), 0);
	free(c);
}

#endif
