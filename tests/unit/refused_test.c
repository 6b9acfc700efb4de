/* SPDX-License-Identifier: BSD-2-Clause */
/* That a process, or a part of it, is not traced: when that is said, and how. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "source/live_int.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- What is said ---- */

static char said[2048];

static int hear(struct live *l, struct process *p, u32 key, const char *text, const char *advice)
{
	size_t n = strlen(said);

	(void)l;
	assert_int_equal(p->pid, 4711);
	assert_true(key == NOTE_REFUSED || (key == NOTE_LATE && !p->late_ns));
	snprintf(said + n, sizeof(said) - n, "%s -> %s\n", text, advice);
	return 0;
}

static bool ended;

static bool has_ended(const struct process *p)
{
	(void)p;
	return ended;
}

#define live_note hear
#define process_has_ended has_ended
#include "source/live_refused.c"
#undef live_note
#undef process_has_ended

static const char *last_words(struct live *l, struct process *p, enum unfinished_why why)
{
	said[0] = 0;
	assert_int_equal(process_last_words(l, p, why), 0);
	assert_null(p->refused);
	return said;
}

static const char *words(struct live *l, struct process *p)
{
	return last_words(l, p, UNFINISHED_PROCESS);
}

static void refuse(struct process *p, int code, enum exit_status status, const char *what,
		   const char *hint)
{
	struct err e = { 0 };

	err_set_status(&e, code, status, "%s", what);
	err_hint(&e, "%s", hint);
	live_refused(p, &e);
}

static void all_causes_are_said_in_one(void **state)
{
	struct live l = { 0 };
	struct process p = { .pid = 4711, .denied = 3 };

	(void)state;
	refuse(&p, -ENOTSUP, EXIT_DONE, "process 4711: its frames are odd", "Take another.");
	refuse(&p, -EACCES, EXIT_PERMISSION, "process 4711: no permission", "Be root.");
	refuse(&p, -EACCES, EXIT_PERMISSION, "process 47: of another", "Be root.");
	assert_string_equal(words(&l, &p), "its frames are odd; no permission; process 47: of "
					   "another -> Take another. Be root.\n");
	assert_int_equal(p.denied_said, 3);
	/* Once, however often it is found. */
	assert_string_equal(words(&l, &p), "");
	refuse(&p, -EPERM, EXIT_DONE, "it is so", "");
	assert_string_equal(words(&l, &p), "it is so -> \n");
	refuse(&p, -EPERM, EXIT_DONE, "it is so", "");
	assert_string_equal(words(&l, &p), "");
	refuse(&p, -EPERM, EXIT_DONE, "it is so", "Wait.");
	assert_string_equal(words(&l, &p), "it is so -> Wait.\n");
	free(p.said);
}

/* With what to do about it where it is traced as it is. */
static void how_late_the_tracer_was_is_said_once(void **state)
{
	struct live l = { 0 };
	struct process p = { .pid = 4711, .late_ns = 3100000 };

	(void)state;
	assert_string_equal(words(&l, &p),
			    "it had gone on for 3.10 ms when its marks were turned on: what it "
			    "marked before is "
			    "missing -> Start such programs by vmspan record -- COMMAND; or with "
			    "vmspan's process id "
			    "in their environment's VMSPAN_WAIT: they wait for vmspan then.\n");
	assert_string_equal(words(&l, &p), "");
	p.late_ns = 1000;
	l.command.pid = 1;
	assert_non_null(strstr(words(&l, &p), "1.00 us when its marks were turned on"));
	assert_non_null(strstr(
		said, "-> It did not wait for vmspan, since it was started without VMSPAN_WAIT"));
	assert_non_null(strstr(said, "Nor does what runs in a PID namespace of its own"));
	p.late_ns = 300000000;
	p.waited = true;
	assert_non_null(strstr(words(&l, &p), "-> It had waited for a quarter of a second."));
}

