/* SPDX-License-Identifier: BSD-2-Clause */
/* What the page makes of stays, events and looks that are handed over one by one. */
#include "sim.h"
#include "sink/html_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct model_thread thread = {
	.pid = 7, .tid = 8, .id = 1, .name = "t", .process = "p"
};
static struct model *model;
static struct html_page *page;

static void open_page(const char *glob)
{
	const struct html_config config = { .limits = &html_export_limits, .glob = glob };

	model = model_make(&(struct model_config){ 0 });
	page = html_new(model, &config);
	assert_non_null(page);
}

static void close_page(void)
{
	html_free(page);
	model_free(model);
}

static const char *name_of(u32 name)
{
	return intern_get(page->names.table, name, NULL);
}

static void put(struct model_span s)
{
	void *ctx;

	assert_int_equal(model_observer(model, &ctx)->span(ctx, &s), 0);
}

static void put_event(const struct model_event *e)
{
	void *ctx;

	assert_int_equal(model_observer(model, &ctx)->event(ctx, e), 0);
}

static void put_look(const char *const *groups, u32 count, u64 weight)
{
	const char *frames[8] = { "f", "f", "f", "f", "f", "f", "f", "f" };
	const struct model_sample m = { .thread = &thread,
					.frames = frames,
					.groups = groups,
					.count = count,
					.weight_ns = weight };
	void *ctx;

	assert_int_equal(model_observer(model, &ctx)->sample(ctx, &m), 0);
}

static const struct html_edge *edge(u32 from, u32 to)
{
	u32 i;

	for (i = 0; i < page->edges.len; i++)
		if (page->edges.edge[i].from == from && page->edges.edge[i].to == to)
			return &page->edges.edge[i];
	return NULL;
}

static struct model_span stay(enum vmspan_type type, u16 depth, u64 begin, u64 end)
{
	return (struct model_span){ .thread = &thread,
				    .type = type,
				    .name = "work",
				    .group = "addon:a",
				    .begin_ns = begin,
				    .end_ns = end,
				    .depth = depth,
				    .iteration = 1 };
}

/* ---- Events and what is in them ---- */

static void stays_keep_what_they_say(void **state)
{
	struct model_event e = { .thread = &thread,
				 .label = "turn",
				 .iteration = 1,
				 .begin_ns = 50,
				 .end_ns = 500,
				 .ledger = { .event_wall_ns = 450 } };
	struct model_span s = stay(VMSPAN_BLOCK, 1, 120, 180);
	const struct html_event *h;

	(void)state;
	open_page(NULL);
	s.peer = 99;
	put(s);
	/* A forged one ends before it begins. */
	put(stay(VMSPAN_SPAN, 1, 300, 250));
	s = stay(VMSPAN_GC, 1, 310, 320);
	s.bytes_before = 1000;
	s.bytes_after = 300;
	put(s);
	put(stay(VMSPAN_SPAN, 0, 100, 400));
	put_event(&e);
	assert_int_equal(page->events.len, 1);
	h = &page->events.event[0];
	assert_int_equal(h->node_len, 4);
	assert_string_equal(name_of(h->nodes[0].name), "work");
	assert_int_equal(h->nodes[1].group, NAME_BLOCKED);
	assert_int_equal(h->nodes[1].before, 99);
	assert_int_equal(h->nodes[2].begin_ns, h->nodes[2].end_ns);
	assert_int_equal(h->nodes[3].group, NAME_GC);
	assert_int_equal(h->nodes[3].before, 1000);
	assert_int_equal(h->nodes[3].after, 300);
	assert_int_equal(page->heap.gc_len, 1);
	close_page();
}

/* What is outside of every event and stay is in none, but a collection has its place on the heap's line. */
static void what_is_outside_of_everything_is_in_no_event(void **state)
{
	struct model_span s = stay(VMSPAN_GC, 0, 10, 20);
	struct model_event e = { .thread = &thread, .label = "", .begin_ns = 0, .end_ns = 30 };

	(void)state;
	open_page(NULL);
	s.iteration = 0;
	put(s);
	s.type = VMSPAN_BLOCK;
	put(s);
	assert_int_equal(page->heap.gc_len, 1);
	assert_int_equal(page->nodes_open, 0);
	s.type = VMSPAN_SPAN;
	put(s);
	assert_int_equal(page->nodes_open, 1);
	put_event(&e);
	assert_int_equal(page->events.event[0].node_len, 1);
	close_page();
}

