/* SPDX-License-Identifier: BSD-2-Clause */
/* Text of the target is made safe; numbers are rounded as people read them. */
#include "base/array.h"
#include "base/err.h"
#include "base/json.h"
#include "base/text.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define BAD "\xef\xbf\xbd"

static void cleaned(const char *from, const char *to)
{
	char text[64];

	assert_string_equal(text_clean(text, sizeof(text), from, strlen(from)), to);
}

/* What moves a cursor, turns text around or breaks lines does none of it. */
static void controls_are_replaced(void **state)
{
	static const char *const unsafe[] = {
		"\x01",         "\x1b",         "\n",           "\x7f",
		"\xc2\x80",     "\xc2\x9b", /* CSI in one */
		"\xc2\x9f",     "\xd8\x9c",     "\xe2\x80\x8e", "\xe2\x80\x8f",
		"\xe2\x80\xa8", "\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa6",
		"\xe2\x81\xa7", "\xe2\x81\xa9", "\xef\xbb\xbf",
	};
	/* Their neighbours are letters like others. */
	static const char *const safe[] = {
		" ",
		"~",
		"\xc2\xa0",
		"\xd8\x9b",
		"\xd8\x9d",
		"\xe2\x80\x8d",
		"\xe2\x80\x90",
		"\xe2\x80\xa7",
		"\xe2\x80\xaf",
		"\xe2\x81\xa5",
		"\xe2\x81\xaa",
		"\xef\xbb\xbe",
		"\xf0\x9f\x90\x8c",
	};
	char text[16], want[16];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(unsafe); i++) {
		snprintf(text, sizeof(text), "a%sb", unsafe[i]);
		cleaned(text, "a" BAD "b");
	}
	for (i = 0; i < ARRAY_SIZE(safe); i++) {
		snprintf(want, sizeof(want), "a%sb", safe[i]);
		cleaned(want, want);
	}
}

/* A byte that is not UTF-8 is one bad character; what follows stands. */
static void invalid_utf8_is_replaced(void **state)
{
	(void)state;
	cleaned("a\xff"
		"b",
		"a" BAD "b");
	cleaned("\x80", BAD);
	cleaned("\xc0\x80", BAD BAD); /* zero, in two bytes */
	cleaned("\xc1\xbf", BAD BAD);
	cleaned("\xe0\x9f\xbf", BAD BAD BAD); /* shorter in two */
	cleaned("\xf0\x8f\xbf\xbf", BAD BAD BAD BAD);
	cleaned("\xed\xa0\x80", BAD BAD BAD); /* half of a pair */
	cleaned("\xf4\x90\x80\x80", BAD BAD BAD BAD); /* beyond the last */
	cleaned("\xf8\x88\x80\x80\x80", BAD BAD BAD BAD BAD);
	cleaned("\xe2\x82", BAD BAD); /* cut */
	cleaned("\xc3(", BAD "(");
	assert_int_equal(text_utf8_len("\xc3\xa9", 2), 2);
	assert_int_equal(text_utf8_len("\xc3\xa9", 1), 0);
	assert_int_equal(text_utf8_len("\xf0\x9f\x90\x8c", 4), 4);
	assert_int_equal(text_utf8_len("\xf4\x8f\xbf\xbf", 4), 4);
}

static void text_is_cut_at_a_character(void **state)
{
	char text[5];

	(void)state;
	assert_string_equal(text_clean(text, sizeof(text), "abcdef", 6), "abcd");
	assert_string_equal(text_clean(text, sizeof(text), "abc\xc3\xa9", 5), "abc");
	assert_string_equal(text_clean(text, sizeof(text), "a\xff\xff", 3), "a" BAD);
	assert_string_equal(text_clean(text, sizeof(text), "ab\xff", 3), "ab");
}

/* Every byte there is, alone: what JSON forbids, what ends a string, what opens
 * a tag in a page, and DEL are escaped; half a character is replaced. */
