/* SPDX-License-Identifier: BSD-2-Clause */
/* The first word: a command of the table, help, or the version. */
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/generate.h"
#include "cmd/pick.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROW(name, function, ...) { name, function, __VA_ARGS__ },
const struct command commands[] = { COMMANDS(ROW){ 0 } };

static void put_help(struct out *o)
{
	const struct command *c;

	out_puts(o, "usage: vmspan COMMAND [OPTION...]\n\n"
		    "Shows which performance group (add-on, page, plugin, package, tenant) of a\n"
		    "running process spends the time of each turn of its event loop.\n\n");
	for (c = commands; c->name; c++)
		out_printf(o, "  %-14s %s\n", c->name, c->about);
	out_puts(o,
		 "\n'vmspan COMMAND --help' lists the options of a command.\n"
		 "Exit status: 0 done, 1 failed at run time, 2 bad usage, 3 no permission,\n"
		 "4 nothing to trace in the target, 5 the price of --exact-calls was not agreed\n"
		 "to.\n");
}

static int print_help(void)
{
	struct out o;

	out_open_fd(&o, STDOUT_FILENO);
	put_help(&o);
	return finish_output(&o, "standard output", EXIT_DONE);
}

static int print_version(void)
{
	struct out o;

	out_open_fd(&o, STDOUT_FILENO);
	out_puts(&o, "vmspan " VMSPAN_VERSION "\n");
	return finish_output(&o, "standard output", EXIT_DONE);
}

static int unknown_command(const char *word)
{
	struct nearest near = { .word = word };
	const struct command *c;
	struct err e = { 0 };
	char clean[64];

	for (c = commands; c->name; c++)
		nearest_try(&near, c->name);
	err_set_status(&e, -EINVAL, EXIT_USAGE, "unknown %s %s",
		       word[0] == '-' ? "option" : "command",
		       text_clean(clean, sizeof(clean), word, strlen(word)));
	if (near.best)
		err_hint(&e, "did you mean '%s'?", near.best);
	err_hint(&e, "'vmspan --help' lists the commands");
	return say_error(&e);
}

/* 'vmspan help [COMMAND]', as git and perf have it. */
static int help_on(const char *word)
{
	const struct command *c = command_find(word);

	return c ? c->run(2, (char *[]){ (char *)word, "--help", NULL }) : unknown_command(word);
}

int main(int argc, char **argv)
{
	const struct command *c;
	struct out o;

	terminal_init();
	if (argc < 2 && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		return pick_and_run();
	if (argc < 2) {
		out_open_fd(&o, STDERR_FILENO);
		put_help(&o);
		out_close(&o);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "help") && argc > 2)
		return help_on(argv[2]);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return print_help();
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		return print_version();
	if (!strcmp(argv[1], "--generate") && argc > 2)
		return generate(argc - 2, argv + 2);
	c = command_find(argv[1]);
	return c ? c->run(argc - 1, argv + 1) : unknown_command(argv[1]);
}
