/* SPDX-License-Identifier: BSD-2-Clause */
/* What is loaded waits for the tracer, which may come too late: user/source/live_late.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probe/started.h"
#include "source/live_late.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static u64 losses;

static int take(void *ctx, const struct item *it)
{
	(void)ctx;
	assert_int_equal(it->type, ITEM_LOSS);
	assert_int_equal(it->loss.cause, LOSS_MARKS_OFF);
	losses += it->loss.records;
	return 0;
}

#define MS NSEC_PER_MSEC

/* A program with a variable that says for whom it waits as it begins. */
static u32 start(long waits_for)
{
	char variable[40], *text = NULL;
	char *args[] = { (char *)"sleep", (char *)"1000", NULL }, *env[] = { variable, NULL };
	pid_t pid;

	snprintf(variable, sizeof(variable), "VMSPAN_WAIT=%ld", waits_for);
	assert_int_equal(posix_spawn(&pid, "/bin/sleep", NULL, NULL, args, env), 0);
	/* Its maker goes on as soon as it has memory of its own. */
	do {
		free(text);
		sched_yield();
		text = started_strings((u32)pid, "environ");
		assert_non_null(text);
	} while (!*text);
	free(text);
	return (u32)pid;
}

static void end(u32 pid)
{
	assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
	assert_int_equal(waitpid((pid_t)pid, NULL, 0), (pid_t)pid);
}

/* The news of an exec come first, and what it has executed is attached to then: what the SDK says
 * after that is told of once, if at all. */
