/* SPDX-License-Identifier: BSD-2-Clause */
/* The direct method: links of what was unloaded are there for a while, and are used again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "source/live_int.h"

/* What the kernel side is told, and the probes that are attached, in turn: enum traced_arming, or 100 + a role. */
static u32 steps[32], step_count;

static void made_arming(struct tracer *t, u32 pid, u32 arming)
{
	(void)t;
	assert_int_equal(pid, 10);
	steps[step_count++] = arming;
}

static struct site_link *made_site(struct tracer *t, u32 pid, const struct plan_dso *d,
				   enum probe_role role, struct err *err)
{
	(void)t, (void)d, (void)err;
	assert_int_equal(pid, 10);
	steps[step_count++] = 100 + role;
	return (struct site_link *)steps; /* looked at by nobody */
}

#define tracer_arming made_arming
#define site_direct made_site
#include "source/live_direct.c"
#undef tracer_arming
#undef site_direct

static struct attachment unloaded[] = {
	{ .pid = 11, .dev = 1, .inode = 7 }, /* of another process */
	{ .pid = 10, .dev = 1, .inode = 7, .vm = true }, /* a stock VM's probes are others */
	{ .pid = 10, .dev = 2, .inode = 7 },
	{ .pid = 10, .dev = 1, .inode = 7 },
	{ .pid = 10, .dev = 1, .inode = 8 },
};

static void a_file_that_is_loaded_again_has_its_old_links(void **state)
{
	struct attachment first = { .pid = 10, .inode = 6 }, *a;
	struct process p = { .pid = 10, .attachments = &first };
	struct plan_dso d = { .dev = 1, .inode = 7 };
	struct live l = { .buried = unloaded };
	u32 i, left = 0;

	(void)state;
	for (i = 0; i + 1 < ARRAY_SIZE(unloaded); i++)
		unloaded[i].next = &unloaded[i + 1];
	assert_ptr_equal(direct_again(&l, &p, &d), &unloaded[3]);
	assert_ptr_equal(p.attachments, &unloaded[3]);
	assert_ptr_equal(unloaded[3].next, &first);
	for (a = l.buried; a; a = a->next, left++)
		assert_ptr_not_equal(a, &unloaded[3]);
	assert_int_equal(left, ARRAY_SIZE(unloaded) - 1);
	assert_null(direct_again(&l, &p, &d));
	assert_ptr_equal(p.attachments, &unloaded[3]);
}

/* What comes of some probes says nothing without the others: nothing is taken before all are attached but the one that
 * needs none, nor once the first is detached. */
static void marks_are_taken_while_all_probes_are_attached(void **state)
{
	static const struct {
		bool started, told;
		u32 arming;
	} cases[] = { { false, false, ARMING_FIRST },
		      { true, false, ARMING_FIRST },
		      { true, true, ARMING_MORE } };
	u32 i, role;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct live l = { .started = cases[i].started };
		struct process p = { .pid = 10, .told = cases[i].told };
		struct attachment vm = { .vm = true }, a = { .next = &vm };
		struct plan_dso d = { 0 };
		struct err err = { 0 };
		u32 at = 0;

		for (role = 0; role < TRACE_PARTS; role++)
			l.parts[role] = (struct live_part){ .users = 1, .on = true };
		for (role = ROLE_ENTER; role < ROLE_COUNT; role++)
			d.probes.sites[role].offset = 1;
		p.attachments = &a;
		step_count = 0;
		direct_ends(&l, &p);
		assert_int_equal(step_count, 0); /* there are none */
		assert_int_equal(direct_attach(&l, &p, &d, &a, &err), 0);
		assert_int_equal(steps[at++], cases[i].arming);
		for (role = ROLE_ENTER; role < ROLE_MARK; role++)
			assert_int_equal(steps[at++], 100 + role);
		assert_int_equal(steps[at++], ARMING_DONE);
		assert_int_equal(steps[at++], 100 + ROLE_MARK);
		assert_int_equal(steps[at++], ARMING_DONE);
		assert_int_equal(step_count, at);
		direct_ends(&l, &p);
		assert_int_equal(step_count, at + 1);
		assert_int_equal(steps[at], ARMING_LAST);
	}
}

/* Libraries lie where others lay, of either version. */
static void a_copy_defines_in_what_it_says_now(void **state)
{
	struct process p = { .pid = (u32)getpid() };
	struct abi1_registry old = { .magic = VMSPAN_MAGIC, .abi = ABI1 };
	union {
		struct vmspan_registry copy;
		struct abi1_registry old;
	} place;
	const u64 at = (u64)(uintptr_t)&place;
	const struct registry *r;
	u64 *known;

	(void)state;
	memset(&place, 0, sizeof(place));
	place.copy = (struct vmspan_registry){ .magic = VMSPAN_MAGIC,
					       .abi = VMSPAN_ABI,
					       .process = 0x7000 };
	r = live_registry_of(&p, at);
	assert_true(r && r->address == 0x7000 && !r->abi1);
	place.copy.process = 0x9000;
	r = live_registry_of(&p, at);
	assert_true(r && r->address == 0x9000 && !r->abi1);
	known = map_get(&p.copies, at);
	assert_true(known && *known == 0x9000);
	/* The kernel side has looked. */
	r = live_registry_of(&p, 0x7000 | TRACED_MARKS);
	assert_true(r && r->address == 0x7000 && !r->abi1);
	place.old = old;
	r = live_registry_of(&p, at);
	assert_true(r && r->address == at && r->abi1);
	/* The program's own, whatever it is. */
	p.own_copy = NUMBERS_FIRST + 1;
	r = live_registry_of(&p, 0);
	assert_true(r && r->address == NUMBERS_FIRST + 1 && r->abi1);
	/* Whatever a program says. */
	assert_null(live_registry_of(&p, TRACED_MARKS));
	assert_null(live_registry_of(&p, ITEM_SCHED_REGISTRY | TRACED_MARKS));
	assert_null(live_registry_of(&p, ITEM_TRACER_REGISTRY));
	assert_int_equal(p.registry_count, 4);
	free(p.registries);
	map_free(&p.copies);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_is_loaded_again_has_its_old_links),
		cmocka_unit_test(marks_are_taken_while_all_probes_are_attached),
		cmocka_unit_test(a_copy_defines_in_what_it_says_now),
	};

	return cmocka_run_group_tests_name("direct", tests, NULL, NULL);
}
