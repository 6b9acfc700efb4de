/* SPDX-License-Identifier: BSD-2-Clause */
/* What works on this machine and in a target, one check at a time. */
#ifndef ATTACH_CHECKS_H
#define ATTACH_CHECKS_H

#include "base/err.h"

enum check_result {
	CHECK_OK,
	CHECK_WARN, /* tracing works, with less */
	CHECK_FAIL, /* tracing does not work */
};

struct check {
	const char *id; /* stable, for programs */
	const char *what; /* for people */
	enum check_result result;
	enum exit_status status; /* of a failure: EXIT_FAILED, _PERMISSION, _NOTHING */
	char detail[200];
	char advice[400]; /* what to do; "" when there is nothing to do */
};

#define CHECKS_MAX 32

/* Fills at most CHECKS_MAX, returns how many. The order is fixed. */
u32 checks_machine(struct check list[CHECKS_MAX]);
u32 checks_process(u32 pid, struct check list[CHECKS_MAX]);

/* Of what was seen; touches nothing. */
struct steal_look;
void check_steal(const struct steal_look *l, struct check *c);

/* "ok", "warn", "fail" */
const char *check_result_name(enum check_result r);

#endif
