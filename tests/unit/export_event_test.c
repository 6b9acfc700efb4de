/* SPDX-License-Identifier: BSD-2-Clause */
/* What exports tell of an event beside its spans. */
#include "export_rig.h"
#include "base/buf.h"
#include "model/model_priv.h"
#include "sink/perfetto_fields.h"
#include "sink/perfetto_names.h"

/* Two events of two spans each; of the second the record of a span never came. */
static void export_lacking(struct export *e, const char *format)
{
	static const struct report_source source = { .kind = "recording",
						     .method = "exact",
						     .nested = "drop" };
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(1);
	u64 t;

	export_begin(e, format, &(struct export_config){ .start_ns = 1 }, m);
	for (t = 1000; t <= 2000; t += 1000) {
		sim_event(s, t);
		sim_enter(s, t + 100, 1, VMSPAN_SPAN);
		sim_leave(s, t + 200);
		sim_enter(s, t + 300, 2, VMSPAN_SPAN);
		sim_leave(s, t + 400);
		sim_event_end(s, t + 500);
	}
	assert_int_equal(sim_batch(s, m, SIM_PID, 0, 4), 0);
	assert_int_equal(sim_batch(s, m, SIM_PID, 5, 6), 0);
	export_end(e, m, &source);
	model_free(m);
	free(s);
}

/* The one is marked, the other is not: who looks at a single event sees which it is. */
static void an_event_that_lacks_records_says_so_in_every_format(void **state)
{
	/* An annotation of Perfetto's is a number for its name, and a text with its length. */
	static const char perfetto[] = "\x08"
				       "N"
				       "\x32\x19records of it are missing";
	char mark[sizeof(perfetto)];
	static const struct {
		const char *format, *mark, *count;
		unsigned int counts;
	} formats[] = {
		{ "chrome", "\"incomplete\":\"records of it are missing\"",
		  "\"events_incomplete\":1,", 2 },
		{ "firefox", "\"incomplete\":\"records of it are missing\"",
		  "\"label\":\"events incomplete\",\"format\":\"integer\",\"value\":1}", 1 },
		{ "ndjson", "\"incomplete\":true,\"missing\":\"records\"",
		  "\"events_incomplete\":1,", 1 },
	};
	const char *at, *end;
	struct export e;
	unsigned int n = 0;
	char *text;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		export_lacking(&e, formats[i].format);
		text = fixture_text(&e.o);
		assert_int_equal(count_of(text, formats[i].mark), 1);
		assert_int_equal(count_of(text, formats[i].count), formats[i].counts);
		free(text);
	}
	export_lacking(&e, "perfetto");
	at = (const char *)e.o.buf.data;
	end = at + e.o.buf.len;
	memcpy(mark, perfetto, sizeof(mark));
	mark[1] = ARG_INCOMPLETE;
	while ((at = memmem(at, (size_t)(end - at), mark, sizeof(mark) - 1))) {
		at++;
		n++;
	}
	assert_int_equal(n, 1);
	out_close(&e.o);
}

/* What kept it off the CPU is told apart in every format: a stop, a freezer, a quota, or others that had it. */
static void what_keeps_an_event_off_the_cpu_is_told_apart(void **state)
{
	static const struct model_thread thread = {
		.pid = SIM_PID, .tid = SIM_PID, .name = "t", .process = "p"
	};
	static const struct model_event event = {
		.thread = &thread,
		.label = "",
		.iteration = 1,
		.begin_ns = 1000,
		.end_ns = 1000 + 100 * MS,
		.ledger = { .native_ns = 100 * MS,
			    .preempted_ns = 60 * MS,
			    .stopped_ns = 10 * MS,
			    .frozen_ns = 20 * MS,
			    .throttled_ns = 25 * MS,
			    .event_wall_ns = 100 * MS },
	};
	static const struct report_source source = { .kind = "recording",
						     .method = "exact",
						     .nested = "drop" };
	static const struct {
		const char *format, *has[4];
	} formats[] = {
		{ "chrome",
		  { "\"preempted_ns\":60000000", "\"stopped_ns\":10000000",
		    "\"frozen_ns\":20000000", "\"throttled_ns\":25000000" } },
		{ "firefox",
		  { "\"preempted\":60", "\"stopped\":10", "\"frozen\":20", "\"throttled\":25" } },
		{ "ndjson",
		  { "\"preempted_ns\":60000000", "\"stopped_ns\":10000000",
		    "\"frozen_ns\":20000000", "\"throttled_ns\":25000000" } },
		{ "perfetto", { "preempted_ns", "stopped_ns", "frozen_ns", "throttled_ns" } },
	};
	static const u64 parts[] = { 60 * MS, 10 * MS, 20 * MS, 25 * MS };
	static const char numbers[] = { ARG_PREEMPTED, ARG_STOPPED, ARG_FROZEN, ARG_THROTTLED };
	struct export e;
	size_t i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		struct model *m = model_make(&(struct model_config){ 0 });

		export_begin(&e, formats[i].format, &(struct export_config){ .start_ns = 1 }, m);
		if (m->observer->thread)
			assert_int_equal(m->observer->thread(m->observer_ctx, &thread), 0);
		assert_int_equal(m->observer->event(m->observer_ctx, &event), 0);
		export_end(&e, m, &source);
		for (k = 0; k < ARRAY_SIZE(parts); k++) {
			const char *has = formats[i].has[k];
			char arg[16] = { 1 << 3, numbers[k], ARGUMENT_U64 << 3 };
			struct buf number = { 0 };

			assert_non_null(memmem(e.o.buf.data, e.o.buf.len, has, strlen(has)));
			if (strcmp(formats[i].format, "perfetto"))
				continue;
			buf_put_uleb(&number, parts[k]);
			memcpy(arg + 3, number.data, number.len);
			assert_non_null(memmem(e.o.buf.data, e.o.buf.len, arg, 3 + number.len));
			buf_free(&number);
		}
		out_close(&e.o);
		model_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_that_lacks_records_says_so_in_every_format),
		cmocka_unit_test(what_keeps_an_event_off_the_cpu_is_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
