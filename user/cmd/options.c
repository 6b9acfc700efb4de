/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/options.h"
#include "base/text.h"
#include "cmd/config.h"
#include "cmd/option_set.h"
#include "probe/vm.h"
#include "rec/rec.h"
#include "sink/words.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct options, field)
#define EVERYWHERE (~0u)
#define LIVE (IN_RECORD | IN_TOP | IN_STAT | IN_SERVE | IN_WATCH | IN_METRICS)

static const struct option_row table[] = {
	{ "pid", 'p', "PID[,PID...]", "processes to trace, or to export; may be repeated",
	  LIVE | IN_LIST | IN_DOCTOR | IN_EXPORT, set_pids, 0 },
	{ "all", 'a', NULL, "trace every process that has probes, now or later", LIVE, set_flag,
	  AT(target.sweep.all) },
	{ "comm", 'c', "NAME", "trace the processes of this name, now and later; may be repeated",
	  LIVE, set_name, AT(target.sweep) },
	{ "cgroup", 0, "NAME",
	  "trace the processes of a container, by its name or id, of a systemd unit, or of a "
	  "control "
	  "group by its path or name; may be repeated",
	  LIVE, set_name, AT(target.sweep) },
	{ "thread", 't', "THREAD", "only threads of this id, or whose name matches, as 'pool-*'",
	  IN_EXPORT, set_text, AT(select.thread) },
	{ "min-duration", 0, "TIME", "only spans and events that last at least this long",
	  IN_EXPORT, set_time, AT(select.min_duration_ns) },
	{ "slowest", 0, "N", "only the N longest events and what is in them", IN_EXPORT | IN_REPORT,
	  set_rows, AT(select.slowest) },
	{ "output", 'o', "FILE",
	  "file to write; for export - is standard output, and .gz at its end compresses",
	  IN_RECORD | IN_EXPORT, set_text, AT(output.file) },
	{ "format", 'f', "FORMAT", "what to write (default firefox)", IN_EXPORT, set_text,
	  AT(output.format) },
	{ "fail-if", 0, "CONDITION",
	  "exit with status 1 when it holds, such as 'addon:* p99 > 10ms', or 'slower' of two "
	  "recordings; may be repeated",
	  IN_REPORT, add_condition, 0 },
	{ "threshold", 0, "[GLOB=]TIME",
	  "alert when a group is charged so much in one event (default 64ms); with a glob for "
	  "groups that match; may be repeated",
	  IN_WATCH | IN_METRICS, set_threshold, 0 },
	{ "rules", 0, "FILE", "thresholds and ignored groups from a file", IN_WATCH | IN_METRICS,
	  set_text, AT(watch.rules_file) },
	{ "all-causes", 0, NULL,
	  "also alerts whose cause is another group, or a thread kept off the CPU", IN_WATCH,
	  set_flag, AT(watch.all_causes) },
	{ "verdicts", 0, NULL, "say of each alert whether its group is slow, and why", IN_WATCH,
	  set_flag, AT(watch.verdicts) },
	{ "dump", 0, "DIR", "keep the recording around alerts there", IN_WATCH, set_text,
	  AT(watch.dump) },
	{ "before", 0, "TIME", "part of a dump before its alert (default 10s)", IN_WATCH, set_span,
	  AT(watch.before_ns) },
	{ "after", 0, "TIME", "part of a dump after its alert (default 2s)", IN_WATCH, set_span,
	  AT(watch.after_ns) },
	{ "dump-every", 0, "TIME", "at most one dump in this time (default 1m)", IN_WATCH, set_span,
	  AT(watch.dump_every_ns) },
	{ "dump-max", 0, "N", "at most N dumps; the oldest is removed (default 16)", IN_WATCH,
	  set_rows, AT(watch.dump_max) },
	{ "exec", 0, "CMD",
	  "run CMD for each alert, and for what hangs, with it as JSON on standard input", IN_WATCH,
	  set_text, AT(watch.exec) },
	{ "exec-limit", 0, "TIME", "kill CMD after this time (default 10s)", IN_WATCH, set_span,
	  AT(watch.exec_limit_ns) },
	{ "duration", 0, "TIME", "stop after this time", IN_RECORD | IN_WATCH, set_span,
	  AT(pace.duration_ns) },
	{ "ring", 0, "SIZE",
	  "keep only the newest part, of at most this size (256K at least); record writes a copy "
	  "of it when it gets SIGUSR2",
	  IN_RECORD | IN_WATCH, set_bytes, AT(output.ring_bytes) },
	{ "delay", 'd', "TIME", "time between two refreshes (default 1s)", IN_TOP, set_span,
	  AT(pace.interval_ns) },
	{ "interval", 'i', "TIME", "time between two lines or updates (default 1s)",
	  IN_STAT | IN_SERVE, set_span, AT(pace.interval_ns) },
	{ "count", 'n', "COUNT", "end after so many refreshes, lines or alerts",
	  IN_TOP | IN_STAT | IN_WATCH, set_count, AT(pace.count) },
	{ "batch", 'b', NULL, "plain tables, one after the other (default when piped)", IN_TOP,
	  set_flag, AT(output.batch) },
	{ "json", 0, NULL, "JSON, schema 1; one object a line from top and stat",
	  IN_REPORT | IN_TOP | IN_STAT | IN_LIST | IN_DOCTOR | IN_WATCH, set_flag,
	  AT(output.json) },
	{ "sort", 's', "KEY", "order of the groups: self (default), wall, max, jank, ...",
	  IN_REPORT | IN_TOP, set_sort, AT(view.sort) },
	{ "reverse", 'r', NULL, "reverse the order", IN_REPORT | IN_TOP, set_flag,
	  AT(view.reverse) },
	{ "group", 'g', "GLOB", "only groups that match, such as 'addon:*'",
	  IN_REPORT | IN_TOP | IN_EXPORT | IN_SERVE | IN_WATCH, set_text, AT(view.glob) },
	{ "top", 0, "N", "only the first N groups", IN_REPORT | IN_TOP | IN_METRICS, set_rows,
	  AT(view.limit) },
	{ "columns", 0, "LIST", "columns to show, such as self,wall,max (default: by the width)",
	  IN_TOP, set_columns, AT(screen.columns) },
	{ "window", 'w', "TIME", "show the last so long, not the last interval", IN_TOP, set_span,
	  AT(screen.window_ns) },
	{ "warn", 0, "TIME", "groups that take longer in a turn are yellow (default 16ms)", IN_TOP,
	  set_span, AT(screen.warn_ns) },
	{ "bad", 0, "TIME", "groups that take longer in a turn are red (default 256ms)", IN_TOP,
	  set_span, AT(screen.bad_ns) },
	{ "event", 0, "N", "only the events of this number and what is in them", IN_REPORT,
	  set_rows, AT(event) },
	{ "from", 0, "TIME", "only events that begin at or after this time of the trace, whole",
	  IN_REPORT | IN_EXPORT | IN_SERVE, set_time, AT(model.from_ns) },
	{ "to", 0, "TIME", "only events that begin before this time of the trace",
	  IN_REPORT | IN_EXPORT | IN_SERVE, set_time, AT(model.to_ns) },
	{ "nested", 0, "drop|suspend",
	  "what a nested event loop does to the stopwatches around it: drop (default) makes "
	  "them stale, suspend pauses them",
	  IN_REPORT | IN_TOP | IN_STAT | IN_EXPORT | IN_SERVE | IN_WATCH, set_nested,
	  AT(model.nested) },
	{ "keep-moved", 0, NULL,
	  "charge spans that changed CPU too, which is right where the counters of the CPUs agree "
	  "(doctor says so); without it they are discarded and counted",
	  IN_REPORT | IN_TOP | IN_STAT | IN_EXPORT | IN_SERVE | IN_WATCH, set_flag,
	  AT(model.keep_moved) },
	{ "own", 0, NULL, "measure every compartment's own group too",
	  IN_REPORT | IN_TOP | IN_STAT | IN_WATCH, set_flag, AT(model.own_groups) },
	{ "own-of", 0, "GLOB",
	  "measure the own groups of compartments in groups that match; may be repeated",
	  IN_REPORT | IN_TOP | IN_STAT | IN_WATCH | IN_METRICS, add_own, 0 },
	{ "buffer", 0, "SIZE", "kernel ring buffer (default 8M; top: 4M)", LIVE, set_bytes,
	  AT(target.buffer_bytes) },
	{ "method", 0, "auto|flush|direct",
	  "auto (default), flush (marks are gathered in the process) or direct (a trap a mark)",
	  LIVE, set_method, AT(target.method) },
	{ "hz", 0, "N", "looks a second at the stacks of a stock VM (default 99)", LIVE, set_hz,
	  AT(target.hz) },
	{ "profile", 0, "FILE", "a profile of a stock VM, or of a program with probes of its own",
	  LIVE | IN_LIST | IN_DOCTOR, add_profile, 0 },
	{ "attribute", 0, "END",
	  "of a sampled stack, who gets the self time: innermost (default, who ran) or outermost "
	  "(the outermost group that is one by name: who called)",
	  IN_REPORT | IN_TOP | IN_STAT | IN_EXPORT, set_attribute, AT(model.outermost) },
	{ "exact", 'x', NULL,
	  "record the scheduler too, for programs with vmspan.h: no span is discarded, and no "
	  "group "
	  "pays for time it did not have the CPU; stock VMs are traced as without it",
	  LIVE, set_flag, AT(target.exact) },
	{ "without", 0, "LIST",
	  "parts not to measure: blocking (what --exact records), gc and samples (of stock VMs); "
	  "in top, keys switch them on",
	  LIVE, set_without, AT(target.without) },
	{ "exact-calls", 0, NULL,
	  "measure every call in a stock VM, by its own probes: exact, and at a price, which a "
	  "trial second tells first",
	  LIVE, set_flag, AT(target.calls) },
	{ "yes", 0, NULL, "go on although --exact-calls makes the program more than twice as slow",
	  LIVE, set_flag, AT(target.yes) },
	{ "no-children", 0, NULL, "do not follow forks", LIVE, set_flag, AT(target.no_children) },
	{ "wait", 0, NULL,
	  "with -p: also a process that has loaded nothing with vmspan.h yet; it is traced when it "
	  "does",
	  LIVE, set_flag, AT(target.wait) },
	{ "html", 0, "FILE", "write a page for a browser instead", IN_REPORT, set_text,
	  AT(output.html) },
	{ "docs", 0, "FILE", "lines of GROUP = URL: links to documentation in the page",
	  IN_REPORT | IN_EXPORT | IN_SERVE, set_text, AT(output.docs) },
	{ "listen", 0, "ADDR:PORT",
	  "where to serve (default 127.0.0.1: serve any free port, export-metrics 9464)",
	  IN_SERVE | IN_METRICS, set_text, AT(web.listen) },
	{ "allow-remote", 0, NULL, "let other hosts in: who has the URL sees everything", IN_SERVE,
	  set_flag, AT(web.allow_remote) },
	{ "quiet", 'q', NULL, "print nothing but errors and losses",
	  IN_RECORD | IN_EXPORT | IN_WATCH, set_flag, AT(output.quiet) },
	{ "config", 0, "FILE", "defaults from this file, not from the usual ones", EVERYWHERE,
	  set_text, AT(config.file) },
	{ "no-config", 0, NULL, "no defaults from files", EVERYWHERE, set_flag, AT(config.none) },
};

