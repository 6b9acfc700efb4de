/* SPDX-License-Identifier: BSD-2-Clause */
/* Events that go on are told of while they do: once, with what is known so far. */
#include "alert_rig.h"
#include "open_rig.h"
#include "sink/alert_open.h"

/* What is told of events that go on, and of those that have ended. */
struct seen {
	u32 open, ended, nodes;
	u64 total, self, threshold, id, inner_ns, uncharged;
	enum alert_cause cause;
	bool notable, again;
	u32 occurrences;
	char text[512], who[256];
};

static u32 count_nodes(const struct tree_node *n)
{
	u32 count = 0;

	for (; n; n = n->next)
		count += 1 + count_nodes(n->child);
	return count;
}

static int see_open(void *ctx, const struct alert *a)
{
	struct seen *s = ctx;
	size_t len = strlen(s->who);

	assert_true(a->open);
	s->open++;
	s->total = a->total_ns;
	s->self = a->self_ns;
	s->threshold = a->threshold_ns;
	s->cause = a->cause;
	s->notable = a->notable;
	s->again = a->again;
	s->occurrences = a->occurrences;
	s->uncharged = a->uncharged_ns;
	s->id = a->id;
	s->nodes = a->tree ? count_nodes(a->tree->roots) : 0;
	s->inner_ns = a->tree && a->tree->roots->child ? a->tree->roots->child->total_ns : 0;
	alert_sentence(s->text, sizeof(s->text), a);
	snprintf(s->who + len, sizeof(s->who) - len, "%s ", a->group);
	return 0;
}

static int see_ended(void *ctx, const struct alert *a)
{
	struct seen *s = ctx;

	assert_false(a->open);
	s->ended++;
	s->cause = a->cause;
	s->notable = a->notable;
	s->total = a->total_ns;
	s->nodes = a->tree ? count_nodes(a->tree->roots) : 0;
	return 0;
}

static const struct alert_observer seeing = { .alert = see_ended, .open = see_open };

/* The thread has what is open in it; that is all that goes on. */
static void look(struct rig *r, u64 begin, u64 at)
{
	tell_open(r->s, r->m, begin, at);
	assert_int_equal(alerts_looked(r->a), 0);
}

static void see(struct rig *r, const char *glob, struct seen *s)
{
	u64 id;

	assert_int_equal(listen_add(alerts_listeners(r->a), glob, &seeing, s, &id), 0);
}

/* An event in which tracker has run for 30 ms in shop, and is in it again since 1,100 ms. */
static void hang(struct rig *r)
{
	sim_event(r->s, 1000 * MS);
	sim_enter(r->s, 1000 * MS, IN_SHOP, VMSPAN_SPAN);
	sim_enter(r->s, 1010 * MS, IN_TRACKER, VMSPAN_SPAN);
	sim_leave(r->s, 1040 * MS);
	sim_enter(r->s, 1100 * MS, IN_TRACKER, VMSPAN_SPAN);
	assert_int_equal(feed(r), 0);
}

/* A turn in tracker, which is listened to, since 1,000 ms. */
static void begin_turn(struct rig *r, struct seen *tracker)
{
	rig_open(r, NULL);
	see(r, "addon:tracker", tracker);
	sim_event(r->s, 1000 * MS);
	sim_enter(r->s, 1000 * MS, IN_TRACKER, VMSPAN_SPAN);
}

static void end_all(struct rig *r, u64 at)
{
	while (r->s->depth)
		sim_leave(r->s, at);
	sim_event_end(r->s, at);
	assert_int_equal(feed(r), 0);
	assert_int_equal(alerts_flush(r->a), 0);
}

