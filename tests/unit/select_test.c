/* SPDX-License-Identifier: BSD-2-Clause */
/* What an export is handed of a trace: each kind of thing, chosen or not, one by one. */
#include "sink/select.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim.h"

static const struct model_thread ours = {
	.pid = 7, .tid = 8, .id = 1, .name = "ours", .process = "p"
};
static const struct model_thread other = {
	.pid = 9, .tid = 9, .id = 2, .name = "other", .process = "q"
};

/* What has come through. */
static struct {
	u32 spans, events, marks, samples, processes, threads;
	u32 shares, waits;
	const char *share, *wait;
} got;

static int hear_span(void *ctx, const struct model_span *s)
{
	(void)ctx;
	(void)s;
	got.spans++;
	return 0;
}

static int hear_event(void *ctx, const struct model_event *e)
{
	(void)ctx;
	got.events++;
	got.shares = e->share_count;
	got.share = e->share_count ? e->shares[0].group : "";
	got.waits = e->wait_count;
	got.wait = e->wait_count ? e->waits[0].group : "";
	return 0;
}

static int hear_mark(void *ctx, const struct model_mark *m)
{
	(void)ctx;
	(void)m;
	got.marks++;
	return 0;
}

static int hear_sample(void *ctx, const struct model_sample *m)
{
	(void)ctx;
	(void)m;
	got.samples++;
	return 0;
}

static int hear_process(void *ctx, const struct item_process *p)
{
	(void)ctx;
	(void)p;
	got.processes++;
	return 0;
}

static int hear_thread(void *ctx, const struct model_thread *t)
{
	(void)ctx;
	(void)t;
	got.threads++;
	return 0;
}

static struct model *m;
static struct select sel;

static void open_select(const struct select_config *config)
{
	static const struct model_observer observer = { .span = hear_span,
							.event = hear_event,
							.mark = hear_mark,
							.sample = hear_sample,
							.process = hear_process,
							.thread = hear_thread };

	memset(&got, 0, sizeof(got));
	m = model_make(&(struct model_config){ 0 });
	model_observe(m, &observer, NULL);
	select_init(&sel, config);
	select_attach(&sel, m);
}

static void close_select(void)
{
	select_release(&sel);
	model_free(m);
}

/* One of each kind, of a thread and of these groups. */
static void put_all(const struct model_thread *t, const char *inner, const char *outer)
{
	const char *frames[] = { "f", "g" }, *groups[] = { inner, outer };
	const struct model_share shares[] = { { .group = inner }, { .group = outer } };
	const struct model_wait waits[] = { { .group = outer }, { .group = inner } };
	const struct model_span s = { .thread = t,
				      .type = VMSPAN_SPAN,
				      .name = "work",
				      .group = inner,
				      .begin_ns = 100,
				      .end_ns = 200 };
	const struct model_event e = { .thread = t,
				       .label = "",
				       .begin_ns = 100,
				       .end_ns = 200,
				       .shares = shares,
				       .share_count = 2,
				       .waits = waits,
				       .wait_count = 2 };
	const struct model_mark mark = {
		.thread = t, .type = VMSPAN_INPUT, .label = "", .time_ns = 150
	};
	const struct model_sample look = {
		.thread = t, .frames = frames, .groups = groups, .count = 2, .time_ns = 150
	};
	const struct item_process p = { .pid = t->pid, .name = t->process, .vm = "" };
	const struct model_observer *o;
	void *ctx;

	o = model_observer(m, &ctx);
	assert_int_equal(o->span(ctx, &s), 0);
	assert_int_equal(o->event(ctx, &e), 0);
	assert_int_equal(o->mark(ctx, &mark), 0);
	assert_int_equal(o->sample(ctx, &look), 0);
	assert_int_equal(o->process(ctx, &p), 0);
	assert_int_equal(o->thread(ctx, t), 0);
}

