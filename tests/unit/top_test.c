/* SPDX-License-Identifier: BSD-2-Clause */
/* The live table without a terminal: rows, marks, what is kept beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <locale.h>
#include <cmocka.h>

#include "sink_fixture.h"
#include "sink/history.h"
#include "sink/recent.h"
#include "sink/top.h"

static struct top_page page;

static const char *line_text(unsigned int i)
{
	static char text[1024];
	const struct top_line *l = top_page_line(&page, i);

	assert_true(l->len < sizeof(text));
	memcpy(text, page.text.buf.data + l->at, l->len);
	text[l->len] = 0;
	return text;
}

/* The rows below the title, names alone, as "a|b|c". */
static const char *names(void)
{
	static char text[2048];
	unsigned int i, n = (unsigned int)(page.rows.len / sizeof(u64));

	text[0] = 0;
	for (i = 0; i < n; i++) {
		const char *line = line_text(page.title_line + 1 + i);
		size_t len = strlen(text), indent = strspn(line, " ");

		snprintf(text + len, sizeof(text) - len, "%s%.*s", i ? "|" : "",
			 (int)(indent + strcspn(line + indent, " ")), line);
	}
	return text;
}

static void compose(struct top_state *st, const struct top_figures *f, unsigned int width)
{
	assert_int_equal(top_compose(&page, st, f, width, 30), 0);
}

/* Two processes; the tracker runs in both, the shop in the first. */
static struct fixture *two_processes(void)
{
	struct fixture *f = fixture_demo();
	struct snapshot_group *tracker = &f->s.groups[1];

	f->s.processes[0].events.wall_ns = 100 * MS;
	f->s.processes[1].events.wall_ns = 900 * MS;
	f->s.processes[0].ledger.self_ns = 100 * MS;
	f->s.processes[1].ledger.self_ns = 900 * MS;
	f->s.children[f->s.child_count] = f->s.children[tracker->first_child];
	f->s.children[f->s.child_count].process = 1;
	f->s.child_count++;
	tracker->children = 2;
	return f;
}

static void trees_put_groups_below_what_they_belong_to(void **state)
{
	struct fixture *f = two_processes();
	struct top_figures figures = { .total = &f->s, .elapsed_ns = 2000 * MS };
	struct top_state st = { .window_ns = TOP_SINCE_START };

	(void)state;
	top_page_init(&page);
	compose(&st, &figures, 100);
	assert_string_equal(names(), "addon:tracker|page:shop");
	top_key(&st, 't');
	compose(&st, &figures, 100);
	/* The second process has more self time. */
	assert_string_equal(names(), "43|  addon:tracker|42|  addon:tracker|  page:shop");
	top_key(&st, 'r');
	compose(&st, &figures, 100);
	assert_string_equal(names(), "42|  page:shop|  addon:tracker|43|  addon:tracker");
	top_key(&st, 'r');
	top_key(&st, 't');
	compose(&st, &figures, 100);
	assert_string_equal(names(), "addon|  addon:tracker|page|  page:shop");
	/* Parents without a child that passes the filter are not there. */
	top_key(&st, '/');
	top_key(&st, 's');
	top_key(&st, 'h');
	compose(&st, &figures, 100);
	assert_string_equal(names(), "page|  page:shop");
	top_key(&st, 27);
	top_key(&st, 't');
	compose(&st, &figures, 100);
	assert_string_equal(names(), "addon:tracker|  42|  43|page:shop|  42");
	f->s.processes[1].container = (struct snapshot_container){ "podman", "", "web" };
	f->s.processes[1].container_number = 7;
	top_key(&st, 't');
	compose(&st, &figures, 100);
	assert_string_equal(names(),
			    "podman:web|  addon:tracker|(none)|  addon:tracker|  page:shop");
	f->s.processes[0].container_number = 7;
	compose(&st, &figures, 100);
	assert_string_equal(names(), "podman:web|  addon:tracker|  page:shop");
	top_page_release(&page);
	fixture_free(f);
}

