/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of a stock VM's pool: stays on the CPU from one wait for work to the next are one event. */
#include "source/live_vm_stays.c"

#include "live_vm_pool.h"

/* A look at the stay with this number, which began then. */
static void look_at(u32 number, u64 begin, u64 time, u16 flags, const struct frames *f)
{
	struct wire_sample w = { .h = { .kind = WIRE_VM_SAMPLE, .pid = rig.p.pid, .tid = TID },
				 .time = time,
				 .weight = flags & SAMPLE_OFF ? 0 : 10,
				 .iteration = number,
				 .cpu = 1,
				 .flags = flags,
				 .count = f->count,
				 .turn_cpu = 3,
				 .turn_kind = TURN_BURST,
				 .turn_begin = begin };

	w.h.bytes = sizeof(w) - sizeof(w.h);
	memcpy(w.frames, f->of, f->count * sizeof(u32));
	assert_int_equal(live_record(&rig.l, &w, sizeof(w)), 0);
}

static void stay(u32 number, u64 begin, u64 end, u64 off)
{
	struct wire_turn w = { .h = { .kind = WIRE_VM_TURN, .pid = rig.p.pid, .tid = TID },
			       .begin = begin,
			       .end = end,
			       .off_ns = off,
			       .stolen_ns = stolen_so_far,
			       .iteration = number,
			       .cpu_begin = 3,
			       .cpu_end = 4,
			       .kind = TURN_BURST };

	w.h.bytes = WIRE_TURN_BARE - sizeof(w.h);
	assert_int_equal(live_record(&rig.l, &w, WIRE_TURN_BARE), 0);
}

static void collection(u32 number, u64 begin, u64 end)
{
	struct wire_stay w = { .h = { .kind = WIRE_VM_GC, .pid = rig.p.pid, .tid = TID },
			       .begin = begin,
			       .end = end,
			       .iteration = number };

	w.h.bytes = sizeof(w) - sizeof(w.h);
	assert_int_equal(live_record(&rig.l, &w, sizeof(w)), 0);
}

/* A stay, and the wait with this stack that ends it. */
static void stay_until(u32 number, u64 begin, u64 end, const struct frames *wait)
{
	stay(number, begin, end, 0);
	look_at(number, begin, end, SAMPLE_OFF | SAMPLE_SLEEPS, wait);
}

/* What was stolen from stays was stolen from what they are together, and not from the next. */
static void what_is_stolen_from_stays_is_summed(void **state)
{
	static const struct frames work = { 2, { APP, BEGIN } };

	(void)state;
	look_at(2, 300, 350, 0, &work);
	stolen_so_far = 9;
	stay(2, 300, 400, 9);
	look_at(2, 300, 400, SAMPLE_OFF | SAMPLE_SLEEPS, &busy);
	stolen_so_far = 4;
	stay(3, 450, 500, 4);
	look_at(3, 450, 500, SAMPLE_OFF | SAMPLE_SLEEPS, &idle);
	assert_int_equal(rig.events, 1);
	assert_int_equal(rig.event.stolen_ns, 13);
	assert_int_equal(rig.event.cpu_ns_end - rig.event.cpu_ns_begin, 200 - 50 - 13);
	stolen_so_far = 0;
	stay_until(4, 900, 960, &busy);
	stay_until(5, 990, 1000, &idle);
	assert_int_equal(rig.events, 2);
	assert_int_equal(rig.event.stolen_ns, 0);
}

