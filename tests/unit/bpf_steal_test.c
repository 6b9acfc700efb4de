/* SPDX-License-Identifier: BSD-2-Clause */
/* What a hypervisor takes of a stock VM's events, by the kernel's account of each CPU. */
#include "bpf_vm_host.h"

static struct vm_thread state;

static void *with_state(void *map, const void *key)
{
	return map == &vm_threads ? &state : more(map, key);
}

static int machine(void **unused)
{
	machine_make();
	memset(&state, 0, sizeof(state));
	host.more = with_state;
	host.current = &host.thread;
	proc.flags = VM_WALK;
	return 0;
}

static void event(__u64 begin, __u64 steal, __u64 end)
{
	turn_open(&state, &host.thread, TURN_REQUEST, begin);
	host.run_queue.prev_steal_time_rq += steal;
	turn_close(&state, &host.thread, (struct ids){ TRACED, TRACED }, end);
}

/* What a hypervisor has taken of its CPU is told with the event in which the kernel notices it. */
static void what_is_stolen_is_told_with_its_event(void **s)
{
	const struct wire_turn *r = (const void *)host.record;

	host.run_queue.prev_steal_time_rq = 5000;
	/* Its CPU it has had since before the trace. */
	event(10, 30, 100);
	assert_int_equal(r->stolen_ns, 30);
	assert_int_equal(r->off_ns, 30);
	/* What an event cannot have had, the next one had. */
	event(200, 500, 300);
	assert_int_equal(r->stolen_ns, 100);
	event(400, 0, 2400);
	assert_int_equal(r->stolen_ns, 400);
	/* While others have the CPU it is theirs. */
	turn_open(&state, &host.thread, TURN_REQUEST, 3000);
	leaves(&host.thread, true, 3100);
	host.run_queue.prev_steal_time_rq += 1000;
	comes(&host.thread, 3500);
	turn_close(&state, &host.thread, (struct ids){ TRACED, TRACED }, 4000);
	assert_int_equal(r->off_ns, 400);
	assert_int_equal(r->stolen_ns, 0);
	/* What is noticed as soon as it has ended may have been in it; */
	host.run_queue.prev_steal_time_rq += 20;
	leaves(&host.thread, true, 4100);
	comes(&host.thread, 4200);
	event(4300, 0, 4900);
	assert_int_equal(r->stolen_ns, 20);
	/* what is noticed later was not. */
	host.run_queue.prev_steal_time_rq += 20;
	event(4900 + STEAL_LATE_NS, 7, 5900 + STEAL_LATE_NS);
	assert_int_equal(r->stolen_ns, 7);
	/* A kernel that is not told what is stolen, or keeps no account of it. */
	host.lacks = "prev_steal_time_rq";
	event(6000 + STEAL_LATE_NS, 7, 7000 + STEAL_LATE_NS);
	assert_int_equal(r->stolen_ns, 0);
	host.lacks = "se.cfs_rq";
	event(8000 + STEAL_LATE_NS, 7, 9000 + STEAL_LATE_NS);
	assert_int_equal(r->stolen_ns, 0);
}

/* Who was not followed meanwhile may have moved to a CPU from which more had ever been stolen. */
static void what_was_stolen_where_nobody_looked_is_nobody_s(void **s)
{
	const struct wire_turn *r = (const void *)host.record;
	struct bpf_iter__task all = { .task = &host.thread };
	const __u64 second = 1000000000;

	host.run_queue.prev_steal_time_rq = 100 * second;
	comes(&host.thread, 100);
	turn_open(&state, &host.thread, TURN_REQUEST, 200);
	follow_epoch++;
	host.run_queue.prev_steal_time_rq = 250 * second;
	turn_close(&state, &host.thread, (struct ids){ TRACED, TRACED }, second);
	assert_int_equal(r->stolen_ns, 0);
	event(2 * second, 30, 3 * second);
	assert_int_equal(r->stolen_ns, 30);
	/* The same as the trace ends. */
	turn_open(&state, &host.thread, TURN_BURST, 4 * second);
	follow_epoch++;
	host.run_queue.prev_steal_time_rq = 400 * second;
	rest_ns = 5 * second;
	assert_int_equal(vm_rest(&all), 0);
	assert_int_equal(r->end, 5 * second);
	assert_int_equal(r->stolen_ns, 0);
}

/* What was stolen from an event that is not told of is not told with the next one. */
static void what_is_stolen_from_what_is_lost_is_lost(void **s)
{
	const struct wire_turn *r = (const void *)host.record;

	comes(&host.thread, 50);
	host.ring_full = true;
	event(100, 40, 200);
	host.ring_full = false;
	event(300, 0, 400);
	assert_int_equal(r->stolen_ns, 0);
	turn_open(&state, &host.thread, TURN_IDLE, 500);
	host.run_queue.prev_steal_time_rq += 40;
	statement_close(&state, (struct ids){ TRACED, TRACED });
	assert_int_equal(state.open, 0);
	event(1100, 0, 1200);
	assert_int_equal(r->stolen_ns, 0);
}

/* A wait tells how much of its event was stolen when it begins. */
static void what_is_stolen_before_a_wait_is_told_with_it(void **s)
{
	const struct wire_sample *r = (const void *)host.record;

	comes(&host.thread, 100);
	turn_open(&state, &host.thread, TURN_LOOP, 200);
	host.run_queue.prev_steal_time_rq += 40;
	leaves(&host.thread, false, 300);
	assert_int_equal(r->h.kind, WIRE_VM_SAMPLE);
	assert_int_equal(r->stolen_ns, 40);
	assert_int_equal(r->off_ns, 40);
	comes(&host.thread, 400);
	leaves(&host.thread, false, 500);
	assert_int_equal(r->stolen_ns, 40);
	assert_int_equal(r->off_ns, 140);
}

#define TEST(name) cmocka_unit_test_setup(name, machine)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_stolen_is_told_with_its_event),
		TEST(what_is_stolen_before_a_wait_is_told_with_it),
		TEST(what_was_stolen_where_nobody_looked_is_nobody_s),
		TEST(what_is_stolen_from_what_is_lost_is_lost),
	};

	return cmocka_run_group_tests_name("bpf_steal", tests, NULL, NULL);
}