static void what_was_attached_to_waits_no_more(void **state)
{
	static const struct {
		u64 armed_after; /* the SDK has been loaded; 0: never */
		bool new, waits, off, lost, is_due;
	} cases[] = {
		{ 0, true, true, false, false, true },
		{ 0, true, false, false, false, true },
		{ 10 * MS, true, true, false, false, false },
		{ 249 * MS, true, true, false, false, false },
		{ 251 * MS, true, true, false, true, false },
		{ 1, true, false, false, true, false },
		{ 251 * MS, true, false, false, true, false },
		{ 251 * MS, false, false, false, false, false }, /* it had begun before the trace */
		{ 251 * MS, true, true, true, false, false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wire_life w = { .h.pid = 4711, .mono_ns = clock_mono_ns() - 400 * MS };
		struct process p = { .pid = 4711, .pidfd = -1, .waits = cases[i].waits };
		struct live l = { .fn = take, .marks_off = cases[i].off };

		l.parts[TRACE_TURNS].on = true;
		p.exec_ns = cases[i].new ? w.mono_ns - MS : 0;
		p.armed_ns = cases[i].armed_after ? w.mono_ns + cases[i].armed_after : 0;
		assert_int_equal(map_put(&l.processes, p.pid, (u64)(uintptr_t)&p), 0);
		losses = 0;
		assert_int_equal(process_loaded(&l, &w), 0);
		assert_int_equal(losses, cases[i].lost);
		assert_int_equal(p.heard_late, cases[i].is_due);
		assert_int_equal(p.waits_ns, cases[i].is_due ? w.mono_ns : 0);
		/* A look is due in any case. */
		assert_int_equal(p.rescans, 1);
		map_free(&l.processes);
	}
}

/* What waits and is attached to in time, has lost nothing; what goes on meanwhile has, whatever it is traced by. Of
 * what had begun before anybody heard of it, nothing is known. */
static void who_comes_in_time_loses_nothing(void **state)
{
	enum {
		NOBODY,
		ANOTHER,
		THIS,
		COPY,
		PARENTS,
		TRAPS
	};
	static const struct {
		u64 waited; /* ns; 0: nobody has */
		int for_whom;
		bool lost;
	} cases[] = {
		{ 0, THIS, false },
		{ 249 * MS, THIS, false },
		{ 250 * MS, THIS, true },
		{ 0, NOBODY, false },
		{ 1, NOBODY, true },
		{ 249 * MS, ANOTHER, true },
		{ 249 * MS, COPY, false }, /* one of its libraries is traced already */
		{ 250 * MS, COPY, true },
		{ 249 * MS, PARENTS, false }, /* or was, as its parent forked it */
		{ 250 * MS, PARENTS, true },
		{ 1, TRAPS, true }, /* for those nobody waits */
	};
	size_t i;

	(void)state;
	for (i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		u64 waited = cases[i / 2].waited;
		int for_whom = cases[i / 2].for_whom;
		struct carrier *carrier = (struct carrier *)&losses; /* looked at by nobody */
		struct attachment copy = { .carrier = for_whom == COPY ? carrier : NULL };
		struct live l = { .fn = take };
		struct process p = { .pidfd = -1 };

		p.pid = start(for_whom == THIS ? getpid() : for_whom == ANOTHER ? getppid() : 0);
		p.attachments = for_whom == COPY || for_whom == TRAPS ? &copy : NULL;
		p.by_batches = for_whom == PARENTS;
		l.parts[TRACE_TURNS].on = true;
		l.command.pid = i % 2;
		p.waits_ns = waited ? 1000 * MS : 0;
		p.exec_ns = 900 * MS;
		p.waits = process_waits(&p);
		losses = 0;
		assert_int_equal(process_armed(&l, &p, 1000 * MS + waited), 0);
		assert_int_equal(losses, cases[i / 2].lost);
		assert_int_equal(p.late_ns, losses ? waited : 0);
		assert_int_equal(p.armed_ns, 1000 * MS + waited);
		/* That is said once. */
		assert_int_equal(process_armed(&l, &p, 2000 * MS), 0);
		assert_int_equal(losses, waited != 0);
		end(p.pid);
	}
}

/* It was there before, and all of the trace is about it; or others have been traced for a while. */
static void with_the_first_marks_the_trace_begins(void **state)
{
	u32 k;

	(void)state;
	for (k = 0; k < 8; k++) {
		bool others = k & 1, new = k & 2, says = k & 4;
		struct live l = { .fn = take, .attached_once = others };
		struct process p = { .pid = 4711, .pidfd = -1, .waits_ns = 1000 * MS };

		l.parts[TRACE_TURNS].on = true;
		p.exec_ns = new ? 900 * MS : 0;
		p.waits_for_ns = says;
		losses = 0;
		assert_int_equal(process_armed(&l, &p, 1001 * MS), 0);
		assert_int_equal(losses, others || new || says);
	}
}

/* While they are off because that was asked for, nothing is missed, and nothing has been said. */
static void marks_that_nobody_wants_are_not_missed(void **state)
{
	u32 k;

	(void)state;
	for (k = 0; k < 4; k++) {
		struct live l = { .fn = take, .marks_off = k & 1 };
		struct process p = { .pid = 4711, .waits_ns = 1000 * MS, .exec_ns = 900 * MS };

		l.parts[TRACE_TURNS].on = k & 2;
		losses = 0;
		assert_int_equal(process_armed(&l, &p, 1001 * MS), 0);
		assert_int_equal(losses, k == 2);
		assert_int_equal(p.missed, k == 2);
		assert_int_equal(p.late_ns != 0, k == 2);
	}
}

/* Where it ends, or executes something else, before anybody has looked at what it has loaded: who waited for that
 * longer than anybody does has gone on, as has who does not wait. Of what had nothing on it is said otherwise. */
static void what_nobody_looked_at_is_missed_at_its_end(void **state)
{
	static const struct {
		u64 said, ended;
		bool waits, nothing, off, missed, inherited, where, lost;
	} cases[] = {
		{ .said = 1000 * MS, .ended = 1249 * MS, .waits = true },
		{ .said = 1000 * MS, .ended = 1250 * MS, .waits = true, .lost = true },
		{ .said = 1000 * MS, .ended = 1001 * MS, .lost = true },
		{ .said = 0, .ended = 1250 * MS },
		{ .said = 1000 * MS, .ended = 1250 * MS, .nothing = true },
		{ .said = 1000 * MS, .ended = 1250 * MS, .off = true },
		{ .said = 1000 * MS, .ended = 1250 * MS, .inherited = true },
		/* Of it that has been said. */
		{ .said = 1000 * MS, .ended = 1250 * MS, .missed = true },
		/* The same of what says where it is. */
		{ .said = 1000 * MS, .ended = 1249 * MS, .where = true, .waits = true },
		{ .said = 1000 * MS,
		  .ended = 1250 * MS,
		  .where = true,
		  .waits = true,
		  .lost = true },
		{ .said = 1000 * MS, .ended = 1001 * MS, .where = true, .lost = true },
		{ .said = 1000 * MS, .ended = 1250 * MS, .where = true, .nothing = true },
		{ .said = 1000 * MS, .ended = 1250 * MS, .where = true, .off = true },
		{ .said = 1000 * MS, .ended = 1250 * MS, .where = true, .missed = true },
		/* It has not inherited that. */
		{ .said = 1000 * MS,
		  .ended = 1250 * MS,
		  .where = true,
		  .inherited = true,
		  .lost = true },
	};
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wire_life w = { .h.pid = 1u << 22, .mono_ns = cases[i].ended };
		struct process *p = calloc(1, sizeof(*p));
		struct live l = { .fn = take, .marks_off = cases[i].off };

		assert_non_null(p);
		p->pid = w.h.pid; /* there is none */
		p->pidfd = -1;
		p->waits_ns = cases[i].said;
		p->library_waits = cases[i].said && !cases[i].where;
		if (cases[i].where) {
			p->unseen_copies = calloc(1, sizeof(*p->unseen_copies));
			assert_non_null(p->unseen_copies);
			p->unseen_copies->said_ns = cases[i].said;
			p->unseen_copies->waits = cases[i].waits;
			p->unseen_count = p->unseen_cap = 1;
		}
		p->waits = cases[i].waits;
		p->missed = cases[i].missed;
		p->unlinked = cases[i].inherited;
		p->attachments = calloc(1, sizeof(*p->attachments));
		assert_non_null(p->attachments);
		p->attachments->vm = cases[i].nothing;
		l.parts[TRACE_TURNS].on = true;
		assert_int_equal(map_put(&l.processes, p->pid, (u64)(uintptr_t)p), 0);
		losses = 0;
		assert_int_equal(process_exec(&l, &w), 0);
		assert_int_equal(losses, cases[i].lost);
		process_free(&l, p);
		process_free_buried(&l);
		plan_cache_free(&l.cache);
		vm_cache_free(&l.vm_cache);
		map_free(&l.processes);
	}
}