static void has(u32 spans, u32 events, u32 marks, u32 samples, u32 processes, u32 threads)
{
	assert_int_equal(got.spans, spans);
	assert_int_equal(got.events, events);
	assert_int_equal(got.marks, marks);
	assert_int_equal(got.samples, samples);
	assert_int_equal(got.processes, processes);
	assert_int_equal(got.threads, threads);
}

static void without_a_choice_all_comes_through(void **state)
{
	(void)state;
	open_select(&(struct select_config){ 0 });
	put_all(&ours, "addon:a", "addon:b");
	put_all(&other, "addon:c", "addon:c");
	has(2, 2, 2, 2, 2, 2);
	assert_int_equal(got.shares, 2);
	assert_int_equal(got.waits, 2);
	assert_int_equal(sel.passed, 4);
	assert_int_equal(sel.left_out, 0);
	close_select();
}

static void of_other_processes_nothing_comes(void **state)
{
	static const u32 pid = 7;

	(void)state;
	open_select(&(struct select_config){ .pids = &pid, .pid_count = 1 });
	put_all(&other, "addon:a", "addon:b");
	has(0, 0, 0, 0, 0, 0);
	assert_int_equal(sel.left_out, 2);
	put_all(&ours, "addon:a", "addon:b");
	has(1, 1, 1, 1, 1, 1);
	close_select();
}

/* Of other threads only their names come: they are their process's. */
static void of_other_threads_nothing_is_shown(void **state)
{
	(void)state;
	open_select(&(struct select_config){ .thread = "ou*" });
	put_all(&other, "addon:a", "addon:b");
	has(0, 0, 0, 0, 1, 1);
	put_all(&ours, "addon:a", "addon:b");
	has(1, 1, 1, 1, 2, 2);
	close_select();
	open_select(&(struct select_config){ .thread = "8" });
	put_all(&other, "addon:a", "addon:b");
	put_all(&ours, "addon:a", "addon:b");
	has(1, 1, 1, 1, 2, 2);
	close_select();
}

/* An event in which a chosen group ran has that group's figures alone. */
static void of_other_groups_nothing_is_in_what_comes(void **state)
{
	(void)state;
	open_select(&(struct select_config){ .glob = "addon:a" });
	put_all(&ours, "addon:b", "addon:c");
	has(0, 0, 1, 0, 1, 1);
	assert_int_equal(sel.left_out, 2);
	put_all(&ours, "addon:b", "addon:a");
	/* The span is the inner group's; event and stack have the chosen one too. */
	has(0, 1, 2, 1, 2, 2);
	assert_int_equal(got.shares, 1);
	assert_string_equal(got.share, "addon:a");
	assert_int_equal(got.waits, 1);
	assert_string_equal(got.wait, "addon:a");
	put_all(&ours, "addon:a", "addon:b");
	has(1, 2, 3, 2, 3, 3);
	assert_int_equal(got.waits, 1);
	assert_string_equal(got.wait, "addon:a");
	close_select();
	/* Who wants to know who called whom gets the events whole. */
	open_select(&(struct select_config){ .glob = "addon:a", .whole_turns = true });
	put_all(&ours, "addon:b", "addon:c");
	has(1, 1, 1, 1, 1, 1);
	assert_int_equal(got.shares, 2);
	close_select();
}

static void what_is_shorter_does_not_come(void **state)
{
	(void)state;
	open_select(&(struct select_config){ .min_duration_ns = 100 });
	put_all(&ours, "addon:a", "addon:b");
	has(1, 1, 1, 1, 1, 1);
	close_select();
	open_select(&(struct select_config){ .min_duration_ns = 101 });
	put_all(&ours, "addon:a", "addon:b");
	has(0, 0, 1, 1, 1, 1);
	close_select();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_choice_all_comes_through),
		cmocka_unit_test(of_other_processes_nothing_comes),
		cmocka_unit_test(of_other_threads_nothing_is_shown),
		cmocka_unit_test(of_other_groups_nothing_is_in_what_comes),
		cmocka_unit_test(what_is_shorter_does_not_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
