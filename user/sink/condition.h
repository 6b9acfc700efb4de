/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conditions on a snapshot's groups, for checks that fail a build:
 * "addon:* p99 > 10ms", "page:shop jank >= 3".
 */
#ifndef SINK_CONDITION_H
#define SINK_CONDITION_H

#include "base/err.h"
#include "base/text.h"
#include "sink/sink.h"

struct condition {
	char glob[264];
	u32 metric; /* index into a table of condition.c */
	bool above, equal; /* > or <, with = */
	u64 value;
	char text[320]; /* as given */
};

/* "GLOB METRIC OPERATOR VALUE", or "slower": see compare.h. 0 or -EINVAL with
 * *err filled. */
int condition_parse(const char *text, struct condition *c, struct err *err);
/* "slower" asks for a comparison, not for a figure. */
bool condition_is_slower(const struct condition *c);
/* The first group at or after *at for which it holds, its figure in *value;
 * *at moves behind it. NULL: none (left). */
const struct snapshot_group *condition_next(const struct condition *c, const struct snapshot *s,
					    u32 *at, u64 *value);
/* The figure as people write it: "12.3 ms" or "17". */
void condition_value(const struct condition *c, u64 value, char dst[TEXT_NS_MAX + 8]);

#endif
