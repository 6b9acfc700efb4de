/* SPDX-License-Identifier: BSD-2-Clause */
/* What the page keeps of a trace: bounded, and nothing lost from the sums. */
#include "sink/html_docs.h"
#include "sink/html_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	A = 100, /* groups, by number */
	B = 101,
	C = 102,
};

static void span(struct html_thread *t, struct html_edges *e, u32 group, u16 depth, u64 begin,
		 u64 end, u64 child)
{
	struct model_span s = { .begin_ns = begin, .end_ns = end, .depth = depth, .iteration = 1 };
	u64 inside;

	assert_int_equal(html_pending_span(t, e, &s, group, &inside), 0);
	assert_int_equal(inside, child);
}

static const struct html_edge *edge(const struct html_edges *e, u32 from, u32 to)
{
	u32 i;

	for (i = 0; i < e->len; i++)
		if (e->edge[i].from == from && e->edge[i].to == to)
			return &e->edge[i];
	return NULL;
}

static void callers_are_charged_with_their_calls(void **state)
{
	struct model_event outer = { .iteration = 1, .begin_ns = 0, .end_ns = 1000 };
	struct model_event nested = { .iteration = 2, .parent = 1, .begin_ns = 500, .end_ns = 700 };
	struct html_thread t = { 0 };
	struct html_edges e = { 0 };

	(void)state;
	/* A calls B, which calls A and C; then B again; then a nested event. */
	span(&t, &e, A, 2, 120, 150, 0);
	span(&t, &e, C, 2, 160, 200, 0);
	span(&t, &e, B, 1, 110, 210, 70);
	span(&t, &e, B, 1, 300, 400, 0);
	span(&t, &e, C, 1, 550, 600, 0);
	assert_int_equal(html_pending_event(&t, &e, &nested), 0);
	span(&t, &e, A, 0, 100, 900, 400);
	span(&t, &e, C, 0, 910, 920, 0);
	assert_int_equal(html_pending_event(&t, &e, &outer), 0);
	assert_int_equal(t.pending_len, 0);
	assert_int_equal(edge(&e, A, B)->calls, 2);
	assert_int_equal(edge(&e, A, B)->ns, 200);
	assert_int_equal(edge(&e, B, A)->ns, 30);
	assert_int_equal(edge(&e, B, C)->ns, 40);
	assert_int_equal(edge(&e, NAME_LOOP, A)->ns, 800);
	/* Of the nested event and of the outer one. */
	assert_int_equal(edge(&e, NAME_LOOP, C)->calls, 2);
	assert_null(edge(&e, A, C));
	html_edges_release(&e);
	free(t.pending);
}

static void many_callees_are_folded_not_lost(void **state)
{
	struct model_event event = { .iteration = 1, .begin_ns = 0, .end_ns = 1u << 30 };
	struct html_thread t = { 0 };
	struct html_edges e = { 0 };
	u64 calls = 0;
	u32 i;

	(void)state;
	for (i = 0; i < 3 * HTML_EDGES_MAX; i++)
		span(&t, &e, A + i, 0, 1 + 2 * i, 2 + 2 * i, 0);
	assert_true(t.pending_len <= HTML_PENDING_MAX);
	assert_int_equal(html_pending_event(&t, &e, &event), 0);
	for (i = 0; i < e.len; i++)
		calls += e.edge[i].calls;
	assert_int_equal(calls, 3 * HTML_EDGES_MAX);
	assert_true(e.len <= HTML_EDGES_MAX + 1);
	html_edges_release(&e);
	free(t.pending);
}

static void an_event_keeps_its_longest_spans(void **state)
{
	struct model_event event = { .iteration = 1, .begin_ns = 0, .end_ns = 1u << 30 };
	static struct html_page p;
	struct html_thread t = { 0 };
	struct html_event e = { 0 };
	u32 i, total = 10 * HTML_NODES_OPEN;

	(void)state;
	for (i = 0; i < total; i++) {
		struct html_node n = { .begin_ns = 10000ull * i,
				       .end_ns = 10000ull * i + 1 + i % 5000 };

		assert_int_equal(html_tree_span(&p, &t, &n), 0);
		assert_true(t.node_len <= HTML_NODES_OPEN);
	}
	assert_int_equal(html_tree_event(&p, &t, &event, &e, true), 0);
	assert_int_equal(e.node_len + e.pruned, total);
	assert_int_equal(p.nodes_open, 0);
	for (i = 0; i < e.node_len; i++) {
		assert_true(e.nodes[i].end_ns - e.nodes[i].begin_ns > e.prune_ns);
		assert_true(!i || e.nodes[i].begin_ns > e.nodes[i - 1].begin_ns);
	}
	free(e.nodes);
	free(t.nodes);
}