/* What a program says first, is that it has begun itself. */
static void a_library_says_so_behind_its_program(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < 4; i++) {
		struct process p = { .pid = 4711, .pidfd = -1, .exec_ns = i & 1 ? 900 * MS : 0 };
		struct live l = { .fn = take };
		struct wire_life w = { .h = { .pid = 4711, .tid = 4712 }, .mono_ns = 1000 * MS };

		p.armed_ns = i & 2 ? 1001 * MS : 950 * MS;
		assert_int_equal(map_put(&l.processes, p.pid, (u64)(uintptr_t)&p), 0);
		assert_int_equal(process_loaded(&l, &w), 0);
		assert_int_equal(p.library_waits, i == 0);
		w.mono_ns = 1002 * MS;
		assert_int_equal(process_loaded(&l, &w), 0);
		assert_true(p.library_waits);
		map_free(&l.processes);
	}
}

/* ---- What says where it is ---- */

/* A process that is looked at: this one. */
static struct process *looked_at(struct live *l)
{
	struct process *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->pid = (u32)getpid();
	p->pidfd = -1;
	p->looked_ns = 2000 * MS;
	l->fn = take;
	l->parts[TRACE_TURNS].on = true;
	assert_int_equal(map_put(&l->processes, p->pid, (u64)(uintptr_t)p), 0);
	losses = 0;
	return p;
}

static void forget(struct live *l, struct process *p)
{
	process_free(l, p);
	map_free(&l->processes);
}

static int loaded(struct live *l, const void *copy, u64 mono_ns, u32 on)
{
	const struct wire_life w = { .h = { .pid = (u32)getpid(), .tid = 1 },
				     .mono_ns = mono_ns,
				     .other = on,
				     .copy = (u64)(uintptr_t)copy,
				     .which = 7 };

	return process_loaded(l, &w);
}

static struct vmspan_registry a_copy(bool closed, u16 armed, u16 probes)
{
	return (struct vmspan_registry){ .magic = VMSPAN_MAGIC,
					 .abi = VMSPAN_ABI,
					 .loaded = 7,
					 .closed = closed,
					 .semaphore = armed,
					 .probes_semaphore = probes };
}

