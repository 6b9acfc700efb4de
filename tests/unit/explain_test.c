/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of one kind at one place are one line, and what it says holds for all of them. */
#include "sim.h"
#include "sink/explain.h"
#include "sink_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void call(struct sim *s, u64 begin, u64 end, u64 peer)
{
	struct vmspan_block *b;

	sim_enter(s, begin, 0, VMSPAN_BLOCK);
	sim_leave(s, end);
	b = (void *)s->data[s->at[s->records - 1]];
	b->peer = peer;
}

/* An event with two calls in one stay, as JSON. */
static char *calls_to(u64 first, u64 second)
{
	static const struct report_source source = {
		.kind = "recording", .method = "exact", .nested = "drop", .migrated = "split"
	};
	struct model *m = model_make(&(struct model_config){ 0 });
	struct explain *x = explain_new(m, 0, 1);
	struct sim *s = sim_of(1, 8);
	struct json j;
	struct out o;

	assert_non_null(x);
	sim_event(s, 1000);
	sim_enter(s, 2000, 1, VMSPAN_SPAN);
	call(s, 3000, 3300, first);
	call(s, 4000, 4500, second);
	sim_leave(s, 5000);
	sim_event_end(s, 6000);
	sim_feed(s, m, 8);
	assert_int_equal(model_finish(m), 0);
	out_open_memory(&o);
	json_open(&j, &o);
	explain_json(x, &j, &source);
	explain_free(x);
	model_free(m);
	free(s);
	return fixture_text(&o);
}

static void calls_to_several_processes_name_none(void **state)
{
	char *same = calls_to(7, 7), *several = calls_to(7, 8);

	(void)state;
	assert_non_null(strstr(same, "\"count\":2,\"ns\":800,"));
	assert_non_null(strstr(several, "\"count\":2,\"ns\":800,"));
	assert_non_null(strstr(same, "\"peer\":7"));
	assert_null(strstr(several, "\"peer\":"));
	free(same);
	free(several);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_to_several_processes_name_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
