/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/profile.h"

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
	/* Of the first bad line: what is wrong, and with which word. */
	const char *why;
	char word[PROFILE_NAME_MAX];
};

static int bad(struct parse *c, const char *why, const char *word)
{
	/* inih goes on after an error, and returns the first bad line. */
	if (!c->why) {
		c->why = why;
		snprintf(c->word, sizeof(c->word), "%s", word);
	}
	return 0;
}

static int set_text(struct parse *c, char *to, const char *value)
{
	if (!*value)
		return bad(c, "a value is missing", "");
	if (strlen(value) >= PROFILE_NAME_MAX)
		return bad(c, "the value is too long", value);
	if (*to)
		return bad(c, "set twice", value);
	strcpy(to, value);
	return 1;
}

static int take(void *ctx, const char *section, const char *key, const char *value)
{
	struct parse *c = ctx;
	int i;

	if (!strcmp(section, "profile")) {
		if (!strcmp(key, "name"))
			return set_text(c, c->p->name, value);
		if (!strcmp(key, "provider"))
			return set_text(c, c->p->provider, value);
		if (!strcmp(key, "registry")) {
			c->p->registry = !strcmp(value, "yes");
			return c->p->registry || !strcmp(value, "no") ||
			       bad(c, "yes or no is wanted", value);
		}
		return bad(c, "no such key in [profile]", key);
	}
	if (!strcmp(section, "probes")) {
		for (i = 0; i < ROLE_COUNT; i++)
			if (!strcmp(key, roles[i]))
				return set_text(c, c->p->probes[i], value);
		return bad(c, "no such role in [probes]", key);
	}
	return bad(c, "no such section", section);
}

/*
 * The line, and a caret under the word that is wrong. A line inih cannot read
 * is not handed to take(), so the complaint at hand may be of a later one.
 */
static int show(const char *text, const char *where, int line, const struct parse *c,
		struct err *err)
{
	const char *s = text, *e, *at;
	int i, n, column = 0;

	for (i = 1; i < line && (e = strchr(s, '\n')); i++)
		s = e + 1;
	n = (int)strcspn(s, "\n");
	if (!memchr(s, '=', (size_t)n) && !memchr(s, ':', (size_t)n))
		return err_set(err, -EINVAL, "%s:%d: not a line of a profile\n  %.*s\n  ^", where,
			       line, n > 80 ? 80 : n, s);
	n = n > 80 ? 80 : n;
	at = c->word[0] ? strstr(s, c->word) : NULL;
	if (at && at < s + n)
		column = (int)(at - s);
	return err_set(err, -EINVAL, "%s:%d: %s\n  %.*s\n  %*s^", where, line,
		       c->why ? c->why : "not a line of a profile", n, s, column, "");
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
		return show(text, where, line, &c, err);
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
