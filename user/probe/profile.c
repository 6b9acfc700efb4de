/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/profile.h"
#include "probe/bad_line.h"

#include "probe/embedded.h"
#include "probe/vm.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>

static const char *const roles[ROLE_COUNT] = {
	[ROLE_ARMED] = "armed",
	[ROLE_FLUSH] = "flush",
	[ROLE_ENTER] = "enter",
	[ROLE_LEAVE] = "leave",
	[ROLE_EVENT_BEGIN] = "event_begin",
	[ROLE_EVENT_END] = "event_end",
	[ROLE_GC_BEGIN] = "gc_begin",
	[ROLE_GC_END] = "gc_end",
	[ROLE_BLOCK_BEGIN] = "block_begin",
	[ROLE_BLOCK_END] = "block_end",
	[ROLE_MARK] = "mark",
};

const char *role_name(enum probe_role role)
{
	return roles[role];
}

int profile_role(const struct profile *p, const char *provider, const char *probe)
{
	int i;

	if (strcmp(p->provider, provider))
		return -ENOENT;
	for (i = 0; i < ROLE_COUNT; i++)
		if (p->probes[i][0] && !strcmp(p->probes[i], probe))
			return i;
	return -ENOENT;
}

struct parse {
	struct profile *p;
	struct bad_line bad;
};

static int take(void *ctx, const char *section, const char *key, const char *value)
{
	struct parse *c = ctx;
	int i;

	if (!strcmp(section, "profile")) {
		if (!strcmp(key, "name"))
			return bad_line_text(&c->bad, c->p->name, PROFILE_NAME_MAX, value);
		if (!strcmp(key, "provider"))
			return bad_line_text(&c->bad, c->p->provider, PROFILE_NAME_MAX, value);
		if (!strcmp(key, "registry"))
			return bad_line_yes(&c->bad, &c->p->registry, value);
		return bad_line(&c->bad, key, "no such key in [profile]");
	}
	if (!strcmp(section, "probes")) {
		for (i = 0; i < ROLE_COUNT; i++)
			if (!strcmp(key, roles[i]))
				return bad_line_text(&c->bad, c->p->probes[i], PROFILE_NAME_MAX,
						     value);
		return bad_line(&c->bad, key, "no such role in [probes]");
	}
	return bad_line_section(&c->bad, section);
}

int profile_parse(const char *text, const char *where, struct profile *p, struct err *err)
{
	struct parse c = { .p = p };
	int line;

	memset(p, 0, sizeof(*p));
	line = ini_parse_string(text, take, &c);
	if (line < 0)
		return err_set(err, -ENOMEM, "%s: no memory to read the profile", where);
	if (line)
		return bad_line_show(&c.bad, text, where, line, err);
	if (!p->name[0] || !p->provider[0])
		return err_set(err, -EINVAL, "%s: [profile] needs a name and a provider", where);
	if (!p->probes[ROLE_FLUSH][0] != !p->probes[ROLE_ARMED][0])
		return err_set(err, -EINVAL, "%s: [probes] has flush or armed without the other",
			       where);
	return 0;
}

#define BUILTIN_MAX 16

int profile_builtin(const struct profile **list, struct err *err)
{
	static struct profile parsed[BUILTIN_MAX];
	static int parsed_count;
	static bool done;
	const struct embedded *e;
	size_t count = profiles_embedded(&e), i;
	int r;

	for (i = 0; i < count && !done; i++) {
		if (vm_profile_is(e[i].text) || parsed_count == BUILTIN_MAX)
			continue;
		r = profile_parse(e[i].text, e[i].name, &parsed[parsed_count], err);
		if (r)
			return r;
		parsed_count++;
	}
	done = true;
	*list = parsed;
	return parsed_count;
}
