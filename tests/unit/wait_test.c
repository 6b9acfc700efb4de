/* SPDX-License-Identifier: BSD-2-Clause */
/* Exact mode: why and on whom a group waited. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "model/wait.h"
#include "sim.h"

#define PEER_PID 200

/* The event's waits as last shown. */
static struct model_wait seen[16];
static u32 seen_count;

static int take_event(void *ctx, const struct model_event *e)
{
	(void)ctx;
	assert_true(e->wait_count <= ARRAY_SIZE(seen));
	if (e->wait_count)
		memcpy(seen, e->waits, e->wait_count * sizeof(*seen));
	seen_count = e->wait_count;
	return 0;
}

static const struct model_observer ops = { .event = take_event };

/* Off the CPU until `pid` woke it, whose compartment `comp` of a process of `comm`. */
static void woken_from(struct sim *sched, u16 reason, u64 begin, u64 end, u32 pid, u32 comp,
		       const char *comm)
{
	struct vmspan_wake *w = sim_record(sched, VMSPAN_WAKE, 1, 0, comp);
	struct vmspan_span *off;

	w->registry = SIM_REGISTRY;
	memcpy(w->comm, comm, strlen(comm));
	sim_off(sched, begin, end, reason);
	off = (void *)sched->data[sched->slots - 1];
	off->iteration = pid;
}

static void woken(struct sim *sched, u64 begin, u64 end, u32 pid, u32 comp, const char *comm)
{
	woken_from(sched, VMSPAN_OFF_SLEEPING, begin, end, pid, comp, comm);
}

static struct model *exact_model(void)
{
	struct model *m = model_make(&(struct model_config){ .exact = true });

	model_observe(m, &ops, NULL);
	return m;
}

static void traced_peer(struct model *m)
{
	struct item it = { .type = ITEM_PROCESS };
	u32 group = 1;

	it.process = (struct item_process){ PROCESS_SEEN, PEER_PID, 1, 1, "helper", "sdk" };
	assert_int_equal(model_item(m, &it), 0);
	sim_define(m, PEER_PID, VMSPAN_DEF_GROUP, 1, VMSPAN_ADDON, "b", NULL, 0);
	sim_define(m, PEER_PID, VMSPAN_DEF_COMPARTMENT, 1, 0, "b", &group, 1);
}

static void same_wait(const struct model_wait *w, const char *group, u32 pid, const char *process,
		      const char *peer_group, u64 ns, u64 count)
{
	assert_string_equal(w->group, group);
	assert_int_equal(w->peer_pid, pid);
	assert_string_equal(w->peer_process, process);
	assert_string_equal(w->peer_group, peer_group);
	assert_int_equal(w->ns, ns);
	assert_int_equal(w->count, count);
}

/* A wait belongs to the compartment that was innermost, announced calls in it
 * included, and what no compartment was in is native. The peer is named by its
 * group where it is traced, else by its process. */
static void waits_have_peers(void **state)
{
	struct sim *s = sim_new(1), *sched = sim_new(1);
	struct model *m = exact_model();
	struct snapshot *snap, *later, *delta;

	(void)state;
	traced_peer(m);
	sim_off(sched, 1, 1, VMSPAN_OFF_START);
	woken(sched, 1110, 1140, PEER_PID, 1, "comm");
	woken(sched, 1150, 1155, PEER_PID, 1, "comm");
	woken(sched, 1210, 1240, 300, 0, "a name of 16 b..");
	sim_off(sched, 1250, 1260, VMSPAN_OFF_SLEEPING); /* by nobody */
	woken(sched, 1320, 1330, 300, 0, "a name of 16 b..");
	sim_event(s, 1000);
	sim_enter(s, 1100, 1, VMSPAN_SPAN);
	sim_enter(s, 1105, 0, VMSPAN_BLOCK);
	s->off += 30;
	sim_leave(s, 1145); /* the first is in the call, which is in a */
	s->off += 5;
	sim_enter(s, 1200, 2, VMSPAN_SPAN);
	s->off += 40;
	sim_leave(s, 1300);
	sim_leave(s, 1310);
	s->off += 10;
	sim_event_end(s, 1400);
	sim_feed_sched(sched, m);
	sim_feed(s, m, 10);
	assert_int_equal(seen_count, 3);
	same_wait(&seen[0], "addon:a", PEER_PID, "helper", "addon:b", 35, 2);
	same_wait(&seen[1], "addon:b", 300, "a name of 16 b..", "", 30, 1);
	same_wait(&seen[2], "(native)", 300, "a name of 16 b..", "", 10, 1);
	snap = snapshot_take(m);
	assert_int_equal(snap->wait_count, 3);
	assert_int_equal(snap->waits[0].pid, SIM_PID);
	same_wait(&snap->waits[0], "addon:a", PEER_PID, "helper", "addon:b", 35, 2);
	assert_int_equal(snap->events.incomplete, 0);
	/* Totals never decrease; a difference is what came between. */
	woken(sched, 2010, 2020, PEER_PID, 1, "comm");
	sim_event(s, 2000);
	sim_enter(s, 2001, 1, VMSPAN_SPAN);
	s->off += 10;
	sim_leave(s, 2030);
	sim_event_end(s, 2100);
	sim_sched_batch(sched, m, sched->records - 2, sched->records);
	assert_int_equal(sim_batch(s, m, SIM_PID, s->records - 2, s->records), 0);
	later = snapshot_take(m);
	delta = snapshot_delta(later, snap);
	same_wait(&later->waits[0], "addon:a", PEER_PID, "helper", "addon:b", 45, 3);
	same_wait(&delta->waits[0], "addon:a", PEER_PID, "helper", "addon:b", 10, 1);
	assert_int_equal(delta->waits[1].count, 0);
	snapshot_free(delta);
	snapshot_free(later);
	snapshot_free(snap);
	model_free(m);
	free(sched);
	free(s);
}