/* Nothing need have waited: a program without the SDK loads it, or another namespace does. */
static void a_copy_that_has_gone_before_it_is_looked_at_is_a_loss(void **state)
{
	struct vmspan_registry there = a_copy(false, 0, 0), another_abi = a_copy(false, 0, 0);
	struct vmspan_registry another = a_copy(false, 0, 0), older = a_copy(false, 0, 0);
	struct vmspan_registry going = a_copy(true, 0, 0), traced = a_copy(true, 1, 0);
	struct vmspan_registry trapped = a_copy(true, 0, 9), something_else = { 0 };
	const struct {
		const void *at;
		int look; /* came to that */
		bool off, missed, lost, kept;
	} cases[] = {
		{ .at = &there },
		{ .at = &something_else, .lost = true },
		{ .at = &something_else, .look = -ENOENT, .lost = true },
		{ .at = (void *)0x1000, .lost = true }, /* nothing */
		{ .at = &going, .lost = true },
		{ .at = &traced },
		{ .at = &trapped },
		/* Others lie there now. */
		{ .at = &another, .lost = true },
		{ .at = &older, .lost = true },
		{ .at = &another_abi }, /* of which it is not known what it says */
		{ .at = &something_else, .off = true },
		{ .at = &something_else, .missed = true },
		/* It has found nothing out. */
		{ .at = &something_else, .look = -ESRCH, .kept = true },
		{ .at = &something_else, .look = -EACCES, .kept = true },
	};
	size_t i;

	(void)state;
	another.loaded++;
	older.abi = ABI1;
	another_abi.abi++;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct live l = { 0 };
		struct process *p = looked_at(&l);

		assert_int_equal(loaded(&l, cases[i].at, 1000 * MS, 0), 0);
		assert_int_equal(p->waits_ns, 1000 * MS);
		assert_true(p->unseen);
		assert_int_equal(p->rescans, 1);
		l.marks_off = cases[i].off;
		p->missed = cases[i].missed;
		assert_int_equal(process_looked(&l, p, cases[i].look), 0);
		assert_int_equal(losses, cases[i].lost);
		/* What is missing already is told of all the same. */
		assert_int_equal(p->passed_by,
				 cases[i].lost || cases[i].missed ? PASSED_BY : NOT_PASSED_BY);
		assert_int_equal(p->unseen_count, cases[i].kept);
		assert_int_equal(p->unseen, cases[i].look == -ESRCH);
		forget(&l, p);
	}
}

/* The look that has turned its marks on may find it gone by its own end: it has run, and was unloaded. */
static void what_has_run_and_gone_since_it_was_attached_to_is_no_loss(void **state)
{
	u32 another;

	(void)state;
	for (another = 0; another < 2; another++) {
		struct live l = { 0 };
		struct process *p = looked_at(&l);

		assert_int_equal(loaded(&l, (void *)0x1000, 1000 * MS, VMSPAN_LOADED_WAITS), 0);
		p->attachments = calloc(1, sizeof(*p->attachments));
		assert_non_null(p->attachments);
		p->attachments->copy_seen = 0x1000;
		p->attachments->which = another ? 6 : 7;
		assert_int_equal(process_looked(&l, p, 0), 0);
		assert_int_equal(losses, another);
		forget(&l, p);
	}
}

/* While they are off because that is asked for, nothing is expected of it, nor later. */
static void what_comes_and_goes_while_nobody_wants_it_is_no_loss(void **state)
{
	struct live l = { .marks_off = true };
	struct process *p = looked_at(&l);

	(void)state;
	assert_int_equal(loaded(&l, (void *)0x1000, 1000 * MS, 0), 0);
	l.marks_off = false;
	assert_int_equal(process_looked(&l, p, 0), 0);
	assert_int_equal(losses, 0);
	forget(&l, p);
}

