/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/profile.h"

#include "base/kind.h"
#include "base/record.h"
#include "probe/bad_line.h"
#include "probe/embedded.h"
#include "probe/vm.h"

#include <errno.h>
#include <ini.h>
#include <stdlib.h>
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

const struct profile_id *profile_id(const struct profile_ids *ids, u32 id)
{
	const u64 *at = map_get(&ids->of, id);

	return at ? (const struct profile_id *)(uintptr_t)*at : NULL;
}

struct parse {
	struct profile *p;
	struct bad_line bad;
	bool no_memory;
};

static int take_id(struct parse *c, struct profile_ids *ids, const char *key, unsigned int kind,
		   const char *name)
{
	size_t len = strlen(name);
	struct profile_id *id;
	unsigned long n;
	char *end;

	n = strtoul(key, &end, 10);
	if (*key < '0' || *key > '9' || *end || !n || n >= PROFILE_ID_END)
		return bad_line(&c->bad, key, "a number is wanted, from 1 to 1048574");
	if (!len || len > VMSPAN_NAME_MAX)
		return bad_line(&c->bad, name, "a name is wanted, of 255 bytes at most");
	if (profile_id(ids, (u32)n))
		return bad_line(&c->bad, key, "set twice");
	if (ids->of.len == PROFILE_IDS_MAX)
		return bad_line(&c->bad, key, "more numbers than a profile may have");
	id = malloc(sizeof(*id) + len);
	if (!id || map_put(&ids->of, n, (u64)(uintptr_t)id)) {
		free(id);
		c->no_memory = true;
		return 0;
	}
	id->kind = (u8)kind;
	id->len = (u8)len;
	memcpy(id->name, name, len);
	return 1;
}

/* NUMBER = KIND:NAME */
static int take_group(struct parse *c, const char *key, const char *value)
{
	size_t n = strcspn(value, ":");
	unsigned int kind = value[n] ? kind_of(value, n) : 0;

	if (!kind || kind > VMSPAN_TENANT)
		return bad_line(&c->bad, value,
				"KIND:NAME is wanted; kinds: addon, page, package, plugin, tenant");
	return take_id(c, &c->p->groups, key, kind, value + n + 1);
}

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
	if (!strcmp(section, "groups"))
		return take_group(c, key, value);
	if (!strcmp(section, "labels"))
		return take_id(c, &c->p->labels, key, 0, value);
	return bad_line_section(&c->bad, section);
}

int profile_parse(const char *text, const char *where, struct profile *p, struct err *err)
{
	struct parse c = { .p = p };
	int line;

	memset(p, 0, sizeof(*p));
	line = ini_parse_string(text, take, &c);
	if (line < 0 || c.no_memory)
		return err_set(err, -ENOMEM, "%s: no memory to read the profile", where);
	if (line)
		return bad_line_show(&c.bad, text, where, line, err);
	if (!p->name[0] || !p->provider[0])
		return err_set(err, -EINVAL, "%s: [profile] needs a name and a provider", where);
	if (!p->probes[ROLE_FLUSH][0] != !p->probes[ROLE_ARMED][0])
		return err_set(err, -EINVAL, "%s: [probes] has flush or armed without the other",
			       where);
	if (!p->probes[ROLE_ENTER][0] != !p->probes[ROLE_LEAVE][0] ||
	    (!p->probes[ROLE_ENTER][0] && !p->probes[ROLE_FLUSH][0]))
		return err_set(err, -EINVAL,
			       "%s: [probes] needs enter and leave, or armed and flush", where);
	return 0;
}

static void free_ids(struct profile_ids *ids)
{
	u64 key, value;
	size_t at = 0;

	while (map_next(&ids->of, &at, &key, &value))
		free((void *)(uintptr_t)value);
	map_free(&ids->of);
}

void profile_free(struct profile *p)
{
	free_ids(&p->groups);
	free_ids(&p->labels);
}

/* ---- Those there are ---- */

static struct profile known[PROFILES_MAX];
static int known_count;
static bool built_in;

int profile_add(const char *text, const char *where, struct err *err)
{
	int r;

	if (known_count == PROFILES_MAX)
		return err_set(err, -E2BIG, "%s: more profiles than %d", where, PROFILES_MAX);
	r = profile_parse(text, where, &known[known_count], err);
	if (r)
		profile_free(&known[known_count]);
	else
		known_count++;
	return r;
}

int profile_list(const struct profile **list, struct err *err)
{
	const struct embedded *e;
	size_t count = profiles_embedded(&e), i;
	int r;

	for (i = 0; i < count && !built_in; i++) {
		if (vm_profile_is(e[i].text))
			continue;
		r = profile_add(e[i].text, e[i].name, err);
		if (r)
			return r;
	}
	built_in = true;
	*list = known;
	return known_count;
}

u32 profile_place(const struct profile *p)
{
	return (u32)(p - known);
}

const struct profile *profile_at(u32 place)
{
	return place < (u32)known_count ? &known[place] : NULL;
}
