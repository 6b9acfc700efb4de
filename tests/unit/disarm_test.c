/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks are turned off: what is detached first, and as of when they are off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "source/live_int.h"

enum step {
	OFF = 1,
	ARMED,
	ENDS,
	CLOCK,
	LINKS
};
static enum step steps[16];
static u32 step_count;

static void step(enum step s)
{
	steps[step_count++] = s;
}

static void made_release(struct site_link *link)
{
	if (link)
		step(ARMED);
}

static bool made_drop(struct probe_links *links, bool vm, enum model_part part)
{
	(void)vm, (void)part;
	if (links->of[ROLE_ENTER])
		step(LINKS);
	return true;
}

static void made_marks_off(struct tracer *t, bool off)
{
	(void)t;
	if (off)
		step(OFF);
}

static void made_ends(struct live *l, const struct process *p)
{
	(void)l, (void)p;
	step(ENDS);
}

static void made_clock(enum source_clock kind, struct item_clock *c)
{
	(void)kind;
	*c = (struct item_clock){ .mono_ns = 5000, .cycles = 70 };
	step(CLOCK);
}

#define site_release made_release
#define links_drop made_drop
#define tracer_marks_off made_marks_off
#define direct_ends made_ends
#define clock_read made_clock
#include "source/live_attach.c"
#undef site_release
#undef links_drop
#undef tracer_marks_off
#undef direct_ends
#undef clock_read

static struct item_unfinished told;

static int take(void *ctx, const struct item *it)
{
	(void)ctx;
	if (it->type == ITEM_UNFINISHED)
		told = it->unfinished;
	return 0;
}

/* Probes that are traps are detached one by one, each in some 30 ms: the trace has ended before. */
static void marks_are_off_before_probes_are_detached(void **state)
{
	static const enum step expected[] = { OFF, ARMED, ENDS, CLOCK, LINKS };
	struct site_link *some = (struct site_link *)&steps; /* looked at by nobody */
	struct attachment by_traps = { .links.of[ROLE_ENTER] = some };
	struct attachment by_batches = { .armed = some, .next = &by_traps };
	struct process p = { .pid = 10, .attachments = &by_batches };
	struct live l = { 0 };
	u32 i;

	(void)state;
	assert_int_equal(map_put(&l.processes, p.pid, (u64)(uintptr_t)&p), 0);
	process_disarm_all(&l);
	assert_int_equal(step_count, ARRAY_SIZE(expected));
	for (i = 0; i < step_count; i++)
		assert_int_equal(steps[i], expected[i]);
	assert_int_equal(l.marks_off_at.mono_ns, 5000);
	map_free(&l.processes);
}

/* What a thread was in by then, is looked at later. */
static void what_goes_on_goes_on_until_then(void **state)
{
	struct {
		struct wire_head h;
		struct vmspan_batch b;
		struct vmspan_event e;
	} r = {
		.h = { .kind = WIRE_UNENDED, .bytes = sizeof(r) - sizeof(r.h) },
		.b = { .magic = VMSPAN_BATCH_MAGIC,
		       .abi = ABI1,
		       .bytes = sizeof(r) - sizeof(r.h),
		       .records = 1,
		       .registry = NUMBERS_FIRST,
		       .pad = UNENDED_TRACE },
		.e = { .h = { .type = VMSPAN_EVENT, .slots = sizeof(r.e) / VMSPAN_SLOT },
		       .mono_begin = 1000,
		       .mono_end = 9000 },
	};
	struct process p = { .pid = (u32)getpid(), .pidfd = -1, .told = true, .vm = "" };
	struct live l = { .fn = take, .marks_off_at = { .mono_ns = 5000 } };
	u32 off;

	(void)state;
	r.h.pid = r.h.tid = p.pid;
	assert_int_equal(map_put(&l.processes, p.pid, (u64)(uintptr_t)&p), 0);
	assert_int_equal(map_put(&p.threads, p.pid, 1), 0);
	for (off = 0; off < 2; off++) {
		l.marks_off = off;
		told = (struct item_unfinished){ 0 };
		assert_int_equal(live_record(&l, &r.h, sizeof(r)), 0);
		assert_int_equal(told.begin_ns, 1000);
		assert_int_equal(told.until_ns, off ? 5000 : 9000);
	}
	live_registry_free(p.registries);
	free(p.registries);
	map_free(&p.threads);
	map_free(&l.processes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_are_off_before_probes_are_detached),
		cmocka_unit_test(what_goes_on_goes_on_until_then),
	};

	return cmocka_run_group_tests_name("disarm", tests, NULL, NULL);
}
