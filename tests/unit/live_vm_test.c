/* SPDX-License-Identifier: BSD-2-Clause */
/* Stock VMs without a VM: what the kernel side tells of one, made here, as items. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "source/live_vm_int.h"

#define TID 4711

static struct {
	struct live l;
	struct process p;
	u32 groups, losses;
	struct vmspan_event event; /* the last */
	struct item_unfinished unfinished; /* the last */
} rig;

static int take(void *ctx, const struct item *it)
{
	const struct vmspan_head *h;

	(void)ctx;
	rig.losses += it->type == ITEM_LOSS;
	if (it->type == ITEM_UNFINISHED)
		rig.unfinished = it->unfinished;
	if (it->type != ITEM_DEFS && it->type != ITEM_BATCH)
		return 0;
	h = it->type == ITEM_DEFS ? it->defs.data : it->batch.data;
	rig.groups += h->type == VMSPAN_DEF_GROUP;
	if (h->type == VMSPAN_EVENT)
		rig.event = *(const struct vmspan_event *)(const void *)h;
	return 0;
}

static int rig_open(void **state)
{
	(void)state;
	memset(&rig, 0, sizeof(rig));
	rig.p = (struct process){ .pid = (u32)getpid(), .pidfd = -1, .told = true };
	rig.l.fn = take;
	rig.l.calls = true;
	rig.l.s.info.clock = CLOCK_MONO;
	return map_put(&rig.l.processes, rig.p.pid, (u64)(uintptr_t)&rig.p) ||
	       map_put(&rig.p.threads, TID, 1);
}

static int rig_close(void **state)
{
	(void)state;
	live_vm_free(&rig.p);
	map_free(&rig.p.threads);
	map_free(&rig.l.processes);
	return 0;
}

static void groups_of_two_kinds_and_one_name_are_two(void **state)
{
	u32 addon = vm_compartment(&rig.l, &rig.p, VMSPAN_ADDON, "shop");
	u32 package = vm_compartment(&rig.l, &rig.p, VMSPAN_PACKAGE, "shop");

	(void)state;
	assert_int_not_equal(addon, 0);
	assert_int_not_equal(package, 0);
	assert_int_not_equal(addon, package);
	assert_int_equal(rig.groups, 2);
	assert_int_equal(vm_compartment(&rig.l, &rig.p, VMSPAN_ADDON, "shop"), addon);
	assert_int_equal(vm_compartment(&rig.l, &rig.p, VMSPAN_PACKAGE, "shop"), package);
	assert_int_equal(rig.groups, 2);
}

/* Calls of an event, whose first is number `seq` of the thread. */
static void calls(u64 seq, u32 count, u32 iteration)
{
	struct {
		struct wire_head h;
		struct vmspan_batch b;
		struct vmspan_span s[4];
	} r = { .h = { .kind = WIRE_VM_CALLS, .pid = rig.p.pid, .tid = TID },
		.b = { .seq = seq, .records = count } };
	u32 i;

	assert_true(count <= ARRAY_SIZE(r.s));
	r.h.bytes = (u32)(sizeof(r.b) + count * sizeof(r.s[0]));
	for (i = 0; i < count; i++)
		r.s[i] = (struct vmspan_span){
			.h = { VMSPAN_SPAN, 1, 0, 1 }, .begin = 5, .end = 6, .iteration = iteration
		};
	assert_int_equal(live_record(&rig.l, &r, sizeof(r.h) + r.h.bytes), 0);
}

/* The event's own record, and how many it says it has. */
static u32 records_of(u32 iteration)
{
	struct wire_turn w = { .h = { .kind = WIRE_VM_TURN, .pid = rig.p.pid, .tid = TID },
			       .begin = 1,
			       .end = 9,
			       .iteration = iteration,
			       .kind = TURN_BURST };

	assert_int_equal(live_record(&rig.l, &w, sizeof(w)), 0);
	assert_int_equal(rig.event.h.id, iteration);
	return rig.event.records;
}

/* An event that has fewer calls than it says lacks some. */
static void calls_that_were_lost_are_of_their_event(void **state)
{
	(void)state;
	calls(0, 2, 1);
	assert_int_equal(records_of(1), 2);
	calls(2, 2, 2);
	calls(7, 1, 2); /* three were lost in it */
	assert_int_equal(records_of(2), 2 + 3 + 1);
	calls(12, 1, 3); /* four at its begin */
	assert_true(records_of(3) >= 4 + 1);
	calls(13, 1, 4);
	assert_int_equal(records_of(4), 1);
	assert_int_equal(rig.losses, 0);
}

/* Each kind under its own name, and none of them as an event. */
static void what_goes_on_as_the_trace_ends_is_no_event(void **state)
{
	static const struct {
		u16 kind;
		const char *text, *title;
		bool named;
	} cases[] = {
		{ TURN_LOOP, "", "", false },
		{ TURN_REQUEST, "/cart?id=7", "", true },
		{ TURN_STATEMENT, "select 1", "postgres: 15/main: app shop [local] SELECT", true },
		{ TURN_IDLE, "", "postgres: 15/main: app shop [local] idle in transaction", true },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wire_turn w = { .h = { .kind = WIRE_VM_TURN, .pid = rig.p.pid, .tid = TID },
				       .begin = 1000,
				       .end = 9000,
				       .iteration = 7,
				       .kind = cases[i].kind,
				       .ended = TURN_GOES_ON,
				       .text_len = (u16)strlen(cases[i].text),
				       .title_len = (u16)strlen(cases[i].title) };

		strcpy(w.text, cases[i].text);
		strcpy(w.title, cases[i].title);
		memset(&rig.unfinished, 0, sizeof(rig.unfinished));
		assert_int_equal(live_record(&rig.l, &w, sizeof(w)), 0);
		assert_int_equal(rig.unfinished.why, UNFINISHED_TRACE);
		assert_int_equal(rig.unfinished.tid, TID);
		assert_int_equal(rig.unfinished.begin_ns, 1000);
		assert_int_equal(rig.unfinished.until_ns, 9000);
		assert_true(rig.unfinished.event);
		assert_int_equal(rig.unfinished.label != 0, cases[i].named);
	}
	assert_int_equal(rig.event.h.type, 0);
	assert_int_equal(rig.losses, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(groups_of_two_kinds_and_one_name_are_two),
		TEST(calls_that_were_lost_are_of_their_event),
		TEST(what_goes_on_as_the_trace_ends_is_no_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
