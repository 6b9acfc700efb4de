/* SPDX-License-Identifier: BSD-2-Clause */
/* What `watch` leaves out is counted, and its last words tell all of it. */
#include "cmd/output.c"
#include "cmd/watch_dump.c"
#include "cmd/watch_exec.c"
#include "cmd/watch_print.c"

#include "temp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/eventfd.h>

#include <cmocka.h>

#include "descriptors.h"

/* ---- What the commands have, as little as is needed ---- */

u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * NSEC_PER_SEC + (u64)t.tv_nsec;
}

/* Somebody has asked for the end. */
unsigned int wake_take(struct wake *w)
{
	(void)w;
	return WAKE_STOP;
}

int say_error(const struct err *e)
{
	fail_msg("%s", e->what);
	return EXIT_FAILED;
}

int finish_output(struct out *o, const char *name, int status)
{
	(void)name;
	out_close(o);
	return status;
}

/* ---- The last words ---- */

static const char *last_words(const struct watch_totals *t, bool quiet)
{
	static char said[4096];
	int fd = temp_file(NULL), keep = dup(STDERR_FILENO);
	ssize_t n;

	assert_true(fd >= 0 && keep >= 0);
	dup2(fd, STDERR_FILENO);
	watch_print_totals(t, quiet);
	dup2(keep, STDERR_FILENO);
	close(keep);
	n = pread(fd, said, sizeof(said) - 1, 0);
	close(fd);
	assert_true(n >= 0);
	said[n] = 0;
	return said;
}

static void all_that_was_left_out_is_told(void **state)
{
	struct snapshot s = { 0 };
	struct watch_totals t = {
		.shown = 1,
		.inner = 2,
		.system = 3,
		.others = 4,
		.alerts = { .raised = 10, .batches = 5, .events = 60, .unwatched = 7 },
		.dumps = { .written = 8, .failed = 9, .skipped = 11 },
		.runs = { .runs = 14, .failed = 13, .killed = 12, .dropped = 15 },
		.snapshot = &s,
	};
	static const char failures[] = "9 dumps failed\n"
				       "13 of 14 runs failed, 12 killed\n"
				       "15 alerts without a run of the command\n"
				       "7 times a group was not watched: more than 65536\n"
				       "21 records lost because the ring buffer was full (--buffer "
				       "makes it larger) [ring_full]\n"
				       "2 processes left out, in whole or in part\n";
	char all[2048];

	(void)state;
	s.losses.records[LOSS_RING_FULL] = 21;
	s.left_out = 2;
	snprintf(all, sizeof(all),
		 "1 alert shown, 10 raised in 5 batches, 60 events; 8 dumps, 11 alerts too soon "
		 "for one; 14 runs of the command\n"
		 "not shown: 2 whose cause was another group (--all-causes shows them)\n"
		 "not shown: 3 whose thread did not have the CPU (--all-causes shows them,\n"
		 "  --exact tells why it did not)\n"
		 "not shown: 4 of groups that --group leaves out\n%s",
		 failures);
	assert_string_equal(last_words(&t, false), all);
	assert_string_equal(last_words(&t, true), failures);
	/* With --exact these are of stock VMs: it does not tell of them. */
	t.exact = true;
	assert_non_null(strstr(last_words(&t, false),
			       "\nnot shown: 3 whose thread did not have the "
			       "CPU (--all-causes shows them)\n"));
}

static void where_nothing_was_left_out_nothing_is_told(void **state)
{
	struct snapshot s = { 0 };
	struct watch_totals t = { .snapshot = &s };

	(void)state;
	assert_string_equal(last_words(&t, false),
			    "0 alerts shown, 0 raised in 0 batches, 0 events\n");
	assert_string_equal(last_words(&t, true), "");
	/* Alerts that had no dump are told also where no other had one. */
	t.dumps.skipped = 1;
	assert_string_equal(last_words(&t, false),
			    "0 alerts shown, 0 raised in 0 batches, 0 events; 0 dumps, 1 alert too "
			    "soon for one\n");
	/* A batch that held nothing is a loss. */
	s.losses.batches[LOSS_RING_FULL] = 1;
	assert_non_null(strstr(last_words(&t, true),
			       "records, how many is not known, in 1 batch lost because"));
}

/* ---- Dumps ---- */

/* Nobody else may write there. */
static char folder[TEMP_PATH];

static int folder_made(void **state)
{
	(void)state;
	temp_template(folder);
	return !mkdtemp(folder);
}

static int folder_removed(void **state)
{
	(void)state;
	return rmdir(folder);
}

static void an_alert_too_soon_for_a_dump_is_counted(void **state)
{
	const struct source_info info = { .clock = CLOCK_MONO, .cycles_hz = NSEC_PER_SEC };
	struct dump_config config = { .dir = folder };
	struct err e = { 0 };
	struct dump_counts c;
	const char *path;
	struct dump *d = dump_open(&config, &info, &e);
	u64 t = 1000 * NSEC_PER_SEC;

	(void)state;
	assert_non_null(d);
	path = dump_alert(d, "addon:a", t, t + 1, 0);
	assert_non_null(path);
	/* One that is planned takes in those that come before it is written. */
	assert_ptr_equal(dump_alert(d, "addon:b", t + 2, t + 3, 0), path);
	dump_counts(d, &c);
	assert_int_equal(c.skipped, 0);
	d->due_ns = 0; /* as if it were written */
	assert_null(dump_alert(d, "addon:a", t, t + DUMP_EVERY_NS, 0));
	assert_null(dump_alert(d, "addon:b", t, t + DUMP_EVERY_NS, 0));
	dump_counts(d, &c);
	assert_int_equal(c.skipped, 2);
	assert_non_null(dump_alert(d, "addon:a", t, t + DUMP_EVERY_NS + 1, 0));
	dump_counts(d, &c);
	assert_int_equal(c.skipped, 2);
	assert_int_equal(c.written + c.failed + c.removed, 0);
	d->due_ns = 0;
	dump_free(d);
}

