/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that have ended: where they are summed up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sim.h"

/* No process has number 0, and a recording may say that one has, and has ended. */
static void the_sum_of_those_that_ended_is_no_process(void **state)
{
	static const enum process_change changes[] = { PROCESS_SEEN, PROCESS_EXEC, PROCESS_EXIT };
	struct model *m = model_make(&(struct model_config){ 0 });
	struct item it = { .type = ITEM_PROCESS };
	struct sim *s = sim_new(1);
	struct snapshot *snap;
	u32 i, k;

	(void)state;
	sim_event(s, 1000);
	sim_enter(s, 1100, 1, VMSPAN_SPAN);
	sim_leave(s, 1200);
	sim_event_end(s, 2000);
	for (i = 1; i <= 15000; i++) {
		it.process =
			(struct item_process){ PROCESS_FORK, SIM_PID + i, SIM_PID, 1, "kid", "" };
		assert_int_equal(model_item(m, &it), 0);
		assert_int_equal(sim_batch(s, m, SIM_PID + i, 0, 2), 0);
		it.process.change = PROCESS_EXIT;
		assert_int_equal(model_item(m, &it), 0);
		for (k = 0; i % 5000 == 0 && k < 3; k++) {
			it.process = (struct item_process){ changes[k], 0, 0, 1, "none", "" };
			assert_int_equal(model_item(m, &it), 0);
		}
	}
	snap = snapshot_take(m);
	assert_int_equal(snap->events.count, 15000);
	assert_int_equal(snapshot_group(snap, "addon:a")->stats.wall_ns, 15000 * 100);
	assert_int_equal(ledger_sum(&snap->ledger), 15000 * 1000);
	snapshot_free(snap);
	model_free(m);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sum_of_those_that_ended_is_no_process),
	};

	return cmocka_run_group_tests_name("ended", tests, NULL, NULL);
}
