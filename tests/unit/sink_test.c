/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the sinks print of known figures. With VMSPAN_DUMP=DIR the JSON is
 * left there too, for a reader that is not ours (tests/golden/json.sh).
 */
#include "sink_fixture.h"
#include "sink/complete.h"
#include "sink/summary.h"
#include "sink/table.h"
#include "sink/top.h"
#include "sink/words.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static char *json_of(const struct fixture *f, const struct view *v)
{
	struct json j;
	struct out o;

	out_open_memory(&o);
	json_open(&j, &o);
	report_json(&j, &f->s, &f->source, v);
	json_line(&j);
	return fixture_text(&o);
}

static char *text_of(const struct fixture *f, const struct view *v, unsigned int width, bool color)
{
	struct out o;

	out_open_memory(&o);
	report_text(&o, &f->s, &f->source, v, width, color);
	return fixture_text(&o);
}

/* ---- JSON ---- */

static void json_has_the_keys_of_schema_1_in_their_order(void **state)
{
	static const char want[] =
		"{\"schema\":1,\"tool\":\"vmspan\","
		"\"source\":{\"kind\":\"recording\",\"file\":\"demo.vmspan\","
		"\"duration_ns\":2000000000,\"method\":\"exact\",\"tsc_hz\":2100000000,"
		"\"migrated\":\"discard\",\"nested\":\"drop\",\"note\":null,\"begin_ns\":5000},"
		"\"processes\":[{\"pid\":42,\"name\":\"host\",\"vm\":\"sdk\",\"ppid\":1,"
		"\"ended\":false},{\"pid\":43,\"name\":\"kid\",\"vm\":\"\",\"ppid\":42,"
		"\"ended\":true}],"
		"\"events\":{\"count\":200,\"wall_ns\":1200000000,\"cpu_ns\":600000000,"
		"\"incomplete\":0,\"implicit\":3,\"max_ns\":214000000,"
		"\"durations\":[200,0,0,0,0,0,3,0,0,0]},"
		"\"groups\":[{\"name\":\"addon:tracker\",\"kind\":\"addon\",\"pids\":[42],"
		"\"ticks\":6,\"events\":3,\"spans\":6,\"wall_ns\":600000000,"
		"\"self_ns\":200000000,\"cpu_ns\":150000000,\"blocked_ns\":1,"
		"\"gc_ns\":366000000,\"max_ns\":200000000,\"p50_ns\":%" PRIu64
		",\"p99_ns\":%" PRIu64 ",\"durations\":[3,3,3,3,3,3,3,3,0,0],\"stayed\":6,"
		"\"moved\":0,\"stale\":0,\"complete\":true,"
		"\"processes\":[{\"pid\":42,\"wall_ns\":600000000,\"self_ns\":300000000,"
		"\"ticks\":6}],\"incomplete\":0,\"preempted_ns\":0,"
		"\"off_ns\":{\"preempted\":0,\"sleeping\":0,\"io\":0,\"uninterruptible\":0,"
		"\"lock\":0,\"stopped\":0,\"frozen\":0,\"throttled\":0}}],"
		"\"gc\":{\"count\":4,\"total_ns\":100000000,\"max_ns\":50000000,"
		"\"freed_bytes\":3145728},"
		"\"ledger\":{\"self_ns\":900000000,\"gc_ns\":100000000,\"blocked_ns\":0,"
		"\"native_ns\":200000000,\"moved_ns\":0,\"stale_ns\":0,\"lost_ns\":0,"
		"\"event_wall_ns\":1200000000,\"preempted_ns\":0,"
		"\"stopped_ns\":0,\"frozen_ns\":0,\"throttled_ns\":0},"
		"\"losses\":{\"ring_full\":0,\"read_fault\":0,\"sequence_gap\":0,"
		"\"unmatched\":0,\"truncated\":0,\"sched\":0,\"no_sched\":0,"
		"\"too_deep\":0,\"not_made\":0,\"malformed\":0,\"limit\":0,\"marks_off\":0,"
		"\"names\":0,\"other\":0},\"complete\":true,"
		"\"records\":220,\"spans\":16,\"inputs\":1,\"frames\":2,"
		"\"repairs\":{\"repaired\":0,\"before_attach\":0,\"discarded_shares\":0,\"stolen_"
		"ns\":0},\"waits\":[],"
		"\"native\":{\"on_cpu_ns\":200000000,\"preempted_ns\":0,\"off_ns\":{\"preempted\":"
		"0,\"sleeping\":0,"
		"\"io\":0,\"uninterruptible\":0,\"lock\":0,\"stopped\":0,\"frozen\":0,"
		"\"throttled\":0}}}\n";
	struct fixture *f = fixture_demo();
	const struct view view = { .limit = 1 };
	/* The bucket's edge lies above: a quantile is never more than the maximum. */
	u64 p = 200 * MS;
	char expected[4096], *text;

	(void)state;
	snprintf(expected, sizeof(expected), want, p, p);
	text = json_of(f, &view);
	assert_string_equal(text, expected);
	dump("demo", text);
	free(text);
	fixture_free(f);
}

