/* SPDX-License-Identifier: BSD-2-Clause */
/* Which container a process of a trace runs in: what the tracer says, and nobody else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim.h"
#include "sink/containers.h"

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

/* ---- What its processes add up to ---- */

/* Of the container with this id; "": of none. */
static struct container_sum sum_of(const struct snapshot *s, const char *id)
{
	struct container_sum found = { .processes = UINT32_MAX };
	struct container_sums sums;
	u32 i;

	assert_int_equal(container_sums_take(&sums, s), 0);
	for (i = 0; i < sums.count; i++)
		if (!strcmp(sums.list[i].container.id, id))
			found = sums.list[i];
	container_sums_free(&sums);
	assert_int_not_equal(found.processes, UINT32_MAX);
	return found;
}

static void check_sum(const struct snapshot *s, const char *id, u64 events)
{
	const struct container_sum c = sum_of(s, id);

	assert_int_equal(c.events.count, events);
	assert_int_equal(ledger_sum(&c.ledger), events * 1000);
	assert_int_equal(c.gc.count, events);
}

/* Of all groups of this name, what is in processes of the container. */
static u64 ticks_in(const struct snapshot *s, const char *group, const char *id)
{
	const struct snapshot_group *g = snapshot_group(s, group);
	u64 ticks = 0;
	u32 i;

	for (i = 0; i < g->children; i++) {
		const struct snapshot_child *c = &s->children[g->first_child + i];
		const struct snapshot_container *box = &s->processes[c->process].container;

		if (box->runtime && !strcmp(box->id, id))
			ticks += c->stats.ticks;
	}
	return ticks;
}

#define PROCESSES 20000

/* More than are kept apart, of two containers in turn and of none. */
static void the_sum_of_a_container_outlives_its_processes(void **state)
{
	static const char *const ids[] = { "aa", "bb", NULL };
	struct model *m = model_make(&(struct model_config){ 0 });
	struct snapshot *now, *then = NULL, *delta;
	struct buf packed = { 0 };
	struct sim *s = sim_one_event();
	u32 i, before = 0;

	(void)state;
	for (i = 1; i <= PROCESSES; i++) {
		u32 pid = SIM_PID + i;
		const char *id = ids[i % 3];

		change(m, PROCESS_FORK, pid, SIM_PID);
		if (id) {
			define(m, ITEM_TRACER_REGISTRY, pid, VMSPAN_CONTAINER_RUNTIME, "podman");
			define(m, ITEM_TRACER_REGISTRY, pid, VMSPAN_CONTAINER_ID, id);
		}
		assert_int_equal(sim_batch(s, m, pid, 0, 3), 0);
		change(m, PROCESS_EXIT, pid, SIM_PID);
		if (i % 1500)
			continue;
		now = snapshot_take(m);
		check_sum(now, "aa", i / 3);
		check_sum(now, "bb", (i + 2) / 3);
		/* In between no more than what was done then, though others were folded. */
		delta = snapshot_delta(now, then);
		check_sum(delta, "aa", (i - before) / 3);
		check_sum(delta, "bb", (i - before) / 3);
		assert_int_equal(ticks_in(delta, "addon:a", "aa"), (i - before) / 3);
		assert_int_equal(ticks_in(delta, "addon:a", "bb"), (i - before) / 3);
		snapshot_free(delta);
		if (then) {
			delta = snapshot_delta(now, NULL);
			assert_int_equal(snapshot_since(delta, &packed), 0);
			check_sum(delta, "aa", (i - before) / 3);
			assert_int_equal(ticks_in(delta, "addon:a", "bb"), (i - before) / 3);
			snapshot_free(delta);
		}
		buf_clear(&packed);
		assert_int_equal(snapshot_pack(now, &packed), 0);
		snapshot_free(then);
		then = now;
		before = i;
	}
	snapshot_free(then);
	buf_free(&packed);
	model_free(m);
	free(s);
}

/* What has an id is the same container after it has been renamed; names alone are of a runtime each. */
static void a_container_is_one_under_all_its_names(void **state)
{
	struct model *m = traced();
	struct container_sums sums;
	struct snapshot *s;

	(void)state;
	change(m, PROCESS_SEEN, 11, 1);
	define(m, ITEM_TRACER_REGISTRY, 11, VMSPAN_CONTAINER_RUNTIME, "podman");
	define(m, ITEM_TRACER_REGISTRY, 11, VMSPAN_CONTAINER_ID, "0123");
	define(m, ITEM_TRACER_REGISTRY, 11, VMSPAN_CONTAINER_NAME, "shop");
	change(m, PROCESS_SEEN, 12, 1);
	define(m, ITEM_TRACER_REGISTRY, 12, VMSPAN_CONTAINER_RUNTIME, "lxc");
	define(m, ITEM_TRACER_REGISTRY, 12, VMSPAN_CONTAINER_NAME, "shop");
	change(m, PROCESS_SEEN, 13, 1);
	define(m, ITEM_TRACER_REGISTRY, 13, VMSPAN_CONTAINER_RUNTIME, "systemd-nspawn");
	define(m, ITEM_TRACER_REGISTRY, 13, VMSPAN_CONTAINER_NAME, "shop");
	change(m, PROCESS_EXIT, 13, 1);
	s = snapshot_take(m);
	assert_int_equal(container_sums_take(&sums, s), 0);
	assert_int_equal(sums.count, 3);
	assert_string_equal(sums.list[0].container.name, "shop");
	assert_int_equal(sums.list[0].processes, 2);
	assert_int_equal(sums.list[1].processes, 1);
	assert_int_equal(sums.list[2].processes, 0);
	/* The process of model_make() is in none. */
	assert_int_equal(sums.of[0], 3);
	assert_int_equal(sums.of[1], 0);
	assert_int_equal(sums.of[4], 2);
	container_sums_free(&sums);
	snapshot_free(s);
	model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_has_the_one_that_is_told),
		cmocka_unit_test(children_run_in_their_parents),
		cmocka_unit_test(a_target_has_no_say_in_it),
		cmocka_unit_test(the_sum_of_a_container_outlives_its_processes),
		cmocka_unit_test(a_container_is_one_under_all_its_names),
	};

	return cmocka_run_group_tests_name("container_model", tests, NULL, NULL);
}
