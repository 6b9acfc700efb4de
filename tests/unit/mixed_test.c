/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs with the SDK and stock VMs in one trace with the scheduler's record, which is about the former: who is
 * refused, what is said, and what becomes of either's events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "open_rig.h"
#include "source/live_int.h"

#include <errno.h>

/* ---- What the targets are ---- */

#define WAITS 1u /* a process that has loaded nothing yet; it is there wherever this runs */
static u32 marked, stock; /* two others */
static const struct vm_profile *vm_command;

static int a_pidfd(u32 pid)
{
	(void)pid;
	return -1;
}

static int a_plan(u32 pid, struct plan_cache *c, struct plan *p, struct err *err)
{
	(void)c;
	memset(p, 0, sizeof(*p));
	p->files = 1;
	return pid == marked ? 0 : err_set(err, -ENOENT, "nothing to trace");
}

static void no_plan(struct plan *p)
{
	(void)p;
}

static int a_vm(struct live *l, u32 pid, struct err *err)
{
	(void)l;
	(void)err;
	return pid == stock ? 0 : -ENOENT;
}

static const struct vm_profile *a_command(const char *name)
{
	(void)name;
	return vm_command;
}

#define process_pidfd a_pidfd
#define plan_process a_plan
#define plan_free no_plan
#define live_vm_look a_vm
#define vm_of_command a_command
#include "source/live_look.c"
#undef process_pidfd
#undef plan_process
#undef plan_free
#undef live_vm_look
#undef vm_of_command

static const char refusal[] =
	"--exact is for programs with vmspan.h: a stock VM's events always know "
	"when they had no CPU";

static void who_is_traced_with_whom(void **state)
{
	static char name[] = "a-program";
	char *const command[] = { name, NULL };
	const struct vm_profile *profile = (const void *)name;
	const u32 pids[] = { marked, stock, WAITS };
	const struct {
		u32 of; /* the first of `pids`, from */
		u32 from;
		bool wait, sweep, vm_command, command;
		bool refused;
		u32 hz; /* of looks at stock VMs; 0: they are left out */
	} cases[] = {
		{ .of = 1, .hz = 0 },
		{ .of = 2, .hz = VM_HZ },
		{ .of = 1, .from = 1, .refused = true },
		{ .of = 1, .from = 1, .sweep = true, .hz = VM_HZ },
		{ .of = 2, .from = 1, .wait = true, .hz = VM_HZ },
		{ .sweep = true, .hz = VM_HZ },
		{ .command = true, .hz = VM_HZ },
		{ .command = true, .vm_command = true, .refused = true },
	};
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct live_config c = { .pids = pids + cases[i].from,
					       .pid_count = cases[i].of,
					       .wait = cases[i].wait,
					       .command = cases[i].command ? command : NULL,
					       .sweep.all = cases[i].sweep,
					       .exact = true };
		struct live l = { 0 };
		struct live_needs n;
		struct err e = { 0 };
		int r;

		vm_command = cases[i].vm_command ? profile : NULL;
		r = live_look(&l, &c, &n, &e);
		free(l.looked);
		assert_int_equal(r, cases[i].refused ? -EINVAL : 0);
		if (cases[i].refused) {
			assert_string_equal(e.what, refusal);
			assert_int_equal(e.status, EXIT_USAGE);
			continue;
		}
		assert_int_equal(l.vm_hz, cases[i].hz);
		assert_int_equal(n.awaited, cases[i].wait);
	}
}

/* ---- What is said ---- */

static u32 notes;

static int hear(struct live *l, struct process *p, u32 key, const char *text, const char *advice)
{
	(void)l;
	(void)p;
	assert_int_equal(key, NOTE_NOT_EXACT);
	assert_string_equal(text, "--exact is for programs with vmspan.h: a stock VM is traced as "
				  "without it");
	assert_string_equal(advice, "");
	notes++;
	return 0;
}

static u32 left;

