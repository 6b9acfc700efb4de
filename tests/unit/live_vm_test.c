/* SPDX-License-Identifier: BSD-2-Clause */
/* Stock VMs without a VM: what the kernel side tells of one, made here, as items. */
#include "live_vm_rig.h"

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

/* A statement of a backend. What it is called. */
static const char *called(struct process *p, const char *title, const char *text)
{
	struct wire_turn w = { .h = { .kind = WIRE_VM_TURN, .pid = p->pid, .tid = TID },
			       .begin = 1000,
			       .end = 9000,
			       .iteration = 7,
			       .kind = TURN_STATEMENT,
			       .text_len = (u16)strlen(text),
			       .title_len = (u16)strlen(title) };
	u32 label;

	strcpy(w.text, text);
	strcpy(w.title, title);
	assert_non_null(vm_state_of(p));
	label = statement_label(&rig.l, p, &w);
	assert_true(label);
	return intern_get(p->vm_state->labels, label - 1, NULL);
}

static void statements_are_called_by_their_database_and_verb(void **state)
{
	static const struct {
		const char *title, *text, *name;
	} cases[] = {
		{ "postgres: app shop [local] SELECT", "select 1", "shop SELECT" },
		{ "postgres: 15/main: app shop 10.0.0.7(5433) idle", "insert into t",
		  "shop INSERT" },
		{ "postgres: app shop fe80::1(5433) SELECT", "/* x */ -- y\n (select 2)",
		  "shop SELECT" },
		{ "postgres: the old one: app shop [local] SELECT", "table t", "shop TABLE" },
		/* Which of them are the user's? */
		{ "postgres: the app shop [local] SELECT", "select 3", "(unknown) SELECT" },
		{ "postgres: app shop [local] SELECT [local]", "selec 1", "shop (other)" },
		{ "postgres: app shop [local] idle", "", "shop (empty)" },
		{ "postgres: autovacuum worker two words", "VACUUM t", "two words VACUUM" },
		{ "postgres: 15/main: autovacuum launcher", "select 4", "(background) SELECT" },
		{ "postgres: walsender copies 10.0.0.8(4000) streaming 0/1", "select 5",
		  "(replication) SELECT" },
		{ "postgres: logical replication worker for subscription 16395", "insert",
		  "(replication) INSERT" },
		{ "postgres: parallel worker for PID 9", "select 6", "(background) SELECT" },
		{ "postgres: autovacuum worker [local] SELECT", "select 9", "worker SELECT" },
		/* It is cut: who its client is stood behind. */
		{ "postgres: 0123456789012345678901234567890123456789012345678901234567890123 "
		  "012345678901234567890123456789012345",
		  "select 10", "(unknown) SELECT" },
		{ "another title", "select 7", "(unknown) SELECT" },
		{ "postgres: app shop", "select 8", "(background) SELECT" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		/* Each is another backend's. */
		live_vm_free(&rig.l, &rig.p);
		assert_string_equal(called(&rig.p, cases[i].title, cases[i].text), cases[i].name);
	}
}

/* Where names in a title end is in the backend's memory: here in this process's own. */
static void names_with_blanks_are_read_from_the_backend(void **state)
{
	const char *const port[2] = { "an: old shop", "some one" }, *const *my_port = port;
	static const char title[] = "postgres: 15/main: some one an: old shop [local] SELECT";

	(void)state;
	rig.p.vm_root = (u64)(uintptr_t)&my_port;
	assert_string_equal(called(&rig.p, title, "select 1"), "an: old shop SELECT");
	/* A backend has one database: its memory may be gone when the next statement is told of. */
	rig.p.vm_root = 0;
	assert_string_equal(called(&rig.p, title, "table t"), "an: old shop TABLE");
	/* Of another that has gone nobody knows it, nor is it asked again. */
	live_vm_free(&rig.l, &rig.p);
	assert_string_equal(called(&rig.p, title, "select 1"), "(unknown) SELECT");
	rig.p.vm_root = (u64)(uintptr_t)&my_port;
	assert_string_equal(called(&rig.p, title, "select 1"), "(unknown) SELECT");
	/* What is behind a colon is the cluster's if nobody says otherwise. */
	live_vm_free(&rig.l, &rig.p);
	rig.p.vm_root = 0;
	assert_string_equal(called(&rig.p, "postgres: 15/main: one shop [local] SELECT", "table t"),
			    "shop TABLE");
	/* A name that the memory does not have is none of its client's. */
	live_vm_free(&rig.l, &rig.p);
	rig.p.vm_root = (u64)(uintptr_t)&my_port;
	assert_string_equal(called(&rig.p, "postgres: some one shop [local] SELECT", "table t"),
			    "(unknown) TABLE");
}

/* A parallel worker works for a backend's database, which is known by its own statements. */
static void a_parallel_worker_works_for_its_leader(void **state)
{
	struct process worker = { .pid = 77, .pidfd = -1, .told = true };
	char title[64];

	(void)state;
	called(&rig.p, "postgres: app shop [local] SELECT", "select 1");
	snprintf(title, sizeof(title), "postgres: parallel worker for PID %u", rig.p.pid);
	assert_string_equal(called(&worker, title, "select 1"), "shop SELECT");
	/* Numbers of a container's are others: that one is of another server. */
	live_vm_free(&rig.l, &worker);
	worker.ppid = 5;
	assert_string_equal(called(&worker, title, "select 1"), "(background) SELECT");
	live_vm_free(&rig.l, &worker);
}

/* A VM whose probes could not be attached to is walked all the same; it has no statements. */
static void a_wait_that_nobody_began_is_none(void **state)
{
	struct wire_stay w = { .h = { .kind = WIRE_VM_WAIT, .pid = rig.p.pid, .tid = TID },
			       .begin = 5,
			       .end = 6,
			       .iteration = 1 };

	(void)state;
	assert_null(rig.p.vm_profile);
	assert_int_equal(live_record(&rig.l, &w, sizeof(w)), 0);
	assert_int_equal(records_of(1), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(groups_of_two_kinds_and_one_name_are_two),
		TEST(calls_that_were_lost_are_of_their_event),
		TEST(what_goes_on_as_the_trace_ends_is_no_event),
		TEST(statements_are_called_by_their_database_and_verb),
		TEST(names_with_blanks_are_read_from_the_backend),
		TEST(a_parallel_worker_works_for_its_leader),
		TEST(a_wait_that_nobody_began_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