/* What a thread does from one wait for work to the next is one event, with what it waits for in it. */
static void stays_between_waits_for_work_are_one_event(void **state)
{
	static const struct frames other = { 2, { APP, LOCK } }, work = { 2, { APP, BEGIN } };

	(void)state;
	/* It is no pool's, as far as anybody has seen. */
	look_at(1, 100, 150, 0, &other);
	stay(1, 100, 200, 0);
	expect_event(1, 100, 200, 100, 1);
	assert_int_equal(rig.wants, 0);
	/* It is: what is told of the stay is told at once, the rest when it is known what it is. */
	look_at(2, 300, 350, 0, &work);
	assert_int_equal(rig.wants, 1);
	assert_true(rig.wanted);
	assert_int_equal(rig.samples, 2);
	look_at(2, 300, 370, 0, &work);
	stay_until(2, 300, 400, &busy);
	collection(3, 460, 470);
	stay_until(3, 450, 500, &busy);
	look_at(4, 560, 590, 0, &work);
	stay(4, 560, 600, 7);
	/* The kernel side's cut of one that lasts. */
	stay(5, 600, 700, 0);
	assert_int_equal(rig.events, 1);
	assert_int_equal(rig.samples, 2);
	look_at(5, 600, 700, SAMPLE_OFF | SAMPLE_SLEEPS, &idle);
	assert_int_equal(rig.events, 2);
	assert_int_equal(rig.samples, 6);
	/* Looks 3, waits 2, a collection. */
	expect_event(2, 300, 700, 400 - 50 - 60 - 7, 6);
	assert_int_equal(rig.event.label, 0);
	assert_int_equal(rig.event.cpu_begin, 3);
	assert_int_equal(rig.event.cpu_end, 4);
	/* The next one, a single stay. */
	stay_until(6, 800, 800 + NSEC_PER_MSEC, &idle);
	expect_event(6, 800, 800 + NSEC_PER_MSEC, NSEC_PER_MSEC, 0);
	assert_int_equal(rig.events, 3);
	assert_int_equal(rig.l.vm_kept, 0);
	assert_int_equal(rig.losses, 0);
}

static void a_wait_in_a_joined_event_lasts_until_the_next_stay(void **state)
{
	(void)state;
	look_at(1, 100, 110, 0, &busy);
	stay_until(1, 100, 200, &busy);
	stay_until(2, 260, 300, &idle);
	assert_int_equal(rig.sample.flags, SAMPLE_OFF);
	assert_int_equal(rig.sample.time, 260);
	assert_int_equal(rig.sample.weight, 60);
	assert_int_equal(rig.sample.cpu, 1);
	assert_int_equal(rig.sample.iteration, 1);
	expect_event(1, 100, 300, 200 - 60, 2);
}

/* The same as in an event of the kernel's. */
static void a_wait_for_a_lock_between_stays_is_none_for_work(void **state)
{
	const u64 ms = NSEC_PER_MSEC;

	(void)state;
	look_at(1, 100, 110, 0, &busy);
	stay_until(1, 100, 200, &idle);
	assert_int_equal(rig.events, 1);
	stay_until(2, 1 * ms, 1 * ms + 10, &idle);
	stay_until(3, 6 * ms, 6 * ms + 10, &idle);
	stay(4, 11 * ms, 13 * ms, 0);
	assert_int_equal(rig.events, 1);
	look_at(4, 11 * ms, 13 * ms, SAMPLE_OFF | SAMPLE_SLEEPS, &idle);
	expect_event(2, 1 * ms, 13 * ms, 2 * ms + 20, 2);
	/* It lasts. */
	stay_until(5, 20 * ms, 20 * ms + 10, &idle);
	assert_int_equal(rig.events, 2);
	stay_until(6, 31 * ms, 31 * ms + 10, &idle);
	expect_event(5, 20 * ms, 20 * ms + 10, 10, 0);
	/* It is seen at work, or takes its time. */
	look_at(7, 32 * ms, 32 * ms + 5, 0, &busy);
	stay_until(7, 32 * ms, 32 * ms + 10, &idle);
	expect_event(6, 31 * ms, 32 * ms + 10, 20, 2);
	stay_until(8, 33 * ms, 33 * ms + 100000, &idle);
	expect_event(8, 33 * ms, 33 * ms + 100000, 100000, 0);
	stay_until(20, 33500000, 33500010, &busy);
	stay_until(21, 33500100, 33500110, &idle);
	expect_event(20, 33500000, 33500110, 20, 1);
	/* And as the trace ends it is told of as what it was. */
	stay_until(9, 34 * ms, 34 * ms + 10, &idle);
	live_vm_rest(&rig.l, &rig.p);
	expect_event(9, 34 * ms, 34 * ms + 10, 10, 0);
	assert_int_equal(rig.event.label, 0);
	assert_int_equal(rig.events, 7);
	assert_int_equal(rig.l.vm_kept, 0);
}