static void a_selected_group_needs_no_row(void **state)
{
	struct fixture *f = fixture_demo();
	struct top_figures figures = { .total = &f->s, .elapsed_ns = 2000 * MS };
	struct top_state st = { .window_ns = TOP_SINCE_START };

	(void)state;
	top_page_init(&page);
	top_key(&st, 'o');
	compose(&st, &figures, 100);
	assert_string_equal(st.own_of, "");
	assert_string_equal(st.notice, "select a group first, with the arrow keys");
	top_key(&st, TOP_KEY_DOWN);
	compose(&st, &figures, 100);
	/* As in an interval in which it did nothing. */
	st.view.glob = "page:*";
	top_key(&st, 'o');
	compose(&st, &figures, 100);
	assert_string_equal(names(), "page:shop");
	assert_string_equal(st.own_of, "addon:tracker");
	top_key(&st, '\n');
	compose(&st, &figures, 100);
	assert_string_equal(st.detail, "addon:tracker");
	top_key(&st, 27);
	/* A row that was never there is of no group. */
	st.own_of[0] = 0;
	st.selected++;
	top_key(&st, 'o');
	compose(&st, &figures, 100);
	assert_string_equal(st.own_of, "");
	assert_string_equal(st.notice, "select a group first, with the arrow keys");
	top_page_release(&page);
	fixture_free(f);
}

static void the_selection_follows_its_row(void **state)
{
	struct fixture *f = fixture_demo();
	struct top_figures figures = { .total = &f->s, .elapsed_ns = 2000 * MS };
	struct top_state st = { .window_ns = TOP_SINCE_START };
	unsigned int y;

	(void)state;
	top_page_init(&page);
	top_key(&st, TOP_KEY_DOWN);
	compose(&st, &figures, 100);
	y = page.title_line + 1;
	assert_int_equal(top_page_line(&page, y)->class, LINE_SELECTED);
	top_key(&st, 'r');
	compose(&st, &figures, 100);
	assert_int_equal(top_page_line(&page, y + 1)->class, LINE_SELECTED);
	/* A click selects, one more opens; one on a title sorts. */
	top_mouse(&st, &page, TOP_CLICK, 2, y);
	assert_false(st.open);
	compose(&st, &figures, 100);
	assert_int_equal(top_page_line(&page, y)->class, LINE_SELECTED);
	top_mouse(&st, &page, TOP_CLICK, 2, y);
	compose(&st, &figures, 100);
	assert_int_equal(st.pane, TOP_DETAIL);
	assert_string_equal(st.detail, "page:shop");
	top_key(&st, 27);
	compose(&st, &figures, 100);
	assert_int_equal(st.pane, TOP_TABLE);
	top_mouse(&st, &page, TOP_CLICK, 0, page.title_line);
	assert_string_equal(st.view.sort, "name");
	/* Beside the rows there is nothing to hit. */
	top_mouse(&st, &page, TOP_CLICK, 0, 29);
	top_mouse(&st, &page, TOP_CLICK, 99999, 99999);
	/* A search finds in any case, around the end. */
	snprintf(st.search, sizeof(st.search), "TRACK");
	top_key(&st, 'n');
	compose(&st, &figures, 100);
	assert_int_equal(top_page_line(&page, y)->class, LINE_SELECTED);
	snprintf(st.search, sizeof(st.search), "nothing");
	top_key(&st, 'N');
	compose(&st, &figures, 100);
	assert_string_equal(st.notice, "no row matches nothing");
	top_page_release(&page);
	fixture_free(f);
}

static void columns_are_chosen_moved_and_named(void **state)
{
	struct table_choice c = { 0 };
	const char *bad;
	size_t len;
	struct out o;
	char *text;

	(void)state;
	assert_int_equal(table_choice_parse(&c, "max, self 64ms", &bad, &len), 0);
	out_open_memory(&o);
	table_choice_print(&c, &o);
	text = fixture_text(&o);
	assert_string_equal(text, "max,self,64ms");
	free(text);
	assert_int_not_equal(table_choice_parse(&c, "self,wall,self", &bad, &len), 0);
	assert_string_equal(bad, "self");
	assert_int_not_equal(table_choice_parse(&c, "self,walls,max", &bad, &len), 0);
	assert_memory_equal(bad, "walls", len);
	assert_int_not_equal(table_choice_parse(&c, " , ", &bad, &len), 0);
	assert_int_equal(c.count, 3);
	assert_int_equal(table_choice_parse(&c, "auto", &bad, &len), 0);
	assert_int_equal(c.count, 0);
}

