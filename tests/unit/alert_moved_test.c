/* SPDX-License-Identifier: BSD-2-Clause */
/* Alerts of spans that changed CPU, which are charged to nobody. */
#include "alert_rig.h"

/* A turn whose only stay changes CPU. */
static void moved_turn(struct rig *r, u64 at, u32 comp, u64 ns)
{
	sim_event(r->s, at);
	sim_enter(r->s, at, comp, VMSPAN_SPAN);
	r->s->cpu ^= 1;
	sim_leave(r->s, at + ns);
	sim_event_end(r->s, at + ns);
	assert_int_equal(feed(r), 0);
}

/* It is charged to nobody, and held the loop all the same. */
static void what_changed_cpu_is_told(void **state)
{
	struct heard tracker = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	listen(&r, &tracker, "t", "addon:tracker");
	moved_turn(&r, 1000 * MS, IN_TRACKER, 64 * MS - 1);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(tracker.alerts, 0);
	moved_turn(&r, 2000 * MS, IN_TRACKER, 620 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(tracker.alerts, 1);
	assert_int_equal(tracker.cause, CAUSE_OWN);
	assert_int_equal(tracker.last_total, 620 * MS);
	assert_int_equal(tracker.uncharged, 620 * MS);
	assert_int_equal(tracker.charged, 0); /* history: what `top` shows */
	assert_string_equal(tracker.text,
			    "addon:tracker held host (100)'s loop for 620 ms, 100 % of it "
			    "in its own code; not charged: it changed CPU");
	rig_close(&r);
}

/* 20 ms inside of it are charged, and 30 ms beside. */
static void what_is_charged_besides_is_in_the_time(void **state)
{
	struct heard tracker = { 0 }, mail = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	listen(&r, &tracker, "t", "addon:tracker");
	listen(&r, &mail, "m", "page:mail");
	sim_event(r.s, 1000 * MS);
	sim_enter(r.s, 1000 * MS, IN_TRACKER, VMSPAN_SPAN);
	sim_enter(r.s, 1010 * MS, IN_MAIL, VMSPAN_SPAN);
	sim_enter(r.s, 1010 * MS, IN_TRACKER, VMSPAN_SPAN);
	sim_leave(r.s, 1030 * MS);
	sim_leave(r.s, 1080 * MS);
	r.s->cpu = 1;
	sim_leave(r.s, 1100 * MS);
	sim_enter(r.s, 1100 * MS, IN_TRACKER, VMSPAN_SPAN);
	sim_leave(r.s, 1130 * MS);
	sim_event_end(r.s, 1130 * MS);
	assert_int_equal(feed(&r), 0);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(tracker.last_total, 130 * MS);
	assert_int_equal(tracker.uncharged, 80 * MS);
	assert_int_equal(tracker.charged, 50 * MS);
	assert_string_equal(tracker.text,
			    "addon:tracker held host (100)'s loop for 130 ms, 62 % of it in "
			    "its own code; 80.0 ms of it not charged: it changed CPU");
	assert_int_equal(mail.last_total, 70 * MS);
	assert_int_equal(mail.uncharged, 0);
	rig_close(&r);
}

/* Its time is charged to nobody, but not to who called it as its own doing either. */
static void who_changed_cpu_inside_is_the_cause(void **state)
{
	struct heard shop = { 0 }, tracker = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	listen(&r, &shop, "s", "addon:tracker");
	listen(&r, &tracker, "t", "page:mail");
	sim_event(r.s, 1000 * MS);
	sim_enter(r.s, 1000 * MS, IN_TRACKER, VMSPAN_SPAN);
	sim_enter(r.s, 1010 * MS, IN_MAIL, VMSPAN_SPAN);
	r.s->cpu = 1;
	sim_leave(r.s, 1215 * MS);
	r.s->cpu = 0;
	sim_leave(r.s, 1217 * MS);
	sim_event_end(r.s, 1217 * MS);
	assert_int_equal(feed(&r), 0);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(tracker.cause, CAUSE_OWN);
	assert_int_equal(tracker.last_total, 205 * MS);
	assert_int_equal(tracker.uncharged, 205 * MS);
	assert_int_equal(shop.cause, CAUSE_INNER);
	assert_string_equal(shop.inner, "page:mail");
	assert_int_equal(shop.uncharged, 0);
	rig_close(&r);
}

/* Its collections and announced calls are part of it, and none of its own code. */
static void what_changed_cpu_says_what_it_did(void **state)
{
	static const enum vmspan_type types[] = { VMSPAN_GC, VMSPAN_BLOCK };
	static const char *const words[] = { "75 % of it in a collection", "75 % of it waiting" };
	u32 i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct heard tracker = { 0 };
		struct rig r;

		rig_open(&r, NULL);
		listen(&r, &tracker, "t", "addon:tracker");
		sim_event(r.s, 1000 * MS);
		sim_enter(r.s, 1000 * MS, IN_TRACKER, VMSPAN_SPAN);
		sim_enter(r.s, 1100 * MS, 0, types[i]);
		sim_leave(r.s, 1400 * MS);
		r.s->cpu = 1;
		sim_leave(r.s, 1400 * MS);
		sim_event_end(r.s, 1400 * MS);
		assert_int_equal(feed(&r), 0);
		assert_int_equal(alerts_flush(r.a), 0);
		assert_int_equal(tracker.last_total, 400 * MS);
		assert_non_null(strstr(tracker.text, words[i]));
		assert_int_equal(tracker.last_blocked, i ? 300 * MS : 0);
		rig_close(&r);
	}
}