/* Between two of which nothing is known there may have been a wait for work. */
static void stays_are_not_joined_over_what_is_not_known(void **state)
{
	(void)state;
	look_at(1, 100, 110, 0, &busy);
	stay(1, 100, 200, 0);
	assert_int_equal(rig.events, 0);
	stay_until(2, 260, 300, &busy);
	expect_event(1, 100, 200, 100, 1);
	assert_int_not_equal(rig.event.label, 0);
	/* One between them was lost, which a look finds out too. */
	look_at(4, 500, 510, 0, &busy);
	expect_event(2, 260, 300, 40, 0);
	stay(4, 500, 600, 0);
	assert_int_equal(rig.events, 2);
	look_at(5, 700, 710, 0, &busy);
	expect_event(4, 500, 600, 100, 1);
	stay_until(7, 720, 800, &idle);
	expect_event(7, 720, 800, 80, 0);
	/* The end of a wait that is not its own. */
	stay(8, 900, 950, 0);
	look_at(8, 900, 940, SAMPLE_OFF | SAMPLE_SLEEPS, &idle);
	expect_event(8, 900, 950, 50, 0);
	assert_int_not_equal(rig.event.label, 0);
}

/* An event of another kind, the end of the thread, and that of the trace. */
static void what_is_kept_is_told_as_it_came(void **state)
{
	u32 way;

	(void)state;
	look_at(1, 100, 110, 0, &busy);
	for (way = 0; way < 3; way++) {
		u32 events = rig.events;

		look_at(3 + 3 * way, 200, 210, 0, &busy);
		stay_until(3 + 3 * way, 200, 300, &busy);
		stay_until(4 + 3 * way, 350, 400, &busy);
		assert_int_equal(rig.events, events);
		if (way == 0)
			look(500, 0, 0, TURN_LOOP, &busy);
		else if (way == 1)
			live_vm_rest(&rig.l, &rig.p);
		else
			live_vm_thread_end(&rig.l, &rig.p, TID);
		assert_int_equal(rig.events, events + 2);
		expect_event(4 + 3 * way, 350, 400, 50, 0);
		assert_int_not_equal(rig.event.label, 0);
		assert_int_equal(rig.l.vm_kept, 0);
	}
	assert_int_equal(rig.losses, 0);
}

/* What is kept of a thread that may be no pool's has a limit in time, and of all in size; whoever went beyond is believed again when it waits for work. */
static void what_takes_too_long_is_no_request(void **state)
{
	const u64 long_ns = 10 * NSEC_PER_SEC;
	u32 i;

	(void)state;
	look_at(1, 100, 110, 0, &busy);
	stay_until(1, 100, 200, &busy);
	stay_until(2, 300, 100 + long_ns, &busy);
	assert_int_equal(rig.events, 0);
	stay(3, 200 + long_ns, 300 + long_ns, 0);
	assert_int_equal(rig.events, 3);
	/* It has what it does told at once. */
	look_at(3, 200 + long_ns, 300 + long_ns, SAMPLE_OFF | SAMPLE_SLEEPS, &busy);
	stay_until(4, 400 + long_ns, 500 + long_ns, &busy);
	assert_int_equal(rig.events, 4);
	assert_int_equal(rig.l.vm_kept, 0);
	stay_until(5, 600 + long_ns, 700 + long_ns, &idle);
	assert_int_equal(rig.events, 5);
	stay_until(6, 800 + long_ns, 900 + long_ns, &busy);
	assert_int_equal(rig.events, 5);
	stay_until(7, 920 + long_ns, 940 + long_ns, &idle);
	assert_int_equal(rig.events, 6);
	/* By size. */
	for (i = 0; i < 4000 && rig.events == 6; i++)
		look_at(8, 1000 + long_ns, 1001 + long_ns, 0, &busy);
	while (i++ < 40000 && rig.l.vm_kept) {
		look_at(8, 1000 + long_ns, 1001 + long_ns, 0, &busy);
		assert_true(rig.l.vm_kept <= (1u << 20) + 1000);
	}
	assert_int_equal(rig.l.vm_kept, 0);
	assert_true(rig.samples > 4000);
	assert_int_equal(rig.losses, 0);
}