static void a_stay_that_has_not_ended_is_shown(void **state)
{
	struct fixture *f = fixture_demo();
	struct top_running running[] = {
		{ "page:shop", 42, 44, 3200 * MS, false },
		{ "addon:tracker", 42, 44, 3000 * MS, true },
	};
	struct top_figures figures = { .total = &f->s,
				       .delta = &f->s,
				       .elapsed_ns = 1000 * MS,
				       .running = running,
				       .running_count = 2 };
	struct top_state st = { 0 };
	unsigned int i;
	bool named = false;

	(void)state;
	/* Nothing of it has ended in the interval. */
	f->s.groups[0].stats.ticks = f->s.groups[0].stats.wall_ns = 0;
	top_page_init(&page);
	compose(&st, &figures, 100);
	for (i = 0; i < page.title_line; i++)
		named |= !strcmp(line_text(i), "still running: addon:tracker for 3.00 s in thread "
					       "44 of 42");
	assert_true(named);
	assert_string_equal(names(), "addon:tracker|page:shop");
	assert_non_null(strstr(line_text(page.title_line + 2), " 3.20 s "));
	top_page_release(&page);
	fixture_free(f);
}

/* The first line that begins so; as many as there are lines: none does. */
static unsigned int find_line(const char *begin)
{
	unsigned int i, n = top_page_count(&page);

	for (i = 0; i < n && strncmp(line_text(i), begin, strlen(begin)); i++)
		;
	return i;
}

static unsigned int line_of(const char *begin)
{
	unsigned int i = find_line(begin);

	if (i == top_page_count(&page))
		fail_msg("no line begins with: %s", begin);
	return i;
}

/* Beside the interval's figures stands what was lost since the start. */
static void what_is_missing_is_above_the_table(void **state)
{
	struct fixture *f = fixture_demo(), *total = fixture_demo();
	struct top_figures figures = { .total = &total->s,
				       .delta = &f->s,
				       .elapsed_ns = 1000 * MS };
	struct top_state st = { 0 };

	(void)state;
	top_page_init(&page);
	compose(&st, &figures, 200);
	assert_int_equal(
		top_page_line(&page, line_of("complete; longest turn so far 214 ms"))->class,
		LINE_PLAIN);
	assert_int_equal(find_line("INCOMPLETE"), top_page_count(&page));
	total->s.events.incomplete = 2;
	compose(&st, &figures, 200);
	assert_int_equal(top_page_line(&page, line_of("INCOMPLETE: 2 of 200 events lack data; "
						      "longest turn so far 214 ms"))
				 ->class,
			 LINE_WARN);
	total->s.events.incomplete = 0;
	total->s.losses.records[LOSS_SCHED] = 3;
	compose(&st, &figures, 200);
	assert_int_equal(
		top_page_line(&page, line_of("INCOMPLETE: 3 records lost; longest turn"))->class,
		LINE_WARN);
	assert_int_equal(
		top_page_line(&page, line_of("3 records lost because the scheduler's record "
					     "was full, or a switch was not told of [sched]"))
			->class,
		LINE_WARN);
	top_page_release(&page);
	fixture_free(f);
	fixture_free(total);
}

static void rates_are_those_of_the_interval(void **state)
{
	struct fixture *f = fixture_demo(), *total = fixture_demo();
	struct top_figures figures = { .total = &total->s,
				       .delta = &f->s,
				       .elapsed_ns = 2000 * MS };
	struct top_state st = { 0 };
	unsigned int i;

	(void)state;
	for (i = 0; i < JANK_BUCKETS; i++)
		f->s.events.durations[i] = 100 - i;
	total->s.events.count = 9000;
	top_page_init(&page);
	compose(&st, &figures, 200);
	assert_string_equal(line_text(1), "100 events/s  8 spans/s  mean 6.00 ms  >16ms 96  "
					  ">64ms 94  busy 60.0 %");
	top_page_release(&page);
	fixture_free(f);
	fixture_free(total);
}

