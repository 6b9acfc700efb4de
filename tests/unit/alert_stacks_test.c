/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks seen in a long event are part of its alert. */
#include "base/text.h"
#include "sim.h"
#include "sink/alert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define MS NSEC_PER_MSEC

static char *heard;
static char light_inner[64]; /* the group that package:light's alert names as its cause */

static int hear(void *ctx, const struct alert *a)
{
	struct alert_extra x = { 0 };
	struct json j;
	struct out o;

	(void)ctx;
	out_open_memory(&o);
	json_open(&j, &o);
	if (!strncmp(a->group, "package:", 8))
		alert_json(&j, a, &x);
	out_puts(&o, "\n");
	alert_tree_text(&o, a, 20);
	out_write(&o, "", 1);
	if (!strncmp(a->group, "package:heavy", 13)) {
		free(heard);
		heard = strdup((const char *)o.buf.data);
	}
	out_close(&o);
	if (!strcmp(a->group, "package:light"))
		snprintf(light_inner, sizeof(light_inner), "%s", a->inner ? a->inner : "");
	return 0;
}

static void look(struct sim *s, u64 time, u16 flags, u32 inner, u32 outer)
{
	struct vmspan_sample *r = sim_record(s, VMSPAN_SAMPLE, 2, 2, 0);

	r->time = time;
	r->weight = 10 * MS;
	r->flags = flags;
	r->iteration = 1;
	r->frames[0] = inner;
	r->frames[1] = outer;
}

static void stacks_of_the_event_are_evidence(void **state)
{
	static const struct alert_observer observer = { .alert = hear };
	struct model *m = model_new(&(struct model_config){ 0 });
	struct alerts *a = alerts_new(&(struct alert_config){ 0 });
	struct sim *s = sim_new(1);
	struct vmspan_event *e;
	u64 id;
	u32 i;

	(void)state;
	sim_start(m, "test");
	sim_package(m, 1, "heavy", VMSPAN_FRAME_NAMED);
	sim_package(m, 2, "light", VMSPAN_FRAME_NAMED);
	model_observe(m, &alerts_observer, a);
	assert_int_equal(listen_add(alerts_listeners(a), NULL, &observer, NULL, &id), 0);
	for (i = 0; i < 12; i++)
		look(s, 100 * MS + i * 10 * MS, i < 2 ? VMSPAN_SAMPLE_OFF : 0, 1, i < 9 ? 2 : 1);
	e = sim_record(s, VMSPAN_EVENT, 3, VMSPAN_F_SAMPLED, 1);
	e->begin = e->mono_begin = 90 * MS;
	e->end = e->mono_end = 230 * MS;
	e->cpu_ns_end = 120 * MS;
	sim_feed(s, m, 64);
	assert_int_equal(model_finish(m), 0);
	assert_int_equal(alerts_flush(a), 0);
	assert_non_null(heard);
	assert_non_null(strstr(heard, "\"stacks\":[{\"count\":9,\"ran_ns\":70000000,\"waited_ns\":"
				      "20000000,\"cut\":false,\"frames\":["));
	assert_non_null(strstr(heard, "{\"count\":3,\"ran_ns\":30000000,\"waited_ns\":0,"));
	assert_non_null(strstr(heard, "\"stacks_omitted\":0"));
	assert_non_null(strstr(heard, "    seen 9 times, 90.0 ms running:"));
	/* heavy was seen more often, and whenever light was it ran inside of that. */
	assert_string_equal(light_inner, "package:heavy");
	alerts_free(a);
	model_free(m);
	free(s);
	free(heard);
}

/* A target decides how many stacks there are. */
static void stacks_are_bounded(void **state)
{
	static const char names[100];
	struct stacks s = { 0 };
	u32 i;

	(void)state;
	for (i = 0; i < 100; i++) {
		const char *frame = &names[i];
		struct model_sample x = {
			.frames = &frame, .groups = &frame, .count = 1, .weight_ns = 1
		};

		assert_int_equal(stacks_add(&s, &x), 0);
	}
	assert_int_equal(s.len, STACKS_MAX);
	assert_int_equal(s.looks, 100);
	assert_int_equal(s.omitted, 100 - STACKS_MAX);
	stacks_free(&s);
}

/* Of a stack that is cut it is not known what is further out, so it is another than one that ends there. */
static void a_stack_that_is_cut_is_one_of_its_own(void **state)
{
	const char *frames[STACK_FRAMES + 2], *groups[STACK_FRAMES + 2];
	struct model_sample x = { .frames = frames, .groups = groups, .count = 2, .weight_ns = 10 };
	struct stacks s = { 0 };
	u32 i;

	(void)state;
	for (i = 0; i < STACK_FRAMES + 2; i++)
		frames[i] = groups[i] = "work";
	assert_int_equal(stacks_add(&s, &x), 0);
	x.cut = true;
	assert_int_equal(stacks_add(&s, &x), 0);
	assert_int_equal(stacks_add(&s, &x), 0);
	assert_int_equal(s.len, 2);
	assert_false(s.list[0].cut);
	assert_true(s.list[1].cut);
	assert_int_equal(s.list[1].count, 2);
	/* One that has no room is cut here. */
	x.cut = false;
	x.count = STACK_FRAMES;
	assert_int_equal(stacks_add(&s, &x), 0);
	x.count = STACK_FRAMES + 2;
	assert_int_equal(stacks_add(&s, &x), 0);
	assert_int_equal(s.len, 4);
	assert_false(s.list[2].cut);
	assert_true(s.list[3].cut);
	assert_int_equal(s.list[3].depth, STACK_FRAMES);
	/* The same frames of another group are another stack. */
	groups[0] = "other";
	x.count = 2;
	assert_int_equal(stacks_add(&s, &x), 0);
	assert_int_equal(s.len, 5);
	stacks_free(&s);
}

/* What a stack with this one frame reads like. */
static void assert_reads(const char *frame, u32 depth, const char *text)
{
	struct model_sample x = {
		.frames = &frame, .groups = &frame, .count = depth, .weight_ns = 1
	};
	struct stacks s = { 0 };
	struct out o;

	out_open_memory(&o);
	assert_int_equal(stacks_add(&s, &x), 0);
	stacks_text(&o, &s, 3);
	out_write(&o, "", 1);
	assert_string_equal((const char *)o.buf.data, text);
	out_close(&o);
	stacks_free(&s);
}

/* The file's own name stands at the end of a path, and that is where it is not cut. */
static void of_a_long_path_the_end_is_shown(void **state)
{
	(void)state;
	assert_reads("work (/srv/app/a.php)", 1,
		     "    seen 1 time, 1 ns running: work (/srv/app/a.php)\n");
	assert_reads("work (/srv/www/htdocs/example.org/wp-content/plugins/heavy/lib/heavy.php)", 1,
		     "    seen 1 time, 1 ns running: work (.../plugins/heavy/lib/heavy.php)\n");
	assert_reads(
		"work (/srv/a-name-that-is-longer-than-all-the-room-that-is-left-for-the-path.php)",
		1,
		"    seen 1 time, 1 ns running: "
		"work (/srv/a-name-that-is-longer-than-all-the-room-that-is-left~\n");
	assert_reads(NULL, 0, "    seen 1 time, 1 ns running: outside of any function\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_of_the_event_are_evidence),
		cmocka_unit_test(stacks_are_bounded),
		cmocka_unit_test(a_stack_that_is_cut_is_one_of_its_own),
		cmocka_unit_test(of_a_long_path_the_end_is_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
