/* SPDX-License-Identifier: BSD-2-Clause */
/* A model that is fed one thread's records, and its figures. */
#ifndef TESTS_COUNTED_RIG_H
#define TESTS_COUNTED_RIG_H

#include "sim.h"

struct rig {
	struct model *m;
	struct sim *s;
	struct snapshot *snap; /* by rig_look() */
};

static inline void rig_open(struct rig *r)
{
	*r = (struct rig){ .m = model_make(&(struct model_config){ 0 }), .s = sim_new(1) };
}

/* The same in exact mode, with a scheduler's record of the thread from its start on. */
static inline void rig_open_exact(struct rig *r, struct sim *sched)
{
	*r = (struct rig){ .m = model_make(&(struct model_config){ .exact = true }),
			   .s = sim_new(1) };
	sim_off(sched, 500, 500, VMSPAN_OFF_START);
}

/* The figures after all that was made so far, of which [from, to) is new. */
static inline const struct snapshot *rig_look(struct rig *r, u32 from, u32 to)
{
	if (from < to)
		assert_int_equal(sim_batch(r->s, r->m, SIM_PID, from, to), 0);
	snapshot_free(r->snap);
	r->snap = snapshot_take(r->m);
	assert_non_null(r->snap);
	assert_int_equal(ledger_sum(&r->snap->ledger), r->snap->ledger.event_wall_ns);
	return r->snap;
}

static inline void rig_close(struct rig *r)
{
	snapshot_free(r->snap);
	model_free(r->m);
	free(r->s);
}

static inline const struct group_stats *stats(const struct snapshot *s, const char *group)
{
	const struct snapshot_group *g = snapshot_group(s, group);

	assert_non_null(g);
	return &g->stats;
}

/* An event of `ns` from t on, with a span of the compartment in all of it. */
static inline void plain_event(struct sim *s, u64 t, u64 ns, u32 id)
{
	sim_event(s, t);
	sim_enter(s, t, id, VMSPAN_SPAN);
	sim_leave(s, t + ns);
	sim_event_end(s, t + ns);
}

#endif