/* A group that did nothing in an interval has no row there, unless it is in something right now. */
static void who_did_nothing_in_an_interval_has_no_row(void **state)
{
	struct fixture *f = fixture_demo(), *total = fixture_demo();
	const struct top_running hang = { .group = "page:shop", .for_ns = MS };
	struct top_figures figures = { .total = &total->s,
				       .delta = &f->s,
				       .elapsed_ns = 2000 * MS };
	struct top_state st = { 0 };

	(void)state;
	f->s.groups[0].stats.ticks = f->s.groups[0].stats.wall_ns = 0;
	top_page_init(&page);
	compose(&st, &figures, 100);
	assert_string_equal(names(), "addon:tracker");
	figures.running = &hang;
	figures.running_count = 1;
	compose(&st, &figures, 100);
	assert_string_equal(names(), "addon:tracker|page:shop");
	figures.running_count = 0;
	st.window_ns = TOP_SINCE_START;
	compose(&st, &figures, 100);
	assert_string_equal(names(), "addon:tracker|page:shop");
	top_page_release(&page);
	fixture_free(f);
	fixture_free(total);
}

/* The longest turn of an interval is that of the interval. */
static void threads_have_the_figures_of_the_interval(void **state)
{
	const struct model_thread thread = { 42, 44, 1, "main", "host", false };
	struct model_event e = { .thread = &thread,
				 .label = "",
				 .ledger = { .event_wall_ns = 80 * MS, .self_ns = 80 * MS } };
	struct fixture *f = fixture_demo();
	struct recent *r = recent_new();
	struct top_figures figures = {
		.total = &f->s, .delta = &f->s, .elapsed_ns = 2000 * MS, .recent = r
	};
	struct top_state st = { .tree = TOP_THREADS };

	(void)state;
	assert_int_equal(recent_events_observer.event(r, &e), 0);
	recent_tick(r);
	e.ledger = (struct ledger){ .event_wall_ns = 3 * MS, .self_ns = 3 * MS };
	assert_int_equal(recent_events_observer.event(r, &e), 0);
	top_page_init(&page);
	compose(&st, &figures, 100);
	assert_string_equal(names(), "44");
	assert_non_null(strstr(line_text(page.title_line + 1), "3.00 ms"));
	assert_null(strstr(line_text(page.title_line + 1), "80.0 ms"));
	st.window_ns = TOP_SINCE_START;
	compose(&st, &figures, 100);
	assert_non_null(strstr(line_text(page.title_line + 1), "80.0 ms"));
	top_page_release(&page);
	recent_free(r);
	fixture_free(f);
}

static void a_group_that_lacks_data_says_so(void **state)
{
	struct fixture *f = fixture_demo();
	struct top_figures figures = { .total = &f->s, .elapsed_ns = 2000 * MS };
	struct top_state st = { .window_ns = TOP_SINCE_START };
	unsigned int width;

	(void)state;
	top_page_init(&page);
	for (width = 40; width <= 200; width += 10) {
		f->s.groups[1].stats.incomplete = 0;
		compose(&st, &figures, width);
		assert_null(strstr(line_text(page.title_line), "LACKS"));
		f->s.groups[1].stats.incomplete = 2;
		compose(&st, &figures, width);
		assert_non_null(strstr(line_text(page.title_line), "LACKS"));
	}
	/* Alone: the tracker does, the shop does not; of what was lost nobody knows whose it was. */
	top_key(&st, TOP_KEY_HOME);
	compose(&st, &figures, 200);
	top_key(&st, '\n');
	compose(&st, &figures, 200);
	assert_string_equal(st.detail, "addon:tracker");
	assert_non_null(strstr(line_text(line_of("a turn: p50 ")), "6 spans  INCOMPLETE"));
	top_key(&st, 27);
	top_key(&st, TOP_KEY_DOWN);
	compose(&st, &figures, 200);
	top_key(&st, '\n');
	compose(&st, &figures, 200);
	assert_string_equal(st.detail, "page:shop");
	assert_null(strstr(line_text(line_of("a turn: p50 ")), "INCOMPLETE"));
	f->s.losses.records[LOSS_RING_FULL] = 1;
	compose(&st, &figures, 200);
	assert_non_null(strstr(line_text(line_of("a turn: p50 ")), "10 spans  INCOMPLETE"));
	top_page_release(&page);
	fixture_free(f);
}

