/* SPDX-License-Identifier: BSD-2-Clause */
/* The command table. */
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/generate.h"
#include "cmd/pick.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct command commands[] = {
	{ "top", cmd_top, IN_TOP, "-p PID[,PID...]|-c NAME|-a [OPTION...]",
	  "shows live which group spends the time of each turn" },
	{ "record", cmd_record, IN_RECORD,
	  "-p PID[,...]|-c NAME|-a [OPTION...] | [OPTION...] -- CMD...",
	  "writes a recording, until ^C or until the targets have ended" },
	{ "report", cmd_report, IN_REPORT, "FILE [FILE] [OPTION...]",
	  "shows what a recording holds, or how a second one differs" },
	{ "export", cmd_export, IN_EXPORT, "FILE [-f FORMAT] [OPTION...]",
	  "writes a recording in the format of another program" },
	{ "stat", cmd_stat, IN_STAT, "-p PID[,PID...]|-c NAME|-a [OPTION...]",
	  "prints a line of figures an interval" },
	{ "watch", cmd_watch, IN_WATCH, "-p PID[,PID...] | FILE [OPTION...]",
	  "says when a group holds a turn for too long, and why" },
	{ "export-metrics", cmd_metrics, IN_METRICS, "-p PID[,PID...] [--listen ADDRESS:PORT]",
	  "serves figures and alerts to Prometheus" },
	{ "serve", cmd_serve, IN_SERVE, "FILE | -p PID[,PID...] [OPTION...]",
	  "shows a recording or a live process in a browser" },
	{ "list", cmd_list, IN_LIST, "[-p PID[,PID...] | FILE] [OPTION...]",
	  "lists the probes and groups of a process or recording" },
	{ "doctor", cmd_doctor, IN_DOCTOR, "[-p PID[,PID...]] [OPTION...]",
	  "says what works here, what does not, and what to do" },
	{ 0 },
};

const struct command *command_find(const char *name)
{
	const struct command *c;

	for (c = commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

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
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return print_help();
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		return print_version();
	if (!strcmp(argv[1], "--generate") && argc > 2)
		return generate(argc - 2, argv + 2);
	c = command_find(argv[1]);
	return c ? c->run(argc - 1, argv + 1) : unknown_command(argv[1]);
}
