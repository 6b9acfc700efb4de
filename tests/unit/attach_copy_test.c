/* SPDX-License-Identifier: BSD-2-Clause */
/* Which copy of the SDK lay in a file when it was attached to, and whose links are detached when the trace
 * ends: user/source/live_attach.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "source/live_int.h"

static struct vmspan_registry sdk_copy;
static u32 next; /* `loaded` of what lies there once its marks are on */

static void made_armed(struct tracer *t, u32 pid, u64 registry)
{
	(void)t, (void)pid;
	assert_int_equal(registry, (uintptr_t)&sdk_copy);
	sdk_copy.loaded = next;
}

static void made_tell(struct live *l, const struct process *p)
{
	(void)l, (void)p;
}

/* Links that are let go of. */
static struct site_link *released[16];
static u32 release_count;

static void made_release(struct site_link *link)
{
	if (link)
		released[release_count++] = link;
}

static void made_marks_off(struct tracer *t, bool off)
{
	(void)t, (void)off;
}

#define tracer_armed made_armed
#define live_rings_tell made_tell
#define site_release made_release
#define tracer_marks_off made_marks_off
#include "source/live_attach.c"
#undef tracer_armed
#undef live_rings_tell
#undef site_release
#undef tracer_marks_off

/* With its marks on it may run, and be gone at once, and another one be there. One that had not begun says so when it
 * has. */
static void it_is_the_one_from_before_its_marks_were_on(void **state)
{
	static const struct {
		u32 before, behind, which;
	} cases[] = { { 5, 5, 5 }, { 5, 6, 5 }, { 5, 0, 5 }, { 0, 6, 6 }, { 0, 0, 0 } };
	struct site_link *some = (struct site_link *)&next; /* looked at by nobody */
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plan_dso d = {
			.dev = 1, .inode = 2, .registry = (u64)(uintptr_t)&sdk_copy, .path = "file"
		};
		struct carrier carrier = { .dev = 1, .inode = 2, .link = some };
		struct attachment a = {
			.dev = 1, .inode = 2, .carrier = &carrier, .armed = some, .which = 99
		};
		struct process p = { .pid = (u32)getpid(), .pidfd = -1, .attachments = &a };
		struct live l = { .s.info.clock = CLOCK_TSC, .parts[TRACE_TURNS].on = true };
		struct err err = { 0 };

		d.probes.profile = &(struct profile){ .name = "sdk" };
		d.probes.sites[ROLE_FLUSH].offset = d.probes.sites[ROLE_ARMED].semaphore_offset = 1;
		sdk_copy = (struct vmspan_registry){ .magic = VMSPAN_MAGIC,
						     .abi = VMSPAN_ABI,
						     .loaded = cases[i].before };
		next = cases[i].behind;
		assert_int_equal(attach_dso(&l, &p, &d, &err), 0);
		assert_int_equal(a.copy_seen, (uintptr_t)&sdk_copy);
		assert_int_equal(a.which, cases[i].which);
	}
}

/* A link is known by its place here. */
static char link_of[3];
enum {
	LIVING, /* a process that goes on */
	ENDED,
	UNMAPPED, /* a file that the living one has no more: it may come again */
};

static bool is_released(int who)
{
	u32 i;

	for (i = 0; i < release_count; i++)
		if (released[i] == (struct site_link *)&link_of[who])
			return true;
	return false;
}

/* Turns marks off of three, and a child if there is one. */
static void turn_off(bool at_the_end, bool with_child)
{
	struct attachment of[3] = {
		[LIVING] = { .pid = 10 }, [ENDED] = { .pid = 20 }, [UNMAPPED] = { .pid = 10 }
	};
	struct process living = { .pid = 10, .pidfd = -1, .attachments = &of[LIVING] };
	struct process child = { .pid = 30, .pidfd = -1, .unlinked = true };
	struct live l = { .s.info.clock = CLOCK_TSC, .detached = at_the_end, .marks_off = true };
	int i;

	for (i = LIVING; i <= UNMAPPED; i++)
		of[i].armed = (struct site_link *)&link_of[i];
	of[ENDED].next = &of[UNMAPPED];
	l.buried = &of[ENDED];
	assert_int_equal(map_put(&l.processes, 10, (uintptr_t)&living), 0);
	if (with_child)
		assert_int_equal(map_put(&l.processes, 30, (uintptr_t)&child), 0);
	release_count = 0;
	process_disarm_all(&l);
	map_free(&l.processes);
	assert_true(l.marks_off_at.mono_ns > 0);
}

static void at_the_end_links_of_the_dead_are_left(void **state)
{
	(void)state;
	turn_off(true, false);
	assert_true(is_released(LIVING) && is_released(UNMAPPED));
	assert_false(is_released(ENDED));
	/* One of them may be what a child lives on. */
	turn_off(true, true);
	assert_true(is_released(LIVING) && is_released(UNMAPPED) && is_released(ENDED));
	/* At a pause there is time. */
	turn_off(false, false);
	assert_true(is_released(LIVING) && is_released(UNMAPPED) && is_released(ENDED));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_the_one_from_before_its_marks_were_on),
		cmocka_unit_test(at_the_end_links_of_the_dead_are_left),
	};

	return cmocka_run_group_tests_name("attach_copy", tests, NULL, NULL);
}
