/* SPDX-License-Identifier: BSD-2-Clause */
/* Who reads figures by a program is told as plainly as who looks at them that a trace is not complete. */
#include "sink/openmetrics.h"
#include "sink_fixture.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static char *json_of(const struct fixture *f)
{
	const struct view view = { 0 };
	struct json j;
	struct out o;

	out_open_memory(&o);
	json_open(&j, &o);
	report_json(&j, &f->s, &f->source, &view);
	json_line(&j);
	return fixture_text(&o);
}

static bool has(const struct fixture *f, const char *what)
{
	char *text = json_of(f);
	bool found = strstr(text, what);

	free(text);
	return found;
}

static void the_trace_says_whether_it_is_complete(void **state)
{
	static const struct loss_stats none;
	struct fixture *f = fixture_demo();
	struct snapshot *s = &f->s;
	u32 i;

	(void)state;
	s->losses = none;
	s->events.incomplete = s->left_out = 0;
	s->ledger.unseen_ns = 0;
	assert_true(has(f, "},\"complete\":true,\"records\""));
	s->events.incomplete = 1;
	assert_true(has(f, "},\"complete\":false,\"records\""));
	s->events.incomplete = 0;
	s->left_out = 1;
	assert_true(has(f, "},\"complete\":false,\"records\""));
	s->left_out = 0;
	s->ledger.unseen_ns = s->ledger.event_wall_ns / 100 + 1;
	assert_true(has(f, "},\"complete\":false,\"records\""));
	s->ledger.unseen_ns = 0;
	for (i = 0; i < LOSS_CAUSES; i++) {
		s->losses.records[i] = 1;
		assert_true(has(f, "},\"complete\":false,\"records\""));
		s->losses = none;
	}
	assert_true(has(f, "},\"complete\":true,\"records\""));
	fixture_free(f);
}

/* All counts of records are 0 then. */
static void batches_of_unknown_size_are_told_by_their_cause(void **state)
{
	struct fixture *f = fixture_demo();

	(void)state;
	f->s.losses = (struct loss_stats){ 0 };
	assert_false(has(f, "losses_uncounted"));
	f->s.losses.batches[LOSS_RING_FULL] = 3;
	f->s.losses.batches[LOSS_READ_FAULT] = 4;
	assert_true(has(
		f, "},\"losses_uncounted\":{\"ring_full\":3,\"read_fault\":4},\"complete\":false"));
	f->s.losses.records[LOSS_RING_FULL] = 70;
	assert_true(has(f, "},\"losses_uncounted\":{\"read_fault\":4},\"complete\":false"));
	f->s.losses.records[LOSS_READ_FAULT] = 9;
	assert_false(has(f, "losses_uncounted"));
	/* Of a recording it is the places, whatever is counted at others. */
	f->s.losses.records[LOSS_TRUNCATED] = 5;
	assert_false(has(f, "losses_uncounted"));
	f->s.losses.batches[LOSS_TRUNCATED] = 2;
	assert_true(has(f, "},\"losses_uncounted\":{\"truncated\":2},\"complete\":false"));
	fixture_free(f);
}

static char *page(struct metrics *m, const struct fixture *f)
{
	struct out o;

	out_open_memory(&o);
	assert_int_equal(metrics_page(m, &f->s, &metrics_text, &o), 0);
	return fixture_text(&o);
}

static void metrics_say_whether_the_trace_is_complete(void **state)
{
	struct metrics *m = metrics_new(0);
	struct fixture *f = fixture_demo();
	char *text;
	u32 left_out;

	(void)state;
	f->s.losses = (struct loss_stats){ 0 };
	f->s.events.incomplete = 0;
	f->s.ledger.unseen_ns = 0;
	for (left_out = 0; left_out < 2; left_out++) {
		f->s.left_out = left_out;
		text = page(m, f);
		assert_non_null(
			strstr(text, left_out ? "\nvmspan_complete 0\n" : "\nvmspan_complete 1\n"));
		free(text);
	}
	fixture_free(f);
	metrics_free(m);
}

/* What was a gap gets its cause later; a counter does not fall for that. */
static void metrics_have_the_batches_of_each_cause(void **state)
{
	struct metrics *m = metrics_new(0);
	struct fixture *f = fixture_demo();
	char line[80], *text;
	u32 i, pass;

	(void)state;
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < LOSS_CAUSES; i++)
			f->s.losses.batches[i] = pass ? 1 : 100 + i;
		text = page(m, f);
		for (i = 0; i < LOSS_CAUSES; i++) {
			snprintf(line, sizeof(line),
				 "\nvmspan_lost_batches_total{cause=\"%s\"} %u\n",
				 loss_name((enum loss_cause)i), 100 + i);
			assert_non_null(strstr(text, line));
		}
		free(text);
	}
	fixture_free(f);
	metrics_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_trace_says_whether_it_is_complete),
		cmocka_unit_test(batches_of_unknown_size_are_told_by_their_cause),
		cmocka_unit_test(metrics_say_whether_the_trace_is_complete),
		cmocka_unit_test(metrics_have_the_batches_of_each_cause),
	};

	return cmocka_run_group_tests_name("complete", tests, NULL, NULL);
}