static void a_stream_says_the_interval(void **state)
{
	struct fixture *f = fixture_demo();
	const struct view view = { 0 };
	char *text;

	(void)state;
	f->source.interval_ns = 1000000007;
	f->source.file = NULL;
	text = json_of(f, &view);
	assert_non_null(strstr(text, ",\"interval_ns\":1000000007}\n"));
	assert_non_null(strstr(text, "\"file\":null,"));
	free(text);
	fixture_free(f);
}

static void hostile_names_stay_inside_their_string(void **state)
{
	struct fixture *f = fixture_demo();
	const struct view view = { 0 };
	char *text;
	size_t i;

	(void)state;
	f->s.groups[0].name = HOSTILE;
	f->s.processes[0].name = "\"},\x01";
	f->source.note = "cut \033[2J";
	text = json_of(f, &view);
	for (i = 0; text[i] && text[i + 1]; i++)
		assert_true((u8)text[i] >= 0x20);
	assert_non_null(strstr(text, "\xef\xbf\xbd\\u003cb>"));
	dump("hostile", text);
	free(text);
	fixture_free(f);
}

/* ---- Completeness ---- */

static void one_lost_record_makes_every_group_incomplete(void **state)
{
	struct fixture *f = fixture_demo();
	const struct view view = { 0 };
	char *text;

	(void)state;
	assert_true(group_complete(&f->s, &f->s.groups[0].stats));
	f->s.groups[0].stats.incomplete = 1;
	assert_false(group_complete(&f->s, &f->s.groups[0].stats));
	assert_true(group_complete(&f->s, &f->s.groups[1].stats));
	f->s.losses.records[LOSS_RING_FULL] = 1;
	f->s.losses.batches[LOSS_RING_FULL] = 1;
	text = json_of(f, &view);
	assert_null(strstr(text, "\"complete\":true"));
	assert_non_null(strstr(text, "\"losses\":{\"ring_full\":1,"));
	free(text);
	text = text_of(f, &view, 200, false);
	assert_non_null(strstr(text, "INCOMPLETE: 1 record lost"));
	assert_non_null(strstr(text, "1 record in 1 batch lost because the ring buffer was full"));
	free(text);
	fixture_free(f);
}

/* Time of a stock VM in which nobody looked may be any group's. */
static void time_without_a_look_makes_all_incomplete(void **state)
{
	struct fixture *f = fixture_demo();
	const struct view view = { 0 };
	char *text;

	(void)state;
	f->s.ledger.lost_ns = f->s.ledger.event_wall_ns / 2;
	f->s.ledger.unseen_ns = f->s.ledger.event_wall_ns / 100;
	assert_true(snapshot_complete(&f->s));
	assert_true(group_complete(&f->s, &f->s.groups[0].stats));
	f->s.ledger.unseen_ns = f->s.ledger.event_wall_ns / 4;
	assert_false(snapshot_complete(&f->s));
	assert_false(group_complete(&f->s, &f->s.groups[0].stats));
	text = text_of(f, &view, 200, false);
	assert_non_null(
		strstr(text, "INCOMPLETE: no look at a stack stands for 25 % of the time\n"));
	free(text);
	/* Whatever else is lacking. */
	f->s.events.incomplete = 1;
	assert_false(group_complete(&f->s, &f->s.groups[0].stats));
	text = text_of(f, &view, 200, false);
	assert_non_null(strstr(text, ", no look at a stack stands for 25 % of the time\n"));
	free(text);
	fixture_free(f);
}

