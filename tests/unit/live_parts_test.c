/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of a trace that come back: from which moment on they are whole again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "source/live_int.h"

#define ATTACHING 1000 /* cycles */

static u64 now; /* cycles */

static void made_clock(enum source_clock kind, struct item_clock *c)
{
	(void)kind;
	*c = (struct item_clock){ .cycles = now };
}

static int made_attach(struct live *l, struct err *err)
{
	(void)l;
	(void)err;
	now += ATTACHING;
	return 0;
}

#define clock_read made_clock
#define process_attach_missing made_attach
#include "source/live_parts.c"
#undef clock_read
#undef process_attach_missing

static u64 told[TRACE_PARTS][PART_DEF_SLOTS * VMSPAN_SLOT / sizeof(u64)];
static u32 told_count;

static int take(void *ctx, const struct item *it)
{
	(void)ctx;
	assert_int_equal(it->type, ITEM_DEFS);
	assert_int_equal(it->defs.registry, ITEM_TRACER_REGISTRY);
	assert_int_equal(it->defs.bytes, sizeof(told[0]));
	assert_true(told_count < TRACE_PARTS);
	memcpy(told[told_count++], it->defs.data, sizeof(told[0]));
	return 0;
}

/* Collections are whole when their probes are there. Turns are counted from before that: what
 * began while they were being attached is not theirs. */
static void a_part_is_whole_when_its_probes_are_attached(void **state)
{
	static const struct {
		enum model_part part;
		u64 on;
	} parts[] = { { TRACE_TURNS, 5000 }, { TRACE_GC, 5000 + ATTACHING } };
	struct process p = { .pid = 4711, .pidfd = -1, .told = true };
	struct live l = { .fn = take };
	struct err err = { 0 };
	u64 want[ARRAY_SIZE(told[0])];
	size_t i, k, found;

	(void)state;
	assert_int_equal(map_put(&l.processes, p.pid, (u64)(uintptr_t)&p), 0);
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		l.parts[parts[i].part] = (struct live_part){
			.users = 1, .exists = true, .told = true, .off = 2000 + i
		};
	now = 5000;
	assert_int_equal(parts_settle(&l, &err), 0);
	assert_int_equal(told_count, ARRAY_SIZE(parts));
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		memset(want, 0, sizeof(want));
		part_define((void *)want, parts[i].part, 2000 + i, parts[i].on);
		for (k = found = 0; k < told_count; k++)
			found += !memcmp(told[k], want, sizeof(want));
		assert_int_equal(found, 1);
		assert_true(live_part_on(&l.s, parts[i].part));
	}
	map_free(&l.processes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_is_whole_when_its_probes_are_attached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
