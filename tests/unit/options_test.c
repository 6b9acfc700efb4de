/* SPDX-License-Identifier: BSD-2-Clause */
/* Options mean the same everywhere, and what is wrong is said in words. */
#include "user/cmd/config.c"
#include "user/cmd/option_set.c"
#include "user/cmd/options.c"
#include "user/cmd/terminal.c"

#include "temp.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* Nothing is run here. */
#define ROW(name, function, ...) { name, NULL, __VA_ARGS__ },
const struct command commands[] = { COMMANDS(ROW){ 0 } };

static struct options opts;
static char said[4096]; /* on stderr, by the last parse() */

/* A command line, words separated by spaces. Its words live until the next. */
static int parse(const char *line)
{
	static char words[1024];
	static char *argv[64];
	int argc = 0, fd, keep = dup(2), status;
	char *save = NULL, *word;
	ssize_t n;

	snprintf(words, sizeof(words), "%s", line);
	for (word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argv[argc] = NULL;
	fd = temp_file(NULL);
	assert_true(fd >= 0 && keep >= 0);
	fflush(stderr);
	dup2(fd, 2);
	status = options_parse(command_find(argv[0]), argc, argv, &opts);
	fflush(stderr);
	dup2(keep, 2);
	close(keep);
	n = pread(fd, said, sizeof(said) - 1, 0);
	said[n > 0 ? n : 0] = 0;
	close(fd);
	return status;
}

static void wrong(const char *line, const char *words)
{
	assert_int_equal(parse(line), EXIT_USAGE);
	if (!strstr(said, words))
		fail_msg("%s: '%s' is not in: %s", line, words, said);
	assert_int_equal(strncmp(said, "vmspan: ", 8), 0);
}

static void lists_of_pids_repeat_and_hold_each_once(void **state)
{
	(void)state;
	assert_int_equal(parse("record -p 12,7 --pid 7 --pid=9"), OPTIONS_RUN);
	assert_int_equal(opts.target.count, 3);
	assert_int_equal(opts.target.pids[0], 12);
	assert_int_equal(opts.target.pids[1], 7);
	assert_int_equal(opts.target.pids[2], 9);
	wrong("record -p 0", "--pid: '0' is not a list of process ids");
	wrong("record -p 1,", "is not a list of process ids\n  1,\n    ^ here");
	wrong("record -p 1,22,x3", "\n  1,22,x3\n       ^ here");
	wrong("record -p 99999999999", "is not a list");
	assert_int_equal(parse("record -p 2147483647"), OPTIONS_RUN);
	assert_int_equal(opts.target.pids[0], 2147483647);
	/* As a number of 32 bits these would be others: 1 and 12. */
	wrong("record -p 2147483648", "is not a list");
	wrong("record -p 4294967297", "is not a list");
	wrong("record -p 7,4294967308", "\n  7,4294967308\n    ^ here");
	wrong("record -p -5", "is not a list");
	wrong("record -p", "option -p needs a value");
}

static void values_have_units(void **state)
{
	(void)state;
	assert_int_equal(parse("record -p 1 --duration 1.5s --ring 16M --buffer 64k"), OPTIONS_RUN);
	assert_int_equal(opts.pace.duration_ns, 1500 * NSEC_PER_MSEC);
	assert_int_equal(opts.output.ring_bytes, 16 << 20);
	assert_int_equal(opts.target.buffer_bytes, 64 << 10);
	assert_int_equal(parse("top -p 1 -d 0.25 -n 3 --top 5"), OPTIONS_RUN);
	assert_int_equal(opts.pace.interval_ns, 250 * NSEC_PER_MSEC);
	assert_int_equal(opts.pace.count, 3);
	assert_int_equal(opts.view.limit, 5);
	wrong("top -p 1 -d 0", "at least 1ms");
	wrong("top -p 1 -d 1y", "times are numbers of seconds");
	wrong("record -p 1 --duration 0x10", "times are numbers of seconds");
	wrong("record -p 1 --duration inf", "times are numbers of seconds");
	wrong("record -p 1 --duration -1", "times are numbers of seconds");
	wrong("record -p 1 --duration 1e300", "times are numbers of seconds");
	wrong("record -p 1 --ring 0x10M", "sizes are");
	wrong("top -p 1 -n 0", "a number of 1 or more");
	wrong("record -p 1 --ring 0", "sizes are");
	wrong("record -p 1 --ring 262143", "--ring is 256K at least");
	wrong("report x --to 1 --from 2", "--to is not after --from");
	wrong("top -p 1 --json --batch", "exclude each other");
}

static void names_are_checked(void **state)
{
	(void)state;
	assert_int_equal(parse("report f --sort p99 --nested suspend --own -r -g addon:*"),
			 OPTIONS_RUN);
	assert_string_equal(opts.view.sort, "p99");
	assert_int_equal(opts.model.nested, NESTED_SUSPEND);
	assert_true(opts.model.own_groups && opts.view.reverse);
	assert_string_equal(opts.view.glob, "addon:*");
	assert_int_equal(parse("record -p 1 --method direct"), OPTIONS_RUN);
	assert_int_equal(opts.target.method, METHOD_DIRECT);
	wrong("report f --sort walll", "did you mean wall?");
	wrong("report f --nested x", "not drop or suspend");
	wrong("record -p 1 --method x", "not auto, flush or direct");
}

static void unknown_options_get_a_suggestion(void **state)
{
	(void)state;
	wrong("record --duraton 3", "unknown option --duraton\n  did you mean --duration?");
	wrong("report f --jsn", "did you mean --json?");
	wrong("report f --sorted=x", "did you mean --sort?");
	wrong("top --ring 3", "that is an option of record");
	wrong("top -Z", "unknown option -Z\n  'vmspan top --help' lists all");
	wrong("top --json=1", "option --json takes no value");
	wrong("report --\033[2J", "unknown option --\xef\xbf\xbd[2J");
}

static void arguments_are_counted(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(parse("report a.vmspan --json"), OPTIONS_RUN);
	assert_string_equal(options_file(&opts, command_find("report"), &e), "a.vmspan");
	assert_int_equal(parse("report"), OPTIONS_RUN);
	assert_null(options_file(&opts, command_find("report"), &e));
	assert_int_equal(err_status(&e), EXIT_USAGE);
	wrong("top", "no process given");
	wrong("top -p 1 more", "unexpected argument 'more'");
}

static void a_command_keeps_its_own_options(void **state)
{
	(void)state;
	assert_int_equal(parse("record -o f -- prog -p 3 --json"), OPTIONS_RUN);
	assert_true(opts.after_dashes);
	assert_int_equal(opts.rest_count, 4);
	assert_string_equal(opts.rest[0], "prog");
	assert_string_equal(opts.rest[3], "--json");
	assert_null(opts.rest[4]);
	assert_int_equal(opts.target.count, 0);
	assert_int_equal(parse("record prog"), OPTIONS_RUN);
	assert_false(opts.after_dashes);
}

/* At the start of a line, and whole: the words of others name it too. */
static bool explains(const char *help, const struct option_row *r)
{
	char line[64];
	const char *at;
	int n = snprintf(line, sizeof(line), "\n  %c%c%c --%s%s%s", r->letter ? '-' : ' ',
			 r->letter ? r->letter : ' ', r->letter ? ',' : ' ', r->name,
			 r->arg ? " " : "", r->arg ? r->arg : "");

	for (at = strstr(help, line); at; at = strstr(at + 1, line))
		if (at[n] == ' ' || at[n] == '\n')
			return true;
	return false;
}

static void help_mentions_every_option_of_the_table(void **state)
{
	const struct command *c;
	struct out o;
	size_t i;

	(void)state;
	for (c = commands; c->name; c++) {
		out_open_memory(&o);
		options_help(c, &o);
		out_write(&o, "", 1);
		for (i = 0; i < ARRAY_SIZE(table); i++)
			assert_int_equal(!!(table[i].commands & c->bit),
					 explains((const char *)o.buf.data, &table[i]));
		out_close(&o);
	}
}

static void no_letter_and_no_name_means_two_things(void **state)
{
	size_t i, j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		assert_int_not_equal(table[i].letter, 'h');
		for (j = 0; j < i; j++) {
			assert_string_not_equal(table[i].name, table[j].name);
			assert_true(!table[i].letter || table[i].letter != table[j].letter);
		}
	}
}

