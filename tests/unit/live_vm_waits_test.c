/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of a stock VM's pool: which waits are for work, and which part of the kernel's event is an event. */
#include "live_vm_pool.h"

/* By the innermost frames, those of locks apart: what else is called from there is work, of whatever library. */
static void waits_for_work_are_known_by_their_frames(void **state)
{
	static const struct {
		struct frames stack;
		bool idle;
	} cases[] = {
		{ { 0, { 0 } }, false },
		{ { 1, { WORKER } }, true },
		{ { 2, { LOCK, WORKER } }, true },
		{ { 2, { APP, WORKER } }, false },
		{ { 3, { LOCK, APP, WORKER } }, false },
		{ { 2, { 99, WORKER } }, false },
		{ { 2, { JOB, WORKER } }, false },
		{ { 3, { LOCK, JOB, WORKER } }, false },
		{ { 1, { TAKE } }, true },
		{ { 3, { LOCK, APP, TAKE } }, true },
		{ { 3, { APP, JOB, TAKE } }, true },
		{ { 2, { LOCK, LOCK } }, false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		rig.events = 0;
		wait_begins(NSEC_PER_MSEC * (i + 1), 0, &cases[i].stack);
		assert_int_equal(rig.events, cases[i].idle);
	}
	assert_int_equal(rig.losses, 0);
}

/* An event ends where a wait for work begins, and the next one begins where that ends. */
static void a_wait_for_work_is_in_no_event(void **state)
{
	(void)state;
	wait_begins(200, 30, &busy);
	wait_ends(200, 250);
	assert_int_equal(rig.sample.weight, 50);
	assert_int_equal(rig.sample.time, 250);
	assert_int_equal(rig.sample.iteration, 7);
	assert_int_equal(rig.sample.cpu, 2);
	assert_int_equal(rig.sample.h.depth, 2);
	assert_int_equal(rig.events, 0);
	/* As soon as it begins: nobody knows when it ends. */
	wait_begins(300, 80, &idle);
	expect_event(7, 100, 300, 200 - 80, 1);
	assert_int_equal(rig.event.cpu_begin, 3);
	assert_int_equal(rig.event.cpu_end, 1);
	wait_ends(300, 900);
	wait_begins(1000, 680, &busy);
	wait_ends(1000, 1040);
	assert_int_equal(rig.sample.iteration, 8);
	wait_begins(1100, 720, &idle);
	expect_event(8, 900, 1100, 200 - 40, 1);
	assert_int_equal(rig.event.cpu_begin, 2);
	wait_ends(1100, 2000);
	turn_ends(2300, 1630, 0);
	expect_event(9, 2000, 2300, 300 - 10, 0);
	assert_int_equal(rig.event.cpu_end, 4);
	assert_int_equal(rig.events, 3);
	assert_int_equal(rig.samples, 2);
	assert_int_equal(rig.losses, 0);
}

/* What was stolen is told with the part of the kernel's event that it was in. */
static void each_part_has_what_was_stolen_from_it(void **state)
{
	(void)state;
	stolen_so_far = 10;
	wait_begins(200, 30, &busy);
	wait_ends(200, 250);
	stolen_so_far = 25;
	wait_begins(300, 95, &idle);
	expect_event(7, 100, 300, 200 - 95, 1);
	assert_int_equal(rig.event.stolen_ns, 25);
	wait_ends(300, 900);
	wait_begins(1000, 695, &busy);
	wait_ends(1000, 1040);
	wait_begins(1100, 735, &idle);
	expect_event(8, 900, 1100, 200 - 40, 1);
	assert_int_equal(rig.event.stolen_ns, 0);
	wait_ends(1100, 2000);
	stolen_so_far = 31;
	turn_ends(2300, 1641, 0);
	expect_event(9, 2000, 2300, 300 - 6, 0);
	assert_int_equal(rig.event.stolen_ns, 6);
}

/* A piece of work is one, though all of its time on the CPU was stolen. */
static void what_was_wholly_stolen_is_an_event(void **state)
{
	(void)state;
	wait_begins(300, 80, &idle);
	wait_ends(300, 900);
	assert_int_equal(rig.events, 1);
	stolen_so_far = 50;
	turn_ends(950, 680 + 50, 0);
	expect_event(8, 900, 950, 0, 0);
	assert_int_equal(rig.event.stolen_ns, 50);
}

/* Who waits for work as the trace ends is in no event; who works is in one that began when it got it. */
static void what_goes_on_began_behind_the_wait_for_work(void **state)
{
	const u64 ms = NSEC_PER_MSEC;

	(void)state;
	wait_begins(300, 80, &idle);
	wait_ends(300, 900);
	wait_begins(900 + ms, 680, &idle);
	assert_int_equal(rig.events, 2);
	turn_ends(900 + 2 * ms, 680 + ms, TURN_GOES_ON);
	assert_int_equal(rig.unfinished.begin_ns, 0);
	wait_ends(900 + ms, 900 + 3 * ms);
	turn_ends(900 + 4 * ms, 680 + 2 * ms, TURN_GOES_ON);
	assert_int_equal(rig.unfinished.begin_ns, 900 + 3 * ms);
	assert_int_equal(rig.unfinished.until_ns, 900 + 4 * ms);
	assert_int_equal(rig.events, 2);
}

/* The kernel side counts what finds no room. What is left is told of together. */
static void of_a_wait_half_lost_nothing_is_made_up(void **state)
{
	(void)state;
	wait_ends(150, 250);
	assert_int_equal(rig.samples, 0);
	wait_begins(260, 100, &busy);
	wait_ends(270, 280); /* another one's */
	assert_int_equal(rig.samples, 0);
	wait_begins(300, 120, &idle);
	assert_int_equal(rig.events, 1);
	/* Its end is lost: what comes then began with it. */
	turn_ends(900, 520, 0);
	expect_event(8, 300, 900, 600 - 400, 0);
	/* And what no kernel says is refused. */
	wait_begins(50, 0, &idle);
	assert_int_equal(rig.losses, 1);
	wait_begins(950, 0, &busy);
	wait_ends(950, 900);
	assert_int_equal(rig.losses, 2);
	assert_int_equal(rig.events, 2);
}

/* A thread that has been in the VM and is none of its threads any more is idle, though it may become one again. */
static void outside_of_the_vm_no_event_goes_on(void **state)
{
	static const struct frames none = { 0, { 0 } };

	(void)state;
	look(200, 0, SAMPLE_OFF | SAMPLE_SLEEPS | SAMPLE_LEFT, TURN_LOOP, &none);
	assert_int_equal(rig.events, 0);
	wait_ends(200, 300);
	assert_int_equal(rig.sample.h.depth, 0);
	wait_begins(400, 100, &busy);
	wait_ends(400, 500);
	/* Its frames could not be read, or nobody has looked for them. */
	wait_begins(600, 200, &none);
	assert_int_equal(rig.events, 0);
	wait_ends(600, 700);
	look(800, 300, SAMPLE_OFF | SAMPLE_SLEEPS | SAMPLE_LEFT, TURN_LOOP, &none);
	expect_event(7, 100, 800, 700 - 300, 3);
	assert_int_equal(rig.events, 1);
}

/* For a disk, or in a collection. And what the kernel side adds for this is in no recording. */
static void whoever_waits_for_something_else_has_work(void **state)
{
	(void)state;
	look(200, 0, SAMPLE_OFF, TURN_LOOP, &idle);
	wait_ends(200, 250);
	look(300, 50, SAMPLE_OFF | SAMPLE_SLEEPS | SAMPLE_GC, TURN_LOOP, &idle);
	wait_ends(300, 350);
	assert_int_equal(rig.events, 0);
	assert_int_equal(rig.samples, 2);
	assert_int_equal(rig.sample.flags, SAMPLE_OFF | SAMPLE_GC);
}

/* Whoever is woken waits for the VM's lock on the way to its work, where it waited for that. */
static void a_wait_for_a_lock_is_none_for_work(void **state)
{
	const u64 ms = NSEC_PER_MSEC;

	(void)state;
	wait_begins(200, 0, &idle);
	wait_ends(200, 1 * ms);
	assert_int_equal(rig.events, 1);
	/* Woken, it runs for a moment each time, and gets the lock at the third. */
	wait_begins(1 * ms + 10, 1 * ms - 200, &idle);
	wait_ends(1 * ms + 10, 6 * ms + 10);
	wait_begins(6 * ms + 20, 6 * ms - 200, &idle);
	wait_ends(6 * ms + 20, 11 * ms + 20);
	assert_int_equal(rig.events, 1);
	assert_int_equal(rig.samples, 2);
	assert_int_equal(rig.sample.iteration, 8);
	look(12 * ms, 11 * ms - 200, 0, TURN_LOOP, &busy);
	wait_begins(13 * ms, 11 * ms - 200, &idle);
	expect_event(8, 1 * ms, 13 * ms, 2 * ms, 3);
	assert_int_equal(rig.events, 2);
	/* There was nothing for it: what it ran for is an event when that is known. */
	wait_ends(13 * ms, 20 * ms);
	wait_begins(20 * ms + 10, 18 * ms - 200, &idle);
	assert_int_equal(rig.events, 2);
	wait_ends(20 * ms + 10, 40 * ms);
	expect_event(9, 20 * ms, 20 * ms + 10, 10, 0);
	/* What was seen at work, or took its time, has ended. */
	wait_begins(40 * ms + 100000, 38 * ms - 210, &idle);
	expect_event(10, 40 * ms, 40 * ms + 100000, 100000, 0);
	wait_ends(40 * ms + 100000, 41 * ms);
	look(41 * ms + 5, 39 * ms - 210 - 100000, 0, TURN_LOOP, &busy);
	wait_begins(41 * ms + 10, 39 * ms - 210 - 100000, &idle);
	expect_event(11, 41 * ms, 41 * ms + 10, 10, 1);
	/* As the trace ends it may go on. */
	wait_ends(41 * ms + 10, 42 * ms);
	wait_begins(42 * ms + 10, 40 * ms - 220 - 100000, &idle);
	turn_ends(43 * ms, 41 * ms - 230 - 100000, TURN_GOES_ON);
	expect_event(12, 42 * ms, 42 * ms + 10, 10, 0);
	assert_int_equal(rig.unfinished.begin_ns, 0);
	assert_int_equal(rig.losses, 0);
}

/* The trace's end is before the last that is told of. */
static void what_was_cut_after_the_end_goes_on_no_more(void **state)
{
	(void)state;
	wait_begins(900, 0, &idle);
	turn_ends(890, 0, TURN_GOES_ON);
	assert_int_equal(rig.unfinished.begin_ns, 0);
	assert_int_equal(rig.events, 1);
}

/* What the VM itself says begins and ends, does. */
static void other_events_have_ends_of_their_own(void **state)
{
	(void)state;
	look(300, 0, SAMPLE_OFF | SAMPLE_SLEEPS, TURN_REQUEST, &idle);
	wait_ends(300, 400);
	look(500, 0, SAMPLE_OFF | SAMPLE_SLEEPS, TURN_SAFEPOINT, &idle);
	assert_int_equal(rig.events, 0);
	assert_int_equal(rig.samples, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		POOL(waits_for_work_are_known_by_their_frames),
		POOL(a_wait_for_work_is_in_no_event),
		POOL(each_part_has_what_was_stolen_from_it),
		POOL(what_was_wholly_stolen_is_an_event),
		POOL(what_goes_on_began_behind_the_wait_for_work),
		POOL(of_a_wait_half_lost_nothing_is_made_up),
		POOL(outside_of_the_vm_no_event_goes_on),
		POOL(whoever_waits_for_something_else_has_work),
		POOL(a_wait_for_a_lock_is_none_for_work),
		POOL(what_was_cut_after_the_end_goes_on_no_more),
		POOL(other_events_have_ends_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
