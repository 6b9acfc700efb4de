/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose doing a long event was: by what ran inside of what. */
#include "alert_rig.h"

/* A group besides those of the rig: an add-on around another. */
enum {
	SPELL = MAIL + 1,
	IN_SPELL = IN_MAIL + 1,
};

struct two {
	struct rig r;
	struct heard spell, tracker;
};

static void two_open(struct two *t, const struct alert_config *config)
{
	const u32 spell[] = { SPELL };

	*t = (struct two){ 0 };
	rig_open(&t->r, config);
	sim_define(t->r.m, SIM_PID, VMSPAN_DEF_GROUP, SPELL, VMSPAN_ADDON, "spell", NULL, 0);
	sim_define(t->r.m, SIM_PID, VMSPAN_DEF_COMPARTMENT, IN_SPELL, 0, "spell", spell, 1);
	listen(&t->r, &t->spell, "s", "addon:spell");
	listen(&t->r, &t->tracker, "t", "addon:tracker");
	sim_event(t->r.s, 1000 * MS);
}

/* A stay of comp from `at` to `end` ms, in what is open. */
static void stay(struct two *t, u64 at, u64 end, u32 comp)
{
	sim_enter(t->r.s, at * MS, comp, VMSPAN_SPAN);
	sim_leave(t->r.s, end * MS);
}

static void two_close(struct two *t, u64 end)
{
	sim_event_end(t->r.s, end * MS);
	assert_int_equal(feed(&t->r), 0);
	assert_int_equal(alerts_flush(t->r.a), 0);
	assert_int_equal(t->spell.alerts, 1);
	assert_int_equal(t->tracker.alerts, 1);
	rig_close(&t->r);
}

/* Rule: of a group's time, what another had inside of it counts, not what both had in all.
 * Seen of the demo host: tracker was charged more than what it ran in. */
static void who_ran_beside_it_too_is_its_cause_for_what_ran_inside(void **state)
{
	struct two t;

	(void)state;
	two_open(&t, NULL);
	sim_enter(t.r.s, 1000 * MS, IN_SHOP, VMSPAN_SPAN);
	sim_enter(t.r.s, 1000 * MS, IN_SPELL, VMSPAN_SPAN);
	stay(&t, 1001, 1139, IN_TRACKER);
	sim_leave(t.r.s, 1140 * MS);
	stay(&t, 1140, 1147, IN_TRACKER);
	sim_leave(t.r.s, 1150 * MS);
	two_close(&t, 1150);
	assert_int_equal(t.tracker.last_total, 145 * MS);
	assert_int_equal(t.tracker.cause, CAUSE_OWN);
	assert_int_equal(t.spell.last_total, 140 * MS);
	assert_int_equal(t.spell.cause, CAUSE_INNER);
	assert_string_equal(t.spell.inner, "addon:tracker");
}

/* Rule: who ran beside a group, and for less, explains nothing of it. */
static void who_ran_beside_it_is_not_its_cause(void **state)
{
	struct two t;

	(void)state;
	two_open(&t, NULL);
	sim_enter(t.r.s, 1000 * MS, IN_SHOP, VMSPAN_SPAN);
	stay(&t, 1000, 1100, IN_SPELL);
	stay(&t, 1100, 1175, IN_TRACKER);
	sim_leave(t.r.s, 1175 * MS);
	two_close(&t, 1175);
	assert_int_equal(t.spell.cause, CAUSE_OWN);
	assert_int_equal(t.tracker.cause, CAUSE_OWN);
}

/* Rule: of two that call each other the one that had more inside the other is inside. */
static void of_groups_that_call_each_other_one_is_the_cause(void **state)
{
	struct two t;

	(void)state;
	two_open(&t, NULL);
	sim_enter(t.r.s, 1000 * MS, IN_SPELL, VMSPAN_SPAN);
	sim_enter(t.r.s, 1002 * MS, IN_TRACKER, VMSPAN_SPAN);
	stay(&t, 1004, 1020, IN_SPELL);
	sim_leave(t.r.s, 1100 * MS);
	sim_leave(t.r.s, 1101 * MS);
	two_close(&t, 1101);
	assert_int_equal(t.spell.last_total, 101 * MS);
	assert_int_equal(t.spell.cause, CAUSE_INNER);
	assert_int_equal(t.tracker.last_total, 98 * MS);
	assert_int_equal(t.tracker.cause, CAUSE_OWN);
}