/* What was behind the end of a cut recording nobody could count: "complete" alone would deny it. */
static void a_recording_without_its_end_is_complete_as_far_as_it_goes(void **state)
{
	static const char words[] = " as far as the recording could be read";
	struct fixture *f = fixture_demo();
	const struct view view = { 0 };
	char *text;

	(void)state;
	text = text_of(f, &view, 200, false);
	assert_non_null(strstr(text, "; complete\n"));
	free(text);
	f->source.note = "it was cut";
	text = text_of(f, &view, 200, false);
	assert_non_null(strstr(text, "; complete, as far as the recording could be read\n"));
	free(text);
	f->s.losses.records[LOSS_RING_FULL] = 1;
	text = text_of(f, &view, 200, false);
	assert_null(strstr(text, words));
	free(text);
	fixture_free(f);
}

/* A hypervisor that took the CPU is a reason of its own. */
static void stolen_time_is_why_events_lack_data(void **state)
{
	struct fixture *f = fixture_demo();
	const struct view view = { 0 };
	char *text;

	(void)state;
	f->s.events.incomplete = 3;
	text = text_of(f, &view, 200, false);
	assert_non_null(strstr(text, "INCOMPLETE: 3 of 200 events lack data\n"));
	free(text);
	f->s.repairs.stolen_ns = f->s.repairs.stolen_lacks_ns = 12 * MS;
	text = text_of(f, &view, 200, false);
	assert_non_null(strstr(text,
			       "INCOMPLETE: 3 of 200 events lack data (a hypervisor took 12.0 "
			       "ms of their CPU time)\n"));
	free(text);
	f->s.losses.records[LOSS_RING_FULL] = 1;
	text = text_of(f, &view, 200, false);
	assert_non_null(strstr(text, "took 12.0 ms of their CPU time), 1 record lost"));
	free(text);
	fixture_free(f);
}

/* Of a lost batch it may not be known how many records it had: it is a loss all the same. */
static void a_loss_of_any_cause_makes_all_incomplete(void **state)
{
	struct fixture *f = fixture_demo();
	unsigned int i, batches;

	(void)state;
	assert_true(snapshot_complete(&f->s));
	for (i = 0; i < 2 * LOSS_CAUSES; i++) {
		batches = i & 1;
		memset(&f->s.losses, 0, sizeof(f->s.losses));
		(batches ? f->s.losses.batches : f->s.losses.records)[i / 2] = 1;
		assert_true(lost_any(&f->s.losses));
		assert_false(snapshot_complete(&f->s));
		assert_false(group_complete(&f->s, &f->s.groups[0].stats));
		assert_int_equal(lost_records(&f->s.losses), !batches);
	}
	/* So does a process that was asked for and is not traced. */
	memset(&f->s.losses, 0, sizeof(f->s.losses));
	assert_true(snapshot_complete(&f->s));
	f->s.left_out = 1;
	assert_false(snapshot_complete(&f->s));
	assert_false(group_complete(&f->s, &f->s.groups[0].stats));
	fixture_free(f);
}

/* Why it was lost is said of every cause there is. */
static void every_cause_of_loss_has_words(void **state)
{
	unsigned int i, k;
	char needle[64];

	(void)state;
	for (i = 0; i < LOSS_CAUSES; i++) {
		struct loss_stats l = { 0 };
		struct out o;

		l.records[i] = 3;
		out_open_memory(&o);
		summary_losses(&o, &l);
		out_write(&o, "", 1);
		snprintf(needle, sizeof(needle), " [%s]", loss_name(i));
		assert_non_null(
			strstr((const char *)o.buf.data, i == LOSS_MARKS_OFF || i == LOSS_NAMES
								 ? " lost because "
								 : "3 records lost because "));
		assert_non_null(strstr((const char *)o.buf.data, needle));
		assert_null(strstr((const char *)o.buf.data, "null"));
		for (k = 0; k < i; k++)
			assert_string_not_equal(loss_name(i), loss_name(k));
		out_close(&o);
	}
}

