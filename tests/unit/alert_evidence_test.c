/* SPDX-License-Identifier: BSD-2-Clause */
/* What an alert says of its group beside the time: why, what was before, whom
 * it waited for; and what the engine forgets. */
#include "alert_rig.h"

static struct alert last; /* its strings live as long as the model */
static char last_text[512];

static int keep(void *ctx, const struct alert *a)
{
	(void)ctx;
	last = *a;
	last.tree = NULL;
	alert_sentence(last_text, sizeof(last_text), a);
	return 0;
}

static const struct alert_observer keeper = { .alert = keep };

static void watch(struct rig *r, const char *glob)
{
	u64 id;

	rig_open(r, NULL);
	last = (struct alert){ 0 };
	assert_int_equal(listen_add(alerts_listeners(r->a), glob, &keeper, NULL, &id), 0);
}

/* shop runs for `ns`; `waits` of it are a blocking call. */
static void blocking_turn(struct rig *r, u64 at, u64 ns, u64 waits)
{
	sim_event(r->s, at);
	sim_enter(r->s, at, IN_SHOP, VMSPAN_SPAN);
	sim_enter(r->s, at, 0, VMSPAN_BLOCK);
	sim_leave(r->s, at + waits);
	sim_leave(r->s, at + ns);
	sim_event_end(r->s, at + ns);
	assert_int_equal(feed(r), 0);
}

