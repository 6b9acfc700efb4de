/* SPDX-License-Identifier: BSD-2-Clause */
/* That a process, or a part of it, is not traced: when that is said, and how. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "source/live_vm_int.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- What is said ---- */

static char said[2048]; /* each definition of a note in a line */

static int hear(struct live *l, const struct process *p, u8 type, u32 id, u8 kind, u8 flags,
		u32 frame, const char *name)
{
	size_t n = strlen(said);

	(void)l;
	(void)kind;
	(void)frame;
	assert_int_equal(p->pid, 4711);
	assert_int_equal(type, VMSPAN_DEF_NOTE);
	assert_true(id == 2 * NOTE_REFUSED + 1 || id == 2 * NOTE_REFUSED + 2);
	snprintf(said + n, sizeof(said) - n, "%s%s %s\n", id % 2 ? "text" : "advice",
		 flags == VMSPAN_NOTE_LEFT_OUT ? ", left out:" : ":", name);
	return 0;
}

static int tell(struct live *l, struct process *p)
{
	(void)l;
	p->told = true;
	return 0;
}

#define vm_define hear
#define process_tell tell
#include "source/live_notes.c"
#undef vm_define
#undef process_tell

static const char *words(struct live *l, struct process *p)
{
	said[0] = 0;
	assert_int_equal(process_last_words(l, p), 0);
	assert_null(p->refused);
	return said;
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
	assert_string_equal(
		words(&l, &p),
		"advice, left out: Take another. Be root.\n"
		"text, left out: its frames are odd; no permission; process 47: of another\n");
	assert_true(p.told);
	assert_int_equal(p.denied_said, 3);
	/* Once, however often it is found. */
	assert_string_equal(words(&l, &p), "");
	refuse(&p, -EPERM, EXIT_DONE, "it is so", "");
	assert_string_equal(words(&l, &p), "advice, left out: \ntext, left out: it is so\n");
	refuse(&p, -EPERM, EXIT_DONE, "it is so", "");
	assert_string_equal(words(&l, &p), "");
	refuse(&p, -EPERM, EXIT_DONE, "it is so", "Wait.");
	assert_string_equal(words(&l, &p), "advice, left out: Wait.\ntext, left out: it is so\n");
	free(p.said);
}

static void what_has_no_room_is_cut(void **state)
{
	struct process p = { .pid = 4711 };
	char long_one[200];

	(void)state;
	memset(long_one, 'x', sizeof(long_one));
	long_one[sizeof(long_one) - 1] = 0;
	refuse(&p, -EPERM, EXIT_DONE, long_one, long_one);
	refuse(&p, -EPERM, EXIT_DONE, long_one, "another");
	refuse(&p, -EPERM, EXIT_DONE, "more", long_one);
	assert_int_equal(strlen(p.refused->what), sizeof(p.refused->what) - 1);
	assert_string_equal(p.refused->hint + 199, " another");
	free(p.refused);
}

/* The first look at a program that has just begun may come before its libraries do. What may not be looked into will not
 * be opened by waiting. */
static void what_the_first_look_finds_is_no_last_word(void **state)
{
	static const struct {
		u64 exec_ms, looked_ms;
		int code;
		enum exit_status status;
		bool said;
	} cases[] = {
		{ 1000, 1019, -ENOTSUP, EXIT_DONE, false },
		{ 1000, 1020, -ENOTSUP, EXIT_DONE, true },
		/* It was there before. */
		{ 0, 19, -ENOTSUP, EXIT_DONE, true },
		{ 1000, 1000, -ENOENT, EXIT_PERMISSION, true },
		{ 1000, 1000, -EACCES, EXIT_DONE, true },
	};
	struct live l = { 0 };
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct process p = { .pid = 4711,
				     .exec_ns = cases[i].exec_ms * NSEC_PER_MSEC,
				     .looked_ns = cases[i].looked_ms * NSEC_PER_MSEC };

		refuse(&p, cases[i].code, cases[i].status, "it is so", "");
		assert_string_equal(words(&l, &p),
				    cases[i].said ? "advice, left out: \ntext, left out: it is so\n"
						  : "");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_causes_are_said_in_one),
		cmocka_unit_test(what_has_no_room_is_cut),
		cmocka_unit_test(what_the_first_look_finds_is_no_last_word),
		cmocka_unit_test(who_is_spoken_of_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
