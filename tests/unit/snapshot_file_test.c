/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures that were written are read back; what no program of ours has written is refused. */
#include "cmd/snapshot_file.c"

#include "temp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* A snapshot of one group, as `stat --json` has it as far as it is read. */
static const char *snapshot(u64 events, const char *histogram)
{
	static char text[1024];

	snprintf(text, sizeof(text),
		 "{\"schema\":1,\"groups\":[{\"name\":\"addon:a\",\"kind\":\"addon\",\"ticks\":1,"
		 "\"events\":%" PRIu64 ",\"spans\":2,\"wall_ns\":3,\"self_ns\":4,\"cpu_ns\":5,"
		 "\"blocked_ns\":6,\"gc_ns\":7,\"max_ns\":8,\"incomplete\":9,"
		 "\"durations\":[10,9,8,7,6,5,4,3,2,1],\"histogram\":%s}],"
		 "\"events\":{\"count\":30,\"incomplete\":9,\"missing\":{\"records\":4,\"cpu\":5,"
		 "\"other\":6}},\"losses\":{\"ring_full\":7}}\n",
		 events, histogram);
	return text;
}

static struct snapshot *parsed(const char *text, struct err *e)
{
	char path[TEMP_PATH];
	int fd = temp_file(path);
	struct snapshot *s;

	*e = (struct err){ 0 };
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	s = snapshot_file_read(path, e);
	close(fd);
	return s;
}

static void what_was_written_is_read_back(void **state)
{
	struct err e;
	/* The line before is older, the one behind is not whole. */
	char text[4096];
	struct snapshot *s;
	const struct group_stats *g;
	u32 i;

	(void)state;
	snprintf(text, sizeof(text), "%s", snapshot(1, "[[64,1]]"));
	strcat(text, snapshot(5, "[[64,2],[1000,3]]"));
	strcat(text, "{\"schema\":1");
	s = parsed(text, &e);
	assert_non_null(s);
	assert_int_equal(s->group_count, 1);
	assert_string_equal(s->groups[0].name, "addon:a");
	assert_string_equal(s->groups[0].kind, "addon");
	g = &s->groups[0].stats;
	assert_int_equal(g->ticks, 1);
	assert_int_equal(g->events, 5);
	assert_int_equal(g->spans, 2);
	assert_int_equal(g->wall_ns, 3);
	assert_int_equal(g->self_ns, 4);
	assert_int_equal(g->cpu_ns, 5);
	assert_int_equal(g->blocked_ns, 6);
	assert_int_equal(g->gc_ns, 7);
	assert_int_equal(g->max_ns, 8);
	assert_int_equal(g->incomplete, 9);
	for (i = 0; i < JANK_BUCKETS; i++)
		assert_int_equal(g->durations[i], 10 - i);
	assert_int_equal(g->hist.total, 5);
	assert_int_equal(s->events.count, 30);
	assert_int_equal(s->events.incomplete, 9);
	assert_int_equal(s->events.missing[MISSING_RECORDS], 4);
	assert_int_equal(s->events.missing[MISSING_CPU], 5);
	assert_int_equal(s->losses.records[LOSS_RING_FULL], 7);
	snapshot_free(s);
}

static void refused(const char *text, const char *words)
{
	struct err e;

	assert_null(parsed(text, &e));
	assert_int_equal(e.code, -EBADMSG);
	if (!strstr(e.what, words))
		fail_msg("'%s' is not in: %s", words, e.what);
}

/* Then that is why its groups are not complete: nothing was lost. */
static void what_was_left_out_is_read_back(void **state)
{
	static const char head[] = "{\"schema\":1,\"groups\":[],\"events\":{\"count\":0,"
				   "\"incomplete\":0},\"losses\":{\"ring_full\":0}";
	char text[1024];
	struct snapshot *s;
	struct err e;

	(void)state;
	snprintf(text, sizeof(text), "%s,\"left_out\":2}\n", head);
	s = parsed(text, &e);
	assert_non_null(s);
	assert_int_equal(s->left_out, 2);
	assert_false(lost_any(&s->losses));
	assert_false(snapshot_complete(s));
	snapshot_free(s);
	snprintf(text, sizeof(text), "%s,\"left_out\":4294967297}\n", head);
	refused(text, "no snapshot");
	snprintf(text, sizeof(text), "%s,\"left_out\":\"2\"}\n", head);
	refused(text, "no snapshot");
}

/* Nor was it where nobody looked at what ran. */
static void time_without_a_look_is_read_back(void **state)
{
	static const char text[] =
		"{\"schema\":1,\"groups\":[{\"name\":\"addon:a\",\"kind\":\"addon\",\"ticks\":1,"
		"\"events\":0,\"spans\":2,\"wall_ns\":3,\"self_ns\":4,\"cpu_ns\":5,"
		"\"blocked_ns\":6,\"gc_ns\":7,\"max_ns\":8,\"incomplete\":0,"
		"\"durations\":[0,0,0,0,0,0,0,0,0,0],\"histogram\":[],\"complete\":false}],"
		"\"events\":{\"count\":30,\"incomplete\":0},\"losses\":{\"ring_full\":0},"
		"\"ledger\":{\"unseen_ns\":%s,\"event_wall_ns\":100}}\n";
	char line[1024];
	struct snapshot *s;
	struct err e;

	(void)state;
	snprintf(line, sizeof(line), text, "25");
	s = parsed(line, &e);
	assert_non_null(s);
	assert_false(lost_any(&s->losses));
	assert_true(unseen_time(s));
	assert_false(snapshot_complete(s));
	snapshot_free(s);
	snprintf(line, sizeof(line), text, "-1");
	refused(line, "no snapshot");
}

static void a_histogram_has_as_many_events_as_its_group(void **state)
{
	struct err e;
	struct snapshot *s;

	(void)state;
	refused(snapshot(5, "[[64,2],[1000,2]]"), "no snapshot");
	refused(snapshot(5, "[[64,5],[1000,0]]"), "no snapshot");
	refused(snapshot(5, "[[64,6],[1000,-1]]"), "no snapshot");
	refused(snapshot(5, "[[-64,5]]"), "no snapshot");
	refused(snapshot(5, "[[64,5,5]]"), "no snapshot");
	refused(snapshot(5, "[5]"), "no snapshot");
	refused(snapshot(5, "null"), "have no histograms");
	/* A number of which 32 bits are left would be the right one. */
	refused(snapshot(5, "[[64,4294967301]]"), "no snapshot");
	refused(snapshot(0, "[[64,4294967296]]"), "no snapshot");
	refused(snapshot(4294967296, "[[64,4294967296]]"), "no snapshot");
	s = parsed(snapshot(UINT32_MAX, "[[64,4294967295]]"), &e);
	assert_non_null(s);
	assert_int_equal(s->groups[0].stats.hist.total, UINT32_MAX);
	snapshot_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read_back),
		cmocka_unit_test(what_was_left_out_is_read_back),
		cmocka_unit_test(time_without_a_look_is_read_back),
		cmocka_unit_test(a_histogram_has_as_many_events_as_its_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
