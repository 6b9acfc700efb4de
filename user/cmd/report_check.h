/* SPDX-License-Identifier: BSD-2-Clause */
/* `report A B`, and `report --fail-if`. */
#ifndef CMD_REPORT_CHECK_H
#define CMD_REPORT_CHECK_H

#include "cmd/session.h"
#include "sink/condition.h"

/* Parses o->fail_if and says where a comparison would be needed. */
int check_parse(const struct options *o, struct condition list[OPTION_CONDITIONS_MAX],
		struct err *e);
/* Says on stderr which conditions hold for which groups. EXIT_FAILED if any. */
int check_snapshot(const struct options *o, const struct condition *list, const struct snapshot *s);
/* The comparison of o's two recordings. Returns the exit status. */
int report_two(const struct options *o, const struct condition *list, struct err *e);
/* A recording's snapshot; the session is left open for its head. NULL with *e
 * filled. */
struct snapshot *report_snapshot(struct session *s, const struct options *o, const char *path,
				 struct err *e);

#endif