/* A note has room for so much: what it has no room for is not cut. */
static void what_has_no_room_is_not_said(void **state)
{
	struct process p = { .pid = 4711 };
	char long_one[200];

	(void)state;
	memset(long_one, 'x', sizeof(long_one));
	long_one[sizeof(long_one) - 1] = 0;
	refuse(&p, -EPERM, EXIT_DONE, long_one, long_one);
	refuse(&p, -EPERM, EXIT_DONE, long_one, "another");
	refuse(&p, -EPERM, EXIT_DONE, "more", long_one);
	assert_string_equal(p.refused->what + 199, "; more");
	assert_string_equal(p.refused->hint + 199, " another");
	/* To the byte. */
	refuse(&p, -EPERM, EXIT_DONE, "01234567890123456789012345678901234567890123456789", "");
	assert_string_equal(p.refused->what + 199, "; more");
	refuse(&p, -EPERM, EXIT_DONE, "012345678901234567890123456789012345678901234567", "");
	assert_int_equal(strlen(p.refused->what), VMSPAN_NAME_MAX);
	free(p.refused);
}

/* A look at a program that has just begun may come before its libraries do, the last one when it has lost what made it a
 * VM. What may not be looked into will not be opened by waiting. */
static void what_one_look_finds_is_no_last_word(void **state)
{
	static const struct {
		u64 exec_ms, looked_ms;
		bool twice;
		int code;
		enum exit_status status;
		bool said;
	} cases[] = {
		{ 1000, 1019, true, -ENOTSUP, EXIT_DONE, false },
		{ 1000, 1020, true, -ENOTSUP, EXIT_DONE, true },
		{ 1000, 1020, false, -ENOTSUP, EXIT_DONE, false },
		/* It was there before. */
		{ 0, 19, false, -ENOTSUP, EXIT_DONE, true },
		{ 1000, 1000, false, -ENOENT, EXIT_PERMISSION, true },
		{ 1000, 1000, false, -EACCES, EXIT_DONE, true },
	};
	struct live l = { 0 };
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct process p = { .pid = 4711,
				     .refused_twice = cases[i].twice,
				     .exec_ns = cases[i].exec_ms * NSEC_PER_MSEC,
				     .looked_ns = cases[i].looked_ms * NSEC_PER_MSEC };

		refuse(&p, cases[i].code, cases[i].status, "it is so", "");
		assert_string_equal(words(&l, &p), cases[i].said ? "it is so -> \n" : "");
		assert_int_equal(l.not_traced.code, cases[i].said ? cases[i].code : 0);
		l.not_traced.code = 0;
		free(p.said);
	}
}

/* ---- What looks have found ---- */

