/* SPDX-License-Identifier: BSD-2-Clause */
/* What an alert carries: its tree, and its JSON as ALERTS.md shows it. */
#include "alert_rig.h"
#include "sink/complete.h"

static struct tree *kept;

static int keep_tree(void *ctx, const struct alert *a)
{
	(void)ctx;
	if (strcmp(a->group, "page:shop"))
		return 0;
	kept = a->tree;
	kept->refs++;
	return 0;
}

static const struct alert_observer tree_keeper = { .alert = keep_tree };

static void the_tree_says_who_called_whom(void **state)
{
	const struct tree_node *n;
	struct rig r;
	u64 id, t = 1000 * MS;
	u32 i;

	(void)state;
	rig_open(&r, NULL);
	assert_int_equal(listen_add(alerts_listeners(r.a), NULL, &tree_keeper, NULL, &id), 0);
	sim_event(r.s, t);
	sim_enter(r.s, t, IN_SHOP, VMSPAN_SPAN);
	/* Recursion and repetition are summed by path. */
	for (i = 0; i < 97; i++, t += MS) {
		r.s->cpu = (u16)(i & 1);
		sim_enter(r.s, t, IN_TRACKER, VMSPAN_SPAN);
		sim_enter(r.s, t + MS / 4, IN_SHOP, VMSPAN_SPAN);
		sim_leave(r.s, t + MS / 2);
		sim_leave(r.s, t + MS);
	}
	r.s->cpu = 0;
	sim_leave(r.s, t + 3 * MS);
	sim_event_end(r.s, t + 3 * MS);
	assert_int_equal(feed(&r), 0);
	assert_int_equal(alerts_flush(r.a), 0);
	n = kept->roots;
	assert_string_equal(n->name, "shop");
	assert_null(n->next);
	assert_int_equal(n->total_ns, 100 * MS);
	assert_int_equal(tree_self(n), 3 * MS);
	n = n->child;
	assert_string_equal(n->name, "tracker");
	assert_null(n->next);
	assert_int_equal(n->count, 97);
	assert_int_equal(n->total_ns, 97 * MS);
	assert_int_equal(n->longest_ns, MS);
	assert_string_equal(n->child->name, "shop");
	assert_int_equal(n->child->count, 97);
	assert_int_equal(n->child->total_ns, 97 * MS / 4);
	assert_int_equal(kept->nodes, 3);
	assert_int_equal(kept->cpu_count, 2);
	tree_unref(kept);
	rig_close(&r);
}

/* A target with thousands of names may cost neither memory nor the total. */
static void a_tree_is_bounded(void **state)
{
	const u32 group[] = { SHOP };
	struct rig r;
	u64 id, t = 1000 * MS;
	char name[32];
	u32 i;

	(void)state;
	rig_open(&r, NULL);
	assert_int_equal(listen_add(alerts_listeners(r.a), NULL, &tree_keeper, NULL, &id), 0);
	sim_event(r.s, t);
	sim_enter(r.s, t, IN_SHOP, VMSPAN_SPAN);
	for (i = 0; i < 5000; i++, t += MS) {
		snprintf(name, sizeof(name), "c%u", i);
		sim_define(r.m, SIM_PID, VMSPAN_DEF_COMPARTMENT, 10 + i, 0, name, group, 1);
		sim_enter(r.s, t, 10 + i, VMSPAN_SPAN);
		sim_leave(r.s, t + MS);
	}
	sim_leave(r.s, t);
	sim_event_end(r.s, t);
	assert_int_equal(feed(&r), 0);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_true(kept->nodes <= TREE_NODES + 1);
	assert_int_equal(kept->roots->total_ns, 5000 * MS);
	assert_true(kept->omitted >= 5000 - TREE_NODES);
	tree_unref(kept);
	rig_close(&r);
}

/* The first block of the document, without its line ends. */
static char *example(void)
{
	static char text[8192];
	FILE *f = fopen("user/sink/ALERTS.md", "r");
	char line[512];
	size_t len = 0;
	bool in = false;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (in && !strcmp(line, "```"))
			break;
		if (in)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s", line);
		in = in || !strcmp(line, "```json");
	}
	fclose(f);
	assert_true(len && len < sizeof(text));
	return text;
}

static struct out example_out;

static int write_json(void *ctx, const struct alert *a)
{
	struct alert_extra x = { .real_ns = 1600000000000000000ull + a->event.end_ns };
	struct json j;

	(void)ctx;
	out_open_memory(&example_out);
	json_open(&j, &example_out);
	alert_json(&j, a, &x);
	return 0;
}

