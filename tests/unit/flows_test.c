/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrows from what waited to what it waited for. */
#include "sink/flows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#define PAGE 10u
#define ADDON 20u

struct seen {
	struct flow_end call[8], event[8];
	u32 count;
};

static int take(void *ctx, const struct flow_end *call, const struct flow_end *event)
{
	struct seen *s = ctx;

	assert_true(s->count < ARRAY_SIZE(s->call));
	s->call[s->count] = *call;
	s->event[s->count++] = *event;
	return 0;
}

static const struct model_thread page = { .pid = PAGE, .tid = PAGE, .id = 1 };
static const struct model_thread addon = { .pid = ADDON, .tid = ADDON, .id = 2 };

static void event(struct flows *f, const struct model_thread *t, u64 begin, u64 end,
		  const struct model_wait *waits, u32 count)
{
	struct model_event e = {
		.thread = t,
		.iteration = 1,
		.begin_ns = begin,
		.end_ns = end,
		.waits = waits,
		.wait_count = count,
	};

	assert_int_equal(flows_event(f, &e), 0);
}

static void call(struct flows *f, u64 begin, u64 end, u64 peer)
{
	struct model_span s = {
		.thread = &page,
		.type = VMSPAN_BLOCK,
		.begin_ns = begin,
		.end_ns = end,
		.peer = peer,
	};

	assert_int_equal(flows_span(f, &s), 0);
}

static void a_call_points_at_the_events_of_its_peer_meanwhile(void **state)
{
	struct seen seen = { .count = 0 };
	struct flows f;

	(void)state;
	flows_init(&f, take, &seen);
	event(&f, &addon, 100, 190, NULL, 0);
	call(&f, 200, 300, ADDON);
	event(&f, &addon, 210, 250, NULL, 0); /* comes behind the call */
	event(&f, &addon, 300, 400, NULL, 0);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.call[0].slice, 200);
	assert_false(seen.call[0].event);
	assert_int_equal(seen.event[0].begin, 210);
	flows_release(&f);
}

static void a_wait_that_nobody_announced_does_too(void **state)
{
	const struct model_wait waits[] = {
		{ .peer_pid = ADDON, .ns = 50, .count = 1, .begin_ns = 220 },
		{ .peer_pid = PAGE, .ns = 50, .count = 1, .begin_ns = 220 }, /* itself */
		{ .peer_pid = 0, .ns = 50, .count = 9, .begin_ns = 220 }, /* not told apart */
	};
	struct seen seen = { .count = 0 };
	struct flows f;

	(void)state;
	flows_init(&f, take, &seen);
	event(&f, &addon, 200, 215, NULL, 0);
	event(&f, &addon, 225, 265, NULL, 0);
	event(&f, &addon, 275, 280, NULL, 0);
	event(&f, &page, 200, 300, waits, ARRAY_SIZE(waits));
	assert_int_equal(seen.count, 1);
	assert_true(seen.call[0].event);
	assert_int_equal(seen.call[0].slice, 200);
	assert_int_equal(seen.call[0].begin, 220);
	assert_int_equal(seen.call[0].end, 270);
	assert_int_equal(seen.event[0].begin, 225);
	flows_release(&f);
}

/* Of several waits the first begin and the sum are known: up to the event's end. */
static void several_waits_reach_to_the_end_of_their_event(void **state)
{
	const struct model_wait wait = { .peer_pid = ADDON, .ns = 40, .count = 2, .begin_ns = 220 };
	struct seen seen = { .count = 0 };
	struct flows f;

	(void)state;
	flows_init(&f, take, &seen);
	event(&f, &page, 200, 300, &wait, 1);
	event(&f, &addon, 225, 240, NULL, 0);
	event(&f, &addon, 270, 290, NULL, 0);
	event(&f, &addon, 300, 310, NULL, 0);
	assert_int_equal(seen.count, 2);
	flows_release(&f);
}

static void an_announced_wait_has_one_arrow(void **state)
{
	const struct model_wait wait = { .peer_pid = ADDON, .ns = 60, .count = 1, .begin_ns = 210 };
	struct seen seen = { .count = 0 };
	struct flows f;

	(void)state;
	flows_init(&f, take, &seen);
	event(&f, &addon, 210, 250, NULL, 0);
	call(&f, 205, 275, ADDON);
	event(&f, &page, 200, 300, &wait, 1);
	assert_int_equal(seen.count, 1);
	assert_false(seen.call[0].event);
	flows_release(&f);
}

/* A nested event lies in one that has the arrow; what no mark began is not shown at all. */
static void only_outermost_events_that_were_marked_have_arrows(void **state)
{
	struct model_event nested = {
		.thread = &addon, .iteration = 2, .parent = 1, .begin_ns = 220, .end_ns = 230
	};
	struct seen seen = { .count = 0 };
	struct flows f;

	(void)state;
	flows_init(&f, take, &seen);
	call(&f, 200, 300, ADDON);
	assert_int_equal(flows_event(&f, &nested), 0);
	nested.parent = 0;
	nested.implicit = true;
	assert_int_equal(flows_event(&f, &nested), 0);
	assert_int_equal(seen.count, 0);
	event(&f, &addon, 210, 250, NULL, 0);
	assert_int_equal(seen.count, 1);
	flows_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_points_at_the_events_of_its_peer_meanwhile),
		cmocka_unit_test(a_wait_that_nobody_announced_does_too),
		cmocka_unit_test(several_waits_reach_to_the_end_of_their_event),
		cmocka_unit_test(an_announced_wait_has_one_arrow),
		cmocka_unit_test(only_outermost_events_that_were_marked_have_arrows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
