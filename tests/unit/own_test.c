/* SPDX-License-Identifier: BSD-2-Clause */
/* Own groups of compartments, for one group of a running trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "sim.h"

static void turn_in_both(struct sim *s, struct model *m, u64 at)
{
	u32 from = s->records;

	sim_event(s, at);
	sim_enter(s, at + 100, 9, VMSPAN_SPAN);
	sim_leave(s, at + 200);
	sim_event_end(s, at + 1000);
	assert_int_equal(sim_batch(s, m, SIM_PID, from, s->records), 0);
}

static u64 own_ticks(const struct model *m)
{
	struct snapshot *snap = snapshot_take(m);
	const struct snapshot_group *g = snapshot_group(snap, "compartment:both");
	u64 ticks = g ? g->stats.ticks : 0;

	snapshot_free(snap);
	return ticks;
}

/* Counted, so that two who ask do not end it for each other; what was measured
 * stays as it was. */
static void own_groups_are_switched_on_and_off(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(1);

	(void)state;
	assert_int_equal(model_own(m, "addon:a", false), -ENOENT);
	turn_in_both(s, m, 1000);
	assert_int_equal(model_own(m, "page:other", true), 0);
	turn_in_both(s, m, 3000);
	assert_int_equal(own_ticks(m), 0);
	assert_int_equal(model_own(m, "addon:a", true), 0);
	assert_int_equal(model_own(m, "addon:a", true), 0);
	turn_in_both(s, m, 5000);
	assert_int_equal(own_ticks(m), 1);
	assert_int_equal(model_own(m, "addon:a", false), 0);
	turn_in_both(s, m, 7000);
	assert_int_equal(own_ticks(m), 2);
	assert_int_equal(model_own(m, "addon:a", false), 0);
	turn_in_both(s, m, 9000);
	assert_int_equal(own_ticks(m), 2);
	assert_int_equal(model_own(m, "addon:a", false), -ENOENT);
	model_free(m);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_groups_are_switched_on_and_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