static const struct alert_observer json_writer = { .alert = write_json };

/* What ALERTS.md shows is what comes. */
static void the_documents_example_is_true(void **state)
{
	struct rig r;
	char *text;
	u64 id;

	(void)state;
	rig_open(&r, NULL);
	assert_int_equal(listen_add(alerts_listeners(r.a), "addon:*", &json_writer, NULL, &id), 0);
	mark(&r, 900 * MS, VMSPAN_INPUT);
	sim_event(r.s, 1000 * MS);
	sim_enter(r.s, 1000 * MS, IN_SHOP, VMSPAN_SPAN);
	sim_enter(r.s, 1010 * MS, IN_TRACKER, VMSPAN_SPAN);
	sim_enter(r.s, 1020 * MS, 0, VMSPAN_GC);
	sim_leave(r.s, 1140 * MS);
	sim_leave(r.s, 1210 * MS);
	sim_leave(r.s, 1210 * MS);
	sim_event_end(r.s, 1210 * MS);
	assert_int_equal(feed(&r), 0);
	assert_int_equal(alerts_flush(r.a), 0);
	text = strndup((const char *)example_out.buf.data, example_out.buf.len);
	assert_string_equal(text, example());
	free(text);
	out_close(&example_out);
	rig_close(&r);
}

static struct out words_out;
static char words_sentence[512];

static int write_words(void *ctx, const struct alert *a)
{
	(void)ctx;
	alert_sentence(words_sentence, sizeof(words_sentence), a);
	out_open_memory(&words_out);
	alert_tree_text(&words_out, a, 10);
	return 0;
}

static const struct alert_observer words_writer = { .alert = write_words };

/* With the scheduler's record a group is not charged with what others took, and its
 * stays are as long as they were: both say so. */
static void told_apart(u32 first, u32 second, const char *how)
{
	struct sim *sched = sim_new(1);
	char *text, sentence[256];
	struct rig r;
	u64 id;

	rig_open(&r, NULL);
	alerts_exact(r.a, true);
	assert_int_equal(listen_add(alerts_listeners(r.a), "page:*", &words_writer, NULL, &id), 0);
	r.s->tid = 1;
	sim_off(sched, 900 * MS, 900 * MS, VMSPAN_OFF_START);
	sim_off(sched, 1020 * MS, 1030 * MS, first);
	sim_off(sched, 1030 * MS, 1060 * MS, second);
	sim_off(sched, 1070 * MS, 1080 * MS, VMSPAN_OFF_SLEEPING);
	sim_feed_sched(sched, r.m);
	sim_event(r.s, 1000 * MS);
	sim_enter(r.s, 1000 * MS, IN_SHOP, VMSPAN_SPAN);
	sim_enter(r.s, 1010 * MS, IN_TRACKER, VMSPAN_SPAN);
	sim_leave(r.s, 1110 * MS);
	sim_leave(r.s, 1150 * MS);
	r.s->off = 50 * MS;
	sim_event_end(r.s, 1150 * MS);
	assert_int_equal(feed(&r), 0);
	assert_int_equal(alerts_flush(r.a), 0);
	snprintf(sentence, sizeof(sentence),
		 "page:shop held host (100)'s loop for 110 ms; %s for 40.0 ms besides; "
		 "the cause is addon:tracker",
		 how);
	assert_string_equal(words_sentence, sentence);
	text = strndup((const char *)words_out.buf.data, words_out.buf.len);
	assert_string_equal(text,
			    "    150 ms shop, 50.0 ms of it itself, 50.0 ms of it without a CPU\n"
			    "      100 ms tracker, 50.0 ms of it without a CPU  "
			    "[addon:tracker]\n");
	free(text);
	out_close(&words_out);
	free(sched);
	rig_close(&r);
}