/* Each figure of a group is another; a quantile is the edge of its bucket. */
static void tell_apart(struct group_stats *s)
{
	unsigned int i;

	hist_free(&s->hist);
	assert_int_equal(hist_add_many(&s->hist, 10 * MS, 98), 0);
	assert_int_equal(hist_add_many(&s->hist, 300 * MS, 2), 0);
	s->self_ns = 240 * MS;
	s->wall_ns = 610 * MS;
	s->cpu_ns = 500 * MS;
	s->cpu_margin_ns = 6 * MS;
	s->gc_ns = 30 * MS;
	s->blocked_ns = 20 * MS;
	s->max_ns = 400 * MS;
	s->events = 100;
	s->ticks = 101;
	s->spans = 102;
	s->moved = 103;
	s->uncharged_ns = 70 * MS;
	s->stale = 104;
	s->incomplete = 7;
	for (i = 0; i < JANK_BUCKETS; i++)
		s->durations[i] = 60 - i;
}

static void each_column_has_its_own_figure(void **state)
{
	static const struct {
		const char *name, *title, *cell;
	} columns[] = {
		{ "self%", "SELF%", "20.0" },
		{ "self", "SELF", "240 ms" },
		{ "wall", "WALL", "610 ms" },
		{ "cpu%", "CPU%", "~25.0" },
		{ "cpu", "CPU", "~500 ms" },
		{ "gc", "GC", "30.0 ms" },
		{ "blocked", "BLOCKED", "20.0 ms" },
		{ "events", "EVENTS", "100" },
		{ "ticks", "TICKS", "101" },
		{ "spans", "SPANS", "102" },
		{ "moved", "MOVED", "103" },
		{ "uncharged", "UNCHARGED", "70.0 ms" },
		{ "stale", "STALE", "104" },
		{ "p50", "P50", "10.5 ms" },
		{ "p99", "P99", "302 ms" },
		{ "max", "MAX", "400 ms" },
		{ "1ms", ">1ms", "60" },
		{ "2ms", ">2ms", "59" },
		{ "4ms", ">4ms", "58" },
		{ "8ms", ">8ms", "57" },
		{ "16ms", ">16ms", "56" },
		{ "32ms", ">32ms", "55" },
		{ "64ms", ">64ms", "54" },
		{ "128ms", ">128ms", "53" },
		{ "256ms", ">256ms", "52" },
		{ "512ms", ">512ms", "51" },
		{ "lacks", "LACKS", "7" },
	};
	struct fixture *f = fixture_demo();
	struct top_figures figures = { .total = &f->s, .elapsed_ns = 2000 * MS };
	struct top_state st = { .window_ns = TOP_SINCE_START };
	size_t i;

	(void)state;
	tell_apart(&f->s.groups[1].stats);
	top_page_init(&page);
	for (i = 0; i < ARRAY_SIZE(columns); i++) {
		const char *bad, *line;
		size_t len;

		assert_int_equal(table_choice_parse(&st.columns, columns[i].name, &bad, &len), 0);
		compose(&st, &figures, 100);
		line = line_text(page.title_line);
		assert_string_equal(strrchr(line, ' ') + 1, columns[i].title);
		line = line_text(page.title_line + 1);
		assert_memory_equal(line, "addon:tracker ", 14);
		line += strlen("addon:tracker");
		assert_string_equal(line + strspn(line, " "), columns[i].cell);
	}
	top_page_release(&page);
	fixture_free(f);
}