/* Whose an event was: the group that ran longest, and nobody's time if that is longer. */
static void an_event_is_whose_most_of_its_time_was(void **state)
{
	static const struct model_share shares[] = {
		{ .group = "top:p", .self_ns = 1000 },
		{ .group = "compartment:c", .self_ns = 900 },
		{ .group = "addon:a", .self_ns = 30 },
		{ .group = "addon:b", .self_ns = 50 },
	};
	static const struct {
		struct ledger ledger;
		u32 name; /* 0: "addon:b" */
	} cases[] = {
		{ { .event_wall_ns = 100, .native_ns = 50 }, 0 },
		{ { .event_wall_ns = 100, .native_ns = 51 }, NAME_NATIVE },
		{ { .event_wall_ns = 100, .gc_ns = 51, .blocked_ns = 51 }, NAME_GC },
		{ { .event_wall_ns = 100, .gc_ns = 51, .blocked_ns = 52 }, NAME_BLOCKED },
		{ { .event_wall_ns = 100, .moved_ns = 51 }, NAME_LOST },
		{ { .event_wall_ns = 100, .stale_ns = 51 }, NAME_LOST },
		{ { .event_wall_ns = 100, .moved_ns = 17, .stale_ns = 17, .lost_ns = 17 },
		  NAME_LOST },
	};
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct model_event e = { .thread = &thread,
					 .label = "turn",
					 .iteration = 1,
					 .end_ns = 100,
					 .ledger = cases[i].ledger,
					 .shares = shares,
					 .share_count = ARRAY_SIZE(shares) };

		open_page(NULL);
		put_event(&e);
		if (cases[i].name)
			assert_int_equal(page->events.event[0].group, cases[i].name);
		else
			assert_string_equal(name_of(page->events.event[0].group), "addon:b");
		close_page();
	}
}

/* Events of no chosen group are counted; whether one ran in a sampled event may not be known. */
static void events_of_no_chosen_group_are_counted(void **state)
{
	static const struct model_share a = { .group = "addon:a", .self_ns = 1 },
					b = { .group = "addon:b", .self_ns = 1 };
	struct model_event e = { .thread = &thread,
				 .label = "turn",
				 .iteration = 1,
				 .end_ns = 100,
				 .ledger = { .event_wall_ns = 100 },
				 .shares = &b,
				 .share_count = 1 };
	static const char *const groups[] = { "addon:a" };

	(void)state;
	open_page("addon:a");
	put_event(&e);
	assert_int_equal(page->left_out, 1);
	assert_int_equal(page->events.len, 0);
	e.shares = &a;
	put_event(&e);
	assert_int_equal(page->left_out, 1);
	assert_int_equal(page->events.len, 1);
	e.share_count = 0;
	put_event(&e);
	assert_int_equal(page->left_out, 2);
	put_look(groups, 1, 10);
	put_event(&e);
	assert_int_equal(page->left_out, 2);
	assert_int_equal(page->events.len, 2);
	close_page();
}

/* The event around it has the time in the lane. */
static void a_nested_event_is_in_the_list_and_not_in_the_lane(void **state)
{
	struct model_event e = { .thread = &thread,
				 .label = "turn",
				 .iteration = 2,
				 .parent = 1,
				 .begin_ns = 100,
				 .end_ns = 200,
				 .ledger = { .event_wall_ns = 100 } };

	(void)state;
	open_page(NULL);
	put_event(&e);
	e.iteration = 1;
	e.parent = 0;
	e.begin_ns = 0;
	e.end_ns = 300;
	put_event(&e);
	assert_int_equal(page->events.len, 2);
	assert_int_equal(page->lanes.lane[0].events, 1);
	assert_int_equal(page->lanes.lane[0].bucket[0].busy_ns, 300);
	close_page();
}

/* ---- Looks ---- */

static void each_pair_on_a_stack_counts_once_a_look(void **state)
{
	/* Innermost first: b from a, a from b, b from a, a from the loop; and c in itself. */
	static const char *const turns[] = { "addon:b", "addon:a", "addon:b", "addon:a" };
	static const char *const own[] = { "addon:c", "addon:c" };
	u32 a, b, c;

	(void)state;
	open_page(NULL);
	put_look(turns, 4, 10);
	put_look(own, 2, 7);
	a = html_name(&page->names, "addon:a");
	b = html_name(&page->names, "addon:b");
	c = html_name(&page->names, "addon:c");
	assert_int_equal(page->edges.len, 4);
	assert_int_equal(edge(NAME_LOOP, a)->ns, 10);
	assert_int_equal(edge(a, b)->ns, 10);
	assert_int_equal(edge(a, b)->calls, 1);
	assert_int_equal(edge(b, a)->ns, 10);
	assert_int_equal(edge(NAME_LOOP, c)->ns, 7);
	assert_null(edge(c, c));
	close_page();
}

