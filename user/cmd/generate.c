/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/generate.h"
#include "cmd/config.h"
#include "cmd/options.h"
#include "sink/export.h"
#include "sink/top.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- Manual pages ---- */

/* Text as roff wants it: a hyphen is a minus, a backslash is one, and no line
 * begins with a control character. */
static void put_roff(struct out *o, const char *text)
{
	const char *p;

	if (*text == '.' || *text == '\'')
		out_puts(o, "\\&");
	for (p = text; *p; p++) {
		if (*p == '-')
			out_puts(o, "\\-");
		else if (*p == '\\')
			out_puts(o, "\\e");
		else
			out_write(o, p, 1);
	}
}

static void put_option(void *ctx, const struct option_text *t)
{
	struct out *o = ctx;

	out_puts(o, ".TP\n");
	if (t->letter)
		out_printf(o, "\\fB\\-%c\\fR, ", t->letter);
	out_puts(o, "\\fB\\-\\-");
	put_roff(o, t->name);
	out_puts(o, "\\fR");
	if (t->arg) {
		out_puts(o, " \\fI");
		put_roff(o, t->arg);
		out_puts(o, "\\fR");
	}
	out_puts(o, "\n");
	put_roff(o, t->help);
	out_puts(o, "\n");
}

static void put_title(struct out *o, const char *name, const char *about)
{
	const char *p;

	out_puts(o, ".\\\" Written by vmspan --generate.\n.TH \"");
	for (p = name; *p; p++)
		out_printf(o, "%c", *p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
	out_puts(o, "\" 1 \"\" \"vmspan " VMSPAN_VERSION "\" \"vmspan\"\n.SH NAME\n");
	put_roff(o, name);
	out_puts(o, " \\- ");
	put_roff(o, about);
	out_puts(o, "\n");
}

static void put_status(struct out *o)
{
	static const char *const meanings[] = {
		[EXIT_DONE] = "done",
		[EXIT_FAILED] = "failed at run time",
		[EXIT_USAGE] = "bad usage",
		[EXIT_PERMISSION] = "a permission is missing",
		[EXIT_NOTHING] = "nothing to trace in the target",
		[EXIT_REFUSED] = "the price of --exact-calls was not agreed to",
	};
	size_t i;

	out_puts(o, ".SH EXIT STATUS\n");
	for (i = 0; i < ARRAY_SIZE(meanings); i++)
		out_printf(o, ".TP\n%zu\n%s\n", i, meanings[i]);
}

static void put_files(struct out *o)
{
	out_puts(o, ".SH FILES\n.TP\n\\fI" CONFIG_SYSTEM "\\fR, "
		    "\\fI$XDG_CONFIG_HOME/vmspan/config\\fR\n"
		    "Defaults of options, by their long names, in a section for each command, or "
		    "\\fB[all]\\fR. The second file holds over the first, a command's section "
		    "over \\fB[all]\\fR.\n.IP\n.nf\n"
		    "[top]\ncolumns = self,wall,max,64ms\nreverse = no\n.fi\n");
}

static void put_keys(struct out *o)
{
	const struct top_help *k;

	out_puts(o, ".SH KEYS\n");
	for (k = top_help_keys; k->key; k++) {
		out_puts(o, ".TP\n\\fB");
		put_roff(o, k->key);
		out_puts(o, "\\fR\n");
		put_roff(o, k->what);
		out_puts(o, "\n");
	}
}

static void man_command(struct out *o, const struct command *c)
{
	char name[32];

	snprintf(name, sizeof(name), "vmspan-%s", c->name);
	put_title(o, name, c->about);
	out_printf(o, ".SH SYNOPSIS\n\\fBvmspan %s\\fR ", c->name);
	put_roff(o, c->arguments);
	out_puts(o, "\n.SH OPTIONS\n");
	options_each(c, put_option, o);
	if (c->bit == IN_TOP)
		put_keys(o);
	put_files(o);
	put_status(o);
	out_puts(o, ".SH SEE ALSO\n.BR vmspan (1)\n");
}

static void man_vmspan(struct out *o)
{
	const struct command *c;

	put_title(o, "vmspan",
		  "which performance group spends the time of each turn of an event loop");
	out_puts(o,
		 ".SH SYNOPSIS\n\\fBvmspan\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...]\n.br\n"
		 "\\fBvmspan\\fR\n.SH DESCRIPTION\n"
		 "Attaches to running processes and shows which performance group (add-on, page, "
		 "plugin, package, tenant) spends the time of each turn of the event loop, and "
		 "how complete that figure is. Without arguments, on a terminal, it offers the "
		 "processes that can be traced.\n.SH COMMANDS\n");
	for (c = commands; c->name; c++) {
		out_printf(o, ".TP\n.BR vmspan\\-%s (1)\n", c->name);
		put_roff(o, c->about);
		out_puts(o, "\n");
	}
	put_files(o);
	put_status(o);
	out_puts(o, ".SH SEE ALSO\n");
	for (c = commands; c->name; c++)
		out_printf(o, ".BR vmspan\\-%s (1)%s\n", c->name, c[1].name ? "," : "");
}

/* ---- Completion ---- */

/* In shell, inside single quotes: names of ours hold none. */
static void put_values(struct out *o, const struct option_text *t)
{
	size_t i;

	if (!strcmp(t->arg, "KEY")) {
		for (i = 0; sort_keys[i]; i++)
			out_printf(o, "%s ", sort_keys[i]);
	} else if (!strcmp(t->name, "columns")) {
		out_puts(o, "auto ");
		for (i = 0; i < table_column_count(); i++)
			out_printf(o, "%s ", table_column_name((unsigned int)i));
	} else if (!strcmp(t->name, "format")) {
		for (i = 0; exporters[i]; i++)
			out_printf(o, "%s ", exporters[i]->name);
	} else if (strchr(t->arg, '|')) {
		for (i = 0; t->arg[i]; i++)
			out_printf(o, "%c", t->arg[i] == '|' ? ' ' : t->arg[i]);
	}
}

static void put_word(void *ctx, const struct option_text *t)
{
	struct out *o = ctx;

	if (t->letter)
		out_printf(o, "-%c ", t->letter);
	out_printf(o, "--%s ", t->name);
}

/* One line of a case: what the word after this option may be. */
static void put_case(void *ctx, const struct option_text *t)
{
	struct out *o = ctx;

	if (!t->arg)
		return;
	out_puts(o, "\t\t");
	if (t->letter)
		out_printf(o, "-%c | ", t->letter);
	out_printf(o, "--%s) ", t->name);
	if (!strcmp(t->arg, "FILE")) {
		out_puts(o, "_vmspan_files");
	} else if (!strcmp(t->name, "pid")) {
		out_puts(o, "_vmspan_words \"$(vmspan list 2>/dev/null | "
			    "sed -n 's/^ *\\([0-9]*\\) .*/\\1/p')\"");
	} else {
		out_puts(o, "_vmspan_words '");
		put_values(o, t);
		out_puts(o, "'");
	}
	out_puts(o, "; return ;;\n");
}

static void completion(struct out *o)
{
	const struct command *c;

	out_puts(o,
		 "# Written by vmspan --generate.\n"
		 "_vmspan_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$word\"); }\n"
		 "_vmspan_files() { compopt -o filenames 2>/dev/null; "
		 "mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); }\n"
		 "_vmspan() {\n"
		 "\tlocal word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD - 1]}\n"
		 "\tCOMPREPLY=()\n"
		 "\tif [ \"$COMP_CWORD\" = 1 ]; then\n\t\t_vmspan_words '");
	for (c = commands; c->name; c++)
		out_printf(o, "%s ", c->name);
	out_puts(o, "help --help --version'\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]} in\n");
	for (c = commands; c->name; c++) {
		out_printf(o, "\t%s)\n\t\tcase $last in\n", c->name);
		options_each(c, put_case, o);
		out_puts(o, "\t\tesac\n\t\tcase $word in\n\t\t-*) _vmspan_words '");
		options_each(c, put_word, o);
		out_puts(o, "' ;;\n\t\t*) _vmspan_files ;;\n\t\tesac\n\t\t;;\n");
	}
	out_puts(o, "\tesac\n}\ncomplete -F _vmspan vmspan\n");
}

/* For scripts: one a line. */
static void command_names(struct out *o)
{
	const struct command *c;

	for (c = commands; c->name; c++)
		out_printf(o, "%s\n", c->name);
}

int generate(int argc, char **argv)
{
	const struct command *c = argc > 1 ? command_find(argv[1]) : NULL;
	struct err e = { 0 };
	struct out o;

	out_open_fd(&o, STDOUT_FILENO);
	if (argc == 1 && !strcmp(argv[0], "completion")) {
		completion(&o);
	} else if (argc == 1 && !strcmp(argv[0], "commands")) {
		command_names(&o);
	} else if (argc == 1 && !strcmp(argv[0], "man")) {
		man_vmspan(&o);
	} else if (argc == 2 && c && !strcmp(argv[0], "man")) {
		man_command(&o, c);
	} else {
		err_set_status(&e, -EINVAL, EXIT_USAGE,
			       "--generate takes commands, man, man COMMAND or completion");
		return say_error(&e);
	}
	return finish_output(&o, "standard output", EXIT_DONE);
}
