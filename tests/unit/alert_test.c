/* SPDX-License-Identifier: BSD-2-Clause */
/* Alerts on synthetic streams with virtual time. */
#include "alert_rig.h"

/* ---- The threshold ---- */

static void total_equal_to_the_threshold_alerts(void **state)
{
	struct heard tracker = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	listen(&r, &tracker, "t", "addon:tracker");
	turn(&r, 10 * MS, IN_TRACKER, 64 * MS - 1);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(tracker.alerts, 0);
	turn(&r, 100 * MS, IN_TRACKER, 64 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(tracker.alerts, 1);
	assert_int_equal(tracker.last_total, 64 * MS);
	rig_close(&r);
}

static void rules_set_thresholds_and_ignore(void **state)
{
	const struct alert_rule rules[] = {
		{ .glob = "addon:tracker", .threshold_ns = 10 * MS },
		{ .glob = "addon:*", .threshold_ns = 1 * MS },
		{ .glob = "top:*", .ignore = true },
		{ .glob = "*", .threshold_ns = 20 * MS },
	};
	struct alert_config c = { .rules = rules, .rule_count = 4 };
	struct heard all = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, &c);
	listen(&r, &all, "*", NULL);
	assert_int_equal(alerts_lowest(r.a), 1 * MS);
	/* The first rule that matches decides. */
	turn(&r, 10 * MS, IN_TRACKER, 9 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_string_equal(r.order, "");
	turn(&r, 20 * MS, IN_TRACKER, 10 * MS);
	turn(&r, 40 * MS, IN_SHOP, 20 * MS - 1);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_string_equal(r.order, "*:addon:tracker ");
	turn(&r, 100 * MS, IN_SHOP, 20 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_string_equal(r.order, "*:addon:tracker *:page:shop ");
	rig_close(&r);
}

/* ---- Buffer and pending ---- */

static void one_burst_is_one_batch_and_one_alert_a_group(void **state)
{
	struct heard all = { 0 };
	struct alert_counts n;
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	listen(&r, &all, "*", "addon:*");
	turn(&r, 100 * MS, IN_TRACKER, 65 * MS);
	turn(&r, 170 * MS, IN_TRACKER, 80 * MS); /* ends 85 ms later */
	assert_int_equal(all.alerts, 0);
	assert_int_equal(alerts_due(r.a), 265 * MS);
	assert_int_equal(alerts_advance(r.a, 265 * MS - 1), 0);
	assert_int_equal(all.alerts, 0);
	assert_int_equal(alerts_advance(r.a, 265 * MS), 0);
	assert_int_equal(all.alerts, 1);
	assert_int_equal(all.batches, 1);
	assert_int_equal(all.occurrences, 2);
	assert_int_equal(all.last_total, 80 * MS); /* the worst */
	assert_int_equal(alerts_due(r.a), 0);
	alerts_counts(r.a, &n);
	assert_int_equal(n.raised, 2); /* top: too */
	assert_int_equal(n.repeated, 2);
	rig_close(&r);
}

#define BURST 1000

struct burst {
	u32 seen[BURST], batches, occurrences;
};

static int hear_burst(void *ctx, const struct alert *a)
{
	struct burst *b = ctx;
	u32 i;

	assert_int_equal(sscanf(a->group, "addon:burst-%u", &i), 1);
	assert_true(i < BURST);
	b->seen[i]++;
	b->occurrences += a->occurrences;
	return 0;
}

static int hear_burst_batch(void *ctx, const struct alert_batch *b)
{
	(void)b;
	((struct burst *)ctx)->batches++;
	return 0;
}

/* Every group is slow within the buffer's time, some of them again: each is told once. */
static void a_burst_of_a_thousand_groups_is_one_batch(void **state)
{
	static const struct alert_observer told = { .alert = hear_burst,
						    .batch = hear_burst_batch };
	const u64 turn_ns = 60 * MS / 1000, every_ns = 90 * MS / 1000;
	struct burst *b = calloc(1, sizeof(*b));
	struct alert_counts n;
	struct rig r;
	u64 id;
	u32 i;

	(void)state;
	assert_non_null(b);
	rig_open(&r, &(struct alert_config){ .threshold_ns = turn_ns });
	assert_int_equal(listen_add(alerts_listeners(r.a), "addon:*", &told, b, &id), 0);
	for (i = 0; i < BURST; i++) {
		u32 group = MAIL + 1 + i, comp = IN_MAIL + 1 + i;
		char name[32];

		snprintf(name, sizeof(name), "burst-%u", i);
		sim_define(r.m, SIM_PID, VMSPAN_DEF_GROUP, group, VMSPAN_ADDON, name, NULL, 0);
		sim_define(r.m, SIM_PID, VMSPAN_DEF_COMPARTMENT, comp, 0, name, &group, 1);
	}
	for (i = 0; i < BURST + 100; i++)
		turn(&r, 100 * MS + i * every_ns, IN_MAIL + 1 + i % BURST, turn_ns);
	assert_int_equal(b->batches, 0);
	assert_int_equal(alerts_advance(r.a, 200 * MS + turn_ns), 0);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(b->batches, 1);
	assert_int_equal(b->occurrences, BURST + 100);
	for (i = 0; i < BURST; i++)
		assert_int_equal(b->seen[i], 1);
	alerts_counts(r.a, &n);
	assert_int_equal(n.batches, 1);
	assert_int_equal(n.raised, BURST + 1); /* top: too */
	assert_int_equal(n.delivered, BURST + 1);
	assert_int_equal(n.repeated, 100 + BURST + 99);
	assert_int_equal(n.unwatched, 0);
	rig_close(&r);
	free(b);
}

/* The next event's end tells that the buffer has run out: no clock is needed,
 * so live and replay cannot differ. */
static void an_event_behind_the_buffer_delivers_it(void **state)
{
	struct heard all = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	listen(&r, &all, "*", "addon:*");
	turn(&r, 100 * MS, IN_TRACKER, 65 * MS);
	turn(&r, 264 * MS, IN_SHOP, 1 * MS);
	assert_int_equal(all.alerts, 1);
	assert_int_equal(all.last_id, 1);
	turn(&r, 300 * MS, IN_TRACKER, 65 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(all.alerts, 2);
	assert_int_equal(all.batches, 2);
	rig_close(&r);
}

static void maxima_are_cleared_even_if_nobody_listens(void **state)
{
	struct heard late = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	sim_event(r.s, 100 * MS);
	sim_enter(r.s, 100 * MS, IN_TRACKER, VMSPAN_SPAN);
	sim_enter(r.s, 100 * MS, 0, VMSPAN_BLOCK);
	sim_leave(r.s, 190 * MS);
	sim_leave(r.s, 200 * MS);
	sim_event_end(r.s, 200 * MS);
	assert_int_equal(feed(&r), 0);
	assert_int_equal(alerts_flush(r.a), 0);
	listen(&r, &late, "l", "addon:tracker");
	turn(&r, 400 * MS, IN_TRACKER, 70 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(late.alerts, 1);
	assert_int_equal(late.last_total, 70 * MS);
	assert_int_equal(late.last_blocked, 0);
	rig_close(&r);
}

/* ---- Observers ---- */

static void observers_of_everything_come_first_and_others_stay_silent(void **state)
{
	struct heard all = { 0 }, shop = { 0 }, mail = { 0 }, never = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	listen(&r, &shop, "shop", "page:shop");
	listen(&r, &mail, "mail", "page:mail");
	listen(&r, &never, "never", "addon:not-there-yet");
	listen(&r, &all, "all", NULL);
	turn(&r, 100 * MS, IN_SHOP, 500 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_string_equal(r.order, "all:page:shop shop:page:shop all:top:host ");
	assert_int_equal(mail.alerts + mail.batches + never.alerts, 0);
	assert_int_equal(shop.batches, 1);
	rig_close(&r);
}

static void an_observer_outlives_its_group(void **state)
{
	struct item gone = { .type = ITEM_PROCESS,
			     .process = { PROCESS_EXIT, SIM_PID, 1, 300 * MS, "host", "sdk" } };
	struct heard shop = { 0 };
	struct rig r;
	u64 id;

	(void)state;
	rig_open(&r, NULL);
	id = listen(&r, &shop, "shop", "page:shop");
	turn(&r, 100 * MS, IN_SHOP, 70 * MS);
	/* Pending when the process ends: it is told all the same. */
	assert_int_equal(model_item(r.m, &gone), 0);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(shop.alerts, 1);
	assert_int_equal(listen_remove(alerts_listeners(r.a), id), 0);
	listen(&r, &shop, "shop", "page:shop");
	rig_close(&r);
}

static void a_bad_removal_is_an_error_and_the_others_go_on(void **state)
{
	struct heard shop = { 0 }, all = { 0 };
	struct rig r;
	u64 id, again = 0;

	(void)state;
	rig_open(&r, NULL);
	id = listen(&r, &shop, "shop", "page:shop");
	listen(&r, &all, "all", NULL);
	assert_int_equal(listen_remove(alerts_listeners(r.a), 99), -ENOENT);
	assert_int_equal(listen_remove(alerts_listeners(r.a), 0), -ENOENT);
	assert_int_equal(listen_add(alerts_listeners(r.a), "page:shop", &observer, &shop, &again),
			 -EEXIST);
	assert_int_equal(listen_add(alerts_listeners(r.a), NULL, &observer, &all, &again), -EEXIST);
	assert_int_equal(again, 0);
	turn(&r, 100 * MS, IN_SHOP, 70 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(shop.alerts, 1);
	assert_int_equal(listen_remove(alerts_listeners(r.a), id), 0);
	assert_int_equal(listen_remove(alerts_listeners(r.a), id), -ENOENT);
	turn(&r, 500 * MS, IN_SHOP, 70 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(shop.alerts, 1);
	assert_int_equal(all.alerts, 4);
	assert_int_equal(listen_count(alerts_listeners(r.a)), 1);
	rig_close(&r);
}

static void an_observer_may_remove_another_while_it_is_told(void **state)
{
	struct heard first = { 0 }, second = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	listen(&r, &first, "first", "page:*");
	first.remove = listen(&r, &second, "second", "page:shop");
	turn(&r, 100 * MS, IN_SHOP, 70 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(first.alerts, 1);
	assert_int_equal(second.alerts, 0);
	turn(&r, 500 * MS, IN_SHOP, 70 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(first.alerts, 2);
	rig_close(&r);
}

static void an_observer_that_fails_does_not_silence_the_rest(void **state)
{
	struct heard bad = { .fail = -EIO }, good = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	listen(&r, &bad, "bad", NULL);
	listen(&r, &good, "good", "page:shop");
	turn(&r, 100 * MS, IN_SHOP, 70 * MS);
	assert_int_equal(alerts_flush(r.a), -EIO);
	assert_int_equal(good.alerts, 1);
	rig_close(&r);
}

static void globs_are_checked(void **state)
{
	static const char *const bad[] = { "", "[", "a[b", "x\\", "[!", "[]" };
	static const char *const good[] = { "*", "addon:*", "[ab]*", "[]]", "[!]]", "a\\[", "]" };
	struct rig r;
	size_t i;
	u64 id;

	(void)state;
	rig_open(&r, NULL);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(glob_check(bad[i]), -EINVAL);
		assert_int_equal(listen_add(alerts_listeners(r.a), bad[i], &observer, &r, &id),
				 -EINVAL);
	}
	for (i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(glob_check(good[i]), 0);
	rig_close(&r);
}

/* ---- Reasons ---- */

static unsigned int reasons_with(u64 input_at, u64 frame_1, u64 frame_2)
{
	struct heard h = { 0 };
	struct rig r;

	rig_open(&r, NULL);
	listen(&r, &h, "h", "page:shop");
	if (input_at)
		mark(&r, input_at, VMSPAN_INPUT);
	if (frame_1)
		mark(&r, frame_1, VMSPAN_FRAME);
	turn(&r, 1000 * MS, IN_SHOP, 70 * MS);
	if (frame_2)
		mark(&r, frame_2, VMSPAN_FRAME);
	assert_int_equal(feed(&r), 0);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(h.alerts, 1);
	rig_close(&r);
	return h.reasons;
}

static void reasons_follow_inputs_and_frames(void **state)
{
	(void)state;
	assert_int_equal(reasons_with(0, 0, 0), ALERT_SLOWDOWN);
	assert_int_equal(reasons_with(850 * MS, 0, 0), ALERT_SLOWDOWN | ALERT_IN_INPUT);
	assert_int_equal(reasons_with(850 * MS - 1, 0, 0), ALERT_SLOWDOWN);
	assert_int_equal(reasons_with(1070 * MS, 0, 0), ALERT_SLOWDOWN | ALERT_IN_INPUT);
	assert_int_equal(reasons_with(1070 * MS + 1, 0, 0), ALERT_SLOWDOWN);
	/* A frame 256 ms after the one before, within the buffer. */
	assert_int_equal(reasons_with(0, 820 * MS, 1076 * MS), ALERT_SLOWDOWN | ALERT_IN_ANIMATION);
	assert_int_equal(reasons_with(0, 820 * MS + 1, 1076 * MS), ALERT_SLOWDOWN);
	assert_int_equal(reasons_with(0, 700 * MS, 1170 * MS), ALERT_SLOWDOWN | ALERT_IN_ANIMATION);
	assert_int_equal(reasons_with(0, 700 * MS, 1170 * MS + 1), ALERT_SLOWDOWN);
}

/* ---- Causes and evidence ---- */

/* shop calls tracker: shop is charged too, tracker is the cause. */
static void the_called_group_is_the_cause(void **state)
{
	struct heard shop = { 0 }, tracker = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	listen(&r, &shop, "s", "page:shop");
	listen(&r, &tracker, "t", "addon:tracker");
	sim_event(r.s, 1000 * MS);
	sim_enter(r.s, 1000 * MS, IN_SHOP, VMSPAN_SPAN);
	sim_enter(r.s, 1010 * MS, IN_TRACKER, VMSPAN_SPAN);
	sim_enter(r.s, 1020 * MS, 0, VMSPAN_GC);
	sim_leave(r.s, 1140 * MS);
	sim_leave(r.s, 1210 * MS);
	sim_leave(r.s, 1215 * MS);
	sim_event_end(r.s, 1215 * MS);
	assert_int_equal(feed(&r), 0);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(tracker.cause, CAUSE_OWN);
	assert_int_equal(tracker.last_total, 200 * MS);
	assert_string_equal(tracker.text, "addon:tracker held page:shop's loop for 200 ms, 60 % of "
					  "it in a collection");
	assert_int_equal(shop.cause, CAUSE_INNER);
	assert_string_equal(shop.inner, "addon:tracker");
	rig_close(&r);
}

static void time_off_the_cpu_is_not_the_groups_fault(void **state)
{
	struct heard shop = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	listen(&r, &shop, "s", "page:shop");
	r.s->cpu_scale = 50;
	turn(&r, 1000 * MS, IN_SHOP, 126 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(shop.cause, CAUSE_SYSTEM);
	turn(&r, 2000 * MS, IN_SHOP, 130 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(shop.cause, CAUSE_OWN);
	rig_close(&r);
}

/* Who ends inside an event, and events that never end, leave nothing. */
static void a_nested_loop_is_an_event_of_its_own(void **state)
{
	struct heard shop = { 0 }, tracker = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	listen(&r, &shop, "s", "page:shop");
	listen(&r, &tracker, "t", "addon:tracker");
	sim_event(r.s, 1000 * MS);
	sim_enter(r.s, 1000 * MS, IN_SHOP, VMSPAN_SPAN);
	sim_event(r.s, 1010 * MS);
	sim_enter(r.s, 1010 * MS, IN_TRACKER, VMSPAN_SPAN);
	sim_leave(r.s, 1110 * MS);
	sim_event_end(r.s, 1110 * MS);
	sim_leave(r.s, 1200 * MS); /* stale */
	sim_event_end(r.s, 1200 * MS);
	assert_int_equal(feed(&r), 0);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(tracker.alerts, 1);
	assert_int_equal(tracker.last_total, 100 * MS);
	assert_int_equal(shop.alerts, 0);
	rig_close(&r);
}

/* Of a sampled event all that were on every stack have the same time. */
static void of_groups_with_equal_times_the_one_that_ran_is_the_cause(void **state)
{
	const struct model_thread thread = { .pid = SIM_PID, .name = "t", .process = "p" };
	const struct model_share shares[] = {
		{ .group = "package:(stdlib)", .wall_ns = 200 * MS, .self_ns = 9 * MS },
		{ .group = "package:heavy", .wall_ns = 200 * MS, .self_ns = 187 * MS },
		{ .group = "package:app", .wall_ns = 200 * MS, .self_ns = 4 * MS },
	};
	const struct model_event e = { .thread = &thread,
				       .label = "",
				       .iteration = 1,
				       .begin_ns = 100 * MS,
				       .end_ns = 300 * MS,
				       .ledger = { .event_wall_ns = 200 * MS },
				       .shares = shares,
				       .share_count = ARRAY_SIZE(shares) };
	struct heard lib = { 0 }, heavy = { 0 }, app = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	listen(&r, &lib, "l", "package:(stdlib)");
	listen(&r, &heavy, "h", "package:heavy");
	listen(&r, &app, "a", "package:app");
	assert_int_equal(alerts_observer.event(r.a, &e), 0);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(heavy.cause, CAUSE_OWN);
	assert_int_equal(lib.cause, CAUSE_INNER);
	assert_string_equal(lib.inner, "package:heavy");
	assert_int_equal(app.cause, CAUSE_INNER);
	assert_string_equal(app.inner, "package:heavy");
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_groups_with_equal_times_the_one_that_ran_is_the_cause),
		cmocka_unit_test(total_equal_to_the_threshold_alerts),
		cmocka_unit_test(rules_set_thresholds_and_ignore),
		cmocka_unit_test(one_burst_is_one_batch_and_one_alert_a_group),
		cmocka_unit_test(a_burst_of_a_thousand_groups_is_one_batch),
		cmocka_unit_test(an_event_behind_the_buffer_delivers_it),
		cmocka_unit_test(maxima_are_cleared_even_if_nobody_listens),
		cmocka_unit_test(observers_of_everything_come_first_and_others_stay_silent),
		cmocka_unit_test(an_observer_outlives_its_group),
		cmocka_unit_test(a_bad_removal_is_an_error_and_the_others_go_on),
		cmocka_unit_test(an_observer_may_remove_another_while_it_is_told),
		cmocka_unit_test(an_observer_that_fails_does_not_silence_the_rest),
		cmocka_unit_test(globs_are_checked),
		cmocka_unit_test(reasons_follow_inputs_and_frames),
		cmocka_unit_test(the_called_group_is_the_cause),
		cmocka_unit_test(time_off_the_cpu_is_not_the_groups_fault),
		cmocka_unit_test(a_nested_loop_is_an_event_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