/* Where the counter does not count nanoseconds, rounding leaves some: those are not others'. */
static void what_rounding_leaves_is_nobody_elses(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < 200; i++) {
		const u32 why = VMSPAN_OFF_STOPPED + i % 3;
		const u64 off = 1020 * MS + i * 1237ull, on = off + 400 * MS + i * 7919ull;
		struct sim *sched = sim_new(1);
		struct vmspan_event *e;
		struct rig r;
		u64 id;

		rig_open(&r, NULL);
		alerts_exact(r.a, true);
		assert_int_equal(
			listen_add(alerts_listeners(r.a), "page:*", &words_writer, NULL, &id), 0);
		r.s->tid = 1;
		sim_off(sched, 900 * MS, 900 * MS, VMSPAN_OFF_START);
		sim_off(sched, off, on, why);
		sim_feed_sched(sched, r.m);
		sim_event(r.s, 1000 * MS);
		sim_enter(r.s, 1000 * MS, IN_SHOP, VMSPAN_SPAN);
		sim_leave(r.s, 1900 * MS + i * 331ull);
		sim_event_end(r.s, 1900 * MS + i * 331ull);
		e = (void *)r.s->data[r.s->at[r.s->records - 1]];
		e->mono_end = e->mono_begin + (u64)((double)(e->end - e->begin) / 2.445);
		e->cpu_ns_end = (u64)((double)(e->end - e->begin - (on - off)) / 2.445);
		assert_int_equal(feed(&r), 0);
		assert_int_equal(alerts_flush(r.a), 0);
		assert_non_null(strstr(words_sentence, "; it was "));
		assert_null(strstr(words_sentence, "others"));
		out_close(&words_out);
		free(sched);
		rig_close(&r);
	}
}

static void what_others_took_is_told_apart(void **state)
{
	(void)state;
	told_apart(VMSPAN_OFF_PREEMPTED, VMSPAN_OFF_PREEMPTED, "others had the CPU");
	told_apart(VMSPAN_OFF_STOPPED, VMSPAN_OFF_STOPPED, "it was stopped");
	told_apart(VMSPAN_OFF_STOPPED, VMSPAN_OFF_PREEMPTED,
		   "others had the CPU or it was stopped");
	told_apart(VMSPAN_OFF_FROZEN, VMSPAN_OFF_THROTTLED, "it was frozen or it was throttled");
}

static void json_is_one_object_that_holds_names_as_they_are(void **state)
{
	struct out o;
	char *text;

	struct alert a = { .group = "addon:\"<\n\xff",
			   .process = "p",
			   .reasons = ALERT_SLOWDOWN | ALERT_IN_INPUT,
			   .event.label = "",
			   .total_ns = 1 };
	struct alert_extra x = { 0 };
	struct json j;

	(void)state;
	out_open_memory(&o);
	json_open(&j, &o);
	alert_json(&j, &a, &x);
	text = strndup((const char *)o.buf.data, o.buf.len);
	assert_non_null(strstr(text, "\"group\":\"addon:\\\"\\u003c\\u000a\xef\xbf\xbd\""));
	assert_non_null(strstr(text, "\"reasons\":[\"SLOWDOWN\",\"IN_INPUT\"]"));
	assert_non_null(strstr(text, "\"dump\":null}"));
	assert_int_equal(o.error, 0);
	free(text);
	out_close(&o);
}

/* A tree that lacks records looks like one of less. */
static void what_an_alert_lacks_is_said(void **state)
{
	static struct tree none;
	struct alert a = { .group = "addon:a", .process = "p", .event.label = "", .tree = &none };
	struct alert_extra x = { 0 };
	unsigned int i;

	(void)state;
	for (i = 0; i < MISSING_CAUSES; i++) {
		char text[128];
		struct json j;
		struct out o;

		a.event.missing = i;
		out_open_memory(&o);
		alert_tree_text(&o, &a, 10);
		out_write(&o, "", 1);
		snprintf(text, sizeof(text), "    INCOMPLETE: %s\n", missing_text(i));
		assert_string_equal((const char *)o.buf.data, i ? text : "");
		out_close(&o);
		out_open_memory(&o);
		json_open(&j, &o);
		alert_json(&j, &a, &x);
		out_write(&o, "", 1);
		snprintf(text, sizeof(text),
			 i ? "\"complete\":false,\"missing\":\"%s\",\"implicit\""
			   : "\"complete\":true,%s\"implicit\"",
			 missing_name(i));
		assert_non_null(strstr((const char *)o.buf.data, text));
		out_close(&o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tree_says_who_called_whom),
		cmocka_unit_test(a_tree_is_bounded),
		cmocka_unit_test(the_documents_example_is_true),
		cmocka_unit_test(what_others_took_is_told_apart),
		cmocka_unit_test(what_rounding_leaves_is_nobody_elses),
		cmocka_unit_test(what_an_alert_lacks_is_said),
		cmocka_unit_test(json_is_one_object_that_holds_names_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