/* Rule: a stay is of all groups of its compartment. mail had more than spell, in a compartment
 * that names it second, but beside it; tracker ran in spell, in one that names it second. */
static void groups_that_are_not_the_first_of_their_compartment_are_told_of(void **state)
{
	const u32 mail[] = { SHOP, MAIL }, tracker[] = { SHOP, TRACKER };
	struct heard shop = { 0 };
	struct two t;

	(void)state;
	two_open(&t, NULL);
	listen(&t.r, &shop, "p", "page:mail");
	sim_define(t.r.m, SIM_PID, VMSPAN_DEF_COMPARTMENT, 100, 0, "mail", mail, 2);
	sim_define(t.r.m, SIM_PID, VMSPAN_DEF_COMPARTMENT, 101, 0, "tracker", tracker, 2);
	stay(&t, 1000, 1100, 100);
	sim_enter(t.r.s, 1100 * MS, IN_SPELL, VMSPAN_SPAN);
	stay(&t, 1101, 1175, 101);
	sim_leave(t.r.s, 1190 * MS);
	two_close(&t, 1190);
	assert_int_equal(shop.last_total, 100 * MS);
	assert_int_equal(shop.cause, CAUSE_OWN);
	assert_int_equal(t.spell.last_total, 90 * MS);
	assert_int_equal(t.spell.cause, CAUSE_INNER);
	assert_string_equal(t.spell.inner, "addon:tracker");
	assert_int_equal(t.tracker.cause, CAUSE_OWN);
}

/* Rule: of groups that are all of one stay, the container is not the cause. */
static void of_groups_of_one_stay_the_add_on_is_the_cause(void **state)
{
	const u32 both[] = { SHOP, TRACKER, SPELL };
	struct heard shop = { 0 };
	struct two t;

	(void)state;
	two_open(&t, NULL);
	listen(&t.r, &shop, "p", "page:shop");
	sim_define(t.r.m, SIM_PID, VMSPAN_DEF_COMPARTMENT, 100, 0, "all", both, 3);
	stay(&t, 1000, 1100, 100);
	two_close(&t, 1100);
	assert_int_equal(shop.cause, CAUSE_INNER);
	assert_int_equal(t.spell.cause, CAUSE_OWN);
	assert_int_equal(t.tracker.cause, CAUSE_OWN);
}

/* Rule: of two that explain a group, one that has an alert of its own is named: B, which has
 * none, had 10 ms, and A the rest. */
static void who_is_told_of_is_named_first(void **state)
{
	struct heard top = { 0 };
	struct two t;

	(void)state;
	two_open(&t, NULL);
	listen(&t.r, &top, "t", "top:*");
	sim_enter(t.r.s, 1000 * MS, IN_SPELL, VMSPAN_SPAN);
	sim_enter(t.r.s, 1040 * MS, IN_TRACKER, VMSPAN_SPAN);
	stay(&t, 1050, 1090, IN_SPELL);
	sim_leave(t.r.s, 1090 * MS);
	sim_leave(t.r.s, 1090 * MS);
	sim_event_end(t.r.s, 1090 * MS);
	assert_int_equal(feed(&t.r), 0);
	assert_int_equal(alerts_flush(t.r.a), 0);
	assert_int_equal(t.tracker.alerts, 0);
	assert_int_equal(t.spell.last_total, 90 * MS);
	assert_int_equal(top.cause, CAUSE_INNER);
	assert_string_equal(top.inner, "addon:spell");
	rig_close(&t.r);
}

/* Takes up all room of the event's tree: stays of the page that take no time. */
static void fill_tree(struct two *t, u64 at)
{
	u32 i;

	for (i = 0; i < TREE_NODES; i++) {
		char name[32];

		snprintf(name, sizeof(name), "x%u", i);
		sim_define(t->r.m, SIM_PID, VMSPAN_DEF_COMPARTMENT, 100 + i, 0, name,
			   (const u32[]){ SHOP }, 1);
		stay(t, at, at, 100 + i);
		assert_int_equal(feed(&t->r), 0);
	}
}

