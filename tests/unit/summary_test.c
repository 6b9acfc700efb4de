/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines and sentences that every view has: of an interval, of notes, of who is to blame. */
#include "sink_fixture.h"
#include "sink/notes.h"
#include "sink/stat.h"
#include "sink/summary.h"
#include "sink/waits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void stat_is_a_line_of_the_interval(void **state)
{
	struct fixture *f = fixture_demo();
	struct out o;
	char *text;

	(void)state;
	out_open_memory(&o);
	stat_head(&o);
	stat_line(&o, &f->s, &f->s, 4 * NSEC_PER_SEC, 2 * NSEC_PER_SEC);
	text = fixture_text(&o);
	assert_string_equal(
		text,
		"    TIME   EVENTS    SPANS     MEAN   >1ms  >16ms  >64ms >256ms  BUSY%    LOST  "
		"TOP GROUP\n"
		"  4.00 s      200       16  6.00 ms    200      0      3      0   60.0       0  "
		"addon:tracker 50.0 %\n");
	free(text);
	fixture_free(f);
}

/* Figures are those of the interval; what was lost once makes all that follows doubtful. */
static void stat_never_says_complete_again(void **state)
{
	static const char *const want[] = {
		"  4.00 s      100       16  12.0 ms    100      4      3      1   60.0       0  "
		"addon:tracker 50.0 %\n",
		"  4.00 s      100       16  12.0 ms    100      4      3      1   60.0       0  "
		"addon:tracker 50.0 %  INCOMPLETE\n",
		"  4.00 s      100       16  12.0 ms    100      4      3      1   60.0       2  "
		"addon:tracker 50.0 %  INCOMPLETE\n",
		"  4.00 s      100       16  12.0 ms    100      4      3      1   60.0       0  "
		"addon:tracker 50.0 %  INCOMPLETE\n",
	};
	struct fixture *delta = fixture_demo(), *total = fixture_demo();
	unsigned int i;

	(void)state;
	delta->s.events.count = delta->s.events.durations[0] = 100;
	delta->s.events.durations[4] = 4;
	delta->s.events.durations[8] = 1;
	total->s.events.count = 500;
	total->s.spans = 1600;
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		struct out o;
		char *text;

		total->s.losses.records[LOSS_RING_FULL] = i == 1 || i == 2 ? 7 : 0;
		delta->s.losses.records[LOSS_RING_FULL] = i == 2 ? 2 : 0;
		total->s.events.incomplete = i == 3;
		out_open_memory(&o);
		stat_line(&o, &delta->s, &total->s, 4 * NSEC_PER_SEC, 2 * NSEC_PER_SEC);
		text = fixture_text(&o);
		assert_string_equal(text, want[i]);
		free(text);
	}
	fixture_free(delta);
	fixture_free(total);
}

/* ---- Sentences ---- */

static char *note_of(const struct snapshot *s, const struct note_line *l)
{
	struct out o;

	out_open_memory(&o);
	note_text(&o, s, l);
	return fixture_text(&o);
}

static char *at_end_of(const struct snapshot *s)
{
	struct out o;

	out_open_memory(&o);
	notes_at_end(&o, s);
	return fixture_text(&o);
}

static void a_note_counts_the_other_processes(void **state)
{
	static const char alike[] = "has no symbols", other[] = "is old";
	struct snapshot_process p[] = { { .pid = 42, .name = "host" },
					{ .pid = 43, .name = "kid" },
					{ .pid = 44, .name = "kid" } };
	struct snapshot_note notes[] = {
		{ 1, other, "", false, false },
		{ 0, alike, "wait", true, false },
		{ 1, alike, "wait", true, false },
		{ 2, alike, "wait", true, false },
	};
	struct snapshot s = { .processes = p, .process_count = 3, .notes = notes };
	struct note_line lines[NOTE_LINES];
	char *text;

	(void)state;
	assert_int_equal(note_lines(&s, lines), 0);
	s.note_count = 3;
	assert_int_equal(note_lines(&s, lines), 2);
	text = note_of(&s, &lines[1]);
	assert_string_equal(text, "note: host (42) and 1 more process: has no symbols");
	free(text);
	s.note_count = 4;
	assert_int_equal(note_lines(&s, lines), 2);
	text = note_of(&s, &lines[0]);
	assert_string_equal(text, "note: kid (43): is old");
	free(text);
	text = note_of(&s, &lines[1]);
	assert_string_equal(text, "note: host (42) and 2 more processes: has no symbols");
	free(text);
	/* Why the others are left out, and what to do. */
	text = at_end_of(&s);
	assert_string_equal(text,
			    "note: host (42) and 2 more processes: has no symbols\n  -> wait\n");
	free(text);
}