static void json_holds_any_byte(void **state)
{
	unsigned int c;

	(void)state;
	for (c = 0; c < 256; c++) {
		const char text[1] = { (char)c };
		char want[16];
		struct json j;
		struct out o;

		out_open_memory(&o);
		json_open(&j, &o);
		json_bytes(&j, text, 1);
		if (c < 0x20 || c == 0x7f || c == '<')
			snprintf(want, sizeof(want), "\"\\u%04x\"", c);
		else if (c == '"' || c == '\\')
			snprintf(want, sizeof(want), "\"\\%c\"", c);
		else if (c >= 0x80)
			snprintf(want, sizeof(want), "\"" BAD "\"");
		else
			snprintf(want, sizeof(want), "\"%c\"", c);
		assert_int_equal(o.buf.len, strlen(want));
		assert_memory_equal(o.buf.data, want, strlen(want));
		out_close(&o);
	}
}

/* Three digits, and never "1000 us" or "10.00 ms". */
static void times_have_three_digits(void **state)
{
	static const struct {
		u64 ns;
		const char *text;
	} rows[] = {
		{ 0, "0 ns" },
		{ 999, "999 ns" },
		{ 1000, "1.00 us" },
		{ 9994, "9.99 us" },
		{ 9995, "10.0 us" },
		{ 99949, "99.9 us" },
		{ 99950, "100 us" },
		{ 999499, "999 us" },
		{ 1000000, "1.00 ms" },
		{ NSEC_PER_SEC, "1.00 s" },
		{ 100 * NSEC_PER_SEC, "100 s" },
		{ 3600 * NSEC_PER_SEC - 1, "3600 s" },
		{ 3600 * NSEC_PER_SEC, "1h00m" },
		{ 7380 * NSEC_PER_SEC, "2h03m" },
	};
	char text[TEXT_NS_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(text_ns(text, rows[i].ns), rows[i].text);
	assert_true(strlen(text_ns(text, UINT64_MAX)) < sizeof(text));
}

static void arrays_double_and_fail_whole(void **state)
{
	u64 *list = NULL, *before;
	u32 cap = 0, i, moves = 0, last = 0;

	(void)state;
	for (i = 0; i < 1000; i++) {
		assert_int_equal(array_room(list, cap, i + 1), 0);
		assert_true(cap > i);
		moves += cap != last;
		last = cap;
		list[i] = i;
	}
	assert_true(moves <= 8);
	for (i = 0; i < 1000; i++)
		assert_int_equal(list[i], i);
	assert_int_equal(array_room(list, cap, 5000), 0);
	assert_true(cap >= 5000);
	/* Too many: all is as it was. */
	before = list;
	last = cap;
	assert_int_equal(array_room(list, cap, UINT32_MAX), -ENOMEM);
	assert_ptr_equal(list, before);
	assert_int_equal(cap, last);
	free(list);
}

/* Each unit there is, and what is none. */
static void what_is_typed_has_units(void **state)
{
	static const struct {
		const char *text;
		u64 ns;
	} times[] = { { "7", 7000000000 },
		      { "7s", 7000000000 },
		      { "7ms", 7000000 },
		      { "7us", 7000 },
		      { "7ns", 7 },
		      { "7m", 420000000000 },
		      { "7h", 25200000000000 },
		      { "1.5s", 1500000000 },
		      { ".5us", 500 },
		      { "0", 0 },
		      { "1.4ns", 1 },
		      { "1.6ns", 2 } };
	static const struct {
		const char *text;
		u64 bytes;
	} sizes[] = { { "7", 7 },         { "7B", 7 },          { "7k", 7168 },
		      { "7K", 7168 },     { "7KB", 7168 },      { "7M", 7340032 },
		      { "7MB", 7340032 }, { "7G", 7516192768 }, { "7GB", 7516192768 },
		      { "1.5k", 1536 } };
	static const char *const bad[] = { "",     "s",   "-1s", "+1s", " 1s", "1 s", "1S",   "1d",
					   "0x10", "1p3", "inf", "nan", "1,5", "1ss", "1e300" };
	u64 v;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(times); i++) {
		assert_int_equal(text_parse_ns(times[i].text, &v), 0);
		assert_int_equal(v, times[i].ns);
	}
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_int_equal(text_parse_bytes(sizes[i].text, &v), 0);
		assert_int_equal(v, sizes[i].bytes);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(text_parse_ns(bad[i], &v), -EINVAL);
		assert_int_equal(text_parse_bytes(bad[i], &v), -EINVAL);
	}
	assert_int_equal(text_parse_bytes("1T", &v), -EINVAL);
}

