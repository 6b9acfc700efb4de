/* SPDX-License-Identifier: BSD-2-Clause */
/* The direct stopwatch: what finds no place on a thread's stack is counted. */
#include "bpf_host.h"

#include "bpf/stopwatch.bpf.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct watch watch;
static struct watch_stack watch_stack;

static void *more(void *map, const void *key)
{
	if (map == &watch_stacks)
		return &watch_stack;
	return map == &watches ? &watch : NULL;
}

static void a_turn_too_many_is_a_loss(void **state)
{
	const struct watch *w = &watch;
	__u32 i, many = 3;

	machine_make();
	host.more = more;
	for (i = 0; i < WATCH_TURNS + many; i++)
		assert_int_equal(____watch_ev_begin(&host.registers, 0), 0);
	assert_int_equal(w->turns, WATCH_TURNS);
	assert_int_equal(w->batch.too_deep, many);
	/* They end in turn, and those that found a place are all there. */
	for (i = 0; i < WATCH_TURNS + many; i++)
		assert_int_equal(watch_ev_end(&host.registers), 0);
	assert_int_equal(w->turns, 0);
	assert_int_equal(w->turns_over, 0);
	assert_int_equal(w->batch.seq + w->used - w->extra, WATCH_TURNS);
	assert_int_equal(w->batch.too_deep, many);
}

/* A program may say what it likes; by these ids the stack knows a collection and a blocking call. */
static void no_compartment_is_taken_for_a_collection(void **state)
{
	const struct watch *w = &watch;

	memset(&watch, 0, sizeof(watch));
	machine_make();
	host.more = more;
	assert_int_equal(____watch_enter(&host.registers, 1), 0);
	assert_int_equal(____watch_enter(&host.registers, VMSPAN_ID_GC), 0);
	assert_int_equal(____watch_enter(&host.registers, 1ull << 32 | 2), 0);
	assert_int_equal(w->depth, 1);
	assert_int_equal(host.counted[COUNT_MARK_LOST], 2);
	push(&watch, &watch_stack, VMSPAN_ID_BLOCK, 0, 0);
	assert_int_equal(____watch_leave(&host.registers, VMSPAN_ID_BLOCK), 0);
	assert_int_equal(w->depth, 2);
	assert_int_equal(host.counted[COUNT_MARK_LOST], 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_too_many_is_a_loss),
		cmocka_unit_test(no_compartment_is_taken_for_a_collection),
	};

	return cmocka_run_group_tests_name("bpf_watch", tests, NULL, NULL);
}