/* A stay of comp that does next to nothing itself, around groups that are too short to be told
 * of. */
static void pass(struct two *t, u64 at, u64 end, u32 comp)
{
	u32 bit = 0;

	sim_enter(t->r.s, at * MS, comp, VMSPAN_SPAN);
	for (; at < end; at += 40, bit++) {
		const u32 group = 20 + comp * 4 + bit;
		char name[32];

		snprintf(name, sizeof(name), "bit%u", group);
		sim_define(t->r.m, SIM_PID, VMSPAN_DEF_GROUP, group, VMSPAN_ADDON, name, NULL, 0);
		sim_define(t->r.m, SIM_PID, VMSPAN_DEF_COMPARTMENT, group, 0, name, &group, 1);
		stay(t, at, min_u64(at + 40, end), group);
	}
	sim_leave(t->r.s, end * MS);
}

/* Rule: somebody is told of. By the tree tracker is in spell; it has no room for mail, and by
 * totals alone that is in tracker, and spell in mail. */
static void groups_in_a_circle_leave_one_that_is_told_of(void **state)
{
	struct heard mail = { 0 };
	struct two t;

	(void)state;
	two_open(&t, NULL);
	listen(&t.r, &mail, "p", "page:mail");
	sim_enter(t.r.s, 1000 * MS, IN_SPELL, VMSPAN_SPAN);
	pass(&t, 1001, 1139, IN_TRACKER);
	sim_leave(t.r.s, 1140 * MS);
	stay(&t, 1140, 1147, IN_TRACKER);
	fill_tree(&t, 1147);
	pass(&t, 1147, 1289, IN_MAIL);
	two_close(&t, 1289);
	assert_int_equal(t.spell.last_total, 140 * MS);
	assert_int_equal(t.spell.cause, CAUSE_OWN);
	assert_int_equal(mail.last_total, 142 * MS);
	assert_string_equal(mail.inner, "addon:spell");
	assert_int_equal(t.tracker.last_total, 145 * MS);
	assert_string_equal(t.tracker.inner, "page:mail");
}

/* Rule: without the tree, totals decide. Of its 512 nodes none is left for tracker here. */
static void without_its_tree_the_shorter_one_is_inside(void **state)
{
	struct two t;

	(void)state;
	two_open(&t, NULL);
	sim_enter(t.r.s, 1000 * MS, IN_SPELL, VMSPAN_SPAN);
	fill_tree(&t, 1000);
	stay(&t, 1001, 1100, IN_TRACKER);
	sim_leave(t.r.s, 1101 * MS);
	two_close(&t, 1101);
	assert_int_equal(t.spell.cause, CAUSE_INNER);
	assert_string_equal(t.spell.inner, "addon:tracker");
}

/* Rule: what a group does when it is called back is its own doing, not that of who passes it
 * through: the library did nothing. With `more` of them between. */
static void who_is_called_back_is_the_cause(void **state)
{
	u32 before, more;

	(void)state;
	for (before = 0; before <= 60; before += 60)
		for (more = 0; more < 2; more++) {
			struct heard mail = { 0 };
			struct two t;

			two_open(&t, NULL);
			listen(&t.r, &mail, "p", "page:mail");
			sim_enter(t.r.s, 1000 * MS, IN_TRACKER, VMSPAN_SPAN);
			sim_enter(t.r.s, (1000 + before) * MS, IN_SPELL, VMSPAN_SPAN);
			if (more)
				sim_enter(t.r.s, (1000 + before) * MS, IN_MAIL, VMSPAN_SPAN);
			stay(&t, 1000 + before, 1080 + before, IN_TRACKER);
			if (more)
				sim_leave(t.r.s, (1080 + before) * MS);
			sim_leave(t.r.s, (1080 + before) * MS);
			sim_leave(t.r.s, (1080 + before) * MS);
			two_close(&t, 1080 + before);
			assert_int_equal(t.tracker.cause, CAUSE_OWN);
			assert_int_equal(t.spell.cause, CAUSE_INNER);
			assert_string_equal(t.spell.inner, "addon:tracker");
			assert_int_equal(mail.alerts, more);
			assert_int_equal(mail.cause, more ? CAUSE_INNER : CAUSE_OWN);
			assert_string_equal(mail.inner, more ? "addon:tracker" : "");
		}
}