/* And of all threads together. */
static void what_is_kept_of_all_has_a_limit_too(void **state)
{
	(void)state;
	look_at(1, 100, 110, 0, &busy);
	rig.l.vm_kept = 32u << 20;
	stay_until(1, 100, 200, &busy);
	assert_int_equal(rig.events, 1);
	assert_int_equal(rig.l.vm_kept, 32u << 20);
}

/* Whoever works for ever for what it got once is let be; but not whoever has waited for work. */
static void one_that_never_waits_for_work_is_none(void **state)
{
	u32 i;

	(void)state;
	look_at(1, 100, 110, 0, &busy);
	for (i = 0; i < 4095; i++)
		stay_until(1 + i, 200 + 100 * i, 250 + 100 * i, &busy);
	assert_int_equal(rig.wants, 1);
	stay_until(4096, 5000000, 5000100, &busy);
	assert_int_equal(rig.wants, 2);
	assert_false(rig.wanted);
	assert_int_equal(rig.events, 4096);
	look_at(8098, 6000000, 6000050, 0, &busy);
	stay_until(8098, 6000000, 6000100, &idle);
	expect_event(8098, 6000000, 6000100, 100, 1);
	assert_int_equal(rig.wants, 2);
}

static void one_that_has_waited_for_work_may_wait_often(void **state)
{
	u32 i;

	(void)state;
	look_at(1, 100, 110, 0, &busy);
	stay_until(1, 100, 200, &idle);
	for (i = 0; i < 5000; i++)
		stay_until(2 + i, 200 + 100 * i, 250 + 100 * i, &busy);
	stay_until(5002, 600000, 600100, &idle);
	assert_int_equal(rig.wants, 1);
	expect_event(2, 200, 600100, 50 * 5000 + 100, 5000);
	assert_int_equal(rig.events, 2);
}

/* What a thread that waits for something else has done is not kept back for as long as that lasts. */
static void what_goes_on_for_too_long_is_told_by_the_clock(void **state)
{
	const u64 long_ns = 300 * NSEC_PER_SEC;

	(void)state;
	look_at(1, 100, 110, 0, &busy);
	stay_until(1, 100, 200, &idle);
	assert_int_equal(live_vm_settles(&rig.l, &rig.p), UINT64_MAX);
	stay_until(2, 300, 400, &busy);
	assert_true(live_vm_settles(&rig.l, &rig.p) < 300 + long_ns);
	assert_int_equal(live_vm_settle(&rig.l, &rig.p, 299 + long_ns), 0);
	assert_int_equal(rig.events, 1);
	/* And is asked for now and then, no more. */
	assert_int_equal(live_vm_settles(&rig.l, &rig.p), 299 + long_ns + NSEC_PER_SEC);
	assert_int_equal(live_vm_settle(&rig.l, &rig.p, 300 + long_ns), 0);
	assert_int_equal(rig.events, 1);
	assert_int_equal(live_vm_settle(&rig.l, &rig.p, 299 + long_ns + NSEC_PER_SEC), 0);
	expect_event(2, 300, 400, 100, 0);
	assert_int_equal(rig.l.vm_kept, 0);
	/* What follows of it is told as it comes, until it waits for work. */
	rig.samples = 0;
	look_at(3, 320 * NSEC_PER_SEC, 320 * NSEC_PER_SEC + 5, 0, &busy);
	collection(3, 320 * NSEC_PER_SEC + 6, 320 * NSEC_PER_SEC + 9);
	assert_int_equal(rig.samples, 1);
	assert_int_equal(rig.l.vm_kept, 0);
	stay(3, 320 * NSEC_PER_SEC, 321 * NSEC_PER_SEC, 0);
	assert_int_equal(rig.events, 3);
}