#define HELP_INDEX ARRAY_SIZE(table)

int usage_error(struct err *e, const struct command *c, const char *fmt, ...)
{
	char what[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	err_set_status(e, -EINVAL, EXIT_USAGE, "%s: %s", c->name, what);
	err_hint(e, "usage: vmspan %s %s; 'vmspan %s --help' says more", c->name, c->arguments,
		 c->name);
	return -EINVAL;
}

const struct command *command_find(const char *name)
{
	const struct command *c;

	for (c = commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

void options_each(const struct command *c, void (*fn)(void *ctx, const struct option_text *t),
		  void *ctx)
{
	const struct option_text help = { "help", 'h', NULL, "this text" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		const struct option_row *r = &table[i];
		const struct option_text t = { r->name, r->letter, r->arg, r->help };

		if (r->commands & c->bit)
			fn(ctx, &t);
	}
	fn(ctx, &help);
}

static void put_option(void *ctx, const struct option_text *t)
{
	enum {
		HELP_COLUMN = 27,
		HELP_WIDTH = 80
	};
	struct out *o = ctx;
	char left[64];

	snprintf(left, sizeof(left), "  %c%c%c --%s%s%s", t->letter ? '-' : ' ',
		 t->letter ? t->letter : ' ', t->letter ? ',' : ' ', t->name, t->arg ? " " : "",
		 t->arg ? t->arg : "");
	out_printf(o, "%-*s", HELP_COLUMN - 1, left);
	if (strlen(left) >= HELP_COLUMN - 1)
		out_printf(o, "\n%*s", HELP_COLUMN - 1, "");
	out_puts(o, " ");
	wrap_put(o, t->help, HELP_WIDTH, HELP_COLUMN, HELP_COLUMN);
}

void options_help(const struct command *c, struct out *o)
{
	out_printf(o, "usage: vmspan %s %s\n\n%s\n\n", c->name, c->arguments, c->about);
	options_each(c, put_option, o);
}

/* ---- From a file ---- */

static const struct option_row *find_name(const struct command *c, const char *name)
{
	size_t i;

	/* Whom to trace and where defaults come from is said when it is run. */
	for (i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].commands & c->bit && table[i].commands != EVERYWHERE &&
		    table[i].set != set_pids && !strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}

bool options_known(const struct command *c, const char *name)
{
	return find_name(c, name) != NULL;
}

int options_set(const struct command *c, struct options *o, const char *name, const char *value,
		struct err *e)
{
	const struct option_row *row = find_name(c, name);

	if (!row)
		return -ENOENT;
	if (!row->arg) {
		if (strcmp(value, "yes") && strcmp(value, "no"))
			return bad_value(e, row, value, "yes or no");
		*(bool *)((char *)o + row->offset) = value[0] == 'y';
		return 0;
	}
	return row->set((char *)o + row->offset, row, value, e);
}

/* The arrays getopt_long() wants, for one command. */
struct getopt_tables {
	struct option longs[ARRAY_SIZE(table) + 2];
	char shorts[3 + 2 * ARRAY_SIZE(table) + 2];
};

static void make_tables(struct getopt_tables *g, const struct command *c)
{
	size_t i, n = 0;
	char *s = g->shorts;

	/* '+': a command to start keeps its own options; ':': say what lacks. */
	if (c->bit == IN_RECORD)
		*s++ = '+';
	*s++ = ':';
	*s++ = 'h';
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		if (!(table[i].commands & c->bit))
			continue;
		g->longs[n++] = (struct option){ table[i].name,
						 table[i].arg ? required_argument : no_argument,
						 NULL, 256 + (int)i };
		if (!table[i].letter)
			continue;
		*s++ = table[i].letter;
		if (table[i].arg)
			*s++ = ':';
	}
	*s = 0;
	g->longs[n++] = (struct option){ "help", no_argument, NULL, 256 + (int)HELP_INDEX };
	g->longs[n] = (struct option){ 0 };
}

/* The row of what getopt_long() returned; NULL: help. */
static const struct option_row *find_row(const struct command *c, int value)
{
	size_t i;

	if (value >= 256)
		return value - 256 == (int)HELP_INDEX ? NULL : &table[value - 256];
	for (i = 0; i < ARRAY_SIZE(table); i++)
		if ((table[i].commands & c->bit) && table[i].letter == value)
			return &table[i];
	return NULL;
}

static void unknown_option(const struct command *c, const char *given, struct err *e)
{
	struct nearest near = { 0 };
	char word[64], clean[96];
	const struct command *other;
	size_t i;

	text_clean(clean, sizeof(clean), given, strlen(given));
	err_set_status(e, -EINVAL, EXIT_USAGE, "%s: unknown option %s", c->name, clean);
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(given + 2, "="), given + 2);
	near.word = word;
	for (i = 0; given[1] == '-' && i < ARRAY_SIZE(table); i++)
		if (table[i].commands & c->bit)
			nearest_try(&near, table[i].name);
	if (near.best) {
		err_hint(e, "did you mean --%s? 'vmspan %s --help' lists all", near.best, c->name);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		if (given[1] == '-' ? strcmp(table[i].name, word) : table[i].letter != given[1])
			continue;
		for (other = commands; other->name; other++)
			if (table[i].commands & other->bit)
				err_hint(e,
					 "that is an option of %s; 'vmspan %s --help' lists these",
					 other->name, c->name);
	}
	err_hint(e, "'vmspan %s --help' lists all", c->name);
}

static void getopt_error(const struct command *c, int kind, char **argv, struct err *e)
{
	char given[3] = { '-', (char)optopt, 0 };
	const char *text = given;

	/* A long option, or none of ours: getopt_long() has stepped over it. */
	if (!optopt || optopt >= 256)
		text = argv[optind - 1];
	if (kind == ':') {
		usage_error(e, c, "option %s needs a value", text);
	} else if (optopt >= 256) {
		usage_error(e, c, "option --%s takes no value",
			    optopt - 256 == (int)HELP_INDEX ? "help" : table[optopt - 256].name);
	} else {
		unknown_option(c, text, e);
	}
}

static int check(const struct command *c, const struct options *o, struct err *e)
{
	if (o->model.to_ns && o->model.to_ns <= o->model.from_ns)
		return usage_error(e, c, "--to is not after --from");
	if (o->event && o->select.slowest)
		return usage_error(e, c, "--event and --slowest exclude each other");
	if (o->output.ring_bytes && o->output.ring_bytes < REC_RING_MIN)
		return usage_error(e, c, "--ring is %uK at least", REC_RING_MIN >> 10);
	if (o->output.json && o->output.batch)
		return usage_error(e, c, "--json and --batch exclude each other");
	if (o->output.json && o->output.html)
		return usage_error(e, c, "--json and --html exclude each other");
	if (c->bit == IN_SERVE && (o->target.count || options_sweep(o)) == (o->rest_count != 0))
		return usage_error(e, c, "either a recording or -p PID");
	if (c->bit == IN_SERVE && o->target.count && (o->model.from_ns || o->model.to_ns))
		return usage_error(e, c, "--from and --to are for recordings");
	if ((c->bit & (IN_TOP | IN_STAT)) && !o->target.count && !options_sweep(o))
		return usage_error(e, c, "no process given: -p PID, --comm NAME or --all");
	if ((c->bit & (IN_TOP | IN_STAT)) && o->rest_count)
		return usage_error(e, c, "unexpected argument '%s'", o->rest[0]);
	return 0;
}

static int print_help(const struct command *c)
{
	struct out o;

	out_open_fd(&o, 1);
	options_help(c, &o);
	return finish_output(&o, "standard output", EXIT_DONE);
}

/* Defaults from files; which ones, the command line says. */
static int read_config(const struct command *c, int argc, char **argv,
		       const struct getopt_tables *g, struct options *o, struct err *e)
{
	int value;

	optind = 0;
	opterr = 0;
	while ((value = getopt_long(argc, argv, g->shorts, g->longs, NULL)) != -1) {
		const struct option_row *row =
			value == '?' || value == ':' ? NULL : find_row(c, value);

		/* What is wrong is said when all of them are parsed, and help
		 * needs no defaults. */
		if (!row)
			return 0;
		if (row->commands == EVERYWHERE &&
		    row->set((char *)o + row->offset, row, optarg, e))
			return -EINVAL;
	}
	return config_read(c, o, e);
}

int options_parse(const struct command *c, int argc, char **argv, struct options *o)
{
	struct getopt_tables g;
	struct err e = { 0 };
	u32 rules;
	int value;

	*o = (struct options){ 0 };
	make_tables(&g, c);
	if (read_config(c, argc, argv, &g, o, &e))
		return say_error(&e);
	rules = o->watch.rule_count;
	optind = 0;
	opterr = 0;
	while ((value = getopt_long(argc, argv, g.shorts, g.longs, NULL)) != -1) {
		const struct option_row *row;

		if (value == '?' || value == ':') {
			getopt_error(c, value, argv, &e);
			return say_error(&e);
		}
		row = find_row(c, value);
		if (!row)
			return print_help(c);
		if (row->set((char *)o + row->offset, row, optarg, &e)) {
			err_hint(&e, "'vmspan %s --help' says more", c->name);
			return say_error(&e);
		}
	}
	rules_hold(o, rules);
	o->rest = argv + optind;
	o->rest_count = argc - optind;
	o->after_dashes = optind > 1 && !strcmp(argv[optind - 1], "--");
	if (check(c, o, &e))
		return say_error(&e);
	return OPTIONS_RUN;
}

const char *options_file(const struct options *o, const struct command *c, struct err *e)
{
	if (o->rest_count == 1)
		return o->rest[0];
	if (!o->rest_count)
		usage_error(e, c, "no recording given");
	else
		usage_error(e, c, "one recording at a time: unexpected argument '%s'", o->rest[1]);
	return NULL;
}