static void what_hangs_is_told_after_a_second_and_once(void **state)
{
	struct seen tracker = { 0 };
	struct alert_counts n;
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	see(&r, "addon:tracker", &tracker);
	hang(&r);
	look(&r, 1000 * MS, 2069 * MS); /* 30 + 969 ms */
	assert_int_equal(tracker.open, 0);
	look(&r, 1000 * MS, 2070 * MS);
	assert_int_equal(tracker.open, 1);
	assert_int_equal(tracker.id, 0);
	assert_int_equal(tracker.total, 1000 * MS);
	assert_int_equal(tracker.self, 1000 * MS);
	assert_int_equal(tracker.threshold, ALERT_THRESHOLD_NS);
	assert_string_equal(tracker.text,
			    "addon:tracker has held page:shop's loop for 1.00 s so far, "
			    "100 % of it in its own code");
	/* Both stays of tracker are one node in shop's. */
	assert_int_equal(tracker.nodes, 2);
	assert_int_equal(tracker.inner_ns, 1000 * MS);
	look(&r, 1000 * MS, 9000 * MS);
	assert_int_equal(tracker.open, 1);
	/* Nothing of it is an alert: that comes with the end. */
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(tracker.ended, 0);
	alerts_counts(r.a, &n);
	assert_int_equal(n.raised, 0);
	assert_int_equal(n.events, 0);
	assert_int_equal(n.open, 3); /* shop and the process too */
	end_all(&r, 9500 * MS);
	assert_int_equal(tracker.ended, 1);
	assert_int_equal(tracker.total, 8430 * MS);
	assert_int_equal(tracker.nodes, 2);
	rig_close(&r);
}

/* The next event of the thread is another one, and is told of anew. */
static void each_event_is_told_of(void **state)
{
	struct seen tracker = { 0 };
	struct rig r;
	u64 t;

	(void)state;
	rig_open(&r, NULL);
	see(&r, "addon:tracker", &tracker);
	for (t = 1000 * MS; t < 20000 * MS; t += 5000 * MS) {
		sim_event(r.s, t);
		sim_enter(r.s, t, IN_TRACKER, VMSPAN_SPAN);
		look(&r, t, t + 1500 * MS);
		look(&r, t, t + 2500 * MS);
		end_all(&r, t + 3000 * MS);
	}
	assert_int_equal(tracker.open, 4);
	assert_int_equal(tracker.ended, 4);
	rig_close(&r);
}

/* The longer threshold of a group, and that nothing is wanted of it, hold here too. */
static void rules_hold_while_it_goes_on(void **state)
{
	const struct alert_rule rules[] = {
		{ .glob = "addon:*", .threshold_ns = 3000 * MS },
		{ .glob = "page:*", .ignore = true },
		{ .glob = "top:*", .threshold_ns = 10 * MS },
	};
	struct alert_config c = { .rules = rules, .rule_count = 3 };
	struct seen all = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, &c);
	see(&r, NULL, &all);
	hang(&r);
	look(&r, 1000 * MS, 1999 * MS);
	assert_string_equal(all.who, "");
	look(&r, 1000 * MS, 2000 * MS);
	assert_string_equal(all.who, "top:host ");
	look(&r, 1000 * MS, 4069 * MS);
	assert_string_equal(all.who, "top:host ");
	look(&r, 1000 * MS, 4070 * MS);
	assert_string_equal(all.who, "top:host addon:tracker ");
	assert_int_equal(all.threshold, 3000 * MS);
	rig_close(&r);
}

/* Who listens to alerts alone hears nothing of what goes on. */
static void who_asks_for_alerts_gets_no_others(void **state)
{
	struct heard all = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	listen(&r, &all, "*", NULL);
	hang(&r);
	look(&r, 1000 * MS, 5000 * MS);
	assert_int_equal(all.alerts, 0);
	assert_int_equal(all.batches, 0);
	end_all(&r, 6000 * MS);
	assert_int_equal(all.alerts, 3);
	rig_close(&r);
}

/* A turn that had next to no CPU by 2,500 ms, told of then: nobody is to blame for it. */
static void begin_blameless(struct rig *r, struct seen *tracker)
{
	begin_turn(r, tracker);
	r->s->off = 1440 * MS;
	look(r, 1000 * MS, 2500 * MS);
	assert_int_equal(tracker->open, 1);
}

