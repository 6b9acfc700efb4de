/* SPDX-License-Identifier: BSD-2-Clause */
/* Which container a process of a trace runs in: what the tracer says, and nobody else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim.h"

static void change(struct model *m, enum process_change change, u32 pid, u32 ppid)
{
	struct item it = { .type = ITEM_PROCESS, .process = { change, pid, ppid, 1, "kid", "" } };

	assert_int_equal(model_item(m, &it), 0);
}

static void define(struct model *m, u64 registry, u32 pid, u32 id, const char *text)
{
	u64 room[2 * VMSPAN_SLOT / sizeof(u64)] = { 0 };
	struct vmspan_def *d = (void *)room;
	struct item it = { .type = ITEM_DEFS, .defs = { pid, registry, room, sizeof(room) } };

	d->h = (struct vmspan_head){ VMSPAN_DEF_CONTAINER, 2, 0, id };
	d->name_len = (u8)strlen(text);
	memcpy(d->groups, text, d->name_len);
	assert_int_equal(model_item(m, &it), 0);
}

/* Of the latest process of that number. */
static void check_container(const struct model *m, u32 pid, const char *runtime, const char *id,
			    const char *name)
{
	struct snapshot *now = snapshot_take(m), *copy = snapshot_delta(now, NULL);
	const struct snapshot_container *c = NULL;
	u32 i;

	for (i = 0; i < copy->process_count; i++)
		if (copy->processes[i].pid == pid)
			c = &copy->processes[i].container;
	assert_non_null(c);

	/* What is copied lives on alone. */
	snapshot_free(now);
	assert_int_equal(!c->runtime, !runtime);
	if (runtime) {
		assert_string_equal(c->runtime, runtime);
		assert_string_equal(c->id, id);
		assert_string_equal(c->name, name);
	}
	snapshot_free(copy);
}

static struct model *traced(void)
{
	struct model *m = model_make(&(struct model_config){ 0 });

	change(m, PROCESS_SEEN, 10, 1);
	define(m, ITEM_TRACER_REGISTRY, 10, VMSPAN_CONTAINER_RUNTIME, "podman");
	define(m, ITEM_TRACER_REGISTRY, 10, VMSPAN_CONTAINER_ID, "0123");
	define(m, ITEM_TRACER_REGISTRY, 10, VMSPAN_CONTAINER_NAME, "web");
	return m;
}

static void a_process_has_the_one_that_is_told(void **state)
{
	struct model *m = traced();

	(void)state;
	check_container(m, 10, "podman", "0123", "web");
	/* It need not have all of it; and a name may be told later, or anew. */
	change(m, PROCESS_SEEN, 11, 1);
	check_container(m, 11, NULL, NULL, NULL);
	define(m, ITEM_TRACER_REGISTRY, 11, VMSPAN_CONTAINER_RUNTIME, "lxc");
	check_container(m, 11, "lxc", "", "");
	define(m, ITEM_TRACER_REGISTRY, 11, VMSPAN_CONTAINER_NAME, "a");
	check_container(m, 11, "lxc", "", "a");
	define(m, ITEM_TRACER_REGISTRY, 11, VMSPAN_CONTAINER_NAME, "");
	check_container(m, 11, "lxc", "", "");
	check_container(m, 10, "podman", "0123", "web");
	model_free(m);
}

static void children_run_in_their_parents(void **state)
{
	struct model *m = traced();

	(void)state;
	change(m, PROCESS_FORK, 11, 10);
	check_container(m, 11, "podman", "0123", "web");
	change(m, PROCESS_FORK, 12, 11);
	check_container(m, 12, "podman", "0123", "web");
	/* A program that is executed may have been put into another one, which is told. */
	change(m, PROCESS_EXEC, 11, 10);
	check_container(m, 11, NULL, NULL, NULL);
	/* Another process of that number. */
	change(m, PROCESS_EXIT, 12, 11);
	change(m, PROCESS_SEEN, 12, 1);
	check_container(m, 12, NULL, NULL, NULL);
	model_free(m);
}

static void a_target_has_no_say_in_it(void **state)
{
	struct model *m = traced();

	(void)state;
	define(m, SIM_REGISTRY, 10, VMSPAN_CONTAINER_NAME, "forged");
	define(m, ITEM_SCHED_REGISTRY, 10, VMSPAN_CONTAINER_NAME, "forged");
	define(m, ITEM_TRACER_REGISTRY, 10, 0, "forged");
	define(m, ITEM_TRACER_REGISTRY, 10, VMSPAN_CONTAINER_TEXTS + 1, "forged");
	define(m, ITEM_TRACER_REGISTRY, 10, UINT32_MAX, "forged");
	check_container(m, 10, "podman", "0123", "web");
	model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_has_the_one_that_is_told),
		cmocka_unit_test(children_run_in_their_parents),
		cmocka_unit_test(a_target_has_no_say_in_it),
	};

	return cmocka_run_group_tests_name("container_model", tests, NULL, NULL);
}