static void the_longest_events_stay(void **state)
{
	struct html_events l = { .keep = 100, .node_keep = 50 };
	u32 i, trees = 0;

	(void)state;
	for (i = 0; i < 10000; i++) {
		struct html_event e = { .serial = i, .begin_ns = i, .node_len = 1 };

		e.ledger.event_wall_ns = 1 + (i * 7919ull) % 10007;
		e.nodes = calloc(1, sizeof(*e.nodes));
		assert_int_equal(html_events_add(&l, &e), 0);
		assert_true(l.len <= 200 && l.nodes <= 100);
	}
	html_events_trim(&l);
	assert_int_equal(l.len, 100);
	assert_int_equal(l.len + l.dropped, 10000);
	for (i = 0; i < l.len; i++) {
		assert_true(l.event[i].ledger.event_wall_ns > l.floor_ns);
		assert_true(!i || l.event[i].begin_ns > l.event[i - 1].begin_ns);
		trees += l.event[i].nodes != NULL;
		if (l.event[i].ledger.event_wall_ns > l.tree_floor_ns)
			assert_non_null(l.event[i].nodes);
	}
	assert_int_equal(trees, 50);
	html_events_release(&l);
}

static void buckets_double_and_keep_the_sums(void **state)
{
	struct html_lanes l = { .count = 1, .width_ns = HTML_WIDTH_FIRST };
	struct html_lane *lane = &l.lane[0];
	u64 busy = 0, count = 0, at = 0, sum = 0;
	u32 i;

	(void)state;
	for (i = 0; i < 5000; i++) {
		u64 length = 1 + (i * 7919ull) % 100000;

		assert_int_equal(html_lanes_add(&l, 0, at, at + length, i % 3), 0);
		assert_true(lane->len <= HTML_BUCKETS_MAX);
		sum += length;
		at += length + 5000;
	}
	html_lanes_fit(&l, 100);
	assert_true(lane->len <= 100);
	for (i = 0; i < lane->len; i++) {
		assert_true(lane->bucket[i].busy_ns <= l.width_ns);
		busy += lane->bucket[i].busy_ns;
		count += lane->bucket[i].count;
	}
	assert_int_equal(busy, sum);
	assert_int_equal(count, 5000);
	/* The end of time does no harm. */
	assert_int_equal(html_lanes_add(&l, 0, 0, UINT64_MAX, 1), 0);
	html_lanes_release(&l);
}

static void peaks_survive_thinning(void **state)
{
	struct html_heap h = { 0 };
	s64 low = 0, high = 0;
	u32 i;

	(void)state;
	for (i = 0; i < 10 * HTML_POINTS_MAX; i++)
		assert_int_equal(html_heap_point(&h, 1, 2, i,
						 i == 777     ? 1000000
						 : i == 40000 ? -5
							      : 10 + (s64)(i % 7)),
				 0);
	assert_true(h.series[0].len <= HTML_POINTS_MAX);
	for (i = 0; i < h.series[0].len; i++) {
		low = h.series[0].point[i].value < low ? h.series[0].point[i].value : low;
		high = h.series[0].point[i].value > high ? h.series[0].point[i].value : high;
	}
	assert_int_equal(low, -5);
	assert_int_equal(high, 1000000);
	html_heap_release(&h);
}

/* A series more than there is room for: each of its values is told as left out. */
static void values_without_a_place_are_counted(void **state)
{
	struct html_heap h = { 0 };
	u32 i;

	(void)state;
	for (i = 0; i < HTML_SERIES_MAX; i++)
		assert_int_equal(html_heap_point(&h, 1, i, 10, 5), 0);
	assert_int_equal(h.series_refused, 0);
	assert_int_equal(html_heap_point(&h, 1, HTML_SERIES_MAX, 20, 5), 0);
	assert_int_equal(html_heap_point(&h, 2, 0, 20, 5), 0);
	assert_int_equal(h.series_refused, 2);
	assert_int_equal(html_heap_point(&h, 1, 0, 20, 5), 0);
	assert_int_equal(h.series_refused, 2);
	assert_int_equal(h.count, HTML_SERIES_MAX);
	html_heap_release(&h);
}

static void links_are_pages(void **state)
{
	static const char *const bad[] = { "a = javascript:x", "a = https://", "= https://x.org",
					   "a https://x.org", "a = http://x y" };
	static const char good[] = "# a comment\n\naddon:a = https://x.org/?q=1\r\n"
				   "addon:* = http://y.org\n";
	struct err e = { 0 };
	struct html_docs *d = html_docs_parse(good, strlen(good), "docs", &e);
	size_t i;

	(void)state;
	assert_non_null(d);
	assert_string_equal(html_docs_find(d, "addon:a"), "https://x.org/?q=1");
	assert_string_equal(html_docs_find(d, "addon:b"), "http://y.org");
	assert_null(html_docs_find(d, "page:a"));
	assert_null(html_docs_find(NULL, "page:a"));
	html_docs_free(d);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		e = (struct err){ 0 };
		assert_null(html_docs_parse(bad[i], strlen(bad[i]), "docs", &e));
		assert_int_equal(e.status, EXIT_USAGE);
	}
	e = (struct err){ 0 };
	assert_null(html_docs_parse("a\0b", 3, "docs", &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callers_are_charged_with_their_calls),
		cmocka_unit_test(many_callees_are_folded_not_lost),
		cmocka_unit_test(an_event_keeps_its_longest_spans),
		cmocka_unit_test(the_longest_events_stay),
		cmocka_unit_test(buckets_double_and_keep_the_sums),
		cmocka_unit_test(peaks_survive_thinning),
		cmocka_unit_test(values_without_a_place_are_counted),
		cmocka_unit_test(links_are_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