/* ---- Rows ---- */

static void every_key_sorts_and_reverses(void **state)
{
	struct fixture *f = fixture_demo();
	size_t i;

	(void)state;
	assert_false(sort_key_valid("nonsense"));
	for (i = 0; sort_keys[i]; i++) {
		struct view view = { .sort = sort_keys[i] };
		const struct snapshot_group **rows, **reversed;
		u32 n, m;

		assert_true(sort_key_valid(sort_keys[i]));
		rows = view_rows(&f->s, &view, &n);
		view.reverse = true;
		reversed = view_rows(&f->s, &view, &m);
		assert_int_equal(n, 2);
		assert_int_equal(m, 2);
		assert_ptr_equal(rows[0], reversed[1]);
		assert_ptr_equal(rows[1], reversed[0]);
		/* The tracker is larger in everything but its counts. */
		if (strcmp(sort_keys[i], "ticks") && strcmp(sort_keys[i], "events") &&
		    strcmp(sort_keys[i], "spans"))
			assert_string_equal(rows[0]->name, "addon:tracker");
		else
			assert_string_equal(rows[0]->name, "page:shop");
		free(rows);
		free(reversed);
	}
	fixture_free(f);
}

static void a_filter_takes_whole_names_or_names_without_kind(void **state)
{
	(void)state;
	assert_true(group_matches("addon:tracker", NULL));
	assert_true(group_matches("addon:tracker", "addon:*"));
	assert_true(group_matches("addon:tracker", "track*"));
	assert_true(group_matches("(native)", "(native)"));
	assert_false(group_matches("addon:tracker", "page:*"));
	assert_false(group_matches("addon:tracker", "addon"));
	assert_false(group_matches("page:a:b", "a:*"));
}

static struct fixture *many_groups(u32 n)
{
	struct fixture *f = fixture_new(n);
	u32 i;

	f->s.process_count = 1;
	f->s.processes[0] = (struct snapshot_process){ .pid = 7, .name = "many", .vm = "sdk" };
	for (i = 0; i < n; i++) {
		snprintf(f->names[i], sizeof(f->names[i]), "tenant:%u", i * 7919 % n);
		fixture_group(f, f->names[i], "tenant", 1, 1000 + i * 104729 % n);
	}
	f->s.events.count = n;
	return f;
}

static void a_limit_keeps_the_first_of_the_order_asked_for(void **state)
{
	struct fixture *f = many_groups(10);
	struct view v = { .sort = "name", .limit = 2 };
	const struct snapshot_group **rows;
	u32 n;

	(void)state;
	rows = view_rows(&f->s, &v, &n);
	assert_int_equal(n, 2);
	assert_string_equal(rows[0]->name, "tenant:0");
	assert_string_equal(rows[1]->name, "tenant:1");
	free(rows);
	v.reverse = true;
	rows = view_rows(&f->s, &v, &n);
	assert_int_equal(n, 2);
	assert_string_equal(rows[0]->name, "tenant:9");
	assert_string_equal(rows[1]->name, "tenant:8");
	free(rows);
	fixture_free(f);
}

static void ten_thousand_groups_are_sorted_and_printed(void **state)
{
	const struct view by_wall = { .sort = "wall" }, ten = { .limit = 10 };
	struct fixture *f = many_groups(10000);
	const struct snapshot_group **rows;
	char *text;
	u32 n, i;

	(void)state;
	rows = view_rows(&f->s, &by_wall, &n);
	assert_int_equal(n, 10000);
	for (i = 1; i < n; i++)
		assert_true(rows[i - 1]->stats.wall_ns >= rows[i]->stats.wall_ns);
	free(rows);
	text = json_of(f, &by_wall);
	dump("many", text);
	free(text);
	text = text_of(f, &ten, 80, false);
	assert_non_null(strstr(text, "10 of 10,000 groups shown"));
	free(text);
	fixture_free(f);
}

/* ---- Text ---- */

