/* SPDX-License-Identifier: BSD-2-Clause */
/* What each key of the live table does, and the mouse, without a terminal and without rows. */
#include "sink/top.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ESCAPE 27

static void keys(struct top_state *st, const u32 *list)
{
	for (; *list; list++)
		top_key(st, *list);
}
#define KEYS(st, ...) keys(st, (const u32[]){ __VA_ARGS__, 0 })

static void text_of_any_length_of_letters_is_typed_and_erased(void **state)
{
	struct top_state st = { 0 };

	(void)state;
	KEYS(&st, '/', 'a', 0xe9, 0x3a9, 0x6f22, 0x1f600);
	assert_string_equal(st.filter, "a\u00e9\u03a9\u6f22\U0001f600");
	assert_string_equal(st.view.glob, "*a\u00e9\u03a9\u6f22\U0001f600*");
	KEYS(&st, 127, 8);
	assert_string_equal(st.filter, "a\u00e9\u03a9");
	KEYS(&st, TOP_KEY_ERASE, TOP_KEY_ERASE, TOP_KEY_ERASE, TOP_KEY_ERASE);
	assert_string_equal(st.filter, "");
	assert_null(st.view.glob);
	/* What is no letter is none of the text. */
	KEYS(&st, 'b', TOP_KEY_UP, TOP_KEY_NONE, 1, 'c', '\n');
	assert_string_equal(st.filter, "bc");
	assert_int_equal(st.prompt, TOP_NO_PROMPT);
	assert_int_equal(st.find, 0);
	assert_int_equal(st.move, 0);
	KEYS(&st, TOP_KEY_FILTER, ESCAPE);
	assert_string_equal(st.filter, "");
}

static void a_search_begins_empty_and_finds_when_it_is_ended(void **state)
{
	struct top_state st = { .search = "old" };

	(void)state;
	KEYS(&st, TOP_KEY_SEARCH, 'a', 'b');
	assert_string_equal(st.search, "ab");
	assert_int_equal(st.find, 0);
	assert_null(st.view.glob);
	top_key(&st, '\r');
	assert_int_equal(st.find, 1);
	KEYS(&st, TOP_KEY_SEARCH, 'x', ESCAPE);
	assert_string_equal(st.search, "");
	assert_int_equal(st.find, 0);
	top_key(&st, 'n');
	assert_int_equal(st.find, 1);
	top_key(&st, 'N');
	assert_int_equal(st.find, -1);
}

static void keys_move_the_selection_by_rows_and_pages(void **state)
{
	static const struct {
		u32 key;
		s64 by;
	} cases[] = {
		{ TOP_KEY_UP, -1 },        { TOP_KEY_DOWN, 1 },         { TOP_KEY_PAGE_UP, -10 },
		{ TOP_KEY_PAGE_DOWN, 10 }, { TOP_KEY_HOME, INT32_MIN }, { TOP_KEY_END, INT32_MAX },
	};
	struct top_state st = { .move = 3, .selected = 9 };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		st.move = 3;
		top_key(&st, cases[i].key);
		assert_int_equal(st.move, 3 + cases[i].by);
	}
	assert_int_equal(st.selected, 9);
	top_key(&st, ESCAPE);
	assert_int_equal(st.selected, 0);
}

static void keys_switch_one_thing_each(void **state)
{
	static const struct {
		u32 key, parts;
	} cases[] = {
		{ 'P', 1u << TRACE_TURNS },
		{ 'B', 1u << TRACE_BLOCKING },
		{ 'G', 1u << TRACE_GC },
		{ 'S', 1u << TRACE_SAMPLES },
	};
	struct top_state st;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		st = (struct top_state){ 0 };
		top_key(&st, cases[i].key);
		assert_int_equal(st.parts, cases[i].parts);
		assert_false(st.save || st.record || st.own || st.open || st.paused || st.quit);
	}
	st = (struct top_state){ 0 };
	top_key(&st, 'o');
	assert_true(st.own && !st.open);
	top_key(&st, '\n');
	assert_true(st.open);
	st = (struct top_state){ .notice = "said before" };
	KEYS(&st, 'c');
	assert_string_equal(st.notice, "");
	assert_true(st.window_ns == TOP_SINCE_START);
	KEYS(&st, 'c');
	assert_int_equal(st.window_ns, 0);
	KEYS(&st, 'H', 'H');
	assert_int_equal(st.tree, TOP_FLAT);
	KEYS(&st, TOP_KEY_QUIT);
	assert_true(st.quit);
}

