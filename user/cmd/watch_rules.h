/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules file of `watch --rules FILE`. Each section is a glob:
 *
 *   [addon:adblock]
 *   ignore = yes
 *   [page:*]
 *   threshold = 100ms
 */
#ifndef CMD_WATCH_RULES_H
#define CMD_WATCH_RULES_H

#include "cmd/options.h"

/* Appends them to o->watch.rules, so what the command line says comes first.
 * 0 or negative errno with *err filled. */
int rules_read(const char *path, struct options *o, struct err *err);
/* Frees the globs of o->watch.rules. */
void rules_free(struct options *o);

#endif
