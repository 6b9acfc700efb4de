/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an option does with its value: one function a kind of value. Each puts
 * it `at` its field of struct options. 0, or -EINVAL with the words in *e.
 */
#ifndef CMD_OPTION_SET_H
#define CMD_OPTION_SET_H

#include "base/err.h"

struct options;

struct option_row {
	const char *name;
	char letter; /* 0: none */
	const char *arg; /* name of its argument, NULL: none */
	const char *help;
	unsigned int commands; /* enum command_bit */
	/* Stores the value at `offset` of struct options. 0 or an error. */
	int (*set)(void *at, const struct option_row *row, const char *arg, struct err *e);
	size_t offset;
};

/* "--NAME wants WANT, not 'ARG'". Returns -EINVAL. */
int bad_value(struct err *e, const struct option_row *row, const char *arg, const char *want);
int set_flag(void *at, const struct option_row *row, const char *arg, struct err *e);
int set_text(void *at, const struct option_row *row, const char *arg, struct err *e);
int set_bytes(void *at, const struct option_row *row, const char *arg, struct err *e);
int set_time(void *at, const struct option_row *row, const char *arg, struct err *e);
int set_span(void *at, const struct option_row *row, const char *arg, struct err *e);
int set_count(void *at, const struct option_row *row, const char *arg, struct err *e);
int set_rows(void *at, const struct option_row *row, const char *arg, struct err *e);
int set_hz(void *at, const struct option_row *row, const char *arg, struct err *e);
int set_attribute(void *at, const struct option_row *row, const char *arg, struct err *e);
int add_profile(void *at, const struct option_row *row, const char *arg, struct err *e);
int set_pids(void *at, const struct option_row *row, const char *arg, struct err *e);
int set_name(void *at, const struct option_row *row, const char *arg, struct err *e);
int set_sort(void *at, const struct option_row *row, const char *arg, struct err *e);
int set_method(void *at, const struct option_row *row, const char *arg, struct err *e);
int set_nested(void *at, const struct option_row *row, const char *arg, struct err *e);
int set_columns(void *at, const struct option_row *row, const char *arg, struct err *e);
int set_threshold(void *at, const struct option_row *row, const char *arg, struct err *e);
int add_condition(void *at, const struct option_row *row, const char *arg, struct err *e);
int set_without(void *at, const struct option_row *row, const char *arg, struct err *e);
int add_own(void *at, const struct option_row *row, const char *arg, struct err *e);

/* Alert rules from `from` on come first from now on: what is said nearer holds. */
void rules_hold(struct options *o, u32 from);

#endif