static void leave(struct tracer *t, u32 pid)
{
	(void)t;
	assert_true(pid == 4711 || pid == 4712);
	left++;
}

#define live_note hear
#define tracer_leave_process leave
#include "source/live_refused.c"
#undef live_note
#undef tracer_leave_process

static void it_is_said_of_each_once(void **state)
{
	u64 reserved = 100, drained = 100;
	struct live l = { .s.info.exact = true,
			  .ring = { .producer = &reserved, .consumer = &drained } };
	struct process p[2] = { { .pid = 4711 }, { .pid = 4712 } };
	u32 i;

	(void)state;
	notes = left = 0;
	for (i = 0; i < 2; i++) {
		assert_int_equal(live_say_not_exact(&l, &p[i]), 0);
		assert_int_equal(notes, i);
		reserved = 200;
		live_not_exact(&l, &p[i]);
		assert_true(p[i].not_exact);
		/* That it has executed what it is may be on its way, and is to be told of first; but at the trace's end. */
		drained = 199;
		reserved = 300;
		assert_int_equal(live_say_not_exact(&l, &p[i]), 0);
		assert_int_equal(notes, i);
		if (i)
			l.detached = true;
		else
			drained = 200;
		/* It is nothing that is left out of the trace. */
		assert_false(live_has_words(&p[i]));
		assert_int_equal(process_last_words(&l, &p[i], UNFINISHED_PROCESS), 0);
		/* Looks that come later find the same. */
		live_not_exact(&l, &p[i]);
		assert_int_equal(live_say_not_exact(&l, &p[i]), 0);
		assert_int_equal(notes, i + 1);
		assert_int_equal(left, i + 1);
		assert_int_equal(live_not_about(&l.s), i + 1);
	}
}

/* Where the record was not wanted, or cannot be had, there is nothing that it is not about. */
static void of_a_trace_without_the_record_nothing_is_said(void **state)
{
	u64 end = 100;
	struct live l = { .ring = { .producer = &end, .consumer = &end } };
	struct process p = { .pid = 4711 };

	(void)state;
	notes = 0;
	live_not_exact(&l, &p);
	assert_int_equal(process_last_words(&l, &p, UNFINISHED_PROCESS), 0);
	/* Some kernels refuse it when it is to begin. */
	l.s.info.exact = true;
	live_not_exact(&l, &p);
	l.s.info.exact = false;
	assert_int_equal(process_last_words(&l, &p, UNFINISHED_PROCESS), 0);
	assert_int_equal(live_not_about(&l.s), 0);
	assert_int_equal(notes, 0);
}

/* ---- The scheduler's records ---- */

static u32 batches, told;

static int count_batch(void *ctx, const struct item *it)
{
	const struct vmspan_span *s = it->batch.data;

	(void)ctx;
	told += it->type == ITEM_PROCESS;
	if (it->type != ITEM_BATCH)
		return 0;
	assert_int_equal(it->batch.registry, ITEM_SCHED_REGISTRY);
	assert_int_equal(it->batch.bytes, sizeof(*s));
	assert_int_equal(s->end, 6);
	batches++;
	return 0;
}

static void send_sched(struct live *l, u32 pid)
{
	struct {
		struct wire_head h;
		struct vmspan_batch b;
		struct vmspan_span s;
	} r = { .h = { .kind = WIRE_SCHED, .pid = pid, .tid = pid },
		.b = { .records = 1 },
		.s = { .h = { VMSPAN_OFF, 1, VMSPAN_OFF_SLEEPING, 0 }, .begin = 5, .end = 6 } };

	r.h.bytes = sizeof(r) - sizeof(r.h);
	assert_int_equal(live_record(l, &r, sizeof(r)), 0);
}

/* A stock VM's are of no event, and would fill the recording; but it may load what has marks, and what nobody has
 * looked at yet may have them. Of a process that is no target the kernel side tells until it hears of that. */
