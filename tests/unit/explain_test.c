/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of one kind at one place are one line, and what it says holds for all of them. */
#include "sim.h"
#include "sink/explain_priv.h"
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

/* ---- Stays and events handed over one by one ---- */

static const struct model_thread thread = {
	.pid = 7, .tid = 8, .id = 1, .name = "t", .process = "p"
};
static struct model *model;
static struct explain *x;

static void open_explain(u32 iteration, u32 slowest)
{
	model = model_make(&(struct model_config){ 0 });
	x = explain_new(model, iteration, slowest);
	assert_non_null(x);
}

static void close_explain(void)
{
	explain_free(x);
	model_free(model);
}

static struct model_span stay(const char *name, u16 depth, u64 begin, u64 end)
{
	return (struct model_span){ .thread = &thread,
				    .type = VMSPAN_SPAN,
				    .name = name,
				    .group = "addon:a",
				    .begin_ns = begin,
				    .end_ns = end,
				    .depth = depth,
				    .iteration = 1 };
}

static void put(struct model_span s)
{
	void *ctx;

	assert_int_equal(model_observer(model, &ctx)->span(ctx, &s), 0);
}

/* An event from `begin` that was charged `wall` of its time. */
static void put_event(u32 iteration, u32 parent, u64 begin, u64 end, u64 wall)
{
	struct model_event e = { .thread = &thread,
				 .label = "turn",
				 .iteration = iteration,
				 .parent = parent,
				 .begin_ns = begin,
				 .end_ns = end,
				 .ledger = { .event_wall_ns = wall } };
	void *ctx;

	assert_int_equal(model_observer(model, &ctx)->event(ctx, &e), 0);
}

static void alike_stays_are_one_line_with_all_their_figures(void **state)
{
	struct model_span s = stay("work", 1, 100, 130);
	const struct node *n;

	(void)state;
	open_explain(0, 1);
	s.off_ns = 3;
	s.cpu_end = 1;
	put(s);
	s = stay("work", 1, 200, 290);
	s.off_ns = 4;
	s.repaired = true;
	s.fate = SPAN_MOVED;
	s.cpu_begin = s.cpu_end = 70;
	put(s);
	s = stay("work", 1, 300, 310);
	s.fate = SPAN_LOST;
	put(s);
	s = stay("sweep", 1, 320, 330);
	s.type = VMSPAN_GC;
	s.bytes_before = 1000;
	s.bytes_after = 400;
	put(s);
	s.begin_ns = 340;
	s.end_ns = 350;
	s.bytes_before = 400;
	s.bytes_after = 500; /* forged: it has freed nothing */
	put(s);
	put(stay("all", 0, 50, 400));
	put_event(1, 0, 40, 410, 370);
	assert_int_equal(explain_count(x), 1);
	n = x->kept[0].tree;
	assert_string_equal(n->name, "all");
	assert_null(n->next);
	n = n->child;
	assert_string_equal(n->name, "work");
	assert_int_equal(n->count, 3);
	assert_int_equal(n->ns, 130);
	assert_int_equal(n->max_ns, 90);
	assert_int_equal(n->off_ns, 7);
	assert_int_equal(n->repaired, 1);
	assert_int_equal(n->fate[SPAN_KEPT], 1);
	assert_int_equal(n->fate[SPAN_MOVED], 1);
	assert_int_equal(n->fate[SPAN_LOST], 1);
	assert_true(n->cpus == (1ull << 63 | 3));
	n = n->next;
	assert_int_equal(n->count, 2);
	assert_int_equal(n->freed_bytes, 600);
	assert_null(n->next);
	close_explain();
}

/* It is a line of its own in the event around it, as long as it took. */
static void a_nested_event_is_one_line(void **state)
{
	struct model_span s = stay("inner", 1, 120, 180);
	const struct node *n;

	(void)state;
	open_explain(0, 2);
	s.iteration = 2;
	put(s);
	put_event(2, 1, 110, 190, 5);
	put(stay("all", 0, 100, 200));
	put_event(1, 0, 90, 210, 115);
	assert_int_equal(explain_count(x), 2);
	assert_string_equal(x->kept[0].tree->name, "inner");
	n = x->kept[1].tree;
	assert_string_equal(n->name, "all");
	n = n->child;
	assert_int_equal(n->type, VMSPAN_EVENT);
	assert_int_equal(n->iteration, 2);
	assert_int_equal(n->ns, 80);
	assert_int_equal(n->max_ns, 80);
	assert_int_equal(n->fate[SPAN_KEPT], 1);
	assert_null(n->child);
	/* Events end in this order: the trace begins with the outer one's begin. */
	assert_int_equal(x->begin_ns, 90);
	close_explain();
}

static void the_slowest_are_kept_and_of_equals_the_first(void **state)
{
	(void)state;
	open_explain(0, 2);
	put_event(1, 0, 100, 200, 50);
	put_event(2, 0, 200, 300, 70);
	put_event(3, 0, 300, 400, 50);
	assert_int_equal(explain_count(x), 2);
	assert_int_equal(x->kept[0].e.iteration, 1);
	put_event(4, 0, 400, 500, 51);
	assert_int_equal(x->kept[0].e.iteration, 4);
	assert_int_equal(x->kept[0].order, 4);
	assert_int_equal(x->kept[1].e.iteration, 2);
	assert_int_equal(x->begin_ns, 100);
	close_explain();
}

/* Every process has an event of that number: those beyond what is kept are counted. */
static void of_one_number_those_beyond_are_counted(void **state)
{
	u32 i;

	(void)state;
	open_explain(5, 0);
	for (i = 0; i < EXPLAIN_EVENTS + 3; i++) {
		put_event(4, 0, 100, 200, 1000);
		put_event(5, 0, 100, 200, 10 + i);
	}
	assert_int_equal(explain_count(x), EXPLAIN_EVENTS);
	assert_int_equal(x->left_out, 3);
	assert_int_equal(x->kept[0].e.ledger.event_wall_ns, 10);
	close_explain();
}

/* What one event has no room for is said of that one. */
static void stays_without_room_are_their_events(void **state)
{
	u32 i;

	(void)state;
	open_explain(0, 3);
	/* Each lies deeper than those before: none is inside of another. */
	for (i = 0; i < EXPLAIN_NODES + 5; i++)
		put(stay("work", (u16)i, i, i + 1));
	put_event(1, 0, 0, 100000, 3000);
	put(stay("work", 0, 100001, 100002));
	put_event(2, 0, 100000, 200000, 2000);
	assert_int_equal(x->kept[0].omitted, 5);
	assert_int_equal(x->kept[1].omitted, 0);
	close_explain();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_to_several_processes_name_none),
		cmocka_unit_test(alike_stays_are_one_line_with_all_their_figures),
		cmocka_unit_test(a_nested_event_is_one_line),
		cmocka_unit_test(the_slowest_are_kept_and_of_equals_the_first),
		cmocka_unit_test(of_one_number_those_beyond_are_counted),
		cmocka_unit_test(stays_without_room_are_their_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
