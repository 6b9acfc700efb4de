/* SPDX-License-Identifier: BSD-2-Clause */
/* What stands between the model and the exporters: order, selection, flows. */
#include "sink/flows.h"
#include "sink/select.h"
#include "sink/slices.h"
#include "temp.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct model_thread thread = {
	.pid = 7, .tid = 7, .id = 1, .name = "", .process = "p"
};

static void put_span(const struct model_observer *o, void *ctx, const struct model_thread *t,
		     u64 begin, u64 end)
{
	struct model_span s = { .thread = t,
				.type = VMSPAN_SPAN,
				.name = "c",
				.group = "addon:a",
				.begin_ns = begin,
				.end_ns = end,
				.self_ns = end - begin };

	assert_int_equal(o->span(ctx, &s), 0);
}

static void put_event(const struct model_observer *o, void *ctx, const struct model_thread *t,
		      u32 parent, u64 begin, u64 end)
{
	struct model_event e = { .thread = t,
				 .label = "turn",
				 .iteration = 1,
				 .parent = parent,
				 .begin_ns = begin,
				 .end_ns = end };

	assert_int_equal(o->event(ctx, &e), 0);
}

static void slices_new(struct slices *s)
{
	const struct export_config config = { .directory = temp_folder() };

	assert_int_equal(slices_init(s, &config), 0);
}

/* ---- The walk ---- */

struct walked {
	char text[4000];
	u64 last, begins, ends;
	u32 depth, deepest;
	u64 open[5000];
};

static int note_edge(void *ctx, const struct slice *s, bool begin)
{
	struct walked *w = ctx;
	u64 time = begin ? s->begin : s->end;
	size_t n = strlen(w->text);

	assert_true(time >= w->last);
	w->last = time;
	if (begin) {
		w->begins++;
		w->open[w->depth++] = s->end;
		if (w->depth > w->deepest)
			w->deepest = w->depth;
	} else {
		w->ends++;
		assert_true(w->depth > 0);
		/* The innermost is what ends: nested, not only balanced. */
		assert_int_equal(w->open[--w->depth], s->end);
	}
	snprintf(w->text + n, sizeof(w->text) - n, "%c%u ", begin ? '+' : '-', (unsigned int)time);
	return 0;
}

static void walk_spans(const u64 (*span)[2], size_t n, const char *want, u64 cut)
{
	struct walked w = { 0 };
	struct slices s;
	size_t i;

	slices_new(&s);
	for (i = 0; i < n; i++)
		put_span(&slices_observer, &s, &thread, span[i][0], span[i][1]);
	assert_int_equal(slices_walk(&s, 0, note_edge, &w), 0);
	assert_string_equal(w.text, want);
	assert_int_equal(s.cut, cut);
	assert_int_equal(w.begins, w.ends);
	slices_release(&s);
}

static void edges_come_in_order(void **state)
{
	static const u64 nested[][2] = { { 20, 30 }, { 30, 40 }, { 10, 50 }, { 50, 60 } };
	static const u64 same[][2] = { { 10, 20 }, { 10, 30 }, { 10, 30 } };
	static const u64 zero[][2] = { { 10, 10 }, { 20, 20 }, { 30, 30 }, { 10, 30 } };

	(void)state;
	walk_spans(nested, 4, "+10 +20 -30 +30 -40 -50 +50 -60 ", 0);
	walk_spans(same, 3, "+10 +10 +10 -20 -30 -30 ", 0);
	walk_spans(zero, 4, "+10 +10 -10 +20 -20 +30 -30 -30 ", 0);
}

static void overlap_is_cut_and_disorder_left_out(void **state)
{
	static const u64 overlap[][2] = { { 10, 30 }, { 20, 40 } };
	static const u64 both[][2] = { { 10, 30 }, { 5, 15 }, { 0, 40 } };

	(void)state;
	walk_spans(overlap, 2, "+10 -30 +30 -40 ", 1);
	walk_spans(both, 3, "+0 +10 -30 -40 ", 0);
}

