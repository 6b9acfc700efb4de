/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread of a pool for live_vm_rig.h: a profile that says which of its frames wait for work, and what the kernel side
 * tells of its waits. */
#ifndef TESTS_LIVE_VM_POOL_H
#define TESTS_LIVE_VM_POOL_H

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

static inline void frame(u32 id, const char *file, const char *function)
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

/* Of the event's time off the CPU, so far: for what is told next. */
static u64 stolen_so_far;

static int pool_open(void **state)
{
	struct err e = { 0 };

	rig_open(state);
	stolen_so_far = 0;
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
static inline void look(u64 time, u64 off, u16 flags, u16 kind, const struct frames *f)
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
				 .off_ns = off,
				 .stolen_ns = stolen_so_far };

	memcpy(w.frames, f->of, f->count * sizeof(u32));
	assert_int_equal(live_record(&rig.l, &w, sizeof(w)), 0);
}

static inline void wait_begins(u64 time, u64 off, const struct frames *f)
{
	look(time, off, SAMPLE_OFF | SAMPLE_SLEEPS, TURN_LOOP, f);
}

static inline void wait_ends(u64 begin, u64 end)
{
	struct wire_stay w = { .h = { .kind = WIRE_VM_WAIT, .pid = rig.p.pid, .tid = TID },
			       .begin = begin,
			       .end = end,
			       .iteration = 7,
			       .cpu_end = 2 };

	assert_int_equal(live_record(&rig.l, &w, sizeof(w)), 0);
}

static inline void turn_ends(u64 end, u64 off, u16 ended)
{
	struct wire_turn w = { .h = { .kind = WIRE_VM_TURN, .pid = rig.p.pid, .tid = TID },
			       .begin = 100,
			       .end = end,
			       .off_ns = off,
			       .stolen_ns = stolen_so_far,
			       .iteration = 7,
			       .cpu_begin = 3,
			       .cpu_end = 4,
			       .ended = ended,
			       .kind = TURN_LOOP };

	assert_int_equal(live_record(&rig.l, &w, sizeof(w)), 0);
}

static inline void expect_event(u32 id, u64 begin, u64 end, u64 cpu_ns, u32 records)
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

#define POOL(name) cmocka_unit_test_setup_teardown(name, pool_open, pool_close)

#endif