/* A count of what is lost does not say of whom. */
static void where_something_is_lost_all_that_is_wrong_is_said(void **state)
{
	struct snapshot_process p[] = { { .pid = 42, .name = "host" },
					{ .pid = 43, .name = "kid" } };
	struct snapshot_note notes[] = {
		{ .process = 0, .text = "is of a kind", .advice = "", .remark = true },
		{ .process = 1, .text = "is late", .advice = "wait" },
	};
	struct snapshot s = { .processes = p, .process_count = 2, .notes = notes, .note_count = 2 };
	char *text;

	(void)state;
	text = at_end_of(&s);
	assert_string_equal(text, "");
	free(text);
	s.losses.records[LOSS_MARKS_OFF] = 1;
	text = at_end_of(&s);
	assert_string_equal(text, "note: kid (43): is late\n  -> wait\n");
	free(text);
}

/* Who has room for one note is not to show one of what is as it should be. */
static void remarks_are_the_last_notes(void **state)
{
	static const char remark[] = "is of a kind", wrong[] = "is old";
	struct snapshot_process p[] = { { .pid = 42, .name = "host" },
					{ .pid = 43, .name = "kid" } };
	struct snapshot_note notes[] = {
		{ .process = 0, .text = remark, .advice = "", .remark = true },
		{ .process = 0, .text = wrong, .advice = "" },
		{ .process = 1, .text = remark, .advice = "", .remark = true },
	};
	struct snapshot s = { .processes = p, .process_count = 2, .notes = notes, .note_count = 3 };
	struct note_line lines[NOTE_LINES];

	(void)state;
	assert_int_equal(note_lines(&s, lines), 2);
	assert_string_equal(lines[0].note->text, wrong);
	assert_int_equal(lines[0].more, 0);
	assert_string_equal(lines[1].note->text, remark);
	assert_int_equal(lines[1].more, 1);
}

/* Of more notes than are said, those that are said still count all their processes. */
static void as_many_notes_are_said_as_there_is_room_for(void **state)
{
	static const char texts[NOTE_LINES + 1][2] = { "a", "b", "c", "d", "e", "f", "g", "h", "i",
						       "j", "k", "l", "m", "n", "o", "p", "q" };
	struct snapshot_process p[] = { { .pid = 42, .name = "host" } };
	struct snapshot_note notes[NOTE_LINES + 2];
	struct snapshot s = { .processes = p, .process_count = 1, .notes = notes };
	struct note_line lines[NOTE_LINES + 1];
	u32 i;

	(void)state;
	for (i = 0; i <= NOTE_LINES; i++)
		notes[i] = (struct snapshot_note){ 0, texts[i], "", false, false };
	notes[NOTE_LINES + 1] = notes[NOTE_LINES - 1];
	s.note_count = NOTE_LINES + 2;
	assert_int_equal(note_lines(&s, lines), NOTE_LINES);
	for (i = 0; i < NOTE_LINES; i++) {
		assert_string_equal(lines[i].note->text, texts[i]);
		assert_int_equal(lines[i].more, i == NOTE_LINES - 1);
	}
}

static char *target_of(const struct snapshot *s)
{
	struct out o;

	out_open_memory(&o);
	summary_target(&o, s);
	return fixture_text(&o);
}

static void the_target_is_told_with_its_container(void **state)
{
	struct snapshot_process p[] = {
		{ .pid = 42, .name = "host" },
		{ .pid = 43, .name = "kid", .container = { "podman", "1", "web" } }
	};
	struct snapshot s = { .processes = p, .process_count = 2 };
	char *text;

	(void)state;
	text = target_of(&s);
	assert_string_equal(text, "host (42)");
	free(text);
	p[1].events.count = 1;
	text = target_of(&s);
	assert_string_equal(text, "kid (43) in podman:web");
	free(text);
}

static char *nobody_of(const struct ledger *l)
{
	struct out o;

	out_open_memory(&o);
	summary_nobody(&o, l, "; ");
	return fixture_text(&o);
}