/* Rule: each of three that call each other round has what it did as the innermost one. */
static void of_three_in_a_ring_those_that_did_enough_are_told_of(void **state)
{
	struct heard mail = { 0 };
	struct two t;

	(void)state;
	two_open(&t, NULL);
	listen(&t.r, &mail, "p", "page:mail");
	sim_enter(t.r.s, 1000 * MS, IN_SPELL, VMSPAN_SPAN);
	sim_enter(t.r.s, 1050 * MS, IN_TRACKER, VMSPAN_SPAN);
	sim_enter(t.r.s, 1055 * MS, IN_MAIL, VMSPAN_SPAN);
	stay(&t, 1060, 1140, IN_SPELL);
	sim_leave(t.r.s, 1140 * MS);
	sim_leave(t.r.s, 1140 * MS);
	sim_leave(t.r.s, 1140 * MS);
	two_close(&t, 1140);
	assert_int_equal(t.spell.cause, CAUSE_OWN);
	assert_string_equal(t.tracker.inner, "addon:spell");
	assert_string_equal(mail.inner, "addon:spell");
}

/* Rule: of two that are each as long inside the other the shorter one is inner; of those that
 * are alike in all neither is. */
static void who_did_as_much_as_the_other_is_told_of(void **state)
{
	struct two t;

	(void)state;
	two_open(&t, NULL);
	sim_enter(t.r.s, 1000 * MS, IN_SPELL, VMSPAN_SPAN);
	stay(&t, 1000, 1070, IN_TRACKER);
	sim_leave(t.r.s, 1070 * MS);
	sim_enter(t.r.s, 1070 * MS, IN_TRACKER, VMSPAN_SPAN);
	stay(&t, 1070, 1140, IN_SPELL);
	sim_leave(t.r.s, 1140 * MS);
	two_close(&t, 1140);
	assert_int_equal(t.spell.cause, CAUSE_OWN);
	assert_int_equal(t.tracker.cause, CAUSE_OWN);
}

/* spell passes on to tracker and shop, who each take so long. */
static void pass_on(struct two *t, struct heard *shop, u64 each)
{
	two_open(t, NULL);
	listen(&t->r, shop, "p", "page:shop");
	sim_enter(t->r.s, 1000 * MS, IN_SPELL, VMSPAN_SPAN);
	stay(t, 1000, 1000 + each, IN_TRACKER);
	stay(t, 1000 + each, 1000 + 2 * each, IN_SHOP);
	sim_leave(t->r.s, (1000 + 2 * each) * MS);
	sim_event_end(t->r.s, (1000 + 2 * each) * MS);
	assert_int_equal(feed(&t->r), 0);
	assert_int_equal(alerts_flush(t->r.a), 0);
	rig_close(&t->r);
}

/* Rule: who only passes on is not the cause where those who took the time are told of... */
static void who_passes_on_to_several_that_are_told_of_is_not_the_cause(void **state)
{
	struct heard shop = { 0 };
	struct two t;

	(void)state;
	pass_on(&t, &shop, 70);
	assert_int_equal(t.tracker.cause, CAUSE_OWN);
	assert_int_equal(shop.cause, CAUSE_OWN);
	assert_int_equal(t.spell.last_total, 140 * MS);
	assert_int_equal(t.spell.cause, CAUSE_INNER);
	assert_string_equal(t.spell.inner, "addon:tracker");
}

/* ...and is told of where nobody else is. */
static void who_passes_on_to_several_that_are_too_short_is_told_of(void **state)
{
	struct heard shop = { 0 };
	struct two t;

	(void)state;
	pass_on(&t, &shop, 60);
	assert_int_equal(t.tracker.alerts + shop.alerts, 0);
	assert_int_equal(t.spell.last_total, 120 * MS);
	assert_int_equal(t.spell.cause, CAUSE_OWN);
}

/* Rule: where the cause is too short to be told of itself, the innermost one around it names
 * it, but for one that somebody wants no alerts of. */