static void whole_numbers_have_a_most(void **state)
{
	static const char *const bad[] = { "", "-1", "+1", " 1", "1 ", "1.0", "1k", "0x1" };
	u64 v;
	size_t i;

	(void)state;
	assert_int_equal(text_parse_u64("255", 255, &v), 0);
	assert_int_equal(v, 255);
	assert_int_equal(text_parse_u64("256", 255, &v), -EINVAL);
	assert_int_equal(text_parse_u64("010", 255, &v), 0);
	assert_int_equal(v, 10);
	assert_int_equal(text_parse_u64("18446744073709551615", UINT64_MAX, &v), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(text_parse_u64("18446744073709551616", UINT64_MAX, &v), -EINVAL);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(text_parse_u64(bad[i], UINT64_MAX, &v), -EINVAL);
}

/* Groups are named by the target: a name may look like a glob, and is none. */
static void a_quoted_name_matches_itself_alone(void **state)
{
	static const char *const names[] = { "page:[draft] x", "page:d x", "page:*", "page:?",
					     "page:\\*",       "page:a]",  "page:" };
	size_t i, k;
	char glob[32];

	(void)state;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		glob_quote(glob, sizeof(glob), names[i]);
		for (k = 0; k < ARRAY_SIZE(names); k++)
			assert_int_equal(glob_matches(names[k], glob), i == k);
	}
	/* Of what is too long no half of a pair is left. */
	glob_quote(glob, 5, "a**");
	assert_string_equal(glob, "a\\*");
	glob_quote(glob, 7, "***");
	assert_string_equal(glob, "\\*\\*\\*");
}

/* Files and processes choose names that messages quote. Their own ends of lines stay. */
static void what_a_message_quotes_moves_no_cursor(void **state)
{
	struct err e = { 0 };
	char many[600];

	(void)state;
	err_set(&e, -EINVAL, "%s: no\n  %s^", "a\x1b[2Jb\xc3\xa9", "c\x9b\x7f");
	err_hint(&e, "%s.\n", "\xe2\x80\xae");
	assert_string_equal(e.what, "a" BAD "[2Jb\xc3\xa9: no\n  c" BAD BAD "^");
	assert_string_equal(e.hint, BAD ".\n");
	e = (struct err){ 0 };
	memset(many, 1, sizeof(many));
	many[100] = '\n';
	many[sizeof(many) - 1] = 0;
	err_set(&e, -EINVAL, "%s", many);
	err_hint(&e, "%s", many);
	assert_in_range(strlen(e.what), sizeof(e.what) - 8, sizeof(e.what) - 1);
	assert_in_range(strlen(e.hint), sizeof(e.hint) - 8, sizeof(e.hint) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(controls_are_replaced),
		cmocka_unit_test(invalid_utf8_is_replaced),
		cmocka_unit_test(text_is_cut_at_a_character),
		cmocka_unit_test(json_holds_any_byte),
		cmocka_unit_test(times_have_three_digits),
		cmocka_unit_test(what_is_typed_has_units),
		cmocka_unit_test(whole_numbers_have_a_most),
		cmocka_unit_test(arrays_double_and_fail_whole),
		cmocka_unit_test(a_quoted_name_matches_itself_alone),
		cmocka_unit_test(what_a_message_quotes_moves_no_cursor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