/* More than a tenth that moved, or more than three around nested loops. */
static void what_nobody_is_charged_with_is_told(void **state)
{
	static const struct {
		u64 moved, stale;
		const char *want;
	} cases[] = {
		{ 100, 300, "" },
		{ 101, 301,
		  "; 10 % of event time changed CPU and is charged to nobody: --exact or "
		  "--keep-moved charges it" },
		{ 100, 310,
		  "; 31 % of event time was spent around nested loops and is charged to nobody: "
		  "--nested=suspend charges it" },
		{ 0, 301,
		  "; 30 % of event time was spent around nested loops and is charged to nobody: "
		  "--nested=suspend charges it" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct ledger l = { .moved_ns = cases[i].moved * MS,
					  .stale_ns = cases[i].stale * MS,
					  .event_wall_ns = 1000 * MS };
		char *text = nobody_of(&l);

		assert_string_equal(text, cases[i].want);
		free(text);
	}
}

/* What to do about it depends on which it was. */
static void each_cause_has_its_own_words(void **state)
{
	static const struct loss_stats l = {
		.records = { [LOSS_RING_FULL] = 1,
			     [LOSS_READ_FAULT] = 2,
			     [LOSS_SEQUENCE_GAP] = 3,
			     [LOSS_UNMATCHED] = 4,
			     [LOSS_TRUNCATED] = 5,
			     [LOSS_NO_SCHED] = 7,
			     [LOSS_TOO_DEEP] = 8,
			     [LOSS_NOT_MADE] = 9,
			     [LOSS_MALFORMED] = 10,
			     [LOSS_LIMIT] = 11,
			     [LOSS_MARKS_OFF] = 12,
			     [LOSS_NAMES] = 13,
			     [LOSS_OTHER] = 14 },
		.batches = { [LOSS_READ_FAULT] = 1, [LOSS_SEQUENCE_GAP] = 2, [LOSS_SCHED] = 6 },
	};
	struct out o;
	char *text;

	(void)state;
	out_open_memory(&o);
	summary_losses(&o, &l);
	/* Some chunks are damaged, and the end is missing. */
	out_puts(&o, "\n");
	summary_losses(&o, &(struct loss_stats){ .records[LOSS_TRUNCATED] = 1,
						 .batches[LOSS_TRUNCATED] = 2 });
	text = fixture_text(&o);
	assert_string_equal(
		text,
		"1 record lost because the ring buffer was full (--buffer makes it larger) "
		"[ring_full]; 2 records in 1 batch lost because the target's memory could not "
		"be read [read_fault]; 3 records in 2 batches lost because they never arrived, "
		"for no cause known [sequence_gap]; 4 records lost because they left what was "
		"never entered [unmatched]; 5 records lost because the recording is cut or "
		"damaged, or of an earlier version [truncated]; records, how many is not known, in "
		"6 batches lost "
		"because the scheduler's record was full, or a switch was not told of [sched]; "
		"7 records lost because the scheduler's record of their thread was not there "
		"[no_sched]; 8 records lost because stays were nested deeper than is kept "
		"[too_deep]; 9 records lost because they could not be marked: inside another "
		"mark, no room for their thread, or a number that is no id [not_made]; 10 "
		"records lost because they made no sense [malformed]; 11 records lost because "
		"there are more processes, threads, libraries or names than are kept, or no memory "
		"[limit]; records, how many is not known, lost because a program ran for a "
		"while with its marks off [marks_off]; names of groups lost because they could "
		"not be read from their program's memory [names]; 14 records lost because of "
		"what this version does not know [other]\n"
		"1 record and others, how many is not known, lost because the recording is cut or "
		"damaged, or of an earlier version [truncated]");
	free(text);
}

static void the_longest_waits_are_told(void **state)
{
	static const struct model_wait waits[] = {
		{ .pid = 1,
		  .group = "a",
		  .peer_process = "",
		  .peer_group = "",
		  .ns = MS,
		  .count = 1 },
		{ .pid = 1, .group = "none", .peer_process = "", .peer_group = "" },
		{ .pid = 1,
		  .group = "b",
		  .peer_pid = 7,
		  .peer_process = "db",
		  .peer_group = "page:x",
		  .ns = 3 * MS,
		  .count = 2 },
		{ .pid = 1,
		  .group = "c",
		  .peer_pid = 8,
		  .peer_process = "",
		  .peer_group = "",
		  .ns = 2 * MS,
		  .count = 1 },
	};
	struct json j;
	struct out o;
	char *text;

	(void)state;
	out_open_memory(&o);
	assert_int_equal(waits_text(&o, waits, ARRAY_SIZE(waits), NULL, 2, 80), 0);
	text = fixture_text(&o);
	assert_string_equal(text, "  b waited 3.00 ms (2 times) for page:x of db (7)\n"
				  "  c waited 2.00 ms for process 8\n"
				  "  and for 1 more\n");
	free(text);
	out_open_memory(&o);
	assert_int_equal(waits_text(&o, waits, ARRAY_SIZE(waits), NULL, 3, 80), 0);
	text = fixture_text(&o);
	assert_string_equal(text, "  b waited 3.00 ms (2 times) for page:x of db (7)\n"
				  "  c waited 2.00 ms for process 8\n"
				  "  a waited 1.00 ms for others\n");
	free(text);
	/* Those of one group, however many others are longer. */
	assert_int_equal(waits_count(waits, ARRAY_SIZE(waits), NULL), 3);
	assert_int_equal(waits_count(waits, ARRAY_SIZE(waits), "[ac]"), 2);
	assert_int_equal(waits_count(waits, ARRAY_SIZE(waits), "n*"), 0);
	out_open_memory(&o);
	assert_int_equal(waits_text(&o, waits, ARRAY_SIZE(waits), "a", 1, 80), 0);
	text = fixture_text(&o);
	assert_string_equal(text, "  a waited 1.00 ms for others\n");
	free(text);
	out_open_memory(&o);
	json_open(&j, &o);
	json_object(&j);
	waits_json(&j, waits + 2, 1);
	json_end_object(&j);
	text = fixture_text(&o);
	assert_string_equal(text, "{\"waits\":[{\"pid\":1,\"group\":\"b\",\"peer_pid\":7,"
				  "\"peer_process\":\"db\",\"peer_group\":\"page:x\","
				  "\"ns\":3000000,\"count\":2}]}");
	free(text);
}

static void the_worst_group_is_no_container(void **state)
{
	struct fixture *f = fixture_demo();
	struct out o;
	char *text;

	(void)state;
	f->s.groups[1].name = "top:host";
	f->s.groups[1].kind = "top";
	assert_string_equal(worst_group(&f->s)->name, "page:shop");
	out_open_memory(&o);
	summary_worst(&o, &f->s, false);
	text = fixture_text(&o);
	assert_string_equal(text, "page:shop held 5 of 200 turns longer than 1 ms, 2.00 ms at "
				  "worst; 50 % of its time in code it called");
	free(text);
	/* A caller is charged for what it calls, but is not to blame for it. */
	f->s.groups[1].name = "page:caller";
	f->s.groups[1].kind = "page";
	f->s.groups[1].stats.self_ns = f->s.groups[1].stats.gc_ns = 1000;
	f->s.groups[0].stats.durations[6] = 1;
	assert_string_equal(worst_group(&f->s)->name, "page:shop");
	f->s.group_count = 0;
	assert_null(worst_group(&f->s));
	f->s.group_count = 2;
	fixture_free(f);
}

static void assert_reason(struct fixture *f, const char *want)
{
	const char *reason;
	struct out o;
	char *text;

	out_open_memory(&o);
	summary_group(&o, &f->s, &f->s.groups[0], false);
	text = fixture_text(&o);
	reason = strstr(text, " at worst");
	assert_non_null(reason);
	assert_string_equal(reason, want);
	free(text);
}

/* Who was stopped for a second did not work for it. */
static void time_without_a_cpu_is_told_of(void **state)
{
	struct fixture *f = fixture_demo();
	struct group_stats *g = &f->s.groups[0].stats;

	(void)state;
	g->wall_ns = g->self_ns = 1000;
	g->gc_ns = g->blocked_ns = 0;
	g->cpu_ns = 70;
	assert_reason(f, " at worst; 93 % of its time without a CPU");
	/* That is what is sure. */
	g->cpu_margin_ns = 130;
	assert_reason(f, " at worst; 80 % of its time without a CPU");
	g->cpu_margin_ns = 680;
	assert_reason(f, " at worst; 25 % of its time without a CPU");
	g->cpu_margin_ns = 681;
	assert_reason(f, " at worst");
	g->cpu_margin_ns = 2000;
	assert_reason(f, " at worst");
	g->cpu_margin_ns = 0;
	/* What is seen by looks has been running. */
	g->samples = 1;
	assert_reason(f, " at worst");
	g->samples = 0;
	/* Where no clock of a thread could be read. */
	f->s.events.cpu_ns = 0;
	assert_reason(f, " at worst");
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_is_a_line_of_the_interval),
		cmocka_unit_test(stat_never_says_complete_again),
		cmocka_unit_test(a_note_counts_the_other_processes),
		cmocka_unit_test(where_something_is_lost_all_that_is_wrong_is_said),
		cmocka_unit_test(remarks_are_the_last_notes),
		cmocka_unit_test(as_many_notes_are_said_as_there_is_room_for),
		cmocka_unit_test(the_target_is_told_with_its_container),
		cmocka_unit_test(what_nobody_is_charged_with_is_told),
		cmocka_unit_test(each_cause_has_its_own_words),
		cmocka_unit_test(the_longest_waits_are_told),
		cmocka_unit_test(the_worst_group_is_no_container),
		cmocka_unit_test(time_without_a_cpu_is_told_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