/* The look may have been there before it was. */
static void what_is_loaded_during_a_look_is_for_the_next(void **state)
{
	struct live l = { 0 };
	struct process *p = looked_at(&l);

	(void)state;
	assert_int_equal(loaded(&l, (void *)0x1000, 2000 * MS, 0), 0);
	assert_int_equal(process_looked(&l, p, 0), 0);
	assert_int_equal(losses, 0);
	p->looked_ns = 2001 * MS;
	assert_int_equal(process_looked(&l, p, 0), 0);
	assert_int_equal(losses, 1);
	/* That is said once. */
	assert_int_equal(loaded(&l, (void *)0x1000, 2000 * MS, 0), 0);
	assert_int_equal(process_looked(&l, p, 0), 0);
	assert_int_equal(losses, 1);
	forget(&l, p);
}

static void so_many_copies_are_kept_between_two_looks(void **state)
{
	struct live l = { 0 };
	struct process *p = looked_at(&l);
	u64 i;

	(void)state;
	for (i = 1; i <= 64; i++)
		assert_int_equal(loaded(&l, (void *)(i << 12), 1000 * MS, 0), 0);
	assert_int_equal(losses, 0);
	assert_int_equal(loaded(&l, (void *)(i << 12), 1000 * MS, 0), 0);
	assert_int_equal(losses, 1);
	assert_int_equal(p->unseen_count, 64);
	forget(&l, p);
}

/* What is attached to has its marks on from when it is mapped again; unless nothing is, and they are on for another
 * tracer. */
static void what_is_on_already_waits_for_nobody(void **state)
{
	enum {
		NOTHING,
		OWN,
		BATCHES,
		TRAPS
	};
	u32 i;

	(void)state;
	for (i = NOTHING; i <= TRAPS; i++) {
		struct live l = { 0 };
		struct process *p = looked_at(&l);
		bool due = i == NOTHING;

		p->armed_ns = i == OWN ? 900 * MS : 0; /* it is unmapped meanwhile */
		p->by_batches = i == BATCHES;
		p->by_traps = i == TRAPS;
		assert_int_equal(loaded(&l, (void *)0x1000, 1000 * MS, 1), 0);
		assert_true(p->loaded);
		assert_int_equal(p->rescans, 1);
		assert_int_equal(p->waits_ns, due ? 1000 * MS : 0);
		assert_int_equal(p->heard_late, due);
		assert_int_equal(p->unseen, due);
		assert_int_equal(process_looked(&l, p, 0), 0);
		assert_int_equal(losses, due);
		forget(&l, p);
	}
}

/* The news of it may come behind the look that has found it; another may lie where one lay that was attached to. */
static void what_has_been_attached_to_since_is_not_looked_for(void **state)
{
	static const struct {
		u64 armed;
		bool new, goes_on, elsewhere, another, late, due;
	} cases[] = {
		{ .armed = 1001 * MS },
		{ .armed = 1001 * MS, .new = true },
		{ .armed = 1001 * MS, .new = true, .goes_on = true, .late = true },
		{ .armed = 1250 * MS, .new = true, .late = true },
		{ .armed = 1250 * MS },
		{ .armed = 999 * MS }, /* that it is off all the same, is said otherwise */
		{ .armed = 1001 * MS, .another = true, .due = true },
		{ .armed = 1001 * MS, .elsewhere = true, .due = true },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct live l = { 0 };
		struct process *p = looked_at(&l);

		p->waits = cases[i].goes_on; /* it knows better */
		p->exec_ns = cases[i].new ? 900 * MS : 0;
		p->armed_ns = 1900 * MS; /* another file of it */
		p->attachments = calloc(1, sizeof(*p->attachments));
		assert_non_null(p->attachments);
		p->attachments->copy_seen = cases[i].elsewhere ? 0x2000 : 0x1000;
		p->attachments->which = cases[i].another ? 6 : 7;
		p->attachments->armed_ns = cases[i].armed;
		assert_int_equal(loaded(&l, (void *)0x1000, 1000 * MS,
					cases[i].goes_on ? 0 : VMSPAN_LOADED_WAITS),
				 0);
		assert_int_equal(losses, cases[i].late);
		assert_int_equal(p->late_ns, cases[i].late ? cases[i].armed - 1000 * MS : 0);
		assert_int_equal(p->waited, cases[i].late && !cases[i].goes_on);
		assert_int_equal(p->unseen_count, cases[i].due);
		assert_int_equal(p->waits_ns, cases[i].due ? 1000 * MS : 0);
		forget(&l, p);
	}
}

