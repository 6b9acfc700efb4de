/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/watch_rules.h"
#include "base/text.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
	struct options *o;
	u32 first; /* of o->watch.rules: the file's */
	struct err *err;
	const char *path;
};

static int complain(struct reading *r, const char *section, const char *what)
{
	char clean[96];

	err_set_status(r->err, -EINVAL, EXIT_USAGE, "%s: [%s]: %s", r->path,
		       text_clean(clean, sizeof(clean), section, strlen(section)), what);
	err_hint(r->err, "a section is a glob such as [page:*]; in it: threshold = 100ms, "
			 "ignore = yes");
	return 0; /* as ini_parse() wants it */
}

static struct alert_rule *rule_of(struct reading *r, const char *glob)
{
	struct options *o = r->o;
	char *copy;
	u32 i;

	for (i = r->first; i < o->watch.rule_count; i++)
		if (!strcmp(o->watch.rules[i].glob, glob))
			return &o->watch.rules[i];
	copy = o->watch.rule_count < OPTION_RULES_MAX ? strdup(glob) : NULL;
	if (!copy)
		return NULL;
	o->watch.rules[o->watch.rule_count] = (struct alert_rule){ .glob = copy };
	return &o->watch.rules[o->watch.rule_count++];
}

static int take(void *ctx, const char *section, const char *key, const char *value)
{
	struct reading *r = ctx;
	struct alert_rule *rule;
	u64 ns;

	if (glob_check(section))
		return complain(r, section, "not a glob");
	rule = rule_of(r, section);
	if (!rule)
		return complain(r, section, "too many rules");
	if (!strcmp(key, "threshold")) {
		if (text_parse_ns(value, &ns) || ns < NSEC_PER_MSEC)
			return complain(r, section, "threshold is not a time of at least 1ms");
		rule->threshold_ns = ns;
	} else if (!strcmp(key, "ignore")) {
		if (strcmp(value, "yes") && strcmp(value, "no"))
			return complain(r, section, "ignore is yes or no");
		rule->ignore = value[0] == 'y';
	} else {
		return complain(r, section, "unknown key");
	}
	return 1;
}

int rules_read(const char *path, struct options *o, struct err *err)
{
	struct reading r = { .o = o, .first = o->watch.rule_count, .err = err, .path = path };
	FILE *f = fopen(path, "re");
	int line;

	if (!f)
		return err_set_status(err, -errno, EXIT_FAILED, "cannot read %s: %s", path,
				      strerror(errno));
	line = ini_parse_file(f, take, &r);
	fclose(f);
	if (!line)
		return 0;
	return err_set_status(err, -EINVAL, EXIT_USAGE, "%s: line %d is not understood", path,
			      line);
}

void rules_free(struct options *o)
{
	while (o->watch.rule_count)
		free((char *)o->watch.rules[--o->watch.rule_count].glob);
}
