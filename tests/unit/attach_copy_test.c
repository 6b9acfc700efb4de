/* SPDX-License-Identifier: BSD-2-Clause */
/* Which copy of the SDK lay in a file when it was attached to: user/source/live_attach.c. */
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

#define tracer_armed made_armed
#define live_rings_tell made_tell
#include "source/live_attach.c"
#undef tracer_armed
#undef live_rings_tell

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_the_one_from_before_its_marks_were_on),
	};

	return cmocka_run_group_tests_name("attach_copy", tests, NULL, NULL);
}
