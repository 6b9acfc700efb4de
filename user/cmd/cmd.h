/* SPDX-License-Identifier: BSD-2-Clause */
/* What the commands share: their table, and how they talk to the user. */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include "base/err.h"
#include "base/out.h"
#include "cmd/commands.h"

struct command {
	const char *name;
	/* argv[0] is the command's name. Returns the exit status. */
	int (*run)(int argc, char **argv);
	unsigned int bit; /* enum command_bit */
	const char *arguments; /* for the usage line */
	const char *about; /* one line */
};

/* Which commands take an option; see options.c. */
enum command_bit {
	IN_RECORD = 1 << 0,
	IN_REPORT = 1 << 1,
	IN_TOP = 1 << 2,
	IN_STAT = 1 << 3,
	IN_EXPORT = 1 << 4,
	IN_LIST = 1 << 5,
	IN_DOCTOR = 1 << 6,
	IN_WATCH = 1 << 7,
	IN_SERVE = 1 << 8,
	IN_METRICS = 1 << 9,
};

/* Ends with an entry whose name is NULL. In main.c. */
extern const struct command commands[];
/* NULL: there is no such command. In options.c. */
const struct command *command_find(const char *name);

#define PROTOTYPE(name, function, ...) int function(int argc, char **argv);
COMMANDS(PROTOTYPE)
#undef PROTOTYPE

/* Prints the error and its hint on stderr. Returns the exit status. */
int say_error(const struct err *e);
/*
 * Ends output on a descriptor: flushes, frees. Returns `status`, or
 * EXIT_FAILED when writing failed; then it says why, unless the reader of a
 * pipe has gone away, which needs no words.
 */
int finish_output(struct out *o, const char *name, int status);

/* Descriptors 0 to 2 are open, a lost reader is an error and not a death. */
void terminal_init(void);
/* Columns of the terminal on stdout; COLUMNS, else 80, when there is none. */
unsigned int terminal_width(void);
/* May colour be used on stdout? Not when piped, with NO_COLOR, or TERM=dumb. */
bool terminal_color(void);

/* The name nearest to `word` in a list, or NULL when none is near. */
struct nearest {
	const char *word;
	const char *best; /* so far */
	unsigned int distance; /* of the best */
};
void nearest_try(struct nearest *n, const char *candidate);

#endif