static void somebody_names_a_cause_that_has_no_alert(void **state)
{
	const struct alert_rule rule = { .glob = "addon:tracker", .ignore = true };
	const struct alert_config ignoring = { .rules = &rule, .rule_count = 1 };
	u32 ignored;

	(void)state;
	for (ignored = 0; ignored < 2; ignored++) {
		struct heard shop = { 0 }, top = { 0 }, tracker = { 0 };
		struct rig r;

		rig_open(&r, ignored ? &ignoring : NULL);
		listen(&r, &shop, "p", "page:shop");
		listen(&r, &top, "h", "top:*");
		listen(&r, &tracker, "t", "addon:tracker");
		sim_event(r.s, 1000 * MS);
		sim_enter(r.s, 1000 * MS, IN_SHOP, VMSPAN_SPAN);
		sim_enter(r.s, 1020 * MS, IN_TRACKER, VMSPAN_SPAN);
		sim_leave(r.s, 1080 * MS);
		sim_leave(r.s, 1100 * MS);
		sim_event_end(r.s, 1100 * MS);
		assert_int_equal(feed(&r), 0);
		assert_int_equal(alerts_flush(r.a), 0);
		assert_int_equal(tracker.alerts, 0);
		assert_string_equal(shop.inner, "addon:tracker");
		assert_string_equal(top.inner, "page:shop");
		assert_int_equal(shop.stands_in, !ignored);
		assert_false(top.stands_in);
		rig_close(&r);
	}
}

#define PAIRS 2000

/* Rule: of however many groups, more than a tree tells apart, none is told of that did nothing:
 * each of half of them does 1 ms itself. The longest come first. */
static void of_thousands_those_that_did_nothing_are_not_told_of(void **state)
{
	struct heard outer = { 0 }, inner = { 0 };
	u32 i, own_outer = 0, own_inner = 0;
	u64 at = 1000 * MS;
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	for (i = 0; i < 2 * PAIRS; i++) {
		u32 group = 100 + i;
		char name[32];

		snprintf(name, sizeof(name), "%s%u", i % 2 ? "in" : "out", i / 2);
		sim_define(r.m, SIM_PID, VMSPAN_DEF_GROUP, group, VMSPAN_ADDON, name, NULL, 0);
		sim_define(r.m, SIM_PID, VMSPAN_DEF_COMPARTMENT, 100 + i, 0, name, &group, 1);
	}
	outer.own = &own_outer;
	inner.own = &own_inner;
	listen(&r, &outer, "o", "addon:out*");
	listen(&r, &inner, "i", "addon:in*");
	sim_event(r.s, at);
	for (i = 0; i < PAIRS; i++) {
		sim_enter(r.s, at, 100 + 2 * i, VMSPAN_SPAN);
		sim_enter(r.s, at + MS, 101 + 2 * i, VMSPAN_SPAN);
		at += 90 * MS - i * MS / 200;
		sim_leave(r.s, at);
		sim_leave(r.s, at);
	}
	sim_event_end(r.s, at);
	assert_int_equal(feed(&r), 0);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(outer.alerts, PAIRS);
	assert_int_equal(inner.alerts, PAIRS);
	assert_int_equal(own_outer, 0);
	assert_int_equal(own_inner, PAIRS);
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_ran_beside_it_too_is_its_cause_for_what_ran_inside),
		cmocka_unit_test(who_ran_beside_it_is_not_its_cause),
		cmocka_unit_test(of_groups_that_call_each_other_one_is_the_cause),
		cmocka_unit_test(groups_that_are_not_the_first_of_their_compartment_are_told_of),
		cmocka_unit_test(of_groups_of_one_stay_the_add_on_is_the_cause),
		cmocka_unit_test(who_is_told_of_is_named_first),
		cmocka_unit_test(who_is_called_back_is_the_cause),
		cmocka_unit_test(of_three_in_a_ring_those_that_did_enough_are_told_of),
		cmocka_unit_test(who_did_as_much_as_the_other_is_told_of),
		cmocka_unit_test(who_passes_on_to_several_that_are_told_of_is_not_the_cause),
		cmocka_unit_test(who_passes_on_to_several_that_are_too_short_is_told_of),
		cmocka_unit_test(somebody_names_a_cause_that_has_no_alert),
		cmocka_unit_test(of_thousands_those_that_did_nothing_are_not_told_of),
		cmocka_unit_test(groups_in_a_circle_leave_one_that_is_told_of),
		cmocka_unit_test(without_its_tree_the_shorter_one_is_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