/* Who had no CPU at first is not to blame, and is when it has had as much as its threshold. */
static void who_is_to_blame_later_is_told_of_then(void **state)
{
	struct seen tracker = { 0 };
	struct rig r;

	(void)state;
	begin_blameless(&r, &tracker);
	assert_int_equal(tracker.cause, CAUSE_SYSTEM);
	assert_false(tracker.again);
	look(&r, 1000 * MS, 2503 * MS);
	assert_int_equal(tracker.open, 1);
	look(&r, 1000 * MS, 2504 * MS);
	assert_int_equal(tracker.open, 2);
	assert_int_equal(tracker.cause, CAUSE_OWN);
	assert_true(tracker.again);
	look(&r, 1000 * MS, 4000 * MS);
	assert_int_equal(tracker.open, 2);
	rig_close(&r);
}

/* One look, one telling a group: of the longest. */
static void many_threads_that_hang_are_told_of_once(void **state)
{
	struct seen tracker = { 0 };
	struct alert_counts n;
	struct rig r;
	u32 i;

	(void)state;
	rig_open(&r, NULL);
	see(&r, "addon:tracker", &tracker);
	for (i = 0; i < 200; i++) {
		struct sim *s = sim_new(10 + i);
		u64 begin = (1000 + (i * 7 + 50) % 200) * MS;

		sim_event(s, begin);
		sim_enter(s, begin, IN_TRACKER, VMSPAN_SPAN);
		tell_open(s, r.m, begin, 3000 * MS);
		free(s);
	}
	assert_int_equal(tracker.open, 0);
	assert_int_equal(alerts_looked(r.a), 0);
	assert_int_equal(tracker.open, 1);
	assert_int_equal(tracker.occurrences, 200);
	assert_int_equal(tracker.total, 2000 * MS);
	assert_int_equal(alerts_looked(r.a), 0);
	assert_int_equal(tracker.open, 1);
	alerts_counts(r.a, &n);
	assert_int_equal(n.open, 400); /* the process too */
	rig_close(&r);
}

/* Another thread's turn in the same group, where that of the first is told of once more. */
static void the_first_telling_is_not_hidden_by_anothers_second(void **state)
{
	struct seen tracker = { 0 };
	struct sim *other = sim_new(8);
	struct rig r;

	(void)state;
	begin_blameless(&r, &tracker);
	sim_event(other, 2000 * MS);
	sim_enter(other, 2000 * MS, IN_TRACKER, VMSPAN_SPAN);
	tell_open(r.s, r.m, 1000 * MS, 4000 * MS);
	tell_open(other, r.m, 2000 * MS, 4000 * MS);
	assert_int_equal(alerts_looked(r.a), 0);
	assert_int_equal(tracker.open, 2);
	assert_int_equal(tracker.occurrences, 2);
	assert_int_equal(tracker.total, 3000 * MS);
	assert_false(tracker.again);
	free(other);
	rig_close(&r);
}

/* What had ended and was not handed over comes as an alert; only what goes on is told of. */
static void what_has_ended_is_not_told_of_as_if_it_went_on(void **state)
{
	struct item it = { .type = ITEM_OPEN };
	struct seen tracker = { 0 }, shop = { 0 };
	struct alert_counts n;
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	see(&r, "addon:tracker", &tracker);
	see(&r, "page:shop", &shop);
	sim_event(r.s, 1000 * MS);
	sim_enter(r.s, 1000 * MS, IN_TRACKER, VMSPAN_SPAN);
	sim_leave(r.s, 3000 * MS);
	sim_event_end(r.s, 3000 * MS);
	sim_event(r.s, 3000 * MS);
	sim_enter(r.s, 3000 * MS, IN_SHOP, VMSPAN_SPAN);
	sim_leave(r.s, 5000 * MS);
	sim_event_end(r.s, 5000 * MS);
	it.open.batch = sim_item(r.s, SIM_PID, 0, r.s->records).batch;
	it.open.what = event_of(7, 3000 * MS, 5000 * MS);
	assert_int_equal(model_item(r.m, &it), 0);
	assert_int_equal(alerts_looked(r.a), 0);
	assert_int_equal(tracker.open, 0);
	assert_int_equal(shop.open, 1);
	alerts_counts(r.a, &n);
	assert_int_equal(n.raised, 0);
	rig_close(&r);
}