/* ---- Configuration files ---- */

static struct err wrong_line;

static int configure(const char *command, const char *text)
{
	opts = (struct options){ 0 };
	wrong_line = (struct err){ 0 };
	return config_parse(text, "f", command_find(command), &opts, &wrong_line);
}

static void a_file_sets_what_the_command_line_may(void **state)
{
	(void)state;
	assert_int_equal(configure("top", "# mine\n[all]\nbuffer = 16M\n[record]\nquiet=yes\n"
					  "[top]\nsort = p99\nreverse = yes\nwarn: 20ms\n"
					  "columns = self, wall,64ms ; why\n"),
			 0);
	assert_int_equal(opts.target.buffer_bytes, 16 << 20);
	assert_string_equal(opts.view.sort, "p99");
	assert_true(opts.view.reverse);
	assert_int_equal(opts.screen.warn_ns, 20 * NSEC_PER_MSEC);
	assert_int_equal(opts.screen.columns.count, 3);
	assert_string_equal(table_column_name(opts.screen.columns.columns[2]), "64ms");
	/* A section of another command says nothing to this one. */
	assert_false(opts.output.quiet);
	assert_int_equal(configure("record", "[all]\nsort = p99\n[record]\nquiet = yes\n"), 0);
	assert_true(opts.output.quiet);
	assert_null(opts.view.sort);
}

