/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that have ended: where they are summed up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim.h"

static void change(struct model *m, enum process_change change, u32 pid)
{
	struct item it = { .type = ITEM_PROCESS,
			   .process = { change, pid, SIM_PID, 1, "kid", "" } };

	assert_int_equal(model_item(m, &it), 0);
}

/* It is not traced though it was asked for. */
static void leave_out(struct model *m, u32 pid)
{
	u64 room[VMSPAN_SLOT / sizeof(u64)] = { 0 };
	struct vmspan_def *d = (void *)room;
	struct item it = { .type = ITEM_DEFS,
			   .defs = { pid, ITEM_TRACER_REGISTRY, room, sizeof(room) } };

	d->h = (struct vmspan_head){ VMSPAN_DEF_NOTE, 1, 0, 1 };
	d->flags = VMSPAN_NOTE_LEFT_OUT;
	d->name_len = 1;
	memcpy(d->groups, "x", 1);
	assert_int_equal(model_item(m, &it), 0);
}

static void check_sums(const struct snapshot *snap, u64 processes)
{
	assert_int_equal(snap->events.count, processes);
	assert_int_equal(snapshot_group(snap, "addon:a")->stats.wall_ns, processes * 100);
	assert_int_equal(ledger_sum(&snap->ledger), processes * 1000);
	assert_int_equal(snap->gc.count, processes);
	assert_int_equal(snap->gc.total_ns, processes * 50);
}

/* Processes that come and go do not grow the model; nothing of them is lost. */
static void ended_processes_fold(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_one_event();
	struct snapshot *snap;
	u32 i;

	(void)state;
	for (i = 1; i <= 20000; i++) {
		change(m, PROCESS_FORK, SIM_PID + i);
		assert_int_equal(sim_batch(s, m, SIM_PID + i, 0, 3), 0);
		if (i == 1 || i == 20000)
			leave_out(m, SIM_PID + i);
		change(m, PROCESS_EXIT, SIM_PID + i);
	}
	snap = snapshot_take(m);
	assert_true(snap->process_count <= 4098);
	assert_int_equal(snap->left_out, 2);
	check_sums(snap, 20000);
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* No process has number 0, and a recording may say that one has, and has ended. */
static void the_sum_of_those_that_ended_is_no_process(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_one_event();
	struct snapshot *snap;
	u32 i;

	(void)state;
	for (i = 1; i <= 15000; i++) {
		change(m, PROCESS_FORK, SIM_PID + i);
		assert_int_equal(sim_batch(s, m, SIM_PID + i, 0, 3), 0);
		change(m, PROCESS_EXIT, SIM_PID + i);
		if (i % 5000)
			continue;
		change(m, PROCESS_SEEN, 0);
		change(m, PROCESS_EXEC, 0);
		change(m, PROCESS_EXIT, 0);
	}
	snap = snapshot_take(m);
	check_sums(snap, 15000);
	snapshot_free(snap);
	model_free(m);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ended_processes_fold),
		cmocka_unit_test(the_sum_of_those_that_ended_is_no_process),
	};

	return cmocka_run_group_tests_name("ended", tests, NULL, NULL);
}