/* What goes on outside of events may be all there is: main() is in a compartment. */
static void what_is_outside_of_events_is_no_turn(void **state)
{
	struct seen tracker = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	see(&r, "addon:tracker", &tracker);
	sim_enter(r.s, 1000 * MS, IN_TRACKER, VMSPAN_SPAN);
	look(&r, 1000 * MS, 9000 * MS);
	assert_int_equal(tracker.open, 0);
	rig_close(&r);
}

/* A deadlock: nobody has the CPU. */
static void what_stands_still_is_shown_and_its_end_too(void **state)
{
	struct seen tracker = { 0 };
	struct rig r;

	(void)state;
	begin_turn(&r, &tracker);
	r.s->off = 4989 * MS;
	look(&r, 1000 * MS, 5999 * MS);
	assert_int_equal(tracker.open, 1);
	assert_false(tracker.notable);
	r.s->off = 4990 * MS;
	look(&r, 1000 * MS, 6000 * MS);
	assert_int_equal(tracker.open, 2);
	assert_int_equal(tracker.cause, CAUSE_SYSTEM);
	assert_true(tracker.notable);
	r.s->off = 14990 * MS;
	look(&r, 1000 * MS, 16000 * MS);
	assert_int_equal(tracker.open, 2);
	r.s->off = 18990 * MS;
	end_all(&r, 20000 * MS);
	assert_int_equal(tracker.ended, 1);
	assert_int_equal(tracker.cause, CAUSE_SYSTEM);
	assert_true(tracker.notable);
	/* Whether anybody has looked or not. */
	sim_event(r.s, 30000 * MS);
	sim_enter(r.s, 30000 * MS, IN_TRACKER, VMSPAN_SPAN);
	r.s->off += 4990 * MS;
	end_all(&r, 35000 * MS);
	assert_int_equal(tracker.ended, 2);
	assert_true(tracker.notable);
	sim_event(r.s, 40000 * MS);
	sim_enter(r.s, 40000 * MS, IN_TRACKER, VMSPAN_SPAN);
	r.s->off += 4990 * MS;
	end_all(&r, 44999 * MS);
	assert_int_equal(tracker.ended, 3);
	assert_false(tracker.notable);
	rig_close(&r);
}

/* A stay in it has changed CPU before. */
static void what_changed_cpu_in_it_is_in_its_time(void **state)
{
	struct seen tracker = { 0 };
	struct rig r;

	(void)state;
	begin_turn(&r, &tracker);
	r.s->cpu = 1;
	sim_leave(r.s, 1800 * MS);
	assert_int_equal(feed(&r), 0);
	sim_enter(r.s, 1900 * MS, IN_TRACKER, VMSPAN_SPAN);
	look(&r, 1000 * MS, 2100 * MS);
	assert_int_equal(tracker.open, 1);
	assert_int_equal(tracker.total, 1000 * MS);
	assert_int_equal(tracker.uncharged, 800 * MS);
	rig_close(&r);
}

/* Records that have ended and not come are in the figures, and come once. */
static void what_has_not_come_is_shown_and_not_kept(void **state)
{
	struct seen shop = { 0 };
	struct rig r;
	u32 i;

	(void)state;
	rig_open(&r, NULL);
	see(&r, "page:shop", &shop);
	sim_event(r.s, 1000 * MS);
	sim_enter(r.s, 1000 * MS, IN_SHOP, VMSPAN_SPAN);
	for (i = 1; i < 5; i++)
		look(&r, 1000 * MS, (1000 + i * 300) * MS);
	assert_int_equal(shop.open, 1);
	assert_int_equal(shop.nodes, 1);
	end_all(&r, 2300 * MS);
	assert_int_equal(shop.ended, 1);
	assert_int_equal(shop.nodes, 1);
	assert_int_equal(shop.total, 1300 * MS);
	rig_close(&r);
}

/* ---- What was told of is remembered while it goes on, and no longer ---- */