static void what_lacks_data_has_a_column_at_any_width(void **state)
{
	struct fixture *f = fixture_demo();
	const struct view view = { .sort = "name" };
	unsigned int width;

	(void)state;
	f->s.groups[1].stats.incomplete = 2;
	for (width = 40; width <= 120; width++) {
		char *text = text_of(f, &view, width, false);

		assert_non_null(strstr(text, " LACKS\n"));
		assert_non_null(strstr(text, "      2\n"));
		free(text);
	}
	fixture_free(f);
}

static void the_report_reads_like_this(void **state)
{
	static const char want[] =
		"host (42) and 1 more process, 2.00 s of demo.vmspan\n"
		"200 events (3 implicit), 1.20 s in all, longest 214 ms; 16 spans; complete\n"
		"addon:tracker held 3 of 200 turns longer than 64 ms, 200 ms at worst; 61 % of\n"
		"  its time in collections\n"
		"\n"
		"GROUP          SELF%     SELF     WALL  EVENTS   TICKS      MAX   >16ms   >64ms\n"
		"addon:tracker   16.7   200 ms   600 ms       3       6   200 ms       3       3\n"
		"page:shop        0.4  5.00 ms  10.0 ms       5      10  2.00 ms       0       0\n"
		"\n"
		"ledger: 900,000,000 self + 100,000,000 gc + 200,000,000 native = 1,200,000,000\n"
		"  ns of event time\n"
		"gc: 4 collections, 100 ms in all, longest 50.0 ms, 3.00 MB freed\n";
	struct fixture *f = fixture_demo();
	const struct view view = { 0 };
	char *text = text_of(f, &view, 80, false);

	(void)state;
	assert_string_equal(text, want);
	free(text);
	fixture_free(f);
}

static void a_ledger_that_does_not_sum_is_shown_as_such(void **state)
{
	struct fixture *f = fixture_demo();
	const struct view view = { 0 };
	char *text;

	(void)state;
	f->s.ledger.self_ns--;
	text = text_of(f, &view, 200, false);
	assert_non_null(strstr(text, "200,000,000 native != 1,200,000,000 ns"));
	free(text);
	fixture_free(f);
}

/* Columns of the widest line; escapes and controls must not be there. */
static unsigned int widest(const char *text)
{
	unsigned int most = 0;
	char line[2048];

	while (*text) {
		size_t len = strcspn(text, "\n"), i;

		for (i = 0; i < len; i++)
			assert_true((u8)text[i] >= 0x20 && text[i] != 0x7f);
		assert_true(len < sizeof(line));
		memcpy(line, text, len);
		line[len] = 0;
		if (name_columns(line) > most)
			most = name_columns(line);
		text += len + (text[len] == '\n');
	}
	return most;
}

static void no_line_is_wider_than_the_terminal(void **state)
{
	struct fixture *f = fixture_demo();
	struct view view = { 0 };
	struct top_figures figures = { .total = &f->s, .delta = &f->s, .elapsed_ns = 2000 * MS };
	struct top_state top = { 0 };
	struct top_page page;
	unsigned int width;

	(void)state;
	f->s.groups[0].name = HOSTILE;
	f->s.groups[1].name = "page:\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97 wide and so "
			      "long that it cannot ever fit into any column of this table";
	f->s.losses.records[LOSS_TRUNCATED] = 123456;
	top_page_init(&page);
	for (width = 40; width <= 300; width++) {
		char *text = text_of(f, &view, width, false);

		view.sort = top.view.sort = sort_keys[width % 15];
		assert_in_range(widest(text), 30, width);
		free(text);
		assert_int_equal(top_compose(&page, &top, &figures, width, 24), 0);
		buf_put(&page.text.buf, "", 1);
		assert_in_range(widest((char *)page.text.buf.data), 30, width);
	}
	top_page_release(&page);
	fixture_free(f);
}

static void color_only_when_asked_for(void **state)
{
	struct fixture *f = fixture_demo();
	const struct view view = { 0 };
	char *plain = text_of(f, &view, 80, false), *color = text_of(f, &view, 80, true);

	(void)state;
	assert_null(strchr(plain, '\033'));
	assert_non_null(strstr(color, "\033[33maddon:tracker"));
	free(plain);
	free(color);
	fixture_free(f);
}