/* Any intervals at all come out as begins and ends that nest. */
static void anything_comes_out_nested(void **state)
{
	unsigned int seed = 1;
	int round, i;

	(void)state;
	for (round = 0; round < 200; round++) {
		struct walked w = { 0 };
		struct slices s;
		u64 end = 100;

		slices_new(&s);
		for (i = 0; i < 500; i++) {
			u64 begin = (u64)(rand_r(&seed) % 1000);

			end += rand_r(&seed) % 10;
			begin = rand_r(&seed) % 4 ? end - min_u64(end, begin % 30)
						  : end - min_u64(end, begin);
			put_span(&slices_observer, &s, &thread, begin, end);
		}
		assert_int_equal(slices_walk(&s, 0, note_edge, &w), 0);
		assert_int_equal(w.begins, 500);
		assert_int_equal(w.ends, 500);
		assert_int_equal(w.depth, 0);
		slices_release(&s);
	}
}

/* Bottomless nesting, as only a forged trace has, neither hangs nor grows. */
static void depth_is_bounded(void **state)
{
	struct walked *w = calloc(1, sizeof(*w));
	struct slices s;
	u64 i;

	(void)state;
	slices_new(&s);
	for (i = 0; i < 10000; i++)
		put_span(&slices_observer, &s, &thread, 10000 - i, 10000 + i);
	assert_int_equal(slices_walk(&s, 0, note_edge, w), 0);
	assert_int_equal(w->deepest, 4096);
	assert_int_equal(s.cut, 10000 - 4096);
	slices_release(&s);
	free(w);
}

/* ---- Selection ---- */

struct taken {
	u64 spans, events, marks;
	u64 begin; /* sum, to tell which */
};

static int count_span(void *ctx, const struct model_span *s)
{
	struct taken *t = ctx;

	t->spans++;
	t->begin += s->begin_ns;
	return 0;
}

static int count_event(void *ctx, const struct model_event *e)
{
	(void)e;
	((struct taken *)ctx)->events++;
	return 0;
}

static const struct model_observer counter = { .span = count_span, .event = count_event };

/* What select passes on, as an observer. */
static const struct model_observer *stage(struct select *sel, struct model *m, void *ctx, void **to)
{
	model_observe(m, &counter, ctx);
	select_attach(sel, m);
	return model_observer(m, to);
}

static int by_length(const void *x, const void *y)
{
	const u64 *a = x, *b = y;

	return *a < *b ? 1 : -(*a > *b);
}

static void slowest_are_the_longest(void **state)
{
	struct select_config config = { .slowest = 25 };
	static const struct model_config none;
	struct model_thread threads[3] = { thread, thread, thread };
	struct model *m = model_new(&none);
	const struct model_observer *o;
	struct taken taken = { 0 };
	u64 length[300], at = 0;
	unsigned int seed = 3;
	struct select sel;
	void *to;
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		threads[i].id = (u64)i + 1;
	select_init(&sel, &config);
	select_search(&sel, m);
	o = model_observer(m, &to);
	/* All lengths differ, so that which are the longest is clear. */
	for (i = 0; i < 300; i++)
		length[i] = 1000 + (u64)(i * 7919 % 300) * 10 + (u64)(rand_r(&seed) % 10);
	for (i = 0; i < 300; i++, at += 10000)
		put_event(o, to, &threads[i % 3], 0, at, at + length[i]);
	/* Longer than any, but nested: it comes with the one around it. */
	put_event(o, to, &threads[0], 1, at, at + 100000);
	select_found(&sel);
	assert_int_equal(sel.slow_count, 25);

	o = stage(&sel, m, &taken, &to);
	for (i = 0, at = 0; i < 300; i++, at += 10000) {
		put_span(o, to, &threads[i % 3], at, at + 10);
		put_span(o, to, &threads[i % 3], at + length[i] - 5, at + length[i]);
		put_span(o, to, &threads[(i + 1) % 3], at, at + 10); /* another thread's */
		put_span(o, to, &threads[i % 3], at + length[i], at + length[i] + 5);
		put_event(o, to, &threads[i % 3], 0, at, at + length[i]);
	}
	assert_int_equal(taken.events, 25);
	assert_int_equal(taken.spans, 50);
	qsort(length, 300, sizeof(*length), by_length);
	for (i = 0; i < 25; i++)
		assert_true(sel.slow[i].end - sel.slow[i].begin >= length[24]);
	select_release(&sel);
	model_free(m);
}

