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

static int attach_fails; /* 0, or the error */

static int made_attach(struct live *l, struct err *err)
{
	(void)l;
	now += ATTACHING;
	return attach_fails ? err_set(err, attach_fails, "no permission") : 0;
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
	if (it->type == ITEM_CLOCK)
		return 0;
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

/* What nobody could attach stays away, says why, and is not tried at every poll. */
static void a_part_that_cannot_come_back_says_why(void **state)
{
	struct process p = { .pid = 4711, .pidfd = -1, .told = true };
	struct live l = { .fn = take };
	struct live_part *gc = &l.parts[TRACE_GC];
	struct err err = { 0 };

	(void)state;
	told_count = 0;
	assert_int_equal(map_put(&l.processes, p.pid, (u64)(uintptr_t)&p), 0);
	l.parts[TRACE_TURNS] = (struct live_part){ .users = 1, .exists = true, .on = true };
	*gc = (struct live_part){ .users = 1, .exists = true, .told = true, .off = 2000 };
	attach_fails = -EPERM;
	assert_int_equal(parts_settle(&l, &err), 0);
	attach_fails = 0;
	assert_int_equal(told_count, 0);
	assert_int_equal(gc->users, 0);
	assert_non_null(live_part_failed(&l.s, TRACE_GC));
	assert_int_equal(live_part_failed(&l.s, TRACE_GC)->code, -EPERM);
	assert_null(live_part_failed(&l.s, TRACE_TURNS));
	/* It had no user left; one more, and it is tried anew. */
	assert_int_equal(live_part_put(&l.s, TRACE_GC), -ENOENT);
	live_part_get(&l.s, TRACE_GC);
	assert_null(live_part_failed(&l.s, TRACE_GC));
	assert_int_equal(gc->users, 1);
	assert_int_equal(live_part_put(&l.s, TRACE_GC), 0);
	clock_free(&l.clocks);
	map_free(&l.processes);
}

/* A process that no item has told of has no part either. */
static void who_is_not_told_of_has_no_parts(void **state)
{
	struct process known = { .pid = 4711, .pidfd = -1, .told = true };
	struct process unknown = { .pid = 4712, .pidfd = -1 };
	struct live l = { .fn = take };

	(void)state;
	told_count = 0;
	assert_int_equal(map_put(&l.processes, known.pid, (u64)(uintptr_t)&known), 0);
	assert_int_equal(map_put(&l.processes, unknown.pid, (u64)(uintptr_t)&unknown), 0);
	l.parts[TRACE_GC] = (struct live_part){ .exists = true, .off = 7 };
	assert_int_equal(parts_tell(&l), 0);
	assert_int_equal(told_count, 1);
	/* Once. */
	assert_int_equal(parts_tell(&l), 0);
	assert_int_equal(told_count, 1);
	map_free(&l.processes);
}

static void without_turns_nothing_is_of_use(void **state)
{
	static struct live l;
	int i;

	(void)state;
	parts_open(&l, 1u << TRACE_TURNS);
	for (i = 0; i < TRACE_PARTS; i++)
		assert_false(part_wanted(&l, (enum model_part)i));
	parts_open(&l, 1u << TRACE_GC);
	for (i = 0; i < TRACE_PARTS; i++)
		assert_int_equal(part_wanted(&l, (enum model_part)i), i != TRACE_GC);
	l.detached = true;
	assert_false(part_wanted(&l, TRACE_TURNS));
	/* Probes at calls pair with each other. */
	l = (struct live){ .calls = true };
	parts_open(&l, 1u << TRACE_GC);
	assert_true(part_wanted(&l, TRACE_GC));
}

static void each_role_is_of_one_part(void **state)
{
	int role;

	(void)state;
	for (role = 0; role < VM_ROLES; role++)
		assert_int_equal(part_of_role(true, role),
				 role == VM_GC_BEGIN || role == VM_GC_END ||
						 role == VM_SWEEP_BEGIN || role == VM_SWEEP_END
					 ? TRACE_GC
					 : TRACE_TURNS);
	for (role = 0; role < ROLE_COUNT; role++)
		assert_int_equal(part_of_role(false, role),
				 role == ROLE_GC_BEGIN || role == ROLE_GC_END ? TRACE_GC
				 : role == ROLE_BLOCK_BEGIN || role == ROLE_BLOCK_END
					 ? TRACE_BLOCKING
					 : TRACE_TURNS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_is_whole_when_its_probes_are_attached),
		cmocka_unit_test(a_part_that_cannot_come_back_says_why),
		cmocka_unit_test(who_is_not_told_of_has_no_parts),
		cmocka_unit_test(without_turns_nothing_is_of_use),
		cmocka_unit_test(each_role_is_of_one_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