/* What was before the event is what one wants to see of a long one. */
static void a_dump_begins_before_its_event(void **state)
{
	const struct source_info info = { .clock = CLOCK_MONO, .cycles_hz = NSEC_PER_SEC };
	struct dump_config config = { .dir = folder,
				      .before_ns = 2 * NSEC_PER_SEC,
				      .after_ns = 3 * NSEC_PER_SEC };
	struct err e = { 0 };
	struct dump *d = dump_open(&config, &info, &e);

	(void)state;
	assert_non_null(d);
	assert_non_null(dump_alert(d, "addon:a", 100 * NSEC_PER_SEC, 110 * NSEC_PER_SEC, 0));
	assert_int_equal(d->begin_ns, 98 * NSEC_PER_SEC);
	assert_int_equal(dump_due(d), 113 * NSEC_PER_SEC);
	/* One of the first moments has no more before it than there was. */
	d->due_ns = d->last_ns = 0;
	assert_non_null(dump_alert(d, "addon:a", NSEC_PER_SEC, 10 * NSEC_PER_SEC, 0));
	assert_int_equal(d->begin_ns, 0);
	d->due_ns = 0;
	dump_free(d);
}

/* ---- Runs of a command ---- */

/* The one that runs has ended, and the next may begin. */
static void run_ends(struct exec *x)
{
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)x->pid, &info, WEXITED | WNOWAIT), 0);
	exec_poll(x);
}

static void a_run_that_is_over_leaves_nothing_open(void **state)
{
	unsigned int before = open_descriptors();
	struct exec_counts c;
	struct err e = { 0 };
	struct exec *x = exec_open("true", 3600 * NSEC_PER_SEC, &e);

	(void)state;
	assert_non_null(x);
	exec_run(x, "{}\n", 3);
	exec_run(x, "{}\n", 3); /* waits for the first */
	run_ends(x);
	run_ends(x);
	exec_counts(x, &c);
	assert_int_equal(exec_left(x), 0);
	assert_int_equal(c.runs, 2);
	assert_int_equal(c.failed, 0);
	assert_int_equal(open_descriptors(), before);
	exec_free(x);
}

/* Of so many words the list has an end, and more are refused. */
static void a_command_has_so_many_words(void **state)
{
	char command[8 + 2 * WORDS_MAX] = "true";
	struct err e = { 0 };
	struct exec *x;
	u32 i;

	(void)state;
	for (i = 1; i < WORDS_MAX; i++)
		strcat(command, " a");
	x = exec_open(command, 0, &e);
	assert_non_null(x);
	assert_string_equal(x->argv[WORDS_MAX - 1], "a");
	assert_null(x->argv[WORDS_MAX]);
	exec_free(x);
	strcat(command, " a");
	assert_null(exec_open(command, 0, &e));
	assert_int_equal(e.code, -E2BIG);
	assert_int_equal(err_status(&e), EXIT_USAGE);
}

static void an_alert_without_a_run_is_counted(void **state)
{
	struct exec_counts c;
	struct err e = { 0 };
	struct exec *x = exec_open("tail -f /dev/null", 3600 * NSEC_PER_SEC, &e);
	struct wake w = { .epoll = eventfd(1, EFD_CLOEXEC) };
	u32 i;

	(void)state;
	assert_non_null(x);
	assert_true(w.epoll >= 0);
	/* One runs, so many wait, and three have no place. */
	for (i = 0; i < 1 + EXEC_QUEUE + 3; i++)
		exec_run(x, "{}\n", 3);
	exec_counts(x, &c);
	assert_int_equal(exec_left(x), 1 + EXEC_QUEUE);
	assert_int_equal(c.runs, 0);
	assert_int_equal(c.dropped, 3);
	/* The end does not wait for them. */
	assert_int_equal(exec_wait(x, &w), -EINTR);
	exec_counts(x, &c);
	assert_int_equal(exec_left(x), 0);
	assert_int_equal(c.runs, 1);
	assert_int_equal(c.failed, 1);
	assert_int_equal(c.killed, 1);
	assert_int_equal(c.dropped, 3 + EXEC_QUEUE);
	close(w.epoll);
	exec_free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_was_left_out_is_told),
		cmocka_unit_test(where_nothing_was_left_out_nothing_is_told),
		cmocka_unit_test_setup_teardown(an_alert_too_soon_for_a_dump_is_counted,
						folder_made, folder_removed),
		cmocka_unit_test_setup_teardown(a_dump_begins_before_its_event, folder_made,
						folder_removed),
		cmocka_unit_test(an_alert_without_a_run_is_counted),
		cmocka_unit_test(a_run_that_is_over_leaves_nothing_open),
		cmocka_unit_test(a_command_has_so_many_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
