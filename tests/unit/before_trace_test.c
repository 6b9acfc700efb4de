/* SPDX-License-Identifier: BSD-2-Clause */
/* What a trace begins in the middle of (user/model/LEDGER.md, "Before the trace"). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "counted_rig.h"

/* An event that was open when the trace began is dropped and counted. */
static void an_event_from_before_the_trace_is_no_event(void **state)
{
	struct item clock = { .type = ITEM_CLOCK, .clock = { 5000, 5000, 1 } };
	const struct snapshot *snap;
	struct rig r;

	(void)state;
	rig_open(&r);
	model_free(r.m);
	r.m = model_new(&(struct model_config){ 0 });
	assert_int_equal(model_item(r.m, &clock), 0);
	plain_event(r.s, 4000, 2000, 1);
	plain_event(r.s, 7000, 100, 1);
	snap = rig_look(&r, 0, 4);
	assert_int_equal(snap->repairs.before_attach, 2); /* the span and the event */
	assert_int_equal(snap->events.count, 1);
	assert_int_equal(snap->ledger.event_wall_ns, 100);
	rig_close(&r);
}

/* Nor is what it was in since: it has no surroundings that are known. Events in it are whole. */
static void what_ran_in_an_event_from_before_the_trace_is_of_none(void **state)
{
	struct item clock = { .type = ITEM_CLOCK, .clock = { 5000, 5000, 1 } };
	const struct snapshot *snap;
	struct rig r;
	int kind;

	(void)state;
	for (kind = 0; kind < 5; kind++) {
		bool event = kind < 3;

		rig_open(&r);
		model_free(r.m);
		r.m = model_new(&(struct model_config){ 0 });
		assert_int_equal(model_item(r.m, &clock), 0);
		if (event)
			sim_event(r.s, 4000);
		if (kind)
			sim_enter(r.s, 4500, 1, kind == 4 ? VMSPAN_GC : VMSPAN_SPAN);
		if (kind == 2)
			plain_event(r.s, 5100, 50, 1);
		sim_enter(r.s, 5200, 2, VMSPAN_SPAN);
		sim_leave(r.s, 5500);
		if (kind)
			sim_leave(r.s, 6000);
		if (event)
			sim_event_end(r.s, 6100);
		/* What comes then has nothing of it. */
		sim_enter(r.s, 6500, 1, VMSPAN_SPAN);
		sim_leave(r.s, 6600);
		plain_event(r.s, 7000, 100, 1);
		snap = rig_look(&r, 0, r.s->records);
		assert_int_equal(snap->events.count, kind == 2 ? 3 : 2);
		assert_int_equal(snap->events.incomplete, 0);
		assert_int_equal(snap->ledger.event_wall_ns, kind == 2 ? 250 : 200);
		rig_close(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_from_before_the_trace_is_no_event),
		cmocka_unit_test(what_ran_in_an_event_from_before_the_trace_is_of_none),
	};

	return cmocka_run_group_tests_name("before_trace", tests, NULL, NULL);
}