/* Who waits wakes up elsewhere: that it took so long is not the group's doing. */
static void who_waited_and_changed_cpu_is_not_to_blame(void **state)
{
	struct heard tracker = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	listen(&r, &tracker, "t", "addon:tracker");
	r.s->cpu_scale = 10;
	moved_turn(&r, 1000 * MS, IN_TRACKER, 620 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(tracker.alerts, 1);
	assert_int_equal(tracker.cause, CAUSE_SYSTEM);
	assert_string_equal(tracker.text,
			    "addon:tracker held host (100)'s loop for 620 ms; its thread had "
			    "the CPU for 62.0 ms of it, else it waited or others ran; "
			    "not charged: it changed CPU");
	rig_close(&r);
}

/* Where the thread had no CPU, in it or beside it, nobody knows: who may have had it is told of. */
static void who_may_have_run_and_changed_cpu_is_told_of(void **state)
{
	struct heard tracker = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	listen(&r, &tracker, "t", "addon:tracker");
	sim_event(r.s, 1000 * MS);
	sim_enter(r.s, 1000 * MS, IN_TRACKER, VMSPAN_SPAN);
	r.s->cpu = 1;
	sim_leave(r.s, 1200 * MS);
	r.s->off += 200 * MS;
	sim_event_end(r.s, 1400 * MS);
	assert_int_equal(feed(&r), 0);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(tracker.cause, CAUSE_OWN);
	assert_string_equal(tracker.text,
			    "addon:tracker held host (100)'s loop for 200 ms, 100 % of it in its "
			    "own code; its thread had the CPU for ~100 ms of it; "
			    "not charged: it changed CPU");
	rig_close(&r);
}

/* What ran in it may have been another, whose record is lost. */
static void who_changed_cpu_and_lacks_a_record_has_no_time_of_its_own(void **state)
{
	struct heard tracker = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	listen(&r, &tracker, "t", "addon:tracker");
	turn(&r, 500 * MS, IN_MAIL, 1 * MS);
	sim_event(r.s, 1000 * MS);
	sim_enter(r.s, 1000 * MS, IN_TRACKER, VMSPAN_SPAN);
	sim_enter(r.s, 1005 * MS, IN_MAIL, VMSPAN_SPAN);
	sim_leave(r.s, 1185 * MS);
	r.fed++; /* its record */
	r.s->cpu = 1;
	sim_leave(r.s, 1189 * MS);
	sim_event_end(r.s, 1189 * MS);
	assert_int_equal(feed(&r), 0);
	assert_int_equal(model_finish(r.m), 0);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(tracker.last_total, 189 * MS);
	assert_int_equal(tracker.uncharged, 189 * MS);
	assert_null(strstr(tracker.text, "own code"));
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_changed_cpu_is_told),
		cmocka_unit_test(what_is_charged_besides_is_in_the_time),
		cmocka_unit_test(who_changed_cpu_inside_is_the_cause),
		cmocka_unit_test(what_changed_cpu_says_what_it_did),
		cmocka_unit_test(who_waited_and_changed_cpu_is_not_to_blame),
		cmocka_unit_test(who_may_have_run_and_changed_cpu_is_told_of),
		cmocka_unit_test(who_changed_cpu_and_lacks_a_record_has_no_time_of_its_own),
	};

	return cmocka_run_group_tests_name("alert_moved", tests, NULL, NULL);
}