/* The nearer holds: a command's section over [all], in whichever order they stand, and so
 * do rules of which the first that matches decides. */
static void a_section_of_the_command_holds_over_all(void **state)
{
	(void)state;
	assert_int_equal(configure("top", "[top]\nsort = p99\n[all]\nsort = wall\nbuffer = 16M\n"),
			 0);
	assert_string_equal(opts.view.sort, "p99");
	assert_int_equal(opts.target.buffer_bytes, 16 << 20);
	assert_int_equal(configure("top", "[all]\nsort = wall\n[top]\nsort = p99\n"), 0);
	assert_string_equal(opts.view.sort, "p99");
	assert_int_equal(configure("watch", "[watch]\nthreshold = a:*=1ms\nthreshold = b:*=2ms\n"
					    "[all]\nthreshold = a:b=3ms\n"),
			 0);
	assert_int_equal(opts.watch.rule_count, 3);
	assert_string_equal(opts.watch.rules[0].glob, "a:*");
	assert_string_equal(opts.watch.rules[1].glob, "b:*");
	assert_string_equal(opts.watch.rules[2].glob, "a:b");
	while (opts.watch.rule_count)
		free((char *)opts.watch.rules[--opts.watch.rule_count].glob);
}

static void bad_file(const char *text, const char *what, const char *hint)
{
	assert_int_equal(configure("top", text), -EINVAL);
	assert_int_equal(err_status(&wrong_line), EXIT_USAGE);
	if (!strstr(wrong_line.what, what) || !strstr(wrong_line.hint, hint))
		fail_msg("'%s', '%s' are not in: %s\n%s", what, hint, wrong_line.what,
			 wrong_line.hint);
}

static void a_bad_line_is_shown_with_a_caret(void **state)
{
	(void)state;
	bad_file("[top]\nsrot = p99\n", "f:2: no option that may stand here: srot",
		 "srot = p99\n  ^\n  did you mean sort?");
	bad_file("\n[top]\n  sort = p98\n", "f:3: --sort: 'p98' is not a key",
		 "sort = p98\n           ^");
	bad_file("[topp]\na = b\n", "f:1: no such section: topp", "did you mean [top]?");
	bad_file("sort = p99\n", "f:1: an option before the first section", "[all]");
	bad_file("[top]\nwhat\n", "f:2: not a line of a configuration", "what\n  ^");
	bad_file("[top]\nreverse = maybe\n", "'maybe' is not yes or no", "^");
	bad_file("[top]\ncolumns = self,lsef\n", "f:2: --columns: 'lsef'", "self%");
	bad_file("[record]\nsort = self\n", "f:2: no option that may stand here: sort", "^");
	/* Whom to trace is not for a file, nor are escapes for a terminal. */
	bad_file("[top]\npid = 1\n", "no option that may stand here: pid", "^");
	bad_file("[top]\n\033[2J = 1\n", "f:2: ", "\xef\xbf\xbd[2J");
}

