/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options of all commands, in one table, so that one means the same
 * everywhere and help cannot differ from what is accepted.
 */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include "cmd/cmd.h"
#include "model/model.h"
#include "sink/sink.h"
#include "source/live.h"

#define OPTION_PIDS_MAX 1024

struct options {
	struct {
		u32 pids[OPTION_PIDS_MAX];
		u32 count;
		bool all; /* every process that can be traced */
		const char *comm, *cgroup; /* of those; a pattern, a path */
		u64 buffer_bytes; /* kernel ring; 0: default */
		enum live_method method;
		bool no_children;
		u32 hz; /* looks a second at stacks; 0: default */
		bool exact;
	} target;
	struct model_config model;
	struct view view;
	struct {
		const char *thread;
		u64 min_duration_ns;
		u32 slowest;
	} select; /* of export, with view.glob and target.pids */
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
	/* What is no option. after_dashes: it came after "--". */
	char **rest;
	int rest_count;
	bool after_dashes;
};

/* What options_parse() returns when the command should go on. */
#define OPTIONS_RUN (-1)

/*
 * Parses a command's arguments; argv[0] is its name. Returns OPTIONS_RUN, or
 * an exit status after it has printed help or an error. Strings in *o are
 * those of argv.
 */
int options_parse(const struct command *c, int argc, char **argv, struct options *o);
/* Adds the processes that --all, --comm and --cgroup mean to the list. 0 or
 * negative errno. */
int targets_find(struct options *o, struct err *e);
/* Prints the command's help. */
void options_help(const struct command *c, struct out *o);
/* Fills *e: bad usage. Returns -EINVAL. */
int usage_error(struct err *e, const struct command *c, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Exactly one argument, a file. NULL with *e filled otherwise. */
const char *options_file(const struct options *o, const struct command *c, struct err *e);

#endif