static void a_pane_scrolls_from_its_begin_on(void **state)
{
	struct top_state st = { .scroll = 7 };

	(void)state;
	KEYS(&st, '?', TOP_KEY_HOME, TOP_KEY_DOWN, TOP_KEY_PAGE_DOWN);
	assert_int_equal(st.pane, TOP_HELP);
	assert_int_equal(st.scroll, 11);
	top_key(&st, TOP_KEY_UP);
	assert_int_equal(st.scroll, 10);
	KEYS(&st, TOP_KEY_UP, TOP_KEY_PAGE_UP);
	assert_int_equal(st.scroll, 0);
	KEYS(&st, TOP_KEY_UP, TOP_KEY_PAGE_UP);
	assert_int_equal(st.scroll, 0);
	assert_int_equal(st.move, 0);
	KEYS(&st, TOP_KEY_DOWN, TOP_KEY_HELP);
	assert_int_equal(st.pane, TOP_TABLE);
	assert_int_equal(st.scroll, 0);
}

/* ---- Columns ---- */

static void has_columns(const struct top_state *st, const char *numbers)
{
	char text[TABLE_COLUMNS + 1];
	u32 i;

	for (i = 0; i < st->columns.count; i++)
		text[i] = (char)('a' + st->columns.columns[i]);
	text[i] = 0;
	assert_string_equal(text, numbers);
}

static void columns_are_taken_away_and_come_back_at_the_end(void **state)
{
	struct top_state st = { .shown = { .columns = { 2, 0, 1 }, .count = 3 } };
	u32 i, all = table_column_count();

	(void)state;
	top_key(&st, 'C');
	assert_int_equal(st.pane, TOP_COLUMNS);
	has_columns(&st, "cab");
	KEYS(&st, TOP_KEY_DOWN, ' ');
	has_columns(&st, "cb");
	assert_false(st.paused);
	KEYS(&st, TOP_KEY_HOME, ' ');
	has_columns(&st, "b");
	/* The last one stays. */
	top_key(&st, ' ');
	has_columns(&st, "b");
	/* Those that are not shown are below, in the table's order: a, c, d, ... */
	KEYS(&st, TOP_KEY_DOWN, TOP_KEY_DOWN, ' ');
	has_columns(&st, "bc");
	assert_int_equal(st.cursor, 1);
	KEYS(&st, TOP_KEY_END, ' ');
	assert_int_equal(st.columns.count, 3);
	assert_int_equal(st.columns.columns[2], all - 1);
	assert_int_equal(st.cursor, 2);
	for (i = 0; i < 2 * all; i++)
		top_key(&st, TOP_KEY_DOWN);
	assert_int_equal(st.cursor, all - 1);
	for (i = 0; i < 2 * all; i++)
		top_key(&st, TOP_KEY_UP);
	assert_int_equal(st.cursor, 0);
	for (i = 0; i < 2 * all; i++)
		KEYS(&st, TOP_KEY_END, ' ');
	assert_in_range(st.columns.count, 1, all);
}