static void numbers_as_people_read_them(void **state)
{
	char count[COUNT_TEXT_MAX], percent[PERCENT_MAX];

	(void)state;
	assert_string_equal(count_text(count, 0), "0");
	assert_string_equal(count_text(count, 999), "999");
	assert_string_equal(count_text(count, 1000), "1,000");
	assert_string_equal(count_text(count, UINT64_MAX), "18,446,744,073,709,551,615");
	assert_string_equal(count_short(count, 9999999), "9999999");
	assert_string_equal(count_short(count, 12345678), "12.3M");
	assert_string_equal(count_short(count, 999999999), "1.00G");
	assert_string_equal(count_short(count, UINT64_MAX), "18.4E");
	assert_string_equal(percent_text(percent, 1, 3), "33.3");
	assert_string_equal(percent_text(percent, 3, 3), "100");
	assert_string_equal(percent_text(percent, 1, 0), "0");
	assert_string_equal(about_text(500, 5), "");
	assert_string_equal(about_text(500, 6), "~");
	assert_string_equal(about_text(0, 0), "");
	assert_string_equal(about_text(0, 1), "~");
}

/* ---- top ---- */

static void an_interval_has_its_own_maximum(void **state)
{
	struct fixture *f = fixture_demo();
	struct group_stats *g = &f->s.groups[0].stats;

	(void)state;
	/* A delta keeps the maximum of the whole; its histogram is its own. */
	g->max_ns = NSEC_PER_SEC;
	assert_in_range(row_max_ns(g, true), 2 * MS, 2 * MS + 2 * MS / 16);
	assert_int_equal(row_max_ns(g, false), NSEC_PER_SEC);
	fixture_free(f);
}

static void the_live_table_fits_the_screen_and_scrolls(void **state)
{
	struct fixture *f = many_groups(100);
	struct top_figures figures = { .total = &f->s, .elapsed_ns = 1000 * MS };
	struct top_state top = { .view.sort = "name" };
	struct top_page page;
	const struct top_line *l;
	int i;

	(void)state;
	top_page_init(&page);
	assert_int_equal(top_compose(&page, &top, &figures, 80, 24), 0);
	assert_int_equal(top_page_count(&page), 24);
	l = top_page_line(&page, 6);
	assert_memory_equal(page.text.buf.data + l->at, "tenant:0 ", 9);
	assert_int_equal(l->class, LINE_PLAIN);
	/* The selection moves first, then the rows below it come up. */
	top_key(&top, TOP_KEY_DOWN);
	assert_int_equal(top_compose(&page, &top, &figures, 80, 24), 0);
	assert_int_equal(top_page_line(&page, 6)->class, LINE_SELECTED);
	for (i = 0; i < 17; i++)
		top_key(&top, TOP_KEY_DOWN);
	assert_int_equal(top_compose(&page, &top, &figures, 80, 24), 0);
	l = top_page_line(&page, 6);
	assert_memory_equal(page.text.buf.data + l->at, "tenant:1 ", 9);
	assert_int_equal(top_page_line(&page, 22)->class, LINE_SELECTED);
	top_key(&top, TOP_KEY_END);
	assert_int_equal(top_compose(&page, &top, &figures, 80, 24), 0);
	l = top_page_line(&page, 22);
	assert_memory_equal(page.text.buf.data + l->at, "tenant:99 ", 10);
	top_key(&top, TOP_KEY_HOME);
	assert_int_equal(top_compose(&page, &top, &figures, 80, 24), 0);
	assert_int_equal(top.scroll, 0);
	assert_int_equal(top_compose(&page, &top, &figures, 80, 0), 0);
	assert_int_equal(top_page_count(&page), 106);
	top_page_release(&page);
	fixture_free(f);
}

