/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options of all commands, in one table, so that one means the same
 * everywhere and help cannot differ from what is accepted.
 */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include "cmd/cmd.h"
#include "model/model.h"
#include "sink/alert.h"
#include "sink/sink.h"
#include "sink/table.h"
#include "source/live.h"

#define OPTION_PIDS_MAX 1024
#define OPTION_RULES_MAX 256
#define OPTION_CONDITIONS_MAX 16
#define OPTION_OWN_MAX 16

struct options {
	struct {
		u32 pids[OPTION_PIDS_MAX];
		u32 count;
		struct live_sweep sweep;
		u64 buffer_bytes; /* kernel ring; 0: default */
		u64 alert_ns; /* no option: set by watch; see struct live_config */
		enum live_method method;
		bool no_children, wait;
		u32 hz; /* looks a second at stacks; 0: default */
		bool exact;
		bool calls, yes;
		u32 without; /* --without: bits by enum model_part */
	} target;
	struct model_config model;
	struct {
		const char *glob[OPTION_OWN_MAX]; /* --own-of */
		u32 count;
	} own;
	struct view view;
	struct {
		const char *thread;
		u64 min_duration_ns;
		u32 slowest; /* of report too */
	} select; /* of export, with view.glob and target.pids */
	u32 event; /* report: explain the events of this number; 0: none */
	struct {
		struct table_choice columns;
		u64 window_ns; /* 0: an interval */
		u64 warn_ns, bad_ns; /* 0: default */
	} screen;
	struct {
		const char *file; /* --config, or NULL */
		bool none; /* --no-config */
	} config;
	struct {
		const char *file; /* -o */
		const char *format; /* -f */
		u64 ring_bytes;
		const char *html; /* --html */
		const char *docs; /* --docs */
		bool json, batch, quiet;
	} output;
	struct {
		const char *listen; /* ADDR:PORT; NULL: default */
		bool allow_remote;
	} web;
	struct {
		u64 interval_ns, duration_ns; /* 0: default, no limit */
		u64 count; /* 0: no limit */
	} pace;
	struct {
		struct alert_rule rules[OPTION_RULES_MAX]; /* strings owned */
		u32 rule_count;
		u64 threshold_ns; /* 0: default */
		const char *dump, *exec, *rules_file;
		u64 before_ns, after_ns, dump_every_ns, exec_limit_ns; /* 0: default */
		u32 dump_max;
		bool verdicts, all_causes;
	} watch;
	struct {
		const char *text[OPTION_CONDITIONS_MAX]; /* --fail-if */
		u32 count;
	} conditions;
	/* What is no option. after_dashes: it came after "--". */
	char **rest;
	int rest_count;
	bool after_dashes;
};

/* A target by name, control group, or all of them. */
static inline bool options_sweep(const struct options *o)
{
	const struct live_sweep *s = &o->target.sweep;

	return s->all || s->comm_count || s->cgroup_count;
}

/* What options_parse() returns when the command should go on. */
#define OPTIONS_RUN (-1)

/*
 * Parses a command's arguments; argv[0] is its name. Returns OPTIONS_RUN, or
 * an exit status after it has printed help or an error. Strings in *o are
 * those of argv.
 */
int options_parse(const struct command *c, int argc, char **argv, struct options *o);
/*
 * Sets an option by its long name, as a configuration file does: flags take
 * yes or no. -ENOENT: the command has no such option. Another error fills *e.
 * The value is borrowed.
 */
int options_set(const struct command *c, struct options *o, const char *name, const char *value,
		struct err *e);
/* Is it an option of the command that may stand in a file? */
bool options_known(const struct command *c, const char *name);

/* An option as help, manual pages and completion show it. */
struct option_text {
	const char *name;
	char letter; /* 0: none */
	const char *arg; /* NULL: none */
	const char *help;
};
/* Calls fn for each option of the command; --help comes last. */
void options_each(const struct command *c, void (*fn)(void *ctx, const struct option_text *t),
		  void *ctx);
/* Prints the command's help. */
void options_help(const struct command *c, struct out *o);
/* Fills *e: bad usage. Returns -EINVAL. */
int usage_error(struct err *e, const struct command *c, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Exactly one argument, a file. NULL with *e filled otherwise. */
const char *options_file(const struct options *o, const struct command *c, struct err *e);

#endif