/* The memory of many threads that once had much to keep is not kept. */
static void what_was_kept_leaves_no_memory(void **state)
{
	struct vm_stream *s;
	u32 i;

	(void)state;
	look_at(1, 100, 110, 0, &busy);
	stay(1, 100, 200, 0);
	for (i = 0; i < 1000; i++)
		look_at(2, 200, 201 + i, 0, &busy);
	s = (struct vm_stream *)(uintptr_t)*map_get(&rig.p.vm_state->streams, TID);
	assert_true(s->stays->kept.cap > 100000);
	stay_until(2, 200, 2000, &idle);
	assert_int_equal(rig.events, 1);
	assert_true(s->stays->kept.cap <= 16384);
}

/* No lock of a JVM's is taken where its threads wait for work: short requests are not joined. */
static void a_jvm_s_waits_for_work_are_no_locks(void **state)
{
	const u64 ms = NSEC_PER_MSEC;

	(void)state;
	profile.kind = VM_JVM;
	look_at(1, 100, 110, 0, &busy);
	stay_until(1, 100, 200, &idle);
	stay_until(2, 1 * ms, 1 * ms + 10, &idle);
	expect_event(2, 1 * ms, 1 * ms + 10, 10, 0);
	wait_begins(3 * ms, 0, &idle);
	wait_ends(3 * ms, 4 * ms);
	wait_begins(4 * ms + 10, 1 * ms, &idle);
	expect_event(8, 4 * ms, 4 * ms + 10, 10, 0);
}

/* Of a deep stack the outermost frames are cut off, and with them what says that it is a pool's. */
static void a_deep_stack_may_be_a_pool_s(void **state)
{
	static const struct frames deep = { 1, { APP } };

	(void)state;
	look_at(1, 100, 110, 0, &deep);
	assert_int_equal(rig.wants, 0);
	look_at(1, 100, 120, SAMPLE_CUT, &deep);
	assert_int_equal(rig.wants, 1);
	stay_until(1, 100, 200, &busy);
	stay_until(2, 250, 300, &idle);
	expect_event(1, 100, 300, 150, 3);
}

/* What no kernel says is refused as it would be of any thread. */
static void what_no_kernel_says_is_not_kept(void **state)
{
	struct wire_sample w = { .h = { .kind = WIRE_VM_SAMPLE, .pid = rig.p.pid, .tid = TID },
				 .time = 300,
				 .iteration = 2,
				 .count = VM_FRAMES + 1,
				 .turn_kind = TURN_BURST,
				 .turn_begin = 250 };

	(void)state;
	look_at(1, 100, 110, 0, &busy);
	assert_int_equal(live_record(&rig.l, &w, sizeof(w)), 0);
	assert_int_equal(rig.losses, 1);
	stay(2, 250, 240, 0);
	assert_int_equal(rig.losses, 2);
	assert_int_equal(rig.l.vm_kept, 0);
	assert_int_equal(rig.events, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		POOL(stays_between_waits_for_work_are_one_event),
		POOL(what_is_stolen_from_stays_is_summed),
		POOL(a_wait_in_a_joined_event_lasts_until_the_next_stay),
		POOL(a_wait_for_a_lock_between_stays_is_none_for_work),
		POOL(stays_are_not_joined_over_what_is_not_known),
		POOL(what_is_kept_is_told_as_it_came),
		POOL(what_takes_too_long_is_no_request),
		POOL(what_is_kept_of_all_has_a_limit_too),
		POOL(one_that_never_waits_for_work_is_none),
		POOL(one_that_has_waited_for_work_may_wait_often),
		POOL(what_goes_on_for_too_long_is_told_by_the_clock),
		POOL(what_was_kept_leaves_no_memory),
		POOL(a_jvm_s_waits_for_work_are_no_locks),
		POOL(a_deep_stack_may_be_a_pool_s),
		POOL(what_no_kernel_says_is_not_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
