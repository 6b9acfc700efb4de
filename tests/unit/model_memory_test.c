/* SPDX-License-Identifier: BSD-2-Clause */
/* However many calls an event has, it takes memory for its groups and its depth. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sim.h"

#define CALLS 20000
#define ROOM (256u << 10)

static u64 used(void)
{
	struct mallinfo2 now = mallinfo2();

	return now.uordblks + now.hblkhd;
}

/* b calls a, again and again, in c or in nothing; every `moved`th time a changes CPU. */
static void calls(bool around, u32 moved)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_of(1, 2 * CALLS + 2);
	struct snapshot *snap;
	u64 t = 1000, before;
	u32 i;

	sim_event(s, t);
	if (around)
		sim_enter(s, t, 3, VMSPAN_SPAN);
	for (i = 0; i < CALLS; i++) {
		sim_enter(s, t += 10, 2, VMSPAN_SPAN);
		sim_enter(s, t += 10, 1, VMSPAN_SPAN);
		s->cpu = moved && i % moved == 0;
		sim_leave(s, t += 10);
		s->cpu = 0;
		sim_leave(s, t += 10);
	}
	assert_int_equal(sim_batch(s, m, SIM_PID, 0, 200), 0);
	before = used();
	assert_int_equal(sim_batch(s, m, SIM_PID, 200, s->records), 0);
#ifndef __SANITIZE_ADDRESS__
	assert_true(used() < before + ROOM);
#endif
	i = s->records;
	if (around)
		sim_leave(s, t);
	sim_event_end(s, t);
	assert_int_equal(sim_batch(s, m, SIM_PID, i, s->records), 0);
	snap = snapshot_take(m);
	assert_int_equal(snapshot_group(snap, "addon:a")->stats.ticks, CALLS);
	assert_int_equal(snapshot_group(snap, "addon:a")->stats.wall_ns +
				 snapshot_group(snap, "addon:a")->stats.uncharged_ns,
			 CALLS * 10);
	assert_int_equal(snapshot_group(snap, "addon:a")->stats.uncharged_ns,
			 moved ? CALLS / moved * 10 : 0);
	assert_int_equal(snapshot_group(snap, "addon:b")->stats.wall_ns, CALLS * 30);
	snapshot_free(snap);
	model_free(m);
	free(s);
	(void)before;
}

static void calls_that_are_over_are_one(void **state)
{
	(void)state;
	calls(false, 0);
	calls(true, 0);
}

static void so_are_those_that_changed_cpu(void **state)
{
	(void)state;
	calls(false, 2);
	calls(true, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_are_over_are_one),
		cmocka_unit_test(so_are_those_that_changed_cpu),
	};

	return cmocka_run_group_tests_name("model_memory", tests, NULL, NULL);
}