static void keys_do_what_help_says(void **state)
{
	struct top_state t = { 0 };

	(void)state;
	top_key(&t, 's');
	assert_string_equal(t.view.sort, sort_keys[1]);
	top_key(&t, '<');
	top_key(&t, '<');
	assert_string_equal(t.view.sort, "name");
	top_key(&t, '>');
	assert_string_equal(t.view.sort, "self");
	top_key(&t, 'r');
	assert_true(t.view.reverse);
	top_key(&t, 'c');
	assert_true(t.window_ns == TOP_SINCE_START);
	top_key(&t, ' ');
	assert_true(t.paused);
	top_key(&t, 'p');
	assert_false(t.paused);
	top_key(&t, 'h');
	assert_int_equal(t.pane, TOP_HELP);
	top_key(&t, 27);
	assert_int_equal(t.pane, TOP_TABLE);
	top_key(&t, 'c');
	assert_int_equal(t.window_ns, 0);
	top_key(&t, 'w');
	assert_true(t.window_ns == 10 * NSEC_PER_SEC);
	top_key(&t, 'w');
	top_key(&t, 'w');
	assert_true(t.window_ns == TOP_SINCE_START);
	top_key(&t, 'w');
	assert_int_equal(t.window_ns, 0);
	top_key(&t, 't');
	assert_int_equal(t.tree, TOP_BY_PROCESS);
	top_key(&t, 't');
	assert_int_equal(t.tree, TOP_BY_KIND);
	top_key(&t, 't');
	assert_int_equal(t.tree, TOP_BY_GROUP);
	top_key(&t, 't');
	assert_int_equal(t.tree, TOP_BY_CONTAINER);
	top_key(&t, 't');
	assert_int_equal(t.tree, TOP_FLAT);
	top_key(&t, 'H');
	assert_int_equal(t.tree, TOP_THREADS);
	top_key(&t, 'R');
	assert_true(t.record);
	assert_false(t.quit);
	top_key(&t, 'q');
	assert_true(t.quit);
}

static void a_filter_is_typed_and_erased(void **state)
{
	struct top_state t = { 0 };
	u32 i;

	(void)state;
	top_key(&t, '/');
	top_key(&t, 'q');
	top_key(&t, 0x6f22);
	assert_false(t.quit);
	assert_string_equal(t.view.glob, "*q\xe6\xbc\xa2*");
	top_key(&t, TOP_KEY_ERASE);
	assert_string_equal(t.view.glob, "*q*");
	top_key(&t, '?');
	assert_string_equal(t.view.glob, "q?");
	for (i = 0; i < 500; i++)
		top_key(&t, 'x');
	assert_in_range(strlen(t.filter), 100, sizeof(t.filter) - 1);
	top_key(&t, '\n');
	assert_int_equal(t.prompt, TOP_NO_PROMPT);
	top_key(&t, '/');
	top_key(&t, 27);
	assert_null(t.view.glob);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_has_the_keys_of_schema_1_in_their_order),
		cmocka_unit_test(a_stream_says_the_interval),
		cmocka_unit_test(hostile_names_stay_inside_their_string),
		cmocka_unit_test(one_lost_record_makes_every_group_incomplete),
		cmocka_unit_test(time_without_a_look_makes_all_incomplete),
		cmocka_unit_test(a_recording_without_its_end_is_complete_as_far_as_it_goes),
		cmocka_unit_test(stolen_time_is_why_events_lack_data),
		cmocka_unit_test(a_loss_of_any_cause_makes_all_incomplete),
		cmocka_unit_test(every_cause_of_loss_has_words),
		cmocka_unit_test(every_key_sorts_and_reverses),
		cmocka_unit_test(a_filter_takes_whole_names_or_names_without_kind),
		cmocka_unit_test(a_limit_keeps_the_first_of_the_order_asked_for),
		cmocka_unit_test(ten_thousand_groups_are_sorted_and_printed),
		cmocka_unit_test(what_lacks_data_has_a_column_at_any_width),
		cmocka_unit_test(the_report_reads_like_this),
		cmocka_unit_test(a_ledger_that_does_not_sum_is_shown_as_such),
		cmocka_unit_test(no_line_is_wider_than_the_terminal),
		cmocka_unit_test(color_only_when_asked_for),
		cmocka_unit_test(numbers_as_people_read_them),
		cmocka_unit_test(an_interval_has_its_own_maximum),
		cmocka_unit_test(the_live_table_fits_the_screen_and_scrolls),
		cmocka_unit_test(keys_do_what_help_says),
		cmocka_unit_test(a_filter_is_typed_and_erased),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