static void selection_is_by_process_thread_and_length(void **state)
{
	static const u32 pids[] = { 7, 9 };
	static const struct model_config none;
	struct model_thread t[] = { thread, thread, thread };
	struct {
		struct select_config config;
		u64 spans;
	} cases[] = {
		{ { 0 }, 3 },
		{ { .pids = pids, .pid_count = 2 }, 2 },
		{ { .pids = pids + 1, .pid_count = 1 }, 0 },
		{ { .thread = "8" }, 1 },
		{ { .thread = "pool-*" }, 2 },
		{ { .thread = "pool" }, 0 },
		{ { .min_duration_ns = 20 }, 2 },
		{ { .min_duration_ns = 31 }, 0 },
		{ { .glob = "addon:*" }, 3 },
		{ { .glob = "a" }, 3 },
		{ { .glob = "page:*" }, 0 },
	};
	size_t i;

	(void)state;
	t[1].tid = 8;
	t[1].name = "pool-1";
	t[2].pid = t[2].tid = 3;
	t[2].name = "pool-2";
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct model *m = model_new(&none);
		struct taken taken = { 0 };
		const struct model_observer *o;
		struct select sel;
		void *to;

		select_init(&sel, &cases[i].config);
		o = stage(&sel, m, &taken, &to);
		put_span(o, to, &t[0], 100, 110);
		put_span(o, to, &t[1], 100, 120);
		put_span(o, to, &t[2], 100, 130);
		assert_int_equal(taken.spans, cases[i].spans);
		select_release(&sel);
		model_free(m);
	}
}

/* ---- Flows ---- */

struct arrows {
	u64 count, call, event;
};

static int count_arrow(void *ctx, const struct flow_end *call, const struct flow_end *event)
{
	struct arrows *a = ctx;

	a->count++;
	a->call = call->begin;
	a->event = event->begin;
	return 0;
}

static void put_call(struct flows *f, u32 pid, u64 peer, u64 begin, u64 end)
{
	struct model_thread t = { .pid = pid, .tid = pid, .id = pid };
	struct model_span s = {
		.thread = &t, .type = VMSPAN_BLOCK, .begin_ns = begin, .end_ns = end, .peer = peer
	};

	assert_int_equal(flows_span(f, &s), 0);
}

static void put_work(struct flows *f, u32 pid, u64 begin, u64 end)
{
	struct model_thread t = { .pid = pid, .tid = pid, .id = pid };
	struct model_event e = { .thread = &t, .begin_ns = begin, .end_ns = end };

	assert_int_equal(flows_event(f, &e), 0);
}

static void a_call_points_at_what_its_peer_did(void **state)
{
	struct arrows a = { 0 };
	struct flows f;

	(void)state;
	flows_init(&f, count_arrow, &a);
	put_work(&f, 2, 0, 10); /* before */
	put_work(&f, 2, 20, 30); /* during: known before the call */
	put_work(&f, 3, 20, 30); /* another process */
	put_call(&f, 1, 2, 10, 50);
	assert_int_equal(a.count, 1);
	assert_int_equal(a.event, 20);
	put_work(&f, 2, 40, 60); /* ends later, known later */
	assert_int_equal(a.count, 2);
	assert_int_equal(a.event, 40);
	assert_int_equal(a.call, 10);
	put_work(&f, 2, 60, 70); /* after */
	put_call(&f, 2, 2, 0, 100); /* itself */
	put_call(&f, 1, 0, 0, 100); /* nobody */
	put_call(&f, 1, UINT64_MAX, 0, 100); /* no process at all */
	assert_int_equal(a.count, 2);
	flows_release(&f);
}

static void flows_do_not_grow_with_the_trace(void **state)
{
	struct arrows a = { 0 };
	struct flows f;
	u64 i;

	(void)state;
	flows_init(&f, count_arrow, &a);
	for (i = 0; i < 100000; i++) {
		put_call(&f, 1, 2 + i % 10000, i * 10, i * 10 + 5);
		put_work(&f, (u32)(2 + i % 10000), i * 10 + 1, i * 10 + 2);
	}
	assert_int_equal(f.count, 4096);
	/* Those that have a place get all their arrows. */
	assert_int_equal(a.count, 4096 * 10);
	flows_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edges_come_in_order),
		cmocka_unit_test(overlap_is_cut_and_disorder_left_out),
		cmocka_unit_test(anything_comes_out_nested),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(slowest_are_the_longest),
		cmocka_unit_test(selection_is_by_process_thread_and_length),
		cmocka_unit_test(a_call_points_at_what_its_peer_did),
		cmocka_unit_test(flows_do_not_grow_with_the_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