/* Who lost the CPU on the way to sleep may be woken before it gets it back: it waited for
 * the CPU, and for nobody. */
static void the_preempted_wait_for_nobody(void **state)
{
	struct sim *s = sim_new(1), *sched = sim_new(1);
	struct model *m = exact_model();

	(void)state;
	traced_peer(m);
	sim_off(sched, 1, 1, VMSPAN_OFF_START);
	woken_from(sched, VMSPAN_OFF_PREEMPTED, 1110, 1140, PEER_PID, 1, "comm");
	woken(sched, 1150, 1155, PEER_PID, 1, "comm");
	sim_event(s, 1000);
	sim_enter(s, 1100, 1, VMSPAN_SPAN);
	s->off += 35;
	sim_leave(s, 1200);
	sim_event_end(s, 1400);
	sim_feed_sched(sched, m);
	sim_feed(s, m, 10);
	assert_int_equal(seen_count, 1);
	same_wait(&seen[0], "addon:a", PEER_PID, "helper", "addon:b", 5, 1);
	model_free(m);
	free(sched);
	free(s);
}

/* Two groups of one process are two peers, also within one event. */
static void groups_of_one_process_are_two(void **state)
{
	struct sim *s = sim_new(1), *sched = sim_new(1);
	struct model *m = exact_model();
	u32 group = 2;

	(void)state;
	traced_peer(m);
	sim_define(m, PEER_PID, VMSPAN_DEF_GROUP, 2, VMSPAN_ADDON, "c", NULL, 0);
	sim_define(m, PEER_PID, VMSPAN_DEF_COMPARTMENT, 2, 0, "c", &group, 1);
	sim_off(sched, 1, 1, VMSPAN_OFF_START);
	woken(sched, 1110, 1120, PEER_PID, 1, "comm");
	woken(sched, 1130, 1150, PEER_PID, 2, "comm");
	woken(sched, 1160, 1165, PEER_PID, 1, "comm");
	sim_event(s, 1000);
	sim_enter(s, 1100, 1, VMSPAN_SPAN);
	s->off += 35;
	sim_leave(s, 1200);
	sim_event_end(s, 1300);
	sim_feed_sched(sched, m);
	sim_feed(s, m, 10);
	assert_int_equal(seen_count, 2);
	same_wait(&seen[0], "addon:a", PEER_PID, "helper", "addon:b", 15, 2);
	same_wait(&seen[1], "addon:a", PEER_PID, "helper", "addon:c", 20, 1);
	model_free(m);
	free(sched);
	free(s);
}

static void each_reason_has_its_own_sum(void **state)
{
	struct sim *s = sim_new(1), *sched = sim_new(1);
	struct model *m = exact_model();
	const struct snapshot_group *g;
	struct snapshot *snap;
	u32 reason;

	(void)state;
	sim_off(sched, 1, 1, VMSPAN_OFF_START);
	for (reason = VMSPAN_OFF_PREEMPTED; reason < VMSPAN_OFF_REASONS; reason++) {
		u64 t = 1000ull * reason;

		sim_off(sched, t + 100, t + 110 + reason, reason);
		sim_off(sched, t + 600, t + 620 + reason, reason);
		sim_event(s, t);
		s->off += 10 + reason;
		sim_enter(s, t + 500, 1, VMSPAN_SPAN);
		s->off += 20 + reason;
		sim_leave(s, t + 700);
		sim_event_end(s, t + 900);
	}
	sim_feed_sched(sched, m);
	sim_feed(s, m, 10);
	snap = snapshot_take(m);
	assert_non_null(snap);
	assert_int_equal(snap->events.incomplete, 0);
	g = snapshot_group(snap, "addon:a");
	assert_non_null(g);
	for (reason = VMSPAN_OFF_PREEMPTED; reason < VMSPAN_OFF_REASONS; reason++) {
		assert_int_equal(snap->ledger.native_off_ns[reason], 10 + reason);
		assert_int_equal(g->stats.off_ns[reason], 20 + reason);
	}
	snapshot_free(snap);
	model_free(m);
	free(sched);
	free(s);
}