/* A call that it made itself is the group's doing, though the CPU was idle. */
static void blocked_time_is_no_fault_of_the_system(void **state)
{
	struct rig r;

	(void)state;
	watch(&r, "page:shop");
	r.s->cpu_scale = 50;
	blocking_turn(&r, 1000 * MS, 126 * MS, 70 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(last.total_ns, 126 * MS);
	assert_int_equal(last.cause, CAUSE_OWN);
	rig_close(&r);
}

/* With the scheduler's record, time others had the CPU is not charged at all. */
static void in_exact_mode_the_system_is_no_cause(void **state)
{
	struct rig r;

	(void)state;
	watch(&r, "page:shop");
	alerts_exact(r.a, true);
	r.s->cpu_scale = 50;
	turn(&r, 1000 * MS, IN_SHOP, 126 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(last.cause, CAUSE_OWN);
	rig_close(&r);
}

static struct model_share share(const char *group, u64 wall, u64 cpu, u64 blocked)
{
	return (struct model_share){ .group = group,
				     .wall_ns = wall,
				     .cpu_ns = cpu,
				     .blocked_ns = blocked,
				     .self_ns = wall };
}

/* What is left of the outer group without the inner one: `cpu` and `blocked` of 80 ms. */
static enum alert_cause cause_of(u64 cpu, u64 blocked, bool exact, bool stock)
{
	const struct model_thread thread = {
		.pid = SIM_PID, .name = "t", .process = "p", .stock = stock
	};
	struct model_share shares[] = {
		share("package:app", 300 * MS, 90 * MS + cpu, blocked),
		share("package:heavy", 220 * MS, 90 * MS, 0),
	};
	const struct model_event e = { .thread = &thread,
				       .label = "",
				       .begin_ns = 1000 * MS,
				       .end_ns = 1300 * MS,
				       .cpu_ns = 90 * MS + cpu,
				       .shares = shares,
				       .share_count = 2 };
	struct rig r;

	shares[0].self_ns = 80 * MS - blocked;
	watch(&r, "package:app");
	alerts_exact(r.a, exact);
	assert_int_equal(alerts_observer.event(r.a, &e), 0);
	assert_int_equal(alerts_flush(r.a), 0);
	rig_close(&r);
	return last.cause;
}

static enum alert_cause outer_cause(u64 cpu, u64 blocked, bool exact)
{
	return cause_of(cpu, blocked, exact, false);
}

/* In one trace with a program of which the scheduler's record tells that, too. */
static void of_a_stock_vm_the_record_tells_nothing(void **state)
{
	u32 exact;

	(void)state;
	for (exact = 0; exact < 2; exact++) {
		assert_int_equal(cause_of(20 * MS, 43 * MS, exact, true), CAUSE_INNER);
		assert_int_equal(cause_of(20 * MS, 44 * MS, exact, true), CAUSE_OWN);
	}
}

/* On a busy machine the outer group is off the CPU for long, too: of what it did besides,
 * only what it is to blame for counts. */
static void a_busy_machine_does_not_make_the_caller_the_cause(void **state)
{
	(void)state;
	assert_int_equal(outer_cause(20 * MS, 0, false), CAUSE_INNER);
	assert_int_equal(outer_cause(20 * MS, 43 * MS, false), CAUSE_INNER);
	assert_int_equal(outer_cause(20 * MS, 44 * MS, false), CAUSE_OWN);
	assert_int_equal(outer_cause(64 * MS, 0, false), CAUSE_OWN);
	assert_int_equal(outer_cause(20 * MS, 0, true), CAUSE_OWN);
}

/* Nobody reads of time off the CPU that it was "its own code". */
static void the_sentence_says_how_long_it_had_the_cpu(void **state)
{
	struct rig r;

	(void)state;
	watch(&r, "page:shop");
	r.s->cpu_scale = 50;
	turn(&r, 1000 * MS, IN_SHOP, 126 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_string_equal(last_text,
			    "page:shop held host (100)'s loop for 126 ms; its thread had "
			    "the CPU for 63.0 ms of it, else it waited or others ran");
	turn(&r, 2000 * MS, IN_SHOP, 130 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_string_equal(last_text,
			    "page:shop held host (100)'s loop for 130 ms, 100 % of it in its "
			    "own code; its thread had the CPU for 65.0 ms of it");
	r.s->cpu_scale = 75;
	turn(&r, 3000 * MS, IN_SHOP, 130 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_string_equal(last_text,
			    "page:shop held host (100)'s loop for 130 ms, 100 % of it in its "
			    "own code");
	rig_close(&r);
}

/* A container's time is explained by half of it; any less is its own. */
static void half_of_a_container_is_enough(void **state)
{
	u64 inner;

	(void)state;
	for (inner = 80 * MS - 1; inner <= 80 * MS; inner++) {
		struct rig r;

		watch(&r, "page:shop");
		sim_event(r.s, 1000 * MS);
		sim_enter(r.s, 1000 * MS, IN_SHOP, VMSPAN_SPAN);
		sim_enter(r.s, 1000 * MS, IN_TRACKER, VMSPAN_SPAN);
		sim_leave(r.s, 1000 * MS + inner);
		sim_leave(r.s, 1160 * MS);
		sim_event_end(r.s, 1160 * MS);
		assert_int_equal(feed(&r), 0);
		assert_int_equal(alerts_flush(r.a), 0);
		assert_int_equal(last.cause, inner < 80 * MS ? CAUSE_OWN : CAUSE_INNER);
		rig_close(&r);
	}
}

static void the_longest_wait_since_the_last_alert_is_kept(void **state)
{
	struct rig r;

	(void)state;
	watch(&r, "page:shop");
	blocking_turn(&r, 1000 * MS, 60 * MS, 50 * MS); /* too short to alert */
	blocking_turn(&r, 1100 * MS, 70 * MS, 10 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(last.blocked_ns, 10 * MS);
	assert_int_equal(last.highest_blocked_ns, 50 * MS);
	blocking_turn(&r, 2000 * MS, 70 * MS, 20 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(last.highest_blocked_ns, 20 * MS);
	rig_close(&r);
}

/* Of a burst the longest event is shown; of equals the first, as it was live and as it is
 * from a recording. */
static void of_equal_events_the_first_is_shown(void **state)
{
	struct rig r;

	(void)state;
	watch(&r, "page:shop");
	turn(&r, 1000 * MS, IN_SHOP, 64 * MS);
	turn(&r, 1070 * MS, IN_SHOP, 64 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(last.occurrences, 2);
	assert_int_equal(last.event.begin_ns, 1000 * MS);
	turn(&r, 2000 * MS, IN_SHOP, 64 * MS);
	turn(&r, 2070 * MS, IN_SHOP, 64 * MS + 1);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(last.event.begin_ns, 2070 * MS);
	rig_close(&r);
}

/* The last 16 events, oldest first. */
static void the_past_is_in_order(void **state)
{
	struct rig r;
	u32 i;

	(void)state;
	watch(&r, "page:shop");
	for (i = 1; i <= ALERT_HISTORY + 5; i++)
		turn(&r, i * 1000 * MS, IN_SHOP, i * MS);
	turn(&r, i * 1000 * MS, IN_SHOP, 70 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(last.past_count, ALERT_HISTORY);
	for (i = 0; i + 1 < ALERT_HISTORY; i++)
		assert_int_equal(last.past[i].total_ns, (i + 7) * MS);
	assert_int_equal(last.past[i].total_ns, 70 * MS);
	assert_int_equal(last.past[i].end_ns, last.event.end_ns);
	assert_int_equal(last.group_events, ALERT_HISTORY + 6);
	rig_close(&r);
}

/* What another thread did is told of when that hands over. */
static void the_past_is_in_order_though_it_is_told_late(void **state)
{
	static const u32 order[] = { 40, 2,  1,  3,  7,  5,  6,  4,  30, 9,
				     8,  20, 10, 11, 12, 13, 14, 15, 16 };
	const u32 n = ARRAY_SIZE(order);
	struct rig r;
	u32 i;

	(void)state;
	watch(&r, "page:shop");
	for (i = 0; i < n; i++)
		turn(&r, order[i] * 1000 * MS, IN_SHOP, order[i] * MS);
	/* Older than all that are kept. */
	turn(&r, 3500 * MS, IN_SHOP, 3 * MS);
	turn(&r, 50 * 1000 * MS, IN_SHOP, 70 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(last.past_count, ALERT_HISTORY);
	/* The sixteen that ended last. */
	for (i = 1; i < ALERT_HISTORY; i++)
		assert_true(last.past[i - 1].end_ns < last.past[i].end_ns);
	assert_int_equal(last.past[i - 1].total_ns, 70 * MS);
	assert_int_equal(last.past[i - 2].total_ns, 40 * MS);
	assert_int_equal(last.past[i - 3].total_ns, 30 * MS);
	assert_int_equal(last.past[i - 4].total_ns, 20 * MS);
	assert_int_equal(last.past[i - 5].total_ns, 16 * MS);
	assert_int_equal(last.past[0].total_ns, 5 * MS);
	/* Nor does the alert's own event take a newer one's place. */
	turn(&r, 3500 * MS, IN_SHOP, 80 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(last.event.begin_ns, 3500 * MS);
	assert_int_equal(last.past[0].total_ns, 5 * MS);
	rig_close(&r);
}

/* A process that ended takes its groups' past with it: one that has its pid
 * and its names later is another. */
static void a_process_that_ended_is_forgotten(void **state)
{
	struct item gone = { .type = ITEM_PROCESS,
			     .process = { PROCESS_EXIT, SIM_PID, 1, 1500 * MS, "host", "sdk" } };
	const u32 shop[] = { SHOP };
	struct rig r;

	(void)state;
	watch(&r, "page:shop");
	turn(&r, 1000 * MS, IN_SHOP, 70 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(last.group_events, 1);
	assert_int_equal(model_item(r.m, &gone), 0);
	gone.process.change = PROCESS_SEEN;
	assert_int_equal(model_item(r.m, &gone), 0);
	sim_define(r.m, SIM_PID, VMSPAN_DEF_GROUP, SHOP, VMSPAN_PAGE, "shop", NULL, 0);
	sim_define(r.m, SIM_PID, VMSPAN_DEF_COMPARTMENT, IN_SHOP, 0, "shop", shop, 1);
	turn(&r, 2000 * MS, IN_SHOP, 70 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(last.id, 3); /* top: had the first two's second */
	assert_int_equal(last.group_events, 1);
	assert_int_equal(last.past_count, 1);
	rig_close(&r);
}

/* An event as the model shows it, of one group, with waits. */
static void show(struct rig *r, const struct model_share *share, const struct model_wait *waits,
		 u32 count)
{
	static const struct model_thread thread = { .pid = SIM_PID, .name = "t", .process = "p" };
	struct model_event e = { .thread = &thread,
				 .label = "",
				 .iteration = 1,
				 .begin_ns = 1000 * MS,
				 .end_ns = 1100 * MS,
				 .shares = share,
				 .share_count = 1,
				 .waits = waits,
				 .wait_count = count };

	assert_int_equal(alerts_observer.event(r->a, &e), 0);
	assert_int_equal(alerts_flush(r->a), 0);
}

static void the_longest_wait_of_its_own_is_told(void **state)
{
	const struct model_share share = { .group = "page:shop", .wall_ns = 90 * MS };
	const struct model_wait waits[] = {
		{ .group = "page:shop", .peer_pid = 1, .ns = 10 * MS, .count = 1 },
		{ .group = "page:shop", .peer_pid = 2, .ns = 30 * MS, .count = 3 },
		{ .group = "page:shop", .peer_pid = 3, .ns = 20 * MS, .count = 1 },
		{ .group = "page:mail", .peer_pid = 4, .ns = 50 * MS, .count = 1 },
	};
	struct rig r;

	(void)state;
	watch(&r, "page:shop");
	show(&r, &share, waits, ARRAY_SIZE(waits));
	assert_int_equal(last.wait.peer_pid, 2);
	assert_int_equal(last.wait.count, 3);
	rig_close(&r);
}

/* More groups than are watched: the others' alerts come, theirs are counted. */
static void groups_beyond_the_bound_are_counted(void **state)
{
	struct model_share share = { .wall_ns = 90 * MS };
	char(*names)[32] = calloc(ALERT_GROUPS + 2, sizeof(*names));
	struct alert_counts n;
	struct rig r;
	u32 i;

	(void)state;
	assert_non_null(names);
	watch(&r, "*");
	for (i = 0; i < ALERT_GROUPS + 2; i++) {
		snprintf(names[i], sizeof(names[i]), "tenant:%u", i);
		share.group = names[i];
		show(&r, &share, NULL, 0);
	}
	alerts_counts(r.a, &n);
	assert_int_equal(n.delivered, ALERT_GROUPS);
	assert_int_equal(n.unwatched, 2);
	share.group = names[7];
	show(&r, &share, NULL, 0);
	assert_int_equal(last.group_events, 2);
	rig_close(&r);
	free(names);
}

/* An observer may hand on more of the stream and flush: its own delivery ends
 * first, and what came is a batch of its own. */
static struct rig *outer;
static u32 calls, batches, deepest, depth;

static int flush_inside(void *ctx, const struct alert *a)
{
	(void)ctx;
	(void)a;
	depth++;
	deepest = depth > deepest ? depth : deepest;
	if (!calls++) {
		turn(outer, 5000 * MS, IN_SHOP, 70 * MS);
		assert_int_equal(alerts_flush(outer->a), 0);
	}
	depth--;
	return 0;
}

static int count_batch(void *ctx, const struct alert_batch *b)
{
	(void)ctx;
	(void)b;
	batches++;
	return 0;
}

static void delivery_is_not_entered_twice(void **state)
{
	static const struct alert_observer o = { .alert = flush_inside, .batch = count_batch };
	struct rig r;
	u64 id;

	(void)state;
	rig_open(&r, NULL);
	outer = &r;
	assert_int_equal(listen_add(alerts_listeners(r.a), "page:shop", &o, NULL, &id), 0);
	turn(&r, 1000 * MS, IN_SHOP, 70 * MS);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(calls, 1);
	assert_int_equal(alerts_flush(r.a), 0);
	assert_int_equal(calls, 2);
	assert_int_equal(batches, 2);
	assert_int_equal(deepest, 1);
	rig_close(&r);
}

/* The words name whom it waited for longest, however deep. */
static void the_sentence_names_the_longest_peer(void **state)
{
	struct tree_node far = { .type = VMSPAN_BLOCK, .peer = 9, .total_ns = 40 * MS };
	struct tree_node next = { .type = VMSPAN_BLOCK, .peer = 5, .total_ns = 20 * MS };
	struct tree_node first = {
		.type = VMSPAN_SPAN, .group = "page:shop", .child = &far, .next = &next
	};
	struct tree tree = { .roots = &first };
	struct alert a = { .group = "page:shop",
			   .process = "p",
			   .total_ns = 80 * MS,
			   .blocked_ns = 60 * MS,
			   .tree = &tree };
	char text[256];

	(void)state;
	assert_non_null(strstr(alert_sentence(text, sizeof(text), &a), "waiting for process 9"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocked_time_is_no_fault_of_the_system),
		cmocka_unit_test(in_exact_mode_the_system_is_no_cause),
		cmocka_unit_test(a_busy_machine_does_not_make_the_caller_the_cause),
		cmocka_unit_test(of_a_stock_vm_the_record_tells_nothing),
		cmocka_unit_test(the_sentence_says_how_long_it_had_the_cpu),
		cmocka_unit_test(half_of_a_container_is_enough),
		cmocka_unit_test(the_longest_wait_since_the_last_alert_is_kept),
		cmocka_unit_test(of_equal_events_the_first_is_shown),
		cmocka_unit_test(the_past_is_in_order),
		cmocka_unit_test(the_past_is_in_order_though_it_is_told_late),
		cmocka_unit_test(a_process_that_ended_is_forgotten),
		cmocka_unit_test(the_longest_wait_of_its_own_is_told),
		cmocka_unit_test(groups_beyond_the_bound_are_counted),
		cmocka_unit_test(delivery_is_not_entered_twice),
		cmocka_unit_test(the_sentence_names_the_longest_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
