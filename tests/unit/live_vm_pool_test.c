/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of a stock VM's pool: which waits are for work, and which event is between two of them. */
#include "live_vm_rig.h"

static const char profile_text[] = "[profile]\nname = x\nvm = cpython\nfile = ^x$\n"
				   "[idle]\nin = /queue[.]py$ take\nat = /pool[.]py$ worker\n"
				   "through = /threading[.]py$ wait\npool = /pool[.]py$ begin\n";

/* The frames of the profile, and one more of the library. */
enum {
	TAKE = 11,
	WORKER,
	JOB,
	LOCK,
	APP,
	BEGIN, /* the outermost of a pool's threads */
};

static void frame(u32 id, const char *file, const char *function)
{
	struct wire_frame w = { .h = { .kind = WIRE_VM_FRAME, .pid = rig.p.pid, .tid = TID },
				.id = id,
				.file_len = (u16)strlen(file),
				.function_len = (u16)strlen(function) };

	memcpy(w.file, file, w.file_len);
	memcpy(w.function, function, w.function_len);
	assert_int_equal(live_record(&rig.l, &w, sizeof(w)), 0);
}

static struct vm_profile profile;

static int pool_open(void **state)
{
	struct err e = { 0 };

	rig_open(state);
	rig.l.calls = false;
	rig.p.vm_profile = &profile;
	if (vm_profile_parse(profile_text, "x", &profile, &e))
		return -1;
	frame(TAKE, "/app/queue.py", "take");
	frame(WORKER, "/lib/pool.py", "worker");
	frame(JOB, "/lib/pool.py", "run job");
	frame(LOCK, "/lib/threading.py", "wait");
	frame(APP, "/app/pool.py", "work");
	frame(BEGIN, "/lib/pool.py", "begin");
	return 0;
}

static int pool_close(void **state)
{
	vm_profile_free(&profile);
	return rig_close(state);
}

struct frames {
	u32 count, of[4]; /* innermost first */
};

/* A look in event 7, which began at 100 on CPU 3 and has been off it for `off` so far. */
static void look(u64 time, u64 off, u16 flags, u16 kind, const struct frames *f)
{
	struct wire_sample w = { .h = { .kind = WIRE_VM_SAMPLE, .pid = rig.p.pid, .tid = TID },
				 .time = time,
				 .weight = flags & SAMPLE_OFF ? 0 : 10,
				 .iteration = 7,
				 .cpu = 1,
				 .flags = flags,
				 .count = f->count,
				 .turn_cpu = 3,
				 .turn_kind = kind,
				 .turn_begin = 100,
				 .off_ns = off };

	memcpy(w.frames, f->of, f->count * sizeof(u32));
	assert_int_equal(live_record(&rig.l, &w, sizeof(w)), 0);
}

static void wait_begins(u64 time, u64 off, const struct frames *f)
{
	look(time, off, SAMPLE_OFF | SAMPLE_SLEEPS, TURN_LOOP, f);
}

static void wait_ends(u64 begin, u64 end)
{
	struct wire_stay w = { .h = { .kind = WIRE_VM_WAIT, .pid = rig.p.pid, .tid = TID },
			       .begin = begin,
			       .end = end,
			       .iteration = 7,
			       .cpu_end = 2 };

	assert_int_equal(live_record(&rig.l, &w, sizeof(w)), 0);
}

static void turn_ends(u64 end, u64 off, u16 ended)
{
	struct wire_turn w = { .h = { .kind = WIRE_VM_TURN, .pid = rig.p.pid, .tid = TID },
			       .begin = 100,
			       .end = end,
			       .off_ns = off,
			       .iteration = 7,
			       .cpu_begin = 3,
			       .cpu_end = 4,
			       .ended = ended,
			       .kind = TURN_LOOP };

	assert_int_equal(live_record(&rig.l, &w, sizeof(w)), 0);
}

static void expect_event(u32 id, u64 begin, u64 end, u64 cpu_ns, u32 records)
{
	const struct vmspan_event *e = &rig.event;

	assert_int_equal(e->h.id, id);
	assert_int_equal(e->mono_begin, begin);
	assert_int_equal(e->mono_end, end);
	assert_int_equal(e->cpu_ns_end - e->cpu_ns_begin, cpu_ns);
	assert_int_equal(e->records, records);
	assert_int_equal(e->h.depth, VMSPAN_F_SAMPLED);
}

static const struct frames idle = { 2, { LOCK, WORKER } }, busy = { 2, { APP, WORKER } };

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

/* ---- Stays of a pool's thread ---- */

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
	/* And as the trace ends it is told of as what it was. */
	stay_until(9, 34 * ms, 34 * ms + 10, &idle);
	live_vm_rest(&rig.l, &rig.p);
	expect_event(9, 34 * ms, 34 * ms + 10, 10, 0);
	assert_int_equal(rig.event.label, 0);
	assert_int_equal(rig.events, 6);
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

/* What is kept has limits in time and in size; whoever went beyond is believed again when it waits for work. */
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

/* Whoever works for ever for what it got once is let be. */
static void one_that_never_waits_for_work_is_none(void **state)
{
	u32 i;

	(void)state;
	look_at(1, 100, 110, 0, &busy);
	for (i = 0; i < 4000; i++)
		stay_until(1 + i, 200 + 100 * i, 250 + 100 * i, &busy);
	stay_until(4001, 4000000, 4000100, &idle);
	rig.events = 0;
	for (i = 0; i < 4095; i++)
		stay_until(4002 + i, 4000200 + 100 * i, 4000250 + 100 * i, &busy);
	assert_int_equal(rig.wants, 1);
	stay_until(8097, 5000000, 5000100, &busy);
	assert_int_equal(rig.wants, 2);
	assert_false(rig.wanted);
	assert_int_equal(rig.events, 4096);
	look_at(8098, 6000000, 6000050, 0, &busy);
	stay_until(8098, 6000000, 6000100, &idle);
	expect_event(8098, 6000000, 6000100, 100, 1);
	assert_int_equal(rig.wants, 2);
}

#define POOL(name) cmocka_unit_test_setup_teardown(name, pool_open, pool_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		POOL(waits_for_work_are_known_by_their_frames),
		POOL(a_wait_for_work_is_in_no_event),
		POOL(what_goes_on_began_behind_the_wait_for_work),
		POOL(of_a_wait_half_lost_nothing_is_made_up),
		POOL(outside_of_the_vm_no_event_goes_on),
		POOL(whoever_waits_for_something_else_has_work),
		POOL(a_wait_for_a_lock_is_none_for_work),
		POOL(what_was_cut_after_the_end_goes_on_no_more),
		POOL(other_events_have_ends_of_their_own),
		POOL(stays_between_waits_for_work_are_one_event),
		POOL(a_wait_in_a_joined_event_lasts_until_the_next_stay),
		POOL(a_wait_for_a_lock_between_stays_is_none_for_work),
		POOL(stays_are_not_joined_over_what_is_not_known),
		POOL(what_is_kept_is_told_as_it_came),
		POOL(what_takes_too_long_is_no_request),
		POOL(what_is_kept_of_all_has_a_limit_too),
		POOL(one_that_never_waits_for_work_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