static void each_key_is_its_own_figure(void **state)
{
	static const struct {
		const char *key;
		u64 value;
	} keys[] = {
		{ "self", 240 * MS }, { "wall", 610 * MS },   { "cpu", 500 * MS },
		{ "gc", 30 * MS },    { "blocked", 20 * MS }, { "max", 400 * MS },
		{ "ticks", 101 },     { "events", 100 },      { "spans", 102 },
		{ "moved", 103 },     { "stale", 104 },       { "uncharged", 70 * MS },
	};
	struct group_stats s = { 0 };
	size_t i;

	(void)state;
	tell_apart(&s);
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		assert_int_equal(sort_key_of(keys[i].key, &s), keys[i].value);
	assert_int_equal(sort_key_of("p50", &s), group_quantile(&s, 500));
	assert_int_equal(sort_key_of("p99", &s), group_quantile(&s, 990));
	assert_true(group_quantile(&s, 500) < 11 * MS && group_quantile(&s, 990) >= 300 * MS);
	assert_int_equal(sort_key_of(NULL, &s), 240 * MS);
	hist_free(&s.hist);
}

static void a_group_alone_has_all_its_figures(void **state)
{
	struct fixture *f = fixture_demo();
	struct top_figures figures = { .total = &f->s, .elapsed_ns = 2000 * MS };
	struct top_state st = { .window_ns = TOP_SINCE_START };

	(void)state;
	tell_apart(&f->s.groups[1].stats);
	top_page_init(&page);
	compose(&st, &figures, 200);
	top_key(&st, TOP_KEY_HOME);
	compose(&st, &figures, 200);
	top_key(&st, '\n');
	compose(&st, &figures, 200);
	assert_string_equal(
		line_text(line_of("self ")),
		"self 240 ms (20.0 % of all turns)  wall 610 ms  cpu ~500 ms (25.0 % of "
		"a CPU; off by up to 6.00 ms)  gc 30.0 ms  blocked 20.0 ms");
	assert_string_equal(line_text(line_of("a turn: ")),
			    "a turn: p50 10.5 ms  p99 302 ms  max 400 ms  100 turns  101 entries  "
			    "102 spans  103 moved  104 stale  INCOMPLETE");
	top_page_release(&page);
	fixture_free(f);
}

static void sparklines_are_of_each_interval(void **state)
{
	struct fixture *f = fixture_demo();
	struct history *h = history_new();
	struct group_stats *s = &f->s.groups[0].stats;
	struct out o;
	char *text;

	(void)state;
	s->self_ns = 0;
	assert_int_equal(history_add(h, &f->s, 1000 * MS), 0);
	s->self_ns += 800 * MS;
	assert_int_equal(history_add(h, &f->s, 1000 * MS), 0);
	s->self_ns += 100 * MS;
	assert_int_equal(history_add(h, &f->s, 1000 * MS), 0);
	s->self_ns += 1;
	assert_int_equal(history_add(h, &f->s, 1000 * MS), 0);
	out_open_memory(&o);
	history_put(h, f->s.groups[0].id, 6, true, &o);
	text = fixture_text(&o);
	assert_string_equal(text, "   @. ");
	free(text);
	history_free(h);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_put_groups_below_what_they_belong_to),
		cmocka_unit_test(a_selected_group_needs_no_row),
		cmocka_unit_test(the_selection_follows_its_row),
		cmocka_unit_test(columns_are_chosen_moved_and_named),
		cmocka_unit_test(a_stay_that_has_not_ended_is_shown),
		cmocka_unit_test(what_is_missing_is_above_the_table),
		cmocka_unit_test(rates_are_those_of_the_interval),
		cmocka_unit_test(who_did_nothing_in_an_interval_has_no_row),
		cmocka_unit_test(threads_have_the_figures_of_the_interval),
		cmocka_unit_test(a_group_that_lacks_data_says_so),
		cmocka_unit_test(each_column_has_its_own_figure),
		cmocka_unit_test(each_key_is_its_own_figure),
		cmocka_unit_test(a_group_alone_has_all_its_figures),
		cmocka_unit_test(sparklines_are_of_each_interval),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
