/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/host/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

enum {
	OPT_SEED = 256,
	OPT_TURNS,
	OPT_PAGES,
	OPT_ADDONS,
	OPT_WORKERS,
	OPT_PROCESSES,
	OPT_GROUPS,
	OPT_MODAL,
	OPT_DEPTH,
	OPT_BUSY,
	OPT_CHILD,
	OPT_CONTROL,
	OPT_EXPECT,
	OPT_WAIT,
	OPT_EXEC_CHILDREN,
	OPT_FORK_IN_RUN,
	OPT_DEMO,
	OPT_LONG_NAMES,
	OPT_HOSTILE,
	OPT_UNBALANCED,
	OPT_HELP,
};

/* Name, number, argument, help; no help: not for people. */
static const struct {
	const char *name;
	int code;
	const char *arg, *help;
} table[] = {
	{ "seed", OPT_SEED, "N", "what the work is drawn from (default 1)" },
	{ "turns", OPT_TURNS, "N",
	  "events of each main thread (default 200; none with --busy, --demo)" },
	{ "pages", OPT_PAGES, "N", "pages of each process (default 3)" },
	{ "addons", OPT_ADDONS, "N", "add-ons of each process (default 5)" },
	{ "workers", OPT_WORKERS, "N", "worker threads of each process (default 1)" },
	{ "processes", OPT_PROCESSES, "N", "processes, the main one included (default 1)" },
	{ "groups", OPT_GROUPS, "N",
	  "define N tenants besides and touch each at least once (default 0)" },
	{ "modal", OPT_MODAL, "N",
	  "every N-th turn opens a dialog, 0: none (default 17; 181 with --demo)" },
	{ "depth", OPT_DEPTH, "N", "every tenth turn nests N compartments (default 0)" },
	{ "expect", OPT_EXPECT, "FILE", "where the expected report goes (default -: stdout)" },
	{ "wait", OPT_WAIT, NULL,
	  "say `ready PID`, await `go`, run, report, say `done`, await `quit`" },
	{ "exec-children", OPT_EXEC_CHILDREN, NULL,
	  "start content processes by fork and exec, not fork" },
	{ "fork-in-run", OPT_FORK_IN_RUN, NULL,
	  "fork content processes after `go`, between turns" },
	{ "busy", OPT_BUSY, "RATE", "load mode: RATE spans a second, 0: no limit" },
	{ "demo", OPT_DEMO, NULL, "real time, about 60 turns a second, one slow add-on" },
	{ "long-names", OPT_LONG_NAMES, NULL, "names of 255 bytes" },
	{ "hostile", OPT_HOSTILE, NULL, "names that attack terminals and parsers" },
	{ "unbalanced", OPT_UNBALANCED, NULL, "an exception skips the leave of its compartment" },
	{ "help", OPT_HELP, NULL, "this text" },
	{ "child", OPT_CHILD, "N", NULL },
	{ "control", OPT_CONTROL, "FD", NULL },
};

static void usage(FILE *to)
{
	size_t i;

	fprintf(to, "usage: demohost [OPTION]...\n"
		    "A small multi-tenant JavaScript host that knows how much work it did.\n\n");
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		char head[32];

		if (!table[i].help)
			continue;
		snprintf(head, sizeof(head), "--%s%s%s", table[i].name, table[i].arg ? " " : "",
			 table[i].arg ? table[i].arg : "");
		fprintf(to, "  %-18s %s\n", head, table[i].help);
	}
	fprintf(to, "\nSIGINT and SIGTERM end it cleanly after the current turn.\n");
}

static u64 number(const char *name, const char *text, u64 min, u64 max)
{
	u64 v;

	if (!text_parse_u64(text, max, &v) && v >= min)
		return v;
	fprintf(stderr, "demohost: --%s wants a number from %" PRIu64 " to %" PRIu64 ", not '%s'\n",
		name, min, max, text);
	exit(2);
}