/* ---- Lanes ---- */

enum {
	A = 100, /* groups, by number */
	B = 101,
};
#define W HTML_WIDTH_FIRST

static void a_bucket_has_what_touches_it(void **state)
{
	struct html_lanes l = { .count = 1, .width_ns = W };
	const struct html_bucket *b;

	(void)state;
	/* Ends where the third begins: it does not touch it. */
	assert_int_equal(html_lanes_add(&l, 0, W / 2, 2 * W, A), 0);
	assert_int_equal(l.lane[0].len, 2);
	b = l.lane[0].bucket;
	assert_int_equal(b[0].busy_ns, W / 2);
	assert_int_equal(b[1].busy_ns, W);
	/* The longest event that touches it, whole. */
	assert_int_equal(b[0].max_ns, W + W / 2);
	assert_int_equal(b[1].max_ns, W + W / 2);
	assert_int_equal(b[0].count, 1);
	assert_int_equal(b[1].count, 0);
	/* One that takes no time is where it is. */
	assert_int_equal(html_lanes_add(&l, 0, 2 * W, 2 * W, A), 0);
	assert_int_equal(l.lane[0].len, 3);
	assert_int_equal(l.lane[0].bucket[2].count, 1);
	html_lanes_release(&l);
}

static void a_bucket_is_whose_most_of_it_was(void **state)
{
	struct html_lanes l = { .count = 1, .width_ns = W };

	(void)state;
	assert_int_equal(html_lanes_add(&l, 0, 0, 300, A), 0);
	assert_int_equal(html_lanes_add(&l, 0, 300, 500, B), 0);
	assert_int_equal(l.lane[0].bucket[0].group, A);
	assert_int_equal(html_lanes_add(&l, 0, 500, 700, B), 0);
	assert_int_equal(l.lane[0].bucket[0].group, B);
	html_lanes_release(&l);
}

static void buckets_that_are_joined_keep_all(void **state)
{
	struct html_bucket a = {
		.busy_ns = 10, .max_ns = 10, .weight = 10, .group = A, .count = 1
	};
	const struct html_bucket b = {
		.busy_ns = 40, .max_ns = 90, .weight = 40, .group = B, .count = 2
	};
	const struct html_bucket idle = { .group = A };

	(void)state;
	html_bucket_join(&a, &b);
	assert_int_equal(a.busy_ns, 50);
	assert_int_equal(a.max_ns, 90);
	assert_int_equal(a.count, 3);
	assert_int_equal(a.group, B);
	html_bucket_join(&a, &idle);
	assert_int_equal(a.busy_ns, 50);
	assert_int_equal(a.group, B);
}

/* The last lane is nobody's once it is several threads'. */
static void threads_beyond_the_lanes_share_the_last(void **state)
{
	struct model_thread t = thread;
	struct html_lanes *l = calloc(1, sizeof(*l));
	struct html_names names = { 0 };
	u32 i;

	(void)state;
	assert_non_null(l);
	assert_int_equal(html_names_init(&names), 0);
	for (i = 0; i < HTML_LANES_MAX; i++) {
		t.tid = 100 + i;
		assert_int_equal(html_lanes_new(l, &t, &names), i);
	}
	assert_false(l->others);
	assert_int_equal(l->lane[HTML_LANES_MAX - 1].tid, 100 + HTML_LANES_MAX - 1);
	for (i = 0; i < 2; i++) {
		t.tid = 900 + i;
		assert_int_equal(html_lanes_new(l, &t, &names), HTML_LANES_MAX - 1);
		assert_true(l->others);
		assert_int_equal(l->lane[HTML_LANES_MAX - 1].pid, 0);
		assert_int_equal(l->lane[HTML_LANES_MAX - 1].tid, 0);
		assert_int_equal(l->lane[HTML_LANES_MAX - 1].name, NAME_OTHER);
	}
	assert_int_equal(l->count, HTML_LANES_MAX);
	intern_free(names.table);
	free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stays_keep_what_they_say),
		cmocka_unit_test(what_is_outside_of_everything_is_in_no_event),
		cmocka_unit_test(an_event_is_whose_most_of_its_time_was),
		cmocka_unit_test(events_of_no_chosen_group_are_counted),
		cmocka_unit_test(a_nested_event_is_in_the_list_and_not_in_the_lane),
		cmocka_unit_test(each_pair_on_a_stack_counts_once_a_look),
		cmocka_unit_test(a_bucket_has_what_touches_it),
		cmocka_unit_test(a_bucket_is_whose_most_of_it_was),
		cmocka_unit_test(buckets_that_are_joined_keep_all),
		cmocka_unit_test(threads_beyond_the_lanes_share_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