/* Looks one after the other, and what is said in the end. */
static void one_look_after_the_other(void **state)
{
	static const struct look {
		int r; /* 1: no more looks */
		enum exit_status status;
		bool found, begins, ended, all;
	} none = { 1, EXIT_DONE, false, false, false, false };
	static const struct {
		struct look looks[3];
		int said; /* 0: nothing */
	} cases[] = {
		{ { { -EPERM, EXIT_DONE, true, false, false, true } }, -EPERM },
		{ { { -EACCES, EXIT_PERMISSION, false, false, false, false } }, -EACCES },
		{ { { -ENOENT, EXIT_PERMISSION, false, false, false, false } }, -ENOENT },
		/* Who traces all has asked for what may be looked into. */
		{ { { -EACCES, EXIT_PERMISSION, false, false, false, true } }, 0 },
		{ { { -ENOENT, EXIT_NOTHING, false, false, false, false } }, 0 },
		{ { { -EAGAIN, EXIT_NOTHING, true, true, false, false } }, 0 },
		{ { { -ESRCH, EXIT_DONE, false, false, false, false } }, 0 },
		{ { { -ENOTSUP, EXIT_DONE, true, false, false, false } }, -ENOTSUP },
		/* Of who is ending nothing is found out any more. */
		{ { { -EACCES, EXIT_PERMISSION, false, false, true, false } }, 0 },
		{ { { -ENOTSUP, EXIT_DONE, true, false, false, false },
		    { -ESRCH, EXIT_DONE, false, false, true, false } },
		  -ENOTSUP },
		{ { { -ENOTSUP, EXIT_DONE, true, false, false, false },
		    { -EAGAIN, EXIT_DONE, false, false, false, false } },
		  -ENOTSUP },
		/* It was too early. */
		{ { { -ENOTSUP, EXIT_DONE, true, false, false, false },
		    { -EAGAIN, EXIT_NOTHING, true, true, false, false } },
		  0 },
		{ { { -ENOTSUP, EXIT_DONE, true, false, false, false },
		    { 0, EXIT_DONE, true, false, false, false } },
		  0 },
		/* It has executed something else, which may be looked into. */
		{ { { -EACCES, EXIT_PERMISSION, false, false, false, false },
		    { 0, EXIT_DONE, true, false, false, false } },
		  -EACCES },
		{ { { -EACCES, EXIT_PERMISSION, false, false, false, false },
		    { -ENOENT, EXIT_NOTHING, false, false, false, false },
		    { -ESRCH, EXIT_DONE, false, false, false, false } },
		  -EACCES },
	};
	u32 i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct process p = { .pid = 4711 };
		struct live l = { 0 };

		for (k = 0; k < 3; k++) {
			const struct look *x = &cases[i].looks[k];
			struct err *before = p.refused, e = { 0 };

			/* Those that are not given are none. */
			if (!x->r && !x->found)
				x = &none;
			if (x->r > 0)
				break;
			if (x->r)
				err_set_status(&e, x->r, x->status, "look %u", k);
			p.refused = NULL;
			p.found = x->found;
			p.begins = x->begins;
			ended = x->ended;
			l.sweep.all = x->all;
			live_looked(&l, &p, before, x->r, &e);
		}
		ended = false;
		words(&l, &p);
		assert_int_equal(l.not_traced.code, cases[i].said);
		free(p.said);
	}
}

/* Once is not enough for who has executed something: it may be ending. */
static void two_looks_agree(void **state)
{
	struct process p = { .pid = 4711 };
	struct live l = { 0 };
	struct err e = { 0 };
	int r[] = { -ENOTSUP, -ENOTSUP, 0, -ENOTSUP, -ESRCH, -ENOTSUP };
	bool twice[] = { false, true, false, false, false, true };
	u32 i;

	(void)state;
	p.found = true;
	for (i = 0; i < ARRAY_SIZE(r); i++) {
		struct err *before = p.refused;

		e = (struct err){ 0 };
		if (r[i])
			err_set(&e, r[i], "it is so");
		p.refused = NULL;
		live_looked(&l, &p, before, r[i], &e);
		assert_int_equal(p.refused_twice, twice[i]);
	}
	free(p.refused);
}

/* It is said when the first looks are over, also of who is still looked at; not while it may become otherwise. */
static void the_first_looks_are_waited_for(void **state)
{
	static const struct {
		u32 rescans, pace_ms, exec_ms;
		bool twice, words;
	} cases[] = {
		{ 1, 0, 0, false, false },   { 0, 0, 0, false, true },
		{ 1, 1000, 0, false, true }, { 0, 0, 1000, false, false },
		{ 0, 0, 1000, true, true },  { 1, 1000, 1000, true, true },
	};
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct process p = { .pid = 4711,
				     .rescans = cases[i].rescans,
				     .pace_ns = cases[i].pace_ms * NSEC_PER_MSEC,
				     .exec_ns = cases[i].exec_ms * NSEC_PER_MSEC,
				     .refused_twice = cases[i].twice,
				     .looked_ns = 9000 * NSEC_PER_MSEC };

		assert_false(live_has_words(&p));
		refuse(&p, -ENOTSUP, EXIT_DONE, "it is so", "");
		assert_int_equal(live_has_words(&p), cases[i].words);
		free(p.refused);
		p = (struct process){ .left_out = 1, .rescans = 1 };
		assert_true(live_has_words(&p));
	}
}