/* Whatever its environment says, and what else is traced of it: in a PID namespace of its own it does not see the
 * tracer, and after a wait in vain it waits no more. */
static void whether_it_waits_it_says_itself(void **state)
{
	static const struct {
		u32 says;
		u64 armed_after;
		bool lost;
	} cases[] = {
		{ VMSPAN_LOADED_WAITS, 249 * MS, false },
		{ VMSPAN_LOADED_WAITS, 250 * MS, true },
		{ 0, 1, true },
		/* By another tracer. */
		{ VMSPAN_LOADED_ON, 1, true },
	};
	size_t i;

	(void)state;
	for (i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		struct live l = { .attached_once = true };
		struct process *p = looked_at(&l);
		u32 says = cases[i / 2].says;
		bool ended = cases[i / 2].armed_after >= 250 * MS || says != VMSPAN_LOADED_WAITS;

		p->waits = i % 2;
		assert_int_equal(loaded(&l, (void *)0x1000, 1000 * MS, says), 0);
		assert_int_equal(process_armed(&l, p, 1000 * MS + cases[i / 2].armed_after), 0);
		assert_int_equal(losses, cases[i / 2].lost);
		assert_int_equal(p->waited, says == VMSPAN_LOADED_WAITS && cases[i / 2].lost);
		/* The same where it ends meanwhile. */
		p->missed = false;
		p->unlinked = true;
		losses = 0;
		assert_int_equal(
			process_missed_by_its_end(&l, p, 1000 * MS + cases[i / 2].armed_after), 0);
		assert_int_equal(losses, ended);
		forget(&l, p);
	}
}

/* Of several the first that goes on is the one that counts. */
static void who_goes_on_first_is_late_first(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct live l = { .attached_once = true };
		struct process *p = looked_at(&l);

		assert_int_equal(loaded(&l, (void *)0x1000, 1000 * MS, VMSPAN_LOADED_WAITS), 0);
		assert_int_equal(loaded(&l, (void *)0x2000, 1001 * MS, i ? 0 : VMSPAN_LOADED_WAITS),
				 0);
		assert_int_equal(process_armed(&l, p, 1002 * MS), 0);
		assert_int_equal(losses, i);
		assert_int_equal(p->late_ns, i ? MS : 0);
		forget(&l, p);
	}
}

/* A program that runs on: this one, which has no marks. */
static void what_has_said_so_is_looked_for_at_the_trace_s_end(void **state)
{
	struct live l = { 0 };
	struct process *p = looked_at(&l);

	(void)state;
	assert_int_equal(loaded(&l, (void *)0x1000, 1000 * MS, 0), 0);
	assert_int_equal(process_look_last(&l), 0);
	assert_int_equal(losses, 1);
	assert_int_equal(process_look_last(&l), 0);
	assert_int_equal(losses, 1);
	plan_cache_free(&l.cache);
	vm_cache_free(&l.vm_cache);
	forget(&l, p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_attached_to_waits_no_more),
		cmocka_unit_test(who_comes_in_time_loses_nothing),
		cmocka_unit_test(with_the_first_marks_the_trace_begins),
		cmocka_unit_test(marks_that_nobody_wants_are_not_missed),
		cmocka_unit_test(what_nobody_looked_at_is_missed_at_its_end),
		cmocka_unit_test(a_library_says_so_behind_its_program),
		cmocka_unit_test(a_copy_that_has_gone_before_it_is_looked_at_is_a_loss),
		cmocka_unit_test(what_has_run_and_gone_since_it_was_attached_to_is_no_loss),
		cmocka_unit_test(what_comes_and_goes_while_nobody_wants_it_is_no_loss),
		cmocka_unit_test(what_is_loaded_during_a_look_is_for_the_next),
		cmocka_unit_test(so_many_copies_are_kept_between_two_looks),
		cmocka_unit_test(what_is_on_already_waits_for_nobody),
		cmocka_unit_test(what_has_been_attached_to_since_is_not_looked_for),
		cmocka_unit_test(whether_it_waits_it_says_itself),
		cmocka_unit_test(who_goes_on_first_is_late_first),
		cmocka_unit_test(what_has_said_so_is_looked_for_at_the_trace_s_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