static const char *name_of(int code)
{
	size_t i;

	for (i = 0; table[i].code != code; i++)
		;
	return table[i].name;
}

static void take(struct options *o, int code, const char *arg)
{
	const char *name = name_of(code);

	switch (code) {
	case OPT_SEED:
		o->seed = number(name, arg, 0, UINT64_MAX);
		break;
	case OPT_TURNS:
		o->turns = number(name, arg, 0, UINT64_MAX - 1);
		break;
	case OPT_PAGES:
		o->pages = (u32)number(name, arg, 1, 1000);
		break;
	case OPT_ADDONS:
		o->addons = (u32)number(name, arg, 0, 1000);
		break;
	case OPT_WORKERS:
		o->workers = (u32)number(name, arg, 0, 64);
		break;
	case OPT_PROCESSES:
		o->processes = (u32)number(name, arg, 1, 64);
		break;
	case OPT_GROUPS:
		o->groups = (u32)number(name, arg, 0, 1000000);
		break;
	case OPT_MODAL:
		o->modal = (u32)number(name, arg, 0, UINT32_MAX);
		break;
	case OPT_DEPTH:
		o->depth = (u32)number(name, arg, 0, 1000000);
		break;
	case OPT_EXPECT:
		o->expect = arg;
		break;
	case OPT_BUSY:
		o->mode = MODE_BUSY;
		o->rate = number(name, arg, 0, 1000000000);
		break;
	case OPT_DEMO:
		o->mode = MODE_DEMO;
		break;
	case OPT_CHILD:
		o->child = (u32)number(name, arg, 1, 64);
		break;
	case OPT_CONTROL:
		o->control = (int)number(name, arg, 3, 1 << 20);
		break;
	}
}

static void take_flag(struct options *o, int code)
{
	switch (code) {
	case OPT_WAIT:
		o->wait = true;
		break;
	case OPT_EXEC_CHILDREN:
		o->exec_children = true;
		break;
	case OPT_FORK_IN_RUN:
		o->fork_in_run = true;
		break;
	case OPT_LONG_NAMES:
		o->long_names = true;
		break;
	case OPT_HOSTILE:
		o->hostile = true;
		break;
	case OPT_UNBALANCED:
		o->unbalanced = true;
		break;
	}
}

void options_parse(struct options *o, int argc, char **argv)
{
	struct option opts[ARRAY_SIZE(table) + 1] = { 0 };
	bool expect_given = false, turns_given = false, modal_given = false;
	size_t i;
	int c;

	for (i = 0; i < ARRAY_SIZE(table); i++)
		opts[i] = (struct option){ table[i].name,
					   table[i].arg ? required_argument : no_argument, NULL,
					   table[i].code };
	*o = (struct options){ .seed = 1,
			       .turns = 200,
			       .pages = 3,
			       .addons = 5,
			       .workers = 1,
			       .processes = 1,
			       .modal = 17,
			       .control = -1,
			       .expect = "-" };
	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		if (c == OPT_HELP) {
			usage(stdout);
			exit(0);
		}
		if (c == '?') {
			fprintf(stderr, "demohost: see demohost --help\n");
			exit(2);
		}
		expect_given |= c == OPT_EXPECT;
		turns_given |= c == OPT_TURNS;
		modal_given |= c == OPT_MODAL;
		take(o, c, optarg);
		take_flag(o, c);
	}
	if (optind < argc) {
		fprintf(stderr, "demohost: '%s' is not an option; see demohost --help\n",
			argv[optind]);
		exit(2);
	}
	if (o->fork_in_run && o->exec_children) {
		fprintf(stderr, "demohost: --fork-in-run and --exec-children exclude each other\n");
		exit(2);
	}
	if (o->mode != MODE_RUN && !turns_given)
		o->turns = UINT64_MAX;
	if (o->mode == MODE_DEMO && !expect_given)
		o->expect = NULL;
	/* A dialog stays open for some turns of real time: not three a second. */
	if (o->mode == MODE_DEMO && !modal_given)
		o->modal = 181;
}
