/* SPDX-License-Identifier: BSD-2-Clause */
/* The last words of `record`: a trace that lost something is not told as a complete one. */
#include "cmd/cmd_record.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- The rest of the commands, none of which is called ---- */

const struct command *command_find(const char *name)
{
	fail_msg("%s", name);
	return NULL;
}

int options_parse(const struct command *c, int argc, char **argv, struct options *o)
{
	fail_msg("%p %d %p %p", (const void *)c, argc, (void *)argv, (void *)o);
	return 0;
}

int usage_error(struct err *e, const struct command *c, const char *fmt, ...)
{
	fail_msg("%p %p %s", (void *)e, (const void *)c, fmt);
	return 0;
}

int say_error(const struct err *e)
{
	fail_msg("%s", e->what);
	return 0;
}

int session_live(struct session *s, const struct options *o, bool hard_stop, struct err *e)
{
	fail_msg("%p %p %d %p", (void *)s, (const void *)o, hard_stop, (void *)e);
	return 0;
}

void session_say_not_exact(struct session *s)
{
	fail_msg("%p", (void *)s);
}

void session_close(struct session *s)
{
	fail_msg("%p", (void *)s);
}

char *session_until(const struct options *o, char to[SESSION_UNTIL_MAX])
{
	fail_msg("%p", (const void *)o);
	return to;
}

void wake_arm(struct wake *w, unsigned int timer, u64 first_ns, u64 every_ns)
{
	fail_msg("%p %u %" PRIu64 " %" PRIu64, (void *)w, timer, first_ns, every_ns);
}

void wake_on_dump(void)
{
	fail_msg("nothing is recorded");
}

unsigned int wake_take(struct wake *w)
{
	fail_msg("%p", (void *)w);
	return 0;
}

int output_recording(const char *path, struct file_made *made, struct err *e)
{
	fail_msg("%s %p %p", path, (void *)made, (void *)e);
	return 0;
}

int output_cut(const char *from, const char *to, u64 begin_ns, u64 end_ns,
	       const struct item_unfinished *open, u32 open_count, struct err *e)
{
	fail_msg("%s %s %" PRIu64 " %" PRIu64 " %p %u %p", from, to, begin_ns, end_ns,
		 (const void *)open, open_count, (void *)e);
	return 0;
}

int live_tell_all_open(struct source *s, item_fn fn, void *ctx)
{
	(void)fn;
	fail_msg("%p %p", (void *)s, ctx);
	return 0;
}

void output_default(char path[OUTPUT_PATH_MAX], const char *name, u32 pid)
{
	fail_msg("%s %s %u", path, name, pid);
}

/* ---- The words ---- */

static const char *last_words(const struct snapshot *s, bool quiet, bool whole)
{
	static char said[1024];
	const struct options options = { .output.quiet = quiet };
	const struct record r = { .options = &options, .path = "/dev/null" };
	const struct rec_totals totals = { .events = 3, .spans = 100, .bytes = 250 };
	struct out o;

	out_open_memory(&o);
	put_summary(&o, &r, s, &totals, whole);
	assert_true(o.buf.len < sizeof(said));
	memcpy(said, o.buf.len ? o.buf.data : (const void *)"", o.buf.len);
	said[o.buf.len] = 0;
	assert_int_equal(out_close(&o), 0);
	return said;
}

#define HEAD "/dev/null: 2.00 s, 3 events, 100 spans, 250 B (2.50 bytes a span)\n"
#define LOST                                                             \
	"21 records in 2 batches lost because the ring buffer was full " \
	"(--buffer makes it larger) [ring_full]\n"

static void what_was_lost_is_told(void **state)
{
	struct snapshot s = { .begin_ns = NSEC_PER_SEC, .end_ns = 3 * NSEC_PER_SEC };

	(void)state;
	s.losses.records[LOSS_RING_FULL] = 21;
	s.losses.batches[LOSS_RING_FULL] = 2;
	assert_string_equal(last_words(&s, false, true), HEAD "INCOMPLETE: 21 records lost\n" LOST);
	/* Whoever wants no words wants these. */
	assert_string_equal(last_words(&s, true, true), LOST);
	/* The file ends early: what was lost before is lost all the same. */
	assert_string_equal(last_words(&s, false, false), HEAD LOST);
	assert_string_equal(last_words(&s, true, false), LOST);
	/* A batch of which nothing is known is a loss too. */
	s.losses = (struct loss_stats){ .batches[LOSS_MALFORMED] = 1 };
	assert_string_equal(last_words(&s, false, true),
			    HEAD "INCOMPLETE: records lost, how many is not known\nrecords, how "
				 "many is not known, in 1 "
				 "batch lost because they "
				 "made no sense [malformed]\n");
#define OFF                                                                                      \
	"records, how many is not known, lost because a program ran for a while with its marks " \
	"off [marks_off]\n"
	/* Nor how many there would have been. */
	s.losses = (struct loss_stats){ .records[LOSS_MARKS_OFF] = 2 };
	assert_string_equal(last_words(&s, false, true),
			    HEAD "INCOMPLETE: records lost, how many is not known\n" OFF);
	s.losses.records[LOSS_TOO_DEEP] = 7;
	assert_string_equal(
		last_words(&s, false, true), HEAD
		"INCOMPLETE: 7 records lost, other records lost, how many is not known\n"
		"7 records lost because stays were nested deeper than is kept [too_deep]; " OFF);
	s.losses = (struct loss_stats){ .records[LOSS_NAMES] = 1 };
	assert_string_equal(last_words(&s, false, true), HEAD
			    "INCOMPLETE: names of groups lost\nnames of groups lost because they "
			    "could not be read from their program's memory [names]\n");
}

static void where_nothing_was_lost_that_is_told(void **state)
{
	struct snapshot s = { .begin_ns = NSEC_PER_SEC, .end_ns = 3 * NSEC_PER_SEC };

	(void)state;
	assert_string_equal(last_words(&s, false, true), HEAD "complete, nothing lost\n");
	assert_string_equal(last_words(&s, true, true), "");
	assert_string_equal(last_words(&s, false, false), HEAD);
	s.events.count = 3;
	s.events.incomplete = 1;
	assert_string_equal(last_words(&s, false, true),
			    HEAD "INCOMPLETE: 1 of 3 events lack data, nothing lost\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_lost_is_told),
		cmocka_unit_test(where_nothing_was_lost_that_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