static void those_of_stock_vms_go_nowhere(void **state)
{
	struct live l = { .fn = count_batch, .s.info.clock = CLOCK_MONO };
	struct process p = { .pid = 4711, .pidfd = -1, .vm = "", .told = true };
	struct attachment probes = { .vm = true }, marks = { 0 };
	static const char profile[1];

	(void)state;
	batches = 0;
	assert_int_equal(map_put(&l.processes, p.pid, (u64)(uintptr_t)&p), 0);
	send_sched(&l, 4712);
	assert_int_equal(batches, 0);
	send_sched(&l, p.pid);
	send_sched(&l, p.pid);
	assert_int_equal(batches, 2);
	p.vm_profile = (const void *)profile;
	send_sched(&l, p.pid);
	p.attachments = &probes;
	send_sched(&l, p.pid);
	assert_int_equal(batches, 2);
	probes.next = &marks;
	send_sched(&l, p.pid);
	assert_int_equal(batches, 3);
	map_free(&l.processes);
}

/* One that is not known to have marks is not told of; once it is, the first that is heard of it is who it is. */
static void they_wait_until_their_process_is_told_of(void **state)
{
	struct live l = { .fn = count_batch, .s.info.clock = CLOCK_MONO };
	struct process p = { .pid = 4711, .pidfd = -1, .vm = "" };
	u64 held;

	(void)state;
	batches = told = 0;
	assert_int_equal(map_put(&l.processes, p.pid, (u64)(uintptr_t)&p), 0);
	send_sched(&l, p.pid);
	held = l.held_bytes;
	send_sched(&l, p.pid);
	assert_int_equal(l.held_bytes, 2 * held);
	assert_int_equal(batches + told, 0);
	assert_int_equal(process_tell(&l, &p), 0);
	assert_int_equal(told, 1);
	assert_int_equal(batches, 2);
	assert_int_equal(l.held_bytes, 0);
	send_sched(&l, p.pid);
	assert_int_equal(batches, 3);
	/* What finds no room is missing, and its number shows that. */
	p.told = false;
	l.held_bytes = 64 << 20;
	send_sched(&l, p.pid);
	assert_int_equal(process_tell(&l, &p), 0);
	assert_int_equal(batches, 3);
	map_free(&l.processes);
}

/* ---- Events ---- */

static void feed_stock(const struct sim *s, struct model *m)
{
	struct item it = sim_item(s, SIM_PID, 0, s->records);

	it.batch.registry = ITEM_TRACER_REGISTRY;
	assert_int_equal(model_item(m, &it), 0);
}

/* An event of 1000 ns, of which 800 are some group's. */
static struct sim *event_at(u32 tid, u64 t)
{
	struct sim *s = sim_new(tid);

	sim_event(s, t);
	sim_enter(s, t + 100, 1, VMSPAN_SPAN);
	sim_leave(s, t + 900);
	sim_event_end(s, t + 1000);
	return s;
}

/* A stock VM's event lacks nothing without the scheduler's record, and takes nothing of it where its thread has one;
 * that of a program does both. */