static void what_is_saved_changes_one_line(void **state)
{
	struct out o;
	char *text;

	(void)state;
	out_open_memory(&o);
	put_changed(&o, "# a\n[record]\ncolumns = x\n[top]\nsort = self\ncolumns = a\ncolumns=b\n",
		    "top", "columns", "wall");
	put_changed(&o, "[top]\nsort = self\n[list]\n", "top", "columns", "wall");
	put_changed(&o, "", "top", "columns", "wall");
	/* Indented, it is a section or key, or goes on with the value before. */
	put_changed(&o, "[top]\n [list]\n", "top", "columns", "wall");
	put_changed(&o, "[top]\n columns = a\n# c\n  b\n\tc\nsort = x\n", "top", "columns", "wall");
	put_changed(&o, "[top]\nsort = x\n [list]\n  columns = a\n", "top", "columns", "wall");
	out_write(&o, "", 1);
	text = (char *)o.buf.data;
	assert_string_equal(text, "# a\n[record]\ncolumns = x\n[top]\nsort = self\ncolumns = wall\n"
				  "[top]\nsort = self\ncolumns = wall\n[list]\n"
				  "[top]\ncolumns = wall\n"
				  "[top]\ncolumns = wall\n[list]\n"
				  "[top]\ncolumns = wall\n# c\nsort = x\n"
				  "[top]\nsort = x\n [list]\n  columns = a\ncolumns = wall\n");
	out_close(&o);
}

static void the_command_line_holds_over_the_file(void **state)
{
	static const char text[] = "[top]\nsort = wall\nwindow = 10s\n";
	char path[TEMP_PATH], line[TEMP_PATH + 64];
	int fd = temp_file(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	snprintf(line, sizeof(line), "top -p 1 --sort max --config %s", path);
	assert_int_equal(parse(line), OPTIONS_RUN);
	assert_string_equal(opts.view.sort, "max");
	assert_int_equal(opts.screen.window_ns, 10 * NSEC_PER_SEC);
	assert_int_equal(opts.target.count, 1);
	snprintf(line, sizeof(line), "top -p 1 --no-config --config %s", path);
	assert_int_equal(parse(line), OPTIONS_RUN);
	assert_int_equal(opts.screen.window_ns, 0);
	close(fd);
	assert_int_equal(parse("top -p 1 --config /nonexistent/c"), EXIT_FAILED);
	assert_non_null(strstr(said, "/nonexistent/c cannot be read"));
	assert_int_equal(parse("top -p 1 --config /dev/zero"), EXIT_FAILED);
	assert_non_null(strstr(said, "/dev/zero is no file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_pids_repeat_and_hold_each_once),
		cmocka_unit_test(values_have_units),
		cmocka_unit_test(names_are_checked),
		cmocka_unit_test(unknown_options_get_a_suggestion),
		cmocka_unit_test(arguments_are_counted),
		cmocka_unit_test(a_command_keeps_its_own_options),
		cmocka_unit_test(help_mentions_every_option_of_the_table),
		cmocka_unit_test(no_letter_and_no_name_means_two_things),
		cmocka_unit_test(a_file_sets_what_the_command_line_may),
		cmocka_unit_test(a_section_of_the_command_holds_over_all),
		cmocka_unit_test(a_bad_line_is_shown_with_a_caret),
		cmocka_unit_test(what_is_saved_changes_one_line),
		cmocka_unit_test(the_command_line_holds_over_the_file),
	};

	/* What somebody has configured here is not tested. */
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);

	return cmocka_run_group_tests(tests, NULL, NULL);
}