static bool told(struct opens *o, u32 pid, u64 thread, u32 iteration, const char *group)
{
	const struct model_thread t = { .pid = pid, .id = thread };
	const struct model_event e = { .thread = &t, .iteration = iteration };

	return opens_tell(o, &e, group, false) == TOLD_FIRST;
}

static void ended(struct opens *o, u64 thread, u32 iteration)
{
	const struct model_thread t = { .pid = 1, .id = thread };

	opens_end(o, &(struct model_event){ .thread = &t, .iteration = iteration });
}

static void a_group_is_told_of_once_an_event(void **state)
{
	struct opens *o = opens_new();

	(void)state;
	assert_non_null(o);
	assert_true(told(o, 1, 7, 1, "a"));
	assert_false(told(o, 1, 7, 1, "a"));
	assert_true(told(o, 1, 7, 2, "a")); /* nested in it */
	assert_true(told(o, 1, 8, 1, "a"));
	ended(o, 7, 2);
	assert_false(told(o, 1, 7, 1, "a"));
	ended(o, 7, 1);
	ended(o, 7, 1);
	assert_true(told(o, 1, 7, 1, "a"));
	assert_false(told(o, 1, 8, 1, "a"));
	opens_free(o);
}

/* A target decides how much there is to be remembered. */
static void what_is_remembered_is_bounded(void **state)
{
	static const char names[OPEN_GROUPS + 1];
	struct opens *o = opens_new();
	u32 i;

	(void)state;
	assert_non_null(o);
	for (i = 0; i < OPEN_GROUPS; i++)
		assert_true(told(o, 1, 1, 1, &names[i]));
	assert_false(told(o, 1, 1, 1, &names[i]));
	for (i = 2; i <= OPEN_EVENTS; i++)
		assert_true(told(o, 1, i / 4, 1 + i, "a"));
	/* The one that was told of longest ago makes room, whoever has ended unseen. */
	assert_false(told(o, 1, 1, 1, &names[0]));
	assert_true(told(o, 3, i, 1, "a"));
	assert_false(told(o, 3, i, 1, "a"));
	assert_false(told(o, 1, 1, 1, &names[0]));
	assert_true(told(o, 1, 2 / 4, 1 + 2, "a"));
	opens_free(o);
}

/* All events of a process at once, and those of no other. */
static void a_process_that_ends_is_forgotten(void **state)
{
	struct opens *o = opens_new();
	u32 i;

	(void)state;
	assert_non_null(o);
	for (i = 0; i < 200; i++)
		assert_true(told(o, 1 + i / 4 % 2, i / 4, i, "a"));
	opens_process(o, 1);
	for (i = 0; i < 200; i++)
		assert_int_equal(told(o, 1 + i / 4 % 2, i / 4, i, "a"), i / 4 % 2 == 0);
	opens_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_hangs_is_told_after_a_second_and_once),
		cmocka_unit_test(each_event_is_told_of),
		cmocka_unit_test(rules_hold_while_it_goes_on),
		cmocka_unit_test(who_asks_for_alerts_gets_no_others),
		cmocka_unit_test(who_is_to_blame_later_is_told_of_then),
		cmocka_unit_test(many_threads_that_hang_are_told_of_once),
		cmocka_unit_test(the_first_telling_is_not_hidden_by_anothers_second),
		cmocka_unit_test(what_has_ended_is_not_told_of_as_if_it_went_on),
		cmocka_unit_test(what_is_outside_of_events_is_no_turn),
		cmocka_unit_test(what_stands_still_is_shown_and_its_end_too),
		cmocka_unit_test(what_changed_cpu_in_it_is_in_its_time),
		cmocka_unit_test(what_has_not_come_is_shown_and_not_kept),
		cmocka_unit_test(a_group_is_told_of_once_an_event),
		cmocka_unit_test(what_is_remembered_is_bounded),
		cmocka_unit_test(a_process_that_ends_is_forgotten),
	};

	return cmocka_run_group_tests_name("alert_open", tests, NULL, NULL);
}