static void only_marks_have_the_record(void **state)
{
	u32 known;

	(void)state;
	for (known = 0; known < 2; known++) {
		struct model *m = model_make(&(struct model_config){ .exact = true });
		struct sim *vm = event_at(1, 1000), *program = event_at(1, 3000),
			   *sched = sim_of(1, 8);
		struct snapshot *snap;

		sim_off(sched, 900, 900, VMSPAN_OFF_START);
		sim_off(sched, 1500, 1700, VMSPAN_OFF_SLEEPING);
		sim_off(sched, 1920, 1930, VMSPAN_OFF_PREEMPTED);
		sim_off(sched, 3500, 3600, VMSPAN_OFF_SLEEPING);
		if (known)
			sim_feed_sched(sched, m);
		feed_stock(vm, m);
		snap = snapshot_take(m);
		assert_int_equal(snap->events.count, 1);
		assert_int_equal(snap->events.incomplete, 0);
		assert_int_equal(snap->ledger.self_ns, 800);
		assert_int_equal(snap->ledger.blocked_ns, 0);
		assert_int_equal(snap->ledger.native_ns, 200);
		assert_int_equal(snap->ledger.native_stock_ns, 200);
		assert_int_equal(snap->ledger.preempted_ns, 0);
		snapshot_free(snap);
		sim_feed(program, m, 10);
		snap = snapshot_take(m);
		assert_int_equal(snap->events.count, 2);
		assert_int_equal(snap->events.incomplete, !known);
		assert_int_equal(snap->ledger.blocked_ns, known ? 100 : 0);
		assert_int_equal(snap->ledger.native_stock_ns, 200);
		assert_int_equal(ledger_sum(&snap->ledger), 2000);
		snapshot_free(snap);
		model_free(m);
		free(vm);
		free(program);
		free(sched);
	}
}

/* The record is switched off for a while: no event of a stock VM lacks it. */
static void without_the_record_for_a_while_only_marks_lack_it(void **state)
{
	u64 room[PART_DEF_SLOTS * VMSPAN_SLOT / sizeof(u64)];
	struct item it = { .type = ITEM_DEFS };
	enum model_part part;

	(void)state;
	for (part = 0; part < TRACE_PARTS; part++) {
		struct model *m = model_make(&(struct model_config){ .exact = true });
		struct sim *vm = event_at(2, 5000);
		struct snapshot *snap;

		part_define((void *)room, part, 5500, UINT64_MAX);
		it.defs = (struct item_defs){ SIM_PID, ITEM_TRACER_REGISTRY, room, sizeof(room) };
		assert_int_equal(model_item(m, &it), 0);
		feed_stock(vm, m);
		snap = snapshot_take(m);
		assert_int_equal(snap->events.count, 1);
		assert_int_equal(snap->events.incomplete, part != TRACE_BLOCKING);
		snapshot_free(snap);
		model_free(m);
		free(vm);
	}
}

/* What goes on is known by what the kernel side says of it, in such a trace too. */
static void what_goes_on_of_a_stock_vm_lacks_nothing(void **state)
{
	struct model *m = model_make(&(struct model_config){ .exact = true });
	struct sim *vm = sim_new(1);
	struct item it = { .type = ITEM_OPEN, .open.off = VMSPAN_OFF_SLEEPING };
	struct snapshot *snap;

	(void)state;
	sim_event(vm, 1000);
	sim_enter(vm, 1000, 1, VMSPAN_SPAN);
	sim_leave(vm, 5000);
	sim_event_end(vm, 5000);
	it.open.what = event_of(1, 1000, 5000);
	it.open.what.registry = ITEM_TRACER_REGISTRY;
	it.open.batch = sim_item(vm, SIM_PID, 0, vm->records).batch;
	it.open.batch.registry = ITEM_TRACER_REGISTRY;
	assert_int_equal(model_item(m, &it), 0);
	snap = snapshot_take(m);
	assert_int_equal(snap->open_count, 1);
	assert_int_equal(snap->events.incomplete, 0);
	assert_int_equal(snap->events.wall_ns, 4000);
	assert_int_equal(snap->ledger.self_ns, 4000);
	snapshot_free(snap);
	model_free(m);
	free(vm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_traced_with_whom),
		cmocka_unit_test(it_is_said_of_each_once),
		cmocka_unit_test(of_a_trace_without_the_record_nothing_is_said),
		cmocka_unit_test(those_of_stock_vms_go_nowhere),
		cmocka_unit_test(they_wait_until_their_process_is_told_of),
		cmocka_unit_test(only_marks_have_the_record),
		cmocka_unit_test(without_the_record_for_a_while_only_marks_lack_it),
		cmocka_unit_test(what_goes_on_of_a_stock_vm_lacks_nothing),
	};

	marked = (u32)getpid();
	stock = (u32)getppid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