/* A candidate of a sweep that is let go of is nobody that anything could be said of. */
static void who_is_spoken_of_is_kept(void **state)
{
	struct live l = { .candidates = 1 };
	struct process p = { .pid = 4711, .candidate = true };

	(void)state;
	refuse(&p, -EPERM, EXIT_DONE, "it is so", "");
	words(&l, &p);
	free(p.said);
	assert_false(p.candidate);
	assert_int_equal(l.candidates, 0);
}

/* Whoever said that it has marks, and was looked at no more. */
static void who_was_not_looked_at_in_time_is_told(void **state)
{
	static const struct {
		bool unseen;
		u64 armed_ns;
		int command;
		bool late; /* nobody waited for the tracer any more */
		u64 off_ns; /* 0: marks are on */
		u64 exec_ns; /* 0: 1000 */
		bool without, said;
	} cases[] = {
		{ .unseen = true, .said = true },
		{ .unseen = false },
		{ .unseen = true, .armed_ns = 2000 },
		{ .unseen = true, .without = true },
		/* What a command executes waits, unless it is without the variable for it; who was late is counted. */
		{ .unseen = true, .command = 42, .said = true },
		{ .unseen = true, .command = 42, .late = true },
		/* Its news may be taken in behind the trace's end. */
		{ .unseen = true, .off_ns = 1501, .said = true },
		{ .unseen = true, .off_ns = 1500 },
		{ .unseen = true, .off_ns = 1501, .exec_ns = 1501 },
	};
	static const struct {
		enum unfinished_why why;
		const char *words, *advice, *commands;
	} ends[] = {
		{ UNFINISHED_PROCESS, "was over before", "-> Start such programs by",
		  "-> It did not wait" },
		{ UNFINISHED_EXEC, "executed another program before", "-> Start such programs by",
		  "-> It did not wait" },
		{ UNFINISHED_TRACE, "the trace ended before", "-> It began as", "-> It began as" },
	};
	u32 i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		for (k = 0; k < ARRAY_SIZE(ends); k++) {
			struct live l = { .command.pid = cases[i].command,
					  .attached_once = true, /* others were */
					  .marks_off = cases[i].off_ns,
					  .marks_off_at.mono_ns = cases[i].off_ns };
			struct process p = { .pid = 4711,
					     .exec_ns = cases[i].exec_ns ?: 1000,
					     .waits_ns = 1500,
					     .heard_late = cases[i].late,
					     .unseen = cases[i].unseen,
					     .armed_ns = cases[i].armed_ns };
			const char *text;

			l.parts[TRACE_TURNS].on = !cases[i].without;
			text = last_words(&l, &p, ends[k].why);
			assert_int_equal(*text != 0, cases[i].said);
			if (*text) {
				assert_non_null(strstr(text, "it seems to have marks, and "));
				assert_non_null(strstr(text, ends[k].words));
				assert_non_null(strstr(text, cases[i].command ? ends[k].commands
									      : ends[k].advice));
			}
			assert_int_equal(l.not_traced.code, cases[i].said ? -ESRCH : 0);
			free(p.said);
		}
}

/* A command without anything to trace is traced in vain: the last of its processes says so, or one of those that
 * are there at the end. Nothing of it would pass for complete. */
static void a_command_that_is_traced_in_vain_is_told(void **state)
{
	static const struct {
		int command;
		bool attached, direct;
		u32 others;
		enum unfinished_why why;
		const char *words;
	} cases[] = {
		{ 42, false, false, 0, UNFINISHED_PROCESS, "Looked for vmspan:armed" },
		{ 42, false, true, 0, UNFINISHED_PROCESS, "Looked for conventional probes alone" },
		{ 42, false, false, 3, UNFINISHED_TRACE, "Looked for vmspan:armed" },
		{ 42, false, false, 1, UNFINISHED_PROCESS, NULL }, /* its children may have some */
		{ 42, false, false, 0, UNFINISHED_EXEC, NULL }, /* so may what it executes */
		{ 42, true, false, 0, UNFINISHED_PROCESS, NULL },
		{ 42, true, false, 0, UNFINISHED_TRACE, NULL },
		{ 0, false, false, 0, UNFINISHED_PROCESS,
		  NULL }, /* nobody has asked for it by name */
	};
	u32 i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct live l = { .command.pid = cases[i].command,
				  .attached_once = cases[i].attached,
				  .method = cases[i].direct ? METHOD_DIRECT : METHOD_AUTO };
		struct process p = { .pid = 4711 };
		const char *text;

		for (k = 0; k <= cases[i].others; k++)
			assert_int_equal(map_put(&l.processes, 1 + k, 1), 0);
		text = last_words(&l, &p, cases[i].why);
		assert_int_equal(*text != 0, cases[i].words != NULL);
		if (cases[i].words) {
			assert_non_null(strstr(text, "neither the command nor its children had "
						     "probes to trace -> "));
			assert_non_null(strstr(text, cases[i].words));
			/* The others say nothing. */
			assert_string_equal(last_words(&l, &p, cases[i].why), "");
		}
		map_free(&l.processes);
		free(p.said);
	}
}