static void a_column_moves_with_the_cursor_within_those_shown(void **state)
{
	struct top_state st = { .shown = { .columns = { 0, 1, 2 }, .count = 3 } };

	(void)state;
	KEYS(&st, TOP_KEY_COLUMNS, '>');
	has_columns(&st, "bac");
	assert_int_equal(st.cursor, 1);
	KEYS(&st, '>', '>');
	has_columns(&st, "bca");
	assert_int_equal(st.cursor, 2);
	KEYS(&st, '<', '<', '<');
	has_columns(&st, "abc");
	assert_int_equal(st.cursor, 0);
	KEYS(&st, TOP_KEY_DOWN, TOP_KEY_DOWN, TOP_KEY_DOWN, '<', '>');
	has_columns(&st, "abc");
}

static void a_choice_is_kept_saved_or_given_up(void **state)
{
	struct top_state st = { .shown = { .columns = { 0, 1 }, .count = 2 },
				.detail = "x",
				.scroll = 4 };

	(void)state;
	KEYS(&st, 'C', ' ', 'S');
	assert_true(st.save);
	assert_int_equal(st.parts, 0);
	assert_int_equal(st.pane, TOP_TABLE);
	assert_string_equal(st.detail, "");
	assert_int_equal(st.scroll, 0);
	has_columns(&st, "b");
	/* What was chosen before is gone on with, not what is on the screen. */
	KEYS(&st, 'C', 'q');
	assert_false(st.quit);
	has_columns(&st, "b");
	KEYS(&st, 'C', 'a');
	assert_int_equal(st.columns.count, 0);
	assert_int_equal(st.pane, TOP_TABLE);
}

/* ---- The mouse ---- */

static void a_click_is_on_a_row_or_on_nothing(void **state)
{
	static const u64 ids[] = { 11, 22 };
	struct top_page page = { .title_line = 3 };
	struct top_state st = { 0 };
	unsigned int y;

	(void)state;
	assert_int_equal(buf_put(&page.rows, ids, sizeof(ids)), 0);
	for (y = 0; y < 9; y++) {
		bool row = y == 4 || y == 5;

		st = (struct top_state){ .selected = 33 };
		top_mouse(&st, &page, TOP_CLICK, 2, y);
		assert_int_equal(st.selected, row ? ids[y - 4] : 33);
		assert_false(st.open);
		top_mouse(&st, &page, TOP_CLICK, 2, y);
		assert_int_equal(st.open, row);
	}
	/* A click on another row closes nothing and opens nothing. */
	st = (struct top_state){ .selected = 11 };
	top_mouse(&st, &page, TOP_CLICK, 2, 5);
	assert_false(st.open);
	/* In a pane, and where there is no table, there are no rows. */
	st = (struct top_state){ .pane = TOP_HELP };
	top_mouse(&st, &page, TOP_CLICK, 2, 4);
	assert_int_equal(st.selected, 0);
	st = (struct top_state){ 0 };
	page.title_line = 0;
	top_mouse(&st, &page, TOP_CLICK, 2, 1);
	assert_int_equal(st.selected, 0);
	top_mouse(&st, &page, TOP_WHEEL_DOWN, 0, 0);
	assert_int_equal(st.move, 1);
	top_mouse(&st, &page, TOP_WHEEL_UP, 0, 0);
	top_mouse(&st, &page, TOP_WHEEL_UP, 0, 0);
	assert_int_equal(st.move, -1);
	buf_free(&page.rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_of_any_length_of_letters_is_typed_and_erased),
		cmocka_unit_test(a_search_begins_empty_and_finds_when_it_is_ended),
		cmocka_unit_test(keys_move_the_selection_by_rows_and_pages),
		cmocka_unit_test(keys_switch_one_thing_each),
		cmocka_unit_test(a_pane_scrolls_from_its_begin_on),
		cmocka_unit_test(columns_are_taken_away_and_come_back_at_the_end),
		cmocka_unit_test(a_column_moves_with_the_cursor_within_those_shown),
		cmocka_unit_test(a_choice_is_kept_saved_or_given_up),
		cmocka_unit_test(a_click_is_on_a_row_or_on_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