/* A wait whose peer is told of without its group takes nobody else's: not that
 * of the wait before. */
static void unknown_group(void **state)
{
	struct sim *s = sim_new(1), *sched = sim_new(1);
	struct model *m = exact_model();

	(void)state;
	traced_peer(m);
	sim_off(sched, 1, 1, VMSPAN_OFF_START);
	woken(sched, 1110, 1120, PEER_PID, 1, "comm");
	sim_off(sched, 1130, 1140, VMSPAN_OFF_SLEEPING);
	((struct vmspan_span *)(void *)sched->data[sched->slots - 1])->iteration = PEER_PID;
	sim_event(s, 1000);
	sim_enter(s, 1100, 1, VMSPAN_SPAN);
	s->off += 20;
	sim_leave(s, 1150);
	sim_event_end(s, 1200);
	sim_feed_sched(sched, m);
	sim_feed(s, m, 10);
	assert_int_equal(seen_count, 2);
	same_wait(&seen[1], "addon:a", PEER_PID, "helper", "addon:b", 10, 1);
	same_wait(&seen[0], "addon:a", PEER_PID, "helper", "", 10, 1);
	model_free(m);
	free(sched);
	free(s);
}

/* However many peers there are, rows are bounded, and their sum is kept. */
static void waits_are_bounded(void **state)
{
	struct model *m = exact_model();
	struct sim *s = sim_new(1), *sched = sim_new(1);
	u64 ns = 0, count = 0;
	struct snapshot *snap;
	u32 i;

	(void)state;
	model_observe(m, NULL, NULL);
	sim_off(sched, 1, 1, VMSPAN_OFF_START);
	for (i = 0; i < 2 * WAITS_MAX; i++) {
		u64 t = 1000 + i * 100;

		sim_event(s, t);
		sim_enter(s, t + 1, 1, VMSPAN_SPAN);
		woken(sched, t + 10, t + 20, 1000 + i, 0, "many");
		s->off += 10;
		sim_leave(s, t + 30);
		sim_event_end(s, t + 40);
	}
	for (i = 0; i < sched->records; i += 100)
		sim_sched_batch(sched, m, i, (u32)min_u64(i + 100, sched->records));
	sim_feed(s, m, 100);
	snap = snapshot_take(m);
	assert_int_equal(snap->wait_count, WAITS_MAX + 1);
	assert_int_equal(snap->waits[WAITS_MAX].peer_pid, 0);
	for (i = 0; i < snap->wait_count; i++) {
		ns += snap->waits[i].ns;
		count += snap->waits[i].count;
	}
	assert_int_equal(count, 2 * WAITS_MAX);
	assert_int_equal(ns, 2 * WAITS_MAX * 10);
	snapshot_free(snap);
	model_free(m);
	free(sched);
	free(s);
}

/* An event may wait for more than are told; the first ones are. */
static void waits_of_an_event_are_bounded(void **state)
{
	struct turn_waits w = { 0 };
	u32 i;

	(void)state;
	for (i = 0; i < WAITS_TURN + 5; i++) {
		const struct peer p = { .pid = i + 1 };

		assert_int_equal(waits_add(&w, &p, 10 * i, 10 * i + 3), 0);
	}
	assert_int_equal(w.len, WAITS_TURN);
	assert_int_equal(w.open, WAITS_TURN);
	waits_own(&w, 0, WAIT_NATIVE);
	assert_int_equal(w.open, 0);
	assert_int_equal(w.len, WAITS_TURN);
	assert_int_equal(w.at[WAITS_TURN - 1].peer.pid, WAITS_TURN);
	free(w.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_have_peers),
		cmocka_unit_test(the_preempted_wait_for_nobody),
		cmocka_unit_test(groups_of_one_process_are_two),
		cmocka_unit_test(each_reason_has_its_own_sum),
		cmocka_unit_test(unknown_group),
		cmocka_unit_test(waits_are_bounded),
		cmocka_unit_test(waits_of_an_event_are_bounded),
	};

	return cmocka_run_group_tests_name("wait", tests, NULL, NULL);
}