/* One file in several places: what the kernel has not turned on there is told, by the method's own probes. */
static void a_file_that_is_loaded_more_than_once_is_told(void **state)
{
	static const struct {
		u16 armed[2], enter[2];
		u32 places;
		bool direct, said;
	} cases[] = {
		{ { 1, 0 }, { 0, 0 }, 2, false, true },  { { 0, 2 }, { 0, 0 }, 2, false, true },
		{ { 1, 1 }, { 0, 0 }, 2, false, false }, { { 0, 0 }, { 1, 0 }, 2, true, true },
		{ { 0, 0 }, { 1, 1 }, 2, true, false },  { { 0, 0 }, { 0, 0 }, 1, false, false },
	};
	struct live l = { 0 };
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct process p = { .pid = 4711 };
		struct plan_dso d = { .path = (char *)"/opt/it/one.so",
				      .places = { 0, sizeof(u16) },
				      .place_count = cases[i].places };

		p.pid = (u32)getpid();
		d.probes.sites[ROLE_ARMED].semaphore = (u64)(uintptr_t)cases[i].armed;
		d.probes.sites[ROLE_ENTER].semaphore = (u64)(uintptr_t)cases[i].enter;
		live_refuse_places(&p, &d, cases[i].direct);
		p.pid = 4711;
		assert_string_equal(words(&l, &p),
				    cases[i].said
					    ? "it has loaded one.so 2 times (dlmopen), of which 1 "
					      "cannot be traced: the kernel turns its marks on in "
					      "one place alone -> Load a copy of the file for each "
					      "of them.\n"
					    : "");
		/* Without semaphores each of them is traced. */
		d.probes.sites[ROLE_ARMED].semaphore = d.probes.sites[ROLE_ENTER].semaphore = 0;
		live_refuse_places(&p, &d, cases[i].direct);
		assert_null(p.refused);
		free(p.said);
	}
}

/* Its cause is another, whether that has been said or not. */
static void who_is_refused_was_looked_at_in_time(void **state)
{
	struct process p = { .pid = 4711, .unseen = true };
	struct live l = { 0 };

	(void)state;
	l.parts[TRACE_TURNS].on = true;
	refuse(&p, -EACCES, EXIT_PERMISSION, "no permission", "");
	assert_string_equal(words(&l, &p), "no permission -> \n");
	assert_string_equal(words(&l, &p), "");
	free(p.said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_causes_are_said_in_one),
		cmocka_unit_test(how_late_the_tracer_was_is_said_once),
		cmocka_unit_test(what_has_no_room_is_not_said),
		cmocka_unit_test(what_one_look_finds_is_no_last_word),
		cmocka_unit_test(who_was_not_looked_at_in_time_is_told),
		cmocka_unit_test(who_is_refused_was_looked_at_in_time),
		cmocka_unit_test(a_command_that_is_traced_in_vain_is_told),
		cmocka_unit_test(a_file_that_is_loaded_more_than_once_is_told),
		cmocka_unit_test(one_look_after_the_other),
		cmocka_unit_test(two_looks_agree),
		cmocka_unit_test(the_first_looks_are_waited_for),
		cmocka_unit_test(who_is_spoken_of_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
